"""Nothing of the data, of a reply or of a log is ever evaluated, unpickled, extracted or put into a command."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lmms_tasks import task_table

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(file for part in ("lmms_tasks", "utils") for file in (ROOT / part).rglob("*.py"))

#: Modules that make objects, and so run code, of what they read.
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle"}
#: Calls that run text or bytes, or unpack a zip to where its names say; by their last two names.
BANNED = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "yaml.unsafe_load", "yaml.full_load",
    "yaml.load_all", "jinja2.Template", "Template", "pandas.read_pickle", "pd.read_pickle", "extractall", "unpack_archive",
    "shutil.unpack_archive", "runpy.run_path", "literal_eval", "ast.literal_eval",
}  # fmt: skip
#: The modules that may start a process, whose words are all ours.
PROCESSES = {"lmms_tasks/demo.py"}
#: The modules that may say that a text is HTML already; each place is looked at by hand.
MARKUP = {"lmms_tasks/report/page.py"}


def faults(source: str, name: str = "") -> Iterator[str]:
    """What a source does that it may not, each with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            modules = []
        for module in modules:
            top = module.partition(".")[0]
            if top in UNPICKLERS or (top == "subprocess" and name not in PROCESSES):
                yield f"line {node.lineno} imports {module}"
            if top == "markupsafe" and name not in MARKUP:
                yield f"line {node.lineno} imports {module}"
        if isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(call: ast.Call) -> Iterator[str]:
    words = ast.unparse(call.func).split(".")
    keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if ".".join(words[-2:]) in BANNED or (len(words) == 1 and words[0] in BANNED) or words[-1] == "extractall":
        yield f"line {call.lineno} calls {'.'.join(words)}"
    if words[-2:] == ["yaml", "load"] and "Loader" not in keywords.get("Loader", ""):
        yield f"line {call.lineno} reads YAML without a loader of its own"
    if keywords.get("shell", "False") != "False":
        yield f"line {call.lineno} gives a command to a shell"
    if keywords.get("allow_pickle", "False") != "False" or keywords.get("trust_remote_code", "False") != "False":
        yield f"line {call.lineno} runs code out of data"
    if words[-1] == "Environment" and keywords.get("autoescape") != "True":
        yield f"line {call.lineno} makes a page without escaping"


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_source_evaluates_unpickles_or_extracts(file: Path) -> None:
    assert not list(faults(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix()))


@pytest.mark.parametrize(
    "source",
    [
        "eval(reply)", "exec(reply)", "compile(reply, '', 'eval')", "__import__(name)", "import pickle",
        "from pickle import loads", "import dill as d", "import marshal", "yaml.load(text)", "yaml.load(text, Loader=x)",
        "yaml.unsafe_load(text)", "import os\nos.system(reply)", "run(reply, shell=True)", "import subprocess",
        "torch.load(path)", "numpy.load(path, allow_pickle=True)", "load_dataset(name, trust_remote_code=True)",
        "archive.extractall(folder)", "jinja2.Environment()", "jinja2.Environment(autoescape=False)",
        "jinja2.Template(reply)", "from markupsafe import Markup", "ast.literal_eval(reply)",
    ],
)  # fmt: skip
def test_each_way_is_noticed(source: str) -> None:
    assert list(faults(source))


@pytest.mark.parametrize(
    "source",
    [
        "re.compile('a')", "yaml.safe_load(text)", "yaml.load(text, Loader=_Loader)", "model.eval", "json.loads(reply)",
        "subprocess_of_words(a)", "jinja2.Environment(autoescape=True)", "run(words, shell=False)",
    ],
)  # fmt: skip
def test_what_is_harmless_is_not(source: str) -> None:
    assert not list(faults(source))


def test_our_loader_of_yaml_makes_nothing_but_plain_values() -> None:
    assert issubclass(task_table._Loader, yaml.SafeLoader)
    with pytest.raises(yaml.YAMLError):
        yaml.load("!!python/object/apply:os.system ['echo no']", Loader=task_table._Loader)


def test_the_reports_script_writes_text_and_never_html() -> None:
    script = (ROOT / "lmms_tasks" / "report" / "report.js").read_text(encoding="utf-8")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("):
        assert way not in script
