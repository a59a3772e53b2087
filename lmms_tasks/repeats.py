"""`--repeats`: every reply to a document is scored, and lmms-eval's stability columns (EA, CA, IV, CR) are filled.

lmms-eval 0.7.2 and 0.7.3 pass on the first of several replies and fill the columns only for tasks that make one request
a repeat, which its own generation tasks do not. The filter passes all replies on, `with_repeats` scores each, and the
plugin hands the scores to lmms-eval's own statistics.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lmms_scoring.reply import request_failed, to_text
from lmms_tasks.log import warn


class EveryReply:
    """A filter for lmms-eval that lets every repeat through; a single reply is passed on by itself.

    What is no text (a back end's None, a number, a structure) becomes text here, since lmms-eval's next step would raise,
    and what no file can hold is replaced: lmms-eval would give up a task's sample log at the first such reply.
    """

    def apply(self, resps: Iterable[Sequence[Any]], docs: Any) -> list[Any]:
        """For each request its reply, or the list of its repeats."""
        texts = [[_text(reply) for reply in log_can_hold(replies)] for replies in resps]
        failed = sum(request_failed(_last(reply)) for replies in texts for reply in replies)
        if failed:
            warn(
                f"lmms-tasks: {failed} of {sum(map(len, texts))} requests failed and have lmms-eval's note of it in place of "
                "a reply. They score 0 and count as unreadable. Run them again before you report anything: with the same "
                "--use_cache, only these are asked."
            )
        return [replies[0] if len(replies) == 1 else replies for replies in texts]


def _text(reply: Any) -> Any:
    if reply is None:
        return ""
    if isinstance(reply, (list, tuple)):  # the turns of a conversation
        return [turn if isinstance(turn, str) else to_text(turn) for turn in reply]
    return reply if isinstance(reply, str) else to_text(reply)


_SURROGATES = re.compile("[\ud800-\udfff]")


def writable(value: Any) -> Any:
    """The reply as text, turns of a conversation as texts, None as it is.

    What no file in UTF-8 can hold, one half of a surrogate pair, becomes U+FFFD, which no rule reads either: a model's
    tokens may split a character, and servers pass on the halves.
    """
    if isinstance(value, (list, tuple)):
        return [_writable(turn) for turn in value]
    return _writable(value)


def _writable(text: Any) -> Any:
    if isinstance(text, str):
        return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
    return None if text is None else to_text(text)


def log_can_hold(replies: Sequence[Any]) -> Sequence[Any]:
    """The replies in writable form, put in the place of those that were not: lmms-eval logs the list that it gave us."""
    if isinstance(replies, list):
        replies[:] = map(writable, replies)
    return replies


def _last(reply: Any) -> Any:
    return reply[-1] if isinstance(reply, list) and reply else reply


Hook = Callable[[Any, Sequence[Any]], dict[str, Any]]


def with_repeats(score_first: Hook) -> Hook:
    """The hook, which scores the first of `results`, so that its items also hold the scores of all repeats."""

    @functools.wraps(score_first)
    def process_results(doc: Any, results: Sequence[Any]) -> dict[str, Any]:
        items = score_first(doc, results)
        if results and request_failed(_last(results[0])):
            items["acc"]["how"] = "request failed"
        if len(results) > 1:
            others = [score_first(doc, [reply]) for reply in results[1:]]
            for metric, item in items.items():
                if item is not None and "score" in item:
                    item["repeats"] = [item["score"], *(other[metric]["score"] for other in others)]
        return items

    return process_results


def fill_stability_columns(task_output_class: Any) -> None:
    """Makes lmms-eval's `TaskOutput` find the scores of repeats in our items; once, and harmless for other tasks."""
    original = task_output_class.calculate_stability_metrics
    if getattr(original, "reads_our_repeats", False):
        return

    @functools.wraps(original)
    def calculate_stability_metrics(output: Any) -> None:
        for key, items in output.sample_metrics.items():
            repeats = [item["repeats"] for item in items if isinstance(item, dict) and "repeats" in item]
            if repeats and not output.per_sample_metrics.get(key):
                output.per_sample_metrics[key] = repeats
        original(output)

    calculate_stability_metrics.reads_our_repeats = True  # type: ignore[attr-defined]
    task_output_class.calculate_stability_metrics = calculate_stability_metrics
