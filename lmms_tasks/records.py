"""What `process_results` returns for a document: one item a metric, and under `acc` the record that analyses need later.

lmms-eval's sample log keeps these items and nothing else of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_scoring.outcomes import Score


def reply_of(results: Sequence[Any]) -> Any:
    """The reply to score: the first of several, since lmms-eval averages repeats itself (its column EA)."""
    return results[0] if results else None


def item(value: float, cluster: str) -> dict[str, Any]:
    """A scored item, as lmms-eval's clustered standard error and `lmms_tasks.aggregation.mean` read it."""
    return {"score": value, "cluster": cluster}


def items(score: Score, *, row: object, reference: object, cluster: str, slices: dict[str, Any]) -> dict[str, Any]:
    """The items of the metrics that every benchmark has.

    `row` is the dataset's own id of the document, `cluster` names what the document shares with others that are not
    independent of it, and `slices` are the columns by which a report may break the scores down.
    """
    # Written out: a call of `item` for each costs as much as a short reply's reading.
    return {
        "acc": {
            "score": score.acc,
            "cluster": cluster,
            "row": str(row),
            "reference": str(reference),
            "official": score.official,
            "outcome": score.outcome.value,
            "read": score.reading.value,
            "how": score.reading.how,
            "format_ok": score.format_ok,
            "slices": slices,
        },
        "acc_flexible": {"score": score.acc_flexible, "cluster": cluster},
        "format_ok": {"score": float(score.format_ok), "cluster": cluster},
        "unreadable": {"score": score.unreadable, "cluster": cluster},
    }
