"""`--model openai_files`: lmms-eval's `openai`, which sends the pictures' own files.

`openai` sends every picture as PNG: of SLAKE's test images, three times the bytes of their JPEG files. Here a JPEG goes as
it is, and everything else as the same PNG as there; requests are built beside each other instead of one after another.
"""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx
from lmms_eval.api.instance import GenerationResult, TokenCounts
from lmms_eval.models.chat.openai import OpenAICompatible
from lmms_eval.models.model_utils.usage_metrics import is_budget_exceeded, log_usage
from PIL import Image
from tqdm import tqdm

from lmms_tasks import chat_completions, pictures
from lmms_tasks.log import warn_once
from lmms_tasks.pictures import Picture

FILES, PNG = "files", "png"
_OPTIONS = ("top_p", "seed", "presence_penalty", "frequency_penalty", "n")
#: Statuses that no request of the run would escape: a wrong key, a wrong address, a wrong name of the model.
_HOPELESS = frozenset({401, 403, 404})


class _Failed(Exception):  # noqa: N818
    """The server gave no reply. `again`: another attempt may bring one. `hopeless`: so it would be with every request."""

    def __init__(self, why: str, again: bool = False, wait: float | None = None, hopeless: bool = False) -> None:
        super().__init__(why)
        self.again = again
        self.wait = wait
        self.hopeless = hopeless


class _Reply(NamedTuple):
    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_of_thought: int = 0


class OpenAIFiles(OpenAICompatible):  # type: ignore[misc]
    """A model behind an OpenAI-compatible server.

    Args (as `--model_args`), beside those of `--model openai`, among them model_version, base_url and api_key:
        images: "files" (default) sends JPEG files as they are, "png" what `--model openai` sends.
        num_concurrent: requests under way at once, 32 by default.
        timeout: seconds for a reply, 600 by default.
        max_retries: attempts for a request, 5 by default, with growing pauses or those that the server asks for.

    A run whose first requests are all refused for its key, address or model, or find no server, ends with the cause.
    """

    def __init__(
        self, *args: Any, images: str = FILES, timeout: float = 600, httpx_trust_env: bool = True, **others: Any
    ) -> None:
        if images not in (FILES, PNG):
            raise SystemExit(f"--model openai_files: images is {images!r}, but can be {FILES} or {PNG}")
        for name in ("azure_openai", "pass_video_url", "adaptive_concurrency"):
            if others.get(name):
                raise SystemExit(f"--model openai_files has no {name}; --model openai has")
        super().__init__(*args, timeout=timeout, **others)
        self._files = images == FILES
        self._address = f"{str(self.client.base_url).rstrip('/')}/chat/completions"
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {self.client.api_key}", "Content-Type": "application/json"},
            timeout=float(timeout),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=self.num_concurrent),
            trust_env=bool(httpx_trust_env),
            follow_redirects=True,
        )
        self._lock = threading.Lock()
        self._answered = False

    def generate_until(self, requests: Sequence[Any]) -> list[GenerationResult]:
        """The replies, in order; lmms-eval's note of a failed request in place of one that could not be had."""
        pictures.sent, pictures.as_files = True, self._files
        failed = 0
        replies = []
        with (
            ThreadPoolExecutor(self.num_concurrent, "openai-files") as pool,
            tqdm(total=len(requests), desc="Model Responding", disable=self.rank != 0) as bar,
        ):
            for reply in pool.map(self._reply, requests):
                failed += reply is None or isinstance(reply, _Failed)
                replies.append(self._result(reply))
                if failed:
                    bar.set_postfix(failed=failed, refresh=False)
                bar.update()
        return replies

    def _result(self, reply: _Reply | _Failed | None) -> GenerationResult:
        if reply is None:
            return GenerationResult(text="[LMMS_EVAL_BUDGET_EXCEEDED]", token_counts=TokenCounts())
        if isinstance(reply, _Failed):
            why = str(reply).replace("\n", " ")[:200]
            note = f"[LMMS_EVAL_REQUEST_FAILED after {self.max_retries} retries] {why}"
            return GenerationResult(text=note, token_counts=TokenCounts())
        counts = TokenCounts(
            input_tokens=reply.tokens_in, output_tokens=reply.tokens_out, reasoning_tokens=reply.tokens_of_thought
        )
        return GenerationResult(text=reply.text, token_counts=counts)

    def _reply(self, request: Any) -> _Reply | _Failed | None:
        if is_budget_exceeded():
            return None
        body = self._body(request)
        attempt = 1
        while True:
            try:
                reply = self._exchange(body)
                break
            except _Failed as error:
                if error.again and attempt < self.max_retries:
                    pause = self.retry_backoff_s * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
                    time.sleep(min(chat_completions.LONGEST_WAIT, pause if error.wait is None else error.wait))
                    attempt += 1
                    continue
                if error.hopeless and not self._answered:
                    raise SystemExit(
                        f"--model openai_files: {self._address} does not answer for model {self.model_version}: {error}. "
                        "Check base_url, model_version and api_key in --model_args, and that the server is up."
                    ) from error
                warn_once(f"--model openai_files: a request brought no reply ({error}); its row is counted as unread")
                return error
        self._answered = True
        log_usage(
            model_name=self.model_version,
            task_name=request.task_name,
            input_tokens=reply.tokens_in,
            output_tokens=reply.tokens_out,
            reasoning_tokens=reply.tokens_of_thought,
            source="model",
        )
        return reply

    def _exchange(self, body: bytes) -> _Reply:
        try:
            response = self._http.post(self._address, content=body)
        except httpx.TimeoutException:
            raise _Failed(f"no reply within {self.timeout} s", again=True) from None
        except httpx.TransportError as error:
            why = f"{type(error).__name__}: {error}"
            raise _Failed(why, again=True, hopeless=isinstance(error, httpx.ConnectError)) from None
        except httpx.HTTPError as error:
            raise _Failed(f"{type(error).__name__}: {error}") from None
        status = response.status_code
        if status != 200:
            wait = chat_completions.wait(response.headers.get("retry-after"))
            why = f"HTTP {status}: {_line(response.text)}"
            raise _Failed(why, status in chat_completions.PASSING, wait, status in _HOPELESS)
        try:
            answer = json.loads(response.content)
            said = chat_completions.text(answer["choices"][0]["message"])
            usage = answer.get("usage")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            # A proxy's page, or an error that was sent as a success.
            raise _Failed(f"no chat completion: {_line(response.text)}", again=True) from None
        details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
        return _Reply(
            said,
            chat_completions.count(usage, "prompt_tokens"),
            chat_completions.count(usage, "completion_tokens"),
            chat_completions.count(details, "reasoning_tokens"),
        )

    def _body(self, request: Any) -> bytes:
        _, doc_to_messages, settings, doc_id, task, split = request.args
        messages = doc_to_messages(self.task_dict[task][split][doc_id])
        rest = json.dumps(self._settings(settings)).encode()
        return b'{"messages":[' + b",".join(map(_message, messages)) + b"]," + rest[1:]

    def _settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        most = given.get("max_new_tokens", 1024)
        settings: dict[str, Any] = {"model": self.model_version}
        if chat_completions.REASONING.search(self.model_version):
            settings["max_completion_tokens"] = most
        else:
            settings |= {"max_tokens": most, "temperature": given.get("temperature", 0)}
        settings |= {name: given[name] for name in _OPTIONS if given.get(name) is not None}
        if self.enable_thinking_kwarg is not None:
            thinking = str(self.enable_thinking_kwarg).lower() == "true"
            settings["chat_template_kwargs"] = {"enable_thinking": thinking}
        return settings


def _message(message: Mapping[str, Any]) -> bytes:
    content = message["content"]
    parts: Iterable[Mapping[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    role = json.dumps(message["role"]).encode()
    return b'{"role":' + role + b',"content":[' + b",".join(map(_part, parts)) + b"]}"


def _part(part: Mapping[str, Any]) -> bytes:
    if part["type"] == "text":
        return json.dumps({"type": "text", "text": part["text"]}).encode()
    image = part.get("url")
    if part["type"] != "image" or not isinstance(image, Image.Image):
        raise SystemExit(f"--model openai_files sends text and images, no {part['type']}: take --model openai")
    if pictures.as_files and isinstance(image, Picture):
        data, kind = image.file()
    else:
        data, kind = pictures.png_of(image), "image/png"
    # The text of a picture is long: it is not made a string and searched for what JSON would have to escape.
    head = b'{"type":"image_url","image_url":{"url":"data:' + kind.encode() + b";base64,"
    return head + base64.b64encode(data) + b'"}}'


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
