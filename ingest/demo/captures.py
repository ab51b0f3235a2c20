"""A planned day as capture would have put it into the spool: pictures and batches of looks.

A look every `LOOK_MS` at one monitor. The first look at a moment keeps a picture, later ones find it
unchanged and extend it; where the person was away, each look is counted as what the ledger says of
that. Batches end every `BATCH_MS`, and nothing is looked at while the program does not run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from ingest.demo.days import LEFT_OUT, Away, Day, Moment, Visit
from ingest.demo.drawing import Canvas, desktop
from ingest.demo.fonts import Fonts
from store.spool.queue import Capture, DecisionRun, LookReport
from store.timeline.sample_week import SOURCE

LOOK_MS = 5_000
BATCH_MS = 300_000
MONITOR = "DP-1"
# Any fixed UUID serves: it only has to be the same in every run.
_NAMESPACE = uuid.UUID("5f0c7b9e-3a51-5d0e-8a64-7c3f0d1c2b6a")


@dataclass(frozen=True, slots=True)
class _Run:
    """Looks of one fate: at `start_ms` and every `LOOK_MS` before `end_ms`. `kept` of them, the first
    one or none, became a picture.
    """

    start_ms: int
    end_ms: int
    decision: str
    reason: str
    capture_id: str | None = None
    kept: int = 0


def capture_id(seed: int, moment: Moment) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{seed} {moment.captured_ms}"))


def picture(fonts: Fonts, zone: ZoneInfo, visit: Visit, moment: Moment) -> Canvas:
    """What the screen showed at a moment."""
    script, surface = visit.script, visit.script.surface
    at = datetime.fromtimestamp(moment.captured_ms / 1000, zone)
    colours = {"background": surface.background, "bar": surface.bar, "ink": surface.ink}
    canvas = desktop(fonts, at, script.app, script.window, **colours)
    surface.draw(canvas, moment.rows)
    return canvas


def capture(seed: int, zone: ZoneInfo, visit: Visit, moment: Moment) -> Capture:
    """What capture would have known about that picture."""
    script = visit.script
    offset = datetime.fromtimestamp(moment.captured_ms / 1000, zone).utcoffset()
    assert offset is not None
    return Capture(
        capture_id=capture_id(seed, moment),
        captured_ms=moment.captured_ms,
        source=SOURCE,
        monitor=MONITOR,
        app_name=script.app,
        window_name=script.window,
        browser_url=script.url,
        focused=True,
        trigger="app_switch" if moment is visit.moments[0] else "visual_change",
        utc_offset_min=round(offset.total_seconds() / 60),
        batch_id=batch_id(seed, moment.captured_ms),
    )


def batch_id(seed: int, at_ms: int) -> str:
    """The batch that a look at this moment belongs to."""
    return str(uuid.uuid5(_NAMESPACE, f"{seed} looks {at_ms // BATCH_MS}"))


def reports(seed: int, day: Day) -> Iterator[LookReport]:
    """The batches of a day, in order."""
    runs = [run for stretch in day.stretches for run in _runs(seed, stretch)]
    first, last = runs[0].start_ms // BATCH_MS, runs[-1].end_ms // BATCH_MS
    for start_ms, end_ms in pairwise(number * BATCH_MS for number in range(first, last + 2)):
        parts = [part for run in runs for part in _part(run, start_ms, end_ms)]
        if parts:
            yield _report(seed, start_ms, parts)


def _runs(seed: int, stretch: Visit | Away) -> Iterator[_Run]:
    if isinstance(stretch, Visit):
        for moment in stretch.moments:
            name = capture_id(seed, moment)
            yield _Run(moment.captured_ms, moment.ended_ms, "deduped", "unchanged", name, kept=1)
        return
    told = LEFT_OUT[stretch.reason]
    if told is not None:
        yield _Run(stretch.start_ms, stretch.end_ms, *told)


def _part(run: _Run, start_ms: int, end_ms: int) -> Iterator[_Run]:
    """The part of a run that lies in a batch."""
    start, end = max(run.start_ms, start_ms), min(run.end_ms, end_ms)
    if start < end:
        kept = run.kept if start == run.start_ms else 0
        yield replace(run, start_ms=start, end_ms=end, kept=kept)


def _report(seed: int, start_ms: int, parts: list[_Run]) -> LookReport:
    looks, found = 0, []
    for part in parts:
        count = len(range(part.start_ms, part.end_ms, LOOK_MS))
        looks += count
        if count > part.kept:
            found.append(
                DecisionRun(
                    MONITOR, part.decision, part.reason, part.start_ms + part.kept * LOOK_MS, part.end_ms,
                    count - part.kept, part.capture_id,
                )
            )  # fmt: skip
    end_ms = parts[-1].end_ms
    return LookReport(batch_id(seed, start_ms), parts[0].start_ms, end_ms, looks, tuple(found))
