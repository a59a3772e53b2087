"""An OpenAI-compatible server on loopback that answers chats by a function and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Request = dict[str, Any]


class ChatServer:
    """`with ChatServer(answer) as server`: `server.url` is the base URL, `server.requests` every request's body.

    `answer` gets a request's body and returns the assistant's text, an HTTP status that refuses the request, or the
    bytes of a body that is sent as it is.
    """

    def __init__(self, answer: Callable[[Request], str | int | bytes]) -> None:
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append(body)
                said = answer(body)
                message = {"role": "assistant", "content": str(said)}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
                refused = isinstance(said, int)
                data = (
                    said
                    if isinstance(said, bytes)
                    else json.dumps(
                        {"error": {"message": "refused"}} if refused else {**whole, "usage": usage}
                    ).encode()
                )
                self.send_response(said if isinstance(said, int) else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
