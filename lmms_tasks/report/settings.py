"""The official settings of each benchmark, and where a run departs from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmms_data.errors import DataError
from lmms_data.schema import benchmark
from lmms_tasks.report.runs import Run, TaskLog

#: lmms-eval's stop string where a task sets none.
DEFAULT_UNTIL = ["\n\n"]
#: The generation settings that the tasks of this package ask for; a test compares them with the YAML files.
OFFICIAL: Mapping[str, Mapping[str, Any]] = {
    "slake": {"max_new_tokens": 32, "temperature": 0, "do_sample": False, "until": []},
    "medxpertqa": {"max_new_tokens": 2048, "temperature": 0, "do_sample": False, "until": []},
    "vlms_are_biased": {
        "max_new_tokens": 32,
        "temperature": 0,
        "top_p": 1.0,
        "num_beams": 1,
        "do_sample": False,
        "until": DEFAULT_UNTIL,
    },
}
#: The leaves whose prompts are the reference ones.
PLAIN_TASKS = frozenset(
    [
        "slake_en_open", "slake_en_closed", "slake_zh_open", "slake_zh_closed", "medxpertqa_text", "medxpertqa_mm",
        "vlms_are_biased_main", "vlms_are_biased_identification", "vlms_are_biased_withtitle",
        "vlms_are_biased_original",
        "vlms_are_biased_remove_background_q1q2", "vlms_are_biased_remove_background_q3",
    ]
)  # fmt: skip
AUTHORS_TASKS = frozenset(["medxpertqa_official_text", "medxpertqa_official_mm"])
SYSTEM_PROMPT = "You are a helpful medical assistant."


@dataclass(frozen=True)
class Departure:
    """A setting that differs from the official protocol: what the run has, and what the protocol asks."""

    task: str
    setting: str
    found: str
    asked: str


def generation(log: TaskLog) -> Mapping[str, Any]:
    """The generation settings that the task ran with."""
    found = log.config.get("generation_kwargs")
    return found if isinstance(found, dict) else {}


def same(one: Any, other: Any) -> bool:
    """Whether two settings are the same; 0 and 0.0 are, and so are a list of one stop string and the string."""
    if isinstance(one, (list, tuple)) or isinstance(other, (list, tuple)):
        as_list = [list(value) if isinstance(value, (list, tuple)) else [value] for value in (one, other)]
        return as_list[0] == as_list[1]
    return bool(one == other)


def show(value: Any) -> str:
    """A setting as text."""
    if value is None:
        return "not set"
    return repr(value) if isinstance(value, (str, list, tuple)) else str(value)


def rows_judged(log: TaskLog) -> int:
    """How many rows the run judged, by its results file, else by its log."""
    return log.effective if log.effective is not None else len(log.samples)


def published_rows(log: TaskLog) -> int | None:
    """How many rows the published subset has, None for a subset that is not known."""
    try:
        return benchmark(log.benchmark).subset(log.subset).rows
    except DataError:
        return None


def rows_departure(log: TaskLog) -> Departure | None:
    """The departure where the run judged fewer or other rows than the published subset has."""
    expected, judged = published_rows(log), rows_judged(log)
    if expected is None or judged == expected:
        return None
    return Departure(log.name, "rows", f"{judged:,}", f"all {expected:,} rows of {log.subset}")


def data_departure(log: TaskLog) -> Departure | None:
    """The departure where the rows come from the embedded sample, or from nobody knows where."""
    data = log.metadata.get("data")
    if data is None:
        return Departure(log.name, "data source", "not recorded", "the published dataset")
    if "sample of" in str(data):
        return Departure(log.name, "data source", "the sample that comes with the package", "the published dataset")
    return None


def conversation_departures(run: Run, log: TaskLog) -> list[Departure]:
    """Departures of what the model is told: prompts, system prompt, examples."""
    found = []
    if not log.metadata.get("pack"):
        found.append(
            Departure(log.name, "task", "a task of the same name that is not this package's", "the task of lmms-tasks")
        )
    if log.name not in PLAIN_TASKS | AUTHORS_TASKS:
        found.append(Departure(log.name, "prompt", f"that of the variant {log.name}", "the benchmark's own prompt"))
    instruction = run.results.get("system_instruction") or cli(run, "system_instruction")
    if instruction:
        asked = repr(SYSTEM_PROMPT) if log.benchmark == "medxpertqa" else "none"
        found.append(Departure(log.name, "system prompt", f"an added one: {str(instruction)!r:.200}", asked))
    description = log.config.get("description")
    asked = SYSTEM_PROMPT if log.benchmark == "medxpertqa" else ""
    if log.config and str(description or "").strip() != asked:
        found.append(
            Departure(log.name, "text before the prompt", show(description or None), repr(asked) if asked else "none")
        )
    if log.config.get("num_fewshot"):
        found.append(Departure(log.name, "examples in the prompt", str(log.config["num_fewshot"]), "none"))
    extra = log.config.get("lmms_eval_specific_kwargs")
    if extra:
        found.append(Departure(log.name, "texts around the prompt", show(str(extra)), "none"))
    return found


def sampling_departures(run: Run, log: TaskLog) -> list[Departure]:
    """Departures of how many rows and replies are counted."""
    found = []
    limit, offset = run.config.get("limit"), run.config.get("offset")
    if limit not in (None, 0, -1):
        found.append(Departure(log.name, "limit", _number(limit), "no limit"))
    if offset:
        found.append(Departure(log.name, "offset", _number(offset), "0"))
    repeats = log.config.get("repeats")
    if isinstance(repeats, int) and repeats > 1:
        found.append(Departure(log.name, "repeats", str(repeats), "1 reply a question"))
    return found


def cli(run: Run, name: str) -> Any:
    """An argument of the lmms-eval command, None where it is not recorded."""
    arguments = run.config.get("resolved_cli_args")
    return arguments.get(name) if isinstance(arguments, dict) else None


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def departures(run: Run, log: TaskLog) -> list[Departure]:
    """Every setting of the task that departs from the official protocol of its benchmark."""
    found = [*conversation_departures(run, log), *sampling_departures(run, log)]
    data, rows = data_departure(log), rows_departure(log)
    if data is not None:
        found.append(data)
    elif rows is not None and not any(departure.setting == "limit" for departure in found):
        found.append(rows)
    given = generation(log)
    if log.config:
        asked = OFFICIAL.get(log.benchmark, {})
        for setting in dict.fromkeys((*asked, *given)):
            value = given.get(setting, DEFAULT_UNTIL if setting == "until" else None)
            if not same(value, asked.get(setting)):
                found.append(Departure(log.name, setting, show(value), show(asked.get(setting))))
    else:
        found.append(Departure(log.name, "settings", "not known (no results file)", "recorded settings"))
    return found


def all_departures(run: Run) -> list[tuple[Departure, list[str]]]:
    """The departures of all tasks of a run; each once, with the tasks that share it."""
    shared: dict[tuple[str, str, str], tuple[Departure, list[str]]] = {}
    for log in run.tasks.values():
        for departure in departures(run, log):
            key = (departure.setting, departure.found, departure.asked)
            shared.setdefault(key, (departure, []))[1].append(log.name)
    return list(shared.values())
