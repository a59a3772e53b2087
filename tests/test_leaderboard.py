"""Published protocols and numbers: what a run satisfies, and what may stand beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks import cli
from lmms_tasks.report import leaderboard_cli, protocols, published, report_cli, runs
from tests import report_runs

MAIN = {"vlms_are_biased_main": 2784}


def load(place: Path) -> runs.Run:
    (run,) = report_cli.load([str(place)])
    return run


def lines(run: runs.Run, key: str) -> dict[str, protocols.Line]:
    return {line.metric: line for line in protocols.lines(run) if line.protocol.key == key}


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> runs.Run:
    return load(report_runs.write(tmp_path_factory.mktemp("run"), MAIN))


def test_an_official_run_reproduces_lmms_evals_protocol(official: runs.Run) -> None:
    found = lines(official, "vlmbias-lmms-eval")
    assert {line.verdict for line in found.values()} == {"reproduces the protocol"}
    samples = official.tasks["vlms_are_biased_main"].samples
    value = found["accuracy"].value
    assert value is not None
    assert value.value == pytest.approx(sum(sample.acc for sample in samples) / 2784)


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"metadata": {"data": "anvo25/vlms-are-biased from the folder /data"}}, "data"),
        ({"config": {"model": "replay"}}, "settings"),
    ],
)
def test_rows_of_a_folder_and_replayed_replies_leave_the_protocol_open(
    tmp_path: Path, changes: dict[str, Any], setting: str
) -> None:
    found = lines(load(report_runs.write(tmp_path, MAIN, **changes)), "vlmbias-lmms-eval")
    assert {line.verdict for line in found.values()} == {"same metric; whether the protocol is the same cannot be told"}
    assert [check.setting for check in found["accuracy"].with_state(protocols.UNKNOWN)] == [setting]


def test_it_does_not_reproduce_the_papers_which_samples(official: runs.Run) -> None:
    line = lines(official, "vlmbias-paper")["task mean accuracy"]
    assert line.verdict == "no reproduction: 2 settings differ"
    assert [(c.setting, c.asked) for c in line.with_state(protocols.DIFFERS)] == [
        ("temperature", "1.0"),
        ("do_sample", "True"),
    ]


def test_with_the_papers_sampling_only_what_is_unpublished_stays_open(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, MAIN, generation={"temperature": 1.0, "do_sample": True}))
    line = lines(run, "vlmbias-paper")["task mean accuracy"]
    assert line.with_state(protocols.DIFFERS) == []
    assert line.verdict == "same metric; whether the protocol is the same cannot be told"
    assert lines(run, "vlmbias-lmms-eval")["accuracy"].verdict == "no reproduction: 2 settings differ"


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"tasks": {"vlms_are_biased_main": 100}}, "rows"),
        ({"generation": {"max_new_tokens": 64}}, "max_new_tokens"),
        ({"generation": {"until": []}}, "until"),
        ({"config": {"offset": 10}}, "offset"),
        ({"metadata": {"pack": None}}, "task"),
        ({"metadata": {"data": "the sample of anvo25/vlms-are-biased that comes with the package"}}, "data source"),
    ],
)
def test_any_differing_setting_forbids_the_word_reproduces(
    tmp_path: Path, changes: dict[str, Any], setting: str
) -> None:
    run = load(report_runs.write(tmp_path, **{"tasks": MAIN, **changes}))
    found = lines(run, "vlmbias-lmms-eval")["accuracy"]
    assert setting in [check.setting for check in found.with_state(protocols.DIFFERS)]
    assert all("reproduces" not in line.verdict for line in protocols.lines(run) if line.with_state(protocols.DIFFERS))
    assert "no reproduction" in found.verdict


def test_a_cut_log_forbids_it_too(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, {"vlms_are_biased_main": 2000}, complete=True))
    assert "no reproduction" in lines(run, "vlmbias-lmms-eval")["accuracy"].verdict


def test_without_a_results_file_nothing_is_called_a_reproduction(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, MAIN)
    next(place.glob("*_results.json")).unlink()
    found = protocols.lines(load(place))
    assert found
    assert {line.verdict for line in found} == {"same metric; whether the protocol is the same cannot be told"}


def test_one_turn_of_medxpertqa_is_no_line_of_the_authors_protocol(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, ["medxpertqa_text", "medxpertqa_mm"]))
    keys = {line.protocol.key for line in protocols.lines(run)}
    assert keys == {"medxpertqa-evalscope-text", "medxpertqa-evalscope-mm"}


def test_a_protocol_over_several_tasks_needs_them_all(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, ["slake_en_open"]))
    (line,) = lines(run, "slake-medgemma").values()
    assert line.value is None
    assert "no reproduction" in line.verdict
    assert [c.asked for c in line.with_state(protocols.DIFFERS)] == ["slake_en_closed"]


def test_every_published_number_names_its_source_and_is_mapped_or_refused() -> None:
    found = published.numbers()
    assert len(found) > 300
    for number in found:
        assert number.source
        assert number.definition
        assert "undisclosed" not in number.definition
        assert 0 <= float(number.value) <= 100
        assert bool(number.why_not) != bool(number.measure and number.protocol)
        if number.protocol:
            assert number.protocol in protocols.BY_KEY


def test_the_papers_headline_is_the_mean_of_its_topics() -> None:
    paper = [number for number in published.numbers() if number.protocol == "vlmbias-paper"]
    for model in {number.model for number in paper}:
        topics = [float(n.value) for n in paper if n.model == model and n.metric == "accuracy"]
        means = [float(n.value) for n in paper if n.model == model and n.measure == "task_mean"]
        assert len(topics) == 7
        assert means == pytest.approx([sum(topics) / 7], abs=0.011)


def test_every_mapped_measure_has_a_value_on_a_full_run(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, dict.fromkeys(report_runs.FULL, 84)))
    for number in published.numbers():
        if number.protocol and not number.protocol.startswith("medxpertqa-authors"):
            assert protocols.measure(run, protocols.BY_KEY[number.protocol].tasks, number.measure) is not None, number


def test_a_published_number_stands_only_beside_its_own_measure(official: runs.Run) -> None:
    found = published.beside([official])
    by_key = {(line.model, line.value): line for line in found.beside}
    ours = by_key[("o4-mini", "20.25")].ours[0]
    task_mean = protocols.measure(official, ("vlms_are_biased_main",), "task_mean")
    assert ours == task_mean
    assert by_key[("o4-mini-2025-04-16", "19.97")].ours[0] != task_mean
    assert all(line.benchmark == "VLMBias" for line in [*found.beside, *found.not_comparable])


def test_judged_and_guessed_numbers_are_listed_with_the_reason(tmp_path: Path) -> None:
    run = load(report_runs.write(tmp_path, {name: 60 for name in report_runs.FULL if "vlms" not in name}))
    found = published.beside([run])
    reasons = {line.reason for line in found.not_comparable}
    assert any("judged by a language model" in reason for reason in reasons)
    assert any("most similar option" in reason for reason in reasons)
    assert any("needs medxpertqa_official_text" in reason for reason in reasons)
    assert not [line for line in found.beside if line.benchmark == "MedXpertQA"]


def test_the_command_writes_a_line_for_each_metric(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = report_runs.write(tmp_path, {"vlms_are_biased_main": 84})
    assert cli.main(["leaderboard", str(place), "--format", "json"]) == 0
    content = json.loads(capfd.readouterr().out)
    rows = content["tables"]["leaderboard"]["rows"]
    assert len(rows) == len(protocols.lines(load(place)))
    assert all("no reproduction" in row["verdict"] for row in rows)
    assert any("medxpertqa_official_text" in note for note in content["notes"])
    assert cli.main(["leaderboard", str(tmp_path / "absent")]) == 1


def test_the_table_shows_what_agrees_and_what_differs(official: runs.Run) -> None:
    table = leaderboard_cli.table([official])
    row = next(row for row in table.rows if row[1].startswith("the paper") and row[2] == "task mean accuracy")
    assert "rows 2,784 of main" in row[6]
    assert "temperature is 0.0, asked: 1.0" in row[7]
    assert "length limit of a reply" in row[8]
