"""Runs in the environment of a reference scorer: one JSON batch a line in, one JSON list of results a line out.

Needs nothing of this project. The first line out names the scorer's version, or why it cannot run.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _slake() -> Callable[[list[Any]], Any]:
    from evalscope.benchmarks.slake.utils import normalize_answer, parse_answer

    return lambda item: int(normalize_answer(parse_answer(item[0])) == normalize_answer(item[1]))


def _medxpertqa() -> Callable[[list[Any]], Any]:
    from evalscope.utils.multi_choices import parse_answers

    states = {count: types.SimpleNamespace(choices=[""] * count) for count in range(1, 27)}
    return lambda item: "".join(sorted(parse_answers(states[item[1]], completion=item[0])))


def _vlms_are_biased() -> Callable[[list[Any]], Any]:
    from evalscope.benchmarks.vlms_are_biased.utils import score_answer

    def result(item: list[Any]) -> list[Any]:
        scores = score_answer(*item)
        return [int(scores["acc"]), None if item[2] is None else int(scores["bias_ratio"])]

    return result


def _lmms_eval() -> Callable[[list[Any]], Any]:
    """The hook of the installed task, loaded from its own file: importing lmms_eval itself would load torch."""
    package = importlib.util.find_spec("lmms_eval")
    if package is None or not package.submodule_search_locations:
        raise ImportError("No module named 'lmms_eval'")
    path = Path(package.submodule_search_locations[0]) / "tasks" / "vlms_are_biased" / "utils.py"
    spec = importlib.util.spec_from_file_location("vlms_are_biased_hooks", path)
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)

    def result(item: list[Any]) -> list[Any]:
        document = {"ground_truth": item[1], "expected_bias": item[2], "topic": "Animals"}
        scores = hooks.vlms_are_biased_process_results(document, [item[0]])
        return [int(scores["accuracy"]), None if item[2] is None else int(scores["bias_ratio"])]

    return result


SCORERS = {
    "slake": ("evalscope", _slake),
    "medxpertqa": ("evalscope", _medxpertqa),
    "vlms_are_biased": ("evalscope", _vlms_are_biased),
    "vlms_are_biased lmms-eval": ("lmms_eval", _lmms_eval),
}


def main(scorer: str) -> None:
    """Answers batches on standard input until it ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    package, make = SCORERS[scorer]
    try:
        score = make()
        hello = {"version": f"{package} {importlib.metadata.version(package)}"}
    except Exception as error:
        hello = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(hello), file=answers, flush=True)
    if "error" in hello:
        return
    for line in sys.stdin:
        print(json.dumps([score(item) for item in json.loads(line)], separators=(",", ":")), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
