"""Frames spread over a range, for the chat's one retrieval.

The first and the last frame of each bucket are found by two seeks on the id, because an id carries
its time: 36 buckets cost the same in an hour and in a year, and no page of a feed is ever walked.
Every function takes the connection of one read, so that a retrieval sees one state of the database
and one deadline covers it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TypeVar

import apsw

from store.core import records
from store.core.database import scalar
from store.frames import frames, visible_windows
from store.frames.frames import ID_STEP, id_range
from store.frames.visible_windows import Windows
from store.search.filters import Filters, where

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SampledFrame:
    """A frame with the words of its current reading and their layout; `text` is empty while it has none."""

    id: int
    captured_ms: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    monitor: str
    reading_id: int | None
    text: str
    host: str = ""
    window_places: str | None = None
    visible: str | None = None
    layout: bytes | None = None

    @property
    def windows(self) -> Windows:
        """Whose the places on it are."""
        return visible_windows.windows_from(self.window_places, self.visible)


def count(connection: apsw.Connection, filters: Filters) -> int:
    """How many frames match."""
    if filters.end_ms is not None and not where(connection, filters).conditions:
        return frames.count(connection, *id_range(filters.start_ms, filters.end_ms))
    clauses, parameters = _clauses(connection, filters)
    return int(scalar(connection, f"select count(*) from frames f where {clauses}", parameters))


def first_ids(connection: apsw.Connection, filters: Filters, limit: int) -> list[int]:
    """The earliest `limit` matching frames, in order of time."""
    clauses, parameters = _clauses(connection, filters)
    sql = f"select f.id from frames f where {clauses} order by f.id limit :limit"
    return [number for (number,) in connection.execute(sql, {**parameters, "limit": limit})]


def ends_per_bucket(
    connection: apsw.Connection, filters: Filters, bucket_ms: int
) -> list[tuple[int, int, int]]:
    """(bucket, first id, last id) of every bucket that holds a matching frame, in order.

    Bucket n is ``[start_ms + n * bucket_ms, start_ms + (n + 1) * bucket_ms)``, cut at the end.
    """
    clauses, parameters = _clauses(connection, filters, low="low", high="high")
    sql = f"""
        with recursive buckets (n, low, high) as (
            select 0, :low, min(:low + :step, :high)
            union all
            select n + 1, high, min(high + :step, :high) from buckets where high < :high
        )
        select n, first, last
        from (
            select n,
                (select f.id from frames f where {clauses} order by f.id limit 1) as first,
                (select f.id from frames f where {clauses} order by f.id desc limit 1) as last
            from buckets
        )
        where first is not null
        """
    rows = connection.execute(sql, {**parameters, "step": bucket_ms * ID_STEP})
    return [(n, first, last) for n, first, last in rows]


def middle(connection: apsw.Connection, filters: Filters, low: int, high: int) -> int | None:
    """The matching frame between two that comes first after the middle, else last before it."""
    clauses, parameters = _clauses(connection, filters, low=":after", high=":before")
    half = (low + high) // 2
    for after, before, order in ((half, high, "asc"), (low + 1, half, "desc")):
        sql = f"select f.id from frames f where {clauses} order by f.id {order} limit 1"
        for (number,) in connection.execute(sql, {**parameters, "after": after, "before": before}):
            return int(number)
    return None


def count_per_bucket(connection: apsw.Connection, filters: Filters, bucket_ms: int) -> dict[int, int]:
    """How many matching frames each bucket holds; buckets without any are left out."""
    clauses, parameters = _clauses(connection, filters)
    sql = f"select (f.id - :low) / :step, count(*) from frames f where {clauses} group by 1"
    rows = connection.execute(sql, {**parameters, "step": bucket_ms * ID_STEP})
    return {int(bucket): int(frames) for bucket, frames in rows}


def evenly(items: Sequence[T], most: int) -> list[T]:
    """At most `most` of some items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / max(1, most - 1))] for n in range(most)]


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[SampledFrame]:
    """These frames with their texts, in order of time; ids that do not exist are left out."""
    marks = ", ".join("?" * len(ids))
    read = {"reading_id": "r.id", "text": "coalesce(r.text, '')", "layout": "r.layout"}
    sql = f"""
        select {records.columns(SampledFrame, "f", visible="v.windows", **read)}
        from frames f left join readings r on r.frame_id = f.id and r.is_current = 1
        left join visible_windows v on v.id = f.visible_id
        where f.id in ({marks}) order by f.id
        """
    return records.load(SampledFrame, connection.execute(sql, tuple(ids)))


def other_windows(
    connection: apsw.Connection, app_name: str, ids: tuple[int, int], shown: Container[str], limit: int
) -> list[int]:
    """A frame of each of an app's windows but those `shown`: among the `limit` frames of the app before the
    first of two ids, then among those after the second.
    """
    before, after = "id < ?2 order by id desc", "id > ?3 order by id"
    sql = " union all ".join(
        f"""
        select * from (
            select id, coalesce(window_name, '') from frames
            where app_name = ?1 collate nocase and {where} limit ?4)
        """
        for where in (before, after)
    )
    titles: dict[str, int] = {}
    for number, title in connection.execute(sql, (app_name, *ids, limit)):
        if title not in shown:
            titles.setdefault(title, number)
    return list(titles.values())


def _clauses(
    connection: apsw.Connection, filters: Filters, low: str = ":low", high: str = ":high"
) -> tuple[str, dict[str, str | int]]:
    """The condition on ``frames f`` and its parameters; `low` and `high` name the bounds of the id."""
    narrowed = where(connection, filters)
    if filters.end_ms is None:
        raise ValueError("a sample needs a range with an end")
    first, last = id_range(filters.start_ms, filters.end_ms)
    clauses = (f"f.id >= {low}", f"f.id < {high}", *narrowed.conditions)
    return " and ".join(clauses), {**narrowed.parameters, "low": first, "high": last}
