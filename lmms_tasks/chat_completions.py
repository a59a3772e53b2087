"""What an OpenAI-compatible server answers, and when it is worth asking again: for the judge and for `openai_files`."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""HTTP statuses after which the same request may succeed."""

LONGEST_WAIT = 60.0
"""Seconds that are waited at most between two attempts."""

#: Models that take `max_completion_tokens` and no temperature but their own.
REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-5)")


def text(message: Mapping[str, Any]) -> str:
    """What the assistant said; "" where that is nothing."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def count(usage: object, name: str) -> int:
    """A number of tokens; 0 where the server tells none."""
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and found > 0 else 0


def wait(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number of them, or a date; None where it says nothing."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
