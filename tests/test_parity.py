"""The official rules agree with the installed reference scorers on every input, however strange."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from parity import run

COUNT = 5_000


@pytest.fixture(scope="module", autouse=True)
def oracle() -> None:
    python = run.oracle_python()
    if not python.is_file():
        pytest.skip(f"needs evalscope 1.14.1 in an environment of its own (LMMS_TASKS_ORACLE): no {python}")


@pytest.mark.parametrize("benchmark", run.OURS)
def test_the_official_rule_agrees_with_every_reference_scorer(benchmark: str) -> None:
    for comparison in run.compare(benchmark, COUNT):
        assert comparison.count == COUNT
        assert comparison.differences == 0, run.report(comparison, 0)
        # Inputs that nobody can read would agree as well: the harness must also see answers.
        assert comparison.agreed_right > COUNT // 50


def test_the_harness_notices_a_rule_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = run.OURS["slake"]
    monkeypatch.setitem(run.OURS, "slake", lambda item: right((item[0].replace("CT", "MR"), item[1])))
    (comparison,) = run.compare("slake", 2_000)
    assert comparison.differences > 0
    assert "theirs" in run.report(comparison, 0)


def test_a_missing_reference_scorer_is_an_error_and_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_TASKS_ORACLE", sys.executable if not _has_evalscope() else "/nowhere/python")
    assert run.main(10, ["slake"], 0) == 2


def _has_evalscope() -> bool:
    import importlib.util

    return importlib.util.find_spec("evalscope") is not None
