"""Lines for the user, through the log that lmms-eval shows (loguru), which not every use of the pack has installed."""

from __future__ import annotations

import functools
import logging
import os

_fallback = logging.getLogger("lmms_tasks")


def warn(line: str) -> None:
    """Shows a warning."""
    _show("warning", line)


def info(line: str) -> None:
    """Shows a line."""
    _show("info", line)


@functools.cache
def info_once(line: str) -> None:
    """Shows a line the first time that this process has it to say; on the first of several ranks alone."""
    if os.environ.get("RANK", "0") == "0":
        info(line)


@functools.cache
def warn_once(line: str) -> None:
    """Shows a warning the first time that this process has it to say."""
    warn(line)


def _show(level: str, line: str) -> None:
    try:
        from loguru import logger
    except ImportError:
        getattr(_fallback, level)(line)
    else:
        getattr(logger, level)(line)
