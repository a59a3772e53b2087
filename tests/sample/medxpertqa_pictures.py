"""The figures of the MedXpertQA part of the sample: schematic, in many sizes, modes and formats."""

from __future__ import annotations

import math
import random

from canvas import Canvas, Point, arc, oval, smooth
from PIL import Image, ImageDraw, ImageFilter

INK, RULE, BLUE, RED = "#1d2430", "#c3cad3", "#2c6fb3", "#c8473d"

# The formatter would put every number on a line of its own.
# fmt: off


def ecg(lift: float, width: int = 640, height: int = 160, atrial: bool = True) -> Image.Image:
    """A strip of ECG on pink paper; `lift` raises the ST segment; without `atrial`, no P waves and no rhythm."""
    c = Canvas(640, 640 * height / width, "#fff6f4", 4 * width / 640)
    for i in range(0, 641, 8):
        heavy = i % 40 == 0
        c.line([(i, 0), (i, c.height)], "#eeb3ab" if heavy else "#f8dcd7", 1.1 if heavy else 0.6)
        if i <= c.height:
            c.line([(0, i), (640, i)], "#eeb3ab" if heavy else "#f8dcd7", 1.1 if heavy else 0.6)
    base, points, x, rng = c.height * 0.62, [], 14.0, random.Random(3)
    while x < 640:
        step = 92.0 if atrial else rng.choice((58.0, 76.0, 104.0, 88.0))
        for i in range(int(step)):
            t = i / 92
            p_wave = 9 * math.exp(-(((t - 0.14) / 0.035) ** 2))
            y = p_wave if atrial else 2.6 * math.sin(i * 0.62 + x) + 1.6 * math.sin(i * 1.1)
            y += -7 * math.exp(-(((t - 0.265) / 0.012) ** 2)) + 58 * math.exp(-(((t - 0.30) / 0.014) ** 2))
            y += -14 * math.exp(-(((t - 0.335) / 0.014) ** 2)) + 15 * math.exp(-(((t - 0.56) / 0.07) ** 2))
            y += lift / (1 + math.exp(-(t - 0.335) / 0.006)) * (1 - 1 / (1 + math.exp(-(t - 0.62) / 0.035)))
            points.append((x + i, base - y))
        x += step
    c.line(points, "#1b1b22", 1.7)
    c.text(18, 16, "II" if not lift else "V3", 15, "#1b1b22", "lm")
    return c.reduced(width)


def wrist(width: int, side: bool) -> Image.Image:
    """A wrist radiograph with a broken distal radius, frontal or from the side."""
    c = Canvas(300, 420, 10, 2 * width / 300, "L")
    c.soft(smooth([(96, -20), (92, 200), (60, 300), (56, 440), (244, 440), (232, 300), (206, 200),
                   (206, -20)] if not side else [(118, -20), (112, 160), (100, 280), (104, 440), (212, 440), (206, 300),
                                                 (196, 200), (196, -20)], closed=True), 62, 6)

    def bone(points: list[Point], tone: int = 176) -> None:
        c.soft(smooth(points, closed=True), tone + 40, 1.6)
        inner = [(sum(p[0] for p in points) / len(points) * 0.22 + x * 0.78,
                  sum(p[1] for p in points) / len(points) * 0.06 + y * 0.94) for x, y in points]
        c.soft(smooth(inner, closed=True), tone - 40, 3.4, 0.8)

    if not side:
        for x, tilt in ((108, -14), (136, -4), (164, 4), (192, 14)):
            bone([(x - 9, 128), (x + 9, 128), (x + 6 + tilt * 0.5, 60), (x + 9 + tilt, -16), (x - 9 + tilt, -16),
                  (x - 6 + tilt * 0.5, 60)])
        bone([(84, 150), (72, 150), (46, 90), (40, 60), (56, 56), (66, 92)])
        for x, y, rx, ry, t in ((112, 152, 20, 15, 8), (146, 146, 18, 18, 0), (180, 152, 20, 15, -8),
                                (116, 186, 24, 15, -24), (152, 188, 20, 16, 0), (186, 182, 18, 16, 14)):
            c.soft(oval(x, y, rx, ry, t), 212, 1.6)
            c.soft(oval(x, y, rx - 5, ry - 5, t), 156, 3)
        bone([(96, 214), (120, 210), (168, 212), (172, 238), (152, 262), (108, 268), (94, 240)])
        bone([(112, 276), (150, 268), (154, 320), (150, 440), (108, 440), (110, 330)])
        bone([(184, 218), (202, 214), (206, 244), (196, 290), (198, 440), (174, 440), (176, 290)])
        c.soft_line([(98, 266), (116, 274), (134, 264), (160, 262)], 34, 4.5, 1)
    else:
        bone([(142, 110), (168, 108), (164, 40), (170, -16), (136, -16), (146, 40)])
        bone([(128, 118), (144, 120), (136, 40), (134, -16), (120, -16), (126, 40)], 160)
        for x, y, rx, ry in ((156, 138, 21, 18), (152, 176, 20, 20)):
            c.soft(oval(x, y, rx, ry), 212, 1.6)
            c.soft(oval(x, y, rx - 6, ry - 6), 150, 3)
        bone([(136, 206), (172, 198), (186, 222), (176, 250), (138, 256), (130, 230)])
        bone([(126, 268), (162, 262), (160, 330), (158, 440), (120, 440), (122, 330)])
        bone([(150, 250), (166, 252), (172, 330), (170, 440), (152, 440), (150, 330)], 150)
        c.soft_line([(122, 262), (140, 262), (164, 254), (178, 246)], 34, 4.5, 1)
    c.text(276, 26, "L", 26, 220)
    image = c.reduced(width)
    small = Canvas(1, 1, 0, 1, "L")
    small.image = image
    small.grain(31 + side, 0.05)
    return small.image


def smear(kind: str, width: int, label: str = "") -> Image.Image:
    """A blood smear: round cells, and among them sickles, targets, spheres, fragments or blasts."""
    c = Canvas(300, 220, "#f8efe6", 3 * width / 300)
    rng = random.Random(sum(map(ord, kind)))
    spots: list[tuple[float, float]] = []
    for _ in range(900):
        x, y = rng.uniform(-6, 306), rng.uniform(-6, 226)
        if all(math.hypot(x - a, y - b) > 30 for a, b in spots):
            spots.append((x, y))
    red, pale = "#d98a84", "#f1cfc5"
    for i, (x, y) in enumerate(spots):
        r = rng.uniform(11, 12.6)
        odd = i % 3 == 0
        turn = rng.uniform(0, 360)
        if kind == "sickle" and odd:
            a = math.radians(turn)
            back, front = arc(0, 0, 21, 12, 200, 340, 20), arc(0, 4, 21, 6, 340, 200, 20)
            c.shape([(x + p * math.cos(a) - q * math.sin(a), y + p * math.sin(a) + q * math.cos(a)) for p,
                     q in back + front], "#c4645f")
        elif kind == "target" and odd:
            c.oval(x, y, r + 1, fill=red)
            c.oval(x, y, r - 3.4, fill=pale)
            c.oval(x, y, r - 7.2, fill=red)
        elif kind == "sphere" and odd:
            c.oval(x, y, r - 3, fill="#bf5a58")
        elif kind == "fragment" and odd:
            a = math.radians(turn)
            cut = arc(0, 0, r, r, 20, 200, 16)
            c.shape([(x + p * math.cos(a) - q * math.sin(a), y + p * math.sin(a) + q * math.cos(a)) for p, q in cut],
                    "#c4645f")
        elif kind == "blast" and i % 5 == 0:
            c.oval(x, y, r + 6, fill="#b9b1dd")
            c.oval(x + 1, y - 1, r + 2.6, fill="#6b4f9d")
            c.oval(x - 3, y - 4, 3, fill="#8e78bd")
            c.oval(x + 5, y + 3, 2.4, fill="#8e78bd")
        else:
            c.oval(x, y, r, fill=red)
            c.oval(x - 0.6, y - 0.6, r * 0.44, fill=pale)
    if label:
        c.box(6, 6, 34, 34, "#ffffff", radius=6)
        c.text(23, 23, label, 24, INK)
    return c.reduced(width)


def fundus(width: int) -> Image.Image:
    """The back of the eye with a blurred disc and flame-shaped bleedings around it."""
    c = Canvas(400, 400, (8, 6, 5), 2 * width / 400)
    c.soft(oval(200, 200, 188, 188), (176, 74, 30), 3)
    c.soft(oval(190, 200, 130, 130), (205, 98, 44), 40, 0.8)
    c.soft(oval(262, 204, 34, 34), (126, 40, 18), 16, 0.8)
    rng = random.Random(9)
    for side in (-1, 1):
        for reach, bend in ((150, 1.0), (112, 0.6), (70, 1.5)):
            path = [(128, 196), (128 + reach * 0.22, 196 + side * 52 * bend),
                    (128 + reach * 0.8, 196 + side * 92 * bend), (128 + reach * 1.5, 196 + side * 84 * bend)]
            c.soft_line(path, (122, 22, 18), 6.4, 1.2, 0.9)
            c.soft_line([(x + 7, y + side * 3) for x, y in path], (196, 58, 40), 4, 1, 0.9)
        c.soft_line([(128, 196), (92, 196 + side * 40), (40, 196 + side * 64)], (122, 22, 18), 5, 1.2, 0.9)
    c.soft(oval(126, 196, 36, 40), (247, 206, 140), 9)
    for _ in range(16):
        a, d = rng.uniform(0, math.tau), rng.uniform(40, 74)
        x, y = 126 + d * math.cos(a), 196 + d * math.sin(a)
        c.soft_line([(x, y), (x + 9 * math.cos(a), y + 9 * math.sin(a)),
                     (x + 20 * math.cos(a + 0.1), y + 20 * math.sin(a + 0.1))], (112, 8, 10), 5, 1.4, 0.9)
    c.image.paste((8, 6, 5), (0, 0), _outside(c, oval(200, 200, 189, 189)))
    return c.reduced(width)


def _outside(c: Canvas, outline: list[Point]) -> Image.Image:
    mask = Image.new("L", c.image.size, 255)
    ImageDraw.Draw(mask).polygon([(x * c.scale, y * c.scale) for x, y in outline], fill=0)
    return mask


def _axes(c: Canvas, x_name: str, y_name: str, left: float, bottom: float) -> None:
    c.line([(left, 40), (left, bottom), (c.width - 40, bottom)], INK, 3)
    c.shape([(left - 8, 46), (left + 8, 46), (left, 26)], INK)
    c.shape([(c.width - 46, bottom - 8), (c.width - 46, bottom + 8), (c.width - 26, bottom)], INK)
    c.text(c.width - 40, bottom + 34, x_name, 26, INK, "rm")
    c.text(left + 18, 34, y_name, 26, INK, "lm")


def kinetics(width: int) -> Image.Image:
    """Reaction rate against substrate: five curves A to E, black the untreated enzyme; transparent around the plot."""
    c = Canvas(1000, 640, "#ffffff", 3 * width / 1000)
    _axes(c, "[S]", "rate", 90, 560)
    for share in (0.25, 0.5, 0.75):
        c.line([(90, 560 - 440 * share), (900, 560 - 440 * share)], "#e6eaef", 2)

    def curve(top: float, half: float, tone: str, name: str, width: float) -> None:
        path = [(90 + 8 * i, 560 - top * (i * 8) / (half + i * 8)) for i in range(101)]
        c.line(path, tone, width)
        c.text(path[-1][0] + 26, path[-1][1], name, 30, tone)

    curve(400, 90, INK, "", 6)
    curve(520, 90, "#2f8f5b", "A", 5)
    curve(400, 240, BLUE, "B", 5)
    curve(220, 90, RED, "C", 5)
    curve(165, 34, "#8b5fb0", "D", 5)
    curve(404, 26, "#d08a1d", "E", 5)
    image = c.reduced(width).convert("RGBA")
    mask = Image.new("L", image.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle((4, 4, image.width - 5, image.height - 5), 28, fill=255)
    image.putalpha(mask)
    return image


def loop(kind: str, width: int, label: str) -> Image.Image:
    """A flow-volume loop: normal, obstructed, restricted, a fixed or a variable narrowing of the upper airway."""
    c = Canvas(400, 400, "#ffffff", 3 * width / 400)
    c.line([(50, 210), (380, 210)], RULE, 2.4)
    c.line([(60, 30), (60, 380)], RULE, 2.4)
    c.text(384, 362, "volume", 18, "#6b7685", "rm")
    c.text(72, 24, "flow", 18, "#6b7685", "lm")
    end, up, down = {
        "normal": (320, [(66, 120), (84, 52), (120, 60), (200, 112), (280, 178)], [(280, 290), (190, 326), (100, 290)]),
        "obstructed": (320, [(64, 130), (78, 92), (104, 138), (160, 178), (250, 200)],
                       [(280, 280), (190, 316), (100, 284)]),
        "restricted": (190, [(66, 120), (78, 66), (102, 70), (140, 130), (170, 180)],
                       [(170, 276), (130, 300), (84, 276)]),
        "fixed": (320, [(66, 170), (84, 148), (140, 144), (230, 146), (296, 166)], [(296, 250), (190, 274), (84, 254)]),
        "intake": (320, [(66, 120), (84, 52), (120, 60), (200, 112), (280, 178)], [(296, 244), (190, 258), (84, 246)]),
        "outlet": (320, [(66, 170), (84, 148), (140, 144), (230, 146), (296, 170)],
                   [(280, 290), (190, 326), (100, 290)]),
    }[kind]
    path = smooth([(60, 210), *up, (end, 210)]) + smooth([(end, 210), *down, (60, 210)])
    c.shape(path, "#dcebf7")
    c.line(path, BLUE, 5)
    c.text(352, 48, label, 40, INK)
    return c.reduced(width)


def pressure_volume(kind: str, width: int, label: str) -> Image.Image:
    """A pressure-volume loop of the left ventricle: grey the healthy loop, red the loop in question."""
    c = Canvas(400, 340, "#fbfbfd", 3 * width / 400)
    c.line([(56, 24), (56, 296), (384, 296)], INK, 3)
    c.text(384, 318, "volume", 18, INK, "rm")
    c.text(66, 24, "pressure", 18, INK, "lm")

    def draw(left: float, right: float, top: float, tone: str, width: float) -> None:
        filling = smooth([(left, 276), ((left + right) / 2, 272), (right, 262)])
        squeezing = smooth([(right, 262), (right + 1, 200), (right - 2, top + 40)])
        ejecting = smooth([(right - 2, top + 40), ((left + right) / 2 + 16, top), (left + 4, top + 26)])
        relaxing = smooth([(left + 4, top + 26), (left, 200), (left, 276)])
        path = [*filling, *squeezing, *ejecting, *relaxing]
        c.line(path, tone, width)

    draw(130, 260, 120, "#b4bcc7", 4)
    draw(*{"stenosis": (134, 262, 46), "leak": (150, 350, 104), "stiff": (120, 210, 122),
           "weak": (220, 330, 150)}[kind], RED, 6)
    c.text(360, 46, label, 38, INK)
    return c.reduced(width)


def gallbladder(width: int) -> Image.Image:
    """A sector of ultrasound with a gallbladder, a stone in it, and the stone's shadow."""
    c = Canvas(500, 400, 2, 2 * width / 500, "L")
    sector = [(210, 16), (290, 16), *arc(250, -60, 330, 440, 33, 147)]
    c.shape(sector, 74)
    rng = random.Random(5)
    with c.inside(sector):
        for _ in range(420):
            a, d = rng.uniform(33, 147), rng.uniform(70, 440)
            x, y = 250 + d * 0.75 * math.cos(math.radians(a)), -60 + d * math.sin(math.radians(a))
            c.line([(x - rng.uniform(3, 12), y), (x + rng.uniform(3, 12), y)], rng.choice((50, 92, 104, 120)), 2.4)
        for y, tone in ((52, 150), (66, 120)):
            c.line(arc(250, -60, (y + 60) * 0.75, y + 60, 40, 140), tone, 6)
        c.oval(240, 190, 112, 62, 150, tilt=-12)
        c.oval(240, 190, 105, 55, 4, tilt=-12)
        c.shape([(196, 228), (252, 226), (262, 400), (172, 400)], 12)
        c.shape(arc(226, 222, 27, 22, 180, 360), 244)
        c.shape([(199, 222), (253, 222), (244, 230), (206, 230)], 200)
        c.soft(oval(310, 290, 50, 30), 128, 14, 0.6)
    c.image = c.image.filter(ImageFilter.GaussianBlur(1.5 * c.scale))
    c.text(30, 30, "GB", 22, 210, "lm")
    return c.reduced(width)


def rash(width: int) -> Image.Image:
    """Skin with a ring-shaped red rash."""
    c = Canvas(400, 300, (236, 190, 160), 2 * width / 400)
    c.soft(oval(90, 20, 220, 110), (243, 204, 176), 50, 0.8)
    c.soft(oval(380, 300, 180, 120), (219, 166, 136), 60, 0.9)
    c.soft(oval(205, 150, 116, 96, -8), (204, 92, 84), 9, 0.95)
    c.soft(oval(206, 150, 88, 70, -8), (235, 184, 158), 12, 0.95)
    c.soft(oval(207, 150, 36, 28), (208, 104, 94), 10, 0.95)
    c.soft(oval(207, 150, 5, 5), (126, 36, 40), 1.6)
    rng = random.Random(17)
    for _ in range(46):
        x, y = rng.uniform(0, 400), rng.uniform(0, 300)
        c.soft_line([(x, y), (x + rng.uniform(4, 12), y + rng.uniform(10, 20)),
                     (x + rng.uniform(10, 20), y + rng.uniform(24, 34))], (122, 84, 62), 1.1, 0.4, 0.5)
    return c.reduced(width)


def nephron(width: int) -> Image.Image:
    """A nephron in outline with its parts lettered A to E."""
    c = Canvas(1200, 800, "#fffdf8", 2.5 * width / 1200)
    c.box(0, 0, 1200, 400, "#fdf3e4")
    c.line([(0, 400), (1200, 400)], "#d7c6a8", 3)
    c.text(1180, 30, "cortex", 30, "#a08a62", "rm")
    c.text(1180, 770, "medulla", 30, "#a08a62", "rm")
    tube = [(250, 170), (330, 120), (400, 200), (330, 260), (410, 320), (500, 240), (540, 330), (520, 480), (526, 640),
            (560, 700), (600, 640), (606, 480), (610, 330), (640, 230), (710, 150), (780, 220), (730, 290), (820, 310),
            (900, 240), (960, 250)]
    path = smooth(tube)
    third = len(path)
    c.line(path, "#c98f3c", 44)
    c.line(path[: third * 6 // 19], "#f0c469", 32)
    c.line(path[third * 6 // 19 : third * 9 // 19], "#f6dfa6", 22)
    c.line(path[third * 9 // 19 : third * 13 // 19], "#e8a04e", 32)
    c.line(path[third * 13 // 19 :], "#f3d07d", 32)
    c.line([(960, 180), (960, 780)], "#c98f3c", 60)
    c.line([(960, 180), (960, 780)], "#f0c469", 46, caps=True)
    c.oval(200, 190, 86, 82, "#f7e3bd", "#c98f3c", 8)
    rng = random.Random(2)
    for i in range(9):
        a = i * math.tau / 9
        c.oval(196 + 36 * math.cos(a), 190 + 34 * math.sin(a), 21, 17, fill="#c9514c", tilt=rng.uniform(0, 180))
    c.oval(196, 190, 22, 20, "#b8423f")
    c.line([(60, 120), (140, 168)], "#c9514c", 20)
    c.line([(60, 262), (140, 212)], "#c9514c", 14)
    for name, x, y in (("A", 200, 316), ("B", 440, 140), ("C", 668, 560), ("D", 790, 130), ("E", 1030, 560)):
        c.oval(x, y, 32, fill=INK)
        c.text(x, y, name, 36, "#ffffff")
    return c.reduced(width)
