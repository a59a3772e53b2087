"""Tasks of two turns: what lmms-eval is told to say in each, and how the replies of both come back.

In lmms-eval a task of the output type `generate_until_multi_round` answers `doc_to_messages` (for chat models) or
`doc_to_text` (for simple models) once more for every later turn, with what the model has said so far. Which back ends
hold such a conversation, and how, stands in `lmms_tasks.models.conversation`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_scoring.reply import to_text
from lmms_tasks.repeats import log_can_hold, with_repeats
from lmms_tasks.subsets import Subset

if TYPE_CHECKING:
    from datasets import Dataset

TURNS = 2
Message = dict[str, Any]
Hook = Callable[[Any, Sequence[Any]], dict[str, Any]]


class ConversationSubset(Subset):
    """The rows of a task of two turns. Loading them prepares lmms-eval's evaluation for conversations."""

    def __call__(self, placeholder: Any) -> Dataset:
        """The rows, as `Subset` gives them."""
        from lmms_tasks.models import conversation

        conversation.prepare()
        return super().__call__(placeholder)


def said(role: str, text: str) -> Message:
    """A message of one text."""
    return {"role": role, "content": [{"type": "text", "text": text}]}


def for_chat(
    first: Callable[[Any], list[Message]], second: Callable[[Any], str]
) -> Callable[..., list[Message] | tuple[list[Message] | None, bool, list[str], Any]]:
    """A `doc_to_messages`: the first turn's messages, and in the second the whole conversation, `second` at its end.

    Called without `round_idx` it returns messages; with it, lmms-eval's tuple (messages, whether the conversation is
    over, what was said, None).
    """

    def doc_to_messages(
        doc: Mapping[str, Any],
        round_idx: int | None = None,
        previous_output: Sequence[str] | None = None,
        previous_round_info: Any = None,
    ) -> Any:
        heard = list(previous_output or ())
        if not round_idx:
            return first(doc) if round_idx is None else (first(doc), False, heard, None)
        if round_idx >= TURNS:
            return None, True, heard, None
        return [*first(doc), said("assistant", heard[0]), said("user", second(doc))], False, heard, None

    doc_to_messages.turns = TURNS  # type: ignore[attr-defined]
    return doc_to_messages


def for_simple(
    first: Callable[[Any], str],
    second: Callable[[Any], str],
    visual: Callable[[Any], Any],
    join: Callable[[str, str, str], str],
) -> Callable[..., str | tuple[Any, str | None, bool, list[str], Any]]:
    """A `doc_to_text`: the first turn's text, and in the second one prompt that holds both turns, an approximation.

    `join` makes that prompt from the first turn's text, the reply to it, and the second turn's text. Called without
    `round_idx` it returns a text; with it, lmms-eval's tuple (visuals, text, whether the conversation is over, what was
    said, None).
    """

    def doc_to_text(
        doc: Mapping[str, Any],
        lmms_eval_specific_kwargs: Any = None,
        round_idx: int | None = None,
        previous_output: Sequence[str] | None = None,
        previous_round_info: Any = None,
    ) -> Any:
        heard = list(previous_output or ())
        if round_idx is None:
            return first(doc)
        if round_idx >= TURNS:
            return None, None, True, heard, None
        text = join(first(doc), heard[0], second(doc)) if round_idx else first(doc)
        return visual(doc), text, False, heard, None

    doc_to_text.turns = TURNS  # type: ignore[attr-defined]
    return doc_to_text


class EveryTurn:
    """A filter for lmms-eval that passes on all turns of all repeats, one after the other in one list.

    A back end that answered with one text alone has said nothing in the turns before. The list is flat because
    lmms-eval takes the reasoning (`--reasoning_tags`) out of the texts of a list and not out of lists in it.
    """

    def apply(self, resps: Iterable[Sequence[Any]], docs: Any) -> list[list[str]]:
        """For each request, the turns of its repeats."""
        return [[turn for reply in log_can_hold(replies) for turn in turns_of(reply)] for replies in resps]


def turns_of(reply: Any) -> list[str]:
    """The two turns of one reply, as texts."""
    given = list(reply) if isinstance(reply, (list, tuple)) else [reply]
    texts = [turn if isinstance(turn, str) else to_text(turn) for turn in given]
    return ([""] * TURNS + texts)[-TURNS:]


def scoring(score: Hook) -> Hook:
    """A `process_results` from a hook that scores the first of several conversations, each a list of its turns."""
    score_all = with_repeats(score)

    @functools.wraps(score)
    def process_results(doc: Any, results: Sequence[Any]) -> dict[str, Any]:
        given = results[0] if results else ""
        whole = isinstance(given, (list, tuple)) and given and len(given) % TURNS == 0
        turns = given if whole else turns_of(given)
        return score_all(doc, [list(turns[start : start + TURNS]) for start in range(0, len(turns), TURNS)])

    return process_results
