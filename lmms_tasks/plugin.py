"""The entry point by which lmms-eval finds our models, and our tasks take precedence over built-in ones of the same name.

lmms-eval imports this module while `lmms_eval.models` is half imported: nothing heavy stands at its top.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_tasks import __version__, resuming, usage
from lmms_tasks.log import info_once, warn_once

PRECEDENCE_VARIABLE = "LMMS_TASKS_PRECEDENCE"
_CHANGED = (
    "lmms-tasks {version} cannot take precedence for its tasks: {what}. Without it `--tasks slake` could run the task of "
    "the same name that lmms-eval brings along, with other prompts and other scores. Install an lmms-eval that this "
    'version supports (pip install "lmms-eval>=0.7.2,<0.8"), upgrade lmms-tasks, or set {variable}=0 to run '
    "lmms-eval's own tasks."
)


def tasks_folder() -> Path:
    """The folder of the task definitions, as `lmms-eval --include_path` takes it."""
    return Path(__file__).resolve().parent


def precedence_wanted() -> bool:
    """False where the user set LMMS_TASKS_PRECEDENCE to 0, false, no or off."""
    return os.environ.get(PRECEDENCE_VARIABLE, "1").strip().lower() not in {"0", "false", "no", "off"}


def register() -> list[Any]:
    """The manifests of our models; taking precedence for our task names on the way.

    A script that builds its own `TaskManager` calls this once beforehand. Raises SystemExit, which lmms-eval does not
    swallow, where lmms-eval has changed so far that our names might silently mean other tasks.
    """
    from lmms_eval.caching.response_cache import ResponseCache
    from lmms_eval.evaluator_utils import TaskOutput
    from lmms_eval.models.model_utils import usage_metrics
    from lmms_eval.models.registry_v2 import ModelManifest

    from lmms_tasks.repeats import fill_stability_columns

    fill_stability_columns(TaskOutput)
    resuming.outlive_interruptions(ResponseCache)
    usage.count_on(usage_metrics)
    if precedence_wanted():
        _take_precedence()
    return [
        ModelManifest(
            model_id="replay",
            simple_class_path="lmms_tasks.models.replay.ReplaySimple",
            chat_class_path="lmms_tasks.models.replay.Replay",
        ),
        ModelManifest(model_id="openai_files", chat_class_path="lmms_tasks.models.openai_files.OpenAIFiles"),
    ]


def has_precedence() -> bool:
    """True once our task names mean our tasks in this process."""
    from lmms_eval.tasks import TaskManager

    return getattr(TaskManager.initialize_tasks, "lmms_tasks_version", None) == __version__


def _take_precedence() -> None:
    try:
        from lmms_eval.tasks import TaskManager

        original = TaskManager.initialize_tasks
        index_folder = TaskManager._get_task_and_group
    except (ImportError, AttributeError) as error:
        raise SystemExit(_CHANGED.format(version=__version__, what=error, variable=PRECEDENCE_VARIABLE)) from error
    if getattr(original, "lmms_tasks_version", None) != __version__:
        TaskManager.initialize_tasks = _with_our_tasks(original, index_folder)


def _with_our_tasks(original: Callable[..., Any], index_folder: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def initialize_tasks(manager: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            builtin = original(manager, *args, **kwargs)
        except FileNotFoundError as error:
            builtin = _index_what_is_whole(manager, index_folder, error, *args, **kwargs)
        try:
            ours = dict(index_folder(manager, str(tasks_folder())))
            index = {**builtin, **ours}
            missing = {"slake", "medxpertqa", "vlms_are_biased"} - ours.keys()
            if missing:
                raise LookupError(f"its index of {tasks_folder()} lacks {', '.join(sorted(missing))}")
        except Exception as error:
            raise SystemExit(_CHANGED.format(version=__version__, what=error, variable=PRECEDENCE_VARIABLE)) from error
        _refuse_folders_named_like_tasks(ours)
        _refuse_an_output_path_that_cannot_be(ours)
        resuming.OURS.update(ours)
        _announce(sorted(ours.keys() & builtin.keys()), len(ours))
        return index

    initialize_tasks.lmms_tasks_version = __version__  # type: ignore[attr-defined]
    return initialize_tasks


def _index_what_is_whole(
    manager: Any,
    index_folder: Callable[..., Any],
    error: FileNotFoundError,
    include_path: str | list[str] | None = None,
    include_defaults: bool = True,
) -> dict[str, Any]:
    # The wheel of lmms-eval 0.7.2 lacks the base files of its own tasks: it cannot index them, and so runs nothing at all.
    import lmms_eval.tasks

    folders = [include_path] if isinstance(include_path, str) else list(include_path or [])
    if include_defaults:
        folders = [*sorted(map(str, Path(lmms_eval.tasks.__file__).parent.iterdir())), *folders]
    index: dict[str, Any] = {}
    broken = 0
    for folder in folders:
        try:
            index = {**index_folder(manager, folder), **index}
        except FileNotFoundError:
            broken += 1
    warn_once(
        f"lmms-tasks: this lmms-eval lacks files of {broken} of its own task folders ({error}); their tasks are left out, "
        "this pack's tasks run"
    )
    return index


def _refuse_folders_named_like_tasks(ours: dict[str, Any]) -> None:
    # lmms-eval takes a folder named like the argument of --tasks for a folder of YAML files: someone who unpacked SLAKE
    # into ./slake would run nothing, or something else.
    for value in _tasks_asked_for():
        if value in ours and os.path.isdir(value):
            raise SystemExit(
                f"lmms-tasks: the current folder {os.getcwd()} holds a folder called {value}, which lmms-eval would take "
                f"for a folder of task files instead of running the task {value}. Start the command from another folder."
            )


def _refuse_an_output_path_that_cannot_be(ours: dict[str, Any]) -> None:
    # lmms-eval makes the folder when the last question is answered, and where it cannot, drops the results with a warning.
    if not any(name in ours for value in _tasks_asked_for() for name in value.split(",")):
        return
    for value in _given("--output_path"):
        if os.path.isfile(value):
            continue
        try:
            os.makedirs(value, exist_ok=True)
        except OSError as error:
            raise SystemExit(f"lmms-tasks: no results could be written to --output_path {value} ({error})") from error
        if not os.access(value, os.W_OK):
            raise SystemExit(f"lmms-tasks: no results could be written to --output_path {value}: it is read-only")


def _tasks_asked_for() -> list[str]:
    """The values of --tasks on the command line."""
    return _given("--tasks")


def _given(flag: str) -> list[str]:
    """The values of a flag on the command line, in both its spellings."""
    following = [value for word, value in zip(sys.argv, sys.argv[1:], strict=False) if word == flag]
    return following + [word.removeprefix(f"{flag}=") for word in sys.argv if word.startswith(f"{flag}=")]


def _announce(overridden: list[str], count: int) -> None:
    instead = f"; {', '.join(overridden)} instead of lmms-eval's own" if overridden else ""
    info_once(
        f"lmms-tasks {__version__}: {count} names (tasks, groups, tags) mean this pack's tasks{instead}. "
        f"{PRECEDENCE_VARIABLE}=0 turns this off."
    )
