"""Writes the embedded sample: `python tests/sample/make.py` into lmms_tasks/sample, or into the folder given.

Everything is drawn and written here; nothing is read. The same versions of Pillow and pyarrow give the same bytes;
`made_with.json` records the versions that gave the files in the repository.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import medxpertqa
import PIL
import pyarrow as pa
import pyarrow.parquet as pq
import slake
import vlms_are_biased
from PIL import features

TARGET = Path(__file__).resolve().parents[2] / "lmms_tasks" / "sample"

CARDS = {
    "hub/BoKelvin/SLAKE": """---
license: apache-2.0
---
Sample of lmms-tasks in the layout of BoKelvin/SLAKE: drawn scans and questions of our own, no row of the real data.
""",
    "hub/TsinghuaC3I/MedXpertQA": """---
license: apache-2.0
configs:
- config_name: Text
  data_files:
  - split: dev
    path: Text/dev.jsonl
  - split: test
    path: Text/test.jsonl
- config_name: MM
  data_files:
  - split: dev
    path: MM/dev.jsonl
  - split: test
    path: MM/test.jsonl
---
Sample of lmms-tasks in the layout of TsinghuaC3I/MedXpertQA: questions and figures of our own, no row of the real data.
""",
    "hub/anvo25/vlms-are-biased": "---\nlicense: apache-2.0\nconfigs:\n- config_name: default\n  data_files:\n"
    + "".join(f"  - split: {split}\n    path: data/{split}-*\n" for split in vlms_are_biased.SPLITS)
    + """---
Sample of lmms-tasks in the layout of anvo25/vlms-are-biased: drawings and prompts of our own, no row of the real data.
""",
}

STRINGS = ("ID", "image_path", "topic", "sub_topic", "prompt", "ground_truth", "expected_bias", "type_of_question")
COLUMNS = (
    *((name, pa.string(), "string") for name in STRINGS),
    ("pixel", pa.int64(), "int64"),
    ("with_title", pa.bool_(), "bool"),
    ("metadata", pa.string(), "string"),
)


def schema() -> pa.Schema:
    """The columns of the hub's parquet files, with the features that the datasets library reads."""
    features_of = {name: {"dtype": kind, "_type": "Value"} for name, _, kind in COLUMNS}
    info = {"info": {"features": {**features_of, "image": {"_type": "Image"}}}}
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    return pa.schema(
        [*((name, kind) for name, kind, _ in COLUMNS), ("image", image)], metadata={"huggingface": json.dumps(info)}
    )


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """A parquet file; equal pictures of several rows are stored once."""
    out = io.BytesIO()
    table = pa.Table.from_pylist(rows, schema=schema())
    pq.write_table(
        table, out, compression="snappy", use_dictionary=True, dictionary_pagesize_limit=1 << 24, write_statistics=False
    )
    return out.getvalue()


def archive(members: dict[str, bytes]) -> bytes:
    """A zip file of fixed times and order; pictures do not shrink further, so they are stored."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as target:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            target.writestr(info, data)
    return out.getvalue()


def lines(records: list[dict[str, Any]]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def versions() -> dict[str, str | None]:
    """What the bytes depend on."""
    return {
        "Pillow": PIL.__version__,
        "pyarrow": pa.__version__,
        **{name: str(features.version(name)) for name in ("zlib", "zlib_ng", "jpg", "freetype2")},
    }


def files() -> dict[str, bytes]:
    """Path below the sample's folder -> bytes, all that is generated but made_with.json."""
    out: dict[str, bytes] = {f"{folder}/README.md": card.encode() for folder, card in CARDS.items()}
    rows = slake.rows()
    listed = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    out["hub/BoKelvin/SLAKE/test.json"] = f"[{listed}]\n".encode()
    out["hub/BoKelvin/SLAKE/imgs.zip"] = archive(slake.images())
    for config in ("Text", "MM"):
        for split in ("dev", "test"):
            out[f"hub/TsinghuaC3I/MedXpertQA/{config}/{split}.jsonl"] = lines(medxpertqa.rows(config, split))
    out["hub/TsinghuaC3I/MedXpertQA/images.zip"] = archive(medxpertqa.images())
    for split in vlms_are_biased.SPLITS:
        out[f"hub/anvo25/vlms-are-biased/data/{split}-00000-of-00001.parquet"] = parquet(vlms_are_biased.rows(split))
    sources = [part.replies() for part in (slake, medxpertqa, vlms_are_biased)]
    for model in ("careful", "prior", "messy"):
        out[f"replies/{model}.jsonl"] = lines(
            [
                {"task": task, "doc_id": i, "reply": reply}
                for source in sources
                for task, said in source[model].items()
                for i, reply in enumerate(said)
            ]
        )
    turns = {**medxpertqa.two_turns(), "vlms_are_biased_main_doublecheck": vlms_are_biased.doublecheck()}
    out["replies/careful_two_turn.jsonl"] = lines(
        [{"task": task, "doc_id": i, "reply": reply} for task, said in turns.items() for i, reply in enumerate(said)]
    )
    return out


def main(target: Path) -> None:
    """Writes all files below `target`, and says how much."""
    made = files()
    for name, data in made.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    record = {"versions": versions(), "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}}
    (target / "made_with.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for name, data in made.items():
        print(f"{len(data):9,}  {name}")
    print(f"{sum(map(len, made.values())):9,}  in all")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
