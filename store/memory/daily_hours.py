"""Days, hour by hour: what each clock hour was about, in points that name the frames which show them.

Nothing of it is stored: an hour says what its observations do (`store.memory.observations`). Hours are those
of UTC, as observations have them, and a person's zone only decides which day an hour is told in
(`store.memory.daily_summaries`). Triggers list the hours whose observations changed: their days are to be
written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import apsw

from store.core import tombstones
from store.core.database import Database, rows, scalar
from store.memory import observations
from store.memory.observations import HOUR_MS, MODEL_SAYS, Observation

MAX_POINTS = 8
"""Points of an hour: the observations with the most time."""
MAX_QUOTES = 3
_MAX_POINT_CHARS = 300

Source = Literal["none", "rule", "model"]


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that stands on a frame; "" where the frame as such shows it."""

    frame_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that was done, from `at_ms` on, and what shows it."""

    at_ms: int
    text: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Hour:
    """One clock hour, ``[hour, hour + 1)`` hours since 1970; without points it is a placeholder.

    `model_error` says why a chat model could not put one of its observations into better words, None for no
    failure.
    """

    hour: int
    source: Source
    points: tuple[Point, ...]
    model_error: str | None

    @property
    def start_ms(self) -> int:
        return self.hour * HOUR_MS


def between(database: Database, start_ms: int, end_ms: int, until_ms: int) -> list[Hour]:
    """The hours that touch ``[start_ms, end_ms)`` and are over by `until_ms`, in order, with the points that
    lie in it.
    """
    after = min(-(-end_ms // HOUR_MS), until_ms // HOUR_MS)
    return [_hour(database, hour, start_ms, end_ms) for hour in range(start_ms // HOUR_MS, after)]


def _hour(database: Database, hour: int, start_ms: int, end_ms: int) -> Hour:
    told = observations.of_hour(database, hour)
    worded = [one for one in told if one.title or one.narrative]
    longest = sorted(worded, key=lambda one: -one.active_ms)[:MAX_POINTS]
    points = [_point(one) for one in sorted(longest, key=lambda one: (one.start_ms, one.id))]
    is_model = any(one.source == "model" for one in told)
    source: Source = "model" if is_model else "rule" if points else "none"
    error = max((one.refine_error for one in told if one.refine_error), default=None)
    return Hour(hour, source, tuple(point for point in points if start_ms <= point.at_ms < end_ms), error)


def _point(observation: Observation) -> Point:
    """It names the lines that were quoted on frames, else a frame of its time."""
    quotes = [Quote(fact.frame_id, fact.text) for fact in observation.facts if fact.frame_id is not None]
    if not quotes:
        quotes = [Quote(frame_id, "") for frame_id in observation.frame_ids[:1]]
    return Point(observation.start_ms, _sentence(observation), tuple(quotes[:MAX_QUOTES]))


def _sentence(observation: Observation) -> str:
    """A person's own sentence; of the rules, what was open and for how long, with what a model says of it."""
    if observation.source == "user" and "narrative" in observation.edited and observation.narrative:
        return " ".join(observation.narrative.split())[:_MAX_POINT_CHARS]
    spent = f", {duration_text(observation.active_ms)}" if observation.active_ms >= 1000 else ""
    _, mark, said = observation.narrative.partition(MODEL_SAYS)
    return " ".join(f"{observation.title}{spent}. {mark}{said}".split())[:_MAX_POINT_CHARS]


def duration_text(duration_ms: int) -> str:
    """``45 s``, ``12 min``, ``2 h 5 min``"""
    hours, minutes = divmod(round(duration_ms / 60_000), 60)
    if not hours and not minutes:
        return f"{round(duration_ms / 1000)} s"
    return f"{f'{hours} h' if hours else ''} {f'{minutes} min' if minutes else ''}".strip()


# -- what is to be told (inside `Database.write()` where it writes) -----------------------------

_IS_READY = "(hour + 1) * :size <= :until and hour not in (select hour from memory_hours)"
_TOUCHES = "hour * :size < :end and (hour + 1) * :size > :start"


def due(database: Database, until_ms: int) -> int | None:
    """The newest hour over by `until_ms` whose observations changed and are complete; None for none."""
    sql = f"select max(hour) from daily_due where {_IS_READY}"
    found: int | None = database.scalar(sql, {"size": HOUR_MS, "until": until_ms})
    return found


def state(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """What must not change while the days of ``[start_ms, end_ms)`` are read and written."""
    sql = f"select hour, changes from daily_due where {_TOUCHES} order by hour"
    listed = rows(connection, sql, {"size": HOUR_MS, "start": start_ms, "end": end_ms})
    return [(0, tombstones.newest(connection)), *listed]


def texts_done(connection: apsw.Connection, hour: int, start_ms: int, end_ms: int, until_ms: int) -> None:
    """The days of `hour`, which cover ``[start_ms, end_ms)``, were written of what was due by `until_ms`."""
    sql = f"""
        delete from daily_due
        where (hour = :hour or (hour * :size >= :start and (hour + 1) * :size <= :end)) and {_IS_READY}
        """
    values = {"hour": hour, "size": HOUR_MS, "start": start_ms, "end": end_ms, "until": until_ms}
    connection.execute(sql, values)


def write_again(connection: apsw.Connection, start_ms: int, end_ms: int) -> None:
    """Have the days of the hours that touch ``[start_ms, end_ms)`` written anew."""
    found = f"select distinct hour from observations where {_TOUCHES}"
    values = {"size": HOUR_MS, "start": start_ms, "end": end_ms}
    connection.execute(f"insert or ignore into daily_due (hour) {found}", values)


def redo(connection: apsw.Connection, start_ms: int, end_ms: int) -> None:
    """The same, with observations that a model has put into words, or could not, put into words again."""
    write_again(connection, start_ms, end_ms)
    sql = (
        f"update observations set refine_next_ms = 0, refine_attempts = 0 where is_hidden = 0 and {_TOUCHES}"
    )
    connection.execute(sql, {"size": HOUR_MS, "start": start_ms, "end": end_ms})


def is_settled(connection: apsw.Connection, start_ms: int, end_ms: int, now_ms: int) -> bool:
    """Whether nothing of ``[start_ms, end_ms)`` is still to be derived or written, of hours that are over."""
    values = {"size": HOUR_MS, "start": start_ms, "end": min(end_ms, now_ms // HOUR_MS * HOUR_MS)}
    waiting = " or ".join(
        f"exists (select 1 from {table} where {_TOUCHES})" for table in ("memory_hours", "daily_due")
    )
    return not scalar(connection, f"select {waiting}", values)
