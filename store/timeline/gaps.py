"""Gaps: the stretches of a range that are nobody's, and why: without a picture, or idle.

Three sources, none of which names an app. Runs of the ledger say excluded, paused, locked,
asleep or failed. Tombstones say deleted. What no look covers at all is `not_running`. A picture
beats all of them: while a frame is on the screen there is no gap, whatever another monitor's look
was decided to be. Idle time alone is told though there are pictures: the screen showed something
and nobody touched anything.

Looks cover the time of their batch; a look batch is written about every ten seconds, so the last
`UNREPORTED_MS` before now may be unreported and are not called a gap. Frames that no batch counts
(uploads, films, batches still on their way) cover the segments they make. A picture that was imported covers
nothing: nobody looked beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import apsw

from store.core.database import Database, column, rows
from store.frames.activity_intervals import CONTINUOUS_MS, MERGE_GAP_MS, ON_LINE, Segment
from store.frames.frames import HOSTS, id_range

UNREPORTED_MS = 30_000

LONGEST_RUN_MS = 24 * 3_600_000
"""The ledger keeps longer runs in pieces, so that a range need not look further back than this."""

_PRIORITY = ("deleted", "paused", "locked", "asleep", "excluded")
"""Where two reasons hold at once, the first is told; then failures, then idle, not_running last."""

IDLE = "idle"

_AWAY = {"locked": "locked", "screensaver": "locked", "switched_user": "locked", "asleep": "asleep"}
"""What capture says of an absent person: nobody paused it."""

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Gap:
    """``[start_ms, end_ms)`` has no picture. `reason`: deleted, paused, locked, asleep, excluded,
    failed:<why> or not_running. With idle it may have one.
    """

    start_ms: int
    end_ms: int
    reason: str


def gaps(database: Database, start_ms: int, end_ms: int, now_ms: int) -> list[Gap]:
    """The gaps of ``[start_ms, end_ms)`` in order, up to now; they do not overlap."""
    end_ms = min(end_ms, now_ms)
    if end_ms <= start_ms:
        return []
    with database.read() as connection:
        reasons = _stated(connection, start_ms, end_ms)
        idle = subtract_intervals(reasons.pop(IDLE, []), _in_use(connection, start_ms, end_ms))
        stated = clipped(
            merge_intervals(part for parts in reasons.values() for part in parts), start_ms, end_ms
        )
        pictures = _pictures(connection, stated)
        looked = merge_intervals([*_looks(connection, start_ms, end_ms), *stated, *idle], CONTINUOUS_MS)
    if looked and now_ms - looked[-1][1] <= UNREPORTED_MS:
        looked[-1] = (looked[-1][0], max(now_ms, end_ms))
    found: list[Gap] = []
    taken = pictures
    for reason in (*(each for each in _PRIORITY if each in reasons), *sorted(reasons.keys() - {*_PRIORITY})):
        free = subtract_intervals(reasons[reason], taken)
        found += [Gap(*part, reason) for part in clipped(free, start_ms, end_ms)]
        taken = merge_intervals([*taken, *reasons[reason]])
    covered = merge_intervals((gap.start_ms, gap.end_ms) for gap in found)
    found += [Gap(*part, IDLE) for part in clipped(subtract_intervals(idle, covered), start_ms, end_ms)]
    unseen = subtract_intervals([(start_ms, end_ms)], looked)
    found += [Gap(*part, "not_running") for part in unseen]
    return sorted(found, key=lambda gap: gap.start_ms)


def merge_intervals(parts: Iterable[Interval], tolerance_ms: int = 0) -> list[Interval]:
    """The union of some intervals; holes of at most `tolerance_ms` are closed."""
    union: list[Interval] = []
    for start, end in sorted(parts):
        if union and start - union[-1][1] <= tolerance_ms:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def subtract_intervals(parts: Iterable[Interval], taken: list[Interval]) -> list[Interval]:
    """What is left of some intervals outside a union (as `merge_intervals` makes it)."""
    left: list[Interval] = []
    ordered = merge_intervals(parts)
    position = 0
    for start, end in ordered:
        while position < len(taken) and taken[position][1] <= start:
            position += 1
        at = start
        index = position
        while index < len(taken) and taken[index][0] < end:
            if taken[index][0] > at:
                left.append((at, taken[index][0]))
            at = max(at, taken[index][1])
            index += 1
        if at < end:
            left.append((at, end))
    return left


def clipped(parts: Iterable[Interval], start_ms: int, end_ms: int) -> list[Interval]:
    """The parts that lie in ``[start_ms, end_ms)``, cut to it."""
    cut = ((max(start, start_ms), min(end, end_ms)) for start, end in parts)
    return [(start, end) for start, end in cut if start < end]


def _stated(connection: apsw.Connection, start_ms: int, end_ms: int) -> dict[str, list[Interval]]:
    """Stretches by reason, as the ledger and the tombstones state them."""
    reasons: dict[str, list[Interval]] = {}
    for decision, reason, start, end in rows(
        connection,
        """
        select decision, reason, start_ms, end_ms from decisions
        where start_ms >= :first and start_ms < :end and end_ms >= :start
            and (decision in ('excluded', 'paused', 'failed') or reason = 'idle')
        order by start_ms
        """,
        {
            "first": start_ms - LONGEST_RUN_MS,
            "start": start_ms - CONTINUOUS_MS,
            "end": end_ms + CONTINUOUS_MS,
        },
    ):
        reasons.setdefault(_reason(decision, reason), []).append((start, end))
    reasons = {name: merge_intervals(parts, CONTINUOUS_MS) for name, parts in reasons.items()}
    sql = "select start_ms, end_ms from deletions where start_ms < ? and end_ms > ?"
    deleted = rows(connection, sql, (end_ms, start_ms))
    if deleted:
        reasons["deleted"] = merge_intervals((start, end) for start, end in deleted)
    return reasons


def _reason(decision: str, reason: str) -> str:
    if reason in _AWAY:
        return _AWAY[reason]
    if reason == IDLE:
        return IDLE
    return f"failed:{reason}" if decision == "failed" else decision


def _pictures(connection: apsw.Connection, stretches: list[Interval]) -> list[Interval]:
    """When a frame that may show the person's work was on the screen during these stretches."""
    covered: list[Interval] = []
    for start, end in stretches:
        first, after = id_range(start, end)
        shown = rows(
            connection,
            f"""
            select captured_ms, ended_ms from frames
            where id < :after and {ON_LINE}
                and id >= coalesce((select max(id) from frames where id < :first and {ON_LINE}), :first)
            """,
            {"first": first, "after": after},
        )
        covered += merge_intervals([(start, end) for start, end in shown], CONTINUOUS_MS)
    return merge_intervals(covered)


def _looks(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Interval]:
    """The time that looks cover, and frames that no batch counts, near ``[start_ms, end_ms)``."""
    sql = """
        select start_ms, end_ms from segments s
        where start_ms >= ? and start_ms < ? and end_ms >= ? and exists (
            select 1 from frames f
            where f.id in (s.first_frame_id, s.last_frame_id)
                and not exists (select 1 from look_batches b where b.id = f.batch_id)
        )
        """
    shown = rows(
        connection, sql, (start_ms - LONGEST_RUN_MS, end_ms + CONTINUOUS_MS, start_ms - CONTINUOUS_MS)
    )
    return [*_spans(connection, start_ms - MERGE_GAP_MS, end_ms + MERGE_GAP_MS), *shown]


def _spans(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Interval]:
    """The union of the look batches that touch the range, holes of `CONTINUOUS_MS` closed.

    It is kept joined as batches arrive (trigger `look_batches_join`).
    """
    spans = rows(
        connection,
        """
        select start_ms, end_ms from look_spans
        where start_ms < :end
            and start_ms >= coalesce((select max(start_ms) from look_spans where start_ms <= :start), :start)
        order by start_ms
        """,
        {"start": start_ms, "end": end_ms},
    )
    return [(start, end) for start, end in spans if end >= start_ms]


# -- idle ---------------------------------------------------------------------------------
# Idle time: stretches of the ledger in which nobody touched keyboard or mouse.
#
# Capture enters them beside its looks, as runs of no looks with the reason ``idle``. The screen was
# recorded meanwhile: what it showed stays, and only the time belongs to nobody.


def idle_intervals(connection: apsw.Connection, start_ms: int, end_ms: int, host: str) -> list[Interval]:
    """The idle time of a host in ``[start_ms, end_ms)``: intervals in order, cut to it, that do not meet."""
    found = rows(
        connection,
        """
        select start_ms, end_ms from decisions
        where reason = 'idle' and host = :host and start_ms >= :first and start_ms < :end and end_ms > :start
        order by start_ms
        """,
        {"host": host, "first": start_ms - LONGEST_RUN_MS, "start": start_ms, "end": end_ms},
    )
    return merge_intervals(clipped(found, start_ms, end_ms))


def _in_use(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Interval]:
    """When one of several machines was in use: then the person was not idle, whatever another one says. None
    where there is one machine.
    """
    hosts = column(connection, HOSTS.format(table="segments"))
    if len(hosts) < 2:
        return []
    sql = """
        select start_ms, end_ms from segments
        where host = ? and start_ms >= ? and start_ms < ? and end_ms > ? order by start_ms
    """
    used: list[Interval] = []
    for host in hosts:
        shown = rows(connection, sql, (host, start_ms - LONGEST_RUN_MS, end_ms, start_ms))
        used += subtract_intervals(shown, idle_intervals(connection, start_ms, end_ms, host))
    return merge_intervals(used)


def duration_ms(database: Database, start_ms: int, end_ms: int) -> int:
    """How much of ``[start_ms, end_ms)`` was idle."""
    with database.read() as connection:
        hosts = {"", *column(connection, HOSTS.format(table="segments"))}
        idle = (part for host in hosts for part in idle_intervals(connection, start_ms, end_ms, host))
        left = subtract_intervals(idle, _in_use(connection, start_ms, end_ms))
    return sum(end - start for start, end in left)


def without_idle(connection: apsw.Connection, line: list[Segment], host: str) -> list[Segment]:
    """The line of a host without its idle time; a segment around such a stretch becomes several.

    `line` as `store.timeline.segments.segments` gives it: in order and without overlap.
    """
    if not line:
        return line
    idle = idle_intervals(connection, line[0].start_ms, line[-1].end_ms + 1, host)
    return [part for segment in line for part in _parts(connection, segment, idle)] if idle else line


def _parts(connection: apsw.Connection, segment: Segment, idle: list[Interval]) -> Iterable[Segment]:
    span = (segment.start_ms, segment.end_ms)
    if segment.start_ms == segment.end_ms:
        return () if any(start <= segment.start_ms < end for start, end in idle) else (segment,)
    left = subtract_intervals([span], idle)
    return (segment,) if left == [span] else [cut(connection, segment, *part) for part in left]


def cut(connection: apsw.Connection, segment: Segment, start_ms: int, end_ms: int) -> Segment:
    """A part of a segment, with those of its frames that were on the screen then.

    Where the part lies between two looks, it has the frame before it.
    """
    first, after = id_range(start_ms, end_ms)
    # Bounded by ids on both sides: a film of hours beside short visits is cut hundreds of times.
    ((first_id, last_id, count, before_id),) = rows(
        connection,
        """
        with own as (
            select id, ended_ms from frames
            where id between :first_frame_id and min(:last_frame_id, :after - 1)
                and app_name is :app_name and window_name is :window_name and browser_url is :browser_url
                and host = :host and (focused is null or focused = 1) and source <> 'import'
        )
        select
            min(id) filter (where ended_ms >= :since),
            max(id) filter (where ended_ms >= :since),
            count(*) filter (where ended_ms >= :since),
            max(id)
        from own
        where id >= coalesce((select id from own where id < :first order by id desc limit 1), :first)
        """,
        {**asdict(segment), "since": start_ms, "first": first, "after": after},
    )
    return replace(
        segment,
        start_ms=start_ms,
        end_ms=end_ms,
        first_frame_id=first_id or before_id or segment.first_frame_id,
        last_frame_id=last_id or before_id or segment.first_frame_id,
        frames=count,
    )
