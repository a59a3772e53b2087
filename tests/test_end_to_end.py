"""The real `lmms-eval` command over the real benchmark text."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from lmms_tasks import tiny_vlm
from tests.running import OLDER, Run, command, environment, lmms_eval

ROWS = {
    "slake_en_open": 645,
    "slake_en_closed": 416,
    "slake_zh_open": 613,
    "slake_zh_closed": 420,
    "medxpertqa_text": 2450,
    "medxpertqa_mm": 2000,
    "vlms_are_biased_main": 2784,
    "vlms_are_biased_identification": 1392,
    "vlms_are_biased_withtitle": 2784,
    "vlms_are_biased_original": 458,
    "vlms_are_biased_remove_background_q1q2": 2784,
    "vlms_are_biased_remove_background_q3": 1392,
}
ALL = "slake,medxpertqa,vlms_are_biased"

#: Tests that share one long run go to one worker.
SHARING_A_RUN = pytest.mark.xdist_group("whole")


@pytest.fixture(scope="module")
def whole(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All tasks over the real text with one scripted reply for every document, right for some and wrong for most."""
    run = lmms_eval(
        cwd=tmp_path_factory.mktemp("whole"), tasks=ALL, data=str(shared / "hub"), model_args="response={4}"
    )
    assert run.status == 0, run.output[-3000:]
    return run


@SHARING_A_RUN
def test_every_leaf_has_the_published_number_of_rows(whole: Run) -> None:
    counted = {task: count["effective"] for task, count in whole.results()["n-samples"].items()}
    assert counted == ROWS
    assert {task: len(whole.samples(task)) for task in ROWS} == ROWS


@SHARING_A_RUN
@pytest.mark.parametrize("group", ["slake", "slake_en", "slake_zh", "medxpertqa", "vlms_are_biased"])
def test_a_group_is_the_sample_weighted_mean_of_its_leaves(whole: Run, group: str) -> None:
    leaves = [task for task in ROWS if task.startswith(group)]
    metrics = [
        key.removesuffix(",none") for key in whole.results()["groups"][group] if "_stderr" not in key and key != "alias"
    ]
    assert {"acc", "acc_flexible", "format_ok", "unreadable"} <= set(metrics)
    for metric in metrics:
        items = [sample[metric] for leaf in leaves for sample in whole.samples(leaf) if sample.get(metric)]
        expected = sum(item["score"] for item in items) / len(items)
        assert whole.value(group, metric) == pytest.approx(expected, abs=1e-12), metric


@SHARING_A_RUN
def test_bias_ratio_is_reported_where_there_is_an_expected_bias_and_nowhere_else(whole: Run) -> None:
    results = whole.results()["results"]
    having = {task for task in ROWS if "bias_ratio,none" in results[task]}
    assert having == {task for task in ROWS if task.startswith("vlms_are_biased_")} - {"vlms_are_biased_original"}
    assert 0 < whole.value("vlms_are_biased", "bias_ratio") < 1


@SHARING_A_RUN
def test_every_metric_of_a_scripted_reply_has_the_value_counted_by_hand_in_the_data(whole: Run, shared: Path) -> None:
    """The reply is `{4}` everywhere: every score is a share of rows that can be counted without our code."""
    import pyarrow.parquet as pq

    columns = ["ground_truth", "expected_bias", "topic"]
    hub = shared / "hub"
    rows = pq.read_table(hub / "anvo25" / "vlms-are-biased" / "data" / "main-00000-of-00001.parquet", columns=columns)
    right, biased = defaultdict(list), defaultdict(list)
    for row in rows.to_pylist():
        right[row["topic"]].append(row["ground_truth"] == "4")
        biased[row["topic"]].append(row["expected_bias"] == "4")

    def micro(topics: dict[str, list[bool]]) -> float:
        return sum(map(sum, topics.values())) / sum(map(len, topics.values()))

    def macro(topics: dict[str, list[bool]]) -> float:
        return sum(sum(hits) / len(hits) for hits in topics.values()) / len(topics)

    expected = {
        "acc": micro(right),
        "acc_flexible": micro(right),
        "bias_ratio": micro(biased),
        "bias_ratio_flexible": micro(biased),
        "task_mean": macro(right),
        "task_mean_bias": macro(biased),
        "format_ok": sum(row["ground_truth"].isdigit() for row in rows.to_pylist()) / len(rows),
        "unreadable": 0.0,
    } | {"topic_" + topic.lower().replace(" ", "_"): sum(hits) / len(hits) for topic, hits in right.items()}
    assert len(right) == 7
    for metric, value in expected.items():
        assert whole.value("vlms_are_biased_main", metric) == pytest.approx(value), metric

    slake = json.loads((hub / "BoKelvin" / "SLAKE" / "test.json").read_text(encoding="utf-8"))
    for language in ("en", "zh"):
        answers = [row["answer"] for row in slake if row["q_lang"] == language and row["answer_type"] == "OPEN"]
        fours = sum(answer.strip().lower() in {"4", "four", "四"} for answer in answers) / len(answers)
        for metric in ("acc", "acc_flexible"):
            assert whole.value(f"slake_{language}_open", metric) == pytest.approx(fours), metric
        assert whole.value(f"slake_{language}_open", "format_ok") == 0.0

    text = hub / "TsinghuaC3I" / "MedXpertQA" / "Text" / "test.jsonl"
    items = [json.loads(line) for line in text.read_text(encoding="utf-8").splitlines()]
    for metric in ("acc", "acc_reasoning", "acc_understanding", "format_ok"):
        assert whole.value("medxpertqa_text", metric) == 0.0
    # The exact text of an option states it, also where that is a number.
    named = ["4" in item["options"].values() for item in items]
    stated = [item["options"][item["label"]] == "4" for item in items]
    assert whole.value("medxpertqa_text", "acc_flexible") == pytest.approx(sum(stated) / len(items))
    assert whole.value("medxpertqa_text", "unreadable") == pytest.approx(1 - sum(named) / len(items))


def test_medxpertqa_counts_reasoning_and_understanding_apart(shared: Path, tmp_path: Path) -> None:
    run = lmms_eval(cwd=tmp_path, tasks="medxpertqa_text", data=str(shared / "hub"), model_args="response=ANSWER: B")
    lines = (
        (shared / "hub" / "TsinghuaC3I" / "MedXpertQA" / "Text" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    )
    rows = [json.loads(line) for line in lines]
    for metric, kinds in {
        "acc": ("Reasoning", "Understanding"),
        "acc_flexible": ("Reasoning", "Understanding"),
        "acc_reasoning": ("Reasoning",),
        "acc_understanding": ("Understanding",),
    }.items():
        hits = [row["label"] == "B" for row in rows if row["question_type"] in kinds]
        assert run.value("medxpertqa_text", metric) == pytest.approx(sum(hits) / len(hits)), metric
    assert run.value("medxpertqa_text", "format_ok") == 1.0
    assert run.value("medxpertqa_text", "unreadable") == 0.0


@SHARING_A_RUN
def test_the_clustered_error_is_there_for_means_and_not_for_the_macro_mean(whole: Run) -> None:
    main = whole.results()["results"]["vlms_are_biased_main"]
    assert main["acc_stderr_clustered,none"] > main["acc_stderr_clt,none"] > 0
    assert main["task_mean_stderr_clt,none"] == main["task_mean_stderr_clustered,none"] == "N/A"


@SHARING_A_RUN
def test_the_log_and_the_results_say_whose_tasks_ran_and_on_which_rows(whole: Run, shared: Path) -> None:
    assert "mean this pack's tasks" in whole.output
    assert "LMMS_TASKS_PRECEDENCE=0" in whole.output
    metadata = whole.results()["configs"]["slake_zh_open"]["metadata"]
    assert metadata["rows"] == 613
    assert str((shared / "hub").resolve()) in metadata["data"]
    assert len(metadata["fingerprint"]) == 16


@SHARING_A_RUN
def test_the_printed_table_fits_a_terminal_of_160_columns(whole: Run) -> None:
    table = [line for line in whole.output.splitlines() if line.startswith("|")]
    assert len(table) > 100
    assert max(map(len, table)) <= 160


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random checkpoint."""
    return tiny_vlm.build(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize("form", [(), ("--force_simple",)], ids=["chat", "simple"])
def test_a_local_hugging_face_model_runs_every_task(tiny: Path, tmp_path: Path, form: tuple[str, ...]) -> None:
    run = lmms_eval(
        *(*form, "--limit", "4", "--gen_kwargs", "max_new_tokens=8"),
        cwd=tmp_path,
        tasks=ALL,
        model="qwen2_5_vl",
        model_args=f"pretrained={tiny},device=cpu,device_map=cpu,min_pixels=784,max_pixels=12544",
    )
    assert run.status == 0, run.output[-3000:]
    for task in ROWS:
        samples = run.samples(task)
        assert [sample["doc_id"] for sample in samples] == list(range(len(samples)))
        assert len(samples) == 4


def test_precedence_off_leaves_the_built_in_task_in_place(tmp_path: Path, shared: Path) -> None:
    # load_dataset takes a folder called like the hub's id below the current directory for the dataset.
    (tmp_path / "anvo25").symlink_to(shared / "hub" / "anvo25")
    run = lmms_eval("--limit", "4", cwd=tmp_path, tasks="vlms_are_biased", LMMS_TASKS_PRECEDENCE="0")
    assert "accuracy,none" in run.results()["results"]["vlms_are_biased"]
    assert "mean this pack's tasks" not in run.output


@pytest.mark.parametrize(
    "door",
    [("lmms-eval",), ("python", "-m", "lmms_eval"), ("lmms-tasks", "eval")],
    ids=["lmms-eval", "python -m", "lmms-tasks eval"],
)
def test_every_door_of_the_command_line_leads_to_our_tasks(tmp_path: Path, door: tuple[str, ...]) -> None:
    run = lmms_eval("--limit", "2", cwd=tmp_path, tasks="vlms_are_biased_main", front=door)
    assert run.status == 0, run.output[-3000:]
    assert run.value("vlms_are_biased_main", "acc_flexible") is not None


def test_lmms_eval_0_7_2_runs_our_tasks_too(tmp_path: Path) -> None:
    if not OLDER.is_dir():
        pytest.skip(f"needs lmms-eval 0.7.2 in {OLDER} (make test puts it there)")
    run = lmms_eval("--limit", "3", cwd=tmp_path, tasks=ALL, PYTHONPATH=str(OLDER))
    assert run.status == 0, run.output[-3000:]
    assert len(run.samples("slake_en_open")) == 3
    assert run.value("slake", "acc") is not None


SIMPLE_EVALUATE = """
from lmms_eval.evaluator import simple_evaluate
results = simple_evaluate(model="dummy", model_args="response=A", tasks=["slake_zh"], limit=2, log_samples=True)
print("KEYS", sorted(key for key in results["results"]["slake_zh_open"] if key.startswith("acc_flexible,")))
"""

TASK_MANAGER = """
import lmms_tasks.plugin
lmms_tasks.plugin.register()
from lmms_eval.tasks import TaskManager
print("PATH", TaskManager().task_index["slake"]["yaml_path"])
"""


def _python(script: str, cwd: Path, **env: str | None) -> Run:
    return command("python", "-c", script, cwd=cwd, env=environment(LMMS_TASKS_DATA="sample", **env))


def test_simple_evaluate_in_a_script_runs_our_tasks(tmp_path: Path) -> None:
    assert "KEYS ['acc_flexible,none']" in _python(SIMPLE_EVALUATE, tmp_path).output


def test_a_task_manager_knows_our_tasks_after_one_call(tmp_path: Path) -> None:
    assert "lmms_tasks/slake/slake.yaml" in _python(TASK_MANAGER, tmp_path).output


@pytest.mark.parametrize("hook", ["initialize_tasks", "_get_task_and_group"])
def test_an_lmms_eval_without_the_hook_point_stops_the_run(tmp_path: Path, hook: str) -> None:
    script = f"""
import sys
import lmms_eval.tasks
del lmms_eval.tasks.TaskManager.{hook}
sys.argv = ["lmms-eval", "--model", "dummy", "--tasks", "slake", "--limit", "1"]
from lmms_eval.cli.dispatch import main
main()
"""
    run = _python(script, tmp_path)
    assert run.status == 1
    assert "cannot take precedence" in run.output
    assert "LMMS_TASKS_PRECEDENCE=0" in run.output
    assert "Running generate_until requests" not in run.output


@pytest.fixture
def broken_plugin(tmp_path: Path) -> str:
    """A folder for PYTHONPATH that holds an installed package whose entry point raises."""
    site = tmp_path / "site"
    info = site / "a_broken_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lmms_eval.models]\nbroken = a_broken_plugin:register\n")
    (site / "a_broken_plugin.py").write_text("def register():\n    raise RuntimeError('broken on purpose')\n")
    return str(site)


def test_another_packages_broken_plugin_does_not_keep_lmms_tasks_eval_from_our_tasks(
    tmp_path: Path, broken_plugin: str
) -> None:
    run = lmms_eval(
        *("--limit", "2"), cwd=tmp_path, tasks="slake_en_open", front=("lmms-tasks", "eval"), PYTHONPATH=broken_plugin
    )
    assert run.status == 0, run.output[-3000:]
    assert "broken on purpose" in run.output
    assert run.value("slake_en_open", "acc_flexible") is not None


def test_lmms_tasks_eval_exits_with_1_when_an_evaluation_fails(tmp_path: Path) -> None:
    run = lmms_eval(cwd=tmp_path, tasks="no_such_task", front=("lmms-tasks", "eval"))
    assert run.status == 1
    assert "no results were written" in run.output


def test_lmms_tasks_eval_refuses_to_run_without_precedence(tmp_path: Path) -> None:
    run = lmms_eval(cwd=tmp_path, tasks="slake", front=("lmms-tasks", "eval"), LMMS_TASKS_PRECEDENCE="0")
    assert run.status == 2
    assert "LMMS_TASKS_PRECEDENCE" in run.output


def test_both_spellings_of_the_tasks_asked_for_are_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lmms_tasks import plugin

    monkeypatch.chdir(tmp_path)
    (tmp_path / "slake").mkdir()
    for words in (["--tasks", "slake"], ["--tasks=slake"]):
        monkeypatch.setattr("sys.argv", ["lmms-eval", *words])
        with pytest.raises(SystemExit, match="Start the command from another folder"):
            plugin._refuse_folders_named_like_tasks({"slake": {}})


def test_a_folder_named_like_the_task_stops_the_run_instead_of_replacing_it(tmp_path: Path) -> None:
    (tmp_path / "slake").mkdir()
    run = lmms_eval(cwd=tmp_path, tasks="slake")
    assert run.status == 1
    assert "Start the command from another folder" in run.output


def test_a_missing_copy_stops_the_run_and_names_the_folders_looked_for(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    run = lmms_eval(cwd=tmp_path, tasks="slake_en_open", data=str(tmp_path / "data"))
    assert run.status == 1
    assert str(tmp_path / "data" / "BoKelvin" / "SLAKE") in run.output
    assert "Traceback" not in run.output


def test_no_module_called_utils_is_installed(tmp_path: Path) -> None:
    assert "ModuleNotFoundError" in _python("import utils", tmp_path).output


def test_repeats_fill_the_stability_columns(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    four = ["ANSWER: A", "ANSWER: B", "ANSWER: C", "ANSWER: D"]
    lines = [{"task": "medxpertqa_mm", "doc_id": doc, "reply": reply} for doc in range(4) for reply in four]
    replies.write_text("\n".join(map(json.dumps, lines)))
    run = lmms_eval(
        *("--repeats", "4", "--limit", "4"),
        cwd=tmp_path,
        tasks="medxpertqa_mm",
        model="replay",
        model_args=f"path={replies}",
    )
    scores = [sample["acc"]["repeats"] for sample in run.samples("medxpertqa_mm")]
    assert [len(repeats) for repeats in scores] == [4, 4, 4, 4]
    expected = sum(map(sum, scores)) / 16
    assert run.results()["results"]["medxpertqa_mm"]["acc_expected_accuracy,none"] == pytest.approx(expected)
    assert run.value("medxpertqa_mm", "acc") == pytest.approx(sum(repeats[0] for repeats in scores) / 4)


def test_an_empty_slice_under_limit_has_no_value(tmp_path: Path) -> None:
    run = lmms_eval("--limit", "1", cwd=tmp_path, tasks="vlms_are_biased_main,medxpertqa_text")
    results = run.results()["results"]
    topics = [
        value
        for key, value in results["vlms_are_biased_main"].items()
        if key.startswith("topic_") and "stderr" not in key
    ]
    assert topics.count(None) == 6
    types = [results["medxpertqa_text"][f"acc_{kind},none"] for kind in ("reasoning", "understanding")]
    assert types.count(None) == 1
