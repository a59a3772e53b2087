"""lmms-eval's totals of tokens, counted on instead of anew.

lmms-eval's clients of servers show the tokens so far after each reply, and add up the records of all earlier ones for it:
with 100,000 requests that is five thousand million additions, three times. Here only what was added since is added.
"""

from __future__ import annotations

import functools
from typing import Any

_KINDS = ("input_tokens", "output_tokens", "reasoning_tokens")


def count_on(usage: Any) -> None:
    """Changes `get_running_totals` of lmms-eval's module `usage_metrics` so; once, and only where it is as known."""
    original = getattr(usage, "get_running_totals", None)
    known = isinstance(getattr(usage, "_USAGE_HISTORY", None), list) and hasattr(usage, "_USAGE_LOCK")
    if original is None or not known or hasattr(original, "lmms_tasks"):
        return
    sums = dict.fromkeys(_KINDS, 0)
    counted = 0
    last: Any = None

    @functools.wraps(original)
    def get_running_totals() -> dict[str, Any]:
        nonlocal counted, last
        with usage._USAGE_LOCK:
            history = usage._USAGE_HISTORY
            if counted and (len(history) < counted or history[counted - 1] is not last):  # another run has begun
                sums.update(dict.fromkeys(_KINDS, 0))
                counted = 0
            for record in history[counted:]:
                for kind in _KINDS:
                    sums[kind] += record[kind]
            counted, last = len(history), history[-1] if history else None
            return {**sums, "total_tokens": sum(sums.values()), "n_api_calls": counted}

    get_running_totals.lmms_tasks = True  # type: ignore[attr-defined]
    usage.get_running_totals = get_running_totals
