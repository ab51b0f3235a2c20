"""Questions about a sample week whose answers are known, made from what its scenes show.

Each asks about one day. What a question expects stands in a scene of that day, so a week that was
cut short asks fewer. English and Chinese; sensible ones, ones about time that was not recorded, and
ones about things that never were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from store.timeline.sample_week import Absence, Question, Scene

_GAP_MINUTES = 5


@dataclass(frozen=True, slots=True)
class _About:
    """Asks for facts by their ids."""

    message: str
    facts: tuple[str, ...]
    language: str = "en"


_ABOUT = (
    _About("How far was the clock of buoy 7 off?", ("drift",)),
    _About("Since when does buoy 7 run ahead?", ("drift_since",)),
    _About("Which ticket is about the drift?", ("ticket",)),
    _About("How many readings were rejected because of the drift?", ("rejected",)),
    _About("What does the handbook say about late packets and the median?", ("median",)),
    _About("Which window of samples does the handbook call a compromise?", ("window",)),
    _About("What is MAX_DRIFT_MS set to?", ("max_drift",)),
    _About("How many tests failed?", ("failed",)),
    _About("Did the tests pass, and how long did they take?", ("passed",)),
    _About("When was the review approved?", ("approved",)),
    _About("What is the p95 latency of the uploads?", ("p95_before", "p95_after")),
    _About("How large are the upload batches now?", ("batch",)),
    _About("To which version would we roll back?", ("rollback",)),
    _About("On how many stations is Harbour live?", ("live",)),
    _About("How high was high tide at buoy 7?", ("high_tide",)),
    _About("When is the boat free?", ("boat",)),
    _About("What is the serial of the spare receiver?", ("serial",)),
    _About("By when is the Lantern budget due?", ("budget_due",)),
    _About("When is the planning meeting?", ("meeting",)),
    _About("What does Kelp Instruments offer for the pressure sensors?", ("offer",)),
    _About("What is the grand total of the Lantern budget?", ("total",)),
    _About("Which total did I send to finance?", ("sent_total",)),
    _About("Why did the mooring gear get more expensive?", ("steel",)),
    _About("Which cost centre did finance name?", ("cost_centre",)),
    _About("Where is the first harbour of Lantern?", ("first_harbour",)),
    _About("Which problem of buoy 3 is known?", ("known",)),
    _About("What are the plans for next week, anchor and batteries?", ("next_week",)),
    _About("How long did the volunteers work on the lamps?", ("volunteers",)),
    _About("浮标七号的时钟快了多少？", ("zh_drift",), "zh"),
    _About("昨晚丢失了多少分钟数据？", ("zh_lost",), "zh"),
    _About("校准方案什么时候要给出？", ("zh_due",), "zh"),
    _About("周报里偏差降到多少毫秒？", ("zh_result",), "zh"),
    _About("校准时要连续采样多少次？", ("zh_samples",), "zh"),
    _About("备件的合计金额是多少？", ("zh_total",), "zh"),
)

_NEVER = (
    ("What did the dentist write about the appointment?", "en"),
    ("Which flight to Reykjavik did I book?", "en"),
    ("昨天的足球比赛结果是什么？", "zh"),
)


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
    for about in _ABOUT:
        sources = [scene for scene in of_day if any(fact.id in about.facts for fact in scene.facts)]
        texts = {fact.id: fact.text for scene in sources for fact in scene.facts}
        if all(fact_id in texts for fact_id in about.facts):
            yield Question(
                f"{date}/{about.facts[0]}", "facts", about.message, about.language, start_ms, end_ms,
                _scenes_that_say(of_day, [texts[fact_id] for fact_id in about.facts]),
                tuple(texts[fact_id] for fact_id in about.facts),
            )  # fmt: skip


def _scenes_that_say(of_day: Sequence[Scene], texts: Iterable[str]) -> tuple[str, ...]:
    """Scenes that show one of the texts: also where the same is said by somebody else."""
    wanted = list(texts)
    return tuple(scene.id for scene in of_day if any(scene.showing(text) for text in wanted))


def _never(date: str, of_day: Sequence[Scene], has_chinese: bool) -> Iterator[Question]:
    for number, (message, language) in enumerate(_NEVER):
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
