"""Why a reply was judged so, in words, from what the log's record says."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_tasks.report.runs import Sample

#: How an answer was found: completes "A careful reader finds …".
FOUND = {
    "marker": "after the marker that the prompt asks for",
    "boxed": "in a LaTeX box",
    "braces": "in the curly brackets that the prompt asks for",
    "tag": "in an answer tag",
    "json": "in a JSON field",
    "statement": "in a sentence that states the answer",
    "leading": "at the beginning of the reply",
    "whole": "as the whole reply",
    "last line": "on the last line",
    "option text": "by the text of the option",
    "sentence": "in the reply's sentence",
    "emphasis": "in bold type",
}
#: Why no answer was found: completes "No answer can be read: …".
NOT_FOUND = {
    "empty": "the reply is empty",
    "truncated reasoning": "the reasoning was cut off before an answer",
    "two answers": "it states two different answers and settles on neither",
    "none stated": "it states none",
    "placeholder": "it repeats the placeholder of the prompt",
    "refusal": "the model declines to answer",
    "not an option": "the letter that it states is none of the options",
}


@dataclass(frozen=True)
class Reason:
    """Two sentences: what the official rule made of a reply, and what a careful reader makes of it."""

    official: str
    flexible: str


def reason(sample: Sample) -> Reason:
    """The reasons for both judgements of a sample."""
    return Reason(_official(sample), _flexible(sample))


def _official(sample: Sample) -> str:
    right = sample.acc == 1.0
    if not sample.official:
        read = "The official rule reads no answer in this reply"
        return f"{read}, and still counts it as right." if right else f"{read} and counts it as wrong."
    read = f"The official rule reads {_quote(sample.official)}"
    if right:
        return f"{read}, which equals the reference: right."
    aligned = " It matches the expected bias." if sample.biased == 1.0 else ""
    return f"{read}, which is not the reference {_quote(sample.reference)}: wrong.{aligned}"


def _flexible(sample: Sample) -> str:
    if sample.outcome == "unreadable":
        why = NOT_FOUND.get(sample.how, sample.how or "no reason was logged")
        return f"A careful reader finds no answer: {why}."
    where = FOUND.get(sample.how, f"by the rule “{sample.how}”" if sample.how else "")
    read = f"A careful reader finds {_quote(sample.read or '')} {where}".rstrip()
    if sample.outcome == "correct":
        return f"{read}: right."
    if sample.outcome == "biased":
        expected = sample.slices.get("bias")
        return f"{read}, the answer that prior knowledge suggests" + (
            f" ({_quote(str(expected))}): biased." if expected is not None else ": biased."
        )
    return (
        f"{read}, which is neither the reference {_quote(sample.reference)} nor an expected bias: wrong."
        if (sample.slices.get("bias") is not None)
        else f"{read}, which is not the reference {_quote(sample.reference)}: wrong."
    )


def _quote(text: str) -> str:
    return f"“{text if len(text) <= 80 else text[:79] + '…'}”"
