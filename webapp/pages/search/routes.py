"""Search: everything that was on the screen, by words, app, window, address and time."""

from __future__ import annotations

from typing import Literal

from flask import render_template, request
from werkzeug.wrappers import Response

from store.search import filters
from store.search.hits import BadCursor
from webapp.core import parameters, templating
from webapp.core.parameters import number
from webapp.core.services import services, viewer
from webapp.pages.search.facets import SearchRequest
from webapp.pages.search.view import page

_MAX_CHARS = 1000


@templating.get("/search")
def show() -> Response:
    """The page; for htmx the results, or with ``after`` the next part of them."""
    own, asked = services(), _asked()
    if not asked.q:
        own.embedder.warm()  # somebody is about to search
    # A later page goes on with what the first one found.
    meaning = own.embedder.asked(asked.q) if asked.after else own.embedder.begin(asked.q)
    try:
        results = page(own.database, asked, viewer(), request.args.get("group", ""), meaning)
    except BadCursor:
        template = "search/_changed.html" if templating.wants_fragment() else "search/changed.html"
        return templating.render_page(template, 400, asked=asked)
    fragment = "search/_more.html" if asked.after else "search/results.html"
    answer = templating.render("search/search.html", fragment, page=results)
    if not templating.wants_fragment():
        answer.status_code = asked.range.status
    return answer


@templating.get("/search/names")
def names() -> str:
    """Window titles or addresses that contain what is typed into their filter, as options."""
    column: Literal["window_name", "browser_url"] = "browser_url" if "url" in request.args else "window_name"
    typed = request.args.get("url", request.args.get("win", ""))[:_MAX_CHARS]
    return render_template("search/_names.html", names=filters.typed(services().database, column, typed))


def _asked() -> SearchRequest:
    args = request.args
    return SearchRequest(
        q=args.get("q", "").strip()[:_MAX_CHARS],
        app=args.get("app", "").strip()[:_MAX_CHARS],
        win=args.get("win", "").strip()[:_MAX_CHARS],
        url=args.get("url", "").strip()[:_MAX_CHARS],
        host=args.get("host", "").strip()[:_MAX_CHARS],
        range=parameters.range_of(args, viewer()),
        sort=args.get("sort", "") if args.get("sort") in ("new", "old", "best") else "",
        after=args.get("after") or None,
        pages=number(args, "pages", 5) or 1,
    )
