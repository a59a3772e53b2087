"""SLAKE: prompts, the official rule to the letter, the flexible reading, token recall and token F1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from lmms_scoring.outcomes import Outcome, Reading, Score
from lmms_scoring.reply import fold, is_placeholder, to_text, visible
from lmms_scoring.slake_reading import judge
from lmms_scoring.text import PUNCTUATION_TO_SPACE, is_han, without_asides

# --- prompts --------------------------------------------------------------------------------------------------------

_PROMPTS: Mapping[str, str] = {
    "en": (
        "{}\nAnswer the question with a single word or phrase in English.\n"
        'The last line of your response must be of the form "ANSWER: <answer>" (without quotes).'
    ),
    "zh": '{}\n请用一个中文词语或短语回答问题。\n回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。',
}


def prompt(question: str, language: str) -> str:
    """The text of the published SLAKE prompt for a question; the image goes before it.

    Args:
        question: Stripped here.
        language: `en` or `zh`, the row's `q_lang`.

    Raises:
        ValueError: the language is another one: a fault of the dataset row.

    Source: EvalScope 1.14.1, benchmark `slake`.
    """
    try:
        template = _PROMPTS[language]
    except KeyError:
        raise ValueError(f"SLAKE has questions in en and zh, not in {language!r}: {question!r}") from None
    return template.format(question.strip())


# --- the official rule ----------------------------------------------------------------------------------------------

_MARKER = re.compile(r"answer:\s*(.*)", re.IGNORECASE)
_NUMBERS = {
    "none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "零": "0", "一": "1", "两": "2", "二": "2", "三": "3", "四": "4", "五": "5",
    "六": "6", "七": "7", "八": "8", "九": "9", "十": "10",
}  # fmt: skip
_ARTICLES = frozenset(("a", "an", "the"))
_WHOLE = dict.fromkeys(("x ray", "x光", "x 光", "x射线", "x 射线"), "xray")
_WHOLE |= dict.fromkeys(("yeah", "yep", "true", "是", "是的", "有", "包含", "存在", "可以", "能", "会"), "yes")
_WHOLE |= dict.fromkeys(("nope", "false", "否", "不是", "没有", "无", "不包含", "不存在", "不可以", "不能"), "no")
_WHOLE |= dict.fromkeys(("不会", "不正常"), "no")


def official_answer(reply: object) -> str:
    """The stretch of a reply that the official rule takes for its answer; the whole reply where it has no `ANSWER:`."""
    text = to_str(reply)
    found = None
    if ":" in text:
        # The last one is wanted, in memory that does not grow with the number of markers.
        for match in _MARKER.finditer(text):
            found = match
    return text.strip() if found is None else found[1].strip().strip("\"'")


def to_str(value: object) -> str:
    """The value as text: "" for None and for what has no text."""
    return value if isinstance(value, str) else to_text(value)


def official_form(answer: object) -> str:
    """The form in which the official rule compares answers; "" for nothing.

    >>> official_form("The X-Ray"), official_form("两个"), official_form("不包含"), official_form("(CT)")
    ('xray', '2', 'no', '')
    """
    text = to_str(answer)
    return _short_form(text) if len(text) <= 200 else _form(text)


def _form(text: str) -> str:
    text = text.strip().lower()
    text = without_asides(without_asides(text, "(", ")"), "（", "）")
    words = map(_official_word, text.translate(PUNCTUATION_TO_SPACE).split())
    text = " ".join(word for word in words if word not in _ARTICLES)
    return _WHOLE.get(text, text)


_short_form = lru_cache(maxsize=4096)(_form)


def _official_word(word: str) -> str:
    if word[-1] == "个" and (word[:-1] in _NUMBERS or word[:-1].isdigit()):
        word = word[:-1]
    return _NUMBERS.get(word, word)


def official_acc(reply: object, answer: object) -> float:
    """1.0 where the official rule marks the reply right, else 0.0.

    Source: EvalScope 1.14.1, benchmark `slake`, whose result this equals for every reply that is text or None.

    >>> official_acc("The image is a scan.\\nANSWER: x-ray", "X-Ray"), official_acc("(CT)", "CT")
    (1.0, 0.0)
    """
    return float(official_form(official_answer(reply)) == official_form(answer))


# --- both readings --------------------------------------------------------------------------------------------------

# A plain word or two, in which nothing hides that the official rule would overlook.
_PLAIN = re.compile(r"[A-Za-z]{2,20}(?: [a-z]{2,20}){0,3}\.?|[0-9]|[\u4e00-\u9fff]{1,12}。?")
_MISREAD = frozenset(("不正常",))
_NOT_OBVIOUS = re.compile(r"[<\[◁]|:[^:]*:")


def _obvious(text: str, found: str) -> bool:
    """True where the official rule found a plain answer in a plain place, so that no grader would look twice."""
    if not _PLAIN.fullmatch(found) or found in _MISREAD:
        return False
    return text == found or (text.endswith(found) and not _NOT_OBVIOUS.search(text) and "\n" not in found)


def score(reply: object, answer: object, *, language: str, answer_type: str = "OPEN", question: str = "") -> Score:
    """Everything about one reply.

    Args:
        reply: What the model said; None and other non-text count as text. Never raises, takes linear time.
        answer: The row's reference; a number counts as its digits.
        language: `en` or `zh`.
        answer_type: `OPEN` or `CLOSED`; the rule is the same, for 61 closed English references are not yes or no.
        question: The row's question, against which `The lung is not healthy` and `左叶` are read; without it, the
            readings that need it are not made.

    >>> score("Axial", "Transverse Plane", language="en").outcome.value
    'correct'
    """
    del language, answer_type  # one rule for all four subsets
    text, reference = to_text(reply), to_str(answer)
    found = official_answer(reply)
    read = official_form(found)
    acc = float(read == official_form(reference))
    short = len(text) <= 200
    if acc and short and _obvious(text, found):
        outcome, reading = Outcome.CORRECT, Reading(read, "whole" if found == text else "marker")
    else:
        outcome, reading = (_short_judge if short else judge)(text, reference, question)
    return Score(acc, read or None, outcome, reading, format_ok(text))


_short_judge = lru_cache(maxsize=8192)(judge)
_FORM = re.compile(r"\s*answer:\s*(\S.*)", re.IGNORECASE)


def format_ok(reply: object) -> bool:
    """True where the last line that is not blank is `ANSWER: ` and an answer, as the prompt asks.

    The echo of the prompt's slot, `ANSWER: <answer>`, is none.
    """
    text = to_text(reply)
    if ":" not in text:
        return False
    seen = visible(text)
    if seen is None:
        return False
    line = seen.rstrip().rpartition("\n")[2]
    found = _FORM.fullmatch(line)
    return found is not None and not is_placeholder(fold(found[1]))


# --- token overlap --------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def tokens(text: str, language: str) -> Counter[str]:
    """The multiset of tokens: words in lower case without punctuation, in Chinese each character by itself.

    Latin words and numbers inside Chinese stay whole.

    >>> sorted(tokens("X-Ray, the lungs", "en")), sorted(tokens("T2加权", "zh"))
    (['lungs', 'ray', 'the', 'x'], ['t2', '加', '权'])
    """
    words = _WORD.findall(text.lower())
    if language != "zh" or text.isascii():
        return Counter(words)
    return Counter(token for word in words for token in _characters(word))


def _characters(word: str) -> list[str]:
    if word.isascii():
        return [word]
    parts: list[str] = []
    begin = 0
    for place, char in enumerate(word):
        if is_han(char):
            parts += (word[begin:place], char) if begin < place else (char,)
            begin = place + 1
    return [*parts, word[begin:]] if begin < len(word) else parts


@lru_cache(maxsize=4096)
def _reference_tokens(answer: str, language: str) -> tuple[Counter[str], int]:
    counted = tokens(answer, language)
    return counted, sum(counted.values())


def token_scores(reply: object, answer: object, language: str) -> tuple[float, float]:
    """(token recall, token F1); see `token_recall` and `token_f1`."""
    text = to_text(reply)
    if "<" in text or "[" in text or "◁" in text:
        text = visible(text) or ""
    said = tokens(official_answer(text), language)
    wanted, size = _reference_tokens(to_str(answer), language)
    total = sum(said.values())
    if not size or not total:
        same = float(size == total)
        return same, same
    common = sum(min(count, said[token]) for token, count in wanted.items() if token in said)
    return common / size, 2 * common / (size + total)


def token_recall(reply: object, answer: object, language: str) -> float:
    """The share of the reference's tokens that the reply contains, 0.0 to 1.0.

    Over the reply's visible text (without reasoning), or over what follows its last `ANSWER:` where it has one: the
    marker is the prompt's word, not the answer's. 0.0 where only one of both has tokens, 1.0 where neither has.

    Source: Li et al. 2023, LLaVA-Med (arXiv 2306.00890), which reports it for open questions over the whole reply; it
    grows with the length of the reply.
    """
    return token_scores(reply, answer, language)[0]


def token_f1(reply: object, answer: object, language: str) -> float:
    """The harmonic mean of token precision and token recall, 0.0 to 1.0, over the same text as `token_recall`.

    Empty texts as there. Symmetric in what is compared.

    Source: Sellergren et al. 2025, MedGemma (arXiv 2507.05201), which reports tokenized F1 over the English questions.
    """
    return token_scores(reply, answer, language)[1]
