"""`python tests/cost.py`: what a full run reads, in requests, images, characters and image tokens of common models.

Counts the data that LMMS_TASKS_DATA names; without it, the stand-ins that `make bench` makes, whose numbers and texts'
lengths are about the published ones. Sizes of images are those of the data.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from pathlib import Path

from PIL import Image

TASKS = {
    "slake": ("slake", ("en_open", "en_closed", "zh_open", "zh_closed")),
    "medxpertqa_text": ("medxpertqa", ("text",)),
    "medxpertqa_mm": ("medxpertqa", ("mm",)),
    "vlms_are_biased": (
        "vlms_are_biased",
        ("main", "identification", "withtitle", "original", "remove_background_q1q2", "remove_background_q3"),
    ),
}


def qwen(width: int, height: int) -> int:
    """Tokens of Qwen2.5-VL: one for 28x28 pixels, 4 to 16,384, both sides rounded (its `smart_resize`)."""
    scale = min(1.0, math.sqrt(16_384 * 784 / (width * height)))
    return max(4, round(width * scale / 28) * round(height * scale / 28))


def internvl(width: int, height: int) -> int:
    """Tokens of InternVL2/3: 256 for each tile of 448x448, the grid of at most 12 that fits the shape best, and a thumbnail."""
    grids = sorted(
        {(a, b) for a in range(1, 13) for b in range(1, 13) if a * b <= 12}, key=lambda grid: grid[0] * grid[1]
    )
    best, nearest = (1, 1), math.inf
    for columns, rows in grids:
        distance = abs(width / height - columns / rows)
        larger = width * height > 0.5 * 448 * 448 * columns * rows
        if distance < nearest or (distance == nearest and larger):
            best, nearest = (columns, rows), distance
    tiles = best[0] * best[1]
    return 256 * (tiles + (tiles > 1))


MODELS: dict[str, Callable[[int, int], int]] = {
    "Qwen2.5-VL": qwen,
    "InternVL3": internvl,
    "LLaVA-1.5": lambda width, height: 576,
    "Gemma 3": lambda width, height: 256,
}


def line(task: str) -> str:
    """The row of a task."""
    benchmark, subsets = TASKS[task]
    hooks = importlib.import_module(f"lmms_tasks.{benchmark}.hooks")
    requests = images = characters = 0
    tokens = dict.fromkeys(MODELS, 0)
    for subset in subsets:
        for doc in getattr(hooks, subset)(None):
            requests += 1
            characters += len(hooks.doc_to_text(doc))
            for image in hooks.doc_to_visual(doc):
                images += 1
                for model, count in MODELS.items():
                    tokens[model] += count(*image.size)
    counted = " | ".join(f"{tokens[model] / 1e6:.2f}" for model in MODELS)
    return f"| `{task}` | {requests:,} | {images:,} | {characters / 1e6:.2f} | {counted} |"


def main() -> None:
    """Prints the table."""
    os.environ.setdefault("LMMS_TASKS_DATA", str(Path(__file__).resolve().parents[1] / ".bench" / "full"))
    Image.MAX_IMAGE_PIXELS = None
    print(f"| tasks | requests | images | characters, millions | {' | '.join(MODELS)} |")
    print("|---|" + "---|" * (3 + len(MODELS)))
    for task in TASKS:
        print(line(task), flush=True)


if __name__ == "__main__":
    main()
