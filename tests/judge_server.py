"""A judge on loopback: an OpenAI-compatible server that answers as a test wants, and remembers what it was asked.

with JudgeServer(says("A")) as server:           # every answer
    server.script = [status(429), says("B")]     # one after the other, the last for ever
    …
    assert len(server.requests) == 2
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

MODEL = "loopback-judge"


@dataclass
class Answer:
    """What goes over the wire: a chat completion with this text, unless status, body or cut say otherwise."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay: float = 0.0
    trickle: float = 0.0
    """Seconds between the bytes of the answer."""
    cut: int | None = None
    """So many bytes of the answer, then the connection ends."""


Behaviour = Callable[[dict[str, Any]], Answer]


def says(verdict: str, reason: str = "as the reference") -> Behaviour:
    """A judge that always gives this verdict in the form it was asked for."""
    return text(json.dumps({"reason": reason, "verdict": verdict}))


def text(answer: str, **more: Any) -> Behaviour:
    """A judge that always says this."""
    return lambda request: Answer(answer, **more)


def status(code: int, **headers: str) -> Behaviour:
    """A server that fails with this status."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: Answer(status=code, headers=sent, body=b'{"error": {"message": "no"}}')


@dataclass
class Asked:
    """What a careful judge finds in the message: it trusts nothing but the marker at the top."""

    marker: str
    question: str
    reference: str
    reply: str


def read_message(request: dict[str, Any]) -> Asked:
    """The parts of the user's message, found by its marker."""
    message = request["messages"][-1]["content"]
    head = re.match(r"Marker of this message: (\S+)\n\nQuestion: (.*)\n\nReference answer: (.*)\n\n-----", message)
    assert head, message
    begin, end = (found.span() for found in re.finditer(rf"(?m)^-----.*{head[1]} -----$", message))
    return Asked(head[1], head[2], head[3], message[begin[1] + 1 : end[0] - 1])


def careful(request: dict[str, Any]) -> Answer:
    """A judge that says A where the reply holds the reference's words in any case, and else B."""
    asked = read_message(request)
    return says("A" if asked.reference.casefold() in asked.reply.casefold() else "B")(request)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a killed client is part of the test."""


class JudgeServer:
    """The server; `requests` are the bodies it got, `headers` their headers, `most_at_once` the most in flight."""

    def __init__(self, *script: Behaviour) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> JudgeServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self) -> list[Asked]:
        """All messages so far, taken apart."""
        return [read_message(request) for request in self.requests]

    def _behaviour(self, path: str, headers: dict[str, str], request: dict[str, Any]) -> Behaviour:
        with self._lock:
            self.times.append(time.monotonic())
            self.requests.append(request)
            self.headers.append(headers)
            self.paths.append(path)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _done(self) -> None:
        with self._lock:
            self._at_once -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                behaviour = judge._behaviour(self.path, headers, request)
                try:
                    answer = behaviour(request)
                    time.sleep(answer.delay)
                finally:
                    judge._done()
                self._send(answer)

            def _send(self, answer: Answer) -> None:
                message = {"role": "assistant", "content": answer.text}
                body = answer.body
                if body is None:
                    completion = {
                        "model": MODEL,
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
                    }
                    body = json.dumps(completion).encode()
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if answer.cut is not None:
                        body = body[: answer.cut]
                        self.close_connection = True
                    for piece in (body[i : i + 1] for i in range(len(body))) if answer.trickle else (body,):
                        self.wfile.write(piece)
                        self.wfile.flush()
                        time.sleep(answer.trickle)
                except OSError:  # the other side has had enough
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
