"""VLMs Are Biased: both readings, the object of a row, topics and topic means."""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_scoring import vlms_are_biased as vlms
from lmms_scoring.outcomes import Outcome

sys.path.insert(0, str(Path(__file__).resolve().parent))

from parity import grammar_vlms

GOLDEN = Path(__file__).parent / "golden"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ROWS = rows(GOLDEN / "vlms_are_biased.jsonl")
REPLIES = st.one_of(
    st.text(),
    st.text(alphabet=st.characters()),
    st.lists(
        st.sampled_from(
            [
                "{", "}", "4", "5", "-", ".", " ", ",", "Yes", "No", "four", "not ", " or ", "so ", "=", "(", ")", "\n",
                "The answer is ", "四", "共", "\\boxed{", "<think>", "</think>", "{4}", "{5}", "wait ", "\u3000",
                "\ud800", "²", "1. ", "usually ", " in front ", "total ",
            ]
        )
    ).map("".join),
)  # fmt: skip


def ids(row: dict[str, Any]) -> str:
    return ascii(row["reply"])[:60]


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_a_reply_is_read_as_its_golden_row_says(row: dict[str, Any]) -> None:
    score = vlms.score(row["reply"], row["reference"], row["bias"])
    found = {
        "official": score.acc,
        "official_bias": score.bias,
        "read": score.reading.value,
        "how": score.reading.how,
        "outcome": score.outcome.value,
        "format_ok": score.format_ok,
    }
    assert found == {key: row[key] for key in found}
    views = {"correct": score.acc_flexible, "biased": score.bias_flexible, "unreadable": score.unreadable}
    assert views == {name: float(name == row["outcome"]) for name in views}


def test_the_golden_table_is_large_and_has_every_outcome() -> None:
    assert len(ROWS) >= 150
    assert {row["outcome"] for row in ROWS} == {outcome.value for outcome in Outcome}


def test_both_readings_of_the_public_cases_hold(shared: Path) -> None:
    cases = rows(shared / "cases" / "vlms_are_biased.jsonl")
    assert cases
    for case in cases:
        document = case["doc"]
        score = vlms.score(case["reply"], document["ground_truth"], document["expected_bias"])
        official = {"acc": score.acc} | ({} if score.bias is None else {"bias_ratio": score.bias})
        assert official == case["official"], case["id"]
        assert score.acc_flexible == case["flexible"]["acc"], case["id"]
        if case["flexible"]["bias_ratio"] is not None:
            assert score.bias_flexible == case["flexible"]["bias_ratio"], case["id"]


def test_a_row_without_bias_is_never_biased_and_has_no_bias_score() -> None:
    for reply in ("None", "{None}", "none", "5", "nan"):
        score = vlms.score(reply, "4", None)
        assert score.bias is None
        assert score.outcome is not Outcome.BIASED
        assert vlms.official_bias(reply, "4", None) is None


def test_the_same_answer_as_truth_and_bias_is_correct() -> None:
    score = vlms.score("{4}", "4", "4")
    assert (score.acc, score.bias, score.outcome) == (1.0, 1.0, Outcome.CORRECT)


def test_the_official_rule_shows_the_text_or_the_digits_it_compared() -> None:
    assert vlms.score("{ Yes }", "Yes", "No").official == "yes"
    assert vlms.score("4 legs, not 5", "4", "5").official == "45"
    assert vlms.score("no digits", "4", "5").official == "no digits"
    assert len(vlms.score("9" * 1000, "4", "5").official or "") == 100


def test_the_official_rule_joins_digits_only_where_no_text_is_equal() -> None:
    assert vlms.official_acc("2 or 3", "23") == 1.0
    # The reply is the bias word for word, so its digits are not compared with the truth's.
    assert vlms.official_acc("4 or 5", "45", "4 or 5") == 0.0
    assert vlms.official_bias("4 or 5", "45", "4 or 5") == 1.0


@given(REPLIES, st.sampled_from([("4", "5"), ("31", "32"), ("Yes", "No"), ("4", None), ("a zebra", "a horse")]))
def test_no_reply_raises_and_the_views_of_its_outcome_agree(reply: str, pair: tuple[str, str | None]) -> None:
    score = vlms.score(reply, *pair)
    assert score.acc in (0.0, 1.0)
    assert (score.bias is None) == (pair[1] is None)
    assert (score.reading.value is None) == (score.outcome is Outcome.UNREADABLE)
    assert score.acc_flexible + score.bias_flexible + score.unreadable <= 1
    assert (score.acc, score.bias) == (vlms.official_acc(reply, *pair), vlms.official_bias(reply, *pair))
    if score.format_ok:
        assert score.reading.how == "braces"
    assert vlms.score(reply, *pair) == score


def test_no_reply_of_the_parity_grammar_raises() -> None:
    rng = random.Random(11)
    for truth, bias in (("4", "5"), ("31", "32"), ("Yes", "No"), ("Yes", None), ("a zebra", "a horse")):
        for reply in itertools.islice(grammar_vlms.replies(rng, truth, bias), 2_000):
            score = vlms.score(reply, truth, bias)
            assert (score.acc, score.bias) == (
                vlms.official_acc(reply, truth, bias),
                vlms.official_bias(reply, truth, bias),
            )


def test_letters_that_only_look_like_yes_in_one_case_raise_nothing() -> None:
    assert vlms.score("{yeſ}", "Yes", "No").reading.value == "Yes"
    assert vlms.score("falſe", "Yes", "No").reading.value == "No"


@given(st.integers(min_value=0, max_value=10**8))
def test_a_number_in_braces_is_read_as_itself_under_both_rules(number: int) -> None:
    score = vlms.score(f"{{{number}}}", str(number), str(number + 1))
    assert (score.acc, score.bias, score.outcome, score.format_ok) == (1.0, 0.0, Outcome.CORRECT, True)


@given(st.integers(min_value=2, max_value=60), st.integers(min_value=2, max_value=60))
def test_a_reply_that_names_two_numbers_as_alternatives_is_never_read(one: int, other: int) -> None:
    for form in ("{} or {}", "{{{}}} or {{{}}}", "{} to {} legs", "It has {} or {} legs.", "a total of {} or {}"):
        score = vlms.score(form.format(one, other), str(one), str(other))
        assert (score.outcome is Outcome.UNREADABLE) == (one != other)


@pytest.mark.parametrize(
    "unit",
    [
        "answer: ", "{4}", "{", "}", "4 ", "yes. ", "so ", "actually 4 ", "(4 ", "e.g. {", "\\boxed{",
        "the answer is 4. ", " ", "9", "no, ", "<think>", '"answer": ', "的", "\ud800", "4 or ",
    ],
)  # fmt: skip
def test_a_reply_of_a_megabyte_takes_no_more_than_its_share_of_time(unit: str) -> None:
    reply = unit * (2**20 // len(unit))
    started = time.perf_counter()
    vlms.score(reply, "4", "5")
    vlms.score(reply, "Yes", "No")
    # Linear work takes a few tenths of a second here, quadratic work minutes.
    assert time.perf_counter() - started < 10


def test_a_reply_too_long_for_an_answer_is_read_only_where_it_declares_one() -> None:
    filler = "word " * 10_000
    assert vlms.score(filler + "{4}", "4", "5").outcome is Outcome.CORRECT
    assert vlms.score(filler + "There are 4.", "4", "5").outcome is Outcome.UNREADABLE
    assert vlms.score("{4} " + filler, "4", "5").outcome is Outcome.UNREADABLE
    assert vlms.score("{4} " + filler[: vlms._LONGEST - 10], "4", "5").outcome is Outcome.CORRECT


def test_the_bounds_of_the_reading_are_where_they_are_said_to_be() -> None:
    def read(reply: str, truth: str = "4") -> str | None:
        return vlms.score(reply, truth, None).reading.value

    # A sentence without an end is taken as cut off from 80 characters on.
    assert read("It is a dog " + "of a kind " * 6 + "and 4") == "4"
    assert len("It is a dog " + "of a kind " * 6 + "and 4") == 77
    assert read("It is a dog " + "of a kind " * 6 + "with a 4") is None
    assert read("It is a dog " + "k" * 60 + " with 4") == "4"
    assert read("It is a dog " + "k" * 61 + " with 4") is None
    # What is usual is looked for in the 120 characters before a number.
    assert read("It has 4 legs. The usual " + "k" * 113 + " 5 legs") == "4"
    assert read("It has 4 legs. The usual " + "k" * 114 + " 5 legs") is None
    # The last 100 braces count; a number with a unit answers a yes/no question up to 60 characters.
    assert read("{5} " + "{4} " * 99) is None
    assert read("{5} " + "{4} " * 100) == "4"
    assert read("4 " + "l" * 58, "Yes") == "4"
    assert read("4 " + "l" * 59, "Yes") is None
    # Sentences are read up to 20,000 characters.
    assert read("There are 4. " + "a" * 19_987) == "4"
    assert read("There are 4. " + "a" * 19_988) is None
    # More numbers than 200 are a listing.
    assert read("4, " * 199 + "4.") == "4"
    assert read("4, " * 200 + "4.") is None
    # The place behind a marker is read for 400 characters, a reply for 20,000 from its end.
    assert vlms.score("Answer: " + "a " * 199 + "4.", "4", None).reading.how == "marker"
    assert vlms.score("Answer: " + "a " * 200 + "4.", "4", None).reading.how == "sentence"
    assert read("{4} " + "a" * 19_996) == "4"
    assert read("{4} " + "a" * 19_997) is None
    assert read("Answer: " + "z" * 401, "a zebra") == "z" * 400
    # A negation is looked for in the 40 characters before a brace, a refusal in 120 on either side of a number.
    assert read("not the" + " " * 33 + "{5} {4}") == "4"
    assert read("not the" + " " * 34 + "{5} {4}") is None
    assert read("I cannot tell " + "k" * 107 + " 4.") is None
    assert read("I cannot tell " + "k" * 108 + " 4.") == "4"
    assert read("4 " + "k" * 107 + " cannot tell.") is None
    assert read("4 " + "k" * 108 + " cannot tell.") == "4"
    # Words are an answer up to 60 characters.
    assert read("z" * 60, "a zebra") == "z" * 60
    assert read("z" * 61, "a zebra") is None


# --- objects and topics ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows(GOLDEN / "object_keys.jsonl"), ids=lambda row: row["id"])
def test_the_object_is_the_id_without_question_title_and_resolution(row: dict[str, Any]) -> None:
    assert vlms.object_key(row["id"]) == row["object"]
    assert vlms.object_key(row["object"]) == row["object"]


def ids_of(shared: Path, split: str) -> list[str]:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = shared / "hub" / "anvo25" / "vlms-are-biased" / "data" / f"{split}-00000-of-00001.parquet"
    return list(parquet.read_table(path, columns=["ID"])["ID"].to_pylist())


def test_every_object_of_the_real_main_rows_has_two_questions_at_three_resolutions(shared: Path) -> None:
    counts: dict[str, int] = {}
    real = [name for name in ids_of(shared, "main") if not name.startswith("standin_")]
    for name in real:
        counts[vlms.object_key(name)] = counts.get(vlms.object_key(name), 0) + 1
    assert (len(real), len(counts), set(counts.values())) == (2046, 341, {6})


def test_with_the_stand_ins_under_their_own_names_main_has_464_objects_of_six_rows(shared: Path) -> None:
    counts: dict[str, int] = {}
    for name in ids_of(shared, "main"):
        # A stand-in's ID is a real one behind `standin_main_` and a running number.
        key = vlms.object_key(re.sub(r"^standin_main_\d+_", "standin_", name))
        counts[key] = counts.get(key, 0) + 1
    assert (len(counts), set(counts.values())) == (464, {6})


def test_both_spellings_of_optical_illusion_are_one_topic() -> None:
    assert vlms.topic("Optical Illusions") == vlms.topic("Optical Illusion") == "Optical Illusion"
    assert [vlms.topic(name) for name in vlms.TOPICS] == list(vlms.TOPICS)
    assert len(set(vlms.TOPICS)) == 7


@pytest.mark.parametrize("name", ["", "Animal", "animals", "Optical illusion"])
def test_a_topic_nobody_knows_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(ValueError, match="unknown topic") as error:
        vlms.topic(name)
    assert repr(name) in str(error.value)


def test_the_task_mean_weighs_topics_alike_and_not_rows() -> None:
    pairs = (
        [("Animals", 1.0)] * 3
        + [("Animals", 0.0)]
        + [("Flags", 0.0)]
        + [("Optical Illusions", 0.5), ("Optical Illusion", 1.0)]
    )
    assert vlms.topic_means(pairs) == {"Animals": 0.75, "Flags": 0.0, "Optical Illusion": 0.75}
    assert vlms.task_mean(pairs) == 0.5


def test_a_topic_without_scores_has_no_value_and_neither_has_a_mean_of_none() -> None:
    assert vlms.task_mean([]) is None
    assert vlms.topic_means([]) == {}
    assert vlms.task_mean([("Animals", None), ("Flags", None)]) is None
    assert vlms.task_mean([("Animals", None), ("Flags", 1.0)]) == 1.0
    assert vlms.topic_means([("Animals", None), ("Flags", 1.0)]) == {"Flags": 1.0}


@given(st.lists(st.tuples(st.sampled_from(vlms.TOPICS), st.sampled_from([0.0, 1.0])), min_size=1), st.randoms())
def test_the_task_mean_is_free_of_order_and_equals_a_naive_mean(
    pairs: list[tuple[str, float]], rng: random.Random
) -> None:
    shuffled = pairs[:]
    rng.shuffle(shuffled)
    topics = {name for name, _ in pairs}
    naive = 0.0
    for name in topics:
        mine = [value for topic, value in pairs if topic == name]
        naive += sum(mine) / len(mine) / len(topics)
    assert vlms.task_mean(pairs) == vlms.task_mean(shuffled) == pytest.approx(naive)


def _reads(value: str, truth: str = "4") -> Any:
    return lambda reply: vlms.score(reply, truth, None).reading.value == value


def _how(how: str) -> Any:
    return lambda reply: vlms.score(reply, "4", None).reading.how == how


def _asked_form(reply: str) -> bool:
    return vlms.score(reply, "4", None).format_ok


@pytest.mark.parametrize(
    ("read", "before", "filling", "most", "after"),
    [
        (_asked_form, "{", "9", 9, "}"),
        (_asked_form, "{-", "9", 9, "}"),
        (_asked_form, "{4.", "9", 9, "}"),
        (_reads("5"), "e.g. {4", "k", 19, "} There are 5."),
        (_reads("5"), "e.g. {3} or {4", "k", 19, "} There are 5."),
        (_how("braces"), "{4 ", "k", 298, "}"),
        (lambda reply: not _how("braces")(reply), "\\", "k", 20, "{4}"),
        (lambda reply: not _how("braces")(reply), "frac{", "k", 30, "}{4}"),
        (_reads("Yes", "Yes"), "", "(", 4, "Yes, lines differ"),
        (_reads("Yes", "Yes"), "Lines differ.", " ", 3, "Yes."),
        (_reads("4"), "It has 4, not ", "the ", 4, "5 legs."),
        (_reads("4"), "It has 4, not", " ", 3, "5 legs."),
        (_reads("4"), "It has 4, more than", " ", 3, "3 legs."),
        (_reads("4"), "It has 4 legs, 3", " ", 2, "or more."),
        (_reads("4"), "It has 4 legs, 3", " ", 2, "hind."),
        (_reads("4"), "It has 4 legs, 3", " ", 2, "of them."),
        (_reads("4"), "It has 4 legs, 3 ", "big ", 3, "of them."),
        (_reads("4"), "It has 4 legs, 3", " ", 2, "in front."),
        (_reads("4"), "It has 4 legs, 3 ", "big ", 3, "in front."),
        (_reads("4"), "Left ", "m", 12, ": 3. It has 4 legs."),
        (_reads("4"), "Left:", " ", 2, "3. It has 4 legs."),
        (_reads("4"), "(", "k", 59, " 5) It has 4 legs."),
        (_reads("6"), "3 red, 2 white, total", " ", 53, "6."),
        (_reads("6"), "红3条,白2条,共", "腿", 12, "6条"),
        (_reads("6"), "3 red, 2 white, 6", " ", 2, "altogether."),
        (_reads("6"), "3 red, 2 white, 6 ", "big ", 4, "altogether."),
        (_how("two answers"), "It has 4", " ", 2, "or thus 5."),
        (_how("two answers"), "It has 4 ", "big ", 2, "or thus 5."),
        (_how("two answers"), "It has 4 or thus", " big", 1, " 5."),
        (_how("two answers"), "It has 4 or big thus", " ", 2, "5."),
    ],
)
def test_a_form_reaches_so_far_and_no_farther(read: Any, before: str, filling: str, most: int, after: str) -> None:
    assert read(before + filling * most + after)
    assert not read(before + filling * (most + 1) + after)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("e.g. {} or {4} There are 5.", "5"),
        ("It has 4 legs, 3of them.", "4"),
        ("It has 4 legs, 3in front.", "4"),
        ("Left : 3. It has 4 legs.", "4"),
        ("(5 on paper) It has 4 legs.", "4"),
        ("3 red, 2 white, in total,6.", "6"),
        ("It has 4or thus 5.", None),
        ("It does not have the usual 5 legs.", None),
    ],
)
def test_a_form_may_be_as_short_as_this(reply: str, value: str | None) -> None:
    assert vlms.score(reply, "4", None).reading.value == value


@pytest.mark.parametrize("reply", ["\\k{4}", "\\frac{}{4}"])
def test_braces_of_a_command_are_no_answer_in_braces(reply: str) -> None:
    assert vlms.score(reply, "4", None).reading.how != "braces"
