"""The controls hand no real picture to a model, and change nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_data import images
from lmms_data.errors import ImageError
from lmms_tasks import task_table
from lmms_tasks.controls import hooks

# lmms-eval takes ten seconds to import, and is imported once a worker.
pytestmark = pytest.mark.xdist_group("in-process")

BASES = ["slake", "medxpertqa_mm", "vlms_are_biased_main"]
LEAVES = {
    "slake": ["slake_en_open", "slake_en_closed", "slake_zh_open", "slake_zh_closed"],
    "medxpertqa_mm": ["medxpertqa_mm"],
    "vlms_are_biased_main": ["vlms_are_biased_main"],
}
Asked = dict[str, list[tuple[list[str], list[Image.Image]]]]


@pytest.fixture(scope="module")
def asked() -> Iterator[Callable[[str, str], Asked]]:
    """What a recording model is asked by a task over the sample: texts and pictures, document by document."""
    with environment(LMMS_TASKS_DATA="sample", HF_HUB_OFFLINE="1"):
        from lmms_eval import evaluator
        from lmms_eval.tasks import TaskManager

        from lmms_tasks import plugin
        from tests.scripted_models import ChatAlone, SimpleAlone

        plugin.register()
        manager = TaskManager()
        kept: dict[tuple[str, str], Asked] = {}

        def ask(task: str, form: str) -> Asked:
            if (task, form) not in kept:
                model = {"chat": ChatAlone, "simple": SimpleAlone}[form]()
                results = evaluator.simple_evaluate(
                    model=model, tasks=[task], bootstrap_iters=0, task_manager=manager, limit=6
                )
                counts = {name: count["effective"] for name, count in results["n-samples"].items()}
                everything = iter([parts(one) for one in model.asked])
                # Requests come task by task, in an order that the number of each task's documents does not tell.
                kept[task, form] = {"all": sorted(everything, key=lambda one: one[0])}
                assert sum(counts.values()) == len(model.asked)
            return kept[task, form]

        yield ask


@contextmanager
def environment(**values: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        yield


def parts(one: Any) -> tuple[list[str], list[Image.Image]]:
    """Texts and pictures of what a model was asked."""
    if isinstance(one, tuple):
        return [one[0]], list(one[1] or [])
    content = [part for message in one for part in message["content"]]
    return [p["text"] for p in content if p["type"] == "text"], [p["url"] for p in content if p["type"] == "image"]


@pytest.mark.parametrize("form", ["chat", "simple"])
@pytest.mark.parametrize("base", BASES)
def test_the_blind_control_asks_the_same_and_shows_nothing(
    asked: Callable[[str, str], Asked], base: str, form: str
) -> None:
    real, blind = asked(base, form)["all"], asked(f"{base}_blind", form)["all"]
    assert [texts for texts, _ in blind] == [texts for texts, _ in real]
    assert all(pictures for _, pictures in real)
    assert not any(pictures for _, pictures in blind)


@pytest.mark.parametrize("form", ["chat", "simple"])
@pytest.mark.parametrize("base", BASES)
def test_the_black_control_asks_the_same_and_shows_black_pictures_of_the_same_sizes(
    asked: Callable[[str, str], Asked], base: str, form: str
) -> None:
    real, black = asked(base, form)["all"], asked(f"{base}_black", form)["all"]
    assert [texts for texts, _ in black] == [texts for texts, _ in real]
    for (_, theirs), (_, ours) in zip(real, black, strict=True):
        assert sorted(picture.size for picture in ours) == sorted(picture.size for picture in theirs)
        assert {picture.mode for picture in ours} == {"RGB"}
        assert all(picture.getextrema() == ((0, 0),) * 3 for picture in ours)
        assert not any(picture.getextrema() == ((0, 0),) * 3 for picture in theirs)


def test_the_controls_have_the_rows_metrics_and_settings_of_their_tasks() -> None:
    found = {entry.name: entry for entry in task_table.entries()}
    for base in BASES:
        for kind in ("blind", "black"):
            assert found[f"{base}_{kind}"].rows == found[base].rows
            for leaf in LEAVES[base]:
                control, real = found[f"{leaf}_{kind}"], found[leaf]
                assert (control.metrics, control.settings) == (real.metrics, real.settings)


def test_one_tag_gathers_the_controls(asked: Callable[[str, str], Asked]) -> None:
    from lmms_eval.tasks import TaskManager

    index = TaskManager().task_index
    assert sorted(index["lmms_tasks_controls"]["task"]) == sorted(
        f"{leaf}_{kind}" for leaves in LEAVES.values() for leaf in leaves for kind in ("blind", "black")
    )


def test_a_control_is_a_few_lines_of_yaml(root: Path) -> None:
    files = sorted((root / "lmms_tasks" / "controls").glob("*.yaml"))
    assert len(files) == 14
    assert all(len(file.read_text(encoding="utf-8").splitlines()) <= 8 for file in files)


def test_the_size_of_a_picture_is_read_without_decoding_it() -> None:
    file = io.BytesIO()
    Image.effect_noise((640, 480), 80).save(file, "JPEG")
    assert images.size(file.getvalue(), "noise") == (640, 480)
    assert images.size(file.getvalue()[:1000], "its beginning") == (640, 480)
    with pytest.raises(ImageError, match="not a readable image"):
        images.size(b"<html>", "a page")


def test_a_black_picture_is_the_receivers_own() -> None:
    first, second = hooks.black([(3, 2), (3, 2)])
    first.putpixel((0, 0), (255, 0, 0))
    assert second.getextrema() == ((0, 0),) * 3
