"""What is true of a sample week: what reading and answers are judged by.

Scenes with the lines that were drawn on each picture, the facts planted in them, the stretches that were left
out and why, and questions whose answers are known. Nothing here was read from a picture: the week is drawn
again by what it was made with. Times are epoch milliseconds, ranges half-open.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from ingest.demo.days import Away, Day, Options, Visit, plan
from ingest.demo.drawing import Fonts, find_fonts
from ingest.demo.generator import capture_id, picture
from ingest.demo.story import FactKind
from store.core.paths import DataDir
from store.frames.frames import ID_STEP
from store.timeline import sample_week
from store.timeline.sample_week import SampleWeek

QuestionKind = Literal["facts", "gap", "not_found"]


@dataclass(frozen=True, slots=True)
class SampleFrame:
    """One picture: `lines` are what was drawn on it, top to bottom."""

    capture_id: str
    captured_ms: int
    ended_ms: int
    lines: tuple[str, ...]

    @property
    def frame_id(self) -> int:
        """Its id in `frames`: the week never has two frames in one millisecond."""
        return self.captured_ms * ID_STEP


@dataclass(frozen=True, slots=True)
class Fact:
    """Words that stand in one line on the screen, who wrote or did it, and in which scene."""

    id: str
    kind: FactKind
    text: str
    who: str
    language: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One stretch in one window; `activity` says in one sentence what the person did."""

    id: str
    start_ms: int
    end_ms: int
    app_name: str
    window_name: str
    browser_url: str | None
    project: str
    activity: str
    language: str
    facts: tuple[Fact, ...]
    frames: tuple[SampleFrame, ...]

    def showing(self, text: str) -> tuple[SampleFrame, ...]:
        """The pictures on which a line holds `text`."""
        return tuple(frame for frame in self.frames if any(text in line for line in frame.lines))


@dataclass(frozen=True, slots=True)
class Absence:
    """A stretch without pictures. `reason` as in `store.timeline.gaps.Gap`."""

    start_ms: int
    end_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known.

    ``facts``: the answer cites frames of `scenes` and gives the texts of `expects`. ``gap``: nothing
    was recorded, for `reason`. ``not_found``: frames exist, but what is asked for stands on none.
    """

    id: str
    kind: QuestionKind
    message: str
    language: str
    start_ms: int
    end_ms: int
    scenes: tuple[str, ...] = ()
    expects: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """All of it, of one week."""

    timezone: str
    start_ms: int
    end_ms: int
    scenes: tuple[Scene, ...]
    absences: tuple[Absence, ...]
    questions: tuple[Question, ...]

    def scene(self, scene_id: str) -> Scene:
        return next(scene for scene in self.scenes if scene.id == scene_id)

    @property
    def frames(self) -> tuple[SampleFrame, ...]:
        return tuple(frame for scene in self.scenes for frame in scene.frames)


def read(data_dir: DataDir) -> Truth | None:
    """The truth of the week in a home folder; None when it holds none, or not all of one."""
    week = sample_week.read(data_dir)
    return None if week is None or not week.is_complete else truth_of(week)


def truth_of(week: SampleWeek) -> Truth:
    """The truth of a week, drawn again."""
    made_with, zone = week.made_with, ZoneInfo(week.timezone)
    last_day = date.fromisoformat(made_with["last_day"])
    days = plan(Options(**{**made_with, "last_day": last_day, "zone": zone}))
    fonts = find_fonts()
    scenes = tuple(_scene(visit, made_with["seed"], fonts, zone) for day in days for visit in day.visits)
    absences = tuple(_absences(days))
    asked = tuple(questions(scenes, absences, zone))
    return Truth(week.timezone, week.start_ms, week.end_ms, scenes, absences, asked)


def _scene(visit: Visit, seed: int, fonts: Fonts, zone: ZoneInfo) -> Scene:
    script = visit.script
    frames = tuple(
        SampleFrame(
            capture_id(seed, moment), moment.captured_ms, moment.ended_ms,
            tuple(picture(fonts, zone, visit, moment).lines),
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


def _absences(days: Sequence[Day]) -> Iterator[Absence]:
    """Every stretch without pictures, the nights between the days with it."""
    for day in days:
        for stretch in day.stretches:
            if isinstance(stretch, Away):
                yield Absence(stretch.start_ms, stretch.end_ms, stretch.reason)
    for before, after in pairwise(days):
        yield Absence(before.stretches[-1].end_ms, after.stretches[0].start_ms, "not_running")


# -- questions --------------------------------------------------------------------------------
#
# Each asks about one day. What a question expects stands in a scene of that day, so a week that was cut short
# asks fewer. English and Chinese; sensible ones, ones about time that was not recorded, and ones about things
# that never were.

_GAP_MINUTES = 5


@cache
def _asked() -> dict[str, Any]:
    """The questions of ``sample_questions.toml``: of facts, and of what never was."""
    return tomllib.loads(Path(__file__).with_name("sample_questions.toml").read_text("utf-8"))


def questions(scenes: Sequence[Scene], absences: Sequence[Absence], zone: ZoneInfo) -> Iterator[Question]:
    """Every question that these scenes answer, and some that nothing answers."""
    days: dict[str, list[Scene]] = {}
    for scene in scenes:
        days.setdefault(_date(scene.start_ms, zone), []).append(scene)
    has_chinese = any(scene.language == "zh" for scene in scenes)
    for day, of_day in days.items():
        yield from _about(day, of_day)
        yield from _never(day, of_day, has_chinese)
    yield from _gaps(absences, zone)


def _about(date: str, of_day: Sequence[Scene]) -> Iterator[Question]:
    start_ms, end_ms = of_day[0].start_ms, of_day[-1].end_ms
    texts = {fact.id: fact.text for scene in of_day for fact in scene.facts}
    for message, facts, language in _asked()["facts"]:
        if all(fact_id in texts for fact_id in facts):
            expects = tuple(texts[fact_id] for fact_id in facts)
            # Also scenes in which somebody else says the same.
            showing = tuple(scene.id for scene in of_day if any(map(scene.showing, expects)))
            yield Question(
                f"{date}/{facts[0]}", "facts", message, language, start_ms, end_ms,
                showing, expects,
            )  # fmt: skip


def _never(date: str, of_day: Sequence[Scene], has_chinese: bool) -> Iterator[Question]:
    for number, (message, language) in enumerate(_asked()["never"]):
        if language == "en" or has_chinese:
            yield Question(f"{date}/never-{number + 1}", "not_found", message, language, of_day[0].start_ms,
                           of_day[-1].end_ms)  # fmt: skip


def _gaps(absences: Sequence[Absence], zone: ZoneInfo) -> Iterator[Question]:
    for absence in absences:
        if absence.end_ms - absence.start_ms >= _GAP_MINUTES * 60_000:
            # A minute at either end stays out: the pictures beside it are not what is asked for.
            yield Question(
                f"{_date(absence.start_ms, zone)}/{absence.reason}-{absence.start_ms // 60_000}", "gap",
                "What did I do?", "en", absence.start_ms + 60_000, absence.end_ms - 60_000,
                reason=absence.reason,
            )  # fmt: skip


def _date(at_ms: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(at_ms / 1000, zone).date().isoformat()
