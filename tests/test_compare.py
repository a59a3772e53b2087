"""Comparisons: pairing by row, differences with intervals, and the runs that must not be paired."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks import cli
from lmms_tasks.report import compare, report_cli, runs
from tests import report_runs

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")

SIZES = {"slake_en_open": 60, "slake_en_closed": 48, "vlms_are_biased_main": 252}


def load(*places: Path) -> list[runs.Run]:
    return report_cli.load([str(place) for place in places])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    first = report_runs.write(tmp_path, SIZES, model="weak", skill=0.3)
    return first, report_runs.write(tmp_path, SIZES, model="strong", skill=0.7, seed=1)


def scores(place: Path, task: str, metric: str = "acc") -> dict[str, tuple[float, str]]:
    return {
        entry["acc"]["row"]: (entry[metric]["score"], entry["acc"]["cluster"])
        for entry in report_runs.logged(place)[task]
    }


def test_differences_and_mcnemar_equal_ones_computed_from_the_logs(pair: tuple[Path, Path]) -> None:
    comparison = compare.compare(*load(*pair))
    found = {(entry.task, entry.metric): entry for entry in comparison.differences}
    for task in SIZES:
        for metric in ("acc", "acc_flexible"):
            one, other = scores(pair[0], task, metric), scores(pair[1], task, metric)
            entry = found[(task, metric)]
            assert entry.first == pytest.approx(np.mean([score for score, _ in one.values()]))
            assert entry.second == pytest.approx(np.mean([score for score, _ in other.values()]))
            assert entry.difference.value == pytest.approx(entry.second - entry.first)
            only_first = sum(one[row][0] > other[row][0] for row in one)
            only_second = sum(one[row][0] < other[row][0] for row in one)
            assert (entry.only_first, entry.only_second) == (only_first, only_second)
            exact = stats.binomtest(only_first, only_first + only_second).pvalue
            assert entry.p_value == pytest.approx(exact)


def test_the_bootstrap_interval_agrees_with_the_clustered_standard_error(pair: tuple[Path, Path]) -> None:
    comparison = compare.compare(*load(*pair))
    entry = next(e for e in comparison.differences if (e.task, e.metric) == ("vlms_are_biased_main", "acc"))
    one, other = (scores(place, "vlms_are_biased_main") for place in pair)
    differences = np.array([other[row][0] - one[row][0] for row in one])
    names, codes = np.unique([cluster for _, cluster in one.values()], return_inverse=True)
    sums = np.bincount(codes, differences - differences.mean())
    error = math.sqrt(len(names) / (len(names) - 1) * (sums**2).sum()) / len(differences)
    assert entry.difference.low == pytest.approx(differences.mean() - 1.96 * error, abs=0.02)
    assert entry.difference.high == pytest.approx(differences.mean() + 1.96 * error, abs=0.02)


def test_the_same_call_gives_the_same_numbers(pair: tuple[Path, Path]) -> None:
    assert compare.compare(*load(*pair)).differences == compare.compare(*load(*pair)).differences


def test_turned_round_the_difference_changes_its_sign(pair: tuple[Path, Path]) -> None:
    there, back = compare.compare(*load(*pair)), compare.compare(*load(*reversed(pair)))
    for one, other in zip(there.differences, back.differences, strict=True):
        assert one.difference.value == pytest.approx(-other.difference.value)
        assert (one.only_first, one.only_second) == (other.only_second, other.only_first)


def test_a_group_pools_the_samples_of_its_leaves(pair: tuple[Path, Path]) -> None:
    entry = next(e for e in compare.compare(*load(*pair)).differences if (e.task, e.metric) == ("slake_en", "acc"))
    assert entry.difference.n == 108
    one = [s for task in ("slake_en_open", "slake_en_closed") for s, _ in scores(pair[0], task).values()]
    assert entry.first == pytest.approx(np.mean(one))


def test_the_order_of_the_lines_does_not_matter(pair: tuple[Path, Path]) -> None:
    before = compare.compare(*load(*pair)).differences
    path = next(pair[1].glob("*_samples_slake_en_open.jsonl"))
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert compare.compare(*load(*pair)).differences == before


def test_flips_are_the_samples_judged_differently(pair: tuple[Path, Path]) -> None:
    comparison = compare.compare(*load(*pair))
    expected = 0
    for task in SIZES:
        sides = [
            {e["acc"]["row"]: (e["acc"]["score"], e["acc_flexible"]["score"]) for e in report_runs.logged(place)[task]}
            for place in pair
        ]
        expected += sum(sides[0][row] != sides[1][row] for row in sides[0])
    assert len(comparison.flips) == expected
    table = compare.flips_table(comparison, 10)
    assert len(table.rows) == 10
    assert {row[0] for row in table.rows} == set(SIZES)
    assert f"{expected - 10:,} more" in table.note


def test_a_run_against_itself_has_no_difference_and_no_verdict(pair: tuple[Path, Path]) -> None:
    comparison = compare.compare(*load(pair[0], pair[0]))
    assert comparison.flips == []
    for entry in comparison.differences:
        assert entry.difference.value == 0
        assert entry.difference.low is None
        if entry.p_value is not None:
            assert entry.verdict == "every sample is judged alike"


def test_a_clear_winner_is_named_and_a_tie_is_not(tmp_path: Path) -> None:
    one = report_runs.write(tmp_path, {"slake_en_open": 300}, model="weak", skill=0.2)
    two = report_runs.write(tmp_path, {"slake_en_open": 300}, model="strong", skill=0.9, seed=1)
    three = report_runs.write(tmp_path, {"slake_en_open": 300}, model="again", skill=0.2, seed=2)
    rows = compare.differences_table([compare.compare(*load(one, two)), compare.compare(*load(one, three))]).rows
    verdicts = {(row[1], row[2]): row[-1] for row in rows}
    assert verdicts[("acc", "strong")] == "strong is better"
    assert verdicts[("acc", "again")] == "no difference shown"


def change(place: Path, edit: Any) -> None:
    path = next(place.glob("*_results.json"))
    content = json.loads(path.read_text())
    for config in content["configs"].values():
        edit(config["metadata"])
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda metadata: metadata.update(version="2.0"), "version 1.0 of the rules, strong by 2.0"),
        (lambda metadata: metadata.pop("version"), "does not say by which version"),
        (lambda metadata: metadata.update(fingerprint="ffff"), "saw different data"),
    ],
)
def test_runs_under_other_rules_or_data_are_not_paired(pair: tuple[Path, Path], edit: Any, reason: str) -> None:
    change(pair[1], edit)
    with pytest.raises(compare.NotComparableError, match=reason):
        compare.compare(*load(*pair))


def test_runs_over_other_rows_are_not_paired(pair: tuple[Path, Path]) -> None:
    path = next(pair[1].glob("*_samples_slake_en_open.jsonl"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
    with pytest.raises(compare.NotComparableError, match=r"2 only in weak, 0 only in strong \(such as row-58"):
        compare.compare(*load(*pair))


def test_rows_with_another_reference_are_not_paired(pair: tuple[Path, Path]) -> None:
    path = next(pair[1].glob("*_samples_slake_en_open.jsonl"))
    path.write_text(path.read_text().replace('"reference": "3"', '"reference": "4"'))
    with pytest.raises(compare.NotComparableError, match="another reference"):
        compare.compare(*load(*pair))


def test_runs_without_a_common_task_are_not_paired(tmp_path: Path) -> None:
    one = report_runs.write(tmp_path, {"slake_en_open": 6}, model="one")
    two = report_runs.write(tmp_path, {"slake_zh_open": 6}, model="two")
    with pytest.raises(compare.NotComparableError, match="slake_en_open against slake_zh_open"):
        compare.compare(*load(one, two))


def test_a_task_that_only_one_run_has_is_named(tmp_path: Path) -> None:
    one = report_runs.write(tmp_path, {"slake_en_open": 6, "slake_zh_open": 6}, model="one")
    two = report_runs.write(tmp_path, {"slake_en_open": 6}, model="two")
    assert compare.compare(*load(one, two)).notes == ["Only one has slake_zh_open; two has not, so it is not compared."]


def test_the_command_tells_the_reason_and_its_exit_status(
    pair: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *map(str, pair)]) == 0
    out = capfd.readouterr().out
    assert "| slake_en | acc | strong | 108 |" in out
    assert "Published numbers of the same definition" in out
    assert cli.main(["compare", str(pair[0])]) == 2
    assert "name two or more" in capfd.readouterr().err
    assert cli.main(["compare", str(pair[0]), str(pair[0])]) == 2
    assert "against itself" in capfd.readouterr().err
    change(pair[1], lambda metadata: metadata.update(version="9"))
    assert cli.main(["compare", *map(str, pair)]) == 1
    assert "version 9" not in capfd.readouterr().out


def test_a_bootstrap_interval_covers_the_true_difference(tmp_path: Path) -> None:
    from lmms_scoring import statistics

    random = np.random.default_rng(3)
    hits, trials = 0, 600
    for trial in range(trials):
        luck = np.repeat(random.normal(0, 0.15, 60), 6)
        one = random.random(360) < np.clip(0.5 + luck, 0, 1)
        other = random.random(360) < np.clip(0.6 + np.repeat(random.normal(0, 0.15, 60), 6), 0, 1)
        drawn = statistics.macro_mean(
            (("", index // 6, float(b) - float(a)) for index, (a, b) in enumerate(zip(one, other, strict=True))),
            draws=300, seed=trial,
        )  # fmt: skip
        assert drawn is not None
        hits += drawn.low <= 0.1 <= drawn.high
    assert 0.93 <= hits / trials <= 0.97
