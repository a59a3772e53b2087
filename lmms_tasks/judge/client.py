"""Asking the judge: calls with retries and limits, cached answers, and the count of it all.

lmms-eval's own `llm_judge` is not used: its providers retry every error alike after ten seconds, have no limit on the
calls or on the time of one, ignore Retry-After, log nothing that could be summed up, and fix their URL when built. Its
names for the settings are kept, and its knowledge of which models take no temperature.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_tasks import chat_completions, log
from lmms_tasks.judge import cache, protocol
from lmms_tasks.judge.protocol import NoVerdict, Question, Verdict
from lmms_tasks.judge.settings import PREFIX, JudgeError, Settings, settings

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Finding:
    """What asking the judge came to: a verdict, or the reason why there is none."""

    verdict: Verdict | None
    failure: str = ""

    def record(self) -> dict[str, str]:
        """For the sample log."""
        if self.verdict is None:
            return {"failure": self.failure}
        return {"verdict": self.verdict.letter, "reason": self.verdict.reason}


@dataclass
class Counts:
    """What a judge was asked for, and what it cost."""

    questions: int = 0
    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """All of it in one line."""
        return (
            f"{self.questions} questions, {self.calls} calls, {self.cached} cache hits, {self.failed} failures, "
            f"{self.tokens_in} + {self.tokens_out} tokens, {self.seconds:.1f} s of calls"
        )


class _Failed(Exception):  # noqa: N818
    """A call brought no answer. `again`: another may. `wait`: the seconds that the server wants to rest."""

    def __init__(self, reason: str, again: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.again = again
        self.wait = wait


_LONGEST_BODY = 4_000_000
#: So many questions in a row without any answer, each with all its repetitions, and the judge is taken for gone.
GIVE_UP_AFTER = 20


class Judge:
    """Answers questions, from the cache where it can. For any number of threads; one object a process.

    `ask` never raises and never keeps a run from its end. The connection is opened with the first call.
    """

    def __init__(
        self, chosen: Settings, log: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings = chosen
        self.counts = Counts()
        self._log = log
        self._sleep = sleep
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(chosen.concurrency) if chosen.concurrency else contextlib.nullcontext()
        self._unanswered = 0
        self._told: set[str] = set()
        self._http: httpx.Client | None = None
        try:
            self._cache = cache.Cache(chosen.folder)
        except OSError as error:
            raise JudgeError(
                f"the judge's answers cannot be kept in {chosen.folder} ({error}), so that a second run would pay for "
                f"them again: set {cache.FOLDER} to a folder that you may write"
            ) from error

    def ask(self, question: Question) -> Finding:
        """The judge's verdict, or why it could not be had."""
        with self._lock:
            self.counts.questions += 1
        try:
            return Finding(protocol.read(self._answer(question), question.reply))
        except (_Failed, NoVerdict) as error:
            reason = str(error)
        except Exception as error:  # a fault of ours must not cost the run its end either
            reason = f"{type(error).__name__}: {error}"[:200]
        with self._lock:
            self.counts.failed += 1
        self._tell(f"no verdict ({reason}); the rule's score stands and the row is counted in judge_failed")
        return Finding(None, reason)

    def _answer(self, question: Question) -> str:
        name = cache.key(
            self.settings.model, protocol.PROMPT_VERSION, question.question, question.reference, question.reply
        )
        with self._cache.asking(name):
            known = self._known(name, question)
            if known is not None:
                with self._lock:
                    self.counts.cached += 1
                return known
            answer, usage = self._call_until_answered(question)
            entry = {
                "judge": self.settings.model,
                "prompt": protocol.PROMPT_VERSION,
                "max_tokens": self.settings.max_tokens,
                "answer": answer,
                "tokens": usage,
            }
            try:
                self._cache.put(name, entry)
            except OSError as error:
                self._tell(f"its answers cannot be kept in {self.settings.folder} ({error}): a second run pays again")
            return answer

    def _known(self, name: str, question: Question) -> str | None:
        entry = self._cache.get(name)
        answer = entry.get("answer") if entry else None
        if entry is None or not isinstance(answer, str):
            return None
        try:
            protocol.read(answer, question.reply)
        except NoVerdict:
            # Paid for all the same, and the same again at temperature 0 unless it may now be longer.
            longest = entry.get("max_tokens")
            return answer if isinstance(longest, int) and longest >= self.settings.max_tokens else None
        return answer

    def _call_until_answered(self, question: Question) -> tuple[str, list[int]]:
        for attempt in range(self.settings.retries + 1):
            self._may_call()
            try:
                with self._slots:
                    answer, usage = self._call(question)
            except _Failed as error:
                if not error.again or attempt == self.settings.retries:
                    with self._lock:
                        self._unanswered += 1
                    raise
                pause = self.settings.backoff * 2**attempt * random.uniform(0.75, 1.25)
                self._sleep(min(chat_completions.LONGEST_WAIT, pause if error.wait is None else error.wait))
            else:
                with self._lock:
                    self._unanswered = 0
                return answer, usage
        raise AssertionError("the last attempt returns or raises")

    def _may_call(self) -> None:
        with self._lock:
            if self._unanswered >= GIVE_UP_AFTER:
                raise _Failed("judge does not answer")
            if self.settings.max_calls is not None and self.counts.calls >= self.settings.max_calls:
                raise _Failed(f"{PREFIX}MAX_CALLS reached")
            self.counts.calls += 1

    def _call(self, question: Question) -> tuple[str, list[int]]:
        self._client()  # the import of its library is not the server's time
        begin = time.monotonic()
        try:
            status, headers, body = self._exchange(self._payload(question), begin + self.settings.timeout)
        finally:
            with self._lock:
                self.counts.seconds += time.monotonic() - begin
        if status != 200:
            raise _Failed(
                f"HTTP {status}", status in chat_completions.PASSING, chat_completions.wait(headers.get("retry-after"))
            )
        try:
            entry = json.loads(body)
            answer = chat_completions.text(entry["choices"][0]["message"])
        except (ValueError, LookupError, TypeError, RecursionError):
            # A proxy's page, or an error that was sent as a success.
            raise _Failed("no chat completion", again=True) from None
        usage = [chat_completions.count(entry.get("usage"), name) for name in ("prompt_tokens", "completion_tokens")]
        with self._lock:
            self.counts.tokens_in += usage[0]
            self.counts.tokens_out += usage[1]
        return answer, usage

    def _payload(self, question: Question) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self.settings.model, "messages": question.messages()}
        if chat_completions.REASONING.search(self.settings.model):
            return {**payload, "max_completion_tokens": self.settings.max_tokens}
        return {**payload, "max_tokens": self.settings.max_tokens, "temperature": 0}

    def _exchange(self, payload: dict[str, Any], deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        import httpx

        body = bytearray()
        try:
            with self._client().stream("POST", self.settings.url, json=payload) as response:
                # The client's own limit is on each piece of the answer: one that trickles would take for ever.
                for piece in response.iter_bytes():
                    body += piece
                    if time.monotonic() > deadline:
                        raise _Failed("time limit", again=True)
                    if len(body) > _LONGEST_BODY:
                        raise _Failed("answer too long")
                return response.status_code, response.headers, bytes(body)
        except httpx.TimeoutException:
            raise _Failed("time limit", again=True) from None
        except httpx.HTTPError as error:
            raise _Failed(type(error).__name__, again=isinstance(error, httpx.TransportError)) from None

    def _client(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._http is None:
                self._http = httpx.Client(
                    headers=dict(self.settings.headers),
                    timeout=self.settings.timeout,
                    limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
                )
            return self._http

    def _tell(self, what: str) -> None:
        with self._lock:
            known = what in self._told
            self._told.add(what)
        if not known:
            self._log(f"judge {self.settings.model} at {self.settings.server}: {what}")


@functools.cache
def _of_process(process: int) -> Judge:
    judge = Judge(settings(), log.warn)
    atexit.register(_summarise, judge)
    return judge


_building = threading.Lock()


def shared() -> Judge:
    """The judge that the environment sets up, one a process. Raises JudgeError where there is none."""
    with _building:
        return _of_process(os.getpid())


def _summarise(judge: Judge) -> None:
    if judge.counts.questions:
        rank = os.environ.get("RANK")
        log.info(f"judge {judge.settings.model}{f', rank {rank}' if rank else ''}: {judge.counts.line()}")
