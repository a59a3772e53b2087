"""Images out of a zip, member by member, without extraction, from any thread and any forked process."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import weakref
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from . import images
from .errors import ArchiveError

if TYPE_CHECKING:
    from PIL import Image

MAX_MEMBER_BYTES = 256 << 20
"""A member that is larger than this, packed or not, is refused."""

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_REMEDY = "delete the file and get it again (lmms-tasks data fetch), then check it with: lmms-tasks data verify"


class ImageArchive:
    """A zip of images that stays open.

    The index is read once; members are then read by position from one file descriptor, so that neither threads nor
    forked processes disturb each other and nothing waits for a lock while it reads or decodes.

    Args:
        path: the zip file.
        prefix: what stands before the names of images inside the zip, e.g. `imgs/`.
        cache_bytes: how much decoded pixel data is kept, the least recently used going first.

    Raises:
        ArchiveError: the file is missing, cut off or no zip, or holds a name that leads out of it.
    """

    def __init__(self, path: str | os.PathLike[str], prefix: str = "", *, cache_bytes: int = 0) -> None:
        self.path = Path(path)
        self.prefix = prefix
        self._cache_bytes = cache_bytes
        self._glanced: set[str] = set()
        try:
            self._file = open(self.path, "rb")  # noqa: SIM115 - stays open as long as the archive
            with zipfile.ZipFile(self._file) as index:
                self._members = {info.filename: info for info in index.infolist() if not info.is_dir()}
        except FileNotFoundError as error:
            raise ArchiveError(f"the archive {self.path} is missing", "get it with: lmms-tasks data fetch") from error
        except (zipfile.BadZipFile, EOFError, struct.error, ValueError, NotImplementedError) as error:
            raise ArchiveError(f"the archive {self.path} {self._damage(error)}", _REMEDY) from error
        except OSError as error:
            raise ArchiveError(f"the archive {self.path} cannot be read ({error})", _REMEDY) from error
        self._reset()
        for name in self._members:
            if _leads_out(name):
                raise ArchiveError(
                    f"the archive {self.path} holds a member with the unsafe name {name!r}",
                    "it is not the published archive: get it from the source that the benchmark names",
                )
        _OPEN.add(self)

    def _damage(self, error: Exception) -> str:
        size = self.path.stat().st_size
        with open(self.path, "rb") as file:
            head = file.read(64)
        if head.lstrip()[:1] == b"<":
            return f"is a web page, not a zip (it begins {head[:15]!r})"
        if head.startswith(b"version https://git-lfs"):
            return "is a git-lfs pointer, not the zip itself: the copy was made without git-lfs"
        if head.startswith(b"PK"):
            return f"is cut off or damaged at its end ({error}; {size:,} bytes)"
        return f"is not a zip ({error}; {size:,} bytes, it begins {head[:8]!r})"

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str | None], tuple[Image.Image, str]] = OrderedDict()
        self._cached = 0

    def __reduce__(self) -> tuple[object, ...]:
        return _reopen, (str(self.path), self.prefix, self._cache_bytes)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[str]:
        """The names of the members below the prefix, without it."""
        return (name[len(self.prefix) :] for name in self._members if name.startswith(self.prefix))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.prefix + name in self._members

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that the archive lacks, each once, in their order."""
        return [name for name in dict.fromkeys(names) if name not in self]

    def where(self, name: str) -> str:
        """What the image is called in an error: archive and member."""
        return f"the image {self.prefix}{name} of {self.path}"

    def fingerprint(self, names: Iterable[str] | None = None) -> str:
        """16 hexadecimal digits that stand for the content of the images `names` (all by default), in any order.

        Made of the sizes and checksums in the archive's index; no image is read.
        """
        digest = hashlib.sha256()
        for name in sorted(set(self if names is None else names)):
            info = self._info(name)
            digest.update(f"{name}\0{info.file_size}\0{info.CRC}\n".encode())
        return digest.hexdigest()[:16]

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._members[self.prefix + name]
        except KeyError:
            raise ArchiveError(f"{self.where(name)} is missing", _REMEDY) from None

    def read(self, name: str) -> bytes:
        """The bytes of the member, checked against its checksum.

        Raises:
            ArchiveError: there is no such member, it is damaged, or it is larger than MAX_MEMBER_BYTES.
        """
        info = self._info(name)
        where = self.where(name)
        if max(info.file_size, info.compress_size) > MAX_MEMBER_BYTES:
            size = max(info.file_size, info.compress_size)
            raise ArchiveError(f"{where} takes {size:,} bytes; at most {MAX_MEMBER_BYTES:,} are read", _REMEDY)
        if info.flag_bits & 0x1:
            raise ArchiveError(f"{where} is encrypted", _REMEDY)
        header = self._pread(_LOCAL_HEADER.size, info.header_offset, where)
        fields = _LOCAL_HEADER.unpack(header)
        if fields[0] != b"PK\3\4":
            raise ArchiveError(f"{where} is not where the archive's index says", _REMEDY)
        start = info.header_offset + _LOCAL_HEADER.size + fields[9] + fields[10]
        packed = self._pread(info.compress_size, start, where)
        data = _unpack(packed, info, where)
        if zlib.crc32(data) != info.CRC:
            raise ArchiveError(f"{where} is damaged (its checksum is wrong)", _REMEDY)
        return data

    def _pread(self, size: int, offset: int, where: str) -> bytes:
        try:
            if hasattr(os, "pread"):
                data = os.pread(self._file.fileno(), size, offset)
            else:
                with open(self.path, "rb") as file:
                    file.seek(offset)
                    data = file.read(size)
        except OSError as error:
            raise ArchiveError(f"{where} cannot be read ({error})", _REMEDY) from error
        if len(data) < size:
            raise ArchiveError(f"{where} is cut off: the archive ends before it", _REMEDY)
        return data

    def image(self, name: str, mode: str | None = None) -> Image.Image:
        """The image of that name, fully decoded; a fresh object that the caller may change.

        Args:
            name: the member, without the prefix.
            mode: PIL's name of the mode that the result has, its own by default.

        Raises:
            ArchiveError: the member is missing or damaged.
            ImageError: the member is no whole image.
        """
        key = name, mode
        with self._lock:
            kept = self._cache.get(key)
            if kept:
                self._cache.move_to_end(key)
        if kept:
            return _unpacked(*kept)
        image = images.decode(self.read(name), self.where(name), mode=mode)
        if self._cache_bytes:
            self._keep(key, *_packed(image))
        return image

    def glance(self, names: Iterable[str], *, workers: int | None = None) -> None:
        """Nothing, where each of the images has its checksum and looks whole from its two ends.

        What was looked at once is not looked at again. Several threads read, by default one for each processor.

        Raises:
            ArchiveError: a member is missing or damaged.
            ImageError: a member is no picture, cut off, or too large.
        """
        new = [name for name in dict.fromkeys(names) if name not in self._glanced]
        with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
            for name in pool.map(self._glance, new):
                self._glanced.add(name)

    def _glance(self, name: str) -> str:
        images.glance(self.read(name), self.where(name))
        return name

    def _keep(self, key: tuple[str, str | None], image: Image.Image, mode: str) -> None:
        size = _bytes(image)
        with self._lock:
            if key in self._cache or size > self._cache_bytes:
                return
            self._cache[key] = image, mode
            self._cached += size
            while self._cached > self._cache_bytes:
                self._cached -= _bytes(self._cache.popitem(last=False)[1][0])


def _packed(image: Image.Image) -> tuple[Image.Image, str]:
    """A copy for the cache, and the mode to give it back in.

    Radiographs are often grey pictures saved as RGB: one channel stands for all three, in a quarter of the memory.
    """
    if image.mode == "RGB":
        red, green, blue = image.split()
        if red.tobytes() == green.tobytes() == blue.tobytes():
            red.info = image.info.copy()
            return red, "RGB"
    return image.copy(), image.mode


def _unpacked(image: Image.Image, mode: str) -> Image.Image:
    return image.copy() if image.mode == mode else image.convert(mode)


def _bytes(image: Image.Image) -> int:
    """The memory that the pixels take: PIL keeps four bytes for a pixel that has more than one channel."""
    return image.width * image.height * (1 if len(image.getbands()) == 1 else 4)


def _leads_out(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or parts[0].endswith(":") or "\0" in name


def _unpack(packed: bytes, info: zipfile.ZipInfo, where: str) -> bytes:
    if info.compress_type == zipfile.ZIP_STORED and len(packed) == info.file_size:
        return packed
    if info.compress_type != zipfile.ZIP_DEFLATED:
        raise ArchiveError(
            f"{where} is packed by method {info.compress_type}; only stored and deflated are read", _REMEDY
        )
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflate.decompress(packed, info.file_size + 1)
    except zlib.error as error:
        raise ArchiveError(f"{where} is damaged ({error})", _REMEDY) from error
    if len(data) != info.file_size:
        more = "more" if len(data) > info.file_size else "fewer"
        raise ArchiveError(f"{where} unpacks to {more} bytes than the {info.file_size:,} it declares", _REMEDY)
    return data


_OPEN: weakref.WeakSet[ImageArchive] = weakref.WeakSet()
_SHARED: dict[tuple[str, str, int, int], ImageArchive] = {}
_SHARED_LOCK = threading.Lock()


def shared(path: str | os.PathLike[str], prefix: str = "", *, cache_bytes: int = 0) -> ImageArchive:
    """The one archive of this process for the file, opened when first asked for, and again when the file has changed.

    Raises:
        ArchiveError: as ImageArchive does.
    """
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
    except OSError as error:
        raise ArchiveError(f"the archive {path} is missing ({error})", "get it with: lmms-tasks data fetch") from error
    key = real, prefix, status.st_mtime_ns, status.st_size
    with _SHARED_LOCK:
        if key not in _SHARED:
            _SHARED[key] = ImageArchive(path, prefix, cache_bytes=cache_bytes)
        return _SHARED[key]


def _reopen(path: str, prefix: str, cache_bytes: int) -> ImageArchive:
    return shared(path, prefix, cache_bytes=cache_bytes)


def _after_fork() -> None:
    """A lock that another thread held at the fork would stay locked for ever in the child."""
    global _SHARED_LOCK
    _SHARED_LOCK = threading.Lock()
    for archive in _OPEN:
        archive._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
