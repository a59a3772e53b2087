"""lmms-eval's other doors: each works with this pack's tasks, or fails with its cause."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks import plugin
from tests.running import Run, command, environment
from tests.test_replay import RECORDED, replay, scores

MESSY = RECORDED / "messy.jsonl"
pytestmark = pytest.mark.xdist_group("doors")


def logged(run: Run) -> dict[str, list[int]]:
    """The documents in each sample log of a run that went well."""
    assert run.status == 0, run.output[-3000:]
    tasks = [path.stem.partition("_samples_")[2] for path in run.sample_logs()]
    return {task: [sample["doc_id"] for sample in run.samples(task)] for task in sorted(tasks)}


def test_predict_only_with_an_offset_keeps_the_replies_and_scores_nothing(tmp_path: Path) -> None:
    run = replay(tmp_path, MESSY, "--predict_only", "--offset", "5", "--limit", "3", tasks="slake_en_open")
    assert logged(run) == {"slake_en_open": [5, 6, 7]}
    said = {
        entry["doc_id"]: entry["reply"]
        for entry in map(json.loads, MESSY.read_text("utf-8").strip().split("\n"))
        if entry["task"] == "slake_en_open"
    }
    assert [sample["filtered_resps"] for sample in run.samples("slake_en_open")] == [said[n].strip() for n in (5, 6, 7)]
    assert run.results()["results"]["slake_en_open"]["bypass,none"] == 999
    assert "acc,none" not in run.results()["results"]["slake_en_open"]


def test_a_configuration_file_takes_a_fraction_of_a_wildcards_tasks_without_wandb(tmp_path: Path) -> None:
    settings = {
        "model": "replay",
        "model_args": f"path={MESSY}",
        "tasks": "medxpertqa_t*,vlms_are_biased_o*",
        "limit": 0.01,
        "output_path": "out",
        "log_samples": True,
    }
    (tmp_path / "run.yaml").write_text(json.dumps(settings), "utf-8")
    run = command("lmms-eval", "--config", "run.yaml", cwd=tmp_path, env=environment(LMMS_TASKS_DATA="sample"))
    # One in a hundred of a dozen or two is one row.
    assert logged(run) == {"medxpertqa_text": [0], "vlms_are_biased_original": [0]}


def test_requests_kept_from_an_earlier_run_and_32_workers_give_the_same_scores(tmp_path: Path) -> None:
    words = ("--cache_requests", "true", "--process-docs-parallel", "32", "--repeats", "2", "--limit", "5")
    # lmms-eval keeps them inside its own package unless it is told another place.
    kept = tmp_path / "requests"
    first, second = (
        replay(tmp_path / name, MESSY, *words, tasks="slake_en,medxpertqa_mm", LM_HARNESS_CACHE_PATH=str(kept))
        for name in ("first", "second")
    )
    assert logged(first) == logged(second)
    assert set(logged(first)) == {"medxpertqa_mm", "slake_en_closed", "slake_en_open"}
    assert len(list(kept.iterdir())) == 3
    assert scores(first) == scores(second)
    assert all(len(sample["acc"]["repeats"]) == 2 for sample in second.samples("medxpertqa_mm"))


def test_half_a_character_in_a_reply_costs_neither_the_log_nor_the_cache(tmp_path: Path) -> None:
    entries = [{"task": "medxpertqa_text", "doc_id": n, "reply": "ANSWER: A"} for n in range(12)]
    entries[1]["reply"] = "\ud83d ANSWER: B"
    (tmp_path / "half.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    run = replay(tmp_path, tmp_path / "half.jsonl", "--use_cache", "cache", tasks="medxpertqa_text")
    assert logged(run) == {"medxpertqa_text": list(range(12))}
    assert run.samples("medxpertqa_text")[1]["filtered_resps"] == "\ufffd ANSWER: B"
    assert run.samples("medxpertqa_text")[1]["acc"]["official"] == "B"


def test_the_power_analysis_knows_our_tasks_by_their_folder(tmp_path: Path) -> None:
    folder = str(plugin.tasks_folder())
    run = command(
        *("lmms-eval", "power", "--tasks", "medxpertqa_text,slake_zh_open", "--include-path", folder),
        cwd=tmp_path,
        env=environment(LMMS_TASKS_DATA="sample"),
    )
    assert run.status == 0, run.output[-3000:]
    for task, rows in (("medxpertqa_text", 12), ("slake_zh_open", 14)):
        assert f"{task}:\n    Sample size:         n = {rows}\n" in run.output


def ask(port: int, path: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer of lmms-eval's server."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        None if data is None else json.dumps(data).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        parsed: dict[str, Any] = json.loads(answer.read())
    return parsed


def finished(server: subprocess.Popen[bytes], port: int, job: dict[str, Any]) -> dict[str, Any]:
    """The job when it has come to its end."""
    number, end = "", time.monotonic() + 240
    while time.monotonic() < end and server.poll() is None:
        try:
            number = number or ask(port, "/evaluate", job)["job_id"]
            state = ask(port, f"/jobs/{number}")
            if state["status"] in ("completed", "failed"):
                return state
        except OSError:
            pass  # not up yet
        time.sleep(0.3)
    raise AssertionError("the server has no answer")


def test_the_evaluation_server_runs_a_group_with_its_own_leaf_or_says_what_it_lacks(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("lmms-eval", "serve", "--host", "127.0.0.1", "--port", str(port))
    env = environment(LMMS_TASKS_DATA="sample")
    if not all(importlib.util.find_spec(name) for name in ("uvicorn", "fastapi")):
        run = command(*words, cwd=tmp_path, env=env)
        assert run.status != 0
        assert "No module named 'uvicorn'" in run.output or "No module named 'fastapi'" in run.output
        return
    job = {
        "model": "replay",
        "model_args": {"path": str(MESSY)},
        "tasks": ["slake_zh", "slake_zh_closed"],
        "limit": 2,
        "output_dir": str(tmp_path / "out"),
    }
    own = Path(sys.executable).parent / words[0]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen([str(own), *words[1:]], cwd=tmp_path, env=env, stdout=log, stderr=log)
        try:
            state = finished(server, port, job)
        finally:
            server.terminate()
            server.wait(60)
    assert state["status"] == "completed", state["error"]
    run = Run(0, "", tmp_path / "out")
    assert logged(run) == {"slake_zh_closed": [0, 1], "slake_zh_open": [0, 1]}
    assert run.value("slake_zh", "acc") == (run.value("slake_zh_closed", "acc") + run.value("slake_zh_open", "acc")) / 2
