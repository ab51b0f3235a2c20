"""How long: durations by app, window, URL and site, from the one line of activity.

Segments never overlap, so adding them is a union of intervals: the sum never exceeds the wall
clock, whatever the frames and however many monitors. Time that no segment covers
(idle, paused, locked, excluded) is nobody's; `store.timeline.gaps` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

from store.core.database import Database, rows, scalar
from store.frames.activity_intervals import Segment, window
from store.frames.frames import captured_ms_of, id_range

Kind = Literal["app", "window", "url", "site"]
_Window = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Total:
    """The time of one app, window, URL or site. `name` is None where it is unknown."""

    name: str | None
    duration_ms: int
    first_ms: int
    last_ms: int
    app_name: str | None = None


@dataclass(frozen=True)  # without slots: a list is made when it is first asked for, and kept
class Totals:
    """Each list longest first. ``covered_ms`` is the sum over `by_app`, and at most `wall_ms`.

    `shown` is what they are made of: of each window how long, and when first and last, in milliseconds. A
    URL's time is listed only where there is a URL, and so is its site's; a window belongs to its app, a site
    to every browser.
    """

    shown: Mapping[_Window, Sequence[int]] = field(repr=False)
    wall_ms: int
    covered_ms: int

    @cached_property
    def by_app(self) -> tuple[Total, ...]:
        return _grouped(self.shown, lambda app, _, __: (app,))

    @cached_property
    def by_window(self) -> tuple[Total, ...]:
        return _grouped(self.shown, lambda app, title, _: (app, title))

    @cached_property
    def by_url(self) -> tuple[Total, ...]:
        return _grouped(self.shown, lambda app, _, url: (app, url) if url else None)

    @cached_property
    def by_site(self) -> tuple[Total, ...]:
        sites = {url: site(url) for _, _, url in self.shown}
        return _grouped(self.shown, lambda _, __, url: (sites[url],) if sites[url] else None)


def of_segments(segments: Iterable[Segment], start_ms: int, end_ms: int) -> Totals:
    """The totals of segments that lie in ``[start_ms, end_ms)``, in order and without overlap."""
    # By window first: months are a hundred thousand segments of a few thousand windows.
    shown: dict[_Window, list[int]] = {}
    for segment in segments:
        share = shown.setdefault(window(segment), [0, segment.start_ms, 0])
        share[0] += segment.duration_ms
        share[2] = segment.end_ms
    covered_ms = sum(duration_ms for duration_ms, _, _ in shown.values())
    return Totals(shown, max(0, end_ms - start_ms), covered_ms)


def intervals(
    segments: Iterable[Segment], kind: Kind, name: str | None, app_name: str | None
) -> list[Segment]:
    """The very segments that a `Total` is the sum of, in order; `app_name` matters for a window or URL."""

    def belongs(segment: Segment) -> bool:
        if kind == "app":
            return segment.app_name == name
        if kind == "site":
            return name is not None and site(segment.browser_url) == name
        part = segment.window_name if kind == "window" else segment.browser_url
        return (segment.app_name, part) == (app_name, name)

    return [segment for segment in segments if belongs(segment)]


def site(browser_url: str | None) -> str | None:
    """The host of an address in lower case without a leading ``www.``; None where it has none."""
    if not browser_url:
        return None
    try:
        host = urlsplit(browser_url if "//" in browser_url else f"//{browser_url}").hostname
    except ValueError:  # an address as read from a screen may be anything
        return None
    is_address = "//" in browser_url or "." in (host or "")  # "about:blank" has no host
    return (host or "").removeprefix("www.") or None if is_address else None


def _grouped(
    windows: Mapping[_Window, Sequence[int]], key: Callable[..., tuple[str | None, ...] | None]
) -> tuple[Total, ...]:
    """Totals of what `key` makes of a window: its name last; None leaves a window out."""
    groups: dict[tuple[str | None, ...], list[Any]] = {}
    for shown, (duration_ms, first_ms, last_ms) in windows.items():
        if (group := key(*shown)) is None:
            continue
        total = groups.setdefault(group, [0, first_ms, last_ms, shown[0]])
        total[0] += duration_ms
        total[2] = max(total[2], last_ms)
    totals = (Total(group[-1], *total) for group, total in groups.items())
    return tuple(sorted(totals, key=lambda t: (-t.duration_ms, t.first_ms, t.name or "")))


# -- stats --------------------------------------------------------------------------------
# How much there is: counts for status, health and the setup check. Triggers keep them in `frame_totals`:
# to count ten million frames takes seconds.

COUNTED = """
select reading_state, count(*) as frames, sum(iif(media_path is null, 0, size_bytes)) as picture_bytes,
    sum(iif(preview_path is null, 0, coalesce(preview_bytes, 0))) as preview_bytes
from frames group by 1
"""
RECOUNT = f"""
update frame_totals set frames = 0, picture_bytes = 0, preview_bytes = 0;
replace into frame_totals {COUNTED}
"""
"""Makes the totals anew."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts over everything stored; times are None while there is no frame."""

    frames: int
    frames_read: int
    frames_to_read: int
    frames_failed: int
    pictures_bytes: int
    first_ms: int | None
    last_ms: int | None
    chats: int


def store_stats(database: Database) -> Stats:
    with database.read() as connection:
        by_state = {
            state: (number, size)
            for state, number, size in rows(
                connection, "select reading_state, frames, picture_bytes from frame_totals"
            )
        }
        first, last = (scalar(connection, f"select {which}(id) from frames") for which in ("min", "max"))
        chats = scalar(connection, "select count(*) from conversations")
    read, waiting, failed = (by_state[state][0] for state in ("read", "pending", "failed"))
    frames, size = (sum(column) for column in zip(*by_state.values(), strict=True))
    first_ms, last_ms = (None if frame_id is None else captured_ms_of(frame_id) for frame_id in (first, last))
    return Stats(frames, read, waiting, failed, size, first_ms, last_ms, chats)


def pictures_between(database: Database, start_ms: int, end_ms: int) -> tuple[int, int | None]:
    """(bytes of the pictures captured in a range, when the first of them was captured)."""
    first, after = id_range(start_ms, end_ms)
    sql = "select coalesce(sum(size_bytes), 0), min(captured_ms) from frames where id >= ? and id < ?"
    ((size, oldest),) = database.rows(sql, (first, after))
    return size, oldest


def newest_read(database: Database, limit: int) -> list[int]:
    """Ids of the newest frames whose text was read, newest first; also of those that are read again."""
    return database.column(
        "select frame_id from readings where is_current = 1 order by frame_id desc limit ?", (limit,)
    )


def last_turn_status(database: Database) -> str | None:
    """How the last question that has ended ended: ``done`` or ``failed``; None before the first."""
    found = database.scalar("select status from turns where status <> 'running' order by id desc limit 1")
    return None if found is None else str(found)


def damage(database: Database) -> str | None:
    """What SQLite's own check of the file says is wrong, or None. Takes as long as reading the file."""
    verdict = database.scalar("pragma quick_check(1)", deadline_s=60)
    return None if verdict == "ok" else str(verdict)
