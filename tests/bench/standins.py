"""Stand-ins of the three repositories in their published numbers and sizes, with made-up text and drawn pictures."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SLAKE, MEDXPERTQA, VLMS_ARE_BIASED = "BoKelvin/SLAKE", "TsinghuaC3I/MedXpertQA", "anvo25/vlms-are-biased"
SPLITS = {
    "main": 2784,
    "identification": 1392,
    "withtitle": 2784,
    "original": 458,
    "remove_background_q1q2": 2784,
    "remove_background_q3": 1392,
}
TOPICS = ("Animals", "Logos", "Flags", "Chess Pieces", "Game Boards", "Optical Illusion", "Patterned Grid")
DONE = "complete-2"


def make(folder: Path, share: float) -> Path:
    """The folder of the three repositories, written where it is not there; `share` 1.0 is the published size."""
    if not (folder / DONE).exists():
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier form, or half made
        folder.mkdir(parents=True, exist_ok=True)
        chance = random.Random(1)
        canvas = texture()
        slake(folder / SLAKE, share, chance, canvas)
        medxpertqa(folder / MEDXPERTQA, share, chance, canvas)
        vlms_are_biased(folder / VLMS_ARE_BIASED, share, chance, canvas)
        (folder / DONE).touch()
    return folder


def texture() -> Image.Image:
    """A large picture with coarse and fine structure, as photographs have."""
    noise = np.random.default_rng(1)
    coarse = Image.fromarray(noise.integers(0, 256, (60, 110, 3), dtype=np.uint8)).resize((4400, 2400), Image.BICUBIC)
    fine = Image.fromarray(noise.integers(0, 256, (2400, 4400, 3), dtype=np.uint8)).filter(ImageFilter.GaussianBlur(1))
    return Image.blend(coarse, fine, 0.2)


def photograph(canvas: Image.Image, size: tuple[int, int], chance: random.Random) -> Image.Image:
    """A piece of the texture."""
    left, top = chance.randrange(canvas.width - size[0] + 1), chance.randrange(canvas.height - size[1] + 1)
    return canvas.crop((left, top, left + size[0], top + size[1]))


def drawing(size: tuple[int, int], chance: random.Random) -> Image.Image:
    """Lines and areas of few colours."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for _ in range(40):
        x, y = chance.randrange(size[0]), chance.randrange(size[1])
        width, height = chance.randrange(5, size[0] // 2), chance.randrange(5, size[1] // 2 + 6)
        colour = tuple(chance.randrange(256) for _ in range(3))
        chance.choice([draw.ellipse, draw.rectangle])(
            (x, y, x + width, y + height), fill=colour, outline="black", width=3
        )
    return image


def packed(image: Image.Image, format: str, **options: Any) -> bytes:
    """The file of an image."""
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def slake(folder: Path, share: float, chance: random.Random, canvas: Image.Image) -> None:
    """642 folders of four files each; 180 of their images are asked about."""
    folder.mkdir(parents=True)
    folders, tested = max(4, round(642 * share)), max(2, round(180 * share))
    other = packed(photograph(canvas, (512, 512), chance), "JPEG", quality=60)
    with zipfile.ZipFile(folder / "imgs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(folders):
            side = chance.choice([240, 256, 512, 512, 630, 1024])
            image = photograph(canvas, (side, side), chance)
            grey = image.convert("L").convert("RGB") if number % 10 else image
            archive.writestr(
                f"imgs/made{number}/source.jpg", packed(grey, "JPEG", quality=75) if number < tested else other
            )
            archive.writestr(f"imgs/made{number}/mask.png", packed(image.convert("1").resize((200, 200)), "PNG"))
            archive.writestr(f"imgs/made{number}/question.json", json.dumps([{"number": number}] * 20))
            archive.writestr(f"imgs/made{number}/detection.json", "{}")
    kinds = [("en", "OPEN", 645), ("en", "CLOSED", 416), ("zh", "OPEN", 613), ("zh", "CLOSED", 420)]
    questions = {"en": "What is seen in area {} of this made-up scan?", "zh": "这张虚构图像的第{}区显示什么？"}
    answers = {("en", "OPEN"): "Liver", ("en", "CLOSED"): "Yes", ("zh", "OPEN"): "肝脏", ("zh", "CLOSED"): "不是"}
    rows = []
    for language, kind, count in kinds:
        for number in range(max(4, round(count * share))):
            rows.append(
                {
                    "img_id": number % tested,
                    "img_name": f"made{number % tested}/source.jpg",
                    "question": questions[language].format(number),
                    "answer": answers[language, kind],
                    "q_lang": language,
                    "location": "Abdomen",
                    "modality": "CT",
                    "answer_type": kind,
                    "base_type": "vqa",
                    "triple": ["vhead", "_", "_"],
                    "qid": len(rows),
                    "content_type": "Organ",
                }
            )
    (folder / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\n")


def medxpertqa(folder: Path, share: float, chance: random.Random, canvas: Image.Image) -> None:
    """2,000 questions with 2,852 images of 323x34 to 4248x2144, and 2,450 without."""
    words = [
        "patient",
        "history",
        "of",
        "pain",
        "fever",
        "since",
        "days",
        "with",
        "rise",
        "count",
        "shown",
        "below",
        "area",
        "mass",
        "left",
        "right",
        "upper",
    ]
    counts = {"Text": max(4, round(2450 * share)), "MM": max(4, round(2000 * share))}
    names: list[str] = []
    for table, letters in (("Text", "ABCDEFGHIJ"), ("MM", "ABCDE")):
        (folder / table).mkdir(parents=True)
        lines = []
        for number in range(counts[table]):
            text = " ".join(chance.choices(words, k=150))
            options = {letter: " ".join(chance.choices(words, k=4)) for letter in letters}
            row = {"id": f"{table}-{number}", "question": text, "options": options, "label": chance.choice(letters)}
            row |= {
                "medical_task": "Diagnosis",
                "body_system": "Other / NA",
                "question_type": chance.choice(["Reasoning", "Understanding"]),
            }
            if table == "MM":
                many = 1 if number % 5 < 3 else 2 if number % 5 == 3 or number % 32 else 6
                row["images"] = [
                    f"MM-{number}-{letter}.{'png' if number % 4 == 0 else 'jpeg'}" for letter in "abcdef"[:many]
                ]
                names += row["images"]
            lines.append(json.dumps(row))
        (folder / table / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, name in enumerate(names):
            size = [(323, 34), (4248, 2144)][number] if number < 2 else _size(chance)
            if name.endswith("png"):
                data = packed(drawing(size, chance), "PNG", compress_level=3)
            else:
                data = packed(photograph(canvas, size, chance), "JPEG", quality=96)
            archive.writestr(f"images/{name}", data)
    configs = "".join(f"- config_name: {t}\n  data_files:\n  - split: test\n    path: {t}/test.jsonl\n" for t in counts)
    (folder / "README.md").write_text(f"---\nlicense: cc0-1.0\nconfigs:\n{configs}---\n")


def _size(chance: random.Random) -> tuple[int, int]:
    width = min(3000, max(200, int(chance.lognormvariate(6.6, 0.4))))
    return width, min(2000, max(100, int(width * chance.uniform(0.5, 1.1))))


def vlms_are_biased(folder: Path, share: float, chance: random.Random, canvas: Image.Image) -> None:
    """11,594 rows in six parquet files, each with a PNG; one in five is a photograph, one in five has transparency."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True)
    pictures = {
        pixel: [_png((pixel, int(pixel * chance.uniform(0.48, 0.9))), number, chance, canvas) for number in range(60)]
        for pixel in (384, 768, 1152)
    }
    kinds = {"pixel": "int64", "with_title": "bool"}
    for split, count in SPLITS.items():
        rows = [_vlms_row(split, number, pictures) for number in range(max(4, round(count * share)))]
        table = pa.Table.from_pylist(rows, schema=_schema(rows[0]))
        features = {
            name: {"_type": "Image"} if name == "image" else {"dtype": kinds.get(name, "string"), "_type": "Value"}
            for name in table.schema.names
        }
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        path = folder / "data" / f"{split}-00000-of-00001.parquet"
        pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=100)
    splits = "".join(f"  - split: {split}\n    path: data/{split}-*\n" for split in SPLITS)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{splits}---\n")


def _png(size: tuple[int, int], number: int, chance: random.Random, canvas: Image.Image) -> bytes:
    image = (
        drawing(size, chance) if number % 5 else photograph(canvas, size, chance).filter(ImageFilter.GaussianBlur(2))
    )
    return packed(image.convert("RGBA") if number % 5 == 1 else image, "PNG", compress_level=3)


def _vlms_row(split: str, number: int, pictures: dict[int, list[bytes]]) -> dict[str, Any]:
    pixel = (384, 768, 1152)[number % 3]
    return {
        "image": {"bytes": pictures[pixel][number // 3 % 60], "path": f"{number}.png"},
        "ID": f"dice_{number // 6:03d}_{split}_px{pixel}_prompt{number % 6}",
        "image_path": f"dice/{number}.png",
        "topic": TOPICS[number % 7],
        "sub_topic": "Dice",
        "prompt": f"How many marks does made-up shape {number} have? Answer with a number in curly brackets, e.g., {{9}}.",
        "ground_truth": str(number % 9),
        "expected_bias": None if split == "original" else str(number % 9 + 1),
        "with_title": split == "withtitle",
        "type_of_question": f"Q{number % 2 + 1}",
        "pixel": pixel,
        "metadata": "{}",
    }


def _schema(row: dict[str, Any]) -> Any:
    import pyarrow as pa

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    types = {"image": image, "pixel": pa.int64(), "with_title": pa.bool_()}
    return pa.schema([(name, types.get(name, pa.string())) for name in row])


def slake_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of SLAKE's stand-in."""
    rows: list[dict[str, Any]] = json.loads((folder / SLAKE / "test.json").read_text(encoding="utf-8"))
    return rows


def medxpertqa_rows(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of one of MedXpertQA's tables."""
    for line in (folder / MEDXPERTQA / table / "test.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
