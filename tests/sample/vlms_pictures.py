"""The drawings of the VLMBias part of the sample. Every picture has an unmodified and a counterfactual form."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from canvas import Canvas, Point, oval, smooth, star

WHITE = "#ffffff"

# The formatter would put every number on a line of its own.
# fmt: off


def _scene(c: Canvas, plain: bool, sun_x: float, sky: str, sun: str, far: str, near: str, ground: str,
           horizon: float) -> None:
    """Sky, hills and ground; nothing where the picture has no background."""
    if plain:
        c.box(0, 0, c.width, c.height, WHITE)
        return
    c.box(0, 0, c.width, c.height, sky)
    c.oval(sun_x, 140, 62, fill=sun)
    c.blob([(-120, horizon + 60), (90, horizon - 70), (330, horizon - 10), (560, horizon - 96), (820, horizon - 30),
            (1120, horizon - 80), (1120, horizon + 120), (-120, horizon + 120)], far)
    c.blob([(-140, horizon + 120), (60, horizon - 10), (420, horizon + 26), (700, horizon - 6), (1140, horizon + 22),
            (1140, horizon + 150)], near)
    c.box(0, horizon + 34, c.width, c.height - horizon, ground)


def giraffe(changed: bool, plain: bool, scale: float) -> Canvas:
    """A giraffe with four legs; changed, with five."""
    c = Canvas(1000, 750, WHITE, scale)
    _scene(c, plain, 150, "#dcedf2", "#f6c667", "#b9cfa6", "#9dbb84", "#d9c48a", 520)
    if not plain:
        for x, y, s in ((120, 500, 1.0), (905, 512, 0.8)):
            c.limb([(x, y + 60 * s), (x + 4, y), (x - 6, y - 50 * s)], [16 * s, 10 * s, 7 * s], "#7a5c3e")
            c.blob([(x - 96 * s, y - 44 * s), (x - 50 * s, y - 88 * s), (x + 24 * s, y - 96 * s),
                    (x + 92 * s, y - 52 * s), (x + 30 * s, y - 38 * s)], "#6f8f57")
        c.oval(455, 690, 240, 16, "#c2ac72")
    coat, shade, patch, hoof, dark = "#f0cd84", "#d8ae62", "#b06f33", "#5b4030", "#43302a"
    fore, hind = (520, 572), (318, 372)
    legs = [(hind[1], True), (fore[1], True), (hind[0], False), (fore[0], False)]
    if changed:
        legs.insert(2, (446, False))
    for x, far in legs:
        y = 676 if far else 690
        lean = -6 if x < 440 else 6
        top = (x + (10 if x < 440 else -12 if x > 500 else 0), 430)
        c.limb([top, (x + lean / 2, 540), (x, 572), (x - lean / 3, y - 14)], [46, 25, 24, 18], shade if far else coat)
        c.oval(x + lean / 4, 566, 13, 12, shade if far else coat)
        if not far:
            with c.inside([(x - 40, 430), (x + 40, 430), (x + 16, 560), (x - 16, 560)]):
                c.blob([(x - 17, 486), (x + 2, 478), (x + 5, 514), (x - 12, 520)], patch)
                c.blob([(x + 4, 524), (x + 15, 518), (x + 12, 544), (x + 1, 546)], patch)
        c.shape([(x - 13, y - 16), (x + 11, y - 16), (x + 16, y + 2), (x - 16, y + 2)], hoof)
    c.curve([(300, 400), (262, 440), (256, 500)], shade, 10)
    c.limb([(257, 494), (252, 522), (258, 548)], [14, 20, 5], dark)
    body = smooth([(286, 392), (330, 330), (430, 318), (520, 300), (600, 330), (616, 400), (570, 456), (460, 470),
                   (350, 462), (296, 440)], closed=True)
    neck = smooth([(508, 330), (560, 240), (618, 130), (640, 96), (690, 112), (672, 170), (640, 260), (618, 380),
                   (560, 420)], closed=True)
    c.limb([(520, 312), (568, 226), (624, 112)], [16, 20, 12], "#8a5229")
    c.shape(body, coat)
    c.shape(neck, coat)
    rng = random.Random(7)
    for outline, xs, ys, step in ((body, (280, 640), (306, 452), 50), (neck, (510, 690), (96, 330), 40)):
        with c.inside(outline):
            for row, y in enumerate(range(ys[0], ys[1], step)):
                for x in range(xs[0], xs[1], step):
                    cx, cy = x + (row % 2) * step / 2 + rng.uniform(-4, 4), y + rng.uniform(-4, 4)
                    turns = (i * math.tau / 6 + rng.uniform(-0.2, 0.2) for i in range(6))
                    c.shape([(cx + step * 0.44 * rng.uniform(0.82, 1.12) * math.cos(a),
                              cy + step * 0.44 * rng.uniform(0.82, 1.12) * math.sin(a)) for a in turns], patch)
    with c.inside(body):
        c.blob([(290, 470), (340, 446), (460, 456), (580, 436), (620, 480), (460, 520)], shade)
    for x in (652, 682):
        c.limb([(x, 92), (x - 4, 60)], [11, 9], coat)
        c.oval(x - 4, 56, 9, 8, dark)
    c.blob([(632, 104), (600, 82), (584, 88), (604, 112)], shade)
    c.blob([(628, 110), (650, 82), (694, 84), (736, 118), (780, 134), (792, 156), (774, 172), (732, 168), (676, 160),
            (640, 142)], coat)
    c.blob([(752, 128), (786, 138), (793, 158), (774, 172), (744, 168)], shade)
    c.oval(692, 112, 10, 11, dark)
    c.oval(695, 109, 3.4, fill=WHITE)
    c.oval(776, 144, 4, 3, dark)
    c.curve([(742, 160), (762, 162), (780, 158)], dark, 3)
    return c


def rooster(changed: bool, plain: bool, scale: float) -> Canvas:
    """A rooster with two legs; changed, with three."""
    c = Canvas(1000, 750, WHITE, scale)
    _scene(c, plain, 850, "#e8f1ea", "#f7d488", "#bcd6bd", "#97bf93", "#83ad74", 470)
    if not plain:
        for x in range(-10, 1000, 118):
            c.shape([(x, 546), (x, 400), (x + 22, 376), (x + 44, 400), (x + 44, 546)], "#f3ece0")
        for y in (430, 494):
            c.box(0, y, 1000, 18, "#e2d7c5")
        c.oval(480, 682, 250, 18, "#6e9661")
    rust, dark, light, leg, comb = "#b5562d", "#7f3a22", "#d98648", "#e9a23b", "#d2333a"
    for x, far in [(500, True), (414, False), (582, False)] if changed else [(470, True), (545, False)]:
        tone = "#c98529" if far else leg
        foot = 660 if far else 676
        c.limb([(x, 516), (x + 4, 590), (x, foot)], [34, 15, 13], tone)
        for toe in (-44, -2, 40):
            c.limb([(x, foot - 2), (x + toe * 0.6, foot + 4), (x + toe + 12, foot + 12)], [12, 10, 5], tone)
        c.limb([(x, foot - 2), (x - 22, foot + 6)], [10, 5], tone)
        c.blob([(x - 44, 486), (x + 42, 486), (x + 26, 552), (x, 574), (x - 26, 552)], dark if far else rust)
    for tip, root in (((196, 214), 30), ((236, 168), 16), ((290, 150), 2), ((160, 276), 44)):
        c.blob([(352 - root, 400), (tip[0] - 22, tip[1] + 26), tip, (tip[0] + 46, tip[1] + 16), (410 - root, 340)],
               "#2f3b3a" if root in (30, 2) else "#46585a")
    c.blob([(286, 330), (352, 372), (450, 360), (548, 312), (604, 214), (650, 168), (712, 182), (730, 246), (736, 360),
            (706, 464), (618, 540), (492, 562), (376, 526), (304, 438)], rust)
    c.blob([(612, 214), (650, 172), (708, 186), (728, 250), (730, 330), (690, 316), (640, 330), (600, 296)], light)
    for x, y in ((628, 318), (664, 334), (700, 326), (610, 284)):
        c.blob([(x - 20, y - 16), (x + 20, y - 16), (x, y + 30)], light)
    c.blob([(380, 404), (470, 372), (590, 384), (610, 430), (560, 478), (450, 486), (380, 452)], dark)
    for i in range(3):
        c.curve([(400 + 20 * i, 432 + 16 * i), (480 + 10 * i, 448 + 14 * i), (560 - 8 * i, 430 + 18 * i)], light, 6)
    c.blob([(628, 182), (622, 128), (648, 142), (660, 104), (684, 134), (712, 108), (716, 148), (740, 144), (722, 188),
            (672, 172)], comb)
    c.blob([(716, 232), (740, 244), (738, 290), (718, 300), (706, 264)], comb)
    c.shape([(722, 204), (782, 224), (724, 244)], "#f0b541")
    c.shape([(724, 226), (782, 224), (724, 244)], "#cf8f2a")
    c.oval(690, 206, 13, fill="#f7e7c4")
    c.oval(692, 206, 8, fill="#2a1a16")
    c.oval(695, 203, 2.8, fill=WHITE)
    return c


def car(changed: bool, plain: bool, scale: float) -> Canvas:
    """The front of a car whose badge is a flower of five petals; changed, of six."""
    c = Canvas(1000, 750, WHITE, scale)
    if not plain:
        c.box(0, 0, 1000, 750, "#dfe6ea")
        for x, w, h, tone in ((0, 130, 250, "#c5d0d6"), (120, 110, 190, "#cfd9de"), (800, 120, 230, "#c5d0d6"),
                              (910, 100, 170, "#cfd9de")):
            c.box(x, 470 - h, w, h + 60, tone)
        c.box(0, 500, 1000, 250, "#7d868c")
        c.box(0, 500, 1000, 8, "#adb5b9")
        c.oval(500, 700, 440, 26, "#5d666c")
    paint, dark, light, black, chrome = "#1f7a78", "#155a5a", "#3a9a96", "#20282c", "#dfe5e6"
    for x in (150, 742):
        c.box(x, 560, 108, 150, "#262b2e", radius=26)
    c.blob([(228, 300), (286, 112), (360, 84), (500, 78), (640, 84), (714, 112), (772, 300)], dark)
    c.blob([(270, 296), (312, 134), (380, 112), (500, 108), (620, 112), (688, 134), (730, 296), (500, 306)], "#bcd9e4")
    c.shape([(330, 290), (372, 118), (436, 112), (392, 292)], "#d5e8ef")
    c.blob([(200, 262), (164, 250), (150, 284), (196, 300)], dark)
    c.blob([(800, 262), (836, 250), (850, 284), (804, 300)], dark)
    c.blob([(120, 420), (150, 320), (300, 284), (500, 276), (700, 284), (850, 320), (880, 420), (884, 600), (820, 650),
            (500, 660), (180, 650), (116, 600)], paint)
    c.blob([(170, 330), (300, 296), (500, 288), (700, 296), (830, 330), (700, 350), (500, 338), (300, 350)], light)
    for x in (214, 786):
        c.oval(x, 428, 72, 50, chrome)
        c.oval(x, 428, 60, 40, "#f6f3d8")
        c.oval(x, 428, 26, 24, WHITE, "#b9c2c4", 4)
    c.box(300, 380, 400, 180, black, radius=40)
    for y in range(404, 548, 24):
        c.box(320, y, 360, 8, "#55636a", radius=4)
    c.box(150, 586, 700, 30, dark, radius=15)
    c.box(410, 596, 180, 46, "#f4f4ef", "#3a4347", 4, radius=6)
    c.text(500, 620, "LM 905", 32, "#2b3438")
    c.oval(500, 470, 112, fill=chrome)
    c.oval(500, 470, 102, fill="#123c52")
    petals = 6 if changed else 5
    for i in range(petals):
        turn = -90 + 360 * i / petals
        a = math.radians(turn)
        c.oval(500 + 52 * math.cos(a), 470 + 52 * math.sin(a), 35, 20, "#f7b733", tilt=turn)
        c.line([(500 + 26 * math.cos(a), 470 + 26 * math.sin(a)), (500 + 66 * math.cos(a), 470 + 66 * math.sin(a))],
               "#d98a1f", 4)
    c.oval(500, 470, 20, fill="#fff3d0")
    return c


def shoe(changed: bool, plain: bool, scale: float) -> Canvas:
    """A running shoe whose emblem is three waves; changed, four."""
    c = Canvas(1000, 750, WHITE, scale)
    if not plain:
        c.box(0, 0, 1000, 750, "#f3e3d3")
        c.oval(520, 330, 350, fill="#f8efe4")
        c.box(0, 560, 1000, 190, "#c99e76")
        for y in (602, 664):
            c.box(0, y, 1000, 4, "#b58a63")
        c.oval(500, 612, 400, 22, "#a87c55")
    navy, blue, pale, white = "#26355d", "#3c5488", "#e9edf5", "#fbfbf8"
    c.blob([(150, 240), (190, 190), (300, 200), (330, 250), (300, 310), (180, 330)], "#1b2645")
    upper = smooth([(136, 520), (124, 400), (140, 270), (160, 214), (206, 250), (270, 262), (338, 226), (384, 232),
                    (470, 310), (580, 372), (700, 402), (812, 436), (874, 500), (870, 540), (500, 552)], closed=True)
    c.shape(upper, navy)
    with c.inside(upper):
        c.blob([(700, 396), (800, 424), (900, 500), (880, 570), (700, 570), (670, 470)], blue)
        c.blob([(110, 260), (180, 380), (230, 560), (100, 570)], blue)
        for i in range(9):
            for j in range(5):
                c.oval(716 + 19 * i - 6 * (j % 2), 430 + 20 * j + 4 * i, 3.6, fill="#5d76ad")
    c.blob([(330, 236), (386, 226), (480, 306), (600, 376), (560, 398), (450, 352), (370, 300)], "#1b2645")
    for i in range(5):
        x, y = 376 + 43 * i, 262 + 27 * i
        c.limb([(x - 14, y + 34), (x + 24, y - 14)], [13, 13], pale)
    c.blob([(322, 236), (306, 176), (332, 152), (362, 168), (392, 226)], blue)
    waves = 4 if changed else 3
    for i in range(waves):
        x, y = 256 + 12 * i, 486 - 38 * i - 12 * (4 - waves)
        c.curve([(x, y), (x + 40, y - 18), (x + 80, y), (x + 120, y - 18), (x + 160, y)], "#ff8a3d", 14)
    c.blob([(110, 520), (160, 512), (500, 540), (800, 520), (880, 506), (900, 548), (872, 590), (500, 600), (140, 596),
            (106, 562)], white, "#d5d9e0", 3)
    c.blob([(118, 582), (500, 590), (880, 574), (860, 606), (500, 614), (146, 610)], "#ff8a3d")
    for x in range(180, 840, 66):
        c.line([(x, 556), (x + 26, 556)], "#ccd3de", 6)
    return c


def _cloth(c: Canvas, plain: bool, paint: Callable[[Canvas, Callable[[float, float], Point]], None]) -> None:
    """A flag in the wind on its pole; `paint` gets the map from the unit square to the cloth."""
    if not plain:
        c.box(0, 0, 1000, 750, "#cfe5f4")
        for x, y, s in ((700, 640, 1.2), (300, 690, 1.0), (900, 90, 0.9)):
            for dx, dy, r in ((-70, 10, 42), (-20, -14, 58), (44, 0, 48), (90, 14, 34)):
                c.oval(x + dx * s, y + dy * s, r * s, r * s * 0.72, "#eef6fb")

    def at(u: float, v: float) -> Point:
        return 150 + 760 * u, 96 + 470 * v + 26 * math.sin(u * 6.6) * (0.35 + 0.65 * u)

    paint(c, at)
    c.box(122, 50, 22, 690, "#8b8f96", radius=8)
    c.box(122, 50, 8, 690, "#b7bbc1", radius=4)
    c.oval(133, 46, 20, fill="#d9a93a")


def _strip(at: Callable[[float, float], Point], top: float, bottom: float) -> list[Point]:
    us = [i / 60 for i in range(61)]
    return [at(u, top) for u in us] + [at(u, bottom) for u in reversed(us)]


def flag_stripes(changed: bool, plain: bool, scale: float) -> Canvas:
    """A flag of three stripes, blue, black and white; changed, with a fourth."""
    c = Canvas(1000, 750, WHITE, scale)
    tones = ["#2f78c4", "#1d1f24", "#fafafa"] + (["#2f78c4"] if changed else [])

    def paint(c: Canvas, at: Callable[[float, float], Point]) -> None:
        for i, tone in enumerate(tones):
            c.shape(_strip(at, i / len(tones), (i + 1) / len(tones)), tone)
        c.shape(_strip(at, 0, 1), edge="#8793a0", width=3)

    _cloth(c, plain, paint)
    return c


def flag_stars(changed: bool, plain: bool, scale: float) -> Canvas:
    """A light blue flag with four white stars; changed, with a fifth."""
    c = Canvas(1000, 750, WHITE, scale)

    def paint(c: Canvas, at: Callable[[float, float], Point]) -> None:
        c.shape(_strip(at, 0, 1), "#6db1e2")
        for u, v in ((0.5, 0.2), (0.5, 0.8), (0.3, 0.5), (0.7, 0.5)) + (((0.5, 0.5),) if changed else ()):
            x, y = at(u, v)
            c.shape(star(x, y, 58, 23), "#ffffff")
        c.shape(_strip(at, 0, 1), edge="#5b93bb", width=3)

    _cloth(c, plain, paint)
    return c


def _piece(c: Canvas, kind: str, x: float, y: float, white: bool) -> None:
    """A chess piece in a square of 100 units whose corner is at x, y."""
    fill, edge = ("#fbf7ea", "#3b342c") if white else ("#33302f", "#0f0e0e")
    mark = edge if white else "#cfc8bd"

    def p(*points: Point) -> list[Point]:
        return [(x + a, y + b) for a, b in points]

    def put(outline: list[Point]) -> None:
        c.shape(outline, fill, edge, 3.4)

    if kind == "P":
        put(p((32, 84), (36, 70), (45, 62), (47, 46), (53, 46), (55, 62), (64, 70), (68, 84)))
        put(oval(x + 50, y + 37, 14, 14))
    elif kind == "R":
        put(p((28, 84), (30, 72), (36, 66), (37, 40), (30, 34), (30, 18), (40, 18), (40, 25), (45, 25), (45, 18),
              (55, 18), (55, 25), (60, 25), (60, 18), (70, 18), (70, 34), (63, 40), (64, 66), (70, 72), (72, 84)))
        c.line(p((37, 40), (63, 40)), mark, 3)
    elif kind == "N":
        put(smooth(p((30, 84), (34, 68), (46, 54), (46, 47), (34, 53), (24, 58), (19, 49), (28, 36), (36, 25), (42, 14),
                     (49, 20), (62, 26), (72, 46), (75, 66), (74, 84)), closed=True, steps=6))
        c.oval(x + 39, y + 34, 3.2, fill=mark)
        c.curve(p((52, 28), (62, 40), (66, 60)), mark, 2.6)
    elif kind == "B":
        put(p((30, 84), (34, 74), (44, 68), (42, 62), (58, 62), (56, 68), (66, 74), (70, 84)))
        put(smooth(p((50, 20), (62, 36), (63, 50), (57, 62), (43, 62), (37, 50), (38, 36)), closed=True, steps=6))
        put(oval(x + 50, y + 17, 5, 5))
        c.line(p((50, 34), (50, 50)), mark, 3)
        c.line(p((43, 42), (57, 42)), mark, 3)
    elif kind == "Q":
        put(p((28, 84), (32, 68), (22, 32), (36, 52), (37, 24), (47, 50), (50, 20), (53, 50), (63, 24), (64, 52),
              (78, 32), (68, 68), (72, 84)))
        for a, b in ((22, 30), (37, 22), (50, 18), (63, 22), (78, 30)):
            put(oval(x + a, y + b, 4.6, 4.6))
        c.line(p((33, 70), (67, 70)), mark, 3)
    else:
        c.line(p((50, 8), (50, 28)), edge, 7)
        c.line(p((42, 16), (58, 16)), edge, 7)
        put(smooth(p((50, 28), (58, 40), (72, 36), (80, 48), (74, 62), (66, 72), (34, 72), (26, 62), (20, 48), (28, 36),
                     (42, 40)), closed=True, steps=6))
        put(p((30, 84), (34, 70), (66, 70), (70, 84)))
        c.line(p((50, 44), (50, 66)), mark, 3)
    c.box(x + 24, y + 82, 52, 9, fill, edge, 3.4, radius=4)


def chess_pieces(changed: bool, plain: bool, scale: float) -> Canvas:
    """The chess board at the start of a game, 32 pieces; changed, without the bishop at f8."""
    c = Canvas(960, 960, WHITE if plain else "#e9e4da", scale)  # squares of 105 are whole pixels in all three sizes
    c.box(20, 20, 920, 920, "#6b4a32", radius=10)
    back = "RNBQKBNR"
    for row in range(8):
        for col in range(8):
            c.box(60 + 105 * col, 60 + 105 * row, 105, 105, "#efdcb8" if (row + col) % 2 == 0 else "#b68a5d")
    for col in range(8):
        for kind, row, white in ((back[col], 0, False), ("P", 1, False), ("P", 6, True), (back[col], 7, True)):
            if not (changed and row == 0 and col == 5):
                _piece(c, kind, 62.5 + 105 * col, 62.5 + 105 * row, white)
    for i in range(8):
        c.text(112.5 + 105 * i, 920, "abcdefgh"[i], 24, "#f0dfc2")
        c.text(40, 112.5 + 105 * i, str(8 - i), 24, "#f0dfc2")
    return c


def chess_grid(changed: bool, plain: bool, scale: float) -> Canvas:
    """An empty chess board of eight columns; changed, of nine."""
    columns = 9 if changed else 8
    c = Canvas(1000, 900, WHITE if plain else "#dfe7e4", scale)
    left = 500 - 48 * columns
    if not plain:
        c.box(left - 22, 48, 96 * columns + 56, 824, "#c2cecb", radius=14)
    c.box(left - 32, 34, 96 * columns + 64, 832, "#3f5a4e", radius=12)
    for row in range(8):
        for col in range(columns):
            c.box(left + 96 * col, 66 + 96 * row, 97, 97, "#f1efe0" if (row + col) % 2 == 0 else "#6f9b81")
    return c


def go_grid(changed: bool, plain: bool, scale: float) -> Canvas:
    """A Go board of 19 horizontal lines; changed, of 18."""
    rows = 18 if changed else 19
    c = Canvas(900, 900, WHITE if plain else "#eee8de", scale)
    top = 450 - 21 * (rows - 1)
    c.box(28, top - 44, 844, 42 * (rows - 1) + 88, "#8b5e2c", radius=6)
    c.box(28, top - 44, 836, 42 * (rows - 1) + 80, "#e0b469", radius=6)
    for i in range(19):
        c.line([(72 + 42 * i, top), (72 + 42 * i, top + 42 * (rows - 1))], "#3a2a16", 2.6)
    for i in range(rows):
        c.line([(72, top + 42 * i), (828, top + 42 * i)], "#3a2a16", 2.6)
    for i in (3, 9, 15):
        for j in (3, 9, 15):
            c.oval(72 + 42 * i, top + 42 * j, 6.5, fill="#3a2a16")
    return c


def ebbinghaus(changed: bool, plain: bool, scale: float) -> Canvas:
    """Two equal discs, one among large and one among small rings of discs; changed, the left disc is larger."""
    c = Canvas(1000, 560, WHITE if plain else "#f4f1ea", scale)
    for x, disc, ring, size, count in ((300, 70 if changed else 54, 176, 72, 6), (740, 54, 100, 24, 10)):
        for i in range(count):
            a = math.tau * (i + 0.5) / count
            c.oval(x + ring * math.cos(a), 280 + ring * math.sin(a), size, fill="#54708f")
        c.oval(x, 280, disc, fill="#ef7d3b")
    return c


def muller_lyer(changed: bool, plain: bool, scale: float) -> Canvas:
    """Two equal lines with fins out and fins in; changed, the upper one is shorter."""
    c = Canvas(1000, 560, WHITE if plain else "#f4f1ea", scale)
    for y, half, fin, tone in ((170, 220 if changed else 260, 64, "#24476b"), (390, 260, -64, "#24476b")):
        c.line([(500 - half, y), (500 + half, y)], tone, 9)
        for side in (-1, 1):
            for up in (-1, 1):
                c.line([(500 + side * half, y), (500 + side * (half + fin), y + up * 52)], tone, 9)
    return c


def zollner(changed: bool, plain: bool, scale: float) -> Canvas:
    """Two parallel lines crossed by slanted strokes; changed, they converge."""
    c = Canvas(1000, 560, WHITE if plain else "#f4f1ea", scale)
    for y, slope, lean in ((180, 0.07 if changed else 0, 1), (380, -0.07 if changed else 0, -1)):
        c.line([(90, y - 410 * slope), (910, y + 410 * slope)], "#1f2a36", 8)
        for x in range(130, 900, 56):
            at = y + (x - 500) * slope
            c.line([(x - 26 * lean, at - 40), (x + 26 * lean, at + 40)], "#c2483d", 6)
    return c


def _lattice(c: Canvas, plain: bool, put: Callable[[int, int, float, float], None]) -> None:
    c.box(0, 0, c.width, c.height, WHITE if plain else "#eef0f3")
    for row in range(6):  # cells of 140 are whole pixels in all three sizes
        for col in range(6):
            c.box(100 + 140 * col, 100 + 140 * row, 130, 130, WHITE, "#a9b3bf", 3, radius=10)
            put(row, col, 165 + 140 * col, 165 + 140 * row)
    for i in range(6):
        c.text(165 + 140 * i, 58, "ABCDEF"[i], 38, "#55606d")
        c.text(56, 165 + 140 * i, str(i + 1), 38, "#55606d")


def dice(changed: bool, plain: bool, scale: float) -> Canvas:
    """A grid of dice faces of five pips in every cell; changed, cell D3 has four."""
    c = Canvas(960, 960, WHITE, scale)

    def put(row: int, col: int, x: float, y: float) -> None:
        pips = [(-1, -1), (1, -1), (-1, 1), (1, 1), (0, 0)]
        for dx, dy in pips[: 4 if changed and (row, col) == (2, 3) else 5]:
            c.oval(x + 34 * dx, y + 34 * dy, 12.5, fill="#7a2f52")

    _lattice(c, plain, put)
    return c


def tally(changed: bool, plain: bool, scale: float) -> Canvas:
    """A grid of four tally strokes in every cell; changed, cell B5 has five."""
    c = Canvas(960, 960, WHITE, scale)

    def put(row: int, col: int, x: float, y: float) -> None:
        count = 5 if changed and (row, col) == (4, 1) else 4
        for i in range(count):
            at = x + 21 * (i - (count - 1) / 2)
            c.line([(at + 3, y - 36), (at - 3, y + 36)], "#245a54", 9)

    _lattice(c, plain, put)
    return c


def titled(c: Canvas, title: str) -> Canvas:
    """The picture with the name of its subject on a band above it."""
    band = 90
    out = Canvas(c.width, c.height + band, WHITE, c.scale)
    out.image.paste(c.image, (0, out.image.height - c.image.height))
    out.text(c.width / 2, band / 2, title, 50, "#1b1f24")
    return out
