"""What the README prints is what the commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lmms_tasks import task_table
from tests.running import command

READMES = ("README.md", "README.zh-CN.md")


def marked(root: Path, name: str, mark: str) -> str:
    """The part of a README between the comments of this mark."""
    found = re.search(f"<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->", (root / name).read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{name} has no part marked {mark}"
    return found[1]


@pytest.mark.parametrize("name", READMES)
def test_the_table_of_tasks_is_generated_from_the_yaml_files(root: Path, name: str) -> None:
    assert marked(root, name, "tasks") == task_table.markdown(task_table.entries())


def test_the_demo_prints_what_the_readme_shows(root: Path, tmp_path: Path) -> None:
    run = command("lmms-tasks", "demo", "--no-hf", "--output", str(tmp_path / "demo"), cwd=tmp_path)
    assert run.status == 0, run.output[-3000:]
    for name in READMES:
        assert marked(root, name, "demo").removeprefix("```\n").removesuffix("\n```") in run.output


def test_the_demo_works_a_second_time_and_fails_where_no_results_are_written(tmp_path: Path) -> None:
    output = tmp_path / "demo" / "careful"
    output.mkdir(parents=True)
    (output / "old_results.json").write_text("{}")
    # A folder called like the first task makes the run stop: the old results must not be taken for new ones.
    (tmp_path / "slake,medxpertqa,vlms_are_biased").mkdir()
    run = command("lmms-tasks", "demo", "--no-hf", "--output", str(tmp_path / "demo"), cwd=tmp_path)
    assert run.status == 1
    assert "no results were written" in run.output


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_the_files_that_a_readme_names_are_there(root: Path, name: str) -> None:
    named = set(re.findall(r"\btests/[\w/.]*\w", (root / name).read_text(encoding="utf-8")))
    assert named
    assert not [path for path in sorted(named) if not (root / path).exists()]


@pytest.mark.parametrize(
    "words", [("--version",), ("--help",), ("path",), ("tasks", "--format", "json"), ("data", "--help")]
)
def test_the_command_answers(words: tuple[str, ...], tmp_path: Path) -> None:
    run = command("lmms-tasks", *words, cwd=tmp_path)
    assert run.status == 0, run.output
    if words[0] == "tasks":
        listed = {entry["name"]: entry for entry in json.loads(run.output)}
        assert listed["slake"]["overrides"]
        assert listed["slake"]["rows"] == 2094
        assert listed["vlms_are_biased"]["rows"] == 11_594
        assert not listed["medxpertqa"]["overrides"]


@pytest.mark.parametrize(("words", "status"), [((), 2), (("no-such-command",), 2), (("eval",), 2), (("tiny-vlm",), 2)])
def test_a_call_that_is_not_understood_exits_with_2(words: tuple[str, ...], status: int, tmp_path: Path) -> None:
    assert command("lmms-tasks", *words, cwd=tmp_path).status == status


def test_versions_of_the_scores_equal_those_of_the_benchmarks_changelogs(root: Path) -> None:
    from lmms_tasks.medxpertqa.hooks import mm
    from lmms_tasks.slake.hooks import en_open
    from lmms_tasks.vlms_are_biased.hooks import main

    for subset in (en_open, mm, main):
        text = (root / "lmms_tasks" / subset.benchmark / "README.md").read_text(encoding="utf-8")
        newest = re.search(r"## Changelog\n\n- ([\d.]+):", text)
        assert newest
        assert newest[1] == subset.metadata["version"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    import lmms_tasks

    head = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert head
    assert head[1] == lmms_tasks.__version__


def test_the_numbers_quoted_from_real_replies_are_those_of_make_numbers(root: Path, shared: Path) -> None:
    run = command("python", str(root / "tests" / "quoted_numbers.py"), cwd=root)
    assert run.status == 0, run.output
    printed = {line.split()[0]: line.split()[1:] for line in run.output.splitlines() if line.strip()}
    rows, acc, unread, flexible, unreadable, _ = printed["medxpertqa_mistral_small_answer"]
    said = (root / "README.md").read_text(encoding="utf-8")
    assert f"on {rows} real final answers of one model to MedXpertQA it is {acc}, with {unread} replies unread" in said
    assert f"`acc_flexible` is {flexible}" in said
    medxpertqa = (root / "lmms_tasks" / "medxpertqa" / "README.md").read_text(encoding="utf-8")
    assert f"`acc` {acc} ({unread} unread), `acc_flexible` {flexible} ({unreadable} unread)" in medxpertqa
    assert "the authors' reading 76 right (0.174)" in medxpertqa
    assert "76 of 438 right, 0.174" in run.output
    files = [values for name, values in printed.items() if name.startswith("slake_huatuo")]
    differ = sum(int(values[5]) for values in files)
    slake = (root / "lmms_tasks" / "slake" / "README.md").read_text(encoding="utf-8")
    assert f"`acc_flexible` is {differ} rows above `acc`" in slake
    sent, different = printed["slake_huatuogpt_vision_7b_original"][6].split("/")
    assert f"{sent} of 1,061 replies are sent, {different}" in said
    volumes = re.search(r"(\d+) MB as files, (\d+) MB as PNG", run.output)
    assert volumes
    assert f"{volumes[1]} MB of pictures instead of some 700" in said
    assert 650 < int(volumes[2]) < 750
