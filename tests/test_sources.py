"""One place decides where data comes from, and says so."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmms_data import fetch, rows, schema, sources
from lmms_data.errors import SourceError
from lmms_data.sources import DATA, REVISION, resolve
from tests import small_hub
from tests.small_hub import MEDXPERTQA, SLAKE, VLMS_ARE_BIASED

BENCHMARKS = {"slake": SLAKE, "medxpertqa": MEDXPERTQA, "vlms_are_biased": VLMS_ARE_BIASED}
COMMIT = "3761f9fd7163577534a7816c8bc1004035f2e2a0"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_hub.write_hub(tmp_path_factory.mktemp("hub"))


def cached(hub: Path, cache: Path, *, refs: dict[str, str], commits: list[str]) -> Path:
    """A hub cache with SLAKE's files under each commit."""
    repository = cache / f"datasets--{SLAKE.replace('/', '--')}"
    for commit in commits:
        shutil.copytree(hub / SLAKE, repository / "snapshots" / commit)
    for name, commit in refs.items():
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / name).write_text(commit)
    return cache


# --- which source ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("value", [None, "", "hub", " HUB "])
def test_without_a_choice_data_comes_from_the_hub(benchmark: str, value: str | None) -> None:
    source = resolve(benchmark, {} if value is None else {DATA: value})
    assert (source.kind, source.dataset_path, source.folder, source.revision) == (
        "hub",
        BENCHMARKS[benchmark],
        None,
        None,
    )


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_modelscope_has_repositories_of_its_own(benchmark: str) -> None:
    source = resolve(benchmark, {DATA: "modelscope"})
    assert source.kind == "modelscope"
    assert source.repo == f"evalscope/{BENCHMARKS[benchmark].split('/')[1]}"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_folder_laid_out_like_the_hub_is_found(hub: Path, benchmark: str) -> None:
    source = resolve(benchmark, {DATA: str(hub)})
    assert (source.kind, source.folder) == ("folder", hub / BENCHMARKS[benchmark])
    assert source.dataset_path == str(hub / BENCHMARKS[benchmark])


@pytest.mark.parametrize("layout", ["BoKelvin/SLAKE", "SLAKE", "evalscope/SLAKE", "."])
def test_other_layouts_of_a_copied_folder_are_found(hub: Path, tmp_path: Path, layout: str) -> None:
    folder = shutil.copytree(hub / SLAKE, tmp_path / "copy" / layout, dirs_exist_ok=True)
    assert resolve("slake", {DATA: str(tmp_path / "copy")}).folder == folder.resolve()


@pytest.mark.parametrize("below", ["", "hub"])
def test_a_hub_cache_is_found_by_its_main_reference(hub: Path, tmp_path: Path, below: str) -> None:
    cached(hub, tmp_path / below, refs={"main": "bbb"}, commits=["aaa", "bbb", "ccc"])
    source = resolve("slake", {DATA: str(tmp_path)})
    assert source.revision == "bbb"
    assert source.dataset_path.endswith("snapshots/bbb")
    assert resolve("slake", {DATA: str(tmp_path), REVISION: "slake=ccc"}).revision == "ccc"


def test_a_hub_cache_without_references_gives_its_newest_snapshot(hub: Path, tmp_path: Path) -> None:
    cached(hub, tmp_path, refs={}, commits=["old", "new"])
    snapshots = tmp_path / "datasets--BoKelvin--SLAKE" / "snapshots"
    os.utime(snapshots / "old", (1, 1))
    assert resolve("slake", {DATA: str(tmp_path)}).revision == "new"


def test_a_snapshot_folder_itself_is_found_and_names_its_revision(hub: Path, tmp_path: Path) -> None:
    cached(hub, tmp_path, refs={}, commits=["abc"])
    snapshot = tmp_path / "datasets--BoKelvin--SLAKE" / "snapshots" / "abc"
    source = resolve("slake", {DATA: str(snapshot), REVISION: "slake=abc"})
    assert (source.folder, source.revision) == (snapshot, "abc")


def test_a_home_directory_is_expanded(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(hub.parent))
    assert resolve("slake", {DATA: f"~/{hub.name}"}).folder == hub / SLAKE


def test_a_missing_copy_is_an_error_that_names_the_folders_looked_for(hub: Path, tmp_path: Path) -> None:
    shutil.copytree(hub / SLAKE, tmp_path / SLAKE)
    with pytest.raises(SourceError) as caught:
        resolve("medxpertqa", {DATA: str(tmp_path)})
    for place in (MEDXPERTQA, "MedXpertQA", "evalscope/MedXpertQA", "datasets--TsinghuaC3I--MedXpertQA"):
        assert f"{tmp_path / place}\n" in str(caught.value)
    assert "data fetch --to" in caught.value.remedy


@pytest.mark.parametrize("value", ["/no/such/folder", "modelscpoe"])
def test_a_folder_that_does_not_exist_is_an_error_that_names_the_choices(value: str) -> None:
    with pytest.raises(SourceError, match=rf"{value}: this folder does not exist[^$]*hub, modelscope, sample"):
        resolve("slake", {DATA: value})


def test_a_file_is_no_folder(hub: Path) -> None:
    with pytest.raises(SourceError, match="this folder is a file"):
        resolve("slake", {DATA: str(hub / SLAKE / "test.json")})


def test_a_cache_without_the_pinned_commit_lists_those_it_has(hub: Path, tmp_path: Path) -> None:
    cached(hub, tmp_path, refs={"main": "aaa"}, commits=["aaa"])
    with pytest.raises(SourceError, match=r"no files of revision zzz.*revisions there: aaa"):
        resolve("slake", {DATA: str(tmp_path), REVISION: "slake=zzz"})


def test_the_sample_comes_with_the_package(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_sample_root", lambda: hub)
    assert resolve("slake", {DATA: "sample"}).folder == hub / SLAKE
    assert "sample" in resolve("slake", {DATA: "sample"}).describe()


def test_an_unknown_benchmark_is_named() -> None:
    with pytest.raises(SourceError, match=r"'slak'.*slake, medxpertqa, vlms_are_biased"):
        resolve("slak", {})


# --- revisions -------------------------------------------------------------------------------------------------------


def test_a_map_pins_each_benchmark_it_names() -> None:
    environ = {REVISION: f" slake = v1 ,vlms_are_biased={COMMIT},"}
    assert resolve("slake", environ).revision == "v1"
    assert resolve("vlms_are_biased", environ).revision == COMMIT
    assert resolve("medxpertqa", environ).revision is None


def test_a_variable_of_its_own_wins_over_the_map() -> None:
    assert resolve("slake", {REVISION: "slake=a", f"{REVISION}_SLAKE": "b"}).revision == "b"


@pytest.mark.parametrize(
    ("value", "said"), [("abc", "not of the form"), ("slake=", "not of the form"), ("slak=1", "'slak'")]
)
def test_a_malformed_map_is_refused(value: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        resolve("slake", {REVISION: value})


def test_a_pin_that_a_plain_folder_cannot_keep_is_refused(hub: Path) -> None:
    with pytest.raises(SourceError, match="revision is not known"):
        resolve("slake", {DATA: str(hub), REVISION: "slake=abc"})
    assert resolve("medxpertqa", {DATA: str(hub), REVISION: "slake=abc"}).revision is None


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "BoKelvin/SLAKE from the Hugging Face hub, revision main"),
        ({REVISION: "slake=abc"}, "BoKelvin/SLAKE from the Hugging Face hub, revision abc"),
        ({DATA: "modelscope"}, "evalscope/SLAKE from ModelScope, revision master"),
    ],
)
def test_a_source_describes_itself_in_one_line(
    environ: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert resolve("slake", environ).describe() == said


def test_the_description_names_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hf-mirror.example/")
    assert resolve("slake", {}).describe() == "BoKelvin/SLAKE from the hub at https://hf-mirror.example, revision main"


def test_deciding_imports_nothing_heavy() -> None:
    code = (
        "import sys; from lmms_data import sources, rows, images, archive; sources.resolve('slake');"
        "heavy = 'datasets', 'huggingface_hub', 'pyarrow', 'PIL', 'torch', 'lmms_tasks';"
        "print([name for name in heavy if name in sys.modules])"
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LMMS_TASKS")}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- files and rows of a source --------------------------------------------------------------------------------------


@pytest.fixture
def local(hub: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(DATA, str(hub))
    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(tmp_path / "datasets"))
    return hub


@pytest.mark.parametrize(
    ("benchmark", "subset", "keys"),
    [
        ("slake", "en_open", [1, 2]),
        ("slake", "en_closed", [11, 12]),
        ("slake", "zh_open", [21, 22]),
        ("slake", "zh_closed", [31, 32]),
        ("medxpertqa", "text", ["Text-0", "Text-1", "Text-2"]),
        ("medxpertqa", "mm", ["MM-0", "MM-1", "MM-2"]),
        *(
            ("vlms_are_biased", split, [f"dice_{n:03d}_{split}_px384_prompt1" for n in range(3)])
            for split in small_hub.SPLITS
        ),
    ],
)
def test_a_subset_is_its_rows_in_the_datasets_order(
    local: Path, benchmark: str, subset: str, keys: list[object]
) -> None:
    loaded = rows.load(benchmark, subset)
    assert loaded[schema.benchmark(benchmark).key] == keys


def test_rows_keep_every_value(local: Path) -> None:
    (expected,) = [row for row in small_hub.medxpertqa_rows("MM", "ABCDE") if row["id"] == "MM-2"]
    assert rows.load("medxpertqa", "mm")[2] == expected
    expected = small_hub.slake_rows()[0]
    assert rows.load("slake", "en_open")[0] == expected


def test_embedded_images_are_not_decoded_on_loading(local: Path) -> None:
    row = rows.load("vlms_are_biased", "main")[1]
    assert row["image"] == {"bytes": small_hub.picture("PNG", mark=1), "path": "1.png"}
    assert row["expected_bias"] == "2"
    assert rows.load("vlms_are_biased", "original")[1]["expected_bias"] is None


def test_one_file_is_read_once_for_all_its_subsets(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    real = rows._parse
    monkeypatch.setattr(rows, "_kept", {})
    monkeypatch.setattr(rows, "_parse", lambda path: parsed.append(path) or real(path))
    for subset in schema.SLAKE.subsets:
        rows.load("slake", subset)
    assert len(parsed) == 1


def test_text_questions_do_without_the_images(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(hub / MEDXPERTQA / "Text", tmp_path / MEDXPERTQA / "Text")
    monkeypatch.setenv(DATA, str(tmp_path))
    assert len(rows.load("medxpertqa", "text")) == 3
    with pytest.raises(SourceError, match=r"lacks MM/test\.jsonl, images\.zip"):
        rows.load("medxpertqa", "mm")


def test_a_part_of_a_numbered_file_that_is_missing_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in (0, 2):
        (tmp_path / "data" / f"main-{number:05d}-of-00003.parquet").touch()
    assert fetch.missing(tmp_path, ["data/main-*.parquet"]) == ["data/main-*.parquet (part 1 of 3)"]


def test_the_archive_of_a_benchmark_is_one_a_process(local: Path) -> None:
    archive = rows.images_of("slake")
    assert rows.images_of("slake") is archive
    assert archive.image("made1/source.jpg").size == (64, 48)


def test_a_row_count_unlike_the_published_one_is_a_warning(local: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lmms_data"):
        rows.load("slake", "en_open")
    assert "subset en_open has 2 rows, the published dataset has 645" in caplog.text


def test_the_sample_is_small_without_a_warning(
    hub: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sources, "_sample_root", lambda: hub)
    monkeypatch.setenv(DATA, "sample")
    rows.load("slake", "en_open")
    assert not caplog.records


# --- fingerprints ----------------------------------------------------------------------------------------------------


def test_a_fingerprint_is_that_of_the_rows_wherever_they_lie(local: Path) -> None:
    loaded = rows.load("slake", "en_open")
    assert rows.fingerprint(loaded) == rows.fingerprint(list(loaded)) == rows.fingerprint(loaded.select([0, 1]))


@pytest.mark.parametrize("change", [{"answer": "Spleen"}, {"qid": 3}, {"triple": []}, {"location": None}])
def test_a_fingerprint_follows_every_text(change: dict[str, object]) -> None:
    given = small_hub.slake_rows()
    assert rows.fingerprint(given) != rows.fingerprint([{**given[0], **change}, *given[1:]])
    assert rows.fingerprint(given) != rows.fingerprint(given[::-1])


def test_a_fingerprint_of_embedded_images_is_that_of_their_sizes(local: Path) -> None:
    loaded = rows.load("vlms_are_biased", "main")
    assert rows.fingerprint(loaded) == rows.fingerprint(list(loaded))
    other = [{**row, "image": {"bytes": row["image"]["bytes"] + b"x", "path": None}} for row in loaded]
    assert rows.fingerprint(other) != rows.fingerprint(loaded)


# --- the real data ---------------------------------------------------------------------------------------------------


def test_the_local_copies_have_the_published_row_counts(
    shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(DATA, str(shared / "hub"))
    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(tmp_path))
    counts = [len(rows.load(b, subset)) for b in BENCHMARKS for subset in schema.benchmark(b).subsets]
    assert counts == [645, 416, 613, 420, 2450, 2000, 2784, 1392, 2784, 458, 2784, 1392]
    assert not [record for record in caplog.records if record.name == "lmms_data"]
