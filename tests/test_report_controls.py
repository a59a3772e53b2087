"""Main beside its controls: differences that are paired where they can be, and intervals that cover what they say."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from lmms_scoring import statistics
from lmms_tasks.report import charts, estimates, formats, page, runs, tables
from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.runs import Sample
from tests import report_runs
from tests.test_report import tables_of

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")


def sample(score: float, cluster: object, number: int = 0, topic: str = "Animals") -> Sample:
    outcome = "correct" if score else "other"
    slices = {"topic": topic, "type_of_question": f"Q{number % 2 + 1}", "pixel": (384, 768, 1152)[number // 2 % 3]}
    return Sample(number, f"row {number}", str(cluster), score, outcome, None, None, "", True, "", slices, {}, 0)


def contrast(first: list[Sample], second: list[Sample]) -> tuple[Estimate, Estimate, Estimate]:
    found = estimates.contrast(first, second, estimates.acc, lambda _: "")
    assert found is not None
    return found


def drawn(rng: random.Random, objects: range, rows: int, shift: float) -> list[Sample]:
    """Rows of objects, each of which has a luck of its own that it has on every side."""
    out = []
    for number in objects:
        luck = random.Random(f"luck of {number}").random() - 0.5
        out += [sample(float(rng.random() < 0.45 + 0.7 * luck + shift), number, row) for row in range(rows)]
    return out


def test_over_the_same_questions_it_is_the_paired_difference() -> None:
    rng = random.Random(1)
    first, second = drawn(rng, range(40), 6, 0.0), drawn(rng, range(40), 6, 0.2)
    one, other, difference = contrast(first, second)
    expected = statistics.paired_difference([s.acc for s in second], [s.acc for s in first], [s.cluster for s in first])
    assert expected is not None
    assert (one.value, other.value) == pytest.approx(
        (np.mean([s.acc for s in first]), np.mean([s.acc for s in second]))
    )
    assert (difference.value, difference.low, difference.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )


def test_over_questions_that_share_some_objects_it_is_the_regression_of_statsmodels() -> None:
    regression = pytest.importorskip("statsmodels.regression.linear_model")
    rng = random.Random(2)
    first, second = drawn(rng, range(30), 6, 0.0), drawn(rng, range(20, 45), 2, 0.1)
    both = [*first, *second]
    design = np.column_stack([np.ones(len(both)), [0.0] * len(first) + [1.0] * len(second)])
    groups = np.array([int(s.cluster) for s in both])
    fit = regression.OLS(np.array([s.acc for s in both]), design).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, use_t=False
    )
    _, _, difference = contrast(first, second)
    reach = stats.t.ppf(0.975, 44) * fit.bse[1] * math.sqrt(45 / 44)
    assert difference.value == pytest.approx(fit.params[1])
    assert (difference.low, difference.high) == pytest.approx((difference.value - reach, difference.value + reach))
    assert difference.clusters == 45


@pytest.mark.parametrize("objects", [range(60), range(30, 90), range(60, 120)], ids=["all", "half", "none shared"])
def test_the_interval_covers_the_true_difference(objects: range) -> None:
    hits, trials, rng = 0, 400, random.Random(len(objects) + objects[0])
    for _ in range(trials):
        luck = [rng.random() - 0.5 for _ in range(120)]
        sides = [
            [
                sample(float(rng.random() < base + 0.6 * luck[thing]), thing, row)
                for thing in things
                for row in range(rows)
            ]
            for things, rows, base in ((range(60), 6, 0.4), (objects, 3, 0.55))
        ]
        _, _, difference = contrast(*sides)
        assert difference.low is not None
        assert difference.high is not None
        hits += difference.low <= 0.15 <= difference.high
    assert 0.93 <= hits / trials <= 0.97


def test_topics_weigh_alike_where_questions_are_not_paired() -> None:
    first = [sample(float(i % 2), i) for i in range(8)] + [sample(0.0, 100 + i, topic="Logos") for i in range(2)]
    second = [sample(1.0, 200 + i) for i in range(2)] + [
        sample(float(i % 2), 300 + i, topic="Logos") for i in range(40)
    ]
    alone = [sample(1.0, 400 + i, topic="Flags") for i in range(9)]
    found = estimates.contrast([*first, *alone], second, estimates.acc, lambda s: s.slices["topic"])
    assert found is not None
    assert [round(value.value, 9) for value in found] == [0.25, 0.75, 0.5]
    # Independent means: variances of the four topics' means, each with the factor of all 52 clusters.
    variance = (8 * 0.25 / 64 + 40 * 0.25 / 1600) / 4 * 52 / 51
    assert found[2].high == pytest.approx(0.5 + stats.t.ppf(0.975, 51) * math.sqrt(variance))


def test_scores_that_are_all_alike_still_have_an_interval() -> None:
    _, _, difference = contrast([sample(0.0, i) for i in range(12)], [sample(1.0, i) for i in range(12)])
    edge = stats.binomtest(0, 12).proportion_ci(method="wilson").high
    assert (difference.low, difference.high) == pytest.approx((1 - math.hypot(edge, edge), 1.0))
    _, _, single = contrast([sample(0.0, 1)], [sample(1.0, 1)])
    assert (single.value, single.low) == (1.0, None)


def test_sides_without_a_topic_in_common_have_no_difference() -> None:
    assert estimates.contrast([sample(1.0, 1)], [], estimates.acc, lambda _: "") is None
    assert (
        estimates.contrast(
            [sample(1.0, 1)], [sample(1.0, 2, topic="Logos")], estimates.acc, lambda s: s.slices["topic"]
        )
        is None
    )


CONTROLS = {"vlms_are_biased_main": 252, "vlms_are_biased_withtitle": 84, "vlms_are_biased_original": 126}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_runs.write(tmp_path_factory.mktemp("run"), CONTROLS)


def shown(place: Path) -> dict[str, list[str]]:
    rows = tables_of(page.report([runs.read(runs.find(place)[0])], samples=0))["vlms_are_biased_controls"]
    assert rows[0] == [
        "against",
        "measure",
        "basis",
        "rows of main",
        "rows of control",
        "main",
        "control",
        "difference",
    ]
    assert len(rows) == 1 + 3 + 2
    return {row[0]: row[2:] for row in rows[1:] if row[1] == "acc"}


def rename(place: Path, task: str, prefix: str) -> None:
    """Gives the objects of a log other names, so that it shares none with other logs."""
    (path,) = place.glob(f"*_samples_{task}.jsonl")
    path.write_text(path.read_text("utf-8").replace('"cluster": "', f'"cluster": "{prefix} '), "utf-8")


def test_the_page_pairs_controls_by_object_question_and_size(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, CONTROLS)
    logs = report_runs.logged(place)
    # The control asks the second question alone, and at two of three sizes: so must the part of main beside it.
    kept = [e for e in logs["vlms_are_biased_withtitle"] if e["doc_id"] % 2 and e["doc_id"] % 3]
    (path,) = place.glob("*_samples_vlms_are_biased_withtitle.jsonl")
    path.write_text("".join(json.dumps(entry) + "\n" for entry in kept), "utf-8")
    keys = [
        {(r["cluster"], r["slices"]["type_of_question"], r["slices"]["pixel"]): r["score"] for r in records}
        for records in ([e["acc"] for e in entries] for entries in (logs["vlms_are_biased_main"], kept))
    ]
    main = [keys[0][key] for key in keys[1]]
    control = list(keys[1].values())
    expected = statistics.paired_difference(control, main, [cluster for cluster, _, _ in keys[1]])
    assert expected is not None
    cells = shown(place)["subject's name in it"]
    assert cells[:5] == ["paired", "28", "28", formats.percent(np.mean(main)), formats.percent(np.mean(control))]
    ends = " to ".join(map(formats.signed, (expected.low, expected.high)))
    assert cells[5] == f"{formats.signed(expected.value)} {ends}"


def test_a_control_over_other_objects_is_held_against_the_topics_of_main(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, CONTROLS)
    rename(place, "vlms_are_biased_original", "other")
    found = shown(place)
    assert found["subject's name in it"][0] == "paired"
    basis, main, control, *_ = found["original pictures"]
    assert (basis, main, control) == ("by topic", "252", "126")


def test_the_chart_shows_every_difference(place: Path) -> None:
    pytest.importorskip("matplotlib")
    run = runs.read(runs.find(place)[0])
    (table,) = (table for table in tables.vlms_are_biased([run]) if table.key == "vlms_are_biased_controls")
    marks = {"acc": True, "acc_flexible": False}
    drawing: Any = charts.differences(table, [run.label], label="against", kind="measure", marks=marks)
    assert drawing.count("<title>") == 1
    assert "original pictures" in drawing
    # For each of two controls and two measures an interval and a mark.
    assert drawing.count("stroke: var(--run0)") >= 2 * 2 * 2
