"""Pictures from bytes, whole or not at all."""

from __future__ import annotations

import struct
import zlib
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from .errors import ImageError

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 100_000_000
"""So many pixels are refused before any is decoded."""

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
_PNG = b"\x89PNG\r\n\x1a\n"
_STRICT = "lmms_data."
_REMEDY = "get the file again (lmms-tasks data fetch), then check it with: lmms-tasks data verify"


def decode(data: bytes, where: str, *, mode: str | None = None, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The picture in `data`, fully decoded, in its own size.

    Args:
        data: a JPEG, PNG, WebP, GIF or BMP file.
        where: what the picture is called in an error.
        mode: PIL's name of the mode that the result has, its own by default; no copy is made where it has it already.
        max_pixels: the largest picture that is decoded.

    Raises:
        ImageError: the data is no picture, pixels are cut off or damaged, or there are too many of them. This holds
            whatever `PIL.ImageFile.LOAD_TRUNCATED_IMAGES` says: lmms-eval switches it on, and PIL then shows a
            cut-off picture as a grey area.
    """
    image = opened(data, where, max_pixels=max_pixels)
    load(image, where)
    return image if mode in (None, image.mode) else image.convert(mode)


def opened(data: bytes, where: str, *, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The picture in `data`, to be decoded by `load`; of a PNG the checksums are compared already.

    Raises:
        ImageError: the data does not begin like a picture, a checksum is wrong, or it has too many pixels.
    """
    image = _opened(data, where)
    _bounded(image, where, max_pixels)
    return image


def load(image: Image.Image, where: str) -> Image.Image:
    """The same picture, which `opened` gave, fully decoded.

    Raises:
        ImageError: as `decode` does.
    """
    _make_strict(image)
    try:
        image.load()
    except Exception as error:
        raise ImageError(f"{where} is cut off or damaged ({_short(error)})", _REMEDY) from error
    finally:
        # The reader refers to the image: without this, its pixels would stay until the garbage collector comes round.
        vars(image).pop("load_read", None)
    return image


def glance(data: bytes, where: str, *, max_pixels: int = MAX_PIXELS) -> None:
    """Nothing, where the picture in `data` looks whole from its two ends; only one without an end mark is decoded.

    A hundred times quicker than `decode`, and enough to notice files that are cut off, empty, no picture or too large.

    Raises:
        ImageError: as `decode` does.
    """
    if has_end_mark(data):
        _bounded(_opened(data, where), where, max_pixels)
    else:
        decode(data, where, max_pixels=max_pixels)


def _bounded(image: Image.Image, where: str, max_pixels: int) -> None:
    width, height = image.size
    if width * height >= max_pixels:
        raise ImageError(f"{where} has {width} x {height} pixels; fewer than {max_pixels:,} are decoded", _REMEDY)


def size(data: bytes, where: str) -> tuple[int, int]:
    """Width and height of the picture in `data`, from its header, without decoding it.

    Raises:
        ImageError: the data does not begin like a picture, or a checksum in it is wrong.
    """
    width, height = _opened(data, where).size
    return width, height


def _opened(data: bytes, where: str) -> Image.Image:
    from PIL import Image

    if not data:
        raise ImageError(f"{where} is empty", _REMEDY)
    if data.startswith(_PNG):
        _check_png(data, where)
    try:
        return Image.open(BytesIO(data), formats=_FORMATS)
    except Image.DecompressionBombError as error:
        raise ImageError(f"{where} is too large to be decoded safely ({error})", _REMEDY) from error
    except Exception as error:  # PIL raises many kinds for damaged headers
        raise ImageError(
            f"{where} is not a readable image ({_short(error)}; it begins {data[:12]!r})", _REMEDY
        ) from error


def _short(error: BaseException) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def _check_png(data: bytes, where: str) -> None:
    """Compare the checksums of the parts that decide over pixels: PIL skips some of them."""
    view = memoryview(data)
    position = len(_PNG)
    while position + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind = bytes(view[position + 4 : position + 8])
        end = position + 12 + length
        if kind == b"IEND" or end > len(data):
            return
        counts = not kind[0] & 0x20 or kind == b"tRNS"
        if counts and zlib.crc32(view[position + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            raise ImageError(f"{where} is damaged (wrong checksum in its part {kind.decode('latin-1')})", _REMEDY)
        position = end


def has_end_mark(data: bytes) -> bool:
    """Whether a JPEG or PNG file ends with its format's end mark; other formats have none and pass.

    A picture without it may still have all its pixels, and `decode` then shows it.
    """
    if data.startswith(_PNG):
        return b"IEND" in data[-64:]
    if data.startswith(b"\xff\xd8"):
        return data.rfind(b"\xff\xd9") > data.rfind(b"\xff\xda")
    return True


class _StrictDecoder:
    """A decoder of PIL's whose errors are raised even while PIL is told to accept truncated images."""

    def __init__(self, codec: str, mode: str, *args: Any) -> None:
        from PIL import _imaging

        self._inner = getattr(_imaging, f"{codec}_decoder")(mode, *args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def decode(self, data: bytes) -> tuple[int, int]:
        used, error = self._inner.decode(data)
        if used < 0 and error < 0:
            raise OSError(f"the decoder reports error {error}")
        return used, error


def _make_strict(image: Any) -> None:
    """Let this one image raise where its data ends early or the decoder fails.

    PIL's switch for truncated images is one global for all threads, so the image gets its own reader and decoder.
    """
    from PIL import Image

    # JPEG's own reader makes up an end mark where the data ends
    own = None if image.format in ("JPEG", "MPO") else getattr(image, "load_read", None)

    def strict(size: int) -> bytes:
        try:
            block: bytes = own(size) if own else image.fp.read(size)  # WebP sets fp only when it loads
        except (IndexError, struct.error, SyntaxError) as error:
            raise OSError("a part of it is malformed") from error
        if not block:
            raise OSError("the data ends before the last pixel")
        return block

    image.load_read = strict
    tiles = []
    for tile in image.tile:
        codec = tile[0]
        if codec in ("jpeg", "zip"):
            name = _STRICT + codec
            if name not in Image.DECODERS:
                Image.register_decoder(name, cast(Any, partial(_StrictDecoder, codec)))
            tile = tile._replace(codec_name=name) if hasattr(tile, "_replace") else (name, *tile[1:])
        tiles.append(tile)
    image.tile = tiles
