"""Published protocols: what each asks of a run, what it calls its metrics, and how far a run satisfies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_scoring.vlms_are_biased import TOPICS
from lmms_tasks.report import estimates, settings
from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.runs import Run, Sample, TaskLog
from lmms_tasks.report.tables import SLAKE_LEAVES

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "unknown"


@dataclass(frozen=True)
class Protocol:
    """A published way to measure.

    `tasks` are the leaves whose samples it counts together; `metrics` maps the publisher's names to our measures;
    `generation` are the generation settings it asks for, `unstated` what its publisher does not say.
    """

    key: str
    benchmark: str
    title: str
    source: str
    tasks: tuple[str, ...]
    metrics: Mapping[str, str]
    generation: Mapping[str, Any] = field(default_factory=dict)
    unstated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One setting: what the protocol asks, what the run has, and whether they agree, differ, or cannot be compared."""

    setting: str
    asked: str
    found: str
    state: str

    def __str__(self) -> str:
        if self.state == AGREES:
            return f"{self.setting} {self.found}"
        if self.state == UNKNOWN:
            return f"{self.setting}: {self.found}"
        return f"{self.setting} is {self.found}, asked: {self.asked}"


@dataclass(frozen=True)
class Line:
    """A protocol's metric for a run, with its settings compared."""

    protocol: Protocol
    metric: str
    measure: str
    value: Estimate | None
    checks: tuple[Check, ...]

    def with_state(self, state: str) -> list[Check]:
        """The settings of that state."""
        return [check for check in self.checks if check.state == state]

    @property
    def verdict(self) -> str:
        """In words, whether the run reproduces the protocol; a run with any differing setting never does."""
        differing, unknown = len(self.with_state(DIFFERS)), len(self.with_state(UNKNOWN))
        if differing:
            return f"no reproduction: {differing} setting{'s differ' if differing > 1 else ' differs'}"
        if unknown:
            return "same metric; whether the protocol is the same cannot be told"
        return "reproduces the protocol"


_MAIN = ("vlms_are_biased_main",)
_TOPIC_NAMES = {
    "Animals": "Animal", "Logos": "Logo", "Flags": "Flag", "Chess Pieces": "Chess Pieces", "Game Boards": "Game Board",
    "Optical Illusion": "Optical Illusion", "Patterned Grid": "Patterned Grid",
}  # fmt: skip
_MEDXPERTQA_SOURCE = "https://github.com/TsinghuaC3I/MedXpertQA"
_CELLS = {"Reasoning": "acc_reasoning", "Understanding": "acc_understanding", "Avg": "acc"}


def _topic(name: str) -> str:
    return name.lower().replace(" ", "_")


def _authors(subset: str, tasks: tuple[str, ...]) -> Protocol:
    return Protocol(
        f"medxpertqa-authors-{subset.lower()}", "MedXpertQA", f"authors' two turns, {subset}",
        _MEDXPERTQA_SOURCE, tasks,
        {f"{subset}/{cell}": measure for cell, measure in _CELLS.items()},
        {"temperature": 0, "max_new_tokens": 2048, "do_sample": False},
    )  # fmt: skip


PROTOCOLS: Sequence[Protocol] = (
    Protocol(
        "vlmbias-paper", "VLMBias", "the paper's", "arXiv 2505.23941, https://vlmsarebiased.github.io", _MAIN,
        {"task mean accuracy": "task_mean", "bias-aligned share (mean of topics)": "task_mean_bias",
         **{f"{theirs} accuracy": f"topic_{_topic(ours)}" for ours, theirs in _TOPIC_NAMES.items()}},
        {"temperature": 1.0, "do_sample": True},
        unstated=("length limit of a reply", "rule that reads the reply"),
    ),
    Protocol(
        "vlmbias-lmms-eval", "VLMBias", "lmms-eval's task vlms_are_biased",
        "https://github.com/EvolvingLMMs-Lab/lmms-eval", _MAIN, {"accuracy": "acc", "bias_ratio": "bias_ratio"},
        settings.OFFICIAL["vlms_are_biased"],
    ),
    Protocol(
        "vlmbias-evalscope", "VLMBias", "EvalScope", "https://github.com/modelscope/evalscope", _MAIN,
        {"acc": "acc", "bias_ratio": "bias_ratio"},
    ),
    Protocol(
        "vlmbias-vlmevalkit", "VLMBias", "VLMEvalKit's vlms_are_biased_main",
        "https://github.com/open-compass/VLMEvalKit/pull/1406", _MAIN,
        {"overall_acc": "acc", "macro_acc": "task_mean", "bias_ratio": "bias_ratio"},
        {"temperature": 0, "max_new_tokens": 16384},
    ),
    _authors("Text", ("medxpertqa_official_text",)),
    _authors("MM", ("medxpertqa_official_mm",)),
    _authors("All", ("medxpertqa_official_text", "medxpertqa_official_mm")),
    Protocol(
        "medxpertqa-evalscope-text", "MedXpertQA", "EvalScope, one turn, Text", "https://github.com/modelscope/evalscope",
        ("medxpertqa_text",), {"acc": "acc"},
    ),
    Protocol(
        "medxpertqa-evalscope-mm", "MedXpertQA", "EvalScope, one turn, MM", "https://github.com/modelscope/evalscope",
        ("medxpertqa_mm",), {"acc": "acc"},
    ),
    Protocol(
        "slake-evalscope", "SLAKE", "EvalScope, both languages",
        "https://github.com/modelscope/evalscope", SLAKE_LEAVES,
        {"acc": "acc"},
    ),
    Protocol(
        "slake-llava-med", "SLAKE", "LLaVA-Med, English open questions", "https://github.com/microsoft/LLaVA-Med",
        ("slake_en_open",), {"open (token recall)": "token_recall"}, unstated=("prompt",),
    ),
    Protocol(
        "slake-medgemma", "SLAKE", "MedGemma's card, English questions",
        "https://developers.google.com/health-ai-developer-foundations/medgemma/model-card",
        ("slake_en_open", "slake_en_closed"), {"tokenized F1": "token_f1"}, unstated=("prompt", "generation settings"),
    ),
)  # fmt: skip
BY_KEY = {protocol.key: protocol for protocol in PROTOCOLS}

_TOPIC_OF_MEASURE = {f"topic_{_topic(name)}": name for name in TOPICS}
_TOPIC_BIAS_OF_MEASURE = {f"topic_bias_{_topic(name)}": name for name in TOPICS}
_MEASURES: Mapping[str, Callable[[Sequence[Sample]], Estimate | None]] = {
    "acc": lambda samples: estimates.share(samples, estimates.acc),
    "bias_ratio": lambda samples: estimates.share(samples, estimates.bias),
    "task_mean": lambda samples: estimates.topic_mean(samples, estimates.acc),
    "task_mean_bias": lambda samples: estimates.topic_mean(samples, estimates.bias),
}


def measure(run: Run, tasks: Sequence[str], name: str) -> Estimate | None:
    """The run's value of a measure over these tasks together; None where one of them has no samples."""
    if not all(run.samples([task]) for task in tasks):
        return None
    samples = run.samples(tasks)
    if name in _MEASURES:
        return _MEASURES[name](samples)
    if name in _TOPIC_OF_MEASURE:
        return estimates.share([s for s in samples if s.slices.get("topic") == _TOPIC_OF_MEASURE[name]], estimates.acc)
    if name in _TOPIC_BIAS_OF_MEASURE:
        topic = _TOPIC_BIAS_OF_MEASURE[name]
        return estimates.share([s for s in samples if s.slices.get("topic") == topic], estimates.bias)
    return estimates.share(samples, estimates.metric(name))


def checks(run: Run, protocol: Protocol) -> tuple[Check, ...]:
    """Every setting that the protocol has a word on, compared with the run's; differing ones of several tasks once."""
    found: dict[tuple[str, str, str], Check] = {}
    for task in protocol.tasks:
        log = run.tasks.get(task)
        if log is None:
            check = Check("task", task, "not run", DIFFERS)
            found[(check.setting, check.asked, check.found)] = check
            continue
        for check in _task_checks(run, log, protocol):
            found.setdefault((check.setting, check.asked, check.found), check)
    for name in protocol.unstated:
        found[(name, "", "")] = Check(name, "not published", "the publisher does not say", UNKNOWN)
    return tuple(found.values())


def _task_checks(run: Run, log: TaskLog, protocol: Protocol) -> list[Check]:
    if not log.config:
        return [Check("settings", "recorded settings", "not known, there is no results file", UNKNOWN)]
    out = [*_rows(run, log), *_conversation(run, log)]
    given = settings.generation(log)
    for name, asked in protocol.generation.items():
        value = given.get(name, settings.DEFAULT_UNTIL if name == "until" else None)
        if name == "do_sample" and value is None:
            # Servers take no such setting: the temperature alone decides.
            continue
        state = AGREES if settings.same(value, asked) else DIFFERS
        out.append(Check(name, settings.show(asked), settings.show(value), state))
    return out


def _rows(run: Run, log: TaskLog) -> list[Check]:
    expected, judged = settings.published_rows(log), settings.rows_judged(log)
    out = []
    if expected is not None:
        state = AGREES if judged == expected == len(log.samples) else DIFFERS
        shown = f"{judged:,} of {log.subset}" if judged == len(log.samples) else f"{len(log.samples):,} in the log"
        out.append(Check("rows", f"all {expected:,} of {log.subset}", shown, state))
    data = settings.data_departure(log)
    if data is not None:
        out.append(Check(data.setting, data.asked, data.found, DIFFERS))
    else:
        out.append(_source(log))
    if run.config.get("model") == "replay":
        out.append(
            Check("settings", "the protocol's", "replayed: those of the run that made the replies count", UNKNOWN)
        )
    for departure in settings.sampling_departures(run, log):
        if departure.setting != "limit":
            out.append(Check(departure.setting, departure.asked, departure.found, DIFFERS))
    if not any(check.setting == "repeats" for check in out):
        out.append(Check("replies", "1 a question", "1 a question", AGREES))
    return out


def _source(log: TaskLog) -> Check:
    source = str(log.metadata.get("data"))
    if "the hub at" in source or "the Hugging Face hub" in source or "from ModelScope" in source:
        return Check("data", "the published dataset", source, AGREES)
    return Check("data", "the published dataset", f"{source}: nothing here tells that its rows are those", UNKNOWN)


def _conversation(run: Run, log: TaskLog) -> list[Check]:
    differing = settings.conversation_departures(run, log)
    out = [Check(d.setting, d.asked, d.found, DIFFERS) for d in differing]
    names = {check.setting for check in out}
    if not names & {"task", "prompt", "texts around the prompt", "examples in the prompt"}:
        what = "the authors' two turns" if log.name in settings.AUTHORS_TASKS else "the benchmark's own"
        out.append(Check("prompt", what, what, AGREES))
    if not names & {"system prompt", "text before the prompt"}:
        what = "the benchmark's" if log.benchmark == "medxpertqa" else "none"
        out.append(Check("system prompt", what, what, AGREES))
    return out


def lines(run: Run) -> list[Line]:
    """A line for each metric of each protocol of which the run has a task; without all tasks the value is None."""
    found = []
    for protocol in PROTOCOLS:
        if not any(run.samples([task]) for task in protocol.tasks):
            continue
        compared = checks(run, protocol)
        for metric, name in protocol.metrics.items():
            found.append(Line(protocol, metric, name, measure(run, protocol.tasks, name), compared))
    return found
