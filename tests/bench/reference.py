"""EvalScope in its own environment: `python reference.py scoring REPLIES.json` or `python reference.py run HUB URL OUT`.

Needs nothing of this project beside it. Prints a JSON object in the last line.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def scoring(path: str) -> dict[str, list[float]]:
    """Seconds a document of the reference scorers, for each set of replies."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "parity"))
    import oracle  # type: ignore[import-not-found]

    seconds = []
    for name, items in json.loads(Path(path).read_text(encoding="utf-8")):
        score = oracle.SCORERS[name][1]()
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for item in items:
                score(item)
            best = min(best, time.perf_counter() - began)
        seconds.append(best / len(items))
    return {"seconds": seconds}


def run(hub: str, url: str, out: str) -> dict[str, Any]:
    """A whole run of the three benchmarks against a server."""
    began = time.perf_counter()
    from evalscope import TaskConfig, run_task

    places = {
        "slake": "BoKelvin/SLAKE",
        "medxpertqa": "TsinghuaC3I/MedXpertQA",
        "vlms_are_biased": "anvo25/vlms-are-biased",
    }
    run_task(
        TaskConfig(
            model="m",
            api_url=url,
            api_key="none",
            eval_type="openai_api",
            datasets=list(places),
            dataset_args={name: {"local_path": str(Path(hub) / place)} for name, place in places.items()},
            dataset_hub="huggingface",
            eval_batch_size=16,
            generation_config={"temperature": 0, "max_tokens": 32, "stream": False},
            work_dir=out,
        )
    )
    replies = sum(
        len(file.read_text(encoding="utf-8").splitlines()) for file in Path(out).rglob("predictions/**/*.jsonl")
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": time.perf_counter() - began, "memory": memory, "replies": replies}


if __name__ == "__main__":
    print("\n" + json.dumps({"scoring": scoring, "run": run}[sys.argv[1]](*sys.argv[2:])))
