"""Reports of real records: the replayed models on the embedded sample, and scripted replies to the real rows."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks.report import gallery, page, report_cli, tables
from tests.test_report import headline_of, naive_share, tables_of

pytest.importorskip("matplotlib")
pytest.importorskip("datasets")

MODELS = ("careful", "prior", "messy")


def record(folder: Path, task: str, reply: Callable[[int, Mapping[str, Any]], str], limit: int | None = None) -> None:
    """Writes the sample log of a leaf as lmms-eval would, judged by the task's own hooks."""
    from lmms_data import rows
    from lmms_tasks.report.runs import benchmark_of

    name = benchmark_of(task)
    hooks = importlib.import_module(f"lmms_tasks.{name}.hooks")
    judge = hooks.process_results_without_bias if task.endswith("original") else hooks.process_results
    loaded = rows.load(name, task.removeprefix(name + "_"))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"20260102_030405_samples_{task}.jsonl").open("w", encoding="utf-8") as file:
        for index, document in enumerate(loaded):
            if limit is not None and index >= limit:
                break
            answer = reply(index, document)
            entry = {
                "doc_id": index, "target": "", "filtered_resps": answer, **judge(document, [answer.strip()]),
                "input": hooks.doc_to_text(document),
            }  # fmt: skip
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    from lmms_tasks.models import replies

    folder = tmp_path_factory.mktemp("replayed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        for model in MODELS:
            saved = replies.load(root / "lmms_tasks" / "sample" / "replies" / f"{model}.jsonl")
            for task in dict.fromkeys(task for task, _ in saved):
                record(
                    folder / model, task, lambda index, _, task=task, saved=saved: str(saved[(task, index)].replies[0])
                )  # type: ignore[misc]
    return folder


def test_the_three_models_of_the_sample_make_a_page_with_pictures(
    replayed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
    loaded = report_cli.load([str(replayed / model) for model in MODELS])
    text = page.report(loaded)
    assert len(text.encode()) < 8_000_000
    assert "No pictures" not in text
    assert text.count("data:image/jpeg") > 100
    shown = tables_of(text)
    for run in loaded:
        logs = {path.stem.split("_samples_")[1]: [json.loads(line) for line in path.open(encoding="utf-8")]
                for path in (replayed / run.label).glob("*.jsonl")}  # fmt: skip
        for name, label, count, *cells in headline_of(shown)[1:]:
            if label == run.label:
                assert count == str(len(logs[name]))
                assert cells == [
                    naive_share(logs[name], metric) for metric in ("acc", "acc_flexible", "format_ok", "unreadable")
                ]
    outcomes = tables_of(text)["vlms_are_biased_outcomes"]
    prior = [row for row in outcomes if row[1] == "prior"]
    assert sum(int(row[4]) for row in prior) > sum(int(row[3]) for row in prior)
    assert "messy: a careful reader marks" in text


def test_a_run_on_other_rows_than_the_source_has_gets_no_pictures(replayed: Path, tmp_path: Path) -> None:
    path = next((replayed / "careful").glob("*vlms_are_biased_main.jsonl"))
    (tmp_path / path.name).write_text(path.read_text("utf-8").replace('"row": "', '"row": "other_'), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        found = gallery.build(report_cli.load([str(tmp_path)]), 20)
    assert not any(card.pictures for card in found.cards)
    assert found.notes == [f"No pictures for samples of vlms_are_biased_main: {gallery.OTHER_DATA}."]


def test_scripted_replies_to_the_real_rows(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_TASKS_DATA", str(shared / "hub"))
    styles = ("ANSWER: {}", "I would say {}.", "ANSWER: nothing of the kind", "", "<think>hm", "The answer is {}")

    def scripted(index: int, document: Mapping[str, Any]) -> str:
        return styles[index % len(styles)].format(document.get("answer") or document.get("label"))

    for task, limit in {"slake_en_closed": None, "slake_zh_open": 200, "medxpertqa_mm": 200}.items():
        record(tmp_path, task, scripted, limit)
    loaded = report_cli.load([str(tmp_path)])
    text = page.report(loaded, samples=60)
    logs = {
        p.stem.split("_samples_")[1]: [json.loads(line) for line in p.open(encoding="utf-8")]
        for p in tmp_path.glob("*.jsonl")
    }
    for name, count, *cells in headline_of(tables_of(text))[1:]:
        assert count == str(len(logs[name]))
        assert cells == [
            naive_share(logs[name], metric) for metric in ("acc", "acc_flexible", "format_ok", "unreadable")
        ]
    assert "No pictures" not in text
    assert "the reply is empty" in text
    assert {row[0] for table in tables.slake(loaded) for row in table.rows} >= {"Organ", "CT", "MRI"}


@pytest.mark.slow
def test_a_real_run_of_lmms_eval_is_read_to_its_last_setting(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("lmms_eval")
    replies = root / "lmms_tasks" / "sample" / "replies" / "messy.jsonl"
    subprocess.run(
        [sys.executable, "-m", "lmms_tasks.cli", "eval", "--model", "replay", "--model_args", f"path={replies}",
         "--tasks", "slake,medxpertqa_mm,vlms_are_biased_main", "--output_path", str(tmp_path), "--log_samples",
         "--gen_kwargs", "temperature=0.7"],
        check=True, capture_output=True, timeout=300,
        env={**os.environ, "LMMS_TASKS_DATA": "sample", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    (run,) = report_cli.load([str(tmp_path)])
    assert run.problems == []
    assert run.label == "messy"
    for name, members in run.groups.items():
        samples = run.samples(members)
        assert run.reported(name, "acc") == pytest.approx(sum(sample.acc for sample in samples) / len(samples))
    text = page.report([run], samples=20)
    departures = {row[0]: row[1] for row in tables_of(text)["departures"][1:]}
    assert departures == {"data source": "the sample that comes with the package", "temperature": "0.7"}
    assert run.tasks["slake_en_open"].metadata["fingerprint"] in text
