"""The page of totals: how long each app, window and site took, and the intervals of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlencode

from flask import Blueprint, render_template, request

from store.timeline import gaps, segments
from store.timeline.totals import Kind, Total, Totals, intervals, of_segments
from webapp.core.errors import unreadable_address
from webapp.core.parameters import moment
from webapp.core.services import services, viewer

blueprint = Blueprint("activity", __name__)

MAX_ROWS = 30
MAX_INTERVALS = 500
KINDS: tuple[Kind, ...] = get_args(Kind)

_TITLES: tuple[tuple[Kind, str], ...] = (("app", "Apps"), ("window", "Windows"), ("site", "Sites"))


@dataclass(frozen=True, slots=True)
class TotalsQuery:
    """A range, and which of its totals is to be opened; `kind` is None for none."""

    start_ms: int
    end_ms: int
    kind: Kind | None = None
    name: str | None = None
    app_name: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A total with the address of its intervals."""

    name: str
    app_name: str  # of a window; '' where the name says enough
    duration_ms: int
    address: str


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    rows: tuple[Row, ...]
    left_out: int


@blueprint.get("/activity")
def show() -> str:
    """The totals of ``from`` to ``to`` (today when missing); with ``kind`` and ``name`` one's intervals."""
    who = viewer()
    args = request.args
    start_ms, end_ms = moment(args.get("from"), who), moment(args.get("to"), who, is_end=True)
    if args.get("from") is None and args.get("to") is None:
        start_ms, end_ms = who.today.start_ms, who.today.end_ms
    if start_ms is None or end_ms is None or end_ms <= start_ms:
        raise unreadable_address("from", "from and to must be epoch milliseconds, to the later of the two")
    kind = args.get("kind")
    if kind is not None and kind not in KINDS:
        raise unreadable_address("kind", f"must be one of {', '.join(KINDS)}")
    ask = TotalsQuery(start_ms, end_ms, kind, args.get("name"), args.get("app"))
    own = services()
    line = segments.segments(own.database, start_ms, end_ms)
    totals = of_segments(line, start_ms, end_ms)
    opened = intervals(line, ask.kind, ask.name, ask.app_name) if ask.kind else []
    return render_template(
        "activity/activity.html",
        ask=ask,
        totals=totals,
        groups=list(_groups(ask, totals)),
        opened=opened[:MAX_INTERVALS],
        opened_ms=sum(segment.duration_ms for segment in opened),
        opened_left_out=max(0, len(opened) - MAX_INTERVALS),
        idle_ms=gaps.duration_ms(own.database, start_ms, end_ms),  # in no total
        idle_after_s=own.settings.capture.idle_after_s,
        all_totals=address(start_ms, end_ms),
    )


def address(
    start_ms: int, end_ms: int, kind: Kind | None = None, name: str | None = None, app_name: str | None = None
) -> str:
    """Where the totals of a range are, or the intervals of one of them."""
    values = {"from": start_ms, "to": end_ms, "kind": kind, "name": name, "app": app_name}
    return f"/activity?{urlencode({key: value for key, value in values.items() if value is not None})}"


def _groups(ask: TotalsQuery, totals: Totals) -> Iterator[Group]:
    totals_of = {"app": totals.by_app, "window": totals.by_window, "site": totals.by_site}
    for kind, title in _TITLES:
        rows = [_row(ask, kind, total) for total in totals_of[kind]]
        if rows:
            yield Group(title, tuple(rows[:MAX_ROWS]), max(0, len(rows) - MAX_ROWS))


def _row(ask: TotalsQuery, kind: Kind, total: Total) -> Row:
    of_app = total.app_name if kind == "window" else None
    to = address(ask.start_ms, ask.end_ms, kind, total.name, of_app)
    return Row(total.name or f"Unknown {kind}", of_app or "", total.duration_ms, to)
