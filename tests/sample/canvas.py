"""A drawing surface in logical units: large while drawing, reduced at the end, so that edges come out smooth."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PIL import Image, ImageDraw, ImageFilter, ImageFont

Point = tuple[float, float]
Colour = str | tuple[int, ...] | int


def smooth(points: Sequence[Point], closed: bool = False, steps: int = 14) -> list[Point]:
    """Points along the Catmull-Rom curve through `points`."""
    count = len(points)

    def at(i: int) -> Point:
        return points[i % count if closed else min(max(i, 0), count - 1)]

    def between(p: float, q: float, r: float, s: float, t: float) -> float:
        return 0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t * t + (3 * q - p - 3 * r + s) * t**3)

    path: list[Point] = []
    for i in range(count if closed else count - 1):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = (at(i + k) for k in (-1, 0, 1, 2))
        for step in range(steps):
            path.append((between(ax, bx, cx, dx, step / steps), between(ay, by, cy, dy, step / steps)))
    if not closed:
        path.append(points[-1])
    return path


def oval(cx: float, cy: float, rx: float, ry: float, tilt: float = 0, steps: int = 96) -> list[Point]:
    """The outline of an ellipse, turned by `tilt` degrees."""
    cos, sin = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
    ring = ((rx * math.cos(2 * math.pi * i / steps), ry * math.sin(2 * math.pi * i / steps)) for i in range(steps))
    return [(cx + x * cos - y * sin, cy + x * sin + y * cos) for x, y in ring]


def star(cx: float, cy: float, outer: float, inner: float, points: int = 5, turn: float = -90) -> list[Point]:
    """The outline of a star."""
    return [
        (
            cx + (outer, inner)[i % 2] * math.cos(math.radians(turn + 180 * i / points)),
            cy + (outer, inner)[i % 2] * math.sin(math.radians(turn + 180 * i / points)),
        )
        for i in range(2 * points)
    ]


def arc(cx: float, cy: float, rx: float, ry: float, start: float, end: float, steps: int = 40) -> list[Point]:
    """Points along a part of an ellipse, angles in degrees, clockwise from the right."""
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]


def font(size: float) -> ImageFont.FreeTypeFont:
    """Pillow's built-in face with its basic layout, which does not depend on the libraries of the system."""
    built_in = ImageFont.load_default(10)
    assert isinstance(built_in, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return ImageFont.truetype(io.BytesIO(built_in.font_bytes), size, layout_engine=ImageFont.Layout.BASIC)


class Canvas:
    """Draws shapes given in logical units on an image `scale` times as large."""

    def __init__(self, width: float, height: float, paper: Colour, scale: float, mode: str = "RGB") -> None:
        self.width, self.height, self.scale = width, height, scale
        self.image = Image.new(mode, (round(width * scale), round(height * scale)), paper)

    @property
    def _pen(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self.image, "RGBA" if self.image.mode == "RGB" else None)

    def _px(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self.scale, y * self.scale) for x, y in points]

    def shape(
        self, points: Sequence[Point], fill: Colour | None = None, edge: Colour | None = None, width: float = 0
    ) -> None:
        """A polygon, filled, with an edge, or both."""
        if fill is not None:
            self._pen.polygon(self._px(points), fill=fill)
        if edge is not None:
            self.line([*points, points[0]], edge, width)

    def blob(
        self, points: Sequence[Point], fill: Colour | None = None, edge: Colour | None = None, width: float = 0
    ) -> None:
        """A smooth closed shape through the points."""
        self.shape(smooth(points, closed=True), fill, edge, width)

    def oval(
        self,
        cx: float,
        cy: float,
        rx: float,
        ry: float | None = None,
        fill: Colour | None = None,
        edge: Colour | None = None,
        width: float = 0,
        tilt: float = 0,
    ) -> None:
        self.shape(oval(cx, cy, rx, rx if ry is None else ry, tilt), fill, edge, width)

    def box(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: Colour | None = None,
        edge: Colour | None = None,
        width: float = 0,
        radius: float = 0,
    ) -> None:
        s = self.scale
        self._pen.rounded_rectangle(
            (x * s, y * s, (x + w) * s - 1, (y + h) * s - 1),
            radius * s,
            fill,
            edge,
            max(1, round(width * s)) if edge else 0,
        )

    def line(self, points: Sequence[Point], fill: Colour, width: float, caps: bool = True) -> None:
        """A stroke with round joints and, unless `caps` is off, round ends."""
        px, w = self._px(points), max(1, round(width * self.scale))
        self._pen.line(px, fill=fill, width=w, joint="curve")
        if caps and w > 3:
            for x, y in (px[0], px[-1]):
                self._pen.ellipse((x - w / 2, y - w / 2, x + w / 2, y + w / 2), fill=fill)

    def curve(self, points: Sequence[Point], fill: Colour, width: float) -> None:
        self.line(smooth(points), fill, width)

    def limb(self, points: Sequence[Point], widths: Sequence[float], fill: Colour) -> None:
        """A stroke through the points whose width changes on the way."""
        path = smooth(points)
        spans = len(widths) - 1
        left, right = [], []
        for i, (x, y) in enumerate(path):
            (x0, y0), (x1, y1) = path[max(i - 1, 0)], path[min(i + 1, len(path) - 1)]
            length = math.hypot(x1 - x0, y1 - y0) or 1
            at = i / (len(path) - 1) * spans
            low = min(int(at), spans - 1)
            half = (widths[low] + (widths[low + 1] - widths[low]) * (at - low)) / 2
            left.append((x - (y1 - y0) / length * half, y + (x1 - x0) / length * half))
            right.append((x + (y1 - y0) / length * half, y - (x1 - x0) / length * half))
        self.shape(left + right[::-1], fill)
        self.oval(*points[0], widths[0] / 2, fill=fill)
        self.oval(*points[-1], widths[-1] / 2, fill=fill)

    def text(self, x: float, y: float, words: str, size: float, fill: Colour, anchor: str = "mm") -> None:
        """One line of words; the dots of ä, ö and ü are set here, since the built-in face lacks these letters."""
        face = font(size * self.scale)
        base = words.translate(str.maketrans("äöü", "aou"))
        self._pen.text((x * self.scale, y * self.scale), base, font=face, fill=fill, anchor=anchor)
        left, _, _, _ = face.getbbox(base, anchor=anchor)
        for i, letter in enumerate(words):
            if letter in "äöü":
                middle = x + (left + face.getlength(base[:i]) + face.getlength(base[i]) / 2) / self.scale
                height = y - size * 0.40
                for side in (-1, 1):
                    self.oval(middle + side * size * 0.115, height, size * 0.058, fill=fill)

    @contextmanager
    def inside(self, outline: Sequence[Point]) -> Iterator[None]:
        """What is drawn in the block shows only within the outline."""
        before = self.image.copy()
        yield
        mask = Image.new("L", self.image.size, 0)
        ImageDraw.Draw(mask).polygon(self._px(outline), fill=255)
        self.image = Image.composite(self.image, before, mask)

    def soft(self, outline: Sequence[Point], fill: Colour, blur: float, strength: float = 1.0) -> None:
        """A shape whose border fades out over about `blur` units."""
        self._fade(self._px(outline), 0, fill, blur, strength)

    def soft_line(self, points: Sequence[Point], fill: Colour, width: float, blur: float, strength: float = 1) -> None:
        """A smooth stroke whose border fades out."""
        self._fade(self._px(smooth(points)), max(1, round(width * self.scale)), fill, blur, strength)

    def _fade(self, px: Sequence[Point], width: int, fill: Colour, blur: float, strength: float) -> None:
        # The mask covers no more than the shape and its fading border: most of the drawing time goes into blurring.
        margin = width + 4 * blur * self.scale + 2
        xs, ys = [x for x, _ in px], [y for _, y in px]
        left, top = max(0, int(min(xs) - margin)), max(0, int(min(ys) - margin))
        right = min(self.image.width, int(max(xs) + margin))
        bottom = min(self.image.height, int(max(ys) + margin))
        if right <= left or bottom <= top:
            return
        mask = Image.new("L", (right - left, bottom - top), 0)
        pen, moved = ImageDraw.Draw(mask), [(x - left, y - top) for x, y in px]
        if width:
            pen.line(moved, fill=round(255 * strength), width=width, joint="curve")
        else:
            pen.polygon(moved, fill=round(255 * strength))
        self.image.paste(fill, (left, top), mask.filter(ImageFilter.GaussianBlur(blur * self.scale)))

    def grain(self, seed: int, amount: float, coarse: float = 1.6) -> None:
        """Film grain, the same for the same seed."""
        w, h = self.image.size
        small = (max(1, round(w / (coarse * 1.5))), max(1, round(h / (coarse * 1.5))))
        noise = Image.frombytes("L", small, random.Random(seed).randbytes(small[0] * small[1]))
        noise = noise.resize((w, h), Image.Resampling.BICUBIC)
        self.image = Image.blend(self.image, noise.convert(self.image.mode), amount)

    def reduced(self, width: int, height: int | None = None) -> Image.Image:
        """The finished image, `width` pixels wide; the height follows unless given."""
        size = (width, round(self.height * width / self.width) if height is None else height)
        return self.image.resize(size, Image.Resampling.BOX)


def png(image: Image.Image, colours: int | None = 40) -> bytes:
    """PNG bytes; with `colours`, a palette image of at most so many."""
    if colours is not None:
        image = image.quantize(colours, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def jpeg(image: Image.Image, quality: int = 78) -> bytes:
    """JPEG bytes."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True, subsampling=2)
    return out.getvalue()
