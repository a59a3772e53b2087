"""Whether run B is really better than run A, paired by sample; more runs are each held against the first.

A difference counts where its 95 % interval, from a bootstrap over pictures, objects or questions, leaves out 0.
Runs over other rows, or scored by another version of the rules, are not paired.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="output folders or results files of lmms-eval, two or more"
    )
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--format", choices=("md", "json", "csv", "latex"), default="md", help="default: md")
    parser.add_argument(
        "--flips", type=int, default=20, metavar="N", help="most flipped samples to list a pair of runs (default: 20)"
    )


def run(args: argparse.Namespace) -> int:
    """0 where all runs could be paired with the first; 1, with the reason, where one could not."""
    from lmms_tasks.report import compare, formats, published, report_cli

    try:
        loaded = report_cli.load(args.runs)
        if len(loaded) < 2:
            print(
                f"lmms-tasks compare: {', '.join(args.runs)} holds one run, {loaded[0].label}; name two or more",
                file=sys.stderr,
            )
            return 2
        twice = next((one for one in loaded[1:] if one.files == loaded[0].files), None)
        if twice is not None:
            print(
                f"lmms-tasks compare: {twice.label} is named twice, in {twice.files.folder}; a run cannot be held against "
                "itself",
                file=sys.stderr,
            )
            return 2
        found = [compare.compare(loaded[0], other) for other in loaded[1:]]
    except ValueError as error:
        print(f"lmms-tasks compare: {error}.", file=sys.stderr)
        return 1
    tables = [compare.differences_table(found), *(compare.flips_table(one, args.flips) for one in found)]
    beside = published.table(loaded)
    if beside.rows:
        tables.append(beside)
    notes = [note for one in found for note in one.notes] + report_cli.notes(loaded) + published.notes(loaded)
    return report_cli.write(formats.render(args.format, tables, notes, runs=2), args.output, "compare")
