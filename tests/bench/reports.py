"""What a report on a run over all rows takes: time, memory, and the size of its page."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measures import Row, run

TASKS = {
    "slake": ("en_open", "en_closed", "zh_open", "zh_closed"),
    "medxpertqa": ("text", "mm"),
    "vlms_are_biased": ("main", "identification", "withtitle", "original", "remove_background_q1q2",
                        "remove_background_q3"),
}  # fmt: skip
FORMS = (
    "ANSWER: {}",
    "{{{}}}",
    "I would say {}.",
    "",
    "**{}**",
    "B",
    "{} or {}",
    "Let us see. " * 150 + "So it is {}.",
)


#: Runs the command in a child and prints its seconds and gigabytes. A child of the bench itself would be counted with
#: the memory that the bench held when it was started.
MEASURED = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run([sys.executable, "-m", "lmms_tasks.cli", *sys.argv[1:]], check=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2)
"""


def report(folder: Path) -> Iterator[Row]:
    """The page about 18,138 judged replies, in a process of its own."""
    count = _log(folder / "judged")
    page = folder / "report.html"
    output = run([sys.executable, "-c", MEASURED, "report", str(folder / "judged"), "-o", str(page)])
    spent, memory, size = *map(float, output.split()[-2:]), page.stat().st_size / 1e6
    what = f"a report on {count:,} replies"
    yield Row(f"{what}: time", f"{spent:.1f} s", "", None, "at most 30 s", spent <= 30)
    yield Row(f"{what}: memory", f"{memory:.2f} GB", "", None, "at most 1 GB", memory <= 1)
    yield Row(f"{what}: page", f"{size:.1f} MB", "", None, "at most 8 MB", size <= 8)


def _log(folder: Path) -> int:
    """Sample logs of scripted replies to all rows of the data in use, judged by the tasks' own hooks; their lines."""
    from lmms_data import rows

    folder.mkdir(parents=True)
    count = 0
    for benchmark, subsets in TASKS.items():
        hooks: Any = importlib.import_module(f"lmms_tasks.{benchmark}.hooks")
        for subset in subsets:
            judge = hooks.process_results_without_bias if subset == "original" else hooks.process_results
            lines = []
            for index, document in enumerate(rows.load(benchmark, subset)):
                answer = document.get("answer") or document.get("label") or document.get("ground_truth")
                reply = FORMS[index % len(FORMS)].format(answer, "B")
                lines.append(
                    {
                        "doc_id": index, "filtered_resps": reply, **judge(document, [reply]),
                        "input": hooks.doc_to_text(document),
                    }
                )  # fmt: skip
            path = folder / f"20260102_030405_samples_{benchmark}_{subset}.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            count += len(lines)
    return count
