"""Every table of a report, computed anew from the lines of the sample logs, with numpy and scipy and none of its code."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

Entry = Mapping[str, Any]
Rows = list[list[str]]
OUTCOMES = ("correct", "biased", "other", "unreadable")
MAIN = "vlms_are_biased_main"
TOPICS = ("Animals", "Logos", "Flags", "Chess Pieces", "Game Boards", "Optical Illusion", "Patterned Grid")
SLAKE = ("slake_en_open", "slake_en_closed", "slake_zh_open", "slake_zh_closed")
VARIANTS = {
    MAIN: "main: changed pictures",
    "vlms_are_biased_withtitle": "subject's name in the picture",
    "vlms_are_biased_remove_background_q1q2": "main, no background",
    "vlms_are_biased_original": "original: unchanged pictures",
    "vlms_are_biased_identification": "identification (yes or no)",
    "vlms_are_biased_remove_background_q3": "identification, no background",
}
CONTROLS = {
    "vlms_are_biased_withtitle": "subject's name in it",
    "vlms_are_biased_remove_background_q1q2": "no background",
    "vlms_are_biased_original": "original pictures",
}


@dataclass
class Logged:
    """A run as it lies on disk: the parsed lines of each sample log, and the parsed results file."""

    label: str
    logs: dict[str, list[dict[str, Any]]]
    results: dict[str, Any]

    def entries(self, tasks: Iterable[str]) -> list[dict[str, Any]]:
        """The lines of these tasks."""
        return [entry for task in tasks for entry in self.logs.get(task, [])]

    def leaves(self, name: str) -> list[str]:
        """The tasks with lines below a group, or the task itself."""
        below = self.results["group_subtasks"].get(name) or []
        return [leaf for child in below for leaf in self.leaves(child)] or [name] * (name in self.logs)


# --- numbers --------------------------------------------------------------------------------------------------------


def percent(value: float) -> str:
    """A share in percent with one decimal."""
    return f"{100 * value:.1f}"


def signed(value: float) -> str:
    """The same with its sign, none for a zero."""
    return percent(abs(value)) if percent(abs(value)) == "0.0" else f"{100 * value:+.1f}".replace("-", "−")


def scored(entries: Iterable[Entry], metric: str) -> list[tuple[Entry, float, str]]:
    """The lines that have the metric, with its score and cluster."""
    return [(entry, entry[metric]["score"], entry[metric]["cluster"]) for entry in entries if entry.get(metric)]


def share(entries: Iterable[Entry], metric: str) -> str:
    """The mean of a metric and its 95 % interval: clustered, or Wilson's over clusters where nothing varies."""
    found = scored(entries, metric)
    if not found:
        return "–"
    values = np.array([score for _, score, _ in found])
    names, codes = np.unique([cluster for _, _, cluster in found], return_inverse=True)
    mean, count = values.mean(), len(names)
    if count < 2:
        return percent(mean)
    error = math.sqrt(count / (count - 1) * (np.bincount(codes, values - mean) ** 2).sum()) / len(values)
    if error < 1e-12:
        low, high = wilson(mean, count)
    else:
        reach = scipy.stats.t.ppf(0.975, count - 1) * error
        low, high = max(0.0, mean - reach), min(1.0, mean + reach)
    return f"{percent(mean)} {percent(low)}–{percent(high)}"


def wilson(mean: float, count: int) -> tuple[float, float]:
    """Wilson's interval: the shares p at which the mean of so many units lies 1.96 of p's own errors away."""
    z = scipy.stats.norm.ppf(0.975)
    low, high = sorted(np.roots([1 + z**2 / count, -2 * mean - z**2 / count, mean**2]))
    return low, high


def topic_mean(entries: Iterable[Entry], metric: str) -> str:
    """The unweighted mean of topics; its interval from 2,000 draws of objects with seed 0, topic after topic."""
    topics: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry, score, cluster in scored(entries, metric):
        topics[entry["acc"]["slices"]["topic"]][cluster].append(score)
    if not topics:
        return "–"
    objects = [
        sorted((sum(scores), len(scores)) for scores in topics[name].values()) for name in sorted(topics)
    ]  # fmt: skip
    value = np.mean([sum(total for total, _ in topic) / sum(count for _, count in topic) for topic in objects])
    rng, draws = random.Random(0), np.empty((2000, len(objects)))
    for draw in draws:
        for place, topic in enumerate(objects):
            totals, counts = zip(*rng.choices(topic, k=len(topic)), strict=True)
            draw[place] = sum(totals) / sum(counts)
    low, high = np.quantile(draws.mean(axis=1), [0.025, 0.975])
    if min(map(len, objects)) < 2 or low == high:
        return percent(value)
    return f"{percent(value)} {percent(low)}–{percent(high)}"


def contrast(main: Sequence[Entry], control: Sequence[Entry], metric: str, by: Callable[[Entry], str]) -> list[str]:
    """Rows, means and difference of two sides, topics weighing alike, with the interval clustered over both sides."""
    sides = [scored(side, metric) for side in (main, control)]
    both = sorted({by(entry) for entry, _, _ in sides[0]} & {by(entry) for entry, _, _ in sides[1]})
    if not both:
        return []
    means, counts, moves, units = [], [], Counter[str](), []
    for sign, side in zip((-1, 1), sides, strict=True):
        parts = [[(score, cluster) for entry, score, cluster in side if by(entry) == name] for name in both]
        centres = [np.mean([score for score, _ in part]) for part in parts]
        means.append(np.mean(centres))
        counts.append(sum(map(len, parts)))
        units.append(len({cluster for part in parts for _, cluster in part}))
        for part, centre in zip(parts, centres, strict=True):
            for score, cluster in part:
                moves[cluster] += sign * (score - centre) / len(part) / len(both)
    count, value = len(moves), means[1] - means[0]
    cells = [f"{counts[0]:,}", f"{counts[1]:,}", percent(means[0]), percent(means[1])]
    if count < 2:
        return [*cells, signed(value)]
    error = math.sqrt(count / (count - 1) * sum(move**2 for move in moves.values()))
    if error < 1e-12:
        (low0, high0), (low1, high1) = (wilson(mean, n) for mean, n in zip(means, units, strict=True))
        low = value - math.sqrt((means[1] - low1) ** 2 + (high0 - means[0]) ** 2)
        high = value + math.sqrt((high1 - means[1]) ** 2 + (means[0] - low0) ** 2)
    else:
        reach = scipy.stats.t.ppf(0.975, count - 1) * error
        low, high = value - reach, value + reach
    return [*cells, f"{signed(value)} {signed(max(-1, low))} to {signed(min(1, high))}"]


def slices(entry: Entry) -> dict[str, Any]:
    """The columns by which a line may be broken down."""
    found: dict[str, Any] = entry["acc"]["slices"]
    return found


# --- tables ---------------------------------------------------------------------------------------------------------


class Tables:
    """The tables that a page about these runs must show: rows of texts under the name of the table, titles first."""

    def __init__(self, runs: Sequence[Logged], published: Path) -> None:
        self.runs = runs
        self.found: dict[str, list[Rows]] = {}
        for name in ("vlms_are_biased", "slake", "medxpertqa"):
            self._headline(name)
        self._vlms_are_biased()
        self._slake()
        for subset in ("text", "mm"):
            self._medxpertqa(f"medxpertqa_{subset}")
        self.not_comparable: Rows = []
        self.published: Rows = []
        with published.open(encoding="utf-8") as file:
            self._published(list(csv.DictReader(file)))

    def _add(self, name: str, titles: Sequence[str], rows: Rows, labels: int = 2) -> None:
        """Keeps a table; the column of runs, the last of the labels, is left out where there is one run."""
        if rows:
            whole = [list(titles), *rows]
            if len(self.runs) == 1 and labels > 1:
                whole = [row[: labels - 1] + row[labels:] for row in whole]
            self.found.setdefault(name, []).append(whole)

    def _headline(self, benchmark: str) -> None:
        groups = {name for run in self.runs for name, below in run.results["group_subtasks"].items() if below}
        names = sorted(name for name in groups | {task for run in self.runs for task in run.logs}
                       if name == benchmark or name.startswith(benchmark + "_"))  # fmt: skip
        rows = []
        for name in names:
            for run in self.runs:
                entries = run.entries(run.leaves(name))
                if entries:
                    metrics = ("acc", "acc_flexible", "format_ok", "unreadable")
                    rows.append([name, run.label, f"{len(entries):,}", *(share(entries, metric) for metric in metrics)])
        titles = ("task", "run", "rows", "acc", "acc_flexible", "format_ok", "unreadable")
        self._add(f"headline_{benchmark}", titles, rows)

    def _breakdown(self, name: str, label: str, tasks: Sequence[str], column: str, metrics: Sequence[str]) -> None:
        values = {str(slices(entry)[column]) for run in self.runs for entry in run.entries(tasks)}
        rows = []
        for value in values:
            for run in self.runs:
                part = [entry for entry in run.entries(tasks) if str(slices(entry)[column]) == value]
                if part:
                    rows.append([value, run.label, f"{len(part):,}", *(share(part, metric) for metric in metrics)])
        self._add(name, (label, "run", "rows", *metrics), rows)

    def _vlms_are_biased(self) -> None:
        runs = [run for run in self.runs if MAIN in run.logs]
        self._add(
            "vlms_are_biased_summary",
            ("run", "rows", "task_mean", "acc", "task_mean_flexible", "task_mean_bias", "bias_ratio",
             "bias_ratio_flexible"),
            [[run.label, f"{len(run.logs[MAIN]):,}", topic_mean(run.logs[MAIN], "acc"), share(run.logs[MAIN], "acc"),
              topic_mean(run.logs[MAIN], "acc_flexible"), topic_mean(run.logs[MAIN], "bias_ratio"),
              share(run.logs[MAIN], "bias_ratio"), share(run.logs[MAIN], "bias_ratio_flexible")] for run in runs],
            labels=1,
        )  # fmt: skip
        rows = []
        for topic in TOPICS:
            for run in runs:
                part = [entry["acc"]["outcome"] for entry in run.logs[MAIN] if slices(entry)["topic"] == topic]
                if part:
                    counts = (f"{part.count(outcome):,}" for outcome in OUTCOMES)
                    rows.append([topic, run.label, f"{len(part):,}", *counts])
        self._add("vlms_are_biased_outcomes", ("topic", "run", "rows", *OUTCOMES), rows)
        metrics = ("acc", "acc_flexible", "bias_ratio", "unreadable")
        for name, label, column in (("topics", "topic", "topic"), ("resolution", "pixels", "pixel"),
                                    ("sub_topics", "sub-topic", "sub_topic")):  # fmt: skip
            self._breakdown(f"vlms_are_biased_{name}", label, [MAIN], column, metrics)
        self._add(
            "vlms_are_biased_variants",
            ("variant", "run", "rows", "task_mean", *metrics),
            [[title, run.label, f"{len(run.logs[task]):,}", topic_mean(run.logs[task], "acc"),
              *(share(run.logs[task], metric) for metric in metrics)]
             for task, title in VARIANTS.items() for run in self.runs if task in run.logs],
        )  # fmt: skip
        self._add(
            "vlms_are_biased_controls",
            ("against", "measure", "run", "basis", "rows of main", "rows of control", "main", "control", "difference"),
            [[title, metric, run.label, *cells]
             for task, title in CONTROLS.items() for metric in ("acc", "acc_flexible", "bias_ratio")
             for run in runs if (cells := self._control(run, task, metric))],
            labels=3,
        )  # fmt: skip

    def _control(self, run: Logged, task: str, metric: str) -> list[str]:
        def asked(entry: Entry) -> tuple[object, ...]:
            return entry["acc"]["cluster"], slices(entry)["type_of_question"], slices(entry)["pixel"]

        main: dict[object, list[Entry]] = defaultdict(list)
        for entry in run.logs[MAIN]:
            main[asked(entry)].append(entry)
        control = run.logs.get(task, [])
        # Rows that ask the same of the same object at the same size are taken in the order of their logs.
        places = Counter[object]()
        pairs = []
        for entry in control:
            key = asked(entry)
            if places[key] < len(main[key]):
                pairs.append((main[key][places[key]], entry))
                places[key] += 1
        if pairs and 2 * len(pairs) >= len(control):
            cells = contrast([one for one, _ in pairs], [other for _, other in pairs], metric, lambda _: "")
            return ["paired", *cells] if cells else []
        topics = {slices(e)["topic"] for e in run.logs[MAIN]} & {slices(e)["topic"] for e in control}
        sides = [[e for e in side if slices(e)["topic"] in topics] for side in (run.logs[MAIN], control)]
        cells = contrast(sides[0], sides[1], metric, lambda entry: str(slices(entry)["topic"]))
        return ["by topic", *cells] if cells else []

    def _slake(self) -> None:
        rows = []
        for language, first in (("English", "en"), ("Chinese", "zh"), ("both", "")):
            for kind in ("open", "closed", "all"):
                tasks = [
                    task for task in SLAKE if first in task.split("_")[1] and (kind == "all" or task.endswith(kind))
                ]
                for run in self.runs:
                    entries = run.entries(tasks)
                    if all(task in run.logs for task in tasks):
                        metrics = ("acc", "acc_flexible", "unreadable", "token_f1", "token_recall")
                        cells = (share(entries, metric) for metric in metrics)
                        rows.append([language, kind, run.label, f"{len(entries):,}", *cells])
        titles = ("language", "answers", "run", "rows", "acc", "acc_flexible", "unreadable", "token_f1", "token_recall")
        self._add("slake_types", titles, rows, labels=3)
        for label, column in (("content type", "content_type"), ("modality", "modality")):
            self._breakdown(f"slake_{column}", label, SLAKE, column, ("acc", "acc_flexible", "unreadable"))

    def _medxpertqa(self, task: str) -> None:
        columns = {"question_type": "question type", "medical_task": "medical task", "body_system": "body system"}
        if task.endswith("mm"):
            columns["images"] = "number of images"
        for column, label in columns.items():
            self._breakdown(f"{task}_{column}", label, [task], column, ("acc", "acc_flexible", "unreadable"))
        rows: Rows = []
        for run in self.runs:
            records = [entry["acc"] for entry in run.logs.get(task, [])]
            right, read = Counter(r["reference"] for r in records), Counter(r["read"] for r in records)
            both = Counter(r["read"] for r in records if r["read"] == r["reference"])
            for letter in {*right, *read}:
                name = "none read" if letter is None else letter
                rows.append([name, run.label, *(f"{count[letter]:,}" for count in (right, read, both))])
            if records:
                chosen = sorted({*right, *read} - {None})
                last = ["none"] if None in read else []
                pairs = Counter((r["reference"], r["read"]) for r in records)
                table = [[letter, *(str(pairs[letter, other]) for other in (*chosen, *([None] * len(last))))]
                         for letter in sorted(right)]  # fmt: skip
                titles = ["right ↓ chosen →", *chosen, *last]
                self.found.setdefault(f"{task}_letters_confusion", []).append([titles, *table])
        self._add(f"{task}_letters", ("letter", "run", "right", "chosen", "both"), rows)

    # --- published numbers ------------------------------------------------------------------------------------------

    def _published(self, numbers: list[dict[str, str]]) -> None:
        protocols = {
            "vlmbias-paper": [MAIN], "vlmbias-vlmevalkit": [MAIN], "slake-llava-med": ["slake_en_open"],
            "slake-medgemma": ["slake_en_open", "slake_en_closed"],
            **{f"medxpertqa-authors-{cut}": [f"medxpertqa_official_{s}" for s in ("text", "mm") if cut in (s, "all")]
               for cut in ("text", "mm", "all")},
        }  # fmt: skip
        run_for = {"VLMBias": "vlms_are_biased", "SLAKE": "slake", "MedXpertQA": "medxpertqa"}
        beside: dict[tuple[str, ...], list[str]] = {}
        refused = Counter[tuple[str, ...]]()
        for number in numbers:
            if not any(task.startswith(run_for[number["benchmark"]]) for run in self.runs for task in run.logs):
                continue
            metric = f"{number['subset']}, {number['metric']}: {number['definition']}"
            reason = number["why_not"]
            if not reason:
                tasks = protocols[number["protocol"]]
                if any(all(task in run.logs for task in tasks) for run in self.runs):
                    key = (number["protocol"], number["source"], metric, number["measure"])
                    beside.setdefault(key, []).append(f"{number['model']} {number['value']}")
                    continue
                reason = f"needs {', '.join(tasks)}, which these runs do not have in full"
            refused[number["benchmark"], metric, reason, number["source"]] += 1
        for (protocol, _, metric, measure), theirs in beside.items():
            ours = [_measured(run.entries(protocols[protocol]), measure) for run in self.runs]
            self.published.append([metric, *ours, " ".join(theirs)])
        self.not_comparable = [[benchmark, metric, str(count), reason, source]
                               for (benchmark, metric, reason, source), count in refused.items()]  # fmt: skip


def _measured(entries: Sequence[Entry], measure: str) -> str:
    if measure.startswith("task_mean"):
        return topic_mean(entries, "bias_ratio" if measure.endswith("bias") else "acc")
    if measure.startswith("topic_"):
        name = measure.removeprefix("topic_").removeprefix("bias_")
        part = [entry for entry in entries if slices(entry)["topic"].lower().replace(" ", "_") == name]
        return share(part, "bias_ratio" if measure.startswith("topic_bias_") else "acc")
    return share(entries, measure)
