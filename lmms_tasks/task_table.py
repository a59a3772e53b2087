"""List the tasks and groups of the pack, read from their YAML files.

Rows are the published counts. "overrides" marks the names that the installed lmms-eval has too: with the pack installed
they mean the pack's tasks (LMMS_TASKS_PRECEDENCE=0 gives them back).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lmms_tasks.plugin import tasks_folder


@dataclass
class Entry:
    """A task or group as its YAML file defines it."""

    name: str
    kind: str
    """group or task"""
    members: list[str] = field(default_factory=list)
    rows: int | None = None
    metrics: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    overrides: bool = False


class _Loader(yaml.SafeLoader):
    """Reads the files without importing what they name."""


_Loader.add_constructor("!function", lambda loader, node: str(node.value))


def entries() -> list[Entry]:
    """All groups and tasks of the pack, groups before their members, in the order of the folders."""
    configs = {config["group" if isinstance(config["task"], list) else "task"]: config for config in _configs()}
    theirs = _builtin_names()
    return [_entry(name, configs, theirs) for name in sorted(configs, key=lambda name: _order(name, configs))]


def _configs() -> Iterator[dict[str, Any]]:
    for path in sorted(tasks_folder().rglob("*.yaml")):
        config = _read(path)
        if "task" in config:
            yield config


def _read(path: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader) or {}
    included = config.pop("include", None)
    names = [included] if isinstance(included, str) else included or []
    merged: dict[str, Any] = {}
    for name in reversed(names):
        merged.update(_read(path.parent / name))
    return {**merged, **config, "folder": path.parent.name}


def _order(name: str, configs: dict[str, dict[str, Any]]) -> tuple[str, int, str]:
    config = configs[name]
    return (config["folder"], 0 if isinstance(config["task"], list) else 1, name)


def _entry(name: str, configs: dict[str, dict[str, Any]], theirs: set[str]) -> Entry:
    config = configs[name]
    if isinstance(config["task"], list):
        members = [str(member) for member in config["task"]]
        rows = [_entry(member, configs, theirs).rows for member in members if member in configs]
        return Entry(
            name,
            "group",
            members,
            sum(count for count in rows if count is not None),
            [entry["metric"].split(",")[0] for entry in config.get("aggregate_metric_list", [])],
            overrides=name in theirs,
        )
    return Entry(
        name,
        "task",
        [],
        _rows(config),
        [entry["metric"] for entry in config["metric_list"]],
        config.get("generation_kwargs", {}),
        name in theirs,
    )


def _rows(config: dict[str, Any]) -> int:
    # process_docs names the subset, e.g. lmms_tasks.slake.hooks.en_open.
    module, _, name = str(config["process_docs"]).rpartition(".")
    rows: int = getattr(importlib.import_module(module), name).published_rows
    return rows


def _builtin_names() -> set[str]:
    """The names of the tasks that the installed lmms-eval has itself; empty where it is not installed."""
    spec = importlib.util.find_spec("lmms_eval")
    if spec is None or not spec.submodule_search_locations:
        return set()
    folder = Path(next(iter(spec.submodule_search_locations))) / "tasks"
    names = set()
    for path in folder.rglob("*.yaml"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key in {"task", "group"} and value.strip():
                names.add(value.strip().strip("\"'"))
    return names


def markdown(found: list[Entry]) -> str:
    """The table of the README."""
    lines = ["| task | rows | metrics |", "|---|---|---|"]
    for entry in found:
        name = f"`{entry.name}`" if entry.kind == "task" else f"**`{entry.name}`**"
        metrics = ", ".join(f"`{metric}`" for metric in entry.metrics)
        lines.append(f"| {name} | {entry.rows:,} | {metrics} |")
    return "\n".join(lines)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--format", choices=("text", "md", "json"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    found = entries()
    if args.format == "json":
        print(json.dumps([asdict(entry) for entry in found], indent=2))
    elif args.format == "md":
        print(markdown(found))
    else:
        print(_text(found))
    return 0


def _text(found: list[Entry]) -> str:
    width = max(len(entry.name) for entry in found) + 2
    lines = []
    for entry in found:
        mark = "overrides lmms-eval's own" if entry.overrides else ""
        if entry.kind == "group":
            lines.append(
                f"\n{entry.name:<{width}} {entry.rows:>6,} rows   group of {', '.join(entry.members)}  {mark}".rstrip()
            )
        else:
            lines.append(f"  {entry.name:<{width - 2}} {entry.rows:>6,} rows   {mark}".rstrip())
            lines.append(f"      metrics:  {', '.join(entry.metrics)}")
            lines.append(f"      settings: {', '.join(f'{key}={value}' for key, value in entry.settings.items())}")
    return "\n".join(lines).lstrip("\n")
