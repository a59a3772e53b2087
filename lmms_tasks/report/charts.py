"""Charts as inline SVG whose colours are the page's own CSS variables, so light, dark and print share one drawing."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_tasks.report.estimates import Estimate
from lmms_tasks.report.formats import plain
from lmms_tasks.report.runs import benchmark_of
from lmms_tasks.report.tables import OUTCOMES, Table

#: Colours that stand in the drawing for CSS variables; none of them is seen.
_INK, _SOFT, _GRID, _PAPER = "#010101", "#020202", "#030303", "#040404"
_OUTCOME_INKS = {"correct": "#050501", "biased": "#050502", "other": "#050503", "unreadable": "#050504"}
RUN_COLOURS = 8
_RUN_INKS = [f"#0606{index:02x}" for index in range(RUN_COLOURS)]
_VARIABLES = {
    _INK: "ink",
    _SOFT: "soft",
    _GRID: "grid",
    _PAPER: "paper",
    **{ink: outcome for outcome, ink in _OUTCOME_INKS.items()},
    **{ink: f"run{index}" for index, ink in enumerate(_RUN_INKS)},
}
#: Inches a row, and the part of a row that each of several runs takes.
_ROW, _LANE = 0.27, 0.62
#: Inches: of a drawing beside its table.
_WIDTH = 4.6


class ChartsMissingError(ImportError):
    """matplotlib is not installed."""


def _axes(rows: float, names: Sequence[str]) -> tuple[Any, Any]:
    """A figure whose plot is `rows` inches high and leaves room for the names on its left.

    All figures of a page have letters of one size.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ChartsMissingError('charts need matplotlib: pip install "lmms-tasks[report]"') from error
    left = 0.1 + 0.076 * max((len(name) for name in names), default=3)
    figure = Figure(figsize=(_WIDTH, rows + 0.36))
    axes = figure.add_axes((left / _WIDTH, 0.3 / (rows + 0.36), 1 - (left + 0.3) / _WIDTH, rows / (rows + 0.36)))
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, colors=_SOFT, labelsize=9)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    return figure, axes


def dots(table: Table, runs: Sequence[str], *, label: str, value: str = "acc", ring: str = "acc_flexible") -> str:
    """Each row's value with its interval as a dot on a scale from 0 to 100 %, and a ring at its flexible reading."""
    titles = [*table.labels, *table.columns]
    place = {title: titles.index(title) for title in (label, "run", value, ring)}
    names = list(dict.fromkeys(str(row[place[label]]) for row in table.rows))
    depth = {str(row[place[label]]): depth for row, depth in zip(table.rows, table.depths, strict=False)}
    step = 1.0 if len(runs) == 1 else _LANE * len(runs) + 0.5
    shown = [_short(_leaf(name) if depth.get(name) else name) for name in names]
    figure, axes = _axes(_ROW * step * len(names), shown)
    for row in table.rows:
        estimate, flexible = row[place[value]], row[place[ring]]
        if not isinstance(estimate, Estimate):
            continue
        run = runs.index(row[place["run"]])
        inside = (run - (len(runs) - 1) / 2) * _LANE
        y = names.index(str(row[place[label]])) * step + inside
        ink = _RUN_INKS[run % RUN_COLOURS]
        if estimate.low is not None and estimate.high is not None:
            axes.plot([100 * estimate.low, 100 * estimate.high], [y, y], color=ink, linewidth=2, solid_capstyle="round")
        if isinstance(flexible, Estimate):
            axes.plot([100 * flexible.value], [y], "o", markersize=7.5, markeredgecolor=ink, markerfacecolor=_PAPER,
                      markeredgewidth=1.4, clip_on=False)  # fmt: skip
        axes.plot([100 * estimate.value], [y], "o", markersize=4.6, color=ink, clip_on=False)
    axes.set_xlim(-2, 102)
    axes.set_ylim(len(names) * step - step / 2, -step / 2)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.set_yticks([index * step for index in range(len(names))])
    _names(axes, shown)
    return _svg(figure, f"{table.title}: acc with its 95 % interval as dot and line, acc_flexible as ring")


def differences(table: Table, runs: Sequence[str], *, label: str, kind: str, marks: Mapping[str, bool]) -> str:
    """Each row's difference with its interval on a scale around 0.

    `marks` says of each value of the label `kind` whether its mark is filled; rows of other kinds are left out.
    """
    place = {title: index for index, title in enumerate((*table.labels, *table.columns))}
    rows = [row for row in table.rows if row[place[kind]] in marks]
    names = list(dict.fromkeys(str(row[place[label]]) for row in rows))
    lanes = [(run, name) for run in runs for name in marks]
    step = _LANE * len(lanes) + 0.5
    figure, axes = _axes(_ROW * step * len(names), names)
    reach = 10.0
    for row in rows:
        run, estimate = row[place["run"]], row[place["difference"]]
        lane = lanes.index((run, row[place[kind]])) - (len(lanes) - 1) / 2
        y = names.index(str(row[place[label]])) * step + lane * _LANE
        ink = _RUN_INKS[runs.index(run) % RUN_COLOURS]
        if estimate.low is not None and estimate.high is not None:
            axes.plot([100 * estimate.low, 100 * estimate.high], [y, y], color=ink, linewidth=2, solid_capstyle="round")
        axes.plot([100 * estimate.value], [y], "o", markersize=6, markeredgecolor=ink, markeredgewidth=1.4,
                  markerfacecolor=ink if marks[row[place[kind]]] else _PAPER, clip_on=False)  # fmt: skip
        ends = (estimate.value, estimate.low or 0.0, estimate.high or 0.0)
        reach = max(reach, *(100 * abs(end) for end in ends))
    reach = next(round_one for round_one in (10, 20, 30, 40, 50, 60, 80, 100) if round_one >= reach - 1e-9)
    axes.axvline(0, color=_SOFT, linewidth=1, zorder=1)
    axes.set_xlim(-1.04 * reach, 1.04 * reach)
    axes.set_ylim(len(names) * step - step / 2, -step / 2)
    ticks = [-reach, -reach / 2, 0, reach / 2, reach]
    axes.set_xticks(ticks, [f"{tick:+g}".replace("-", "−") if tick else "0" for tick in ticks])
    axes.set_yticks([index * step for index in range(len(names))])
    _names(axes, names)
    return _svg(figure, f"{table.title}: differences in percentage points with their 95 % intervals")


def outcomes(table: Table, run: str) -> str:
    """A stacked bar a topic: shares of correct, biased, other and unreadable replies."""
    rows = [row for row in table.rows if row[1] == run]
    names = [str(row[0]) for row in rows]
    figure, axes = _axes(0.36 * len(rows), names)
    for y, row in enumerate(rows):
        left = 0.0
        total = row[2]
        for outcome, count in zip(OUTCOMES, row[3:], strict=True):
            width = 100 * count / total
            if count:
                axes.barh(
                    y, width, left=left, height=0.66, color=_OUTCOME_INKS[outcome], edgecolor=_PAPER, linewidth=0.8
                )
                if width >= 7:
                    axes.text(left + width / 2, y, f"{width:.0f}", ha="center", va="center", fontsize=8.5,
                              color=_INK if outcome == "unreadable" else _PAPER, parse_math=False)  # fmt: skip
            left += width
    axes.set_xlim(0, 100)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.set_yticks(range(len(rows)))
    _names(axes, names)
    return _svg(figure, f"{run}: outcomes of the replies to main, by topic")


def letters(table: Table, run: str, number: int = 0) -> str:
    """Two bars a letter: how often it is right, and how often it was chosen, this in the colour of the run's number."""
    rows = [row for row in table.rows if row[1] == run]
    figure, axes = _axes(1.9, ["100"])
    axes.grid(axis="x", visible=False)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    for x, row in enumerate(rows):
        axes.bar(x - 0.19, row[2], width=0.36, color=_OUTCOME_INKS["unreadable"], edgecolor="none")
        axes.bar(x + 0.19, row[3], width=0.36, color=_RUN_INKS[number % RUN_COLOURS], edgecolor="none")
    axes.set_xticks(range(len(rows)))
    axes.set_xticklabels(["none" if row[0] == "none read" else plain(row[0]) for row in rows], color=_INK)
    for text in axes.get_xticklabels():
        text.set_parse_math(False)
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=5)
    return _svg(figure, f"{table.title}: how often each letter is right, and how often it was chosen")


def _names(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticklabels([plain(name) for name in names], color=_INK)
    for text in axes.get_yticklabels():
        # A name from the data may hold dollar signs, which would start a formula.
        text.set_parse_math(False)


def _leaf(task: str) -> str:
    """A task's name without its benchmark's, which stands above it in the chart."""
    name = benchmark_of(task)
    return task.removeprefix(name + "_") if name else task


def _short(name: str) -> str:
    return name if len(name) <= 32 else name[:31] + "…"


_NUMBERED = re.compile(r' id="(?:figure|axes|patch|line2d|text|matplotlib\.axis|xtick|ytick|PathCollection)_\d+"')
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>', re.DOTALL)


def _svg(figure: Any, description: str) -> str:
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lmms-tasks"}), warnings.catch_warnings():
        # The browser brings the letters that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(
            out, format="svg", transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    drawing = _METADATA.sub("", _PROLOGUE.sub("", out.getvalue()))
    drawing = _NUMBERED.sub("", drawing)
    for ink, variable in _VARIABLES.items():
        drawing = drawing.replace(ink, f"var(--{variable})")
    size = _SIZE.search(drawing)
    assert size is not None
    escaped = _escape(plain(description))
    head = (
        f'<svg class="chart" viewBox="0 0 {size[1]} {size[2]}" style="width: {float(size[1]) * 1.36:.0f}px" role="img" '
        f'aria-label="{escaped}" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<title>{escaped}</title>"
    )
    return head + drawing[size.end() :]


_ESCAPES: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
