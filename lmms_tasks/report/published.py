"""Published numbers, and which of them a run may be held against: only those of the same definition.

`published.csv` holds numbers whose definition is known, each with its source. A row with a protocol and a measure is
comparable with that measure of ours; a row with a reason in `why_not` is not, and is only listed.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from lmms_tasks.report import protocols
from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.runs import Run
from lmms_tasks.report.tables import Table


@dataclass(frozen=True)
class Number:
    """A published number in percent, as its publisher printed it."""

    benchmark: str
    subset: str
    metric: str
    definition: str
    model: str
    value: str
    source: str
    protocol: str
    measure: str
    why_not: str


@dataclass(frozen=True)
class Beside:
    """A published number with our values of the same definition, one a run."""

    benchmark: str
    metric: str
    model: str
    value: str
    source: str
    ours: tuple[Estimate | None, ...]
    differing: str
    protocol: str = ""


@dataclass(frozen=True)
class NotComparable:
    """A kind of published number that no metric of ours measures, or that these runs have not measured."""

    benchmark: str
    metric: str
    count: int
    reason: str
    source: str


@dataclass(frozen=True)
class Comparisons:
    """What may stand beside the runs' values, and what may not."""

    beside: list[Beside]
    not_comparable: list[NotComparable]


@functools.lru_cache(maxsize=1)
def numbers() -> tuple[Number, ...]:
    """The table that ships with the package."""
    text = resources.files("lmms_tasks.report").joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(Number(**row) for row in csv.DictReader(text.splitlines()))


def beside(runs: Sequence[Run]) -> Comparisons:
    """The published numbers for the benchmarks of the runs, sorted into comparable and not comparable."""
    found: list[Beside] = []
    refused: dict[tuple[str, str, str, str], int] = {}
    names = {"slake": "SLAKE", "medxpertqa": "MedXpertQA", "vlms_are_biased": "VLMBias"}
    measured = {names[log.benchmark] for run in runs for log in run.tasks.values() if log.samples}
    ours = functools.lru_cache(maxsize=None)(lambda protocol, measure: _ours(runs, protocol, measure))
    for number in numbers():
        if number.benchmark not in measured:
            continue
        metric = _metric(number)
        reason = number.why_not
        if not reason:
            values, differing = ours(number.protocol, number.measure)
            if any(value is not None for value in values):
                title = protocols.BY_KEY[number.protocol].title
                found.append(
                    Beside(
                        number.benchmark, metric, number.model, number.value, number.source, values, differing, title
                    )
                )  # fmt: skip
                continue
            tasks = ", ".join(protocols.BY_KEY[number.protocol].tasks)
            reason = f"needs {tasks}, which these runs do not have in full"
        key = (number.benchmark, metric, reason, number.source)
        refused[key] = refused.get(key, 0) + 1
    return Comparisons(found, [NotComparable(b, m, count, why, s) for (b, m, why, s), count in refused.items()])


def _metric(number: Number) -> str:
    return f"{number.subset}, {number.metric}: {number.definition}"


def _ours(runs: Sequence[Run], key: str, name: str) -> tuple[tuple[Estimate | None, ...], str]:
    protocol = protocols.BY_KEY[key]
    values = tuple(protocols.measure(run, protocol.tasks, name) for run in runs)
    words: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for run, value in zip(runs, values, strict=True):
        if value is not None:
            compared = protocols.checks(run, protocol)
            words.update(dict.fromkeys(str(check) for check in compared if check.state == protocols.DIFFERS))
            unknown.update(dict.fromkeys(check.setting for check in compared if check.state == protocols.UNKNOWN))
    out = "; ".join(words) if words else "none of those published"
    return values, out + (f" (not published: {', '.join(unknown)})" if unknown else "")


def table(runs: Sequence[Run]) -> Table:
    """The comparable published numbers beside the runs' values."""
    rows = tuple(
        (line.benchmark, line.metric, line.model, line.value, *line.ours, line.differing, line.source)
        for line in beside(runs).beside
    )
    return Table(
        "published",
        "Published numbers of the same definition",
        ("benchmark", "metric", "model"),
        ("published", *(run.label for run in runs), "settings of these runs that differ", "source"),
        rows,
        "A number of the same definition is not yet a number under the same protocol: see the settings that differ.",
    )


def notes(runs: Sequence[Run]) -> list[str]:
    """A sentence for each kind of published number that must not be held against these runs."""
    return [
        f"Not comparable: {line.benchmark}, {line.metric} ({line.count} published): {line.reason}."
        for line in beside(runs).not_comparable
    ]


@dataclass(frozen=True)
class Measured:
    """The numbers of one protocol: for each metric our values, and the published ones as (model, value)."""

    benchmark: str
    protocol: str
    source: str
    differing: str
    metrics: list[tuple[str, tuple[Estimate | None, ...], list[tuple[str, str]]]]


def by_protocol(lines: Sequence[Beside]) -> list[Measured]:
    """The lines gathered by protocol and source, and in these by metric."""
    found: dict[tuple[str, str, str, str], dict[str, list[Beside]]] = {}
    for line in lines:
        key = (line.benchmark, line.protocol, line.source, line.differing)
        found.setdefault(key, {}).setdefault(line.metric, []).append(line)
    return [
        Measured(
            *key, [(name, same[0].ours, [(line.model, line.value) for line in same]) for name, same in group.items()]
        )
        for key, group in found.items()
    ]
