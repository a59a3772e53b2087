"""Prints the numbers that the READMEs quote from real replies and real text: `make numbers`. Needs ../shared.

For each file of real replies: how often the official rule and the flexible reading find the reference, how many replies
each leaves unread, where the two differ, and, for SLAKE, what a judge would be asked. For each benchmark: what a full
run sends.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lmms_scoring import medxpertqa, slake
from lmms_scoring.outcomes import Outcome, Score

SHARED = Path(__file__).resolve().parents[2] / "shared"
PATCH = 28 * 28
"""Pixels for which Qwen2.5-VL counts a token."""


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, or of one JSON list."""
    text = path.read_text(encoding="utf-8")
    return list(json.loads(text)) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def main() -> int:
    """Prints the tables; 2 where the real data is not there."""
    if not SHARED.is_dir():
        print(f"needs the folder of real data {SHARED}", file=sys.stderr)
        return 2
    hub = SHARED / "hub"
    questions = {str(row["qid"]): row for row in lines(hub / "BoKelvin" / "SLAKE" / "test.json")}
    medical = hub / "TsinghuaC3I" / "MedXpertQA"
    items = {row["id"]: row for part in ("Text", "MM") for row in lines(medical / part / "test.jsonl")}

    print(f"{'replies':58}{'rows':>6}{'acc':>8}{'unread':>8}{'flexible':>10}{'unread':>8}{'differ':>8}{'judge':>8}")
    for path in sorted((SHARED / "replies").glob("*.jsonl")):
        print(_readings(path, questions, items))
    mistral = lines(SHARED / "replies" / "medxpertqa_mistral_small_answer.jsonl")
    right = sum(
        medxpertqa.authors_letter(entry["reply"], items[entry["id"]]["options"]) == items[entry["id"]]["label"]
        for entry in mistral
    )
    print(
        f"\nauthors' reading of medxpertqa_mistral_small_answer: {right} of {len(mistral)} right, {right / len(mistral):.3f}"
    )
    print(f"\n{'requests of a full run':22}{'requests':>10}{'characters of prompts':>24}{'image tokens':>14}")
    for name, prompts, pixels in _requests(hub, questions.values(), items.values()):
        tokens = f"{pixels // PATCH:,}" if pixels else ""
        print(f"{name:22}{len(prompts):10,}{sum(map(len, prompts)):24,}{tokens:>14}")
    files, png = _bytes_of_slake(hub, questions.values())
    print(f"\nSLAKE's images, sent with every question: {files / 1e6:.0f} MB as files, {png / 1e6:.0f} MB as PNG")
    return 0


def _score(entry: dict[str, Any], questions: dict[str, Any], items: dict[str, Any]) -> Score:
    if "qid" in entry:
        row = questions[str(entry["qid"])]
        return slake.score(entry["reply"], row["answer"], language=row["q_lang"], question=row["question"])
    row = items[entry["id"]]
    return medxpertqa.score(entry["reply"], row["label"], row["options"])


def _readings(path: Path, questions: dict[str, Any], items: dict[str, Any]) -> str:
    entries = lines(path)
    scores = [_score(entry, questions, items) for entry in entries]
    acc = sum(score.acc for score in scores) / len(scores)
    flexible = sum(score.acc_flexible for score in scores) / len(scores)
    differ = sum(
        score.acc != score.acc_flexible if "qid" in entry else score.official != score.reading.value
        for entry, score in zip(entries, scores, strict=True)
    )
    judge = ""
    if "qid" in entries[0]:
        sent = [
            (entry["qid"], entry["reply"])
            for entry, score in zip(entries, scores, strict=True)
            if not score.acc and score.outcome is not Outcome.UNREADABLE
        ]
        different = {(questions[str(qid)]["question"], questions[str(qid)]["answer"], reply) for qid, reply in sent}
        judge = f"{len(sent)}/{len(different)}"
    unread = sum(score.official is None for score in scores)
    unreadable = sum(score.outcome is Outcome.UNREADABLE for score in scores)
    return f"{path.stem:58}{len(scores):6}{acc:8.3f}{unread:8}{flexible:10.3f}{unreadable:8}{differ:8}{judge:>8}"


def _requests(
    hub: Path, questions: Iterable[dict[str, Any]], items: Iterable[dict[str, Any]]
) -> Iterator[tuple[str, list[str], int]]:
    from lmms_data import images
    from lmms_data.archive import ImageArchive

    questions, items = list(questions), list(items)
    archive = ImageArchive(hub / "BoKelvin" / "SLAKE" / "imgs.zip", "imgs/")
    sizes = {name: images.size(archive.read(name), name) for name in {row["img_name"] for row in questions}}
    pixels = sum(width * height for width, height in (sizes[row["img_name"]] for row in questions))
    yield "slake", [slake.prompt(row["question"], row["q_lang"]) for row in questions], pixels
    for name, with_images in (("medxpertqa_text", False), ("medxpertqa_mm", True)):
        chosen = [row for row in items if ("images" in row) is with_images]
        yield name, [medxpertqa.prompt(row["question"], row["options"]) for row in chosen], 0


def _bytes_of_slake(hub: Path, questions: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """What `--model openai_files` and `--model openai` make of the pictures of all questions, before base64."""
    from lmms_data.archive import ImageArchive
    from lmms_tasks.pictures import Picture, png_of

    archive = ImageArchive(hub / "BoKelvin" / "SLAKE" / "imgs.zip", "imgs/")
    files = png = 0
    for name, times in Counter(row["img_name"] for row in questions).items():
        picture = Picture(archive.image(name, "RGB"), partial(archive.read, name))
        files += times * len(picture.file()[0])
        png += times * len(png_of(picture))
    return files, png


if __name__ == "__main__":
    sys.exit(main())
