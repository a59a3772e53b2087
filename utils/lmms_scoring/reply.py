"""What a reply says, freed of reasoning, stray tokens and markup, and the places where it states its answer.

The tools of the flexible readers. Nothing here knows a benchmark, and nothing here takes more than linear time.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# --- cleaning -------------------------------------------------------------------------------------------------------

#: Names of the tags models wrap their reasoning in: `<think>`, `[THINK]`, `◁think▷`.
REASONING_TAGS = ("think", "thinking", "reasoning", "thought", "scratchpad")

#: Tokens that open a text and mean nothing inside it.
OPENING_TOKENS = ("<s>", "<bos>", "<pad>", "<unk>", "<|begin_of_text|>", "<|startoftext|>", "<|begin▁of▁sentence|>")

#: Tokens that end a turn; what follows is no longer the reply.
ENDING_TOKENS = (
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<start_of_turn>",
    "<end_of_utterance>",
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<|user|>",
    "<|start_header_id|>",
    "<|end▁of▁sentence|>",
    "[INST]",
    "[/INST]",
)

#: Speakers whose line opens another turn.
SPEAKERS = ("user", "human", "用户", "### instruction", "### user", "### human")

#: Words that open another question, which only counts as another turn once the reply has been given.
NEXT_QUESTION = ("question", "next question", "q", "问题", "### question")

_FOLDED: dict[int, int | str | None] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FOLDED |= {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)}
_FOLDED |= dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"), " ")
_FOLDED |= dict.fromkeys(map(ord, "\u0085\u2028\u2029"), "\n")
_FOLDED |= dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"), None)
_FOLDED |= dict.fromkeys(map(ord, "“”„«»「」『』"), '"') | dict.fromkeys(map(ord, "‘’´"), "'")
_FOLDED |= dict.fromkeys(map(ord, "‐‑‒–—−"), "-") | {ord("【"): "[", ord("】"): "]", ord("〔"): "[", ord("〕"): "]"}

_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

_NAMES = "|".join(REASONING_TAGS)
_REASONING = re.compile(rf"[<\[◁](/?)(?:{_NAMES})\s{{0,8}}[>\]▷]", re.IGNORECASE)
_HARMONY = re.compile(r"<\|channel\|>\s{0,8}(\w{1,20})[^<]{0,40}<\|message\|>", re.IGNORECASE)
_OPENING = re.compile("|".join(map(re.escape, OPENING_TOKENS)), re.IGNORECASE)
_ENDING = re.compile("|".join(map(re.escape, ENDING_TOKENS)), re.IGNORECASE)
_LEADING = re.compile(
    rf"(?:\s|(?:{_ENDING.pattern})(?:(?:assistant|model)(?:\s|<\|end_header_id\|>))?)+", re.IGNORECASE
)


def _line_opener(words: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(word) for word in words)
    return re.compile(rf"\n[ \t*]{{0,8}}(?:{names})[ \t*]{{0,8}}(?:\d{{1,4}}[ \t*]{{0,4}})?[:：]", re.IGNORECASE)


_SPEAKER = _line_opener(SPEAKERS)
_QUESTION = _line_opener(NEXT_QUESTION)


def to_text(reply: object) -> str:
    """The reply as text: "" for None, else its `str`, if it has one, with lone surrogates replaced."""
    if reply is None:
        return ""
    try:
        text = reply if isinstance(reply, str) else str(reply)
    except Exception:  # an integer beyond Python's limit of digits, lists nested too deep, whatever a class does
        return ""
    return text if text.isascii() else _SURROGATES.sub("?", text)


def fold(text: str) -> str:
    """The text with full-width and mathematical letters, odd spaces, quotes, dashes and line ends in their plain form.

    Unlike NFKC it leaves superscripts, fractions and ligatures alone, which carry meaning in numbers.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\v" in text or "\f" in text:
        text = text.replace("\v", "\n").replace("\f", "\n")
    return text if text.isascii() else _NOT_ASCII.sub(_folded, text)


def _folded(found: re.Match[str]) -> str:
    return found[0].translate(_FOLDED)


#: How lmms-eval's clients of servers begin the text that stands for a reply they could not get; an error message follows,
#: whose numbers and words are no answer.
NO_REPLY = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED")


def request_failed(reply: object) -> bool:
    """True for lmms-eval's note that a server gave no reply."""
    return isinstance(reply, str) and reply.startswith(NO_REPLY)


# Two readings of one reply look at it one after the other.
@lru_cache(maxsize=2)
def visible(text: str) -> str | None:
    """The text without its reasoning, or None where the reasoning was cut off before its end.

    A closed block is dropped; before a closing tag that was never opened (the template opened it), everything is
    reasoning; an opening tag that is never closed means that the reply has not begun.
    """
    if text.startswith(NO_REPLY):
        return ""
    if "<|channel|>" in text:
        channels = list(_HARMONY.finditer(text))
        if channels:
            if channels[-1][1].lower() != "final":
                return None
            text = text[channels[-1].end() :]
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    kept: list[str] = []
    begin: int | None = 0
    for tag in _REASONING.finditer(text):
        if not tag[1]:
            if begin is not None:
                kept.append(text[begin : tag.start()])
                begin = None
        else:
            if begin is not None:
                kept.clear()
            begin = tag.end()
    if begin is None:
        return None
    return "".join(kept) + text[begin:]


@lru_cache(maxsize=2)
def first_turn(text: str) -> str:
    """The text up to the first end-of-turn token, invented user turn or, once it has answered, next question."""
    if "<" in text or "[" in text:
        text = _OPENING.sub("", text)
        leading = _LEADING.match(text)
        if leading:
            text = text[leading.end() :]
        text = _cut(_ENDING, text)
    if "\n" in text:
        text = _cut(_SPEAKER, text)
        question = _QUESTION.search(text)
        if question and _answered(text[: question.start()]):
            return text[: question.start()]
    return text


def _cut(boundary: re.Pattern[str], text: str) -> str:
    found = boundary.search(text)
    return text[: found.start()] if found and text[: found.start()].strip() else text


def _answered(before: str) -> bool:
    """True for a text that already gives an answer: one short line, or anything that declares one."""
    line = before.strip()
    return (0 < len(line) <= 40 and "\n" not in line) or bool(stated(line))


_STARS = re.compile(r"\*+")
# Begins with the star: a pattern that begins with the digit is tried at every digit of a long reply.
_PRODUCT = re.compile(r"\*(?<=\d\*)\**(?=\d)")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)")
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~")
_HTML = re.compile(r"</?(?:b|strong|i|em|u|p|mark|code|span|br)\s{0,4}/?>", re.IGNORECASE)


def _star(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    times = start > 0 and end < len(text) and text[start - 1].isdigit() and text[end].isdigit()
    return run[0] if times else ""


def plain(text: str) -> str:
    """The text without markdown emphasis and its HTML likes; struck-out text is gone, a product `3*4` stays."""
    if "~~" in text:
        text = _STRUCK.sub("", text)
    if "*" in text:
        text = _STARS.sub(_star, text) if _PRODUCT.search(text) else text.replace("*", "")
    if "_" in text:
        text = _UNDERSCORES.sub("", text)
    if "<" in text:
        text = _HTML.sub("", text)
    return text.replace("`", "")


def clean(reply: object) -> str | None:
    """The folded, visible first turn of a reply without emphasis, stripped; None where its reasoning was cut off.

    >>> clean("<think>B or C?</think>**ANSWER： Ｃ**<|im_end|>")
    'ANSWER: C'
    """
    text = visible(to_text(reply))
    if text is None:
        return None
    folded = fold(text)
    seen = folded if text.isascii() else visible(folded)  # the tags, too, may be full-width
    return None if seen is None else plain(first_turn(seen)).strip()


# --- stated answers -------------------------------------------------------------------------------------------------


class Stated(NamedTuple):
    """One place where a reply states an answer.

    `text` is what stands in the answer's place, trimmed, never a placeholder, never empty; `how` is "tag", "boxed",
    "json", "marker" or "statement"; `start` and `end` are the place of the whole declaration in the text.
    """

    text: str
    how: str
    start: int
    end: int


#: What stands in an answer's place in a prompt, and, echoed, is no answer.
PLACEHOLDERS = frozenset(
    {
        "letter", "letters", "option letter", "the letter", "your letter", "answer", "your answer", "the answer",
        "final answer", "your final answer", "correct letter", "correct answer", "option", "number", "字母", "选项",
        "答案", "你的答案", "您的答案", "最终答案", "", "…",
    }
)  # fmt: skip

_WRAPPING = " \t\n\"'<>[](){}$\\*.,:;。，"
_SLOT = re.compile(r"\s*[\[<({$]{1,3}\s{0,4}(?:your )?(?:letters?|answer|答案|字母)\s{0,4}[\]>)}]", re.IGNORECASE)


def is_placeholder(text: str) -> bool:
    """True where the text is only an echo of the prompt's slot: `[LETTER]`, `<answer>`, `<答案>`."""
    return (len(text) <= 40 and text.strip(_WRAPPING).lower() in PLACEHOLDERS) or bool(_SLOT.match(text))


_ECHO = re.compile(rf"(?:answer|答案)\s{{0,3}}:{_SLOT.pattern}", re.IGNORECASE)


def echoes(text: str) -> bool:
    """True where the text repeats the prompt's slot after an answer marker. Names a reason only."""
    return bool(_ECHO.search(text))


_TAG = re.compile(r"<(/?)(?:final[_ ]?)?answer\s{0,4}>", re.IGNORECASE)


def tagged(text: str) -> Iterator[Stated]:
    """What stands in `<answer>` tags; an unclosed tag counts to the end of its line where it opens the line."""
    if "<" not in text:
        return
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = tag
        elif opened:
            yield from _stated(text[opened.end() : tag.start()], "tag", opened.start(), tag.end())
            opened = None
    if opened and not text[: opened.start()].rpartition("\n")[2].strip():
        end = _line_end(text, opened.end())
        yield from _stated(text[opened.end() : end], "tag", opened.start(), end)


_BOX = re.compile(r"(\\(?:boxed|fbox)\s{0,4}\{)|\\.|[{}]")


def boxed(text: str) -> Iterator[Stated]:
    r"""What stands in `\boxed{…}` or `\fbox{…}`, braces balanced; a box that never closes was cut off: nothing."""
    first = min((at for at in (text.find("\\boxed"), text.find("\\fbox")) if at >= 0), default=-1)
    if first < 0:
        return
    depth, box, inside = 0, -1, -1
    for token in _BOX.finditer(text, first):
        if token[0].endswith("{") and (token[1] or token[0] == "{"):
            if token[1] and box < 0:
                depth, box, inside = 0, token.start(), token.end()
            depth += 1
        elif token[0] == "}" and box >= 0:
            depth -= 1
            if depth == 0:
                yield from _stated(unlatex(text[inside : token.start()]), "boxed", box, token.end())
                box = -1


_JSON = re.compile(
    r"""(["'])(?:final[_ ]?|correct[_ ]?)?(?:answer|choice|答案)(?:[_ ]?(?:letter|option))?\1\s{0,8}:\s{0,8}"""
    r"""(?:("(?:[^"\\\n]|\\.){0,500}")|'((?:[^'\\\n]|\\.){0,500})'|(\[[^\]\n]{0,300}\])|([^\s"'\[{,}][^,}\n]{0,300}))""",
    re.IGNORECASE,
)


def in_json(text: str) -> Iterator[Stated]:
    """The value under an "answer" key of a JSON object, in either kind of quotes; a list is given as written."""
    if '":' not in text and '" :' not in text and "':" not in text and "' :" not in text:
        return
    for found in _JSON.finditer(text):
        value = found[3] or found[4] or found[5] or ""
        if found[2]:
            try:
                value = str(json.loads(found[2]))
            except ValueError:
                value = found[2]
        yield from _stated(value, "json", found.start(), found.end())


#: Marker forms, each with the place of the answer right after it. A colon (or 是, 为) ends a marker.
MARKERS = (
    r"\b(?:answers?|ans|final diagnosis)"
    r"(?: ?\([^()\n]{0,30}\))?(?: (?:choice|option|letter|is|are))?\s{0,6}(?::|=|-(?=\s))",
    r"(?:(?<=\n)|(?<=# )|(?<=final )|(?<=correct ))answer[ \t]{0,3}(?=\n)",
    r"(?:答案|正确选项|正确的选项)(?:应该|应当|应|就)?[ \t]{0,3}(?:选择|选|是|为|:)[ \t]{0,3}:?",
)

#: Sentences that state an answer.
STATEMENTS = (
    r"\banswer\b[^.:;!?\n]{0,60}?\b(?:is|would be|should be|must be|remains|becomes)\b[ \t]{0,3}:?",
    r"\banswer (?:it )?with\b:?",
)

_MARKER = re.compile("|".join(MARKERS), re.IGNORECASE)
_STATEMENT = re.compile("|".join(STATEMENTS), re.IGNORECASE)

#: What the forms above begin with, in lower case: found first, because searching for words is much the faster.
MARKER_WORDS = ("ans", "final diagnosis", "答案", "正确选项", "正确的选项")
STATEMENT_WORDS = ("answer",)

#: No answer is longer; the bound keeps a reply of nothing but markers linear.
LONGEST = 1000


def marked(text: str) -> Iterator[Stated]:
    """What follows `ANSWER:`, `答案：`, "the answer is" and their like, to the end of that line or of the next full."""
    lowered = text.lower()
    for pattern, words, how in ((_MARKER, MARKER_WORDS, "marker"), (_STATEMENT, STATEMENT_WORDS, "statement")):
        for found in beginning(pattern, words, text, lowered):
            begin = found.end()
            end = _line_end(text, begin)
            if not text[begin:end].strip(" \t\"'*"):
                begin = _SPACE.match(text, end).end()  # type: ignore[union-attr]
                end = _line_end(text, begin)
            yield from _stated(text[begin:end], how, found.start(), end)


_SPACE = re.compile(r"\s{0,200}")


def beginning(pattern: re.Pattern[str], words: tuple[str, ...], text: str, lowered: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern of which each match begins with one of the words; `lowered` is the text in lower case.

    Word by word, so not in the order of the text; searching for words first is several times faster.
    """
    if len(lowered) != len(text):  # a few letters, İ for one, are longer in lower case
        yield from pattern.finditer(text)
        return
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            found = pattern.match(text, at)
            if found:
                yield found
            at = lowered.find(word, found.end() if found else at + len(word))


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin, begin + LONGEST)
    return min(begin + LONGEST, len(text)) if end == -1 else end


def _stated(value: str, how: str, start: int, end: int) -> Iterator[Stated]:
    value = value.strip()
    if value and not is_placeholder(value):
        yield Stated(value, how, start, end)


_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|operatorname|bf|rm|displaystyle|left|right|quad|"
    r"boxed|fbox)(?![A-Za-z])|\\[,;:! ()\[\]{}]|[${}]|~"
)


# Without this the digits of 4/5 would be joined to 45.
_FRACTION = re.compile(r"\\[dt]?frac\s?\{(.{1,30}?)\}\s?\{(.{1,30}?)\}")


def unlatex(text: str) -> str:
    r"""The text without LaTeX wrappers: `$\mathrm{C}$` is C, `\(\text{Lung}\)` is Lung, `\frac{1}{2}` is 1/2."""
    if not any(mark in text for mark in "\\${}"):
        return text
    if "frac" in text:
        text = _FRACTION.sub(r"\1/\2", text)
    return _COMMAND.sub(lambda found: " " if found[0] in ("~", "\\ ") else "", text).strip()


def stated(text: str) -> list[Stated]:
    """Every place where a cleaned text states an answer, in the order of the text; [] where it states none.

    Where two forms cover the same place (`ANSWER: \\boxed{C}`), both are listed, the inner one later.

    >>> [(found.text, found.how) for found in stated("ANSWER: B\\nNo, it must be \\\\boxed{\\\\text{C}}")]
    [('B', 'marker'), ('C', 'boxed')]
    """
    found = [*tagged(text), *boxed(text), *in_json(text), *marked(text)]
    return sorted(found, key=lambda place: (place.start, place.end))


#: Openings of a reply that gives no answer and says so.
REFUSALS = (
    r"\b(?:cannot|can't|can not|unable to|not able to|impossible to) (?:\w{0,15} ){0,2}"
    r"(?:determine|answer|identify|count|provide|tell|say|assess|see|view|diagnose|conclude|give|process|analy[sz]e|read|interpret)",
    r"\b(?:I'm|I am) sorry\b",
    r"\bI do(?: not|n't) know\b",
    r"\bnone of the (?:above|options|choices|answers)\b",
    r"无法|不能(?:确定|判断|回答|识别)|不知道|抱歉",
)  # fmt: skip

_REFUSAL = re.compile("|".join(REFUSALS), re.IGNORECASE)


def refuses(text: str) -> bool:
    """True where the text says that it gives no answer. Names a reason only: a reply that states an answer has one."""
    return bool(_REFUSAL.search(text))
