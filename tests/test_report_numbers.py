"""Every number on the page equals one computed from the logs by other code: see `naive_report`."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmms_tasks import __version__, cli
from tests import naive_report, pages, report_runs
from tests.naive_report import MAIN, OUTCOMES, Logged
from tests.pages import Element
from tests.running import command, environment
from tests.test_report_data import record

pytest.importorskip("matplotlib")
pytest.importorskip("datasets")
pytestmark = pytest.mark.xdist_group("report numbers")

MODELS = ("careful", "prior", "messy")


@dataclass
class Case:
    """Runs, the page about them, and the tables that it must show."""

    runs: list[Logged]
    page: Element
    expected: naive_report.Tables
    folders: list[Path]

    def shown(self, name: str) -> list[list[list[str]]]:
        """The page's tables of that name."""
        return [pages.table(element) for element in self.page.all("table", data_table=name)]


def logged(label: str, folder: Path) -> Logged:
    (results,) = folder.rglob("*_results.json")
    logs = {path.stem.split("_samples_")[1]: [json.loads(line) for line in path.open(encoding="utf-8")]
            for path in sorted(folder.rglob("*_samples_*.jsonl"))}  # fmt: skip
    return Logged(label, logs, json.loads(results.read_text(encoding="utf-8")))


def case(root: Path, folders: dict[str, Path], target: Path, samples: int) -> Case:
    words = ["report", *map(str, folders.values()), "-o", str(target), "--samples", str(samples)]
    assert cli.main(words) == 0
    runs = [logged(label, folder) for label, folder in folders.items()]
    expected = naive_report.Tables(runs, root / "lmms_tasks" / "report" / "published.csv")
    return Case(runs, pages.parse(target.read_text(encoding="utf-8")), expected, list(folders.values()))


#: Evaluates one file of replies after the other; a process for each would load torch each time.
EVALUATIONS = """
import pathlib, sys
from lmms_eval.__main__ import cli_evaluate
for path in map(pathlib.Path, sys.argv[1:]):
    sys.argv = ["lmms-eval", "--model", "replay", "--model_args", f"path={path}", "--log_samples",
                "--tasks", "slake,medxpertqa,vlms_are_biased", "--output_path", f"out/{path.stem}"]
    cli_evaluate()
"""


@pytest.fixture(scope="module")
def sample(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The three replayed models over the embedded sample, by the real lmms-eval."""
    where = tmp_path_factory.mktemp("sample")
    replies = [root / "lmms_tasks" / "sample" / "replies" / f"{model}.jsonl" for model in MODELS]
    run = command(sys.executable, "-c", EVALUATIONS, *map(str, replies), cwd=where,
                  env=environment(LMMS_TASKS_DATA="sample"))  # fmt: skip
    assert run.status == 0, run.output[-3000:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", "sample")
        return case(root, {model: where / "out" / model for model in MODELS}, where / "report.html", 240)


#: How many rows of each task of the real data are judged; None is all.
HUB = dict.fromkeys(report_runs.FULL, None) | {
    "vlms_are_biased_identification": 200, "vlms_are_biased_withtitle": 240,
    "vlms_are_biased_remove_background_q1q2": 240, "vlms_are_biased_remove_background_q3": 200,
}  # fmt: skip
FORMS = ("ANSWER: {}", "{{{}}}", "I would say {}.", "ANSWER: nothing of the kind", "", "<think>hm", "**{}**", "B", "3")


def scripted(index: int, document: Any) -> str:
    answer = next(document[key] for key in ("answer", "label", "ground_truth") if document.get(key) is not None)
    bias = document.get("expected_bias")
    # Sevens and nines: outcomes differ between slices and between members of a cluster.
    return FORMS[index % 9].format(bias if bias is not None and index % 7 < 3 else answer)


@pytest.fixture(scope="module")
def hub(shared: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Scripted replies to the real questions."""
    where = tmp_path_factory.mktemp("hub")
    (where / "scripted").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_TASKS_DATA", str(shared / "hub"))
        counts = {}
        for task, limit in HUB.items():
            record(where / "scripted", task, scripted, limit)
            counts[task] = limit or report_runs.FULL[task]
        content = {
            "results": {}, "group_subtasks": {**report_runs.GROUPS, **{task: [] for task in HUB}},
            "configs": {task: settings(task) for task in HUB},
            "n-samples": {task: {"original": report_runs.FULL[task], "effective": n} for task, n in counts.items()},
            "config": {"model": "vllm", "model_args": {"model": "org/a_model", "tensor_parallel_size": 2}, "limit": None,
                       "batch_size": "auto", "gen_kwargs": {"temperature": 0.7}, "random_seed": 5},
            "model_name": "org/a_model", "total_evaluation_time_seconds": "7384.2", "git_hash": "abc",
            "lmms_eval_version": "unknown@abc",
        }  # fmt: skip
        (where / "scripted" / "20260102_030405_results.json").write_text(json.dumps(content), encoding="utf-8")
        return case(root, {"org/a_model": where / "scripted"}, where / "report.html", 60)


def settings(task: str) -> dict[str, Any]:
    name = report_runs.benchmark(task)
    generation = dict(report_runs.GENERATION[name])
    if name == "slake":
        generation["temperature"] = 0.7
    return {
        "task": task, "process_docs": f"Subset({name}, {task.removeprefix(name + '_')})",
        "description": "You are a helpful medical assistant.\n\n" if name == "medxpertqa" else "",
        "generation_kwargs": generation, "repeats": 1, "num_fewshot": 0, "output_type": "generate_until",
        "metadata": {"version": "1.0", "pack": "lmms-tasks 0.1.0", "lmms_eval": "0.7.3", "data": "a copy of the hub",
                     "rows": report_runs.FULL[task], "fingerprint": f"print of {task}"},
    }  # fmt: skip


@pytest.fixture(params=["sample", "hub"])
def runs(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


# --- tables ---------------------------------------------------------------------------------------------------------

#: Tables that other tests of this module hold to the logs.
ELSEWHERE = {"gallery_counts", "not_comparable", "departures", "tasks"}


def test_every_table_of_the_page_is_the_one_computed_from_the_logs(runs: Case) -> None:
    names = Counter(
        element.attributes.get("data-table", "a table without a name") for element in runs.page.all("table")
    )
    published = {name for name in names if name.startswith("published_")}
    assert published
    assert set(names) - published - ELSEWHERE == set(runs.expected.found)
    for name, tables in runs.expected.found.items():
        shown = runs.shown(name)
        assert len(shown) == len(tables), name
        for found, expected in zip(shown, tables, strict=True):
            assert found[0] == expected[0], name
            assert sorted(found[1:]) == sorted(expected[1:]), name


def test_published_numbers_stand_beside_values_computed_from_the_logs(runs: Case) -> None:
    tables = [table for element in runs.page.all("table", class_="published") for table in [pages.table(element)]]
    assert all(table[0] == ["metric", *(run.label for run in runs.runs), "published"] for table in tables)
    rows = [row for table in tables for row in table[1:]]
    assert sorted(rows) == sorted(runs.expected.published)
    assert len(rows) > 20
    (refused,) = runs.shown("not_comparable")
    assert sorted(refused[1:]) == sorted(runs.expected.not_comparable)
    count = sum(int(row[2]) for row in runs.expected.not_comparable)
    summary = f"Not comparable: {count} published numbers of {len(runs.expected.not_comparable)} kinds, with the reason"
    assert summary in [element.text for element in runs.page.all("summary")]


def test_the_json_holds_the_numbers_of_the_page(sample: Case, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", *map(str, sample.folders), "--format", "json"]) == 0
    tables = json.loads(capfd.readouterr().out)["tables"]
    shown: dict[str, list[list[str]]] = {}
    for name in sample.expected.found:
        if not name.endswith("_confusion"):
            for table in sample.shown(name):
                shown.setdefault("headline" if name.startswith("headline") else name, []).extend(table[1:])
    assert set(tables) - {"published"} == set(shown)

    def text(cell: Any) -> str:
        if isinstance(cell, dict):
            signed = cell["low"] is not None and name == "vlms_are_biased_controls"
            show = naive_report.signed if signed else naive_report.percent
            ends = (
                "" if cell["low"] is None else (" to " if signed else "–").join(map(show, (cell["low"], cell["high"])))
            )
            return f"{show(cell['value'])} {ends}".strip()
        return "–" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)

    for row in tables["headline"]["rows"]:
        (run,) = (run for run in sample.runs if run.label == row["run"])
        entries = run.entries(run.leaves(row["task"]))
        assert row["clusters"] == row["acc"]["clusters"] == len({entry["acc"]["cluster"] for entry in entries})
        assert row["acc"]["n"] == len(entries)
    for name, table in tables.items():
        if name != "published":
            rows = [
                [
                    str(cell) if column == "pixels" else text(cell)
                    for column, cell in row.items()
                    if column != "clusters"
                ]
                for row in table["rows"]
            ]
            assert sorted(rows) == sorted(shown[name]), name


# --- charts ---------------------------------------------------------------------------------------------------------


def points(svg: Element) -> list[tuple[float, float, bool]]:
    """The marks of a chart in percent and height, and whether they are filled, from the places of its ticks."""
    ticks = {text.text.replace(" %", ""): float(text.attributes["x"]) for text in svg.all("text")
             if "text-anchor: middle" in text.attributes["style"]}  # fmt: skip
    ends = sorted((float(name.replace("−", "-")), x) for name, x in ticks.items())
    (low, left), (high, right) = ends[0], ends[-1]
    return [
        (low + (float(use.attributes["x"]) - left) / (right - left) * (high - low), float(use.attributes["y"]),
         "fill: var(--paper)" not in use.attributes["style"])
        for use in svg.all("use")
    ]  # fmt: skip


def test_the_dots_of_every_chart_lie_where_its_table_says(runs: Case) -> None:
    charts = 0
    for figure in runs.page.all("article", class_="figure"):
        svg, key = next(figure.all("svg"), None), figure.attributes.get("id", "")
        (titles, *rows) = pages.table(next(figure.all("table")))
        if svg is None or "acc_flexible" not in titles:
            continue
        charts += 1
        acc, flexible = titles.index("acc"), titles.index("acc_flexible")
        found = points(svg)
        for filled, column in ((True, acc), (False, flexible)):
            expected = sorted(float(row[column].split()[0]) for row in rows)
            assert sorted(x for x, _, full in found if full == filled) == pytest.approx(expected, abs=0.051), key
        # From top to bottom, in the order of the table.
        downwards = [x for x, _, full in sorted(found, key=lambda point: point[1]) if full]
        assert downwards == pytest.approx([float(row[acc].split()[0]) for row in rows], abs=0.051), key
    assert charts >= 12


def test_the_chart_of_controls_shows_their_differences(runs: Case) -> None:
    (figure,) = runs.page.all("article", id="vlms_are_biased_controls")
    _, *rows = pages.table(next(figure.all("table")))
    for measure, filled in (("acc", True), ("acc_flexible", False)):
        expected = [float(row[-1].split()[0].replace("−", "-")) for row in rows if row[1] == measure]
        found = sorted(x for x, _, full in points(next(figure.all("svg"))) if full == filled)
        assert found == pytest.approx(sorted(expected), abs=0.051)


def test_the_stacked_bars_are_as_long_as_the_outcomes_are_frequent(runs: Case) -> None:
    (figure,) = runs.page.all("article", id="vlms_are_biased_outcomes")
    drawings = list(figure.all("svg"))
    assert len(drawings) == len(runs.runs)
    for run, svg in zip(runs.runs, drawings, strict=True):
        texts = {text.text: float(text.attributes["x"]) for text in svg.all("text") if text.text in ("0", "100 %")}
        whole = texts["100 %"] - texts["0"]
        bars = Counter[str]()
        for path in svg.all("path"):
            colour = re.search(r"fill: var\(--(correct|biased|other|unreadable)\)", path.attributes.get("style", ""))
            if colour:
                corners = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path.attributes["d"])]
                bars[colour[1]] += round((max(corners) - min(corners)) / whole * 100_000)  # type: ignore[assignment]
        labels, sums = [], Counter[str]()
        for topic in naive_report.TOPICS:
            part = [e["acc"]["outcome"] for e in run.logs[MAIN] if e["acc"]["slices"]["topic"] == topic]
            for outcome in OUTCOMES:
                percent = 100 * part.count(outcome) / len(part)
                sums[outcome] += round(1000 * percent)
                labels += [f"{percent:.0f}"] * (percent >= 7)
        inside = [text.text for text in svg.all("text") if "font-size: 8.5px" in text.attributes["style"]]
        assert sorted(inside) == sorted(labels)
        assert {outcome: bars[outcome] for outcome in OUTCOMES} == pytest.approx(dict(sums), abs=50)


def test_the_bars_of_letters_are_as_high_as_the_letters_are_frequent(runs: Case) -> None:
    for subset in ("text", "mm"):
        (figure,) = runs.page.all("article", id=f"medxpertqa_{subset}_letters")
        for number, (run, svg) in enumerate(zip(runs.runs, figure.all("svg"), strict=True)):
            heights: dict[str, list[float]] = {"unreadable": [], f"run{number}": []}
            for path in svg.all("path"):
                colour = re.search(r"fill: var\(--(unreadable|run\d)\)", path.attributes.get("style", ""))
                if colour:
                    ys = [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path.attributes["d"])]
                    heights[colour[1]].append(max(ys) - min(ys))
            records = [entry["acc"] for entry in run.logs[f"medxpertqa_{subset}"]]
            right, read = (Counter(r[key] for r in records) for key in ("reference", "read"))
            letters = [*sorted({*right, *read} - {None}), *[None] * (None in read)]
            unit = max(heights[f"run{number}"]) / max(read.values())
            assert heights[f"run{number}"] == pytest.approx([unit * read[letter] for letter in letters], abs=0.01)
            assert heights["unreadable"] == pytest.approx([unit * right[letter] for letter in letters], abs=0.01)


# --- gallery --------------------------------------------------------------------------------------------------------


def test_the_gallery_shows_what_the_logs_say_and_counts_the_rest(runs: Case) -> None:
    cards = list(runs.page.all("article", class_="card"))
    shown = Counter(card.attributes["data-task"] for card in cards)
    (counts,) = runs.shown("gallery_counts")
    tasks = {task for run in runs.runs for task in run.logs}
    expected = []
    for task in tasks:
        records = [entry["acc"] for run in runs.runs for entry in run.logs[task]]
        outcomes = Counter(r["outcome"] for r in records)
        disagree = sum((r["score"] == 1) != (r["outcome"] == "correct") for r in records)
        samples = len({entry["doc_id"] for run in runs.runs for entry in run.logs[task]})
        expected.append([task, f"{samples:,}", str(shown[task]), *(f"{outcomes[o]:,}" for o in OUTCOMES),
                         f"{disagree:,}"])  # fmt: skip
    assert counts[0] == ["task", "samples", "shown", *OUTCOMES, "readings disagree"]
    assert sorted(counts[1:]) == sorted(expected)
    assert runs.page.one("section", id="samples").text.startswith(f"Samples {len(cards)} samples, chosen")
    for card in cards:
        task, row = card.attributes["data-task"], card.one("span", class_="row").text
        entries = [entry for run in runs.runs for entry in run.logs[task] if entry["acc"]["row"] == row]
        verdicts = list(card.all("div", class_="verdict"))
        for entry, verdict in zip(entries, verdicts, strict=True):
            record = entry["acc"]
            marks = [mark.text for mark in verdict.all("span", class_="mark")]
            disagree = (record["score"] == 1) != (record["outcome"] == "correct")
            form = ["other form"] * (not record["format_ok"])
            assert marks == [record["outcome"], *["readings disagree"] * disagree, *form]
            assert verdict.one("blockquote").raw == (entry["filtered_resps"] or "(empty reply)")
            why = verdict.one("p", class_="why").text
            assert why.split(" A careful reader")[0].endswith("right.") == (record["score"] == 1)
            if record["read"] is not None and len(record["read"]) <= 80:
                assert f"A careful reader finds “{' '.join(record['read'].split())}”" in why
        assert card.one("p", class_="reference").text == f"Reference {' '.join(entries[0]['acc']['reference'].split())}"
        assert card.attributes["data-outcomes"].split() == list(dict.fromkeys(e["acc"]["outcome"] for e in entries))


# --- cover and provenance -------------------------------------------------------------------------------------------


def facts(element: Element) -> dict[str, str]:
    names, values = ([found.text for found in element.all(tag)] for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def test_the_cover_counts_replies_tasks_and_departures(runs: Case) -> None:
    covers = list(runs.page.one("header", class_="cover").all("dl"))
    articles = list(runs.page.all("article", class_="provenance"))
    for run, cover, article in zip(runs.runs, covers, articles, strict=True):
        found = facts(cover)
        replies = sum(map(len, run.logs.values()))
        assert found["judged"] == f"{replies:,} replies in {len(run.logs)} tasks"
        departures = len(pages.table(article.one("table", data_table="departures"))) - 1
        plural = ("s depart" if departures > 1 else " departs") + " from the official one"
        assert found["protocol"] == f"{departures} setting{plural}"


def test_the_call_out_names_the_task_whose_form_costs_most(runs: Case) -> None:
    lines = [line.text for line in runs.page.one("aside", class_="callout").all("li")]
    expected = []
    for run in runs.runs:
        gaps = []
        for task, entries in run.logs.items():
            acc, flexible, form = (
                sum(entry[metric]["score"] for entry in entries) / len(entries)
                for metric in ("acc", "acc_flexible", "format_ok")
            )
            if flexible - acc >= 0.05:
                gaps.append((flexible - acc, task, *map(naive_report.percent, (acc, flexible, form))))
        if gaps:
            _, task, acc, flexible, form = max(gaps, key=lambda gap: round(gap[0], 3))
            who = f"{run.label}: " if len(runs.runs) > 1 else ""
            more = f" The two part by 5 points or more in {len(gaps)} tasks." if len(gaps) > 1 else ""
            expected.append(
                f"{who}a careful reader marks {flexible} % of the replies to {task} right, the official rule {acc} %: "
                f"only {form} % have the form that the prompt asks for.{more}"
            )
    assert lines == expected


def test_provenance_is_what_the_results_file_says(sample: Case) -> None:
    articles = list(sample.page.all("article", class_="provenance"))
    release = importlib.metadata.version("lmms_eval")
    for run, folder, article in zip(sample.runs, sample.folders, articles, strict=True):
        config, date = run.results["config"], run.results["date"]
        found = facts(article.one("dl", class_="facts"))
        assert found.pop("date").endswith(f"{date[9:11]}:{date[11:13]}")
        assert (
            found.pop("git state of the folder it ran in", run.results["lmms_eval_version"])
            == (run.results["lmms_eval_version"])
        )
        seconds = round(float(run.results["total_evaluation_time_seconds"]))
        assert found.pop("duration") == (f"{seconds // 60} min " if seconds >= 60 else "") + f"{seconds % 60} s"
        (path,) = folder.rglob("*_results.json")
        assert found == {
            "model": "replay", "model arguments": config["model_args"], "model back end": config["model_backend"],
            "lmms-eval": release, "lmms-tasks": __version__, "batch size": "1",
            "seeds": "random 0, numpy 1234, torch 1234", "results file": str(path),
        }  # fmt: skip
        tasks = {row[0]: row[1:] for row in pages.table(article.one("table", data_table="tasks"))}
        assert tasks.pop("task") == ["scoring version", "rows judged", "data", "fingerprint", "generation settings"]
        assert set(tasks) == set(run.logs)
        for task, entries in run.logs.items():
            written = run.results["configs"][task]
            generation = ", ".join(f"{key}={value!r}" for key, value in written["generation_kwargs"].items())
            metadata = written["metadata"]
            assert tasks[task] == [metadata["version"], f"{len(entries)} of {len(entries)}", metadata["data"],
                                   metadata["fingerprint"], generation.replace("\n", "\\n")]  # fmt: skip
        departures = pages.table(article.one("table", data_table="departures"))[1:]
        assert departures == [["data source", "the sample that comes with the package", "the published dataset",
                               ", ".join(run.results["configs"])]]  # fmt: skip


def test_every_setting_that_departs_from_the_protocol_is_flagged(hub: Case) -> None:
    article = hub.page.one("article", class_="provenance")
    found = facts(article.one("dl", class_="facts"))
    assert found == {
        "model": "vllm", "model arguments": "model=org/a_model, tensor_parallel_size=2", "lmms-eval": "0.7.3",
        "lmms-tasks": "0.1.0", "date": "2 January 2026, 03:04", "duration": "2 h 3 min", "batch size": "auto",
        "generation settings given": "temperature=0.7", "seeds": "random 5",
        "results file": str(hub.folders[0] / "20260102_030405_results.json"),
    }  # fmt: skip
    tasks = {row[0]: row[1:] for row in pages.table(article.one("table", data_table="tasks"))[1:]}
    assert {task: row[1] for task, row in tasks.items()} == {
        task: f"{len(hub.runs[0].logs[task]):,} of {rows:,}" for task, rows in report_runs.FULL.items()
    }
    assert all(row[0] == "1.0" and row[3] == f"print of {task}" for task, row in tasks.items())
    departures = pages.table(article.one("table", data_table="departures"))[1:]
    limited = [[ "rows", str(limit), f"all {report_runs.FULL[task]:,} rows of {task.removeprefix('vlms_are_biased_')}",
                task] for task, limit in HUB.items() if limit]  # fmt: skip
    slake = ", ".join(task for task in HUB if task.startswith("slake"))
    assert sorted(departures) == sorted([["temperature", "0.7", "0", slake], *limited])
    assert sum("flag" in mark.attributes.get("class", "") for mark in article.all("span")) == len(departures)
