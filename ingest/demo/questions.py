"""Questions about a sample week whose answers are known, made from what its scenes show.

Each asks about one day. What a question expects stands in a scene of that day, so a week that was
cut short asks fewer. English and Chinese; sensible ones, ones about time that was not recorded, and
ones about things that never were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from ingest.demo.story import story
from store.timeline.sample_week import Absence, Question, Scene

_GAP_MINUTES = 5


def questions(scenes: Sequence[Scene], absences: Sequence[Absence], zone: ZoneInfo) -> Iterator[Question]:
    """Every question that these scenes answer, and some that nothing answers."""
    days: dict[str, list[Scene]] = {}
    for scene in scenes:
        days.setdefault(_date(scene.start_ms, zone), []).append(scene)
    has_chinese = any(scene.language == "zh" for scene in scenes)
    for date, of_day in days.items():
        yield from _about(date, of_day)
        yield from _never(date, of_day, has_chinese)
    yield from _gaps(absences, zone)


def _about(date: str, of_day: Sequence[Scene]) -> Iterator[Question]:
    start_ms, end_ms = of_day[0].start_ms, of_day[-1].end_ms
    texts = {fact.id: fact.text for scene in of_day for fact in scene.facts}
    for message, facts, language in story().fact_questions:
        if all(fact_id in texts for fact_id in facts):
            expects = tuple(texts[fact_id] for fact_id in facts)
            # Also scenes in which somebody else says the same.
            showing = tuple(scene.id for scene in of_day if any(map(scene.showing, expects)))
            yield Question(
                f"{date}/{facts[0]}", "facts", message, language, start_ms, end_ms,
                showing, expects,
            )  # fmt: skip


def _never(date: str, of_day: Sequence[Scene], has_chinese: bool) -> Iterator[Question]:
    for number, (message, language) in enumerate(story().unanswerable):
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
