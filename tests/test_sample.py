"""The embedded sample: complete, in the layout of the hub, ours alone, and reproducible."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import PIL
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageChops, ImageStat, features

from lmms_scoring import medxpertqa, slake, vlms_are_biased
from lmms_scoring.outcomes import Score

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "lmms_tasks" / "sample"
HUB = SAMPLE / "hub"
SLAKE, MEDXPERTQA, VLMS = HUB / "BoKelvin/SLAKE", HUB / "TsinghuaC3I/MedXpertQA", HUB / "anvo25/vlms-are-biased"
SPLITS = ("main", "identification", "withtitle", "original", "remove_background_q1q2", "remove_background_q3")
MODELS = ("careful", "prior", "messy")
TOPICS = {"Animals", "Logos", "Flags", "Chess Pieces", "Game Boards", "Optical Illusion", "Patterned Grid"}

Row = dict[str, Any]


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _parquet(split: str) -> Path:
    return VLMS / "data" / f"{split}-00000-of-00001.parquet"


@cache
def leaves() -> dict[str, list[Row]]:
    """Leaf task -> its rows in order, as the tasks see them."""
    rows = json.loads((SLAKE / "test.json").read_text(encoding="utf-8"))
    found: dict[str, list[Row]] = {
        f"slake_{language}_{kind}": [r for r in rows if r["q_lang"] == language and r["answer_type"] == kind.upper()]
        for language in ("en", "zh")
        for kind in ("open", "closed")
    }
    for config in ("Text", "MM"):
        found[f"medxpertqa_{config.lower()}"] = _lines(MEDXPERTQA / config / "test.jsonl")
    for split in SPLITS:
        found[f"vlms_are_biased_{split}"] = pq.read_table(_parquet(split)).to_pylist()
    return found


def of(benchmark: str) -> list[Row]:
    return [row for task, rows in leaves().items() if task.startswith(benchmark) for row in rows]


def replies(model: str) -> list[Row]:
    return _lines(SAMPLE / "replies" / f"{model}.jsonl")


def pictures(path: Path) -> dict[str, Image.Image]:
    with zipfile.ZipFile(path) as archive:
        found: dict[str, Image.Image] = {
            name: Image.open(io.BytesIO(archive.read(name))) for name in archive.namelist()
        }
    for image in found.values():
        image.load()
    return found


def picture(row: Row) -> Image.Image:
    return Image.open(io.BytesIO(row["image"]["bytes"]))


# layout


def test_the_sample_stays_within_its_size() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) <= 1_500_000


def test_every_leaf_has_rows() -> None:
    assert len(leaves()) == 12
    assert all(leaves().values())


def test_slake_rows_have_the_columns_and_types_of_the_hub() -> None:
    types = {
        "img_id": int,
        "img_name": str,
        "question": str,
        "answer": str,
        "q_lang": str,
        "location": str,
        "modality": str,
        "answer_type": str,
        "base_type": str,
        "triple": list,
        "qid": int,
        "content_type": str,
    }
    for row in of("slake"):
        assert {name: type(value) for name, value in row.items()} == types
        assert len(row["triple"]) == 3
        assert row["base_type"] == ("kvqa" if row["content_type"] == "KG" else "vqa")


def test_slake_covers_every_kind_in_both_languages() -> None:
    for language in ("en", "zh"):
        rows = [row for row in of("slake") if row["q_lang"] == language]
        assert {row["content_type"] for row in rows} == {
            "Organ",
            "Position",
            "Abnormality",
            "KG",
            "Modality",
            "Size",
            "Plane",
            "Quantity",
            "Color",
            "Shape",
        }
        assert {row["modality"] for row in rows} == {"CT", "MRI", "X-Ray"}
    assert all(any("一" <= c <= "鿿" for c in row["question"]) == (row["q_lang"] == "zh") for row in of("slake"))
    assert max(Counter(row["img_name"] for row in of("slake")).values()) >= 3


def test_slake_lists_english_before_chinese() -> None:
    languages = [row["q_lang"] for row in json.loads((SLAKE / "test.json").read_text(encoding="utf-8"))]
    assert languages == sorted(languages)


def test_slake_pictures_are_those_that_the_rows_name() -> None:
    found = pictures(SLAKE / "imgs.zip")
    assert set(found) == {f"imgs/{row['img_name']}" for row in of("slake")}
    assert {image.format for image in found.values()} == {"JPEG"}
    assert all(240 <= side <= 1024 for image in found.values() for side in image.size)


@pytest.mark.parametrize(("config", "letters"), [("Text", "ABCDEFGHIJ"), ("MM", "ABCDE")])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_medxpertqa_rows_embed_their_options(config: str, split: str, letters: str) -> None:
    for row in _lines(MEDXPERTQA / config / f"{split}.jsonl"):
        expected = {"id", "question", "options", "label", "medical_task", "body_system", "question_type"}
        assert set(row) == expected | ({"images"} if config == "MM" else set())
        assert "".join(row["options"]) == letters
        assert len(set(row["options"].values())) == len(letters)
        assert row["label"] in row["options"]
        stem, embedded = row["question"].split("\nAnswer Choices: ")
        assert stem == stem.strip()
        assert embedded == " ".join(f"({letter}) {text}" for letter, text in row["options"].items())


def test_medxpertqa_covers_types_tasks_and_body_systems() -> None:
    for config in ("text", "mm"):
        rows = leaves()[f"medxpertqa_{config}"]
        assert {row["question_type"] for row in rows} == {"Reasoning", "Understanding"}
        assert {row["medical_task"] for row in rows} == {"Diagnosis", "Treatment", "Basic Science"}
        assert "Other / NA" in {row["body_system"] for row in rows}
    assert len({row["body_system"] for row in of("medxpertqa")}) == 12


def test_medxpertqa_figures_are_one_to_six_and_all_named_by_a_row() -> None:
    rows = leaves()["medxpertqa_mm"]
    assert {len(row["images"]) for row in rows} == {1, 2, 3, 4, 5, 6}
    named = [name for row in [*rows, *_lines(MEDXPERTQA / "MM/dev.jsonl")] for name in row["images"]]
    found = pictures(MEDXPERTQA / "images.zip")
    assert sorted(f"images/{name}" for name in named) == sorted(found)
    assert {image.format for image in found.values()} == {"JPEG", "PNG"}
    assert {image.mode for image in found.values()} == {"L", "P", "RGB", "RGBA"}
    assert min(min(image.size) for image in found.values()) < 100
    assert max(max(image.size) for image in found.values()) > 2000


def test_medxpertqa_has_options_that_are_letters_and_options_that_are_figures() -> None:
    texts = [list(row["options"].values()) for row in leaves()["medxpertqa_mm"]]
    assert any(
        set(text) == set("ABCDE") and row["options"][row["label"]] != row["label"]
        for text, row in zip(texts, leaves()["medxpertqa_mm"], strict=True)
    )
    assert any("Figure A" in text and "Figure B" in text for text in texts)


def test_parquet_files_have_the_columns_and_features_of_the_hub() -> None:
    for split in SPLITS:
        schema = pq.read_schema(_parquet(split))
        assert schema.names == [
            "ID",
            "image_path",
            "topic",
            "sub_topic",
            "prompt",
            "ground_truth",
            "expected_bias",
            "type_of_question",
            "pixel",
            "with_title",
            "metadata",
            "image",
        ]
        assert schema.field("image").type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        assert schema.field("pixel").type == pa.int64()
        assert schema.field("with_title").type == pa.bool_()
        told = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        assert list(told) == schema.names
        assert told["image"] == {"_type": "Image"}


def test_parquet_files_equal_the_hub_copy_in_schema(shared: Path) -> None:
    for split in SPLITS:
        real = shared / "hub/anvo25/vlms-are-biased/data" / _parquet(split).name
        assert pq.read_schema(_parquet(split)).equals(pq.read_schema(real), check_metadata=True)


def test_every_split_has_its_topics_in_its_spelling() -> None:
    for split in SPLITS:
        topics = {row["topic"] for row in leaves()[f"vlms_are_biased_{split}"]}
        illusion = "Optical Illusions" if split.startswith("remove_background") else "Optical Illusion"
        expected = TOPICS - {"Optical Illusion"} | {illusion}
        assert topics == (expected - {"Patterned Grid"} if split == "original" else expected)
    assert {"Müller-Lyer illusion", "Zöllner illusion"} <= {row["sub_topic"] for row in of("vlms")}


def test_main_asks_two_questions_in_three_resolutions_of_every_object() -> None:
    objects: dict[str, list[Row]] = {}
    for row in leaves()["vlms_are_biased_main"]:
        objects.setdefault(vlms_are_biased.object_key(row["ID"]), []).append(row)
    assert len(objects) == 14
    for rows in objects.values():
        assert sorted((row["type_of_question"], row["pixel"]) for row in rows) == [
            (question, pixel) for question in ("Q1", "Q2") for pixel in (384, 768, 1152)
        ]
        assert len({row["topic"] for row in rows}) == 1


def test_an_object_has_one_key_in_all_splits() -> None:
    keys = {
        split: {vlms_are_biased.object_key(row["ID"]) for row in leaves()[f"vlms_are_biased_{split}"]}
        for split in SPLITS
    }
    assert all(found <= keys["main"] for found in keys.values())


def test_pictures_are_as_wide_as_the_row_says() -> None:
    for row in of("vlms"):
        image = picture(row)
        assert image.format == "PNG"
        assert image.width == row["pixel"]
        assert row["image"]["path"] is None
    assert {picture(row).mode for row in of("vlms")} >= {"P", "RGB", "L", "RGBA"}


def test_pictures_without_background_are_white_at_the_border() -> None:
    for split in ("remove_background_q1q2", "remove_background_q3"):
        for row in leaves()[f"vlms_are_biased_{split}"]:
            image = picture(row).convert("RGB")
            assert {image.getpixel((0, 0)), image.getpixel((image.width - 1, 0))} == {(255, 255, 255)}


def test_only_withtitle_has_titles() -> None:
    for split in SPLITS:
        for row in leaves()[f"vlms_are_biased_{split}"]:
            assert row["with_title"] is (split == "withtitle")
            assert ("in_image_title" in row["ID"]) <= row["with_title"]
            assert ("_notitle_" in row["ID"]) <= (not row["with_title"])


def test_questions_and_answers_fit_the_split() -> None:
    for split in SPLITS:
        for row in leaves()[f"vlms_are_biased_{split}"]:
            asked = "{9}" if row["ground_truth"].isdigit() else "{Yes} or {No}"
            assert asked in row["prompt"]
            assert 60 <= len(row["prompt"]) <= 138
            assert (row["type_of_question"] == "Q3") == (split in ("identification", "remove_background_q3"))
            if split == "original":
                assert row["expected_bias"] is None
            else:
                assert row["expected_bias"] != row["ground_truth"]


def test_row_ids_are_unique() -> None:
    for task, rows in leaves().items():
        name = "qid" if task.startswith("slake") else "id" if task.startswith("medxpertqa") else "ID"
        assert len({row[name] for row in rows}) == len(rows)
    assert len({row["qid"] for row in of("slake")}) == len(of("slake"))


# ours alone


def _texts(hub: Path) -> set[str]:
    """Questions, stems, prompts, row ids and picture names of a copy of the hub."""
    found: set[str] = set()
    for row in json.loads((hub / "BoKelvin/SLAKE/test.json").read_text(encoding="utf-8")):
        found |= {row["question"], row["img_name"], f"qid {row['qid']}"}
    for config in ("Text", "MM"):
        for row in _lines(hub / f"TsinghuaC3I/MedXpertQA/{config}/test.jsonl"):
            stem = row["question"].split("\nAnswer Choices:")[0]
            found |= {
                stem,
                row["id"],
                *row.get("images", ()),
                *(text for text in row["options"].values() if len(text) > 40),
            }
            found |= {sentence for sentence in stem.split(". ") if len(sentence) > 40}
    for path in sorted((hub / "anvo25/vlms-are-biased/data").glob("*.parquet")):
        table = pq.read_table(path, columns=["ID", "image_path", "prompt"])
        found |= {text for column in table.columns for text in column.to_pylist()}
    return found


def _members(hub: Path) -> set[tuple[int, int]]:
    found = set()
    for name in ("BoKelvin/SLAKE/imgs.zip", "TsinghuaC3I/MedXpertQA/images.zip"):
        with zipfile.ZipFile(hub / name) as archive:
            found |= {(info.CRC, info.file_size) for info in archive.infolist()}
    return found


def test_no_text_and_no_picture_of_the_real_data_occurs(shared: Path) -> None:
    assert _texts(HUB) & _texts(shared / "hub") == set()
    assert _members(HUB) & _members(shared / "hub") == set()


# recorded replies


def test_each_model_replies_once_to_every_row() -> None:
    expected = [(task, i) for task, rows in leaves().items() for i in range(len(rows))]
    for model in MODELS:
        given = replies(model)
        assert sorted((entry["task"], entry["doc_id"]) for entry in given) == sorted(expected)
        assert all(
            set(entry) == {"task", "doc_id", "reply"} and isinstance(entry["reply"], str) and entry["reply"]
            for entry in given
        )


def test_the_two_turn_replies_cover_their_tasks() -> None:
    plain = {
        "medxpertqa_official_text": "medxpertqa_text",
        "medxpertqa_official_mm": "medxpertqa_mm",
        "vlms_are_biased_main_doublecheck": "vlms_are_biased_main",
    }
    given = replies("careful_two_turn")
    assert sorted((entry["task"], entry["doc_id"]) for entry in given) == sorted(
        (task, i) for task, leaf in plain.items() for i in range(len(leaves()[leaf]))
    )
    assert all(len(entry["reply"]) == 2 and all(isinstance(turn, str) for turn in entry["reply"]) for entry in given)


def _score(task: str, row: Row, reply: str) -> Score:
    if task.startswith("slake"):
        return slake.score(
            reply, row["answer"], language=row["q_lang"], answer_type=row["answer_type"], question=row["question"]
        )
    if task.startswith("medxpertqa"):
        return medxpertqa.score(reply, row["label"], row["options"])
    return vlms_are_biased.score(reply, row["ground_truth"], row["expected_bias"])


@cache
def _means(model: str, benchmark: str) -> tuple[float, float, float]:
    """acc, acc_flexible and bias_ratio over the rows of a benchmark's leaves."""
    scores = [
        _score(entry["task"], leaves()[entry["task"]][entry["doc_id"]], entry["reply"])
        for entry in replies(model)
        if entry["task"].startswith(benchmark)
    ]
    biased = [score.bias for score in scores if score.bias is not None]
    return (
        sum(score.acc for score in scores) / len(scores),
        sum(score.acc_flexible for score in scores) / len(scores),
        sum(biased) / len(biased) if biased else 0.0,
    )


@pytest.mark.parametrize("benchmark", ["slake", "medxpertqa", "vlms_are_biased_main"])
def test_the_careful_model_scores_alike_under_both_readings(benchmark: str) -> None:
    acc, flexible, bias = _means("careful", benchmark)
    assert acc == flexible
    assert 0.75 < acc < 0.95
    assert bias < 0.2


@pytest.mark.parametrize("benchmark", ["slake", "medxpertqa", "vlms_are_biased_main"])
def test_the_messy_model_loses_by_its_form_alone(benchmark: str) -> None:
    acc, flexible, _ = _means("messy", benchmark)
    assert acc < 0.15
    assert abs(flexible - _means("careful", benchmark)[1]) < 0.1


def test_the_prior_model_is_biased_on_changed_pictures_and_right_on_plain_ones() -> None:
    acc, _, bias = _means("prior", "vlms_are_biased_main")
    assert acc < 0.2
    assert bias > 0.75
    assert _means("prior", "vlms_are_biased_original")[0] == 1.0
    assert _means("prior", "slake")[0] < 0.5
    assert _means("prior", "medxpertqa")[0] < 0.4


# reproducible


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample written once more by the script."""
    target = tmp_path_factory.mktemp("sample")
    subprocess.run(
        [sys.executable, str(ROOT / "tests/sample/make.py"), str(target)], check=True, stdout=subprocess.DEVNULL
    )
    return target


def _record() -> dict[str, Any]:
    return json.loads((SAMPLE / "made_with.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _versions() -> dict[str, str]:
    return {
        "Pillow": PIL.__version__,
        "pyarrow": pa.__version__,
        **{name: str(features.version(name)) for name in ("zlib", "zlib_ng", "jpg", "freetype2")},
    }


def test_the_files_are_those_that_the_script_recorded() -> None:
    kept = {
        str(path.relative_to(SAMPLE)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in SAMPLE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    del kept["README.md"], kept["made_with.json"]  # the one is written by hand, the other is the record itself
    assert kept == _record()["sha256"]


def test_the_script_writes_the_same_bytes_with_the_recorded_versions(again: Path) -> None:
    if _versions() != _record()["versions"]:
        pytest.skip(f"the bytes depend on the encoders: made with {_record()['versions']}, here {_versions()}")
    for name in _record()["sha256"]:
        assert (again / name).read_bytes() == (SAMPLE / name).read_bytes(), name


def _alike(one: Image.Image, other: Image.Image) -> bool:
    if (one.size, one.mode) != (other.size, other.mode):
        return False
    # Other versions may round a curve or a palette a little differently; a changed drawing differs by far more.
    return max(ImageStat.Stat(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).mean) < 2


def test_the_script_writes_the_same_rows_and_pictures_with_any_version(again: Path) -> None:
    for name in _record()["sha256"]:
        if name.endswith((".json", ".jsonl", ".md")):
            assert (again / name).read_bytes() == (SAMPLE / name).read_bytes(), name
        elif name.endswith(".zip"):
            ours, theirs = pictures(SAMPLE / name), pictures(again / name)
            assert list(ours) == list(theirs)
            assert all(_alike(ours[member], theirs[member]) for member in ours)
        else:
            for mine, new in zip(
                pq.read_table(SAMPLE / name).to_pylist(), pq.read_table(again / name).to_pylist(), strict=True
            ):
                assert _alike(picture(mine), picture(new)), mine["ID"]
                assert {**mine, "image": None} == {**new, "image": None}
