"""Search: everything that was on the screen, by words, app, window, address and time."""

from __future__ import annotations

from datetime import date

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.search import BadCursor
from webapp import fragments, ranges
from webapp.services import services
from webapp.viewer import viewer
from webapp.views.results import Asked, count_newer, page

blueprint = Blueprint("search", __name__)

_MAX_CHARS = 1000


@blueprint.get("/search")
def show() -> Response:
    """The page; for htmx the results, or with ``after`` the next part of them."""
    who = viewer()
    asked = _asked()
    try:
        found = page(services().database, asked, who, _last_day())
    except BadCursor:
        html = render_template("search/_changed.html", asked=asked)
        if not fragments.wants_fragment():
            html = render_template("search/changed.html", asked=asked, section="search")
        return make_response(html, 400)
    fragment = "search/_more.html" if asked.after else "search/_results.html"
    return fragments.render("search/search.html", fragment, page=found, section="search")


@blueprint.get("/search/newer")
def newer() -> Response:
    """How many frames came since the list was drawn; they are shown when asked for, never pushed in."""
    asked, since = _asked(), request.args.get("since", "")
    since_ms = int(since) if since.isdecimal() and len(since) < 16 else viewer().now_ms
    # What "today" means now, not when the list was drawn: the end of the range moves with the clock.
    count = count_newer(services().database, asked, since_ms)
    html = render_template("search/newer.html", asked=asked, since_ms=since_ms, count=count)
    return make_response(html)


def _asked() -> Asked:
    args = request.args
    pages = args.get("pages", "1")
    return Asked(
        q=args.get("q", "")[:_MAX_CHARS],
        app=args.get("app", "").strip()[:_MAX_CHARS],
        win=args.get("win", "").strip()[:_MAX_CHARS],
        url=args.get("url", "").strip()[:_MAX_CHARS],
        range=ranges.read(args, viewer()),
        sort=args.get("sort", "") if args.get("sort") in ("new", "old", "best") else "",
        after=args.get("after") or None,
        pages=int(pages) if pages.isdecimal() and len(pages) < 6 else 1,
    )


def _last_day() -> date | None:
    """The day whose header the list has shown already."""
    try:
        return date.fromisoformat(request.args.get("day", ""))
    except ValueError:
        return None
