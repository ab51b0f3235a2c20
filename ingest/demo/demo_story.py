"""The story: what each window shows, by scene, and the facts that are planted in it.

A tide-gauge service named Harbour drifts, is mended, paid for and released, with colleagues in
Shanghai. Everybody in it is a role and every address ends in ``.example``, so nothing here is
anybody's. ``$name`` stands for a figure of that week (`figures`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from string import Template
from typing import Any, cast

from ingest.demo.scenes import Surface
from store.timeline.sample_week import FactKind


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

    def told_with(self, values: Mapping[str, str]) -> SceneScript:
        """The same with the figures of one week in it."""
        return cast(SceneScript, _filled(self, values))


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
