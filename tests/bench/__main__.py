"""`python tests/bench [--quick] [--only NAME …]`: a table of measures against their targets, and .bench/bench.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Some package of lmms-eval's installs a top-level `tests`, so these modules are found as their own.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import measures
import reports
import standins
from measures import ROOT, Row


def oracle() -> str | None:
    """The Python of EvalScope's environment, None where there is none."""
    for place in (os.environ.get("LMMS_TASKS_ORACLE"), str(ROOT / ".venv-oracle" / "bin" / "python")):
        if place and Path(place).exists():
            return place
    return None


def main() -> int:
    """1 where a target is missed at full size."""
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one percent of the data: shows that it works, not how fast"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the measures, e.g. scoring server")
    arguments = parser.parse_args()
    hub = standins.make(ROOT / ".bench" / ("small" if arguments.quick else "full"), 0.01 if arguments.quick else 1.0)
    os.environ["LMMS_TASKS_DATA"] = str(hub)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = ROOT / ".bench" / "out"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    count, reference = (400 if arguments.quick else 4000), oracle()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "slake": lambda: iter([measures.slake_pictures(hub)]),
        "medxpertqa": lambda: iter([measures.medxpertqa_pictures(hub)]),
        "vlms": lambda: iter([measures.vlms_pictures(hub, 1)]),
        "scoring": lambda: measures.scoring(hub, reference, folder, count),
        "aggregation": lambda: iter([measures.aggregation(hub)]),
        "run": lambda: measures.whole_run(hub, folder),
        "server": lambda: measures.server_run(hub, folder, reference),
        "growth": lambda: iter([measures.growth(hub)]),
        "imports": lambda: iter([measures.imports()]),
        "report": lambda: reports.report(folder),
    }
    rows = []
    for name in arguments.only or parts:
        for row in parts[name]():
            rows.append(row)
            print(f"{row.what}: {row.ours}; {row.yardstick}; target {row.target}", file=sys.stderr, flush=True)
    print(measures.table(rows))
    report = {
        "quick": arguments.quick,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "rows": [row.json() for row in rows],
    }
    (ROOT / ".bench" / "bench.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    return int(not arguments.quick and any(row.met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
