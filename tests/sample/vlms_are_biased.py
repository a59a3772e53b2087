"""The VLMBias part of the sample: fourteen objects, six splits, and what three imagined models say about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import vlms_pictures as pictures
from canvas import Canvas, png

SPLITS = ("main", "identification", "withtitle", "original", "remove_background_q1q2", "remove_background_q3")
NUMBER = " Reply with the number in curly brackets, for example {9}."
YES_NO = " Reply in curly brackets, for example {Yes} or {No}."


class Thing(NamedTuple):
    """A drawn object: its ID with {t} title mark, {q} question and {p} pixels, its questions and answers."""

    draw: Callable[[bool, bool, float], Canvas]
    topic: str
    sub_topic: str
    id: str
    title: str
    questions: tuple[str, str, str]
    truth: str
    bias: str
    what: str
    colours: int = 32


# A table: the formatter would put every field on a line of its own.
# fmt: off
THINGS = {
    "giraffe": Thing(
        pictures.giraffe, "Animals", "Animal Add Legs", "animal_901_giraffe_{t}_Q{q}_px{p}", "Giraffe",
        ("How many legs can you see on this animal?", "Give the number of legs that this animal stands on.",
         "Does this animal have the usual 4 legs?"), "5", "4", "legs", 40),
    "rooster": Thing(
        pictures.rooster, "Animals", "Animal Add Legs", "animal_902_rooster_{t}_Q{q}_px{p}", "Rooster",
        ("How many legs can you see on this bird?", "Give the number of legs that this bird stands on.",
         "Does this bird have the usual 2 legs?"), "3", "2", "legs", 40),
    "car": Thing(
        pictures.car, "Logos", "Car Logos", "car_901_{t}_Q{q}_px{p}", "Lumo car",
        ("How many petals has the flower in the badge of this car?",
         "Give the number of petals of the flower in the badge of this car.",
         "Is the badge of this car the Lumo flower with 5 petals?"), "6", "5", "petals", 40),
    "shoe": Thing(
        pictures.shoe, "Logos", "Shoe Logos", "shoe_901_{t}_Q{q}_px{p}", "Norrvik running shoe",
        ("How many orange waves has the emblem on the side of this shoe?",
         "Give the number of orange waves in the emblem of this shoe.",
         "Is the emblem of this shoe the Norrvik sign with 3 waves?"), "4", "3", "waves"),
    "stripes": Thing(
        pictures.flag_stripes, "Flags", "Flags 2D Stripes", "Flag_of_Estonia_stripes_4_{p}{s}", "Flag of Estonia",
        ("How many stripes can you see on this flag?", "Give the number of stripes of this flag.",
         "Does this flag have 3 stripes?"), "4", "3", "stripes", 20),
    "stars": Thing(
        pictures.flag_stars, "Flags", "Flags 2D Stars", "flag_stars_901_{t}_Q{q}_px{p}", "Flag of Micronesia",
        ("How many stars can you see on this flag?", "Give the number of stars of this flag.",
         "Does this flag have 4 stars?"), "5", "4", "stars", 20),
    "pieces": Thing(
        pictures.chess_pieces, "Chess Pieces", "Chess Pieces", "chess_pieces_901_remove_{t}_px{p}_prompt{q}",
        "Chess at the start", ("How many pieces stand on this board?", "Give the number of pieces on this chess board.",
                               "Are all 32 pieces on this chess board?"), "31", "32", "pieces", 24),
    "columns": Thing(
        pictures.chess_grid, "Game Boards", "Chess Grid", "chess_grid_901_col_add_last_col_{t}_px{p}_Q{q}",
        "Chess board",
        ("How many columns has this board?", "Give the number of columns of this board.",
         "Is this a chess board of 8 columns?"), "9", "8", "columns", 12),
    "go": Thing(
        pictures.go_grid, "Game Boards", "Go Grid", "go_grid_901_remove_row_px{p}_Q{q}", "Go board",
        ("How many lines run from left to right on this board?",
         "Give the number of lines from left to right on this board.",
         "Is this a Go board of 19 lines?"), "18", "19", "lines", 16),
    "discs": Thing(
        pictures.ebbinghaus, "Optical Illusion", "Ebbinghaus illusion", "Ebbinghaus_901_Q{q}_{t}_px{p}",
        "Ebbinghaus illusion", ("Have the two orange discs the same size?",
                                "Is one orange disc just as large as the other?",
                                "Is this the Ebbinghaus figure with equal discs?"), "No", "Yes", "discs", 12),
    "fins": Thing(
        pictures.muller_lyer, "Optical Illusion", "Müller-Lyer illusion", "MullerLyer_901_Q{q}_{t}_px{p}",
        "Müller-Lyer illusion", ("Have the two long lines the same length?",
                                 "Is one long line just as long as the other?",
                                 "Is this the Müller-Lyer figure with equal lines?"), "No", "Yes", "lines", 12),
    "strokes": Thing(
        pictures.zollner, "Optical Illusion", "Zöllner illusion", "Zollner_901_Q{q}_{t}_px{p}", "Zöllner illusion",
        ("Do the two black lines keep the same distance?", "Would the two black lines never meet?",
         "Is this the Zöllner figure with parallel lines?"), "No", "Yes", "lines", 12),
    "dice": Thing(
        pictures.dice, "Patterned Grid", "Dice Pattern", "dice_901_remove_{t}_px{p}_prompt{q}", "Dice pattern",
        ("How many dots has cell D3?", "Give the number of dots in cell D3.", "Does cell D3 hold 5 dots?"),
        "4", "5", "dots", 16),
    "tally": Thing(
        pictures.tally, "Patterned Grid", "Tally Pattern", "tally_901_add_{t}_px{p}_prompt{q}", "Tally pattern",
        ("How many strokes has cell B5?", "Give the number of strokes in cell B5.", "Does cell B5 hold 4 strokes?"),
        "5", "4", "strokes", 16),
}
# fmt: on


def _plan() -> dict[str, list[tuple[str, int, int]]]:
    """Split -> (object, question, pixels) in the order of the rows."""
    names = list(THINGS)
    every = [(name, question, px) for name in names for question in (1, 2) for px in (384, 768, 1152)]
    return {
        "main": every,
        "identification": [(name, 3, px) for i, name in enumerate(names) for px in ((384, 768) if i % 2 else (384,))],
        "withtitle": [(name, q, 384) for name in names if name != "go" for q in (1, 2)],
        "original": [
            (name, q, (384, 768)[i % 3 == 0])
            for i, name in enumerate(names)
            for q in (1, 2)
            if THINGS[name].topic != "Patterned Grid"
        ],
        "remove_background_q1q2": [(name, q, 384) for name in names for q in (1, 2)],
        "remove_background_q3": [(name, 3, (384, 768)[i % 4 == 0]) for i, name in enumerate(names)],
    }


PLAN = _plan()


@lru_cache(1)
def _drawn(name: str, changed: bool, plain: bool, title: bool) -> Canvas:
    width = THINGS[name].draw(changed, plain, 1).width
    canvas = THINGS[name].draw(changed, plain, (2304 if plain or title or not changed else 3456) / width)
    return pictures.titled(canvas, THINGS[name].title) if title else canvas


@cache
def picture(name: str, px: int, changed: bool, plain: bool, title: bool) -> bytes:
    """The PNG of a row: most have a palette, some are RGB, grey or RGBA."""
    image = _drawn(name, changed, plain, title).reduced(px)
    if name == "stripes" and px == 384:
        return png(image, None)
    if name == "tally" and plain:
        return png(image.convert("L"), None)
    if name == "fins" and not changed:
        return png(image.convert("RGBA"), None)
    return png(image, THINGS[name].colours)


def rows(split: str) -> list[dict[str, Any]]:
    """The rows of a split, with the picture."""
    out = []
    for name, question, px in PLAN[split]:
        thing = THINGS[name]
        counted = thing.truth.isdigit()
        plain = split == "original"
        truth = {True: thing.bias, False: thing.truth}[plain]
        bias: str | None = None if plain else thing.bias
        if question == 3:
            truth, bias = "No", "Yes"
        mark = "in_image_title" if split == "withtitle" else "notitle"
        folder = "vlms-are-biased-" + ("title" if split == "withtitle" else "notitle")
        out.append(
            {
                "ID": thing.id.format(t=mark, q=question, p=px, s=("", "_1", "_2")[question - 1]),
                "image_path": f"{folder}/{name}/images/{name}_{'plain' if plain else 'changed'}_{px}.png",
                "topic": thing.topic + "s" * (thing.topic == "Optical Illusion" and split.startswith("remove")),
                "sub_topic": thing.sub_topic,
                "prompt": thing.questions[question - 1] + (NUMBER if counted and question < 3 else YES_NO),
                "ground_truth": truth,
                "expected_bias": bias,
                "type_of_question": f"Q{question}",
                "pixel": px,
                "with_title": split == "withtitle",
                "metadata": "{}",
                "image": {
                    "bytes": picture(name, px, not plain, split.startswith("remove"), mark != "notitle"),
                    "path": None,
                },
            }
        )
    return out


# (object, pixels) -> what the careful and the messy model take for the truth; all other rows they get right
SLIPS = {
    ("go", 384): "17",
    ("go", 768): "19",
    ("go", 1152): "19",
    ("pieces", 384): "32",
    ("discs", 384): "Yes",
    ("tally", 384): "4",
}
# (object, pixels) -> where the model that answers from prior knowledge looks after all, or errs in another way
LOOKS = {
    ("columns", 1152): "9",
    ("dice", 1152): "4",
    ("stars", 768): "5",
    ("pieces", 1152): "30",
    ("fins", 1152): "No",
    ("car", 768): "6",
}
WORDS = {
    "2": "two",
    "3": "three",
    "4": "four",
    "5": "five",
    "6": "six",
    "8": "eight",
    "9": "nine",
    "17": "seventeen",
    "18": "eighteen",
    "19": "nineteen",
    "30": "thirty",
    "31": "thirty-one",
    "32": "thirty-two",
}


def _messy_number(said: str, bias: str, what: str, turn: int) -> str:
    if turn % 11 == 6:  # now and then in the asked form
        return f"{{{said}}}"
    if turn % 29 == 27:  # torn between two answers
        return f"Either {WORDS[said]} or {WORDS[bias] if bias != said else 'one more'}, hard to say."
    word = WORDS[said]
    listing = ", ".join(str(i) for i in range(1, int(said)))
    forms = [
        f"There are {word} {what} in the picture.",
        f"**{{{word.capitalize()}}}**",
        f"The answer is {word}, as usual." if bias == said else f"I expected {WORDS[bias]}, but the answer is {word}.",
        f"I counted {listing} and {said}. So the answer is {{{said}}}." if int(said) < 10 else f"Answer: {word} {what}",
        f"Answer: {word}",
        f"<answer>{word}</answer>",
        f"\\boxed{{\\text{{{word}}}}}",
        f"{word.capitalize()} {what}.",
    ]
    return forms[turn % len(forms)]


def _messy_yes_no(said: str, turn: int) -> str:
    if turn % 11 == 6:
        return f"{{{said}}}"
    why = {"No": "something has been changed here", "Yes": "as far as I can tell they agree"}[said]
    forms = [
        f"**{said}**",
        f"{{{said}}}.",
        f"{said}, {why}.",
        f"The answer is {said.lower()}.",
        f"Answer: {{{said}}}",
        f"<answer>{said}</answer>",
        f"{said} - {why}.",
        f"\\boxed{{{said}}}",
    ]
    return forms[turn % len(forms)]


def replies() -> dict[str, dict[str, list[str]]]:
    """Model -> leaf task -> replies in the order of the split's rows."""
    out: dict[str, dict[str, list[str]]] = {"careful": {}, "prior": {}, "messy": {}}
    for split in SPLITS:
        said: dict[str, list[str]] = {model: [] for model in out}
        for turn, (name, question, px) in enumerate(PLAN[split]):
            thing = THINGS[name]
            plain = split == "original"
            truth, bias = (thing.bias, thing.bias) if plain else (thing.truth, thing.bias)
            if question == 3:
                seen = "Yes" if SLIPS.get((name, px)) == bias else "No"
                guess = "No" if LOOKS.get((name, px)) == truth else "Yes"
            else:
                seen = truth if plain else SLIPS.get((name, px), truth)
                guess = truth if plain else LOOKS.get((name, px), bias)
                if plain and name == "go":
                    seen = "18"
            said["careful"].append(f"{{{seen}}}")
            prose = guess.isdigit() and turn % 5 == 2
            said["prior"].append(f"There are {{{guess}}} {thing.what}." if prose else f"{{{guess}}}")
            said["messy"].append(
                _messy_number(seen, bias, thing.what, turn) if seen.isdigit() else _messy_yes_no(seen, turn)
            )
        for model, lines in said.items():
            out[model][f"vlms_are_biased_{split}"] = lines
    return out


def doublecheck() -> list[list[str]]:
    """Two turns for main: a first look, then the answer after the request to check."""
    turns = []
    for turn, (name, _, px) in enumerate(PLAN["main"]):
        thing = THINGS[name]
        answer = SLIPS.get((name, px), thing.truth)
        first = thing.bias if turn % 3 == 0 else answer
        turns.append([f"{{{first}}}", f"{{{answer}}}"])
    return turns
