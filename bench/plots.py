"""A plot that a browser and a page of a repository show as it is: horizontal bars, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LABEL_PX, _BAR_PX, _ROW_PX = 190, 380, 22
_COLOURS = ("#2563a6", "#c46a1b", "#6b7280")

Rows = Sequence[tuple[str, Sequence[float]]]
"""What, and a value for each series."""


def bars(title: str, series: Sequence[str], rows: Rows, unit: str = "") -> str:
    """Bars that begin at zero, of one scale; each row has one for each of `series`."""
    largest = max((value for _, values in rows for value in values), default=0) or 1
    parts = [_text(0, 16, title, weight="bold")]
    y = 30
    for number, name in enumerate(series if len(series) > 1 else ()):
        parts += [_bar(number * 170, y, 10, number), _text(number * 170 + 16, y + 10, name)]
    y += 24 * (len(series) > 1)
    for label, values in rows:
        parts.append(_text(0, y + 13, label))
        height = (_ROW_PX - 6) / len(values)
        for number, value in enumerate(values):
            width = value / largest * _BAR_PX
            parts.append(_bar(_LABEL_PX, y + number * height, width, number, height))
            told = f"{value:,.3g}{unit}" if value < 1000 else f"{value:,.0f}{unit}"
            parts.append(_text(_LABEL_PX + width + 5, y + (number + 1) * height - 1, told, size=10))
        y += _ROW_PX
    width = _LABEL_PX + _BAR_PX + 80
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 4}" role="img"'
        f' font-family="sans-serif"><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _bar(x: float, y: float, width: float, number: int, height: float = 10) -> str:
    box = f'x="{x:.0f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
    return f'<rect {box} fill="{_COLOURS[number]}"/>'


def _text(x: float, y: float, text: str, size: int = 12, weight: str = "normal") -> str:
    return f'<text x="{x:.0f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}">{escape(text)}</text>'
