"""Whatever stands in a file, every reader reads it or says in an error of its own what is wrong with it.

`LMMS_TASKS_FUZZ=10000 pytest tests/test_fuzz_readers.py` draws so many examples a test, other ones each time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from lmms_data import archive, fetch, images, rows, schema, sources
from lmms_data.errors import DataError, ImageError
from lmms_tasks import cli, pictures
from lmms_tasks.conversations import EveryTurn
from lmms_tasks.judge import protocol
from lmms_tasks.judge.cache import Cache
from lmms_tasks.models import replies
from lmms_tasks.repeats import EveryReply
from tests import report_runs, small_hub
from tests.small_hub import picture

LONG = int(os.environ.get("LMMS_TASKS_FUZZ", "0"))


def examples(count: int) -> Any:
    """So many examples, the same in every run; in the long mode as many as were asked for, other ones in every run."""
    return settings(
        max_examples=LONG or count,
        derandomize=not LONG,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # making an example smaller may take minutes
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module", autouse=True)
def _as_lmms_eval_leaves_it() -> Iterator[None]:
    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    yield
    ImageFile.LOAD_TRUNCATED_IMAGES = before


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a test, beside which nothing may appear."""
    return tmp_path_factory.mktemp("fuzz") / "inside"


# --- damage ---------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-2, 3), st.sampled_from([10**400, -(10**20), 2**63, 1e308, float("nan"), float("inf"), -0.0, 0.5])
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "../../up.txt", "/etc/passwd", "\0", "\ud800", "A", "Animals", "correct", "x" * 5000, "{}", "en"]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)
#: Written where JSON is expected, so that nothing but a parser stands in the way.
RAW = st.sampled_from(
    [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"NaN", b"null", b"[]", b"{}",
     b'"', b"\n\n", b"<html>", b"version https://git-lfs", b"\\ud800", b"}"]
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all parts of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for name, part in parts for place in places(part, (*at, name)))]


def changed(draw: st.DrawFn, value: Any) -> Any:
    """The JSON value with one of its parts put in another's or in nonsense's place, taken out, or doubled."""
    value = json.loads(json.dumps(value))
    found = places(value)
    *way, last = draw(st.sampled_from(found[1:])) if len(found) > 1 else (None,)
    if last is None:
        return draw(VALUES)
    holder = value
    for name in way:
        holder = holder[name]
    kind = draw(st.sampled_from(["nonsense", "nonsense", "gone", "doubled", "wrapped"]))
    if kind == "nonsense":
        holder[last] = draw(VALUES)
    elif kind == "gone":
        del holder[last]
    elif kind == "wrapped":
        holder[last] = [holder[last]]
    elif isinstance(holder, list):
        holder.append(holder[last])
    else:
        holder[draw(TEXTS)] = holder[last]
    return value


@st.composite
def json_bytes(draw: st.DrawFn, value: Any, lines: bool = False) -> bytes:
    """A JSON file, or one of lines, that is not quite what it should be."""
    for _ in range(draw(st.integers(0, 3))):
        value = changed(draw, value)
    if lines and isinstance(value, list):
        data = b"\n".join(json.dumps(row).encode() for row in value)
    else:
        data = json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return draw(damaged(data)) if draw(st.integers(0, 3)) == 0 else data


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The file with bytes changed, cut out, doubled or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            return data
        at = draw(st.integers(0, len(data) - 1))
        length = draw(st.integers(1, 40))
        kind = draw(st.sampled_from(["byte", "byte", "cut", "end", "double", "raw", "zero"]))
        head, tail = data[:at], data[at:]
        if kind == "byte":
            data = head + bytes([draw(st.integers(0, 255))]) + tail[1:]
        elif kind == "cut":
            data = head + tail[length:]
        elif kind == "end":
            data = head
        elif kind == "double":
            data = head + tail[:length] + tail
        elif kind == "raw":
            data = head + draw(RAW) + tail
        else:
            data = head + bytes(length) + tail[length:]
    return data


@contextlib.contextmanager
def nothing_outside(folder: Path) -> Iterator[None]:
    """Fails where a file appears beside the folder: a name in the data was used as a path."""
    folder.mkdir(parents=True, exist_ok=True)
    before = sorted(folder.parent.iterdir())
    yield
    assert sorted(folder.parent.iterdir()) == before


def write(path: Path, data: bytes) -> Path:
    """The file with this content; a reader that keeps files by their time sees each as a new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    write.count += 1  # type: ignore[attr-defined]
    os.utime(path, ns=(write.count * 10**9, write.count * 10**9))  # type: ignore[attr-defined]
    return path


write.count = 10**9  # type: ignore[attr-defined]


# --- archives and pictures ------------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip file of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return out.getvalue()


WHOLE_ZIP = zipped({"imgs/a.jpg": picture(), "imgs/b.png": picture("PNG"), "imgs/empty.jpg": b""})


@examples(75)
@given(data=damaged(WHOLE_ZIP))
def test_a_damaged_archive_is_read_or_refused(folder: Path, data: bytes) -> None:
    path = write(folder / "images.zip", data)
    with nothing_outside(folder), contextlib.suppress(DataError):
        opened = archive.ImageArchive(path, "imgs/")
        opened.fingerprint()
        for name in opened:
            with contextlib.suppress(DataError):
                opened.image(name, "RGB")
        with contextlib.suppress(DataError):
            opened.glance(opened, workers=1)


NAMES = st.one_of(
    st.sampled_from(
        ["../up.jpg", "/up.jpg", "C:\\up.jpg", "a/../../up.jpg", "imgs/..\\up", "imgs/a.jpg", "imgs/", ".."]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12),
)


@examples(50)
@given(names=st.lists(NAMES, min_size=1, max_size=4), asked=NAMES)
def test_a_member_whatever_its_name_stays_in_the_archive(folder: Path, names: list[str], asked: str) -> None:
    path = write(folder / "images.zip", zipped(dict.fromkeys(names, picture())))
    with nothing_outside(folder), contextlib.suppress(DataError):
        opened = archive.ImageArchive(path)
        assert not any(".." in name.replace("\\", "/").split("/") or name.startswith(("/", "\\")) for name in opened)
        opened.image(asked)


FORMATS = {form: picture(form) for form in ("JPEG", "PNG", "WEBP", "GIF", "BMP")}
for mode in ("L", "LA", "RGBA"):
    out = io.BytesIO()
    Image.open(io.BytesIO(picture())).convert(mode).save(out, "PNG")
    FORMATS[f"PNG in {mode}"] = out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_picture_is_decoded_or_refused(form: str) -> None:
    @examples(60)
    @given(data=damaged(FORMATS[form]))
    def decodes_or_refuses(data: bytes) -> None:
        for read in (images.glance, images.size, images.decode):
            with contextlib.suppress(ImageError):
                read(data, "the picture", max_pixels=1_000_000) if read is not images.size else read(
                    data, "the picture"
                )
        pictures.pixels_of_png(data)
        made = pictures.rgb_of_png(data)
        if made:
            pixels = images.decode(made, "the picture").tobytes()
            with contextlib.suppress(ImageError):
                assert images.decode(data, "the picture", mode="RGB").tobytes() == pixels

    decodes_or_refuses()


# --- rows -----------------------------------------------------------------------------------------------------------


def loads_or_refuses(benchmark: str, subset: str, root: Path) -> None:
    """Loads a subset from a plain copy; whatever cannot be used is an error that says what to do."""
    spec = schema.benchmark(benchmark)
    source = sources.resolve(spec, environ={sources.DATA: str(root)})
    try:
        loaded = rows.load(spec, subset, source=source)
        rows.fingerprint(loaded)
    except DataError as error:
        assert str(root) in str(error) or spec.hub in str(error)  # noqa: PT017 - either outcome is right


@examples(60)
@given(data=json_bytes(small_hub.slake_rows()))
def test_rows_of_slake_are_loaded_or_refused(folder: Path, data: bytes) -> None:
    if not (folder / "SLAKE").is_dir():
        small_hub.write_slake(folder / "SLAKE")
    write(folder / "SLAKE" / "test.json", data)
    with nothing_outside(folder):
        loads_or_refuses("slake", "en_open", folder)


@examples(60)
@given(data=json_bytes(small_hub.medxpertqa_rows("MM", "ABCDE"), lines=True))
def test_rows_of_medxpertqa_are_loaded_or_refused(folder: Path, data: bytes) -> None:
    if not (folder / "MedXpertQA").is_dir():
        small_hub.write_medxpertqa(folder / "MedXpertQA")
    write(folder / "MedXpertQA" / "MM" / "test.jsonl", data)
    with nothing_outside(folder):
        loads_or_refuses("medxpertqa", "mm", folder)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small file of VLMs Are Biased."""
    made = small_hub.write_vlms_are_biased(tmp_path_factory.mktemp("parquet"))
    return (made / "data" / "main-00000-of-00001.parquet").read_bytes()


def test_a_damaged_parquet_file_is_loaded_or_refused(
    folder: Path, parquet: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(folder / "cache"))
    small_hub.write_vlms_are_biased(folder / "vlms-are-biased")
    target = folder / "vlms-are-biased" / "data" / "main-00000-of-00001.parquet"

    @examples(20)
    @given(data=damaged(parquet))
    def loads(data: bytes) -> None:
        write(target, data)
        with nothing_outside(folder):
            loads_or_refuses("vlms_are_biased", "main", folder)

    loads()


# --- saved replies and logs -----------------------------------------------------------------------------------------

OWN = [{"task": "slake_en_open", "doc_id": n, "reply": reply} for n, reply in enumerate(["CT", ["a", "b"], None])]
LOG = [
    {**report_runs.line("slake_en_open", 0, random.Random(0)), "resps": [["a", "b"]]},
    report_runs.line("slake_en_open", 1, random.Random(1)),
]


@pytest.mark.parametrize(("name", "entries"), [("own.jsonl", OWN), ("d_samples_slake_en_open.jsonl", LOG)])
def test_saved_replies_are_read_or_refused_with_file_and_line(folder: Path, name: str, entries: Any) -> None:
    @examples(100)
    @given(data=json_bytes(entries, lines=True))
    def reads_or_refuses(data: bytes) -> None:
        path = write(folder / name, data)
        try:
            found = replies.load(path)
        except replies.RepliesError as error:
            assert str(path) in str(error)  # noqa: PT017 - either outcome is right
            return
        for saved in found.values():
            for reply in saved.replies:
                passed = EveryTurn().apply([[reply], [reply, reply]], None), EveryReply().apply([[reply]], None)
                json.dumps(passed, ensure_ascii=False).encode("utf-8")

    reads_or_refuses()


@pytest.fixture(scope="module")
def run_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a small run over two benchmarks, by name."""
    made = report_runs.write(tmp_path_factory.mktemp("run"), {"slake_en_open": 4, "vlms_are_biased_main": 5})
    return {path.name: path.read_bytes() for path in made.iterdir()}


def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """A file of a run that is not quite what it should be."""
    if b"\n" in data.strip():
        lines = [json.loads(line) for line in data.decode().split("\n") if line]
        return draw(json_bytes(lines, lines=True))
    return draw(json_bytes(json.loads(data)))


@pytest.mark.parametrize("command", ["report", "compare", "leaderboard"])
def test_a_spoilt_run_is_reported_on_or_refused(
    folder: Path, run_files: dict[str, bytes], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = folder / "sound"
    for name, data in run_files.items():
        write(sound / name, data)

    @examples(20)
    @given(data=st.data())
    def reports_or_refuses(data: st.DataObject) -> None:
        draw = data.draw
        for name, content in run_files.items():
            write(folder / "spoilt" / name, spoilt(draw, content) if draw(st.booleans()) else content)
        words = {
            "report": ["report", str(folder / "spoilt"), "-o", str(folder / "report")],
            "compare": ["compare", str(sound), str(folder / "spoilt"), "-o", str(folder / "report")],
            "leaderboard": ["leaderboard", str(folder / "spoilt")],
        }[command]
        if command == "report":
            words += ["--format", draw(st.sampled_from([*("md", "json", "csv", "latex") * 2, "html"]))]
        with nothing_outside(folder):
            status = cli.main(words)
        said = capsys.readouterr().err
        assert status == 0 or f"lmms-tasks {command}: " in said

    reports_or_refuses()


# --- the judge ------------------------------------------------------------------------------------------------------

VERDICT = b'{"reason": "It is the same organ.", "verdict": "A"}'


@examples(150)
@given(data=damaged(b"<think>hm</think> Here: " + VERDICT + b" "), reply=TEXTS)
def test_a_judges_answer_is_a_verdict_or_none(data: bytes, reply: str) -> None:
    for said in (data.decode("utf-8", "replace"), data.decode("latin-1")):
        with contextlib.suppress(protocol.NoVerdict):
            protocol.read(said, reply)


@examples(75)
@given(data=json_bytes({"judge": "m", "prompt": "1", "max_tokens": 5, "answer": VERDICT.decode(), "tokens": [1, 2]}))
def test_a_damaged_answer_kept_from_the_judge_is_asked_for_again(folder: Path, data: bytes) -> None:
    cache = Cache(folder / "judge")
    write(folder / "judge" / "ab" / "abc.json", data)
    entry = cache.get("abc")
    assert entry is None or isinstance(entry, dict)


# --- where data lies ------------------------------------------------------------------------------------------------


@examples(30)
@given(reference=st.one_of(TEXTS, st.sampled_from(["main", "..", "../..", "../../../outside", "/"])))
def test_a_reference_in_a_hub_cache_leads_to_no_other_folder(folder: Path, reference: str) -> None:
    repository = folder / "cache" / "datasets--BoKelvin--SLAKE"
    write(repository / "refs" / "main", reference.encode("utf-8", "replace"))
    (repository / "snapshots" / "abc").mkdir(parents=True, exist_ok=True)
    small_hub.write_slake(folder / "outside") if not (folder / "outside").is_dir() else None
    spec = schema.benchmark("slake")
    with contextlib.suppress(DataError):
        source = sources.resolve(spec, environ={sources.DATA: str(folder / "cache")})
        found = fetch.local(spec, ("en_open",), source=source)
        assert (repository / "snapshots").resolve() in found.resolve().parents
