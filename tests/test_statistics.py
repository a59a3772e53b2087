"""Standard errors and intervals equal those of lmms-eval, scipy and statsmodels, and cover what they promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_scoring import statistics

SAMPLES = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 0.5]), st.integers(0, 6)), min_size=2, max_size=60)


def clustered(rng: random.Random, groups: int, size: int) -> tuple[list[float], list[int]]:
    """Scores of `groups` clusters of `size`, with an expected mean of 0.3 and a strong likeness within a cluster."""
    scores, clusters = [], []
    for group in range(groups):
        share = rng.betavariate(0.6, 1.4)
        scores += [float(rng.random() < share) for _ in range(size)]
        clusters += [group] * size
    return scores, clusters


# --- the clustered standard error -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lmms_eval_stderr() -> Callable[[list[float], list[int]], float]:
    metrics = pytest.importorskip("lmms_eval.api.metrics")
    function: Callable[[list[float], list[int]], float] = metrics.clustered_stderr
    return function


def test_the_clustered_error_is_the_one_lmms_eval_prints(
    lmms_eval_stderr: Callable[[list[float], list[int]], float],
) -> None:
    rng = random.Random(3)
    for groups, size in ((2, 1), (2, 6), (30, 6), (180, 12), (1, 5)):
        scores, clusters = clustered(rng, groups, size)
        ours = statistics.clustered_stderr(scores, clusters)
        assert ours == pytest.approx(lmms_eval_stderr(scores, clusters), rel=1e-9, abs=1e-9)


def test_the_clustered_error_of_four_samples_in_two_clusters_by_hand() -> None:
    # Deviations ±1/2: variance 1/3, over n 1/12; products within clusters 4 * 1/4, over n² 1/16.
    expected = math.sqrt(1 / 12 + 1 / 16)
    assert statistics.clustered_stderr([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(expected)
    # Opposite answers within a cluster make the mean surer than independent ones do.
    assert statistics.clustered_stderr([1, 0, 1, 0], ["a", "a", "b", "b"]) == pytest.approx(math.sqrt(1 / 12 - 1 / 16))


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=50))
def test_clusters_of_one_give_the_ordinary_standard_error(scores: list[float]) -> None:
    count = len(scores)
    mean = sum(scores) / count
    ordinary = math.sqrt(sum((score - mean) ** 2 for score in scores) / (count - 1) / count)
    assert statistics.clustered_stderr(scores, range(count)) == pytest.approx(ordinary)
    interval = statistics.mean_interval(scores, range(count))
    assert interval is not None
    assert interval.stderr == pytest.approx(ordinary)


@given(SAMPLES, st.randoms())
def test_the_order_of_samples_changes_nothing(samples: list[tuple[float, int]], rng: random.Random) -> None:
    shuffled = samples[:]
    rng.shuffle(shuffled)
    first, second = ([list(column) for column in zip(*rows, strict=True)] for rows in (samples, shuffled))
    assert statistics.clustered_stderr(*first) == pytest.approx(statistics.clustered_stderr(*second))
    one, other = statistics.mean_interval(*first), statistics.mean_interval(*second)
    assert (one is None) == (other is None)
    if one is not None:
        assert one == pytest.approx(other)


def test_too_few_samples_or_clusters_have_no_error() -> None:
    assert statistics.clustered_stderr([], []) is None
    assert statistics.clustered_stderr([1.0], ["a"]) is None
    assert statistics.mean_interval([], []) is None
    assert statistics.mean_interval([1.0, 0.0], ["a", "a"]) is None
    assert statistics.paired_difference([], [], []) is None
    assert statistics.macro_mean([]) is None
    assert statistics.wilson(0, 0) is None


def test_columns_of_unlike_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        statistics.clustered_stderr([1.0, 0.0], ["a"])
    with pytest.raises(ValueError, match="zip"):
        statistics.paired_difference([1.0, 0.0], [1.0], ["a", "b"])
    with pytest.raises(ValueError, match="zip"):
        statistics.mcnemar([True], [True, False])


def test_the_interval_equals_that_of_statsmodels() -> None:
    numpy = pytest.importorskip("numpy")
    regression = pytest.importorskip("statsmodels.regression.linear_model")
    stats = pytest.importorskip("scipy.stats")
    scores, clusters = clustered(random.Random(5), 25, 6)
    fit = regression.OLS(numpy.array(scores), numpy.ones(len(scores))).fit(
        cov_type="cluster", cov_kwds={"groups": numpy.array(clusters), "use_correction": False}, use_t=False
    )
    interval = statistics.mean_interval(scores, clusters)
    assert interval is not None
    expected = fit.bse[0] * math.sqrt(25 / 24)
    assert interval.stderr == pytest.approx(expected)
    assert interval.high - interval.value == pytest.approx(stats.t.ppf(0.975, 24) * expected)
    assert interval.low + interval.high == pytest.approx(2 * interval.value)


@pytest.mark.parametrize(("groups", "size"), [(464, 6), (60, 12), (12, 6)])
def test_the_interval_of_clustered_scores_covers_the_truth_as_often_as_it_says(groups: int, size: int) -> None:
    rng = random.Random(groups)
    runs = 300
    covered = naive = 0
    for _ in range(runs):
        scores, clusters = clustered(rng, groups, size)
        interval = statistics.mean_interval(scores, clusters)
        wilson = statistics.wilson(round(sum(scores)), len(scores))
        assert interval is not None
        assert wilson is not None
        covered += interval.low <= 0.3 <= interval.high
        naive += wilson[0] <= 0.3 <= wilson[1]
    assert 0.93 <= covered / runs <= 0.97
    # Taking the samples as independent is what goes wrong.
    assert naive / runs < 0.85


# --- differences ----------------------------------------------------------------------------------------------------


def test_a_paired_difference_is_the_interval_of_the_differences() -> None:
    first, second, clusters = [1, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3]
    difference = statistics.paired_difference(first, second, clusters)
    assert difference == statistics.mean_interval([1, 0, 0, 1, -1, 1], clusters)
    assert difference is not None
    assert difference.value == pytest.approx(1 / 3)
    # Cluster sums of the deviations 1/3, 1/3, -2/3; times 3/2, over n².
    assert difference.stderr == pytest.approx(math.sqrt((1 / 9 + 1 / 9 + 4 / 9) * 3 / 2) / 6)


def test_a_paired_interval_covers_a_true_difference_of_nothing() -> None:
    rng = random.Random(8)
    runs = 400
    covered = 0
    for _ in range(runs):
        first, second, clusters = [], [], []
        for group in range(60):
            share = rng.random()
            for _ in range(6):
                first.append(float(rng.random() < share))
                second.append(float(rng.random() < share))
                clusters.append(group)
        difference = statistics.paired_difference(first, second, clusters)
        assert difference is not None
        covered += difference.low <= 0 <= difference.high
    assert 0.93 <= covered / runs <= 0.97


@pytest.mark.parametrize(
    ("one", "other"), [(0, 0), (1, 0), (0, 1), (5, 0), (7, 2), (2, 7), (6, 6), (40, 61), (900, 1100)]
)
def test_mcnemar_is_the_exact_binomial_test(one: int, other: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    first = [True] * one + [False] * other + [True, False] * 5
    second = [False] * one + [True] * other + [True, False] * 5
    result = statistics.mcnemar(first, second)
    assert (result.only_first, result.only_second) == (one, other)
    expected = stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert result.p_value == pytest.approx(expected)


def test_mcnemar_takes_ten_thousand_discordant_samples() -> None:
    result = statistics.mcnemar([True] * 4_900 + [False] * 5_100, [False] * 4_900 + [True] * 5_100)
    assert result.p_value == pytest.approx(0.0466, abs=0.001)


@pytest.mark.parametrize(("successes", "count"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (250, 2784)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_equals_scipy(successes: int, count: int, level: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(successes, count).proportion_ci(level, method="wilson")
    assert statistics.wilson(successes, count, level) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 6, 10, 11, 29, 179, 463, 1999, 100_000, 100_001])
@pytest.mark.parametrize("probability", [0.5, 0.025, 0.9, 0.975, 0.995])
def test_the_t_quantile_equals_scipy(degrees: int, probability: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert statistics.t_quantile(probability, degrees) == pytest.approx(
        stats.t.ppf(probability, degrees), rel=1e-8 if degrees <= 100_000 else 1e-4, abs=1e-9
    )


# --- the macro mean -------------------------------------------------------------------------------------------------


def topics(rng: random.Random, objects: int) -> list[tuple[int, int, float]]:
    """Seven topics of unlike difficulty, `objects` objects each, six rows an object."""
    samples = []
    for topic in range(7):
        for number in range(objects):
            share = rng.betavariate(0.5 + 0.2 * topic, 1.0)
            samples += [(topic, number, float(rng.random() < share)) for _ in range(6)]
    return samples


TRUTH = sum((0.5 + 0.2 * topic) / (1.5 + 0.2 * topic) for topic in range(7)) / 7


def test_the_macro_mean_is_the_mean_of_group_means_and_its_error_that_of_the_groups() -> None:
    samples = topics(random.Random(2), 20)
    estimate = statistics.macro_mean(samples)
    assert estimate is not None
    means, variances = [], []
    for topic in range(7):
        mine = [(score, cluster) for group, cluster, score in samples if group == topic]
        interval = statistics.mean_interval([score for score, _ in mine], [cluster for _, cluster in mine])
        assert interval is not None
        means.append(interval.value)
        variances.append(interval.stderr**2)
    assert estimate.value == pytest.approx(sum(means) / 7)
    # The bootstrap knows no G/(G-1); 2,000 draws leave it about 2 % of noise.
    assert estimate.stderr == pytest.approx(math.sqrt(sum(variances)) / 7 * math.sqrt(19 / 20), rel=0.06)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * estimate.stderr, rel=0.08)


def test_the_macro_interval_covers_the_truth_as_often_as_it_says() -> None:
    runs = 200
    covered = 0
    rng = random.Random(4)
    for run in range(runs):
        estimate = statistics.macro_mean(topics(rng, 20), draws=200, seed=run)
        assert estimate is not None
        covered += estimate.low <= TRUTH <= estimate.high
    assert 0.93 <= covered / runs <= 0.97


def test_the_macro_mean_repeats_with_its_seed_whatever_the_order() -> None:
    samples = topics(random.Random(2), 5)
    shuffled = samples[:]
    random.Random(1).shuffle(shuffled)
    first = statistics.macro_mean(samples, draws=100, seed=1)
    assert statistics.macro_mean(shuffled, draws=100, seed=1) == first
    assert statistics.macro_mean(samples, draws=100, seed=2) != first


def test_the_macro_mean_takes_2000_draws_from_seed_0_and_the_level_s_share_of_them() -> None:
    samples = topics(random.Random(2), 5)
    estimate = statistics.macro_mean(samples)
    assert estimate == statistics.macro_mean(samples, 0.95, 2000, 0)
    half = statistics.macro_mean(samples, level=0.5)
    assert half is not None
    assert half.high - half.low == pytest.approx(2 * 0.6745 * half.stderr, rel=0.15)


def test_a_quantile_lies_between_its_neighbours() -> None:
    assert [statistics._at([0.0, 1.0, 4.0], share) for share in (0.0, 0.25, 0.75, 1.0)] == [0.0, 0.5, 2.5, 4.0]


def test_the_t_quantile_is_the_normal_one_beyond_100_000_degrees() -> None:
    normal = NormalDist().inv_cdf(0.975)
    assert statistics.t_quantile(0.975, 100_001) == normal < statistics.t_quantile(0.975, 100_000)


def test_the_macro_error_of_two_draws_is_their_standard_deviation() -> None:
    estimate = statistics.macro_mean(topics(random.Random(2), 5), level=1.0, draws=2)
    assert estimate is not None
    assert estimate.stderr == pytest.approx((estimate.high - estimate.low) / math.sqrt(2))


def test_groups_of_one_cluster_have_a_macro_mean_without_error() -> None:
    assert statistics.macro_mean([("a", 1, 1.0), ("a", 1, 0.0), ("b", 1, 0.0)], draws=10) == (0.25, 0.0, 0.25, 0.25)


def test_an_interval_of_a_share_is_at_95_percent_and_within_0_and_1() -> None:
    assert statistics.wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert all(statistics.wilson(count, count)[1] <= 1.0 for count in range(1, 300))  # type: ignore[index]
    assert all(statistics.wilson(0, count)[0] >= 0.0 for count in range(1, 300))  # type: ignore[index]


def test_a_quantile_just_below_a_half_is_that_above_it_with_a_minus() -> None:
    assert statistics.t_quantile(0.495, 10) == pytest.approx(-statistics.t_quantile(0.505, 10))
    assert statistics.t_quantile(0.495, 10) < 0
