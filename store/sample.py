"""Frames spread over a range, for the chat's one retrieval.

The first and the last frame of each bucket are found by two seeks on the id, because an id carries
its time: 36 buckets cost the same in an hour and in a year, and no page of a feed is ever walked.
Every function takes the connection of one read, so that a retrieval sees one state of the database
and one deadline covers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from store.database import scalar
from store.frames import ID_STEP, id_range


@dataclass(frozen=True, slots=True)
class Scope:
    """Which frames count: captured in ``[start_ms, end_ms)`` and passing every filter that is set.

    `app_name` is the whole name in any case; `window_name` (in any case) and `browser_url` are
    looked for inside.
    """

    start_ms: int
    end_ms: int
    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None

    @property
    def is_filtered(self) -> bool:
        filters = (self.app_name, self.window_name, self.browser_url, self.focused)
        return any(value is not None for value in filters)


@dataclass(frozen=True, slots=True)
class SampledFrame:
    """A frame with the words of its current reading; `text` is empty while it has none."""

    id: int
    captured_ms: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    monitor: str
    reading_id: int | None
    text: str


def count(connection: apsw.Connection, scope: Scope) -> int:
    """How many frames match."""
    if not scope.is_filtered:
        return _count_all(connection, scope)
    where, parameters = _where(scope)
    return int(scalar(connection, f"select count(*) from frames where {where}", parameters))


def first_ids(connection: apsw.Connection, scope: Scope, limit: int) -> list[int]:
    """The earliest `limit` matching frames, in order of time."""
    where, parameters = _where(scope)
    sql = f"select id from frames where {where} order by id limit :limit"
    return [number for (number,) in connection.execute(sql, {**parameters, "limit": limit})]


def ends_per_bucket(connection: apsw.Connection, scope: Scope, bucket_ms: int) -> list[tuple[int, int, int]]:
    """(bucket, first id, last id) of every bucket that holds a matching frame, in order.

    Bucket n is ``[start_ms + n * bucket_ms, start_ms + (n + 1) * bucket_ms)``, cut at the end.
    """
    where, parameters = _where(scope, low="low", high="high")
    low, high = id_range(scope.start_ms, scope.end_ms)
    sql = f"""
        with recursive buckets (n, low, high) as (
            select 0, :range_low, min(:range_low + :step, :range_high)
            union all
            select n + 1, high, min(high + :step, :range_high) from buckets where high < :range_high
        )
        select n, first, last
        from (
            select n,
                (select id from frames where {where} order by id limit 1) as first,
                (select id from frames where {where} order by id desc limit 1) as last
            from buckets
        )
        where first is not null
        """
    bounds = {"range_low": low, "range_high": high, "step": bucket_ms * ID_STEP}
    return [(n, first, last) for n, first, last in connection.execute(sql, {**parameters, **bounds})]


def count_per_bucket(connection: apsw.Connection, scope: Scope, bucket_ms: int) -> dict[int, int]:
    """How many matching frames each bucket holds; buckets without any are left out."""
    where, parameters = _where(scope)
    sql = f"select (id - :low) / :step, count(*) from frames where {where} group by 1"
    rows = connection.execute(sql, {**parameters, "step": bucket_ms * ID_STEP})
    return {int(bucket): int(frames) for bucket, frames in rows}


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[SampledFrame]:
    """These frames with their texts, in order of time; ids that do not exist are left out."""
    marks = ", ".join("?" * len(ids))
    sql = f"""
        select f.id, f.captured_ms, f.app_name, f.window_name, f.browser_url, f.focused, f.monitor,
            r.id, coalesce(r.text, '')
        from frames f
        left join readings r on r.frame_id = f.id and r.is_current = 1
        where f.id in ({marks})
        order by f.id
        """
    return [_row(*row) for row in connection.execute(sql, tuple(ids))]


_CONDITIONS = {
    "app_name": "app_name = :app_name collate nocase",
    "window_name": "instr(lower(window_name), lower(:window_name)) > 0",
    "browser_url": "instr(browser_url, :browser_url) > 0",
    "focused": "focused = :focused",
}


def _where(scope: Scope, low: str = ":low", high: str = ":high") -> tuple[str, dict[str, Any]]:
    """The condition and its parameters; `low` and `high` name the bounds of the id."""
    used = {name: getattr(scope, name) for name in _CONDITIONS if getattr(scope, name) is not None}
    clauses = [f"id >= {low}", f"id < {high}", *(_CONDITIONS[name] for name in used)]
    first, last = id_range(scope.start_ms, scope.end_ms)
    return " and ".join(clauses), {**used, "low": first, "high": last}


def _row(
    number: int,
    captured_ms: int,
    app_name: str | None,
    window_name: str | None,
    browser_url: str | None,
    focused: int | None,
    monitor: str,
    reading_id: int | None,
    text: str,
) -> SampledFrame:
    focus = None if focused is None else bool(focused)
    return SampledFrame(
        number, captured_ms, app_name, window_name, browser_url, focus, monitor, reading_id, text
    )


def _count_all(connection: apsw.Connection, scope: Scope) -> int:
    """Counts in the narrow index by monitor: a tenth of the pages that the rows themselves take."""
    sql = """
        with recursive monitors (monitor) as (
            select min(monitor) from frames
            union all
            select (select min(f.monitor) from frames f where f.monitor > monitors.monitor)
            from monitors where monitors.monitor is not null
        )
        select coalesce(sum((
            select count(*) from frames f
            where f.monitor = monitors.monitor and f.captured_ms >= :start and f.captured_ms < :end
        )), 0)
        from monitors where monitors.monitor is not null
        """
    return int(scalar(connection, sql, {"start": scope.start_ms, "end": scope.end_ms}))
