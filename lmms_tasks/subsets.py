"""The rows of a leaf task, as lmms-eval's hooks need them.

lmms-eval loads a dataset by a path of its own and passes the rows to `process_docs`. It would do so once for every leaf,
retry five times what cannot succeed, and know nothing of revisions, mirrors or archives. So the YAML files give it a
placeholder to load, and `process_docs` answers with the checked rows from the source in use.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmms_data.images
from lmms_data import fetch, rows, schema, sources
from lmms_data.archive import ImageArchive
from lmms_data.errors import DataError
from lmms_tasks import __version__, pictures
from lmms_tasks.ahead import Ahead
from lmms_tasks.log import info_once
from lmms_tasks.pictures import Packed, Picture

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL import Image

#: A saved dataset of one empty row, for `load_from_disk`: nothing is downloaded, converted or written to load it.
PLACEHOLDER = str(Path(__file__).resolve().parent / "placeholder")


@contextmanager
def stopping_the_run() -> Iterator[None]:
    """Turns a fault of the data into the end of the run.

    lmms-eval retries an exception for ten seconds, buries its cause in a chained traceback and exits with status 0. A
    SystemExit passes through, prints the message alone and exits with status 1.
    """
    try:
        yield
    except DataError as error:
        raise SystemExit(f"lmms-tasks: {error}") from error


class Subset:
    """A leaf task's rows; as `process_docs` it replaces the placeholder by them.

    `metadata` goes into the results file: the version of the scores, and, once the rows are loaded, where they come from
    and a fingerprint of them. A benchmark is named, or described by a `lmms_data.schema.Benchmark` of its own.
    """

    def __init__(self, benchmark: str | schema.Benchmark, name: str, version: str = "1.0") -> None:
        self.spec = schema.benchmark(benchmark)
        self.benchmark = self.spec.name
        self.name = name
        self.metadata: dict[str, Any] = {"version": version, "pack": f"lmms-tasks {__version__}"}
        self._ahead = Ahead(self._packed)

    def __repr__(self) -> str:
        return f"Subset({self.benchmark}, {self.name})"

    def __deepcopy__(self, memo: object) -> Subset:
        # lmms-eval copies a task's configuration deeply, and the descriptions of the data are read-only.
        return self

    @property
    def published_rows(self) -> int:
        """The number of rows in the published dataset."""
        return self.spec.subset(self.name).rows

    def __call__(self, placeholder: Any) -> Dataset:
        """The rows, checked, in the dataset's order; ends the run where they cannot be had."""
        with stopping_the_run():
            source = sources.resolve(self.spec)
            loaded = rows.load(self.spec, self.name, source=source)
            source = fetch.exact(source)
        # Of the release lmms-eval's own results file says nothing: its "version" is that of the folder's git.
        with suppress(importlib.metadata.PackageNotFoundError):
            self.metadata["lmms_eval"] = importlib.metadata.version("lmms_eval")
        self.metadata["data"] = source.describe()
        self.metadata["rows"] = len(loaded)
        if "images" in loaded.column_names:
            self._ahead.follow(loaded["images"])
        self.metadata["fingerprint"] = rows.fingerprint(loaded)
        info_once(
            f"{self.benchmark}/{self.name}: {len(loaded)} rows of {source.describe()}, "
            f"fingerprint {self.metadata['fingerprint']}"
        )
        return loaded

    def images(self, names: Sequence[str]) -> list[Image.Image]:
        """The named images of the benchmark's archive in RGB, in order; each is the receiver's own."""
        with stopping_the_run():
            archive = _archive(self.spec, os.environ.get(sources.DATA, ""))
            shared = self.spec.cache_bytes > 0
            if shared:
                return [
                    Picture(archive.image(name, "RGB"), partial(archive.read, name), (str(archive.path), name))
                    for name in names
                ]
            if not pictures.sent or pictures.as_files:
                return [_picture(archive.read(name), archive.where(name)) for name in names]
            prepared = self._ahead.take(names)
            self._ahead.prepare(names)
            return [
                _prepared(archive, name, prepared[name])
                if name in prepared
                else _picture(archive.read(name), archive.where(name))
                for name in names
            ]

    def _packed(self, name: str) -> Packed:
        """The archive's image of that name as it is sent."""
        archive = _archive(self.spec, os.environ.get(sources.DATA, ""))
        data, where = archive.read(name), archive.where(name)
        image = lmms_data.images.opened(data, where)
        size, info = image.size, image.info.copy()
        png = pictures.pixels_of_png(data) or pictures.rgb_of_png(data)
        if png is None:
            lmms_data.images.load(image, where)
            png = pictures.encoded(image if image.mode == "RGB" else image.convert("RGB"))
        return Packed(png, size, info)

    def embedded_image(self, image: Mapping[str, Any], row: object) -> Image.Image:
        """The image that a row holds, in RGB."""
        with stopping_the_run():
            return _picture(image["bytes"], f"{self.benchmark}, row {row}")

    def image_sizes(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Width and height of the named images, in order, read from their headers."""
        with stopping_the_run():
            archive = _archive(self.spec, os.environ.get(sources.DATA, ""))
            return [lmms_data.images.size(archive.read(name), archive.where(name)) for name in names]

    def embedded_image_size(self, image: Mapping[str, Any], row: object) -> tuple[int, int]:
        """Width and height of the image that a row holds, read from its header."""
        with stopping_the_run():
            return lmms_data.images.size(image["bytes"], f"{self.benchmark}, row {row}")


def _prepared(archive: ImageArchive, name: str, packed: Packed) -> Picture:
    """The picture that was prepared: of the archive nothing more is read unless somebody asks for pixels."""

    def decode() -> Image.Image:
        with stopping_the_run():
            return lmms_data.images.decode(archive.read(name), archive.where(name), mode="RGB")

    return Picture.undecoded(packed, packed.png, decode)


def _picture(data: bytes, where: str) -> Picture:
    """The picture of a file in RGB; one that can be sent as it is, is decoded when somebody asks for its pixels."""
    image = lmms_data.images.opened(data, where)
    unused = [image]

    def decode() -> Image.Image:
        # Copies are decoded each by itself, perhaps at once and after a fork: no two may read from one open file.
        with stopping_the_run():
            try:
                mine = unused.pop()
            except IndexError:
                mine = lmms_data.images.opened(data, where)
            decoded = lmms_data.images.load(mine, where)
            return decoded if decoded.mode == "RGB" else decoded.convert("RGB")

    whole = pictures.pixels_of_png(data)
    if not whole and pictures.sent:
        whole = pictures.rgb_of_png(data)
    if not whole and pictures.as_files and pictures.is_plain_jpeg(data):
        whole = data
    return Picture.undecoded(image, whole, decode) if whole else Picture(decode(), lambda: data)


@functools.cache
def _archive(spec: schema.Benchmark, chosen: str) -> ImageArchive:
    return rows.images_of(spec)


def attributes(module: dict[str, Any]) -> Callable[[str], Any]:
    """A module's `__getattr__` that gives each subset's metadata to YAML, as `<subset>_metadata`."""

    def attribute(name: str) -> Any:
        subset = module.get(name.removesuffix("_metadata"))
        if name.endswith("_metadata") and isinstance(subset, Subset):
            return subset.metadata
        raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")

    return attribute
