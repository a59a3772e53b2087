"""What a control shows instead of a document's pictures: nothing, or black ones of their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from lmms_tasks.medxpertqa import hooks as medxpertqa
from lmms_tasks.slake import hooks as slake
from lmms_tasks.vlms_are_biased import hooks as vlms_are_biased


def nothing(doc: Mapping[str, Any]) -> list[Image.Image]:
    """No picture."""
    return []


def slake_black(doc: Mapping[str, Any]) -> list[Image.Image]:
    """A black picture of the size of the scan."""
    return black(slake.en_open.image_sizes([doc["img_name"]]))


def medxpertqa_black(doc: Mapping[str, Any]) -> list[Image.Image]:
    """Black pictures, as many and as large as the question's."""
    return black(medxpertqa.mm.image_sizes(doc["images"]))


def vlms_are_biased_black(doc: Mapping[str, Any]) -> list[Image.Image]:
    """A black picture of the size of the document's."""
    return black([vlms_are_biased.main.embedded_image_size(doc["image"], doc["ID"])])


def black(sizes: list[tuple[int, int]]) -> list[Image.Image]:
    """A black RGB picture of each size (width, height)."""
    return [Image.new("RGB", size) for size in sizes]


def medxpertqa_messages_without_pictures(doc: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reference conversation without its pictures."""
    return medxpertqa.conversation(doc, nothing(doc))


def medxpertqa_messages_with_black_pictures(doc: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reference conversation with black pictures for its own."""
    return medxpertqa.conversation(doc, medxpertqa_black(doc))
