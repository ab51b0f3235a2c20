"""Days, hour by hour: what each clock hour was about, in points that name the frames which show them.

An hour is made of its observations (`store.memory.observations`); triggers put it on the list when they
change, and it leaves the list in the transaction that stores what came of it. Hours are those of
UTC, as observations have them, so that a person who moves to another zone only has days told anew
(`store.memory.daily_summaries`), which takes no model. Everything that writes runs inside `Database.write()`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import apsw

from store.core.database import Database, clean_text, column, rows, scalar
from store.core.records import columns, insert, insert_new
from store.core.records import load as load_rows
from store.core.records import put as put_row
from store.frames.activity_intervals import overlaps_deletion
from store.memory.observations import HOUR_MS

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
    fingerprint: str
    points: tuple[Point, ...]
    model_error: str | None
    updated_ms: int

    @property
    def start_ms(self) -> int:
        return self.hour * HOUR_MS


# -- what is to be done -------------------------------------------------------------------


def due(database: Database, until_ms: int) -> int | None:
    """The newest hour over by `until_ms` whose observations changed and are complete; None for none."""
    found: int | None = database.scalar(
        """
        select max(d.hour) from daily_hours_due d
        where (d.hour + 1) * :size <= :until
            and not exists (select 1 from memory_hours h where h.hour = d.hour)
        """,
        {"size": HOUR_MS, "until": until_ms},
    )
    return found


def changes(connection: apsw.Connection, hour: int) -> int | None:
    """How often an hour on the list has changed; None when it is not on it."""
    found = scalar(connection, "select changes from daily_hours_due where hour = ?", (hour,))
    return None if found is None else int(found)


def text_due(connection: apsw.Connection) -> int | None:
    """The newest hour whose day has to be written anew; None for none."""
    found: int | None = scalar(connection, "select max(hour) from daily_texts_due")
    return found


def texts_done(connection: apsw.Connection, hour: int, start_ms: int, end_ms: int) -> None:
    """The days of `hour`, which cover ``[start_ms, end_ms)``, were written."""
    connection.execute(
        """
        delete from daily_texts_due
        where hour = :hour or (hour * :size >= :start and (hour + 1) * :size <= :end)
        """,
        {"hour": hour, "size": HOUR_MS, "start": start_ms, "end": end_ms},
    )


def write_all_again(connection: apsw.Connection) -> None:
    """Have the day of every hour written anew."""
    connection.execute("insert or ignore into daily_texts_due (hour) select hour from daily_hours")


def redo(connection: apsw.Connection, start_ms: int, end_ms: int) -> None:
    """Have the hours that touch ``[start_ms, end_ms)`` derived again, and told again by a model."""
    values = {"size": HOUR_MS, "start": start_ms, "end": end_ms}
    touches = "hour * :size < :end and (hour + 1) * :size > :start"
    connection.execute(f"delete from daily_hours where {touches}", values)
    sql = f"update observations set refine_next_ms = 0, refine_attempts = 0 where is_hidden = 0 and {touches}"
    connection.execute(sql, values)


def put(
    connection: apsw.Connection,
    hour: int,
    points: Sequence[Point],
    fingerprint: str,
    is_of_model: bool,
    now_ms: int,
) -> bool:
    """Let an hour say what its observations do, and take it off the list; True when it changed."""
    connection.execute("delete from daily_hours_due where hour = ?", (hour,))
    known = scalar(connection, "select fingerprint from daily_hours where hour = ?", (hour,))
    if known == fingerprint:
        return False
    source: Source = "none" if not points else "model" if is_of_model else "rule"
    put_row(
        connection, "daily_hours", "hour",
        hour=hour, source=source, fingerprint=fingerprint, updated_ms=now_ms,
    )  # fmt: skip
    put_points(connection, hour, points)
    return True


def put_placeholders(connection: apsw.Connection, first: int, after: int, now_ms: int) -> None:
    """Let every hour of ``[first, after)`` that is not known and not on the list be an empty one."""
    connection.execute(
        """
        with recursive hours (hour) as (
            select :first where :first < :after
            union all
            select hour + 1 from hours where hour + 1 < :after
        )
        insert into daily_hours (hour, source, fingerprint, updated_ms)
        select hour, 'none', '', :now from hours
        where hour not in (select hour from daily_hours) and hour not in (select hour from daily_hours_due)
            and hour not in (select hour from memory_hours)
        """,
        {"first": first, "after": after, "now": now_ms},
    )


def put_points(connection: apsw.Connection, hour: int, points: Sequence[Point]) -> None:
    """Let an hour have these points, and its day be written anew."""
    connection.execute("delete from daily_points where hour = ?", (hour,))
    connection.execute("delete from daily_quotes where hour = ?", (hour,))
    for n, point in enumerate(points):
        insert(connection, "daily_points", hour=hour, n=n, at_ms=point.at_ms, text=clean_text(point.text))
        for k, quote in enumerate(point.quotes):
            insert(connection, "daily_quotes", hour=hour, n=n, k=k, **asdict(quote))
    insert_new(connection, "daily_texts_due", hour=hour)


def between(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Hour]:
    """The hours that touch ``[start_ms, end_ms)``, in order, with the points that lie in it."""
    found = load(
        connection,
        "d.hour * :size < :end and (d.hour + 1) * :size > :start",
        {"size": HOUR_MS, "start": start_ms, "end": end_ms},
    )
    return [
        replace(each, points=tuple(point for point in each.points if start_ms <= point.at_ms < end_ms))
        for each in found
    ]


def is_settled(connection: apsw.Connection, start_ms: int, end_ms: int, now_ms: int) -> bool:
    """Whether nothing of ``[start_ms, end_ms)`` is still to be derived or written, of hours that are over."""
    values = {"size": HOUR_MS, "start": start_ms, "end": min(end_ms, now_ms // HOUR_MS * HOUR_MS)}
    touches = "hour * :size < :end and (hour + 1) * :size > :start"
    tables = ("memory_hours", "daily_hours_due", "daily_texts_due")
    waiting = " or ".join(f"exists (select 1 from {table} where {touches})" for table in tables)
    return not scalar(connection, f"select {waiting}", values)


def load(connection: apsw.Connection, condition: str, values: dict[str, int]) -> list[Hour]:
    """Hours ``d`` that fit a condition on them, in order."""
    own = columns(Hour, "d", points=_POINTS, model_error=_ERROR)
    sql = f"select {own} from daily_hours d where {condition} order by d.hour"
    return load_rows(Hour, rows(connection, sql, values))


_ERROR = "(select max(refine_error) from observations where hour = d.hour and is_hidden = 0)"
_POINTS = """(
    select json_group_array(json_array(p.at_ms, p.text, json((
        select json_group_array(json_array(q.frame_id, q.text) order by q.k)
        from daily_quotes q where q.hour = p.hour and q.n = p.n
    ))) order by p.n)
    from daily_points p where p.hour = d.hour
)"""


# -- forgetting ---------------------------------------------------------------------------

COUNT = "select count(distinct q.hour) from deletion_scope d cross join daily_quotes q on q.frame_id = d.id"

_AFFECTED = f"""
select h.hour from daily_hours h
where {overlaps_deletion(f"h.hour * {HOUR_MS}", f"(h.hour + 1) * {HOUR_MS}")}
    or h.hour in (select q.hour from deletion_scope d cross join daily_quotes q on q.frame_id = d.id)
"""


def forget(connection: apsw.Connection) -> list[int]:
    """Remove the hours that may tell of a deleted frame; they are derived again from what is left.

    Call while the frames' rows are still there. Returns the hours.
    """
    gone: list[int] = column(connection, _AFFECTED)
    sql = "delete from daily_hours where hour in (select value from json_each(?))"
    connection.execute(sql, (json.dumps(gone),))
    return gone
