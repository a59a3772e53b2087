"""Cleaning a reply, and finding the places where it states its answer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_scoring import reply
from lmms_scoring.reply import (
    clean,
    echoes,
    first_turn,
    fold,
    is_placeholder,
    plain,
    refuses,
    request_failed,
    stated,
    to_text,
    unlatex,
    visible,
)


def _found(text: str) -> list[tuple[str, str]]:
    return [(place.text, place.how) for place in stated(text)]


# --- to text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("Lung", "Lung"),
        (4, "4"),
        (4.0, "4.0"),
        (True, "True"),
        ([1], "[1]"),
        ("\ud800x", "?x"),
        ("é\udfffx", "é?x"),
    ],
)
def test_any_reply_becomes_text(value: object, text: str) -> None:
    assert to_text(value) == text


def test_a_number_too_long_to_print_is_an_empty_reply() -> None:
    assert to_text(10**5000) == ""


# --- folding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("odd", "folded"),
    [
        ("Ａｚ０９！～：（）［］｛｝，．", "Az09!~:()[]{},."),
        ("𝐂𝟒", "C4"),
        ("a\u00a0b\u2002c\u2003d\u2007e\u2009f\u200ag\u202fh\u3000i", "a b c d e f g h i"),
        ("a\u0085b\u2028c\u2029d\ve\ff\rg\r\nh", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("a\u00adb\u200bc\u200cd\u200de\u200ef\u200fg\u2060h\ufeffi", "abcdefghi"),
        ("“a”„b«c»「d」『e』", '"a""b"c""d""e"'),
        ("‘a’´", "'a''"),
        ("a‐b‑c‒d–e—f−g", "a-b-c-d-e-f-g"),
        ("【C】〔D〕", "[C][D]"),
        ("a\r\nb\rc", "a\nb\nc"),
    ],
)
def test_odd_forms_fold_to_plain_ones(odd: str, folded: str) -> None:
    assert fold(odd) == folded


@pytest.mark.parametrize("text", ["x²", "½", "ﬁ", "Ⅳ", "①", "µ", "肺", "ø", "。", "、", "《x》", "😀", "٤"])
def test_what_carries_meaning_is_not_folded(text: str) -> None:
    assert fold(text) == text


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


# --- reasoning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["think", "thinking", "reasoning", "thought", "scratchpad", "THINK"])
@pytest.mark.parametrize("form", ["<{}>", "[{}]", "◁{}▷", "<{} >"])
def test_reasoning_is_dropped_whatever_its_tag(name: str, form: str) -> None:
    opening, closing = form.format(name), form.format("/" + name)
    assert visible(f"a{opening}b{closing}c") == "ac"
    assert visible(f"b{closing}c") == "c"
    assert visible(f"a{opening}b") is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("", ""),
        ("<think>a</think>", ""),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<think>a<think>b</think>c", "c"),
        ("<think>a</think>b</think>c", "c"),
        ("x<think>a</think>b</think>c", "c"),
        ("<think>a</think>b<think>c", None),
        ("think about it", "think about it"),
        ("<thinker>a", "<thinker>a"),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "b"),
        ("<|channel|>analysis<|message|>a", None),
        ("<|channel|> final <|message|>b", "b"),
        ("<|channel|>", "<|channel|>"),
    ],
)
def test_only_what_follows_the_reasoning_is_visible(text: str, left: str | None) -> None:
    assert visible(text) == left


# --- tokens and turns ------------------------------------------------------------------------------------------------

ENDING = (
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
    "<|IM_END|>",
)


@pytest.mark.parametrize("token", ENDING)
def test_an_ending_token_ends_the_reply(token: str) -> None:
    assert first_turn(f"Lung{token}user: Heart") == "Lung"
    assert first_turn(f"{token} Lung") == "Lung"
    assert first_turn(f"{token}assistant\nLung{token}") == "Lung"


@pytest.mark.parametrize(
    "token", ["<s>", "<bos>", "<pad>", "<unk>", "<|begin_of_text|>", "<|startoftext|>", "<|begin▁of▁sentence|>"]
)
def test_an_opening_token_is_dropped_wherever_it_stands(token: str) -> None:
    assert first_turn(f"{token}Lu{token}ng") == "Lung"


def test_a_header_is_dropped_with_its_role() -> None:
    assert first_turn("<|start_header_id|>assistant<|end_header_id|>\n\nLung<|eot_id|>") == "Lung"
    assert first_turn("<start_of_turn>model\nLung<end_of_turn>") == "Lung"


@pytest.mark.parametrize(
    "speaker", ["User", "USER", "Human", "用户", "### Instruction", "### User", "### Human", "**User**", " User"]
)
def test_an_invented_turn_is_cut(speaker: str) -> None:
    assert first_turn(f"The scan shows a lung, which answers it all right.\n{speaker}: next?\nHeart").startswith(
        "The scan"
    )
    assert "Heart" not in first_turn(f"The scan shows a lung, which answers it all right.\n{speaker}: next?\nHeart")
    assert first_turn(f"Lung\n{speaker}：next?") == "Lung"


@pytest.mark.parametrize("opening", ["Question", "Next question", "Q", "Q 2", "问题", "### Question", "**Question**"])
def test_the_next_question_is_cut_once_the_reply_is_given(opening: str) -> None:
    assert first_turn(f"Lung\n{opening}: which?\nHeart") == "Lung"
    long = "The scan shows the chest of a patient, whom we know well enough.\nANSWER: Lung"
    assert first_turn(f"{long}\n{opening}: which?\nHeart") == long


def test_a_question_restated_before_the_answer_stays() -> None:
    text = "Let me restate what is being asked before I answer it.\nQuestion: which organ?\nANSWER: Lung"
    assert first_turn(text) == text
    assert first_turn("\nQuestion: which?\nANSWER: Lung") == "\nQuestion: which?\nANSWER: Lung"


def test_a_speaker_inside_a_line_is_no_turn() -> None:
    assert first_turn("Lung, says the user: fine") == "Lung, says the user: fine"
    assert first_turn("User: Lung") == "User: Lung"


# --- emphasis --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "bare"),
    [
        ("**Lung**", "Lung"),
        ("*Lung*", "Lung"),
        ("***Lung***", "Lung"),
        ("__Lung__", "Lung"),
        ("_Lung_", "Lung"),
        ("`Lung`", "Lung"),
        ("~~Heart~~ Lung", " Lung"),
        ("<b>Lung</b>", "Lung"),
        ("<strong>Lung</strong>", "Lung"),
        ("<i>a</i><em>b</em><u>c</u>", "abc"),
        ("<p>a</p><mark>b</mark><code>c</code><span>d</span>", "abcd"),
        ("a<br>b<br/>c", "abc"),
        ("3*4", "3*4"),
        ("3**4", "3**4"),
        ("*2 is 1*2", "2 is 1*2"),
        ("3*4*", "3*4"),
        ("a_b", "a_b"),
        ("____", "____"),
        ("x < y", "x < y"),
        ("~5", "~5"),
        ("<answer>", "<answer>"),
    ],
)
def test_emphasis_is_dropped_and_meaning_kept(marked: str, bare: str) -> None:
    assert plain(marked) == bare


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        (None, ""),
        ("", ""),
        (" \n", ""),
        (7, "7"),
        ("<think>a", None),
        ("<think>a</think> **Ｌung**<|im_end|>", "Lung"),
        ("Lung\u2028\nUser: b", "Lung"),
        ("<s> Lung </s>", "Lung"),
        ("**Answer:**\nLung\nQuestion: Where is it?", "Answer:\nLung"),
    ],
)
def test_cleaning_joins_all_steps(raw: object, cleaned: str | None) -> None:
    assert clean(raw) == cleaned


# --- placeholders ----------------------------------------------------------------------------------------------------

ECHOES = (
    "[LETTER]",
    "[letters]",
    "<option letter>",
    "[the letter]",
    "[Your Letter]",
    "<answer>",
    "[your answer]",
    "(the answer)",
    "{final answer}",
    "[your final answer]",
    "[correct letter]",
    "[correct answer]",
    "[option]",
    "{number}",
    "<字母>",
    "【选项】",
    "<答案>",
    "<你的答案>",
    "<您的答案>",
    "<最终答案>",
    "...",
    "…",
    "LETTER",
    "$LETTER",
    "letters",
    "your letter",
    "answer",
    "your answer",
    "字母",
    "答案",
    "",
    '"<answer>" (without quotes)',
    "[LETTER] where [LETTER] is one of",
    "<答案> 的形式",
    "(your letter) here",
    "${answer} here",
)


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echo_of_the_slot_is_no_answer(echo: str) -> None:
    assert is_placeholder(fold(echo).strip('"'))


@pytest.mark.parametrize("text", ["C", "Lung", "[C]", "letter C", "答案C", "2", "No answer"])
def test_an_answer_is_no_echo(text: str) -> None:
    assert not is_placeholder(text)


def test_an_echo_is_noticed_after_a_marker_only() -> None:
    assert echoes("ANSWER: [LETTER]")
    assert echoes("答案:<答案>")
    assert echoes("answer : <answer>")
    assert not echoes("[LETTER]")
    assert not echoes("ANSWER: C")


# --- stated answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<answer>Lung</answer>", [("Lung", "tag")]),
        ("<final_answer>Lung</final_answer>", [("Lung", "tag")]),
        ("<Final Answer> Lung </Final Answer>", [("Lung", "tag")]),
        ("<answer>a</answer> <answer>b</answer>", [("a", "tag"), ("b", "tag")]),
        ("<answer>Lung", [("Lung", "tag")]),
        ("x\n <answer>Lung\nmore", [("Lung", "tag")]),
        ("of the form <answer> please", []),
        ("Lung</answer>", []),
        ("<answer></answer>", []),
        ("<answer>[LETTER]</answer>", []),
        (r"\boxed{4}", [("4", "boxed")]),
        (r"\fbox{4}", [("4", "boxed")]),
        (r"\boxed {4}", [("4", "boxed")]),
        (r"\boxed{\text{Lung}}", [("Lung", "boxed")]),
        (r"\boxed{\frac{1}{2}}", [("1/2", "boxed")]),
        (r"\boxed{a} and \boxed{b}", [("a", "boxed"), ("b", "boxed")]),
        (r"{ \boxed{a} }", [("a", "boxed")]),
        (r"\} \boxed{a\}b}", [("ab", "boxed")]),
        (r"\boxed{a", []),
        (r"\boxed{}", []),
        ('{"answer": "Lung"}', [("Lung", "json")]),
        ('{"Answer" : "Lung"}', [("Lung", "json")]),
        ("{'answer': 'Lung'}", [("Lung", "json")]),
        ("{'answer' : 'Lung'}", [("Lung", "json")]),
        ('{"final_answer": "Lung"}', [("Lung", "json")]),
        ('{"correct answer": "Lung"}', [("Lung", "json")]),
        ('{"choice": "C"}', [("C", "json")]),
        ('{"answer_option": "C"}', [("C", "json")]),
        ('{"answer_letter": "C"}', [("C", "json")]),
        ('{"答案": "肺"}', [("肺", "json")]),
        ('{"answer": 4, "why": 1}', [("4", "json")]),
        ('{"answer": "a\\"b\\u0041"}', [('a"bA', "json")]),
        ('{"answer": ["a", "b"]}', [('["a", "b"]', "json")]),
        ('{"answer": "Lung", "why": "dark"}', [("Lung", "json")]),
        ("{'answer': 'Lung', 'why': 'dark'}", [("Lung", "json")]),
        ('{"answer": , "why": 1}', []),
        ('{"answer": } no idea', []),
        ('{"answer": C\n"why": "dark"}', [("C", "json")]),
        (r"\boxed C or {D}", []),
        ("Answer (a) or b): see page 3", []),
        ("Answer (not (D): see page 3", []),
        ('{"answer": "Lung', []),
        ('{"answer": ""}', []),
        ('{"answer": "\\x"}', [('"\\x"', "json")]),
        ("ANSWER: Lung", [("Lung", "marker")]),
        ("answer :Lung", [("Lung", "marker")]),
        ("Answers: Lung", [("Lung", "marker")]),
        ("Ans: Lung", [("Lung", "marker")]),
        ("Answers are: Lung", [("Lung", "marker")]),
        ("Answer choice: C", [("C", "marker")]),
        ("Answer option: C", [("C", "marker")]),
        ("Answer letter: C", [("C", "marker")]),
        ("Answer (in one word): Lung", [("Lung", "marker")]),
        ("Final diagnosis: Lung", [("Lung", "marker")]),
        ("ANSWER: a\nANSWER: b", [("a", "marker"), ("b", "marker")]),
        ("ANSWER:\n\n  Lung \nmore", [("Lung", "marker")]),
        ("ANSWER:", []),
        ("ANSWER: <answer>", []),
        ("transverse: Lung", []),
        ("İ answer: Lung", [("Lung", "marker")]),
        ("答案:肺", [("肺", "marker")]),
        ("答案是肺", [("肺", "marker")]),
        ("答案为肺", [("肺", "marker")]),
        ("答案选C", [("C", "marker")]),
        ("答案选择C", [("C", "marker")]),
        ("答案应该是肺", [("肺", "marker")]),
        ("答案应当是肺", [("肺", "marker")]),
        ("答案应为肺", [("肺", "marker")]),
        ("答案就是肺", [("肺", "marker")]),
        ("答案是: 肺", [("肺", "marker")]),
        ("正确答案是肺", [("肺", "marker")]),
        ("正确选项是C", [("C", "marker")]),
        ("正确的选项是C", [("C", "marker")]),
        ("答案肺", []),
        ("The answer is Lung.", [("Lung.", "statement")]),
        ("The answer to that is Lung", [("Lung", "statement")]),
        ("The answer would be Lung", [("Lung", "statement")]),
        ("The answer should be Lung", [("Lung", "statement")]),
        ("The answer must be Lung", [("Lung", "statement")]),
        ("The answer remains Lung", [("Lung", "statement")]),
        ("The answer becomes Lung", [("Lung", "statement")]),
        ("I answer with Lung", [("Lung", "statement")]),
        ("I answer it with: Lung", [("Lung", "statement")]),
        ("The answer is:\nLung", [("Lung", "marker"), ("Lung", "statement")]),
        ("The answer: it is Lung", [("it is Lung", "marker")]),
        ("No answer. It is Lung", []),
        ("Lung", []),
        ("", []),
    ],
)
def test_answers_are_found_where_they_are_stated(text: str, found: list[tuple[str, str]]) -> None:
    assert _found(text) == found


GOLDEN = Path(__file__).parent / "golden" / "replies.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row["text"])[:60])
def test_a_text_is_cleaned_and_searched_as_its_row_says(row: dict[str, Any]) -> None:
    cleaned = clean(row["text"])
    assert cleaned == row["clean"]
    assert [list(place) for place in _found(cleaned or "")] == row["stated"]
    assert unlatex(row["text"]) == row["unlatex"]
    assert is_placeholder(fold(row["text"])) is row["placeholder"]
    assert refuses(row["text"]) is row["refuses"]
    assert request_failed(row["text"]) is row["no_reply"]


def test_a_box_in_a_box_is_one_place() -> None:
    assert stated(r"\boxed{\boxed{C}}") == [("C", "boxed", 0, 17)]


def test_places_come_in_the_order_of_the_text() -> None:
    places = stated('<answer>a</answer> ANSWER: b\n{"answer": "c"} \\boxed{d} the answer is e')
    assert [place.text for place in places] == ["a", "b", "c", "d", "e"]
    assert all(place.start < place.end for place in places)


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"$C$", "C"),
        (r"\(C\)", "C"),
        (r"\[C\]", "C"),
        (r"\text{Lung}", "Lung"),
        (r"\textbf{a}\textit{b}\textrm{c}", "abc"),
        (r"\mathbf{a}\mathrm{b}\mathit{c}\mathsf{d}", "abcd"),
        (r"\operatorname{a}\bf b\rm c", "a b c"),
        (r"\displaystyle a\left(b\right)", "a(b)"),
        (r"a\quad b", "a b"),
        (r"\boxed{a}\fbox{b}", "ab"),
        (r"a~b\ c", "a b c"),
        (r"a\,b\;c\!d\:e", "abcde"),
        (r"\{a\}", "a"),
        (r"\frac{\sqrt{2}}{2}", r"\sqrt2/2"),
        (r"\frac{a}{b} or \frac{c}{d}", "a/b or c/d"),
        ("plain", "plain"),
        ("~5", "~5"),
        (r"\textual", r"\textual"),
    ],
)
def test_latex_wrappers_go(latex: str, text: str) -> None:
    assert unlatex(latex) == text


REFUSING = (
    "I cannot determine it",
    "I can't answer",
    "We can not identify it",
    "I am unable to count",
    "not able to tell",
    "It is impossible to provide one",
    "I cannot say",
    "I cannot assess",
    "I cannot see",
    "I cannot view",
    "I cannot diagnose",
    "I cannot conclude",
    "I cannot give",
    "I cannot process",
    "I cannot analyze",
    "I cannot analyse",
    "I cannot read",
    "I cannot interpret",
    "I cannot really tell",
    "I'm sorry",
    "I am sorry",
    "I do not know",
    "I don't know",
    "None of the above",
    "none of the options",
    "none of the choices",
    "none of the answers",
    "无法判断",
    "不能确定",
    "不能判断",
    "不能回答",
    "不能识别",
    "不知道",
    "抱歉",
)


@pytest.mark.parametrize("text", REFUSING)
def test_a_refusal_is_noticed(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", ["Lung", "It cannot be the heart", "I know", "not C", "canal"])
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not refuses(text)


# --- whatever the reply ----------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.text(st.characters(codec=None)),
        st.lists(
            st.sampled_from(
                [
                    "<answer>",
                    "</answer>",
                    "\\boxed{",
                    "}",
                    "{",
                    '"answer": "',
                    '"',
                    "ANSWER:",
                    "答案是",
                    "the answer is",
                    "\n",
                    "C",
                    "<think>",
                    "</think>",
                    "\nUser:",
                    "<|im_end|>",
                    "*",
                    "_",
                    "~~",
                    "\\",
                ]
            )
        ).map("".join),
    )
)
def test_nothing_raises_and_every_place_lies_in_the_text(raw: object) -> None:
    text = clean(raw)
    if text is None:
        return
    refuses(text)
    for place in stated(text):
        assert 0 <= place.start < place.end <= len(text)
        assert place.text
        assert not is_placeholder(place.text)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "<",
        "*",
        "_",
        "~",
        "{",
        "}",
        "\\",
        "\\boxed{",
        "answer ",
        "answer:",
        "answer: ",
        "<answer>",
        "</think>",
        "<think>",
        "答案是",
        "\n",
        " ",
        '"answer":',
        '"answer": [',
        '"answer": "\\',
        "\nQ:",
        "\nUser:",
        "<|im_end|>",
        "`",
        "'",
        "answer is ",
        "answer:\n",
        "cannot ",
        "answer (",
        "<s>",
        "\u2028",
        "~~a",
        "<|channel|>",
        "[think",
        "Ａ",
        " \n",
        "ans",
        "*a",
    ],
)
def test_a_megabyte_of_anything_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        raw = unit * (size // len(unit))
        best = float("inf")
        for _ in range(2):
            begin = time.process_time()
            text = clean(raw)
            if text is not None:
                stated(text)
                refuses(text)
            best = min(best, time.process_time() - begin)
        return best

    small, large = seconds(20_000), seconds(80_000)
    assert large < 0.05 + 12 * small, (unit, small, large)


def test_a_declared_value_has_a_bound() -> None:
    assert len(stated("ANSWER:" + "x" * 5000)[0].text) == reply.LONGEST == 1000


def _declared(text: str) -> list[str]:
    return [place.text for place in stated(text)]


#: No honest reply has a longer gap or piece in these places, and one without a limit would cost a hostile reply much time.
REACH = [
    (lambda text: clean(text) == "C", "<think>B</think", " ", 8, ">C"),
    (lambda text: clean(text) == "C", "<|channel|>", " ", 8, "final<|message|>C"),
    (lambda text: clean(text) is None, "<|channel|>", "a", 60, "<|message|>C"),
    (lambda text: clean(text) == "C", "C\n", " ", 8, "user: B"),
    (lambda text: clean(text) == "C", "C\nuser", " ", 8, ": B"),
    (lambda text: clean(text) == "C", "C\nuser ", "1", 4, ": B"),
    (lambda text: clean(text) == "C", "C\nuser 1", " ", 4, ": B"),
    (lambda text: clean(text) == "word", "", "_", 3, "word"),
    (lambda text: clean(text) == "word", "word", "_", 3, ""),
    (lambda text: clean(text) == "C", "~~", "a", 300, "~~C"),
    (lambda text: clean(text) == "C", "<b", " ", 4, ">C"),
    (is_placeholder, "", "[", 3, "letter] is mine"),
    (is_placeholder, "[", " ", 4, "letter] is mine"),
    (is_placeholder, "[letter", " ", 4, "] is mine"),
    (echoes, "answer", " ", 3, ":[letter]"),
    (lambda text: _declared(text) == ["C"], "<answer", " ", 4, ">C</answer>"),
    (lambda text: _declared(text) == ["C"], "\\boxed", " ", 4, "{C}"),
    (lambda text: _declared(text) == ["C"], '{"organ":"lung","answer"', " ", 8, ':"C"}'),
    (lambda text: _declared(text) == ["C"], '{"answer":', " ", 8, '"C"}'),
    (_declared, '{"answer":"', "a", 500, '"}'),
    (_declared, "{'answer':'", "a", 500, "'}"),
    (_declared, '{"answer":[', "a", 300, "]}"),
    (lambda text: _declared(text) == [text[10:]], '{"answer":', "a", 301, ""),
    (_declared, "Answer (", "a", 30, "): C"),
    (_declared, "Answer", " ", 6, ": C"),
    (_declared, "Meals help.\nanswer", " ", 3, "\nC"),
    (_declared, "答案", " ", 3, ":C"),
    (lambda text: _declared(text) == ["C"], "答案是", " ", 3, ":C"),
    (_declared, "answer ", "a", 58, " is C"),
    (lambda text: _declared(text) == ["C"], "answer would be", " ", 3, ": C"),
    (_declared, "ANSWER:", "\n", 200, "C"),
    (lambda text: "/" in unlatex(text), "\\frac{", "1", 30, "}{2}"),
    (lambda text: "/" in unlatex(text), "\\frac{2}{", "1", 30, "}"),
    (refuses, "I cannot ", "a", 15, " tell"),
    (refuses, "I cannot ", "a ", 2, "tell"),
]


@pytest.mark.parametrize(("read", "before", "filling", "most", "after"), REACH)
def test_a_form_reaches_so_far_and_no_farther(read: Any, before: str, filling: str, most: int, after: str) -> None:
    assert read(before + filling * most + after)
    assert not read(before + filling * (most + 1) + after)


def test_a_form_holds_at_least_one_sign() -> None:
    assert clean("~~a~~C") == "C"
    assert clean("~~~~C") == "~~~~C"
    assert clean("_word_") == "word"
    assert clean("C\nuser 1: B") == "C"
    assert clean("C\nuser" + " " * 12 + ": B") != "C"
    assert clean("<|channel|>a<|message|>C") is None
    assert is_placeholder("[letter] is mine")
    assert refuses("I cannot a tell")
    assert unlatex("\\frac{1}{2}") == "1/2"
    assert unlatex("\\frac{}{2}") == "\\frac2"
    assert unlatex("\\frac{1}{}") == "\\frac1"
    assert clean("<|channel|><|message|>C") is not None
    assert not is_placeholder("answer) is mine")


def test_a_form_may_be_empty_where_nothing_need_stand() -> None:
    assert _declared("Answer (): C") == ["C"]
    assert refuses("I cannot  tell")


@pytest.mark.parametrize("text", ["<|channel|>final<|MESSAGE|>C", "<BOS>C", "<B>C</B>"])
def test_tokens_and_tags_may_be_in_capitals(text: str) -> None:
    assert clean(text) == "C"
