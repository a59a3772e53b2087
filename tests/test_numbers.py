"""Numbers in digits, English words and Chinese numerals have their exact values."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_scoring.numbers import MAX_DIGITS, find_numbers, parse_number

VALUES = {
    # digits
    "4": 4, "04": 4, " 4\n": 4, "４": 4, "１２": 12, "٤": 4, "४": 4, "4.0": 4, "4.50": Fraction(9, 2),
    "４．５": Fraction(9, 2), ".5": Fraction(1, 2), "-4": -4, "+4": 4, "−4": -4, "－4": -4, "﹣4": -4, "–4": -4,
    "＋4": 4, "-0.5": Fraction(-1, 2), "1,000": 1000, "12,345,678": 12345678, "1,234.5": Fraction(2469, 2),
    "4%": Fraction(1, 25), "50％": Fraction(1, 2), "1/2": Fraction(1, 2), "4/2": 2, "-1/3": Fraction(-1, 3),
    # English words
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90, "Twenty-Three": 23, "TWENTY THREE": 23, "ninety‑nine": 99,
    "thirty‐two": 32, "twenty\tone": 21, "a hundred": 100, "hundred": 100, "one hundred and five": 105,
    "two hundred": 200, "three hundred twelve": 312, "one thousand": 1000, "a thousand": 1000,
    "two thousand and one": 2001, "one thousand two hundred and thirty-four": 1234, "five hundred thousand": 500_000,
    "six million": 6_000_000, "a million": 1_000_000, "one million, two hundred thousand and three": 1_200_003,
    "a dozen": 12, "two dozen": 24, "dozen": 12, "half a dozen": 6, "half dozen": 6, "four point five": Fraction(9, 2),
    "zero point two five": Fraction(1, 4), "minus four": -4, "negative four": -4, "one point zero": 1,
    # Chinese numerals
    "零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
    "十": 10, "十一": 11, "十二": 12, "二十": 20, "二十三": 23, "九十九": 99, "一百": 100, "一百零五": 105,
    "一百〇五": 105, "一百五十": 150, "一百一十二": 112, "一百十二": 112, "两百": 200, "一千零五": 1005,
    "一千二百": 1200, "一千零五十": 1050, "两千三百四十五": 2345, "一万": 10_000, "一万二千": 12_000, "十万": 100_000,
    "一百万": 1_000_000, "一亿": 100_000_000, "一億二千萬": 120_000_000, "一万零五": 10_005, "一〇五": 105,
    "二零一五": 2015, "四点五": Fraction(9, 2), "十点二五": Fraction(41, 4), "负四": -4, "負四": -4, "壹": 1, "贰": 2,
    "叁": 3, "肆": 4, "伍": 5, "陆": 6, "柒": 7, "捌": 8, "玖": 9, "貳": 2, "參": 3, "陸": 6, "拾": 10, "贰拾叁": 23,
    "壹佰": 100, "壹仟": 1000, "三萬": 30_000,
    "一" + "〇" * (MAX_DIGITS - 1): 10 ** (MAX_DIGITS - 1),
    "一点" + "〇" * (MAX_DIGITS - 1) + "一": 1 + Fraction(1, 10**MAX_DIGITS),
}  # fmt: skip

NO_NUMBERS = (
    "", " ", "legs", "4 legs", "4.", "2 or 3", "2,3", "12,34", "4.0.1", "4/0", "1/2/3", "3rd", "1st", "2nd", "4th",
    "3D", "4x4", "T2", "L4", "a_4", "É4", "第三", "第3", "第 3", "二三", "一百五", "一百零", "十十", "零一",
    "一零零五百", "一万五", "百", "千", "五万三亿", "百五", "一百二百", "万", "三分之一", "四点十", "4²", "4½", "½",
    "two-thirds", "two thirds", "three quarters", "one half", "two halves", "one quarter", "four-fifths",
    "three tenths", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "thirty-fifth", "a", "and",
    "someone", "tenant", "ones", "sixième", "ſix", "fıve", "fİve", "one's", "one’s", "four five", "twenty eleven",
    "--4", "4-", "٤x٤", "9" * (MAX_DIGITS + 1), "一" + "〇" * MAX_DIGITS, "〇" * 5, "一点" + "一" * (MAX_DIGITS + 1),
    "一万一亿", "一百零零五", "一千五零", "一万一万",
)  # fmt: skip

TEXTS = {
    "There are 4 legs, not 5": [4, 5],
    "2 or 3": [2, 3],
    "2,3 and 15": [2, 3, 15],
    "2-3": [2, 3],
    "-2 to -3": [-2, -3],
    "x=-4": [-4],
    "(-4)": [-4],
    "5-4": [5, 4],
    "a)-4": [4],
    "a-4": [4],
    "5 minus 1": [5, 1],
    "five minus one is four": [5, 1, 4],
    "It is minus four": [-4],
    "有4条腿": [4],
    "有four条腿": [4],
    "一共五条": [5],
    "唯一的五条，一样，一些": [5],
    "一条腿": [1],
    "共一个": [1],
    "this one has five": [5],
    "that one, the one, no one, each one, every one, another one, which one": [],
    "any one, other one, last one, first one": [],
    "one another, one of them, one by, one can, one could, one might, one would, one should, one may, one must": [],
    "one leg": [1],
    "this two": [2],
    "the 3rd of 5 legs": [5],
    "4legs": [4],
    "4 x 3": [4, 3],
    "a 6x6 grid": [],
    "T1 and T2": [],
    "twenty-first of four": [4],
    "the 1st, 2nd, 3rd, 4th, 3D and 2d": [],
    "twenty-first, twenty-second, twenty-third, twenty-fourth, twenty-fifth, twenty-sixth, twenty-seventh": [],
    "twenty-eighth, twenty-ninth, one-tenth, one-fourteenth, four‑fifth": [],
    "one's legs and one’s legs, five's": [],
    "two thirds": [None],
    "two thirds, one half, two halves, one quarter, three quarters": [None] * 5,
    "four-fourths, four-fifths, four-sixths, four-sevenths, four-eighths, four-ninths, four-tenths": [None] * 7,
    "三分之": [None],
    "中4": [4],
    "É4": [],
    "minus  four": [-4],
    "negative   four": [-4],
    "one minus  four": [1, 4],
    "seventeen minus one": [17, 1],
    "this   one": [],
    "another   one": [],
    "第 3 第 ٣": [],
    "1,22": [1, 22],
    "4½": [None],
    "a.4": [],
    "-4 -4": [-4, -4],
    "--4": [4],
    "(4)-5": [4, 5],
    "]-5": [5],
    "4th-5": [5],
    "三分之一": [None],
    "4.0.1": [None],
    "二三": [None],
    "4²": [None],
    "4½ legs": [None],
    "1,2,3,000": [1, 2, 3, 0],
    "2,-3": [2, -3],
    "1,234 and 12,34": [1234, 12, 34],
    "4. It has 5.": [4, 5],
    "two hundred and six": [206],
    "two and six": [2, 6],
    "two, six": [2, 6],
    "two  six": [2, 6],
    "two\nsix": [2, 6],
    "four point": [4],
    "a hundred and": [100],
    "百分之四": [None, None],
    "第三行有四": [4],
    "one\thundred and five": [105],
    "two hundred\tand six": [206],
    "one thousand\tand\tfive": [1005],
    "half\ta\tdozen": [6],
    "half\tdozen": [6],
    "two\tdozen": [24],
    "four\tpoint\tfive": [Fraction(9, 2)],
    "thousand; million": [1000, 1_000_000],
    "．5": [Fraction(1, 2)],
    "1,234．5": [Fraction(2469, 2)],
    "1,234.56": [Fraction(30864, 25)],
    "1,234,5": [1, 234, 5],
    "terminus four": [4],
    "seronegative   4": [4],
    "minus\tfour": [-4],
    "5  minus 1": [5, 1],
    "twenty‐first": [],
    "two\tthirds, two‐thirds, two‑thirds": [None] * 3,
    "two quarterstaffs and one halfback": [2, 1],
    "bathe one leg": [1],
    "this\tone": [],
    "this big one": [1],
    "one\tof them, one  of them": [],
    "one office, one candle": [1, 1],
    "}-5": [5],
    "）-5": [5],
    "】-5": [5],
    "第3": [],
    "第  3": [3],
    "二零零零": [2000],
    "零一零": [None],
    "分之三": [None],
}


@pytest.mark.parametrize("char", "唯统統同某逐单單任之")
def test_one_in_chinese_is_no_count_behind_a_word_that_it_ends(char: str) -> None:
    assert find_numbers(f"{char}一") == []


@pytest.mark.parametrize("char", "共些样樣起致般下定直旦切侧側边邊种種半会會再味向时時律体體块塊")
def test_one_in_chinese_is_no_count_before_a_word_that_it_begins(char: str) -> None:
    assert find_numbers(f"一{char}") == []


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_a_number_has_its_exact_value(text: str, value: int | Fraction) -> None:
    parsed = parse_number(text)
    assert parsed == value
    assert isinstance(parsed, int if Fraction(value).denominator == 1 else Fraction)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_not_one_number_has_no_value(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(("text", "values"), TEXTS.items())
def test_a_text_names_these_numbers(text: str, values: list[int | Fraction | None]) -> None:
    assert [number.value for number in find_numbers(text)] == values


def test_spans_cover_the_number_with_its_sign() -> None:
    text = "It has -4.5, minus four, １２ or two hundred and six, 负四 not 50%."
    spans = [text[number.start : number.end] for number in find_numbers(text)]
    assert spans == ["-4.5", "minus four", "１２", "two hundred and six", "负四", "50%"]
    assert find_numbers("4² 5") == [(None, 0, 2), (5, 3, 4)]


def test_digits_up_to_the_bound_are_exact_and_beyond_it_name_a_number_without_value() -> None:
    longest = "9" * MAX_DIGITS
    assert parse_number(longest) == int(longest)
    assert [number.value for number in find_numbers("9" * (MAX_DIGITS + 1))] == [None]


@given(st.integers(min_value=0, max_value=999_999))
def test_english_and_chinese_words_of_a_number_give_it_back(number: int) -> None:
    assert parse_number(english(number)) == number
    assert parse_number(chinese(number)) == number
    assert parse_number(f"{number:,}") == parse_number(str(number)) == number


@given(st.text() | st.text(alphabet="0123456789.,/-+% 一二十百千万零点负 onetwhudrdaf"))
def test_no_text_raises_and_spans_stand_in_order_without_overlap(text: str) -> None:
    end = 0
    for number in find_numbers(text):
        assert end <= number.start < number.end <= len(text)
        end = number.end


@pytest.mark.parametrize(
    "unit",
    [
        "9",
        "1,",
        "1/",
        "1.",
        "十",
        "一",
        "点",
        "two ",
        "twenty-",
        "a hundred and ",
        "one thousand ",
        "-",
        "负",
        ". ",
        "a ",
        "minus ",
    ],
)
def test_half_a_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (2**19 // len(unit))
    started = time.perf_counter()
    find_numbers(text)
    assert time.perf_counter() - started < 15


ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety"


def english(number: int) -> str:
    """The number in English words, written for this test alone."""
    if number < 20:
        return ONES.split()[number]
    if number < 100:
        tens = TENS.split()[number // 10]
        return tens if number % 10 == 0 else f"{tens}-{english(number % 10)}"
    scale, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    head, rest = f"{english(number // scale)} {name}", number % scale
    if rest == 0:
        return head
    return f"{head} and {english(rest)}" if rest < 100 else f"{head} {english(rest)}"


def chinese(number: int) -> str:
    """The number in Chinese numerals, written for this test alone."""
    if number == 0:
        return "零"
    high, low = divmod(number, 10_000)
    if high:
        gap = "零" if 0 < low < 1000 else ""
        return chinese(high) + "万" + gap + (chinese_below(low) if low else "")
    return chinese_below(number)


def chinese_below(number: int) -> str:
    text, gap = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if gap and text else "") + "零一二三四五六七八九"[digit] + name
            gap = False
        else:
            gap = True
    return text


@pytest.mark.parametrize(
    ("before", "filling", "most", "after", "values", "beyond"),
    [
        ("one point", " zero", 9, "", [1], [1, 0]),
        ("", "1", 3, ",234", [111_234], [1111, 234]),
        ("minus", " ", 3, "4", [-4], [4]),
        ("5", " ", 3, "minus 4", [5, 4], [5, -4]),
        ("4", "x", 20, "5", [], [4]),
        ("this", " ", 3, "one", [], [1]),
        ("one", " ", 3, "of them", [], [1]),
    ],
)
def test_a_form_reaches_so_far_and_no_farther(
    before: str, filling: str, most: int, after: str, values: list[int], beyond: list[int]
) -> None:
    assert [number.value for number in find_numbers(before + filling * most + after)] == values
    assert [number.value for number in find_numbers(before + filling * (most + 1) + after)] == beyond


@pytest.mark.parametrize("rank", ["thir", "four", "fif", "six", "seven", "eigh", "nine"])
def test_a_rank_in_the_teens_is_no_count(rank: str) -> None:
    assert find_numbers(f"the one hundred-{rank}teenth leg") == []


def test_a_group_of_thousands_has_three_digits() -> None:
    assert [number.value for number in find_numbers("1,23")] == [1, 23]
    assert [number.value for number in find_numbers("1,2345")] == [1, 2345]


def test_forms_stand_close_together_where_no_space_need_be() -> None:
    assert find_numbers("one point") == [(1, 0, 3)]
    assert [number.value for number in find_numbers("minus四")] == [-4]
    assert [number.value for number in find_numbers("5负4")] == [5, 4]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("MINUS four", [-4]),
        ("FIVE minus 1", [5, 1]),
        ("Twenty-FIRST", []),
        ("two THIRDS", [None]),
        ("one OF them", []),
        ("2,3．5", [2, Fraction(7, 2)]),
    ],
)
def test_capitals_and_full_width_points_change_nothing(text: str, values: list[int]) -> None:
    assert [number.value for number in find_numbers(text)] == values
