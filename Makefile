# Three verbs for a contributor (check, test, fix), and what the README names.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

.PHONY: check test fix demo parity numbers bench clean

# uv is quicker where it is there; pip is everywhere.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tests/install.py
	touch $(STAMP)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The older release that the pack supports, beside the installed one.
OLDER = .lmms-eval-0.7.2
$(OLDER):
	$(BIN)/python -m pip install --quiet --no-deps --target $(OLDER) lmms-eval==0.7.2

test: $(STAMP) $(OLDER)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

fix: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: $(STAMP)
	$(BIN)/lmms-tasks demo

# The oracle, evalscope, pins other versions of shared dependencies: it lives in an environment of its own.
ORACLE = .venv-oracle/bin/python
$(ORACLE):
	$(PYTHON) -m venv .venv-oracle
	$(ORACLE) -m pip install --quiet evalscope==1.14.1

parity: $(STAMP) $(ORACLE)
	$(BIN)/python tests/parity --count 100000

# What the READMEs quote from real replies and real text; needs ../shared.
numbers: $(STAMP)
	$(BIN)/python tests/quoted_numbers.py

bench: $(STAMP) $(ORACLE)
	$(BIN)/python tests/bench

clean:
	rm -rf $(VENV) .venv-oracle $(OLDER) .bench build dist *.egg-info utils/*.egg-info
