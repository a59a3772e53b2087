"""MedXpertQA: prompts, the reference rule, what a careful grader reads, the authors' two turns."""

from __future__ import annotations

import json
import random
import re
import string
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_scoring import choices, medxpertqa
from lmms_scoring.outcomes import Outcome

GOLDEN = Path(__file__).parent / "golden"


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


OPTIONS: dict[str, dict[str, str]] = {row["name"]: row["options"] for row in _rows(GOLDEN / "medxpertqa_options.jsonl")}
TEN = OPTIONS["ten"]
CASES = _rows(GOLDEN / "medxpertqa.jsonl")


def _read(reply: object, options: dict[str, str] = TEN) -> str | None:
    return choices.letter(reply, options).value


# --- golden tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=[row["case"] for row in CASES])
def test_the_golden_table_holds_for_both_readings(case: dict[str, Any]) -> None:
    options = OPTIONS[case["options"]]
    score = medxpertqa.score(case["reply"], "C", options)
    assert score.official == case["official"]
    assert (score.reading.value, score.reading.how) == (case["flexible"], case["how"])
    assert score.acc == float(case["official"] == "C")
    expected = (
        Outcome.UNREADABLE
        if case["flexible"] is None
        else Outcome.CORRECT
        if case["flexible"] == "C"
        else Outcome.OTHER
    )
    assert score.outcome is expected


def test_every_case_of_the_golden_table_has_its_own_name() -> None:
    assert len({row["case"] for row in CASES}) == len(CASES) >= 80


FILLING = (
    "the",
    "is",
    "are",
    "be",
    "option",
    "options",
    "choice",
    "choices",
    "answer",
    "letter",
    "letters",
    "labelled",
    "labeled",
    "statement",
    "most likely",
    "likely",
    "probably",
    "clearly",
    "definitely",
    "therefore",
    "thus",
    "indeed",
    "still",
    "simply",
    "either",
    "both",
    "correct",
    "best",
    "right",
    "final",
    "选项",
    "选择",
    "选",
    "是",
    "为",
    "=>",
    "-",
    "#",
)


@pytest.mark.parametrize("filling", FILLING)
def test_a_filling_word_may_stand_between_the_marker_and_the_letter(filling: str) -> None:
    assert _read(f"Meals help.\nANSWER: {filling} C") == "C"


EXPLAINING = (
    "because meals help",
    "since meals help",
    "is right",
    "as meals help",
    "due to meals",
    "given the meals",
    "for meals help",
    "was my guess",
    "which fits",
    "that fits",
    "based on meals",
    "with meals",
    "from the list",
    "according to the list",
    "among the ten",
    "would fit",
    "seems right",
    "not D",
    "best fits",
    "rather than D",
    "over D",
    "instead of D",
    "and nothing else",
    "but barely",
    "here",
    "因为饭后好转",
    "因饭后好转",
    "由于饭后好转",
    "项",
    "选项",
    "= duodenal ulcer",
    "! Yes",
)


@pytest.mark.parametrize("rest", EXPLAINING)
def test_an_explanation_may_follow_a_bare_letter(rest: str) -> None:
    assert _read(f"Meals help.\nANSWER: C {rest}") == "C"


@pytest.mark.parametrize("rest", ["difficile", "section", "reactive protein", "3", "wave", "small lesion"])
def test_a_letter_that_begins_a_term_is_no_label(rest: str) -> None:
    assert _read(f"Meals help.\nANSWER: C {rest}") is None


@pytest.mark.parametrize("rest", ["was seen", "with fever", "for now", "seems so", "am sure"])
def test_i_and_a_are_words_where_an_explanation_would_be_odd(rest: str) -> None:
    assert _read(f"ANSWER: I {rest}") is None
    assert _read(f"ANSWER: A {rest}") is None


REJECTING = (
    "is not right",
    "isn't right",
    "aren't right",
    "wasn't right",
    "unlikely",
    "is incorrect",
    "is wrong",
    "is false",
    "less likely",
    "is ruled out",
    "is excluded",
    "would be improbable",
    "was eliminated",
    "不对",
    "排除",
    "错误",
    "being wrong",
    "seems unlikely",
    "are wrong",
    "because it is wrong",
    ": option wrong",
)


@pytest.mark.parametrize("words", REJECTING)
def test_a_label_that_is_taken_back_at_once_is_no_answer(words: str) -> None:
    assert _read(f"Meals help.\n(C) {words}") is None
    assert _read(f"(C) Duodenal ulcer {words}") is None


SUPPOSING = (
    "If it rose",
    "Unless it fell",
    "Had it risen",
    "Were it high,",
    "Otherwise",
    "We ask whether",
    "One might say that",
    "It is tempting to say",
    "It is a mistake to say",
    "Some incorrectly say",
    "Some wrongly say",
    "Someone said",
    "Students say",
    "The student said",
)


@pytest.mark.parametrize("words", SUPPOSING)
def test_a_supposition_or_another_s_opinion_is_no_correction(words: str) -> None:
    assert _read(f"ANSWER: C\n{words} the answer is D.") == "C"


@pytest.mark.parametrize(
    "words", ["It is not that", "It isn't that", "Never say", "Neither say", "You cannot say", "You can't say"]
)
def test_a_negated_statement_is_no_correction(words: str) -> None:
    assert _read(f"ANSWER: C\n{words} the answer is D.") == "C"


@pytest.mark.parametrize(
    "verb", ["had to choose", "have to choose", "must choose", "were to choose", "was asked", "am asked"]
)
def test_a_forced_choice_is_a_choice(verb: str) -> None:
    assert _read(f"If I {verb}, the answer is C.") == "C"


def test_a_forced_choice_of_more_than_one_person_is_a_choice() -> None:
    assert _read("If we are to choose, the answer is C.") == "C"
    assert _read("If you have to choose, the answer is C.") == "C"


VERDICTS = (
    "most",
    "best",
    "correct",
    "right",
    "next",
    "appropriate",
    "likely",
    "closest",
    "therefore",
    "thus",
    "hence",
)


@pytest.mark.parametrize("word", VERDICTS)
def test_a_bracketed_label_after_a_verdict_is_the_answer(word: str) -> None:
    assert _read(f"Meals help.\nSo the {word} lesion is (C) in the bowel.") == "C"
    assert _read("Meals help.\nSo the lesion is (C) in the bowel.") is None


@pytest.mark.parametrize("verb", ["is", "are", "be"])
def test_a_labelled_option_below_a_colon_is_the_answer(verb: str) -> None:
    assert _read(f"The drug of choice here may {verb}:\n(C) Duodenal ulcer\nThis is common.") == "C"


@pytest.mark.parametrize("word", ["Conclusion", "Verdict", "Choice", "Final"])
def test_a_label_after_a_closing_heading_is_the_answer(word: str) -> None:
    assert _read(f"Meals help.\n{word}: C") == "C"
    assert _read(f"Meals help.\n{word}: C difficile") is None


SUBJECTS = (
    "I",
    "We",
    "I'd",
    "I'll",
    "I'm",
    "I would",
    "I will",
    "I shall",
    "I must",
    "I should",
    "I am",
    "We are",
    "I firmly",
)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_choice_needs_a_subject(subject: str) -> None:
    assert _read(f"All said, {subject} choose C.") == "C"
    assert _read("All said, doctors choose C.") is None


FIRST = (
    "correct",
    "the correct answer",
    "best",
    "the best option",
    "right",
    "most likely",
    "the most appropriate choice",
    "most accurate",
    "most suitable",
    "most plausible",
    "most consistent",
    "clearly correct",
    "therefore correct",
    "thus correct",
    "most likely correct",
    "the single best answer",
)


@pytest.mark.parametrize("praise", FIRST)
def test_a_letter_that_is_called_the_best_is_the_answer(praise: str) -> None:
    assert _read(f"Meals help.\nIn all, option C is {praise}.") == "C"


@pytest.mark.parametrize("verb", ["is", "as", "seems", "appears to be", "would be"])
def test_a_letter_is_called_the_best_by_several_verbs(verb: str) -> None:
    assert _read(f"Meals help.\nI see option C {verb} best.") == "C"


@pytest.mark.parametrize(
    "before",
    [
        "option ",
        "choice ",
        "answer ",
        "option (",
        "(",
        "Yes. ",
        "Yes; ",
        "Yes: ",
        "Yes, ",
        "therefore ",
        "thus ",
        "so ",
        "hence ",
        "",
    ],
)
def test_a_letter_is_called_the_best_only_as_a_label(before: str) -> None:
    closing = ")" if before.endswith("(") else ""
    opening = "Well " if before else ""
    assert _read(f"{opening}{before}C{closing} is the most likely.\nMeals help.") == "C"
    assert _read("Well hepatitis C is the most likely.\nMeals help.") is None


@pytest.mark.parametrize(
    "reply",
    [
        "选项C正确，饭后好转。",
        "选项 C正确，饭后好转。",
        "综上，C选项是正确的。",
        "综上，C项为最佳。",
        "综上，C最合适。",
        "综上。C是正确答案。",
    ],
)
def test_a_letter_may_be_called_right_in_chinese(reply: str) -> None:
    assert _read(reply) == "C"


# --- bounds and signs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "labels", "letter"),
    [
        ("ANSWER: b\nE", "abc", "b"),
        ("ANSWER: (b)\nE", "abc", "b"),
        ("ANSWER: (b, b)\nE", "abc", None),
        ("ANSWER: 2\nE", "123", "2"),
        ("ANSWER: (2)\nE", "123", "2"),
        ("ANSWER: (2, 3)\nE", "123E", None),
        ("ANSWER: (a, b)\nE", "abE", None),
        ("ANSWER: Ca\nE", "CE", "E"),
        ("ANSWER: C4\nE", "CE", "E"),
    ],
)
def test_the_reference_rule_takes_any_letters_and_digits_for_labels(text: str, labels: str, letter: str | None) -> None:
    assert choices.official_letter(text, labels) == letter


@pytest.mark.parametrize("sign", "+<>≤≥±%°.,")
def test_a_sign_or_a_decimal_point_tells_options_apart(sign: str) -> None:
    options = {"A": f"Rise 5{sign}2", "B": "Rise 5 2"}
    assert _read(f"ANSWER: Rise 5{sign}2", options) == "A"
    assert _read("ANSWER: Rise 5 2", options) == "B"


def test_a_minus_is_a_sign_and_a_hyphen_is_none() -> None:
    options = {
        "A": "-5 mV",
        "B": "5 mV",
        "C": "CD4- cells",
        "D": "CD4 cells",
        "E": "Low-salt, 5% diet",
        "F": "_Low_ 3%",
    }
    for label, text in options.items():
        assert _read(f"ANSWER: {text}", options) == label
    assert _read("ANSWER: low salt 5% diet", options) == "E"
    assert _read("ANSWER: F. Low salt 5% diet", options) is None
    assert _read("ANSWER: A. Low salt - 5% diet", options) is None
    assert _read("ANSWER: low 3%", options) == "F"
    assert _read("ANSWER: serum iron", {"A": "Serum_iron", "B": "x"}) == "A"
    assert _read("ANSWER: dose 5% more", {"A": "dose,5% more", "B": "x"}) == "A"


def test_spaces_count_only_between_digits() -> None:
    options = {"A": "Type 2", "B": "15 mg", "C": "Stage 1 5 years", "D": "Stage 15 years"}
    assert _read("ANSWER: type2", options) == "A"
    assert _read("ANSWER: 15mg", options) == "B"
    assert _read("ANSWER: stage 1 5 years", options) == "C"
    assert _read("ANSWER: stage 15 years", options) == "D"


def test_short_options_are_read_whole_and_before_a_clause_from_four_letters_on() -> None:
    options = {"A": "Gout", "B": "MRI", "C": "Hg", "D": "Flu"}
    assert [_read(f"ANSWER: {text}", options) for text in options.values()] == list("ABCD")
    assert _read("ANSWER: Gout. It hurts.", options) == "A"
    assert _read("ANSWER: Flu. It passes.", options) is None
    assert _read("ANSWER: C. Hg", options) == "C"
    assert _read("ANSWER: A. Hg", options) is None


def test_the_bounds_of_the_search_stand_where_they_are_said_to_be() -> None:
    def how(reply: str) -> tuple[str | None, str]:
        return tuple(choices.letter(reply, TEN))  # type: ignore[return-value]

    # Fifty places are looked at.
    assert _read("ANSWER: C\n" + "The answer is not D.\n" * 49) == "C"
    assert _read("ANSWER: C\n" + "The answer is not D.\n" * 50) is None
    # A verdict counts within the last 8,000 characters; " is" begins behind the 20th.
    verdict = "The most likely lesion is (C) in the bowel."
    assert _read(verdict + "m" * (8000 - len(" is (C) in the bowel."))) == "C"
    assert _read(verdict + "m" * (8001 - len(" is (C) in the bowel."))) is None
    # A reply of one line is read as a whole up to 1,000 characters.
    assert how("C. M" + "m" * 996) == ("C", "whole")
    assert how("C. M" + "m" * 997) == ("C", "leading")
    # An answer may stand on the 2,001st line.
    assert _read("mm\n" * 2000 + "C") == "C"
    assert _read("mm\n" * 2001 + "C") is None
    # A second thought is read for 200 characters.
    assert _read("ANSWER: D\nWait, C: M" + "m" * 191 + " or B.") is None
    assert _read("ANSWER: D\nWait, C: M" + "m" * 192 + " or B.") == "C"
    # A declared value that is none of the options is an answer up to 60 characters.
    assert how("ANSWER: " + "z" * 60) == (None, "not an option")
    assert how("ANSWER: " + "z" * 61) == (None, "none stated")
    # A supposition is looked for in 120 characters, a verdict's word in 150.
    assert _read("ANSWER: C\nIf " + "m" * 112 + " the answer is D.") == "C"
    assert _read("ANSWER: C\nIf " + "m" * 113 + " the answer is D.") == "D"
    assert _read("The best " + "m" * 145 + " is (C) in the bowel.") == "C"
    assert _read("The best " + "m" * 146 + " is (C) in the bowel.") is None
    # A choice stands within 1,000 characters, or behind up to 20 signs of white space that begin with a line end.
    assert _read("So I choose" + " " * 999 + "C") == "C"
    assert _read("So I choose" + " " * 1000 + "C") is None
    assert _read("My final choice is:" + "\n" * 20 + "Duodenal ulcer") == "C"
    assert _read("My final choice is:" + "\n" * 21 + "Duodenal ulcer") is None
    # The lines of a list may lie 2,000 characters apart, two labels called right in one sentence 200.
    for opening in ("ANSWER:", "The most likely diagnosis is:"):
        assert _read(opening + "\nC" + "\n" * 1999 + "D\nmm") is None
        assert _read(opening + "\nC" + "\n" * 2000 + "D\nmm") == "C"
    assert _read("Option C is correct " + "m" * 193 + " and D.") is None
    assert _read("Option C is correct " + "m" * 194 + " and D.") == "C"
    assert _read("Option D is right. Option C is correct" + " " + "m" * 183 + " too.") is None
    assert _read("Option D is right. Option C is correct" + " " + "m" * 184 + " too.") == "C"
    # The text of an option may be spread over twice its length and 100 characters more.
    assert _read("ANSWER: (D) ab" + " " * 106 + "cd", {"C": "ab cd", "D": "x"}) is None
    assert _read("ANSWER: (D) ab" + " " * 107 + "cd", {"C": "ab cd", "D": "x"}) == "D"


# --- the reading of answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", list(TEN))
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "({})",
        "{}.",
        "ANSWER: {}",
        "ANSWER: [{}]",
        "**Answer:** {}",
        "\\boxed{{{}}}",
        "<answer>{}</answer>",
        '{{"answer": "{}"}}',
        "The answer is {}.",
        "答案：{}",
        "Meals help.\n\n{}",
        "{}\n\nMeals help.",
        "I choose option {}.",
    ],
)
def test_every_label_answers_itself_in_every_form(form: str, label: str) -> None:
    assert _read(form.format(label)) == label


@pytest.mark.parametrize("label", list(TEN))
def test_every_option_text_names_its_label(label: str) -> None:
    assert _read(TEN[label]) == label
    assert _read(f"ANSWER: {TEN[label].upper()}.") == label
    assert _read(f"({label}) {TEN[label]}\nMeals help.") == label


@pytest.mark.parametrize("label", list(TEN))
@pytest.mark.parametrize("other", list(TEN))
def test_a_label_with_the_text_of_another_option_is_two_answers(label: str, other: str) -> None:
    read = choices.letter(f"ANSWER: {label}. {TEN[other]}", TEN)
    assert read.value == (label if label == other else None)


JOINTS = (
    ", ",
    "/",
    "、",
    "; ",
    " & ",
    " + ",
    " | ",
    "和",
    "或",
    "及",
    "与",
    " and ",
    " or ",
    " plus ",
    ", and ",
    " or also ",
    " or possibly ",
    " or maybe ",
    " or perhaps ",
    " or option ",
    " and options ",
    " or choice ",
    "或选项",
)
AFTER = (
    "",
    ")",
    "]",
    ".",
    ",",
    ";",
    ":",
    "/A",
    " & A",
    " | A",
    " + A",
    "、A",
    "。",
    "和A",
    "或A",
    "及A",
    "与A",
    " and A",
    " or A",
    " are right",
    " both",
    " plus A",
)


@pytest.mark.parametrize("joint", JOINTS)
def test_two_labels_joined_in_any_way_are_two_answers(joint: str) -> None:
    assert choices.letter(f"Meals help.\nANSWER: C{joint}D", TEN).how == "two answers"


@pytest.mark.parametrize("after", AFTER)
def test_a_second_label_is_one_whatever_follows_it(after: str) -> None:
    assert choices.letter(f"Meals help.\nANSWER: C, D{after}", TEN).how == "two answers"


ALSO = (
    "and",
    "or",
    "as well as",
    "plus",
    "and also",
    "and so is",
    "and option",
    "and options",
    "and both",
    "or possibly",
    "or either",
)


@pytest.mark.parametrize("words", ALSO)
def test_a_label_added_after_the_text_of_the_first_is_a_second_answer(words: str) -> None:
    assert choices.letter(f"Meals help.\nANSWER: C. Duodenal ulcer {words} (D)", TEN).how == "two answers"
    assert choices.letter(f"Meals help.\nANSWER: C. Duodenal ulcer {words} D: Acute", TEN).how == "two answers"


@pytest.mark.parametrize("joiner", ["and", "or", "or possibly", "as well as", "和", "或", "以及", "And:"])
def test_option_lines_joined_by_a_word_are_two_answers(joiner: str) -> None:
    assert (
        choices.letter(f"The answer is:\n(C) Duodenal ulcer\n{joiner}\n(D) Acute pancreatitis", TEN).how
        == "two answers"
    )


@pytest.mark.parametrize("between", ["and", "or", "or possibly", ",", "和", "或"])
def test_two_boxes_joined_by_a_word_are_two_answers(between: str) -> None:
    assert choices.letter(f"It is \\boxed{{C}} {between} \\boxed{{D}}", TEN).how == "two answers"


@pytest.mark.parametrize("reach", ["through", "thru", "to", "-", "~", "至", "到"])
def test_a_range_names_nothing(reach: str) -> None:
    assert _read(f"Meals help.\nANSWER: A {reach} J") is None
    assert _read(f"Meals help.\nANSWER: (C) {reach} (J)") is None


@pytest.mark.parametrize("thought", ["Let's think about it", "Let us see", "Okay, so", "OK so", "First, the pain"])
def test_a_reply_that_opens_like_a_thought_is_no_answer(thought: str) -> None:
    assert _read(f"A. {thought}") is None
    assert _read(f"I. {thought}\nMeals help.") is None


def test_a_second_thought_and_a_condition_are_heeded() -> None:
    assert _read("ANSWER: D\nWait, C.") == "C"
    assert _read("ANSWER: (C) if it heals, otherwise surgery") is None


def test_an_option_line_may_be_introduced() -> None:
    assert _read("Choice (C) Duodenal ulcer\nMeals help.") == "C"
    assert _read("Option (C) Duodenal ulcer\nMeals help.") == "C"


def test_an_answer_is_read_only_from_the_labels_of_the_item() -> None:
    assert _read("ANSWER: F", OPTIONS["five"]) is None
    assert medxpertqa.score("ANSWER: F", "F", OPTIONS["five"]).acc == 0.0


# --- the form that was asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "ANSWER: C",
        "Why.\nANSWER: C",
        "ANSWER: [C]",
        "ANSWER: (C)",
        "**ANSWER: C**",
        "ANSWER: **C**",
        "**ANSWER:** C",
        "ANSWER: C.",
        "ANSWER: C\n\n",
        "<think>x</think>\nANSWER: C",
        "x</think>ANSWER: C",
        "ANSWER: C<|im_end|>",
        "ANSWER: D\nANSWER: C",
        "ANSWER:C",
        "**ANSWER: C.**",
        "__ANSWER: C__",
        "___ANSWER: C___",
        "ANSWER:___ ___C",
        "__ANSWER:__ C",
        "ANSWER: __C__",
        "**ANSWER: C**.",
    ],
)
def test_the_asked_form_is_recognised(reply: str) -> None:
    assert medxpertqa.score(reply, "C", TEN).format_ok


@pytest.mark.parametrize(
    "reply",
    [
        "C",
        "Answer: C",
        "ANSWER: c",
        "ANSWER: K",
        "ANSWER: C, D",
        "ANSWER: CD",
        "ANSWER: C because",
        "ANSWER: C\nBye.",
        "ANSWER: [LETTER]",
        "ANSWER: \\boxed{C}",
        "The ANSWER: C",
        "<think>ANSWER: C",
        "ANSWER：C",
        "",
        None,
        "ANSWER: [C",
        "<think>ANSWER: C</think>",
        "ANSWER: Ｃ",
        "____ANSWER: C",
        "ANSWER:____ C",
        "ANSWER: ____C",
        "ANSWER: C____",
    ],
)
def test_any_other_form_is_not_the_asked_one(reply: object) -> None:
    assert not medxpertqa.score(reply, "C", TEN).format_ok


# --- the prompt ------------------------------------------------------------------------------------------------------


def test_the_prompt_is_the_reference_s_to_the_character() -> None:
    options = {"B": " Ulnar ", "A": "Radial"}
    assert medxpertqa.SYSTEM_PROMPT == "You are a helpful medical assistant."
    assert medxpertqa.prompt(" Which nerve?\nAnswer Choices: (A) Radial (B) Ulnar\nAnswer Choices: x", options) == (
        "Answer the following multiple choice question. The last line of your response should be of the following "
        "format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of A,B. "
        "Think step by step before answering.\n\n"
        "Which nerve?\n\nA) Radial\nB) Ulnar"
    )


def test_braces_in_a_question_stay_as_they_are() -> None:
    assert "{choices} {0}" in medxpertqa.prompt("{choices} {0}", {"A": "{letters}"})


@pytest.mark.parametrize(
    ("subset", "rows", "mean", "shortest", "longest"),
    [("Text", 2450, 1337.92, 435, 4771), ("MM", 2000, 886.91, 346, 2335)],
)
def test_the_prompts_have_the_published_lengths(
    shared: Path, subset: str, rows: int, mean: float, shortest: int, longest: int
) -> None:
    documents = _rows(shared / "hub/TsinghuaC3I/MedXpertQA" / subset / "test.jsonl")
    lengths = [
        len(medxpertqa.SYSTEM_PROMPT) + len(medxpertqa.prompt(document["question"], document["options"]))
        for document in documents
    ]
    assert (len(lengths), min(lengths), max(lengths)) == (rows, shortest, longest)
    assert round(sum(lengths) / rows, 2) == mean


# --- real replies ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documents(shared: Path) -> dict[str, dict[str, Any]]:
    folder = shared / "hub/TsinghuaC3I/MedXpertQA"
    return {row["id"]: row for subset in ("Text", "MM") for row in _rows(folder / subset / "test.jsonl")}


def test_the_reference_rule_holds_on_every_real_reply(shared: Path, documents: dict[str, dict[str, Any]]) -> None:
    compared = 0
    for path in sorted((shared / "replies").glob("medxpertqa_*.jsonl")):
        for row in _rows(path):
            document = documents[row["id"]]
            score = medxpertqa.score(row["reply"], document["label"], document["options"])
            assert (score.official, score.acc) == (row["letter"], row["acc"]), (path.name, row["id"])
            compared += 1
    assert compared > 4000


def test_both_readings_hold_on_the_reported_cases(shared: Path) -> None:
    for row in _rows(shared / "cases/medxpertqa.jsonl"):
        score = medxpertqa.score(row["reply"], row["doc"]["label"], row["doc"]["options"])
        assert score.official == row["official"]["letter"], row["id"]
        assert score.reading.value == row["flexible"]["letter"], row["id"]


def test_the_verbose_model_gets_what_a_grader_finds(shared: Path, documents: dict[str, dict[str, Any]]) -> None:
    rows = _rows(shared / "replies/medxpertqa_mistral_small_answer.jsonl")
    scores = [
        medxpertqa.score(row["reply"], documents[row["id"]]["label"], documents[row["id"]]["options"]) for row in rows
    ]
    assert round(sum(score.acc for score in scores) / len(scores), 3) == 0.068
    assert 0.165 <= sum(score.acc_flexible for score in scores) / len(scores) <= 0.180


def test_the_authors_reading_marks_76_of_438_right(shared: Path, documents: dict[str, dict[str, Any]]) -> None:
    rows = _rows(shared / "replies/medxpertqa_mistral_small_answer.jsonl")
    right = sum(
        medxpertqa.authors_letter(row["reply"], documents[row["id"]]["options"]) == documents[row["id"]]["label"]
        for row in rows
    )
    assert (right, len(rows)) == (76, 438)


# --- the authors' two turns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("C", "C"),
        (" (C).", "C"),
        ("**C: Duodenal ulcer**", "C"),
        ("Therefore, among A through J, the answer is C", "C"),
        ("B first. Therefore, among A through J, the answer is C", "C"),
        ("Therefore, among A through J, the answer is B. Therefore, among A through J, the answer is C", "C"),
        ("Option B is weak, so the final answer is C, as said", "C"),
        ("The answer is B. No, the answer is C", "C"),
        ("I understand. Among A through J, C it is", "C"),
        ("Among A through E, C it is", "C"),
        ("Among A through D, C it is", "C"),
        ("I see: C", "I"),
        ("A lesion, so C", "A"),
        ("c", None),
        ("Cholera", None),
        ("mmC", None),
        ("K", None),
        ("The answer is duodenal ulcer", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_the_authors_read_the_first_letter_that_stands_alone(reply: object, letter: str | None) -> None:
    assert medxpertqa.authors_letter(reply, TEN) == letter


def test_the_authors_reading_of_no_labels_is_none() -> None:
    assert medxpertqa.authors_letter("C", []) is None


# --- whatever the reply ----------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "ANSWER:",
        "Answer：",
        "答案",
        "C",
        "(C)",
        "[D]",
        "A",
        "I",
        " ",
        "\n",
        ".",
        "is",
        "the answer is",
        "\\boxed{",
        "}",
        "<answer>",
        "</answer>",
        "{",
        '"answer": "',
        '"',
        "<think>",
        "</think>",
        "and",
        "or",
        "not",
        "Duodenal ulcer",
        "Acute pancreatitis",
        "option",
        "most likely",
        "<|im_end|>",
        "\nUser:",
        "\u2028",
        "Ｃ",
        "İ",
        "ſ",
        "\ud800",
        "\x00",
        "😀",
        "I choose",
        "选",
        "[LETTER]",
        "$",
        "**",
        "1",
        "if",
    ]
)
REPLIES = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.lists(st.text(), max_size=3),
    st.text(max_size=200),
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(PIECES, max_size=12).map(" ".join),
    st.text(st.characters(codec=None), max_size=60),
)


@settings(max_examples=600, deadline=None)
@given(REPLIES, st.sampled_from(list(OPTIONS)))
def test_no_reply_raises_and_a_letter_is_one_of_the_options_or_none(reply: object, name: str) -> None:
    options = OPTIONS[name]
    score = medxpertqa.score(reply, "C", options)
    assert score.official is None or score.official in options
    assert score.reading.value is None or score.reading.value in options
    assert score.reading.how
    assert medxpertqa.authors_letter(reply, options) in (None, *options)
    assert score.acc in (0.0, 1.0)
    assert score.bias is None
    assert (score.outcome is Outcome.UNREADABLE) == (score.reading.value is None)
    if score.format_ok:
        assert score.official is not None


@settings(max_examples=200, deadline=None)
@given(st.text(string.ascii_lowercase + " ,;-", max_size=300), st.sampled_from(list(TEN)))
def test_a_marker_line_after_any_prose_is_read_alike_by_both_readings(prose: str, label: str) -> None:
    score = medxpertqa.score(f"{prose}\nANSWER: {label}", label, TEN)
    assert (score.official, score.reading.value, score.format_ok) == (label, label, True)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(list(TEN)),
    st.sampled_from(list(TEN)),
    st.sampled_from([", ", " and ", " or ", "/", " & ", "、", ", or "]),
)
def test_two_different_labels_are_never_credited(first: str, second: str, joint: str) -> None:
    for form in ("{}", "ANSWER: {}", "The answer is {}.", "\\boxed{{{}}}", "<answer>{}</answer>", "I choose {}"):
        value = _read(form.format(first + joint + second))
        assert value in ((None,) if first != second else (None, first))


UNITS = (
    "C",
    "A ",
    "answer:",
    "ANSWER: C\n",
    "answer: ",
    "the answer is ",
    "\\boxed{",
    "\\boxed{C}",
    "<answer>",
    "{",
    '{"answer": ',
    "(",
    "[",
    "*",
    "_",
    " ",
    "\n",
    "<think>",
    "</think>",
    "答案",
    "答案是",
    "选",
    "most likely is (",
    "option C is ",
    "is: ",
    "A. x\n",
    "C and ",
    "C, ",
    "I choose ",
    "best option ",
    "\nUser:",
    "\nQ:",
    "$",
    "Ａ",
    "\u2028",
    "-",
    "correct ",
    "(C) is ",
    "B\n",
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        best = float("inf")
        for _ in range(2):
            begin = time.process_time()
            medxpertqa.score(text, "C", TEN)
            best = min(best, time.process_time() - begin)
        return best

    small, large = seconds(20_000), seconds(80_000)
    assert large < 0.05 + 12 * small, (unit, small, large)


def test_the_grammar_of_the_parity_run_names_answers_of_every_kind() -> None:
    path = Path(__file__).parent / "parity" / "grammar_medxpertqa.py"
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    replies = namespace["replies"](random.Random(3), "C", TEN)
    read = [medxpertqa.score(next(replies), "C", TEN) for _ in range(3000)]
    assert {score.official for score in read} == {None, *TEN}
    assert {score.outcome for score in read} == {Outcome.CORRECT, Outcome.OTHER, Outcome.UNREADABLE}
    assert any(re.search("two", score.reading.how) for score in read)


_LAST_LINES = (
    "ANSWER: {}",
    "Final answer: ({}).",
    "the answer is [{}]",
    "So, the correct answer is {}.",
    "answer :{}",
    "ANSWER: {}?",
)
_BEFORE = (
    "",
    "Pain points to (B), not C.\n",
    "The answer is D.\n",
    "I choose A\n",
    "\\boxed{D}\n",
    "If so,\n",
    "Not\n",
    "Wait, ",
)


@pytest.mark.parametrize("before", _BEFORE)
@pytest.mark.parametrize("line", _LAST_LINES)
@pytest.mark.parametrize("letter", ["B", "b", "A", "J"])
def test_a_plain_last_line_is_read_as_the_whole_search_reads_it(
    monkeypatch: pytest.MonkeyPatch, before: str, line: str, letter: str
) -> None:
    reply = before + line.format(letter)
    quick = choices.letter(reply, OPTIONS["ten"])
    monkeypatch.setattr(choices._Reader, "closing_line", lambda reader: None)
    assert choices.letter(reply, OPTIONS["ten"]) == quick


def _two(reply: str) -> bool:
    return choices.letter(reply, TEN).how == "two answers"


def _none(reply: str) -> bool:
    return _read(reply) is None


@pytest.mark.parametrize(
    ("read", "before", "filling", "most", "after"),
    [
        (_read, "Meals help. I ", "m", 10, "ly choose C."),
        (_read, "The most ", "m", 15, " option is C because meals help."),
        (_read, "The best option ", "m", 60, " is C because meals help."),
        (_read, "The answers ", "m", 60, " are C because meals help."),
        (_read, "我选", " ", 6, "C"),
        (_read, "The most likely lesion is", " ", 3, ": (C) in the bowel."),
        (_read, "Conclusion", " ", 3, ": (C) in the bowel."),
        (_read, "The most likely lesion is", " ", 9, "(C) in the bowel."),
        (_read, "The option", " ", 2, "C is correct."),
        (_read, "If I had ", "m", 37, " if the answer is D because meals help."),
        (_none, "ANSWER: C", ",", 3, " wrong"),
        (_read, "ANSWER: C, not", " ", 3, "D"),
        (_read, "ANSWER: ", "[", 2, "C"),
        (_read, "ANSWER: [", " ", 3, "C]"),
        (_read, "ANSWER: C", " ", 3, "] in the bowel"),
        (_none, "ANSWER: C", "]", 2, " wrong"),
        (_two, "ANSWER: ", "(", 4, "CD"),
        (_two, "ANSWER: C", " ", 3, "/ D"),
        (_two, "ANSWER: C", " ", 6, "and d"),
        (_two, "ANSWER: C/", " ", 3, "d"),
        (_two, "ANSWER: C/", "or ", 3, "d"),
        (_two, "ANSWER: C/or", " ", 3, "d"),
        (_two, "ANSWER: C/d", " ", 3, "& meals"),
        (_none, "ANSWER: (C)", " ", 3, "through E"),
        (_none, "ANSWER: (C) through", " ", 3, "E"),
        (_read, "ANSWER: C", " ", 3, "= bowel"),
        (_read, "ANSWER: C", " ", 3, "due to meals"),
        (_two, "ANSWER: C, then in turn and", " ", 3, "D"),
        (_two, "ANSWER: C, then in turn and ", "also ", 3, "D"),
        (_two, "ANSWER: C, then in turn and D", " ", 2, ", perhaps"),
        (lambda reply: _read(reply) == "D", "ANSWER: C\nWait", ",", 4, "D"),
        (_two, "B. Gallstone ileus, D", ".", 2, " Acute pancreatitis"),
        (_read, "", "#", 6, "(C) in the bowel\nMeals help."),
        (_read, "", "1", 2, ". (C) in the bowel\nMeals help."),
        (_read, "C", " ", 3, "\nMeals help."),
        (_two, "(C)\n", "-", 6, "and\n(E)\nMeals help."),
        (_two, "(C)\nand", ",", 3, "\n(E)\nMeals help."),
        (_two, "\\boxed{C}", " ", 18, "\\boxed{D}"),
    ],
)
def test_a_form_reaches_so_far_and_no_farther(read: Any, before: str, filling: str, most: int, after: str) -> None:
    assert read(before + filling * most + after)
    assert not read(before + filling * (most + 1) + after)


@pytest.mark.parametrize(
    "reply",
    [
        "Meals help. I only choose C.",
        "The most apt option is C because meals help.",
        "The best option  is C because meals help.",
        "The answers  are C because meals help.",
        "The most likely lesion is:(C) in the bowel.",
        "If I must, the answer is C because meals help.",
        "ANSWER: C, not(D)",
        "ANSWER: D\nWait(C)",
    ],
)
def test_a_form_may_be_as_short_as_this(reply: str) -> None:
    assert _read(reply) == "C"


@pytest.mark.parametrize(
    "reply", ["ANSWER: C/or(d)", "ANSWER: C, then in turn and(D)", "\\boxed{C}or\\boxed{D}", "\\boxed{C}\\boxed{D}"]
)
def test_two_labels_may_stand_close_together(reply: str) -> None:
    assert _two(reply)


def test_a_letter_that_ends_a_term_labels_nothing_behind_it() -> None:
    assert _read("B. Gallstone ileus. Unlike hepatitis A Hepatic adenoma would not hurt.") == "B"


@pytest.mark.parametrize("reply", ["Option C is correct. Option D is correct TOO.", "\\boxed{C} OR \\boxed{D}"])
def test_two_answers_in_capitals_are_two(reply: str) -> None:
    assert _two(reply)


def test_what_stands_behind_a_letter_decides_whether_it_is_a_label() -> None:
    assert _read("ANSWER: C BECAUSE meals help") == "C"
    assert _read("ANSWER: C\nWait, D\nMeals help.") == "D"
    assert _none("Meals help. The correct choice is (C)? Hardly.")
    assert _none("ANSWER: E. coli in Mrs Smith")
