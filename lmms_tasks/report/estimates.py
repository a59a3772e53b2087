"""Shares with their 95 % intervals, computed from the samples of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_scoring import statistics
from lmms_tasks.report.runs import Sample


@dataclass(frozen=True)
class Estimate:
    """A share between 0 and 1 (or a difference of shares), its 95 % interval, and what it rests on.

    `low` and `high` are None where no interval can be given: a single cluster, or a value from a results file that has
    no standard error. `clusters` counts the independent units. A `signed` share is a difference, from -1 to 1.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    from_log: bool = True
    signed: bool = False


Score = Callable[[Sample], "float | None"]


def share(samples: Iterable[Sample], score: Score) -> Estimate | None:
    """The mean of the scores that are not None, with its interval; None without any.

    The interval is that of the clustered standard error, cut to 0 to 1. Where that error is 0 it says nothing: Wilson's
    interval stands in, with the clusters as its independent units.
    """
    values: list[float] = []
    clusters: list[str] = []
    for sample in samples:
        value = score(sample)
        if value is not None:
            values.append(value)
            clusters.append(sample.cluster)
    if not values:
        return None
    value = math.fsum(values) / len(values)
    units = len(set(clusters))
    return Estimate(value, *_ends(values, clusters, units), len(values), units)


def _ends(values: Sequence[float], clusters: Sequence[str], units: int) -> tuple[float | None, float | None]:
    if units < 2:
        return None, None
    found = statistics.mean_interval(values, clusters)
    assert found is not None
    if found.stderr < 1e-12:
        ends = statistics.wilson(found.value * units, units)  # type: ignore[arg-type]
        assert ends is not None
        return ends
    return max(0.0, found.low), min(1.0, found.high)


def topic_mean(samples: Iterable[Sample], score: Score) -> Estimate | None:
    """The unweighted mean of the topics' means, its interval from a seeded bootstrap over the objects of each topic.

    No interval where a topic has a single object, or no draw differs from another: neither says how sure the mean is.
    """
    found: list[tuple[str, str, float]] = []
    for sample in samples:
        value = score(sample)
        if value is not None:
            found.append((str(sample.slices.get("topic")), sample.cluster, value))
    if not found:
        return None
    objects: dict[str, set[str]] = {}
    for topic, cluster, _ in found:
        objects.setdefault(topic, set()).add(cluster)
    mean = statistics.macro_mean(found)
    assert mean is not None
    clusters = sum(map(len, objects.values()))
    if min(map(len, objects.values())) < 2 or mean.low == mean.high:
        return Estimate(mean.value, None, None, len(found), clusters)
    return Estimate(mean.value, mean.low, mean.high, len(found), clusters)


def contrast(
    first: Sequence[Sample], second: Sequence[Sample], score: Score, stratum: Callable[[Sample], object]
) -> tuple[Estimate, Estimate, Estimate] | None:
    """The means of first and second, and second minus first with its interval; None without a stratum that both have.

    A mean is that of the means of the strata that both have: each of these weighs alike.

    The samples of a cluster move together, within a side and across the sides: over the same questions this is the
    interval of the paired differences, over questions with nothing in common that of two independent means. Where all
    of a side's scores are equal, Newcombe's interval stands in, with the clusters as independent units.
    """
    sides = [_by_stratum(samples, score, stratum) for samples in (first, second)]
    both = [name for name in sides[0] if name in sides[1]]
    if not both:
        return None
    centres = [[math.fsum(v for v, _ in side[name]) / len(side[name]) for name in both] for side in sides]
    one, other = (math.fsum(side) / len(both) for side in centres)
    clusters = [{cluster for name in both for _, cluster in side[name]} for side in sides]
    rows = [sum(len(side[name]) for name in both) for side in sides]
    moves: dict[str, float] = {}
    for sign, side, means in zip((-1, 1), sides, centres, strict=True):
        for name, mean in zip(both, means, strict=True):
            for value, cluster in side[name]:
                moves[cluster] = moves.get(cluster, 0.0) + sign * (value - mean) / len(side[name]) / len(both)
    low, high = _ends_of_moves(other - one, list(moves.values()))
    if low == high is not None:
        low, high = _newcombe((one, len(clusters[0])), (other, len(clusters[1])))
    return (
        Estimate(one, None, None, rows[0], len(clusters[0])),
        Estimate(other, None, None, rows[1], len(clusters[1])),
        Estimate(other - one, low, high, rows[1], len(moves), signed=True),
    )


def _ends_of_moves(value: float, moves: Sequence[float]) -> tuple[float | None, float | None]:
    """The ends of the interval of a value that each cluster moves by so much, alike where none moves it."""
    units = len(moves)
    if units < 2:
        return None, None
    stderr = math.sqrt(math.fsum(move**2 for move in moves) * units / (units - 1))
    reach = statistics.t_quantile(0.975, units - 1) * stderr if stderr > 1e-12 else 0.0
    return max(-1.0, value - reach), min(1.0, value + reach)


def _by_stratum(
    samples: Iterable[Sample], score: Score, stratum: Callable[[Sample], object]
) -> dict[object, list[tuple[float, str]]]:
    found: dict[object, list[tuple[float, str]]] = {}
    for sample in samples:
        value = score(sample)
        if value is not None:
            found.setdefault(stratum(sample), []).append((value, sample.cluster))
    return found


def _newcombe(first: tuple[float, int], second: tuple[float, int]) -> tuple[float, float]:
    """The ends of the interval of a difference of independent shares, each given with its number of units.

    Source: Newcombe 1998, Statistics in Medicine 17, 873, method 10.
    """
    ends = [statistics.wilson(share * units, units) for share, units in (first, second)]  # type: ignore[arg-type]
    assert ends[0] is not None
    assert ends[1] is not None
    (one, _), (other, _) = first, second
    return (
        other - one - math.hypot(ends[1][0] - other, ends[0][1] - one),
        other - one + math.hypot(ends[1][1] - other, ends[0][0] - one),
    )


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
