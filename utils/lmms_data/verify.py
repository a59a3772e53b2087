"""A benchmark's data looked through to the last image: what it holds, what is wrong with it."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lmms_scoring import medxpertqa, slake, vlms_are_biased

from . import fetch, images, rows
from .archive import ImageArchive
from .errors import DataError, RowsError
from .schema import Benchmark, PromptLengths, Subset, benchmark
from .sources import Source, resolve

Row = Mapping[str, Any]
Progress = Callable[[str, int, Iterable[Any]], Iterable[Any]]
"""Passes the items through and shows how far they are: (what, total, items)."""
_Item = TypeVar("_Item")
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 5


@dataclass(frozen=True)
class Rules:
    """What the rows of a benchmark must say, beyond columns and types."""

    prompt: Callable[[Row], str]
    """The whole prompt of a row, as its published length counts it."""
    reference: str
    """The column of the right answer."""
    question: str
    """The column of the question."""
    values: Mapping[str, frozenset[str]]
    """Columns with a closed set of values."""


RULES: Mapping[str, Rules] = {
    "slake": Rules(
        prompt=lambda row: slake.prompt(row["question"], row["q_lang"]),
        reference="answer",
        question="question",
        values={
            "q_lang": frozenset({"en", "zh"}),
            "answer_type": frozenset({"OPEN", "CLOSED"}),
            "modality": frozenset({"CT", "MRI", "X-Ray"}),
            "base_type": frozenset({"vqa", "kvqa"}),
        },
    ),
    "medxpertqa": Rules(
        prompt=lambda row: medxpertqa.SYSTEM_PROMPT + medxpertqa.prompt(row["question"], row["options"]),
        reference="label",
        question="question",
        values={
            "question_type": frozenset({"Reasoning", "Understanding"}),
            "medical_task": frozenset({"Diagnosis", "Treatment", "Basic Science"}),
        },
    ),
    "vlms_are_biased": Rules(
        prompt=lambda row: str(row["prompt"]),
        reference="ground_truth",
        question="prompt",
        values={
            "topic": frozenset({*vlms_are_biased.TOPICS, "Optical Illusions"}),
            "type_of_question": frozenset({"Q1", "Q2", "Q3"}),
        },
    ),
}


@dataclass
class SubsetReport:
    """What a subset holds, beside what was published."""

    name: str
    rows: int
    published_rows: int
    prompts: PromptLengths | None
    published_prompts: PromptLengths
    columns: list[str]
    fingerprint: str
    standins: int = 0
    """Rows that say of themselves that they are made up; their prompts are not the published ones."""

    @property
    def prompts_match(self) -> bool:
        """Whether the prompts have exactly the published lengths."""
        return self.prompts == self.published_prompts


@dataclass
class Report:
    """What was found in a benchmark's data; it is sound where `faults` is empty."""

    benchmark: str
    source: str
    folder: str = ""
    files: dict[str, int] = field(default_factory=dict)
    """Bytes of each file."""
    subsets: list[SubsetReport] = field(default_factory=list)
    images: int = 0
    """Images that were decoded, whether well or not."""
    other_members: int = 0
    """Members of the archive that are no images; their checksums were compared."""
    image_sizes: tuple[int, int, int, int] | None = None
    """Smallest and largest width, smallest and largest height."""
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify(
    name: str | Benchmark,
    *,
    source: Source | None = None,
    with_images: bool = True,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Report:
    """All that is found in the data of a benchmark; faults are listed, not raised.

    Args:
        name: the benchmark.
        source: where the data is, by default as the environment says; files that are not here are downloaded.
        with_images: whether every image is read and decoded.
        progress: shows how far the images are.
        workers: threads that decode, by default one for each processor.
    """
    spec = benchmark(name)
    try:
        source = source or resolve(spec)
        report = Report(spec.name, source.describe())
        folder = fetch.local(spec, source=source)
    except DataError as error:
        where = source.describe() if source else "?"
        return Report(spec.name, where, faults=[str(error)])
    report.folder = str(folder)
    _files(report, spec, folder)
    named = _subsets(report, spec, source, folder)
    if with_images:
        show = progress or (lambda what, total, items: items)
        threads = workers or min(32, os.cpu_count() or 1)
        try:
            if spec.archive:
                _archive(report, spec, folder, named, show, threads)
            else:
                _embedded(report, spec, folder, show, threads)
        except DataError as error:
            report.faults.append(str(error))
    return report


def _files(report: Report, spec: Benchmark, folder: Path) -> None:
    for pattern in spec.files():
        for path in fetch.found(folder, pattern):
            report.files[path.relative_to(folder).as_posix()] = path.stat().st_size
            fault = fetch.unsound(path)
            if fault:
                report.faults.append(f"the file {path} {fault}")
            elif _SHA256.fullmatch(path.resolve().name) and _sha256(path) != path.resolve().name:
                # the hub's cache calls large files by their checksum
                report.faults.append(f"the file {path} is damaged: its content is not what the hub announced")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _subsets(report: Report, spec: Benchmark, source: Source, folder: Path) -> dict[str, None]:
    """Look through the rows of all subsets; the result is the images that they name."""
    named: dict[str, None] = {}
    seen: Counter[tuple[str, object]] = Counter()
    claimed: dict[str, int] = {}
    for part in spec.subsets.values():
        paths = fetch.found(folder, part.files)
        try:
            everything = _read(spec, paths)
        except DataError as error:
            if str(error) not in report.faults:
                report.faults.append(str(error))
            continue
        mine = [row for row in everything if all(row.get(key) == value for key, value in part.where.items())]
        claimed[part.files] = claimed.get(part.files, len(everything)) - len(mine)
        odd = Oddities()
        for row in mine:
            seen[part.files, row.get(spec.key)] += 1
            for what in _odd(row, spec, part):
                odd.add(what, row.get(spec.key))
        report.faults.extend(f"{spec.name}/{part.name}: {line}" for line in odd.lines())
        report.subsets.append(_summary(report, spec, part, source, mine))
        if spec.archive and spec.images and part.needs_archive:
            for row in mine:
                value = row.get(spec.images)
                named.update(dict.fromkeys([value] if isinstance(value, str) else value or []))
    for files, left in claimed.items():
        if left:
            report.faults.append(f"{spec.name}: {left} rows of {files} belong to none of the subsets")
    twice = [key for (_, key), count in seen.items() if count > 1]
    if twice:
        report.faults.append(
            f"{spec.name}: {len(twice)} values of {spec.key} stand in more than one row: {_some(twice)}"
        )
    return named


def _read(spec: Benchmark, paths: Sequence[Path]) -> Sequence[Row]:
    """All rows of the files; an embedded image is represented by its size."""
    if paths and paths[0].suffix == ".parquet":
        import pyarrow.parquet as pq

        out: list[Row] = []
        for path in paths:
            try:
                names = pq.read_schema(path).names
                for batch in pq.ParquetFile(path).iter_batches(batch_size=64):
                    out.extend(rows.sized(batch))
            except Exception as error:  # pyarrow raises many kinds
                raise RowsError(f"{path} is no readable parquet file ({error})", rows.AGAIN) from error
            if spec.images not in names:
                raise RowsError(f"{spec.hub} has no column {spec.images!r} in {path}; found {', '.join(names)}")
        return out
    return rows.records(paths)


class Oddities:
    """Odd rows, by what is odd about them."""

    def __init__(self) -> None:
        self._rows: dict[str, list[object]] = {}

    def add(self, what: str, row: object) -> None:
        """Note that the row is odd in this way."""
        self._rows.setdefault(what, []).append(row)

    def lines(self) -> list[str]:
        """One line for each way to be odd, with some of its rows."""
        return [f"{what} ({len(keys)} rows: {_some(keys)})" for what, keys in self._rows.items()]


def _some(items: Sequence[object]) -> str:
    return ", ".join(str(item) for item in items[:_SHOWN]) + (", …" if len(items) > _SHOWN else "")


def _odd(row: Row, spec: Benchmark, part: Subset) -> Iterator[str]:
    """What is wrong with the row."""
    for column, kind in rows.required(spec, part).items():
        if kind == "image":
            continue
        if column not in row:
            yield f"column {column!r} is missing; found {', '.join(sorted(row))}"
        elif not rows.fits(row[column], kind):
            yield f"column {column!r} should be {kind}, found {type(row[column]).__name__}"
    rules = RULES.get(spec.name)
    if rules is None:
        return
    for column, allowed in rules.values.items():
        value = row.get(column)
        if isinstance(value, str) and value not in allowed:
            yield f"unknown {column} {value!r}"
    reference = row.get(rules.reference)
    if isinstance(reference, str):
        if not reference.strip():
            yield "the reference is empty"
        elif polluted(reference, str(row.get(rules.question) or "")):
            yield "the reference holds words of the prompt"
    options = row.get("options")
    if part.letters and isinstance(options, dict):
        lacking = [letter for letter in part.letters if not str(options.get(letter) or "").strip()]
        if lacking:
            yield f"option {', '.join(lacking)} is missing or empty"
        more = sorted(set(options) - set(part.letters))
        if more:
            yield f"unknown option {', '.join(more)}"
        if reference not in options:
            yield f"unknown label {reference!r}"
        if any(polluted(str(text), "") for text in options.values()):
            yield "an option holds words of the prompt"


def polluted(reference: str, question: str) -> bool:
    """Whether the reference holds the question, or words of the prompt's instructions.

    >>> polluted("ANSWER: lung", "Which organ is it?"), polluted("Lung", "Which organ is it?")
    (True, False)
    """
    text = " ".join(reference.lower().split())
    asked = " ".join(question.lower().split())
    marks = ("answer:", "answer choices", "answer the question", "请用一个中文", "回答的最后一行", "curly brackets")
    return (len(asked) > 3 and asked in text) or any(mark in text for mark in marks)


def _summary(report: Report, spec: Benchmark, part: Subset, source: Source, mine: Sequence[Row]) -> SubsetReport:
    lengths = _lengths(spec, mine)
    standins = sum(str(row.get(spec.key)).startswith("standin_") for row in mine)
    columns = rows.kept(spec, mine[0]) if mine else []
    loaded = rows.fingerprint({column: row.get(column) for column in columns} for row in mine)
    out = SubsetReport(part.name, len(mine), part.rows, lengths, part.prompts, columns, loaded, standins)
    label = f"{spec.name}/{part.name}"
    if source.kind == "sample":
        report.notes.append(f"{label}: {len(mine)} rows, a sample of the {part.rows} published ones")
        return out
    if len(mine) != part.rows:
        report.faults.append(f"{label}: {len(mine)} rows, published {part.rows}")
    if lengths is not None and not out.prompts_match:
        line = f"{label}: prompt lengths {_table(lengths)}, published {_table(part.prompts)}"
        if standins:
            report.notes.append(f"{line} ({standins} of its {len(mine)} rows are stand-ins)")
        else:
            report.faults.append(line)
    return out


def _table(lengths: PromptLengths) -> str:
    return f"{lengths.mean:.2f} ({lengths.minimum} to {lengths.maximum})"


def _lengths(spec: Benchmark, mine: Sequence[Row]) -> PromptLengths | None:
    """The lengths of the prompts, None where a row makes none."""
    rules = RULES.get(spec.name)
    if rules is None or not mine:
        return None
    try:
        lengths = [len(rules.prompt(row)) for row in mine]
    except (KeyError, AttributeError, TypeError, ValueError):  # a broken row, which is listed as a fault
        return None
    return PromptLengths(round(sum(lengths) / len(lengths), 2), min(lengths), max(lengths))


class _Sizes:
    """What the images have in common, gathered from any thread's results."""

    def __init__(self) -> None:
        self.widths: set[int] = set()
        self.heights: set[int] = set()

    def add(self, size: tuple[int, int]) -> None:
        self.widths.add(size[0])
        self.heights.add(size[1])

    def span(self) -> tuple[int, int, int, int] | None:
        if not self.widths:
            return None
        return min(self.widths), max(self.widths), min(self.heights), max(self.heights)


def _archive(
    report: Report, spec: Benchmark, folder: Path, named: Mapping[str, None], show: Progress, threads: int
) -> None:
    assert spec.archive
    archive = ImageArchive(folder / spec.archive, spec.prefix)
    lacking = archive.missing(named)
    if lacking:
        report.faults.append(f"{spec.name}: {len(lacking)} images are not in {archive.path}: {_some(lacking)}")
    members = list(archive)
    endless: list[str] = []

    def check(member: str) -> tuple[tuple[int, int] | None, str | None]:
        try:
            data = archive.read(member)
            if not member.lower().endswith(_PICTURES):
                return None, None
            size = images.decode(data, archive.where(member)).size
        except DataError as error:
            return None, error.cause
        if not images.has_end_mark(data):
            endless.append(member)
        return size, None

    sizes = _Sizes()
    for member, (size, fault) in zip(members, _each(check, members, f"{spec.name} images", show, threads)):  # noqa: B905
        picture = member.lower().endswith(_PICTURES)
        report.images += picture
        report.other_members += not picture
        if fault:
            report.faults.append(f"{spec.name}: {fault}")
        if size:
            sizes.add(size)
    report.image_sizes = sizes.span()
    if endless:
        report.notes.append(
            f"{spec.name}: {len(endless)} images lack an end mark, but all pixels are there: {_some(endless)}"
        )


def _embedded(report: Report, spec: Benchmark, folder: Path, show: Progress, threads: int) -> None:
    import pyarrow.parquet as pq

    assert spec.images
    sizes = _Sizes()

    def check(row: Row) -> tuple[tuple[int, int] | None, str | None]:
        where = f"the image of row {row.get(spec.key)}"
        value = row.get(spec.images or "")
        if not isinstance(value, dict) or not isinstance(value.get("bytes"), bytes):
            return None, f"{where} is not embedded"
        try:
            return images.decode(value["bytes"], where).size, None
        except DataError as error:
            return None, error.cause

    for part in spec.subsets.values():
        paths = fetch.found(folder, part.files)
        try:
            files = [pq.ParquetFile(path) for path in paths]
            total = sum(file.metadata.num_rows for file in files)
            embedded = (row for file in files for row in _embedded_rows(file, spec))
            for size, fault in _each(check, embedded, f"{spec.name}/{part.name} images", show, threads, total):
                report.images += 1
                if fault:
                    report.faults.append(f"{spec.name}/{part.name}: {fault}")
                if size:
                    sizes.add(size)
        except Exception as error:  # pyarrow raises many kinds
            if not any(str(path) in fault for fault in report.faults for path in paths):
                report.faults.append(f"{spec.name}/{part.name}: the images cannot be read ({error})")
    report.image_sizes = sizes.span()


def _embedded_rows(file: Any, spec: Benchmark) -> Iterator[Row]:
    for batch in file.iter_batches(batch_size=64, columns=[spec.key, spec.images]):
        yield from batch.to_pylist()


def _each(
    check: Callable[[Any], _Item],
    items: Iterable[Any],
    what: str,
    show: Progress,
    threads: int,
    total: int | None = None,
) -> Iterator[_Item]:
    """The checks' results in the order of the items; only a few items wait in memory at a time."""
    from collections import deque

    waiting: deque[Any] = deque()
    if total is None:
        items = list(items)
        total = len(items)
    with ThreadPoolExecutor(threads) as pool:
        for item in show(what, total, items):
            waiting.append(pool.submit(check, item))
            if len(waiting) > threads * 4:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
