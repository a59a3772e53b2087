"""Errors and intervals of means over samples that are not independent, and of differences between two models."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple


class Estimate(NamedTuple):
    """A mean (or a difference of means) with its standard error and the ends of its interval."""

    value: float
    stderr: float
    low: float
    high: float


class McNemar(NamedTuple):
    """Samples that only the first and only the second model got right, and the two-sided exact p-value."""

    only_first: int
    only_second: int
    p_value: float


def clustered_stderr(scores: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """The standard error of the mean of scores that come in clusters, as lmms-eval 0.7.3 prints it; None below two.

    It is lmms-eval's `Stderr_Clustered` to rounding: the independent samples' variance plus the products within each
    cluster. It has no correction for few clusters, and with one cluster alone it is close to 0 whatever the scores are;
    `mean_interval` has both mended.

    Source: Miller, Adding Error Bars to Evals (arXiv 2411.00640), equation 4; lmms-eval 0.7.3, `api/metrics.py`.

    >>> round(clustered_stderr([1, 1, 0, 0], ["a", "a", "b", "b"]), 4), clustered_stderr([1], ["a"])
    (0.3819, None)
    """
    count = len(scores)
    if count < 2:
        return None
    mean = math.fsum(scores) / count
    squares = math.fsum((score - mean) ** 2 for score in scores)
    between = math.fsum(total**2 for total in _cluster_sums([score - mean for score in scores], clusters))
    return math.sqrt(between + squares / (count - 1)) / count


def mean_interval(scores: Sequence[float], clusters: Sequence[Hashable], level: float = 0.95) -> Estimate | None:
    """The mean with its cluster-robust standard error and interval; None with fewer than two clusters.

    The variance has the factor G/(G-1) for G clusters, the interval the t distribution with G-1 degrees of freedom.
    For accuracies the ends may lie outside 0 to 1: near the edges use `wilson` where samples are independent.
    """
    count = len(scores)
    if count == 0:
        return None
    mean = math.fsum(scores) / count
    sums = _cluster_sums([score - mean for score in scores], clusters)
    if len(sums) < 2:
        return None
    groups = len(sums)
    stderr = math.sqrt(math.fsum(total**2 for total in sums) * groups / (groups - 1)) / count
    reach = t_quantile((1 + level) / 2, groups - 1) * stderr
    return Estimate(mean, stderr, mean - reach, mean + reach)


def paired_difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable], level: float = 0.95
) -> Estimate | None:
    """The mean of first minus second over the same samples, clustered as in `mean_interval`; None below two clusters.

    >>> paired_difference([1, 1, 0, 1], [0, 1, 0, 0], ["a", "b", "c", "d"]).value
    0.5
    """
    return mean_interval([one - other for one, other in zip(first, second, strict=True)], clusters, level)


def macro_mean(
    samples: Iterable[tuple[Hashable, Hashable, float]], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Estimate | None:
    """The unweighted mean of group means with a bootstrap error and percentile interval; None without samples.

    `samples` are (group, cluster, score). Each draw takes the clusters of every group anew, with replacement, and as
    many as the group has: the groups are fixed (the seven topics), the objects are what could have been others. A group
    with one cluster adds no error. The same samples, in any order, and seed give the same result.
    """
    groups: dict[Hashable, dict[Hashable, list[float]]] = {}
    for group, cluster, score in samples:
        groups.setdefault(group, {}).setdefault(cluster, []).append(score)
    if not groups:
        return None
    # Draws take clusters by position: a fixed order makes them independent of the order of the samples.
    totals = [
        sorted((math.fsum(scores), len(scores)) for scores in clusters.values())
        for _, clusters in sorted(groups.items(), key=lambda item: str(item[0]))
    ]
    rng = random.Random(seed)
    means = sorted(_macro([rng.choices(clusters, k=len(clusters)) for clusters in totals]) for _ in range(draws))
    centre = math.fsum(means) / draws
    stderr = math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (draws - 1))
    tail = (1 - level) / 2
    return Estimate(_macro(totals), stderr, _at(means, tail), _at(means, 1 - tail))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Where two models differ on the same samples, with the exact two-sided p-value (1.0 where they never differ).

    The test takes samples as independent; where questions share an image, `paired_difference` is the one to believe.

    Source: McNemar 1947, binomial form: under no difference, each discordant sample falls to either side by chance.

    >>> mcnemar([True, True, True, False], [False, False, True, False])
    McNemar(only_first=2, only_second=0, p_value=0.5)
    """
    pairs = list(zip(first, second, strict=True))
    only_first = sum(1 for one, other in pairs if one and not other)
    only_second = sum(1 for one, other in pairs if other and not one)
    count = only_first + only_second
    term = total = 1
    for drawn in range(min(only_first, only_second)):
        term = term * (count - drawn) // (drawn + 1)
        total += term
    return McNemar(only_first, only_second, min(1.0, 2 * total / 2**count))


def wilson(successes: int, count: int, level: float = 0.95) -> tuple[float, float] | None:
    """The ends of the interval of a share of independent samples, within 0 to 1; None without samples.

    Source: Wilson 1927.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    if count == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / count
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = z / (1 + z**2 / count) * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution, to 1e-9 or better.

    The distribution function of a whole number of degrees is a finite sum; it is inverted by bisection.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    >>> round(t_quantile(0.975, 10), 4)
    2.2281
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    if degrees > 100_000:
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 1.0
    while _t_within(high, degrees) < 2 * probability - 1:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        if _t_within(middle, degrees) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_within(t: float, degrees: int) -> float:
    """The probability of a value between -t and t."""
    angle = math.atan2(t, math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(2 + odd, degrees, 2):
        term *= cosine**2 * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _cluster_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    members: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return [math.fsum(group) for group in members.values()]


def _macro(groups: Sequence[Sequence[tuple[float, int]]]) -> float:
    means = [math.fsum(total for total, _ in group) / sum(count for _, count in group) for group in groups]
    return math.fsum(means) / len(means)


def _at(ordered: Sequence[float], share: float) -> float:
    """The quantile of ordered values, interpolated between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
