"""The search page: hits by day, with the words drawn on each picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal
from urllib.parse import urlencode

from flask import Blueprint, make_response, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from store.core import times
from store.core.database import Database
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box
from store.search import filters as store_names
from store.search import fuzzy, query, saved_searches, search
from store.search.query import Query
from store.search.saved_searches import SavedSearch
from store.search.search import BadCursor, Hit, Page, spans
from webapp.core import formatting, markdown, parameters, templating
from webapp.core.errors import Problem
from webapp.core.services import Viewer, services, viewer
from webapp.pages import search_facets
from webapp.pages.search_facets import Alternative, Refining, SearchRequest
from webapp.views.activity_band import slot_class
from webapp.views.frames import Picture, picture

LIMIT = 20
AUTOMATIC_PAGES = 3
"""So many pages load by themselves; after that only the button, so that the end can be reached."""

SIMILAR_MS = 30 * 60_000
"""Frames of one window that read the same are stacked when they are this near to the first."""

_MAX_BOXES = 40


@dataclass(frozen=True, slots=True)
class Card:
    """One hit. `similar` are later hits that look and read the same."""

    picture: Picture
    css_class: str
    window: Markup
    url: Markup
    snippet: Markup
    boxes: tuple[Box, ...]
    hits: int
    status: str
    address: str
    found_by: str  # "looks alike" or "similar meaning" where the words themselves are not on it
    similar: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class DayGroup:
    """The cards of one local day, in the order of the search; without a date by relevance."""

    date: date | None
    is_continued: bool
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Everything `search/search.html` and its fragments draw."""

    asked: SearchRequest
    groups: list[DayGroup]
    total: int
    total_is_exact: bool
    index_fresh_to_ms: int | None
    waiting: int
    order: str
    note: str
    next_address: str | None
    loads_itself: bool
    spellings: list[Alternative]
    widenings: list[Alternative]
    app_names: list[str]
    refining: Refining | None  # None on a later part of the list
    saved: tuple[SavedSearch, ...]

    @property
    def count(self) -> int:
        return sum(len(group.cards) for group in self.groups)


def page(
    database: Database,
    asked: SearchRequest,
    viewer: Viewer,
    last_day: date | None = None,
    meaning: Meaning = WORDS_ONLY,
) -> ResultsPage:
    """The page, or the next part of it when `asked.after` is set. Raises `BadCursor`."""
    found = search.fuzzy_search(
        database,
        asked.q,
        asked.filters,
        order=asked.order,
        limit=LIMIT,
        cursor=asked.after,
        **meaning,
    )
    parsed = _read_as(database, asked.q, found)
    spellings, widenings = (
        ([], []) if found.hits or asked.after else search_facets.alternatives(database, asked)
    )
    next_address = None
    if found.next_cursor:
        next_address = asked.address(after=found.next_cursor, pages=asked.pages + 1)
    return ResultsPage(
        asked=asked,
        groups=_grouped(_cards(database, asked, parsed, found.hits, viewer), found, viewer, last_day),
        total=found.total,
        total_is_exact=found.total_is_exact,
        index_fresh_to_ms=found.index_fresh_to_ms,
        waiting=readings.count_pending(database),
        order=_order_words(found),
        note=_note(parsed, found, viewer),
        next_address=next_address,
        loads_itself=asked.pages < AUTOMATIC_PAGES,
        spellings=spellings,
        widenings=widenings,
        app_names=sorted(apps.colour_slots(database), key=str.casefold),
        refining=None if asked.after else search_facets.refining(database, asked, viewer.now_ms, meaning),
        saved=saved_searches.everything(database),
    )


def _read_as(database: Database, q: str, found: Page) -> Query:
    """The question whose words are marked: with their pieces and look-alikes, where those were asked."""
    parsed = query.parse(q)
    words = (fuzzy.split_ngrams(parsed) if found.reading == "pieces" else None) or parsed
    if found.strategy.endswith("+lookalike"):
        with database.read() as connection:
            wider = fuzzy.expand_query(connection, words)
        return words if wider is None else query.parse(wider)
    return words


# -- cards --------------------------------------------------------------------------------


def _cards(
    database: Database, asked: SearchRequest, parsed: Query, hits: Sequence[Hit], viewer: Viewer
) -> list[Card]:
    rows = frames.get_many(database, [hit.frame_id for hit in hits])
    slots = apps.colour_slots(database)
    cards: list[Card] = []
    for hit in hits:
        row = rows.get(hit.frame_id)
        if row is None:
            continue  # deleted since the search ran
        shown = picture(row, formatting.clock(row.captured_ms, viewer.zone))
        if cards and not parsed.is_browse and _looks_alike(cards[-1], shown, hit):
            cards[-1] = replace(cards[-1], similar=(*cards[-1].similar, shown))
            continue
        boxes, count = marked_boxes(database, row, parsed)
        cards.append(
            Card(
                picture=shown,
                css_class=slot_class(slots.get(row.app_name or "")),
                window=_marked(row.window_name, parsed),
                url=_marked(row.browser_url, parsed),
                snippet=markdown.highlight(hit.snippet, hit.highlights),
                boxes=boxes,
                hits=count,
                status=hit.status,
                address=_frame_address(row.id, asked.q),
                found_by=_found_by(hit),
            )
        )
    return cards


def _found_by(hit: Hit) -> str:
    if "text" in hit.matched or not hit.matched:
        return ""
    if "pieces" in hit.matched:
        return "in parts"
    return "looks alike" if "lookalike" in hit.matched else "similar meaning"


def marked_boxes(database: Database, row: FrameRow, parsed: Query) -> tuple[tuple[Box, ...], int]:
    """Boxes around the query's words on a frame, and how often they stand there."""
    if parsed.is_browse:
        return (), 0
    reading = readings.current_reading(database, row.id)
    found = spans(reading.text, parsed) if reading else []
    boxes = [box for span in found[:_MAX_BOXES] for box in readings.boxes_for_span(reading, *span)]  # type: ignore[arg-type]
    return tuple(boxes), len(found)


def _marked(text: str | None, parsed: Query) -> Markup:
    """A title or an address with the searched words marked: they are searched, too."""
    return markdown.highlight(text, spans(text, parsed)) if text else Markup("")


def _looks_alike(card: Card, shown: Picture, hit: Hit) -> bool:
    same_place = (card.picture.app_name, card.picture.window_name) == (shown.app_name, shown.window_name)
    is_near = abs(card.picture.captured_ms - shown.captured_ms) <= SIMILAR_MS
    return same_place and is_near and card.snippet == markdown.highlight(hit.snippet, hit.highlights)


def _frame_address(frame_id: int, q: str) -> str:
    return f"/frames/{frame_id}?{urlencode({'q': q})}" if q.strip() else f"/frames/{frame_id}"


def _grouped(cards: Sequence[Card], found: Page, viewer: Viewer, last_day: date | None) -> list[DayGroup]:
    if found.strategy.startswith(("bm25", "rrf", "cosine")):
        return [DayGroup(None, True, tuple(cards))] if cards else []
    groups: list[DayGroup] = []
    for card in cards:
        on = times.to_local(card.picture.captured_ms, viewer.zone).date()
        if groups and groups[-1].date == on:
            groups[-1] = replace(groups[-1], cards=(*groups[-1].cards, card))
        else:
            groups.append(DayGroup(on, not groups and on == last_day, (card,)))
    return groups


# -- words --------------------------------------------------------------------------------


def _order_words(found: Page) -> str:
    names = {"browse": "newest first", "newest": "newest first", "oldest": "oldest first"}
    return names.get(found.strategy.partition("+")[0], "best first")


def _note(parsed: Query, found: Page, viewer: Viewer) -> str:
    if not parsed.is_browse and parsed.tree is None:
        return "There is nothing to search for in these signs: type a word."
    if "+lookalike" in found.strategy:
        return "Few frames hold these words: frames with words that look alike are shown, too."
    if any("pieces" in hit.matched for hit in found.hits):
        return "Words without spaces between them were looked for in parts, too; whole ones come first."
    if "_newest_" in found.strategy:
        return "Very common words: the newest matches are ranked first."
    if found.meaning_since_ms is not None:
        since = times.to_local(found.meaning_since_ms, viewer.zone).date()
        return f"Frames before {since.isoformat()} were looked for by their words, not by their meaning."
    return ""


# ---- webapp search
# Search: everything that was on the screen, by words, app, window, address and time.

blueprint = Blueprint("search", __name__)

_MAX_CHARS = 1000
_MAX_NAME_CHARS = 120


@blueprint.get("/search")
def show() -> Response:
    """The page; for htmx the results, or with ``after`` the next part of them."""
    who, own = viewer(), services()
    asked = _asked()
    try:
        found = page(own.database, asked, who, _last_day(), own.embedder.asked(asked.q))
    except BadCursor:
        html = render_template("search/_changed.html", asked=asked)
        if not templating.wants_fragment():
            html = render_template("search/changed.html", asked=asked, section="search")
        return make_response(html, 400)
    fragment = "search/_more.html" if asked.after else "search/_results.html"
    return templating.render("search/search.html", fragment, page=found, section="search")


@blueprint.get("/search/new")
def new() -> str:
    """How many frames have come that this list would have, by words and by meaning."""
    asked, own = _asked(), services()
    newest = request.args.get("newest", "")
    after_id = int(newest) if newest.isdecimal() and len(newest) < 19 else 0
    listed = search_facets.listed(asked, own.embedder.asked(asked.q))
    count = search.count_new(own.database, listed, after_id)
    return render_template("search/_new.html", asked=asked, count=count, newest=after_id)


@blueprint.get("/search/names")
def names() -> str:
    """Window titles or addresses that contain what is typed into their filter, as options."""
    column: Literal["window_name", "browser_url"] = "browser_url" if "url" in request.args else "window_name"
    typed = request.args.get("url", request.args.get("win", ""))[:_MAX_CHARS]
    return render_template("search/_names.html", names=store_names.typed(services().database, column, typed))


@blueprint.post("/search/saved")
def save() -> Response:
    """Keep a search under a name, or no longer."""
    address = request.form.get("address", "")
    database = services().database
    if request.form.get("forget"):
        saved_searches.forget(database, address)
        return templating.redirect_to(address if saved_searches.is_search(address) else "/search")
    name = request.form.get("name", "").strip()[:_MAX_NAME_CHARS]
    try:
        saved_searches.save(database, SavedSearch(name, address))
    except ValueError as error:
        raise Problem(400, "invalid_search", f"This cannot be saved: {error}.") from error
    return templating.redirect_to(address)


def _asked() -> SearchRequest:
    args = request.args
    pages = args.get("pages", "1")
    return SearchRequest(
        q=args.get("q", "")[:_MAX_CHARS],
        app=args.get("app", "").strip()[:_MAX_CHARS],
        win=args.get("win", "").strip()[:_MAX_CHARS],
        url=args.get("url", "").strip()[:_MAX_CHARS],
        range=parameters.read(args, viewer()),
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
