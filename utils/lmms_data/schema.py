"""What each benchmark's data must look like: repositories, files, columns, published counts and prompt lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .errors import SourceError


@dataclass(frozen=True)
class PromptLengths:
    """Published lengths of the prompts of a subset, in characters; the mean is rounded to two decimals."""

    mean: float
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Subset:
    """One leaf task's share of a benchmark's rows."""

    name: str
    files: str
    """Pattern of the data files, relative to the repository."""
    rows: int
    """Published number of rows."""
    prompts: PromptLengths
    where: Mapping[str, str] = field(default_factory=dict)
    """The columns that a row of this subset must hold, and their values."""
    letters: str = ""
    """The letters of the options, for multiple choice."""
    needs_archive: bool = False


@dataclass(frozen=True, eq=False)  # by identity, so that it can key a cache
class Benchmark:
    """All that data access knows about a benchmark."""

    name: str
    hub: str
    """Repository on the Hugging Face hub."""
    modelscope: str
    """Repository on ModelScope."""
    subsets: Mapping[str, Subset]
    columns: Mapping[str, str]
    """Required columns and their types: str, int, bool, list[str], dict[str, str], image; a final `?` allows null."""
    optional: Mapping[str, str]
    """Columns that are kept where they exist."""
    key: str
    """The column that identifies a row."""
    archive: str | None = None
    """The zip of images, relative to the repository."""
    prefix: str = ""
    """What stands before the name of an image inside the archive."""
    images: str | None = None
    """The column that names the images of a row, or holds the image."""
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Columns whose values the scoring must know, white space at their ends aside: it could only fail at another one."""
    cache_bytes: int = 0
    """How much decoded pixel data is kept: only worth while where rows share images."""

    def subset(self, name: str) -> Subset:
        """The subset of that name. Raises SourceError for a name that the benchmark does not have."""
        try:
            return self.subsets[name]
        except KeyError:
            raise SourceError(f"{self.name} has no subset {name!r}; it has {', '.join(self.subsets)}") from None

    def files(self, subsets: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Patterns of the files that the subsets (all by default) need, the archive of images last."""
        chosen = [self.subset(name) for name in (subsets if subsets is not None else tuple(self.subsets))]
        patterns = dict.fromkeys(subset.files for subset in chosen)
        if self.archive and any(subset.needs_archive for subset in chosen):
            patterns[self.archive] = None
        return tuple(patterns)


def _named(*subsets: Subset) -> Mapping[str, Subset]:
    return MappingProxyType({subset.name: subset for subset in subsets})


def _slake(language: str, answer_type: str, rows: int, mean: float, minimum: int, maximum: int) -> Subset:
    return Subset(
        name=f"{language}_{answer_type.lower()}",
        files="test.json",
        rows=rows,
        prompts=PromptLengths(mean, minimum, maximum),
        where=MappingProxyType({"q_lang": language, "answer_type": answer_type}),
        needs_archive=True,
    )


SLAKE = Benchmark(
    name="slake",
    hub="BoKelvin/SLAKE",
    modelscope="evalscope/SLAKE",
    subsets=_named(
        _slake("en", "OPEN", 645, 195.09, 168, 257),
        _slake("en", "CLOSED", 416, 187.99, 162, 253),
        _slake("zh", "OPEN", 613, 67.07, 61, 79),
        _slake("zh", "CLOSED", 420, 65.44, 60, 82),
    ),
    columns=MappingProxyType(
        {
            "qid": "int",
            "img_name": "str",
            "question": "str",
            "answer": "str",
            "q_lang": "str",
            "answer_type": "str",
            "content_type": "str",
            "modality": "str",
            "location": "str",
            "base_type": "str",
        }
    ),
    optional=MappingProxyType({"img_id": "int", "triple": "list[str]"}),
    key="qid",
    archive="imgs.zip",
    prefix="imgs/",
    images="img_name",
    cache_bytes=96 << 20,  # all of SLAKE's test images, in whatever order a model asks for them
)

MEDXPERTQA = Benchmark(
    name="medxpertqa",
    hub="TsinghuaC3I/MedXpertQA",
    modelscope="evalscope/MedXpertQA",
    subsets=_named(
        Subset("text", "Text/test.jsonl", 2450, PromptLengths(1337.92, 435, 4771), letters="ABCDEFGHIJ"),
        Subset("mm", "MM/test.jsonl", 2000, PromptLengths(886.91, 346, 2335), letters="ABCDE", needs_archive=True),
    ),
    columns=MappingProxyType(
        {
            "id": "str",
            "question": "str",
            "options": "dict[str, str]",
            "label": "str",
            "medical_task": "str",
            "body_system": "str",
            "question_type": "str",
        }
    ),
    optional=MappingProxyType({}),
    key="id",
    archive="images.zip",
    prefix="images/",
    images="images",
)


def _split(name: str, rows: int, mean: float, minimum: int, maximum: int) -> Subset:
    return Subset(name, f"data/{name}-*.parquet", rows, PromptLengths(mean, minimum, maximum))


_TOPICS = frozenset(
    (
        "Animals", "Logos", "Flags", "Chess Pieces", "Game Boards", "Optical Illusion", "Optical Illusions",
        "Patterned Grid",
    )
)  # fmt: skip

VLMS_ARE_BIASED = Benchmark(
    name="vlms_are_biased",
    hub="anvo25/vlms-are-biased",
    modelscope="evalscope/vlms-are-biased",
    subsets=_named(
        _split("main", 2784, 91.52, 78, 129),
        _split("identification", 1392, 83.27, 68, 102),
        _split("withtitle", 2784, 91.52, 78, 129),
        _split("original", 458, 85.03, 60, 130),
        _split("remove_background_q1q2", 2784, 94.23, 78, 138),
        _split("remove_background_q3", 1392, 83.91, 70, 102),
    ),
    columns=MappingProxyType(
        {
            "image": "image",
            "ID": "str",
            "topic": "str",
            "sub_topic": "str",
            "prompt": "str",
            "ground_truth": "str",
            "expected_bias": "str?",
            "type_of_question": "str",
            "pixel": "int",
        }
    ),
    optional=MappingProxyType({"image_path": "str?", "with_title": "bool?", "metadata": "str?"}),
    key="ID",
    images="image",
    values=MappingProxyType({"topic": _TOPICS}),
)

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({b.name: b for b in (SLAKE, MEDXPERTQA, VLMS_ARE_BIASED)})


def benchmark(name: str | Benchmark) -> Benchmark:
    """The benchmark of that name; one that is given as such passes through. Raises SourceError for an unknown name."""
    if isinstance(name, Benchmark):
        return name
    try:
        return BENCHMARKS[name]
    except KeyError:
        raise SourceError(f"no benchmark is called {name!r}; there are {', '.join(BENCHMARKS)}") from None
