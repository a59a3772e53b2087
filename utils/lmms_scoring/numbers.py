"""Exact values of the numbers that a text states in digits, in English words or in Chinese numerals."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple, TypeAlias

Value: TypeAlias = int | Fraction

# int() takes quadratic time in the number of digits; no count, year or size needs more than this.
MAX_DIGITS = 30


class Number(NamedTuple):
    """One number of a text.

    `value` is None for a numeral without one clear value (`4.0.1`, `二三`, two thirds, more than `MAX_DIGITS` digits):
    it still counts as a number that the text names. `start` and `end` are its span, sign included.
    """

    value: Value | None
    start: int
    end: int


_ONES = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_TEENS = {
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SMALL = {"zero": 0, **_ONES, **_TEENS, **_TENS}
_SCALES = {"thousand": 1_000, "million": 1_000_000}

_HAN_DIGITS = {
    **{char: value for value, char in enumerate("零一二三四五六七八九")},
    **{char: value for value, char in enumerate("〇壹贰叁肆伍陆柒捌玖")},
    "两": 2,
    "兩": 2,
    "貳": 2,
    "參": 3,
    "陸": 6,
}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_HAN_MYRIADS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}


# `\b`, except that a Chinese character ends an English word: 有four条腿.
# A range takes its length to compile, under IGNORECASE many times that, and this one stands in the pattern sixty times.
_BEGIN = r"(?-i:(?<!(?=[\0-\u2e7f])\w))"
_END = r"(?-i:(?!(?=[\0-\u2e7f])\w))"


def _words(*tables: dict[str, int]) -> str:
    return "(?:" + "|".join(word for table in tables for word in table) + ")" + _END


_JOIN = r"[ \t\-‐‑]"
_BELOW_100 = rf"(?:{_words(_TENS)}(?:{_JOIN}{_words(_ONES)})?|{_words(_TEENS)}|{_words(_ONES)})"
_BELOW_1000 = rf"(?:(?:(?:{_BELOW_100}|a){_JOIN})?hundred{_END}(?:[ \t]and)?(?:{_JOIN}{_BELOW_100})?|{_BELOW_100})"
_SCALED = rf"(?:(?:{_BELOW_1000}|a){_JOIN})?{_words(_SCALES)}"
_NEXT = r",?[ \t](?:and[ \t])?"
_ENGLISH = (
    rf"(?:half[ \t](?:a[ \t])?dozen{_END}|(?:(?:{_BELOW_100}|a)[ \t])?dozen{_END}|zero{_END}"
    rf"|{_SCALED}(?:{_NEXT}{_SCALED})?(?:{_NEXT}{_BELOW_1000})?|{_BELOW_1000})"
    rf"(?:[ \t]point(?:[ \t](?:zero{_END}|{_words(_ONES)})){{1,9}})?"
)
_HAN = "[" + "".join((*_HAN_DIGITS, *_HAN_UNITS, *_HAN_MYRIADS)) + "]"
# A numeral takes all that could belong to it, without a condition behind: nothing here can backtrack over a long run.
_NUMERAL = re.compile(
    rf"(?P<digits>[.．]?\d+(?:[.．,/]\d+)*)|(?=[a-z]){_BEGIN}(?P<english>{_ENGLISH})|(?P<han>{_HAN}+(?:点{_HAN}+)?)",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:[.．]\d+)?\Z")
_MINUS = "-−－﹣–"
_PLUS = "+＋"
_SIGN_WORD = re.compile(r"(?:\b(?:minus|negative)[ \t]{0,3}|负|負)\Z", re.IGNORECASE)
# Behind another number `minus` is an operation: `5 minus 1`, `five minus one`.
_OPERAND = re.compile(rf"(?:\d|{_words(_SMALL)})\s{{0,3}}\Z", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Za-z]{1,20}")
# `twenty-first` is a rank, `two thirds` and `四分之三` are parts: neither states the count that its first word is.
_RANK_AFTER = re.compile(
    r"[\-‐‑](?:first|second|third|(?:four|fif|six|seven|eigh|nin|ten|(?:thir|four|fif|six|seven|eigh|nine)teen)th)\b",
    re.IGNORECASE,
)
_PART_AFTER = re.compile(
    r"[ \t\-‐‑](?:half|halves|quarters?|thirds|(?:four|fif|six|seven|eigh|nin|ten)ths)\b", re.IGNORECASE
)
_PRONOUN_BEFORE = re.compile(
    r"\b(?:this|that|the|no|each|every|another|which|any|other|last|first)[ \t]{1,3}\Z", re.IGNORECASE
)
_PRONOUN_AFTER = re.compile(r"[ \t]{1,3}(?:another|of|by|can|could|might|would|should|may|must)\b", re.IGNORECASE)
# 一 is part of a word far more often than it is a count: 一共, 一些, 唯一, 统一 …
_YI_BEFORE = frozenset("唯统統同某逐单單任之")
_YI_AFTER = frozenset("共些样樣起致般下定直旦切侧側边邊种種半会會再味向时時律体體块塊")


def find_numbers(text: str) -> list[Number]:
    """The numbers that a text names, in order, each with its span; empty where there are none.

    Digits of any script (full-width too), decimals, thousands, simple fractions, per cent (`4%` is 4/100), signs and
    sign words; English number words (`one hundred and five`, `two dozen`) and Chinese numerals (`一百零五`, `两`).
    Not numbers: digits behind a letter (`T2`), ranks (`3rd`, `第三`), dimensions (`3D`, `4x4`) and `one` as a pronoun.
    Takes linear time.

    >>> [number.value for number in find_numbers("There are 4 legs, not twenty-three")]
    [4, 23]
    """
    found: list[Number] = []
    for match in _NUMERAL.finditer(text):
        found.extend(_READERS[match.lastgroup or ""](text, match.start(), match.end()))
    return found


def parse_number(text: str) -> Value | None:
    """The value of a text that is one number and nothing else but white space; None for any other text.

    >>> parse_number(" Twenty-three "), parse_number("４.0"), parse_number("-4"), parse_number("4 legs")
    (23, 4, -4, None)
    """
    text = text.strip()
    numbers = find_numbers(text)
    if len(numbers) == 1 and numbers[0].start == 0 and numbers[0].end == len(text):
        return numbers[0].value
    return None


def _whole(value: Fraction) -> Value:
    return value.numerator if value.denominator == 1 else value


def _signed(text: str, start: int, end: int, value: Value | None) -> Number:
    """The number with the sign that stands directly before it; a hyphen behind a word or another number is none."""
    before = text[start - 1 : start]
    if before and before in _MINUS + _PLUS:
        outer = text[max(0, start - 2) : start - 1]
        if not (outer.isalnum() or outer in tuple(_MINUS + _PLUS + ")]}）】")):
            return Number(-value if value is not None and before in _MINUS else value, start - 1, end)
        return Number(value, start, end)
    word = _SIGN_WORD.search(text[max(0, start - 12) : start])
    if word is not None and not _OPERAND.search(text[max(0, start - 24) : start - len(word[0])]):
        return Number(None if value is None else -value, start - len(word[0]), end)
    return Number(value, start, end)


def _from_digits(text: str, start: int, end: int) -> list[Number]:
    before = text[start - 1 : start]
    if before == "_" or (before.isalpha() and before < "\u2e80"):
        return []
    if text[max(0, start - 2) : start].rstrip().endswith("第"):
        return []
    letters = _LETTERS.match(text, end)
    if letters is not None:
        behind = text[letters.end() : letters.end() + 1]
        if letters[0].lower() in ("st", "nd", "rd", "th", "d") or behind.isdigit():
            return []
    after = text[end : end + 1]
    chunk = text[start:end]
    if after and unicodedata.category(after) == "No":
        # `4²` and `4½`
        return [_signed(text, start, end + 1, None)]
    if "," in chunk and _GROUPED.match(chunk) is None:
        return _listed(text, start, end)
    value = _digits_value(chunk.replace(",", "").replace("．", "."))
    if after and after in "%％":
        return [_signed(text, start, end + 1, None if value is None else _whole(Fraction(value) / 100))]
    return [_signed(text, start, end, value)]


def _listed(text: str, start: int, end: int) -> list[Number]:
    """The members of `2,3` or `2,3,15`."""
    numbers = []
    for match in re.finditer(r"[^,]+", text[start:end]):
        value = _digits_value(match[0].replace("．", "."))
        numbers.append(_signed(text, start + match.start(), start + match.end(), value))
    return numbers


def _digits_value(chunk: str) -> Value | None:
    if len(chunk) > MAX_DIGITS:
        return None
    if "/" in chunk:
        above, _, below = chunk.partition("/")
        if not (above.isdigit() and below.isdigit()) or int(below) == 0:
            return None
        return _whole(Fraction(int(above), int(below)))
    if chunk.count(".") > 1:
        return None
    if "." in chunk:
        whole, _, decimals = chunk.partition(".")
        return _whole(Fraction(int(whole or "0") * 10 ** len(decimals) + int(decimals), 10 ** len(decimals)))
    return int(chunk)


def _from_english(text: str, start: int, end: int) -> list[Number]:
    words = text[start:end].lower()
    # Ignoring case lets these letters stand for s and i.
    if any(char in words for char in "ſı\u0307") or text[end : end + 1] in ("'", "’") or _RANK_AFTER.match(text, end):
        return []
    if _PART_AFTER.match(text, end):
        return [Number(None, start, end)]
    if words == "one" and (_PRONOUN_BEFORE.search(text[max(0, start - 12) : start]) or _PRONOUN_AFTER.match(text, end)):
        return []
    return [_signed(text, start, end, _english_value(words))]


def _english_value(words: str) -> Value:
    whole, _, decimals = words.replace("\t", " ").partition(" point ")
    if whole.startswith("half"):
        return 6
    total = current = 0
    for word in re.findall(r"[a-z]+", whole):
        if word in _SMALL:
            current += _SMALL[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word == "dozen":
            current = (current or 1) * 12
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0
    value: Value = total + current
    if decimals:
        digits = [_SMALL[word] for word in decimals.split()]
        value = _whole(Fraction(value) + Fraction(int("".join(map(str, digits))), 10 ** len(digits)))
    return value


def _from_han(text: str, start: int, end: int) -> list[Number]:
    before, after = text[start - 1 : start], text[end : end + 1]
    if before == "第":
        return []
    if text[start:end] == "一" and ((before in _YI_BEFORE and before) or (after in _YI_AFTER and after)):
        return []
    if text.startswith("分之", end) or text.endswith("分之", 0, start):
        return [Number(None, start, end)]
    whole, _, decimals = text[start:end].partition("点")
    value: Value | None = _han_value(whole)
    if decimals and value is not None:
        if len(decimals) > MAX_DIGITS or any(char not in _HAN_DIGITS for char in decimals):
            value = None
        else:
            fraction = Fraction(int("".join(str(_HAN_DIGITS[char]) for char in decimals)), 10 ** len(decimals))
            value = _whole(Fraction(value) + fraction)
    return [_signed(text, start, end, value)]


def _han_value(numeral: str) -> int | None:
    """The value of a Chinese numeral; None where it is not written as one (`二三`, `十十`, `一百五`)."""
    if len(numeral) > MAX_DIGITS:
        return None
    if all(char in _HAN_DIGITS for char in numeral):
        # 二三 also means "two or three"; digit by digit is only sure with a zero in it, as in 一〇五 and 二零一五.
        if len(numeral) == 1 or (any(char in "零〇" for char in numeral) and numeral[0] not in "零〇"):
            return int("".join(str(_HAN_DIGITS[char]) for char in numeral))
        return None
    total = 0
    limit = 10**12
    part = ""
    for char in numeral:
        if char not in _HAN_MYRIADS:
            part += char
            continue
        scale = _HAN_MYRIADS[char]
        below = _han_below_10000(part)
        if not below or scale >= limit:
            return None
        total, limit, part = total + below * scale, scale, ""
    if not part:
        return total
    below = _han_below_10000(part)
    return None if below is None or (total and len(part) == 1) else total + below


def _han_below_10000(numeral: str) -> int | None:
    total = 0
    limit = 10_000
    digit: int | None = None
    zero = False
    for char in numeral:
        if char in "零〇":
            if digit is not None or zero:
                return None
            zero = True
        elif char in _HAN_DIGITS:
            if digit is not None:
                return None
            digit = _HAN_DIGITS[char]
        else:
            unit = _HAN_UNITS[char]
            if unit >= limit or (digit is None and unit != 10):
                return None
            total, limit, digit, zero = total + (1 if digit is None else digit) * unit, unit, None, False
    if digit is None:
        return None if zero or not numeral else total
    # 一百五 says 150 in speech and 105 to a careless reader.
    if limit > 10 and total and not zero:
        return None
    return total + digit


_READERS = {"digits": _from_digits, "english": _from_english, "han": _from_han}
