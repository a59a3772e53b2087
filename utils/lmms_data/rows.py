"""Rows of a benchmark, checked, read once a process and shared by its subsets."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import archive, fetch, images
from .errors import RowsError
from .schema import Benchmark, Subset, benchmark
from .sources import Source, resolve

if TYPE_CHECKING:
    from datasets import Dataset

log = logging.getLogger("lmms_data")

CHANGED = (
    "the dataset has changed: correct the copy, where it lies in a folder, pin the published revision with "
    "LMMS_TASKS_REVISION, where it comes from a hub, or update lmms-tasks"
)
AGAIN = "delete the file and get it again (lmms-tasks data fetch)"

_kept: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
_kept_lock = threading.RLock()
_TYPES: Mapping[str, type] = {"str": str, "int": int, "bool": bool}


def load(name: str | Benchmark, subset: str, *, source: Source | None = None) -> Dataset:
    """The rows of a subset as a `datasets.Dataset`, in the dataset's order, checked.

    Images are not decoded: an image column holds `{"bytes": …, "path": …}`, for `lmms_data.images.decode`; names of
    images are for `images_of`. The file of a benchmark is read once a process for all its subsets.

    Raises:
        SourceError, DownloadError: the files cannot be had.
        RowsError: a column is missing or of the wrong type, a row breaks the benchmark's rules, no row is left.
        ArchiveError, ImageError: the archive, or an image that the rows name, is missing, damaged or cut off.
    """
    spec = benchmark(name)
    part = spec.subset(subset)
    source = source or resolve(spec)
    folder = fetch.local(spec, (subset,), source=source)
    paths = fetch.found(folder, part.files)
    if paths[0].suffix == ".parquet":
        return _parquet(spec, part, paths, source)
    rows = _filtered(records(paths), spec, part, str(paths[0]))
    check_rows(rows, spec, subset, str(paths[0]), source)
    if spec.archive and part.needs_archive:
        _check_images(rows, spec, folder)
    return _dataset(rows, spec, str(paths[0]))


def images_of(name: str | Benchmark, *, source: Source | None = None) -> archive.ImageArchive:
    """The open archive of the benchmark's images, one a process. Raises as `load` does."""
    spec = benchmark(name)
    if spec.archive is None:
        raise RowsError(f"{spec.name} has no archive of images: its rows hold them")
    needing = [subset.name for subset in spec.subsets.values() if subset.needs_archive]
    folder = fetch.local(spec, needing[:1], source=source)
    return archive.shared(folder / spec.archive, spec.prefix, cache_bytes=spec.cache_bytes)


def records(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The objects of JSON files (a list, or one object a line), in order. They are shared: do not change them.

    Raises:
        RowsError: a file is not JSON; the message says what it is instead.
    """
    out: list[dict[str, Any]] = []
    for path in paths:
        status = path.stat()
        key = os.path.realpath(path), status.st_mtime_ns, status.st_size
        with _kept_lock:
            if key not in _kept:
                _kept[key] = _parse(path)
            out.extend(_kept[key])
    return out


def _parse(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path} cannot be read ({error})", AGAIN) from error
    if text.lstrip()[:1] == "<":
        raise RowsError(
            f"{path} is a web page, not data: a mirror or proxy sent it", f"check HF_ENDPOINT, then {AGAIN}"
        )
    if text.startswith("version https://git-lfs"):
        raise RowsError(
            f"{path} is a git-lfs pointer, not the data: the copy was made without git-lfs", "run git lfs pull"
        )
    try:
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path} is cut off or damaged ({error})", AGAIN) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RowsError(f"{path} is not a list of rows", AGAIN)
    return rows


def _filtered(rows: list[dict[str, Any]], spec: Benchmark, subset: Subset, where: str) -> list[dict[str, Any]]:
    for column in subset.where:
        if rows and not any(column in row for row in rows):
            raise _no_column(spec, column, where, rows[0])
    return [row for row in rows if all(row.get(column) == value for column, value in subset.where.items())]


def _no_column(spec: Benchmark, column: str, where: str, found: Iterable[str]) -> RowsError:
    return RowsError(
        f"{spec.hub} has no column {column!r} in {where}; found {', '.join(sorted(found))}",
        CHANGED,
    )


def check_rows(
    rows: Sequence[Mapping[str, Any]], name: str | Benchmark, subset: str, where: str, source: Source | None = None
) -> None:
    """Nothing, where the rows have the columns, types and options that the benchmark needs.

    A row count that differs from the published one is logged as a warning, but for the sample, small on purpose.

    Raises:
        RowsError: naming dataset, column, row and what was found.
    """
    spec = benchmark(name)
    part = spec.subset(subset)
    if not rows:
        raise RowsError(
            f"{spec.hub} has no rows of the subset {subset} in {where}", "get the data again, or update lmms-tasks"
        )
    columns = required(spec, part)
    for row in rows:
        for column, kind in columns.items():
            if column not in row:
                raise _no_column(spec, column, where, row)
            if not fits(row[column], kind):
                raise RowsError(
                    f"{spec.hub}: column {column!r} of row {row.get(spec.key)!r} in {where} should be {kind}, "
                    f"found {type(row[column]).__name__} {row[column]!r:.80}",
                    CHANGED,
                )
        for column, known in spec.values.items():
            if row[column].strip() not in known:
                raise _unknown_value(spec, column, row[column], row.get(spec.key), where)
        if part.letters:
            _check_options(row, spec, part, where)
    _check_count(len(rows), spec, part, source)


def _unknown_value(spec: Benchmark, column: str, value: str, key: object, where: str) -> RowsError:
    return RowsError(
        f"{spec.hub}: unknown {column} {value!r:.80} in row {key!r} of {where}; known are "
        f"{', '.join(sorted(spec.values[column]))}",
        CHANGED,
    )


def required(spec: Benchmark, subset: Subset) -> dict[str, str]:
    """The columns that a subset needs, and their types."""
    columns = dict(spec.columns)
    if spec.archive and spec.images and subset.needs_archive:
        columns.setdefault(spec.images, "list[str]")
    return columns


def fits(value: object, kind: str) -> bool:
    """Whether the value is of the schema's type."""
    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    if kind == "list[str]":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "dict[str, str]":
        return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)
    if kind == "image":
        return isinstance(value, dict) and isinstance(value.get("bytes"), bytes)
    return isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))


def _check_options(row: Mapping[str, Any], spec: Benchmark, part: Subset, where: str) -> None:
    letters = "".join(sorted(row["options"]))
    if letters != part.letters:
        raise RowsError(
            f"{spec.hub}: row {row.get(spec.key)!r} in {where} has the options {', '.join(letters) or 'none'}; "
            f"{part.name} has {', '.join(part.letters)}",
            CHANGED,
        )
    if row["label"] not in row["options"]:
        raise RowsError(
            f"{spec.hub}: the label {row['label']!r} of row {row.get(spec.key)!r} in {where} is none of its options"
        )


def _check_count(count: int, spec: Benchmark, part: Subset, source: Source | None) -> None:
    if count != part.rows and not (source and source.kind == "sample"):
        log.warning(
            "%s: subset %s has %d rows, the published dataset has %d: scores are not comparable with published ones",
            spec.hub, part.name, count, part.rows,
        )  # fmt: skip


def _names(rows: Iterable[Mapping[str, Any]], column: str) -> Iterable[str]:
    for row in rows:
        value = row[column]
        yield from (value,) if isinstance(value, str) else value


def _check_images(rows: list[dict[str, Any]], spec: Benchmark, folder: Path) -> None:
    assert spec.archive
    assert spec.images
    opened = archive.shared(folder / spec.archive, spec.prefix, cache_bytes=spec.cache_bytes)
    lacking = opened.missing(_names(rows, spec.images))
    if lacking:
        some = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
        raise RowsError(
            f"{spec.hub}: {len(lacking)} images that the rows name are not in {opened.path}: {some}",
            "delete the archive and get it again (lmms-tasks data fetch)",
        )
    opened.glance(_names(rows, spec.images))


def _dataset(rows: list[dict[str, Any]], spec: Benchmark, where: str) -> Dataset:
    from datasets import Dataset

    columns = {column: [row.get(column) for row in rows] for column in kept(spec, rows[0])}
    try:
        return Dataset.from_dict(columns)
    except Exception as error:  # Arrow's: a column of several types, half a character, a number too large
        short = str(error).split("\n")[0]
        raise RowsError(f"{spec.hub}: the rows in {where} do not make a table ({short})", CHANGED) from error


def kept(spec: Benchmark, found: Iterable[str]) -> list[str]:
    """Those of the columns found that a benchmark's rows are loaded with; others may come and go without notice."""
    there = set(found)
    return [column for column in dict.fromkeys((*spec.columns, spec.images, *spec.optional)) if column in there]


def _parquet(spec: Benchmark, part: Subset, paths: list[Path], source: Source) -> Dataset:
    import datasets
    import pyarrow.parquet as pq

    for path in paths:
        try:
            found = pq.read_schema(path).names
        except Exception as error:
            raise RowsError(f"{path} is no readable parquet file ({error})", AGAIN) from error
        for column in spec.columns:
            if column not in found:
                raise _no_column(spec, column, str(path), found)
    try:
        loaded = datasets.load_dataset(
            "parquet", data_files={part.name: [str(path) for path in paths]}, split=part.name,
            cache_dir=os.environ.get("LMMS_EVAL_DATASETS_CACHE") or None,
        )  # fmt: skip
    except Exception as error:
        raise RowsError(
            f"{paths[0].parent} cannot be prepared for reading ({type(error).__name__}: {error})",
            "see that HF_DATASETS_CACHE is a folder that you may write and that has room",
        ) from error
    assert isinstance(loaded, datasets.Dataset)
    loaded = loaded.select_columns(kept(spec, loaded.column_names))
    if spec.images and spec.columns.get(spec.images) == "image":
        loaded = loaded.cast_column(spec.images, datasets.Image(decode=False))
    _check_parquet(loaded, spec, part, str(paths[0]))
    if spec.images and spec.columns.get(spec.images) == "image":
        _check_embedded(loaded, spec, part)
    _check_count(len(loaded), spec, part, source)
    return loaded


def _check_parquet(loaded: Dataset, spec: Benchmark, part: Subset, where: str) -> None:
    for column, kind in required(spec, part).items():
        if kind == "image":
            continue
        values = loaded.data.column(column).to_pylist()
        wrong = next((index for index, value in enumerate(values) if not fits(value, kind)), None)
        if wrong is not None:
            raise RowsError(
                f"{spec.hub}: column {column!r} of row {loaded.data.column(spec.key)[wrong].as_py()!r} in {where} "
                f"should be {kind}, found {values[wrong]!r:.80}",
                CHANGED,
            )
        known = spec.values.get(column)
        for index, value in enumerate(values if known else ()):
            if value.strip() not in (known or ()):
                raise _unknown_value(spec, column, value, loaded.data.column(spec.key)[index].as_py(), where)


def _check_embedded(loaded: Dataset, spec: Benchmark, part: Subset) -> None:
    """Look at both ends of each image that the rows hold."""
    assert spec.images
    for batch in loaded.select_columns([spec.key, spec.images]).with_format("arrow").iter(batch_size=64):
        for key, value in zip(batch.column(spec.key).to_pylist(), batch.column(spec.images).to_pylist()):  # noqa: B905
            where = f"the image of row {key!r} of {spec.hub} ({part.name})"
            if not _is_image(value):
                raise RowsError(f"{where} is not embedded", AGAIN)
            images.glance(value["bytes"], where)


def fingerprint(rows: Dataset | Iterable[Mapping[str, Any]]) -> str:
    """16 hexadecimal digits that stand for the rows: their text, their order, and the sizes of embedded images.

    No image is read or decoded; an archive has a fingerprint of its own.
    """
    digest = hashlib.sha256()
    for row in _sized(rows) if hasattr(rows, "column_names") else rows:
        shown = {key: _size(value) if _is_image(value) else value for key, value in row.items()}
        line = json.dumps(shown, sort_keys=True, ensure_ascii=False)
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


def _is_image(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("bytes"), bytes)


def _size(value: Mapping[str, bytes]) -> int:
    return len(value["bytes"])


def _sized(rows: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of a dataset, with the size of an image in place of the image."""
    return sized(rows.with_format("arrow")[:])


def sized(table: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of an Arrow table or batch, with the size of an image in place of the image."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
            column = pc.binary_length(pc.struct_field(column, "bytes"))
        columns.append(column.to_pylist())
    names = table.schema.names
    return (dict(zip(names, cells)) for cells in zip(*columns))  # noqa: B905 - columns of one table
