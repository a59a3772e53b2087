"""The inputs of the comparison: real replies, hand-written ones, and generated ones without end."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from parity import grammar_medxpertqa, grammar_slake, grammar_vlms

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests" / "golden"

#: What a scorer gets, reply first: (reply, answer), (reply, number of options) or (reply, truth, bias).
Item = tuple[Any, ...]

SLAKE_ANSWERS = {
    "en": (
        "Yes", "No", "MRI", "X-Ray", "Transverse  Plane", "Lung, Spinal Cord", "2", "Vitamin A", "T2", "Left Lung",
        "White", "Pneumonia",
    ),
    "zh": (
        "包含", "不包含", "是的", "不是", "没有", "X-Ray", "CT", "两个", "肺, 脊髓", "右肺", "黑色",
        "横断面", "2", "可以", "不可以",
    ),
}  # fmt: skip
OPTIONS = (
    "Hepatic abscess", "Choledocholithiasis", "A", "C. difficile colitis", "Vitamin B12 deficiency", "Biliary colic",
    "Figure C", "Both A and B", "Esophageal spasm", "None of the above",
)  # fmt: skip
TRUTHS = (
    ("4", "5"), ("5", "4"), ("3", "2"), ("31", "32"), ("23", "24"), ("10", "9"), ("Yes", "No"), ("No", "Yes"),
    ("4", None), ("Yes", None), (4, 5), ("{Yes}", "{No}"), ("13", None), ("11", "1"), ("a zebra", "a horse"),
    ("45", "4 or 5"),
)  # fmt: skip


def items(benchmark: str, rng: random.Random) -> Iterator[Item]:
    """Endless items of a benchmark: what was written by models and people first, then generated replies."""
    makers: dict[str, tuple[Callable[[], Iterable[Item]], Callable[[random.Random], Iterator[Item]]]] = {
        "slake": (_written_slake, _generated_slake),
        "medxpertqa": (_written_medxpertqa, _generated_medxpertqa),
        "vlms_are_biased": (_written_vlms, _generated_vlms),
    }
    written, generated = makers[benchmark]
    return itertools.chain(written(), generated(rng))


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file; none where there is no such file."""
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)


def _golden(pattern: str) -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.glob(pattern)):
        yield from lines(path)


def _real(pattern: str) -> Iterator[dict[str, Any]]:
    for path in sorted((SHARED / "replies").glob(pattern)):
        yield from lines(path)


# --- SLAKE ----------------------------------------------------------------------------------------------------------


def _slake_rows() -> list[dict[str, Any]]:
    path = SHARED / "hub" / "BoKelvin" / "SLAKE" / "test.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def _written_slake() -> Iterator[Item]:
    answers = {row["qid"]: row["answer"] for row in _slake_rows()}
    for row in _real("slake_*.jsonl"):
        if row["qid"] in answers:
            yield row["reply"], answers[row["qid"]]
    for row in lines(SHARED / "cases" / "slake.jsonl"):
        yield row["reply"] or "", row["doc"]["answer"]
    for row in _golden("slake*.jsonl"):
        if isinstance(row.get("reply"), str) and isinstance(row.get("reference", row.get("answer")), str):
            yield row["reply"], row.get("reference", row.get("answer"))


def _generated_slake(rng: random.Random) -> Iterator[Item]:
    known = [(language, answer) for language, answers in SLAKE_ANSWERS.items() for answer in answers]
    known += sorted({(row["q_lang"], row["answer"]) for row in _slake_rows()})
    while True:
        language, answer = rng.choice(known)
        for reply in itertools.islice(grammar_slake.replies(rng, answer, language), 8):
            yield reply, answer


# --- MedXpertQA -----------------------------------------------------------------------------------------------------


def _written_medxpertqa() -> Iterator[Item]:
    for row in _real("medxpertqa_*.jsonl"):
        yield row["reply"], 5 if "mm" in row["task"] else 10
    for row in lines(SHARED / "cases" / "medxpertqa.jsonl"):
        yield row["reply"] or "", len(row["doc"]["options"])
    for row in _golden("medxpertqa*.jsonl"):
        if isinstance(row.get("reply"), str):
            yield from ((row["reply"], 10), (row["reply"], 5))


def _generated_medxpertqa(rng: random.Random) -> Iterator[Item]:
    letters = "ABCDEFGHIJ"
    while True:
        count = rng.choice((5, 10))
        texts = rng.sample(OPTIONS, count)
        options = dict(zip(letters, texts, strict=False))
        for reply in itertools.islice(grammar_medxpertqa.replies(rng, rng.choice(letters[:count]), options), 8):
            yield reply, count


# --- VLMs Are Biased ------------------------------------------------------------------------------------------------


def _written_vlms() -> Iterator[Item]:
    for row in lines(SHARED / "cases" / "vlms_are_biased.jsonl"):
        yield row["reply"] or "", row["doc"]["ground_truth"], row["doc"]["expected_bias"]
    for row in _golden("vlms_are_biased*.jsonl"):
        if isinstance(row["reply"], str):
            yield row["reply"], row["reference"], row["bias"]
    # No replies of real models to this benchmark are at hand; those to the others are as good a text as any.
    truths = itertools.cycle(TRUTHS)
    for row in itertools.islice(_real("*.jsonl"), 0, None, 5):
        yield (row["reply"], *next(truths))


def _generated_vlms(rng: random.Random) -> Iterator[Item]:
    while True:
        truth, bias = rng.choice(TRUTHS)
        for reply in itertools.islice(grammar_vlms.replies(rng, truth, bias), 8):
            yield reply, truth, bias


def huge(benchmark: str, rng: random.Random) -> Iterator[Item]:
    """A few replies of a megabyte."""
    fields: dict[str, tuple[Any, ...]] = {"slake": ("CT",), "medxpertqa": (10,), "vlms_are_biased": ("4", "5")}
    last = {"slake": "ANSWER: CT", "medxpertqa": "ANSWER: C", "vlms_are_biased": "{4}"}[benchmark]
    for filler in ("a", " ", "\n", "4", "的", "{", "}", "{4} ", "C ", "word word\n", "(", "\ud800"):
        yield (filler * (2**20 // len(filler)) + rng.choice(("", "\n")) + last, *fields[benchmark])
