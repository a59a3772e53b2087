"""Runs of the real commands, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OLDER = Path(os.environ.get("LMMS_TASKS_OLDER_LMMS_EVAL", ROOT / ".lmms-eval-0.7.2"))
"""lmms-eval 0.7.2 unpacked beside the installed release; `make test` puts it there."""


@dataclass
class Run:
    """What a command left behind."""

    status: int
    output: str
    folder: Path

    def results(self) -> dict[str, Any]:
        """The one results file."""
        found = self._one("*_results.json")
        parsed: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
        return parsed

    def value(self, task: str, metric: str) -> Any:
        """A metric of a task or group in the results file."""
        return self.results()["results"][task][f"{metric},none"]

    def samples(self, task: str) -> list[dict[str, Any]]:
        """The sample log of a leaf."""
        found = self._one(f"*_samples_{task}.jsonl")
        return [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]

    def _one(self, pattern: str) -> Path:
        found = list(self.folder.rglob(pattern))
        assert len(found) == 1, f"{len(found)} files {pattern}; the command said:\n{self.output[-4000:]}"
        return found[0]

    def sample_logs(self) -> Iterator[Path]:
        """The files of sample logs."""
        return self.folder.rglob("*_samples_*.jsonl")


def environment(**changes: str | None) -> dict[str, str]:
    """The process's environment without settings of ours, offline, with the changes (None takes a variable out)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LMMS_TASKS_", "PYTEST_")) and name not in {"RANK", "WORLD_SIZE", "LOCAL_RANK"}
    }
    kept |= {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "COLUMNS": "160", "CUDA_VISIBLE_DEVICES": ""}
    for name, value in changes.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value
    return kept


def command(*words: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 300) -> Run:
    """A run of a command line; a word `lmms-eval` or `lmms-tasks` at its head is the one of this environment."""
    head, *rest = words
    own = Path(sys.executable).parent / head
    finished = subprocess.run(
        [str(own) if own.exists() else head, *rest],
        cwd=cwd,
        env=dict(environment() if env is None else env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        errors="replace",
    )
    return Run(finished.returncode, finished.stdout, cwd / "out")


def lmms_eval(
    *words: str,
    cwd: Path,
    tasks: str,
    model: str = "dummy",
    model_args: str = "response=A",
    data: str = "sample",
    front: tuple[str, ...] = ("lmms-eval",),
    **env: str | None,
) -> Run:
    """A run of the real `lmms-eval` with sample logs in `cwd/out`."""
    return command(
        *front,
        *("--model", model, "--model_args", model_args, "--tasks", tasks),
        *("--output_path", "out", "--log_samples", *words),
        cwd=cwd,
        env=environment(LMMS_TASKS_DATA=data, **env),
    )
