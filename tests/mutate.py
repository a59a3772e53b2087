"""Changes one thing at a time in utils/lmms_scoring and says which changes no scoring test notices.

    python tests/mutate.py [module …] [--bounds] [--only TEXT]

A change drops one entry of a table, one character of a character set, one alternative, quantifier, class member or
lookaround of a pattern, a flag or a string that is looked for, moves an integer that is no index by one and a float by
a hundredth, or turns a comparison, `and`, `or` or `not` round. `--bounds` also moves the bounds of repetitions in
patterns. The tests are collected once; each change is made in a forked child, where the
module and those that import it are executed anew. Tests that need
../shared, search at random or measure time are left out.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import fnmatch
import importlib
import io
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "utils")]

#: The modules in the order of their imports, each with the test files that hold it.
TESTS = {
    "outcomes": ("vlms_are_biased", "slake", "medxpertqa"),
    "text": ("slake",),
    "numbers": ("numbers", "vlms_are_biased", "slake"),
    "reply": ("reply", "medxpertqa", "slake", "vlms_are_biased"),
    "choices": ("medxpertqa",),
    "medxpertqa": ("medxpertqa",),
    "slake_aliases": ("slake",),
    "slake_wording": ("slake",),
    "slake_reading": ("slake",),
    "slake": ("slake",),
    "vlms_are_biased": ("vlms_are_biased",),
    "statistics": ("statistics",),
}
FILES = {"numbers": "test_numbers.py", "reply": "test_reply.py", "statistics": "test_statistics.py"}
_SLOW = re.compile("linear|megabyte|share_of_time|covers|grammar")

QUICK = "a shorter way to what the long way reads"
SPARES = "spares a look at what holds no answer"
CACHE = "the size of a cache"
LONGER = "longer than any form it has to hold"
APART = "a word, a letter or a number never runs into the next"
ENDS = "a stripped text neither begins nor ends with a space"
START = "a search from -1 begins at 0"

#: Changes that no reply can show, with the reason: (module, place, change) as shell patterns.
EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    *(
        (module, place, f"{change} *", QUICK)
        for module, place in (
            ("choices", "_BARE"),
            ("choices", "_LAST_LINE"),
            ("slake_reading", "_TWO_WORDS"),
            ("slake", "_PLAIN"),
        )
        for change in ("alternative", "optional", "quantifier of", "member", "bound of")
    ),
    ("choices", "letter", "*", QUICK),
    ("choices", "_LONGEST_LAST_LINE", "*", QUICK),
    ("choices", "_Reader.closing_line", "[1>] to *", QUICK),
    ("choices", "_Reader.closing_line", "without *", QUICK),
    ("choices", "_initial", "1 to 0", QUICK),
    ("choices", "_markers_backwards", "!= to ==", QUICK),
    ("choices", "_MEANINGFUL", "lookaround *", QUICK),
    ("slake", "_NOT_OBVIOUS", "*", QUICK),
    ("slake", "_obvious", "*", QUICK),
    ("slake", "official_form", "*", QUICK),
    ("slake", "score", "200 to *", QUICK),
    ("slake", "score", "<= to <", QUICK),
    ("slake", "token_scores", "in to not in*", QUICK),
    ("vlms_are_biased", "_read", "*", QUICK),
    ("vlms_are_biased", "_IN_FORM", "quantifier *", QUICK),
    ("reply", "fold", "*", QUICK),
    ("reply", "_NOT_ASCII", "quantifier *", QUICK),
    ("reply", "_PRODUCT", "lookaround *", QUICK),
    ("reply", "unlatex", "*", QUICK),
    ("reply", "boxed", "[01] to *", QUICK),
    ("reply", "visible", "alternative *", QUICK),
    ("slake_wording", "_number", "1 to 0", QUICK),
    ("text", "is_han", "<= to <*", QUICK),
    ("choices", "CHOICES", "lookaround *", SPARES),
    ("choices", "CHOICES", "member \\t (2)", SPARES),
    ("choices", "_VERDICT", "lookaround *", SPARES),
    ("choices", "_VERDICT", "member [a']*", SPARES),
    ("numbers", "_NUMERAL", "lookaround *", SPARES),
    ("*", "*", "1024 to *", CACHE),
    ("*", "*", "4096 to *", CACHE),
    ("*", "*", "8192 to *", CACHE),
    ("reply", "visible", "2 to *", CACHE),
    ("reply", "first_turn", "2 to *", CACHE),
    ("slake_wording", "_mentions", "64 to *", CACHE),
    ("slake_wording", "_han_tokens", "1 to *", CACHE),
    ("choices", "_Reader.undeclared", "14 to *", LONGER),
    ("choices", "_Reader.undeclared", "80 to *", LONGER),
    ("choices", "_Reader.choices", "40 to *", LONGER),
    ("numbers", "_signed", "12 to 13", LONGER),
    ("numbers", "_signed", "24 to *", LONGER),
    ("numbers", "_from_english", "12 to *", LONGER),
    ("vlms_are_biased", "_mentions", "70 to *", LONGER),
    ("slake_reading", "polarity", "20 to *", LONGER),
    ("slake_reading", "polarity", "< to <=", LONGER),
    ("slake_reading", "_wrong", "20 to *", LONGER),
    ("slake_reading", "_wrong", "< to <=", LONGER),
    ("*", "*", "0 to -1*", START),
    ("choices", "_Reader.declared", "2 to 3", "only the first place is looked at"),
    ("choices", "_Reader.undeclared", "<= to <", "what is equal to several labels is two answers either way"),
    ("vlms_are_biased", "_mentions", "8 to [79]", LONGER),
    ("vlms_are_biased", "_yes_no_in", "1 to 0", "white space, quotes and brackets hold no correction"),
    ("vlms_are_biased", "_is_enumeration", "0 to 1", "a cleaned text does not begin with a line end"),
    ("vlms_are_biased", "_corrected", "> to >=", "no word of correction is a number"),
    ("reply", "_FOLDED", "119808 to *", "its neighbour folds to itself"),
    ("reply", "_FOLDED", "120832 to *", "its neighbour folds to itself"),
    ("numbers", "_han_value", "1[02] to *", "above the largest unit"),
    ("numbers", "_from_digits", "< to <=", "U+2E80 is no letter"),
    ("numbers", "_han_below_10000", "10000 to *", "above the largest unit"),
    ("numbers", "_han_below_10000", "10 to 11*", "no unit lies between"),
    ("vlms_are_biased", "_IN_FORM", "bound of *: +1 1", QUICK),
    ("vlms_are_biased", "_IN_FORM", "bound of *: -1 9", QUICK),
    ("numbers", "_GROUPED", "bound of *: -1 1", "a numeral begins with a digit"),
    ("numbers", "_PRONOUN_*", "bound of *: -1 1", APART),
    ("choices", "_BEFORE_LETTER", "bound of *: -1 1", APART),
    ("choices", "_EXPLAINS_MORE", "bound of *: -1 1", APART),
    ("reply", "STATEMENTS", "bound of *: +1 0", APART),
    ("vlms_are_biased", "_ALTERNATIVE", "bound of *: +1 0 (2)", APART),
    ("choices", "CHOICES", "bound of ?w: -1 [23]", "no such word is shorter"),
    ("choices", "_LETTERS_ONLY", "bound of *: -1 2", "one letter is no list"),
    ("choices", "_NUMBERING", "bound of ?d: -1 1", "no line begins with a full stop"),
    ("slake_wording", "_BULLET", "bound of *: -1 1", "a phrase drops the marks before it"),
    ("slake_reading", "_PRONOUN_IS", "bound of *: -1 1", ENDS),
    ("slake_reading", "_SUBJECT_IS", "bound of *: -1 1*", ENDS),
    ("slake_reading", "_USED", "bound of *: -1 1", ENDS),
    ("slake_reading", "_COMPARED", "bound of .: -1 1", ENDS),
    ("reply", "_UNDERSCORES", "bound of *: -1 1*", "replaces nothing by nothing"),
    ("reply", "_JSON", "bound of *: +1 0", "an empty value states nothing"),
    ("vlms_are_biased", "_BRACES", "bound of *: -1 1", "empty braces state nothing"),
    ("vlms_are_biased", "_ECHO", "bound of *: +1 0 (2)", "empty braces state nothing"),
    ("statistics", "t_quantile", "[01].0 to *", "how the root is bracketed"),
    ("statistics", "t_quantile", "[26]* to *", "how the root is bracketed and how often it is halved"),
    ("statistics", "t_quantile", "< to <=*", "how the root is bracketed"),
)


class Mutant(NamedTuple):
    """One change: where it stands, what it does, and the deed itself."""

    module: str
    line: int
    place: str
    change: str
    apply: Callable[[], None]


# --- patterns -------------------------------------------------------------------------------------------------------


class Pattern:
    """A pattern cut into the pieces that can be dropped; `edits` are (begin, end, replacement, what)."""

    def __init__(self, text: str, bounds: bool) -> None:
        self.text = text
        self.bounds = bounds
        self.at = 0
        self.edits: list[tuple[int, int, str, str]] = []
        self.alternatives(nested=False)

    def drop(self, begin: int, end: int, what: str, instead: str = "") -> None:
        self.edits.append((begin, end, instead, f"{what} {self.text[begin:end]}"))

    def alternatives(self, *, nested: bool) -> None:
        starts, ends = [self.at], []
        while self.at < len(self.text) and not (nested and self.text[self.at] == ")"):
            if self.text[self.at] == "|":
                ends.append(self.at)
                self.at += 1
                starts.append(self.at)
            else:
                self.item()
        ends.append(self.at)
        if len(starts) > 1:
            for number, (begin, end) in enumerate(zip(starts, ends, strict=True)):
                piece = (begin, end + 1) if number == 0 else (begin - 1, end)
                self.edits.append((*piece, "", f"alternative {self.text[begin:end]}"))

    def item(self) -> None:
        begin, char = self.at, self.text[self.at]
        if char == "\\":
            self.at += {"u": 6, "U": 10, "x": 4}.get(self.text[begin + 1 : begin + 2], 2)
            if self.text[begin + 1 : begin + 2] in ("b", "B", "Z", "A"):
                self.drop(begin, self.at, "anchor")
        elif char == "[":
            self.members()
        elif char == "(":
            head = re.compile(r"\((?:\?(?:P<\w+>|P=\w+|<?[=!]|[a-z-]*:|[a-z]+(?=\))))?").match(self.text, begin)
            assert head is not None
            self.at = head.end()
            self.alternatives(nested=True)
            self.at += 1
            if head[0] in ("(?=", "(?!", "(?<=", "(?<!"):
                self.drop(begin, self.at, "lookaround")
        else:
            self.at += 1
            if char in "^$":
                self.drop(begin, self.at, "anchor")
        self.quantifier(begin)

    def quantifier(self, begin: int) -> None:
        found = re.compile(r"(?:[*+?]|\{(\d*)(,?)(\d*)\})[?+]?").match(self.text, self.at)
        if not found:
            return
        self.drop(found.start(), found.end(), f"quantifier of {self.text[begin : self.at]}:")
        if found[0][0] in "*?" or found[0].startswith(("{0,", "{,")):
            self.drop(begin, found.end(), "optional")
        for place in (1, 3) if self.bounds else ():
            for by in (-1, 1):
                if not found[place] or int(found[place]) + by < 0:
                    continue
                moved = str(int(found[place]) + by)
                self.drop(found.start(place), found.end(place), f"bound of {self.text[begin : self.at]}: {by:+}", moved)
        self.at = found.end()

    def members(self) -> None:
        self.at += 1
        if self.text[self.at] == "^":
            self.at += 1
        members = []
        while self.text[self.at] != "]" or not members:
            begin = self.at
            self.at += self.width()
            if self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                self.at += self.width()
            members.append((begin, self.at))
        self.at += 1
        if len(members) > 1:
            for begin, end in members:
                self.drop(begin, end, "member")

    def width(self) -> int:
        if self.text[self.at] != "\\":
            return 1
        return {"u": 6, "U": 10, "x": 4}.get(self.text[self.at + 1], 2)


def pattern_edits(text: str, bounds: bool) -> list[tuple[str, str]]:
    """The changed patterns, each with what was changed; [] where the text is no pattern."""
    try:
        re.compile(text)
        edits = Pattern(text, bounds).edits
    except (re.error, IndexError, AssertionError, ValueError):
        return []
    return [(text[:begin] + instead + text[end:], what) for begin, end, instead, what in edits]


# --- the mutants of a module ----------------------------------------------------------------------------------------

_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_PATTERN_CALLS = ("compile", "match", "fullmatch", "search", "split", "sub", "subn", "findall", "finditer", "_pattern")
_FLAGS = ("IGNORECASE", "MULTILINE", "ASCII")
_SOUGHT = ("startswith", "endswith", "removeprefix", "find", "rfind", "partition", "rpartition", "replace", "count")
_FIRST_PLACEHOLDER = 0xE000


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


class Module:
    """The syntax tree of a module and everything that can be changed in it."""

    def __init__(self, name: str, bounds: bool) -> None:
        self.name = name
        self.bounds = bounds
        self.path = ROOT / "utils" / "lmms_scoring" / f"{name}.py"
        self.tree = ast.parse(self.path.read_text(encoding="utf-8"))

    def code(self) -> Any:
        return compile(ast.fix_missing_locations(self.tree), str(self.path), "exec")

    def mutants(self) -> Iterator[Mutant]:
        seen: Counter[tuple[str, str]] = Counter()
        for statement in self.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            for mutant in self.visit(statement, [], _place(statement)):
                seen[mutant.place, mutant.change] += 1
                number = seen[mutant.place, mutant.change]
                yield mutant if number == 1 else mutant._replace(change=f"{mutant.change} ({number})")

    def visit(self, node: ast.AST, above: list[ast.AST], place: str) -> Iterator[Mutant]:
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and above:
            place = f"{place}.{node.name}"
        for change, apply in self.changes(node, above):
            yield Mutant(self.name, getattr(node, "lineno", 0), place, change, apply)
        if isinstance(node, ast.JoinedStr):
            return
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.visit(child, [*above, node], place)

    def changes(self, node: ast.AST, above: list[ast.AST]) -> Iterator[tuple[str, Callable[[], None]]]:
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and _is_table(node, above):
            for number, entry in enumerate(node.elts):
                yield f"entry {ast.unparse(entry)[:60]}", lambda number=number: node.elts.pop(number)  # type: ignore[misc]
        elif isinstance(node, ast.Dict) and node.keys:
            for number, key in enumerate(node.keys):
                what = ast.unparse(key or node.values[number])[:60]
                yield f"entry {what}", lambda number=number: (node.keys.pop(number), node.values.pop(number))  # type: ignore[misc]
        elif isinstance(node, ast.Compare):
            for number, operator in enumerate(node.ops):
                swap = _SWAPS[type(operator)]()
                yield f"{_sign(operator)} to {_sign(swap)}", lambda n=number, s=swap: node.ops.__setitem__(n, s)  # type: ignore[misc]
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield f"turned {ast.unparse(node)[:80]}", lambda: setattr(node, "op", other)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield (
                f"without not: {ast.unparse(node)[:80]}",
                lambda: (
                    setattr(node, "op", ast.UAdd())
                    or setattr(node, "operand", ast.Call(ast.Name("bool", ast.Load()), [node.operand], []))
                ),
            )
        elif isinstance(node, ast.Constant):
            yield from self.constants(node, above)
        elif isinstance(node, ast.JoinedStr):
            yield from self.joined(node)
        elif isinstance(node, ast.Attribute) and _called(above[-1]) in _PATTERN_CALLS and node.attr in _FLAGS:
            yield f"without {node.attr}", lambda: setattr(node, "attr", "NOFLAG")

    def constants(self, node: ast.Constant, above: list[ast.AST]) -> Iterator[tuple[str, Callable[[], None]]]:
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and not isinstance(above[-1], ast.Subscript):
            for other in (value - 1, value + 1):
                yield f"{value} to {other}", lambda other=other: setattr(node, "value", other)  # type: ignore[misc]
        elif isinstance(value, float):
            for by in (-0.01, 0.01):
                yield f"{value} to {value + by:.2f}", lambda by=by: setattr(node, "value", value + by)  # type: ignore[misc]
        elif isinstance(value, str) and _called(above[-1]) in _SOUGHT:
            yield f"without {value!a}", lambda: setattr(node, "value", "\0")
        elif isinstance(value, str) and _is_set(node, above):
            for number, char in enumerate(value):
                rest = value[:number] + value[number + 1 :]
                yield f"character {char!a}", lambda rest=rest: setattr(node, "value", rest)  # type: ignore[misc]
        elif isinstance(value, str) and set(value) & set("\\|([?*+{^$"):
            for text, what in pattern_edits(value, self.bounds):
                yield what, lambda text=text: setattr(node, "value", text)  # type: ignore[misc]

    def joined(self, node: ast.JoinedStr) -> Iterator[tuple[str, Callable[[], None]]]:
        parts = [part for part in node.values if not isinstance(part, ast.Constant)]
        text = ""
        for part in node.values:
            text += part.value if isinstance(part, ast.Constant) else chr(_FIRST_PLACEHOLDER + parts.index(part))
        if not set(text) & set("\\|([?*+{^$"):
            return

        def build(changed: str) -> list[ast.expr]:
            pieces = re.split(r"([\ue000-\uf8ff])", changed)
            return [
                parts[ord(piece) - _FIRST_PLACEHOLDER] if "\ue000" <= piece[:1] <= "\uf8ff" else ast.Constant(piece)
                for piece in pieces
                if piece
            ]

        for changed, what in pattern_edits(text, self.bounds):
            for number, part in enumerate(parts):
                what = what.replace(chr(_FIRST_PLACEHOLDER + number), ast.unparse(ast.JoinedStr([part]))[2:-1])
            yield what, lambda changed=changed: setattr(node, "values", build(changed))  # type: ignore[misc]


def _place(statement: ast.stmt) -> str:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return statement.name
    for target in getattr(statement, "targets", [getattr(statement, "target", None)]):
        if isinstance(target, ast.Name):
            return target.id
    return ""


def _sign(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("x"), [operator], [ast.Name("x")]))[2:-2]


def _is_table(node: ast.Tuple | ast.List | ast.Set, above: list[ast.AST]) -> bool:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or not node.elts:
        return False
    if above and isinstance(above[-1], (ast.Return, ast.Subscript, ast.Yield)):
        return False
    if any(isinstance(entry, ast.Constant) and isinstance(entry.value, str) for entry in node.elts):
        return True
    return all(isinstance(entry, (ast.Constant, ast.JoinedStr, ast.Tuple, ast.Call)) for entry in node.elts)


def _is_set(node: ast.Constant, above: list[ast.AST]) -> bool:
    """True for a string that stands for its characters."""
    if len(node.value) < 2 or re.search("[A-Za-z]{2}", node.value):
        return False
    parent = above[-1]
    if _called(parent) in _PATTERN_CALLS or isinstance(parent, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
        return False
    if _called(parent) in ("strip", "rstrip", "lstrip", "tuple", "frozenset", "enumerate", "map"):
        return True
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], (ast.In, ast.NotIn)) and parent.comparators[0] is node
    return isinstance(parent, (ast.Assign, ast.AnnAssign, ast.BinOp, ast.comprehension)) and "\\" not in node.value


# --- running --------------------------------------------------------------------------------------------------------


class Check(NamedTuple):
    """One test of one file with its arguments."""

    name: str
    run: Callable[[], object]
    home: Any


class _Collector:
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = session.items


def collect(module: str) -> list[Check]:
    """The tests of a module, those that take least first."""
    files = [str(ROOT / "tests" / FILES.get(name, f"test_{name}_scoring.py")) for name in TESTS[module]]
    collector = _Collector()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *files], plugins=[collector])
    checks = []
    for item in collector.items:
        assert isinstance(item, pytest.Function)
        arguments = item.callspec.params if hasattr(item, "callspec") else {}
        missing = set(item._fixtureinfo.argnames) - set(arguments)
        if _SLOW.search(item.name) or missing - {"monkeypatch"}:
            continue
        if hasattr(item.obj, "hypothesis") and module != "statistics":  # luck is no proof, and takes most of the time
            continue
        checks.append(Check(item.nodeid, _runner(item.obj, arguments, "monkeypatch" in missing), item.module))
    return checks


def _runner(function: Any, arguments: dict[str, Any], patches: bool) -> Callable[[], object]:
    def run() -> None:
        if not patches:
            function(**arguments)
            return
        with pytest.MonkeyPatch.context() as patch:
            function(**arguments, monkeypatch=patch)

    return run


def first_failure(checks: list[Check]) -> int | None:
    """The place of the first test that fails, None where all hold."""
    for number, check in enumerate(checks):
        try:
            check.run()
        except BaseException:
            return number
    return None


def renew(module: Module) -> None:
    """Executes the changed module and those that import it anew, and gives the tests the new objects."""
    names = list(TESTS)
    old: dict[int, tuple[Any, str]] = {}
    stale = {f"lmms_scoring.{module.name}"}
    for name in names[names.index(module.name) :]:
        full = f"lmms_scoring.{name}"
        loaded = sys.modules[full]
        values = list(vars(loaded).values())
        if full not in stale and not any(getattr(value, "__module__", "") in stale for value in values):
            source = Path(loaded.__file__ or "").read_text(encoding="utf-8")
            if not any(f"from {each} import" in source for each in stale):
                continue
        stale.add(full)
        for key, value in list(vars(loaded).items()):
            if not key.startswith("__"):
                old[id(value)] = (loaded, key)
        code = module.code() if name == module.name else compile(
            Path(loaded.__file__ or "").read_text(encoding="utf-8"), str(loaded.__file__), "exec"
        )  # fmt: skip
        exec(code, vars(loaded))
    for tests in list(sys.modules.values()):
        if Path(getattr(tests, "__file__", None) or "x").parent == ROOT / "tests":
            for key, value in list(vars(tests).items()):
                if id(value) in old and not isinstance(value, (int, str, type(None))):
                    loaded, name = old[id(value)]
                    setattr(tests, key, vars(loaded)[name])


def killer(mutant: Mutant, module: Module, checks: list[Check], limit: float) -> int | None:
    """The place of the test that notices the change (-1: the module no longer runs at all), None where none does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        signal.setitimer(signal.ITIMER_PROF, limit)
        answer = "-1"
        try:
            mutant.apply()
            if module.name == "outcomes":  # its classes stand in the tests' own tables
                for name in [name for name in sys.modules if name.startswith(("lmms_scoring", "tests."))]:
                    del sys.modules[name]
                fresh = type(sys)("lmms_scoring.outcomes")
                importlib.import_module("lmms_scoring")
                sys.modules["lmms_scoring.outcomes"] = fresh
                exec(module.code(), vars(fresh))
                checks = collect(module.name)
            else:
                renew(module)
            answer = str(first_failure(checks))
        except BaseException:
            pass
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return None if answer == "None" else int(answer or "-1")  # nothing: it ran out of time or memory


def reason(mutant: Mutant) -> str | None:
    """Why no reply can show the change, where the table says so."""
    for module, place, change, why in EQUIVALENT:
        parts = ((mutant.module, module), (mutant.place, place), (mutant.change, change))
        if all(fnmatch.fnmatchcase(part, pattern) for part, pattern in parts):
            return why
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS), metavar="module", help=", ".join(TESTS))
    parser.add_argument("--bounds", action="store_true", help="move the bounds of repetitions in patterns, too")
    parser.add_argument("--only", default="", help="only changes whose place or text holds this")
    chosen = parser.parse_args()
    re._MAXCACHE = 10_000  # type: ignore[attr-defined]
    for name in TESTS:
        importlib.import_module(f"lmms_scoring.{name}")
    left = 0
    for name in chosen.modules:
        left += run(name, chosen.bounds, chosen.only)
    return int(left > 0)


def run(name: str, bounds: bool, only: str) -> int:
    """The number of survivors in one module, which are printed."""
    module = Module(name, bounds)
    checks = collect(name)
    took = []
    for check in checks:
        begin = time.perf_counter()
        check.run()
        took.append(time.perf_counter() - begin)
    checks = [checks[number] for number in sorted(range(len(checks)), key=took.__getitem__)]
    whole = sum(took)
    sys.stderr.write(f"{name}: {len(checks)} tests, {whole:.1f} s\n")
    made = equivalent = 0
    survivors = 0
    begin = time.perf_counter()
    for mutant in module.mutants():
        if only not in f"{mutant.place} {mutant.change}":
            continue
        made += 1
        if reason(mutant):
            equivalent += 1
            continue
        number = killer(mutant, module, checks, 1 + 3 * whole)
        if number is None:
            survivors += 1
            print(f"utils/lmms_scoring/{name}.py:{mutant.line}: {mutant.place}: {mutant.change}", flush=True)
        elif number > 0:
            checks.insert(0, checks.pop(number))
    print(
        f"{name}: {made} changes, {made - equivalent - survivors} noticed, {equivalent} equivalent, {survivors} survive"
        f" ({time.perf_counter() - begin:.0f} s)",
        flush=True,
    )
    return survivors


if __name__ == "__main__":
    sys.exit(main())
