"""Whether one run is really better than another: differences paired by sample, with intervals that know of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_scoring import statistics
from lmms_tasks.report.estimates import Estimate, Score, acc, acc_flexible
from lmms_tasks.report.runs import Run, Sample
from lmms_tasks.report.tables import MAIN, Table, tree

METRICS: Mapping[str, Score] = {"acc": acc, "acc_flexible": acc_flexible}
TASK_MEANS: Mapping[str, Score] = {"task_mean": acc, "task_mean_flexible": acc_flexible}
SEED = 0


class NotComparableError(ValueError):
    """Two runs cannot be paired; the message says why, and what would help."""


@dataclass(frozen=True)
class Pairing:
    """A task's samples in both runs, in the same order."""

    task: str
    first: list[Sample]
    second: list[Sample]


@dataclass(frozen=True)
class Difference:
    """A metric of one task or group in both runs, and second minus first with its interval and McNemar's counts.

    `only_first` and `only_second` count the samples that only that run got right; None for means of topics.
    """

    task: str
    metric: str
    first: float
    second: float
    difference: Estimate
    only_first: int | None = None
    only_second: int | None = None
    p_value: float | None = None

    @property
    def verdict(self) -> str:
        """In words, which run is better, or that it cannot be told."""
        low, high = self.difference.low, self.difference.high
        if self.only_first == self.only_second == 0:
            return "every sample is judged alike"
        if low is None or high is None:
            return "cannot be told: too few independent samples"
        if low > 0:
            return "second is better"
        return "first is better" if high < 0 else "no difference shown"


@dataclass(frozen=True)
class Comparison:
    """The second run against the first: differences by task and group, flips, and what was left out of the pairing."""

    first: Run
    second: Run
    differences: list[Difference]
    flips: list[tuple[str, Sample, Sample]]
    notes: list[str]


def compare(first: Run, second: Run) -> Comparison:
    """The paired comparison of all tasks that both runs have.

    Raises:
        NotComparableError: no task in common, other rows, or another version of the scores.
    """
    shared = [name for name, log in first.tasks.items() if log.samples and name in second.tasks]
    shared = [name for name in shared if second.tasks[name].samples]
    if not shared:
        raise NotComparableError(
            f"{first.label} and {second.label} have no task with samples in common: "
            f"{_names(first) or 'none'} against {_names(second) or 'none'}"
        )
    notes: list[str] = []
    pairs = {name: pair(first, second, name) for name in shared}
    for one, other in ((first, second), (second, first)):
        only = [name for name, log in one.tasks.items() if log.samples and name not in shared]
        if only:
            notes.append(f"Only {one.label} has {', '.join(only)}; {other.label} has not, so it is not compared.")
    differences = []
    for name, members in _units(first, second, shared):
        differences.extend(_differences(name, [pairs[member] for member in members]))
    flips = [
        (name, one, other)
        for name in shared
        for one, other in zip(pairs[name].first, pairs[name].second, strict=True)
        if one.acc != other.acc or one.acc_flexible != other.acc_flexible
    ]
    return Comparison(first, second, differences, flips, notes)


def _names(run: Run) -> str:
    return ", ".join(name for name, log in run.tasks.items() if log.samples)


def pair(first: Run, second: Run, task: str) -> Pairing:
    """The task's samples, paired by the dataset's own row ids.

    Raises:
        NotComparableError: the rows, the data or the version of the scores differ.
    """
    one, other = first.tasks[task], second.tasks[task]
    versions = [str(log.metadata.get("version")) for log in (one, other)]
    if "None" in versions:
        raise NotComparableError(
            f"{task}: {(first, second)[versions.index('None')].label} does not say by which version of the scoring "
            f"rules "
            "it was judged (no results file, or not a task of this package). Score its replies again with --model "
            "replay"
        )
    if versions[0] != versions[1]:
        raise NotComparableError(
            f"{task}: {first.label} was scored by version {versions[0]} of the rules, {second.label} by {versions[1]}. "
            "Score the older replies again: lmms-eval --model replay --model_args path=THE_RUN"
        )
    prints = [log.metadata.get("fingerprint") for log in (one, other)]
    if all(prints) and prints[0] != prints[1]:
        raise NotComparableError(
            f"{task}: the runs saw different data: fingerprint {prints[0]} ({one.metadata.get('data')}) against "
            f"{prints[1]} ({other.metadata.get('data')})"
        )
    by_row = [{(sample.row, sample.doc_id): sample for sample in log.samples} for log in (one, other)]
    lacking = [by_row[0].keys() - by_row[1].keys(), by_row[1].keys() - by_row[0].keys()]
    if any(lacking):
        some = sorted(row for row, _ in lacking[0] or lacking[1])[:3]
        raise NotComparableError(
            f"{task}: the runs judged different rows: {len(lacking[0]):,} only in {first.label}, "
            f"{len(lacking[1]):,} only in "
            f"{second.label} (such as {', '.join(some)}). Run both with the same --limit and --offset, on the same data"
        )
    keys = list(by_row[0])
    for key in keys:
        if by_row[0][key].reference != by_row[1][key].reference:
            raise NotComparableError(
                f"{task}: row {key[0]} has another reference in {second.label}: the data are not the same"
            )
    return Pairing(task, [by_row[0][key] for key in keys], [by_row[1][key] for key in keys])


def _units(first: Run, second: Run, shared: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Groups that both runs have in full, and the leaves: name and leaves."""
    groups = [
        (name, members)
        for name, members in first.groups.items()
        if set(members) == set(second.groups.get(name, [])) and set(members) <= set(shared)
    ]
    return [*groups, *((name, [name]) for name in shared)]


def _differences(name: str, pairings: Sequence[Pairing]) -> list[Difference]:
    first = [sample for pairing in pairings for sample in pairing.first]
    second = [sample for pairing in pairings for sample in pairing.second]
    found = [_difference(name, metric, score, first, second) for metric, score in METRICS.items()]
    if name == MAIN:
        found += [
            _difference(name, metric, score, first, second, by_topic=True) for metric, score in TASK_MEANS.items()
        ]
    return found


def _difference(
    name: str, metric: str, score: Score, first: Sequence[Sample], second: Sequence[Sample], *, by_topic: bool = False
) -> Difference:
    pairs = [(score(one) or 0.0, score(other) or 0.0) for one, other in zip(first, second, strict=True)]
    groups = [str(sample.slices.get("topic")) if by_topic else "" for sample in first]
    clusters = [sample.cluster for sample in first]
    means = [_macro(groups, [pair[side] for pair in pairs]) for side in (0, 1)]
    drawn = statistics.macro_mean(
        ((group, cluster, other - one) for group, cluster, (one, other) in zip(groups, clusters, pairs, strict=True)),
        seed=SEED,
    )
    assert drawn is not None
    enough = any(one != other for one, other in pairs) and all(
        len({c for g, c in zip(groups, clusters, strict=True) if g == group}) > 1 for group in set(groups)
    )
    low, high = (drawn.low, drawn.high) if enough else (None, None)
    difference = Estimate(drawn.value, low, high, len(pairs), len(set(clusters)), signed=True)
    if by_topic:
        return Difference(name, metric, means[0], means[1], difference)
    test = statistics.mcnemar([one == 1.0 for one, _ in pairs], [other == 1.0 for _, other in pairs])
    return Difference(
        name, metric, means[0], means[1], difference, test.only_first, test.only_second, test.p_value
    )  # fmt: skip


def _macro(groups: Sequence[str], values: Sequence[float]) -> float:
    by_group: dict[str, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        by_group.setdefault(group, []).append(value)
    means = [sum(members) / len(members) for members in by_group.values()]
    return sum(means) / len(means)


def differences_table(comparisons: Sequence[Comparison]) -> Table:
    """One row for each task, metric and run beyond the first."""
    rows = [
        (entry.task, entry.metric, comparison.second.label, entry.difference.n, entry.difference.clusters,
         Estimate(entry.first, None, None, entry.difference.n, entry.difference.clusters),
         Estimate(entry.second, None, None, entry.difference.n, entry.difference.clusters),
         entry.difference, entry.only_first, entry.only_second,
         None if entry.p_value is None else _p(entry.p_value), _verdict(entry, comparison))
        for comparison in comparisons
        for entry in comparison.differences
    ]  # fmt: skip
    first = comparisons[0].first.label
    order = [name for name, _ in tree([comparisons[0].first, *(comparison.second for comparison in comparisons)])]
    return Table(
        "differences",
        f"Difference from {first}",
        ("task", "metric", "run"),
        ("rows", "clusters", "first", "second", "difference", "only first right", "only second right",
         "McNemar p", "verdict"),
        tuple(sorted(rows, key=lambda row: (order.index(row[0]), row[1]))),
        "Differences are second minus first in percentage points, over the same samples; their 95 % intervals come "
        "from a "
        f"bootstrap over clusters (2,000 draws, seed {SEED}). McNemar's p takes samples as independent: where "
        f"questions share "
        "a picture or an object, believe the interval.",
    )  # fmt: skip


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _verdict(entry: Difference, comparison: Comparison) -> str:
    return entry.verdict.replace("second", comparison.second.label).replace("first", comparison.first.label)


def flips_table(comparison: Comparison, most: int) -> Table:
    """The samples that the two runs judge differently, at most so many, spread over the tasks."""
    by_task: dict[str, list[tuple[str, Sample, Sample]]] = {}
    for flip in comparison.flips:
        by_task.setdefault(flip[0], []).append(flip)
    chosen: list[tuple[str, Sample, Sample]] = []
    queues = [list(flips) for flips in by_task.values()]
    while queues and len(chosen) < most:
        for queue in queues:
            if len(chosen) < most:
                chosen.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    order = list(by_task)
    chosen.sort(key=lambda flip: (order.index(flip[0]), flip[1].doc_id))
    rows = tuple(
        (task, one.row, one.reference, _reading(one), _reading(other), _mark(one), _mark(other))
        for task, one, other in chosen
    )
    left = len(comparison.flips) - len(chosen)
    return Table(
        "flips",
        f"Samples that flipped from {comparison.first.label} to {comparison.second.label}: {len(comparison.flips):,}",
        ("task", "row"),
        ("reference", "first reads", "second reads", "first", "second"),
        rows,
        "official / flexible" + (f". {left:,} more are not listed; see --flips." if left else ""),
    )


def _reading(sample: Sample) -> str:
    return f"nothing ({sample.how})" if sample.read is None else sample.read[:60]


def _mark(sample: Sample) -> str:
    return f"{'right' if sample.acc == 1.0 else 'wrong'} / {sample.outcome}"
