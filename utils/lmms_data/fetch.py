"""Files of a benchmark on this machine, downloaded where need be."""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from .errors import DownloadError, SourceError
from .schema import Benchmark, benchmark
from .sources import Source, resolve

RETRY_WAITS = (1.0, 2.0, 4.0)
"""Seconds before each further attempt where a server is busy or a connection breaks."""
RETRY_UNTIL = 20.0
"""No attempt starts later than so many seconds after the first: the clients try several times themselves."""

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_BROKEN = ("ReadError", "RemoteProtocolError", "ReadTimeout", "ChunkedEncodingError", "IncompleteRead", "WriteError")
_UNREACHABLE = (
    "ConnectError",
    "ConnectTimeout",
    "ConnectionError",
    "MaxRetryError",
    "NetworkError",
    "NewConnectionError",
    "ProxyError",
)
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.")

log = logging.getLogger("lmms_data")
_COMMIT = re.compile(r"[0-9a-f]{40}")

_local: dict[tuple[Source, tuple[str, ...]], Path] = {}
_commits: dict[Source, str] = {}
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
        _commits.clear()


def exact(source: Source) -> Source:
    """The source with the commit that its files are of, where this process has found that; for logs and results."""
    return replace(source, revision=_commits.get(source, source.revision))


def _locate(spec: Benchmark, source: Source, patterns: tuple[str, ...]) -> Path:
    folder = download(source, patterns) if source.folder is None else source.folder
    lacking = missing(folder, patterns)
    if lacking:
        copy = f"copy the whole repository {source.repo}"
        remedy = copy if source.folder else f"fetch it with: lmms-tasks data fetch {spec.name}"
        raise SourceError(f"{source.describe()}: {folder} lacks {', '.join(lacking)}", remedy)
    return folder


def download(source: Source, patterns: Sequence[str], *, to: Path | None = None) -> Path:
    """The folder with the files of a repository that match, downloaded where they are not there yet.

    A file that is plainly not what its name says (a mirror's web page, a zip without its end) is removed again, so that
    the next attempt starts afresh.

    Args:
        source: a source of the kind hub or modelscope.
        patterns: the files.
        to: a folder to download into instead of the client's cache.

    Raises:
        DownloadError: see its message.
    """
    folder = (from_hub if source.kind == "hub" else from_modelscope)(source, patterns, to=to)
    for pattern in patterns:
        for path in found(folder, pattern):
            fault = unsound(path)
            if fault and not _offline() and discard(path):
                raise DownloadError(
                    f"{source.describe()}: the file {path.name} that came {fault}; it was removed again",
                    "check HF_ENDPOINT or the mirror in use, then try again",
                )
            if fault:
                raise DownloadError(f"{source.describe()}: the file {path} {fault}", "delete it, and get it again")
    return folder


def unsound(path: Path) -> str | None:
    """What is plainly wrong with the file, seen from its beginning and end; None where nothing is."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(256)
        file.seek(max(size - 4, 0))
        tail = file.read()
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not size:
        return "is empty"
    if start.startswith(b"<"):
        return f"is a web page (it begins {start[:15]!r})"
    if start.startswith(b"version https://git-lfs"):
        return "is a git-lfs pointer, not the file itself"
    if path.suffix in (".json", ".jsonl") and start[:1] not in (b"[", b"{"):
        return f"is not JSON (it begins {start[:15]!r})"
    if path.suffix == ".parquet" and not (head.startswith(b"PAR1") and tail == b"PAR1"):
        return f"is not a whole parquet file ({size:,} bytes)"
    if path.suffix == ".zip" and not zipfile.is_zipfile(path):
        return f"is {'a zip that is cut off at its end' if head.startswith(b'PK') else 'no zip'} ({size:,} bytes)"
    return None


def discard(path: Path) -> bool:
    """Whether the file could be removed, and with it what it links to in a cache."""
    try:
        for each in {path, path.resolve()}:
            each.unlink()
    except OSError as error:
        log.warning("cannot remove %s: %s", path, error)
        return False
    return True


def _offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


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

    # The first answer decides: all subsets of one run are of one commit, and the server is asked once.
    revision = _commits.get(source, source.revision)

    def attempt() -> Path:
        return Path(
            snapshot_download(
                source.repo, repo_type="dataset", revision=revision, allow_patterns=list(patterns), local_dir=to
            )
        )

    folder = _persist(attempt, source)
    if _COMMIT.fullmatch(folder.name):
        _commits[source] = folder.name
    return folder


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
    options: dict[str, Any] = {"allow_patterns": list(patterns)}
    if source.revision is not None:
        options["revision"] = source.revision
    if to is not None:
        options["local_dir"] = str(to)

    try:
        return _persist(lambda: Path(dataset_snapshot_download(source.repo, **options)), source)
    except DownloadError as error:
        # Unlike the hub's client, ModelScope's does not fall back on its cache where there is no network.
        kept = next((folder for folder in modelscope_cache(source) if not missing(folder, patterns)), None)
        if to is None and kept is not None and _is(list(_chain(error.__cause__)), *_UNREACHABLE):
            log.warning("ModelScope cannot be reached; using what was downloaded before: %s", kept)
            return kept
        raise


def modelscope_cache(source: Source) -> list[Path]:
    """Where ModelScope's client keeps a repository, in its several versions; existing folders only."""
    base = Path(os.environ.get("MODELSCOPE_CACHE") or "~/.cache/modelscope").expanduser()
    name = source.repo.replace("/", "--")
    places = (
        base / "datasets" / name / "snapshots" / (source.revision or "master"),
        base / "datasets" / source.repo,
        base / "hub" / "datasets" / source.repo,
    )
    return [place for place in places if place.is_dir()]


def hub_cache(source: Source) -> Path | None:
    """The snapshot folder of a hub repository in the cache, or None; no server is asked."""
    from huggingface_hub import constants

    repository = Path(constants.HF_HUB_CACHE) / f"datasets--{source.repo.replace('/', '--')}"
    reference = repository / "refs" / (source.revision or "main")
    commit = reference.read_text().strip() if reference.is_file() else source.revision
    folder = repository / "snapshots" / commit if commit else None
    return folder if folder is not None and folder.is_dir() else None


def _persist(attempt: Callable[[], _Result], source: Source) -> _Result:
    """The attempt's result, tried again only where another try can help."""
    begun = time.monotonic()
    for wait in (*RETRY_WAITS, None):
        try:
            return attempt()
        except Exception as error:  # clients raise many kinds; each is explained or passed on below
            chain = list(_chain(error))
            pause = max(wait or 0.0, _asked_wait(chain))
            if wait is None or not _transient(chain) or time.monotonic() - begun + pause > RETRY_UNTIL:
                raise _explained(error, chain, source) from error
            log.warning("%s: %s; trying again in %.0f s", source.repo, _diagnosis(chain, source)[0], pause)
            time.sleep(pause)
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
    return _is(chain, *_BROKEN)


def _explained(error: Exception, chain: Sequence[BaseException], source: Source) -> DownloadError:
    what, remedy = _diagnosis(chain, source)
    detail = " ".join(str(error).split())[:300]
    return DownloadError(f"{source.describe()}: {what} ({type(error).__name__}: {detail})", remedy)


def _diagnosis(chain: Sequence[BaseException], source: Source) -> tuple[str, str]:
    """What went wrong, and what to do about it."""
    hub = source.kind == "hub"
    home = "HF_HOME" if hub else "MODELSCOPE_CACHE"
    token = "set a valid HF_TOKEN (hf auth login), or unset it" if hub else "log in with: modelscope login"
    other = "set HF_ENDPOINT to a mirror, or LMMS_TASKS_DATA=modelscope" if hub else "unset LMMS_TASKS_DATA for the hub"
    elsewhere = f"{other}, or set LMMS_TASKS_DATA to a folder with a copy (see README, Getting the data)"
    numbers = {error.errno for error in chain if isinstance(error, OSError)}
    if numbers & {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return "the disk is full", f"free some space, or set {home} to a folder on another disk"
    if numbers & {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "the cache folder cannot be written", f"set {home} to a folder that you may write"
    if _is(chain, "OfflineModeIsEnabled"):
        return (
            "offline mode is on (HF_HUB_OFFLINE), and the files are not all in the cache",
            "run `lmms-tasks data fetch` where there is a network and share HF_HOME, or unset HF_HUB_OFFLINE",
        )
    status = _status(chain)
    if _is(chain, "GatedRepoError") or status == 403:
        return "the server refuses access (gated, or not allowed)", f"ask for access on the dataset's page, and {token}"
    if _is(chain, "RevisionNotFoundError"):
        return f"there is no revision {source.revision}", "correct or unset LMMS_TASKS_REVISION"
    if status == 401:
        return "the server rejects the token, or knows no such repository (401)", f"{token}; {elsewhere}"
    if _is(chain, "RepositoryNotFoundError", "RemoteEntryNotFoundError") or status == 404:
        pin = f", or no revision {source.revision}" if source.revision else ""
        return (
            f"the server has no such repository or file{pin} (404)",
            f"see that it mirrors {source.repo}; {elsewhere}",
        )
    if status == 429:
        return "the server answers that there are too many requests (429)", f"wait a while, or log in: {token}"
    if status is not None and status >= 500:
        return f"the server is out of order ({status})", f"try later, or {elsewhere}"
    if _is(chain, *_BROKEN):
        return "the connection broke off", "start again: what is complete is kept"
    if _is(chain, "FileMetadataError", "JSONDecodeError"):
        return (
            "the server does not answer like a hub (a web page or a proxy's page?)",
            f"check its address; {elsewhere}",
        )
    if _is(chain, *_UNREACHABLE):
        return "the server cannot be reached", f"check the network and proxy; {elsewhere}"
    if _is(chain, "LocalEntryNotFoundError"):
        return "the files are not in the cache and could not be downloaded", elsewhere
    return "the download failed", elsewhere
