"""The tables of a report: what is counted over which samples. Every view (page, Markdown, CSV …) is made from these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_scoring.vlms_are_biased import TOPICS
from lmms_tasks.report import estimates
from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.runs import BENCHMARKS, Run, Sample, benchmark_of

OUTCOMES = ("correct", "biased", "other", "unreadable")
#: Slices that a benchmark is broken down by: title and the slice of the record.
SLAKE_SLICES = {"content type": "content_type", "modality": "modality"}
MEDXPERTQA_SLICES = {
    "question type": "question_type",
    "medical task": "medical_task",
    "body system": "body_system",
    "number of images": "images",
}
VARIANTS = {
    "vlms_are_biased_main": "main: changed pictures",
    "vlms_are_biased_withtitle": "subject's name in the picture",
    "vlms_are_biased_remove_background_q1q2": "main, no background",
    "vlms_are_biased_original": "original: unchanged pictures",
    "vlms_are_biased_identification": "identification (yes or no)",
    "vlms_are_biased_remove_background_q3": "identification, no background",
    "vlms_are_biased_main_blind": "main without the picture",
    "vlms_are_biased_main_black": "main with a black picture",
    "vlms_are_biased_main_debiased": "main, debiased prompt",
    "vlms_are_biased_main_doublecheck": "main, asked to double-check",
}


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns; a cell is an Estimate, a count, a text, or None for "no value".

    `labels` are the columns that say what a row is about; `section` is the benchmark, or empty for the whole run.
    """

    key: str
    title: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    section: str = ""
    depths: tuple[int, ...] = field(default=())

    def records(self) -> Iterable[dict[str, Any]]:
        """One flat record for each cell that is no label: table, labels, column, value, low, high, n, clusters."""
        for row in self.rows:
            named = dict(zip(self.labels, row, strict=False))
            for column, cell in zip(self.columns, row[len(self.labels) :], strict=True):
                yield {"table": self.key, **{key: _plain(value) for key, value in named.items()}, "column": column} | (
                    {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n, "clusters": cell.clusters}
                    if isinstance(cell, Estimate)
                    else {"value": cell, "low": None, "high": None, "n": None, "clusters": None}
                )


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) or value is None else str(value)


def headline(runs: Sequence[Run]) -> Table:
    """Groups and leaves of all runs: acc beside acc_flexible, form and unreadable replies."""
    rows: list[tuple[Any, ...]] = []
    depths: list[int] = []
    for name, depth in tree(runs):
        for run in runs:
            row = _headline_row(run, name)
            if row is not None:
                rows.append((name, run.label, *row))
                depths.append(depth)
    return Table(
        "headline",
        "Headline",
        ("task", "run"),
        ("rows", "clusters", "acc", "acc_flexible", "format_ok", "unreadable"),
        tuple(rows),
        "acc follows the official rule to the letter; acc_flexible is what a careful grader would mark right; "
        "format_ok is "
        "the share of replies in the form that the prompt asks for. A wide gap between the two accuracies is a "
        "problem of "
        "form, not of knowledge.",
        depths=tuple(depths),
    )


def tree(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """The groups and tasks of all runs with their depth, each group before its members, benchmark by benchmark."""
    children: dict[str, list[str]] = {}
    for run in runs:
        for name, below in (run.results.get("group_subtasks") or {}).items():
            if isinstance(below, list) and below and name in run.groups:
                known = children.setdefault(name, [])
                known.extend(child for child in below if child not in known)
    members = {child for below in children.values() for child in below}
    order: list[tuple[str, int]] = []

    def add(name: str, depth: int) -> None:
        if name not in [known for known, _ in order]:
            order.append((name, depth))
            for child in children.get(name, []):
                add(child, depth + 1)

    tops = [name for name in children if name not in members]
    leaves = dict.fromkeys(name for run in runs for name in run.tasks)
    for name in sorted(dict.fromkeys((*tops, *leaves)), key=lambda name: BENCHMARKS.index(benchmark_of(name))):
        add(name, 0)
    return order


def _headline_row(run: Run, name: str) -> tuple[Any, ...] | None:
    members = run.groups.get(name) or ([name] if name in run.tasks else [])
    samples = run.samples(members)
    if not samples:
        reported = [run_reported(run, name, metric) for metric in ("acc", "acc_flexible", "format_ok", "unreadable")]
        if all(value is None for value in reported):
            return None
        rows = next(value.n for value in reported if value is not None)
        return (rows, None, *reported)
    return (
        len(samples),
        len({sample.cluster for sample in samples}),
        estimates.share(samples, estimates.acc),
        estimates.share(samples, estimates.acc_flexible),
        estimates.share(samples, estimates.format_ok),
        estimates.share(samples, estimates.unreadable),
    )


def run_reported(run: Run, name: str, metric: str) -> Estimate | None:
    """The value that the results file reports, with its own clustered standard error where it has one."""
    value = run.reported(name, metric)
    if value is None:
        return None
    error = run.reported(name, f"{metric}_stderr_clustered")
    rows = run.tasks[name].effective or 0 if name in run.tasks else 0
    if error is None or error < 1e-12:  # scores that are all equal say nothing of how sure their mean is
        return Estimate(value, None, None, rows, 0, from_log=False)
    return Estimate(value, max(0.0, value - 1.96 * error), min(1.0, value + 1.96 * error), rows, 0, from_log=False)


def by(
    runs: Sequence[Run],
    tasks: Sequence[str],
    key: Callable[[Sample], Any],
    *,
    name: str,
    title: str,
    label: str,
    section: str,
    order: Sequence[Any] | None = None,
    with_bias: bool = False,
    note: str = "",
) -> Table | None:
    """A breakdown of these tasks' samples by a property of the sample; None where no run has any.

    Without an `order` the largest slices come first; numbers are sorted.
    """
    columns = ("rows", "acc", "acc_flexible", *(("bias_ratio",) if with_bias else ()), "unreadable")
    cut: dict[Any, dict[str, list[Sample]]] = {}
    for run in runs:
        for sample in run.samples(tasks):
            cut.setdefault(key(sample), {}).setdefault(run.label, []).append(sample)
    if not cut:
        return None
    rows = []
    for value in _ordered(cut, order):
        for run in runs:
            samples = cut[value].get(run.label)
            if samples:
                rows.append((value, run.label, len(samples), *_measures(samples, columns[1:])))
    return Table(name, title, (label, "run"), columns, tuple(rows), note, section)


_MEASURES: Mapping[str, estimates.Score] = {
    "acc": estimates.acc,
    "acc_flexible": estimates.acc_flexible,
    "format_ok": estimates.format_ok,
    "unreadable": estimates.unreadable,
    "bias_ratio": estimates.bias,
    "bias_ratio_flexible": estimates.bias_flexible,
}


def _measures(samples: Sequence[Sample], columns: Iterable[str]) -> tuple[Estimate | None, ...]:
    return tuple(estimates.share(samples, _MEASURES[column]) for column in columns)


def _ordered(cut: Mapping[Any, Mapping[str, list[Sample]]], order: Sequence[Any] | None) -> list[Any]:
    if order is not None:
        return [value for value in order if value in cut] + sorted((v for v in cut if v not in order), key=str)
    if all(isinstance(value, (int, float)) for value in cut):
        return sorted(cut)
    return sorted(cut, key=lambda value: (-max(map(len, cut[value].values())), str(value)))


MAIN = "vlms_are_biased_main"


def vlms_are_biased(runs: Sequence[Run]) -> list[Table]:
    """Topics with their outcomes, task mean beside micro, resolution, sub-topic and the variants of main."""
    section = "vlms_are_biased"
    found = [
        _summary(runs),
        _outcomes(runs),
        by(runs, [MAIN], lambda s: s.slices.get("topic"), name="vlms_are_biased_topics", title="Topics of main",
           label="topic", section=section, order=TOPICS, with_bias=True),
        _variants(runs),
        _controls(runs),
        by(runs, [MAIN], lambda s: s.slices.get("pixel"), name="vlms_are_biased_resolution", title="Resolution",
           label="pixels", section=section, with_bias=True,
           note="The same objects at three sizes: an accuracy that does not rise says that nobody looked."),
        by(runs, [MAIN], lambda s: s.slices.get("sub_topic"), name="vlms_are_biased_sub_topics", title="Sub-topics",
           label="sub-topic", section=section, with_bias=True),
    ]  # fmt: skip
    return [table for table in found if table is not None and table.rows]


def _summary(runs: Sequence[Run]) -> Table:
    rows = []
    for run in runs:
        samples = run.samples([MAIN])
        if samples:
            rows.append(
                (
                    run.label,
                    len(samples),
                    estimates.topic_mean(samples, estimates.acc),
                    estimates.share(samples, estimates.acc),
                    estimates.topic_mean(samples, estimates.acc_flexible),
                    estimates.topic_mean(samples, estimates.bias),
                    estimates.share(samples, estimates.bias),
                    estimates.share(samples, estimates.bias_flexible),
                )
            )
    return Table(
        "vlms_are_biased_summary",
        "Task mean and micro",
        ("run",),
        ("rows", "task_mean", "acc", "task_mean_flexible", "task_mean_bias", "bias_ratio", "bias_ratio_flexible"),
        tuple(rows),
        "task_mean, the paper's headline, is the unweighted mean of the seven topics; acc weighs every row alike, "
        "so that "
        "Optical Illusion is 28 % of it. Intervals of task means come from a bootstrap over the objects of each topic.",
        "vlms_are_biased",
    )


def _outcomes(runs: Sequence[Run]) -> Table:
    rows = []
    for topic in TOPICS:
        for run in runs:
            samples = [sample for sample in run.samples([MAIN]) if sample.slices.get("topic") == topic]
            if samples:
                counts = [sum(sample.outcome == outcome for sample in samples) for outcome in OUTCOMES]
                rows.append((topic, run.label, len(samples), *counts))
    return Table(
        "vlms_are_biased_outcomes",
        "Outcomes by topic",
        ("topic", "run"),
        ("rows", *OUTCOMES),
        tuple(rows),
        "What a careful grader finds in the replies to main: exactly one outcome a reply.",
        "vlms_are_biased",
    )


def _variants(runs: Sequence[Run]) -> Table:
    rows = []
    for task, title in VARIANTS.items():
        for run in runs:
            samples = run.samples([task])
            if samples:
                rows.append(
                    (title, run.label, len(samples), estimates.topic_mean(samples, estimates.acc),
                     *_measures(samples, ("acc", "acc_flexible", "bias_ratio", "unreadable")))
                )  # fmt: skip
    return Table(
        "vlms_are_biased_variants",
        "Variants",
        ("variant", "run"),
        ("rows", "task_mean", "acc", "acc_flexible", "bias_ratio", "unreadable"),
        tuple(rows),
        "The original pictures are the control: a model that counts right there and wrong on main knows the "
        "subject and does "
        "not look.",
        "vlms_are_biased",
    )


#: What main is held against: the same questions in another picture, or the same things unchanged.
CONTROLS = {
    "vlms_are_biased_withtitle": "subject's name in it",
    "vlms_are_biased_remove_background_q1q2": "no background",
    "vlms_are_biased_original": "original pictures",
}
CONTRASTED = ("acc", "acc_flexible", "bias_ratio")


def _controls(runs: Sequence[Run]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for task, title in CONTROLS.items():
        for measure in CONTRASTED:
            rows += [(title, measure, run.label, *found) for run in runs if (found := _contrast(run, task, measure))]
    return Table(
        "vlms_are_biased_controls",
        "Main beside its controls",
        ("against", "measure", "run"),
        ("basis", "rows of main", "rows of control", "main", "control", "difference"),
        tuple(rows),
        "The difference is control minus main, in percentage points. It is paired where the control asks the same of "
        "the same object at the same size, over those questions alone; else it is the mean of the differences of the "
        "topics that both have. Intervals are clustered by object. A large gain on the original pictures is knowledge "
        "recited where main asks for counting.",
        "vlms_are_biased",
    )


def _contrast(run: Run, task: str, measure: str) -> tuple[Any, ...]:
    main, control, paired = _side_by_side(run.samples([MAIN]), run.samples([task]))
    found = estimates.contrast(main, control, _MEASURES[measure], _all_alike if paired else _topic)
    return () if found is None else ("paired" if paired else "by topic", found[0].n, found[1].n, *found)


def _side_by_side(main: Sequence[Sample], control: Sequence[Sample]) -> tuple[list[Sample], list[Sample], bool]:
    """The samples of main and of a control that may be compared, and whether they are pairs.

    They are pairs where at least half of the control's questions are questions of main.
    """
    asked: dict[tuple[object, ...], list[Sample]] = {}
    for sample in main:
        asked.setdefault(_question(sample), []).append(sample)
    pairs = []
    for sample in control:
        waiting = asked.get(_question(sample))
        if waiting:
            pairs.append((waiting.pop(0), sample))
    if pairs and len(pairs) * 2 >= len(control):
        return [one for one, _ in pairs], [other for _, other in pairs], True
    topics = {_topic(sample) for sample in main} & {_topic(sample) for sample in control}
    return [s for s in main if _topic(s) in topics], [s for s in control if _topic(s) in topics], False


def _question(sample: Sample) -> tuple[object, ...]:
    return sample.cluster, sample.slices.get("type_of_question"), sample.slices.get("pixel")


def _all_alike(sample: Sample) -> str:
    return ""


def _topic(sample: Sample) -> str:
    return str(sample.slices.get("topic"))


SLAKE_LEAVES = ("slake_en_open", "slake_en_closed", "slake_zh_open", "slake_zh_closed")


def slake(runs: Sequence[Run]) -> list[Table]:
    """Open and closed questions by language, with the token measures, then content type and modality."""
    section = "slake"
    found: list[Table | None] = [_slake_types(runs)]
    for title, column in SLAKE_SLICES.items():
        found.append(
            by(runs, SLAKE_LEAVES, lambda s, column=column: s.slices.get(column), name=f"slake_{column}",  # type: ignore[misc]
               title=title.capitalize(), label=title, section=section)
        )  # fmt: skip
    return [table for table in found if table is not None and table.rows]


def _slake_types(runs: Sequence[Run]) -> Table:
    parts = {
        ("English", "open"): SLAKE_LEAVES[:1],
        ("English", "closed"): SLAKE_LEAVES[1:2],
        ("English", "all"): SLAKE_LEAVES[:2],
        ("Chinese", "open"): SLAKE_LEAVES[2:3],
        ("Chinese", "closed"): SLAKE_LEAVES[3:],
        ("Chinese", "all"): SLAKE_LEAVES[2:],
        ("both", "open"): SLAKE_LEAVES[::2],
        ("both", "closed"): SLAKE_LEAVES[1::2],
        ("both", "all"): SLAKE_LEAVES,
    }
    rows = []
    for (language, kind), tasks in parts.items():
        for run in runs:
            samples = run.samples(tasks)
            if samples and len([task for task in tasks if run.samples([task])]) == len(tasks):
                rows.append(
                    (language, kind, run.label, len(samples),
                     *_measures(samples, ("acc", "acc_flexible", "unreadable")),
                     estimates.share(samples, estimates.metric("token_f1")),
                     estimates.share(samples, estimates.metric("token_recall")))
                )  # fmt: skip
    return Table(
        "slake_types",
        "Open and closed questions by language",
        ("language", "answers", "run"),
        ("rows", "acc", "acc_flexible", "unreadable", "token_f1", "token_recall"),
        tuple(rows),
        "token_f1 and token_recall give credit for parts of an answer; they compare only with publications that "
        "use them.",
        "slake",
    )


MEDXPERTQA_FAMILIES = {
    "medxpertqa": ("medxpertqa_text", "medxpertqa_mm"),
    "medxpertqa_official": ("medxpertqa_official_text", "medxpertqa_official_mm"),
}


def medxpertqa(runs: Sequence[Run]) -> list[Table]:
    """Each slice of each subset, and the letters chosen against the right ones."""
    found: list[Table | None] = []
    for task in (task for tasks in MEDXPERTQA_FAMILIES.values() for task in tasks):
        name = _medxpertqa_name(task)
        for title, column in MEDXPERTQA_SLICES.items():
            if column == "images" and task.endswith("_text"):
                continue
            found.append(
                by(runs, [task], lambda s, column=column: s.slices.get(column), name=f"{task}_{column}",  # type: ignore[misc]
                   title=f"{name}: {title}", label=title, section="medxpertqa")
            )  # fmt: skip
        found.append(letters(runs, task))
    return [table for table in found if table is not None and table.rows]


def _medxpertqa_name(task: str) -> str:
    return ("MM" if task.endswith("_mm") else "Text") + (" (authors' two turns)" if "official" in task else "")


def letters(runs: Sequence[Run], task: str) -> Table:
    """How often each letter is right and how often it is chosen: a position bias shows as a difference."""
    rows = []
    for run in runs:
        samples = run.samples([task])
        right, chosen = _letters(samples)
        for letter in sorted({*right, *chosen} - {None}, key=str):
            among = right.get(letter, 0)
            hit = sum(sample.read == letter and sample.reference == letter for sample in samples)
            rows.append((letter, run.label, among, chosen.get(letter, 0), hit))
        if chosen.get(None):
            rows.append(("none read", run.label, 0, chosen[None], 0))
    return Table(
        f"{task}_letters",
        f"{_medxpertqa_name(task)}: letters",
        ("letter", "run"),
        ("right", "chosen", "both"),
        tuple(sorted(rows, key=lambda row: (row[0] == "none read", row[0]))),
        "How often a letter is the right answer, is chosen, and is both. A letter chosen far more often than it is "
        "right "
        "is a position bias.",
        "medxpertqa",
    )


def _letters(samples: Iterable[Sample]) -> tuple[dict[str | None, int], dict[str | None, int]]:
    right: dict[str | None, int] = {}
    chosen: dict[str | None, int] = {}
    for sample in samples:
        right[sample.reference] = right.get(sample.reference, 0) + 1
        chosen[sample.read] = chosen.get(sample.read, 0) + 1
    return right, chosen


def confusion(run: Run, task: str) -> tuple[list[str], list[str], list[list[int]]]:
    """Right letters, chosen letters (the last is "none" where replies were unreadable), and counts, right by chosen."""
    samples = run.samples([task])
    right = sorted({sample.reference for sample in samples})
    chosen = sorted({*right, *(sample.read for sample in samples if sample.read is not None)})
    columns = [*chosen, *(["none"] if any(sample.read is None for sample in samples) else [])]
    counts = [[0] * len(columns) for _ in right]
    place = {letter: index for index, letter in enumerate(columns)}
    for sample in samples:
        counts[right.index(sample.reference)][place["none" if sample.read is None else sample.read]] += 1
    return right, columns, counts


def all_tables(runs: Sequence[Run]) -> list[Table]:
    """Every table that the runs have rows for, the headline first."""
    return [headline(runs), *vlms_are_biased(runs), *slake(runs), *medxpertqa(runs)]
