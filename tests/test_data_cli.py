"""`lmms-tasks data`: where the data comes from, getting it, and looking it through to the last image."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageFile

from lmms_data import fetch, schema, sources
from lmms_data.sources import DATA
from lmms_data.verify import Report, polluted, verify
from lmms_tasks.cli import main
from tests import small_hub
from tests.hub_server import HubServer
from tests.small_hub import MEDXPERTQA, SLAKE, VLMS_ARE_BIASED

PUBLISHED = {
    "slake": {
        "en_open": (645, 195.09, 168, 257),
        "en_closed": (416, 187.99, 162, 253),
        "zh_open": (613, 67.07, 61, 79),
        "zh_closed": (420, 65.44, 60, 82),
    },
    "medxpertqa": {"text": (2450, 1337.92, 435, 4771), "mm": (2000, 886.91, 346, 2335)},
    "vlms_are_biased": {
        "main": (2784, 91.52, 78, 129),
        "identification": (1392, 83.27, 68, 102),
        "withtitle": (2784, 91.52, 78, 129),
        "original": (458, 85.03, 60, 130),
        "remove_background_q1q2": (2784, 94.23, 78, 138),
        "remove_background_q3": (1392, 83.91, 70, 102),
    },
}


@pytest.fixture(autouse=True)
def _as_lmms_eval_leaves_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    fetch.forget()
    yield
    fetch.forget()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small hub folder, as the embedded sample: its counts need not be the published ones."""
    folder = small_hub.write_hub(tmp_path / "hub")
    monkeypatch.setattr(sources, "_sample_root", lambda: folder)
    monkeypatch.setenv(DATA, "sample")
    return folder


# --- verify ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", schema.BENCHMARKS)
def test_sound_data_has_no_fault(hub: Path, benchmark: str) -> None:
    report = verify(benchmark)
    assert report.faults == []
    assert [part.name for part in report.subsets] == list(schema.benchmark(benchmark).subsets)


def test_a_report_counts_files_rows_images_and_other_members(hub: Path) -> None:
    report = verify("slake")
    assert report.files == {name: (hub / SLAKE / name).stat().st_size for name in ("test.json", "imgs.zip")}
    assert [part.rows for part in report.subsets] == [2, 2, 2, 2]
    assert (report.images, report.other_members, report.image_sizes) == (2, 1, (64, 64, 48, 48))
    assert verify("vlms_are_biased").images == 18
    assert verify("slake", with_images=False).images == 0


def test_the_report_has_the_fingerprint_that_a_run_logs(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_data import rows

    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(tmp_path / "datasets"))
    for benchmark in schema.BENCHMARKS:
        for part in verify(benchmark, with_images=False).subsets:
            assert part.fingerprint == rows.fingerprint(rows.load(benchmark, part.name))


def slake_with(change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    rows = small_hub.slake_rows()
    change(rows[0])
    return rows


def mm_with(change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    rows = small_hub.medxpertqa_rows("MM", "ABCDE")
    change(rows[1])
    return rows


def main_with(**values: Any) -> list[dict[str, Any]]:
    first, *rest = small_hub.vlms_rows("main")
    return [{**first, **values}, *rest]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.pop("answer"), r"slake/en_open: column 'answer' is missing; found .*\(1 rows: 1\)"),
        (lambda row: row.update(answer=""), r"slake/en_open: the reference is empty \(1 rows: 1\)"),
        (lambda row: row.update(answer=" \n"), r"the reference is empty"),
        (lambda row: row.update(answer="ANSWER: liver"), r"the reference holds words of the prompt"),
        (lambda row: row.update(answer=row["question"] + " Liver"), r"the reference holds words of the prompt"),
        (lambda row: row.update(answer=3), r"column 'answer' should be str, found int"),
        (lambda row: row.update(q_lang="fr"), r"1 rows of test\.json belong to none of the subsets"),
        (lambda row: row.update(modality="PET"), r"unknown modality 'PET'"),
        (lambda row: row.update(qid=2), r"1 values of qid stand in more than one row: 2"),
        (lambda row: row.update(img_name="made3/source.jpg"), r"1 images are not in .*imgs\.zip: made3/source\.jpg"),
    ],
)
def test_an_odd_row_of_slake_is_a_fault(hub: Path, change: Callable[[dict[str, Any]], object], said: str) -> None:
    small_hub.write_slake(hub / SLAKE, slake_with(change))
    (fault,) = verify("slake").faults
    assert_matches(said, fault)


def assert_matches(pattern: str, text: str) -> None:
    assert re.search(pattern, text), text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.update(label="F"), r"medxpertqa/mm: unknown label 'F' \(1 rows: MM-1\)"),
        (lambda row: row["options"].pop("D"), r"option D is missing or empty"),
        (lambda row: row["options"].update(C="  "), r"option C is missing or empty"),
        (lambda row: row["options"].update(F="more"), r"unknown option F"),
        (lambda row: row["options"].update(A="x\nAnswer Choices: (A) x"), r"an option holds words of the prompt"),
        (lambda row: row.update(question_type="Guessing"), r"unknown question_type 'Guessing'"),
        (lambda row: row.update(images=[]) or row.pop("images"), r"column 'images' is missing"),
    ],
)
def test_an_odd_row_of_medxpertqa_is_a_fault(hub: Path, change: Callable[[dict[str, Any]], object], said: str) -> None:
    small_hub.write_medxpertqa(hub / MEDXPERTQA, mm_with(change))
    (fault,) = verify("medxpertqa").faults
    assert_matches(said, fault)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ground_truth": ""}, r"vlms_are_biased/main: the reference is empty"),
        ({"topic": "Cars"}, r"unknown topic 'Cars'"),
        ({"type_of_question": "Q4"}, r"unknown type_of_question 'Q4'"),
        ({"ID": "dice_001_main_px384_prompt1"}, r"1 values of ID stand in more than one row"),
        ({"image": {"bytes": None, "path": "x.png"}}, r"the image of row dice_000\S+ is not embedded"),
        ({"image": {"bytes": small_hub.picture("PNG")[:90], "path": ""}}, r"the image of row dice_000\S+ is cut off"),
    ],
)
def test_an_odd_row_of_vlms_are_biased_is_a_fault(hub: Path, values: dict[str, Any], said: str) -> None:
    small_hub.write_vlms_are_biased(hub / VLMS_ARE_BIASED, main_with(**values))
    (fault,) = verify("vlms_are_biased").faults
    assert_matches(said, fault)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_all_faults_are_listed_not_only_the_first(hub: Path) -> None:
    rows = small_hub.slake_rows()
    rows[0]["answer"] = ""
    rows[3]["answer"] = ""
    rows[5]["modality"] = "PET"
    small_hub.write_slake(hub / SLAKE, rows)
    with zipfile.ZipFile(hub / SLAKE / "imgs.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["imgs/made1/source.jpg"] = members["imgs/made1/source.jpg"][:-100]
    out = io.BytesIO()
    Image.new("1", (11_000, 10_000)).save(out, "PNG")
    members["imgs/made2/mask.png"] = out.getvalue()
    small_hub.write_zip(hub / SLAKE / "imgs.zip", members)
    faults = "\n".join(verify("slake").faults)
    for said in ("en_open: the reference is empty", "en_closed: the reference is empty", "zh_open: unknown modality"):
        assert said in faults
    assert_matches(r"imgs/made1/source\.jpg of \S+imgs\.zip is cut off", faults)
    assert_matches(r"imgs/made2/mask\.png of \S+imgs\.zip has 11000 x 10000 pixels", faults)


def test_a_bad_checksum_is_found_in_images_and_other_members(hub: Path) -> None:
    path = hub / SLAKE / "imgs.zip"
    with zipfile.ZipFile(path, "w") as archive:  # stored, so that a changed byte stays readable
        for n in (1, 2):
            archive.writestr(f"imgs/made{n}/source.jpg", small_hub.picture(mark=n))
        archive.writestr("imgs/made1/question.json", b'["a question about it"]')
    data = path.read_bytes()
    path.write_bytes(data.replace(b"a question about", b"no question about"[:16]))
    (fault,) = verify("slake").faults
    assert_matches(r"question\.json of \S+ is damaged \(its checksum", fault)


def test_a_missing_end_mark_is_a_note_as_all_pixels_are_there(hub: Path) -> None:
    members = {f"imgs/made{n}/source.jpg": small_hub.picture("PNG", mark=n)[:-12] for n in (1, 2)}
    small_hub.write_zip(hub / SLAKE / "imgs.zip", members)
    report = verify("slake")
    assert report.faults == []
    assert any("2 images lack an end mark" in note for note in report.notes)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (f"{SLAKE}/test.json", b"<html>", "is a web page"),
        (f"{SLAKE}/test.json", b'[{"qid": 1', "cut off or damaged"),
        (f"{SLAKE}/imgs.zip", b"PK\x03\x04cut", "cut off"),
        (f"{MEDXPERTQA}/MM/test.jsonl", b"", "is empty"),
        (f"{VLMS_ARE_BIASED}/data/main-00000-of-00001.parquet", b"PAR1 and no more", "not a whole parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_fault_and_the_rest_is_still_looked_at(
    hub: Path, file: str, content: bytes, said: str
) -> None:
    (hub / file).write_bytes(content)
    benchmark = {"S": "slake", "M": "medxpertqa", "v": "vlms_are_biased"}[file.split("/")[1][0]]
    faults = verify(benchmark).faults
    assert any(said in fault and file in fault for fault in faults), faults
    assert verify("slake" if benchmark != "slake" else "medxpertqa").faults == []


def test_other_counts_and_prompts_than_the_published_ones_are_faults(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA, str(hub))
    faults = verify("medxpertqa", with_images=False).faults
    assert "medxpertqa/text: 3 rows, published 2450" in faults
    assert any(fault.startswith("medxpertqa/mm: prompt lengths ") for fault in faults)


def test_a_large_file_in_the_hubs_cache_is_compared_with_its_checksum(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache" / "datasets--BoKelvin--SLAKE"
    snapshot = cache / "snapshots" / "abc"
    (cache / "blobs").mkdir(parents=True)
    shutil.copytree(hub / SLAKE, snapshot)
    blob = cache / "blobs" / ("0" * 64)
    (snapshot / "imgs.zip").rename(blob)
    (snapshot / "imgs.zip").symlink_to(blob)
    monkeypatch.setenv(DATA, str(tmp_path / "cache"))
    assert any("is not what the hub announced" in fault for fault in verify("slake").faults)


def test_a_source_that_cannot_be_used_is_a_fault_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, "/no/such/folder")
    (fault,) = verify("slake").faults
    assert "does not exist" in fault


@pytest.mark.parametrize(
    ("reference", "question"),
    [
        ("Liver", "Is it the liver?"),
        ("No", "No?"),
        ("Answer", "What?"),
        ("A", "A"),
        ("肝脏", "图中是哪个器官？"),
        ("", ""),
    ],
)
def test_an_honest_reference_is_not_called_polluted(reference: str, question: str) -> None:
    assert not polluted(reference, question)


# --- the published data ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(shared: Path) -> dict[str, Report]:
    """Reports on the local copies of the published data."""
    fetch.forget()
    copies = {DATA: str(shared / "hub")}
    return {name: verify(name, source=sources.resolve(name, copies)) for name in schema.BENCHMARKS}


def test_the_local_copies_have_no_fault(found: dict[str, Report]) -> None:
    assert {name: report.faults for name, report in found.items()} == {name: [] for name in schema.BENCHMARKS}
    assert {name: report.images for name, report in found.items()} == {
        "slake": 180,
        "medxpertqa": 2852,
        "vlms_are_biased": 11594,
    }


@pytest.mark.parametrize(("benchmark", "subset"), [(b, s) for b, subsets in PUBLISHED.items() for s in subsets])
def test_the_local_copies_have_the_published_counts_and_prompts(
    found: dict[str, Report], benchmark: str, subset: str
) -> None:
    (part,) = [part for part in found[benchmark].subsets if part.name == subset]
    published = (part.published_rows, *vars(part.published_prompts).values())
    assert published == PUBLISHED[benchmark][subset]
    assert part.rows == PUBLISHED[benchmark][subset][0]
    assert part.prompts is not None
    if benchmark == "vlms_are_biased":
        assert part.standins
        assert any(f"/{subset}: prompt lengths" in note and "stand-ins" in note for note in found[benchmark].notes)
    else:
        assert tuple(vars(part.prompts).values()) == PUBLISHED[benchmark][subset][1:]


# --- the command -----------------------------------------------------------------------------------------------------


def test_verify_ends_with_status_0_where_all_is_well(hub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith("no faults\n")
    assert "remove_background_q3" in shown


def test_verify_ends_with_status_1_and_a_list_where_a_fault_is_found(
    hub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_hub.write_slake(hub / SLAKE, slake_with(lambda row: row.update(answer="")))
    assert main(["data", "verify", "slake"]) == 1
    shown = capsys.readouterr().out
    assert "FAULT     slake/en_open: the reference is empty (1 rows: 1)" in shown
    assert shown.endswith("1 fault\n")


def test_verify_tells_machines_in_json(hub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify", "--json", "medxpertqa"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    (report,) = told["benchmarks"]
    assert report["subsets"][0]["rows"] == 3
    assert report["subsets"][0]["published_prompts"] == {"mean": 1337.92, "minimum": 435, "maximum": 4771}
    assert report["subsets"][0]["prompts_match"] is False


def test_status_says_where_from_what_is_here_and_what_is_missing(
    hub: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA, str(hub))
    (hub / MEDXPERTQA / "images.zip").unlink()
    assert main(["data", "status", "--json"]) == 0
    slake, medxpertqa, _ = json.loads(capsys.readouterr().out)
    assert (slake["missing"], slake["error"]) == ([], None)
    assert slake["bytes"] == sum(slake["files"].values()) > 0
    assert medxpertqa["missing"] == ["images.zip"]
    assert main(["data", "status"]) == 0
    assert "missing   images.zip" in capsys.readouterr().out


def test_status_of_a_source_that_cannot_be_used_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA, "/no/such/folder")
    assert main(["data", "status"]) == 1
    assert capsys.readouterr().out.count("cannot be used") == 3


def test_an_unknown_benchmark_is_refused_with_the_names_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify", "slak"]) == 2
    assert "slake, medxpertqa, vlms_are_biased" in capsys.readouterr().err


# --- fetch -----------------------------------------------------------------------------------------------------------


def command(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-m", "lmms_tasks.cli", "data", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    with HubServer(small_hub.write_hub(tmp_path / "served")) as hub:
        yield hub


def test_a_folder_that_was_fetched_serves_another_machine(server: HubServer, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    done = command(server.environ(tmp_path / "home"), "fetch", "--to", str(target), "--no-verify")
    assert done.returncode == 0, done.stderr
    for file in (f"{SLAKE}/imgs.zip", f"{MEDXPERTQA}/Text/test.jsonl", f"{VLMS_ARE_BIASED}/README.md"):
        assert (target / file).read_bytes() == (server.folder / file).read_bytes()
    moved = tmp_path / "moved"
    shutil.move(target, moved)
    offline = server.environ(tmp_path / "empty", HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    told = command(offline | {DATA: str(moved)}, "status", "--json")
    assert [each["missing"] for each in json.loads(told.stdout)] == [[], [], []]


def test_fetching_into_the_cache_lets_status_find_it_without_network(server: HubServer, tmp_path: Path) -> None:
    environ = server.environ(tmp_path / "home")
    assert "nothing yet" in command(environ, "status", "slake").stdout
    assert command(environ, "fetch", "--no-verify", "slake").returncode == 0
    (slake, other, _) = json.loads(command(environ | {"HF_ENDPOINT": "http://127.0.0.1:9"}, "status", "--json").stdout)
    assert slake["missing"] == []
    assert other["missing"] == ["Text/test.jsonl", "MM/test.jsonl", "images.zip"]


def test_fetching_ends_with_the_verification(server: HubServer, tmp_path: Path) -> None:
    done = command(server.environ(tmp_path / "home"), "fetch", "slake")
    assert done.returncode == 1
    assert "slake/en_open: 2 rows, published 645" in done.stdout
    assert "2 decoded" in done.stdout


def test_a_fetch_that_fails_says_why_and_goes_on_with_the_others(server: HubServer, tmp_path: Path) -> None:
    server.fault(path="BoKelvin", status=404, error="RepoNotFound")
    done = command(server.environ(tmp_path / "home"), "fetch", "--json", "--no-verify", "slake", "medxpertqa")
    assert done.returncode == 1
    slake, medxpertqa = json.loads(done.stdout)["benchmarks"]
    assert "no such repository" in slake["faults"][0]
    assert medxpertqa["faults"] == []


def test_fetching_from_the_hub_does_not_mind_that_a_folder_is_the_source_in_use(
    server: HubServer, tmp_path: Path
) -> None:
    environ = server.environ(tmp_path / "home", LMMS_TASKS_DATA="/no/such/folder")
    assert command(environ, "fetch", "--to", str(tmp_path / "to"), "--no-verify", "slake").returncode == 0
    assert (tmp_path / "to" / SLAKE / "test.json").is_file()
