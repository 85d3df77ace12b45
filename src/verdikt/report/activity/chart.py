"""Charts of the HTML report as inline SVG: columns over time, and bars of parts."""

from collections.abc import Sequence
from typing import NamedTuple

from verdikt.report.activity.markup import Markup, build_element

_COLUMN_WIDTH = 10
_HEIGHT = 100


class Column(NamedTuple):
    """One column: its parts from the bottom up (class and number), where it leads if anywhere, and what it says."""

    parts: tuple[tuple[str, int], ...]
    link: str
    title: str


def draw_columns(columns: Sequence[Column], label: str) -> Markup:
    """Return stacked columns, as high as the highest of them; each leads to its list.

    The drawing stretches to any width, so there is no text in it.
    """
    highest = max((sum(number for _, number in column.parts) for column in columns), default=0) or 1
    drawn = [_draw_column(index, column, highest) for index, column in enumerate(columns)]
    return build_element(
        "svg",
        *drawn,
        viewBox=f"0 0 {len(columns) * _COLUMN_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_="columns",
    )


def _draw_column(index: int, column: Column, highest: int) -> Markup:
    left, top = index * _COLUMN_WIDTH, float(_HEIGHT)
    # The whole height can be hit: a small number would be hard to click on.
    shapes = [build_element("rect", x=left, y=0, width=_COLUMN_WIDTH, height=_HEIGHT, class_="hit")]
    for name, number in column.parts:
        if number:
            # Two units at least, or one ask beside a thousand passes could not be seen.
            height = max(2.0, round(number / highest * _HEIGHT, 2))
            top = max(0.0, top - height)
            shapes.append(build_element("rect", x=left + 1, y=top, width=_COLUMN_WIDTH - 2, height=height, class_=name))
    title = build_element("title", column.title)
    if not column.link:
        return build_element("g", title, *shapes)
    return build_element("a", title, *shapes, href=column.link)


def draw_bar(parts: Sequence[tuple[str, int]], label: str, *, scale: int = 0) -> Markup:
    """Return one horizontal bar of parts (class and number); `scale` is the number that fills its whole width."""
    total = max(scale, sum(number for _, number in parts)) or 1
    left, shapes = 0.0, []
    for name, number in parts:
        width = round(number / total * 100, 2)
        if width:
            shapes.append(build_element("rect", x=left, y=0, width=width, height=10, class_=name))
        left += width
    return build_element(
        "svg",
        build_element("title", label),
        *shapes,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_="bar",
    )
