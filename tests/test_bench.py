"""The bench runs on one percent of the data (its runs of lmms-eval left out). How fast is not tested here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running import command, environment

PARTS = ("slake", "medxpertqa", "vlms", "scoring", "aggregation", "growth", "imports")


@pytest.mark.xdist_group("bench")
def test_a_quick_bench_measures_what_it_says(root: Path) -> None:
    run = command("python", "tests/bench", "--quick", "--only", *PARTS, cwd=root, env=environment(), timeout=900)
    assert run.status == 0, run.output[-3000:]
    report = json.loads((root / ".bench" / "bench.json").read_text(encoding="utf-8"))
    assert report["quick"]
    what = [row["what"] for row in report["rows"]]
    pictures = ("SLAKE pictures", "MedXpertQA pictures", "VLMs Are Biased pictures")
    for part in (*pictures, "aggregation", "growth", "importing"):
        assert any(part in line for line in what), part
    assert sum("process_results" in line for line in what) >= 6
    for row in report["rows"]:
        assert row["what"] in run.output
