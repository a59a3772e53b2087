"""What README says that a run costs is counted from the data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import cost
from tests.running import command, environment


@pytest.mark.parametrize(
    ("size", "qwen", "internvl"),
    [((28, 28), 4, 256), ((448, 448), 256, 256), ((1024, 1024), 1369, 256), ((1344, 448), 768, 1024), ((896, 448), 512, 768)],
)  # fmt: skip
def test_image_tokens(size: tuple[int, int], qwen: int, internvl: int) -> None:
    assert cost.qwen(*size) == qwen
    if size != (1024, 1024):
        assert cost.internvl(*size) == internvl


def test_the_sample_is_counted(tmp_path: Path) -> None:
    found = command(sys.executable, cost.__file__, cwd=tmp_path, env=environment(LMMS_TASKS_DATA="sample"))
    assert found.status == 0, found.output
    lines = [[cell.strip() for cell in line.split("|")] for line in found.output.splitlines() if line.startswith("| `")]
    assert [line[1] for line in lines] == [f"`{task}`" for task in cost.TASKS]
    for line in lines:
        assert line[7] == f"{int(line[3].replace(',', '')) * 576 / 1e6:.2f}"
