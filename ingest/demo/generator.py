"""Make a sample week in a home folder of its own, through the spool and the worker like any other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from ingest.core.home import Home
from ingest.demo.days import LEFT_OUT, Away, Day, Moment, Options, Visit, plan
from ingest.demo.drawing import Canvas, Fonts, desktop
from ingest.importers.items import CannotImport, Item
from store.core.preferences import utc_offset_min
from store.spool.queue import Capture, DecisionRun, LookReport
from store.timeline import sample_week
from store.timeline.sample_week import SOURCE, SampleWeek


class SampleWeekGenerator:
    """One sample week on its way. `items` draws and hands over; `finish` marks it as complete.

    Raises `CannotImport` for a home that holds anything else.
    """

    def __init__(self, home: Home, fonts: Fonts, options: Options) -> None:
        self.days = plan(options)
        self._home, self._fonts, self._options = home, fonts, options
        self.week = _empty(options, self.days)
        reject_foreign_home(home, self.week)

    @property
    def pictures(self) -> int:
        return sum(len(visit.moments) for day in self.days for visit in day.visits)

    def items(self) -> Iterator[Item]:
        """Every picture in order, drawn when it is asked for. Batches of looks go into the spool in
        between: an entry in the spool is taken in by its time, so each comes after its pictures.
        """
        if not sample_week.is_sample(self._home.data_dir):  # before its first frame can be seen
            sample_week.write(self._home.data_dir, self.week)
        seed, zone = self._options.seed, self._options.zone
        for day in self.days:
            waiting = list(reports(seed, day))
            for visit in day.visits:
                for moment in visit.moments:
                    while waiting and waiting[0].end_ms <= moment.captured_ms:
                        self._home.spool.put(waiting.pop(0))
                    yield Item(
                        capture(seed, zone, visit, moment), picture(self._fonts, zone, visit, moment).webp()
                    )
            for report in waiting:
                self._home.spool.put(report)

    def finish(self) -> None:
        """Say that it is all there, once every picture was drawn."""
        self.week = replace(self.week, is_complete=True)
        sample_week.write(self._home.data_dir, self.week)


def reject_foreign_home(home: Home, week: SampleWeek) -> None:
    """A sample week is never mixed with memories, nor with another sample week. Raises `CannotImport`."""
    folder = home.data_dir.home
    source = sample_week.stranger(home.database)
    if source is not None:
        raise CannotImport(
            f"{folder} already holds frames of another origin ({source}); a sample week goes into a home "
            "folder of its own (--home DIR), so that no answer ever mixes the two"
        )
    known = sample_week.read(home.data_dir)
    if known is None:
        if home.spool.waiting():
            raise CannotImport(f"captures wait in the spool of {folder}: it is not empty")
    elif (known.made_with, known.timezone) != (week.made_with, week.timezone):
        made_with = ", ".join(f"{name} {value}" for name, value in known.made_with.items())
        raise CannotImport(
            f"{folder} already holds a sample week, made with {made_with} in {known.timezone}; "
            "choose another --home, or delete that folder first"
        )


def _empty(options: Options, days: Sequence[Day]) -> SampleWeek:
    names = ("seed", "days", "last_day", "hours", "chinese")
    made_with = {name: getattr(options, name) for name in names} | {"last_day": options.last_day.isoformat()}
    return SampleWeek(
        made_with=made_with,
        timezone=options.zone.key,
        languages=("en", "zh") if options.chinese else ("en",),
        start_ms=days[0].stretches[0].start_ms,
        end_ms=days[-1].stretches[-1].end_ms,
    )


# A planned day as capture would have put it into the spool. A look every `LOOK_MS` at one monitor: the
# first look at a moment keeps a picture, later ones find it unchanged and extend it; where the person was
# away, each look is counted as what the ledger says of that. Batches end every `BATCH_MS`, and nothing is
# looked at while the program does not run.

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
    canvas = desktop(fonts, at, script.app, script.window, **surface.colours._asdict())
    surface.draw(canvas, moment.rows)
    return canvas


def capture(seed: int, zone: ZoneInfo, visit: Visit, moment: Moment) -> Capture:
    """What capture would have known about that picture."""
    script = visit.script

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
        utc_offset_min=utc_offset_min(moment.captured_ms, zone),
        batch_id=batch_id(seed, moment.captured_ms),
        visible=(),
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
    decision = LEFT_OUT[stretch.reason]
    if decision is not None:
        yield _Run(stretch.start_ms, stretch.end_ms, *decision)


def _part(run: _Run, start_ms: int, end_ms: int) -> Iterator[_Run]:
    """The part of a run that lies in a batch."""
    start, end = max(run.start_ms, start_ms), min(run.end_ms, end_ms)
    if start < end:
        kept = run.kept if start == run.start_ms else 0
        yield replace(run, start_ms=start, end_ms=end, kept=kept)


def _report(seed: int, start_ms: int, parts: list[_Run]) -> LookReport:
    looks, decisions = 0, []
    for part in parts:
        count = len(range(part.start_ms, part.end_ms, LOOK_MS))
        looks += count
        if count > part.kept:
            decisions.append(
                DecisionRun(
                    MONITOR, part.decision, part.reason, part.start_ms + part.kept * LOOK_MS, part.end_ms,
                    count - part.kept, part.capture_id,
                )
            )  # fmt: skip
    end_ms = parts[-1].end_ms
    return LookReport(batch_id(seed, start_ms), parts[0].start_ms, end_ms, looks, tuple(decisions))
