"""Runs as lmms-eval leaves them on disk: results files and sample logs, read in one pass without keeping documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

_RESULTS = re.compile(r"(?P<date>.+)_results\.json")
_SAMPLES = re.compile(r"(?P<date>.+?)_samples_(?P<task>.+)\.jsonl")
_SUBSET = re.compile(r"Subset\((?P<benchmark>\w+), (?P<subset>\w+)\)")
_KNOWN = {"doc_id", "target", "resps", "filtered_resps", "token_counts", "doc_hash", "input", "input_media", "acc"}
BENCHMARKS = ("slake", "medxpertqa", "vlms_are_biased")


class RunError(ValueError):
    """A path holds no run that can be read; the message says what was looked for."""


@dataclass(frozen=True)
class Files:
    """The files of one run: its results file, or None where it is missing, and the sample log of each task."""

    folder: Path
    date: str
    results: Path | None
    samples: Mapping[str, Path]


@dataclass(slots=True)
class Sample:
    """One judged reply, without its text: `offset` is where its line starts in the log.

    `scores` holds the scores of all metrics that the task wrote, `slices` the columns to break them down by.
    """

    doc_id: int
    row: str
    cluster: str
    acc: float
    outcome: str
    official: str | None
    read: str | None
    how: str
    format_ok: bool
    reference: str
    slices: dict[str, Any]
    scores: dict[str, float]
    offset: int

    @property
    def acc_flexible(self) -> float:
        """1.0 where the flexible reading marks the reply right."""
        return float(self.outcome == "correct")

    @property
    def biased(self) -> float | None:
        """The official bias score, None where the row has no expected bias."""
        value = self.slices.get("biased")
        return float(value) if value is not None and _is_score(value) else None

    @property
    def disagree(self) -> bool:
        """Whether the official and the flexible reading judge the reply differently."""
        return (self.acc == 1.0) != (self.outcome == "correct")


@dataclass
class TaskLog:
    """A leaf task of a run: its samples in the order of the log, and its settings."""

    name: str
    samples: list[Sample] = field(default_factory=list)
    config: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    original: int | None = None
    effective: int | None = None

    @property
    def benchmark(self) -> str:
        """slake, medxpertqa or vlms_are_biased; empty for a task of another pack."""
        return benchmark_of(self.name)

    @property
    def subset(self) -> str:
        """The name of the dataset's subset that the task reads."""
        named = _SUBSET.search(str(self.config.get("process_docs", "")))
        return named["subset"] if named else self.name.removeprefix(self.benchmark).lstrip("_")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Version of the scores, source and fingerprint of the rows, as the task wrote them."""
        found = self.config.get("metadata")
        return found if isinstance(found, dict) else {}


@dataclass
class Run:
    """One evaluation of one model. `problems` says in full sentences what of it could not be read."""

    label: str
    files: Files
    results: dict[str, Any]
    tasks: dict[str, TaskLog]
    problems: list[str]

    @property
    def groups(self) -> dict[str, list[str]]:
        """The leaf tasks with samples below each group, in lmms-eval's order; groups without any are left out."""
        children = self.results.get("group_subtasks")
        children = children if isinstance(children, dict) else {}

        def leaves(name: str, above: tuple[str, ...] = ()) -> list[str]:
            below = children.get(name)
            below = below if isinstance(below, list) else []
            if name in above or not below:
                return [name] if name in self.tasks and self.tasks[name].samples else []
            return [leaf for child in below if isinstance(child, str) for leaf in leaves(child, (*above, name))]

        found = {
            name: list(dict.fromkeys(leaves(name)))
            for name, below in children.items()
            if isinstance(below, list) and below and benchmark_of(name)
        }
        return {name: members for name, members in found.items() if members}

    def samples(self, tasks: Iterable[str]) -> list[Sample]:
        """The samples of these tasks, one after another."""
        return [sample for name in tasks if name in self.tasks for sample in self.tasks[name].samples]

    def reported(self, task: str, metric: str) -> float | None:
        """The value in the results file, None where it has none."""
        table = self.results.get("results")
        values = table.get(task) if isinstance(table, dict) else None
        value = values.get(f"{metric},none") if isinstance(values, dict) else None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the whole evaluation."""
        found = self.results.get("config")
        return found if isinstance(found, dict) else {}


def benchmark_of(task: str) -> str:
    """The benchmark that a task's name begins with, else an empty string."""
    return next((name for name in BENCHMARKS if task == name or task.startswith(name + "_")), "")


def find(path: str | Path) -> list[Files]:
    """The runs at a path, by model folder and date: a results file, or a folder searched to its bottom.

    In one folder an older run is left out where a newer one holds all its tasks.

    Raises:
        RunError: there is no results file and no sample log.
    """
    path = Path(path)
    if path.is_file():
        name = _RESULTS.fullmatch(path.name)
        if not name:
            raise RunError(f"{path} is no results file of lmms-eval (…_results.json): name one, or the output folder")
        return [_files(path.parent, name["date"])]
    if not path.is_dir():
        raise RunError(f"{path} does not exist: give the --output_path of an lmms-eval run, or its results file")
    dates: dict[tuple[Path, str], None] = {}
    for file in sorted(path.rglob("*")):
        name = _RESULTS.fullmatch(file.name) or _SAMPLES.fullmatch(file.name)
        if name and file.is_file():
            dates[(file.parent, name["date"])] = None
    if not dates:
        raise RunError(
            f"{path} holds no …_results.json and no …_samples_….jsonl: was lmms-eval run with this --output_path?"
        )
    return _newest([_files(folder, date) for folder, date in dates])


def _files(folder: Path, date: str) -> Files:
    samples: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        name = _SAMPLES.fullmatch(file.name)
        if name and name["date"] == date:
            samples[name["task"]] = file
    results = folder / f"{date}_results.json"
    return Files(folder, date, results if results.is_file() else None, samples)


def _newest(found: Sequence[Files]) -> list[Files]:
    kept: list[Files] = []
    for files in sorted(found, key=lambda files: files.date, reverse=True):
        newer = [set(other.samples) for other in kept if other.folder == files.folder]
        if not files.samples or not any(set(files.samples) <= tasks for tasks in newer):
            kept.append(files)
    return sorted(kept, key=lambda files: (str(files.folder), files.date))


def read(files: Files) -> Run:
    """The run, with a sentence in `problems` for each thing that could not be read."""
    problems: list[str] = []
    results = _results(files, problems)
    configs, counts = _table(results, "configs"), _table(results, "n-samples")
    tasks: dict[str, TaskLog] = {}
    for name in _task_order(configs, files.samples):
        config = configs.get(name)
        count = counts.get(name)
        log = TaskLog(
            name,
            config=config if isinstance(config, dict) else {},
            path=files.samples.get(name),
            original=_count(count, "original"),
            effective=_count(count, "effective"),
        )
        tasks[name] = log
        if not log.benchmark:
            problems.append(f"{name} is no task of lmms-tasks and is left out.")
            del tasks[name]
        elif log.path is None:
            problems.append(
                f"{name}: the results file has values for it, but there is no sample log; it was run without "
                "--log_samples, or the file is lost. Only its reported values can be shown."
            )
        else:
            _read_log(log, problems)
    run = Run(_label(results, files), files, results, tasks, problems)
    _check_against_results(run)
    return run


def _results(files: Files, problems: list[str]) -> dict[str, Any]:
    if files.results is None:
        problems.append(
            f"There is no results file {files.date}_results.json beside the sample logs: settings, versions and groups "
            "are not known."
        )
        return {}
    try:
        loaded = json.loads(files.results.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{files.results.name} cannot be read ({error}): settings, versions and groups are not known.")
        return {}
    if not isinstance(loaded, dict):
        problems.append(f"{files.results.name} holds no object: settings, versions and groups are not known.")
        return {}
    for key in ("results", "configs", "n-samples", "group_subtasks", "config"):
        if not isinstance(loaded.get(key, {}), dict):
            problems.append(f"{files.results.name}: its {key} are no table and are left out; the file was edited.")
            del loaded[key]
    loaded["group_subtasks"] = {
        name: [member for member in below if isinstance(member, str)]
        for name, below in _table(loaded, "group_subtasks").items()
        if isinstance(below, list)
    }
    return loaded


def _table(results: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = results.get(key)
    return found if isinstance(found, dict) else {}


def _task_order(configs: Mapping[str, Any], samples: Mapping[str, Path]) -> list[str]:
    return list(dict.fromkeys([*configs, *samples]))


def _count(counts: Any, key: str) -> int | None:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) else None


def _label(results: Mapping[str, Any], files: Files) -> str:
    config = _table(results, "config")
    name = results.get("model_name") or files.folder.name
    if config.get("model") == "replay":
        # The model's name is that of the file of replies.
        return Path(str(name)).stem or "replay"
    if not results.get("model_name"):
        source = " ".join(str(config[key]) for key in ("model", "model_args") if config.get(key))
        return source or files.folder.name
    return str(name)


def _read_log(log: TaskLog, problems: list[str]) -> None:
    assert log.path is not None
    broken: list[int] = []
    seen: set[int] = set()
    repeated = 0
    try:
        for number, offset, entry in _lines(log.path):
            sample = _sample(entry, offset) if entry is not None else None
            if sample is None:
                broken.append(number)
            elif sample.doc_id in seen:
                repeated += 1
            else:
                seen.add(sample.doc_id)
                log.samples.append(sample)
    except OSError as error:
        problems.append(f"{log.name}: the sample log {log.path.name} cannot be read ({error}).")
    if broken:
        some = ", ".join(map(str, broken[:5])) + (", …" if len(broken) > 5 else "")
        problems.append(
            f"{log.name}: {len(broken)} of the lines in {log.path.name} cannot be read (line {some}); the file was "
            f"cut off, "
            "edited, or written by another task. The other lines are shown."
        )
    if repeated:
        problems.append(
            f"{log.name}: {repeated} lines in {log.path.name} repeat a document; the first of each counts. Two "
            f"runs seem "
            "to have written to one file."
        )
    if log.effective is not None and len(log.samples) < log.effective:
        problems.append(
            f"{log.name}: the run judged {log.effective} rows, but its log has {len(log.samples)}. Values computed "
            f"from "
            "the log differ from the reported ones."
        )
    log.samples.sort(key=lambda sample: sample.doc_id)


def _lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):
                    entry = None
                yield number, offset, entry if isinstance(entry, dict) else None
            offset += len(line)


def _sample(entry: Mapping[str, Any], offset: int) -> Sample | None:
    record = entry.get("acc")
    doc_id = entry.get("doc_id")
    if not isinstance(record, dict) or not isinstance(doc_id, int) or not _is_score(record.get("score")):
        return None
    outcome = record.get("outcome")
    if outcome not in ("correct", "biased", "other", "unreadable"):
        return None
    slices = record.get("slices")
    scores = {
        intern(key): float(value["score"])
        for key, value in entry.items()
        if key not in _KNOWN and isinstance(value, dict) and _is_score(value.get("score"))
    }
    return Sample(
        doc_id=doc_id,
        row=str(record.get("row", doc_id)),
        cluster=intern(str(record.get("cluster", doc_id))),
        acc=float(record["score"]),
        outcome=intern(outcome),
        official=_text(record.get("official")),
        read=_text(record.get("read")),
        how=intern(str(record.get("how", ""))),
        format_ok=bool(record.get("format_ok")),
        reference=str(record.get("reference", entry.get("target", ""))),
        slices={intern(str(k)): _light(v) for k, v in slices.items()} if isinstance(slices, dict) else {},
        scores=scores,
        offset=offset,
    )


def _is_score(value: Any) -> bool:
    return isinstance(value, (int, float)) and -1e9 < value < 1e9  # also no NaN, and no integer beyond all floats


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _light(value: Any) -> Any:
    # Tables are broken down by these values: a list or an object, which no task writes, would be no key.
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return intern(value if isinstance(value, str) else str(value))


def _check_against_results(run: Run) -> None:
    for name, log in run.tasks.items():
        reported = run.reported(name, "acc")
        if reported is None or not log.samples or (log.effective or 0) > len(log.samples):
            continue
        repeats = log.config.get("repeats")
        counted = sum(sample.acc for sample in log.samples) / len(log.samples)
        if abs(counted - reported) > 1e-6 and not (isinstance(repeats, int) and repeats > 1):
            run.problems.append(
                f"{name}: the results file says acc {reported:.4f}, its sample log gives {counted:.4f}. They are "
                f"not of "
                "one run, or one of them was edited; the page shows the log's."
            )


@dataclass(frozen=True)
class Text:
    """What the log says in words about a sample: the prompt and the reply; `media` names its pictures."""

    prompt: str
    reply: str
    media: tuple[str, ...] = ()


def texts(log: TaskLog, samples: Iterable[Sample]) -> dict[int, Text]:
    """The prompts and replies of the chosen samples, by doc_id, read again from the log."""
    found: dict[int, Text] = {}
    if log.path is None:
        return found
    with log.path.open("rb") as file:
        for sample in samples:
            file.seek(sample.offset)
            try:
                entry = json.loads(file.readline())
            except (ValueError, RecursionError):
                continue
            media = entry.get("input_media")
            found[sample.doc_id] = Text(
                _prompt(entry.get("input")),
                _reply(entry.get("filtered_resps"), log.config.get("output_type") == "generate_until_multi_round"),
                tuple(str(name) for name in media) if isinstance(media, list) else (),
            )
    return found


def _prompt(logged: Any) -> str:
    if isinstance(logged, list):  # the messages of a conversation
        parts = [_prompt(item) for item in logged]
        return "\n".join(part for part in parts if part)
    if isinstance(logged, dict):
        return _prompt(logged["content"]) if "content" in logged else str(logged.get("text") or "")
    return "" if logged is None else str(logged)


def _reply(logged: Any, turns: bool) -> str:
    # A list is the repeats of one request, of which the first was judged, or the turns of a conversation.
    if isinstance(logged, list):
        texts = [_reply(item, turns) for item in (logged if turns else logged[:1])]
        return "\n\n⁂ next turn ⁂\n\n".join(texts)
    return "" if logged is None else str(logged)
