"""What the search page draws: hits by day, with the words drawn on each picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode

from markupsafe import Markup

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from store.core import times
from store.core.database import Database
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box
from store.search import fuzzy, query, saved_searches, search
from store.search.hits import Hit, spans
from store.search.query import Query
from store.search.saved_searches import SavedSearch
from store.search.search import Page
from webapp.core import markdown
from webapp.core.services import Viewer
from webapp.pages.search.facets import Alternative, Refining, SearchRequest, alternatives, refining

LIMIT = 20
AUTOMATIC_PAGES = 3
"""So many pages load by themselves; after that only the button, so that the end can be reached."""

SIMILAR_MS = 30 * 60_000
"""Frames of one window that read the same are stacked when they are this near to the first."""

_MAX_BOXES = 40
_ORDERS = {"browse": "newest first", "newest": "newest first", "oldest": "oldest first"}


@dataclass(frozen=True, slots=True)
class Card:
    """One hit. `similar` are later hits that look and read the same."""

    frame: FrameRow
    colour_slot: int | None
    window: Markup
    url: Markup
    snippet: Markup
    boxes: tuple[Box, ...]
    hits: int
    status: str
    address: str
    found_by: str  # "looks alike" or "similar meaning" where the words themselves are not on it
    similar: tuple[FrameRow, ...] = ()


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
    found: Page
    groups: list[DayGroup]
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


def page(
    database: Database,
    asked: SearchRequest,
    viewer: Viewer,
    last_day: date | None = None,
    meaning: Meaning = WORDS_ONLY,
) -> ResultsPage:
    """The page, or the next part of it when `asked.after` is set. Raises `BadCursor`."""
    found = search.fuzzy_search(
        database, asked.q, asked.filters, order=asked.order, limit=LIMIT, cursor=asked.after, **meaning
    )
    parsed = _read_as(database, asked.q, found)
    is_empty = not found.hits and not asked.after
    spellings, widenings = alternatives(database, asked) if is_empty else ([], [])
    next_address = None
    if found.next_cursor:
        next_address = asked.address(after=found.next_cursor, pages=asked.pages + 1)
    return ResultsPage(
        asked=asked,
        found=found,
        groups=_grouped(_cards(database, asked, parsed, found.hits), found, viewer, last_day),
        waiting=readings.count_pending(database),
        order=_ORDERS.get(found.strategy.partition("+")[0], "best first"),
        note=_note(parsed, found, viewer),
        next_address=next_address,
        loads_itself=asked.pages < AUTOMATIC_PAGES,
        spellings=spellings,
        widenings=widenings,
        app_names=sorted(apps.colour_slots(database), key=str.casefold),
        refining=None if asked.after else refining(database, asked, viewer.now_ms, meaning),
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


def _cards(database: Database, asked: SearchRequest, parsed: Query, hits: Sequence[Hit]) -> list[Card]:
    rows = frames.get_many(database, [hit.frame_id for hit in hits])
    slots = apps.colour_slots(database)
    cards: list[Card] = []
    for hit in hits:
        frame = rows.get(hit.frame_id)
        if frame is None:
            continue  # deleted since the search ran
        if cards and not parsed.is_browse and _looks_alike(cards[-1], frame, hit):
            cards[-1] = replace(cards[-1], similar=(*cards[-1].similar, frame))
            continue
        boxes, count = marked_boxes(database, frame, parsed)
        cards.append(
            Card(
                frame=frame,
                colour_slot=slots.get(frame.app_name or ""),
                window=_marked(frame.window_name, parsed),
                url=_marked(frame.browser_url, parsed),
                snippet=markdown.highlight(hit.snippet, hit.highlights),
                boxes=boxes,
                hits=count,
                status=hit.status,
                address=f"/frames/{frame.id}" + (f"?{urlencode({'q': asked.q})}" if asked.q.strip() else ""),
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


def marked_boxes(database: Database, frame: FrameRow, parsed: Query) -> tuple[tuple[Box, ...], int]:
    """Boxes around the query's words on a frame, and how often they stand there."""
    if parsed.is_browse:
        return (), 0
    reading = readings.current_reading(database, frame.id)
    if reading is None:
        return (), 0
    places = spans(reading.text, parsed)
    boxes = [box for span in places[:_MAX_BOXES] for box in readings.boxes_for_span(reading, *span)]
    return tuple(boxes), len(places)


def _marked(text: str | None, parsed: Query) -> Markup:
    """A title or an address with the searched words marked: they are searched, too."""
    return markdown.highlight(text, spans(text, parsed)) if text else Markup("")


def _looks_alike(card: Card, frame: FrameRow, hit: Hit) -> bool:
    same_place = (card.frame.app_name, card.frame.window_name) == (frame.app_name, frame.window_name)
    is_near = abs(card.frame.captured_ms - frame.captured_ms) <= SIMILAR_MS
    return same_place and is_near and card.snippet == markdown.highlight(hit.snippet, hit.highlights)


def _grouped(cards: Sequence[Card], found: Page, viewer: Viewer, last_day: date | None) -> list[DayGroup]:
    if found.strategy.startswith(("bm25", "rrf", "cosine")):
        return [DayGroup(None, True, tuple(cards))] if cards else []
    groups: list[DayGroup] = []
    for card in cards:
        on = times.to_local(card.frame.captured_ms, viewer.zone).date()
        if groups and groups[-1].date == on:
            groups[-1] = replace(groups[-1], cards=(*groups[-1].cards, card))
        else:
            groups.append(DayGroup(on, not groups and on == last_day, (card,)))
    return groups


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
