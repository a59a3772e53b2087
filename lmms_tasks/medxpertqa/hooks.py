"""MedXpertQA in lmms-eval's calling convention. The rules of scoring stand in `lmms_scoring.medxpertqa`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from lmms_scoring import medxpertqa
from lmms_tasks import records
from lmms_tasks.repeats import with_repeats
from lmms_tasks.subsets import Subset, attributes

BENCHMARK = "medxpertqa"
QUESTION_TYPES = {"acc_reasoning": "Reasoning", "acc_understanding": "Understanding"}

text = Subset(BENCHMARK, "text")
mm = Subset(BENCHMARK, "mm")

#: For simple models, in front of the text; lmms-eval renders it with Jinja, which drops the last line end.
SYSTEM_PROMPT = medxpertqa.SYSTEM_PROMPT + "\n\n\n"

__getattr__ = attributes(globals())


def doc_to_visual(doc: Mapping[str, Any]) -> list[Image.Image]:
    """The document's images in order, none for the text subset."""
    names = doc.get("images") or []
    return mm.images(names) if names else []


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The reference user prompt."""
    return medxpertqa.prompt(doc["question"], doc["options"])


def doc_to_messages(doc: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reference conversation: the system prompt, then the user's text followed by the images in order."""
    return conversation(doc, doc_to_visual(doc))


def conversation(doc: Mapping[str, Any], pictures: Sequence[Image.Image]) -> list[dict[str, Any]]:
    """The reference conversation with these images."""
    images = [{"type": "image", "url": picture} for picture in pictures]
    return [
        {"role": "system", "content": [{"type": "text", "text": medxpertqa.SYSTEM_PROMPT}]},
        {"role": "user", "content": [{"type": "text", "text": doc_to_text(doc)}, *images]},
    ]


def slices(doc: Mapping[str, Any]) -> dict[str, Any]:
    """The columns by which reports break the scores down."""
    return {
        "question_type": doc["question_type"],
        "medical_task": doc["medical_task"],
        "body_system": doc["body_system"],
        "images": len(doc.get("images") or []),
    }


@with_repeats
def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The items of all metrics for one reply."""
    score = medxpertqa.score(records.reply_of(results), doc["label"], doc["options"])
    row = doc["id"]
    return {
        **records.items(
            score,
            row=row,
            reference=doc["label"],
            cluster=row,
            slices=slices(doc),
        ),
        **{
            metric: records.item(score.acc, row) if doc["question_type"] == question_type else None
            for metric, question_type in QUESTION_TYPES.items()
        },
    }
