"""The hooks as lmms-eval calls them, and every YAML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.tasks import TaskManager, get_task_dict
from PIL import Image

import lmms_tasks
from lmms_tasks import plugin, task_table
from lmms_tasks.repeats import EveryReply

LEAVES = [entry.name for entry in task_table.entries() if entry.kind == "task"]
GROUPS = [entry.name for entry in task_table.entries() if entry.kind == "group"]


@pytest.fixture(autouse=True)
def _sample_as_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
    monkeypatch.setenv("MODEL_VERSION", "no judge is asked in these tests")
    monkeypatch.setenv("OPENAI_API_URL", "http://127.0.0.1:9/v1")


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    """lmms-eval's index of tasks, with ours in precedence."""
    plugin.register()
    return TaskManager("ERROR")


def leaves(tasks: Mapping[Any, Any]) -> Iterator[Any]:
    """The task objects in lmms-eval's nested dictionary."""
    for task in tasks.values():
        if isinstance(task, dict):
            yield from leaves(task)
        else:
            yield task


def load(manager: TaskManager, name: str, form: str = "chat") -> dict[str, Any]:
    """Tasks by name, as lmms-eval builds them for chat or simple models."""
    return {task.config.task: task for task in leaves(get_task_dict([name], manager, form))}


@pytest.fixture(scope="module")
def real(shared: Path, manager: TaskManager) -> dict[str, Any]:
    """The SLAKE and MedXpertQA tasks over the real text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", str(shared / "hub"))
        return {**load(manager, "slake"), **load(manager, "medxpertqa")}


@pytest.fixture(scope="module")
def sample(manager: TaskManager) -> dict[str, Any]:
    """All plain tasks over the embedded sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        return {
            name: task
            for group in ("slake", "medxpertqa", "vlms_are_biased")
            for name, task in load(manager, group).items()
        }


def rows_by_id(task: Any) -> dict[str, Any]:
    """The documents of a task by the dataset's own id."""
    return {str(doc.get("qid", doc.get("id"))): doc for doc in task.test_docs()}


@pytest.mark.xdist_group("real")
def test_every_real_reply_gets_the_reference_result(real: dict[str, Any], shared: Path) -> None:
    documents = {name: rows_by_id(task) for name, task in real.items()}
    checked = 0
    for path in sorted((shared / "replies").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            doc = documents[entry["task"]][str(entry.get("qid", entry.get("id")))]
            items = real[entry["task"]].process_results(doc, [entry["reply"]])
            assert items["acc"]["score"] == entry["acc"], (path.name, entry)
            if "letter" in entry:
                assert items["acc"]["official"] == entry["letter"], (path.name, entry)
            checked += 1
    assert checked == 6260


def _case_documents(benchmark: str, shared: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    rest = {
        "slake": {"question": "?", "qid": 1, "img_name": "x", "content_type": "", "modality": "", "location": "", "base_type": ""},
        "medxpertqa": {"id": "x", "question": "?", "question_type": "Reasoning", "medical_task": "", "body_system": ""},
        "vlms_are_biased": {
            "ID": "animal_0010_elk_notitle_Q1_px384", "topic": "Animals", "sub_topic": "", "type_of_question": "Q1", "pixel": 384,
        },
    }  # fmt: skip
    for line in (shared / "cases" / f"{benchmark}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        yield {**rest[benchmark], **case["doc"]}, case


@pytest.mark.parametrize(
    ("benchmark", "leaf"),
    [("slake", "slake_en_open"), ("medxpertqa", "medxpertqa_mm"), ("vlms_are_biased", "vlms_are_biased_main")],
)
def test_both_readings_of_every_case_hold(sample: dict[str, Any], shared: Path, benchmark: str, leaf: str) -> None:
    for doc, case in _case_documents(benchmark, shared):
        items = sample[leaf].process_results(doc, [case["reply"]])
        record, official, flexible = items["acc"], case["official"], case["flexible"]
        if "letter" in official:
            assert record["official"] == official["letter"], case
            assert record["read"] == flexible["letter"], case
        else:
            assert record["score"] == official["acc"], case
            assert items["acc_flexible"]["score"] == flexible["acc"], case
        if "bias_ratio" in official:
            assert items["bias_ratio"]["score"] == official["bias_ratio"], case
        if flexible.get("bias_ratio") is not None:
            assert items["bias_ratio_flexible"]["score"] == flexible["bias_ratio"], case


LENGTHS = {
    "slake_en_open": (195.09, 168, 257),
    "slake_en_closed": (187.99, 162, 253),
    "slake_zh_open": (67.07, 61, 79),
    "slake_zh_closed": (65.44, 60, 82),
    "medxpertqa_text": (1337.92, 435, 4771),
    "medxpertqa_mm": (886.91, 346, 2335),
}


@pytest.mark.xdist_group("real")
@pytest.mark.parametrize("leaf", LENGTHS)
def test_prompts_have_the_published_lengths(real: dict[str, Any], leaf: str) -> None:
    task = real[leaf]
    system = task.config.description.strip()
    lengths = [len(system) + len(task.doc_to_text(doc)) for doc in task.test_docs()]
    assert (round(sum(lengths) / len(lengths), 2), min(lengths), max(lengths)) == LENGTHS[leaf]


def test_slake_sends_the_image_first_and_medxpertqa_the_text(sample: dict[str, Any]) -> None:
    doc = sample["slake_zh_open"].test_docs()[0]
    (message,) = sample["slake_zh_open"].doc_to_messages(doc)
    assert [part["type"] for part in message["content"]] == ["image", "text"]
    assert message["content"][1]["text"] == (
        f"{doc['question'].strip()}\n请用一个中文词语或短语回答问题。\n"
        '回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。'
    )
    task = sample["medxpertqa_mm"]
    doc = max(task.test_docs(), key=lambda doc: len(doc["images"]))
    system, user = task.doc_to_messages(doc)
    assert (system["role"], system["content"][0]["text"]) == ("system", "You are a helpful medical assistant.")
    assert [part["type"] for part in user["content"]] == ["text"] + ["image"] * len(doc["images"])


def test_images_arrive_in_number_order_and_size(sample: dict[str, Any]) -> None:
    import zipfile

    folder = Path(lmms_tasks.__file__).parent / "sample" / "hub" / "TsinghuaC3I" / "MedXpertQA"
    with zipfile.ZipFile(folder / "images.zip") as archive:
        for doc in sample["medxpertqa_mm"].test_docs():
            received = sample["medxpertqa_mm"].doc_to_visual(doc)
            expected = [Image.open(archive.open(f"images/{name}")).convert("RGB") for name in doc["images"]]
            assert [image.tobytes() for image in received] == [image.tobytes() for image in expected]
            assert [image.size for image in received] == [image.size for image in expected]


@pytest.mark.parametrize("leaf", ["slake_en_open", "medxpertqa_mm", "vlms_are_biased_main"])
def test_a_model_may_change_the_image_that_it_was_given(sample: dict[str, Any], leaf: str) -> None:
    task = sample[leaf]
    doc = task.test_docs()[0]
    first = task.doc_to_visual(doc)[0]
    before = first.tobytes()
    first.paste((1, 2, 3), (0, 0, *first.size))
    assert task.doc_to_visual(doc)[0].tobytes() == before


def test_simple_models_find_the_system_prompt_in_front_of_the_text(manager: TaskManager) -> None:
    task = load(manager, "medxpertqa_text", "simple")["medxpertqa_text"]
    doc = task.test_docs()[0]
    context = task.fewshot_context(doc, 0)
    assert context == "You are a helpful medical assistant.\n\n" + task.doc_to_text(doc)
    assert task.doc_to_visual(doc) == []


@pytest.mark.parametrize("reply", [None, "", "\ud800", "a\0b", "答案：4", "x" * 100_000, "{" * 5000, "ANSWER: " * 500])
def test_no_reply_raises_and_every_reply_scores(sample: dict[str, Any], reply: str | None) -> None:
    for task in sample.values():
        items = task.process_results(task.test_docs()[0], [reply])
        assert items["acc"]["score"] in (0.0, 1.0)


# --- contracts over every YAML file ---


@pytest.mark.parametrize("name", LEAVES + GROUPS)
def test_a_task_is_named_like_its_file(manager: TaskManager, name: str) -> None:
    path = Path(manager.task_index[name]["yaml_path"])
    assert path.stem == name
    assert plugin.tasks_folder() in path.parents


@pytest.mark.parametrize("name", LEAVES)
def test_metrics_are_the_keys_that_process_results_returns(manager: TaskManager, name: str) -> None:
    (task,) = load(manager, name).values()
    metrics = {entry["metric"] for entry in task.config.metric_list}
    items = task.process_results(task.test_docs()[0], [""])
    assert set(items) == metrics
    assert all("aggregation" in entry and "higher_is_better" in entry for entry in task.config.metric_list)
    assert task.config.cluster_key == "cluster"
    assert task.config.metadata["version"]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_drags_no_metric_along_that_it_does_not_name(manager: TaskManager, name: str) -> None:
    config = manager._get_config(name)
    wanted = [entry["metric"] for entry in config["aggregate_metric_list"]]
    members = {metric for entry in task_table.entries() if entry.kind == "task" for metric in entry.metrics}
    for metric in wanted:
        assert [f"{other},none" for other in members if metric in f"{other},none"] == [metric]


@pytest.mark.parametrize("name", LEAVES)
def test_generation_settings_are_those_of_the_protocol(manager: TaskManager, name: str) -> None:
    settings = manager._get_config(name)["generation_kwargs"]
    if "slake" in name:
        assert settings == {"max_new_tokens": 32, "temperature": 0, "do_sample": False, "until": []}
    elif "medxpertqa" in name:
        assert settings == {"max_new_tokens": 2048, "temperature": 0, "do_sample": False, "until": []}
    else:
        assert settings == {"max_new_tokens": 32, "temperature": 0, "top_p": 1.0, "num_beams": 1, "do_sample": False}


@pytest.mark.parametrize(
    "note", ["[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error 404: yes {4} A", "[LMMS_EVAL_BUDGET_EXCEEDED]"]
)
def test_a_failed_request_is_unreadable_and_says_so(sample: dict[str, Any], note: str) -> None:
    for task in sample.values():
        items = task.process_results(task.test_docs()[0], [note])
        assert (items["acc"]["outcome"], items["acc"]["how"]) == ("unreadable", "request failed")
        assert items["format_ok"]["score"] == 0.0


def test_the_filter_counts_failed_requests_and_makes_text_of_what_is_none() -> None:
    from loguru import logger

    lines: list[str] = []
    sink = logger.add(lines.append, level="WARNING")
    passed = EveryReply().apply([["a"], [None], [5], [["why", None]], ["[LMMS_EVAL_REQUEST_FAILED] x", "b"]], None)
    logger.remove(sink)
    assert passed == ["a", "", "5", ["why", ""], ["[LMMS_EVAL_REQUEST_FAILED] x", "b"]]
    assert len(lines) == 1
    assert "1 of 6 requests failed" in lines[0]
