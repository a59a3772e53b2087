"""Tables as Markdown, JSON, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.tables import Table

# C0 and C1 controls, bidirectional overrides and isolates, line and paragraph separators: invisible, and able to make
# a page show another text than it holds.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def percent(value: float) -> str:
    """A share as a percentage with one decimal.

    >>> percent(0.12345)
    '12.3'
    """
    return f"{100 * value:.1f}"


def signed(value: float) -> str:
    """A difference of shares in percentage points, its sign always shown.

    >>> signed(0.12345), signed(-0.5), signed(0.0)
    ('+12.3', '−50.0', '0.0')
    """
    shown = percent(abs(value))
    return shown if float(shown) == 0 else ("−" if value < 0 else "+") + shown


def points(estimate: Estimate) -> tuple[str, str, str]:
    """The value and the ends of its interval in percent; the ends are empty where there is no interval."""
    show = signed if estimate.signed else percent
    if estimate.low is None or estimate.high is None:
        return show(estimate.value), "", ""
    return show(estimate.value), show(estimate.low), show(estimate.high)


def plain(text: object) -> str:
    """The text with invisible control and direction characters made visible as their code points."""
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", str(text))


def cell(value: Any) -> str:
    """A cell as text: shares in percent with their interval, counts with separators, an en dash for no value."""
    if value is None:
        return "–"
    if isinstance(value, Estimate):
        shown, low, high = points(value)
        return f"{shown} [{low}, {high}]" if low else shown
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _shown(table: Table, *, runs: int) -> tuple[list[str], list[list[str]]]:
    """Column titles and rows as text; the column "run" is left out where there is one run."""
    titles = [*table.labels, *table.columns]
    keep = [index for index, title in enumerate(titles) if title != "run" or runs > 1 or len(table.labels) == 1]
    return [titles[index] for index in keep], [
        [str(row[i]) if i < len(table.labels) and row[i] is not None else cell(row[i]) for i in keep]
        for row in table.rows
    ]


def markdown(tables: Sequence[Table], notes: Sequence[str] = (), *, runs: int = 1) -> str:
    """GitHub's tables under headings; shares in percent with their 95 % interval in brackets."""
    out: list[str] = []
    for table in tables:
        titles, rows = _shown(table, runs=runs)
        numeric = _numeric(table)
        out.append(f"## {_markdown_cell(table.title)}\n")
        out.append("| " + " | ".join(map(_markdown_cell, titles)) + " |")
        out.append("|" + "|".join("---:" if title in numeric else "---" for title in titles) + "|")
        out.extend("| " + " | ".join(map(_markdown_cell, row)) + " |" for row in rows)
        if table.note:
            out.append(f"\n{table.note}")
        out.append("")
    if notes:
        out.append("## Notes\n")
        out.extend(f"- {_markdown_cell(note)}" for note in notes)
        out.append("")
    return "\n".join(out)


def _numeric(table: Table) -> set[str]:
    """The columns that hold numbers alone, which stand right-aligned."""
    return {
        title
        for index, title in enumerate(table.columns, len(table.labels))
        if all(row[index] is None or isinstance(row[index], (int, Estimate)) for row in table.rows)
    }


def _markdown_cell(text: str) -> str:
    text = _CONTROL.sub(" ", text)
    text = re.sub(r"([\\|`*<>])", r"\\\1", text)
    return text.replace("](", "]\\(").replace("][", "]\\[")


def json_text(tables: Sequence[Table], notes: Sequence[str] = (), extra: Mapping[str, Any] | None = None) -> str:
    """One object: `tables` by key, each with title, note and rows; shares lie between 0 and 1."""
    content = {
        **(extra or {}),
        "tables": {
            table.key: {
                "title": table.title,
                "note": table.note,
                "rows": [_json_row(table, row) for row in table.rows],
            }
            for table in tables
        },
        "notes": list(notes),
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)


def _json_row(table: Table, row: Sequence[Any]) -> dict[str, Any]:
    def value(item: Any) -> Any:
        if isinstance(item, Estimate):
            return {
                "value": item.value, "low": item.low, "high": item.high, "n": item.n, "clusters": item.clusters,
            } | ({} if item.from_log else {"from": "results file"})  # fmt: skip
        return item

    return {title: value(item) for title, item in zip((*table.labels, *table.columns), row, strict=True)}


def csv_text(tables: Sequence[Table]) -> str:
    """One line a cell: table, labels, column, value, low, high, n, clusters; shares lie between 0 and 1."""
    records = [record for table in tables for record in table.records()]
    labels = list(dict.fromkeys(label for table in tables for label in table.labels))
    out = io.StringIO()
    writer = csv.DictWriter(
        out, ["table", *labels, "column", "value", "low", "high", "n", "clusters"], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows({key: _spreadsheet_safe(value) for key, value in record.items()} for record in records)
    return out.getvalue()


def _spreadsheet_safe(value: Any) -> Any:
    # A spreadsheet runs a text that begins like a formula.
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "−": "$-$", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _CONTROL.sub(" ", text))


def latex(tables: Sequence[Table], *, runs: int = 1) -> str:
    r"""A `table` environment each, with `booktabs` rules; shares in percent, the interval as a subscript."""
    out: list[str] = ["% needs \\usepackage{booktabs}"]
    for table in tables:
        titles, _ = _shown(table, runs=runs)
        all_titles = [*table.labels, *table.columns]
        keep = [all_titles.index(title) for title in titles]
        numeric = _numeric(table)
        out.append("\n\\begin{table}\n\\centering")
        out.append(f"\\caption{{{_latex_text(table.title)}}}")
        out.append(f"\\label{{tab:{re.sub('[^a-z0-9]+', '-', table.key)}}}")
        out.append(f"\\begin{{tabular}}{{{''.join('r' if title in numeric else 'l' for title in titles)}}}\n\\toprule")
        out.append(" & ".join(map(_latex_text, titles)) + r" \\")
        out.append("\\midrule")
        for row in table.rows:
            out.append(" & ".join(_latex_cell(row[index]) for index in keep) + r" \\")
        out.append("\\bottomrule\n\\end{tabular}\n\\end{table}")
    return "\n".join(out) + "\n"


def _latex_cell(value: Any) -> str:
    if isinstance(value, Estimate) and value.low is not None and value.high is not None:
        shown, low, high = map(_latex_text, points(value))
        return f"{shown} {{\\scriptsize [{low}, {high}]}}"
    return _latex_text(cell(value))


FORMATS: Mapping[str, Callable[..., str]] = {"md": markdown, "json": json_text, "csv": csv_text, "latex": latex}


def render(name: str, tables: Iterable[Table], notes: Sequence[str] = (), *, runs: int = 1) -> str:
    """The tables in the format of that name: md, json, csv or latex. CSV and LaTeX carry no notes."""
    tables = list(tables)
    if name == "md":
        return markdown(tables, notes, runs=runs)
    if name == "json":
        return json_text(tables, notes)
    return csv_text(tables) if name == "csv" else latex(tables, runs=runs)
