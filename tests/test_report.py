"""The report: its numbers against an independent computation, its settings, its gallery, and untrusted text."""

from __future__ import annotations

import base64
import csv
import hashlib
import html.parser
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmms_tasks.report import charts, explain, formats, gallery, page, report_cli, runs, settings, tables
from tests import report_runs

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")
pytest.importorskip("matplotlib")

SMALL = {
    "slake_en_open": 60, "slake_en_closed": 48, "slake_zh_open": 54, "slake_zh_closed": 42,
    "medxpertqa_text": 80, "medxpertqa_mm": 70,
    "vlms_are_biased_main": 252, "vlms_are_biased_original": 84, "vlms_are_biased_withtitle": 84,
}  # fmt: skip
HOSTILE = [
    "<script>window.hit = 1</script>",
    '<img src=x onerror="window.hit = 2">',
    "</blockquote></article><script>window.hit = 3</script>",
    "[click](javascript:window.hit=4) <a href='javascript:window.hit=5'>x</a>",
    "{{ 7 * 7 }} {% raw %} \x00 \x1b[31m \u202egnp.exe \ud83d",
    "--> ]]> </text></svg><script>window.hit = 6</script>",
    "$x^2$ \\input{/etc/passwd} & % # _ ~ ^",
]


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads a data set by accident."""
    (tmp_path / "no data").mkdir()
    monkeypatch.setenv("LMMS_TASKS_DATA", str(tmp_path / "no data"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_runs.write(tmp_path_factory.mktemp("run"), SMALL)


@pytest.fixture(scope="module")
def run(place: Path) -> runs.Run:
    return runs.read(runs.find(place)[0])


class Tables(html.parser.HTMLParser):
    """The tables of a page that have a name: rows of cells, with spanning cells repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[list[str]]] = {}
        self.pending: dict[int, tuple[int, str]] = {}
        self.name: str | None = None
        self.cell: list[str] | None = None
        self.span = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "table":
            self.name = values.get("data-table")
            self.pending = {}
            if self.name is not None:
                self.found[self.name] = []
        elif tag == "tr" and self.name is not None:
            self.found[self.name].append([])
        elif tag in ("td", "th") and self.name is not None:
            self.fill()
            self.cell, self.span = [], int(values.get("rowspan") or 1)

    def fill(self) -> None:
        row = self.found[self.name or ""][-1]
        while self.pending.get(len(row), (0, ""))[0] > 0:
            left, text = self.pending[len(row)]
            self.pending[len(row)] = (left - 1, text)
            row.append(text)

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.cell is not None and self.name is not None:
            row = self.found[self.name][-1]
            text = " ".join("".join(self.cell).split())
            if self.span > 1:
                self.pending[len(row)] = (self.span - 1, text)
            row.append(text)
            self.cell = None


def tables_of(text: str) -> dict[str, list[list[str]]]:
    parser = Tables()
    parser.feed(text)
    return parser.found


def headline_of(found: dict[str, list[list[str]]]) -> list[list[str]]:
    """The headline's rows over all benchmarks, under its column titles."""
    parts = [table for name, table in found.items() if name.startswith("headline_")]
    return [parts[0][0], *(row for part in parts for row in part[1:])]


def naive_share(entries: list[dict[str, Any]], metric: str) -> str:
    """The mean and its interval as the page writes them, computed anew from log lines with numpy and scipy."""
    items = [entry[metric] for entry in entries if entry.get(metric)]
    if not items:
        return "–"
    values = np.array([item["score"] for item in items])
    names, codes = np.unique([item["cluster"] for item in items], return_inverse=True)
    mean = values.mean()
    if len(names) < 2:
        return f"{100 * mean:.1f}"
    residuals = np.bincount(codes, values - mean)
    error = math.sqrt(len(names) / (len(names) - 1) * (residuals**2).sum()) / len(values)
    if error < 1e-12:
        interval = stats.binomtest(round(mean * len(names)), len(names)).proportion_ci(method="wilson")
        low, high = interval.low, interval.high
    else:
        reach = stats.t.ppf(0.975, len(names) - 1) * error
        low, high = max(0, mean - reach), min(1, mean + reach)
    return f"{100 * mean:.1f} {100 * low:.1f}–{100 * high:.1f}"


def test_every_number_of_the_headline_equals_one_computed_from_the_logs(run: runs.Run, place: Path) -> None:
    logs = report_runs.logged(place)
    shown = headline_of(tables_of(page.report([run])))
    assert shown[0] == ["task", "rows", "acc", "acc_flexible", "format_ok", "unreadable"]
    members = {**{task: [task] for task in logs}, **{group: run.groups[group] for group in run.groups}}
    assert {row[0] for row in shown[1:]} == set(members)
    for name, count, *cells in shown[1:]:
        entries = [entry for task in members[name] for entry in logs[task]]
        assert count == f"{len(entries):,}"
        assert cells == [naive_share(entries, metric) for metric in ("acc", "acc_flexible", "format_ok", "unreadable")]


SLAKE = [name for name in SMALL if "slake" in name]
WITH_BIAS = ("acc", "acc_flexible", "bias_ratio", "unreadable")
BREAKDOWNS = {
    "vlms_are_biased_topics": (["vlms_are_biased_main"], "topic", WITH_BIAS),
    "vlms_are_biased_resolution": (["vlms_are_biased_main"], "pixel", WITH_BIAS),
    "vlms_are_biased_sub_topics": (["vlms_are_biased_main"], "sub_topic", WITH_BIAS),
    "slake_content_type": (SLAKE, "content_type", ("acc", "acc_flexible", "unreadable")),
    "slake_modality": (SLAKE, "modality", ("acc", "acc_flexible", "unreadable")),
    "medxpertqa_mm_images": (["medxpertqa_mm"], "images", ("acc", "acc_flexible", "unreadable")),
    "medxpertqa_mm_question_type": (["medxpertqa_mm"], "question_type", ("acc", "acc_flexible", "unreadable")),
    "medxpertqa_text_medical_task": (["medxpertqa_text"], "medical_task", ("acc", "acc_flexible", "unreadable")),
    "medxpertqa_text_body_system": (["medxpertqa_text"], "body_system", ("acc", "acc_flexible", "unreadable")),
}  # fmt: skip


@pytest.fixture(scope="module")
def shown(run: runs.Run) -> dict[str, list[list[str]]]:
    return tables_of(page.report([run], samples=10))


@pytest.mark.parametrize("table", BREAKDOWNS)
def test_every_number_of_a_breakdown_equals_one_computed_from_the_logs(
    shown: dict[str, list[list[str]]], place: Path, table: str
) -> None:
    tasks, column, metrics = BREAKDOWNS[table]
    logs = report_runs.logged(place)
    entries = [entry for task in tasks for entry in logs[task]]
    values = {str(entry["acc"]["slices"][column]) for entry in entries}
    assert {row[0] for row in shown[table][1:]} == values
    for name, count, *cells in shown[table][1:]:
        part = [entry for entry in entries if str(entry["acc"]["slices"][column]) == name]
        assert count == f"{len(part):,}"
        assert cells == [naive_share(part, metric) for metric in metrics]


def test_slake_types_and_token_measures_equal_ones_computed_from_the_logs(
    shown: dict[str, list[list[str]]], place: Path
) -> None:
    logs = report_runs.logged(place)
    rows = {(row[0], row[1]): row[2:] for row in shown["slake_types"][1:]}
    assert len(rows) == 9
    for (language, kind), cells in rows.items():
        entries = [
            entry
            for task, lines in logs.items()
            if task.startswith("slake")
            and (language == "both" or ("en" if language == "English" else "zh") in task[6:8])
            and (kind == "all" or task.endswith(kind))
            for entry in lines
        ]
        metrics = ("acc", "acc_flexible", "unreadable", "token_f1", "token_recall")
        assert cells == [f"{len(entries):,}", *(naive_share(entries, metric) for metric in metrics)]


def test_outcomes_by_topic_are_counted_right(shown: dict[str, list[list[str]]], place: Path) -> None:
    entries = report_runs.logged(place)["vlms_are_biased_main"]
    for topic, count, *cells in shown["vlms_are_biased_outcomes"][1:]:
        part = [entry["acc"]["outcome"] for entry in entries if entry["acc"]["slices"]["topic"] == topic]
        assert [count, *cells] == [
            str(len(part)),
            *(str(part.count(o)) for o in ("correct", "biased", "other", "unreadable")),
        ]


def test_the_task_mean_is_the_unweighted_mean_of_the_topics(shown: dict[str, list[list[str]]], place: Path) -> None:
    entries = report_runs.logged(place)["vlms_are_biased_main"]
    row = dict(zip(*shown["vlms_are_biased_summary"], strict=True))
    for column, metric in (
        ("task_mean", "acc"),
        ("task_mean_flexible", "acc_flexible"),
        ("task_mean_bias", "bias_ratio"),
    ):
        topics: dict[str, list[float]] = {}
        for entry in entries:
            topics.setdefault(entry["acc"]["slices"]["topic"], []).append(entry[metric]["score"])
        mean = np.mean([np.mean(values) for values in topics.values()])
        assert row[column].split()[0] == f"{100 * mean:.1f}"
    assert row["acc"] == naive_share(entries, "acc")


def test_the_interval_of_the_task_mean_matches_an_independent_bootstrap(run: runs.Run, place: Path) -> None:
    entries = report_runs.logged(place)["vlms_are_biased_main"]
    random = np.random.default_rng(5)
    draws = np.zeros(4000)
    topics = sorted({entry["acc"]["slices"]["topic"] for entry in entries})
    for topic in topics:
        objects: dict[str, list[float]] = {}
        for entry in entries:
            if entry["acc"]["slices"]["topic"] == topic:
                objects.setdefault(entry["acc"]["cluster"], []).append(entry["acc"]["score"])
        table = np.array([(sum(values), len(values)) for values in objects.values()])
        taken = table[random.integers(0, len(table), (4000, len(table)))].sum(axis=1)
        draws += taken[:, 0] / taken[:, 1] / len(topics)
    (row,) = next(table for table in tables.vlms_are_biased([run]) if table.key == "vlms_are_biased_summary").rows
    assert (row[2].low, row[2].high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.012)


def test_letters_and_confusion_are_counted_right(shown: dict[str, list[list[str]]], place: Path) -> None:
    entries = [entry["acc"] for entry in report_runs.logged(place)["medxpertqa_mm"]]
    for letter, right, chosen, both in shown["medxpertqa_mm_letters"][1:]:
        read = None if letter == "none read" else letter
        assert right == str(sum(entry["reference"] == letter for entry in entries))
        assert chosen == str(sum(entry["read"] == read for entry in entries))
        assert both == str(sum(entry["read"] == entry["reference"] == letter for entry in entries))
    head, *rows = shown["medxpertqa_mm_letters_confusion"]
    for letter, *counts in rows:
        for other, count in zip(head[1:], counts, strict=True):
            read = None if other == "none" else other
            assert count == str(sum(e["reference"] == letter and e["read"] == read for e in entries))
    assert sum(int(count) for _, *counts in rows for count in counts) == len(entries)


def test_the_gallery_counts_every_sample(shown: dict[str, list[list[str]]], place: Path) -> None:
    logs = report_runs.logged(place)
    assert sum(int(row[2]) for row in shown["gallery_counts"][1:]) == 10
    for task, total, _, *kinds in shown["gallery_counts"][1:]:
        entries = [entry["acc"] for entry in logs[task]]
        outcomes = [entry["outcome"] for entry in entries]
        disagree = sum((entry["score"] == 1) != (entry["outcome"] == "correct") for entry in entries)
        assert total == f"{len(entries):,}"
        assert kinds == [*(str(outcomes.count(o)) for o in ("correct", "biased", "other", "unreadable")), str(disagree)]


def test_all_formats_say_the_same(run: runs.Run) -> None:
    found = tables.all_tables([run])
    loaded = json.loads(formats.render("json", found))["tables"]
    records = list(csv.DictReader(io.StringIO(formats.render("csv", found))))
    markdown, latex = formats.render("md", found), formats.render("latex", found)
    for table in found:
        assert len(loaded[table.key]["rows"]) == len(table.rows)
        assert sum(record["table"] == table.key for record in records) == len(table.rows) * len(table.columns)
    first = found[0].rows[0]
    acc = loaded["headline"]["rows"][0]["acc"]
    assert acc["value"] == first[4].value
    record = next(r for r in records if r["table"] == "headline" and r["task"] == first[0] and r["column"] == "acc")
    assert (float(record["value"]), float(record["low"]), int(record["n"])) == (acc["value"], acc["low"], acc["n"])
    shown = f"{100 * acc['value']:.1f}"
    assert f"| {first[0]} | {first[2]} | {first[3]} | {shown} [" in markdown
    assert f"{first[0]} & {first[2]} & {first[3]} & {shown} {{" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == len(found)


def test_several_runs_stand_side_by_side(tmp_path: Path, run: runs.Run) -> None:
    report_runs.write(tmp_path, SMALL, model="other", skill=0.8)
    other = runs.read(runs.find(tmp_path)[0])
    text = page.report([run, other], samples=20)
    shown = headline_of(tables_of(text))
    assert shown[0][:3] == ["task", "run", "rows"]
    assert [row[1] for row in shown[1:3]] == ["model", "other"]
    alone = headline_of(tables_of(page.report([other], samples=0)))
    assert [row[:1] + row[2:] for row in shown[1:] if row[1] == "other"] == alone[1:]


def test_equal_labels_are_told_apart(tmp_path: Path) -> None:
    report_runs.write(tmp_path / "a", {"slake_en_open": 6})
    report_runs.write(tmp_path / "b", {"slake_en_open": 6})
    loaded = report_cli.load([str(tmp_path / "a"), str(tmp_path / "b")])
    assert len({one.label for one in loaded}) == 2


def test_the_page_asks_for_nothing_from_outside(run: runs.Run) -> None:
    text = page.report([run])
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?(?!#|data:)[^"'\s>]+""", re.sub(r"xmlns[^ >]*", "", text))
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy[1].replace("&#39;", "'")


@pytest.mark.parametrize("reply", HOSTILE)
def test_markup_from_outside_is_text(tmp_path: Path, reply: str) -> None:
    report_runs.write(tmp_path, {"vlms_are_biased_main": 12}, model="model")
    path = next((tmp_path / "model").glob("*_samples_*"))
    entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for entry in entries:
        record = entry["acc"]
        entry["filtered_resps"] = entry["input"] = record["row"] = record["reference"] = record["read"] = reply
        record["how"] = record["official"] = reply
        record["slices"] |= {"sub_topic": reply, "topic": reply, "bias": reply}
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    results = next((tmp_path / "model").glob("*_results.json"))
    content = json.loads(results.read_text())
    content["model_name"] = reply
    content["config"]["model_args"] = reply
    content["configs"]["vlms_are_biased_main"]["metadata"]["data"] = reply
    results.write_text(json.dumps(content))
    loaded = report_cli.load([str(tmp_path)])
    text = page.report(loaded)
    assert text.count("<script>") == 1
    assert "<img src=x" not in text
    assert "<a href='javascript" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    for name in ("md", "json", "csv", "latex"):
        written = formats.render(name, tables.all_tables(loaded), report_cli.notes(loaded))
        assert "<script>" not in written or name in ("json", "csv", "latex")
        assert "](javascript" not in written or name != "md"
    assert report_cli.write(text, tmp_path / "page.html", "report") == 0


def test_a_long_reply_is_clipped_and_the_rest_counted(tmp_path: Path) -> None:
    report_runs.write(tmp_path, {"slake_en_open": 6}, replies=["x" * 500_000 + "THE END"])
    text = page.report(report_cli.load([str(tmp_path)]))
    assert len(text) < 400_000
    assert "THE END" in text
    assert f"{500_007 - gallery.MAX_REPLY:,} characters are left out" in text


def test_a_page_over_long_replies_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "TEXT_BUDGET", 30_000)
    report_runs.write(tmp_path, {"slake_en_open": 200}, replies=["y " * 4000])
    text = page.report(report_cli.load([str(tmp_path)]))
    assert len(text) < 200_000
    assert "left out to keep the page small" in text


@pytest.mark.parametrize("letter", ["<", "'", "象", "\u202e"])
def test_the_page_about_three_runs_of_long_replies_keeps_its_size_whatever_their_letters(
    tmp_path: Path, letter: str
) -> None:
    for model in ("one", "two", "three"):
        report_runs.write(tmp_path, {"slake_en_open": 300}, model=model, replies=[letter * 3000])
    text = page.report(report_cli.load([str(tmp_path)]), samples=1000)
    # What is left of the 8 MB is for pictures.
    assert len(text.encode("utf-8", "replace")) < 8_000_000 - gallery.PICTURE_BUDGET - 300_000
    assert "left out to keep the page small" in text


def test_the_gallery_shows_every_task_and_every_kind_of_judgement(run: runs.Run) -> None:
    chosen = gallery.choose([run], 120)
    assert len(chosen) == len(set(chosen)) == 120
    assert {task for task, _ in chosen} == set(SMALL)
    kinds = {(s.outcome, s.disagree) for log in run.tasks.values() for s in log.samples}
    by_id = {task: {s.doc_id: s for s in log.samples} for task, log in run.tasks.items()}
    assert {(by_id[t][i].outcome, by_id[t][i].disagree) for t, i in chosen} == kinds
    first = {task: next(i for t, i in chosen if t == task) for task in SMALL}
    assert all(by_id[task][doc_id].disagree for task, doc_id in first.items())


def test_a_gallery_never_holds_more_than_asked(run: runs.Run) -> None:
    for most in (0, 1, 7, 10_000):
        assert len(gallery.choose([run], most)) == min(most, sum(SMALL.values()))


def test_where_the_data_source_is_missing_the_page_says_so_and_goes_on(run: runs.Run) -> None:
    text = page.report([run], samples=30)
    assert "No pictures for samples of" in text
    assert text.count('class="card"') == 30


def test_a_missing_matplotlib_leaves_the_tables(run: runs.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    text = page.report([run], samples=0)
    assert "<svg" not in text
    assert headline_of(tables_of(text))
    with pytest.raises(charts.ChartsMissingError, match=r"lmms-tasks\[report\]"):
        charts.letters(tables.letters([run], "medxpertqa_mm"), run.label)


def test_official_settings_are_those_of_the_task_files(root: Path) -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: None)
    for name, asked in settings.OFFICIAL.items():
        base = yaml.load((root / "lmms_tasks" / name / f"_{name}_yaml").read_text(), Loader)
        given = base["generation_kwargs"]
        assert {"until": settings.DEFAULT_UNTIL, **given} == asked


def test_the_plain_tasks_are_those_whose_prompts_are_the_reference_ones(root: Path) -> None:
    files = {path.stem for name in settings.OFFICIAL for path in (root / "lmms_tasks" / name).glob("*.yaml")}
    assert files >= settings.PLAIN_TASKS


def departures(tmp_path: Path, **changes: Any) -> dict[str, settings.Departure]:
    report_runs.write(tmp_path, {"vlms_are_biased_main": 12}, complete=changes.pop("complete", True), **changes)
    run = runs.read(runs.find(tmp_path)[0])
    return {d.setting: d for d in settings.departures(run, run.tasks["vlms_are_biased_main"])}


def test_an_official_run_has_no_departures(tmp_path: Path) -> None:
    assert departures(tmp_path) == {}


@pytest.mark.parametrize(
    ("changes", "setting", "found"),
    [
        ({"config": {"limit": 50.0}}, "limit", "50"),
        ({"config": {"offset": 5}}, "offset", "5"),
        ({"generation": {"temperature": 1.0}}, "temperature", "1.0"),
        ({"generation": {"max_new_tokens": 100}}, "max_new_tokens", "100"),
        ({"generation": {"until": []}}, "until", "[]"),
        ({"generation": {"top_k": 5}}, "top_k", "5"),
        ({"complete": False}, "rows", "12"),
        ({"metadata": {"data": "the sample of anvo25/x that comes with the package"}}, "data source", "the sample"),
        ({"metadata": {"pack": None}}, "task", "a task of the same name"),
    ],
)
def test_a_setting_that_departs_is_flagged(tmp_path: Path, changes: dict[str, Any], setting: str, found: str) -> None:
    flagged = departures(tmp_path, **changes)
    assert setting in flagged
    assert flagged[setting].found.startswith(found)


@pytest.mark.parametrize(
    ("task_config", "results", "setting"),
    [
        ({"repeats": 3}, {}, "repeats"),
        ({"num_fewshot": 2}, {}, "examples in the prompt"),
        ({"description": "Be careful."}, {}, "text before the prompt"),
        ({"lmms_eval_specific_kwargs": {"pre_prompt": "Hi"}}, {}, "texts around the prompt"),
        ({}, {"system_instruction": "Be brief."}, "system prompt"),
    ],
)
def test_a_change_of_what_the_model_is_told_is_flagged(
    tmp_path: Path, task_config: dict[str, Any], results: dict[str, Any], setting: str
) -> None:
    place = report_runs.write(tmp_path, {"vlms_are_biased_main": 12}, complete=True)
    path = next(place.glob("*_results.json"))
    content = json.loads(path.read_text())
    content["configs"]["vlms_are_biased_main"] |= task_config
    path.write_text(json.dumps(content | results))
    run = runs.read(runs.find(tmp_path)[0])
    assert [d.setting for d in settings.departures(run, run.tasks["vlms_are_biased_main"])] == [setting]


def test_a_reason_is_given_in_words_for_both_readings(run: runs.Run) -> None:
    for log in run.tasks.values():
        for sample in log.samples:
            why = explain.reason(sample)
            assert ("right" in why.official) == (sample.acc == 1.0)
            ending = {"correct": "right.", "biased": "biased.", "other": "wrong.", "unreadable": "."}[sample.outcome]
            assert why.flexible.endswith(ending)


def test_the_command_writes_the_page_and_says_where(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from lmms_tasks import cli

    target = tmp_path / "out.html"
    assert cli.main(["report", str(place), "-o", str(target), "--samples", "5"]) == 0
    assert str(target) in capfd.readouterr().err
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert cli.main(["report", str(tmp_path / "absent"), "-o", str(target)]) == 1
    assert "does not exist" in capfd.readouterr().err
    assert cli.main(["report", str(place), "--format", "csv"]) == 0
    assert capfd.readouterr().out.startswith("table,task,run,")


def test_published_numbers_stand_beside_the_value_computed_from_the_logs(
    shown: dict[str, list[list[str]]], place: Path
) -> None:
    entries = report_runs.logged(place)["vlms_are_biased_main"]
    rows = {row[0]: row for name, table in shown.items() if name.startswith("published_") for row in table[1:]}
    animals = [entry for entry in entries if entry["acc"]["slices"]["topic"] == "Animals"]
    row = rows["Animal, accuracy: share of counting answers on main that are correct"]
    assert row[1] == naive_share(animals, "acc")
    assert "GPT-4.1 9.52" in row[2]
    (micro,) = (row for name, row in rows.items() if name.startswith("main, overall_acc"))
    assert micro[1:] == [naive_share(entries, "acc"), "o4-mini-2025-04-16 19.97"]
