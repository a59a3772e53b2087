"""Models that keep what they are asked and answer by a script, in the forms of lmms-eval's own back ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lmms_eval.api.model import lmms

Answer = Callable[[Any, int], str]
"""From what is asked in a turn (messages, or a text) and the number of the turn to the reply."""


def letter_c(asked: Any, turn: int) -> str:
    """A rationale, and then a letter."""
    return "One, {two} and\n\nthree." if turn == 0 else "(C)"


class _Scripted(lmms):
    def __init__(self, answer: Answer = letter_c) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[Any] = []

    def document(self, request: Any) -> Any:
        doc_id, task, split = request.args[-3:]
        return self.task_dict[task][split][doc_id]

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def generate_until(self, requests: Any) -> Any:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: Any) -> Any:
        raise NotImplementedError("TODO: Implement multi-round generation")

    def clean(self) -> None:
        """Nothing is held."""


class ChatConversing(_Scripted):
    """Holds conversations itself, in the way of lmms-eval's vllm."""

    is_simple = False

    def generate_until_multi_round(self, requests: Any) -> list[list[str]]:
        replies = []
        for request in requests:
            doc, doc_to_messages = self.document(request), request.args[1]
            said: list[str] = []
            messages, over = doc_to_messages(doc), False
            while not over:
                self.asked.append(messages)
                said.append(self.answer(messages, len(said)))
                messages, over, *_ = doc_to_messages(
                    doc, round_idx=len(said), previous_output=list(said), previous_round_info=None
                )
            replies.append(said)
        return replies


class SimpleConversing(_Scripted):
    """Holds conversations itself, in the way of lmms-eval's simple qwen2_5_vl."""

    is_simple = True

    def generate_until_multi_round(self, requests: Any) -> list[tuple[str, ...]]:
        replies = []
        for request in requests:
            text, _, doc_to_visual, doc_to_text, *_ = request.args
            doc = self.document(request)
            visual, over, said = doc_to_visual(doc), False, []
            while not over:
                self.asked.append((text, visual))
                said.append(self.answer(text, len(said)))
                visual, text, over, said, _ = doc_to_text(
                    doc, previous_output=said, round_idx=len(said), previous_round_info=None
                )
            replies.append(tuple(said))
        return replies


class ChatAlone(_Scripted):
    """Answers single turns, one document after the other."""

    is_simple = False

    def generate_until(self, requests: Any) -> list[str]:
        replies = []
        for request in requests:
            messages = request.args[1](self.document(request))
            self.asked.append(messages)
            replies.append(self.answer(messages, sum(message["role"] == "assistant" for message in messages)))
        return replies


class SimpleAlone(_Scripted):
    """Answers single texts."""

    is_simple = True

    def generate_until(self, requests: Any) -> list[str]:
        replies = []
        for request in requests:
            text, _, doc_to_visual, *_ = request.args
            self.asked.append((text, doc_to_visual(self.document(request))))
            replies.append(self.answer(text, 0))
        return replies


class ChatBatching(ChatAlone):
    """Asks the first request of a batch about the documents of all, as lmms-eval's qwen2_5_vl does."""

    batch = 3

    def generate_until_multi_round(self, requests: Any) -> Any:
        raise NotImplementedError("TODO: Implement multi-round generation")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        replies = []
        for start in range(0, len(requests), self.batch):
            _, doc_to_messages, settings, _, task, split = requests[start].args
            settings.pop("until", None)
            for request in requests[start : start + self.batch]:
                messages = doc_to_messages(self.task_dict[task][split][request.args[3]])
                self.asked.append(messages)
                replies.append(self.answer(messages, sum(message["role"] == "assistant" for message in messages)))
        return replies


# To lmms-tasks it is a back end of lmms-eval's own, without a method for conversations.
ChatBatching.__module__ = "lmms_eval.models.chat.qwen2_5_vl"
