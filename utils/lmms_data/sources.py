"""Where the data of a benchmark comes from: the one place that decides.

`LMMS_TASKS_DATA` chooses: unset or `hub` for the Hugging Face hub, `modelscope`, `sample` for the data embedded in the
package, anything else is a folder. `LMMS_TASKS_REVISION` pins commits of the repositories
(`slake=3f2a…,medxpertqa=91c0…`), and `LMMS_TASKS_REVISION_SLAKE` that of one. Nothing here downloads, or imports
anything heavy.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import SourceError
from .schema import BENCHMARKS, Benchmark, benchmark

DATA = "LMMS_TASKS_DATA"
REVISION = "LMMS_TASKS_REVISION"
_NAMED = ("hub", "modelscope", "sample")
_COMMIT = re.compile(r"[\w-]{1,100}", re.ASCII)  # it becomes part of a path


@dataclass(frozen=True)
class Source:
    """Where a benchmark's files come from.

    `kind` is hub, modelscope, folder or sample; `repo` the repository's id there; `revision` the commit or branch that
    is asked for, or that names a cache snapshot, else None; `folder` the local copy, None for a repository on a server.
    """

    benchmark: str
    kind: str
    repo: str
    revision: str | None = None
    folder: Path | None = None

    @property
    def dataset_path(self) -> str:
        """What `datasets.load_dataset` takes as its path: a local copy's folder, else the repository's id."""
        return str(self.folder) if self.folder is not None else self.repo

    def describe(self) -> str:
        """The source in one line, for logs and results."""
        if self.kind == "hub":
            endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/")
            server = f"the hub at {endpoint}" if endpoint else "the Hugging Face hub"
            return f"{self.repo} from {server}, revision {self.revision or 'main'}"
        if self.kind == "modelscope":
            return f"{self.repo} from ModelScope, revision {self.revision or 'master'}"
        if self.kind == "sample":
            return f"the sample of {self.repo} that comes with the package"
        return f"{self.repo} from the folder {self.folder}" + (f", revision {self.revision}" if self.revision else "")


def resolve(name: str | Benchmark, environ: Mapping[str, str] | None = None) -> Source:
    """The source of a benchmark, as the environment chooses it.

    Args:
        name: the benchmark.
        environ: the environment to read, the process's own by default.

    Raises:
        SourceError: the setting is not understood, or the folder holds no copy; the message names the places looked at.
    """
    spec = benchmark(name)
    environ = os.environ if environ is None else environ
    chosen = environ.get(DATA, "").strip()
    revision = pinned(spec, environ)
    if chosen.lower() in ("", "hub"):
        return Source(spec.name, "hub", spec.hub, revision)
    if chosen.lower() == "modelscope":
        return Source(spec.name, "modelscope", spec.modelscope, revision)
    if chosen.lower() == "sample":
        folder = _sample_root() / spec.hub
        if not holds(folder, spec):
            raise SourceError(
                f"the embedded sample has no {spec.name} (looked for {folder})", "install the package again"
            )
        return Source(spec.name, "sample", spec.hub, None, folder)
    return _in_folder(spec, Path(chosen).expanduser(), revision)


def pinned(spec: Benchmark, environ: Mapping[str, str]) -> str | None:
    """The revision that the environment pins for the benchmark, or None. Raises SourceError for a malformed map."""
    own = environ.get(f"{REVISION}_{spec.name.upper()}", "").strip()
    if own:
        return own
    pins: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in environ.get(REVISION, "").split(","))):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not (key and equals and value):
            raise SourceError(
                f"{REVISION} holds {entry!r}, which is not of the form benchmark=revision",
                f"write for example {REVISION}=slake=COMMIT,medxpertqa=COMMIT",
            )
        if key not in BENCHMARKS and key != spec.name:
            raise SourceError(f"{REVISION} names {key!r}; the benchmarks are {', '.join(BENCHMARKS)}")
        pins[key] = value
    return pins.get(spec.name)


def _sample_root() -> Path:
    found = importlib.util.find_spec("lmms_tasks")  # a top-level name: finds without executing
    for location in (found.submodule_search_locations or ()) if found else ():
        return Path(location) / "sample" / "hub"
    raise SourceError("the embedded sample is not installed", "install the package lmms-tasks")


def holds(folder: Path, spec: Benchmark) -> bool:
    """Whether the folder looks like a copy of the benchmark's repository: one of its files is there."""
    patterns = spec.files()
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def _in_folder(spec: Benchmark, root: Path, revision: str | None) -> Source:
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise SourceError(
            f"{DATA}={root}: this folder {what} (looked for {spec.name})",
            f"set {DATA} to {', '.join(_NAMED)} or a folder that holds {spec.hub}, or unset it to use the hub",
        )
    root = root.resolve()
    looked: list[Path] = []
    for cache in (root, root / "hub"):
        repository = cache / f"datasets--{spec.hub.replace('/', '--')}"
        looked.append(repository)
        if repository.is_dir():
            return _in_cache(spec, repository, revision)
    snapshot_revision = root.name if root.parent.name == "snapshots" else None
    plain = dict.fromkeys(root / part for repo in (spec.hub, spec.modelscope) for part in (repo, repo.split("/")[1]))
    for folder in (*plain, root):
        looked.append(folder)
        if holds(folder, spec):
            found = snapshot_revision if folder == root else None
            if revision is not None and revision != found:
                raise SourceError(
                    f"{REVISION} pins {spec.name} to {revision}, but {folder} is a plain copy whose revision is "
                    f"{found or 'not known'}",
                    f"unset the pin, or set {DATA} to a hub cache",
                )
            return Source(spec.name, "folder", spec.hub, found, folder)
    places = "\n".join(f"    {folder}" for folder in looked)
    raise SourceError(
        f"{DATA}={root} holds no copy of {spec.hub}; looked for\n{places}",
        f"copy it there, or fetch it with: lmms-tasks data fetch --to {root} {spec.name}",
    )


def _in_cache(spec: Benchmark, repository: Path, revision: str | None) -> Source:
    snapshots = repository / "snapshots"
    reference = repository / "refs" / (revision or "main")
    if reference.is_file():
        commit = reference.read_text(encoding="utf-8", errors="replace").strip()
        if not _COMMIT.fullmatch(commit):
            raise SourceError(
                f"{reference} should name a commit, but says {commit!r:.80}",
                f"delete it and fetch the data again: lmms-tasks data fetch {spec.name}",
            )
    elif revision is not None:
        commit = revision
    else:
        newest = sorted((path for path in snapshots.glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime)
        commit = newest[-1].name if newest else "main"
    folder = snapshots / commit
    if not holds(folder, spec):
        there = ", ".join(sorted(path.name for path in snapshots.glob("*"))) or "none"
        raise SourceError(
            f"the hub cache {repository} holds no files of revision {commit} "
            f"(looked for {folder}; revisions there: {there})",
            f"fetch it with: lmms-tasks data fetch {spec.name}",
        )
    return Source(spec.name, "folder", spec.hub, commit, folder)
