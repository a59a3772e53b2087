"""`python tests/patterns.py`: every regular expression of the project over texts made to make it backtrack.

Then the readers of all benchmarks over all those texts. Prints what takes more than linear time; 1 where anything does.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import lmms_data
import lmms_scoring
import lmms_tasks
from lmms_scoring import medxpertqa, slake, slake_wording, vlms_are_biased

try:
    from re import _constants as sre
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as sre  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

PACKAGES = (lmms_scoring, lmms_tasks, lmms_data)

#: Patterns over what no model and no stranger writes, by the beginning of their names.
TRUSTED = {
    "lmms_tasks.report.charts": "matplotlib's own drawings",
    "lmms_tasks.report.runs._RESULTS": "names of files, of which none has more than 255 characters",
    "lmms_tasks.report.runs._SAMPLES": "names of files, of which none has more than 255 characters",
}

#: Functions of `re` that take a pattern as text.
_CALLS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}


def modules() -> Iterator[ModuleType]:
    """All modules of the project."""
    for package in PACKAGES:
        yield package
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


def collected() -> dict[str, re.Pattern[str]]:
    """Every pattern of the project by the place where it stands; the same pattern counts once."""
    found: dict[re.Pattern[str], str] = {}
    for module in modules():
        for name, value in sorted(vars(module).items()):
            for pattern in _patterns(value):
                found.setdefault(pattern, f"{module.__name__}.{name}")
        for pattern, line in _written_inside(module):
            found.setdefault(pattern, f"{module.__name__}, line {line}")
    for group in slake_wording._ALL_GROUPS:
        if mentions := slake_wording._mentions(group):
            found.setdefault(mentions, f"slake_wording._mentions({group})")
    found.setdefault(slake_wording._han_tokens(), "slake_wording._han_tokens()")
    names: dict[str, re.Pattern[str]] = {}
    for pattern, name in found.items():
        names[name if name not in names else f"{name} ({len(names)})"] = pattern
    return names


@functools.cache
def _methods() -> dict[str, set[str]]:
    """The methods of patterns that the project calls on each name."""
    called: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                called.setdefault(name, set()).add(node.attr)
    return called


def is_anchored(name: str) -> bool:
    """True for a pattern that is only tried at one place of a text and never searched for."""
    methods = _methods().get(name.rpartition(".")[2], set()) & _CALLS
    return bool(methods) and methods <= {"match", "fullmatch"}


def _patterns(value: Any, depth: int = 4) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth and isinstance(value, dict):
        for part in value.values():
            yield from _patterns(part, depth - 1)
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from _patterns(part, depth - 1)


def _written_inside(module: ModuleType) -> Iterator[tuple[re.Pattern[str], int]]:
    """The patterns that a module's functions give to `re` as a constant."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in _CALLS
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else 0
            yield re.compile(node.args[0].value, flags), node.lineno


# --- texts ----------------------------------------------------------------------------------------------------------

_OF_CATEGORY = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: ".",
}
_LIKELY = "a1 .\n*_({[<\"',:-=是答A"


def _of_class(items: Any) -> list[str]:
    """Characters of a class: some of what it names, or of what it leaves."""
    if items[0][0] is sre.NEGATE:
        named = re.compile("[" + "".join(map(_in_class, items[1:])) + "]")
        return [char for char in _LIKELY if not named.match(char)]
    chars: list[str] = []
    for kind, value in items:
        if kind is sre.LITERAL:
            chars.append(chr(value))
        elif kind is sre.RANGE:
            chars.append(chr(value[0]))
        elif kind is sre.CATEGORY:
            chars.append(_OF_CATEGORY[value])
    return chars


def _in_class(item: Any) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return re.escape(chr(value))
    if kind is sre.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    names = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w"}
    names |= {sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_WORD: r"\W"}
    return names[value]


def _bodies(tree: Any) -> Iterator[Any]:
    """The sub-patterns directly inside a pattern."""
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) or kind is getattr(sre, "POSSESSIVE_REPEAT", None):
            yield value[2]
        elif kind is sre.SUBPATTERN:
            yield value[3]
        elif kind is sre.BRANCH:
            yield from value[1]
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield value[1]


def _sample(tree: Any, most: bool) -> str:
    """A text that the pattern matches, conditions aside; `most` takes what may be left out."""
    text = ""
    for kind, value in tree:
        if kind is sre.LITERAL:
            text += chr(value)
        elif kind in (sre.NOT_LITERAL, sre.ANY):
            text += "a"
        elif kind is sre.IN:
            text += (_of_class(value) or ["a"])[0]
        elif kind is sre.BRANCH:
            text += _sample(value[1][0], most)
        elif kind is sre.SUBPATTERN:
            text += _sample(value[3], most)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) or kind is getattr(sre, "POSSESSIVE_REPEAT", None):
            text += _sample(value[2], most) * min(4, max(value[0], int(most)))
    return text


def units(pattern: re.Pattern[str]) -> list[str]:
    """Short texts to be repeated: characters of the pattern's classes, samples of its parts, and a match cut short."""
    found = dict.fromkeys((*_LIKELY, "a ", "1,", "a.", " \n"))
    todo = [parser.parse(pattern.pattern, pattern.flags)]
    whole = todo[0]
    while todo:
        tree = todo.pop()
        if len(tree):
            found |= dict.fromkeys((_sample(tree, False), _sample(tree, True)))
        for kind, value in tree:
            if kind is sre.IN:
                found |= dict.fromkeys(_of_class(value)[:4])
            elif kind is sre.LITERAL:
                found[chr(value)] = None
        todo += _bodies(tree)
    for sample in (_sample(whole, False), _sample(whole, True)):
        found |= dict.fromkeys((sample[:-1], sample[1:], sample + " ", sample + "\n"))
    return [unit for unit in found if unit]


def _after_beginnings(tree: Any, front: str = "") -> Iterator[tuple[str, str]]:
    """For each repetition in a pattern, what brings a search there, and what it may repeat."""
    for place, (kind, value) in enumerate(tree):
        here = front + _sample(list(tree)[:place], False)
        bodies = list(_bodies([(kind, value)]))
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[1] > 1:
            yield here, _sample(value[2], True)
            first, content = next(iter(value[2])) if len(value[2]) else (None, None)
            chars = _of_class(content) if first is sre.IN else list(_LIKELY) if first is sre.ANY else []
            yield from ((here, char) for char in chars[:5])
        for body in bodies:
            yield from _after_beginnings(body, here)


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Fronts and units of texts made against a pattern."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    found = dict.fromkeys(_after_beginnings(tree))
    for unit in units(pattern):
        found |= dict.fromkeys((("", unit), (_sample(tree, True)[:-1], unit)))
    return (attack for attack in found if attack[1])


# --- time -----------------------------------------------------------------------------------------------------------

LINEAR = 8.0
"""A text of four times the length may take so many times as long: 4 is expected, 16 is quadratic."""

QUICK = 3e-7
"""Seconds a character: what takes less over a whole text is not looked at again."""

Work = Callable[[str], object]


def seconds(work: Work, text: str, times: int) -> float:
    """The processor time that the work takes over the text, the best of several."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work(text)
        best = min(best, time.process_time() - begin)
    return best


def growth(work: Work, unit: str, size: int, *, front: str = "", end: str = "\0", quick: float = QUICK) -> float:
    """How many times longer the work takes over a text of four times the length; 1.0 where it is quick anyway.

    The texts are so many characters of the repeated unit, between a front and an end that keep it from matching.
    """
    long, short = (front + unit * (length // len(unit)) + end for length in (size, size // 4))
    once = seconds(work, long, 1)
    if once < quick * len(long):
        return 1.0
    for times in (1, 3, 6):
        # A neighbour on the machine disturbs one measurement, hardly the best of several.
        found = seconds(work, long, times) / max(seconds(work, short, times), 1e-6)
        if found <= LINEAR:
            break
    return found


def slowest(name: str, pattern: re.Pattern[str], size: int, ends: Sequence[str] = ("\0",)) -> tuple[float, str]:
    """The largest growth of a pattern over the texts made for it, and the text that brings it."""
    works: list[Work] = [lambda text: sum(1 for _ in pattern.finditer(text))]
    if is_anchored(name):
        works = [pattern.match, pattern.fullmatch]
    worst = 1.0, ""
    for front, unit in attacks(pattern):
        for end in ends:
            for work in works:
                found = growth(work, unit, size, front=front, end=end)
                worst = max(worst, (found, f"{front!a} + {unit!a} * {size // len(unit)} + {end!a}"))
                if found > LINEAR:
                    return worst
    return worst


OPTIONS = {"A": "Hepatic abscess", "B": "Gallstone", "C": "C. difficile colitis", "D": "4", "E": "Figure C"}
READERS: dict[str, Work] = {
    "slake": lambda text: (
        slake.score(text, "Left Lung", language="en", question="Where is the lung?"),
        slake.token_scores(text, "左肺", "zh"),
    ),
    "slake, yes or no": lambda text: slake.score(text, "没有", language="zh", question="图中有没有肺?"),
    "medxpertqa": lambda text: medxpertqa.score(text, "B", OPTIONS),
    "medxpertqa, the authors' rule": lambda text: medxpertqa.authors_letter(text, OPTIONS),
    "vlms_are_biased": lambda text: vlms_are_biased.score(text, "4", "5"),
    "vlms_are_biased, yes or no": lambda text: vlms_are_biased.score(text, "Yes", "No"),
}


def all_units() -> list[str]:
    """The units of all patterns that replies are read with, each once."""
    found: dict[str, None] = {}
    for name, pattern in collected().items():
        if name.startswith(("lmms_scoring", "slake_wording")):
            found |= dict.fromkeys(units(pattern))
    return list(found)


def main(size: int = 20_000) -> int:
    """The whole of it, with a line for each pattern and reader that takes more than linear time."""
    faults = 0
    patterns = collected()
    for name, pattern in patterns.items():
        if not name.startswith(tuple(TRUSTED)):
            found, text = slowest(name, pattern, size, ("\0", "\n"))
            if found > LINEAR:
                faults += 1
                print(f"{name}: {found:.1f} times as long over four times the length: {text}", flush=True)
    print(f"{len(patterns)} patterns, {faults} faults", flush=True)
    repeated = all_units()
    for reader, work in READERS.items():
        worst = 1.0, ""
        for unit in repeated:
            worst = max(worst, (growth(work, unit, 2 * size, quick=1e-6), ascii(unit)))
        faults += worst[0] > LINEAR
        print(f"{reader}: {len(repeated)} texts, at most {worst[0]:.1f} times as long ({worst[1]})", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
