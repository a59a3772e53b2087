"""Print the folder of the task files, for `lmms-eval --include_path`.

Only names that lmms-eval does not have itself can be reached that way: its own tasks win over --include_path, and the
precedence that the installed package takes does not need it.
"""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: the command has no arguments."""


def run(args: argparse.Namespace) -> int:
    """Prints the folder."""
    from lmms_tasks.plugin import tasks_folder

    print(tasks_folder())
    return 0
