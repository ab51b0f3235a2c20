"""Make a sample week in a home folder of its own, through the spool and the worker like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ingest.core.home import Home
from ingest.demo import captures
from ingest.demo.days import Away, Day, Options, Visit, plan
from ingest.demo.fonts import Fonts
from ingest.demo.questions import questions
from ingest.importers.items import CannotImport, Item
from store.timeline import sample_week
from store.timeline.sample_week import Absence, Fact, SampleFrame, SampleWeek, Scene


class SampleWeekGenerator:
    """One sample week on its way. `items` draws and hands over; `finish` writes the ground truth.

    Raises `CannotImport` for a home that holds anything else.
    """

    def __init__(self, home: Home, fonts: Fonts, options: Options) -> None:
        self.days = plan(options)
        self._home, self._fonts, self._options = home, fonts, options
        self._lines: dict[int, tuple[str, ...]] = {}
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
            waiting = list(captures.reports(seed, day))
            for visit in day.visits:
                for moment in visit.moments:
                    while waiting and waiting[0].end_ms <= moment.captured_ms:
                        self._home.spool.put(waiting.pop(0))
                    canvas = captures.picture(self._fonts, zone, visit, moment)
                    self._lines[moment.captured_ms] = tuple(canvas.lines)
                    yield Item(captures.capture(seed, zone, visit, moment), canvas.webp())
            for report in waiting:
                self._home.spool.put(report)

    def finish(self) -> SampleWeek:
        """Write down what is true, once every picture was drawn."""
        scenes = tuple(self._scene(visit) for day in self.days for visit in day.visits)
        absences = tuple(_absences(self.days))
        asked = tuple(questions(scenes, absences, self._options.zone))
        self.week = replace(self.week, is_complete=True, scenes=scenes, absences=absences, questions=asked)
        sample_week.write(self._home.data_dir, self.week)
        return self.week

    def _scene(self, visit: Visit) -> Scene:
        seed, script = self._options.seed, visit.script
        frames = tuple(
            SampleFrame(
                captures.capture_id(seed, moment), moment.captured_ms, moment.ended_ms,
                self._lines[moment.captured_ms],
            )
            for moment in visit.moments
        )  # fmt: skip
        facts = (Fact(f.id, f.kind, f.text, f.who, script.language) for f in script.facts)
        scene = Scene(
            visit.id, visit.start_ms, visit.end_ms, script.app, script.window, script.url, script.project,
            script.activity, script.language, tuple(facts), frames,
        )  # fmt: skip
        # While a text is being written, what comes later in it is not on the screen yet.
        return replace(scene, facts=tuple(fact for fact in scene.facts if scene.showing(fact.text)))


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
        raise CannotImport(
            f"{folder} already holds a sample week, made with {_told(known.made_with)} in {known.timezone}; "
            "choose another --home, or delete that folder first"
        )


def _told(made_with: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in made_with.items())


def _empty(options: Options, days: Sequence[Day]) -> SampleWeek:
    made_with = {
        "seed": options.seed,
        "days": options.days,
        "last_day": options.last_day.isoformat(),
        "hours": options.hours,
        "dst": options.dst,
        "chinese": options.chinese,
    }
    return SampleWeek(
        made_with=made_with,
        timezone=options.zone.key,
        languages=("en", "zh") if options.chinese else ("en",),
        start_ms=days[0].stretches[0].start_ms,
        end_ms=days[-1].stretches[-1].end_ms,
    )


def _absences(days: Sequence[Day]) -> Iterator[Absence]:
    """Every stretch without pictures, the nights between the days with it."""
    for day in days:
        for stretch in day.stretches:
            if isinstance(stretch, Away):
                yield Absence(stretch.start_ms, stretch.end_ms, stretch.reason)
    for before, after in pairwise(days):
        yield Absence(before.stretches[-1].end_ms, after.stretches[0].start_ms, "not_running")
