"""Conversations with lmms-eval's back ends.

lmms-eval 0.7 has a method for them, `generate_until_multi_round`, which most back ends leave open: of its chat back
ends only vllm has it, and asks about one document after the other. But a chat back end that passes on every message of
a conversation needs no method of its own: its `generate_until` is asked for the second turn as it was for the first,
with all documents at once, batched and in parallel as it is used to.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

CHAT = (
    "async_hf_model", "async_openai", "gemini", "huggingface", "internvl_hf", "lfm2_5_vl", "litellm", "llava_hf",
    "llava_onevision1_5", "nanovlm", "openai", "qwen2_5_vl", "qwen3_5", "qwen3_vl", "sglang", "vllm",
    "vllm_generate",
)  # fmt: skip
"""Chat back ends of lmms-eval 0.7.2 and 0.7.3 that pass on the role and the content of every message.

Not among them: baichuan_omni, minicpm_o, neo_ov and omnivinci put all turns into one; thyme leaves the assistant's out;
longvila makes the system prompt a user's turn; llava_onevision2, qwen2_5_omni and qwen3_omni put a system
prompt of their own before it;
phi4_multimodal generates once for every message; bagel_lmms_engine and fastvideo send the first text only;
aero_realtime_vllm takes sound and film.
"""
SIMPLE = ("llava_onevision", "qwen2_5_vl", "qwen2_vl")
"""Simple back ends with a `generate_until_multi_round` of their own."""

_REFUSAL = (
    "lmms-tasks: the back end {backend} cannot hold a conversation of two turns, which {tasks} needs. These can: as a "
    "real conversation, the chat back ends {chat} (without --force_simple); with the first turn written into the "
    "prompt of the second, the simple back ends {simple}; --model replay; and every model class with a "
    "generate_until_multi_round of its own."
)
_DATASET, _SPLIT, _NUMBER = "lmms_tasks: one turn", "turn", "lmms_tasks: conversation"
_FAILED = "[LMMS_EVAL_"


def prepare() -> None:
    """Lets lmms-eval's evaluation hold our conversations, or refuse them before it generates; once is enough."""
    try:
        from lmms_eval import evaluator
    except ImportError:  # the rows are read without lmms-eval
        return
    if not getattr(evaluator.evaluate, "holds_conversations", False):
        evaluator.evaluate = _holding_conversations(evaluator.evaluate)


def _holding_conversations(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        lm = kwargs["lm"] if "lm" in kwargs else args[0]
        tasks = kwargs["task_dict"] if "task_dict" in kwargs else args[1]
        ours = sorted(_conversations(tasks))
        if not ours:
            return original(*args, **kwargs)
        # lmms-eval's response cache takes texts with a token count for single texts.
        hold = _way(lm, counting=kwargs.get("response_cache") is None)
        if hold is None:
            raise SystemExit(
                _REFUSAL.format(
                    tasks=", ".join(ours), backend=_name(lm), chat=", ".join(CHAT), simple=", ".join(SIMPLE)
                )
            )
        lm.generate_until_multi_round = _dispatching(lm.generate_until_multi_round, hold, frozenset(ours))
        try:
            return original(*args, **kwargs)
        finally:
            del lm.generate_until_multi_round

    evaluate.holds_conversations = True  # type: ignore[attr-defined]
    return evaluate


def _conversations(tasks: Mapping[Any, Any]) -> Iterator[str]:
    for name, task in tasks.items():
        if isinstance(task, Mapping):
            yield from _conversations(task)
            continue
        task = task[1] if isinstance(task, tuple) else task
        config = getattr(task, "config", None)
        if hasattr(getattr(config, "doc_to_messages", None), "turns"):
            yield str(getattr(config, "task", name))


def _name(lm: Any) -> str:
    return f"{type(lm).__module__}.{type(lm).__qualname__} ({'simple' if lm.is_simple else 'chat'})"


Hold = Callable[[Sequence[Any]], list[Any]]


def _way(lm: Any, counting: bool) -> Hold | None:
    """How this back end holds a conversation, or None where it cannot."""
    owner = next(kind for kind in type(lm).__mro__ if "generate_until_multi_round" in vars(kind))
    chat = {f"lmms_eval.models.chat.{name}" for name in CHAT}
    foreign = not owner.__module__.startswith("lmms_eval.")
    if not foreign and not lm.is_simple and any(kind.__module__ in chat for kind in type(lm).__mro__):
        return functools.partial(lead, lm, counting=counting)
    own: Hold = lm.generate_until_multi_round
    try:
        answered = own([])
    except NotImplementedError:
        return None
    except Exception:  # it has the method, and looks into the first request
        return lambda requests: [_as_list(reply) for reply in own(requests)]
    return None if answered is None else lambda requests: [_as_list(reply) for reply in own(requests)]


def _as_list(reply: Any) -> Any:
    # The simple back ends return tuples, which lmms-eval would make into one text with brackets and quotes.
    return list(reply) if isinstance(reply, tuple) and all(isinstance(turn, str) for turn in reply) else reply


def _dispatching(own: Callable[[list[Any]], Any], hold: Hold, ours: frozenset[str]) -> Callable[[list[Any]], list[Any]]:
    def generate_until_multi_round(requests: list[Any]) -> list[Any]:
        is_ours = [request.args[-2] in ours for request in requests]
        replies = {
            kind: iter(way([request for request, mine in zip(requests, is_ours, strict=True) if mine is kind]))
            for kind, way in ((True, hold), (False, own))
            if kind in is_ours
        }
        return [next(replies[mine]) for mine in is_ours]

    return generate_until_multi_round


def lead(lm: Any, requests: Sequence[Any], counting: bool = True) -> list[Any]:
    """The two turns of each request's conversation, held through the chat back end's `generate_until`.

    Each comes as lmms-eval's GenerationResult with the tokens of both turns, or, not `counting`, as a list of texts.

    A document whose turn failed at the server is not asked on; the failure stands for its later turns too.
    """
    from lmms_eval.api.instance import GenerationResult, unwrap_generation_output

    turns = max((request.args[1].__self__.config.doc_to_messages.turns for request in requests), default=0)
    said: list[list[str]] = [[] for _ in requests]
    tokens: list[list[Any]] = [[] for _ in requests]
    lm.task_dict[_DATASET] = {_SPLIT: _Numbered(lm.task_dict, requests)}
    try:
        for turn in range(turns):
            if turn:
                _open_new_connections(lm)
            asked = [number for number, texts in enumerate(said) if not (texts and texts[-1].startswith(_FAILED))]
            messages = functools.partial(_messages, requests, said, turn)
            outputs = (
                lm.generate_until([_with(requests[number], messages, number) for number in asked]) if asked else []
            )
            for number, output in zip(asked, outputs, strict=True):
                text, count = unwrap_generation_output(output)
                said[number].append("" if text is None else str(text))
                tokens[number].append(count)
    finally:
        del lm.task_dict[_DATASET]
    whole = [(texts + texts[-1:] * turns)[:turns] for texts in said]
    if not counting:
        return list(whole)
    return [
        GenerationResult(text=texts, token_counts=_sum(counts)) for texts, counts in zip(whole, tokens, strict=True)
    ]


def _open_new_connections(lm: Any) -> None:
    # async_openai starts an event loop for every call, and what goes over a connection of the last one is sent in vain.
    client = getattr(lm, "client", None)
    if type(client).__name__ == "AsyncOpenAI":
        import openai

        lm.client = client.copy(http_client=openai.DefaultAsyncHttpxClient())  # type: ignore[union-attr]


def _messages(requests: Sequence[Any], said: list[list[str]], turn: int, doc: Mapping[str, Any]) -> Any:
    number = doc[_NUMBER]
    doc = {name: value for name, value in doc.items() if name != _NUMBER}
    doc_to_messages = requests[number].args[1]
    if not turn:
        return doc_to_messages(doc)
    return doc_to_messages(doc, round_idx=turn, previous_output=list(said[number]), previous_round_info=None)[0]


def _with(request: Any, messages: Callable[[Any], Any], number: int) -> Any:
    context, _, settings, *_ = request.args
    turn = copy.copy(request)
    turn.request_type = "generate_until"
    # Back ends change the settings in place, and the copies of a repeated request share theirs.
    turn.arguments = (context, messages, copy.deepcopy(settings), number, _DATASET, _SPLIT)
    return turn


class _Numbered:
    """The requests' documents as a dataset, each with the number of its conversation.

    Back ends that batch call the first request's function with the documents of all, and look all of them up in the
    first request's dataset; repeats of a document are told apart by nothing else.
    """

    def __init__(self, datasets: Mapping[str, Any], requests: Sequence[Any]) -> None:
        self._datasets = datasets
        self._requests = requests

    def __getitem__(self, number: int) -> dict[str, Any]:
        doc_id, task, split = self._requests[number].args[-3:]
        return {**self._datasets[task][split][doc_id], _NUMBER: number}


def _sum(counts: Sequence[Any]) -> Any:
    known = [count for count in counts if count is not None]
    if not known:
        return None
    names = ("input_tokens", "output_tokens", "reasoning_tokens")
    totals = {name: [value for count in known if (value := getattr(count, name)) is not None] for name in names}
    return type(known[0])(**{name: sum(values) if values else None for name, values in totals.items()})
