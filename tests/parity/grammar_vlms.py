"""Replies to a counting or yes/no question, generated to be hard for a matcher of braces and digits."""

from __future__ import annotations

import random
from collections.abc import Iterator

WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
)
HAN = ("零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二", "十三")
OPENERS = (
    "", "{", "{{", "{ ", "{ {", "**{", "\\boxed{", "(", "｛", "{\n", "$", "}", "`{", "\\{", '{"answer": ', "<answer>",
    "{\u3000", "{\u200b",
)  # fmt: skip
CLOSERS = (
    "", "}", "}}", " }", "} }", "}**", "}.", ")", "｝", "\n}", "$", "{", "}`", "\\}", "}\n\n", "</answer>", "\u3000}",
    "\u200b}", "}<|im_end|>",
)  # fmt: skip
UNITS = (
    "", "", " legs", " stripes", "%", "th", "条腿", "个", ".0", ",000", ".", "-legged", " or so", "²", "½", "x4", "/2",
    "e0",
)  # fmt: skip
PROSE = (
    "There are ", "The answer is ", "the animal has ", "not ", " or ", ", not ", "I see ", "In total ",
    "front legs and ", "Answer: ", "答案：", "图中有", "e.g., {9}", "{Yes} or {No}", "<think>", "</think>", "because ",
    "normally 4 ", "(", ")", "Wait, ", "actually ", "= ", "2 + 3 ", "none", "None", "nan", "I cannot tell", "\u2028",
    "\r\n", "\x1c", "\x00", "\x85", "😀", "e\u0301", "\ud83d", "\udc00", "İ", "ß", "ſ", "①", "²", "٣", "४", "𝟓", "Ⅳ",
    "½", "\ufeff",
)  # fmt: skip
SPACES = ("", "", "", " ", "\n", "\t", "\u3000", "\u00a0", "\u2009", "\x1f", "\v", "\u200b", "\r", "\u2029", "\u180e")
SIGNS = ("", "", "", "", "-", "+", "−", "~", "#", "0", "00", "1", "a")
YES_NO = (
    "yes", "no", "Yes", "No", "YES", "nO", "ＹＥＳ", "是", "否", "不是", "true", "yess", "no.", "yes/no", "Yes!",
    "{Yes}", "none", "n\u200bo", "yeſ", "NO\u0307",
)  # fmt: skip


def replies(rng: random.Random, truth: object, bias: object) -> Iterator[str]:
    """Endless replies to an item with this truth and bias, mostly of a few dozen characters."""
    known = [str(value) for value in (truth, bias) if value is not None]
    while True:
        kind = rng.random()
        if kind < 0.35:
            yield _space(rng) + _wrapped(rng, _answer(rng, known)) + _space(rng)
        elif kind < 0.4:
            yield rng.choice((*OPENERS, *CLOSERS, *PROSE, *known)) * rng.randrange(1, 300) + rng.choice(known)
        else:
            text = _space(rng).join(_piece(rng, known) for _ in range(rng.choice((1, 2, 2, 3, 4, 6, 9))))
            yield _mutated(rng, text) if rng.random() < 0.3 else text


def _piece(rng: random.Random, known: list[str]) -> str:
    kind = rng.random()
    if kind < 0.5:
        return _wrapped(rng, _answer(rng, known))
    if kind < 0.6:
        return _answer(rng, known)
    return rng.choice(PROSE)


def _wrapped(rng: random.Random, answer: str) -> str:
    if rng.random() < 0.4:
        return "{" + answer + "}"
    return rng.choice(OPENERS) + answer + rng.choice(CLOSERS)


def _answer(rng: random.Random, known: list[str]) -> str:
    kind = rng.random()
    if kind < 0.45:
        answer = rng.choice(known)
        answer = rng.choice((answer, answer, answer.upper(), answer.lower(), answer.swapcase()))
    elif kind < 0.6:
        answer = rng.choice(YES_NO)
    elif kind < 0.7:
        answer = rng.choice(WORDS + HAN)
    elif kind < 0.8:
        answer = "".join(
            chr(ord(char) + 0xFEE0) if char.isalnum() and char.isascii() else char for char in rng.choice(known)
        )
    else:
        answer = str(rng.randrange(0, 60))
    return rng.choice(SIGNS) + answer + rng.choice(UNITS)


def _space(rng: random.Random) -> str:
    return rng.choice(SPACES) * rng.choice((1, 1, 1, 2))


def _mutated(rng: random.Random, text: str) -> str:
    characters = list(text)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(characters) + 1)
        kind = rng.random()
        if kind < 0.4 or not characters:
            characters.insert(
                at, rng.choice((*SPACES[3:], *"{}0459.-,YNyn", "\ud800", chr(rng.randrange(0x20, 0x3000))))
            )
        elif kind < 0.7:
            del characters[min(at, len(characters) - 1)]
        else:
            characters[min(at, len(characters) - 1)] = chr(rng.randrange(0x20, 0x1F000))
    return "".join(characters)
