"""The command `lmms-tasks`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence

from lmms_tasks import __version__

#: Subcommands, the module that offers `configure(parser)` and `run(args)` for each, and what it does in one line.
COMMANDS = {
    "tasks": ("lmms_tasks.task_table", "list the tasks: rows, metrics, settings, and whose name they take over"),
    "path": ("lmms_tasks.path_command", "print the folder of the task files, for lmms-eval --include_path"),
    "data": ("lmms_tasks.data_cli", "where the data comes from; fetch it; verify it"),
    "tiny-vlm": ("lmms_tasks.tiny_vlm", "build a tiny random Qwen2.5-VL checkpoint that runs on a CPU"),
    "demo": ("lmms_tasks.demo", "three replayed models over the embedded sample, side by side"),
    "report": ("lmms_tasks.report.report_cli", "a page (or tables) from one or more runs"),
    "compare": ("lmms_tasks.report.compare_cli", "whether run B is really better than run A"),
    "leaderboard": ("lmms_tasks.report.leaderboard_cli", "which published protocols a run reproduces"),
}

DESCRIPTION = """\
SLAKE, MedXpertQA and VLMs Are Biased for lmms-eval.

Run an evaluation with lmms-eval itself:
  lmms-eval --model qwen2_5_vl --model_args pretrained=… --tasks slake,medxpertqa,vlms_are_biased \\
            --batch_size 8 --output_path results --log_samples
or, in scripts and on clusters, with the same arguments through
  lmms-tasks eval …        which makes sure of the tasks and exits with status 1 where an evaluation failed.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 well, 1 a fault was found or a run failed, 2 the call was not understood."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["eval"]:
        # Its arguments are lmms-eval's, which argparse must not touch.
        from lmms_tasks import evaluate

        return evaluate.run(arguments[1:])
    args = _parser(arguments[0] if arguments else "").parse_args(arguments)
    if args.command is None:
        _parser("").print_help()
        return 2
    try:
        status: int = args.run(args)
        return status
    except BrokenPipeError:  # as in `lmms-tasks tasks | head`
        sys.stderr.close()
        return 0


def _parser(chosen: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lmms-tasks", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"lmms-tasks {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands.add_parser("eval", help="lmms-eval's evaluation with our tasks made sure of, and a true exit status")
    for name, (module, line) in COMMANDS.items():
        command = commands.add_parser(name, help=line, formatter_class=argparse.RawDescriptionHelpFormatter)
        # Only the chosen command is imported: `lmms-tasks --help` answers at once.
        if name == chosen:
            offered = importlib.import_module(module)
            command.description = offered.__doc__
            offered.configure(command)
            command.set_defaults(run=offered.run)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
