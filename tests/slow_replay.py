"""`lmms-eval` whose replay model takes its time and writes a dot for each request: `ASKED=file DELAY=seconds`."""

from __future__ import annotations

import os
import time
from typing import Any

from lmms_tasks.models.replay import Replay

_answer = Replay._answer


def _slowly(model: Replay, *arguments: Any) -> list[str]:
    time.sleep(float(os.environ["DELAY"]))
    with open(os.environ["ASKED"], "a") as asked:
        asked.write(".")
    return _answer(model, *arguments)


if __name__ == "__main__":
    Replay._answer = _slowly  # type: ignore[method-assign]
    from lmms_eval.__main__ import cli_evaluate

    cli_evaluate()
