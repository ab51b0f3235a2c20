"""The search page: hits by day, with the words drawn on each picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode

from markupsafe import Markup

from store import apps, frames, query, reading_queue, readings
from store.database import Database
from store.frames import FrameRow
from store.query import Query
from store.readings import Box
from store.search import Filters, Hit, Order, Page, search, spans
from webapp import days, markdown, wording
from webapp.ranges import NO_RANGE, Range
from webapp.viewer import Viewer
from webapp.views.band import slot_class
from webapp.views.pictures import Picture, picture

LIMIT = 20
AUTOMATIC_PAGES = 3
"""So many pages load by themselves; after that only the button, so that the end can be reached."""

SIMILAR_MS = 30 * 60_000
"""Frames of one window that read the same are stacked when they are this near to the first."""

_MAX_BOXES = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """The search as its address says it."""

    q: str = ""
    app: str = ""
    win: str = ""
    url: str = ""
    range: Range = NO_RANGE
    sort: str = ""
    after: str | None = None
    pages: int = 1

    @property
    def filters(self) -> Filters:
        return Filters(
            self.range.start_ms or 0, self.range.end_ms, self.app or None, self.win or None, self.url or None
        )

    @property
    def order(self) -> Order | None:
        return {"new": "newest", "old": "oldest", "best": "relevance"}.get(self.sort)  # type: ignore[return-value]

    def address(self, **changes: object) -> str:
        """This search with something else in it; None or an empty text takes a part away."""
        values: dict[str, object] = {
            "q": self.q,
            "app": self.app,
            "win": self.win,
            "url": self.url,
            **self._range_values(),
            "sort": self.sort,
            **changes,
        }
        kept = [(name, value) for name, value in values.items() if value not in (None, "")]
        return f"/search?{urlencode(kept)}" if kept else "/search"

    def _range_values(self) -> dict[str, object]:
        if self.range.when == "custom":
            return {"from": self.range.start_ms, "to": self.range.end_ms}
        return {"when": self.range.when}

    @property
    def is_filtered(self) -> bool:
        return bool(self.app or self.win or self.url or self.range.is_given)


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
    similar: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class DayGroup:
    """The cards of one local day, in the order of the search; without a date by relevance."""

    date: date | None
    is_continued: bool
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Widening:
    """One way out of an empty result, and how many frames it would give."""

    words: str
    address: str
    total: int


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Everything `search/search.html` and its fragments draw."""

    asked: Asked
    groups: list[DayGroup]
    total: int
    total_is_exact: bool
    index_fresh_to_ms: int | None
    waiting: int
    order: str
    note: str
    next_address: str | None
    loads_itself: bool
    newer_address: str  # where to ask how many frames came since, '' when none can come
    widenings: list[Widening]
    app_names: list[str]

    @property
    def count(self) -> int:
        return sum(len(group.cards) for group in self.groups)


def page(database: Database, asked: Asked, viewer: Viewer, last_day: date | None = None) -> ResultsPage:
    """The page, or the next part of it when `asked.after` is set. Raises `BadCursor`."""
    found = search(database, asked.q, asked.filters, order=asked.order, limit=LIMIT, cursor=asked.after)
    parsed = query.parse(asked.q)
    next_address = None
    if found.next_cursor:
        next_address = asked.address(after=found.next_cursor, pages=asked.pages + 1)
    return ResultsPage(
        asked=asked,
        groups=_grouped(_cards(database, asked, parsed, found.hits, viewer), found, viewer, last_day),
        total=found.total,
        total_is_exact=found.total_is_exact,
        index_fresh_to_ms=found.index_fresh_to_ms,
        waiting=reading_queue.count_pending(database),
        order=_order_words(found),
        note=_note(parsed, found),
        next_address=next_address,
        loads_itself=asked.pages < AUTOMATIC_PAGES,
        newer_address=_newer_address(asked, found),
        widenings=[] if found.hits or asked.after else _widenings(database, asked),
        app_names=sorted(apps.colour_slots(database), key=str.casefold),
    )


def count_newer(database: Database, asked: Asked, since_ms: int) -> int:
    """How many frames that match came after a moment: the page's own filter decides (TL-3)."""
    filters = replace(asked.filters, start_ms=max(since_ms + 1, asked.filters.start_ms))
    return search(database, asked.q, filters, limit=1).total


def _newer_address(asked: Asked, found: Page) -> str:
    """Only a list that begins at now can have something before its first row."""
    is_open = asked.range.end_ms is None or asked.range.when not in ("", "custom", "yesterday")
    if asked.after or not is_open or found.strategy not in ("browse", "newest") or not found.hits:
        return ""
    newest_ms = found.hits[0].captured_ms
    return asked.address(since=newest_ms).replace("/search?", "/search/newer?")


# -- cards --------------------------------------------------------------------------------


def _cards(
    database: Database, asked: Asked, parsed: Query, hits: Sequence[Hit], viewer: Viewer
) -> list[Card]:
    rows = frames.get_many(database, [hit.frame_id for hit in hits])
    slots = apps.colour_slots(database)
    cards: list[Card] = []
    for hit in hits:
        row = rows.get(hit.frame_id)
        if row is None:
            continue  # deleted since the search ran
        shown = picture(row, wording.clock(row.captured_ms, viewer.zone))
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
            )
        )
    return cards


def marked_boxes(database: Database, row: FrameRow, parsed: Query) -> tuple[tuple[Box, ...], int]:
    """Boxes around the query's words on a frame, and how often they stand there."""
    if parsed.is_browse:
        return (), 0
    reading = readings.current(database, row.id)
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
    if found.strategy.startswith("bm25"):
        return [DayGroup(None, True, tuple(cards))] if cards else []
    groups: list[DayGroup] = []
    for card in cards:
        on = days.local(card.picture.captured_ms, viewer.zone).date()
        if groups and groups[-1].date == on:
            groups[-1] = replace(groups[-1], cards=(*groups[-1].cards, card))
        else:
            groups.append(DayGroup(on, not groups and on == last_day, (card,)))
    return groups


# -- words --------------------------------------------------------------------------------


def _order_words(found: Page) -> str:
    names = {"browse": "newest first", "newest": "newest first", "oldest": "oldest first"}
    return names.get(found.strategy, "best first")


def _note(parsed: Query, found: Page) -> str:
    if not parsed.is_browse and parsed.tree is None:
        return "There is nothing to search for in these signs: type a word."
    if found.strategy.startswith("bm25_newest"):
        return "Very common words: the newest matches are ranked first."
    return ""


def _widenings(database: Database, asked: Asked) -> list[Widening]:
    """What each filter takes away, and the same words over all time."""
    tries = [
        (f"without the app “{asked.app}”", replace(asked, app="")) if asked.app else None,
        (f"without the window “{asked.win}”", replace(asked, win="")) if asked.win else None,
        (f"without the URL “{asked.url}”", replace(asked, url="")) if asked.url else None,
        ("over all time", replace(asked, range=NO_RANGE)) if asked.range.is_given else None,
    ]
    if asked.is_filtered:
        tries.append(("without any filter", Asked(q=asked.q, sort=asked.sort)))
    widened: list[Widening] = []
    for words, wider in filter(None, tries):
        total = search(database, wider.q, wider.filters, limit=1).total
        if total and wider.address() not in {each.address for each in widened}:
            widened.append(Widening(words, wider.address(), total))
    return widened
