"""SLAKE: the official rule to the letter, the flexible reading by hand-written cases, token overlap by hand."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_scoring import slake
from lmms_scoring.outcomes import Outcome
from lmms_scoring.slake_aliases import CONCEPTS, NO, NOTHING, SPELLINGS, SUFFIXES, YES
from lmms_scoring.slake_reading import fragments, polarity
from lmms_scoring.slake_wording import meaning, mentioned, phrase
from lmms_scoring.text import is_han, without_asides

GOLDEN = Path(__file__).parent / "golden" / "slake.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
RAW = {str(row["reply"]).lower() for row in ROWS}
sys.path.append(str(Path(__file__).parent / "parity"))


WORDINGS: list[dict[str, Any]] = [
    json.loads(line)
    for line in GOLDEN.with_name("slake_wordings.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]


def scored(row: dict[str, Any]) -> Any:
    return slake.score(
        row["reply"],
        row["reference"],
        language=row["language"],
        answer_type=row["answer_type"],
        question=row["question"],
    )


def name(row: dict[str, Any]) -> str:
    return f"{row['case']}: {row['reply']!r} for {row['reference']!r}"


# --- golden tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_both_readings_agree_with_the_golden_table(row: dict[str, Any]) -> None:
    score = scored(row)
    assert (score.acc, score.acc_flexible) == (row["official"], row["flexible"])
    assert "how" not in row or (score.reading.value, score.reading.how) == (row["read"], row["how"])


@pytest.mark.parametrize("row", WORDINGS, ids=lambda row: ascii(row["text"]))
def test_a_wording_means_what_its_row_says(row: dict[str, Any]) -> None:
    found = meaning(row["text"])
    assert (phrase(row["text"]), sorted(found.names), found.two) == (row["phrase"], row["names"], row["two"])
    groups = ("side", "modality", "plane", "color", "organ", "position", "finding")
    said = {group: sorted(mentioned(row["text"], group)) for group in groups}
    assert {group: names for group, names in said.items() if names} == row["mentions"]


def test_a_wording_is_read_up_to_400_characters_and_searched_up_to_4000() -> None:
    assert meaning("z" * 400).names == {"z" * 400}
    assert not meaning("z" * 401).names
    assert mentioned("z" * 3997 + " ct", "modality") == {"ct"}
    assert not mentioned("z" * 3998 + " ct", "modality")
    assert mentioned("z" * 3998 + " t1", "weighting") == frozenset()
    assert meaning("two " + "m" * 40).names == {"2 " + "m" * 40}
    assert meaning("two " + "m" * 41).names == {"two " + "m" * 41}


@pytest.mark.parametrize("mark", "!！?？:：\"'.。")
def test_marks_around_a_number_are_no_part_of_it(mark: str) -> None:
    assert meaning(f"{mark}twelve").names == {"12"}


@pytest.mark.parametrize("mark", [*",;:.!?", "\t.", "\n."])
def test_a_mark_behind_a_sentence_is_no_part_of_it(mark: str) -> None:
    score = slake.score(f"The organ is the lung{mark}", "Lung", language="en", question="Which organ is it?")
    assert score.outcome is Outcome.CORRECT


def test_an_aside_goes_with_both_its_marks() -> None:
    assert without_asides("lung (left) and (heart", "(", ")") == "lung   and (heart"


def test_the_official_answer_is_told_where_there_is_one() -> None:
    assert slake.score("Lungs", "Heart", language="en").official == "lungs"
    assert slake.score("", "Heart", language="en").official is None


def test_tokens_are_those_of_the_visible_answer() -> None:
    assert slake.token_scores("<think>Heart?</think>Lung", "Lung", "en") == (1.0, 1.0)
    assert sorted(slake.tokens("肺t2心", "zh")) == ["t2", "心", "肺"]


def test_and_so_on_is_no_item_of_a_list() -> None:
    assert meaning("肺、等等").names == meaning("lung, etc.").names == {"lung"}


def test_a_denial_is_looked_for_in_the_200_characters_before_a_statement() -> None:
    def right(filling: int) -> float:
        reply = "if " + "z" * filling + " the answer is lung"
        return slake.score(reply, "Lung", language="en", question="What organ is this?").acc_flexible

    assert (right(192), right(193)) == (0.0, 1.0)


def test_an_answer_in_a_sentence_has_a_bound() -> None:
    assert [how for _, how in fragments("It is " + "z" * 80, "")] == ["whole", "statement"]
    assert [how for _, how in fragments("It is " + "z" * 81, "")] == ["whole"]
    assert [how for _, how in fragments("有2" + "个" * 10, "有几个?")] == ["whole", "statement"]
    assert [how for _, how in fragments("有2" + "个" * 11, "有几个?")] == ["whole"]


def test_a_sentence_without_a_clause_is_read_up_to_120_characters() -> None:
    def outcome(filling: int) -> Outcome:
        return slake.score("z" * filling + " " + "y" * 60, "Lung", language="en").outcome

    assert (outcome(59), outcome(60)) == (Outcome.OTHER, Outcome.UNREADABLE)


def test_a_sentence_of_200_characters_is_held_against_the_question() -> None:
    def read(gap: int) -> str | None:
        return polarity("The lung is" + " " * gap + "healthy", "Is the lung healthy?")[0]

    assert (read(182), read(183)) == ("yes", None)


def test_yes_and_no_are_two_answers_in_the_first_200_characters() -> None:
    def how(filling: int) -> str:
        return polarity("z" * filling + " yes or no", "Is the lung healthy?")[1]

    assert (how(190), how(191)) == ("two answers", "none stated")


def test_every_wording_of_the_alias_table_stands_in_the_golden_table() -> None:
    seen = {phrase(text) for row in ROWS if row["flexible"] for text in (row["reply"], row["reference"])}
    forms = {form for concept in CONCEPTS for form in (*concept.english, *concept.chinese)}
    composed = {"叶", "半球", "脑半球"}  # only with a side
    assert not {form for form in forms - composed if not any(text.startswith(form) for text in seen)}
    assert not (YES | NO | NOTHING) - seen
    assert all(
        any(text.endswith(tail) for text in seen) for pair in SUFFIXES.values() for side in pair for tail in side
    )
    assert all(spelling in {word for text in RAW for word in text.split()} for spelling in SPELLINGS)


def test_no_wording_belongs_to_two_concepts() -> None:
    seen: dict[str, str] = {}
    for concept in CONCEPTS:
        for form in (*concept.english, *concept.chinese):
            assert seen.setdefault(form, concept.name) == concept.name
            assert phrase(form) == form


READ = [
    ("ANSWER: Lung", "lung", "marker"),
    ("Lung.", "lung", "whole"),
    ("\\boxed{Lung}", "lung", "boxed"),
    ("<answer>Lung</answer>", "lung", "tag"),
    ('{"answer": "lungs"}', "lung", "json"),
    ("The answer is heart.", "heart", "statement"),
    ("It is the heart.", "heart", "statement"),
    ("Heart. It is enlarged.", "heart", "leading"),
    ("The film shows dark fields.\n\nHeart", "heart", "last line"),
    ("Yes", "yes", "whole"),
    ("Spinal cord, lung", "lung, spinal cord", "whole"),
    ("", None, "empty"),
    (None, None, "empty"),
    ("<think>Lung", None, "truncated reasoning"),
    ("ANSWER: <answer>", None, "placeholder"),
    ("ANSWER: heart or lung", None, "two answers"),
    ("heart or lung", None, "two answers"),
    ("heart vs lung", None, "two answers"),
    ("heart versus lung", None, "two answers"),
    ("心脏还是肺", None, "two answers"),
    ("ANSWER: heart or lung because of" + 90 * " many", None, "two answers"),
    ("axial", "transverse plane", "whole"),
    ("Frontal", "coronal plane", "whole"),
    ("矢状位", "sagittal plane", "whole"),
    ("I cannot determine the organ.", None, "refusal"),
    ("The organ plays a role in breathing and it", None, "none stated"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "value", "how"), READ)
def test_the_reading_names_what_was_read_and_how(reply: str | None, value: str | None, how: str) -> None:
    reading = slake.score(reply, "Lung", language="en").reading
    assert (reading.value, reading.how) == (value, how)


CLAUSES = (
    *(
        "is",
        "shows",
        "show",
        "appears",
        "appear",
        "seems",
        "contains",
        "has",
        "have",
        "are",
        "was",
        "were",
        "can",
        "could",
    ),
    *("does", "would", "may", "might", "plays", "play", "looks", "look", "seem", "contain"),
)


@pytest.mark.parametrize("verb", CLAUSES)
def test_a_clause_that_states_nothing_is_no_answer(verb: str) -> None:
    score = slake.score(
        f"The dark organ {verb} to the left of that", "Lung", language="en", question="What organ is it?"
    )
    assert score.outcome is Outcome.UNREADABLE


RIVALS = {
    "modality": "ct mri x-ray",
    "weighting": "t1 t2",
    "plane": "transverse,coronal,sagittal",
    "color": "black,white,gray,dark gray",
    "density": "hyperdense,hypodense",
    "region": "chest,abdomen,head,neck,pelvis",
    "organ": "lung,heart,liver,spleen,kidney,brain,stomach,esophagus,trachea,larynx,bladder,rectum,colon,small bowel,"
    "large bowel,bowel,spinal cord,mandible,parotid,temporal lobe",
    "position": "center,top,bottom,bilateral,left,upper right",
    "shape": "oval,circular,irregular",
    "finding": "pneumonia,atelectasis,pneumothorax,cardiomegaly,pleural effusion,lung cancer,liver cancer,brain edema,"
    "brain tumor,brain enhancing tumor,brain non-enhancing tumor,nodule,pulmonary nodule,"
    "pulmonary mass,pulmonary infiltration",
    "amount": "much,little",
}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (one, other)
        for group in RIVALS.values()
        for names in [re.split(r"," if "," in group else " ", group)]
        for one, other in zip(names, names[1:] + names[:1], strict=True)
    ],
)
def test_a_rival_in_brackets_makes_two_answers(one: str, other: str) -> None:
    score = slake.score(f"{one} ({other})", one, language="en")
    assert (score.outcome, score.reading.how) == (Outcome.UNREADABLE, "two answers")


def test_a_choice_of_yes_and_no_is_two_answers() -> None:
    for reply in ("Yes/No", "yes or no", "No and yes", "是/否", "是或否"):
        assert slake.score(reply, "Yes", language="en").reading.how == "two answers"


@pytest.mark.parametrize(
    ("reply", "how"),
    [("Yes", "whole"), ("ANSWER: Yes", "marker"), ("Yes, it does.", "leading"), ("There is a spleen.", "statement")],
)
def test_a_yes_is_read_with_its_rule(reply: str, how: str) -> None:
    score = slake.score(reply, "Yes", language="en", answer_type="CLOSED", question="Is there a spleen?")
    assert (score.outcome, score.reading.value, score.reading.how) == (Outcome.CORRECT, "yes", how)


@pytest.mark.parametrize(
    ("reply", "outcome", "how"),
    [
        ("No", Outcome.OTHER, "whole"),
        ("Yes or no", Outcome.UNREADABLE, "two answers"),
        ("No, I cannot determine that", Outcome.UNREADABLE, "refusal"),
        ("Lung", Outcome.OTHER, "whole"),
        ("The spleen may be there, which would be usual for", Outcome.UNREADABLE, "none stated"),
    ],
)
def test_what_is_no_yes_is_told_apart(reply: str, outcome: Outcome, how: str) -> None:
    score = slake.score(reply, "Yes", language="en", answer_type="CLOSED", question="Is there a spleen?")
    assert (score.outcome, score.reading.how) == (outcome, how)


# --- official rule --------------------------------------------------------------------------------------------------

OFFICIAL = [
    ("ANSWER: CT\nANSWER: MRI", "MRI", 1.0),
    ("ANSWER: CT\nANSWER: MRI", "CT", 0.0),
    ("ANSWER:\n\n CT ", "CT", 1.0),
    ("ANSWER: CT\nof the chest", "CT", 1.0),
    ("AN\u017fWER: CT", "CT", 1.0),
    ("ANSWER : CT", "CT", 0.0),
    ("ANSWER：CT", "CT", 0.0),
    ("ANSWER: 'CT\"", "CT", 1.0),
    ("ANSWER:", "CT", 0.0),
    ("(CT)", "CT", 0.0),
    ("(CT)", "", 1.0),
    ("（CT） MRI (axial)", "MRI", 1.0),
    ("(CT", "CT", 1.0),
    ("((CT) MRI", "MRI", 1.0),
    ("(CT）", "CT", 1.0),
    ("spinal(left)cord", "spinal cord", 1.0),
    ("spinal（左）cord", "spinalcord", 0.0),
    ("Vitamin A", "Vitamin", 1.0),
    ("the lung an a", "Lung", 1.0),
    ("x\u2028ray", "X-Ray", 1.0),
    ("x\x1cray", "X-Ray", 1.0),
    ("ｘray", "X-Ray", 0.0),
    ("X 射线", "X-Ray", 1.0),
    ("两个", "2", 1.0),
    ("12个", "12", 1.0),
    ("²个", "²", 1.0),
    ("肺个", "肺", 0.0),
    ("个", "", 0.0),
    ("eleven", "11", 0.0),
    ("None", "0", 1.0),
    ("不正常", "No", 1.0),
    ("is yes", "Yes", 0.0),
    ("İ", "i̇", 1.0),
    ("ß", "ss", 0.0),
    ("Lung\u200b", "Lung", 0.0),
    (None, "Lung", 0.0),
    (None, None, 1.0),
    (2, 2, 1.0),
    ("", "()", 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "reference", "acc"), OFFICIAL)
def test_the_official_rule_keeps_its_flaws(reply: object, reference: object, acc: float) -> None:
    assert slake.official_acc(reply, reference) == acc
    assert slake.score(reply, reference, language="en").acc == acc


def test_the_official_answer_is_the_last_marker_s_line_without_quotes() -> None:
    assert slake.official_answer("ANSWER: MRI\nANSWER: \"the 'CT'\n(axial)") == "the 'CT"
    assert slake.official_answer(" 'CT' \n") == "'CT'"


@pytest.mark.parametrize(
    ("words", "form"),
    [
        *(
            (word, str(value))
            for value, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven"))
        ),
        *(
            ("eight", "8"),
            ("nine", "9"),
            ("ten", "10"),
            ("none", "0"),
            ("两", "2"),
            ("十一", "十一"),
            ("eleven", "eleven"),
        ),
        *((word, str(value)) for value, word in enumerate("零一二三四五六七八九十")),
        ("yes|yeah|yep|true|是|是的|有|包含|存在|可以|能|会", "yes"),
        ("no|nope|false|否|不是|没有|无|不包含|不存在|不可以|不能|不会|不正常", "no"),
        ("x ray|xray|x光|x 光|x射线|x 射线", "xray"),
        ("a|an|the|the a|!|\"|#|$|%|&|'|(|)|*|+|,|-|.|/|:|;|<|=|>|?|@|[|\\|]|^|_|`|{|}|~", ""),
        (
            "！|？|。|＂|＃|＄|％|＆|＇|（|）|＊|＋|，|－|／|：|；|＜|＝|＞|＠|［|＼|］|＾|＿|｀|｛|｜|｝|～|、|《|》|【|】",
            "",
        ),
        *((word, word) for word in ("对", "·", "“", "…", "—", "｡", "「")),
    ],
)
def test_the_official_form_folds_what_the_reference_folds(words: str, form: str) -> None:
    for word in words.split("|"):
        assert slake.official_form(word) == form
        assert slake.official_form(f" {word.upper()} ") == form
    assert slake.official_form("|") == ""


# --- the data beside the checkout -----------------------------------------------------------------------------------


def test_prompt_lengths_are_the_published_ones(shared: Path) -> None:
    lengths: dict[str, list[int]] = {}
    for row in json.loads((shared / "hub/BoKelvin/SLAKE/test.json").read_text(encoding="utf-8")):
        key = f"{row['q_lang']}_{row['answer_type'].lower()}"
        lengths.setdefault(key, []).append(len(slake.prompt(row["question"], row["q_lang"])))
    summary = {key: (len(each), round(sum(each) / len(each), 2), min(each), max(each)) for key, each in lengths.items()}
    assert summary == {
        "en_open": (645, 195.09, 168, 257),
        "en_closed": (416, 187.99, 162, 253),
        "zh_open": (613, 67.07, 61, 79),
        "zh_closed": (420, 65.44, 60, 82),
    }
    together = [length for each in lengths.values() for length in each]
    assert round(sum(together) / len(together), 1) == 130.2


def test_every_case_from_a_bug_report_holds_in_both_readings(shared: Path) -> None:
    cases = [json.loads(line) for line in (shared / "cases/slake.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in cases:
        document = case["doc"]
        score = slake.score(
            case["reply"], document["answer"], language=document["q_lang"], answer_type=document["answer_type"]
        )
        assert (case["id"], score.acc, score.acc_flexible) == (
            case["id"],
            case["official"]["acc"],
            case["flexible"]["acc"],
        )


@pytest.mark.parametrize(("file", "right", "flexible"), [("original", 529, 616), ("black", 263, 282)])
def test_real_replies_score_as_the_reference_scorer_does(shared: Path, file: str, right: int, flexible: int) -> None:
    rows = {
        row["qid"]: row for row in json.loads((shared / "hub/BoKelvin/SLAKE/test.json").read_text(encoding="utf-8"))
    }
    replies = (shared / f"replies/slake_huatuogpt_vision_7b_{file}.jsonl").read_text(encoding="utf-8").splitlines()
    official = readable = 0.0
    for reply in map(json.loads, replies):
        row = rows[reply["qid"]]
        score = slake.score(reply["reply"], row["answer"], language=row["q_lang"], question=row["question"])
        assert score.acc == reply["acc"]
        assert score.acc_flexible >= score.acc
        official += score.acc
        readable += score.acc_flexible
    assert (official, readable) == (right, flexible)


def test_every_reference_answers_its_own_question(shared: Path) -> None:
    for row in json.loads((shared / "hub/BoKelvin/SLAKE/test.json").read_text(encoding="utf-8")):
        for reply in (row["answer"], f"ANSWER: {row['answer']}", f"**{row['answer']}**", row["answer"].upper()):
            score = slake.score(reply, row["answer"], language=row["q_lang"], question=row["question"])
            assert (reply, score.acc, score.acc_flexible) == (reply, 1.0, 1.0)
            assert slake.token_scores(reply, row["answer"], row["q_lang"]) == (1.0, 1.0)


def test_the_two_polarities_never_mix(shared: Path) -> None:
    for row in json.loads((shared / "hub/BoKelvin/SLAKE/test.json").read_text(encoding="utf-8")):
        polarity = slake.official_form(row["answer"])
        if polarity in ("yes", "no") and row["answer"] not in ("不正常", "健康"):
            others = ("No", "不是", "没有", "否") if polarity == "yes" else ("Yes", "是", "是的", "有")
            for reply in others:
                score = slake.score(reply, row["answer"], language=row["q_lang"], question=row["question"])
                assert score.outcome is Outcome.OTHER


# --- prompts, form --------------------------------------------------------------------------------------------------


def test_the_prompt_strips_the_question_and_asks_in_its_language() -> None:
    assert slake.prompt(" Where is it?\n", "en") == (
        "Where is it?\nAnswer the question with a single word or phrase in English.\n"
        'The last line of your response must be of the form "ANSWER: <answer>" (without quotes).'
    )
    assert slake.prompt("在哪{}?", "zh") == (
        '在哪{}?\n请用一个中文词语或短语回答问题。\n回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。'
    )


def test_a_question_in_a_third_language_is_the_row_s_fault() -> None:
    with pytest.raises(ValueError, match=r"not in 'de'.*Wo ist"):
        slake.prompt("Wo ist das?", "de")


@pytest.mark.parametrize(
    ("reply", "ok"),
    [
        ("ANSWER: Lung", True),
        ("answer: lung.", True),
        ("It is dark.\nANSWER: Lung\n\n", True),
        ("<think>ANSWER: no</think>\nANSWER: 肺", True),
        ("ANSWER:Lung", True),
        ("It is dark.\n  ANSWER: Lung", True),
        ("ANSWER: <answer>", False),
        ("ANSWER: <答案>", False),
        ("ANSWER:", False),
        ("ANSWER:\nLung", False),
        ("ANSWER：Lung", False),
        ("ANSWER: Lung\nIt is dark.", False),
        ("My ANSWER: Lung", False),
        ("Lung", False),
        ("<think>\nANSWER: Lung", False),
        ("", False),
        (None, False),
    ],
)
def test_the_form_is_a_last_line_with_marker_and_answer(reply: str | None, ok: bool) -> None:
    assert slake.format_ok(reply) is ok
    assert slake.score(reply, "Lung", language="en").format_ok is ok


@pytest.mark.parametrize(("char", "han"), [*zip("一㐀鿿〇𠀀豈가a、ㄅ", [True] * 6 + [False] * 4, strict=True)])
def test_a_chinese_character_is_known(char: str, han: bool) -> None:
    assert is_han(char) is han


# --- token overlap --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "reference", "language", "recall", "f1"),
    [
        ("The lower left lung", "Lower Left Lung", "en", 1.0, 6 / 7),
        ("left lung", "Lower Left Lung", "en", 2 / 3, 4 / 5),
        ("Left Lung.\n", "left, lung", "en", 1.0, 1.0),
        ("It is dark.\nANSWER: lung", "Lung", "en", 1.0, 1.0),
        ("lung lung lung", "Lung", "en", 1.0, 1 / 2),
        ("lung", "lung lung", "en", 1 / 2, 2 / 3),
        ("<think>Lung</think>Heart", "Lung", "en", 0.0, 0.0),
        ("<think>Lung", "Lung", "en", 0.0, 0.0),
        ("xray", "X-Ray", "en", 0.0, 0.0),
        ("左下肺部", "左下肺", "zh", 1.0, 6 / 7),
        ("右下肺", "左下肺", "zh", 2 / 3, 2 / 3),
        ("T2加权像", "T2", "zh", 1.0, 2 / 5),
        ("T1", "T2", "zh", 0.0, 0.0),
        ("肺、心脏", "心脏,肺", "zh", 1.0, 1.0),
        ("左肺", "左下肺", "en", 0.0, 0.0),
        ("naïve肺ab", "肺", "zh", 1.0, 1 / 2),
        ("二〇一", "〇", "zh", 1.0, 1 / 2),
        ("", "Lung", "en", 0.0, 0.0),
        (None, "Lung", "en", 0.0, 0.0),
        ("Lung", "", "en", 0.0, 0.0),
        ("...", "", "en", 1.0, 1.0),
        ("spinal_cord", "spinal cord", "en", 1.0, 1.0),
    ],
)
def test_token_overlap_by_hand(reply: str | None, reference: str, language: str, recall: float, f1: float) -> None:
    assert slake.token_recall(reply, reference, language) == pytest.approx(recall)
    assert slake.token_f1(reply, reference, language) == pytest.approx(f1)


# --- properties -----------------------------------------------------------------------------------------------------

FRAGMENTS = [
    "ANSWER:", "ANSWER: <answer>", "答案：", "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "}", "(",
    ")", "（", "）", "[", "**", "yes", "No", "是的", "没有", "不", "或", " or ", ", ", "、", "和", " and ", "lung",
    "the ", "CT", "2", "两个", "-", ".", "\n", "\n\n", "it is ", "The answer is ", "left ", "lower ", "左", "下",
    "肺", '{"answer": "', '"', "\u2028", "\x1c", "\ud800", "İ", "👍", "\u0301", "10" * 20,
]  # fmt: skip
REPLIES = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=60),
    st.text(alphabet=st.characters(codec=None), max_size=40),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
)
REFERENCES = st.sampled_from(sorted({row["reference"] for row in ROWS}))
QUESTIONS = st.sampled_from(sorted({row["question"] for row in ROWS}))


@given(REPLIES, REFERENCES, QUESTIONS)
def test_no_reply_of_any_kind_raises(reply: object, reference: str, question: str) -> None:
    for language in ("en", "zh"):
        score = slake.score(reply, reference, language=language, question=question)
        assert score.acc in (0.0, 1.0)
        assert (score.reading.value is None) == (score.outcome is Outcome.UNREADABLE)
        recall, f1 = slake.token_scores(reply, reference, language)
        assert 0.0 <= recall <= 1.0
        assert 0.0 <= f1 <= 1.0


@given(REPLIES, REFERENCES)
def test_score_and_the_bare_official_rule_agree(reply: object, reference: str) -> None:
    score = slake.score(reply, reference, language="en")
    assert score.acc == slake.official_acc(reply, reference)
    assert score.official == (slake.official_form(slake.official_answer(reply)) or None)


@given(st.text(max_size=40))
def test_folding_a_phrase_twice_changes_nothing_more(text: str) -> None:
    once = phrase(text)
    twice = phrase(once)
    assert phrase(twice) == twice


@given(st.sampled_from([row["reference"] for row in ROWS if row["reference"]]))
def test_a_reference_answers_itself(reference: str) -> None:
    assert slake.score(reference, reference, language="en").outcome is Outcome.CORRECT


@given(REFERENCES, REFERENCES)
def test_meaning_the_same_is_symmetric(one: str, other: str) -> None:
    forth = slake.score(one, other, language="en").outcome is Outcome.CORRECT
    back = slake.score(other, one, language="en").outcome is Outcome.CORRECT
    assert forth == back


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["en", "zh"]))
def test_token_f1_is_symmetric(one: str, other: str, language: str) -> None:
    def plain(text: str) -> str:
        return text.replace(":", " ").replace("<", " ")

    forth = slake.token_f1(plain(one), plain(other), language)
    assert forth == pytest.approx(slake.token_f1(plain(other), plain(one), language))


@given(
    st.lists(st.sampled_from(["Lung", "Heart", "Liver", "Spleen"]), min_size=2, max_size=4, unique=True), st.randoms()
)
def test_a_list_is_read_in_any_order_and_never_in_part(items: list[str], rng: random.Random) -> None:
    shuffled = items[:]
    rng.shuffle(shuffled)
    assert meaning(", ".join(shuffled)) == meaning(", ".join(items))
    assert slake.score(", ".join(items[1:]), ", ".join(items), language="en").outcome is Outcome.OTHER
    assert slake.score(", ".join(items), ", ".join(items[1:]), language="en").outcome is Outcome.OTHER


@settings(max_examples=50)
@given(st.sampled_from(["CT", "MRI", "X-Ray"]), st.sampled_from(["CT", "MRI", "X-Ray"]))
def test_a_reply_with_two_modalities_is_never_right(one: str, other: str) -> None:
    if one == other:
        return
    for form in (
        "{} or {}",
        "{}/{}",
        "ANSWER: {} or {}",
        "{} ({})",
        "{}. {} is likely.",
        "{}、{}",
        "{} and {}",
        "{}\n{}",
    ):
        reply = form.format(one, other)
        for reference in (one, other):
            assert slake.score(reply, reference, language="en").outcome is not Outcome.CORRECT


def test_the_grammar_s_replies_never_raise_and_always_score_officially() -> None:
    from tests.parity import grammar_slake as grammar

    rng = random.Random(3)
    for row in ROWS[::20]:
        for reply in islice(grammar.replies(rng, row["reference"], row["language"]), 20):
            score = slake.score(reply, row["reference"], language=row["language"], question=row["question"])
            assert score.acc == slake.official_acc(reply, row["reference"])


@pytest.mark.parametrize(
    "piece", ["(", "（", "[", "ANSWER: ", "<think>", "\\boxed{", " ", "\n", "不", "a ", "Lung. ", "\n\n", "T2*"]
)
def test_a_megabyte_takes_no_more_than_linear_time(piece: str) -> None:
    reply = piece * (1_000_000 // len(piece))
    begin = time.perf_counter()
    slake.score(reply, "Lung", language="en", question="Is the lung healthy?")
    slake.token_scores(reply, "Lung", "en")
    assert time.perf_counter() - begin < 15


def _in_a_sentence(question: str) -> Any:
    return lambda text: any(how == "statement" for _, how in fragments(text, question))


def _two_poles(text: str) -> bool:
    return polarity(text, "")[1] == "two answers"


@pytest.mark.parametrize(
    ("read", "before", "filling", "most", "after"),
    [
        (_in_a_sentence(f"{'a' * 100} {'a' * 101}"), "", "a", 100, " is the lung"),
        (_in_a_sentence("Which organ?"), "The organ is ", "a", 80, ""),
        (_in_a_sentence(""), "", "a", 40, " was used"),
        (_in_a_sentence(""), "CT was used for ", "a", 60, ""),
        (_in_a_sentence("Which is bigger?"), "", "a", 40, " is bigger"),
        (_in_a_sentence("Which is bigger?"), "Lung is bigger than ", "a", 20, ""),
        (_in_a_sentence("Which is bigger?"), "Lung is bigger than", " b", 6, ""),
        (_in_a_sentence("哪个大?"), "", "肺", 10, "大"),
        (_in_a_sentence("哪个大?"), "肺比", "心", 10, "大"),
        (_in_a_sentence("有多少?"), "", "图", 4, "有2个"),
        (_in_a_sentence("图"), "", "图", 40, "是肺"),
        (_in_a_sentence("图"), "图是", "肺", 30, ""),
        (_two_poles, "yes", " ", 3, "no"),
        (_two_poles, "yes or", " ", 3, "no"),
        (_two_poles, "no", " ", 3, "yes"),
        (_two_poles, "no or", " ", 3, "yes"),
        (lambda text: meaning(text).names == {"ct"}, "CT (", "a", 200, ")"),
        (lambda text: "ct" in meaning(text).names, "", "1", 2, ". CT, lung"),
        (
            lambda text: slake.score(text, "CT", language="en").outcome is Outcome.CORRECT,
            "CT\nanswer",
            " ",
            3,
            ": <answer>",
        ),
    ],
)
def test_a_form_reaches_so_far_and_no_farther(read: Any, before: str, filling: str, most: int, after: str) -> None:
    assert read(before + filling * most + after)
    assert not read(before + filling * (most + 1) + after)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("It is 2", "", "2"),
        ("CT was used for A", "", "CT"),
        ("Lung is bigger than  heart", "Which is bigger?", "Lung"),
        ("肺比心大", "哪个大?", "肺"),
        ("共2", "有多少?", "2"),
    ],
)
def test_an_answer_in_a_sentence_may_be_short(text: str, question: str, answer: str) -> None:
    assert (answer, "statement") in list(fragments(text, question))


@pytest.mark.parametrize(("text", "question"), [("大", "哪个大?"), ("这是", "这是什么?")])
def test_a_sentence_without_an_answer_states_none(text: str, question: str) -> None:
    assert [how for _, how in fragments(text, question)] == ["whole"]


def test_a_comparison_says_with_what() -> None:
    assert ("肺", "statement") not in list(fragments("肺比大", "哪个大?"))


@pytest.mark.parametrize("text", ["yesno", "noyes", "yes orno", "no oryes"])
def test_yes_and_no_in_one_word_are_two_answers(text: str) -> None:
    assert _two_poles(text)


def test_an_empty_aside_says_nothing() -> None:
    assert meaning("Lung, CT ()").names == {"lung", "ct"}
    assert meaning("CT (b)").names == {"ct"}


@pytest.mark.parametrize("text", ["CT (an MRI film)", "left lung (seen on the right)"])
def test_an_aside_that_mentions_another_answer_makes_two(text: str) -> None:
    assert meaning(text).two


def test_capitals_change_no_reading() -> None:
    assert meaning("CT OR MRI").two
    assert meaning("Lung AND heart").names == {"lung", "heart"}
    assert meaning("CT (Wrong)").two
    assert polarity("The lung IS healthy", "Is the lung healthy?")[0] == "yes"
    assert polarity("Yes,    No lung is seen", "Is the lung seen?")[1] == "two answers"
    assert ("the lung", "statement") in list(fragments("The organ IS the lung", "Which organ is it?"))
    assert ("CT", "statement") in list(fragments("CT WAS used", ""))
    assert ("Lung", "statement") in list(fragments("Lung IS bigger", "Which is bigger?"))
    assert slake.score("t2*", "T2", language="en").outcome is Outcome.OTHER
