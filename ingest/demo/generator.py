"""Make a sample week in a home folder of its own, through the spool and the worker like any other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
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
        """Every picture in order, drawn when it is asked for. The looks of a stretch go into the spool behind
        it, as what is in there is taken in by its time.
        """
        if not sample_week.is_sample(self._home.data_dir):  # before its first frame can be seen
            sample_week.write(self._home.data_dir, self.week)
        seed, zone = self._options.seed, self._options.zone
        for day in self.days:
            for stretch in day.stretches:
                if isinstance(stretch, Visit):
                    for moment in stretch.moments:
                        drawn = picture(self._fonts, zone, stretch, moment)
                        yield Item(capture(seed, zone, stretch, moment), drawn.webp())
                if looks := report(seed, stretch):
                    self._home.spool.put(looks)

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
# away, each look is counted as what the ledger says of that. A batch is of one stretch, and nothing is looked
# at while the program does not run.

LOOK_MS = 5_000
MONITOR = "DP-1"
# Any fixed UUID serves: it only has to be the same in every run.
_NAMESPACE = uuid.UUID("5f0c7b9e-3a51-5d0e-8a64-7c3f0d1c2b6a")


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
        batch_id=batch_id(seed, visit),
        visible=(),
    )


def batch_id(seed: int, stretch: Visit | Away) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{seed} looks {stretch.start_ms}"))


def report(seed: int, stretch: Visit | Away) -> LookReport | None:
    """The looks of a stretch; None where there were none. The first look at each moment became a picture."""
    moments: list[tuple[int, int, str | None]] = [(stretch.start_ms, stretch.end_ms, None)]
    decision: tuple[str, str] | None = ("deduped", "unchanged")
    if isinstance(stretch, Visit):
        moments = [(m.captured_ms, m.ended_ms, capture_id(seed, m)) for m in stretch.moments]
    else:
        decision = LEFT_OUT[stretch.reason]
    if decision is None:
        return None
    looks, runs = 0, []
    for start_ms, end_ms, name in moments:
        count, kept = len(range(start_ms, end_ms, LOOK_MS)), int(name is not None)
        looks += count
        if count > kept:
            since_ms = start_ms + kept * LOOK_MS
            runs.append(DecisionRun(MONITOR, *decision, since_ms, end_ms, count - kept, name))
    return LookReport(batch_id(seed, stretch), stretch.start_ms, stretch.end_ms, looks, tuple(runs))
