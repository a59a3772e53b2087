"""Pictures as models get them: their own to change, and quick to send to a server.

lmms-eval's clients of servers save each picture as PNG for every request, which takes PIL longer than everything else
together. A picture whose pixels nobody has changed is saved here from bytes made once.
"""

from __future__ import annotations

import functools
import os
import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from io import BytesIO
from operator import attrgetter
from typing import Any, NamedTuple

from PIL import Image

KEPT_BYTES = 112 << 20
"""So many bytes of PNG files are kept: as PNG, all of SLAKE's test images need less."""

sent = False
"""Whether this process has saved a picture as it was: a client of a server does, a model here does not."""

as_files = False
"""Whether the client of this process asks for the pictures' own files."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = bytes([8, 2, 0, 0])
"""Depth, colour type and methods of a PNG that holds eight-bit RGB, in its IHDR."""

_SAMPLES = {0: 1, 4: 2, 6: 4}
"""Bytes a pixel of a PNG in grey, in grey with alpha and in RGB with alpha, by colour type."""


class Packed(NamedTuple):
    """A picture as the PNG file that is sent; `size` and `info` are those of the file that it was made of."""

    png: bytes
    size: tuple[int, int]
    info: dict[Any, Any]


class Picture(Image.Image):
    """An image in RGB that shares its pixels with its copies until one of them is changed.

    To the receiver it is an ordinary image. PIL copies the pixels of a read-only image before it changes them in place;
    where it would refuse or forget to, the methods here do it. Whether the pixels are still those of the source can so
    be told by identity.

    Args:
        image: a decoded image in RGB; its pixels must not be changed any more.
        source: gives the bytes of the file from which it was decoded.
        key: what names the picture among all of this process, None for one that is not asked for again.
    """

    _decoded: object = None
    _source: Callable[[], bytes]
    _key: Hashable = None
    _decode: Callable[[], Image.Image] | None = None
    _im: Any = None

    def __init__(self, image: Image.Image, source: Callable[[], bytes], key: Hashable = None) -> None:
        self._begin(image, source, key)
        self._decoded = self.im = image.im

    @classmethod
    def undecoded(cls, image: Image.Image | Packed, data: bytes, decode: Callable[[], Image.Image]) -> Picture:
        """A picture that is decoded when somebody asks for its pixels, as PIL's own images from files are.

        Args:
            image: tells size and info.
            data: a file with the pixels that `decode` gives: who sends it to a server needs no others.
            decode: gives the decoded image in RGB.
        """
        picture = cls.__new__(cls)
        picture._begin(image, lambda: data, None)
        picture._decode = decode
        return picture

    def _begin(self, image: Image.Image | Packed, source: Callable[[], bytes], key: Hashable) -> None:
        super().__init__()
        self._mode = "RGB"
        self._size = image.size
        self.info = image.info.copy()
        self.readonly = 1
        self._source = source
        self._key = key

    @property
    def im(self) -> Any:
        """The pixels as PIL holds them."""
        if self._im is None and self._decode is not None:
            image = self._decode()
            self._decoded = self._im = image.im
            self.info = image.info.copy()
        return _inner(self)

    @im.setter
    def im(self, pixels: Any) -> None:
        self._im = pixels

    @property
    def unchanged(self) -> bool:
        """Whether the pixels are the source's."""
        return self._im is self._decoded and (self._im is not None or self._decode is not None)

    def copy(self) -> Image.Image:
        """A picture of its own with the same pixels; they are copied when one of the two is changed."""
        if not self.unchanged:
            return super().copy()
        if self._im is None and self._decode is not None:
            return Picture.undecoded(self, self._source(), self._decode)
        return Picture(self, self._source, self._key)

    __copy__ = copy

    def load(self) -> Any:
        """Access to single pixels."""
        _ = self.im
        access = super().load()
        return _Pixels(self) if self.unchanged and self.readonly else access

    def frombytes(self, *args: Any, **kwargs: Any) -> None:
        """New pixels in place of the present ones."""
        if self.readonly:
            self._copy()
        super().frombytes(*args, **kwargs)

    def save(self, fp: Any, format: str | None = None, **params: Any) -> None:
        """Writes the image; as PNG, without other parameters and unchanged, from bytes that are made once."""
        plain = not params and not getattr(self, "encoderinfo", None)
        if plain and str(format).upper() == "PNG" and self.unchanged and hasattr(fp, "write"):
            global sent
            sent = True
            fp.write(_kept.get(self._key, self._png))
        else:
            super().save(fp, format, **params)

    def _png(self) -> bytes:
        return pixels_of_png(self._source()) or encoded(self)

    def file(self) -> tuple[bytes, str]:
        """A file that shows the picture, and its media type: the JPEG that it comes from, else a PNG."""
        if self.unchanged:
            data = self._source()
            if is_plain_jpeg(data):
                return data, "image/jpeg"
        return png_of(self), "image/png"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image.Image):
            return NotImplemented
        mine = self.mode, self.size, self.info
        return mine == (other.mode, other.size, other.info) and self.tobytes() == other.tobytes()

    __hash__ = None  # type: ignore[assignment]


# Before release 11, PIL keeps the pixels in a plain attribute.
_OWN = getattr(Image.Image, "im", None)
_inner: Callable[[Image.Image], Any] = _OWN.fget if isinstance(_OWN, property) else attrgetter("_im")  # type: ignore[assignment]


class _Pixels:
    """PIL's access to single pixels, which refuses to write into a read-only image, with a copy before the first."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._access = Image.Image.load(picture)

    def __getitem__(self, position: Any) -> Any:
        if not self._picture.unchanged:
            self._access = Image.Image.load(self._picture)
        return self._access[position]  # type: ignore[index]

    def __setitem__(self, position: Any, value: Any) -> None:
        if self._picture.readonly:
            self._picture._copy()
        self._access = Image.Image.load(self._picture)
        self._access[position] = value  # type: ignore[index]


class _Kept:
    """The bytes made last, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        if key is None:
            return make()
        with self._lock:
            found = self._files.get(key)
            if found is not None:
                self._files.move_to_end(key)
                return found
        made = make()
        with self._lock:
            if key not in self._files:
                self._files[key] = made
                self._size += len(made)
                while self._size > KEPT_BYTES:
                    self._size -= len(self._files.popitem(last=False)[1])
        return made

    def release(self) -> None:
        """In a forked child: another thread may have held the lock."""
        self._lock = threading.Lock()


_kept = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.release)


def png_of(image: Image.Image) -> bytes:
    """The image as a PNG file."""
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def is_plain_jpeg(data: bytes) -> bool:
    """Whether every decoder shows a JPEG file as PIL converts it to RGB.

    So it is with one whole picture in grey or YCbCr of eight bits, without EXIF, whose orientation some servers follow.
    """
    if not data.startswith(b"\xff\xd8") or data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        return False
    plain = False
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:  # a fill byte
            position += 1
            continue
        if marker == 0xDA:
            return plain
        (length,) = struct.unpack_from(">H", data, position + 2)
        content = data[position + 4 : position + 2 + length]
        if marker in (0xC0, 0xC1, 0xC2):
            plain = len(content) > 5 and content[0] == 8 and content[5] in (1, 3)
        elif marker & 0xF0 == 0xE0 and content.startswith((b"Exif\0", b"MPF\0", b"Adobe")):
            return False
        position += 2 + length
    return False


def pixels_of_png(data: bytes) -> bytes | None:
    """The PNG file without what is not pixels; None where it is none, or decodes to something else than eight-bit RGB.

    Dropped are all parts that PIL would not write either: texts, EXIF with its orientation, gamma. A file with
    transparency, of several frames, or with a colour profile is not taken.
    """
    if not data.startswith(_SIGNATURE) or data[24:28] != _RGB:
        return None
    parts = _parts_of_pixels(data)
    return b"".join([_SIGNATURE, *parts]) if parts else None


def rgb_of_png(data: bytes) -> bytes | None:
    """The PNG file in RGB of one in eight-bit grey or with an alpha channel, pixels as PIL converts them; None for others.

    A PNG's filters treat each channel by itself, so channels can be left out or repeated without undoing the filters:
    a small part of the work of decoding and encoding. What does not unpack to filtered rows of the right length is None.
    """
    channels = _SAMPLES.get(data[25]) if data.startswith(_SIGNATURE) and len(data) > 28 else None
    if not channels or data[24] != 8 or any(data[26:29]):
        return None
    parts = _parts_of_pixels(data)
    if not parts:
        return None
    width, height = struct.unpack_from(">II", data, 16)
    length = height * (1 + channels * width)
    try:
        rows = _unpacked(b"".join(part[8:-4] for part in parts[1:-1]), length)
    except ValueError:
        return None
    import numpy as np

    given = np.frombuffer(rows, np.uint8).reshape(height, 1 + channels * width)
    if given[:, 0].max(initial=0) > 4:
        return None
    taken = np.empty((height, 1 + 3 * width), np.uint8)
    taken[:, 0] = given[:, 0]
    for channel in range(3):
        taken[:, 1 + channel :: 3] = given[:, 1 + (channel if channels == 4 else 0) :: channels]
    return _png_file(width, height, taken)


def _parts_of_pixels(data: bytes) -> list[bytes]:
    """IHDR, every IDAT and IEND of a PNG, whole; none where another part changes what the pixels look like."""
    parts = []
    position = len(_SIGNATURE)
    while position + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind = data[position + 4 : position + 8]
        end = position + 12 + length
        if end > len(data) or kind in (b"tRNS", b"acTL", b"iCCP"):
            return []
        if kind in (b"IHDR", b"IDAT", b"IEND"):
            parts.append(data[position:end])
        elif not kind[0] & 0x20 and kind != b"PLTE":
            return []
        if kind == b"IEND":
            return parts
        position = end
    return []


def encoded(image: Image.Image) -> bytes:
    """An RGB image as a PNG file, with the colour profile that PIL would write.

    PIL tries five filters for each row and holds Python's lock meanwhile. Here one filter serves for the whole image.
    """
    import numpy as np

    if image.info.get("icc_profile") or image.info.get("transparency") is not None:
        return _by_pil(image)
    pixels = np.asarray(image)
    height, width = pixels.shape[:2]
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = 2  # each byte is the difference to the one above
    flat = pixels.reshape(height, 3 * width)
    rows[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=rows[1:, 1:])
    return _png_file(width, height, rows)


def _png_file(width: int, height: int, rows: Any) -> bytes:
    header = struct.pack(">II", width, height) + _RGB + b"\0"
    return _SIGNATURE + _part(b"IHDR", header) + _part(b"IDAT", _packed(rows.data)) + _part(b"IEND", b"")


@functools.cache
def _zlib() -> Any:
    """isal where it is installed, which needs less than half the time."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def _unpacked(packed: bytes, length: int) -> bytes:
    """The bytes that were packed; ValueError where they are not of that length, or not whole."""
    unpacking = _zlib().decompressobj()
    try:
        found = unpacking.decompress(packed, length + 1)
    except _zlib().error as error:
        raise ValueError(str(error)) from error
    if len(found) != length or not unpacking.eof:
        raise ValueError("not the length that the header tells")
    return found  # type: ignore[no-any-return]


def _packed(data: Any) -> bytes:
    fast = _zlib()
    if fast is not zlib:
        return fast.compress(data, level=1)  # type: ignore[no-any-return]
    # Of differences, runs are all that is worth looking for: quicker than level 1, and no larger.
    packing = zlib.compressobj(1, strategy=zlib.Z_RLE)
    return packing.compress(data) + packing.flush()


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))


def _by_pil(image: Image.Image) -> bytes:
    out = BytesIO()
    Image.Image.save(image, out, "PNG", compress_level=1)
    return out.getvalue()
