"""The colours of the style sheet keep the contrast they were chosen for (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tables import for_each

TOKENS = (Path(__file__).parents[3] / "static" / "css" / "tokens.css").read_text(encoding="utf-8")
PAIR = re.compile(r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)")
SINGLE = re.compile(r"--([\w-]+):\s*(#[0-9a-f]{6});")

THEMES: dict[str, dict[str, str]] = {"light": {}, "dark": {}}
for name, light, dark in PAIR.findall(TOKENS):
    THEMES["light"][name], THEMES["dark"][name] = light, dark
for name, both in SINGLE.findall(TOKENS):
    THEMES["light"][name] = THEMES["dark"][name] = both

SURFACES = ("surface", "surface-2", "bg", "sunken")
# (foreground, background, ratio): text needs 4.5, what only has to be seen 3.
NEEDS = [
    *[(text, surface, 4.5) for text in ("text", "text-2", "text-3", "link") for surface in SURFACES],
    *[("control", surface, 3.0) for surface in ("surface", "surface-2", "bg")],
    *[("focus", surface, 3.0) for surface in SURFACES],
    ("on-accent", "accent", 4.5),
    ("link", "accent-soft", 4.5),
    ("text", "mark", 4.5),
    *[(kind, f"{kind}-soft", 4.5) for kind in ("ok", "warn", "danger", "info")],
    *[(kind, surface, 4.5) for kind in ("ok", "warn", "danger", "info") for surface in ("surface", "bg")],
    *[(f"c{slot}", "sunken", 3.0) for slot in range(12)],
    *[("on-app", f"c{slot}", 4.5) for slot in range(12)],
]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@for_each("theme", ["light", "dark"])
@for_each(("above", "below", "needed"), NEEDS)
def test_a_colour_can_be_read_on_its_ground(theme: str, above: str, below: str, needed: float) -> None:
    colours = THEMES[theme]
    assert contrast(luminance(colours[above]), luminance(colours[below])) >= needed


def test_one_of_the_two_strokes_of_a_box_shows_on_any_pixel() -> None:
    outer, inner = (luminance(THEMES["light"][name]) for name in ("box-outer", "box-inner"))
    worst = min(max(contrast(grey / 1000, outer), contrast(grey / 1000, inner)) for grey in range(1001))
    assert worst >= 3.39


def test_no_text_is_smaller_than_twelve_pixels() -> None:
    for sheet in (Path(__file__).parents[3] / "static" / "css").glob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        sizes = [float(size) for size in re.findall(r"font(?:-size)?:[^;]*?(\d+(?:\.\d+)?)px", text)]
        assert min(sizes, default=12) >= 12, sheet.name
