"""The ways of the data through the real `lmms-eval` command, and a fourth benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lmms_tasks
from tests.hub_server import HubServer
from tests.running import command, environment

SAMPLE = Path(lmms_tasks.__file__).parent / "sample" / "hub"
RUN = (
    *("lmms-eval", "--model", "dummy", "--model_args", "response=A", "--limit", "2"),
    *("--tasks", "slake,medxpertqa,vlms_are_biased", "--output_path", "out", "--log_samples"),
)


def test_a_run_downloads_from_the_hub_once_and_then_works_without_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with HubServer(SAMPLE) as hub:
        run = command(*RUN, cwd=tmp_path, env=hub.environ(home))
        assert run.status == 0, run.output[-3000:]
        archives = [path for method, path in hub.requests if method == "GET" and path.endswith(".zip")]
        assert len(archives) == 2
    assert len(run.results()["n-samples"]) == 12
    assert "revision main" not in run.results()["configs"]["slake_en_open"]["metadata"]["data"]
    offline = tmp_path / "offline"
    offline.mkdir()
    again = command(*RUN, cwd=offline, env=environment(HF_HOME=str(home), HF_HUB_OFFLINE="1", LMMS_TASKS_DATA=None))
    assert again.status == 0, again.output[-3000:]
    assert again.results()["results"] == run.results()["results"]


@pytest.mark.parametrize(("status", "words"), [(401, "HF_TOKEN"), (404, "(404)")])
def test_a_refusal_of_the_hub_ends_the_run_with_its_cause(tmp_path: Path, status: int, words: str) -> None:
    with HubServer(SAMPLE) as hub:
        hub.fault(path="test.json", status=status)
        run = command(*RUN, cwd=tmp_path, env=hub.environ(tmp_path / "home"))
    assert run.status == 1
    assert words in run.output
    assert "Traceback" not in run.output
    assert "Running generate_until requests" not in run.output


HOOKS = """
from lmms_data.schema import Benchmark, PromptLengths, Subset as Rows
from lmms_scoring import slake
from lmms_tasks import records
from lmms_tasks.repeats import with_repeats
from lmms_tasks.subsets import Subset, attributes

BENCHMARK = Benchmark(
    name="fourth", hub="nobody/fourth", modelscope="nobody/fourth", key="id", optional={},
    columns={"id": "str", "question": "str", "answer": "str"},
    subsets={"test": Rows("test", "test.jsonl", 2, PromptLengths(5.0, 5, 5))},
)
test = Subset(BENCHMARK, "test")
__getattr__ = attributes(globals())

def doc_to_visual(doc):
    return []

@with_repeats
def process_results(doc, results):
    score = slake.score(records.reply_of(results), doc["answer"], language="en")
    return records.items(score, row=doc["id"], reference=doc["answer"], cluster=doc["id"], slices={})
"""
LEAF = """
task: fourth_test
dataset_path: !function lmms_tasks.subsets.PLACEHOLDER
dataset_kwargs: {load_from_disk: true}
test_split: test
output_type: generate_until
process_docs: !function fourth.hooks.test
metadata: !function fourth.hooks.test_metadata
doc_to_visual: !function fourth.hooks.doc_to_visual
doc_to_text: question
doc_to_target: answer
process_results: !function fourth.hooks.process_results
filter_list: [{name: none, filter: [{function: !function lmms_tasks.repeats.EveryReply}]}]
cluster_key: cluster
metric_list:
  - {metric: acc, aggregation: &mean !function lmms_tasks.aggregation.mean, higher_is_better: true}
  - {metric: acc_flexible, aggregation: *mean, higher_is_better: true}
  - {metric: format_ok, aggregation: *mean, higher_is_better: true}
  - {metric: unreadable, aggregation: *mean, higher_is_better: false}
"""


def test_a_fourth_benchmark_is_one_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "fourth"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "hooks.py").write_text(HOOKS)
    (folder / "fourth_test.yaml").write_text(LEAF)
    data = tmp_path / "data" / "nobody" / "fourth"
    data.mkdir(parents=True)
    rows = [{"id": "a", "question": "Which?", "answer": "CT"}, {"id": "b", "question": "Where?", "answer": "Lung"}]
    (data / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = command(
        *("lmms-eval", "--model", "dummy", "--model_args", "response=CT", "--tasks", "fourth_test"),
        *("--include_path", str(folder), "--output_path", "out", "--log_samples"),
        cwd=tmp_path,
        env=environment(LMMS_TASKS_DATA=str(tmp_path / "data"), PYTHONPATH=str(tmp_path / "site")),
    )
    assert run.status == 0, run.output[-3000:]
    assert run.value("fourth_test", "acc") == 0.5
    assert run.results()["configs"]["fourth_test"]["metadata"]["rows"] == 2
