"""Prompts and scores of MedXpertQA: expert medical questions with options A-J (Text) or A-E (MM)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lmms_scoring import choices
from lmms_scoring.outcomes import Outcome, Score
from lmms_scoring.reply import first_turn, to_text, visible

#: The system prompt of the single-turn and of the authors' protocol alike.
SYSTEM_PROMPT = "You are a helpful medical assistant."

_PROMPT = (
    "Answer the following multiple choice question. The last line of your response should be of the following format: "
    "'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of {letters}. Think step by step before answering.\n\n"
    "{question}\n\n{choices}"
)
_EMBEDDED_OPTIONS = "\nAnswer Choices:"


def stem(question: str) -> str:
    """The question without the options that the field embeds, stripped.

    >>> stem("Which nerve is hurt?\\nAnswer Choices: (A) Ulnar (B) Radial")
    'Which nerve is hurt?'
    """
    return question.partition(_EMBEDDED_OPTIONS)[0].strip()


def prompt(question: str, options: Mapping[str, str]) -> str:
    """The user prompt: instruction, question without its embedded options, and one line an option in letter order.

    `question` is the dataset's field as it is. The options embedded in it are ignored, because two rows (Text-2230,
    Text-2270) embed others than the `options` field.
    """
    labels = sorted(options)
    lines = "\n".join(f"{label}) {options[label].strip()}" for label in labels)
    return _PROMPT.format(letters=",".join(labels), question=stem(question), choices=lines)


def official_letter(reply: object, letters: Iterable[str]) -> str | None:
    """The letter that the reference scorer reads, or None; see `choices.official_letter`."""
    return choices.official_letter(reply if isinstance(reply, str) else to_text(reply), letters)


_LAST_LINE = re.compile(r"[*_]{0,3}ANSWER:[*_]{0,3} ?[*_]{0,3}(?:\[([A-Z])\]|\(([A-Z])\)|([A-Z]))\.?[*_]{0,3}\.?")


def asked_form(reply: object, letters: Iterable[str]) -> bool:
    """True where the last line of the visible reply is `ANSWER: X`, X one label; brackets, bold, a full stop may be."""
    text = reply if isinstance(reply, str) else to_text(reply)
    if "ANSWER:" not in text:
        return False
    line = first_turn(visible(text) or "").rstrip().rpartition("\n")[2].strip()
    found = _LAST_LINE.fullmatch(line)
    return found is not None and next(filter(None, found.groups())) in letters


def score(reply: object, label: str, options: Mapping[str, str]) -> Score:
    """Both readings of a reply to the item with these options, of which `label` is the right one.

    Never raises because of the reply, whatever it is; an unread reply scores 0.0.
    """
    official = official_letter(reply, options)
    reading = choices.letter(reply, options)
    if reading.value is None:
        outcome = Outcome.UNREADABLE
    else:
        outcome = Outcome.CORRECT if reading.value == label else Outcome.OTHER
    return Score(float(official == label), official, outcome, reading, asked_form(reply, options))


_TRIGGER = re.compile(r"Therefore, among A through [A-Z], the answer is")
_STATEMENT = " answer is "
_SAID_OTHERWISE = re.compile(r"I understand|A through [JED]")


def authors_letter(second_reply: object, letters: Iterable[str]) -> str | None:
    """The letter that the authors' two-turn protocol reads in the reply to its trigger, or None.

    The text after the trigger, or else after the last " answer is ", counts; in it the first letter that stands alone
    and is a label. Nothing else is tried, and case counts.

    Source: the evaluation code of MedXpertQA, https://github.com/TsinghuaC3I/MedXpertQA, re-implemented from its rules.
    """
    text = to_text(second_reply)
    triggers = list(_TRIGGER.finditer(text))
    if triggers:
        text = text[triggers[-1].end() :]
    elif _STATEMENT in text:
        text = text.rpartition(_STATEMENT)[2]
    labels = "".join(sorted(letters))
    found = re.search(rf"\b([{re.escape(labels)}])\b", _SAID_OTHERWISE.sub("", text)) if labels else None
    return found[1] if found else None
