"""A hub folder of a few made-up rows and drawn images, in the layout of the three repositories."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

SLAKE = "BoKelvin/SLAKE"
MEDXPERTQA = "TsinghuaC3I/MedXpertQA"
VLMS_ARE_BIASED = "anvo25/vlms-are-biased"
SPLITS = ("main", "identification", "withtitle", "original", "remove_background_q1q2", "remove_background_q3")


def picture(format: str = "JPEG", size: tuple[int, int] = (64, 48), mark: int = 0, **options: Any) -> bytes:
    """A drawn image file that differs with `mark`."""
    image = Image.new("RGB", size, (40, 90 + mark % 100, 160))
    draw = ImageDraw.Draw(image)
    draw.ellipse((5 + mark % 7, 5, size[0] - 9, size[1] - 5), fill=(230, 200, mark * 37 % 256))
    draw.line((0, mark % size[1], size[0], size[1] - 1), fill=(0, 0, 0), width=3)
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def slake_rows() -> list[dict[str, Any]]:
    """Two rows of each of the four subsets, on two images."""
    kinds = [("en", "OPEN"), ("en", "CLOSED"), ("zh", "OPEN"), ("zh", "CLOSED")]
    words = {"en": ("Which organ is shown?", "Liver"), "zh": ("图中是哪个器官？", "肝脏")}
    return [
        {
            "img_id": image,
            "img_name": f"made{image}/source.jpg",
            "question": words[language][0],
            "answer": words[language][1],
            "q_lang": language,
            "location": "Abdomen",
            "modality": "CT",
            "answer_type": kind,
            "base_type": "vqa",
            "triple": ["vhead", "_", "_"],
            "qid": 10 * number + image,
            "content_type": "Organ",
        }
        for number, (language, kind) in enumerate(kinds)
        for image in (1, 2)
    ]


def medxpertqa_rows(name: str, letters: str) -> list[dict[str, Any]]:
    """Three rows; those of MM name one to three images."""
    out = []
    for number in range(3):
        options = {letter: f"choice {letter.lower()} of {number}" for letter in letters}
        row = {
            "id": f"{name}-{number}",
            "question": f"What is the finding in case {number}?\nAnswer Choices: (A) first (B) second",
            "options": options,
            "label": letters[number],
            "medical_task": "Diagnosis",
            "body_system": "Other / NA",
            "question_type": "Reasoning",
        }
        if name == "MM":
            row["images"] = [f"MM-{number}-{letter}.png" for letter in "abc"[: number + 1]]
        out.append(row)
    return out


def vlms_rows(split: str) -> list[dict[str, Any]]:
    """Three rows with embedded images."""
    return [
        {
            "image": {"bytes": picture("PNG", mark=number), "path": f"{number}.png"},
            "ID": f"dice_{number:03d}_{split}_px384_prompt1",
            "image_path": f"dice/{number}.png",
            "topic": "Patterned Grid",
            "sub_topic": "Dice",
            "prompt": "How many dots are there? Answer with a number in curly brackets, e.g., {9}.",
            "ground_truth": str(number),
            "expected_bias": None if split == "original" else str(number + 1),
            "with_title": split == "withtitle",
            "type_of_question": "Q1",
            "pixel": 384,
            "metadata": "{}",
        }
        for number in range(3)
    ]


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    """A zip of these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def write_slake(folder: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    """The repository's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    (folder / "test.json").write_text(json.dumps(slake_rows() if rows is None else rows, ensure_ascii=False), "utf-8")
    images = {f"imgs/made{n}/source.jpg": picture(mark=n) for n in (1, 2)}
    write_zip(folder / "imgs.zip", images | {"imgs/made1/question.json": b"[]"})
    return folder


def write_medxpertqa(folder: Path, mm: list[dict[str, Any]] | None = None) -> Path:
    """The repository's folder."""
    tables = {"Text": medxpertqa_rows("Text", "ABCDEFGHIJ"), "MM": medxpertqa_rows("MM", "ABCDE") if mm is None else mm}
    configs = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test.jsonl\n" for name in tables
    )
    for name, rows in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / name / "test.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "README.md").write_text(f"---\nlicense: mit\nconfigs:\n{configs}---\n")
    names = [name for row in medxpertqa_rows("MM", "ABCDE") for name in row["images"]]
    members = {f"images/{name}": picture("PNG", mark=mark) for mark, name in enumerate(names)}
    write_zip(folder / "images.zip", members)
    return folder


def write_vlms_are_biased(folder: Path, main: list[dict[str, Any]] | None = None) -> Path:
    """The repository's folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        rows = main if split == "main" and main is not None else vlms_rows(split)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        types = {"expected_bias": pa.string()}
        table = pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()})
        kinds = {pa.int64(): "int64", pa.bool_(): "bool"}
        features = {
            column.name: {"_type": "Image"}
            if pa.types.is_struct(column.type)
            else {"dtype": kinds.get(column.type, "string"), "_type": "Value"}
            for column in table.schema
        }
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        pq.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    splits = "".join(f"  - split: {split}\n    path: data/{split}-*\n" for split in SPLITS)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{splits}---\n")
    return folder


def write_hub(folder: Path) -> Path:
    """A folder with all three repositories, laid out as `<org>/<name>`."""
    write_slake(folder / SLAKE)
    write_medxpertqa(folder / MEDXPERTQA)
    write_vlms_are_biased(folder / VLMS_ARE_BIASED)
    return folder
