"""The tasks of two turns: what is said in each, to the character, over every kind of back end, and how it is scored."""

from __future__ import annotations

import base64
import io
import json
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_scoring import medxpertqa
from lmms_tasks import conversations
from lmms_tasks.medxpertqa import hooks as medxpertqa_hooks
from lmms_tasks.medxpertqa_official import hooks as official
from lmms_tasks.models import replies
from lmms_tasks.vlms_are_biased import hooks as vlms_hooks
from lmms_tasks.vlms_are_biased import paper_prompts
from tests.chat_server import ChatServer, Request
from tests.running import lmms_eval

# lmms-eval takes ten seconds to import, and is imported once a worker.
pytestmark = pytest.mark.xdist_group("in-process")

MEDXPERTQA = "medxpertqa_official_text,medxpertqa_official_mm"
DOUBLECHECK = "vlms_are_biased_main_doublecheck"
RATIONALE = "One, {two} and\n\nthree."

Evaluate = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def task_manager() -> Any:
    """lmms-eval's index of tasks, which takes it seconds to make."""
    from lmms_eval.tasks import TaskManager

    from lmms_tasks import plugin

    plugin.register()
    return TaskManager()


@pytest.fixture
def evaluate(monkeypatch: pytest.MonkeyPatch, task_manager: Any) -> Evaluate:
    """lmms-eval's evaluation of a model object over the embedded sample, in this process."""
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from lmms_eval import evaluator

    def run(model: Any, tasks: str, **settings: Any) -> dict[str, Any]:
        results = evaluator.simple_evaluate(
            model=model, tasks=tasks.split(","), bootstrap_iters=0, task_manager=task_manager, **settings
        )
        assert isinstance(results, dict)
        return results

    return run


def rows(task: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The sample's documents of a task."""
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
    subset = {
        "medxpertqa_official_text": official.text,
        "medxpertqa_official_mm": official.mm,
        DOUBLECHECK: paper_prompts.main,
    }[task]
    return list(subset(None))


def shown(messages: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Messages with their texts, and each image as its size and colours."""
    return [
        (message["role"], [part["text"] if part["type"] == "text" else look(part) for part in message["content"]])
        for message in messages
    ]


def look(part: dict[str, Any]) -> str:
    """An image, in a message of lmms-eval's or of an OpenAI client's."""
    image = part.get("url")
    if image is None:
        image = Image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition("base64,")[2])))
    return picture(image)


def picture(image: Image.Image) -> str:
    """An image's size and pixels."""
    return f"image {image.size} {hash(image.convert('RGB').tobytes())}"


def first_turn(doc: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """What the authors' protocol says first."""
    images = [picture(image) for image in medxpertqa_hooks.doc_to_visual(doc)]
    return [
        ("system", ["You are a helpful medical assistant."]),
        ("user", [f"Q: {doc['question']}\nA: Let's think step by step.", *images]),
    ]


def second_turn(doc: dict[str, Any], rationale: str) -> list[tuple[str, list[str]]]:
    """What it says then."""
    last = "E" if doc.get("images") else "J"
    return [
        *first_turn(doc),
        ("assistant", [rationale]),
        ("user", [f"Therefore, among A through {last}, the answer is"]),
    ]


def documents(monkeypatch: pytest.MonkeyPatch, limit: int) -> list[dict[str, Any]]:
    return [doc for task in MEDXPERTQA.split(",") for doc in rows(task, monkeypatch)[:limit]]


def by_length(conversations_held: Any) -> list[Any]:
    return sorted(conversations_held, key=lambda messages: (len(messages), str(messages)))


# --- what is said ---------------------------------------------------------------------------------------------------


def test_the_first_turn_is_the_whole_question_field_with_the_images_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for doc in documents(monkeypatch, 12):
        assert doc["question"].count("\nAnswer Choices: (A)") == 1
        assert shown(official.doc_to_messages(doc)) == first_turn(doc)
        assert len(first_turn(doc)[1][1]) == 1 + len(doc.get("images") or [])


def test_a_scripted_chat_model_of_several_rounds_is_told_both_turns(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.scripted_models import ChatConversing

    model = ChatConversing()
    results = evaluate(model, MEDXPERTQA, limit=3)
    expected = [turn for doc in documents(monkeypatch, 3) for turn in (first_turn(doc), second_turn(doc, RATIONALE))]
    assert by_length(map(shown, model.asked)) == by_length(expected)
    assert results["results"]["medxpertqa_official_mm"]["format_ok,none"] == 1.0


def test_a_simple_model_finds_the_first_turn_written_into_the_second_prompt(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.scripted_models import SimpleConversing

    model = SimpleConversing()
    evaluate(model, MEDXPERTQA, limit=2)
    texts = [text for text, _ in model.asked]
    for doc in documents(monkeypatch, 2):
        first = f"You are a helpful medical assistant.\n\nQ: {doc['question']}\nA: Let's think step by step."
        last = "E" if doc.get("images") else "J"
        second = f"{first} {RATIONALE}\nTherefore, among A through {last}, the answer is"
        assert first in texts
        assert second in texts
        images = [picture(image) for image in medxpertqa_hooks.doc_to_visual(doc)]
        assert all([picture(i) for i in visual] == images for text, visual in model.asked if text.startswith(first))


def test_the_two_replies_of_a_simple_model_stay_two(evaluate: Evaluate) -> None:
    # lmms-eval makes one text of the tuple that its simple back ends return: "('One', '(C)')".
    from tests.scripted_models import SimpleConversing

    results = evaluate(SimpleConversing(), "medxpertqa_official_mm", limit=1)
    (sample,) = results["samples"]["medxpertqa_official_mm"]
    assert sample["filtered_resps"] == [[RATIONALE, "(C)"]]


@pytest.mark.parametrize("back_end", ["async_openai", "openai", "openai_files"])
def test_an_openai_compatible_server_gets_every_message_of_both_turns(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, back_end: str
) -> None:
    from lmms_eval import models

    def answer(request: Request) -> str:
        # Each document has its own rationale: none may reach another's conversation.
        return "(C)" if len(request["messages"]) > 2 else rationale(request["messages"][1]["content"][0]["text"])

    def rationale(asked: str) -> str:
        return f"<b>{len(asked)}</b> \n{asked[3:40]} …"

    with ChatServer(answer) as server:
        model = models.get_model(back_end)(model_version="m", base_url=server.url, api_key="none")
        results = evaluate(model, MEDXPERTQA, limit=4)
    held = [shown(request["messages"]) for request in server.requests]
    expected = []
    for doc in documents(monkeypatch, 4):
        first = first_turn(doc)
        expected += [first, second_turn(doc, rationale(first[1][1][0]))]
    assert by_length(held) == by_length(expected)
    assert {(request["max_tokens"], request["temperature"]) for request in server.requests} == {(2048, 0)}
    assert all("stop" not in request or not request["stop"] for request in server.requests)
    assert len(results["samples"]["medxpertqa_official_text"]) == 4


def test_a_turn_that_failed_is_not_asked_on_and_counts_as_unread(evaluate: Evaluate) -> None:
    from lmms_eval import models

    with ChatServer(lambda request: 500) as server:
        model = models.get_model("openai")(model_version="m", base_url=server.url, api_key="none", max_retries=1)
        results = evaluate(model, "medxpertqa_official_text", limit=2)
    assert {len(request["messages"]) for request in server.requests} == {2}
    assert results["results"]["medxpertqa_official_text"]["acc,none"] == 0.0
    assert results["results"]["medxpertqa_official_text"]["unreadable,none"] == 1.0


def test_the_response_cache_of_lmms_eval_keeps_both_turns(evaluate: Evaluate, tmp_path: Path) -> None:
    with ChatServer(lambda request: "(C)" if len(request["messages"]) > 2 else RATIONALE) as server:
        arguments = f"model_version=m,base_url={server.url},api_key=none"
        for _ in range(2):
            results = evaluate(
                "openai", "medxpertqa_official_mm", limit=2, model_args=arguments, use_cache=str(tmp_path)
            )
            samples = results["samples"]["medxpertqa_official_mm"]
            assert [sample["filtered_resps"] for sample in samples] == [[[RATIONALE, "(C)"]]] * 2
            assert len(server.requests) == 4


def test_a_batch_of_repeats_keeps_every_conversation_to_itself(evaluate: Evaluate) -> None:
    from tests.scripted_models import ChatBatching

    count = iter(range(1000))
    model = ChatBatching(lambda messages, turn: f"reason {next(count)}" if turn == 0 else "(C)")
    results = evaluate(model, f"{MEDXPERTQA},{DOUBLECHECK}", limit=2, repeats=2)
    second = [shown(messages) for messages in model.asked if any(m["role"] == "assistant" for m in messages)]
    heard = sorted(texts[0] for messages in second for role, texts in messages if role == "assistant")
    assert heard == sorted(f"reason {number}" for number in range(12))
    for task in (MEDXPERTQA, DOUBLECHECK):
        for sample in (sample for name in task.split(",") for sample in results["samples"][name]):
            (turns,) = sample["filtered_resps"]
            assert [bool(re.fullmatch(r"reason \d+", turn)) for turn in turns] == [True, False, True, False]
            asked = [m for m in second if m[-2][1] in ([turns[0]], [turns[2]])]
            assert len(asked) == 2
            assert asked[0][:-2] == asked[1][:-2]


def test_vllm_says_the_same_as_in_its_own_loop_and_all_documents_at_once(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval.models.chat import vllm

    from lmms_tasks.models import conversation

    class Engine:
        def __init__(self) -> None:
            self.asked: list[Any] = []
            self.batches: list[int] = []

        def chat(self, messages: list[Any], sampling_params: list[Any], chat_template: Any) -> list[Any]:
            self.asked += messages
            self.batches.append(len(messages))
            text = [RATIONALE if len(m) == 2 else "(C)" for m in messages]
            said = [type("Text", (), {"text": t}) for t in text]
            return [type("Output", (), {"outputs": [one]}) for one in said]

    monkeypatch.setattr(vllm, "SamplingParams", lambda **settings: settings)
    asked, batches = [], []
    for own in (True, False):
        model = vllm.VLLM.__new__(vllm.VLLM)
        for base in vllm.VLLM.__mro__:
            if base.__name__ == "lmms":
                base.__init__(model)
        model.client, model.chat_template, model.disable_log_stats = Engine(), None, True
        model.batch_size_per_gpu, model.fps, model.nframes, model.is_qwen3_vl = 8, None, 32, False
        model.max_pixels, model.min_image_pixels, model.max_frame_num, model.max_new_tokens = 10**6, 28, 8, 4096
        monkeypatch.setattr(vllm.VLLM, "_run_tp_synced", lambda self, items, run: run(items))
        monkeypatch.setattr(vllm.VLLM, "_select_max_new_tokens", lambda self, wanted: wanted)
        if own:
            monkeypatch.setattr(conversation, "CHAT", ())
        evaluate(model, MEDXPERTQA, limit=3)
        monkeypatch.undo()
        monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
        monkeypatch.setattr(vllm, "SamplingParams", lambda **settings: settings)
        asked.append(by_length(map(shown, model.client.asked)))
        batches.append(model.client.batches)
    assert asked[0] == asked[1]
    assert len(asked[0]) == 12
    assert batches == [[1] * 12, [6, 6]]


# --- who cannot hold a conversation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ChatAlone", "SimpleAlone"])
def test_a_back_end_that_holds_no_conversation_is_refused_before_it_generates(evaluate: Evaluate, form: str) -> None:
    from tests import scripted_models

    model = getattr(scripted_models, form)()
    with pytest.raises(SystemExit) as stopped:
        evaluate(model, f"slake_en_open,{MEDXPERTQA}", limit=1)
    message = str(stopped.value)
    assert message.startswith(f"lmms-tasks: the back end tests.scripted_models.{form} ")
    assert "which medxpertqa_official_mm, medxpertqa_official_text needs" in message
    assert all(name in message for name in ("vllm", "sglang", "async_openai", "huggingface", "qwen2_5_vl", "replay"))
    assert model.asked == []


def test_the_refusal_reaches_the_command_line_with_a_failing_exit_status(tmp_path: Path) -> None:
    # longvila and the like need their weights: a package's own model class stands for them.
    (tmp_path / "alone.py").write_text(
        "from lmms_eval.models.registry_v2 import ModelManifest\n"
        "from lmms_eval.models.simple.dummy import Dummy\n"
        "class Alone(Dummy):\n"
        "    def generate_until_multi_round(self, requests): raise NotImplementedError('TODO')\n"
        "def register(): return ModelManifest(model_id='alone', simple_class_path='alone.Alone')\n"
    )
    (tmp_path / "alone-1.dist-info").mkdir()
    (tmp_path / "alone-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: alone\nVersion: 1\n")
    (tmp_path / "alone-1.dist-info" / "entry_points.txt").write_text("[lmms_eval.models]\nalone = alone:register\n")
    run = lmms_eval(cwd=tmp_path, tasks=DOUBLECHECK, model="alone", model_args="response=A", PYTHONPATH=str(tmp_path))
    assert run.status == 1, run.output[-2000:]
    assert "lmms-tasks: the back end alone.Alone (simple) cannot hold a conversation of two turns" in run.output
    assert "Traceback" not in run.output
    assert not list(run.folder.rglob("*_results.json"))


def test_other_tasks_of_several_rounds_go_on_with_the_back_ends_own_method() -> None:
    from lmms_tasks.models.conversation import _dispatching

    class Of:
        def __init__(self, task: str) -> None:
            self.args = ("", task, "test")

    requests = [Of("theirs"), Of("ours"), Of("theirs"), Of("ours")]
    numbers = iter(range(9))
    mixed = _dispatching(
        lambda some: [f"theirs {next(numbers)}" for _ in some],
        lambda some: [f"ours {next(numbers)}" for _ in some],
        frozenset(["ours"]),
    )(requests)
    assert [reply.split()[0] for reply in mixed] == ["theirs", "ours", "theirs", "ours"]


def test_every_chat_back_end_on_the_list_exists_and_passes_messages_on_whole() -> None:
    import importlib.util

    from lmms_tasks.models.conversation import CHAT, SIMPLE

    for name in CHAT:
        spec = importlib.util.find_spec(f"lmms_eval.models.chat.{name}")
        assert spec is not None, name
        assert spec.origin is not None
        source = Path(spec.origin).read_text(encoding="utf-8")
        inherits = re.search(r"class \w+\(.*(?:OpenAICompatibleChatBase|Qwen3_VL_Chat|VLLMChat)", source)
        ways = (
            "to_openai_messages", "to_hf_messages", "apply_chat_template(messages", "_chat_messages_to_gemini_contents",
            'model_dump()["messages"]',
        )  # fmt: skip
        assert inherits or any(way in source for way in ways), name
    for name in SIMPLE:
        assert importlib.util.find_spec(f"lmms_eval.models.simple.{name}") is not None, name


# --- replaying ------------------------------------------------------------------------------------------------------


def test_a_run_of_two_turns_and_its_replayed_log_score_the_same(tmp_path: Path, root: Path, evaluate: Evaluate) -> None:
    from lmms_tasks.models.replay import Replay

    saved = root / "lmms_tasks" / "sample" / "replies" / "careful_two_turn.jsonl"
    tasks = f"medxpertqa_official,{DOUBLECHECK}"
    run = lmms_eval("--repeats", "2", cwd=tmp_path, tasks=tasks, model="replay", model_args=f"path={saved}")
    assert run.status == 0, run.output[-2000:]
    (folder,) = {log.parent for log in run.sample_logs()}
    again = evaluate(Replay(path=str(folder)), tasks, limit=5)
    for task in (*MEDXPERTQA.split(","), DOUBLECHECK):
        before = {sample["doc_id"]: sample for sample in run.samples(task)}
        assert len(again["samples"][task]) == 5
        for sample in again["samples"][task]:
            logged = before[sample["doc_id"]]
            assert sample["acc"] == {key: value for key, value in logged["acc"].items() if key != "repeats"}
            assert sample["filtered_resps"] == [logged["filtered_resps"][:2]]
            assert logged["acc"]["repeats"] == [logged["acc"]["score"]] * 2
    assert run.value(DOUBLECHECK, "acc") > run.value(DOUBLECHECK, "acc_first")
    assert 0.5 < run.value("medxpertqa_official", "acc") < 1.0


def test_a_log_keeps_turns_and_repeats_apart() -> None:
    one = {"doc_id": 0, "filtered_resps": ["why", "C"], "acc": {"score": 1.0}}
    assert replies._logged_replies(one) == [["why", "C"]]
    two = {"doc_id": 0, "filtered_resps": ["why", "C", "how", "D"], "acc": {"score": 1.0, "repeats": [1.0, 0.0]}}
    assert replies._logged_replies(two) == [["why", "C"], ["how", "D"]]
    plain = {"doc_id": 0, "filtered_resps": ["C", "D"], "acc": {"score": 1.0, "repeats": [1.0, 0.0]}}
    assert replies._logged_replies(plain) == ["C", "D"]
    assert replies._logged_replies({"doc_id": 0, "filtered_resps": "C", "acc": {"score": 1.0}}) == ["C"]


# --- scoring --------------------------------------------------------------------------------------------------------


def test_the_authors_reading_marks_76_of_438_real_answers_right(shared: Path) -> None:
    labels: dict[str, tuple[str, dict[str, str]]] = {}
    for folder in ("Text", "MM"):
        with (shared / "hub" / "TsinghuaC3I" / "MedXpertQA" / folder / "test.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                labels[row["id"]] = row["label"], row["options"]
    with (shared / "replies" / "medxpertqa_mistral_small_answer.jsonl").open(encoding="utf-8") as lines:
        answers = [json.loads(line) for line in lines]
    right = 0
    for answer in answers:
        label, options = labels[answer["id"]]
        right += medxpertqa.authors_letter(answer["reply"], options) == label
    assert (len(answers), right) == (438, 76)


def document(**changes: Any) -> dict[str, Any]:
    return {
        "id": "Text-1", "question": "Which?\nAnswer Choices: (A) one (B) two (C) three", "label": "C",
        "options": {"A": "one", "B": "two", "C": "three"}, "question_type": "Reasoning", "medical_task": "Diagnosis",
        "body_system": "Skin", **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("second", "letter"),
    [
        ("C", "C"),
        ("(C) three.", "C"),
        ("Therefore, among A through C, the answer is B", "B"),
        ("I understand. C", "C"),
        ("I think the answer is C, not B", "C"),
        ("three", None),
        ("", None),
        ("Cardiac", None),
        ("c", None),
    ],
)
def test_the_second_reply_alone_is_read_by_the_authors_rule(second: str, letter: str | None) -> None:
    items = official.process_results(document(), [["The answer is A. ANSWER: A", second]])
    assert items["acc"]["official"] == letter
    assert items["acc"]["score"] == float(letter == "C")
    assert items["acc"]["format_ok"] == (letter is not None)
    assert items["acc_reasoning"]["score"] == items["acc"]["score"]
    assert items["acc_understanding"] is None


def test_a_reply_that_names_the_option_only_is_right_for_the_flexible_reading_alone() -> None:
    items = official.process_results(document(), [["Because.", " three."]])
    assert (items["acc"]["score"], items["acc_flexible"]["score"]) == (0.0, 1.0)


@pytest.mark.parametrize("results", [[], [None], [""], ["C"], [["why", None]], [["a", "b", "c", "d"]], [("why", "C")]])
def test_no_shape_of_replies_breaks_the_scoring(results: list[Any]) -> None:
    if results and not isinstance(results[0], list):
        results = conversations.EveryTurn().apply([results], [])
    items = official.process_results(document(), results)
    assert items["acc"]["score"] in (0.0, 1.0)


def test_the_filter_puts_the_turns_of_all_repeats_into_one_list() -> None:
    assert conversations.EveryTurn().apply([[["why", "C"], ["how", None]], ["C"]], []) == [
        ["why", "C", "how", ""],
        ["", "C"],
    ]


def test_reasoning_inside_tags_is_taken_out_of_every_turn_of_every_repeat(evaluate: Evaluate) -> None:
    from tests.scripted_models import ChatConversing

    model = ChatConversing(lambda messages, turn: "<think>Is it A?</think>(C)")
    tags = Namespace(process_with_media=False, process_docs_parallel=1, reasoning_tags='[["<think>", "</think>"]]')
    results = evaluate(model, "medxpertqa_official_mm", limit=1, repeats=2, cli_args=tags)
    (sample,) = results["samples"]["medxpertqa_official_mm"]
    assert sample["acc"]["official"] == "C"
    assert sample["filtered_resps"] == [["(C)"] * 4]


def test_the_settings_are_the_authors() -> None:
    settings = {"max_new_tokens": 2048, "temperature": 0, "do_sample": False, "until": []}
    from lmms_tasks import task_table

    found = {entry.name: entry for entry in task_table.entries()}
    for name, count in (("medxpertqa_official_text", 2450), ("medxpertqa_official_mm", 2000)):
        assert found[name].settings == settings
        assert found[name].rows == count
    assert found["medxpertqa_official"].rows == 4450
    assert found[DOUBLECHECK].rows == found["vlms_are_biased_main_debiased"].rows == 2784


# --- VLMs Are Biased ------------------------------------------------------------------------------------------------


def test_the_debiased_prompt_is_the_datasets_with_one_line_before_it(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.scripted_models import ChatAlone

    model = ChatAlone()
    evaluate(model, "vlms_are_biased_main_debiased", limit=2)
    doc = rows(DOUBLECHECK, monkeypatch)[0]
    line = "Do not assume from prior knowledge and answer only based on what is visible in the image."
    image = picture(vlms_hooks.doc_to_visual(doc)[0])
    assert ("user", [image, f"{line}\n{doc['prompt']}"]) in [shown(messages)[0] for messages in model.asked]


def test_the_second_check_is_asked_in_the_same_conversation_and_counts(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.scripted_models import ChatConversing

    docs = rows(DOUBLECHECK, monkeypatch)[:2]
    model = ChatConversing(lambda messages, turn: "{4}" if turn == 0 else f"{{{docs[0]['ground_truth']}}}")
    results = evaluate(model, DOUBLECHECK, limit=2)
    check = "Please double-check your answer and give your final answer in curly brackets, following the format above."
    for doc in docs:
        first = ("user", [picture(vlms_hooks.doc_to_visual(doc)[0]), doc["prompt"]])
        asked = [shown(messages) for messages in model.asked]
        assert [first] in asked
        assert [first, ("assistant", ["{4}"]), ("user", [check])] in asked
    scores = results["results"][DOUBLECHECK]
    assert (scores["acc,none"], scores["acc_first,none"]) == (1.0, 0.0)
