"""Saved replies: what `--model replay` takes, refuses and reproduces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lmms_tasks
from lmms_tasks.models import replies
from tests.running import Run, lmms_eval

RECORDED = Path(lmms_tasks.__file__).parent / "sample" / "replies"
ALL = "slake,medxpertqa,vlms_are_biased"
TORCHRUN = ("torchrun", "--nproc_per_node=2", "--master_port={port}", "-m", "lmms_eval")


def scores(run: Run) -> dict[str, dict[str, object]]:
    """Every value and error of the results file, without names of runs and times."""
    return {
        task: {key: value for key, value in values.items() if key != "alias"}
        for task, values in run.results()["results"].items()
    }


def replay(cwd: Path, path: Path, *words: str, tasks: str = ALL, **options: object) -> Run:
    cwd.mkdir(exist_ok=True)
    extra = str(options.pop("model_args", ""))
    return lmms_eval(*words, cwd=cwd, tasks=tasks, model="replay", model_args=f"path={path}{extra}", **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of the recorded replies of the messy model."""
    run = replay(tmp_path_factory.mktemp("first"), RECORDED / "messy.jsonl")
    assert run.status == 0, run.output[-3000:]
    return run


@pytest.mark.xdist_group("replay")
def test_replaying_the_sample_logs_of_a_run_gives_exactly_its_scores(first: Run, tmp_path: Path) -> None:
    again = replay(tmp_path, first.folder)
    assert scores(again) == scores(first)
    for task in first.results()["configs"]:
        assert again.samples(task) == first.samples(task)


@pytest.mark.xdist_group("replay")
def test_two_processes_give_exactly_the_scores_of_one(first: Run, tmp_path: Path) -> None:
    front = tuple(word.format(port=29_517) for word in TORCHRUN)
    again = replay(tmp_path, first.folder, front=front)
    assert again.status == 0, again.output[-3000:]
    for task in first.results()["configs"]:
        # Ranks take every other document; the log holds one rank's after the other's.
        assert sorted(again.samples(task), key=lambda sample: sample["doc_id"]) == first.samples(task)
    mine, theirs = scores(again), scores(first)
    assert mine.keys() == theirs.keys()
    for task in mine:
        assert mine[task] == pytest.approx(theirs[task], abs=1e-12, nan_ok=True), task


@pytest.mark.xdist_group("replay")
def test_simple_models_replay_like_chat_models(first: Run, tmp_path: Path) -> None:
    assert scores(replay(tmp_path, first.folder, "--force_simple")) == scores(first)


def test_limit_and_offset_take_the_replies_of_their_documents(tmp_path: Path) -> None:
    run = replay(tmp_path, RECORDED / "careful.jsonl", "--limit", "3", "--offset", "5", tasks="slake_en_open")
    saved = replies.load(RECORDED / "careful.jsonl")
    assert [sample["doc_id"] for sample in run.samples("slake_en_open")] == [5, 6, 7]
    assert [sample["filtered_resps"] for sample in run.samples("slake_en_open")] == [
        saved["slake_en_open", doc].replies[0] for doc in (5, 6, 7)
    ]


def test_a_missing_reply_ends_the_run_and_says_which(tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    path.write_text(json.dumps({"task": "slake_en_open", "doc_id": 0, "reply": "CT"}))
    run = replay(tmp_path, path, "--limit", "2", tasks="slake_en_open")
    assert run.status == 1
    assert "no reply to slake_en_open, doc_id 1" in run.output
    run = replay(tmp_path, path, "--limit", "2", tasks="slake_en_open", model_args=",missing=empty")
    assert run.samples("slake_en_open")[1]["acc"]["how"] == "empty"


def test_replies_to_other_data_end_the_run_and_say_which(first: Run, tmp_path: Path) -> None:
    log = next(first.folder.rglob("*_samples_slake_en_open.jsonl"))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    lines[1]["target"] = "something else"
    (tmp_path / log.name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run = replay(tmp_path, tmp_path / log.name, tasks="slake_en_open")
    assert run.status == 1
    assert f"{log.name}, line 2" in run.output
    assert "target 'something else'" in run.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no .jsonl file"),
        ('{"task": "slake_en_open", "doc_id": 0', "line 1 is no JSON"),
        ("[1, 2]", "line 1 is no JSON object"),
        ('{"task": "slake_en_open", "reply": "CT"}', "lacks doc_id"),
        ('{"task": "slake_en_open", "doc_id": "first", "reply": "CT"}', "line 1: doc_id"),
        ('{"task": "slake_en_open", "doc_id": 0, "reply": NaN}', "line 1: the reply is NaN"),
    ],
)
def test_unusable_replies_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    if text:
        (tmp_path / "replies.jsonl").write_text(text)
    with pytest.raises(replies.RepliesError, match=message):
        replies.load(tmp_path)


def test_a_mark_at_the_beginning_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    line = '{"task": "slake_en_open", "doc_id": %d, "reply": "肺"}\r\n'
    (tmp_path / "replies.jsonl").write_bytes(("\ufeff" + line % 0 + line % 1).encode())
    assert [saved.replies for saved in replies.load(tmp_path).values()] == [["肺"], ["肺"]]


def test_an_argument_that_replay_does_not_know_is_refused() -> None:
    from lmms_tasks.models.replay import Replay

    with pytest.raises(SystemExit, match="no argument mising: it takes path and missing"):
        Replay(path=str(RECORDED / "messy.jsonl"), mising="empty", batch_size=1, device="cpu")


@pytest.mark.parametrize("words", [("--output_path", "{}"), ("--output_path={}",)])
def test_an_output_path_that_cannot_be_made_ends_the_run_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    from lmms_tasks import plugin

    (tmp_path / "file").write_text("")
    below = [word.format(tmp_path / "file" / "results") for word in words]
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--tasks", "mmmu,slake", *below])
    with pytest.raises(SystemExit, match="no results could be written to --output_path"):
        plugin._refuse_an_output_path_that_cannot_be({"slake": None})
    plugin._refuse_an_output_path_that_cannot_be({"medxpertqa": None})
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--tasks", "slake", "--output_path", str(tmp_path / "new" / "one")])
    plugin._refuse_an_output_path_that_cannot_be({"slake": None})
    assert (tmp_path / "new" / "one").is_dir()


def test_two_logs_of_one_task_are_not_mixed(tmp_path: Path) -> None:
    for day in ("20260101", "20260102"):
        (tmp_path / f"{day}_samples_slake_en_open.jsonl").write_text('{"doc_id": 0, "filtered_resps": "CT"}')
    with pytest.raises(replies.RepliesError, match="two sample logs of the task slake_en_open"):
        replies.load(tmp_path)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"filtered_resps": "CT"}, ["CT"]),
        ({"filtered_resps": "CT", "resps": "<think>x</think>CT"}, ["<think>x</think>CT"]),
        ({"filtered_resps": "a", "resps": ["a", "b"]}, ["a", "b"]),
        ({"filtered_resps": ["a", "b"], "acc": {"repeats": [1, 0]}}, ["a", "b"]),
        ({"filtered_resps": ["why", "A"], "acc": {}}, [["why", "A"]]),
    ],
)
def test_every_form_of_a_sample_log_is_read(tmp_path: Path, entry: dict[str, object], expected: list[object]) -> None:
    path = tmp_path / "2026_samples_slake_en_open.jsonl"
    path.write_text(json.dumps({"doc_id": 0, **entry}))
    assert replies.load(path)["slake_en_open", 0].replies == expected


def test_a_task_that_asks_the_same_questions_takes_the_other_tasks_replies(tmp_path: Path) -> None:
    from types import SimpleNamespace

    from lmms_tasks.models.replay import Replay
    from lmms_tasks.slake_llm_recall.hooks import zh_closed

    path = tmp_path / "replies.jsonl"
    path.write_text('{"task": "slake_zh_closed", "doc_id": 0, "reply": "CT"}')
    request = SimpleNamespace(args=("", None, {}, 0, "slake_llm_recall_zh_closed", "test"), metadata=zh_closed.metadata)
    model = Replay(path=str(path))
    model.task_dict = {"slake_llm_recall_zh_closed": {"test": None}}
    assert model.generate_until([request]) == ["CT"]
    request.metadata = {}
    with pytest.raises(SystemExit, match="no reply to slake_llm_recall_zh_closed, doc_id 0"):
        model.generate_until([request])
