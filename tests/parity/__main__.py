"""`python tests/parity [--count N] [--seed N] [benchmark …]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# Some package of lmms-eval's installs a top-level `tests`: the folder above is the only name that is ours.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parity.run import OURS, main

parser = argparse.ArgumentParser(prog="python tests/parity", description=main.__doc__)
parser.add_argument("--count", type=int, default=100_000, help="inputs a benchmark (default: %(default)s)")
parser.add_argument("--seed", type=int, default=0, help="seed of the generated inputs (default: %(default)s)")
parser.add_argument("benchmarks", nargs="*", default=list(OURS), metavar="benchmark", help=", ".join(OURS))
arguments = parser.parse_args()
if unknown := set(arguments.benchmarks) - set(OURS):
    parser.error(f"unknown benchmark {', '.join(sorted(unknown))}: choose from {', '.join(OURS)}")
sys.exit(main(arguments.count, arguments.benchmarks, arguments.seed))
