"""Whatever a model says, every scorer scores it, in time that grows with its length and no faster."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torture

COUNT = 1_500
LENGTH = 50_000
RUNS = ("a", "ß", "A", "9", "٩", "一", "十", " ", "\n", "\0", "\ud800", *"*_~`$\\/|.,:;-<>()[]{}'\"【】（）◁")


@pytest.fixture(autouse=True)
def _sample_as_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_TASKS_DATA", "sample")
    monkeypatch.setenv("MODEL_VERSION", "no judge is asked in these tests")
    monkeypatch.setenv("OPENAI_API_URL", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("scorer", torture.SCORERS)
def test_no_hostile_reply_raises_hangs_or_spoils_the_log(scorer: str) -> None:
    rng = random.Random(scorer)
    tally = torture.torture(scorer, (torture.reply(rng) for _ in range(COUNT)), rng)
    assert not tally.faults, tally.line()
    assert sum(tally.outcomes.values()) == COUNT
    # Replies that nobody can read would pass as well: some must be answers, and some right.
    assert len(tally.outcomes) >= 3
    assert tally.right


@pytest.mark.parametrize("scorer", torture.SCORERS)
def test_fifty_thousand_times_one_character_is_scored(scorer: str) -> None:
    tally = torture.torture(scorer, torture.long_replies(LENGTH, RUNS), random.Random(scorer))
    assert not tally.faults, tally.line()


def _raises(doc: Any, results: Any) -> Any:
    raise KeyError(results)


def _never_ends(doc: Any, results: Any) -> Any:
    while True:
        pass


def _leaves_what_no_file_holds(doc: Any, results: Any) -> Any:
    return {"acc": {"score": 0.0, "outcome": "other", "official": "\ud800"}}


@pytest.mark.parametrize(
    ("hook", "fault"),
    [
        (_raises, "KeyError"),
        (_never_ends, "no end in time"),
        (_leaves_what_no_file_holds, "UnicodeEncodeError"),
        (lambda doc, results: {"acc": {"score": 0.0, "outcome": "good"}}, "ValueError"),
        (lambda doc, results: {"acc": {"score": None, "outcome": "other"}}, "AssertionError"),
    ],
)
def test_the_torture_notices_a_scorer_that_is_not_up_to_it(
    monkeypatch: pytest.MonkeyPatch, hook: torture.Hook, fault: str
) -> None:
    monkeypatch.setitem(torture.SCORERS, "faulty", torture.Scorer(hook, (torture.slake.en_open,)))
    monkeypatch.setattr(torture, "LIMIT", 0.2)
    tally = torture.torture("faulty", iter(["A", "{4}", "yes"]), random.Random(5))
    assert any(found.startswith(fault) for found in tally.faults), tally.line()
