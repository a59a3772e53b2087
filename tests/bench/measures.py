"""What `make bench` measures, each against its yardstick in the same run."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import standins
import taking
from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ALL = "slake,medxpertqa,vlms_are_biased"


@dataclass
class Row:
    """A line of the table."""

    what: str
    ours: str
    yardstick: str
    ratio: float | None
    target: str
    met: bool | None

    def json(self) -> dict[str, Any]:
        """As a mapping."""
        return asdict(self)


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best(work: Callable[[], Any], times: int = 5) -> float:
    """The quickest of several."""
    return min(seconds(work) for _ in range(times))


def builtin(task: str) -> Any:
    """The hooks of lmms-eval's own task, from its own file."""
    package = importlib.util.find_spec("lmms_eval")
    assert package is not None
    assert package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "tasks" / task / "utils.py"
    spec = importlib.util.spec_from_file_location(f"builtin_{task}", path)
    if not path.exists() or spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rgb(data: bytes) -> None:
    """The raw limit of decoding."""
    Image.open(io.BytesIO(data)).convert("RGB").load()


def slake_pictures(hub: Path) -> Row:
    """All pictures of SLAKE's requests; the built-in task is measured on every eighth, since it is as slow for each."""
    from lmms_tasks.slake import hooks

    docs = standins.slake_rows(hub)
    # Nothing is kept: a list of all the pictures would measure the machine's memory.
    ours = seconds(lambda: deque((hooks.doc_to_visual(doc)[0].load() for doc in docs), maxlen=0))
    theirs = builtin("slake")
    if theirs is None:
        return Row("SLAKE pictures", f"{ours:.2f} s", "this lmms-eval has no slake", None, "10 times faster", None)
    theirs._slake_image_zip_path = lambda: str(hub / standins.SLAKE / "imgs.zip")
    some = docs[::8]
    them = seconds(lambda: deque((theirs.slake_doc_to_visual(doc)[0].load() for doc in some), maxlen=0))
    them *= len(docs) / len(some)
    return Row(
        f"SLAKE pictures, {len(docs):,} requests", f"{ours:.2f} s", f"built-in task {them:.2f} s",
        them / ours, "at least 10 times faster", them / ours >= 10,
    )  # fmt: skip


def in_turns(items: list[Any], ours: Callable[[Any], Any], theirs: Callable[[Any], Any]) -> tuple[float, float]:
    """Seconds of both on the same items, block by block, so that what slows the machine slows both."""
    spent = [0.0, 0.0]
    for start in range(0, len(items), 10):
        block = items[start : start + 10]
        order = [(0, ours), (1, theirs)]
        for index, work in order if start % 20 else reversed(order):
            spent[index] += seconds(lambda block=block, work=work: [work(item) for item in block])  # type: ignore[misc]
    return spent[0], spent[1]


def medxpertqa_pictures(hub: Path) -> Row:
    """All pictures of MedXpertQA against one open zip, read, decode."""
    from lmms_tasks.medxpertqa import hooks

    docs = list(standins.medxpertqa_rows(hub, "MM"))
    archive = zipfile.ZipFile(hub / standins.MEDXPERTQA / "images.zip")
    hooks.doc_to_visual(docs[0])
    ours, raw = in_turns(
        docs,
        lambda doc: [picture.load() for picture in hooks.doc_to_visual(doc)],
        lambda doc: [rgb(archive.read(f"images/{name}")) for name in doc["images"]],
    )
    count = sum(len(doc["images"]) for doc in docs)
    return Row(
        f"MedXpertQA pictures, {count:,}", f"{ours:.2f} s", f"zip and PIL alone {raw:.2f} s", ours / raw,
        "within 1.10", ours / raw <= 1.1,
    )  # fmt: skip


def vlms_pictures(hub: Path, step: int) -> Row:
    """The pictures of VLMs Are Biased against an arrow read and a decode, and against the built-in task."""
    import datasets

    from lmms_tasks.vlms_are_biased import hooks

    table = hooks.main(None)
    plain = table.with_format("arrow")
    indices = list(range(0, len(table), step))
    ours, raw = in_turns(
        indices,
        lambda index: hooks.doc_to_visual(table[index])[0].load(),
        lambda index: rgb(plain[index]["image"][0].as_py()["bytes"]),
    )
    decoding = table.cast_column("image", datasets.Image())
    theirs = builtin("vlms_are_biased")
    some = indices[::4]
    built = seconds(lambda: [theirs.vlms_are_biased_doc_to_visual(decoding[index])[0].load() for index in some])
    built *= len(indices) / len(some)
    return Row(
        f"VLMs Are Biased pictures, {len(indices):,} of main", f"{ours:.2f} s",
        f"arrow and PIL alone {raw:.2f} s (built-in task {built:.2f} s)", ours / raw, "within 1.10", ours / raw <= 1.1,
    )  # fmt: skip


_THOUGHTS = (
    "The patient has had pain since days, with a rise of the count and a mass on the left, which speaks for the second "
    "option rather than for the first. "
)
#: In the forms that real replies mostly have: reasoning and the asked last line, or the bare answer.
REPLIES = {
    "slake": ["Liver", "Yes", "The scan shows the liver.\nANSWER: Liver", "图中显示肝脏。\nANSWER: 肝脏"],
    "medxpertqa": [
        "B", f"{_THOUGHTS * 8}\n\nANSWER: B", f"{_THOUGHTS * 2}\n\nFinal answer: (C)", f"{_THOUGHTS}\n**ANSWER: D**",
        f"{_THOUGHTS * 3}\n\nTherefore, the answer is (C).", "**D**",
    ],
    "vlms_are_biased": ["{4}", "There are 4 legs.", "{Yes}", "I count 1, 2, 3, 4 and 5: {5}"],
}  # fmt: skip
#: In forms that nobody asked for, which take the whole search.
FREE_REPLIES = {
    "slake": ["The organ shown is the liver.", "There is nothing unusual here", "这是肝脏", "It might be the lung or the heart"],
    "medxpertqa": [
        "I would rather say A or B", f"{_THOUGHTS * 4} The most likely diagnosis is (C), because of the pain.",
        "C) left upper mass", f"{_THOUGHTS * 8}\n\nSo option D is the most appropriate.",
    ],
    "vlms_are_biased": ["It has four legs, not five", "I can see 4 legs, one of which is hidden", "Yes, both lines are equal", "4 or 5"],
}  # fmt: skip


def documents(hub: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """Documents of each benchmark, without pictures as lmms-eval passes them to be scored."""
    _, pictures = "image", {384: [b""] * 60, 768: [b""] * 60, 1152: [b""] * 60}
    rows = {
        "slake": standins.slake_rows(hub),
        "medxpertqa": list(standins.medxpertqa_rows(hub, "Text")) + list(standins.medxpertqa_rows(hub, "MM")),
        "vlms_are_biased": [standins._vlms_row("main", number, pictures) for number in range(500)],
    }
    return {name: [docs[number % len(docs)] for number in range(count)] for name, docs in rows.items()}


def hooks_of(name: str) -> Any:
    """The module of a benchmark's hooks."""
    return importlib.import_module(f"lmms_tasks.{name}.hooks")


def _given(name: str, docs: list[dict[str, Any]], replies: list[str]) -> list[tuple[dict[str, Any], str]]:
    return [(doc, replies[number % len(replies)]) for number, doc in enumerate(docs)]


def _real(name: str) -> list[tuple[dict[str, Any], str]]:
    """The real replies of a benchmark with their documents, none where the folder of real data is not there."""
    from lmms_data import rows, schema, sources

    shared = ROOT.parent / "shared"
    files = sorted((shared / "replies").glob(f"{name}_*.jsonl")) if (shared / "hub").is_dir() else []
    documents: dict[str, dict[str, Any]] = {}
    if files:
        spec = schema.benchmark(name)
        source = sources.resolve(spec, {"LMMS_TASKS_DATA": str(shared / "hub")})
        column = "qid" if name == "slake" else "id"
        for subset in spec.subsets:
            documents |= {str(row[column]): row for row in rows.load(spec, subset, source=source)}
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            saved = json.loads(line)
            document = documents.get(str(saved.get("id", saved.get("qid"))))
            if document and isinstance(saved["reply"], str):
                found.append((document, saved["reply"]))
    return found


def scoring(hub: Path, oracle: str | None, folder: Path, count: int) -> Iterator[Row]:
    """`process_results` with all metrics against the reference scorer alone, a document."""
    docs = documents(hub, count)
    sets: dict[tuple[str, str], list[tuple[dict[str, Any], str]]] = {}
    for name in docs:
        sets[name, "usual replies"] = _given(name, docs[name], REPLIES[name])
        sets[name, "made-up free text"] = _given(name, docs[name], FREE_REPLIES[name])
        if name != "vlms_are_biased" and (real := _real(name)):
            sets[name, f"{len(real):,} real replies"] = real
    theirs: list[float] = []
    if oracle:
        asked = [
            (
                name,
                [
                    [reply, doc["answer"]]
                    if name == "slake"
                    else [reply, len(doc["options"])]
                    if name == "medxpertqa"
                    else [reply, doc["ground_truth"], doc["expected_bias"]]
                    for doc, reply in pairs
                ],
            )
            for (name, _), pairs in sets.items()
        ]
        (folder / "replies.json").write_text(json.dumps(asked), encoding="utf-8")
        theirs = last_json(run([oracle, str(HERE / "reference.py"), "scoring", str(folder / "replies.json")]))[
            "seconds"
        ]
    for number, ((name, kind), pairs) in enumerate(sets.items()):
        hook = hooks_of(name).process_results
        ours = best(lambda pairs=pairs, hook=hook: [hook(doc, [reply]) for doc, reply in pairs]) / len(pairs)  # type: ignore[misc]
        yardstick = f"reference {theirs[number] * 1e6:.1f} µs" if theirs else "no EvalScope here"
        ratio = ours / theirs[number] if theirs else None
        # Of free text the reference searches one marker and one letter: told, but no yardstick for a reading.
        free = kind == "made-up free text"
        yield Row(
            f"{name} process_results, all metrics, {kind}", f"{ours * 1e6:.1f} µs", yardstick, ratio,
            "none: no reply of a model" if free else "at most 5 times", None if free or ratio is None else ratio <= 5,
        )  # fmt: skip


def aggregation(hub: Path) -> Row:
    """All of a benchmark's metrics over 100,000 records."""
    from lmms_tasks.aggregation import mean, topic_mean

    hook = hooks_of("vlms_are_biased").process_results
    records = [hook(doc, ["{4}"]) for doc in documents(hub, 1000)["vlms_are_biased"]] * 100

    def all_metrics() -> None:
        for metric in records[0]:
            (topic_mean if metric.startswith("task_mean") else mean)([record[metric] for record in records])

    ours = best(all_metrics, 3)
    return Row(
        f"aggregation of 100,000 records, {len(records[0])} metrics", f"{ours:.2f} s", "", None, "under 1 s", ours < 1
    )


def growth(hub: Path) -> Row:
    """Scoring and aggregation of 1,000 and of 100,000 documents, a document."""
    from lmms_tasks.aggregation import mean

    hook = hooks_of("slake").process_results
    docs = documents(hub, 1000)["slake"]

    def work(count: int) -> None:
        records = [hook(docs[number % 1000], ["ANSWER: Liver"])["acc_flexible"] for number in range(count)]
        mean(records)

    few, many = best(lambda: work(1000)) / 1000, seconds(lambda: work(100_000)) / 100_000
    return Row(
        "growth from 1,000 to 100,000 documents", f"{many * 1e6:.1f} µs a document", f"at 1,000 {few * 1e6:.1f} µs",
        many / few, "linear (below 1.5)", many / few < 1.5,
    )  # fmt: skip


def imports() -> Row:
    """Importing the hooks after lmms-eval's evaluation."""
    code = (
        "import time, lmms_eval.evaluator, lmms_eval.tasks; b=time.perf_counter();"
        "import lmms_tasks.plugin, lmms_tasks.slake.hooks, lmms_tasks.medxpertqa.hooks, lmms_tasks.vlms_are_biased.hooks;"
        "print(); print(time.perf_counter()-b)"
    )
    ours = min(float(run([sys.executable, "-c", code]).split()[-1]) for _ in range(3))
    return Row("importing what the hooks need, beyond lmms-eval", f"{ours:.3f} s", "", None, "under 0.2 s", ours < 0.2)


def raw_run(hub: Path, vlms_step: int) -> float:
    """Seconds to read and decode each picture of all requests once, SLAKE's once each."""
    import pyarrow.parquet as pq

    began = time.perf_counter()
    for place, names in (
        (standins.SLAKE + "/imgs.zip", {f"imgs/{row['img_name']}" for row in standins.slake_rows(hub)}),
        (
            standins.MEDXPERTQA + "/images.zip",
            [f"images/{name}" for row in standins.medxpertqa_rows(hub, "MM") for name in row["images"]],
        ),
    ):
        with zipfile.ZipFile(hub / place) as archive:
            for name in names:
                rgb(archive.read(name))
    spent = time.perf_counter() - began
    began = time.perf_counter()
    for path in sorted((hub / standins.VLMS_ARE_BIASED / "data").iterdir()):
        for batch in pq.ParquetFile(path).iter_batches(64, columns=["image"]):
            for cell in batch.column("image").to_pylist()[::vlms_step]:
                rgb(cell["bytes"])
    return spent + (time.perf_counter() - began) * vlms_step


def whole_run(hub: Path, folder: Path) -> Iterator[Row]:
    """All 12 tasks with a model that takes every picture."""
    env = {"LMMS_TASKS_DATA": str(hub)}
    start = seconds(lambda: run(["lmms-eval", "--tasks", "list"], LMMS_TASKS_PRECEDENCE="0"))
    raw = raw_run(hub, 4)
    words = [sys.executable, str(HERE / "taking.py"), str(folder / "taking.json"), "--model", "taking", "--tasks", ALL]
    run([*words, "--limit", "1"], **env)  # the conversion of parquet files, which datasets does once
    began = time.perf_counter()
    run([*words, "--output_path", str(folder / "taking"), "--log_samples"], **env)
    ours = time.perf_counter() - began
    seen = json.loads((folder / "taking.json").read_text())
    limit = start + 1.2 * raw
    yield Row(
        f"whole run, 12 tasks, {seen['requests']:,.0f} requests, {seen['pictures']:,.0f} pictures", f"{ours:.1f} s",
        f"start of lmms-eval {start:.1f} s + 1.2 x {raw:.1f} s", ours / limit, "at most 1.0", ours <= limit,
    )  # fmt: skip
    grown = seen["memory_peak"] - seen["memory_before"]
    yield Row(
        "memory of that run, from its first to its last request", f"{grown:.0f} MB",
        f"at its first request {seen['memory_before']:.0f} MB", None, "under 300 MB", grown < 300,
    )  # fmt: skip


def server_run(hub: Path, folder: Path, oracle: str | None) -> Iterator[Row]:
    """All 12 tasks against a server that answers at once, 16 connections, ours and EvalScope's."""
    with serving() as url:
        spent = {model: served(model, url, hub, folder / model) for model in ("openai_files", "openai")}
        what = "whole run against a server that answers at once, 16 connections, --model"
        if not oracle:
            yield Row(
                f"{what} openai_files", f"{spent['openai_files']:.1f} s", "no EvalScope here", None, "not slower", None
            )
            return
        out = folder / "evalscope"
        # EvalScope keeps what it has read of a dataset by the dataset's name: rows of another size would be taken for these.
        fresh = {name: str(folder / "caches" / name.lower()) for name in ("HOME", "HF_HOME", "MODELSCOPE_CACHE")}
        theirs = last_json(run([oracle, str(HERE / "reference.py"), "run", str(hub), url, str(out)], **fresh))
    for model, ours in spent.items():
        asked = sum(
            len(log.read_text(encoding="utf-8").splitlines()) for log in (folder / model).rglob("*_samples_*.jsonl")
        )
        if theirs["replies"] != asked:
            raise SystemExit(f"EvalScope asked {theirs['replies']:,} questions, lmms-eval {asked:,}: not the same work")
        target, met = "at most 1.0", ours <= theirs["seconds"]
        if model == "openai":
            target, met = "none: lmms-eval's own client", None
        yield Row(
            f"{what} {model}", f"{ours:.1f} s",
            f"EvalScope {theirs['seconds']:.1f} s ({theirs['replies']:,} replies, {theirs['memory']:,.0f} MB)",
            ours / theirs["seconds"], target, met,
        )  # fmt: skip


def served(model: str, url: str, hub: Path, folder: Path) -> float:
    """Seconds of all 12 tasks with that client of a server."""
    began = time.perf_counter()
    run(
        [
            "lmms-eval", "--model", model, "--model_args",
            f"model_version=m,base_url={url},api_key=none,num_concurrent=16,timeout=60",
            "--tasks", ALL, "--output_path", str(folder), "--log_samples",
        ],
        LMMS_TASKS_DATA=str(hub), OPENAI_API_KEY="none", OPENAI_API_BASE=url,
    )  # fmt: skip
    spent = time.perf_counter() - began
    (results,) = folder.rglob("*_samples_slake_en_open.jsonl")
    if "REQUEST_FAILED" in results.read_text(encoding="utf-8"):
        raise SystemExit(f"the requests of the run with {model} failed")
    return spent


@contextmanager
def serving() -> Iterator[str]:
    """The server's address while it runs."""
    process = subprocess.Popen([sys.executable, str(HERE / "server.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


def run(words: list[str], **changes: str) -> str:
    """What a command writes; ends the bench where it fails."""
    own = Path(sys.executable).parent / words[0]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore", **changes}
    finished = subprocess.run(
        [str(own) if own.exists() else words[0], *words[1:]],
        cwd=ROOT / ".bench",
        env=env,
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        raise SystemExit(
            f"{' '.join(words)} ended with {finished.returncode}:\n{(finished.stdout + finished.stderr)[-3000:]}"
        )
    return finished.stdout


def last_json(output: str) -> dict[str, Any]:
    """The JSON object in the last line."""
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return found


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| what | lmms-tasks | yardstick | ratio | target | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        met = {True: "yes", False: "**no**", None: "not measured"}[row.met]
        lines.append(f"| {row.what} | {row.ours} | {row.yardstick} | {ratio} | {row.target} | {met} |")
    return "\n".join(lines)


__all__ = ["Row", "taking"]
