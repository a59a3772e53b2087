"""What a SLAKE reply answers, and whether that means the same as the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from lmms_scoring.numbers import find_numbers
from lmms_scoring.outcomes import Outcome, Reading
from lmms_scoring.reply import Stated, clean, fold, is_placeholder, refuses, stated
from lmms_scoring.slake_aliases import (
    CONCEPTS,
    LATERAL,
    NO,
    NOTHING,
    SIDE_NOUNS,
    SIDE_NOUNS_CHINESE,
    SPELLINGS,
    SUFFIXES,
    VERTICAL,
    YES,
)

# --- wording to meaning ---------------------------------------------------------------------------------------------

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_GAP_BESIDE_HAN = re.compile(rf"(?<=[{_HAN}])\s+|\s+(?=[{_HAN}])")
_NO_WORD = re.compile(r"[\W_]+")
_CROSSED = dict.fromkeys(map(ord, "≠¬✗✘❌✖"), " not ")
_BEFORE_ARTICLE = frozenset(("of", "in", "on", "at", "to", "by", "with", "and"))


@lru_cache(maxsize=8192)
def phrase(text: str) -> str:
    """The words of a text: lower case, no punctuation, articles dropped, American spelling, singular.

    >>> phrase("The Lungs."), phrase("Transverse  Plane"), phrase("T2 加权"), phrase("Vitamin A")
    ('lung', 'transverse plane', 't2加权', 'vitamin a')
    """
    text = fold(text).lower().replace("'", "")
    if not text.isascii():
        text = text.translate(_CROSSED)
    text = _NO_WORD.sub(" ", text).strip()
    if not text.isascii():
        return _GAP_BESIDE_HAN.sub("", text)
    words = text.split()
    return " ".join(_word(word) for place, word in enumerate(words) if not _is_article(words, place))


def _is_article(words: list[str], place: int) -> bool:
    """True for an article; the `a` of `vitamin a` is none."""
    word = words[place]
    if word != "a":
        return word in ("an", "the")
    return place + 1 < len(words) and (place == 0 or words[place - 1] in _BEFORE_ARTICLE)


def _word(word: str) -> str:
    """The American singular of an English word."""
    word = SPELLINGS.get(word, word)
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui":
        word = word[:-2] if word.endswith("sses") else word[:-3] + "y" if word.endswith("ies") else word[:-1]
    return SPELLINGS.get(word, word)


def _forms() -> Iterator[tuple[str, str]]:
    for concept in CONCEPTS:
        english, chinese = SUFFIXES.get(concept.group, ((), ()))
        for form in (concept.name, *concept.english):
            yield form, concept.name
            yield from ((f"{form} {suffix}", concept.name) for suffix in english)
        for form in (*concept.chinese, *(form for form in (concept.name, *concept.english) if len(form) < 4)):
            yield form, concept.name
            yield from (("".join((form, suffix)), concept.name) for suffix in chinese)


_NAMES = dict(_forms())
_GROUPS = {concept.name: concept.group for concept in CONCEPTS}
_ALL_GROUPS = ("side", *sorted({concept.group for concept in CONCEPTS}))
_ORGANS = {form: concept for form, concept in _NAMES.items() if _GROUPS[concept] in ("organ", "part")}
_VERTICAL_WORDS = {**{name: name for name in VERTICAL}, "top": "upper", "bottom": "lower"}


def _alternation(forms: Iterator[str] | tuple[str, ...]) -> str:
    return "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))


_SIDE_TAIL = re.compile(rf" (?:{_alternation(SIDE_NOUNS)})$")
_PLACE_HEAD = re.compile(r"^(?:located )?(?:in|on|at) ")
_PLACE_TAIL = re.compile(r" (?:of|in) (?:this )?(?:image|picture|scan)$")
_PART_OF = re.compile(r"^(upper|lower) (?:part|portion|region|zone|field) of (left|right) (.+)$")


@lru_cache(maxsize=1)
def _han_tokens() -> re.Pattern[str]:
    organs = _alternation(tuple(form for form in _ORGANS if not form.isascii()))
    sides = [rf"(?P<{name}>{char})" for name, char in {**LATERAL, **VERTICAL}.items()]
    return re.compile(rf"(?P<organ>{organs})|{'|'.join(sides)}|(?P<tail>{'|'.join(SIDE_NOUNS_CHINESE)})|(?P<of>的)")


def _sided(words: str) -> str | None:
    """The name of sides with or without an organ, or None: `left lower lung` and 左下肺 are `lower left lung`."""
    if words.isascii():
        return _sided_english(words)
    return _sided_chinese(words)


def _sided_english(words: str) -> str | None:
    parted = _PART_OF.match(words)
    if parted:
        words = f"{parted[1]} {parted[2]} {parted[3]}"
    words = _SIDE_TAIL.sub("", words)
    tokens = words.split()
    lateral = vertical = ""
    place = 0
    for token in tokens[:2]:
        if token in LATERAL and not lateral:
            lateral = token
        elif token in _VERTICAL_WORDS and not vertical and (token in VERTICAL or _has_lateral(tokens[:2])):
            vertical = _VERTICAL_WORDS[token]
        else:
            break
        place += 1
    if not place:
        return None
    rest = " ".join(tokens[place:])
    return " ".join(filter(None, (vertical, lateral, _ORGANS.get(rest, rest))))


def _has_lateral(tokens: list[str]) -> bool:
    return any(token in LATERAL for token in tokens)


def _sided_chinese(words: str) -> str | None:
    seen: dict[str, str] = {}
    position = 0
    for token in _han_tokens().finditer(words):
        if token.start() != position:
            return None
        position = token.end()
        kind = token.lastgroup or ""
        slot = "lateral" if kind in LATERAL else "vertical" if kind in VERTICAL else kind
        if slot in ("tail", "of"):
            if not seen:
                return None
            continue
        if slot in seen or (slot == "lateral" and "organ" in seen):
            return None
        if slot == "vertical" and "organ" in seen and len(token[0]) == 1 and words[position:] not in SIDE_NOUNS_CHINESE:
            return None
        seen[slot] = _ORGANS[token[0]] if slot == "organ" else kind
    if position != len(words) or not ("lateral" in seen or "vertical" in seen):
        return None
    return " ".join(seen[slot] for slot in ("vertical", "lateral", "organ") if slot in seen)


_MEASURE = re.compile(r"[个根块只条颗枚处种张]")
_TRAIL = " \t\n.。!！?？,，;；:：\"'"


def _number(text: str) -> str | None:
    """The number a text is, with the noun that it counts: `2`, `2 kidney`; None where it is no single number."""
    text = text.strip(_TRAIL)
    lead = text[:1]
    if not (lead.isalnum() or lead in "-−+" and lead):
        return None
    numbers = find_numbers(text)
    if len(numbers) != 1 or numbers[0].start != 0 or numbers[0].value is None:
        return None
    value = numbers[0].value
    rest = text[numbers[0].end :].strip(_TRAIL)
    if isinstance(value, Fraction) or len(rest) > 40:
        return None
    noun = phrase(_MEASURE.sub("", rest, count=1) if rest[:1] and _MEASURE.match(rest) else rest)
    return f"{value} {_NAMES.get(noun, noun)}".strip()


_BOTH = re.compile(r"^(?:both |双)(.+)$")


@lru_cache(maxsize=8192)
def _name(text: str) -> str:
    """The name of one answer: that of its concept where the alias table knows it, else its words."""
    words = phrase(text)
    if words in _NAMES:
        return _NAMES[words]
    if words in NOTHING:
        return "0"
    number = _number(text)
    if number:
        return number
    words = _PLACE_TAIL.sub("", _PLACE_HEAD.sub("", words))
    both = _BOTH.match(words)
    if both and both[1] in ("lung", "kidney", "肺", "肾", "肾脏", "肺部"):
        words = both[1]
    return _NAMES.get(words) or _sided(words) or words


class Meaning(NamedTuple):
    """The names of the answers that a wording gives; `two` where it leaves open which of several it means."""

    names: frozenset[str]
    two: bool = False


_NONE = Meaning(frozenset())
_OR = re.compile(r"\bor\b|\bvs\b|\bversus\b|[或/|]|还是", re.IGNORECASE)
_ITEM = re.compile(r"[,，、;；&\n]|\band\b|以及|[和及与]", re.IGNORECASE)
_BULLET = re.compile(r"^\s*\d{1,2}[.)]\s+(?=\D)")
_ASIDE = re.compile(r"[(（\[]([^()（）\[\]]{0,200})[)）\]]")
_WRONG = re.compile(r"\b(?:wrong|incorrect|mistaken|not)\b|错|误|不是|不对", re.IGNORECASE)
_DENIED = re.compile(r"^(?:not|rather than|而不是|不是|而非) ?(.+)$")
_LONGEST = 400


@lru_cache(maxsize=8192)
def meaning(text: str) -> Meaning:
    """What a wording names: one answer, or the unordered items of a list.

    An aside in brackets may repeat the answer or explain it; one that names another answer of the same group makes two.
    A text of more than 400 characters names nothing.

    >>> sorted(meaning("Spinal cord and the lungs").names), meaning("CT or MRI").two
    (['lung', 'spinal cord'], True)
    """
    if len(text) > _LONGEST:
        return _NONE
    text = text.strip()
    asides = _ASIDE.findall(text)
    if asides:
        main = _ASIDE.sub(" ", text).strip(_TRAIL)
        if not phrase(main):
            return meaning(asides[0]) if len(asides) == 1 else _NONE
        named = meaning(main)
        group = _group(named)
        for aside in asides:
            other = meaning(aside)
            rivals = {_group_of(name) for name in other.names - named.names} - {""}
            if other.two or _WRONG.search(aside) or rivals & {_group_of(name) for name in named.names} or _differ(main, aside):
                return Meaning(named.names, two=True)
            if not group and other.names != named.names and not _abbreviates(aside, main):
                return Meaning(frozenset((phrase(text),)))
        return named
    options = [part for part in _OR.split(text) if phrase(part)]
    if len(options) > 1:
        names = {_list(part) for part in options}
        return Meaning(names.pop()) if len(names) == 1 else Meaning(frozenset().union(*names), two=True)
    return Meaning(_list(text))


def _differ(text: str, other: str) -> bool:
    """True where two texts mention different answers of one group."""
    for group in _ALL_GROUPS:
        said = _named(other, group)
        if said:
            named = _named(text, group)
            if named and said - named:
                return True
    return False


def _abbreviates(short: str, long: str) -> bool:
    """True for initials: `PE` of pleural effusion."""
    return phrase(short) == "".join(word[0] for word in phrase(long).split())


def _list(text: str) -> frozenset[str]:
    whole = phrase(text)
    if whole in _NAMES:
        return frozenset((_NAMES[whole],))
    items = [_BULLET.sub("", part) for part in _ITEM.split(text)]
    items = [part.rstrip(_TRAIL) for part in items if phrase(part) not in ("", "etc", "等", "等等")]
    if len(items) > 1:
        items[-1] = items[-1][:-1] if items[-1].endswith("等") else items[-1]
        kept = [part for part in items if not _denies(part)]
        items = kept or items
    return frozenset(name for name in map(_name, items) if name)


def _denies(item: str) -> bool:
    """True for the second half of `CT, not MRI`."""
    denied = _DENIED.match(phrase(item))
    return bool(denied) and denied[1] in _NAMES if denied else False


def _group(named: Meaning) -> str:
    """The group that all named answers belong to, "" where there is none."""
    groups = {_group_of(name) for name in named.names}
    return groups.pop() if len(groups) == 1 else ""


def _group_of(name: str) -> str:
    if name in _GROUPS:
        return "side" if _GROUPS[name] == "position" else _GROUPS[name]
    return "side" if name.split(" ")[0] in (*LATERAL, *VERTICAL) else ""


@lru_cache(maxsize=64)
def _mentions(group: str) -> re.Pattern[str] | None:
    forms = [form for form, name in _NAMES.items() if _GROUPS[name] == group]
    english = _alternation(tuple(form for form in forms if form.isascii()))
    # One character is part of too many words: 心 of 中心, 白 of 蛋白.
    chinese = _alternation(tuple(form for form in forms if not form.isascii() and len(form) > 1))
    patterns = [pattern for pattern in (rf"(?<![a-z0-9])(?:{english})(?![a-z0-9])" if english else "", chinese) if pattern]
    return re.compile("|".join(patterns)) if patterns else None


_SIDES = re.compile(r"\b(?:left|right)\b|[左右]")
_SIDE_NAMES = {"left": "left", "右": "right", "right": "right", "左": "left"}


def _named(text: str, group: str) -> frozenset[str]:
    """The answers of a group that a text mentions anywhere."""
    words = phrase(text[:4000])
    if group == "side":
        return frozenset(_SIDE_NAMES[found] for found in _SIDES.findall(words))
    pattern = _mentions(group)
    return frozenset(_NAMES[found] for found in pattern.findall(words)) if pattern else frozenset()


# --- where a text without a marker states its answer -----------------------------------------------------------------

# Groups whose answers exclude each other in a whole reply: an explanation that brings in another one is no clear answer.
_EXCLUSIVE = frozenset(("modality", "weighting", "plane", "color", "density", "side"))
_TURN = re.compile(r"\b(?:actually|wait|correction|however|but|alternatively|or)\b|或|但|其实", re.IGNORECASE)
_BREAK = re.compile(
    r"(?P<reason>,? (?:because|since|as it|as the|due to)\b|, which\b|，?(?:因为|由于))"
    r"|(?<=[^\s\d])\.(?=\s)|(?<=\d)\.(?=\s+\D)|[。!！;；\n]| - "
)
_HAN_CLAUSE = re.compile(r"[是为有呈]|显示|可见|位于")
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|shows?|appears?|seems?|looks?|contains?|has|have|does|can|could|would|may|might|plays?)\b",
    re.IGNORECASE,
)
_PRONOUN_IS = re.compile(
    r"^(?:it|that|they|these)(?: is|'s| was| are) (?:of )?(?P<answer>.{1,80})$",
    re.IGNORECASE,
)
_SUBJECT_IS = re.compile(
    r"^(?P<subject>[^,.;:]{2,100}?) (?:is|are|was|were|appears? to be|seems? to be)(?: of)? (?P<answer>[^,.;:]{1,80})$", re.IGNORECASE
)
_USED = re.compile(r"^(?P<answer>.{1,40}) (?:was|is|were) used(?: (?:to|for|in) .{1,60})?$", re.IGNORECASE)
_COMPARED = re.compile(
    r"^(?P<answer>.{1,40}) (?:is|are|looks?) (?:the )?(?P<word>bigger|larger|biggest|largest|smaller|smallest|abnormal)"
    r"(?: .{1,60})?$",
    re.IGNORECASE,
)
_COMPARISON = {"bigger": "big", "larger": "big", "biggest": "big", "largest": "big", "smaller": "small", "smallest": "small"}
_COMPARED_CHINESE = re.compile(r"^(?P<answer>[^比，。]{1,10}?)(?:的?体积)?(?:比[^，。]{1,10})?(?:更|最|较|是)?(?P<word>大|小|异常)的?$")
_HAN_IS = re.compile(r"^(?P<subject>[^，。,.]{0,40}?)(?:是|为|属于|位于|显示为|呈)(?P<answer>[^，。,.]{1,30}?)的?$")
_LOOSE = frozenset(("of", "in", "this", "image", "picture", "scan"))
_LOOSE_HAN = re.compile(r"这[张幅]?|图[像片]?|[中里的它该应]")


def fragments(text: str, question: str) -> Iterator[tuple[str, str]]:
    """The places of a text that may be its answer, each with the rule that found it, the widest first."""
    yield text, "whole"
    yield from _framed(text, question)
    cut = _BREAK.search(text)
    if cut:
        head, tail = text[: cut.start()].strip(), text[cut.end() :].strip()
        explains = cut["reason"] or _CLAUSE.search(tail) or _HAN_CLAUSE.search(tail)
        if head and tail and explains and not _contradicts(head, tail):
            yield head, "leading"
            yield from _framed(head, question)
    gap = text.rfind("\n\n")
    if gap > 0:
        last = text[gap:].strip()
        before = text[:gap].rstrip()
        if before[-1:] in tuple(".。") and len(last) <= 60 and "\n" not in last:
            yield last, "last line"
            yield from _framed(last, question)


def _framed(text: str, question: str) -> Iterator[tuple[str, str]]:
    """The answer in one sentence that states it: `It is CT.`, `The largest organ is the liver.`, 这是肺。"""
    sentence = text.strip(_TRAIL)
    if not sentence or len(sentence) > 200 or "\n" in sentence:
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
    if _TURN.search(tail) or _WRONG.search(tail):
        return True
    named = meaning(head)
    group = _group(named)
    if not group:
        return False
    if group in _EXCLUSIVE:
        allowed = _named(head, group) | named.names
        return bool(_named(tail, group) - allowed)
    return _group(meaning(tail)) == group


# --- yes and no -----------------------------------------------------------------------------------------------------

_ASKS = re.compile(r"[?？]\s*$|[吗么]\s*$|^(?:is|are|does|do|can)\b|是否|是不是|有没有", re.IGNORECASE)
_LEADING_ENGLISH = re.compile(r"^(yes|yeah|yep|no|nope)\b\s*([,.;:!\n]|-|(?=(?:it|there|this|the|they|that|these|i|we)\b))", re.IGNORECASE)
_LEADING_CHINESE = re.compile(rf"^({_alternation(tuple(word for word in YES | NO if not word.isascii()))})\s*[，,。.；;！!：:\n]")
_SEEING = frozenset(("contain", "exist", "appear", "present", "visible", "seen", "show", "shown", "there", "has", "have", "found", "absent"))
_IDLE = frozenset(
    ("a", "is", "are", "was", "were", "be", "this", "it", "in", "of", "do", "doe", "can", "image", "picture", "scan", "look", "any", "here")
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


_HAN_SCENE = re.compile(r"(?:这张|这幅)?(?:图像|图片|照片|图)[中里上]?|是否|[吗么了的它]|任何|病人|患者|看起来")
_HAN_IDLE = re.compile(r"观察到|看到|看见|可见|见|显示|出现|包含|包括|含有|存在|可以|属于|[是有能在于]")
_HAN_DENIAL = re.compile(r"[不没无未非]")


@lru_cache(maxsize=4096)
def _claim_chinese(text: str) -> _Claim:
    text = _NO_WORD.sub("", fold(text).lower()).replace("异常", "不正常")
    text = _HAN_SCENE.sub("", text)
    text, denials = _HAN_DENIAL.subn("", text)
    core, seeing = _HAN_IDLE.subn("", text)
    return _Claim(frozenset((core,)) if core else frozenset(), bool(denials % 2), bool(seeing) or bool(denials))


_SEEN_CHINESE = re.compile(
    r"(?:(?P<no>没有|不能|不可以|未|不|没)|可以|能够|能|有)?(?:观察到|看到|看见|发现|显示|出现|包含|包括|含有|存在)了?|(?P<unseen>看不到|看不见)"
)
_NO_IMAGE = re.compile(r"\bno (?:image|picture|scan)\b", re.IGNORECASE)


def _echoed(text: str, question: str) -> str | None:
    """The polarity of a sentence that repeats the question as a statement: `The lung is not healthy`, 不包含心脏."""
    if not question or len(text) > 200 or _ASKS.search(text) or _bare(text) == _bare(question):
        return None
    chinese = not text.isascii() or not question.isascii()
    read = _claim_chinese if chinese else _claim
    asked, said = read(question), read(text)
    if not asked.core:
        return None
    agrees = "yes" if asked.denied == said.denied else "no"
    if chinese and asked.seeing:
        seen = _SEEN_CHINESE.fullmatch(text.strip(_TRAIL))
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
        return said.seeing or any(state in text for state in ("正常", "异常", "健康"))
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
    r"\b(?:yes\W{0,3}(?:(?:but|or|and|then|maybe)\W{1,3})?no|no\W{0,3}(?:(?:but|or|and|then|maybe)\W{1,3})?yes)\b|是或否|是/否", re.IGNORECASE
)


def polarity(text: str, question: str) -> tuple[str | None, str]:
    """("yes" or "no", rule) for what a text answers to a yes/no question; (None, reason) where it answers neither.

    A state word is read against the question: 不正常 says yes to 是异常的吗 and no to 是正常的吗.

    >>> polarity("No, the heart is enlarged.", "Does this image look normal?")
    ('no', 'leading')
    """
    asks = _ASKS.search(text)
    text = text.strip().strip(_TRAIL + "()（）[]")
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
        if again and _lone_polarity(again[1]) != said or _NO_COMMA.match(rest) and said == "yes":
            return None, "two answers"
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


_NO_COMMA = re.compile(r"no\b", re.IGNORECASE)
_FIRST_CLAUSE = re.compile(r"[.。!！;；\n，,]")


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
_EMPTY_MARK = re.compile(r"^[ \t\"'>-]*(?:answer|答案)\s{0,3}:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_STATEMENT_DENIED = re.compile(r"\b(?:not|unlikely|if|whether|unsure|cannot|neither)\b[^.\n]*$|n't\b[^.\n]*$", re.IGNORECASE)


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
    if not cleaned or is_placeholder(cleaned):
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
    return text.strip(_TRAIL).lower()


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
    if right == "0" and said in ("没有", "无") and re.search("多少|几", question):
        return True
    if right == "0" and re.match(r"no |没有", said) and re.search(r"how many|多少|几", question, re.IGNORECASE):
        return _asked_about(re.sub(r"^(?:no |没有)", "", said), question)
    if not (right in LATERAL or right.lstrip("-").isdigit()) or not said.startswith(f"{right} "):
        return False
    return not _WHERE.search(question) and _asked_about(said[len(right) + 1 :], question)


_WHERE = re.compile(r"^where\b|在哪|哪里|位置", re.IGNORECASE)


def _asked_about(noun: str, question: str) -> bool:
    """True where the question names the noun in one of its wordings."""
    noun = _NAMES.get(noun, noun)
    asked = phrase(question)
    padded = f" {asked} "
    forms = [noun, *(form for form, name in _NAMES.items() if name == noun)]
    return any(f" {form} " in padded if form.isascii() else form in asked for form in forms)
