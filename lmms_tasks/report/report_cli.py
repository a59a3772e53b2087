"""A page about one or more runs of lmms-eval: scores with intervals, how the model fails, and how the run was made.

RUN is the --output_path of a run made with --log_samples, or its …_results.json. Without --format the report is one
HTML file that opens from disk; with it, the tables go to standard output (or to the file of -o).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

SUFFIXES = {".html": "html", ".md": "md", ".json": "json", ".csv": "csv", ".tex": "latex"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="output folder or results file of lmms-eval")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: report.html, or standard output)")
    parser.add_argument(
        "--format",
        choices=tuple(SUFFIXES.values()),
        help="default: what the name of the output ends with (.md, .json, .csv, .tex), else html",
    )
    parser.add_argument(
        "--samples", type=int, default=240, metavar="N", help="most samples in the gallery of the page (default: 240)"
    )


def run(args: argparse.Namespace) -> int:
    """0 where the report was written, 1 where no run could be read."""
    from lmms_tasks.report import formats, tables

    args.format = args.format or SUFFIXES.get(args.output.suffix.lower() if args.output else "", "html")
    try:
        loaded = load(args.runs)
    except ValueError as error:
        print(f"lmms-tasks report: {error}", file=sys.stderr)
        return 1
    if args.format == "html":
        from lmms_tasks.report import page

        text = page.report(loaded, samples=args.samples)
        args.output = args.output or Path("report.html")
    else:
        from lmms_tasks.report import published

        beside = published.table(loaded)
        found = [*tables.all_tables(loaded), *([beside] if beside.rows else [])]
        text = formats.render(args.format, found, notes(loaded) + published.notes(loaded), runs=len(loaded))
    return write(text, args.output, "report")


def load(paths: Sequence[str]) -> list:  # type: ignore[type-arg]
    """All runs at the paths, with labels that tell them apart. Raises RunError where a path holds none."""
    from lmms_tasks.report import runs

    loaded = [runs.read(files) for path in paths for files in runs.find(path)]
    labels = [one.label for one in loaded]
    for one in loaded:
        if labels.count(one.label) > 1:
            one.label = f"{one.label} ({one.files.date})"
    labels = [one.label for one in loaded]
    for number, one in enumerate(loaded, 1):
        if labels.count(one.label) > 1:
            one.label = f"{one.label} #{number}"
    return loaded


def notes(loaded: list) -> list[str]:  # type: ignore[type-arg]
    """What a reader of the tables must know: faults of the logs and departures from the official settings."""
    from lmms_tasks.report import settings

    found = []
    for one in loaded:
        prefix = f"{one.label}: " if len(loaded) > 1 else ""
        found += [prefix + problem for problem in one.problems]
        for departure, tasks in settings.all_departures(one):
            found.append(
                f"{prefix}{departure.setting} is {departure.found}, the official protocol asks for {departure.asked} "
                f"({', '.join(tasks)})"
            )
    return found


def write(text: str, output: Path | None, command: str) -> int:
    """0 where the text was written, to the file or else to standard output; 1 with a message where it was not."""
    if output is None:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        if not text.endswith("\n"):
            sys.stdout.buffer.write(b"\n")
        return 0
    try:
        output.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        print(f"lmms-tasks {command}: {output} cannot be written ({error})", file=sys.stderr)
        return 1
    size = output.stat().st_size
    print(f"{output} ({f'{size / 1e6:.1f} MB' if size >= 100_000 else f'{size / 1e3:.1f} kB'})", file=sys.stderr)
    return 0
