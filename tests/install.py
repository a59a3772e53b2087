"""Installs the project with its development tools into the running environment, in an order that works everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def pip(*arguments: str) -> None:
    """Runs pip; ends with its status where it fails."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    print("+", *command[1:], flush=True)
    subprocess.run(command, check=True)


def main() -> None:
    # One resolution for everything: lmms-eval pulls torch in, and pip picks a torchvision that fits it.
    pip("--editable", f"{ROOT}[dev,hf]")


if __name__ == "__main__":
    main()
