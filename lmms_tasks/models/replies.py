"""Saved replies: our own form, and the sample logs that lmms-eval writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Reply = str | list[str] | None
"""One reply: a text, the texts of the turns of a conversation, or None where the model gave nothing."""

_LOG_MARK = "_samples_"


class RepliesError(ValueError):
    """The saved replies cannot be used; the message names the file, the line and the remedy."""


@dataclass
class Saved:
    """The saved replies to one document, one for each repeat, and what the log says of the document."""

    where: str
    replies: list[Reply] = field(default_factory=list)
    target: Any = None
    row: str | None = None


Replies = dict[tuple[str, int], Saved]
"""Saved replies by task and doc_id."""


def load(path: str | Path) -> Replies:
    """All replies in a file, or in the files of a folder.

    A line of our own form is `{"task": …, "doc_id": …, "reply": …}`; several lines for one document are its repeats, and
    a list as the reply is the turns of a conversation. A file of lmms-eval's sample log is known by its name,
    `…_samples_<task>.jsonl`.

    Raises RepliesError for a path without replies, a line that is no JSON object or lacks a field, and two logs of one task.
    """
    replies: Replies = {}
    logs: dict[str, Path] = {}
    for file in _files(Path(path)):
        if _LOG_MARK in file.name:
            task = file.stem.split(_LOG_MARK, 1)[1]
            if task in logs:
                raise RepliesError(
                    f"{path} holds two sample logs of the task {task}, {logs[task].name} and {file.name}: "
                    "name the file or folder of one run"
                )
            logs[task] = file
            _read_log(file, task, replies)
        else:
            _read_own_form(file, replies)
    return replies


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RepliesError(f"no saved replies at {path}: give a .jsonl file, or a folder of them, as path=…")
    # lmms-eval names the folder of a run after the replies that it replays.
    found = sorted(file for file in path.rglob("*.jsonl") if file.is_file())
    if not found:
        raise RepliesError(
            f"the folder {path} holds no .jsonl file: was the run made with --log_samples and this --output_path?"
        )
    return found


def _lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{file}, line {number}"
            try:
                entry = json.loads(line.decode("utf-8-sig"))  # some editors begin a file with a mark
            except (ValueError, RecursionError) as error:
                raise RepliesError(f"{where} is no JSON ({error}): the file was cut off or edited") from error
            if not isinstance(entry, dict):
                raise RepliesError(f"{where} is no JSON object")
            yield where, entry


def _read_own_form(file: Path, replies: Replies) -> None:
    for where, entry in _lines(file):
        missing = [name for name in ("task", "doc_id", "reply") if name not in entry]
        if missing:
            raise RepliesError(f"{where} lacks {', '.join(missing)}: a line is {{task, doc_id, reply}}")
        if isinstance(entry["reply"], float) and math.isnan(entry["reply"]):
            raise RepliesError(f"{where}: the reply is NaN, an empty cell of a table? write null where there is none")
        saved = replies.setdefault((str(entry["task"]), _doc_id(entry, where)), Saved(where))
        saved.replies.append(entry["reply"])


def _read_log(file: Path, task: str, replies: Replies) -> None:
    for where, entry in _lines(file):
        if "doc_id" not in entry or not ({"resps", "filtered_resps"} & entry.keys()):
            raise RepliesError(f"{where} lacks doc_id or resps: is it a sample log of lmms-eval?")
        key = (task, _doc_id(entry, where))
        if key in replies:
            raise RepliesError(f"{where} repeats doc_id {key[1]} of {task}: two runs seem to share the file")
        record = entry.get("acc")
        replies[key] = Saved(
            where,
            _logged_replies(entry),
            entry.get("target"),
            record.get("row") if isinstance(record, dict) else None,
        )


def _doc_id(entry: dict[str, Any], where: str) -> int:
    try:
        return int(entry["doc_id"])
    except (TypeError, ValueError, OverflowError) as error:
        raise RepliesError(f"{where}: doc_id is {entry['doc_id']!r}, not a number") from error


def _logged_replies(entry: dict[str, Any]) -> list[Reply]:
    # lmms-eval leaves "resps" out where it says no more than "filtered_resps", and unwraps lists of one. A list is either
    # the repeats, which our record counts and another task's log shows by its single filtered text, or the turns of a
    # conversation, or both: the turns of one repeat after those of the other.
    filtered = entry.get("filtered_resps")
    raw: Any = entry.get("resps", filtered)
    record = entry.get("acc")
    if not isinstance(raw, list):
        return [raw]
    if not isinstance(record, dict):
        return [raw] if isinstance(filtered, list) else raw
    repeats = len(record.get("repeats") or [None])
    if repeats > 1 and len(raw) == repeats:
        return raw
    turns = max(1, len(raw) // repeats)
    return [raw[start : start + turns] for start in range(0, len(raw), turns)]
