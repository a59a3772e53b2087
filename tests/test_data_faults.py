"""What can go wrong on the way to the data ends early, with cause and remedy, and leaves nothing half-written.

The clients are the real ones (huggingface_hub, datasets, modelscope where it is installed), each in a process of its
own, against a hub on loopback.
"""

from __future__ import annotations

import ctypes
import importlib.util
import io
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_data import rows, schema
from lmms_data.errors import ArchiveError, DataError, ImageError, RowsError
from lmms_data.sources import DATA
from lmms_scoring import vlms_are_biased
from tests import small_hub
from tests.hub_server import PAGE, HubServer
from tests.small_hub import MEDXPERTQA, SLAKE, VLMS_ARE_BIASED

LOAD = """
import json, sys
from lmms_data import errors, fetch, rows, sources
fetch.RETRY_WAITS = (0.1, 0.1, 0.1)
try:
    for name in sys.argv[1:]:
        benchmark, subset = name.split("/")
        print("rows", len(rows.load(benchmark, subset)))
        folder = fetch.local(benchmark, [subset])
    print("source", fetch.exact(sources.resolve(benchmark)).describe())
    print("folder", folder)
except errors.DataError as error:
    print(json.dumps({"kind": type(error).__name__, "cause": error.cause, "remedy": error.remedy}))
    sys.exit(3)
"""
ALL = [
    *(f"slake/{language}_{kind}" for language in ("en", "zh") for kind in ("open", "closed")),
    "medxpertqa/text",
    "medxpertqa/mm",
    *(f"vlms_are_biased/{split}" for split in small_hub.SPLITS),
]


@dataclass
class Loaded:
    """How a process ended that loaded subsets."""

    status: int
    lines: list[str]
    errors: str
    seconds: float

    @property
    def fault(self) -> dict[str, str]:
        assert self.status == 3, [*self.lines[-3:], self.errors[-2000:]]
        fault: dict[str, str] = json.loads(self.lines[-1])
        return fault

    @property
    def counts(self) -> list[int]:
        assert self.status == 0, [*self.lines[-3:], self.errors[-2000:]]
        return [int(line.split()[1]) for line in self.lines if line.startswith("rows")]


def start(environ: dict[str, str], *subsets: str, **options: Any) -> subprocess.Popen[str]:
    environ = environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", LOAD, *subsets]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, **options)


def load(environ: dict[str, str], *subsets: str, **options: Any) -> Loaded:
    begun = time.monotonic()
    process = start(environ, *subsets, **options)
    out, errors = process.communicate(timeout=120)
    return Loaded(process.returncode, out.splitlines(), errors, time.monotonic() - begun)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_hub.write_hub(tmp_path_factory.mktemp("hub"))


@pytest.fixture
def hub(folder: Path) -> Iterator[HubServer]:
    with HubServer(folder) as server:
        yield server


def leftovers(home: Path) -> list[Path]:
    """Files in the cache that are neither whole nor bookkeeping."""
    return [path for path in home.rglob("*") if path.is_file() and path.suffix == ".incomplete"]


# --- the hub, well ---------------------------------------------------------------------------------------------------


def test_everything_comes_from_the_hub_once_and_then_does_without_it(hub: HubServer, tmp_path: Path) -> None:
    assert load(hub.environ(tmp_path), *ALL).counts == [2, 2, 2, 2] + [3] * 8
    for file in ("test.json", "imgs.zip", "Text/test.jsonl", "MM/test.jsonl", "images.zip", "data/main.*parquet"):
        assert hub.served(f"resolve/.*{file}$") == 1, file
    assert not hub.served("README|question.json"), "what no task needs is not downloaded"
    assert hub.served("revision/main") == 3, "each repository is asked for its newest commit once"
    hub.requests.clear()
    dead = hub.environ(tmp_path, HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert load(dead, *ALL).counts == [2, 2, 2, 2] + [3] * 8
    assert not hub.requests


def test_a_cache_shared_with_a_machine_without_network_serves_it_there(hub: HubServer, tmp_path: Path) -> None:
    load(hub.environ(tmp_path / "there"), *ALL)
    shutil.copytree(tmp_path / "there", tmp_path / "here", symlinks=True)
    here = hub.environ(tmp_path / "here", HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert len(load(here, *ALL).counts) == 12
    named = hub.environ(tmp_path / "empty", HF_HUB_OFFLINE="1", LMMS_TASKS_DATA=str(tmp_path / "there"))
    assert len(load(named, *ALL).counts) == 12


def test_without_network_what_was_downloaded_before_is_used(hub: HubServer, tmp_path: Path) -> None:
    load(hub.environ(tmp_path), "slake/en_open")
    assert load(hub.environ(tmp_path, HF_ENDPOINT="http://127.0.0.1:9"), "slake/zh_open").counts == [2]


def test_a_pinned_commit_is_the_one_that_is_asked_for(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.commit(hub.folder / SLAKE)
    done = load(hub.environ(tmp_path, LMMS_TASKS_REVISION=f"slake={commit}"), "slake/en_open")
    assert done.lines[-1].endswith(commit)
    assert not hub.served("revision/main")


def test_the_log_names_the_commit_that_main_was(hub: HubServer, tmp_path: Path) -> None:
    done = load(hub.environ(tmp_path), "slake/en_open")
    assert f"source {SLAKE} from the hub at {hub.url}, revision {hub.commit(hub.folder / SLAKE)}" in done.lines


def test_only_what_a_subset_needs_is_downloaded(hub: HubServer, tmp_path: Path) -> None:
    load(hub.environ(tmp_path), "medxpertqa/text", "vlms_are_biased/original")
    assert not hub.served(r"images\.zip|MM/|data/main")


def test_two_processes_that_start_the_first_download_at_once_share_it(hub: HubServer, tmp_path: Path) -> None:
    hub.fault(path=r"imgs\.zip", method="GET", delay=1.0)
    both = [start(hub.environ(tmp_path), "slake/en_open", "slake/zh_open") for _ in range(2)]
    for process in both:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert out.startswith("rows 2\nrows 2\n")
    assert hub.served(r"imgs\.zip$") == 1


# --- the hub, not so well --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    name: str
    faults: list[dict[str, Any]]
    cause: str
    remedy: str
    tries: int | None = None


CASES = [
    Case("a bad token", [{"status": 401}], "rejects the token", "HF_TOKEN", 1),
    Case("a gated dataset", [{"status": 403, "error": "GatedRepo"}], "refuses access", "HF_TOKEN", 1),
    Case("no such repository", [{"status": 404, "error": "RepoNotFound"}], "no such repository", "HF_ENDPOINT", 1),
    Case(
        "a mirror without the file",
        [{"path": "imgs.zip", "status": 404, "error": "EntryNotFound"}],
        "no such",
        "mirror",
    ),
    Case("too many requests", [{"status": 429}], "too many requests", "wait", 4),
    Case("a server out of order", [{"status": 503}], r"out of order \(503\)", "LMMS_TASKS_DATA=modelscope", 4),
    Case("a mirror that serves web pages", [{"html": True}], "does not answer like a hub", "address", 1),
    Case("a mirror with web pages for files", [{"path": "resolve/", "html": True}], "not answer like a hub", "address"),
    Case("a web page in place of the rows", [{"path": "test.json", "body": PAGE}], r"test\.json .*web page", "mirror"),
    Case("a web page in place of the zip", [{"path": "imgs.zip", "body": PAGE}], r"imgs\.zip .*web page", "mirror"),
    Case("an empty file", [{"path": "test.json", "body": b""}], r"test\.json .*is empty", "mirror"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_fault_of_the_server_ends_early_with_cause_and_remedy_and_is_over_when_it_is_mended(
    hub: HubServer, tmp_path: Path, case: Case
) -> None:
    for fault in case.faults:
        hub.fault(**fault)
    done = load(hub.environ(tmp_path), "slake/en_open")
    assert done.fault["kind"] == "DownloadError"
    assert re.search(case.cause, done.fault["cause"]), done.fault
    assert case.remedy in done.fault["remedy"]
    assert SLAKE in done.fault["cause"]
    assert done.seconds < 60
    if case.tries:
        assert len(hub.requests) == case.tries
    assert not leftovers(tmp_path)
    hub.heal()
    assert load(hub.environ(tmp_path), "slake/en_open").counts == [2]


@pytest.mark.parametrize(("status", "path"), [(429, "revision/main"), (503, "revision/main"), (500, r"imgs\.zip")])
def test_a_server_that_recovers_is_waited_for(hub: HubServer, tmp_path: Path, status: int, path: str) -> None:
    hub.fault(path=path, status=status, times=2)
    assert load(hub.environ(tmp_path), "slake/en_open").counts == [2]


def test_a_hub_that_cannot_be_reached_is_named(tmp_path: Path, hub: HubServer) -> None:
    done = load(hub.environ(tmp_path, HF_ENDPOINT="http://127.0.0.1:9"), "slake/en_open")
    assert "http://127.0.0.1:9" in done.fault["cause"]
    assert "cannot be reached" in done.fault["cause"]
    assert "network" in done.fault["remedy"]
    assert done.seconds < 30


def test_offline_mode_without_the_files_says_how_to_get_them(hub: HubServer, tmp_path: Path) -> None:
    load(hub.environ(tmp_path), "medxpertqa/text")
    for subset in ("slake/en_open", "medxpertqa/mm"):
        done = load(hub.environ(tmp_path, HF_HUB_OFFLINE="1"), subset)
        assert "offline mode is on" in done.fault["cause"]
        assert "data fetch" in done.fault["remedy"]


def test_a_revision_that_does_not_exist_is_named(hub: HubServer, tmp_path: Path) -> None:
    done = load(hub.environ(tmp_path, LMMS_TASKS_REVISION="slake=v9"), "slake/en_open")
    assert "no revision v9" in done.fault["cause"]
    assert "LMMS_TASKS_REVISION" in done.fault["remedy"]


@pytest.fixture
def large(tmp_path: Path) -> Iterator[HubServer]:
    """A hub whose archive takes two of the client's blocks of ten megabytes."""
    folder = small_hub.write_hub(tmp_path / "large")
    archive = folder / SLAKE / "imgs.zip"
    filler = random.Random(1).randbytes(14_000_000)
    members = {f"imgs/made{n}/source.jpg": small_hub.picture(mark=n) for n in (1, 2)}
    small_hub.write_zip(archive, members | {"imgs/made1/filler.bin": filler})
    with HubServer(folder) as server:
        yield server


def test_a_connection_that_drops_halfway_resumes_where_it_stopped(large: HubServer, tmp_path: Path) -> None:
    large.fault(path=r"imgs\.zip", method="GET", drop=12_000_000, times=1)
    assert load(large.environ(tmp_path / "home"), "slake/en_open").counts == [2]
    (resumed,) = [first for name, first in large.ranges if name == "imgs.zip"]
    assert resumed >= 10_000_000


def test_a_full_disk_is_named_and_leaves_no_piece_of_a_file(large: HubServer, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))

    home = tmp_path / "home"
    done = load(large.environ(home), "slake/en_open", preexec_fn=little_room)
    assert "the disk is full" in done.fault["cause"]
    assert "HF_HOME" in done.fault["remedy"]
    assert not leftovers(home)
    assert not [path for path in home.rglob("imgs.zip") if path.exists()]
    assert load(large.environ(home), "slake/en_open").counts == [2]


def bound_by_permissions() -> None:
    """In a child before it runs: give up root's right to write everywhere, where it has that right."""
    if os.geteuid() == 0:
        drop_from_bounding_set, may_override = 24, 1
        ctypes.CDLL(None).prctl(drop_from_bounding_set, may_override, 0, 0, 0)


@pytest.fixture
def permissions(tmp_path: Path) -> dict[str, Any]:
    """Options for a child process that file permissions bind, as they bind a user."""
    closed = tmp_path / "probe"
    closed.mkdir(mode=0o555)
    options = {"preexec_fn": bound_by_permissions}
    code = f"open({str(closed / 'x')!r}, 'w')"
    if subprocess.run([sys.executable, "-c", code], capture_output=True, **options).returncode == 0:
        pytest.skip("file permissions do not bind this user")
    return options


def test_a_cache_that_cannot_be_written_is_named(hub: HubServer, tmp_path: Path, permissions: dict[str, Any]) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    done = load(hub.environ(home), "slake/en_open", **permissions)
    assert "cannot be written" in done.fault["cause"]
    assert "HF_HOME" in done.fault["remedy"]


def test_a_read_only_cache_that_is_complete_is_enough(
    hub: HubServer, tmp_path: Path, permissions: dict[str, Any]
) -> None:
    home = tmp_path / "home"
    load(hub.environ(home), *ALL)
    for path in (home, *home.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o555 if path.is_dir() else 0o444)
    writable = tmp_path / "datasets"
    writable.mkdir()
    writable.chmod(0o777)
    given = hub.environ(home, HF_DATASETS_CACHE=str(writable), HOME=str(writable))
    for environ in (given, given | {"HF_HUB_OFFLINE": "1"}):
        assert len(load(environ, *ALL, **permissions).counts) == 12


def test_a_datasets_cache_that_cannot_be_written_is_named(
    hub: HubServer, tmp_path: Path, permissions: dict[str, Any]
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    environ = hub.environ(tmp_path / "home", LMMS_TASKS_DATA=str(hub.folder), HF_DATASETS_CACHE=str(closed / "cache"))
    done = load(environ | {"HOME": str(closed)}, "vlms_are_biased/main", **permissions)
    assert "HF_DATASETS_CACHE" in done.fault["remedy"]


def test_a_zip_that_a_mirror_cut_off_is_removed_and_fetched_again(hub: HubServer, tmp_path: Path) -> None:
    whole = (hub.folder / SLAKE / "imgs.zip").read_bytes()
    hub.fault(path=r"imgs\.zip", body=whole[:-300])
    done = load(hub.environ(tmp_path), "slake/en_open")
    assert "cut off at its end" in done.fault["cause"]
    assert "removed" in done.fault["cause"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size == len(whole) - 300]
    hub.heal()
    assert load(hub.environ(tmp_path), "slake/en_open").counts == [2]


# --- local copies ----------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the hub folder that a test may damage, as the source in use."""
    target = tmp_path / "copy"
    shutil.copytree(folder, target)
    monkeypatch.setenv(DATA, str(target))
    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(tmp_path / "datasets"))
    return target


def changed(key: str, change: Callable[[dict[str, Any]], object], given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, those whose first value or key matches changed in place."""
    for row in given:
        if str(row.get("qid", row.get("id", row.get("ID")))) == key:
            change(row)
    return given


SLAKE_FAULTS = [
    (
        "a missing column",
        lambda row: row.pop("answer"),
        r"BoKelvin/SLAKE has no column 'answer'.*found answer_type, base",
    ),
    (
        "a renamed column",
        lambda row: row.__setitem__("Answer", row.pop("answer")),
        r"no column 'answer'.*found Answer, ",
    ),
    ("a number for a text", lambda row: row.update(answer=4), r"column 'answer' of row 1 .*should be str, found int 4"),
    ("an image nobody has", lambda row: row.update(img_name="x/y.jpg"), r"1 images .* not in .*imgs\.zip: x/y\.jpg"),
    ("an image outside", lambda row: row.update(img_name="../../etc/passwd"), r"not in .*imgs\.zip: \.\./\.\./etc"),
]


@pytest.mark.parametrize(("name", "change", "said"), SLAKE_FAULTS, ids=[name for name, _, _ in SLAKE_FAULTS])
def test_a_row_that_slake_does_not_allow_stops_the_loading(
    copy: Path, name: str, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    small_hub.write_slake(copy / SLAKE, changed("1", change, small_hub.slake_rows()))
    with pytest.raises(RowsError, match=said):
        rows.load("slake", "en_open")
    rows.load("slake", "zh_closed")


def test_without_the_column_that_makes_the_subsets_the_error_says_so(copy: Path) -> None:
    small_hub.write_slake(
        copy / SLAKE, [{k: v for k, v in row.items() if k != "q_lang"} for row in small_hub.slake_rows()]
    )
    with pytest.raises(RowsError, match="no column 'q_lang'"):
        rows.load("slake", "en_open")


def test_a_subset_without_rows_is_an_error(copy: Path) -> None:
    small_hub.write_slake(copy / SLAKE, small_hub.slake_rows()[:4])
    with pytest.raises(RowsError, match="no rows of the subset zh_open"):
        rows.load("slake", "zh_open")


MEDXPERTQA_FAULTS = [
    ("one option less", lambda row: row["options"].pop("E"), "MM-1.* has the options A, B, C, D; mm has A, B, C, D, E"),
    ("one option more", lambda row: row["options"].update(F="more"), "has the options A, B, C, D, E, F; mm has"),
    ("a label of none", lambda row: row.update(label="F"), "label 'F' of row 'MM-1' .*none of its options"),
    ("an option without text", lambda row: row["options"].update(B=None), "column 'options' of row 'MM-1'"),
    ("images as a text", lambda row: row.update(images="MM-1-a.png"), r"'images' .*should be list\[str\], found str"),
    ("no images", lambda row: row.pop("images"), "no column 'images'"),
]


@pytest.mark.parametrize(("name", "change", "said"), MEDXPERTQA_FAULTS, ids=[name for name, _, _ in MEDXPERTQA_FAULTS])
def test_a_row_that_medxpertqa_does_not_allow_stops_the_loading(
    copy: Path, name: str, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    small_hub.write_medxpertqa(copy / MEDXPERTQA, changed("MM-1", change, small_hub.medxpertqa_rows("MM", "ABCDE")))
    with pytest.raises(RowsError, match=said):
        rows.load("medxpertqa", "mm")
    rows.load("medxpertqa", "text")


@pytest.mark.parametrize("column", ["image", "ground_truth", "expected_bias", "ID", "topic"])
def test_a_column_that_vlms_are_biased_lacks_stops_the_loading(copy: Path, column: str) -> None:
    given = [{(k + "s" if k == column else k): v for k, v in row.items()} for row in small_hub.vlms_rows("main")]
    small_hub.write_vlms_are_biased(copy / VLMS_ARE_BIASED, given)
    with pytest.raises(RowsError, match=f"no column '{column}' .*found .*{column}s"):
        rows.load("vlms_are_biased", "main")


def test_a_number_where_vlms_are_biased_has_text_stops_the_loading(copy: Path) -> None:
    given = [{**row, "ground_truth": number} for number, row in enumerate(small_hub.vlms_rows("main"))]
    small_hub.write_vlms_are_biased(copy / VLMS_ARE_BIASED, given)
    with pytest.raises(
        RowsError, match=r"column 'ground_truth' of row 'dice_000_main_px384_prompt1'.*should be str, found 0"
    ):
        rows.load("vlms_are_biased", "main")


def test_a_topic_that_the_scoring_does_not_know_stops_the_loading(copy: Path) -> None:
    given = small_hub.vlms_rows("main")
    given[1]["topic"] = "Coins"
    small_hub.write_vlms_are_biased(copy / VLMS_ARE_BIASED, given)
    with pytest.raises(
        RowsError, match=r"unknown topic 'Coins' in row 'dice_001_main_px384_prompt1'.*known are Animals, "
    ):
        rows.load("vlms_are_biased", "main")
    assert {vlms_are_biased.topic(name) for name in schema.VLMS_ARE_BIASED.values["topic"]} == set(
        vlms_are_biased.TOPICS
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PAGE, "is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
        (b'[{"qid": 1, "ques', "cut off or damaged"),
        (b'{"rows": 3}', "not a list of rows"),
        (b"[1, 2]", "not a list of rows"),
        (b"\xff\xfe[\x00]\x00", "cannot be read"),
        (b"[" * 100_000, "cut off or damaged"),
    ],
    ids=["page", "pointer", "cut", "object", "numbers", "utf-16", "deep"],
)
def test_a_file_of_rows_that_is_none_is_called_what_it_is(copy: Path, content: bytes, said: str) -> None:
    (copy / SLAKE / "test.json").write_bytes(content)
    with pytest.raises(RowsError, match=said):
        rows.load("slake", "en_open")


def test_a_parquet_file_cut_off_is_named(copy: Path) -> None:
    path = next((copy / VLMS_ARE_BIASED / "data").glob("main-*"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RowsError, match=r"main-00000.*no readable parquet"):
        rows.load("vlms_are_biased", "main")


def test_an_archive_cut_off_stops_the_loading_before_any_generation(copy: Path) -> None:
    path = copy / SLAKE / "imgs.zip"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ArchiveError, match="cut off"):
        rows.load("slake", "en_open")


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[: len(data) // 2], r"images/MM-2-c\.png of \S+images\.zip is cut off"),
        (lambda data: b"<html>not found</html>", r"images/MM-2-c\.png of \S+images\.zip is not a readable image"),
        (lambda data: b"", r"images/MM-2-c\.png of \S+images\.zip is empty"),
    ],
    ids=["cut", "page", "empty"],
)
def test_a_damaged_last_image_stops_the_loading_before_any_generation(
    copy: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    path = copy / MEDXPERTQA / "images.zip"
    held = members(path)
    held["images/MM-2-c.png"] = damage(held["images/MM-2-c.png"])
    small_hub.write_zip(path, held)
    with pytest.raises(ImageError, match=said):
        rows.load("medxpertqa", "mm")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_an_image_of_a_hundred_megapixels_stops_the_loading(copy: Path) -> None:
    out = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(out, "PNG")
    path = copy / MEDXPERTQA / "images.zip"
    small_hub.write_zip(path, members(path) | {"images/MM-0-a.png": out.getvalue()})
    with pytest.raises(ImageError, match="10000 x 10000 pixels"):
        rows.load("medxpertqa", "mm")


def test_an_image_with_a_bad_checksum_stops_the_loading_before_any_generation(copy: Path) -> None:
    path = copy / SLAKE / "imgs.zip"
    data = bytearray(path.read_bytes())
    data[data.index(b"imgs/made2/source.jpg") + 200] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"imgs/made2/source\.jpg of \S+ is damaged"):
        rows.load("slake", "en_open")


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (
            {"bytes": small_hub.picture("PNG")[:-90], "path": ""},
            r"row 'dice_000_main\S+ of anvo25/\S+ \(main\) is cut off",
        ),
        ({"bytes": None, "path": "x.png"}, r"row 'dice_000_main\S+ of anvo25/\S+ \(main\) is not embedded"),
    ],
)
def test_a_damaged_embedded_image_stops_the_loading_before_any_generation(
    copy: Path, image: dict[str, Any], said: str
) -> None:
    given = small_hub.vlms_rows("main")
    small_hub.write_vlms_are_biased(copy / VLMS_ARE_BIASED, [{**given[0], "image": image}, *given[1:]])
    with pytest.raises(DataError, match=said):
        rows.load("vlms_are_biased", "main")


def test_a_missing_archive_stops_the_loading(copy: Path) -> None:
    (copy / MEDXPERTQA / "images.zip").unlink()
    with pytest.raises(DataError, match=r"lacks images\.zip"):
        rows.load("medxpertqa", "mm")


# --- ModelScope ------------------------------------------------------------------------------------------------------

FAKE_SDK = """
import json, os, shutil, sys
from pathlib import Path

def dataset_snapshot_download(dataset_id, revision=None, cache_dir=None, local_dir=None, allow_patterns=None, **more):
    with open(os.environ["SDK_CALLS"], "a") as log:
        log.write(json.dumps([dataset_id, revision, local_dir, allow_patterns, more]) + "\\n")
    if os.environ.get("SDK_FAULT") == "network":
        raise ConnectionError("Max retries exceeded")
    if os.environ.get("SDK_FAULT") == "disk":
        raise OSError(28, "No space left on device")
    return os.environ["SDK_FOLDER"]
"""


@pytest.fixture
def sdk(tmp_path: Path, folder: Path) -> dict[str, str]:
    """An environment with a stand-in for ModelScope's SDK, which logs how it is called."""
    package = tmp_path / "sdk" / "modelscope" / "hub"
    package.mkdir(parents=True)
    for init in (package / "__init__.py", package.parent / "__init__.py"):
        init.touch()
    (package / "snapshot_download.py").write_text(FAKE_SDK)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LMMS_", "HF_", "MODELSCOPE"))}
    return clean | {
        DATA: "modelscope",
        "SDK_CALLS": str(tmp_path / "calls"),
        "SDK_FOLDER": str(folder / SLAKE),
        "MODELSCOPE_CACHE": str(tmp_path / "cache"),
    }


def load_with_sdk(environ: dict[str, str], tmp_path: Path, *subsets: str) -> Loaded:
    before = sys.path[:]
    sys.path.insert(0, str(tmp_path / "sdk"))
    try:
        return load(environ, *subsets)
    finally:
        sys.path[:] = before


def test_modelscopes_sdk_is_asked_for_its_repository_and_only_the_files_needed(
    sdk: dict[str, str], tmp_path: Path
) -> None:
    assert load_with_sdk(
        sdk | {"LMMS_TASKS_REVISION": "slake=v1"}, tmp_path, "slake/en_open", "slake/zh_open"
    ).counts == [2, 2]
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert calls == [["evalscope/SLAKE", "v1", None, ["test.json", "imgs.zip"], {}]]


def test_modelscope_without_network_uses_what_was_downloaded_before(
    sdk: dict[str, str], tmp_path: Path, folder: Path
) -> None:
    done = load_with_sdk(sdk | {"SDK_FAULT": "network"}, tmp_path, "slake/en_open")
    assert "cannot be reached" in done.fault["cause"]
    kept = tmp_path / "cache" / "datasets" / "evalscope--SLAKE" / "snapshots" / "master"
    shutil.copytree(folder / SLAKE, kept)
    done = load_with_sdk(sdk | {"SDK_FAULT": "network"}, tmp_path, "slake/en_open")
    assert done.counts == [2]
    assert done.lines[-1] == f"folder {kept}"


def test_modelscope_with_a_full_disk_says_so(sdk: dict[str, str], tmp_path: Path) -> None:
    done = load_with_sdk(sdk | {"SDK_FAULT": "disk"}, tmp_path, "slake/en_open")
    assert "disk is full" in done.fault["cause"]
    assert "MODELSCOPE_CACHE" in done.fault["remedy"]


@pytest.mark.skipif(importlib.util.find_spec("modelscope") is not None, reason="modelscope is installed")
def test_without_modelscopes_sdk_the_error_says_how_to_install_it(hub: HubServer, tmp_path: Path) -> None:
    done = load(hub.environ(tmp_path, LMMS_TASKS_DATA="modelscope"), "slake/en_open")
    assert "not installed" in done.fault["cause"]
    assert "lmms-tasks[modelscope]" in done.fault["remedy"]


@pytest.mark.skipif(importlib.util.find_spec("modelscope") is None, reason="needs the extra [modelscope]")
class TestWithModelScopesOwnSdk:
    """The same with the real SDK against the loopback hub."""

    def test_everything_comes_from_modelscope(self, hub: HubServer, tmp_path: Path) -> None:
        environ = hub.environ(tmp_path, LMMS_TASKS_DATA="modelscope")
        assert len(load(environ, *ALL).counts) == 12
        assert not hub.served("/api/datasets/")
        assert load(environ | {"MODELSCOPE_DOMAIN": "http://127.0.0.1:9"}, "slake/en_open").counts == [2]

    @pytest.mark.parametrize(
        ("fault", "cause"),
        [
            ({"status": 401}, "rejects the token"),
            ({"status": 404}, "no such repository"),
            ({"status": 503}, "out of order"),
            ({"html": True}, "does not answer like a hub"),
            ({"path": "imgs.zip", "body": PAGE}, "web page"),
        ],
    )
    def test_faults_end_with_cause_and_remedy(
        self, hub: HubServer, tmp_path: Path, fault: dict[str, Any], cause: str
    ) -> None:
        hub.fault(**fault)
        environ = hub.environ(tmp_path, LMMS_TASKS_DATA="modelscope")
        assert cause in load(environ, "slake/en_open").fault["cause"]
        hub.heal()
        assert load(environ, "slake/en_open").counts == [2]

    def test_a_connection_that_drops_resumes(self, large: HubServer, tmp_path: Path) -> None:
        large.fault(path="imgs.zip", method="GET", drop=9_000_000, times=1)
        assert load(large.environ(tmp_path / "home", LMMS_TASKS_DATA="modelscope"), "slake/en_open").counts == [2]
        assert ("imgs.zip", 9_000_000) in large.ranges


# --- the loopback hub itself -----------------------------------------------------------------------------------------


def test_the_loopback_hub_runs_as_a_script(folder: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("hub_server.py")
    command = [sys.executable, str(script), str(folder), "--fault", "status=503,times=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        try:
            environ = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
            environ.pop(DATA, None)
            assert load(environ, "slake/en_open").counts == [2]
        finally:
            server.kill()


def test_datasets_itself_reads_the_loopback_hub(hub: HubServer, tmp_path: Path) -> None:
    code = (
        "import datasets; d = datasets.load_dataset('TsinghuaC3I/MedXpertQA', 'MM', split='test'); print(len(d));"
        "d = datasets.load_dataset('anvo25/vlms-are-biased', split='main'); print(d[0]['image'].size)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=hub.environ(tmp_path), capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == ["3", "(64, 48)"], done.stderr[-2000:]


def test_nothing_listens_where_the_tests_have_no_network() -> None:
    """The tests of an unreachable hub rely on it."""
    with pytest.raises(OSError, match=r"."), socket.create_connection(("127.0.0.1", 9), timeout=2):
        pass
