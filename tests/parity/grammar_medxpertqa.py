"""Replies to a multiple-choice question, generated to be hard for a letter parser."""

from __future__ import annotations

import random
from collections.abc import Iterator

MARKERS = (
    "ANSWER:",
    "Answer:",
    "answer :",
    "ANSWER\u3000:",
    "ANSWER\n:\n",
    "ANSWER：",
    "answer:**",
    "**ANSWER:** ",
    "ANSWER: ** ",
    "ANSWER:****",
    "anſwer:",
    "ANSWEŔ:",
    "ANSWER\u0130:",
    "ANSWERS:",
    "MYANSWER:",
    "ANSWER\u200b:",
    "ANSWER\u2028:",
    "ANSWER\u0085:",
    "ANSWER\x1c:\x1f",
    "答案：",
    "答案:",
    "Final answer:",
    "The answer is",
    "ＡＮＳＷＥＲ:",
    "answer:answer:",
    "ANSWER:\t",
    "ANSWER:\u00a0",
    "ANSWER:\x00",
    "ANSWER ::",
)
OPENERS = (
    "",
    "",
    "",
    "(",
    "[",
    "（",
    "【",
    "{",
    "((",
    "[[",
    "$",
    "$$",
    "\\(",
    "\\boxed{",
    "\\boxed {",
    "\\fbox{",
    "\\text{",
    "\\textbf{",
    "\\mathbf{",
    "\\mathrm{",
    "$\\boxed{\\text{",
    "\\boxed{(",
    "\\(\\mathrm{",
    "$ $",
    "\\Boxed{",
    "\\mathit{",
    "*",
    "<",
    "( ",
    "[\n",
    "（\u3000",
)
CLOSERS = ("", "", "", ")", "]", "）", "】", "}", "}}$", "$", "\\)", " )", ".", "。", "...", ">", "**", "\n", "\u2029")
SEPARATORS = (
    "",
    " ",
    ",",
    ", ",
    "/",
    "，",
    "、",
    " and ",
    " or ",
    " AND ",
    " Or ",
    " and and ",
    " and",
    ";",
    " not ",
    "\n",
    "\t",
    "\u3000",
    "  ",
    " & ",
    "|",
    " und ",
    ".",
    " 和 ",
    ",and,",
    ", or ",
    "/ /",
    "-",
    "\u00a0",
)
ODDITIES = (
    "İ",
    "ı",
    "ſ",
    "K",
    "Ω",
    "ﬁ",
    "ß",
    "ẞ",
    "Ⅳ",
    "Ⓑ",
    "𝐂",
    "Ａ",
    "ａ",
    "А",
    "С",
    "Β",
    "١",
    "४",
    "５",
    "²",
    "½",
    "Ǆ",
    "ǅ",
    "Σ",
    "\ud800",
    "😀",
    "👨‍⚕️",
    "\u0301",
    "\u202e",
    "\x00",
    "\x1b[1m",
    "\ufeff",
    "\u2028",
    "\u0085",
    "\x0b",
    "\x0c",
    "\r",
    "é",
    "É",
    "中文",
    "ꟿ",
    "ᴬ",
    "🅰",
)
PROSE = (
    "because I computed the score",
    "not C",
    "the others are wrong",
    "and that is why",
    "or perhaps none",
    "see above",
    "is correct",
    "A small leak",
    "I think",
    "CT and MRI",
    "vitamin B12",
    "Hepatitis B",
    "let's think step by step",
    "[LETTER]",
    "<answer>",
    "[LETTER] is one of A,B,C,D,E",
    "(see the diagram above)",
    "3.3 MeV",
    "选项C、D排除。",
    "A through J",
    "None of the above",
    "It is not B, the answer is",
    "DNA",
    "BAD",
    "ABBA",
    "FACE",
    "<think>",
    "</think>",
    "<|im_end|>",
    "e.g.",
    "42",
    "ANSWER",
    "answer",
    ":",
    "**",
    "option",
    "Option",
    "\\text{",
    "}",
    "$",
)


def replies(rng: random.Random, label: str, options: dict[str, str]) -> Iterator[str]:
    """Endless replies to an item with these options and this label, of a few characters to some thousands."""
    labels = list(options)
    while True:
        kind = rng.random()
        if kind < 0.04:
            yield _noise(rng, labels)
        elif kind < 0.06:
            unit = rng.choice((*MARKERS, *OPENERS[3:], *SEPARATORS[1:], *ODDITIES, *PROSE, label, "answer:" + label))
            yield unit * rng.randrange(1, 400) + rng.choice(("", label, "ANSWER: " + label))
        else:
            parts = [_piece(rng, label, labels, options) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6, 10)))]
            text = rng.choice(("", " ", "\n", "\n\n", ". ", "")).join(parts)
            yield _mutated(rng, text) if rng.random() < 0.35 else text


def _piece(rng: random.Random, label: str, labels: list[str], options: dict[str, str]) -> str:
    kind = rng.random()
    if kind < 0.6:
        answer = _answer(rng, label, labels, options)
        return rng.choice(MARKERS) + rng.choice(("", " ", " ", "\n", "  ", "\u3000")) + answer
    if kind < 0.75:
        return _answer(rng, label, labels, options)
    if kind < 0.9:
        return rng.choice(PROSE)
    return rng.choice(ODDITIES) + rng.choice(("", label, rng.choice(PROSE)))


def _answer(rng: random.Random, label: str, labels: list[str], options: dict[str, str]) -> str:
    named = [_name(rng, label, labels) for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 5)))]
    listed = named[0] + "".join(rng.choice(SEPARATORS) + name for name in named[1:])
    tail = ""
    if rng.random() < 0.4:
        text = options[rng.choice((label, rng.choice(labels)))] if rng.random() < 0.5 else rng.choice(PROSE)
        tail = rng.choice((" ", ". ", ": ", ") ", ", ", "", "\n")) + text
    return rng.choice(OPENERS) + listed + rng.choice(CLOSERS) + tail


def _name(rng: random.Random, label: str, labels: list[str]) -> str:
    kind = rng.random()
    if kind < 0.6:
        return label if rng.random() < 0.5 else rng.choice(labels)
    if kind < 0.7:
        return rng.choice(labels).lower()
    if kind < 0.78:
        return chr(ord(rng.choice(labels)) + 0xFEE0)
    if kind < 0.86:
        return "".join(rng.choice(labels) for _ in range(rng.randrange(2, 5)))
    if kind < 0.92:
        return rng.choice("KLXYZ0123456789")
    return rng.choice(ODDITIES)


def _mutated(rng: random.Random, text: str) -> str:
    for _ in range(rng.randrange(1, 4)):
        if not text:
            return text
        at = rng.randrange(len(text))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + rng.choice((*ODDITIES, *SEPARATORS, *OPENERS, *CLOSERS)) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at].swapcase() + text[at + 1 :]
        elif kind == 3:
            text = text[:at]
        else:
            begin = rng.randrange(len(text))
            text = text[:at] + text[min(at, begin) : max(at, begin)] + text[at:]
    return text


def _noise(rng: random.Random, labels: list[str]) -> str:
    alphabet = (*labels, *"answerANSWER:()[]*$\\{} \n,/.", *ODDITIES, "boxed", "text", "ANSWER:", "（", "】", "、")
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(0, 120)))
