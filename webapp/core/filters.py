"""Jinja filters and globals: times on the viewer's clock, numbers in words, Markdown.

The functions behind them are in `webapp.core.formatting` and `webapp.core.markdown`; here they are given the
clock of the request.
"""

from __future__ import annotations

from datetime import date

from flask import Flask
from flask import request as flask_request

from store.core import preferences, times
from store.frames import frames
from webapp.core import formatting
from webapp.core.viewer import Viewer, viewer


def install_filters(app: Flask) -> None:
    """Make the filters and globals known to every template."""
    app.jinja_env.filters.update(
        iso=lambda ms: formatting.iso(ms, viewer().zone),
        clock=lambda ms: formatting.clock(ms, viewer().zone),
        clock_short=lambda ms: formatting.clock_short(ms, viewer().zone),
        moment=lambda ms: formatting.moment(ms, viewer().zone),
        offset=lambda ms: preferences.utc_offset(ms, viewer().zone),
        offset_min=lambda ms: preferences.utc_offset_min(ms, viewer().zone),
        day_long=_day_long,
        day_short=_day_short,
        since=lambda ms: formatting.duration(viewer().now_ms - ms),
        duration=formatting.duration,
        count=formatting.count,
        size=formatting.size,
        frame_ms=frames.captured_ms_of,
        host=formatting.host,
        day_key=lambda ms: times.to_local(ms, viewer().zone).date().isoformat(),
        wall=lambda ms: times.to_local(ms, viewer().zone).strftime("%Y-%m-%dT%H:%M"),
    )
    app.jinja_env.globals.update(viewer=viewer, here=current_path, span=_span)


def current_path() -> str:
    """This page's own path and query, for links that come back to it."""
    return flask_request.full_path.rstrip("?")


def _day_long(value: int | date) -> str:
    return formatting.date_long(_date(value))


def _day_short(value: int | date) -> str:
    return formatting.date_short(_date(value))


def _date(value: int | date) -> date:
    return value if isinstance(value, date) else times.to_local(value, viewer().zone).date()


def _span(start_ms: int, end_ms: int) -> str:
    who: Viewer = viewer()
    return formatting.span(start_ms, end_ms, who.zone, who.now_ms)
