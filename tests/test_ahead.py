"""Pictures prepared ahead for clients of servers: the same pixels, never a wrong picture, and faults where they belong."""

from __future__ import annotations

import io
import os
import threading
import zlib

import pytest
from PIL import Image

from lmms_tasks import pictures
from lmms_tasks.ahead import PREPARED, Ahead
from lmms_tasks.medxpertqa import hooks
from lmms_tasks.subsets import Subset

ROWS = [(f"{number}a", f"{number}b") if number % 3 == 0 else (f"{number}a",) for number in range(60)]


class Making:
    """Makes a file of each name and remembers which."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, name: str) -> bytes:
        self.made.append(name)
        if name == "7a":
            raise ValueError("damaged")
        return name.encode()


def ask(ahead: Ahead, rows: list[tuple[str, ...]]) -> list[dict[str, bytes]]:
    found = []
    for names in rows:
        found.append(ahead.take(names))
        ahead.prepare(names)
    return found


@pytest.mark.parametrize("step", [1, 2, 8])
def test_the_rows_that_follow_at_the_same_distance_are_prepared(step: int) -> None:
    ahead = Ahead(Making())
    ahead.follow(ROWS)
    found = ask(ahead, ROWS[::step])
    assert found[:2] == [{}, {}]
    assert found[2:] == [{name: name.encode() for name in names if name != "7a"} for names in ROWS[2 * step :: step]]


def test_rows_in_another_order_or_unknown_get_nothing_wrong() -> None:
    making = Making()
    ahead = Ahead(making)
    assert ask(ahead, ROWS) == [{}] * len(ROWS)
    ahead.follow(ROWS)
    shuffled = [ROWS[number * 23 % 60] for number in range(60)]
    for names, found in zip(shuffled, ask(ahead, shuffled), strict=True):
        assert set(found) <= set(names)
        assert all(data == name.encode() for name, data in found.items())
    assert len(ahead._futures) <= PREPARED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_prepares_with_threads_of_its_own() -> None:
    ahead = Ahead(Making())
    ahead.follow(ROWS)
    ask(ahead, ROWS[:5])
    child = os.fork()
    if not child:
        os._exit(0 if ask(ahead, ROWS[10:14])[2:] == [{n: n.encode() for n in names} for names in ROWS[12:14]] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture(autouse=True)
def _sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the first picture that a client sent."""
    monkeypatch.setattr(pictures, "sent", True)


def saved(picture: Image.Image) -> Image.Image:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return Image.open(out)


@pytest.mark.usefixtures("sending")
def test_what_a_client_sends_has_the_pixels_that_a_model_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()
    encode = pictures.encoded
    monkeypatch.setattr(
        pictures, "encoded", lambda image: (threads.add(threading.current_thread().name), encode(image))[1]
    )
    docs = list(hooks.mm(None))
    assert len({name for doc in docs for name in doc["images"]}) > 5
    for doc in docs:
        expected = [picture.tobytes() for picture in Subset("medxpertqa", "mm").images(doc["images"])]
        sent = hooks.doc_to_visual(doc)
        assert [saved(picture).tobytes() for picture in sent] == expected
        assert [picture.tobytes() for picture in sent] == expected
    assert any(name.startswith("lmms-tasks-ahead") for name in threads)


def png(rows: bytes) -> bytes:
    """A PNG of 4 x 4 whose checksums hold, of these packed rows."""
    header = (4).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    parts = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(pictures._part(kind, content) for kind, content in parts)


def test_a_png_is_sent_as_it_is_and_decoded_only_when_pixels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = png(zlib.compress(bytes(4 * 13)))
    picture = hooks.mm.embedded_image({"bytes": whole}, "row 1")
    monkeypatch.setattr("lmms_data.images.load", lambda *_: pytest.fail("decoded"))
    out = io.BytesIO()
    picture.copy().save(out, format="PNG")
    assert out.getvalue() == whole
    assert picture.size == (4, 4)
    monkeypatch.undo()
    assert picture.getpixel((3, 3)) == (0, 0, 0)


def test_a_png_with_too_few_pixels_ends_the_run_where_pixels_are_asked_for() -> None:
    picture = hooks.mm.embedded_image({"bytes": png(zlib.compress(bytes(4 * 13))[:-9])}, "row 1")
    with pytest.raises(SystemExit, match="row 1"):
        picture.load()
    with pytest.raises(SystemExit, match="row 1"):
        picture.convert("L")


def test_a_png_with_a_wrong_checksum_ends_the_run_at_once() -> None:
    damaged = bytearray(png(zlib.compress(bytes(4 * 13))))
    damaged[45] ^= 1
    with pytest.raises(SystemExit, match="row 1 is damaged"):
        hooks.mm.embedded_image({"bytes": bytes(damaged)}, "row 1")
