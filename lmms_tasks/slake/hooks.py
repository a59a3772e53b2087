"""SLAKE in lmms-eval's calling convention. The rules of scoring stand in `lmms_scoring.slake`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from lmms_scoring import slake
from lmms_tasks import records
from lmms_tasks.repeats import with_repeats
from lmms_tasks.subsets import Subset, attributes

BENCHMARK = "slake"
SLICES = {
    "language": "q_lang",
    "answer_type": "answer_type",
    "content_type": "content_type",
    "modality": "modality",
    "location": "location",
    "base_type": "base_type",
}

en_open = Subset(BENCHMARK, "en_open")
en_closed = Subset(BENCHMARK, "en_closed")
zh_open = Subset(BENCHMARK, "zh_open")
zh_closed = Subset(BENCHMARK, "zh_closed")

__getattr__ = attributes(globals())


def doc_to_visual(doc: Mapping[str, Any]) -> list[Image.Image]:
    """The document's one image, which the receiver may change."""
    return en_open.images([doc["img_name"]])


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The reference prompt in the question's language."""
    return slake.prompt(doc["question"], doc["q_lang"])


@with_repeats
def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The items of all metrics for one reply."""
    reply, answer, language = records.reply_of(results), doc["answer"], doc["q_lang"]
    cluster = doc["img_name"]
    score = slake.score(reply, answer, language=language, answer_type=doc["answer_type"], question=doc["question"])
    return {
        **records.items(
            score,
            row=doc["qid"],
            reference=answer,
            cluster=cluster,
            slices={name: doc[column] for name, column in SLICES.items()},
        ),
        "token_f1": records.item(slake.token_f1(reply, answer, language), cluster),
        "token_recall": records.item(slake.token_recall(reply, answer, language), cluster),
    }
