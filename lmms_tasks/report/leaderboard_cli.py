"""Which published protocols a run satisfies: a line for each of their metrics, with the settings that agree and differ.

A run of which any setting differs is never called a reproduction.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="output folder or results file of lmms-eval")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--format", choices=("md", "json", "csv", "latex"), default="md", help="default: md")


def run(args: argparse.Namespace) -> int:
    """0 where the lines were written, 1 where no run could be read."""
    from lmms_tasks.report import formats, protocols, report_cli

    try:
        loaded = report_cli.load(args.runs)
    except ValueError as error:
        print(f"lmms-tasks leaderboard: {error}", file=sys.stderr)
        return 1
    notes = [f"{one.label}: {problem}" for one in loaded for problem in one.problems]
    missing = [p for p in protocols.PROTOCOLS if not any(one.samples([task]) for one in loaded for task in p.tasks)]
    notes += [
        f"{protocol.benchmark}, {protocol.title}: needs {', '.join(protocol.tasks)}, which was not run."
        for protocol in missing
    ]
    return report_cli.write(
        formats.render(args.format, [table(loaded)], notes, runs=len(loaded)), args.output, "leaderboard"
    )


def table(loaded: list) -> Any:  # type: ignore[type-arg]
    """The lines of all runs: benchmark, protocol, metric, value, verdict, settings that agree, differ, are unknown."""
    from lmms_tasks.report import protocols
    from lmms_tasks.report.tables import Table

    rows = []
    for one in loaded:
        for line in protocols.lines(one):
            settings = ["; ".join(map(str, line.with_state(state))) or "–"
                        for state in (protocols.AGREES, protocols.DIFFERS, protocols.UNKNOWN)]  # fmt: skip
            rows.append(
                (
                    line.protocol.benchmark,
                    line.protocol.title,
                    line.metric,
                    one.label,
                    line.value,
                    line.verdict,
                    *settings,
                )
            )
    return Table(
        "leaderboard",
        "Published protocols",
        ("benchmark", "protocol", "metric", "run"),
        ("value", "verdict", "settings that agree", "settings that differ", "not known"),
        tuple(rows),
        "Values are in percent with 95 % intervals. Only a line that says “reproduces the protocol” may stand "
        "beside the "
        "publisher's own numbers as a reproduction.",
    )
