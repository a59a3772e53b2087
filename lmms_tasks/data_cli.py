"""Where the data of the benchmarks comes from; fetch it; verify it.

lmms-tasks data status                       where each benchmark would come from, and what is already here
lmms-tasks data fetch                        download all three from the source in use, then verify them
lmms-tasks data fetch --from modelscope --to /data slake
                                             download into a folder that others can use: LMMS_TASKS_DATA=/data
lmms-tasks data verify                       rows, columns, prompts, every image; status 1 where a fault is found
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lmms_data import fetch, schema, sources
from lmms_data.errors import DataError
from lmms_data.schema import Benchmark, PromptLengths
from lmms_data.sources import Source
from lmms_data.verify import Report, verify


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands status, fetch and verify."""
    verbs = parser.add_subparsers(dest="verb", metavar="status|fetch|verify", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "benchmarks", nargs="*", metavar="benchmark", help=f"{', '.join(schema.BENCHMARKS)}; all by default"
    )
    common.add_argument("--json", action="store_true", help="print JSON, for machines")
    verbs.add_parser("status", parents=[common], help="where the data comes from, and what is here")
    getting = verbs.add_parser("fetch", parents=[common], help="download the data, then verify it")
    getting.add_argument("--from", dest="origin", choices=("hub", "modelscope"), help="instead of LMMS_TASKS_DATA")
    getting.add_argument(
        "--to", type=Path, metavar="DIR", help="a folder, laid out as DIR/<org>/<name>; else the cache"
    )
    getting.add_argument("--no-verify", action="store_true", help="leave out the verification")
    checking = verbs.add_parser("verify", parents=[common], help="look through rows and images")
    checking.add_argument("--no-images", action="store_true", help="leave out the images")
    checking.add_argument(
        "--workers", type=int, metavar="N", help="threads that decode; one for each processor by default"
    )


def run(args: argparse.Namespace) -> int:
    """The exit status: 0 where all is well, 1 where a fault was found, 2 where a benchmark does not exist."""
    try:
        chosen = [schema.benchmark(name) for name in args.benchmarks or schema.BENCHMARKS]
    except DataError as error:
        print(f"lmms-tasks data: {error}", file=sys.stderr)
        return 2
    verbs = {"status": _status, "fetch": _fetch, "verify": _verify}
    return verbs[args.verb](args, chosen)


# --- status ----------------------------------------------------------------------------------------------------------


def status(spec: Benchmark) -> dict[str, Any]:
    """Where a benchmark would come from and what of it is here, without asking a server.

    Keys: benchmark, source, folder (None where nothing is here), files (bytes by name), bytes, missing (patterns),
    error (None, or why the source cannot be used).
    """
    found: dict[str, Any] = {"benchmark": spec.name, "source": None, "folder": None, "files": {}, "bytes": 0}
    try:
        source = sources.resolve(spec)
    except DataError as error:
        return found | {"missing": list(spec.files()), "error": str(error)}
    folder = _folder_here(source)
    missing = list(spec.files())
    if folder is not None:
        paths = [path for pattern in spec.files() for path in fetch.found(folder, pattern)]
        found["files"] = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
        missing = fetch.missing(folder, spec.files())
    found |= {"source": source.describe(), "folder": str(folder) if folder else None}
    return found | {"bytes": sum(found["files"].values()), "missing": missing, "error": None}


def _folder_here(source: Source) -> Path | None:
    if source.folder is not None:
        return source.folder
    if source.kind == "hub":
        return fetch.hub_cache(source)
    return next(iter(fetch.modelscope_cache(source)), None)


def _status(args: argparse.Namespace, chosen: Sequence[Benchmark]) -> int:
    found = [status(spec) for spec in chosen]
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        for each in found:
            print("\n".join(_status_lines(each)))
    return int(any(each["error"] for each in found))


def _status_lines(found: dict[str, Any]) -> Iterable[str]:
    yield found["benchmark"]
    if found["error"]:
        yield f"  cannot be used: {found['error']}"
        return
    yield f"  source    {found['source']}"
    yield f"  here      {found['folder'] or 'nothing yet'}"
    for name, size in found["files"].items():
        yield f"            {name:<45} {_bytes(size):>9}"
    if found["missing"]:
        yield f"  missing   {', '.join(found['missing'])}"
        yield f"            lmms-tasks data fetch {found['benchmark']}"
    else:
        yield f"  complete  {_bytes(found['bytes'])}"


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


# --- fetch -----------------------------------------------------------------------------------------------------------


def fetch_source(spec: Benchmark, origin: str | None) -> Source:
    """The server to fetch a benchmark from: the one named, else the one that LMMS_TASKS_DATA names, else the hub."""
    environ = dict(os.environ)
    if origin is not None:
        environ[sources.DATA] = origin
    elif environ.get(sources.DATA, "").strip().lower() not in ("hub", "modelscope"):
        environ[sources.DATA] = "hub"
    return sources.resolve(spec, environ)


def _fetch(args: argparse.Namespace, chosen: Sequence[Benchmark]) -> int:
    reports = []
    for spec in chosen:
        try:
            reports.append(_fetched(args, spec))
        except DataError as error:
            reports.append(Report(spec.name, args.origin or "hub", faults=[str(error)]))
        except OSError as error:
            reports.append(Report(spec.name, args.origin or "hub", faults=[f"{args.to or 'the cache'}: {error}"]))
    return _show(args, reports)


def _fetched(args: argparse.Namespace, spec: Benchmark) -> Report:
    source = fetch_source(spec, args.origin)
    _say(f"{spec.name}: fetching {source.describe()}")
    # README.md names the splits, which datasets.load_dataset needs to read the folder
    patterns = (*spec.files(), *(("README.md",) if args.to else ()))
    to = args.to.expanduser().resolve() / spec.hub if args.to else None
    folder = fetch.download(source, patterns, to=to)
    lacking = fetch.missing(folder, spec.files())
    if lacking:
        return Report(spec.name, source.describe(), str(folder), faults=[f"{source.repo} has no {', '.join(lacking)}"])
    if args.no_verify:
        files = {
            p.relative_to(folder).as_posix(): p.stat().st_size for q in spec.files() for p in fetch.found(folder, q)
        }
        return Report(spec.name, source.describe(), str(folder), files)
    here = Source(spec.name, "folder", source.repo, source.revision, folder)
    report = verify(spec, source=here, progress=_progress)
    report.source = source.describe()
    return report


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# --- verify ----------------------------------------------------------------------------------------------------------


def _verify(args: argparse.Namespace, chosen: Sequence[Benchmark]) -> int:
    reports = [
        verify(spec, with_images=not args.no_images, progress=_progress, workers=args.workers) for spec in chosen
    ]
    return _show(args, reports)


def _progress(what: str, total: int, items: Iterable[Any]) -> Iterable[Any]:
    from tqdm import tqdm

    shown: Iterable[Any] = tqdm(items, desc=what, total=total, unit="image", disable=None, file=sys.stderr)
    return shown


def _show(args: argparse.Namespace, reports: Sequence[Report]) -> int:
    faults = sum(len(report.faults) for report in reports)
    if args.json:
        print(json.dumps({"ok": not faults, "benchmarks": [_plain(report) for report in reports]}, indent=2))
    else:
        for report in reports:
            print("\n".join(_lines(report)))
        print(f"{faults} fault{'s' if faults > 1 else ''}" if faults else "no faults")
    return int(bool(faults))


def _plain(report: Report) -> dict[str, Any]:
    plain = dataclasses.asdict(report)
    for given, subset in zip(report.subsets, plain["subsets"]):  # noqa: B905 - the same subsets
        subset["prompts_match"] = given.prompts_match
    return plain


def _lines(report: Report) -> Iterable[str]:
    yield f"{report.benchmark}: {report.source}"
    if report.folder:
        yield f"  folder    {report.folder} ({_bytes(sum(report.files.values()))})"
    if report.subsets:
        yield f"  {'subset':<24}{'rows':>6} {'published':>9}   {'prompt length':<24}{'published':<24}fingerprint"
    for part in report.subsets:
        sign = "=" if part.prompts_match else " " if part.rows != part.published_rows else "≠"
        yield (
            f"  {part.name:<24}{part.rows:>6} {part.published_rows:>9}   {_lengths(part.prompts):<21} {sign} "
            f"{_lengths(part.published_prompts):<24}{part.fingerprint}"
        )
    if report.images:
        narrow, wide, low, high = report.image_sizes or (0, 0, 0, 0)
        yield f"  images    {report.images} decoded, {narrow} to {wide} wide, {low} to {high} high"
    if report.other_members:
        yield f"            {report.other_members} other members of the archive, checksums compared"
    yield from (f"  note      {note}" for note in report.notes)
    yield from (f"  FAULT     {fault}" for fault in report.faults)


def _lengths(lengths: PromptLengths | None) -> str:
    return f"{lengths.mean:.2f}, {lengths.minimum} to {lengths.maximum}" if lengths else "-"
