"""`lmms-tasks eval`: lmms-eval's own evaluation with our tasks made sure of, and an exit status that tells the truth."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

from lmms_tasks import plugin

USAGE = """\
usage: lmms-tasks eval [--model MODEL --model_args ARGS --tasks TASKS --output_path DIR …]

Runs lmms-eval with the very arguments that `lmms-eval` takes (see: lmms-eval eval --help), and adds two promises:
  - the names of this pack mean this pack's tasks, also where another package's broken plugin keeps lmms-eval from
    loading ours (with LMMS_TASKS_PRECEDENCE=0 the run is refused, since it would be somebody else's tasks);
  - the exit status is 0 only where every evaluation came to its results, and 1 where one failed.
"""


def run(arguments: Sequence[str]) -> int:
    """The exit status of lmms-eval's evaluation with these arguments: 0 with results, 1 without."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(USAGE)
        return 0 if arguments else 2
    if not plugin.precedence_wanted():
        print(
            f"lmms-tasks eval runs this pack's tasks, but {plugin.PRECEDENCE_VARIABLE} turns their precedence off. "
            "Unset it, or call lmms-eval itself for its own tasks.",
            file=sys.stderr,
        )
        return 2
    sys.argv = ["lmms-eval", *arguments]
    _make_sure_of_the_pack()
    finished = _count_results()
    from lmms_eval.__main__ import cli_evaluate

    cli_evaluate()
    if finished and all(finished):
        return 0
    print("lmms-tasks eval: no results were written; the cause stands above.", file=sys.stderr)
    return 1


def _make_sure_of_the_pack() -> None:
    # Importing the registry loads every package's entry points; one that raises ends the loop, perhaps before ours.
    from lmms_eval import models

    if not plugin.has_precedence() or "replay" not in models.list_available_models():
        logging.getLogger("lmms_tasks").debug("entry point of lmms-tasks was not loaded by lmms-eval; registering now")
        for manifest in plugin.register():
            models.MODEL_REGISTRY_V2.register_manifest(manifest, overwrite=True)


def _count_results() -> list[bool]:
    """A list to which each evaluation adds whether it came to results (lmms-eval prints a failure and goes on)."""
    from lmms_eval import __main__ as command

    finished: list[bool] = []

    def counted(evaluate: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(evaluate)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            finished.append(False)
            outcome = evaluate(*args, **kwargs)
            # On ranks other than 0 lmms-eval has no results by design.
            finished[-1] = True
            return outcome

        return wrapper

    command.cli_evaluate_single = counted(command.cli_evaluate_single)
    return finished
