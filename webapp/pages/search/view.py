"""What the search page draws: hits by rank or by day, with the words drawn on each picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from assistant.core.query_embedder import LOADING
from store.core import times
from store.core.database import Database
from store.core.translation import gettext as _
from store.core.translation import language
from store.embeddings.knn import WORDS_ONLY, RetrievalQuery
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box
from store.ocr.unread_scripts import script_name, unread_scripts
from store.search import search
from store.search.filters import Filters
from store.search.query import Query
from store.search.search import Page
from store.search.snippet import spans
from store.timeline import gaps
from store.timeline.gaps import Gap
from webapp.core import formatting, markdown
from webapp.core.parameters import Range
from webapp.core.services import Viewer
from webapp.pages.search.facets import SearchRequest, alternatives, refining
from webapp.pages.search.others import others
from webapp.views.frames import contact_sheet, crop_around

LIMIT = 20
AUTOMATIC_PAGES = 3
"""So many pages load by themselves; after that only the button, so that the end can be reached."""

_MAX_BOXES = 40
_PIECE_PX = 144, 72
_CROP_PX = 432, 216
"""Three pixels of the screen for one of the row: a few lines, told apart by their shape."""


NEAR = "near"
"""In place of a day: the list has come to what is near in meaning."""


@dataclass(frozen=True, slots=True)
class Card:
    """One hit, for all frames of its run."""

    frame: FrameRow
    colour_slot: int | None
    app: str
    window: Markup
    url: Markup  # "" where the words are not in it
    beside: str  # the app in front, where the snippet stands in another window
    snippet: Markup
    crop: Box | None  # around the first of the words on the picture, None where they are not on it
    boxes: tuple[Box, ...]
    status: str
    address: str
    found_by: str  # how the words were found where they are not on it as they stand
    span_ms: tuple[int, int]
    moments: tuple[tuple[int, int], ...]  # (frame, when) of all of the run, where there are several


@dataclass(frozen=True, slots=True)
class Group:
    """Cards of one local day, with the key "" those in order of rank, or with `NEAR` those near in meaning; a
    later page is told the key.
    """

    key: str
    is_continued: bool
    cards: tuple[Card, ...]

    @property
    def on(self) -> date | None:
        return None if self.key in ("", NEAR) else date.fromisoformat(self.key)

    @property
    def frames(self) -> int:
        return sum(len(card.moments) or 1 for card in self.cards)


def page(
    database: Database,
    asked: SearchRequest,
    viewer: Viewer,
    last_group: str = "",
    meaning: RetrievalQuery | Callable[[], RetrievalQuery] = WORDS_ONLY,
) -> dict[str, Any]:
    """What `search/search.html` draws, or its next part when `asked.after` is set; `last_group` is where that
    left off.

    Raises `BadCursor`.
    """
    found = search.search(
        database, asked.q, asked.filters, order=asked.order, limit=LIMIT, cursor=asked.after, fold=True,
        meaning=meaning,
    )  # fmt: skip
    is_empty = not found.total and not asked.after
    spellings, widenings = alternatives(database, asked) if is_empty else ([], [])
    cards = _cards(database, asked, found)
    groups = _grouped(cards, viewer, last_group, is_ranked=found.strategy.startswith("bm25"))
    has_words = found.words.tree is not None
    is_narrow = not has_words or asked.is_filtered or asked.after
    next_address = None
    if found.next_cursor:
        last = groups[-1].key if groups else last_group
        next_address = asked.address(after=found.next_cursor, pages=asked.pages + 1, group=last)
    return dict(
        asked=asked,
        found=found,
        groups=groups,
        sheet=contact_sheet(((card.frame, card.crop) for card, near in cards if not near), *_PIECE_PX),
        waiting=readings.count_pending(database),
        runs=sum(len(group.cards) for group in groups if group.key != NEAR),
        meaning_follows=found.fallback_reason == LOADING,
        is_whole=not asked.after and not found.next_cursor,
        others=[] if is_narrow else list(others(database, asked.q, viewer.now_ms)),
        browsed=search.search(database, "", asked.filters, limit=1) if is_empty and has_words else None,
        unread_scripts=_unread_scripts(database, asked, viewer) if is_empty else [],
        has_no_address=is_empty and bool(asked.url) and not _any_address(database, asked),
        note=_note(found, viewer),
        next_address=next_address,
        loads_itself=asked.pages < AUTOMATIC_PAGES,
        unrecorded=_unrecorded(database, asked.range, viewer.now_ms) if is_empty else [],
        spellings=spellings,
        widenings=widenings,
        app_names=sorted(apps.colour_slots(database), key=str.casefold),
        refining=None if asked.after else refining(database, asked),
    )


def _cards(database: Database, asked: SearchRequest, found: Page) -> list[tuple[Card, bool]]:
    """(card, whether it is near in meaning alone) of each hit."""
    parsed = found.words
    rows = frames.get_many(database, [hit.frame_id for hit in found.hits])
    slots = apps.colour_slots(database)
    cards = []
    for hit in found.hits:
        frame = rows.get(hit.frame_id)
        if frame is None:
            continue  # deleted since the search ran
        is_near = found.mode == "hybrid" and hit.matched == ("meaning",)
        boxes = () if is_near else marked_boxes(database, frame, parsed)
        run = sorted({hit.frame_id, *hit.alike}) if hit.alike else ()
        app_name, window_name, url = hit.shown_in
        card = Card(
            frame=frame,
            colour_slot=slots.get(app_name or ""),
            app=formatting.app_name(app_name),
            window=_marked(window_name, parsed),
            url=_marked(url, parsed) if spans(url or "", parsed) else Markup(""),
            beside=formatting.app_name(frame.app_name) if hit.beside else "",
            snippet=markdown.highlight(hit.snippet, hit.highlights),
            crop=crop_around(boxes[:1], frame.width_px, frame.height_px, *_CROP_PX),
            boxes=boxes,
            status=hit.status,
            address=f"/frames/{frame.id}" + (f"?{urlencode({'q': asked.q})}" if asked.q.strip() else ""),
            found_by=_way(hit.matched),
            span_ms=hit.span_ms,
            moments=tuple((number, frames.captured_ms_of(number)) for number in run),
        )
        cards.append((card, is_near))
    return cards


def _way(matched: Iterable[str]) -> str:
    """How words were found that are not there as they stand; else ""."""
    ways = {"pieces": _("in parts"), "lookalike": _("looks alike")}
    return next((ways[way] for way in matched if way in ways), "")


def marked_boxes(database: Database, frame: FrameRow, parsed: Query) -> tuple[Box, ...]:
    """Boxes around the query's words on a frame's picture."""
    reading = None if parsed.is_browse else readings.current_reading(database, frame.id)
    if reading is None or not frame.media_path:
        return ()
    places = spans(reading.text, parsed)[:_MAX_BOXES]
    return tuple(box for span in places for box in readings.boxes_for_span(reading, *span))


def _marked(text: str | None, parsed: Query) -> Markup:
    """A title or an address with the searched words marked: they are searched, too."""
    return markdown.highlight(text or "", spans(text or "", parsed))


def _grouped(
    cards: Iterable[tuple[Card, bool]], viewer: Viewer, last_group: str, *, is_ranked: bool
) -> list[Group]:
    """Cards as they are in order: by rank one after the other, by time those of a day together."""
    by_key: dict[str, list[Card]] = {}
    for card, is_near in cards:
        key = "" if is_ranked else viewer.day_of(card.frame.captured_ms).date.isoformat()
        key = NEAR if is_near else key
        by_key.setdefault(key, []).append(card)
    return [
        Group(key, not n and key == last_group, tuple(group)) for n, (key, group) in enumerate(by_key.items())
    ]


def _unrecorded(database: Database, asked: Range, now_ms: int) -> list[tuple[str, int, Gap]]:
    """(why, how long in all, the longest stretch) of what has no picture in a range that was asked for."""
    if asked.start_ms is None:
        return []
    by_reason: dict[str, list[Gap]] = {}
    for gap in gaps.gaps(database, asked.start_ms, asked.end_ms or now_ms, now_ms):
        if gap.reason != gaps.IDLE:
            by_reason.setdefault(formatting.gap_reason(gap.reason), []).append(gap)

    def length_ms(gap: Gap) -> int:
        return gap.end_ms - gap.start_ms

    return [(why, sum(map(length_ms, all_)), max(all_, key=length_ms)) for why, all_ in by_reason.items()]


def _any_address(database: Database, asked: SearchRequest) -> bool:
    """Whether a frame of the range has an address at all."""
    of_range = Filters(asked.filters.start_ms, asked.filters.end_ms, browser_url=":", host=asked.filters.host)
    return search.search(database, "", of_range, limit=1).total > 0


def _unread_scripts(database: Database, asked: SearchRequest, viewer: Viewer) -> list[str]:
    """The names of scripts in the words that no frame of the range was read for."""
    start_ms, end_ms = asked.filters.start_ms, asked.filters.end_ms or viewer.now_ms
    with database.read() as connection:
        found = unread_scripts(connection, asked.q, start_ms, end_ms)
    return [script_name(script, language()) for script in found]


def _note(found: Page, viewer: Viewer) -> str:
    if re.search(r"\s-\w", found.words.text):
        return _("To leave out frames with a word, write NOT before it, not a minus.")
    if found.strategy.endswith("+lookalike"):
        return _("No frame has these words; these frames have similar ones.")
    if found.strategy.endswith("+pieces"):
        return _("No frame has these whole words; these frames have all their parts.")
    if found.strategy.startswith("newest_common"):
        return _("Most frames have these words, so none fits better than another.")
    if "_newest_" in found.strategy:
        return _("Very common words: the newest matches are ranked first.")
    if found.meaning_since_ms is not None:
        since = formatting.date_long(times.to_local(found.meaning_since_ms, viewer.zone).date())
        return _("Frames before %(day)s were searched by words alone, not by meaning.", day=since)
    return ""
