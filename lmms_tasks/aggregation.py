"""Aggregations over the items that `process_results` returns: one item a document, None where a metric leaves it out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Item = Mapping[str, Any] | None


class Mean(float):
    """A mean that knows of how many rows it is one: a group weighs it by those and not by all rows of the task."""

    rows: int


def mean(items: Iterable[Item]) -> Mean | None:
    """The mean of the items' scores; None, not 0.0, where no item has a score.

    An item is `{"score": float, "cluster": str, …}`: lmms-eval finds the score and the cluster in it for the clustered
    standard error. Items that are None are outside the metric's slice.
    """
    return _mean([(item["score"], 1) for item in items if item is not None])


def topic_mean(items: Iterable[Item]) -> float | None:
    """The unweighted mean of the topics' means; None where no item has a value.

    An item is `{"topic": str, "value": float}`. It has no "score", so that lmms-eval prints no standard error beside it:
    that of the sample mean would be another quantity's.
    """
    topics: dict[str, list[float]] = {}
    for item in items:
        if item is not None:
            topics.setdefault(item["topic"], []).append(item["value"])
    means = [math.fsum(values) / len(values) for values in topics.values()]
    return math.fsum(means) / len(means) if means else None


def weighted_mean(metrics: Sequence[float | None], sizes: Sequence[int], weight_by_size: bool = True) -> Mean | None:
    """The mean over the rows of several subtasks, from their means; None where no subtask has a value.

    `sizes` are the rows of the subtasks; a `Mean` counts for its own, which are fewer for a slice. lmms-eval's `mean`
    would weigh a slice by all rows, and ends the run, after all generation, where a subtask has no value.
    """
    pairs = [(value, size) for value, size in zip(metrics, sizes, strict=True) if value is not None]
    if not weight_by_size:
        return _mean([(value, 1) for value, _ in pairs])
    return _mean([(value, value.rows if isinstance(value, Mean) else size) for value, size in pairs])


def _mean(weighted: Sequence[tuple[float, int]]) -> Mean | None:
    rows = sum(weight for _, weight in weighted)
    if not rows:
        return None
    # fsum, since the items of a run of several processes come in another order, and must give the same mean.
    found = Mean(math.fsum(value * weight for value, weight in weighted) / rows)
    found.rows = rows
    return found
