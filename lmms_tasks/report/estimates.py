"""Shares with their 95 % intervals, computed from the samples of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_tasks.report.runs import Sample


@dataclass(frozen=True)
class Estimate:
    """A share between 0 and 1 (or a difference of shares), its 95 % interval, and what it rests on.

    `low` and `high` are None where no interval can be given: a single cluster, or a value taken from a results file that
    has no standard error. `clusters` counts the independent units.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    from_log: bool = True


Score = Callable[[Sample], "float | None"]


def share(samples: Iterable[Sample], score: Score) -> Estimate | None:
    """The mean of the scores that are not None, with the interval from the clustered standard error; None without any."""
    values: list[float] = []
    clusters: list[str] = []
    for sample in samples:
        value = score(sample)
        if value is not None:
            values.append(value)
            clusters.append(sample.cluster)
    if not values:
        return None
    value = sum(values) / len(values)
    units = len(set(clusters))
    error = clustered_error(values, clusters)
    if error is None:
        return Estimate(value, None, None, len(values), units)
    low, high = max(0.0, value - Z * error), min(1.0, value + Z * error)
    return Estimate(value, low, high, len(values), units)


Z = 1.959963984540054


def clustered_error(values: Sequence[float], clusters: Sequence[str]) -> float | None:
    """The standard error of the mean where samples of one cluster are not independent; None for fewer than two clusters."""
    mean = sum(values) / len(values)
    sums: dict[str, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    units = len(sums)
    if units < 2:
        return None
    return float((sum(total * total for total in sums.values()) * units / (units - 1)) ** 0.5 / len(values))


def topic_mean(samples: Iterable[Sample], score: Score, *, seed: int = 0, draws: int = 2000) -> Estimate | None:
    """The unweighted mean of the topics' means, its interval from a bootstrap over the clusters of each topic."""
    import numpy as np

    topics: dict[str, dict[str, list[float]]] = {}
    n = 0
    for sample in samples:
        value = score(sample)
        if value is not None:
            n += 1
            unit = topics.setdefault(str(sample.slices.get("topic")), {}).setdefault(sample.cluster, [0.0, 0.0])
            unit[0] += value
            unit[1] += 1
    if not topics:
        return None
    random = np.random.default_rng(seed)
    means: list[float] = []
    drawn = np.zeros(draws)
    certain = True
    for units in topics.values():
        table = np.array(list(units.values()))
        means.append(float(table[:, 0].sum() / table[:, 1].sum()))
        certain &= len(table) > 1
        weights = random.multinomial(len(table), np.full(len(table), 1 / len(table)), size=draws)
        totals = weights @ table
        drawn += totals[:, 0] / totals[:, 1]
    value = sum(means) / len(means)
    clusters = sum(len(units) for units in topics.values())
    if not certain:
        return Estimate(value, None, None, n, clusters)
    low, high = (float(q) for q in np.quantile(drawn / len(topics), [0.025, 0.975]))
    return Estimate(value, low, high, n, clusters)


def acc(sample: Sample) -> float | None:
    """The official score."""
    return sample.acc


def acc_flexible(sample: Sample) -> float | None:
    """1.0 where a careful grader marks the reply right."""
    return sample.acc_flexible


def format_ok(sample: Sample) -> float | None:
    """1.0 where the reply has the form that the prompt asks for."""
    return float(sample.format_ok)


def unreadable(sample: Sample) -> float | None:
    """1.0 where the reply states no answer."""
    return float(sample.outcome == "unreadable")


def bias(sample: Sample) -> float | None:
    """The official bias score; None for a row without an expected bias."""
    return sample.biased


def bias_flexible(sample: Sample) -> float | None:
    """1.0 where a careful grader finds the expected bias; None for a row without one."""
    return None if sample.biased is None else float(sample.outcome == "biased")


def metric(name: str) -> Score:
    """The score of a metric that the task itself wrote into the log, such as token_f1."""
    return lambda sample: sample.scores.get(name)
