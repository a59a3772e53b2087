"""What the environment says about the judge: which model, where, and how much of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_tasks.judge.cache import default_folder

OPENAI = "https://api.openai.com/v1"
PREFIX = "LMMS_TASKS_JUDGE_"
_MISSING = (
    "slake_llm_recall needs a judge, a language model behind an OpenAI-compatible server: {what}. Set MODEL_VERSION to "
    "the judge's name, OPENAI_API_URL (or OPENAI_BASE_URL) to the server, for example http://localhost:8000/v1, and "
    "OPENAI_API_KEY where it wants a key; or run the group slake, which needs no judge"
)


class JudgeError(Exception):
    """The judge is not set up; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """Everything about a judge that the environment decides."""

    model: str
    url: str
    """The address that takes the calls."""
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    timeout: float = 60.0
    """Seconds that one call may take in all."""
    retries: int = 4
    """How often a call is repeated after an error that may pass."""
    backoff: float = 1.0
    """Seconds before the first repetition; twice as many before each further one."""
    max_tokens: int = 2048
    max_calls: int | None = None
    """Calls that this process may make, repetitions included; None for any number."""
    concurrency: int | None = None
    """Calls of this process at the same time; None leaves it to lmms-eval's --process-docs-parallel."""
    folder: Path = field(default_factory=default_folder)

    @property
    def server(self) -> str:
        """The address without anything secret in it."""
        return re.sub(r"//[^/@]*@", "//", self.url).partition("?")[0]


def settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings that the environment holds.

    LMMS_TASKS_JUDGE_MODEL, _URL and _KEY go before MODEL_VERSION, OPENAI_API_URL, OPENAI_BASE_URL and OPENAI_API_KEY,
    for a judge beside a model under test that reads the same variables.

    Raises:
        JudgeError: no judge is set up, or a setting is not understood.
    """
    environ = os.environ if environ is None else environ

    def text(*names: str) -> str:
        return next((value for name in names if (value := environ.get(name, "").strip())), "")

    model = text(PREFIX + "MODEL", "MODEL_VERSION")
    if not model:
        raise JudgeError(_MISSING.format(what="MODEL_VERSION is not set"))
    kind = text("API_TYPE").lower().removeprefix("async_") or "openai"
    if kind == "azure" and not text(PREFIX + "URL"):
        url, headers = _azure(text, model)
    elif kind in ("openai", "azure", "local"):
        url, headers = _openai(text)
    else:
        raise JudgeError(_MISSING.format(what=f"API_TYPE is {kind!r}, but can be openai or azure"))
    max_calls = _number(environ, "MAX_CALLS", None, int)
    return Settings(
        model=model,
        url=url,
        headers=headers,
        timeout=_number(environ, "TIMEOUT", 60.0, float, smallest=0.001),
        retries=_number(environ, "RETRIES", 4, int),
        backoff=_number(environ, "BACKOFF", 1.0, float),
        max_tokens=_number(environ, "MAX_TOKENS", 2048, int, smallest=1),
        max_calls=None if max_calls is None else _share(max_calls, environ),
        concurrency=_number(environ, "CONCURRENCY", None, int, smallest=1),
    )


def _openai(text: Callable[..., str]) -> tuple[str, dict[str, str]]:
    secret = text(PREFIX + "KEY", "OPENAI_API_KEY")
    url = text(PREFIX + "URL", "OPENAI_API_URL", "OPENAI_BASE_URL")
    if not url and not secret:
        raise JudgeError(_MISSING.format(what="neither OPENAI_API_URL, OPENAI_BASE_URL nor OPENAI_API_KEY is set"))
    url = url or OPENAI
    if not re.match(r"https?://[^/]", url):
        raise JudgeError(_MISSING.format(what=f"{url!r} is no address of a server (http://… or https://…)"))
    # Some of lmms-eval's tasks want the whole address in OPENAI_API_URL, others only its base.
    base, mark, query = url.partition("?")
    base = base.rstrip("/").removesuffix("/chat/completions")
    return f"{base}/chat/completions{mark}{query}", {"Authorization": f"Bearer {secret}"} if secret else {}


def _azure(text: Callable[..., str], model: str) -> tuple[str, dict[str, str]]:
    endpoint, secret = text("AZURE_ENDPOINT"), text("AZURE_API_KEY")
    if not endpoint or not secret:
        raise JudgeError(_MISSING.format(what="API_TYPE is azure, but AZURE_ENDPOINT or AZURE_API_KEY is not set"))
    version = text("API_VERSION") or "2024-10-21"
    path = f"openai/deployments/{model}/chat/completions?api-version={version}"
    return f"{endpoint.rstrip('/')}/{path}", {"api-key": secret}


def _number(
    environ: Mapping[str, str], name: str, default: Any, kind: Callable[[str], Any], smallest: float = 0
) -> Any:
    value = environ.get(PREFIX + name, "").strip()
    if not value:
        return default
    try:
        number = kind(value)
        if not smallest <= number < float("inf"):
            raise ValueError
    except ValueError:
        raise JudgeError(f"{PREFIX}{name} is {value!r}, but must be a number from {smallest:g} on") from None
    return number


def _share(calls: int, environ: Mapping[str, str]) -> int:
    """This process's part of the calls that all ranks of a run may make together."""
    try:
        rank, world = int(environ.get("RANK", "0")), int(environ.get("WORLD_SIZE", "1"))
    except ValueError:
        return calls
    return calls // max(world, 1) + (rank < calls % max(world, 1))
