"""Aggregations over the items of `process_results`."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_tasks import aggregation

SCORES = st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0])), max_size=50)


def items(scores: list[float | None]) -> list[dict[str, float] | None]:
    return [None if score is None else {"score": score} for score in scores]


@given(SCORES)
def test_the_mean_is_the_naive_one_in_any_order_and_none_of_nothing(scores: list[float | None]) -> None:
    there = [score for score in scores if score is not None]
    expected = sum(there) / len(there) if there else None
    shuffled = random.Random(0).sample(scores, len(scores))
    assert aggregation.mean(items(scores)) == aggregation.mean(items(shuffled)) == expected


def test_the_topic_mean_weighs_topics_and_not_rows() -> None:
    rows = [{"topic": "Animals", "value": 1.0}] + [{"topic": "Logos", "value": 0.0}] * 9 + [None]
    assert aggregation.topic_mean(rows) == 0.5
    assert aggregation.topic_mean([None]) is None


def test_a_subtask_without_a_value_weighs_nothing() -> None:
    assert aggregation.weighted_mean([1.0, 0.0, None], [30, 10, 1000]) == 0.75
    assert aggregation.weighted_mean([1.0, 0.0], [30, 10], weight_by_size=False) == 0.5
    assert aggregation.weighted_mean([None], [5]) is None
    with pytest.raises(ValueError, match="longer"):
        aggregation.weighted_mean([1.0], [1, 2])


def test_a_slice_weighs_by_its_own_rows() -> None:
    small, large = aggregation.mean(items([1.0, 1.0, None])), aggregation.mean(items([0.0] * 6))
    assert aggregation.weighted_mean([small, large, None], [3, 6, 1000]) == 0.25
    assert aggregation.weighted_mean([None], [1000]) is None
    assert json.dumps(small) == "1.0"
