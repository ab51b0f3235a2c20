"""The story of the sample week, read from ``story.toml``: scenes and shifts.

``$name`` in a text stands for a figure of one week (`figures`).
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, cast

from ingest.demo.surfaces import Chat, Document, Editor, Mail, Page, Sheet, Surface, Terminal

_SURFACES = {kind.__name__.lower(): kind for kind in (Chat, Document, Editor, Mail, Page, Sheet, Terminal)}

FactKind = Literal["figure", "date", "name", "url", "words"]

Shift = tuple[tuple[int, str], ...]
"""(relative length, scene or reason why nothing was captured), in order."""


@dataclass(frozen=True)
class Planted:
    """A fact in a scene. `text` stands in one row, and fits on one line of the screen."""

    id: str
    kind: FactKind
    text: str
    who: str


@dataclass(frozen=True)
class SceneScript:
    """One window and what was done there. `activity` is told of the person at the desk."""

    id: str
    app: str
    window: str
    url: str | None
    project: str
    activity: str
    surface: Surface
    facts: tuple[Planted, ...] = ()
    language: str = "en"

    def with_figures(self, values: Mapping[str, str]) -> SceneScript:
        """The same with the figures of one week in it."""
        return cast(SceneScript, _filled(self, values))


@dataclass(frozen=True)
class Story:
    scenes: Mapping[str, SceneScript]
    weekdays: tuple[Shift, ...]


@cache
def story() -> Story:
    document = tomllib.loads(Path(__file__).with_name("story.toml").read_text("utf-8"))
    weekdays = tuple(_tuples(shift) for shift in document["shifts"].values())
    scenes = [_scene(table) for table in document["scene"]]
    return Story({scene.id: scene for scene in scenes}, weekdays)


def _scene(table: dict[str, Any]) -> SceneScript:
    kind = next(name for name in _SURFACES if name in table)
    surface, url = table.pop(kind), table.setdefault("url", None)
    if kind == "page":
        surface["url"] = url
    if isinstance(surface["rows"], str):
        surface["rows"] = surface["rows"].splitlines()
    drawn = _SURFACES[kind](**{name: _tuples(value) for name, value in surface.items()})
    facts = tuple(Planted(**fact) for fact in table.pop("facts"))
    return SceneScript(**table, surface=drawn, facts=facts)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def figures(seed: int, week: int) -> dict[str, str]:
    """The figures of one week, by name; weeks count backwards from the last one, which is 0."""
    draw = random.Random(f"{seed} {week}")
    sensors, price = draw.randint(9, 16), draw.choice((1_640, 1_780, 1_840, 1_920))
    cables, mooring = draw.randint(11, 29) * 110, draw.randint(31, 58) * 100
    minor = 40 - week
    drift = draw.randint(368, 487)
    return {
        "drift": str(drift),
        "drift_after": str(draw.randint(3, 9)),
        "ticket": f"HAR-{318 - week * 7}",
        "version": f"2.{minor}.0",
        "last_version": f"2.{minor - 1}.3",
        "sprint": str(46 - week),
        "p95_before": str(draw.randint(760, 940)),
        "p95_after": str(draw.randint(240, 390)),
        "tests": str(draw.randint(118, 164)),
        "batch": draw.choice(("48", "64", "96")),
        "sensors": str(sensors),
        "price": f"{price:,}",
        "sensors_total": f"{sensors * price:,}",
        "cables": f"{cables:,}",
        "mooring": f"{mooring:,}",
        "total": f"{sensors * price + cables + mooring:,}",
        "readers": str(draw.randint(211, 389)),
        "stations": str(draw.randint(17, 29)),
        "gap": str(draw.randint(12, 38)),
        "quote_number": f"Q-{draw.randint(20_100, 20_990)}",
    }


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """`value` with the figures put into every text of it, however deep."""
    if isinstance(value, str):
        return Template(value).substitute(values)
    if isinstance(value, tuple):
        return tuple(_filled(part, values) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _filled(getattr(value, f.name), values) for f in fields(value)})
    return value
