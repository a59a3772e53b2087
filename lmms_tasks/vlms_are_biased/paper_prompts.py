"""The paper's two prompts against prior knowledge: a warning in front, and a second turn that asks to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_tasks import conversations, records
from lmms_tasks.subsets import attributes
from lmms_tasks.vlms_are_biased import hooks

DEBIASED = "Do not assume from prior knowledge and answer only based on what is visible in the image."
DOUBLECHECK = (
    "Please double-check your answer and give your final answer in curly brackets, following the format above."
)

main = conversations.ConversationSubset(hooks.BENCHMARK, "main")

__getattr__ = attributes(globals())


def debiased(doc: Mapping[str, Any]) -> str:
    """The dataset's prompt with the warning on a line before it."""
    return f"{DEBIASED}\n{hooks.doc_to_text(doc)}"


def _first_turn(doc: Mapping[str, Any]) -> list[conversations.Message]:
    user = conversations.said("user", hooks.doc_to_text(doc))
    user["content"] = [*({"type": "image", "url": image} for image in hooks.doc_to_visual(doc)), *user["content"]]
    return [user]


def _check(doc: Mapping[str, Any]) -> str:
    return DOUBLECHECK


doc_to_messages = conversations.for_chat(_first_turn, _check)
doc_to_text = conversations.for_simple(
    hooks.doc_to_text, _check, hooks.doc_to_visual, join=lambda *parts: "\n\n".join(parts)
)


def _score(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    first, second = records.reply_of(results)
    items = hooks.process_results(doc, [second])
    before = hooks.process_results(doc, [first])["acc"]
    return {**items, "acc_first": records.item(before["score"], before["cluster"])}


process_results = conversations.scoring(_score)
