"""Files of a benchmark on this machine, downloaded where need be."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .errors import DownloadError, SourceError
from .schema import Benchmark, benchmark
from .sources import Source, resolve

RETRY_WAITS = (1.0, 2.0, 4.0)
"""Seconds before each further attempt where a server is busy or a connection breaks."""

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_BROKEN_CONNECTIONS = (
    "ReadError",
    "RemoteProtocolError",
    "ReadTimeout",
    "ChunkedEncodingError",
    "IncompleteRead",
    "WriteError",
)
_NO_CONNECTION = (
    "ConnectError",
    "ConnectionError",
    "ConnectTimeout",
    "ProxyError",
    "MaxRetryError",
    "NewConnectionError",
)
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.")

_local: dict[tuple[Source, tuple[str, ...]], Path] = {}
_lock = threading.Lock()
_Result = TypeVar("_Result")


def local(name: str | Benchmark, subsets: Sequence[str] | None = None, *, source: Source | None = None) -> Path:
    """The folder that holds the files of the benchmark's subsets (all by default), laid out as in the repository.

    Files that are not on this machine are downloaded, once a process; a commit that is wholly in the cache needs no
    network. Only what the subsets need is fetched: MedXpertQA's text questions do without the images.

    Raises:
        SourceError: a local copy lacks files, or the source is not understood.
        DownloadError: the download failed; the message says why, and what to do.
    """
    spec = benchmark(name)
    source = source or resolve(spec)
    patterns = spec.files(tuple(subsets) if subsets is not None else None)
    with _lock:
        key = source, patterns
        if key not in _local:
            _local[key] = _locate(spec, source, patterns)
        return _local[key]


def forget() -> None:
    """Let `local` look again."""
    with _lock:
        _local.clear()


def _locate(spec: Benchmark, source: Source, patterns: tuple[str, ...]) -> Path:
    if source.folder is not None:
        folder = source.folder
    elif source.kind == "hub":
        folder = from_hub(source, patterns)
    else:
        folder = from_modelscope(source, patterns)
    lacking = missing(folder, patterns)
    if lacking:
        remedy = (
            f"copy the whole repository {source.repo}"
            if source.folder
            else f"fetch it with: lmms-tasks data fetch {spec.name}"
        )
        raise SourceError(f"{source.describe()}: {folder} lacks {', '.join(lacking)}", remedy)
    return folder


def found(folder: Path, pattern: str) -> list[Path]:
    """The files of the folder that match the pattern, by name."""
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def missing(folder: Path, patterns: Sequence[str]) -> list[str]:
    """What the folder lacks: patterns that match nothing, and numbered parts that are not there."""
    return list(_missing(folder, patterns))


def _missing(folder: Path, patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        paths = found(folder, pattern)
        if not paths:
            yield pattern
        parts = [match for match in (_SHARD.search(path.name) for path in paths) if match]
        if parts:
            total = int(parts[0].group(2))
            there = {int(part.group(1)) for part in parts}
            yield from (f"{pattern} (part {number} of {total})" for number in range(total) if number not in there)


def from_hub(source: Source, patterns: Sequence[str], *, to: Path | None = None) -> Path:
    """The snapshot folder of a hub repository with the files that match, downloaded where they are not in the cache.

    Interrupted downloads go on where they stopped; processes that start at once wait for each other.

    Args:
        source: repository and revision.
        patterns: the files.
        to: a folder to download into instead of the cache.

    Raises:
        DownloadError: see its message.
    """
    from huggingface_hub import snapshot_download

    def attempt() -> Path:
        return Path(
            snapshot_download(
                source.repo,
                repo_type="dataset",
                revision=source.revision,
                allow_patterns=list(patterns),
                local_dir=to,
            )
        )

    return _persist(attempt, source)


def from_modelscope(source: Source, patterns: Sequence[str], *, to: Path | None = None) -> Path:
    """The folder of a ModelScope repository with the files that match, downloaded where they are not in its cache.

    Raises:
        DownloadError: see its message.
    """
    try:
        from modelscope.hub.snapshot_download import dataset_snapshot_download
    except ImportError as error:
        raise DownloadError(
            f"{source.describe()}: the package modelscope is not installed ({error})",
            "pip install 'lmms-tasks[modelscope]'",
        ) from error

    def attempt() -> Path:
        where: dict[str, Any] = {"local_dir": str(to)} if to is not None else {}
        return Path(
            dataset_snapshot_download(source.repo, revision=source.revision, allow_patterns=list(patterns), **where)
        )

    return _persist(attempt, source)


def _persist(attempt: Callable[[], _Result], source: Source) -> _Result:
    """The attempt's result, tried again only where another try can help."""
    for wait in (*RETRY_WAITS, None):
        try:
            return attempt()
        except Exception as error:  # clients raise many kinds; each is explained or passed on below
            chain = list(_chain(error))
            if wait is None or not _transient(chain):
                raise _explained(error, chain, source) from error
            time.sleep(max(wait, _asked_wait(chain)))
    raise AssertionError("unreachable")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _status(chain: Sequence[BaseException]) -> int | None:
    for error in chain:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _asked_wait(chain: Sequence[BaseException]) -> float:
    """Seconds that the server asked to wait, at most half a minute."""
    for error in chain:
        headers = getattr(getattr(error, "response", None), "headers", None)
        value = headers.get("Retry-After", "") if headers is not None else ""
        if value.isdigit():
            return min(float(value), 30.0)
    return 0.0


def _is(chain: Sequence[BaseException], *names: str) -> bool:
    return any(kind.__name__ in names for error in chain for kind in type(error).__mro__)


def _transient(chain: Sequence[BaseException]) -> bool:
    status = _status(chain)
    if status is not None:
        return status in _TRANSIENT
    return _is(chain, *_BROKEN_CONNECTIONS)


def _explained(error: Exception, chain: Sequence[BaseException], source: Source) -> DownloadError:
    what, remedy = _diagnosis(chain, source)
    detail = " ".join(str(error).split())[:300]
    return DownloadError(f"{source.describe()}: {what} ({type(error).__name__}: {detail})", remedy)


def _diagnosis(chain: Sequence[BaseException], source: Source) -> tuple[str, str]:
    elsewhere = (
        "set HF_ENDPOINT to a mirror, or LMMS_TASKS_DATA=modelscope, or LMMS_TASKS_DATA to a folder with a copy; "
        "`lmms-tasks data status` shows what is already here"
    )
    number = next((e.errno for e in chain if isinstance(e, OSError) and e.errno is not None), None)
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "the disk is full", "free some space, or set HF_HOME to a folder on another disk"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the cache folder cannot be written", "set HF_HOME to a folder that you may write"
    if _is(chain, "OfflineModeIsEnabled"):
        return (
            "offline mode is on (HF_HUB_OFFLINE), and the files are not all in the cache",
            "run `lmms-tasks data fetch` where there is a network, and share HF_HOME, or unset HF_HUB_OFFLINE",
        )
    status = _status(chain)
    if _is(chain, "GatedRepoError") or status == 403:
        return (
            "the server refuses access (gated, or not allowed)",
            "ask for access on the dataset's page, and set HF_TOKEN",
        )
    if _is(chain, "RevisionNotFoundError"):
        return f"there is no revision {source.revision}", "correct or unset LMMS_TASKS_REVISION"
    if status == 401:
        return (
            "the server does not accept the token, or knows no such repository (401)",
            "unset HF_TOKEN or set a valid one (hf auth login), and check HF_ENDPOINT",
        )
    if _is(chain, "RepositoryNotFoundError", "RemoteEntryNotFoundError") or status == 404:
        return (
            "the server has no such repository or file (404)",
            f"check that HF_ENDPOINT mirrors {source.repo}; {elsewhere}",
        )
    if status == 429:
        return (
            "the server answers too many requests (429) and did not relent",
            "wait a while, or set HF_TOKEN for a higher limit",
        )
    if status is not None and status >= 500:
        return f"the server is out of order ({status}) and stayed so", f"try later, or {elsewhere}"
    if _is(chain, *_NO_CONNECTION):
        return "the server cannot be reached", f"check the network and proxy; {elsewhere}"
    if _is(chain, *_BROKEN_CONNECTIONS):
        return "the connection broke several times", "start again: the download goes on where it stopped"
    if _is(chain, "FileMetadataError", "JSONDecodeError"):
        return (
            "the server does not answer like a hub (a web page or a proxy's page?)",
            f"check HF_ENDPOINT; {elsewhere}",
        )
    if _is(chain, "LocalEntryNotFoundError"):
        return "the files are not in the cache and could not be downloaded", elsewhere
    return "the download failed", elsewhere
