"""Pictures prepared before they are asked for.

lmms-eval's clients of servers build one request after the other in one thread, and of a JPEG they send a PNG: without this
every connection waits while that thread decodes and packs. Packing lets other threads run, so they do it meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

PREPARED = 16
"""So many pictures are prepared at most and not asked for yet."""

_FARTHEST = 64
"""Rows asked for in turn lie at most so far apart: the ranks of a data-parallel run take every n-th."""


Made = TypeVar("Made")


class Ahead(Generic[Made]):
    """What is made of the pictures that will probably be asked for next.

    It guesses from the distance between the last two rows; a wrong guess costs work and nothing else.

    Args:
        make: makes it of the picture of that name; what it raises is left to whoever asks for the picture.
    """

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make
        self._rows: list[tuple[str, ...]] = []
        self._place: dict[tuple[str, ...], int] = {}
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Also in a forked child, which has none of the threads."""
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._last: int | None = None
        self._futures: OrderedDict[str, Future[Made]] = OrderedDict()

    def follow(self, rows: Iterable[Iterable[str]]) -> None:
        """Takes these names of pictures, row by row, for the order in which they will be asked for."""
        with self._lock:
            self._rows = [tuple(names) for names in rows]
            self._place = {names: place for place, names in enumerate(self._rows)}
            self._last = None

    def take(self, names: Iterable[str]) -> dict[str, Made]:
        """What was prepared of those pictures; waits for those that are in the making."""
        with self._lock:
            futures = {name: future for name in names if (future := self._futures.pop(name, None))}
        return {name: future.result() for name, future in futures.items() if future.exception() is None}

    def prepare(self, names: Iterable[str]) -> None:
        """Begins with the pictures of the rows that follow the row with these."""
        with self._lock:
            place = self._place.get(tuple(names))
            last, self._last = self._last, place
            if place is None or last is None or not 0 < place - last <= _FARTHEST:
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(4, "lmms-tasks-ahead")
            coming = [name for row in self._rows[place :: place - last][1:PREPARED] for name in row]
            for name in coming[:PREPARED]:
                if name not in self._futures:
                    self._futures[name] = self._pool.submit(self._make, name)
            while len(self._futures) > PREPARED:
                self._futures.popitem(last=False)[1].cancel()
