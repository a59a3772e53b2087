"""The judge's answers on disk, so that a repeated or interrupted run pays for nothing twice.

One small file an answer, named by a hash of what was asked, written beside its place and moved there: a reader sees the
whole answer or none, whatever is killed when, on local and on network file systems, with any number of processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: the same question may be asked twice at the same time, nothing worse
    fcntl = None  # type: ignore[assignment]

FOLDER = "LMMS_TASKS_JUDGE_CACHE"


def default_folder() -> Path:
    """The folder that LMMS_TASKS_JUDGE_CACHE names, else `lmms-tasks/judge` in the user's cache folder."""
    chosen = os.environ.get(FOLDER, "").strip()
    if chosen:
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    return Path(caches).expanduser() / "lmms-tasks" / "judge"


def key(*parts: str) -> str:
    """A hash of the parts, which no other list of parts has."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Cache:
    """Entries (JSON objects) by key. Raises OSError at once where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass

    def get(self, name: str) -> dict[str, Any] | None:
        """The entry, or None where there is none that can be read."""
        try:
            entry = json.loads(self._path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return entry if isinstance(entry, dict) else None

    def put(self, name: str, entry: dict[str, Any]) -> None:
        """Keeps the entry in place of an earlier one. Raises OSError where the disk does not take it."""
        path = self._path(name)
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    @contextlib.contextmanager
    def asking(self, name: str) -> Iterator[None]:
        """Holds back other threads and processes that want to ask the same, until this one has its answer.

        The lock ends with its process. Where the file system has no locks, nobody is held back.
        """
        try:
            lock = self._path(name).with_suffix(".lock")
            lock.parent.mkdir(exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            yield
            return
        try:
            if fcntl is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            # Whoever opened the file before it goes finds the answer, and whoever opens a new one does too.
            with contextlib.suppress(OSError):
                os.unlink(lock)
            os.close(handle)

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json"
