"""`python tests/torture.py [--count N] [--seed N] [scorer …]`: hostile replies through every hook that reads one.

The hooks run as lmms-eval calls them, over documents of the embedded sample. A reply may score anything, but may not
raise, may not take longer than it should (`LIMIT`), and must leave items that a sample log can hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_scoring.outcomes import Outcome
from lmms_tasks.conversations import EveryTurn
from lmms_tasks.judge import client, protocol
from lmms_tasks.medxpertqa import hooks as medxpertqa
from lmms_tasks.medxpertqa_official import hooks as medxpertqa_official
from lmms_tasks.repeats import EveryReply
from lmms_tasks.slake import hooks as slake
from lmms_tasks.slake_llm_recall import hooks as slake_llm_recall
from lmms_tasks.vlms_are_biased import hooks as vlms_are_biased
from lmms_tasks.vlms_are_biased import paper_prompts

LIMIT = 10.0
"""No reply may take so many seconds, and as many again for each megabyte."""

GOLDEN = Path(__file__).resolve().parent / "golden"
Doc = Mapping[str, Any]
Hook = Callable[[Doc, Sequence[Any]], dict[str, Any]]


# --- the scorers ----------------------------------------------------------------------------------------------------


class CredulousJudge:
    """In place of a judge at the end of a network: it answers with the reply itself, which is read as its verdict."""

    def ask(self, question: protocol.Question) -> client.Finding:
        """What the judge of this pack makes of such an answer."""
        question.messages()
        try:
            return client.Finding(protocol.read(question.reply))
        except protocol.NoVerdict as error:
            return client.Finding(None, str(error))


def _judged(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    own = client.shared
    client.shared = CredulousJudge  # type: ignore[assignment]
    try:
        return slake_llm_recall.process_results(doc, results)
    finally:
        client.shared = own


@dataclass(frozen=True)
class Scorer:
    """A hook, the subsets that it scores, and the filter before it in a run."""

    hook: Hook
    subsets: tuple[Any, ...]
    filter: type = EveryReply

    def docs(self) -> list[Doc]:
        """Some documents of each subset."""
        return [doc for subset in self.subsets for doc in list(subset(None).remove_columns(_pictures(subset)))[:6]]


def _pictures(subset: Any) -> list[str]:
    # lmms-eval hands documents to process_results without them.
    return ["image"] if subset.benchmark == "vlms_are_biased" else []


SLAKE = (slake.en_open, slake.en_closed, slake.zh_open, slake.zh_closed)
VLMS = (vlms_are_biased.main, vlms_are_biased.identification, vlms_are_biased.original)
SCORERS = {
    "slake": Scorer(slake.process_results, SLAKE),
    "medxpertqa": Scorer(medxpertqa.process_results, (medxpertqa.text, medxpertqa.mm)),
    "vlms_are_biased": Scorer(vlms_are_biased.process_results, VLMS),
    "slake_llm_recall": Scorer(_judged, SLAKE),
    "medxpertqa_official": Scorer(medxpertqa_official.process_results, (medxpertqa.text, medxpertqa.mm), EveryTurn),
    "vlms_are_biased_doublecheck": Scorer(paper_prompts.process_results, (vlms_are_biased.main,), EveryTurn),
}


# --- the replies ----------------------------------------------------------------------------------------------------

OPENING, CLOSING = "([{<（【「《◁", ")]}>）】」》▷"
PIECES = (
    "<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<answer>", "</answer>", "<final_answer>",
    "<|channel|>final<|message|>", "<|channel|>", "<|im_end|>", "<|im_start|>assistant\n", "<s>", "</s>", "[INST]",
    "ANSWER:", "ANSWER: ", "answer is ", "Answer: [LETTER]", "答案：", "答案是", "最终答案", "\\boxed{", "\\text{", "$",
    "\\(", "{", "}", "{4}", "{Yes}", "(A)", "[B]", "C", "D.", "A, B", " and ", " or ", "不", "没有", "是", "yes", "no",
    "4", "3,000", "1/2", "1e9", "-7", "²", "½", "Ⅳ", "四", "二十", "twenty-three", "half a dozen", "CT", "x-ray",
    "left lung", "左肺", "both", "\nUser:", "\nQuestion:", "Therefore, among A through E, the answer is", "I choose ",
    "cannot", "not", "wait", "actually", '{"answer": "', '"verdict": "A"}', '{"reason": "', '"', "'", "`", "```json\n",
    "**", "__", "~~", "*", "_", "<b>", "</b>", "&", ";", ":", ".", ",", "\n", "\n\n", "\r\n", " ", "\t", "\0", "\x1b[0m",
    "[LMMS_EVAL_REQUEST_FAILED", "İ", "ß", "ſ", "ﬁ", "Ａ", "𝐀", "\u200b", "\u202e", "\ufeff", "\ud800", "\udfff",
    "e\u0301", "👩‍⚕️", "١٢", "個", "个",
)  # fmt: skip
CONTROLS = [chr(code) for code in (*range(32), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x200B, 0x202E, 0xFEFF, 0xFFFE)]
RUNS = (*PIECES, *OPENING, *CLOSING, *"aA0９一\\/|-+#=^", "a ", "1,", "1.", "a.", "(a", "{a}", "\n- ", "十", "ā")


def written() -> list[str]:
    """The replies of the golden tables, to be cut and joined."""
    texts = (file.read_text("utf-8") for file in sorted(GOLDEN.glob("*.jsonl")))
    rows = (json.loads(line) for text in texts for line in text.split("\n") if line)
    return [row["reply"] for row in rows if isinstance(row.get("reply"), str)]


def _any_text(rng: random.Random) -> str:
    top = rng.choice((0x80, 0x250, 0x3000, 0x10000, 0x110000))  # lone surrogates are among them
    return "".join(map(chr, (rng.randrange(top) for _ in range(rng.randrange(60)))))


def _controls(rng: random.Random) -> str:
    return "".join(rng.choices(CONTROLS, k=rng.randrange(30))) + rng.choice(PIECES) + rng.choice(CONTROLS)


def _brackets(rng: random.Random) -> str:
    return "".join(rng.choices(OPENING + CLOSING + "A4 \n", k=rng.randrange(200)))


def _run(rng: random.Random) -> str:
    return rng.choice(RUNS) * rng.choice((3, 30, 300)) + rng.choice(PIECES)


def _nested(rng: random.Random) -> str:
    kind, depth = rng.randrange(len(OPENING)), rng.choice((2, 40, 400))
    return OPENING[kind] * depth + rng.choice(PIECES) + CLOSING[kind] * (depth - rng.randrange(2))


def _pieces(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randrange(1, 25)))


def _broken(rng: random.Random) -> str:
    one, other = rng.choice(WRITTEN), rng.choice(WRITTEN)
    cut = one[: rng.randrange(len(one) + 1)] + rng.choice(PIECES) + other[rng.randrange(len(other) + 1) :]
    at = rng.randrange(len(cut) + 1)
    return cut[:at] + rng.choice((*PIECES, chr(rng.randrange(0x110000)))) + cut[at:]


def _no_text(rng: random.Random) -> Any:
    return rng.choice(NO_TEXTS)


class Unprintable:
    """What has no text at all."""

    def __str__(self) -> str:
        raise RuntimeError("this object has no text")


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    return deep


NO_TEXTS: tuple[Any, ...] = (
    None, True, 0, -1, 4.0, float("nan"), float("inf"), 10**5000, 1j, b"ANSWER: A", bytearray(b"\xff"), {}, {"A": 1},
    set(), range(9), object(), Unprintable, Unprintable(), _deep(), [None], [10**5000], [["a"], "b"], ("a", None),
    Outcome.CORRECT, ValueError("no"), lambda: 4,
)  # fmt: skip
WRITTEN = written()
MAKERS = (_any_text, _controls, _brackets, _run, _nested, _pieces, _pieces, _broken, _broken, _broken, _no_text)


def reply(rng: random.Random) -> Any:
    """One hostile reply."""
    return rng.choice(MAKERS)(rng)


def long_replies(length: int, runs: Sequence[str] = RUNS) -> Iterator[str]:
    """So many characters of one kind, alone and behind a beginning that has the readers look at them."""
    for run in runs:
        yield run * (length // len(run))
    for beginning in ("ANSWER: ", "{", "<think>", "\\boxed{", '{"answer": "', "The answer is "):
        yield beginning + "a" * length


# --- the run --------------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A reply took longer than `LIMIT`."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` where the block takes longer, as far as the system has timers."""

    def ring(*_: object) -> None:
        raise TooSlow

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Tally:
    """What became of the replies to one scorer."""

    scorer: str
    count: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    right: int = 0
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0

    def line(self) -> str:
        """The counts, and below them the first faults."""
        outcomes = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.most_common())
        head = (
            f"{self.scorer:27} {self.count:>9,} replies  {len(self.faults):,} faults  (official: {self.right:,} right; "
            f"flexible: {outcomes}; slowest {1000 * self.slowest:.0f} ms, {self.seconds:.0f} s)"
        )
        return "\n".join((head, *(f"    {fault}" for fault in self.faults[:5])))


def scored(scorer: Scorer, doc: Doc, replies: list[Any], *, bare: bool) -> Mapping[str, Any]:
    """The record of a document with these replies, as a sample log keeps it; `bare` leaves out the filter of a run."""
    if bare:
        record: Mapping[str, Any] = scorer.hook(doc, replies)["acc"]
    else:
        (passed,) = scorer.filter().apply([replies], None)
        items = scorer.hook(doc, [passed])
        json.dumps({**items, "resps": replies, "filtered_resps": passed}, ensure_ascii=False, default=str).encode(
            "utf-8"
        )
        record = items["acc"]
    assert record["score"] in (0.0, 1.0), record
    Outcome(record["outcome"])
    return record


def torture(scorer: str, replies: Iterator[Any], rng: random.Random) -> Tally:
    """Hands all replies to a scorer, each with a document of the sample."""
    chosen = SCORERS[scorer]
    docs = chosen.docs()
    tally = Tally(scorer)
    begin = time.perf_counter()
    for said in replies:
        turns = said if chosen.filter is EveryReply else rng.choice(([said, said], [said, "{4}"], (said,), said, []))
        started = time.perf_counter()
        try:
            with time_limit(LIMIT * (1 + len(said) / 1e6) if isinstance(said, str) else LIMIT):
                record = scored(chosen, rng.choice(docs), [turns], bare=rng.random() < 0.5)
            tally.outcomes[record["outcome"]] += 1
            tally.right += record["score"] == 1.0
        except TooSlow:  # ours alone: no handler of the code under test takes it
            tally.faults.append(f"no end in time: {shown(said)}")
        except Exception as error:
            tally.faults.append(f"{type(error).__name__}: {ascii(error)[:200]}: {shown(said)}")
        tally.slowest = max(tally.slowest, time.perf_counter() - started)
        tally.count += 1
    tally.seconds = time.perf_counter() - begin
    return tally


def shown(said: Any) -> str:
    """A reply in one line, as far as it can be shown."""
    if isinstance(said, str):
        return f"{said[:120]!a}{f' … ({len(said):,} characters)' if len(said) > 120 else ''}"
    return f"a {type(said).__name__}"


def main(count: int, seed: int, length: int, scorers: Sequence[str]) -> int:
    """Prints a line of counts for each scorer; 1 where a reply raised, took too long or left no proper items."""
    os.environ["LMMS_TASKS_DATA"] = "sample"
    os.environ.setdefault("MODEL_VERSION", "nobody is asked")
    os.environ.setdefault("OPENAI_API_URL", "http://127.0.0.1:9/v1")
    faults = 0
    for name in scorers:
        rng = random.Random(f"{name} {seed}")
        tallies = [torture(name, (reply(rng) for _ in range(count)), rng)]
        if length:
            tallies.append(torture(name, long_replies(length), rng))
            tallies[-1].scorer += f", {length / 1e6:g} MB"
        for tally in tallies:
            faults += len(tally.faults)
            print(tally.line(), flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python tests/torture.py", description=main.__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="replies a scorer (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the replies (default: %(default)s)")
    parser.add_argument("--length", type=int, default=0, help="also replies of so many characters of one kind")
    parser.add_argument("scorers", nargs="*", default=list(SCORERS), metavar="scorer", help=", ".join(SCORERS))
    chosen = parser.parse_args()
    if unknown := set(chosen.scorers) - set(SCORERS):
        parser.error(f"unknown scorer {', '.join(sorted(unknown))}: choose from {', '.join(SCORERS)}")
    sys.exit(main(chosen.count, chosen.seed, chosen.length, chosen.scorers))
