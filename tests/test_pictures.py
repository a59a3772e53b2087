"""Pictures: the pixels are the source's, each receiver's are its own, and the PNG of unchanged ones is made once."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw, ImageOps, PngImagePlugin

from lmms_data import images
from lmms_tasks import pictures, subsets
from lmms_tasks.pictures import Picture


def drawn(size: tuple[int, int] = (37, 23), mode: str = "RGB") -> Image.Image:
    """A picture in which no two rows are alike."""
    values = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(values).convert(mode)


def file(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


@pytest.fixture(params=["decoded", "not yet decoded"], autouse=True)
def _both_kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KIND, "decoded", request.param == "decoded")


KIND = {"decoded": True}


def handed(data: bytes | None = None, key: object = None) -> Picture:
    """A picture as a task hands it to a model."""
    data = file(drawn()) if data is None else data
    if pictures.pixels_of_png(data) and not KIND["decoded"]:
        return subsets._picture(data, "a picture")
    return Picture(Image.open(io.BytesIO(data)).convert("RGB"), lambda: data, key)  # type: ignore[arg-type]


def put_alpha(image: Image.Image) -> None:
    image.putalpha(7)


def put_pixel_access(image: Image.Image) -> None:
    image.load()[3, 4] = (1, 2, 3)  # type: ignore[index]


def draw(image: Image.Image) -> None:
    ImageDraw.Draw(image).rectangle((0, 0, 9, 9), fill=(250, 0, 0))


def flood(image: Image.Image) -> None:
    ImageDraw.floodfill(image, (0, 0), (1, 2, 3))


CHANGES: dict[str, Callable[[Image.Image], object]] = {
    "paste": lambda image: image.paste((9, 9, 9), (0, 0, 5, 5)),
    "paste with a mask": lambda image: image.paste((9, 9, 9), None, Image.new("L", image.size, 99)),
    "alpha_composite": lambda image: (
        image.putalpha(255),
        image.alpha_composite(Image.new("RGBA", (5, 5), (1, 2, 3, 200))),
    ),
    "putpixel": lambda image: image.putpixel((3, 4), (1, 2, 3)),
    "putdata": lambda image: image.putdata([(1, 2, 3)] * 40),
    "putalpha": put_alpha,
    "pixel access": put_pixel_access,
    "drawing": draw,
    "flood fill": flood,
    "frombytes": lambda image: image.frombytes(bytes(3 * image.width * image.height)),
    "thumbnail": lambda image: image.thumbnail((8, 8)),
    "a new transposed self": lambda image: (
        image.getexif().__setitem__(274, 3),
        ImageOps.exif_transpose(image, in_place=True),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_receiver_does_to_its_picture_reaches_no_other(change: Callable[[Image.Image], object]) -> None:
    first, plain = handed(), drawn()
    others = [first.copy(), copy.copy(first), first.convert("RGB"), Picture(first, lambda: b"")]
    change(first)
    change(plain)
    assert first.mode == plain.mode
    assert first.tobytes() == plain.tobytes() != drawn().tobytes()
    assert all(other.tobytes() == drawn().tobytes() for other in others)
    change(others[0])
    assert others[0].tobytes() == plain.tobytes()
    assert others[1].tobytes() == drawn().tobytes()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_picture_is_saved_as_changed(change: Callable[[Image.Image], object]) -> None:
    picture = handed(key="changed")
    assert Image.open(io.BytesIO(file(picture))).tobytes() == drawn().tobytes()
    change(picture)
    assert Image.open(io.BytesIO(file(picture))).tobytes() == picture.tobytes() != drawn().tobytes()


def test_access_to_pixels_reads_what_was_written_by_any_way() -> None:
    picture = handed()
    pixels = picture.load()
    assert pixels[3, 4] == drawn().getpixel((3, 4))
    picture.putpixel((3, 4), (1, 2, 3))
    assert pixels[3, 4] == (1, 2, 3)
    pixels[3, 4] = (4, 5, 6)
    assert picture.getpixel((3, 4)) == (4, 5, 6)


def test_a_picture_is_an_ordinary_image_to_its_receiver() -> None:
    picture = handed()
    assert isinstance(picture, Image.Image)
    assert picture.mode == "RGB"
    assert picture == drawn()
    assert drawn() == picture
    assert picture != handed(file(Image.new("RGB", (37, 23))))
    assert (np.asarray(picture) == np.asarray(drawn())).all()
    assert np.array(picture).flags.writeable
    assert Image.fromarray(np.asarray(picture)).tobytes() == drawn().tobytes()
    for read in (
        lambda image: image.resize((9, 9)),
        lambda image: image.resize(image.size),
        lambda image: image.crop((1, 1, 9, 9)),
        lambda image: image.rotate(0),
        lambda image: image.convert("L"),
        lambda image: ImageOps.pad(image, (50, 50)),
        lambda image: ImageOps.expand(image, 3),
        lambda image: Image.blend(image, Image.new("RGB", image.size), 0.5),
        lambda image: ImageChops.invert(image),
        lambda image: Image.merge("RGB", image.split()[::-1]),
    ):
        assert read(picture).tobytes() == read(drawn()).tobytes()
    assert picture.unchanged


@pytest.mark.parametrize("again", [lambda p: pickle.loads(pickle.dumps(p)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_a_pickled_picture_is_whole_and_its_own(again: Callable[[Picture], Image.Image]) -> None:
    picture = handed(key="pickled")
    other = again(picture)
    assert other.tobytes() == drawn().tobytes()
    other.load()[0, 0] = (1, 2, 3)  # type: ignore[index]
    other.putpixel((1, 1), (1, 2, 3))
    assert Image.open(io.BytesIO(file(other))).tobytes() == other.tobytes()
    assert picture.tobytes() == drawn().tobytes()


def test_tensors_of_torchvision_are_the_pixels() -> None:
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    assert (functional.pil_to_tensor(handed()) == functional.pil_to_tensor(drawn())).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.randoms(use_true_random=False))
def test_no_pixel_changes_in_the_png(width: int, height: int, random: Any) -> None:
    image = Image.frombytes("RGB", (width, height), random.randbytes(3 * width * height))
    written = Image.open(io.BytesIO(pictures.encoded(image)))
    assert (written.mode, written.size) == ("RGB", image.size)
    assert written.tobytes() == image.tobytes()


def png_info() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "the answer is 4")
    info.add(b"gAMA", (45455).to_bytes(4, "big"))
    return info


def oriented() -> Image.Exif:
    exif = Image.Exif()
    exif[274] = 6
    return exif


SOURCES = {
    "RGB": file(drawn()),
    "RGB with text, gamma and orientation": file(drawn(), pnginfo=png_info(), exif=oriented()),
    "RGB with a transparent colour": file(drawn(), transparency=drawn().getpixel((0, 0))),
    "RGBA": file(drawn(mode="RGBA")),
    "grey": file(drawn(mode="L")),
    "palette": file(drawn().quantize(16)),
    "black and white": file(drawn(mode="1")),
    "JPEG": file(drawn(), "JPEG"),
    "JPEG with a profile": file(drawn(), "JPEG", icc_profile=b"made up"),
    "PNG with a profile": file(drawn(), icc_profile=b"made up"),
    "WebP": file(drawn(), "WEBP", lossless=True),
    "several frames": file(drawn(), save_all=True, append_images=[Image.new("RGB", (37, 23))]),
}


@pytest.mark.parametrize("data", SOURCES.values(), ids=SOURCES)
def test_the_png_shows_what_pil_would_show(data: bytes) -> None:
    converted = Image.open(io.BytesIO(data)).convert("RGB")
    by_pil = Image.open(io.BytesIO(file(converted)))
    written = Image.open(io.BytesIO(file(handed(data))))
    assert written.mode == by_pil.mode == "RGB"
    assert written.convert("RGB").tobytes() == by_pil.convert("RGB").tobytes()
    written.load()
    by_pil.load()
    assert written.info == by_pil.info
    assert ImageOps.exif_transpose(written).size == converted.size


def test_a_png_of_rgb_is_sent_as_it_came_without_its_texts() -> None:
    data = SOURCES["RGB with text, gamma and orientation"]
    assert pictures.pixels_of_png(data) == pictures.pixels_of_png(file(drawn()))
    assert b"answer" in data
    assert b"answer" not in file(handed(data))
    assert pictures.pixels_of_png(data[:-20]) is None


OF_OTHER_CHANNELS = ("L", "LA", "RGBA")


@pytest.mark.parametrize("unpacking", ["isal", "zlib"])
@pytest.mark.parametrize("mode", OF_OTHER_CHANNELS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_channels_are_dropped_or_repeated_without_decoding(mode: str, unpacking: str, data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 40), "width"), data.draw(st.integers(1, 40), "height")
    noise = np.random.default_rng(data.draw(st.integers(0, 99), "noise"))
    values = noise.integers(0, data.draw(st.sampled_from([2, 9, 256]), "values"), (height, width, 4), dtype=np.uint8)
    if data.draw(st.booleans(), "smooth"):  # so that PIL chooses each of the five filters somewhere
        values = np.cumsum(np.cumsum(values, 0, dtype=np.uint8), 1, dtype=np.uint8)
    source = Image.fromarray(values, "RGBA").convert(mode)
    given = file(source, compress_level=data.draw(st.sampled_from([0, 1, 9]), "level"))
    with pytest.MonkeyPatch.context() as patch:
        if unpacking == "zlib":
            patch.setattr(pictures, "_zlib", lambda: zlib)
        made = pictures.rgb_of_png(given)
    assert made is not None
    written = Image.open(io.BytesIO(made))
    assert written.mode == "RGB"
    assert written.tobytes() == Image.open(io.BytesIO(given)).convert("RGB").tobytes()


def _interlaced(data: bytes) -> bytes:
    """The file with the mark of interlacing in its header."""
    header = data[12:28] + b"\1"
    return data[:8] + data[8:12] + header + zlib.crc32(header).to_bytes(4, "big") + data[33:]


def _with_rows(change: Callable[[bytes], bytes], mode: str = "RGBA") -> bytes:
    """A PNG whose unpacked rows were changed."""
    data = file(drawn(mode=mode))
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start], "big")
    rows = zlib.compress(change(zlib.decompress(data[start + 4 : start + 4 + length])))
    return data[: start - 4] + pictures._part(b"IDAT", rows) + pictures._part(b"IEND", b"")


NOT_TAKEN = {
    "RGB": file(drawn()),
    "palette": file(drawn().quantize(9)),
    "one bit": file(drawn(mode="1")),
    "sixteen bits": file(drawn(mode="L").convert("I;16")),
    "grey with a transparent value": file(drawn(mode="L"), transparency=7),
    "a profile": file(drawn(mode="RGBA"), icc_profile=b"made up"),
    "several frames": file(drawn(mode="RGBA"), save_all=True, append_images=[Image.new("RGBA", (37, 23))]),
    "interlaced": _interlaced(file(drawn(mode="RGBA"))),
    "a row too few": _with_rows(lambda rows: rows[: -1 - 4 * 37]),
    "a byte too many": _with_rows(lambda rows: rows + b"\0"),
    "an unknown filter": _with_rows(lambda rows: b"\5" + rows[1:]),
    "cut off": file(drawn(mode="RGBA"))[:-30],
    "rows that are cut off": file(drawn(mode="L"))[:60] + pictures._part(b"IEND", b""),
    "JPEG": file(drawn(), "JPEG"),
    "a header alone": file(drawn(mode="L"))[:28],
}


@pytest.mark.parametrize("data", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_what_cannot_be_taken_channel_by_channel_is_left_to_pil(data: bytes) -> None:
    assert pictures.rgb_of_png(data) is None


@pytest.mark.parametrize("mode", OF_OTHER_CHANNELS)
def test_a_server_is_sent_the_channels_and_a_model_here_decodes(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = drawn(mode="RGBA")
    source.putalpha(Image.linear_gradient("L").resize(source.size))
    data = file(source.convert(mode))
    monkeypatch.setattr(pictures, "encoded", lambda image: pytest.fail("encoded anew"))
    monkeypatch.setattr(pictures, "sent", True)
    picture = subsets._picture(data, "a picture")
    written = Image.open(io.BytesIO(file(picture)))
    assert picture._im is None
    assert written.tobytes() == Image.open(io.BytesIO(data)).convert("RGB").tobytes() == picture.tobytes()
    monkeypatch.setattr(pictures, "sent", False)
    monkeypatch.setattr(pictures, "rgb_of_png", lambda data: pytest.fail("work for a server that is not there"))
    assert subsets._picture(data, "a picture").tobytes() == picture.tobytes()


def test_a_png_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    encode = pictures.encoded
    monkeypatch.setattr(pictures, "encoded", lambda image: made.append(1) or encode(image))  # type: ignore[func-returns-value]
    monkeypatch.setattr(pictures, "_kept", pictures._Kept())
    data = SOURCES["JPEG"]
    files = {file(handed(data, key="one").copy()) for _ in range(5)}
    assert len(files) == len(made) == 1
    file(handed(data))
    file(handed(data))
    assert len(made) == 3


def test_no_more_png_files_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = pictures._Kept()
    monkeypatch.setattr(pictures, "KEPT_BYTES", 1000)
    for number in range(10):
        kept.get(number, lambda: bytes(300))
    assert len(kept._files) == 3
    assert kept._size == 900
    kept.get("huge", lambda: bytes(5000))
    assert kept._size == 0
    assert kept.get("huge", lambda: b"small") == b"small"


@pytest.mark.parametrize("size", [(1, 1), (7, 300), (640, 480)])
@pytest.mark.parametrize("isal", [True, False])
def test_either_way_of_packing_keeps_every_pixel(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], isal: bool
) -> None:
    if not isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    pictures._zlib.cache_clear()
    try:
        assert (pictures._zlib() is zlib) == (not isal)
        drawing = drawn(size)
        again = Image.open(io.BytesIO(pictures.encoded(drawing)))
        assert (again.format, again.mode, again.size) == ("PNG", "RGB", size)
        assert again.tobytes() == drawing.tobytes()
    finally:
        pictures._zlib.cache_clear()


def test_other_formats_and_settings_are_pils_own() -> None:
    picture = handed(SOURCES["JPEG"])
    assert file(picture, "JPEG", quality=85) == file(picture.convert("RGB").resize(picture.size), "JPEG", quality=85)
    assert len(file(picture, compress_level=0)) > picture.width * picture.height * 3
    assert Image.open(io.BytesIO(file(picture, "BMP"))).tobytes() == picture.tobytes()


def test_a_picture_saved_to_a_path_is_whole(tmp_path: Any) -> None:
    handed().save(tmp_path / "picture.png")
    assert Image.open(tmp_path / "picture.png").tobytes() == drawn().tobytes()


def test_copies_that_are_decoded_at_once_share_no_open_file(monkeypatch: pytest.MonkeyPatch) -> None:
    first = subsets._picture(file(drawn((300, 300))), "a picture")
    copies = [first.copy() for _ in range(8)]
    load, decoding, met = images.load, threading.Barrier(8, timeout=60), []

    def all_at_once(image: Image.Image, where: str) -> Image.Image:
        met.append(image)
        decoding.wait()
        return load(image, where)

    monkeypatch.setattr(images, "load", all_at_once)
    threads = [threading.Thread(target=copy.tobytes) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(image) for image in met}) == len(met) == 8
    assert all(copy.tobytes() == drawn((300, 300)).tobytes() for copy in copies)


def test_threads_that_change_their_copies_do_not_meet() -> None:
    first = handed(file(drawn((300, 300))), key="threads")
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            mine = first.copy()
            mine.paste((number, number, number), (0, 0, 300, 300))
            if set(mine.tobytes()) != {number}:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert zlib.crc32(first.tobytes()) == zlib.crc32(drawn((300, 300)).tobytes())
