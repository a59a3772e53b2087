"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

from lmms_tasks import __version__
from lmms_tasks.report import charts, formats, gallery, published, settings, tables
from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.runs import Run, benchmark_of
from lmms_tasks.report.tables import Table

SECTIONS = {"vlms_are_biased": "VLMs Are Biased", "slake": "SLAKE", "medxpertqa": "MedXpertQA"}
OUTCOME_TITLES = {
    "correct": "correct",
    "biased": "the answer that prior knowledge suggests",
    "other": "another answer",
    "unreadable": "no answer to be read",
}


def report(loaded: Sequence[Run], *, samples: int = 240) -> str:
    """The page about the runs, with at most `samples` samples in its gallery."""
    shown = tables.all_tables(loaded)
    cards = gallery.build(loaded, max(0, samples))
    comparisons = published.beside(loaded)
    return _render(
        "report.html.j2",
        runs=loaded,
        title=", ".join(run.label for run in loaded),
        cover=[_cover(run) for run in loaded],
        headline=_headline(shown[0], loaded),
        headline_note=shown[0].note,
        gaps=_gaps(loaded, shown[0]),
        sections=_sections(loaded, shown[1:]),
        gallery=cards,
        outcome_titles=OUTCOME_TITLES,
        comparisons=comparisons,
        measured=published.by_protocol(comparisons.beside),
        provenance=[_provenance(run) for run in loaded],
        problems=[(run.label, problem) for run in loaded for problem in run.problems],
    )


def _render(template: str, **values: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        breaking=_breaking,
        points=formats.points,
        cell=formats.cell,
        plain=formats.plain,
        count=lambda value: f"{value:,}",
    )
    environment.tests["estimate"] = lambda value: isinstance(value, Estimate)
    script = _resource("report.js").strip()
    return environment.get_template(template).render(
        style=_trusted(_resource("report.css")),
        script=_trusted(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=__version__,
        **values,
    )


def _resource(name: str) -> str:
    return resources.files("lmms_tasks.report").joinpath(name).read_text(encoding="utf-8")


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _breaking(text: object) -> Any:
    """The text, escaped, with leave to break a line behind the underscores and slashes of long names."""
    from markupsafe import Markup, escape

    return Markup(re.sub("(?<=[_/])(?=[^_/])", "<wbr>", str(escape(formats.plain(text)))))


def _headline(table: Table, loaded: Sequence[Run]) -> list[dict[str, Any]]:
    """The headline as one figure a benchmark."""
    found = []
    for name, title in SECTIONS.items():
        mine = [index for index, row in enumerate(table.rows) if benchmark_of(row[0]) == name]
        if mine:
            part = Table(
                f"headline_{name}", title, table.labels, table.columns, tuple(table.rows[index] for index in mine),
                depths=tuple(table.depths[index] for index in mine),
            )  # fmt: skip
            found.append(_figure(part, loaded))
    return found


def _figure(table: Table, loaded: Sequence[Run]) -> dict[str, Any]:
    """A table, its column indices to show, and its charts with captions."""
    return {
        "table": table,
        "columns": _columns(table, loaded),
        "spans": _spans(table),
        "charts": _charts(table, loaded),
    }


def _spans(table: Table) -> list[list[int]]:
    """For each row and label how many rows its cell spans; 0 where the cell above reaches down."""
    labels = len(table.labels)
    spans = [[1] * labels for _ in table.rows]
    for label in range(labels - 1):
        start = 0
        for index in range(1, len(table.rows)):
            if table.rows[index][: label + 1] == table.rows[start][: label + 1]:
                spans[start][label] += 1
                spans[index][label] = 0
            else:
                start = index
    return spans


#: Columns that the page leaves to the other formats, for want of room.
_NOT_ON_PAGE = frozenset({"clusters"})


def _columns(table: Table, loaded: Sequence[Run]) -> list[tuple[int, str, bool]]:
    titles = [*table.labels, *table.columns]
    return [
        (index, title, index < len(table.labels))
        for index, title in enumerate(titles)
        if (title != "run" or len(loaded) > 1 or len(table.labels) == 1) and title not in _NOT_ON_PAGE
    ]


def _charts(table: Table, loaded: Sequence[Run]) -> list[tuple[str, Any]]:
    labels = [run.label for run in loaded]
    drawn: list[tuple[str, str]] = []
    try:
        if table.key == "vlms_are_biased_outcomes":
            drawn = [(run, charts.outcomes(table, run)) for run in labels if any(row[1] == run for row in table.rows)]
        elif table.key == "vlms_are_biased_controls":
            marks = {"acc": True, "acc_flexible": False}
            drawn = [("", charts.differences(table, labels, label="against", kind="measure", marks=marks))]
        elif table.key.endswith("_letters"):
            drawn = [
                (run, charts.letters(table, run, number))
                for number, run in enumerate(labels)
                if any(row[1] == run for row in table.rows)
            ]
        elif table.key == "slake_types":
            joined = Table(
                table.key, table.title, ("part", "run"), table.columns,
                tuple((f"{row[0]}, {row[1]}", *row[2:]) for row in table.rows),
            )  # fmt: skip
            drawn = [("", charts.dots(joined, labels, label="part"))]
        elif "acc_flexible" in table.columns:
            drawn = [("", charts.dots(table, labels, label=table.labels[0]))]
    except charts.ChartsMissingError:
        return []
    return [(caption if len(loaded) > 1 else "", _trusted(svg)) for caption, svg in drawn]


def _sections(loaded: Sequence[Run], shown: Sequence[Table]) -> list[dict[str, Any]]:
    found = []
    for key, title in SECTIONS.items():
        figures = [_figure(table, loaded) for table in shown if table.section == key]
        for figure in figures:
            table = figure["table"]
            if table.key.endswith("_letters"):
                task = table.key.removesuffix("_letters")
                figure["confusions"] = [
                    (run.label if len(loaded) > 1 else "", _shaded(tables.confusion(run, task)))
                    for run in loaded
                    if run.samples([task])
                ]
        if figures:
            found.append({"key": key, "title": title, "figures": figures})
    return found


def _shaded(found: tuple[list[str], list[str], list[list[int]]]) -> dict[str, Any]:
    right, chosen, counts = found
    most = max((max(row) for row in counts), default=0) or 1
    return {
        "chosen": chosen,
        "rows": [
            (
                letter,
                [(count, round(100 * count / most), letter == other) for count, other in zip(row, chosen, strict=True)],
            )
            for letter, row in zip(right, counts, strict=True)
        ],
    }


def _cover(run: Run) -> dict[str, Any]:
    shared = settings.all_departures(run)
    return {
        "label": run.label,
        "date": _date(run.files.date),
        "rows": sum(len(log.samples) for log in run.tasks.values()),
        "tasks": sum(bool(log.samples) for log in run.tasks.values()),
        "departures": len(shared),
        "problems": len(run.problems),
    }


def _date(text: str) -> str:
    for pattern in ("%Y%m%d_%H%M%S", "%Y-%m-%dT%H-%M-%S.%f", "%Y-%m-%dT%H-%M-%S"):
        try:
            return datetime.strptime(text, pattern).strftime("%d %B %Y, %H:%M").lstrip("0")
        except ValueError:
            continue
    return text


def _gaps(loaded: Sequence[Run], headline: Table) -> list[str]:
    """A sentence for each leaf whose official accuracy says more about form than about knowledge."""
    found = []
    place = {title: index for index, title in enumerate((*headline.labels, *headline.columns))}
    leaves = {name for run in loaded for name in run.tasks}
    for row in headline.rows:
        name, run = row[0], row[1]
        acc, flexible, form = (row[place[title]] for title in ("acc", "acc_flexible", "format_ok"))
        if name in leaves and acc and flexible and form and flexible.value - acc.value >= 0.05:
            found.append(
                (name, run, formats.percent(flexible.value), formats.percent(acc.value), formats.percent(form.value))
            )
    out = []
    for label in dict.fromkeys(run for _, run, *_ in found):
        mine = [(name, *values) for name, run, *values in found if run == label]
        name, flexible, acc, form = max(mine, key=lambda entry: float(entry[1]) - float(entry[2]))
        who = f"{label}: " if len(loaded) > 1 else ""
        also = f" The two part by 5 points or more in {len(mine)} tasks." if len(mine) > 1 else ""
        out.append(
            f"{who}a careful reader marks {flexible} % of the replies to {name} right, the official rule {acc} %: only "
            f"{form} % have the form that the prompt asks for.{also}"
        )
    return out


def _provenance(run: Run) -> dict[str, Any]:
    config = run.config
    facts: dict[str, Any] = {
        "model": config.get("model"),
        "model arguments": config.get("model_args"),
        "model back end": config.get("model_backend"),
        "lmms-eval": _recorded(run, "lmms_eval") or "not recorded",
        "lmms-tasks": _recorded(run, "pack").replace("lmms-tasks ", "") or "not recorded",
        "git state of the folder it ran in": _git(run),
        "date": _date(run.files.date),
        "duration": _duration(run.results.get("total_evaluation_time_seconds")),
        "batch size": config.get("batch_size"),
        "device": config.get("device"),
        "limit": config.get("limit"),
        "generation settings given": config.get("gen_kwargs"),
        "system instruction": run.results.get("system_instruction"),
        "chat template": run.results.get("chat_template_sha"),
        "seeds": _seeds(config),
        "cache of replies": config.get("use_cache"),
        "results file": str(run.files.results) if run.files.results else None,
    }
    return {
        "label": run.label,
        "facts": [(name, _fact(value)) for name, value in facts.items() if value not in (None, "", [], {})],
        "tasks": [_task(log) for log in run.tasks.values()],
        "departures": settings.all_departures(run),
    }  # fmt: skip


def _fact(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _task(log: Any) -> dict[str, Any]:
    metadata = log.metadata
    return {
        "name": log.name,
        "version": metadata.get("version", "–"),
        "data": metadata.get("data", "not recorded"),
        "fingerprint": metadata.get("fingerprint", "–"),
        "rows": f"{settings.rows_judged(log):,} of {log.original or metadata.get('rows') or len(log.samples):,}",
        "generation": ", ".join(f"{key}={value!r}" for key, value in settings.generation(log).items()) or "–",
    }


def _recorded(run: Run, key: str) -> str:
    """What the tasks of the run wrote under this key, each value once."""
    found = {str(log.metadata[key]) for log in run.tasks.values() if log.metadata.get(key)}
    return ", ".join(sorted(found))


def _git(run: Run) -> str | None:
    # lmms-eval calls this its version; it describes the folder that the command was given in.
    value = str(run.results.get("lmms_eval_version") or "")
    return value if "@" in value and "unknown" not in value else None


def _duration(value: Any) -> str | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _seeds(config: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key.removesuffix('_seed')} {config[key]}"
        for key in ("random_seed", "numpy_seed", "torch_seed")
        if key in config
    )
