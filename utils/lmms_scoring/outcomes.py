"""The outcome of one reply, of which every accuracy and share is a view."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Outcome(str, Enum):
    """What a careful grader finds in a reply; exactly one holds for every reply."""

    CORRECT = "correct"
    BIASED = "biased"
    OTHER = "other"
    UNREADABLE = "unreadable"


class Reading(NamedTuple):
    """The answer a reply states, and the rule that found it.

    `value` is None where the reply states no answer; `how` then names the reason ("empty", "two answers", …).
    """

    value: str | None
    how: str


class Score(NamedTuple):
    """Both readings of one reply.

    `acc` (0.0 or 1.0) and `bias` (0.0, 1.0, or None where the row has no expected bias) follow the official rules to the
    letter, and `official` is the answer that they read. `outcome` and `reading` belong to the flexible reading.
    `format_ok` says whether the reply has the form that the prompt asked for.
    """

    acc: float
    official: str | None
    outcome: Outcome
    reading: Reading
    format_ok: bool
    bias: float | None = None

    @property
    def acc_flexible(self) -> float:
        """1.0 where a careful grader marks the reply right, else 0.0."""
        return float(self.outcome is Outcome.CORRECT)

    @property
    def bias_flexible(self) -> float:
        """1.0 where a careful grader finds the expected bias in the reply, else 0.0."""
        return float(self.outcome is Outcome.BIASED)

    @property
    def unreadable(self) -> float:
        """1.0 where the reply states no answer, else 0.0."""
        return float(self.outcome is Outcome.UNREADABLE)
