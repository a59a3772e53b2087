"""A page of HTML as a tree of elements, for tests that read what a reader sees."""

from __future__ import annotations

import html.parser
from collections.abc import Iterator
from dataclasses import dataclass, field

_VOID = {"meta", "link", "img", "input", "br", "wbr", "hr"}


@dataclass
class Element:
    """An element with its attributes, and its children in order: elements and texts."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str = "", **attributes: str) -> Iterator[Element]:
        """The elements below this one of that tag and with these attributes; `class_` is one of its classes."""
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == (tag or child.tag) and all(child.has(*pair) for pair in attributes.items()):
                    yield child
                yield from child.all(tag, **attributes)

    def one(self, tag: str = "", **attributes: str) -> Element:
        """The only such element."""
        (found,) = self.all(tag, **attributes)
        return found

    def has(self, name: str, value: str) -> bool:
        """Whether an attribute has this value."""
        if name == "class_":
            return value in self.attributes.get("class", "").split()
        return self.attributes.get(name.replace("_", "-")) == value

    @property
    def raw(self) -> str:
        """All text below, as it is."""
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)

    @property
    def text(self) -> str:
        """All text below, with single blanks."""
        return " ".join(self.raw.split())


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            closed = self.open.pop()
            assert closed.tag == tag, f"</{tag}> closes <{closed.tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Element:
    """The page's tree; every element must be closed by its own tag."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is never closed"
    return reader.open[0]


def table(element: Element) -> list[list[str]]:
    """The rows of a table, the titles first; a cell that spans rows is repeated in each."""
    rows: list[list[str]] = []
    reaching: dict[int, tuple[int, str]] = {}
    for row in element.all("tr"):
        cells: list[str] = []
        waiting = [cell for cell in row.children if isinstance(cell, Element)]
        while waiting or len(cells) in reaching:
            place = len(cells)
            if place in reaching:
                left, text = reaching.pop(place)
                if left > 1:
                    reaching[place] = (left - 1, text)
            else:
                cell = waiting.pop(0)
                left, text = int(cell.attributes.get("rowspan", "1")), cell.text
                if left > 1:
                    reaching[place] = (left - 1, text)
            cells.append(text)
        rows.append(cells)
    return rows
