"""`--use_cache` that outlives a killed run.

lmms-eval 0.7.2 and 0.7.3 store replies when the model has answered the last of all requests, and read only what a
finished run has stored: a run that is killed in its ninth hour begins again. Here a run that includes tasks of this pack
stores its replies every so many requests, and a later run with the same `--use_cache` reads what the killed one stored.
lmms-eval's notes of failed requests are no replies and are not stored, and a reply that no file can hold, which would end
the run, is stored as far as one can.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lmms_scoring.reply import request_failed
from lmms_tasks.log import info_once
from lmms_tasks.repeats import writable

EVERY_VARIABLE = "LMMS_TASKS_CACHE_EVERY"
EVERY = 500
"""So many requests are handed to the model at once, and their replies stored, while `--use_cache` is on."""

#: The names of this pack's tasks, which the plugin fills in.
OURS: set[str] = set()


def every() -> int:
    """How many requests lie between two times of storing; ends the run where the variable is no such number."""
    value = os.environ.get(EVERY_VARIABLE, "").strip()
    if value and not (value.isascii() and value.isdigit() and int(value)):
        raise SystemExit(
            f"lmms-tasks: {EVERY_VARIABLE} is {value!r}; it takes a number of requests, {EVERY} by default"
        )
    return int(value or EVERY)


def outlive_interruptions(cache_class: Any) -> None:
    """Changes lmms-eval's `ResponseCache` so; once."""
    if getattr(cache_class.execute, "lmms_tasks", False):
        return
    create, lookup, execute, is_valid, extract = (
        cache_class.create.__func__,
        cache_class._lookup,
        cache_class.execute,
        cache_class._is_valid_response,
        cache_class._extract_cacheable,
    )

    @functools.wraps(create)
    def create_with_interrupted(cls: Any, *args: Any, **kwargs: Any) -> Any:
        cache = create(cls, *args, **kwargs)
        cache.interrupted = _interrupted(cache)
        return cache

    @functools.wraps(lookup)
    def lookup_in_all(cache: Any, key: str) -> Any:
        found = lookup(cache, key)
        if request_failed(getattr(found, "text", found)):  # stored without this pack
            return None
        for database in getattr(cache, "interrupted", ()) if found is None else ():
            row = database.execute("SELECT response FROM responses WHERE cache_key = ?", (key,)).fetchone()
            if row is not None:
                from lmms_eval.caching.response_cache import _deserialize_response

                return _deserialize_response(row[0])
        return found

    @functools.wraps(execute)
    def execute_in_parts(cache: Any, lm: Any, reqtype: str, requests: Sequence[Any]) -> list[Any]:
        step = every()
        if not any(request.task_name in OURS for request in requests):
            step = len(requests) or 1
        return [
            reply
            for start in range(0, len(requests), step)
            for reply in execute(cache, lm, reqtype, requests[start : start + step])
        ]

    @functools.wraps(is_valid)
    def is_a_reply(response: Any, request_type: str) -> bool:
        return not request_failed(getattr(response, "text", response)) and bool(is_valid(response, request_type))

    @functools.wraps(extract)
    def what_a_file_can_hold(response: Any) -> Any:
        return writable(extract(response))

    execute_in_parts.lmms_tasks = True  # type: ignore[attr-defined]
    cache_class.create = classmethod(create_with_interrupted)
    cache_class._lookup = lookup_in_all
    cache_class.execute = execute_in_parts
    cache_class._is_valid_response = staticmethod(is_a_reply)
    cache_class._extract_cacheable = staticmethod(what_a_file_can_hold)


def _interrupted(cache: Any) -> list[sqlite3.Connection]:
    """What runs that did not come to their end have stored; marked so that lmms-eval takes it over when this one does."""
    found, count = [], 0
    own = Path(cache._run_dir)
    for folder in sorted(own.parent.iterdir()):
        if folder == own or not folder.is_dir() or (folder / ".merged").exists():
            continue
        for file in sorted(folder.glob("rank_*.db")):
            try:
                database = sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=10)
                (rows,) = database.execute("SELECT COUNT(*) FROM responses").fetchone()
            except sqlite3.Error:  # killed while it was being made: it holds nothing
                continue
            found.append(database)
            count += rows
        (folder / ".ready").touch()
    if count:
        info_once(f"lmms-tasks: {count} replies that interrupted runs have stored in {own.parent} are there to be used")
    return found
