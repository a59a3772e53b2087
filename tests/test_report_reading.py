"""Runs as lmms-eval leaves them: whole, broken, partial, several in one folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_tasks.report import report_cli, runs, tables
from tests import report_runs

SIZES = {"slake_en_open": 30, "slake_en_closed": 20}


def read(path: Path) -> runs.Run:
    (files,) = runs.find(path)
    return runs.read(files)


def log_of(place: Path, task: str) -> Path:
    (path,) = place.glob(f"*_samples_{task}.jsonl")
    return path


def test_a_folder_and_its_results_file_mean_the_same_run(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    by_folder, by_file = read(tmp_path), read(next(place.glob("*_results.json")))
    assert by_folder.tasks == by_file.tasks
    assert by_folder.problems == by_file.problems == []


def test_every_line_of_a_log_becomes_a_sample(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    run = read(tmp_path)
    for task, lines in report_runs.logged(place).items():
        samples = run.tasks[task].samples
        assert [sample.acc for sample in samples] == [entry["acc"]["score"] for entry in lines]
        assert [sample.acc_flexible for sample in samples] == [entry["acc_flexible"]["score"] for entry in lines]
        assert [sample.cluster for sample in samples] == [entry["acc"]["cluster"] for entry in lines]
        assert [sample.scores["token_f1"] for sample in samples] == [entry["token_f1"]["score"] for entry in lines]


def test_a_text_is_read_again_from_its_own_line(tmp_path: Path) -> None:
    report_runs.write(tmp_path, SIZES, replies=["first ünï", "zweite", "第三"])
    run = read(tmp_path)
    log = run.tasks["slake_en_open"]
    texts = runs.texts(log, [log.samples[4], log.samples[2]])
    assert {key: text.reply for key, text in texts.items()} == {4: "zweite", 2: "第三"}


def test_a_cut_line_is_reported_and_the_other_lines_count(tmp_path: Path) -> None:
    path = log_of(report_runs.write(tmp_path, SIZES), "slake_en_open")
    path.write_bytes(path.read_bytes()[:-200])
    run = read(tmp_path)
    assert len(run.tasks["slake_en_open"].samples) == 29
    assert any("slake_en_open" in problem and "line 30" in problem for problem in run.problems)
    assert any("judged 30 rows, but its log has 29" in problem for problem in run.problems)


@pytest.mark.parametrize(
    "text", ["[1, 2]", "null", '{"doc_id": 1}', '{"doc_id": 0, "acc": 1.0}', "\ufffd\x00", "[" * 5000]
)
def test_a_foreign_line_is_reported_and_never_raises(tmp_path: Path, text: str) -> None:
    path = log_of(report_runs.write(tmp_path, SIZES), "slake_en_open")
    path.write_text(path.read_text("utf-8") + text + "\n", "utf-8")
    run = read(tmp_path)
    assert len(run.tasks["slake_en_open"].samples) == 30
    assert any("line 31" in problem for problem in run.problems)


def test_a_document_logged_twice_counts_once(tmp_path: Path) -> None:
    path = log_of(report_runs.write(tmp_path, SIZES), "slake_en_open")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines + lines[:3]), "utf-8")
    run = read(tmp_path)
    assert len(run.tasks["slake_en_open"].samples) == 30
    assert any("3 lines" in problem and "repeat" in problem for problem in run.problems)


def test_results_without_samples_are_shown_as_reported(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    for path in place.glob("*_samples_*"):
        path.unlink()
    run = read(tmp_path)
    assert sum("no sample log" in problem for problem in run.problems) == 2
    rows = {row[0]: row for row in tables.headline([run]).rows}
    reported = json.loads(next(place.glob("*_results.json")).read_text())["results"]["slake_en_open"]["acc,none"]
    cell = rows["slake_en_open"][4]
    assert cell.value == reported
    assert not cell.from_log
    assert (cell.low, cell.high) == pytest.approx((reported - 0.0196, reported + 0.0196))


def test_one_missing_log_does_not_hide_the_others(tmp_path: Path) -> None:
    log_of(report_runs.write(tmp_path, SIZES), "slake_en_open").unlink()
    run = read(tmp_path)
    assert any(problem.startswith("slake_en_open:") for problem in run.problems)
    rows = {row[0]: row for row in tables.headline([run]).rows}
    assert rows["slake_en_closed"][2] == 20


def test_samples_without_results_are_shown_and_the_lack_is_said(tmp_path: Path) -> None:
    next(report_runs.write(tmp_path, SIZES).glob("*_results.json")).unlink()
    run = read(tmp_path)
    assert set(run.tasks) == set(SIZES)
    assert len(run.tasks["slake_en_open"].samples) == 30
    assert any("no results file" in problem for problem in run.problems)


@pytest.mark.parametrize("content", ["{", "[]", '"x"', "\x00"])
def test_a_broken_results_file_does_not_hide_the_samples(tmp_path: Path, content: str) -> None:
    next(report_runs.write(tmp_path, SIZES).glob("*_results.json")).write_text(content)
    run = read(tmp_path)
    assert len(run.tasks["slake_en_open"].samples) == 30
    assert any("settings, versions and groups are not known" in problem for problem in run.problems)


def test_results_that_contradict_their_log_are_reported(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    path = next(place.glob("*_results.json"))
    content = json.loads(path.read_text())
    content["results"]["slake_en_open"]["acc,none"] += 0.1
    path.write_text(json.dumps(content))
    assert any("They are not of one run" in problem for problem in read(tmp_path).problems)


def test_a_task_of_another_pack_is_left_out_and_named(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    (place / "20260102_030405_samples_mmmu_val.jsonl").write_text('{"doc_id": 0}\n')
    run = read(tmp_path)
    assert "mmmu_val" not in run.tasks
    assert run.problems == ["mmmu_val is no task of lmms-tasks and is left out."]


def test_a_newer_run_over_the_same_tasks_replaces_an_older_one(tmp_path: Path) -> None:
    report_runs.write(tmp_path, SIZES, date="20260101_000000")
    report_runs.write(tmp_path, {"slake_zh_open": 9}, date="20260102_000000")
    report_runs.write(tmp_path, SIZES, date="20260103_000000")
    assert [files.date for files in runs.find(tmp_path)] == ["20260102_000000", "20260103_000000"]


def test_models_in_one_folder_are_runs_of_their_own(tmp_path: Path) -> None:
    report_runs.write(tmp_path, SIZES, model="one")
    report_runs.write(tmp_path, SIZES, model="two")
    assert [files.folder.name for files in runs.find(tmp_path)] == ["one", "two"]


@pytest.mark.parametrize("name", ["", "absent", "file.txt"])
def test_a_path_without_a_run_says_what_was_looked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(runs.RunError, match="lmms-eval"):
        runs.find(tmp_path / name)


def test_a_group_holds_its_leaves_and_only_those_with_samples(tmp_path: Path) -> None:
    report_runs.write(tmp_path, {name: 12 for name in report_runs.FULL if name.startswith("slake")})
    groups = read(tmp_path).groups
    assert groups["slake"] == ["slake_en_open", "slake_en_closed", "slake_zh_open", "slake_zh_closed"]
    assert groups["slake_zh"] == ["slake_zh_open", "slake_zh_closed"]


def page_of(place: Path) -> str:
    from lmms_tasks.report import page

    return page.report(report_cli.load([str(place)]), samples=5)


def test_an_empty_log_is_named_on_the_page_and_the_rest_is_shown(tmp_path: Path) -> None:
    place = report_runs.write(tmp_path, SIZES)
    log_of(place, "slake_en_open").write_bytes(b"")
    text = page_of(tmp_path)
    assert "the run judged 30 rows, but its log has 0" in text
    assert text.count('class="card"') == 5
    rows = {row[0]: row for row in tables.headline([read(tmp_path)]).rows}
    assert rows["slake_en_closed"][2] == 20
    # What the results file says of the task stands in for what its log should say.
    assert not rows["slake_en_open"][4].from_log


@pytest.mark.parametrize("broken", ["logs", "results", "all logs empty", "cut"])
def test_a_page_is_made_of_whatever_is_left(tmp_path: Path, broken: str) -> None:
    place = report_runs.write(tmp_path, {**SIZES, "medxpertqa_mm": 20, "vlms_are_biased_main": 42})
    for path in place.iterdir():
        if broken == "logs" and path.suffix == ".jsonl":
            path.unlink()
        elif broken == "results" and path.suffix == ".json":
            path.write_text("")
        elif broken == "all logs empty" and path.suffix == ".jsonl":
            path.write_text("\n")
        elif broken == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    text = page_of(tmp_path)
    assert 'id="problems"' in text
    assert ('class="card"' in text) == (broken in ("results", "cut"))
    assert "slake_<wbr>en_<wbr>open" in text


def test_markup_in_the_names_of_files_and_folders_is_text(tmp_path: Path) -> None:
    name = "a\"><img src=x onerror='window.hit=1'><script>window.hit=2<"
    place = report_runs.write(tmp_path / name, SIZES)
    next(place.glob("*_results.json")).unlink()
    log = log_of(place, "slake_en_open")
    log.rename(log.with_name("20260102_030405_samples_slake_<img src=x onerror='window.hit=3'>\".jsonl"))
    place = place.rename(place.with_name(name))
    text = page_of(tmp_path)
    assert "<img src=x" not in text
    assert text.count("<script>") == 1
    assert "&lt;img src=x onerror=&#39;window.hit=3&#39;&gt;" in text
