"""Several processes, and runs that are killed, give exactly the scores of one undisturbed process."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lmms_data import rows, schema, sources
from tests.running import Run, command, environment
from tests.test_replay import ALL, RECORDED, replay, scores

HERE = Path(__file__).resolve().parent
ACCELERATE = ("accelerate", "launch", "--cpu", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no")
pytestmark = pytest.mark.xdist_group("scale")


def front(launcher: str, processes: int, port: int) -> tuple[str, ...]:
    """The words before lmms-eval's own for so many processes on CPUs."""
    if launcher == "torchrun":
        return ("torchrun", f"--nproc_per_node={processes}", f"--master_port={port}", "-m", "lmms_eval")
    return (*ACCELERATE, f"--num_processes={processes}", f"--main_process_port={port}", "-m", "lmms_eval")


def assert_same(several: Run, one: Run) -> None:
    """The same scores, and the same sample logs but for the order of their lines.

    lmms-eval adds up standard errors in the order of the ranks, which shows in their last of sixteen digits.
    """
    assert several.status == 0, several.output[-3000:]
    found, expected = scores(several), scores(one)
    assert found.keys() == expected.keys()
    for task, values in expected.items():
        assert found[task].keys() == values.keys()
        for name, value in values.items():
            same = pytest.approx(value, rel=1e-14) if "_stderr" in name and isinstance(value, float) else value
            assert found[task][name] == same, (task, name)
    for task in one.results()["configs"]:
        # Ranks take every n-th document; the log holds one rank's after the other's.
        assert sorted(several.samples(task), key=lambda sample: sample["doc_id"]) == one.samples(task)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of the recorded replies of the messy model in one process."""
    run = replay(tmp_path_factory.mktemp("one"), RECORDED / "messy.jsonl")
    assert run.status == 0, run.output[-3000:]
    return run


@pytest.mark.parametrize(("launcher", "processes"), [("torchrun", 4), ("accelerate", 2)])
def test_several_processes_give_exactly_the_scores_of_one(
    one: Run, tmp_path: Path, launcher: str, processes: int
) -> None:
    assert_same(replay(tmp_path, one.folder, front=front(launcher, processes, 29_530 + processes)), one)


def scripted(hub: Path, path: Path) -> Path:
    """Replies in many forms to all questions of the real benchmarks that can be had from their text alone."""
    forms = ("ANSWER: {}", "{{{}}}", "The answer is {}.", "{}", "I cannot tell.", "<think>hm</think>{}", "**{}**")
    with path.open("w", encoding="utf-8") as file:
        for task, benchmark, subset, column in (
            ("slake_en_open", "slake", "en_open", "answer"),
            ("slake_zh_closed", "slake", "zh_closed", "answer"),
            ("medxpertqa_text", "medxpertqa", "text", "label"),
        ):
            spec = schema.benchmark(benchmark)
            source = sources.resolve(spec, environ={"LMMS_TASKS_DATA": str(hub)})
            for index, row in enumerate(rows.load(spec, subset, source=source)):
                reply = forms[index % 7].format(row[column] if index % 3 else "B")
                file.write(json.dumps({"task": task, "doc_id": index, "reply": reply}, ensure_ascii=False) + "\n")
    return path


def test_four_processes_over_the_real_questions_give_exactly_the_scores_of_one(shared: Path, tmp_path: Path) -> None:
    saved = scripted(shared / "hub", tmp_path / "replies.jsonl")
    tasks, data = "slake_en_open,slake_zh_closed,medxpertqa_text", str(shared / "hub")
    single = replay(tmp_path / "one", saved, tasks=tasks, data=data)
    for launcher, processes in (("torchrun", 2), ("accelerate", 4)):
        where = tmp_path / f"{launcher}{processes}"
        assert_same(replay(where, saved, tasks=tasks, data=data, front=front(launcher, processes, 29_541)), single)


# --- killed and resumed ---------------------------------------------------------------------------------------------

EVERY = 10


def slow(cwd: Path, saved: Path, asked: Path, cache: Path, delay: float) -> tuple[list[str], dict[str, str]]:
    """The command and environment of a run whose model takes `delay` seconds a request."""
    words = [sys.executable, str(HERE / "slow_replay.py"), "--model", "replay", "--model_args", f"path={saved}"]
    words += ["--tasks", ALL, "--output_path", "out", "--log_samples", "--use_cache", str(cache)]
    changes = {"ASKED": str(asked), "DELAY": str(delay), "LMMS_TASKS_CACHE_EVERY": str(EVERY)}
    return words, environment(LMMS_TASKS_DATA="sample", **changes)


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def test_a_run_killed_ten_times_ends_with_the_scores_of_an_undisturbed_one(one: Run, tmp_path: Path) -> None:
    asked, cache, chance = tmp_path / "asked", tmp_path / "cache", random.Random(8)
    saved = RECORDED / "messy.jsonl"
    requests = sum(count["effective"] for count in one.results()["n-samples"].values())
    words, env = slow(tmp_path, saved, asked, cache, 0.02)
    for _ in range(10):
        until = size(asked) + chance.randrange(1, max(2, requests // 10))
        killed = subprocess.Popen(
            words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while size(asked) < until:
            assert killed.poll() is None, "it came to its end before it was killed"
            time.sleep(0.005)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    words, env = slow(tmp_path, saved, asked, cache, 0)
    last = command(*words, cwd=tmp_path, env=env)
    assert "replies that interrupted runs have stored" in last.output
    assert_same(last, one)
    # Each kill loses less than the replies of one storing, and nothing is asked a second time beyond them.
    assert requests <= size(asked) < requests + 10 * EVERY
    # What the killed runs had stored is now in the one cache that lmms-eval reads by itself.
    with sqlite3.connect(cache / "cache.db") as database:
        (kept,) = database.execute("SELECT COUNT(*) FROM responses").fetchone()
    assert kept == requests


def test_replies_that_failed_are_asked_for_again() -> None:
    from lmms_eval.caching.response_cache import ResponseCache

    from lmms_tasks import plugin, resuming

    plugin.register()
    assert ResponseCache._is_valid_response("ANSWER: B", "generate_until")
    assert not ResponseCache._is_valid_response("[LMMS_EVAL_REQUEST_FAILED after 3 retries] 503", "generate_until")
    assert not ResponseCache._is_valid_response("", "generate_until")

    class Before:
        """A cache that a run without this pack has filled."""

        create = classmethod(lambda cls: None)
        execute = None
        _extract_cacheable = staticmethod(lambda response: response)
        _is_valid_response = staticmethod(lambda response, kind: True)

        def _lookup(self, key: str) -> str:
            return key

    resuming.outlive_interruptions(Before)
    assert Before()._lookup("ANSWER: B") == "ANSWER: B"
    assert Before()._lookup("[LMMS_EVAL_REQUEST_FAILED after 3 retries] 503") is None


@pytest.mark.parametrize("value", ["0", "-5", "many", "１０"])
def test_a_wrong_number_of_requests_ends_the_run(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    from lmms_tasks import resuming

    monkeypatch.setenv(resuming.EVERY_VARIABLE, value)
    with pytest.raises(SystemExit, match="takes a number of requests"):
        resuming.every()


def test_runs_of_other_tasks_are_handed_to_the_model_whole() -> None:
    from lmms_tasks import resuming

    class Cache:
        @classmethod
        def create(cls) -> Any: ...

        def _lookup(self, key: str) -> Any: ...

        @staticmethod
        def _extract_cacheable(response: Any) -> Any: ...

        @staticmethod
        def _is_valid_response(response: Any, request_type: str) -> bool: ...

        def execute(self, lm: Any, reqtype: str, requests: list[Any]) -> list[Any]:
            lm.append(len(requests))
            return requests

    class Request:
        task_name = "somebody_elses"

    handed: list[int] = []
    resuming.outlive_interruptions(Cache)
    Cache().execute(handed, "generate_until", [Request()] * 1200)
    assert handed == [1200]
