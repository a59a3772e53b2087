"""The samples that a page shows: chosen to be instructive, with pictures where the data source is at hand."""

from __future__ import annotations

import base64
import html
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_data.errors import DataError
from lmms_data.schema import benchmark
from lmms_tasks.report import explain, formats, runs
from lmms_tasks.report.runs import Run, Sample, TaskLog

MAX_PROMPT = 1600
MAX_REPLY = 1200
#: Bytes of replies and prompts, and bytes of pictures, that a page holds at most.
TEXT_BUDGET = 2_200_000
PICTURE_BUDGET = 4_200_000
THUMBNAIL = 200
MOST_PICTURES = 4
OTHER_DATA = "the data source in use has no such row, so the run was made with other data"
#: Samples that go on paper.
PRINTED = 36


@dataclass(frozen=True)
class Verdict:
    """One run's reply to a sample and how it was judged."""

    run: str
    number: int
    reply: str
    left_out: int
    sample: Sample
    why: explain.Reason


@dataclass
class Card:
    """A sample of a task with the replies of all runs that have it."""

    task: str
    doc_id: int
    row: str
    question: str
    reference: str
    verdicts: list[Verdict]
    pictures: list[str] = field(default_factory=list)
    more_pictures: int = 0
    printed: bool = False

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of the runs, each once."""
        return list(dict.fromkeys(verdict.sample.outcome for verdict in self.verdicts))

    @property
    def disagree(self) -> bool:
        """Whether the two readings judge one of the replies differently."""
        return any(verdict.sample.disagree for verdict in self.verdicts)

    @property
    def split(self) -> bool:
        """Whether one run is right and another is wrong."""
        return len({verdict.sample.acc_flexible for verdict in self.verdicts}) > 1


@dataclass(frozen=True)
class Gallery:
    """The cards, how many samples there are of each kind in all, and notes on what is not shown.

    `counts` has a row for each task: task, samples in the logs, samples shown, then the replies of each outcome and
    those on which the readings disagree.
    """

    cards: list[Card]
    counts: list[tuple[str, int, int, dict[str, int]]]
    notes: list[str]


def build(loaded: Sequence[Run], most: int) -> Gallery:
    """At most `most` cards over all tasks of the runs."""
    notes: list[str] = []
    chosen = choose(loaded, most)
    cards = list(_cards(loaded, chosen))
    total = 0
    for index, card in enumerate(cards):
        total += sum(map(_weight, (card.question, *(verdict.reply for verdict in card.verdicts))))
        if total > TEXT_BUDGET:
            notes.append(f"{len(cards) - index} more chosen samples are left out to keep the page small.")
            cards = cards[:index]
            break
    for card in cards[:PRINTED]:
        card.printed = True
    add_pictures(loaded, cards, notes)
    order = {name: place for place, name in enumerate(_tasks(loaded))}
    cards.sort(key=lambda card: (order[card.task], card.doc_id))
    return Gallery(cards, _counts(loaded, cards), notes)


def _weight(text: str) -> int:
    """The bytes that the text takes on a page."""
    return len(html.escape(formats.plain(text)).encode("utf-8", "replace"))


def _tasks(loaded: Iterable[Run]) -> list[str]:
    return list(dict.fromkeys(name for run in loaded for name in run.tasks))


def choose(loaded: Sequence[Run], most: int) -> list[tuple[str, int]]:
    """Task and doc_id of the chosen samples: each task and each kind of reply in turn, disagreements first."""
    queues = [queue for name in _tasks(loaded) if (queue := _queue(loaded, name))]
    chosen: list[tuple[str, int]] = []
    while queues and len(chosen) < most:
        for queue in queues:
            if len(chosen) < most:
                chosen.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    return chosen


def _queue(loaded: Sequence[Run], task: str) -> list[tuple[str, int]]:
    """The samples of a task, the most instructive first: one of each kind, then a second one of each …"""
    replies: dict[int, list[Sample]] = {}
    for run in loaded:
        for sample in run.tasks[task].samples if task in run.tasks else ():
            replies.setdefault(sample.doc_id, []).append(sample)
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for doc_id, samples in replies.items():
        kind = tuple((sample.disagree, sample.outcome, sample.how) for sample in samples)
        kinds.setdefault(kind, []).append(doc_id)
    spread = [_spread(kinds[kind]) for kind in sorted(kinds, key=_interest)]
    out: list[tuple[str, int]] = []
    deepest = max(map(len, spread), default=0)
    for depth in range(min(deepest, 400)):
        out.extend((task, ids[depth]) for ids in spread if depth < len(ids))
    return out


_RANK = {"biased": 0, "unreadable": 1, "other": 2, "correct": 3}


def _interest(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    disagreements = sum(disagree for disagree, _, _ in kind)
    split = len({outcome == "correct" for _, outcome, _ in kind}) > 1
    return (-disagreements, not split, tuple(_RANK[outcome] for _, outcome, _ in kind), str(kind))


def _spread(ids: list[int]) -> list[int]:
    """The ids reordered so that any first few of them lie far apart: neighbours share a picture."""
    out: list[int] = []
    step = 1 << max(0, (len(ids) - 1).bit_length())
    taken: set[int] = set()
    while step:
        for index in range(0, len(ids), step):
            if index not in taken:
                taken.add(index)
                out.append(ids[index])
        step >>= 1
    return out


def _cards(loaded: Sequence[Run], chosen: Sequence[tuple[str, int]]) -> Iterator[Card]:
    ids: dict[str, set[int]] = {}
    for task, doc_id in chosen:
        ids.setdefault(task, set()).add(doc_id)
    found: dict[tuple[str, int], list[tuple[int, Run, Sample, runs.Text]]] = {}
    for number, run in enumerate(loaded):
        for task, wanted in ids.items():
            log = run.tasks.get(task)
            if log is None:
                continue
            samples = [sample for sample in log.samples if sample.doc_id in wanted]
            texts = runs.texts(log, samples)
            for sample in samples:
                if sample.doc_id in texts:
                    found.setdefault((task, sample.doc_id), []).append((number, run, sample, texts[sample.doc_id]))
    for task, doc_id in chosen:
        entries = found.get((task, doc_id))
        if entries:
            _, _, first, text = entries[0]
            yield Card(
                task, doc_id, first.row, _question(task, text.prompt), first.reference,
                [_verdict(*entry) for entry in entries],
            )  # fmt: skip


def _verdict(number: int, run: Run, sample: Sample, text: runs.Text) -> Verdict:
    reply, left_out = _clipped(text.reply)
    return Verdict(run.label, number, reply, left_out, sample, explain.reason(sample))


def _clipped(reply: str) -> tuple[str, int]:
    """The reply, or its beginning and its end with the number of characters left out between them."""
    if len(reply) <= MAX_REPLY:
        return reply, 0
    head = MAX_REPLY // 3
    tail = MAX_REPLY - head
    return reply[:head] + "\n[…]\n" + reply[-tail:], len(reply) - MAX_REPLY


def _question(task: str, prompt: str) -> str:
    """The question without the instructions that are the same for all rows."""
    name = runs.benchmark_of(task)
    if name == "slake":
        prompt = prompt.strip().split("\n")[0]
    elif name == "medxpertqa" and "\n\n" in prompt and "following multiple choice question" in prompt:
        prompt = prompt.partition("Think step by step before answering.")[2] or prompt
    prompt = prompt.strip()
    return prompt if len(prompt) <= MAX_PROMPT else prompt[:MAX_PROMPT] + " […]"


def _counts(loaded: Sequence[Run], cards: Sequence[Card]) -> list[tuple[str, int, int, dict[str, int]]]:
    shown = Counter(card.task for card in cards)
    out = []
    for task in _tasks(loaded):
        samples = [sample for run in loaded if task in run.tasks for sample in run.tasks[task].samples]
        kinds = Counter(sample.outcome for sample in samples)
        kinds["disagree"] = sum(sample.disagree for sample in samples)
        if samples:
            out.append((task, len({sample.doc_id for sample in samples}), shown[task], dict(kinds)))
    return out


def add_pictures(loaded: Sequence[Run], cards: Sequence[Card], notes: list[str]) -> None:
    """Puts thumbnails into the cards, and a sentence into the notes for each task whose pictures cannot be had."""
    by_task: dict[str, list[Card]] = {}
    for card in cards:
        by_task.setdefault(card.task, []).append(card)
    used = 0
    failed: dict[str, list[str]] = {}
    for task, members in by_task.items():
        log = next(run.tasks[task] for run in loaded if task in run.tasks)
        if log.subset == "text":
            continue
        try:
            pictures = _pictures_of(log)
            for card in members:
                if used > PICTURE_BUDGET:
                    failed.setdefault("the page would grow too large", []).append(task)
                    break
                try:
                    card.pictures, card.more_pictures = pictures(card)
                except LookupError as error:
                    failed.setdefault(str(error.args[0]), []).append(task)
                used += sum(map(len, card.pictures))
        except (DataError, OSError, ImportError, LookupError, ValueError) as error:
            failed.setdefault(str(error), []).append(task)
    for why, tasks in failed.items():
        notes.append(f"No pictures for samples of {', '.join(dict.fromkeys(tasks))}: {why}.")


def _pictures_of(log: TaskLog) -> Any:
    """A function from a card to its thumbnails and the number of pictures left out."""
    source = _source(log)
    from lmms_data import fetch

    spec = benchmark(log.benchmark)
    part = spec.subset(log.subset)
    folder = fetch.local(spec, (part.name,), source=source)
    paths = fetch.found(folder, part.files)
    if paths[0].suffix == ".parquet":
        return _Embedded(paths, spec.key, spec.images or "image").thumbnails
    return _Archived(log, source).thumbnails


def _source(log: TaskLog) -> Any:
    """The source in use; the embedded sample for a run that was made with it. Nothing is downloaded."""
    import os

    from lmms_data import fetch, sources

    environment: Mapping[str, str] = os.environ
    if "sample of" in str(log.metadata.get("data", "")):
        environment = {**os.environ, sources.DATA: "sample"}
    source = sources.resolve(log.benchmark, environment)
    if source.folder is None:
        cached = fetch.hub_cache(source) if source.kind == "hub" else next(iter(fetch.modelscope_cache(source)), None)
        spec = benchmark(log.benchmark)
        if cached is None or fetch.missing(cached, spec.files((log.subset,))):
            raise LookupError(
                f"{source.describe()} is not on this machine; set LMMS_TASKS_DATA to a copy, or run lmms-tasks "
                f"data fetch"
            )
        source = sources.Source(source.benchmark, source.kind, source.repo, source.revision, cached)
    return source


class _Archived:
    """Pictures that an archive holds and rows name."""

    def __init__(self, log: TaskLog, source: Any) -> None:
        from lmms_data import archive, fetch, rows

        self.spec = benchmark(log.benchmark)
        part = self.spec.subset(log.subset)
        folder = fetch.local(self.spec, (part.name,), source=source)
        found = [
            row
            for row in rows.records(fetch.found(folder, part.files))
            if all(row.get(column) == value for column, value in part.where.items())
        ]
        self.names = {str(row.get(self.spec.key)): row.get(self.spec.images or "") for row in found}
        assert self.spec.archive is not None
        self.archive = archive.shared(folder / self.spec.archive, self.spec.prefix, cache_bytes=self.spec.cache_bytes)

    def thumbnails(self, card: Card) -> tuple[list[str], int]:
        named = self.names.get(card.row)
        if named is None:
            raise LookupError(OTHER_DATA)
        names = [named] if isinstance(named, str) else list(named)
        return [thumbnail(self.archive.image(name)) for name in names[:MOST_PICTURES]], max(
            0, len(names) - MOST_PICTURES
        )


class _Embedded:
    """Pictures inside parquet files, of which only the row groups that are asked for are read."""

    def __init__(self, paths: Sequence[Any], key: str, column: str) -> None:
        import pyarrow.parquet as pq

        self.column = column
        self.files = [pq.ParquetFile(path) for path in paths]
        self.places: dict[str, tuple[int, int, int]] = {}
        for file_number, file in enumerate(self.files):
            for group in range(file.num_row_groups):
                for index, name in enumerate(file.read_row_group(group, columns=[key]).column(0).to_pylist()):
                    self.places[str(name)] = (file_number, group, index)
        self._kept: tuple[tuple[int, int], Any] | None = None

    def thumbnails(self, card: Card) -> tuple[list[str], int]:
        import lmms_data.images

        place = self.places.get(card.row)
        if place is None:
            raise LookupError(OTHER_DATA)
        file, group, index = place
        if self._kept is None or self._kept[0] != (file, group):
            self._kept = ((file, group), self.files[file].read_row_group(group, columns=[self.column]).column(0))
        value = self._kept[1][index].as_py()
        return [thumbnail(lmms_data.images.decode(value["bytes"], card.row))], 0


def thumbnail(image: Any) -> str:
    """A small JPEG of the picture as a data: URI, on white where it is transparent."""
    from PIL import Image

    image = image.convert("RGBA") if image.mode in ("P", "LA", "PA") else image
    if image.mode == "RGBA":
        ground = Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    image = image.convert("RGB")
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=72, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode("ascii")
