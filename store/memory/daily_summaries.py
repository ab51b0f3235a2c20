"""What each local day was about: one text per day, found by words and by meaning.

A day's text is made of its observations (`store.memory.daily_hours`), and those of frames, so it goes when
one of them is deleted, and is made again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

import apsw

from store.core import times
from store.core.database import Database, change, clean_text, rows, scalar
from store.core.records import columns
from store.core.records import put as put_row
from store.embeddings.knn import RetrievalQuery
from store.frames.activity_intervals import overlaps_deletion
from store.memory import daily_hours, retrievers
from store.memory.retrievers import Question, TextStrategy
from store.search import query

Source = Literal["rule", "model"]


@dataclass(frozen=True, slots=True)
class DailySummary:
    """The summary of ``[start_ms, end_ms)``, the local day `day` (2026-11-20) in the IANA zone `zone`.

    A day may begin some minutes after midnight (`day_start_min`).
    """

    id: int
    day: str
    zone: str
    start_ms: int
    end_ms: int
    text: str
    source: Source
    updated_ms: int
    day_start_min: int = 0


def put(
    connection: apsw.Connection,
    day: date,
    zone: str,
    start_ms: int,
    end_ms: int,
    text: str,
    source: Source,
    now_ms: int,
    day_start_min: int = 0,
) -> int:
    """Let a day have this summary; returns its id. Call inside `Database.write()`.

    Raises `ValueError` for a day without a text: no summary is no row.
    """
    if not text.strip():
        raise ValueError("a summary needs a text")
    put_row(
        connection, "daily_summaries", "day",
        day=day.isoformat(), zone=zone, start_ms=start_ms, end_ms=end_ms, text=clean_text(text),
        source=source, updated_ms=now_ms, day_start_min=day_start_min,
    )  # fmt: skip
    return int(scalar(connection, "select id from daily_summaries where day = ?", (day.isoformat(),)))


def delete(connection: apsw.Connection, day: date) -> bool:
    """Remove a day's summary; False when it has none."""
    return change(connection, "delete from daily_summaries where day = ?", (day.isoformat(),)) > 0


def follow_clock(database: Database, zone: str, day_start_min: int) -> bool:
    """Remove the days that were counted by another clock, and have all days written anew; False for none."""
    others, clock = "from daily_summaries where zone <> ? or day_start_min <> ?", (zone, day_start_min)
    if database.scalar(f"select 1 {others} limit 1", clock) is None:
        return False
    with database.write() as connection:
        connection.execute(f"delete {others}", clock)
        daily_hours.write_again(connection, 0, times.MAX_MS)
    return True


def of_day(database: Database, day: date) -> DailySummary | None:
    return database.first(DailySummary, f"{SELECT} where s.day = ?", (day.isoformat(),))


def get_many(database: Database, ids: Iterable[int]) -> dict[int, DailySummary]:
    """The summaries that exist among these ids."""
    sql = f"{SELECT} where s.id in (select value from json_each(?))"
    return {day.id: day for day in database.records(DailySummary, sql, (str(list(ids)),))}


def search(
    database: Database,
    asked: RetrievalQuery,
    start_ms: int | None = None,
    end_ms: int | None = None,
    *,
    limit: int = 10,
    deadline_s: float | None = 5.0,
) -> tuple[list[DailySummary], TextStrategy, str | None]:
    """Days that answer best and overlap ``[start_ms, end_ms)``, how they were found, and why not by
    meaning. Blank text gives the latest days. Raises `DeadlineExceeded`.
    """
    condition = "(:start is null or m.end_ms > :start) and (:end is null or m.start_ms < :end)"
    values = {"start": start_ms, "end": end_ms}
    question = Question(retrievers.DAYS, asked, query.parse(asked.text), "hybrid", condition, values)
    with database.read(deadline_s) as connection:
        found = retrievers.find_texts(database, connection, question, limit)
        loaded = get_many(database, [number for _, number in found.ranked])
    return [loaded[number] for _, number in found.ranked], found.strategy, found.reason


# -- forgetting (inside `database.write()`) -----------------------------------------------

_AFFECTED = f"from daily_summaries s where {overlaps_deletion('s.start_ms', 's.end_ms')}"
COUNT = f"select count(*) {_AFFECTED}"


def forget(connection: apsw.Connection) -> int:
    """Remove the days that may show a deleted frame; returns how many.

    They are told again from what is left.
    """
    for start_ms, end_ms in rows(connection, f"select s.start_ms, s.end_ms {_AFFECTED}"):
        daily_hours.write_again(connection, start_ms, end_ms)
    return change(connection, f"delete from daily_summaries where id in (select s.id {_AFFECTED})")


SELECT = f"select {columns(DailySummary, 's')} from daily_summaries s"
