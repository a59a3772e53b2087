"""Images out of archives: whole or not at all, from any thread, from any process."""

from __future__ import annotations

import gc
import io
import os
import pickle
import random
import struct
import threading
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from lmms_data import archive as archives
from lmms_data import images
from lmms_data.archive import ImageArchive
from lmms_data.errors import ArchiveError, DataError, ImageError
from tests.small_hub import picture, write_zip


@pytest.fixture(autouse=True)
def _as_lmms_eval_leaves_it() -> Iterator[None]:
    """lmms-eval tells PIL, for the whole process, to accept truncated images."""
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    yield
    ImageFile.LOAD_TRUNCATED_IMAGES = before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "imgs.zip"
    write_zip(target, {f"imgs/{n}.jpg": picture(mark=n, size=(160, 120)) for n in range(12)})
    return target


def opened_by_pil(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


# --- reading ---------------------------------------------------------------------------------------------------------


def test_an_image_has_the_pixels_that_pil_reads(path: Path) -> None:
    archive = ImageArchive(path, "imgs/")
    with zipfile.ZipFile(path) as reference:
        for name in archive:
            expected = opened_by_pil(reference.read(f"imgs/{name}"))
            got = archive.image(name)
            assert (got.mode, got.size, got.tobytes()) == (expected.mode, expected.size, expected.tobytes())


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_what_a_model_does_to_an_image_does_not_reach_the_next(path: Path, cache_bytes: int) -> None:
    archive = ImageArchive(path, "imgs/", cache_bytes=cache_bytes)
    whole = archive.image("3.jpg").tobytes()
    for _ in range(3):
        image = archive.image("3.jpg")
        assert image.tobytes() == whole
        image.paste((255, 0, 0), (0, 0, 50, 50))
        image.info["seen"] = True
    assert "seen" not in archive.image("3.jpg").info


def test_an_image_comes_in_the_mode_asked_for(path: Path) -> None:
    archive = ImageArchive(path, "imgs/", cache_bytes=1 << 20)
    for mode in ("L", "RGB", None, "L"):
        assert archive.image("1.jpg", mode).mode == (mode or "RGB")


def test_the_cache_keeps_to_its_bound(path: Path) -> None:
    one = 160 * 120 * 4
    archive = ImageArchive(path, "imgs/", cache_bytes=3 * one)
    for name in [*archive, *archive]:
        archive.image(name)
        kept = sum(image.width * image.height * 4 for image, _ in archive._cache.values())
        assert archive._cached == kept <= 3 * one
    assert len(archive._cache) == 3


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P", "I;16", "1"])
def test_a_cached_image_has_the_pixels_of_the_first(tmp_path: Path, mode: str) -> None:
    grey = Image.frombytes("L", (90, 70), random.Random(2).randbytes(90 * 70))
    out = io.BytesIO()
    (grey.convert("I").convert(mode) if mode == "I;16" else grey.convert(mode)).save(out, "PNG", dpi=(72, 72))
    write_zip(tmp_path / "a.zip", {"a.png": out.getvalue()})
    archive = ImageArchive(tmp_path / "a.zip", cache_bytes=1 << 20)
    first, second = archive.image("a.png"), archive.image("a.png")
    assert archive._cache
    assert (second.mode, second.size, second.tobytes()) == (first.mode, first.size, first.tobytes())
    assert second.getpalette() == first.getpalette()
    assert second.info == first.info


def test_a_grey_picture_saved_as_rgb_takes_a_quarter_of_the_cache(tmp_path: Path) -> None:
    out = io.BytesIO()
    Image.frombytes("L", (90, 70), random.Random(2).randbytes(90 * 70)).convert("RGB").save(out, "PNG")
    write_zip(tmp_path / "a.zip", {"a.png": out.getvalue()})
    archive = ImageArchive(tmp_path / "a.zip", cache_bytes=90 * 70)
    archive.image("a.png")
    assert archive._cached == 90 * 70


def test_an_image_is_freed_as_soon_as_nobody_holds_it(path: Path) -> None:
    gc.disable()
    try:
        archive = ImageArchive(path, "imgs/")
        gone = weakref.ref(archive.image("1.jpg"))
        assert gone() is None
        with pytest.raises(ImageError):
            images.decode(archive.read("1.jpg")[:900], "it")
    finally:
        gc.enable()


def test_a_repeated_image_is_decoded_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = ImageArchive(path, "imgs/", cache_bytes=1 << 20)
    decoded = []
    real = images.decode
    monkeypatch.setattr(images, "decode", lambda *given, **more: decoded.append(given) or real(*given, **more))
    for _ in range(12):
        archive.image("5.jpg")
    assert len(decoded) == 1


def test_names_are_compared_with_the_archive_without_its_prefix(path: Path) -> None:
    archive = ImageArchive(path, "imgs/")
    assert "3.jpg" in archive
    assert "imgs/3.jpg" not in archive
    assert archive.missing(["3.jpg", "x.jpg", "../3.jpg", "x.jpg"]) == ["x.jpg", "../3.jpg"]
    assert len(list(archive)) == len(archive) == 12


def test_stored_and_deflated_members_are_read_alike(tmp_path: Path) -> None:
    data = picture("PNG")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("s.png", data, zipfile.ZIP_STORED)
        out.writestr("d.png", data, zipfile.ZIP_DEFLATED)
    archive = ImageArchive(tmp_path / "a.zip")
    assert archive.read("s.png") == archive.read("d.png") == data


def test_a_zip_with_bytes_before_it_is_read(path: Path, tmp_path: Path) -> None:
    shifted = tmp_path / "shifted.zip"
    shifted.write_bytes(b"#!/bin/sh\nexit 1\n" + path.read_bytes())
    assert ImageArchive(shifted, "imgs/").read("3.jpg") == ImageArchive(path, "imgs/").read("3.jpg")


def test_the_fingerprint_follows_the_content_and_not_the_order(path: Path, tmp_path: Path) -> None:
    first = ImageArchive(path, "imgs/")
    members = {f"imgs/{name}": first.read(name) for name in first}
    write_zip(tmp_path / "again.zip", dict(reversed(members.items())))
    assert ImageArchive(tmp_path / "again.zip", "imgs/").fingerprint() == first.fingerprint()
    write_zip(tmp_path / "other.zip", members | {"imgs/3.jpg": picture(mark=99)})
    assert ImageArchive(tmp_path / "other.zip", "imgs/").fingerprint() != first.fingerprint()
    assert first.fingerprint(["1.jpg"]) != first.fingerprint(["2.jpg"])


# --- threads and processes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache_bytes", [0, 200_000])
def test_32_threads_at_once_get_the_right_images(path: Path, cache_bytes: int) -> None:
    archive = ImageArchive(path, "imgs/", cache_bytes=cache_bytes)
    expected = {name: ImageArchive(path, "imgs/").image(name).tobytes() for name in archive}
    start = threading.Barrier(32)

    def work(seed: int) -> bool:
        start.wait()
        names = random.Random(seed).choices(list(expected), k=40)
        return all(archive.image(name).tobytes() == expected[name] for name in names)

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(32)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_processes_forked_after_opening_read_at_once_without_disturbing_each_other(path: Path) -> None:
    archive = ImageArchive(path, "imgs/", cache_bytes=200_000)
    expected = {name: archive.image(name).tobytes() for name in archive}
    children = []
    archive._lock.acquire()  # as if another thread were in the middle of the cache
    for seed in range(4):
        child = os.fork()
        if child == 0:
            names = random.Random(seed).choices(list(expected), k=100)
            os._exit(0 if all(archive.image(name).tobytes() == expected[name] for name in names) else 1)
        children.append(child)
    archive._lock.release()
    for name in expected:
        assert archive.image(name).tobytes() == expected[name]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4


def test_a_pickled_archive_opens_again(path: Path) -> None:
    archive = pickle.loads(pickle.dumps(ImageArchive(path, "imgs/", cache_bytes=7)))
    assert "3.jpg" in archive
    assert archive._cache_bytes == 7


def test_a_file_is_opened_once_a_process_until_it_changes(path: Path) -> None:
    first = archives.shared(path, "imgs/")
    assert archives.shared(path, "imgs/") is first
    write_zip(path, {"imgs/new.jpg": picture()})
    assert "new.jpg" in archives.shared(path, "imgs/")


# --- damaged archives ------------------------------------------------------------------------------------------------


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"no\.zip is missing[^$]*data fetch"):
        ImageArchive(tmp_path / "no.zip")
    with pytest.raises(ArchiveError, match=r"no\.zip is missing"):
        archives.shared(tmp_path / "no.zip")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<!DOCTYPE html><html>Sign in</html>", "is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs pointer"),
        (b"", "is not a zip"),
        (b"Rar!\x1a\x07\x01\x00", "is not a zip"),
    ],
)
def test_a_file_that_is_no_zip_is_called_what_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "imgs.zip").write_bytes(content)
    with pytest.raises(ArchiveError, match=said):
        ImageArchive(tmp_path / "imgs.zip")


@pytest.mark.parametrize("left", [0.01, 0.5, 0.9, 0.99, 0.999])
def test_a_zip_cut_off_at_its_end_is_refused_when_it_is_opened(path: Path, left: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * left)])
    with pytest.raises(ArchiveError, match=r"imgs\.zip is cut off"):
        ImageArchive(path, "imgs/")


def test_a_flipped_byte_in_a_member_is_found_by_its_checksum(path: Path) -> None:
    archive = ImageArchive(path, "imgs/")
    info = archive._info("4.jpg")
    data = bytearray(path.read_bytes())
    data[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"imgs/4\.jpg of .*imgs\.zip is damaged"):
        ImageArchive(path, "imgs/").image("4.jpg")
    ImageArchive(path, "imgs/").image("5.jpg")


def test_a_missing_member_is_named(path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"imgs/none\.jpg of .*imgs\.zip is missing"):
        ImageArchive(path, "imgs/").image("none.jpg")


@pytest.mark.parametrize("name", ["../evil.jpg", "imgs/../../evil.jpg", "/etc/passwd", "C:/x.jpg", "imgs\\..\\x.jpg"])
def test_an_archive_with_a_name_that_leads_out_of_it_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        info = zipfile.ZipInfo("x")
        info.filename = name
        out.writestr(info, b"data")
    with pytest.raises(ArchiveError, match="unsafe name"):
        ImageArchive(tmp_path / "a.zip")


def test_a_name_with_dots_that_stays_inside_is_allowed(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {"imgs/a..b.jpg": picture()})
    assert ImageArchive(tmp_path / "a.zip", "imgs/").image("a..b.jpg").size == (64, 48)


def test_a_member_that_declares_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    target = tmp_path / "bomb.zip"
    write_zip(target, {"x.jpg": b"0" * 1000})
    data = bytearray(target.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 3 << 30)
    target.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"takes 3,221,225,472 bytes"):
        ImageArchive(target).read("x.jpg")


def test_a_member_that_inflates_beyond_what_it_declares_is_stopped_there(tmp_path: Path) -> None:
    target = tmp_path / "bomb.zip"
    write_zip(target, {"x.jpg": b"0" * 50_000_000})
    data = bytearray(target.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 1000)
    struct.pack_into("<I", data, central + 16, zlib.crc32(b"0" * 1000))
    target.write_bytes(data)
    with pytest.raises(ArchiveError, match="more bytes than the 1,000"):
        ImageArchive(target).read("x.jpg")


def test_an_unknown_way_of_packing_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_BZIP2) as out:
        out.writestr("x.jpg", picture())
    with pytest.raises(ArchiveError, match="only stored and deflated"):
        ImageArchive(tmp_path / "a.zip").read("x.jpg")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_damage_to_an_archive_raises_anything_but_our_errors(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    target = tmp_path_factory.getbasetemp() / "fuzzed.zip"
    write_zip(target, {"imgs/a.jpg": picture(), "imgs/b.png": picture("PNG")})
    content = bytearray(target.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    target.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        archive = ImageArchive(target, "imgs/")
        for name in archive:
            archive.image(name)
    except DataError as error:
        assert error.remedy  # noqa: PT017 - either outcome is right


# --- damaged images --------------------------------------------------------------------------------------------------

KINDS = {
    "JPEG": {},
    "progressive JPEG": {"progressive": True},
    "grey JPEG": {"mode": "L"},
    "PNG": {},
    "grey PNG": {"mode": "L"},
    "PNG with a palette": {"mode": "P"},
    "PNG with transparency": {"mode": "RGBA"},
    "16-bit PNG": {"mode": "I;16"},
}


def noisy(kind: str) -> bytes:
    options = dict(KINDS[kind])
    mode = str(options.pop("mode", "RGB"))
    image = Image.frombytes("RGB", (90, 70), random.Random(4).randbytes(90 * 70 * 3))
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
    out = io.BytesIO()
    image.save(out, "JPEG" if "JPEG" in kind else "PNG", **options)
    return out.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_cut_off_anywhere_raises_unless_no_pixel_is_lost(kind: str) -> None:
    data = noisy(kind)
    whole = images.decode(data, "it").tobytes()
    lost = 0
    for end in [*range(0, len(data), max(1, len(data) // 150)), *range(len(data) - 20, len(data))]:
        try:
            shown = images.decode(data[:end], "it").tobytes()
        except ImageError as error:
            lost += 1
            assert "it " in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert shown == whole, f"cut after {end} of {len(data)} bytes"
            assert end >= len(data) - 20  # only checksums and the end mark are gone
    assert lost > 100


def test_pil_itself_shows_a_cut_off_image_without_a_word() -> None:
    """The fault that the pack mends; should this fail one day, the mending is no longer needed."""
    data = noisy("JPEG")
    assert opened_by_pil(data[: len(data) // 2]).size == (90, 70)


def test_strictness_leaves_pils_own_switch_alone() -> None:
    images.decode(noisy("PNG"), "it")
    with pytest.raises(ImageError):
        images.decode(noisy("PNG")[:-100], "it")
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


def test_cut_off_images_are_noticed_in_every_thread() -> None:
    data = noisy("JPEG")

    def work(number: int) -> bool:
        try:
            images.decode(data[: len(data) // 2] if number % 2 else data, "it")
        except ImageError:
            return number % 2 == 1
        return number % 2 == 0

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(640)))


@pytest.mark.parametrize("kind", ["PNG", "grey PNG", "PNG with a palette"])
def test_a_flipped_bit_in_the_pixels_of_a_png_raises(kind: str) -> None:
    data = noisy(kind)
    start = data.index(b"IDAT") + 4
    for position in range(start, len(data) - 16, 97):
        damaged = bytearray(data)
        damaged[position] ^= 4
        with pytest.raises(ImageError, match="damaged"):
            images.decode(bytes(damaged), "it")


@pytest.mark.parametrize("format", ["WEBP", "GIF", "BMP"])
def test_other_formats_are_read_whole_and_not_cut_off(format: str) -> None:
    data = picture(format)
    assert images.decode(data, "it").convert("RGB").tobytes() == opened_by_pil(data).convert("RGB").tobytes()
    with pytest.raises(ImageError):
        images.decode(data[: len(data) // 2], "it")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_hundred_megapixels_are_refused_before_they_are_decoded() -> None:
    out = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(out, "PNG")
    for look in (images.decode, images.glance):
        with pytest.raises(ImageError, match="10000 x 10000 pixels"):
            look(out.getvalue(), "it")
    huge = bytearray(picture("PNG"))
    struct.pack_into(">II", huge, 16, 60_000, 60_000)
    struct.pack_into(">I", huge, 29, zlib.crc32(huge[12:29]))
    with pytest.raises(ImageError, match=r"too large|pixels"):
        images.decode(bytes(huge), "it")


@pytest.mark.parametrize(
    "data", [b"", b"<html>", b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"\xff\xd8\xff\xe0" * 9, b"GIF89a"]
)
def test_what_is_no_image_raises_an_error_that_names_it(data: bytes) -> None:
    with pytest.raises(ImageError, match=r"^picture 7 "):
        images.decode(data, "picture 7")


@pytest.mark.parametrize("kind", KINDS)
def test_a_glance_notices_a_cut_without_decoding_a_whole_image(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = noisy(kind)
    for end in range(0, len(data) - 20, max(1, len(data) // 40)):
        with pytest.raises(ImageError):
            images.glance(data[:end], "it")
    monkeypatch.setattr(images, "_make_strict", lambda image: pytest.fail("decoded"))
    images.glance(data, "it")


@pytest.mark.parametrize(("format", "cut"), [("JPEG", 2), ("PNG", 12)])
def test_a_lost_end_mark_is_told_apart_from_lost_pixels(format: str, cut: int) -> None:
    data = picture(format)
    assert images.has_end_mark(data)
    assert not images.has_end_mark(data[:-cut])


def test_every_published_image_is_whole_and_has_pils_pixels(shared: Path) -> None:
    """No false alarm: all images of the local copies, with the pixels that PIL reads in its own strict mode."""
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    for name, prefix in (("BoKelvin/SLAKE/imgs.zip", "imgs/"), ("TsinghuaC3I/MedXpertQA/images.zip", "images/")):
        archive = ImageArchive(shared / "hub" / name, prefix)
        for member in archive:
            data = archive.read(member)
            assert images.decode(data, member).tobytes() == opened_by_pil(data).tobytes()
            assert images.has_end_mark(data)
