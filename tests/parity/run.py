"""Runs the official rules and the reference scorers over the same inputs and counts where they differ."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity import inputs

from lmms_scoring import medxpertqa, slake, vlms_are_biased

ORACLE_SCRIPT = Path(__file__).with_name("oracle.py")
EVALSCOPE = "evalscope 1.14.1"
BATCH = 500
SHOWN = 5


def oracle_python() -> Path:
    """The interpreter of the environment that holds evalscope: `LMMS_TASKS_ORACLE`, else `.venv-oracle` in the root."""
    given = os.environ.get("LMMS_TASKS_ORACLE")
    return Path(given) if given else inputs.ROOT / ".venv-oracle" / "bin" / "python"


class OracleError(RuntimeError):
    """The reference scorer cannot be run, or not in the version that the project compares with."""


class Oracle:
    """One reference scorer in a process of its own."""

    def __init__(self, scorer: str, python: Path) -> None:
        self.scorer = scorer
        self._process = subprocess.Popen(
            [str(python), str(ORACLE_SCRIPT), scorer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        hello = self._line()
        if "error" in hello:
            self.close()
            raise OracleError(f"{scorer}: {hello['error']} (in {python})")
        self.version = hello["version"]

    def send(self, batch: list[inputs.Item]) -> None:
        """Hands over a batch; `results` waits for its results."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(batch) + "\n")
        self._process.stdin.flush()

    def results(self) -> list[Any]:
        """The results of the batch sent last."""
        return list(self._line())

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=30)

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"{self.scorer}: the reference scorer ended with exit status {self._process.wait()}")
        return json.loads(line)


def _slake(item: inputs.Item) -> Any:
    return int(slake.official_acc(item[0], item[1]))


def _medxpertqa(item: inputs.Item) -> Any:
    return medxpertqa.official_letter(item[0], "ABCDEFGHIJ"[: item[1]]) or ""


def _vlms_are_biased(item: inputs.Item) -> Any:
    bias = vlms_are_biased.official_bias(*item)
    return [int(vlms_are_biased.official_acc(*item)), None if bias is None else int(bias)]


OURS: dict[str, Callable[[inputs.Item], Any]] = {
    "slake": _slake,
    "medxpertqa": _medxpertqa,
    "vlms_are_biased": _vlms_are_biased,
}
REFERENCES = {
    "slake": ("slake",),
    "medxpertqa": ("medxpertqa",),
    "vlms_are_biased": ("vlms_are_biased", "vlms_are_biased lmms-eval"),
}


@dataclass
class Comparison:
    """What one reference scorer and the official rule of this project said about the same inputs."""

    benchmark: str
    version: str
    count: int = 0
    differences: int = 0
    agreed_right: int = 0
    shown: list[tuple[inputs.Item, Any, Any]] = field(default_factory=list)


def compare(benchmark: str, count: int, seed: int = 0) -> list[Comparison]:
    """The comparison over `count` inputs with each reference scorer of a benchmark.

    Raises:
        OracleError: a reference scorer cannot be run, or evalscope has another version than the one compared with.
    """
    rng = random.Random(f"{benchmark} {seed}")
    large = list(inputs.huge(benchmark, rng))
    stream = itertools.chain(large, inputs.items(benchmark, rng))
    with ExitStack() as stack:
        oracles = [
            stack.enter_context(Oracle(name, Path(sys.executable) if "lmms-eval" in name else oracle_python()))
            for name in REFERENCES[benchmark]
        ]
        for oracle in oracles:
            if oracle.version.startswith("evalscope") and oracle.version != EVALSCOPE:
                raise OracleError(f"{oracle_python()} holds {oracle.version}, the project compares with {EVALSCOPE}")
        comparisons = [Comparison(benchmark, oracle.version) for oracle in oracles]
        for batch in _batches(itertools.islice(stream, count)):
            for oracle in oracles:
                oracle.send(batch)
            # The reference scorers work on the batch while this process does.
            ours = [OURS[benchmark](item) for item in batch]
            for oracle, comparison in zip(oracles, comparisons, strict=True):
                _count(comparison, batch, ours, oracle.results())
    return comparisons


def _batches(stream: Iterator[inputs.Item]) -> Iterator[list[inputs.Item]]:
    while batch := list(itertools.islice(stream, BATCH)):
        yield batch


def _count(comparison: Comparison, batch: list[inputs.Item], ours: list[Any], theirs: list[Any]) -> None:
    for item, mine, other in zip(batch, ours, theirs, strict=True):
        comparison.count += 1
        if mine != other:
            comparison.differences += 1
            if len(comparison.shown) < SHOWN:
                comparison.shown.append((item, mine, other))
        elif mine not in (0, "", [0, 0], [0, None]):
            comparison.agreed_right += 1


def report(comparison: Comparison, seconds: float) -> str:
    """One line with the counts, and below it the first inputs that differ."""
    head = (
        f"{comparison.benchmark:16} {comparison.version:18} {comparison.count:>8,} inputs  "
        f"{comparison.differences:>4,} differences  ({comparison.agreed_right:,} answers in both; {seconds:.0f} s)"
    )
    shown = [
        f"    {ascii(item)[:400]}\n      ours {mine!r}, theirs {other!r}" for item, mine, other in comparison.shown
    ]
    return "\n".join((head, *shown))


def main(count: int, benchmarks: list[str], seed: int) -> int:
    """Prints the comparisons; 0 where nothing differs, 1 where anything does, 2 where a scorer cannot be run."""
    differences = 0
    for benchmark in benchmarks:
        started = time.monotonic()
        try:
            comparisons = compare(benchmark, count, seed)
        except (OracleError, OSError) as error:
            print(f"parity: {error}", file=sys.stderr)
            return 2
        for comparison in comparisons:
            differences += comparison.differences
            print(report(comparison, time.monotonic() - started), flush=True)
    return 1 if differences else 0
