"""Aggregations over the items that `process_results` returns: one item a document, None where a metric leaves it out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Item = Mapping[str, Any] | None


def mean(items: Iterable[Item]) -> float | None:
    """The mean of the items' scores; None, not 0.0, where no item has a score.

    An item is `{"score": float, "cluster": str, …}`: lmms-eval finds the score and the cluster in it for the clustered
    standard error. Items that are None are outside the metric's slice.
    """
    scores = [item["score"] for item in items if item is not None]
    return sum(scores) / len(scores) if scores else None


def topic_mean(items: Iterable[Item]) -> float | None:
    """The unweighted mean of the topics' means; None where no item has a value.

    An item is `{"topic": str, "value": float}`. It has no "score", so that lmms-eval prints no standard error beside it:
    that of the sample mean would be another quantity's.
    """
    topics: dict[str, list[float]] = {}
    for item in items:
        if item is not None:
            topics.setdefault(item["topic"], []).append(item["value"])
    means = [sum(values) / len(values) for values in topics.values()]
    return sum(means) / len(means) if means else None


def weighted_mean(metrics: Sequence[float | None], sizes: Sequence[int], weight_by_size: bool = True) -> float | None:
    """The mean of subtasks' values, weighted by their rows; None where no subtask has a value.

    lmms-eval's own `mean` ends the run, after all generation, where a subtask has no value.
    """
    weighted = [
        (value, size if weight_by_size else 1) for value, size in zip(metrics, sizes, strict=True) if value is not None
    ]
    total = sum(size for _, size in weighted)
    return sum(value * size for value, size in weighted) / total if total else None
