"""Pictures as the hooks hand them out, of all three kinds: to 32 threads, to forked processes, to models that change them."""

from __future__ import annotations

import io
import os
import random
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import lmms_tasks
from lmms_tasks import pictures
from lmms_tasks.medxpertqa import hooks as medxpertqa
from lmms_tasks.slake import hooks as slake
from lmms_tasks.vlms_are_biased import hooks as vlms_are_biased
from tests.test_pictures import CHANGES

HUB = Path(lmms_tasks.__file__).parent / "sample" / "hub"
Doc = Mapping[str, Any]
Give = Callable[[Doc], list[Image.Image]]


@pytest.fixture(autouse=True, scope="module")
def _sample() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        yield


@pytest.fixture(params=[False, True], ids=["to a model", "to a server's client"])
def sent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a client of a server takes the pictures: others are prepared for it by threads."""
    monkeypatch.setattr(pictures, "sent", request.param)
    return bool(request.param)


def pixels(data: bytes) -> bytes:
    """The pixels that PIL alone reads in a file."""
    return Image.open(io.BytesIO(data)).convert("RGB").tobytes()


def members(archive: str, names: list[str]) -> list[bytes]:
    """The pixels of an archive's members."""
    with zipfile.ZipFile(HUB / archive) as file:
        return [pixels(file.read(name)) for name in names]


def cases(benchmark: str) -> tuple[Give, list[tuple[Doc, list[bytes]]]]:
    """A benchmark's hook, and documents with the pixels of their pictures as PIL alone reads them."""
    if benchmark == "slake":  # one archive, pictures kept and shared
        docs = list(slake.en_open(None))[:8]
        return slake.doc_to_visual, [
            (doc, members("BoKelvin/SLAKE/imgs.zip", [f"imgs/{doc['img_name']}"])) for doc in docs
        ]
    if benchmark == "medxpertqa":  # one archive, each picture read once; PNG files decoded when asked for
        docs = list(medxpertqa.mm(None))[:8]
        names = [[f"images/{name}" for name in doc["images"]] for doc in docs]
        found = [members("TsinghuaC3I/MedXpertQA/images.zip", some) for some in names]
        return medxpertqa.doc_to_visual, list(zip(docs, found, strict=True))
    docs = list(vlms_are_biased.main(None))[::12]  # embedded in the rows
    return vlms_are_biased.doc_to_visual, [(doc, [pixels(doc["image"]["bytes"])]) for doc in docs]


def saved(picture: Image.Image) -> bytes:
    """The pixels in the PNG that a client sends."""
    out = io.BytesIO()
    picture.save(out, format="PNG")
    return pixels(out.getvalue())


BENCHMARKS = ("slake", "medxpertqa", "vlms_are_biased")
CHANGING = list(CHANGES.values())


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_32_threads_that_change_what_they_get_all_get_the_right_pictures(benchmark: str, sent: bool) -> None:
    give, documents = cases(benchmark)
    start = threading.Barrier(32)

    def work(seed: int) -> bool:
        chance = random.Random(seed)
        start.wait()
        for doc, expected in chance.sample(documents, 4):
            given = give(doc)
            if sent:
                assert [saved(picture) for picture in given] == expected
            copies = [picture.copy() for picture in given]
            for picture in given:
                chance.choice(CHANGING)(picture)
            assert [picture.tobytes() for picture in copies] == expected
        return True

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(32)))


@pytest.mark.parametrize("change", CHANGING, ids=CHANGES)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_changed_picture_is_changed_as_any_other_and_the_next_is_not(
    benchmark: str, change: Callable[[Image.Image], object]
) -> None:
    give, documents = cases(benchmark)
    doc, expected = documents[0]
    picture = give(doc)[0]
    plain = Image.frombytes("RGB", picture.size, expected[0])
    change(picture)
    change(plain)
    assert (picture.mode, picture.size, picture.tobytes()) == (plain.mode, plain.size, plain.tobytes())
    if picture.mode == "RGB":
        assert saved(picture) == plain.tobytes()
    again = give(doc)[0]
    assert again.tobytes() == expected[0] == saved(again)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_processes_forked_after_the_first_pictures_get_the_right_ones(benchmark: str, sent: bool) -> None:
    give, documents = cases(benchmark)

    def right() -> bool:
        return all([saved(picture) for picture in give(doc)] == expected for doc, expected in documents)

    assert right()
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            try:
                os._exit(0 if right() else 1)
            finally:
                os._exit(2)
        children.append(child)
    assert right()
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
