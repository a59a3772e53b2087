"""Schematic scans: shapes of one grey each with soft borders, a little grain. They teach no anatomy."""

from __future__ import annotations

import math
import random

from canvas import Canvas, oval, smooth
from PIL import Image

# The formatter would put every number on a line of its own.
# fmt: off


def _finish(c: Canvas, width: int, seed: int, amount: float = 0.055) -> Image.Image:
    image = c.reduced(width)
    small = Canvas(1, 1, 0, 1, "L")
    small.image = image
    small.grain(seed, amount)
    return small.image


def chest_xray(width: int, height: int, *, opacity: bool = False, big_heart: bool = False, pneumothorax: bool = False,
               seed: int = 1) -> Image.Image:
    """A frontal chest radiograph; the left lung is on the right side of the picture."""
    c = Canvas(500, 500 * height / width, 12, 2 * width / 500, "L")
    drop = 500 * height / width - 500
    c.soft(smooth([(-20, 150), (90, 96), (190, 74), (205, 20), (205, -20), (295, -20), (295, 20), (310, 74), (410, 96),
                   (520, 150), (520, 560 + drop), (440, 560 + drop), (436, 300), (430, 560 + drop), (70, 560 + drop),
                   (66, 300), (60, 560 + drop), (-20, 560 + drop)], closed=True), 96, 5)
    c.soft(smooth([(76, 200), (120, 120), (200, 84), (300, 84), (380, 120), (424, 200), (440, 400), (430, 520 + drop),
                   (70, 520 + drop), (60, 400)], closed=True), 126, 9)
    right = smooth([(210, 112), (176, 104), (138, 136), (108, 210), (92, 300), (90, 372), (130, 352), (180, 342),
                    (222, 362), (228, 250), (226, 160)], closed=True)
    left = smooth([(290, 112), (324, 104), (362, 136), (392, 210), (408, 300), (412, 388), (372, 372), (326, 364),
                   (290, 330), (278, 240), (276, 160)], closed=True)
    for lung in (right, left):
        c.soft(lung, 40, 6)
    rng = random.Random(seed)
    for side, hilum in ((-1, (206, 226)), (1, (296, 220))):
        for _ in range(15):
            a = rng.uniform(-1.25, 1.25)
            reach = rng.uniform(50, 104)
            x, y = hilum
            c.soft_line([(x, y), (x + side * reach * 0.5 * math.cos(a), y + reach * 0.55 * math.sin(a)),
                         (x + side * reach * math.cos(a), y + reach * 1.1 * math.sin(a) + 8)], 104, 3.4, 1.4, 0.55)
        c.soft(oval(hilum[0] + side * 4, hilum[1] + 6, 15, 30), 128, 7, 0.8)
    if pneumothorax:
        c.soft(smooth([(300, 112), (326, 106), (362, 138), (392, 210), (406, 300), (408, 370), (392, 362), (376, 280),
                       (352, 200), (320, 150)], closed=True), 14, 3)
        c.soft_line([(304, 134), (322, 152), (352, 202), (376, 282), (390, 358)], 150, 3, 0.8, 0.9)
    heart = [(236.0, 176), (270, 172), (292, 220), (322, 262), (344, 312), (346, 352), (318, 372), (250, 374),
             (212, 356), (206, 300), (222, 250)]
    if big_heart:
        heart = [(x + (x - 250) * (0.62 if x > 250 else 0.55), y + 2) if y > 200 else (x, y) for x, y in heart]
    c.soft(smooth(heart, closed=True), 176, 6)
    c.soft(smooth([(262, 150), (294, 152), (300, 186), (270, 196)], closed=True), 164, 5)
    for i in range(13):
        y = 62 + 27 * i
        c.soft(smooth([(234, y), (266, y), (268, y + 20), (232, y + 20)], closed=True), 192, 2.4, 0.62)
    c.soft(oval(250, 96, 12, 62), 62, 5, 0.6)
    c.soft(smooth([(60, 420), (90, 378), (130, 352), (180, 342), (224, 366), (260, 380), (300, 372), (350, 366),
                   (412, 390), (440, 430), (440, 560 + drop), (60, 560 + drop)], closed=True), 170, 4)
    c.soft(oval(366, 402, 26, 16), 96, 6, 0.7)
    for side in (-1, 1):
        for i in range(8):
            y, reach = 108 + 33 * i, 96 + 11 * min(i, 5)
            c.soft_line([(250 + side * 18, y + 2), (250 + side * (40 + reach * 0.4), y - 6),
                         (250 + side * reach * 1.02, y + 14), (250 + side * (reach + 52), y + 44)], 170, 8.5, 1.8, 0.34)
        c.soft_line([(250 + side * 20, 112), (250 + side * 84, 96), (250 + side * 176, 112)], 205, 13, 1.8, 0.72)
        c.soft(oval(250 + side * 196, 128, 30, 32), 172, 4, 0.8)
        c.soft_line([(250 + side * 206, 140), (250 + side * 214, 260), (250 + side * 216, 420)], 168, 24, 3, 0.6)
    if opacity:
        for x, y, r in ((134, 300, 42), (164, 318, 38), (118, 330, 30), (176, 288, 24)):
            c.soft(oval(x, y, r, r * 0.72), 186, 15, 0.62)
    c.text(40, 60, "R", 30, 225)
    return _finish(c, width, seed)


def brain_axial(width: int, *, weighting: str = "T1", lesion: bool = False, plaques: bool = False,
                seed: int = 2) -> Image.Image:
    """A transverse slice through the brain; T1 shows fluid dark, T2 bright, FLAIR dark with bright lesions."""
    tones = {"T1": (120, 168, 34, 200, 24), "T2": (148, 92, 236, 150, 16), "FLAIR": (140, 112, 26, 120, 14)}[weighting]
    cortex, white, fluid, scalp, bone = tones
    c = Canvas(400, 460, 6, 2 * width / 400, "L")
    rng = random.Random(seed)
    c.soft(oval(200, 230, 172, 208), scalp, 2)
    c.soft(oval(200, 230, 162, 198), bone, 2)
    c.soft(oval(200, 230, 150, 186), fluid, 2.4)
    ring = [(200 + (143 + 5 * math.sin(11 * a) + rng.uniform(-2, 2)) * math.cos(a),
             230 + (178 + 5 * math.sin(13 * a) + rng.uniform(-2, 2)) * math.sin(a))
            for a in (i * math.tau / 72 for i in range(72))]
    c.soft(smooth(ring, closed=True, steps=5), cortex, 1.8)
    core = [(200 + (108 + 14 * math.sin(15 * a + 0.5)) * math.cos(a),
             230 + (140 + 15 * math.sin(17 * a)) * math.sin(a)) for a in (i * math.tau / 120 for i in range(120))]
    c.soft(smooth(core, closed=True, steps=4), white, 3.2)
    for i in range(34):
        a = i * math.tau / 34 + rng.uniform(-0.05, 0.05)
        depth = rng.uniform(24, 44)
        x, y = math.cos(a), math.sin(a)
        bend = rng.uniform(-0.10, 0.10)
        c.soft_line([(200 + 147 * x, 230 + 182 * y), (200 + (147 - depth / 2) * math.cos(a + bend),
                                                      230 + (182 - depth / 2) * math.sin(a + bend)),
                                                      (200 + (147 - depth) * x, 230 + (182 - depth) * y)], fluid, 3.4,
                                                      1.1, 0.8)
    c.soft_line([(200, 46), (201, 96), (200, 150)], fluid, 4.2, 1.0, 0.9)
    c.soft_line([(200, 316), (199, 360), (200, 414)], fluid, 4.2, 1.0, 0.9)
    for side in (-1, 1):
        c.soft(smooth([(200 + side * x, y) for x, y in ((8, 176), (26, 158), (38, 152), (32, 178), (18, 204),
                                                        (7, 208))], closed=True), fluid, 1.8)
        c.soft(smooth([(200 + side * x, y) for x, y in ((14, 264), (28, 262), (46, 296), (54, 326), (42, 324),
                                                        (26, 294))], closed=True), fluid, 1.8)
        c.soft(oval(200 + side * 27, 238, 17, 26, side * 18), (cortex * 2 + white) // 3, 2.6)
        c.soft(smooth([(200 + side * x, y) for x, y in ((52, 190), (66, 206), (72, 236), (64, 262), (54, 236))],
                      closed=True), cortex, 2.6)
        c.soft(oval(200 + side * 38, 186, 10, 20, side * -12), cortex, 2.2)
    c.soft(oval(200, 244, 3.6, 20), fluid, 1.2)
    if lesion:
        c.soft(smooth([(262, 160), (300, 148), (326, 180), (316, 222), (276, 230), (252, 200)], closed=True),
               212 if weighting != "T1" else 70, 6, 0.85)
        c.soft(oval(290, 190, 22, 24), 250 if weighting != "T1" else 36, 3)
    if plaques:
        for x, y, tilt in ((150, 150, 40), (142, 178, 20), (252, 156, -40), (262, 186, -20), (146, 306, -30),
                           (258, 312, 28), (248, 268, 0), (158, 268, 0)):
            c.soft(oval(x, y, 6.5, 13, tilt), {"T1": 74, "T2": 244, "FLAIR": 250}[weighting], 1.8)
    return _finish(c, width, seed)


def brain_coronal(width: int, *, seed: int = 3) -> Image.Image:
    """A coronal slice, T1: ventricles above, temporal lobes, brain stem and cerebellum below."""
    c = Canvas(400, 440, 6, 2 * width / 400, "L")
    rng = random.Random(seed)
    c.soft(smooth([(200, 20), (300, 44), (362, 130), (368, 230), (344, 300), (318, 340), (300, 450), (100, 450),
                   (82, 340), (56, 300), (32, 230), (38, 130), (100, 44)], closed=True), 150, 3)
    c.soft(smooth([(200, 30), (294, 54), (352, 134), (358, 228), (330, 300), (262, 330), (138, 330), (70, 300),
                   (42, 228), (48, 134), (106, 54)], closed=True), 18, 2.4)
    for side in (-1, 1):
        upper = [(4, 50), (60, 54), (116, 92), (140, 150), (138, 200), (104, 214), (70, 204), (40, 226), (6, 214)]
        lower = [(62, 236), (108, 224), (142, 222), (146, 254), (118, 292), (74, 298), (50, 270)]
        for part in (upper, lower):
            c.soft(smooth([(200 + side * x, y) for x, y in part], closed=True), 122, 2)
        c.soft(smooth([(200 + side * x, y) for x, y in ((12, 72), (60, 80), (100, 112), (118, 158), (92, 188),
                                                        (60, 168), (30, 190), (14, 150))], closed=True), 176, 4)
        c.soft(smooth([(200 + side * x, y) for x, y in ((76, 252), (116, 240), (124, 256), (96, 280), (74, 276))],
                      closed=True), 172, 4)
        for i in range(9):
            a = -1.42 + 0.30 * i
            x, y = 200 + side * 146 * math.cos(a), 160 + 112 * math.sin(a)
            inner = rng.uniform(0.70, 0.82)
            c.soft_line([(x, y), (200 + side * 146 * inner * math.cos(a + 0.05),
                                  160 + 112 * inner * math.sin(a + 0.05))], 22, 3.4, 1)
        c.soft(smooth([(200 + side * x, y) for x, y in ((5, 146), (26, 128), (46, 128), (36, 148), (14, 166))],
                      closed=True), 20, 1.8)
        c.soft(oval(200 + side * 32, 182, 20, 16), 116, 2.4)
    c.soft(smooth([(168, 214), (232, 214), (240, 262), (222, 350), (216, 450), (184, 450), (178, 350), (160, 262)],
                  closed=True), 158, 3)
    for side in (-1, 1):
        c.soft(smooth([(200 + side * x, y) for x, y in ((30, 310), (74, 306), (98, 330), (80, 366), (40, 366))],
                      closed=True), 116, 2)
        for i in range(4):
            c.soft_line([(200 + side * 38, 322 + 11 * i), (200 + side * 64, 318 + 11 * i),
                         (200 + side * 88, 326 + 9 * i)], 60, 2, 0.8, 0.8)
    c.soft_line([(200, 40), (200, 96), (200, 128)], 18, 4, 1)
    return _finish(c, width, seed)


def head_sagittal(width: int, *, seed: int = 4) -> Image.Image:
    """A median slice of the head, T1, face to the left."""
    c = Canvas(440, 440, 6, 2 * width / 440, "L")
    rng = random.Random(seed)
    c.soft(smooth([(70, 150), (96, 74), (180, 26), (280, 30), (366, 86), (400, 180), (384, 268), (350, 320), (340, 380),
                   (356, 460), (190, 460), (184, 412), (120, 408), (84, 392), (92, 360), (78, 346), (84, 326),
                   (70, 312), (40, 292), (60, 246), (78, 206), (66, 182)], closed=True), 150, 3)
    c.soft(smooth([(110, 210), (150, 240), (176, 300), (150, 318), (104, 296), (92, 250)], closed=True), 34, 6, 0.85)
    c.soft(smooth([(110, 330), (160, 322), (188, 348), (160, 376), (112, 370)], closed=True), 96, 6, 0.9)
    c.soft(smooth([(206, 280), (220, 340), (222, 460), (206, 460), (196, 340)], closed=True), 14, 5, 0.9)
    c.soft(smooth([(84, 168), (110, 88), (184, 42), (276, 46), (352, 96), (382, 180), (368, 256), (326, 300),
                   (262, 296), (206, 250), (150, 226), (100, 206)], closed=True), 18, 2.4)
    c.soft(smooth([(94, 164), (118, 96), (186, 54), (274, 58), (342, 104), (370, 178), (354, 234), (300, 246),
                   (256, 226), (220, 232), (160, 218), (108, 196)], closed=True), 124, 2)
    for i in range(15):
        a = math.pi * (1.02 + 0.074 * i)
        x, y = 232 + 138 * math.cos(a), 182 + 128 * math.sin(a)
        depth = rng.uniform(0.62, 0.76)
        c.soft_line([(x, y), (232 + 138 * (depth + 0.14) * math.cos(a + 0.12),
                              182 + 128 * (depth + 0.14) * math.sin(a + 0.12)),
                              (232 + 138 * depth * math.cos(a + 0.04), 182 + 128 * depth * math.sin(a + 0.04))], 30,
                              3.6, 1.1)
    c.soft_line([(168, 196), (160, 166), (184, 142), (236, 132), (284, 148), (304, 178), (296, 196)], 204, 15, 2)
    c.soft_line([(178, 184), (186, 164), (236, 150), (280, 164), (288, 184)], 26, 9, 2.2)
    c.soft(oval(236, 190, 28, 20), 132, 3)
    c.soft(smooth([(226, 204), (258, 210), (264, 240), (256, 286), (246, 330), (252, 460), (230, 460), (228, 336),
                   (216, 280), (212, 240)], closed=True), 172, 2.6)
    c.soft(smooth([(212, 236), (236, 232), (240, 270), (222, 282), (208, 262)], closed=True), 186, 3)
    c.soft(smooth([(274, 238), (322, 240), (352, 262), (332, 298), (290, 304), (268, 280)], closed=True), 120, 2)
    for i in range(7):
        a = -1.1 + 0.42 * i
        c.soft_line([(276, 270), (300 + 12 * math.cos(a), 270 + 14 * math.sin(a)),
                     (306 + 40 * math.cos(a), 270 + 30 * math.sin(a))], 190, 3, 1, 0.8)
    for i in range(4):
        y = 338 + 32 * i
        c.soft(smooth([(192, y), (222, y + 2), (222, y + 24), (192, y + 22)], closed=True), 134, 2.4, 0.9)
    return _finish(c, width, seed)


def _trunk(width: int, rx: float, ry: float) -> Canvas:
    """Skin, fat and muscle wall of a CT slice, spine at the bottom."""
    c = Canvas(500, 400, 4, 2 * width / 500, "L")
    c.soft(oval(250, 196, rx, ry), 96, 2.4)
    c.soft(oval(250, 196, rx - 3, ry - 3), 58, 2)
    c.soft(oval(250, 194, rx - 26, ry - 24), 120, 3)
    c.soft(oval(250, 192, rx - 40, ry - 38), 64, 3)
    c.line([(20, 392), (150, 399), (350, 399), (480, 392)], 58, 3)
    return c


def _spine(c: Canvas, y: float) -> None:
    for side in (-1, 1):
        c.soft(smooth([(250 + side * x, y + d) for x, d in ((12, 24), (58, 22), (74, 44), (50, 66), (14, 60))],
                      closed=True), 128, 3)
        c.soft_line([(250 + side * 10, y + 24), (250 + side * 30, y + 36), (250 + side * 48, y + 34)], 214, 7, 1.4)
    c.soft(smooth([(216, y - 16), (250, y - 24), (284, y - 16), (288, y + 8), (266, y + 22), (234, y + 22),
                   (212, y + 8)], closed=True), 206, 2)
    c.soft(oval(250, y - 2, 24, 14), 168, 4, 0.8)
    c.soft_line([(236, y + 20), (234, y + 40), (250, y + 50), (266, y + 40), (264, y + 20)], 226, 6, 1.4)
    c.soft(oval(250, y + 31, 11, 10), 112, 1.6)
    c.soft_line([(250, y + 50), (250, y + 70)], 222, 7, 1.4)


def _ribs(c: Canvas, rx: float, ry: float, angles: tuple[int, ...]) -> None:
    for a in angles:
        for side in (-1, 1):
            x, y = 250 + side * rx * math.cos(math.radians(a)), 194 + ry * math.sin(math.radians(a))
            c.soft(oval(x, y, 15, 6, side * (a + 90) if side > 0 else 180 - (a + 90)), 232, 1.6)
            c.soft(oval(x, y, 9, 2.4, side * (a + 90) if side > 0 else 180 - (a + 90)), 178, 1.2)


def abdomen_ct(width: int, *, lesion: bool = False, kidneys: int = 2, seed: int = 5) -> Image.Image:
    """A transverse abdominal CT slice with liver (left in the picture), stomach, spleen, kidneys, aorta, spine."""
    c = _trunk(width, 236, 178)
    c.soft(smooth([(66, 190), (82, 118), (138, 72), (214, 64), (276, 84), (296, 116), (258, 140), (226, 166),
                   (204, 206), (186, 258), (128, 290), (82, 260)], closed=True), 160, 2.2)
    rng = random.Random(seed)
    for _ in range(9):
        x, y, a = rng.uniform(110, 220), rng.uniform(110, 230), rng.uniform(0, 3.1)
        c.soft_line([(x, y), (x + 16 * math.cos(a), y + 12 * math.sin(a)),
                     (x + 34 * math.cos(a + 0.3), y + 26 * math.sin(a + 0.3))], 188, 4, 1.4, 0.7)
    c.soft(smooth([(306, 104), (360, 78), (412, 110), (420, 160), (380, 176), (330, 150)], closed=True), 138, 2)
    c.soft(smooth([(322, 104), (362, 90), (396, 112), (370, 124), (332, 122)], closed=True), 6, 2)
    c.soft(smooth([(404, 190), (432, 180), (438, 236), (408, 280), (378, 276), (394, 232)], closed=True), 170, 2)
    c.soft(smooth([(214, 190), (260, 176), (320, 178), (378, 200), (370, 214), (316, 200), (262, 202), (222, 210)],
                  closed=True), 132, 2.4)
    for side in (-1, 1)[: 2 if kidneys == 2 else 1]:
        c.soft(smooth([(250 + side * x, y) for x, y in ((76, 240), (112, 232), (136, 262), (122, 300), (86, 304),
                                                        (78, 282), (92, 270), (76, 260))], closed=True), 206, 2)
        c.soft(oval(250 + side * 92, 270, 13, 11), 96, 3)
    if kidneys == 1:
        for x, y in ((340, 250), (372, 262), (352, 284)):
            c.oval(x, y, 15, 12, 118)
            c.soft(oval(x, y, 8, 6), 20, 2)
    for x, y, r, tone in ((300, 216, 22, 126), (338, 228, 16, 120), (206, 236, 15, 122)):
        c.soft(oval(x, y, r, r * 0.8), tone, 2)
    c.soft(oval(262, 240, 17, 17), 222, 1.6)
    c.soft(oval(216, 236, 17, 13), 186, 1.6)
    if lesion:
        c.soft(oval(132, 172, 30, 27), 92, 2.6)
        c.soft(oval(132, 172, 17, 15), 74, 5)
    _spine(c, 284)
    _ribs(c, 204, 150, (-58, -28, 6, 34, 58))
    return _finish(c, width, seed, 0.07)


def chest_ct(width: int, *, nodule: bool = False, seed: int = 6) -> Image.Image:
    """A transverse chest CT slice: two lungs, heart, aorta, spine."""
    c = _trunk(width, 236, 166)
    for side, outline in ((-1, [(24, 70), (90, 56), (160, 100), (184, 180), (166, 262), (112, 306), (52, 300),
                                (34, 250), (48, 190)]), (1, [(34, 72), (96, 60), (160, 100), (184, 180), (166, 262),
                                                             (112, 306), (58, 296), (52, 262), (96, 200), (78, 130)])):
        c.soft(smooth([(250 + side * x, y) for x, y in outline], closed=True), 16, 2)
    rng = random.Random(seed)
    for side in (-1, 1):
        for _ in range(24):
            a, reach = rng.uniform(-1.2, 1.2), rng.uniform(16, 92)
            x, y = 250 + side * (66 + reach * math.cos(a)), 206 + reach * math.sin(a) * 0.95
            r = rng.uniform(1.2, 4.2) * (1 - reach / 140)
            c.soft(oval(x, y, r + 1, r + 1), 150, 0.8, 0.9)
        for a in (-0.9, -0.3, 0.4, 1.0):
            c.soft_line([(250 + side * 58, 204), (250 + side * (80 + 10 * math.cos(a)), 206 + 26 * math.sin(a)),
                         (250 + side * (84 + 56 * math.cos(a)), 208 + 70 * math.sin(a))], 134, 5, 1.6, 0.8)
    c.soft(smooth([(214, 96), (262, 76), (316, 104), (344, 160), (324, 206), (270, 222), (220, 200), (204, 150)],
                  closed=True), 150, 2.2)
    c.soft(smooth([(232, 112), (266, 104), (284, 150), (252, 180), (224, 156)], closed=True), 186, 5)
    c.soft(oval(300, 156, 22, 32, -24), 190, 4)
    c.soft(oval(290, 250, 17, 17), 206, 1.6)
    c.soft(oval(252, 232, 9, 8), 8, 1.6)
    if nodule:
        c.soft(smooth([(142, 152), (160, 138), (178, 150), (176, 170), (156, 178), (140, 168)], closed=True), 168, 1.8)
        for a in range(0, 360, 45):
            c.soft_line([(159, 158), (159 + 30 * math.cos(math.radians(a)), 158 + 28 * math.sin(math.radians(a)))], 140,
                        2, 1, 0.7)
    _spine(c, 284)
    _ribs(c, 204, 142, (-50, -20, 12, 40, 62))
    c.soft(smooth([(226, 42), (274, 42), (270, 56), (230, 56)], closed=True), 220, 2)
    return _finish(c, width, seed, 0.07)


def pelvis_ct(width: int, *, seed: int = 7) -> Image.Image:
    """A transverse pelvic CT slice: bladder in front, rectum behind, hip joints at the sides."""
    c = _trunk(width, 240, 160)
    for side in (-1, 1):
        c.soft(smooth([(250 + side * x, y) for x, y in ((60, 92), (120, 86), (160, 130), (190, 200), (170, 280),
                                                        (110, 314), (70, 290), (84, 210))], closed=True), 128, 3)
        c.soft(oval(250 + side * 138, 196, 37, 37), 232, 2)
        c.soft(oval(250 + side * 138, 196, 27, 27), 176, 4)
        c.soft_line([(250 + side * 112, 142), (250 + side * 92, 178), (250 + side * 94, 214), (250 + side * 116, 250)],
                    236, 14, 2)
        c.soft_line([(250 + side * 166, 214), (250 + side * 190, 232)], 214, 26, 3)
        c.soft(oval(250 + side * 94, 106, 11, 11), 190, 2)
    c.soft(smooth([(196, 130), (250, 108), (304, 130), (314, 176), (288, 206), (212, 206), (186, 176)], closed=True),
           150, 2)
    c.soft(smooth([(202, 134), (250, 114), (298, 134), (306, 174), (284, 198), (216, 198), (194, 174)], closed=True),
           104, 2)
    c.soft(oval(250, 226, 44, 15), 142, 2)
    c.soft(oval(250, 266, 27, 23), 140, 2)
    c.soft(oval(252, 262, 12, 9), 10, 2)
    c.soft(smooth([(222, 310), (250, 302), (278, 310), (264, 330), (236, 330)], closed=True), 222, 2)
    return _finish(c, width, seed, 0.07)


def neck_ct(width: int, *, seed: int = 8) -> Image.Image:
    """A transverse neck CT slice: airway, vertebra, great vessels, muscles."""
    c = Canvas(400, 400, 4, 2 * width / 400, "L")
    c.soft(smooth([(200, 44), (290, 70), (346, 150), (352, 240), (300, 330), (200, 356), (100, 330), (48, 240),
                   (54, 150), (110, 70)], closed=True), 92, 2.4)
    c.soft(smooth([(200, 50), (286, 76), (340, 152), (346, 238), (296, 324), (200, 350), (104, 324), (54, 238),
                   (60, 152), (114, 76)], closed=True), 60, 2)
    for side in (-1, 1):
        for part, tone in ((((60, 96), (104, 120), (122, 170), (100, 200), (70, 150)), 132),
                           (((24, 250), (80, 236), (126, 250), (100, 310), (40, 330), (18, 290)), 126),
                           (((34, 214), (86, 206), (110, 222), (80, 238), (36, 240)), 136)):
            c.soft(smooth([(200 + side * x, y) for x, y in part], closed=True), tone, 2.2)
        c.soft(oval(200 + side * 62, 176, 13, 13), 222, 1.6)
        c.soft(oval(200 + side * 86, 186, 16, 13), 204, 1.6)
        c.soft(smooth([(200 + side * x, y) for x, y in ((14, 104), (44, 116), (48, 152), (28, 166), (22, 140))],
                      closed=True), 192, 2)
    c.soft(smooth([(168, 118), (200, 96), (232, 118), (240, 156), (200, 172), (160, 156)], closed=True), 150, 3, 0.7)
    c.soft(smooth([(182, 118), (200, 108), (218, 118), (222, 146), (200, 156), (178, 146)], closed=True), 3, 1.6)
    c.soft(smooth([(166, 204), (200, 190), (234, 204), (232, 228), (200, 236), (168, 228)], closed=True), 228, 2)
    c.soft(oval(200, 212, 22, 10), 180, 3)
    c.soft_line([(176, 230), (168, 252), (200, 284), (232, 252), (224, 230)], 232, 9, 1.6)
    c.soft(oval(200, 248, 18, 14), 118, 2)
    c.soft_line([(200, 282), (200, 316)], 226, 9, 1.6)
    return _finish(c, width, seed, 0.07)
