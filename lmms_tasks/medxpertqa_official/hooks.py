"""MedXpertQA's own protocol in lmms-eval's calling convention: reason first, then name the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_scoring import medxpertqa
from lmms_tasks import conversations, records
from lmms_tasks.medxpertqa.hooks import QUESTION_TYPES, SYSTEM_PROMPT, doc_to_visual, slices
from lmms_tasks.subsets import attributes

BENCHMARK = "medxpertqa"

text = conversations.ConversationSubset(BENCHMARK, "text")
mm = conversations.ConversationSubset(BENCHMARK, "mm")

__getattr__ = attributes(globals())


def question(doc: Mapping[str, Any]) -> str:
    """The user's first turn: the question field as it is, the options that it embeds included."""
    return f"Q: {doc['question']}\nA: Let's think step by step."


def trigger(doc: Mapping[str, Any]) -> str:
    """The user's second turn, with the last letter of this item."""
    return f"Therefore, among A through {max(doc['options'])}, the answer is"


def _first_turn(doc: Mapping[str, Any]) -> list[conversations.Message]:
    user = conversations.said("user", question(doc))
    user["content"] += [{"type": "image", "url": image} for image in doc_to_visual(doc)]
    return [conversations.said("system", medxpertqa.SYSTEM_PROMPT), user]


doc_to_messages = conversations.for_chat(_first_turn, trigger)
doc_to_text = conversations.for_simple(
    question,
    trigger,
    doc_to_visual,
    # lmms-eval itself puts the description before the first turn, and not its last line end.
    join=lambda first, reply, second: f"{SYSTEM_PROMPT[:-1]}{first} {reply}\n{second}",
)


def _score(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    second = records.reply_of(results)[-1]
    label, options, row = doc["label"], doc["options"], doc["id"]
    letter = medxpertqa.authors_letter(second, options)
    score = medxpertqa.score(second, label, options)._replace(
        acc=float(letter == label),
        official=letter,
        format_ok=letter is not None,
    )
    return {
        **records.items(score, row=row, reference=label, cluster=row, slices=slices(doc)),
        **{
            metric: records.item(score.acc, row) if doc["question_type"] == question_type else None
            for metric, question_type in QUESTION_TYPES.items()
        },
    }


process_results = conversations.scoring(_score)
