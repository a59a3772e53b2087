"""What a SLAKE reply answers, and whether that means the same as the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lmms_scoring.outcomes import Outcome, Reading
from lmms_scoring.reply import Stated, clean, fold, is_placeholder, refuses, stated
from lmms_scoring.slake_aliases import LATERAL, NO, YES
from lmms_scoring.slake_wording import (
    NAMES,
    NO_WORD,
    TRAIL,
    WRONG,
    Meaning,
    alternation,
    common_group,
    meaning,
    mentioned,
    phrase,
)

# --- where a text without a marker states its answer -----------------------------------------------------------------

# Groups whose answers exclude each other in a whole reply: an explanation that names another one is no clear answer.
_EXCLUSIVE = frozenset(("modality", "weighting", "plane", "color", "density", "side"))
_TURN = re.compile(r"\b(?:actually|wait|correction|however|but|alternatively|or)\b|或|但|其实", re.IGNORECASE)
_BREAK = re.compile(
    r"(?P<reason> (?:because|since|as it|as the|due to)\b|, which\b|因为|由于)"
    r"|(?<=\D)\.(?=\s)|\.(?=\s+[^\s\d])|[。!;\n]| - "
)
_HAN_CLAUSE = re.compile(r"[是为有呈]|显示|可见|位于")
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|shows?|appears?|seems?|looks?|contains?|has|have|does|can|could|would|may|might|plays?)\b",
    re.IGNORECASE,
)
_PRONOUN_IS = re.compile(
    r"(?:it|that|they|these)(?: is|'s| was| are) (?:of )?(?P<answer>.{1,80})$",
    re.IGNORECASE,
)
_SUBJECT_IS = re.compile(
    r"(?P<subject>[^,.;:]{1,100}?) (?:is|are|was|were|appears? to be|seems? to be)(?: of)? (?P<answer>[^,.;:]{1,80})$",
    re.IGNORECASE,
)
_USED = re.compile(r"(?P<answer>.{1,40}) (?:was|is|were) used(?: (?:to|for|in) [^,.;]{1,60})?$", re.IGNORECASE)
_COMPARED = re.compile(
    r"(?P<answer>.{1,40}) (?:is|are|looks?|seems?|appears?) (?:the )?"
    r"(?P<word>bigger|larger|biggest|largest|smaller|smallest|abnormal)"
    r"(?: (?:organ|one|in|than)(?: (?!and\b|but\b|not\b)[^\s,.;]{0,20}){0,6})?$",
    re.IGNORECASE,
)
_COMPARISON = {
    "bigger": "big",
    "larger": "big",
    "biggest": "big",
    "largest": "big",
    "smaller": "small",
    "smallest": "small",
}
_COMPARED_CHINESE = re.compile(
    r"(?P<answer>.{1,10}?)(?:的?体积)?(?:比[^,。]{1,10})?(?:更|最|较|是)?(?P<word>大|小|异常)的?$"
)
_COUNTED_CHINESE = re.compile(r"[图像片中里]{0,4}(?:一共|共)?有?(?P<answer>[0-9零一二三四五六七八九十两].{0,10})$")
_HOW_MANY = re.compile("多少|几")
_HAN_IS = re.compile(
    r"(?P<subject>[^。,.]{0,40}?)(?<![不非没])(?:是|为|属于|位于|显示为|呈|在)(?P<answer>.{1,30}?)的?$"
)
_LOOSE = frozenset(("of", "in", "this", "image", "picture", "scan"))
_LOOSE_HAN = re.compile(r"这[张幅]?|图[像片]?|[中里的它该应]")


# Too short for a sentence; most replies are, and need no search.
_TWO_WORDS = re.compile(r"[A-Za-z0-9-]+(?: [A-Za-z0-9-]+)?\.?")


def fragments(text: str, question: str) -> Iterator[tuple[str, str]]:
    """The places of a text that may be its answer, each with the rule that found it, the widest first."""
    yield text, "whole"
    if _TWO_WORDS.fullmatch(text):
        return
    yield from _framed(text, question)
    cut = _BREAK.search(text)
    if cut:
        head, tail = text[: cut.start()].strip(), text[cut.end() :].strip()
        explains = cut["reason"] or _CLAUSE.search(tail) or _HAN_CLAUSE.search(tail)
        if head and tail and explains and not _contradicts(head, tail):
            yield head, "leading"
            yield from _framed(head, question)
    before, _, last = map(str.strip, text.rpartition("\n\n"))
    if before[-1:] in tuple(".。") and len(last) <= 60 and "\n" not in last:
        yield last, "last line"
        yield from _framed(last, question)


def _framed(text: str, question: str) -> Iterator[tuple[str, str]]:
    """The answer in one sentence that states it: `It is CT.`, `The largest organ is the liver.`, 这是肺。"""
    sentence = text.strip(TRAIL)
    if "\n" in sentence:
        return
    pronoun = _PRONOUN_IS.match(sentence)
    if pronoun:
        yield pronoun["answer"], "statement"
        return
    asked = frozenset(phrase(question).split())
    compared = _COMPARED.match(sentence)
    if compared:
        word = compared["word"].lower()
        stem = _COMPARISON.get(word, word)
        if stem in {_COMPARISON.get(other, other) for other in asked}:
            yield compared["answer"], "statement"
    used = _USED.match(sentence)
    if used:
        yield used["answer"], "statement"
    subject = _SUBJECT_IS.match(sentence)
    if subject:
        words = frozenset(phrase(subject["subject"]).split()) - _LOOSE
        if words <= asked:
            yield subject["answer"], "statement"
    if not sentence.isascii():
        yield from _framed_chinese(sentence, question)


def _framed_chinese(sentence: str, question: str) -> Iterator[tuple[str, str]]:
    counted = _COUNTED_CHINESE.match(sentence)
    if counted and _HOW_MANY.search(question):
        yield counted["answer"], "statement"
    compared = _COMPARED_CHINESE.match(sentence)
    if compared and compared["word"] in question:
        yield compared["answer"], "statement"
    found = _HAN_IS.match(sentence)
    if found:
        rest = _LOOSE_HAN.sub("", found["subject"]).strip()
        if all(char in question for char in rest):
            yield found["answer"], "statement"


def _contradicts(head: str, tail: str) -> bool:
    """True where what follows a leading answer takes it back or names another one of its kind."""
    if _TURN.search(tail) or WRONG.search(tail):
        return True
    named = meaning(head)
    group = common_group(named)
    if not group:
        return False
    if group in _EXCLUSIVE:
        allowed = mentioned(head, group) | named.names
        return bool(mentioned(tail, group) - allowed)
    return common_group(meaning(tail)) == group


# --- yes and no -----------------------------------------------------------------------------------------------------

_ASKS = re.compile(r"\?$|[吗么]$|^(?:is|are|does|do|can)\b|是否|是不是|有没有", re.IGNORECASE)
_LEADING_ENGLISH = re.compile(
    r"(yes|yeah|yep|no|nope)\s*([,.;:!\n]|-|(?=(?:definitely|indeed|it|there|this|the|they|that|these|i|we)\b))",
    re.IGNORECASE,
)
_LEADING_CHINESE = re.compile(rf"({alternation(tuple(word for word in YES | NO if not word.isascii()))})\s*[,。.;!:\n]")
_SEEING = frozenset(
    (
        "contain",
        "exist",
        "appear",
        "present",
        "visible",
        "seen",
        "show",
        "shown",
        "there",
        "has",
        "have",
        "found",
        "absent",
    )
)
_IDLE = frozenset(
    (
        "a",
        "its",
        "is",
        "are",
        "was",
        "were",
        "be",
        "this",
        "it",
        "in",
        "of",
        "do",
        "doe",
        "can",
        "image",
        "picture",
        "scan",
        "look",
        "any",
        "here",
        "evidence",
        "sign",
    )
)
_DENIALS = frozenset(("no", "not", "without", "cannot", "doesnt", "isnt", "arent", "absent"))
_OPPOSITES = {"abnormal": "normal", "abnormality": "normal", "unhealthy": "healthy"}


class _Claim(NamedTuple):
    core: frozenset[str]
    denied: bool
    seeing: bool


@lru_cache(maxsize=4096)
def _claim(text: str) -> _Claim:
    """The content words of an English sentence, whether it denies them, and whether it speaks of being visible."""
    denied = seeing = False
    core = set()
    for word in phrase(text).split():
        if word in _OPPOSITES:
            denied = not denied
            core.add(_OPPOSITES[word])
        elif word in _DENIALS:
            denied = not denied
            seeing = seeing or word in _SEEING
        elif word in _SEEING:
            seeing = True
        elif word not in _IDLE:
            core.add(word)
    return _Claim(frozenset(core), denied, seeing)


_HAN_SCENE = re.compile(r"(?:这张|这幅|该)?(?:图像|图片|照片|图)[中里上]?|是否|[吗么了的它]|任何|病人|患者|看起来")
_HAN_IDLE = re.compile(r"观察到|看到|看见|可见|见|显示|出现|包含|包括|含有|存在|可以|属于|[是有能在于]")
_HAN_DENIAL = re.compile(r"[不没无未非]")


@lru_cache(maxsize=4096)
def _claim_chinese(text: str) -> _Claim:
    text = NO_WORD.sub("", fold(text).lower()).replace("异常", "不正常")
    text = _HAN_SCENE.sub("", text)
    text, denials = _HAN_DENIAL.subn("", text)
    core, seeing = _HAN_IDLE.subn("", text)
    core = NAMES.get(core, core)
    return _Claim(frozenset((core,)) if core else frozenset(), bool(denials % 2), bool(seeing) or bool(denials))


_SEEN_CHINESE = re.compile(
    r"是?(?:(?P<no>没有|不能|不可以|未|不|没)|可以|能够|能|有)?"
    r"(?:观察到|看到|看见|发现|显示|出现|包含|包括|含有|存在)[了的]?|(?P<unseen>看不到|看不见)"
)
_NO_IMAGE = re.compile(r"no (?:image|picture|scan)", re.IGNORECASE)


def _echoed(text: str, question: str) -> str | None:
    """The polarity of a sentence that repeats the question as a statement: `The lung is not healthy`, 不包含心脏."""
    if len(text) > 200 or _ASKS.search(text) or _bare(text) == _bare(question):
        return None
    chinese = not question.isascii()
    read = _claim_chinese if chinese else _claim
    asked, said = read(question), read(text)
    if not asked.core:
        return None
    agrees = "yes" if asked.denied == said.denied else "no"
    if chinese and asked.seeing:
        seen = _SEEN_CHINESE.fullmatch(text.strip(TRAIL))
        if seen:
            return "no" if seen["no"] or seen["unseen"] else "yes"
    if said.core == asked.core and _is_statement(text, said, chinese):
        return agrees
    if said.core:
        return _state(said, asked, agrees)
    if not chinese and said.seeing and asked.seeing and not _NO_IMAGE.search(text):
        return "no" if said.denied else "yes"
    return None


def _is_statement(text: str, said: _Claim, chinese: bool) -> bool:
    """False for a bare noun: `Lung` answers nothing when asked whether the lung is there."""
    if chinese:
        return said.seeing or any(state in text for state in ("正常", "健康"))
    return said.denied or said.seeing or bool(_CLAUSE.search(text))


def _state(said: _Claim, asked: _Claim, agrees: str) -> str | None:
    """The polarity of a bare state, `Abnormal.` or 正常, where the question asks for that state."""
    word = next(iter(said.core)) if len(said.core) == 1 else ""
    if word in ("normal", "healthy") and word in asked.core:
        return agrees
    if word in ("正常", "健康") and any(core.endswith(word) or core.startswith(word) for core in asked.core):
        return agrees
    return None


@lru_cache(maxsize=4096)
def _lone_polarity(text: str) -> str | None:
    """yes or no for a text that is only a word of polarity."""
    words = phrase(text)
    return "yes" if words in YES else "no" if words in NO else None


_BOTH_POLES = re.compile(
    r"\b(?:yes\W{0,3}(?:(?:or|and|then|maybe)\W{0,3})?no|no\W{0,3}(?:(?:or|and|then|maybe)\W{0,3})?yes)\b",
    re.IGNORECASE,
)


def polarity(text: str, question: str) -> tuple[str | None, str]:
    """("yes" or "no", rule) for what a text answers to a yes/no question; (None, reason) where it answers neither.

    A state word is read against the question: 不正常 says yes to 是异常的吗 and no to 是正常的吗.

    >>> polarity("No, the heart is enlarged.", "Does this image look normal?")
    ('no', 'leading')
    """
    asks = _ASKS.search(text)
    text = _SURELY.sub("", text.strip().strip(TRAIL + "()[]"))
    if _BOTH_POLES.search(text[:200]):
        return None, "two answers"
    lone = _lone_polarity(text) if len(text) < 20 else None
    if lone:
        return lone, "whole"
    leading = _LEADING_ENGLISH.match(text) or _LEADING_CHINESE.match(text)
    if leading:
        said = _lone_polarity(leading[1])
        rest = text[leading.end() :].strip()
        again = _LEADING_ENGLISH.match(rest + ".") or _LEADING_CHINESE.match(rest + "。")
        if (again and _lone_polarity(again[1]) != said) or (said == "yes" and _NO_COMMA.match(rest)):
            return None, "two answers"
        if _BUT.match(rest):
            return None, "none stated"
        if refuses(rest):
            return None, "refusal"
        return said, "leading"
    if asks:
        return None, "none stated"
    echoed = _echoed(text, question)
    if echoed:
        return echoed, "statement"
    cut = _FIRST_CLAUSE.search(text)
    if cut and cut.start():
        first, rest = text[: cut.start()], text[cut.end() :]
        echoed = _echoed(first, question)
        if echoed and not _TURN.search(rest) and _echoed(rest, question) in (None, echoed):
            return echoed, "statement"
    return None, "none stated"


_BUT = re.compile(r"(?:but|however|except)\b|但", re.IGNORECASE)
_SURELY = re.compile("^(?:确实|当然)")
_NO_COMMA = re.compile(r"no\b", re.IGNORECASE)
_FIRST_CLAUSE = re.compile(r"[.。!;\n,]")


@lru_cache(maxsize=4096)
def reference_polarity(answer: str, question: str) -> str | None:
    """yes, no, or None for a reference that is neither; 健康 is a yes where the question is 肝脏是健康的吗."""
    lone = _lone_polarity(answer)
    if lone:
        return lone
    words = phrase(answer)
    if words in ("不正常", "正常", "异常", "健康", "不健康"):
        return _echoed(answer, question) or ("no" if words.startswith("不") else None)
    return None


# --- the judgement --------------------------------------------------------------------------------------------------

_STAR = re.compile(r"(?<![*\w])(T[12])\*(?![*\w])", re.IGNORECASE)
_EMPTY_MARK = re.compile(r"^[ \t\"'>-]*(?:answer|答案)\s{0,3}:(.*)", re.IGNORECASE | re.MULTILINE)
_STATEMENT_DENIED = re.compile(
    r"\b(?:not|unlikely|if|whether|unsure|cannot|neither)\b[^.\n]*$|n't\b[^.\n]*$", re.IGNORECASE
)


def judge(text: str, answer: str, question: str) -> tuple[Outcome, Reading]:
    """The outcome of a reply, and the answer that a careful grader finds in it."""
    if "*" in text:
        text = _STAR.sub(r"\1 star", text)
    cleaned = clean(text)
    if cleaned is None:
        return _unread("truncated reasoning")
    if not cleaned:
        return _unread("empty")
    spot = _spot(cleaned)
    if spot:
        return _compare(spot.text, spot.how, answer, question)
    if _EMPTY_MARK.search(cleaned):
        cleaned = _EMPTY_MARK.sub(lambda line: "" if is_placeholder(line[1]) else line[0], cleaned).strip()
    if is_placeholder(cleaned):
        return _unread("placeholder")
    return _compare(cleaned, "", answer, question)


def _spot(text: str) -> Stated | None:
    """The last place that declares an answer; a sentence counts only where nothing else declares one."""
    spots = stated(text)
    if not spots:
        return None
    strong = [spot for spot in spots if spot.how != "statement"]
    if strong:
        return strong[-1]
    for spot in reversed(spots):
        if not _STATEMENT_DENIED.search(text[max(0, spot.start - 200) : spot.start]):
            return spot
    return None


def _unread(reason: str) -> tuple[Outcome, Reading]:
    return Outcome.UNREADABLE, Reading(None, reason)


def _bare(text: str) -> str:
    return text.strip(TRAIL).lower()


def _compare(text: str, how: str, answer: str, question: str) -> tuple[Outcome, Reading]:
    if _bare(text) == _bare(answer) != "":
        return Outcome.CORRECT, Reading(", ".join(sorted(meaning(answer).names)), how or "whole")
    polar = reference_polarity(answer, question)
    if polar:
        said, rule = polarity(text, question)
        if said:
            return (Outcome.CORRECT if said == polar else Outcome.OTHER), Reading(said, how or rule)
        if rule != "none stated":
            return _unread(rule)
    wanted = meaning(answer)
    two = False
    if not polar and wanted.names:
        for fragment, rule in fragments(text, question):
            named = meaning(fragment)
            two = two or named.two
            if named.two or not named.names:
                continue
            if named.names == wanted.names or _counts(named, wanted, question):
                return Outcome.CORRECT, Reading(", ".join(sorted(named.names)), how or rule)
    return _wrong(text, how, question, two)


def _wrong(text: str, how: str, question: str, two: bool) -> tuple[Outcome, Reading]:
    """A readable answer that is not the reference, or the reason why there is none."""
    if (two or meaning(text).two) and (how or not _CLAUSE.search(text)):
        return _unread("two answers")
    lone = _lone_polarity(text) if len(text) < 20 else None
    if lone:
        return Outcome.OTHER, Reading(lone, how or "whole")
    if how:
        names = meaning(text).names
        return (Outcome.OTHER, Reading(", ".join(sorted(names)), how)) if names else _unread("none stated")
    if refuses(text):
        return _unread("refusal")
    for fragment, rule in fragments(text, question):
        if len(fragment) <= 120 and not _CLAUSE.search(fragment) and "\n" not in fragment:
            names = meaning(fragment).names
            if names and len(fragment.split()) <= 12:
                return Outcome.OTHER, Reading(", ".join(sorted(names)), rule)
    return _unread("none stated")


def _counts(named: Meaning, wanted: Meaning, question: str) -> bool:
    """True where a side or a number names, beyond the reference, only the thing that the question asked about."""
    if len(named.names) != 1 or len(wanted.names) != 1:
        return False
    (said,), (right,) = named.names, wanted.names
    if right == "0" and said in ("没有", "无") and _HOW_MANY.search(question):
        return True
    if right == "0" and said.startswith(("no ", "没有")) and re.search(r"how many|多少|几", question, re.IGNORECASE):
        return _asked_about(said.removeprefix("no ").removeprefix("没有"), question)
    if not (right in LATERAL or right.lstrip("-").isdigit()) or not said.startswith(f"{right} "):
        return False
    return not _WHERE.search(question) and _asked_about(said[len(right) + 1 :], question)


_WHERE = re.compile(r"^where\b|在哪|哪里|位置", re.IGNORECASE)


def _asked_about(noun: str, question: str) -> bool:
    """True where the question names the noun in one of its wordings."""
    noun = NAMES.get(noun, noun)
    asked = phrase(question)
    padded = f" {asked} "
    forms = [noun, *(form for form, name in NAMES.items() if name == noun)]
    return any(f" {form} " in padded if form.isascii() else form in asked for form in forms)
