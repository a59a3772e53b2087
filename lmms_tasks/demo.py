"""Three replayed models over the embedded sample, side by side, and a tiny random Hugging Face model.

Runs the real `lmms-eval` command four times, without the hub and without a GPU, and shows what each metric is for:
  careful   answers mostly right, in the form that was asked for
  prior     answers from prior knowledge instead of looking
  messy     knows as much as careful, but ignores the form
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: What lmms-eval's qwen2_5_vl imports beyond lmms-eval's own dependencies.
_NEEDED = ("decord", "qwen_vl_utils")

MODELS = ("careful", "prior", "messy")
TASKS = "slake,medxpertqa,vlms_are_biased"

#: Task, metric, and how to read it.
ROWS = (
    ("slake", "acc", "SLAKE, the reference scorer: messy looks ignorant, since it ignores the form"),
    ("slake", "acc_flexible", "what a careful grader marks right: messy knows as much as careful"),
    ("slake", "token_recall", "as LLaVA-Med reports it: words of the reference found anywhere in the reply"),
    ("medxpertqa", "acc", "MedXpertQA, the reference scorer: an answer that it cannot read counts as wrong"),
    ("medxpertqa", "acc_flexible", "the same knowledge, read wherever the reply states it"),
    ("medxpertqa", "format_ok", "share of replies in the form asked for: tells the two readings apart"),
    ("vlms_are_biased_main", "acc", "VLMs Are Biased, counterfactual pictures, lmms-eval's official rule"),
    ("vlms_are_biased_main", "task_mean", "the paper's headline: the unweighted mean of the seven topics"),
    ("vlms_are_biased_main", "bias_ratio", "lower is better: prior answers what such things usually look like"),
    ("vlms_are_biased_main", "acc_flexible", "a low bias_ratio beside a low acc can mean unread, not unbiased"),
    ("vlms_are_biased_original", "acc_flexible", "unmodified controls: prior knowledge is enough here"),
    ("vlms_are_biased", "unreadable", "share of replies that state no answer: refusals, two answers, cut off"),
)


def table(results: dict[str, dict[str, Any]]) -> str:
    """The metrics of the replayed models side by side; `results` are the parsed results files by model."""
    width = max(len(f"{task} {metric}") for task, metric, _ in ROWS)
    lines = [f"{'':{width}}  " + "".join(f"{model:>9}" for model in MODELS)]
    for task, metric, reading in ROWS:
        values = [results[model]["results"][task][f"{metric},none"] for model in MODELS]
        shown = "".join("      n/a" if value is None else f"{value:9.3f}" for value in values)
        lines.append(f"{f'{task} {metric}':{width}}  {shown}   {reading}")
    return "\n".join(lines)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--output", type=Path, default=Path("demo-results"), help="default: ./demo-results")
    parser.add_argument("--no-hf", action="store_true", help="leave the Hugging Face model out")


def run(args: argparse.Namespace) -> int:
    """Runs the demo; 1 where a run wrote no results."""
    started = time.monotonic()
    lacking = [] if args.no_hf else [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        print(
            f"lmms-tasks demo: the tiny Hugging Face model needs {' and '.join(lacking)}: "
            'pip install "lmms-tasks[hf]", or leave it out with --no-hf.',
            file=sys.stderr,
        )
        return 1
    results: dict[str, dict[str, Any]] = {}
    for model in MODELS:
        replies = Path(__file__).parent / "sample" / "replies" / f"{model}.jsonl"
        found = _evaluate(args.output / model, "--model", "replay", "--model_args", f"path={replies}", "--tasks", TASKS)
        if found is None:
            return 1
        results[model] = found
    print(f"\n{table(results)}\n")
    if not args.no_hf and not _hugging_face(args.output / "tiny-vlm"):
        return 1
    # Of a virtual environment that is not active, the shell does not know the command.
    shown = "lmms-tasks" if shutil.which("lmms-tasks") else str(Path(sys.executable).parent / "lmms-tasks")
    print(
        f"Results, tables and sample logs are in {args.output}/. A page with charts and samples:\n"
        f"  {shown} report {args.output / 'careful'} {args.output / 'prior'} {args.output / 'messy'} -o report.html\n"
        f"{time.monotonic() - started:.0f} s in all.",
    )
    return 0


def _evaluate(output: Path, *words: str) -> dict[str, Any] | None:
    """The results file of a run of lmms-eval over the sample; None where there is none, after showing why."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    shown = ["lmms-eval", *words, "--output_path", str(output), "--log_samples"]
    print("LMMS_TASKS_DATA=sample " + " ".join(shown), flush=True)
    # The command beside this interpreter: a virtual environment need not be activated.
    beside = Path(sys.executable).parent / "lmms-eval"
    head = [str(beside)] if beside.exists() else [sys.executable, "-m", "lmms_eval"]
    log = output / "log.txt"
    with log.open("w", encoding="utf-8") as file:
        subprocess.run(
            [*head, *shown[1:]],
            env={**os.environ, "LMMS_TASKS_DATA": "sample", "HF_HUB_OFFLINE": "1", "LMMS_TASKS_PRECEDENCE": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    # lmms-eval exits with 0 also where it failed: only the results file tells.
    found = sorted(output.rglob("*_results.json"))
    if not found:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        print(f"lmms-tasks demo: no results were written; the end of {log}:\n  " + "\n  ".join(tail), file=sys.stderr)
        return None
    parsed: dict[str, Any] = json.loads(found[-1].read_text(encoding="utf-8"))
    return parsed


def _hugging_face(output: Path) -> bool:
    from lmms_tasks import tiny_vlm

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tiny_vlm.build(Path(folder) / "tiny-vlm")
        found = _evaluate(
            output,
            *("--model", "qwen2_5_vl"),
            *("--model_args", f"pretrained={checkpoint},device=cpu,device_map=cpu,min_pixels=784,max_pixels=12544"),
            *("--tasks", TASKS, "--limit", "2", "--gen_kwargs", "max_new_tokens=8"),
        )
    if found is None:
        return False
    rows = sum(count["effective"] for count in found["n-samples"].values())
    scores = ", ".join(f"{group} acc {found['results'][group]['acc,none']:.3f}" for group in TASKS.split(","))
    print(f"\nA tiny Qwen2.5-VL with random weights answered {rows} questions: {scores}. It answers noise.\n")
    return True
