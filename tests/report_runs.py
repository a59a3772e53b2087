"""Writes runs on disk in the shape that lmms-eval 0.7.3 gives them, for tests that need no evaluation."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_scoring.vlms_are_biased import TOPICS

GENERATION: dict[str, dict[str, Any]] = {
    "slake": {"max_new_tokens": 32, "temperature": 0.0, "do_sample": False, "until": []},
    "medxpertqa": {"max_new_tokens": 2048, "temperature": 0.0, "do_sample": False, "until": []},
    "vlms_are_biased": {
        "max_new_tokens": 32, "temperature": 0.0, "top_p": 1.0, "num_beams": 1, "do_sample": False, "until": ["\n\n"],
    },
}  # fmt: skip
FULL = {
    "slake_en_open": 645, "slake_en_closed": 416, "slake_zh_open": 613, "slake_zh_closed": 420,
    "medxpertqa_text": 2450, "medxpertqa_mm": 2000,
    "vlms_are_biased_main": 2784, "vlms_are_biased_identification": 1392, "vlms_are_biased_withtitle": 2784,
    "vlms_are_biased_original": 458, "vlms_are_biased_remove_background_q1q2": 2784,
    "vlms_are_biased_remove_background_q3": 1392,
}  # fmt: skip
GROUPS = {
    "slake": ["slake_en", "slake_zh"],
    "slake_en": ["slake_en_open", "slake_en_closed"],
    "slake_zh": ["slake_zh_open", "slake_zh_closed"],
    "medxpertqa": ["medxpertqa_text", "medxpertqa_mm"],
    "vlms_are_biased": [name for name in FULL if name.startswith("vlms")],
}
#: Outcome, official score, and how the flexible reading came about.
KINDS = (
    ("correct", 1.0, "marker"), ("correct", 0.0, "statement"), ("other", 0.0, "whole"),
    ("unreadable", 0.0, "none stated"),
    ("biased", 0.0, "braces"), ("other", 1.0, "whole"),
)  # fmt: skip


def benchmark(task: str) -> str:
    """The benchmark of a task."""
    return next(name for name in GENERATION if task.startswith(name))


def line(task: str, index: int, chance: random.Random, skill: float = 0.5, reply: str | None = None) -> dict[str, Any]:
    """A line of the sample log, its outcome drawn; neighbouring lines share a cluster."""
    name = benchmark(task)
    kinds = KINDS if name == "vlms_are_biased" else KINDS[:4]
    # The cluster's own luck makes its members alike, as questions to one picture are.
    luck = random.Random(f"{task}{index // 6}").random() - 0.5
    right = chance.random() < min(0.98, max(0.02, skill + 0.5 * luck))
    outcome, acc, how = kinds[0] if right else chance.choice(kinds[1:])
    reference = "ABCDE"[index * 7 % 5] if name == "medxpertqa" else str(index % 7)
    other = "E" if reference != "E" else "A"
    read = {"correct": reference, "unreadable": None, "biased": "9", "other": other}[outcome]
    cluster = f"{name} row {index}" if name == "medxpertqa" else f"{name} object {index // 6}"
    biased = None if "original" in task else float(outcome == "biased")
    slices: dict[str, Any] = {
        "slake": {"language": task[6:8], "answer_type": "OPEN" if "open" in task else "CLOSED",
                  "content_type": ("Organ", "Size", "Color")[index % 3], "modality": ("CT", "MRI")[index % 2],
                  "location": "Lung", "base_type": "vqa"},
        "medxpertqa": {"question_type": ("Reasoning", "Understanding")[index % 2],
                       "medical_task": ("Diagnosis", "Treatment")[index % 2], "body_system": f"system {index % 4}",
                       "images": index % 3 + 1 if task.endswith("mm") else 0},
        "vlms_are_biased": {"topic": TOPICS[index // 6 % 7], "sub_topic": f"sub {index // 6 % 9}",
                            "type_of_question": f"Q{index % 2 + 1}", "pixel": (384, 768, 1152)[index % 3],
                            "bias": None if biased is None else "9", "biased": biased},
    }[name]  # fmt: skip

    def item(score: float) -> dict[str, Any]:
        return {"score": score, "cluster": cluster}

    metrics: dict[str, Any] = {
        "acc": {**item(acc), "row": f"row-{index}", "reference": reference, "official": reference if acc else other,
                "outcome": outcome, "read": read, "how": how, "format_ok": how in ("marker", "braces"),
                "slices": slices},
        "acc_flexible": item(float(outcome == "correct")),
        "format_ok": item(float(how in ("marker", "braces"))),
        "unreadable": item(float(outcome == "unreadable")),
    }  # fmt: skip
    if name == "slake":
        metrics |= {"token_f1": item(chance.random()), "token_recall": item(chance.random())}
    if name == "medxpertqa":
        metrics |= {"acc_reasoning": item(acc) if index % 2 == 0 else None,
                    "acc_understanding": item(acc) if index % 2 else None}  # fmt: skip
    if name == "vlms_are_biased" and biased is not None:
        metrics |= {"bias_ratio": item(biased), "bias_ratio_flexible": item(float(outcome == "biased")),
                    "task_mean": {"topic": slices["topic"], "value": acc}}  # fmt: skip
    return {
        "doc_id": index, "target": reference,
        "filtered_resps": reply if reply is not None else f"I think.\nANSWER: {read}",
        "token_counts": [None], "doc_hash": "0", "input_media": [], **metrics,
        "input": f"What is shown, number {index}?\nAnswer the question.",
    }  # fmt: skip


def write(
    folder: Path,
    tasks: Mapping[str, int] | Iterable[str],
    *,
    model: str = "model",
    skill: float = 0.5,
    seed: int = 0,
    replies: Sequence[str] = (),
    generation: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    date: str = "20260102_030405",
    complete: bool = False,
) -> Path:
    """The output folder of a run over these tasks and numbers of rows, with its results file and sample logs.

    With `complete` the numbers of rows judged are the published ones, whatever the logs hold.
    """
    sizes = tasks if isinstance(tasks, Mapping) else {name: FULL[name] for name in tasks}
    place = folder / model
    place.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    results: dict[str, Any] = {}
    for task, size in sizes.items():
        lines = [
            line(task, index, chance, skill, replies[index % len(replies)] if replies else None)
            for index in range(size)
        ]
        with (place / f"{date}_samples_{task}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in lines)
        scores = [entry["acc"]["score"] for entry in lines]
        results[task] = {"alias": task, "acc,none": sum(scores) / len(scores), "acc_stderr_clustered,none": 0.01}
    groups = {name: members for name, members in GROUPS.items() if all(_covered(member, sizes) for member in members)}
    content = {
        "results": results,
        "group_subtasks": {**groups, **{task: [] for task in sizes}},
        "configs": {task: _config(task, generation or {}, metadata or {}) for task in sizes},
        "n-samples": {
            task: {"original": FULL[task], "effective": FULL[task] if complete else size}
            for task, size in sizes.items()
        },
        "config": {"model": "vllm", "model_args": f"model={model}", "limit": None, "offset": 0, "batch_size": 1,
                   **(config or {})},
        "git_hash": None,
        "lmms_eval_version": "0.7.3",
        "model_name": model,
        "total_evaluation_time_seconds": "75.2",
    }  # fmt: skip
    (place / f"{date}_results.json").write_text(json.dumps(content), encoding="utf-8")
    return place


def _covered(name: str, sizes: Mapping[str, int]) -> bool:
    return name in sizes or (name in GROUPS and all(_covered(member, sizes) for member in GROUPS[name]))


def _config(task: str, generation: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    name = benchmark(task)
    return {
        "task": task,
        "process_docs": f"Subset({name}, {task.removeprefix(name + '_')})",
        "description": "You are a helpful medical assistant.\n\n" if name == "medxpertqa" else "",
        "generation_kwargs": {**GENERATION[name], **generation},
        "repeats": 1,
        "num_fewshot": 0,
        "output_type": "generate_until",
        "metadata": {"version": "1.0", "pack": "lmms-tasks 0.1.0",
                     "data": f"{name} from the Hugging Face hub, revision main",
                     "rows": FULL[task], "fingerprint": "0123456789abcdef", **metadata},
    }  # fmt: skip


def logged(place: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of every sample log of a run, by task."""
    found = {}
    for path in sorted(place.glob("*_samples_*.jsonl")):
        task = path.stem.split("_samples_")[1]
        found[task] = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return found
