"""Replies to SLAKE questions made up at random around a reference, to compare scorers with each other."""

from __future__ import annotations

import random
from collections.abc import Iterator

MARKERS = (
    "ANSWER:", "ANSWER: ", "answer:", "Answer:\n", "ANSWER:\n\n", "aNsWeR:\t", "ANSWER：", "ANSWER :", "ANſWER:",
    "ANSWER:\u2028", "ANSWER:\x85", "ANSWER:\x1c", "**ANSWER:** ", "ANSWER:ANSWER:", "MYANSWER: ", "答案：",
    "答案: ", "The answer is ", "", "", "",
)  # fmt: skip
WRAPS = (
    ("", ""), ("", ""), ("", "."), ("", "。"), ('"', '"'), ("'", "'"), ("\"'", "'\""), ("“", "”"), ("(", ")"),
    ("（", "）"), ("(", "）"), ("((", ")"), ("(", ""), ("", ")"), ("（", ""), ("[", "]"), ("【", "】"),
    ("《", "》"), ("{", "}"), ("<", ">"), ("**", "**"), ("`", "`"), ("$", "$"), ("\\boxed{", "}"),
    ("$\\text{", "}$"), ("\\(", "\\)"), ("<answer>", "</answer>"), ("<think>", "</think>"), ('{"answer": "', '"}'),
    ("a ", ""), ("the ", ""), ("The ", " the"), ("An ", "个"), ("", "个"), ("", " 个"), ("一", ""),
    ("", " (axial)"), ("", "（正面）"), ("not ", ""), ("不", ""), ("没有", ""), ("", "\n"), ("\n", ""), ("", "、"),
    ("、", "，"), ("—", "…"), ("·", "・"), ("«", "»"),
)  # fmt: skip
SPACES = (
    " ", "  ", "\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0", "\u1680",
    "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\x00", "\u180e", "",
)  # fmt: skip
PIECES = (
    "yes", "Yes", "NO", "nope", "yeah", "yep", "true", "False", "none", "zero", "one", "Two", "three", "four",
    "five", "six", "seven", "EIGHT", "nine", "ten", "eleven", "a", "an", "the", "是", "是的", "有", "包含", "存在",
    "可以", "能", "会", "否", "不是", "没有", "无", "不包含", "不存在", "不可以", "不能", "不会", "不正常", "零",
    "一", "两", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "个", "两个", "3个", "³个", "٣个",
    "𝟛", "X-Ray", "x ray", "X 光", "x光", "X射线", "x 射线", "Xray", "İ", "ı", "ß", "ſ", "ﬁ", "Ω", "K", "e\u0301",
    "\u0301", "ǅ", "👍", "👨‍👩‍👧", "🏥", "lung", "Left", "CT", "MRI", "肺", "左侧", "()", "（）", "( )", "(((",
    ")))", "（（", "ANSWER:", "ANSWER: <answer>", "ANSWER: <答案>", "\\", "'", '"', "!", "#", "%", "_", "~", "｡",
    "｢", "•", "–", "′", "¿", "\ud800",
)  # fmt: skip
PROMPTS = (
    'The last line of your response must be of the form "ANSWER: <answer>" (without quotes).',
    '回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。',
    "Answer the question with a single word or phrase in English.",
    "The image shows the chest (PA view).",
    "Looking at the scan, answer: first, the left lung.",
    "<think>It could be CT or MRI.</think>",
    "<think>ANSWER: Yes",
    "Question: Is the lung healthy?\nANSWER: No",
)
ODD = (
    "".join(SPACES)
    + "ﾊﾝＡｂ１２ＡＮＳＷＥＲ：！？。＂＃（）＊＋，－／；＜＝＞＠［＼］＾＿｀｛｜｝～、《》【】"
    + "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~答案一二三两个aA0\u0307\u0130"
)


def replies(rng: random.Random, answer: str, language: str) -> Iterator[str]:
    """Endless replies around one reference: right, nearly right, broken, huge; `language` is `en` or `zh`."""
    while True:
        yield _reply(rng, answer, language)


def _reply(rng: random.Random, answer: str, language: str) -> str:
    kind = rng.random()
    if kind < 0.03:
        return "".join(rng.choice(ODD) for _ in range(rng.randrange(12)))
    if kind < 0.031:
        return _huge(rng, answer)
    core = _core(rng, answer)
    for _ in range(rng.randrange(3)):
        opening, closing = rng.choice(WRAPS)
        core = opening + core + closing
    reply = rng.choice(MARKERS) + core
    if rng.random() < 0.25:
        reply = rng.choice(PROMPTS if language == "en" else PROMPTS[::-1]) + rng.choice(SPACES) + reply
    if rng.random() < 0.15:
        reply = reply + rng.choice(SPACES) + rng.choice(MARKERS) + rng.choice((answer, rng.choice(PIECES), ""))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        reply = _mutated(rng, reply)
    return rng.choice(("", "", "", *SPACES)) + reply + rng.choice(("", "", "", *SPACES))


def _core(rng: random.Random, answer: str) -> str:
    kind = rng.randrange(12)
    if kind < 5:
        return rng.choice(
            (answer, answer, answer.lower(), answer.upper(), answer.swapcase(), answer + "s", answer.title())
        )
    if kind == 5:
        return rng.choice(SPACES).join(answer.split())
    if kind == 6:
        return rng.choice((" ", ", ", "、", "和", " and ", "/")).join(rng.sample([answer, *rng.sample(PIECES, 2)], 2))
    if kind == 7:
        return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in answer)
    if kind == 8:
        return answer.replace("-", rng.choice((" ", "", "－", "–", "-", "_"))).replace(
            ",", rng.choice(("，", "、", " ", ";"))
        )
    return rng.choice(SPACES).join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4)))


def _mutated(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + rng.choice(ODD) + text[at:]
    if kind == 2:
        return text[:at] + rng.choice(SPACES) + text[at:]
    return text[:at] + rng.choice(PIECES) + text[at:]


def _huge(rng: random.Random, answer: str) -> str:
    size = rng.choice((1_000, 5_000))
    filler = rng.choice(
        ("(", "（", ")", "ANSWER:", "ANSWER: ", " ", "\n", "不", "the ", "10", "个", "()", "\u0130", "x ")
    )
    return rng.choice(
        (filler * size, filler * size + answer, "ANSWER: " + answer + filler * size, answer + filler * size)
    )
