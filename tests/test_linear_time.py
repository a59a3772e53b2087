"""No regular expression and no reader takes more than linear time, whatever the text."""

from __future__ import annotations

import functools
import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import patterns
from torture import TooSlow, time_limit

SIZE = 10_000
LIMIT = 60.0
found_patterns = functools.cache(patterns.collected)
all_units = functools.cache(patterns.all_units)


def test_the_patterns_of_all_parts_are_found() -> None:
    for part in ("reply.", "choices.", "numbers.", "slake", "vlms_are_biased.", "judge.protocol.", "lmms_data."):
        assert any(part in name for name in found_patterns()), part
    assert len(found_patterns()) > 150


@pytest.mark.parametrize("part", range(8))
def test_every_pattern_takes_linear_time_over_texts_made_against_it(part: int) -> None:
    for name, pattern in list(found_patterns().items())[part::8]:
        if not name.startswith(tuple(patterns.TRUSTED)):
            with time_limit(LIMIT):
                found, text = patterns.slowest(name, pattern, SIZE)
            assert found <= patterns.LINEAR, (
                f"{name} takes {found:.0f} times as long over {text} as over a quarter of it"
            )


@pytest.mark.parametrize("reader", patterns.READERS)
def test_every_reader_takes_linear_time_over_texts_made_against_its_patterns(reader: str) -> None:
    for unit in random.Random(reader).sample(all_units(), 60):
        with time_limit(LIMIT):
            found = patterns.growth(patterns.READERS[reader], unit, 2 * SIZE, quick=1e-6)
        assert found <= patterns.LINEAR, f"{reader} takes {found:.0f} times as long over {unit!a}, four times as often"


@pytest.mark.parametrize("slow", [r"\s+$", r"a*a*b", r"<.*>", r"(?:\w+\s)*of", r"answer\s*\W*:", r"x(?:\d+,?)+;"])
def test_a_pattern_that_backtracks_is_noticed(slow: str) -> None:
    try:
        with time_limit(1.5):
            found, _ = patterns.slowest("slow", re.compile(slow), SIZE)
    except TooSlow:
        return
    assert found > patterns.LINEAR


def test_a_pattern_that_never_ends_is_noticed() -> None:
    with pytest.raises(TooSlow), time_limit(0.5):
        patterns.slowest("slow", re.compile("(a+)+$"), SIZE)


def test_a_reader_that_is_quadratic_is_noticed() -> None:
    def work(text: str) -> int:
        return sum(text.find("never", at) for at in range(len(text)))

    assert patterns.growth(work, "ab", SIZE) > patterns.LINEAR
