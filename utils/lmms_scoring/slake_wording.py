"""What a wording of a SLAKE answer means, by the alias table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from lmms_scoring.numbers import find_numbers
from lmms_scoring.reply import fold
from lmms_scoring.slake_aliases import (
    CONCEPTS,
    LATERAL,
    NOTHING,
    SIDE_NOUNS,
    SIDE_NOUNS_CHINESE,
    SPELLINGS,
    SUFFIXES,
    VERTICAL,
)

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_GAP_BESIDE_HAN = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")
NO_WORD = re.compile(r"[\W_]+")
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
    text = NO_WORD.sub(" ", text).strip()
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
        for form in (*concept.chinese, concept.name, *concept.english):
            yield form, concept.name
            yield from (("".join((form, suffix)), concept.name) for suffix in chinese)


NAMES = dict(_forms())
_GROUPS = {concept.name: concept.group for concept in CONCEPTS}
_ALL_GROUPS = ("side", *sorted({concept.group for concept in CONCEPTS}))
_ORGANS = {form: concept for form, concept in NAMES.items() if _GROUPS[concept] in ("organ", "part")}
_VERTICAL_WORDS = {**{name: name for name in VERTICAL}, "top": "upper", "bottom": "lower"}


def alternation(forms: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))


_SIDE_TAIL = re.compile(rf" (?:{alternation(SIDE_NOUNS)})$")
_PLACE_HEAD = re.compile(r"^(?:located )?(?:in|on|at) ")
_PLACE_TAIL = re.compile(r" (?:of|in) (?:this )?(?:image|picture|scan)$")
_PART_OF = re.compile(r"(upper|lower) (?:part|portion|region|zone|field) of (left|right) (.+)")


@lru_cache(maxsize=1)
def _han_tokens() -> re.Pattern[str]:
    organs = alternation(tuple(form for form in _ORGANS if not form.isascii()))
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
    for token in tokens:
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
TRAIL = " \t\n.。!！?？,;:：\"'"


def _number(text: str) -> str | None:
    """The number a text is, with the noun that it counts: `2`, `2 kidney`; None where it is no single number."""
    text = text.strip(TRAIL)
    lead = text[:1]
    if not (lead.isalnum() or lead in "-−+"):
        return None
    numbers = find_numbers(text)
    if len(numbers) != 1 or numbers[0].start != 0 or numbers[0].value is None:
        return None
    value = numbers[0].value
    rest = text[numbers[0].end :].strip(TRAIL)
    if isinstance(value, Fraction) or len(rest) > 40:
        return None
    noun = _PLACE_TAIL.sub("", phrase(rest[1:] if _MEASURE.match(rest) else rest))
    return f"{value} {NAMES.get(noun, noun)}".strip()


_BOTH = re.compile(r"(?:both |双)(.+)")


@lru_cache(maxsize=8192)
def _name(text: str) -> str:
    """The name of one answer: that of its concept where the alias table knows it, else its words."""
    words = phrase(text)
    if words in NAMES:
        return NAMES[words]
    if words in NOTHING:
        return "0"
    number = _number(text)
    if number:
        return number
    words = _PLACE_TAIL.sub("", _PLACE_HEAD.sub("", words))
    both = _BOTH.match(words)
    if both and both[1] in ("lung", "kidney", "肺", "肾", "肾脏", "肺部"):
        words = both[1]
    return NAMES.get(words) or _sided(words) or words


class Meaning(NamedTuple):
    """The names of the answers that a wording gives; `two` where it leaves open which of several it means."""

    names: frozenset[str]
    two: bool = False


_NONE = Meaning(frozenset())
_OR = re.compile(r"\bor\b|\bvs\b|\bversus\b|[或/|]|还是", re.IGNORECASE)
_ITEM = re.compile(r"[,，、;；&\n]|\band\b|以及|[和及与]", re.IGNORECASE)
_BULLET = re.compile(r"^\s*\d{1,2}[.)]\s(?=\D)")
_ASIDE = re.compile(r"[(（\[]([^()（）\[\]]{1,200})[)）\]]")
WRONG = re.compile(r"\b(?:wrong|incorrect|mistaken|not)\b|错|误|不是|不对", re.IGNORECASE)
_DENIED = re.compile(r"(?:not|rather than|而不是|不是|而非) ?(.+)")
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
        main = _ASIDE.sub(" ", text).strip(TRAIL)
        if not phrase(main):
            return meaning(asides[0]) if len(asides) == 1 else _NONE
        named = meaning(main)
        group = common_group(named)
        for aside in asides:
            if _denies(aside):
                continue
            if WRONG.search(aside):
                return Meaning(named.names, two=True)
            if _number(main) and not find_numbers(aside):
                continue
            other = meaning(aside)
            rivals = {_group_of(name) for name in other.names - named.names} - {""}
            if other.two or rivals & {_group_of(name) for name in named.names} or _differ(main, aside):
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
        said = mentioned(other, group)
        if said:
            named = mentioned(text, group)
            if named and said - named:
                return True
    return False


def _abbreviates(short: str, long: str) -> bool:
    """True for initials: `PE` of pleural effusion."""
    return phrase(short) == "".join(word[0] for word in phrase(long).split())


def _list(text: str) -> frozenset[str]:
    whole = phrase(text)
    if whole in NAMES:
        return frozenset((NAMES[whole],))
    items = [_BULLET.sub("", part) for part in _ITEM.split(text)]
    items = [part.rstrip(TRAIL) for part in items if phrase(part) not in ("", "etc", "等", "等等")]
    if len(items) > 1:
        items[-1] = items[-1][:-1] if items[-1].endswith("等") else items[-1]
        kept = [part for part in items if not _denies(part)]
        items = kept or items
    return frozenset(name for name in map(_name, items) if name)


def _denies(item: str) -> bool:
    """True for the second half of `CT, not MRI`."""
    denied = _DENIED.match(phrase(item))
    return denied is not None and bool(denied[1] in NAMES or _sided(denied[1]))


def common_group(named: Meaning) -> str:
    """The group that all named answers belong to, "" where there is none."""
    groups = {_group_of(name) for name in named.names}
    return groups.pop() if len(groups) == 1 else ""


def _group_of(name: str) -> str:
    if name in _GROUPS:
        return "side" if _GROUPS[name] == "position" else _GROUPS[name]
    return "side" if name.split(" ")[0] in (*LATERAL, *VERTICAL) else ""


@lru_cache(maxsize=64)
def _mentions(group: str) -> re.Pattern[str] | None:
    forms = [form for form, name in NAMES.items() if _GROUPS[name] == group]
    english = alternation(tuple(form for form in forms if form.isascii()))
    # One character is part of too many words: 心 of 中心, 白 of 蛋白.
    chinese = alternation(tuple(form for form in forms if not form.isascii() and len(form) > 1))
    patterns = [
        pattern for pattern in (rf"(?<![a-z0-9])(?:{english})(?![a-z0-9])" if english else "", chinese) if pattern
    ]
    return re.compile("|".join(patterns)) if patterns else None


_SIDES = re.compile(r"\b(?:left|right)\b|[左右]")
_SIDE_NAMES = {"left": "left", "右": "right", "right": "right", "左": "left"}


def mentioned(text: str, group: str) -> frozenset[str]:
    """The answers of a group that a text mentions anywhere."""
    words = phrase(text[:4000])
    if group == "side":
        return frozenset(_SIDE_NAMES[found] for found in _SIDES.findall(words))
    pattern = _mentions(group)
    return frozenset(NAMES[found] for found in pattern.findall(words)) if pattern else frozenset()
