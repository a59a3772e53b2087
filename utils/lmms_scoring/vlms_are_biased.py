"""Scores of one VLMs Are Biased reply under both readings, object and topic names, and the paper's topic means."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from lmms_scoring.numbers import Number, Value, find_numbers, parse_number
from lmms_scoring.outcomes import Outcome, Reading, Score
from lmms_scoring.reply import clean, is_placeholder, refuses, stated, to_text, unlatex, visible

# --- the official rule ----------------------------------------------------------------------------------------------

_SHOWN = 100


def official_acc(reply: object, ground_truth: object, expected_bias: object | None = None) -> float:
    """1.0 where the official rule finds the ground truth in the reply, else 0.0.

    Both are stripped, lower-cased, freed of braces at their ends and compared; where they differ, and the reply does
    not equal the expected bias either, their digits are joined and compared.

    Source: lmms-eval 0.7.3, `tasks/vlms_are_biased`, metric `accuracy`; EvalScope 1.14.1, `score_answer`.

    >>> official_acc("{4}", "4"), official_acc("4 legs, not 5", "4"), official_acc("2 or 3", "23")
    (1.0, 0.0, 1.0)
    """
    return _official(reply, ground_truth, expected_bias)[0]


def official_bias(reply: object, ground_truth: object, expected_bias: object | None) -> float | None:
    """1.0 where the official rule finds the expected bias in the reply, else 0.0; None where the row has no bias.

    Source: as for `official_acc`, metric `bias_ratio`.
    """
    return _official(reply, ground_truth, expected_bias)[1]


def _official(reply: object, ground_truth: object, expected_bias: object | None) -> tuple[float, float | None, str]:
    said = _bare(reply if isinstance(reply, str) else to_text(reply))
    truth, truth_digits = _expected(str(ground_truth))
    bias, bias_digits = (None, None) if expected_bias is None else _expected(str(expected_bias))
    correct = said == truth
    biased = said == bias
    read = said
    if not correct and not biased:
        digits = _joined_digits(said)
        if digits:
            correct = digits == truth_digits
            biased = digits == bias_digits
            read = digits
    return float(correct), None if bias is None else float(biased), read[:_SHOWN]


@lru_cache(maxsize=1024)
def _expected(text: str) -> tuple[str, str]:
    bare = _bare(text)
    return bare, _joined_digits(bare)


def _bare(text: str) -> str:
    return text.strip().lower().strip("{}").strip()


def _joined_digits(text: str) -> str:
    return text if text.isdigit() else "".join(filter(str.isdigit, text))


# --- both readings --------------------------------------------------------------------------------------------------


def score(reply: object, ground_truth: object, expected_bias: object | None) -> Score:
    """Both readings of one reply.

    `expected_bias` is None for rows without one (split `original`); then `bias` is None and no outcome is "biased".
    Were bias and truth ever the same answer, a reply that gives it would be correct; none of the 2,046 real rows of
    `main` that were looked at has that. `format_ok` is true where the reply, its reasoning aside, is nothing but `{9}`
    for a number and `{Yes}` or `{No}` for a yes/no question (any case): the prompt asks for the answer in curly
    brackets and for no sentence around it.

    >>> score("There are 4 legs, not 5", "4", "5").outcome.value
    'correct'
    """
    acc, bias, official = _official(reply, ground_truth, expected_bias)
    truth = _reference(str(ground_truth))
    reading, in_form = _read(reply, truth.kind)
    if reading.value is None:
        outcome = Outcome.UNREADABLE
    elif reading.value == truth.value:
        outcome = Outcome.CORRECT
    elif expected_bias is not None and reading.value == _reference(str(expected_bias)).value:
        outcome = Outcome.BIASED
    else:
        outcome = Outcome.OTHER
    return Score(acc, official, outcome, reading, in_form == truth.kind, bias)


NUMBER, YES_NO, WORDS = "number", "yes/no", "words"


class _Reference(NamedTuple):
    kind: str
    value: str


@lru_cache(maxsize=1024)
def _reference(text: str) -> _Reference:
    bare = _bare(text)
    if bare in ("yes", "no"):
        return _Reference(YES_NO, bare.capitalize())
    number = parse_number(bare)
    if number is not None:
        return _Reference(NUMBER, _shown(number))
    return _Reference(WORDS, _words(bare))


def _shown(value: Value) -> str:
    """One spelling for one number: `4`, `4.5`, `1/3`."""
    if isinstance(value, int):
        return str(value)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return str(decimal) if Fraction(decimal) == value else str(value)


_IN_FORM = re.compile(r"\{[ ]?(?:([0-9]{1,9})|(yes|no))[ ]?\}\Z", re.IGNORECASE | re.ASCII)
_SIGNED = re.compile(r"\{[ ]?[+\-]?[0-9]{1,9}(?:\.[0-9]{1,9})?[ ]?\}\Z")


def _read(reply: object, kind: str) -> tuple[Reading, str | None]:
    """What a careful grader reads, and the kind of answer that the reply gives in the asked form, if it does."""
    if isinstance(reply, str) and len(reply) <= 200:
        return _read_short(reply, kind)
    return _read_any(reply, kind)


def _read_any(reply: object, kind: str) -> tuple[Reading, str | None]:
    text = to_text(reply)
    seen = visible(text)
    seen = "" if seen is None else seen.strip()
    in_form = _IN_FORM.match(seen)
    if in_form is not None:
        value = in_form[1]
        if value is None:
            return Reading(in_form[2].capitalize(), "braces"), YES_NO
        return Reading(str(int(value)), "braces"), NUMBER
    return read(text, kind), NUMBER if _SIGNED.match(seen) else None


# Models say `{4}` thousands of times a run.
_read_short = lru_cache(maxsize=4096)(_read_any)


def read(reply: object, kind: str) -> Reading:
    """The answer that a careful grader reads in a reply to a question of this kind (`NUMBER`, `YES_NO` or `WORDS`).

    A number comes out as `4`, `-4` or `4.5`, a yes/no answer as `Yes` or `No`, words folded. An answer of the other
    kind is read too (it is wrong, not unreadable). The places where a reply declares its answer (`{…}`, `\\boxed{…}`,
    tags, JSON, markers, "the answer is") go before its sentences; two different answers are none, unless the reply says
    that the last one corrects or sums up the others.
    """
    text = clean(reply)
    if text is None:
        return Reading(None, "truncated reasoning")
    text = _ECHO.sub(" ", text).strip() if "{" in text else text
    if not text:
        return Reading(None, "empty")
    long = len(text) > _LONGEST
    text = text[-_LONGEST:]
    found = _settle(_declared(text, kind), text)
    if found is not None:
        return found
    if long:
        return Reading(None, "none stated")
    prose = unlatex(text)
    if is_placeholder(prose):
        return Reading(None, "placeholder")
    if kind == WORDS:
        value = _words(prose)
        if value and len(value) <= 60 and not refuses(prose):
            return Reading(value, "whole")
        return Reading(None, "refusal" if refuses(prose) else "none stated")
    readers = (_number_in, _yes_no_in) if kind == NUMBER else (_yes_no_in, _number_alone)
    first = readers[0](prose)
    if first.value is not None or first.how == "two answers":
        return first
    second = readers[1](prose)
    if second.value is not None:
        return second
    return Reading(None, "refusal" if refuses(prose) else first.how)


# --- declared answers -----------------------------------------------------------------------------------------------


# A reply longer than a book chapter states its answer at its end and in a place of its own, or not at all.
_LONGEST = 20_000
_MOST_PLACES = 100
# A marker's place reaches to the end of its line; no answer is longer, and many markers may share a line.
_PLACE_LENGTH = 400


class _Place(NamedTuple):
    start: int
    end: int
    reading: Reading


def _any(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# The prompt's own example, repeated in the reply, is nobody's answer.
_EXAMPLE = (r"e\.?g\.?", "for example", "such as", "例如")
_ECHO = _pattern(rf"{_any(*_EXAMPLE)}[,:]? ?\{{[^{{]{{0,20}}?\}}(?: ?or ?\{{[^{{]{{0,20}}?\}})?\.?")
_BRACES = re.compile(r"\{([^{}\n]{1,300})\}")
_COMMAND_BEFORE = re.compile(r"(?:\\[A-Za-z]{1,20}|frac\s?\{[^{]{0,30}\})\s?\Z")
_CORRECTIONS = ("actually", "wait", "correction", "on closer", "on second", "sorry", "scratch that")
_CORRECTION = _pattern(rf"\b(?:{_any(*_CORRECTIONS)}\b|no,)|更正|不对")
_FINALS = (
    "final", "finally", "total", "in all", "altogether", "overall", "therefore", "thus", "hence", "so", "answer",
)  # fmt: skip
_FINAL = _pattern(rf"\b{_any(*_FINALS)}\b|=|共|合计|所以|因此|最终|答案")
_OPENS = ("or", "also", "could", "might", "may", "maybe", "perhaps", "possibly")
_OPEN = _pattern(rf"\b{_any(*_OPENS)}\b|或|也")


def _declared(text: str, kind: str) -> list[_Place]:
    places = []
    for found in list(_BRACES.finditer(text) if "{" in text else ())[-_MOST_PLACES:]:
        inside, before = found[1], text[max(0, found.start() - 40) : found.start()]
        if ('"' in inside and ":" in inside) or _COMMAND_BEFORE.search(before) or _NEGATED.search(before):
            continue
        places.append(_Place(found.start(), found.end(), _inside(inside, kind, "braces")))
    for place in stated(text)[-_MOST_PLACES:]:
        places.append(_Place(place.start, place.end, _inside(_BRACES.sub(r"\1", place.text), kind, place.how)))
    places = [place for place in places if place.reading.value is not None or place.reading.how == "two answers"]
    return sorted(places, key=lambda place: (place.start, place.end))


def _inside(content: str, kind: str, how: str) -> Reading:
    """What stands in an answer's place: its first clause that holds an answer counts, the rest explains."""
    content = unlatex(content[:_PLACE_LENGTH]).strip(" \t\"'")
    if is_placeholder(content):
        return Reading(None, "placeholder")
    if kind == WORDS:
        return Reading(_words(content) or None, how)
    if _NONE_AT_ALL.match(content) and kind == NUMBER:
        return Reading("0", how)
    readers = (_number_in, _yes_no_in) if kind == NUMBER else (_yes_no_in, _number_alone)
    for reader in readers:
        found = reader(content)
        if found.value is not None:
            return Reading(found.value, how)
        if found.how == "two answers":
            return found
    return Reading(None, "none stated")


def _settle(places: list[_Place], text: str) -> Reading | None:
    """The one answer of all declared ones; None where there are none."""
    if not places:
        return None
    last = places[-1]
    if any(place.reading.value is None for place in places):
        return Reading(None, "two answers")
    if len({place.reading.value for place in places}) == 1:
        return places[0].reading
    others = [place for place in places if place.reading.value != last.reading.value]
    gap = text[others[-1].end : last.start]
    if _CORRECTION.search(gap) or (_FINAL.search(gap) and not _OPEN.search(gap)):
        return last.reading
    return Reading(None, "two answers")


_WORD_EDGES = " \t\n\"'.,;:!?。()[]"


def _words(text: str) -> str:
    return " ".join(text.strip(_WORD_EDGES).casefold().split())


# --- yes and no -----------------------------------------------------------------------------------------------------

_YES = ("yes", "yeah", "yep", "true", "是的", "是", "对的", "对", "正确")
_NO = ("no", "nope", "false", "不是的", "不是", "否", "不对", "不", "没有")
_POLARITY = {**dict.fromkeys(_YES, "Yes"), **dict.fromkeys(_NO, "No")}
_EITHER = "|".join(sorted(_POLARITY, key=len, reverse=True))
# `No two lines are equal` and `No idea` begin with No and do not answer; `No the lines differ` does.
_AFTER_ANSWER = (
    r"(?=\s*(?:[,.;:!?)\]\"'。、…]|-|\Z|\n)"
    r"|\s+(?:the|they|these|those|this|that|it|there|both|because|since|as|i|you|not|we|in)\b)"
)
_LEADING = re.compile(rf"[\s\"'(\[]{{0,4}}({_EITHER}){_AFTER_ANSWER}", re.IGNORECASE)
_ALONE = _pattern(rf"(?<=[.!?\n。:])\s{{0,3}}({_EITHER}){_AFTER_ANSWER}")
_SO_WORDS = ("so", "therefore", "thus", "hence", "actually", "wait", "sorry", "well", "certainly", "definitely", "say")
_SO = _pattern(rf"(?:\b{_any(*_SO_WORDS)},?\s|所以)({_EITHER})(?=[.!,。]|\Z)")
_POLES = ("yes", "no", "true", "false", "是", "否", "不是")
_PAIR = _pattern(rf"({_EITHER})\s?[,;]\s?({_EITHER})")
_BOTH = _pattern(
    rf"(?<![^\W\d]){_any(*_POLES)}\s?(?:or|and|/|\||或|和)\s?{_any(*sorted(_POLES, key=len, reverse=True))}(?![^\W\d])"
)


def _yes_no_in(text: str) -> Reading:
    """The answer of a text that opens with yes or no, or gives it as a sentence of its own."""
    pair = _PAIR.fullmatch(text.strip(_WORD_EDGES))
    if _BOTH.search(text) or (pair and _POLARITY[pair[1].casefold()] != _POLARITY[pair[2].casefold()]):
        return Reading(None, "two answers")
    said: list[tuple[int, str, str]] = []
    leading = _LEADING.match(text)
    if leading:
        said.append((leading.start(1), _POLARITY[leading[1].casefold()], "leading"))
    for pattern in (_ALONE, _SO):
        for found in pattern.finditer(text, leading.end() if leading else 0):
            said.append((found.start(1), _POLARITY[found[1].casefold()], "sentence"))
    if not said:
        return Reading(None, "none stated")
    said.sort()
    last = said[-1]
    others = [place for place in said if place[1] != last[1]]
    if others and not _CORRECTION.search(text[others[-1][0] : last[0]]):
        return Reading(None, "two answers")
    how = "whole" if len(text.strip(_WORD_EDGES)) <= 6 else (last if others else said[0])[2]
    return Reading(last[1], how)


# --- numbers in sentences -------------------------------------------------------------------------------------------

_NONE_AT_ALL = re.compile(r"(?:none|nothing)\.?\Z", re.IGNORECASE)
_CLAUSE_WORDS = ("but", "however", "while", "whereas", "although", "though", "because", "since")
_CLAUSE = _pattern(rf"[,;:!?\n()。]|\.(?!\d)|\s-\s|\b{_any(*_CLAUSE_WORDS)}\b|但|而")
_USUAL_WORDS = (
    "usual", "typical", "expected", "normal", "standard", "traditional", "regular", "classic", "common", "ordinary",
)  # fmt: skip
_USUAL = _any(*_USUAL_WORDS)
_FILLERS = ("the", "its", "a", "an", "just", "only", "simply", "exactly", "merely", _USUAL)
_FILLER = rf"(?:{_any(*_FILLERS)}\s+){{0,4}}"
_NEGATIONS = (
    "not", "rather than", "instead of", "unlike", "compared to", "compared with", "versus", r"vs\.?", "never", "neither",
    "nor",
)  # fmt: skip
_NEGATED_VERBS = ("have", "has", "having", "be", "see", "show")
_NEGATED = _pattern(
    rf"(?:\b{_any(*_NEGATIONS)}|n't|不是|并非|而非|没有)\s{{0,3}}(?:{_any(*_NEGATED_VERBS)}\s+)?{_FILLER}\Z"
)
_BOUNDS = (
    "more than", "fewer than", "less than", "other than", "at least", "at most", "up to", "over", "under",
)  # fmt: skip
_BOUND_BEFORE = _pattern(rf"(?:\b{_any(*_BOUNDS)}|超过|至少|最多|不到)\s{{0,3}}{_FILLER}\Z")
_BOUND_AFTER = _pattern(r"\s{0,2}[个条]?(?:or (?:more|fewer|less)|\+(?!\s?\d)|以上|以下)")
_USUALLY_WORDS = (
    rf"{_USUAL}(?:ly)?", "generally", "originally", "should",
    "would", "supposed",
)  # fmt: skip
_USUALLY = _pattern(rf"\b{_any(*_USUALLY_WORDS)}\b|通常|一般|正常|本来|应该")
_SPOTS = (
    "front", "back", "rear", "left", "right", "top", "bottom", "middle", "center", "centre", "background", "foreground",
    "sides?",
)  # fmt: skip
_PART_WORDS = (
    "pairs?", "sets?", "more", "extra", "additional", "other", "missing", "hidden", "front", "back", "rear", "hind",
    "upper", "lower",
    "inner", "outer", "left", "right",
)  # fmt: skip
_IN_SPOT = (
    rf"(?:in|at|on|to|from|near) (?:the |its )?{_any(*_SPOTS)}(?: (?:side|half|row))?"
    r"(?: of (?:the|its) (?:animal|body|image))?"
)
_EACH = r"(?:on|for|in) (?:each|either|both|every)(?: \w+)?|per \w+|each"
_PART = _pattern(
    rf"\s{{0,2}}{_any(*_PART_WORDS)}\b|\s{{0,2}}(?:\w+\s){{0,3}}?of (?:them|which|these|those)\b"
    rf"|\s{{0,2}}(?:\w+\s){{0,3}}?(?:{_IN_SPOT}|{_EACH})(?=\s?(?:[,.;:!?)&]|and\b|plus|\Z))"
)
_ADDED = _pattern(r"\b(?:and|plus)\s(?:an?|one|two|1|2)\s(?:more|extra|additional|other)\b")
_PART_BEFORE = _pattern(
    r"(?:前|后|左|右|上|下)(?:面|边|侧|腿)?(?:各)?(?:有)?\Z"
    r"|\b(?:front|back|rear|hind|left|right)(?: \w{0,12})?:\s{0,2}\Z"
)
_ASIDE = _pattern(r"\([^)]{0,60}\Z")
_LABELS = (
    "image", "picture", "figure", r"fig\.?", "row", "column", "step", "leg", "option", "question", "part", "cell",
    "stripe", "star", "line",
)  # fmt: skip
# `In this image 5 legs are visible` counts; `image 5` names.
_LABEL = _pattern(rf"(?<!this )(?<!the )\b{_any(*_LABELS)}\s?#?\Z")
_ENUMERATED = re.compile(r"[.)]\s+\S")
_SUMS = (
    "total(?:s|ing|ling)?(?: number)?", "in all", "altogether", "overall", "therefore", "thus", "hence",
    "so", "making", "makes?", "giving", "equals?", "finally",
)  # fmt: skip
_SUMS_ZH = ("共", "合计", "总计", "总数", "所以", "因此")
_SUMS_UP = _pattern(
    rf"(?:\b{_any(*_SUMS)}\b,?[^.,;\n\d]{{0,50}}|=|{_any(*_SUMS_ZH)}[^。,\n\d一二两三四五六七八九十]{{0,12}})\s{{0,3}}\Z"
)
_SUMMED_UP = _pattern(r"\s{0,2}(?:[^\W\d]+\s){0,4}?(?:altogether|in all|overall|total)\b")
_BETWEEN = ("or", "to", "maybe", "possibly", "perhaps")
_ALTERNATIVE = _pattern(
    rf"\s{{0,2}}(?:\w+\s){{0,2}}?\(?{_any(*_BETWEEN)}(?:\s\w+){{0,2}}\s{{0,2}}\Z|\s?[-~/]\s?\Z|(?:或者?|到|至)\Z"
)
_NAMED_MANY = 200


class _Mention(NamedTuple):
    number: Number
    usual: bool
    sums_up: bool
    alternative: bool
    aside: bool
    cut_off: bool


def _number_in(text: str) -> Reading:
    """The count that the sentences of a text state, reading over what they deny, compare with or only add up."""
    numbers = find_numbers(text)
    if not numbers:
        return Reading("0", "whole") if _NONE_AT_ALL.match(text) else Reading(None, "none stated")
    if len(numbers) == 1 and (value := numbers[0].value) is not None and _is_whole(text, numbers[0]):
        return Reading(_shown(value), "whole")
    if len(numbers) > _NAMED_MANY:
        return Reading(None, "two answers")
    mentions = _mentions(text, numbers)
    finished = [mention for mention in mentions if not mention.cut_off]
    stated_here = [mention for mention in finished if not mention.usual]
    if not stated_here and len({number.value for number in numbers}) == 1:
        stated_here = finished
    stated_here = [mention for mention in stated_here if not mention.aside] or stated_here
    if not stated_here:
        return Reading(None, "none stated")
    chosen = _agreed(stated_here)
    if chosen is None:
        chosen = _agreed([mention for mention in stated_here if mention.sums_up]) or _corrected(stated_here, text)
    broken_down = _is_broken_down(numbers) and stated_here[0].number == numbers[0]
    if chosen is None and broken_down:
        chosen = stated_here[0]
    if chosen is None or chosen.number.value is None or chosen.alternative or _is_cut_off_at_another(chosen, mentions):
        return Reading(None, "two answers")
    # `4 legs and 1 extra leg` leaves the sum to the reader.
    if not chosen.sums_up and not broken_down and _ADDED.search(text, chosen.number.end):
        return Reading(None, "two answers")
    return Reading(_shown(chosen.number.value), "leading" if chosen.number.start == 0 else "sentence")


def _is_cut_off_at_another(chosen: _Mention, mentions: list[_Mention]) -> bool:
    return any(
        mention.cut_off and not mention.usual and mention.number.value != chosen.number.value for mention in mentions
    )


def _is_whole(text: str, number: Number) -> bool:
    """True for a number alone, or with at most two words of unit behind it (`4 legs`, `4个`)."""
    if text[: number.start].strip(_WORD_EDGES + "~"):
        return False
    rest = text[number.end :].strip(_WORD_EDGES).split()
    return (
        len(rest) <= 2
        and all(word.isalpha() for word in rest)
        and not _PART.match(text, number.end)
        and not _BOUND_AFTER.match(text, number.end)
    )


def _number_alone(text: str) -> Reading:
    """The number of a text that is nothing else, unit aside."""
    numbers = find_numbers(text) if len(text) <= 60 else []
    if len(numbers) == 1 and (value := numbers[0].value) is not None and _is_whole(text, numbers[0]):
        return Reading(_shown(value), "whole")
    return Reading(None, "none stated")


def _mentions(text: str, numbers: list[Number]) -> list[_Mention]:
    cuts = [(cut.start(), cut.end()) for cut in _CLAUSE.finditer(text)]
    unfinished = len(text) >= 80 and text[-1] not in "]>\"'"
    mentions = []
    at = 0
    previous = 0
    for number in numbers:
        while at < len(cuts) and cuts[at][1] <= number.start:
            at += 1
        begin = cuts[at - 1][1] if at else 0
        end = next((cut[0] for cut in cuts[at : at + 8] if cut[0] >= number.end), len(text))
        clause = text[max(begin, number.start - 120) : min(end, number.end + 120)]
        before = text[max(0, number.start - 70) : number.start]
        if not (
            _NEGATED.search(before)
            or _BOUND_BEFORE.search(before)
            or _BOUND_AFTER.match(text, number.end)
            or _LABEL.search(before)
            or _PART.match(text, number.end)
            or _PART_BEFORE.search(before)
            or _is_enumeration(text, number, previous)
            or refuses(clause)
        ):
            usual = bool(_USUALLY.search(text[max(begin, number.start - 120) : number.start]))
            sums_up = bool(_SUMS_UP.search(before) or _SUMMED_UP.match(text, number.end))
            aside = bool(_ASIDE.search(before))
            mentions.append(_Mention(number, usual, sums_up, False, aside, unfinished and end == len(text)))
        elif _is_enumeration(text, number, previous):
            previous += 1
    alternatives = _alternatives(text, [mention.number for mention in mentions])
    return [mention._replace(alternative=mention.number in alternatives) for mention in mentions]


def _alternatives(text: str, numbers: list[Number]) -> set[Number]:
    """The numbers of `4 or 5`, `4-5`, `4 to 5`."""
    found: set[Number] = set()
    for left, right in itertools.pairwise(numbers):
        if left.value != right.value and _ALTERNATIVE.match(text[left.end : right.start]):
            found |= {left, right}
    return found


def _is_enumeration(text: str, number: Number, previous: int) -> bool:
    """True for the `1.` of a list; `4. It has …` alone is an answer."""
    opens_line = not text[text.rfind("\n", 0, number.start) + 1 : number.start].strip()
    return opens_line and number.value == previous + 1 and bool(_ENUMERATED.match(text, number.end))


def _agreed(mentions: list[_Mention]) -> _Mention | None:
    """The first of mentions that all name one number; an alternative never agrees."""
    if len({mention.number.value for mention in mentions}) == 1:
        return next((mention for mention in mentions if mention.alternative), mentions[0])
    return None


def _corrected(mentions: list[_Mention], text: str) -> _Mention | None:
    cues = [cue.end() for cue in _CORRECTION.finditer(text) if cue.start() > mentions[0].number.start]
    return _agreed([mention for mention in mentions if mention.number.start >= cues[-1]]) if cues else None


def _is_broken_down(numbers: list[Number]) -> bool:
    """True for the numbers of `5 stripes: 3 red and 2 white`."""
    whole, *parts = [number.value for number in numbers]
    known = [part for part in parts if part is not None]
    return len(known) == len(parts) and sum(known) == whole


# --- objects and topics ---------------------------------------------------------------------------------------------

#: The seven topics, in the paper's order.
TOPICS = ("Animals", "Logos", "Flags", "Chess Pieces", "Game Boards", "Optical Illusion", "Patterned Grid")
_TOPIC_SPELLINGS = {**{name: name for name in TOPICS}, "Optical Illusions": "Optical Illusion"}

_MARKS = re.compile(r"_(?:Q\d|prompt\d|notitle|in_image_title|px\d+)(?=_|\Z)")
# Stripes alone have no `px` before the resolution and no `Q` before the question: `Flag_of_Thailand_stripes_6_384_1`.
_STRIPES = re.compile(r"(_stripes_\d+)_\d+(?:_\d)?")


def object_key(id: str) -> str:
    """The counterfactual object of a row ID: the ID without question, title and resolution marks.

    The rows of one object (two questions, three resolutions in `main`) share it; they are one cluster. Rows of another
    split that show the same object have the same key.

    >>> object_key("animal_0010_elk_notitle_Q1_px384"), object_key("Flag_of_Thailand_stripes_6_384_1")
    ('animal_0010_elk', 'Flag_of_Thailand_stripes_6')
    """
    key = _MARKS.sub("", id)
    return _STRIPES.sub(r"\1", key) if "_stripes_" in key else key


def topic(name: str) -> str:
    """The topic under its one name: `Optical Illusions` and `Optical Illusion` are the same.

    Raises:
        ValueError: the name is none of the seven topics; the dataset row is at fault.
    """
    try:
        return _TOPIC_SPELLINGS[name.strip()]
    except KeyError:
        raise ValueError(f"unknown topic {name!r}: expected one of {', '.join(TOPICS)}") from None


def topic_means(pairs: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """The mean score of each topic that has scores, in the paper's order; {} where there are none.

    `pairs` are (topic, score); a score of None (no expected bias) is left out.
    """
    scores: dict[str, list[float]] = {name: [] for name in TOPICS}
    for name, value in pairs:
        if value is not None:
            scores[topic(name)].append(value)
    return {name: sum(values) / len(values) for name, values in scores.items() if values}


def task_mean(pairs: Iterable[tuple[str, float | None]]) -> float | None:
    """The unweighted mean of the topic means, over the topics present; None where no topic has a score.

    Source: VLMs are Biased, arXiv 2505.23941, Table 2 (`task mean`; with bias scores, the paper's bias figure).

    >>> task_mean([("Animals", 1.0), ("Animals", 0.0), ("Logos", 0.0)]), task_mean([])
    (0.25, None)
    """
    means = topic_means(pairs)
    return sum(means.values()) / len(means) if means else None
