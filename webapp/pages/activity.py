"""The page of totals: how long each app, window and site took, and the intervals of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args
from urllib.parse import urlencode

from flask import render_template, request

from store.core.translation import gettext as _
from store.timeline import gaps, segments
from store.timeline.totals import Kind, Total, Totals, intervals, of_segments
from webapp.core import formatting, templating
from webapp.core.errors import unreadable_address
from webapp.core.parameters import range_of
from webapp.core.services import services, viewer
from webapp.pages.days.view import latest

MAX_ROWS = 30
MAX_INTERVALS = 500
KINDS: tuple[Kind, ...] = get_args(Kind)


@templating.get("/activity")
def show() -> str:
    """The totals of ``from`` to ``to``, or of the last day; with ``kind`` and ``name`` one's intervals."""
    who = viewer()
    args = request.args
    own, name, host = services(), args.get("name"), args.get("host")
    chosen = range_of(args, who)
    if chosen.problem:
        raise unreadable_address("from", chosen.problem)
    day = latest(own.database, who)
    start_ms, end_ms = chosen.bounds if chosen.is_given else (day.start_ms, day.end_ms)
    kind = args.get("kind")
    if kind is not None and kind not in KINDS:
        raise unreadable_address("kind", _("must be one of %(names)s", names=_(", ").join(KINDS)))
    line = segments.segments(own.database, start_ms, end_ms, host)
    lines = segments.by_host(own.database, start_ms, end_ms)
    hosts = {each: of_segments(of, start_ms, end_ms) for each, of in lines.items() if of}
    totals = of_segments(line, start_ms, end_ms)
    opened = intervals(line, kind, name, args.get("app")) if kind else []
    titles: dict[Kind, str] = {"app": _("Apps"), "window": _("Windows"), "site": _("Sites")}
    return render_template(
        "activity/activity.html",
        label=formatting.span(start_ms, end_ms, who.zone, who.now_ms),
        start_ms=start_ms,
        end_ms=end_ms,
        kind=kind,
        name=name,
        totals=totals,
        host=host,
        hosts=[(each, of.covered_ms) for each, of in hosts.items()],
        columns=_columns(hosts) if host is None and len(hosts) > 1 else {},
        groups=[(each, titles[each], rows) for each, rows in _kinds(totals).items() if rows],
        most=MAX_ROWS,
        shown=shown,
        address=partial(address, host=host),
        opened=opened[:MAX_INTERVALS],
        opened_ms=sum(segment.duration_ms for segment in opened),
        opened_left_out=max(0, len(opened) - MAX_INTERVALS),
        idle_ms=gaps.duration_ms(own.database, start_ms, end_ms),  # in no total
        idle_after_s=own.capture.idle_after_s,
    )


def _kinds(totals: Totals) -> dict[Kind, Sequence[Total]]:
    return {"app": totals.by_app, "window": totals.by_window, "site": totals.by_site}


def _columns(hosts: Mapping[str, Totals]) -> dict[str, dict[tuple[Kind, str | None, str | None], int]]:
    """What each row of the totals took on each machine, by its kind, name and app."""
    return {
        host: {
            (kind, row.name, row.app_name): row.duration_ms
            for kind, rows in _kinds(totals).items()
            for row in rows
        }
        for host, totals in hosts.items()
    }


def shown(kind: Kind, name: str | None) -> str:
    """An app, window or site as it is called."""
    if kind == "app":
        return formatting.app_name(name)
    return name or {"window": _("Unknown window"), "site": _("Unknown site")}.get(kind, "")


def address(
    start_ms: int,
    end_ms: int,
    kind: Kind | None = None,
    name: str | None = None,
    app_name: str | None = None,
    host: str | None = None,
) -> str:
    """Where the totals of a range are, of one machine or of all, or the intervals of one of them."""
    values = {"from": start_ms, "to": end_ms, "kind": kind, "name": name, "app": app_name, "host": host}
    return f"/activity?{urlencode({key: value for key, value in values.items() if value is not None})}"
