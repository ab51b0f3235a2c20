"""A frame as pages show it: its picture or why that is gone, and what is marked on it.

The address says what to mark: the words that were searched (``?q=&hit=``), or the words an answer cites
(``?cite=chat.turn.number``). The frame page and the stage of the timeline draw the same boxes for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from urllib.parse import urlencode

from assistant.core.errors import UnknownChat
from assistant.core.records import EvidenceItem, TurnResult
from assistant.turns.stored_turns import stored_turn
from store.core import times
from store.core.database import Database
from store.core.errors import MediaGone
from store.core.translation import N_
from store.core.translation import gettext as _
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr import readings
from store.ocr.readings import Box, Line, Reading, Source
from store.search import fuzzy, query
from store.search.snippet import spans
from webapp.core.parameters import number

MAX_HITS = 200
MAX_LINES = 400
_GONE = {
    "deleted": N_("It was deleted."),
    "missing": N_("Its file is missing on the disk."),
    "altered": N_("Its file is no longer the picture that was captured, so it is not shown."),
    "retention": N_("It was removed by retention."),
}


def citation_text(words: str, place: str, captured_ms: int, frame_id: int | None, zone: tzinfo) -> str:
    """What "Copy citation" copies, beside the address."""
    at = times.rfc3339(captured_ms - captured_ms % 1000, zone).replace("T", " ")
    return f"{words}{place}, {at}, {_('frame %(number)s', number=frame_id)}"


def unavailable_reason(media: Media, frame: FrameRow) -> str:
    """Why the exact picture cannot be shown, or "" when it can."""
    try:
        media.check(frame)
    except MediaGone as error:
        return error.reason
    return ""


def unavailable_text(reason: str) -> str:
    """A sentence for why a picture is gone; "" for no reason."""
    if reason in _GONE or not reason:
        return _(_GONE.get(reason, ""))
    return _("It is gone: %(reason)s.", reason=reason.replace("_", " "))


def crop_around(
    boxes: Iterable[Box], width_px: int, height_px: int, least_width: int = 640, least_height: int = 360
) -> Box | None:
    """A crop of the frame with the boxes in it, and what stands around them; None without boxes."""
    marked = list(boxes)
    if not marked:
        return None
    left, right = min(b.x for b in marked), max(b.x + b.w for b in marked)
    top, bottom = min(b.y for b in marked), max(b.y + b.h for b in marked)
    width = min(width_px, max(least_width, right - left + 80))
    height = min(height_px, max(least_height, bottom - top + 60))
    x = min(max(0, (left + right - width) // 2), width_px - width)
    y = min(max(0, (top + bottom - height) // 2), height_px - height)
    return Box(x, y, width, height)


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """Pieces of frames, which a page asks for as one picture: each `width_px` by `height_px` there."""

    pieces: tuple[tuple[FrameRow, Box | None], ...]
    width_px: int
    height_px: int

    @property
    def name(self) -> str:
        return f"sheet-{self.pieces[0][0].id}"

    @property
    def address(self) -> str:
        """Twice as many pixels as the page has, for screens that are as fine."""
        pieces = [",".join(map(str, (frame.id, *(area or ())))) for frame, area in self.pieces]
        size = f"{2 * self.width_px}x{2 * self.height_px}"
        return f"/frames/sheet?{urlencode({'size': size, 'of': pieces}, doseq=True, safe=',')}"

    def top(self, frame: FrameRow, area: Box | None) -> int:
        """How far down a piece stands."""
        return self.pieces.index((frame, area)) * self.height_px


def contact_sheet(
    pieces: Iterable[tuple[FrameRow | None, Box | None]], width_px: int, height_px: int
) -> ContactSheet | None:
    """Of the pictures that are there; None of none."""
    there = [(frame, area) for frame, area in pieces if frame and (frame.media_path or frame.preview_path)]
    return ContactSheet(tuple(there), width_px, height_px) if there else None


@dataclass(frozen=True, slots=True)
class HighlightRequest:
    """What an address asks to be marked. Hits count from 1."""

    q: str = ""
    hit: int = 1
    cite: str = ""

    @property
    def on_frame(self) -> dict[str, str]:
        """The parts that mean one place on one frame."""
        hit = {"hit": str(self.hit)} if self.q and self.hit > 1 else {}
        return {**hit, **({"cite": self.cite} if self.cite else {})}


@dataclass(frozen=True, slots=True)
class HitBox:
    """One place where the searched words stand. `is_approximate` when only the line's box is known."""

    n: int
    words: str
    boxes: tuple[Box, ...]
    is_approximate: bool
    is_current: bool
    address: str


@dataclass(frozen=True, slots=True)
class FrameHighlights:
    """The marks of one frame. `cited` is what an answer, `turn`, says about it; `lost` says that the address
    names a citation that is not there.
    """

    wanted: HighlightRequest
    hits: tuple[HitBox, ...]
    spans: tuple[tuple[int, int], ...]  # of every hit in the text
    cited: EvidenceItem | None
    turn: TurnResult | None
    lost: bool

    @property
    def current(self) -> HitBox | None:
        return next((hit for hit in self.hits if hit.is_current), None)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes that matter most: the cited words, else the current hit."""
        if self.cited:
            return self.cited.boxes
        return self.current.boxes if self.current else ()

    @property
    def words(self) -> str:
        """The words in those boxes, for a citation that is copied."""
        if self.cited:
            return self.cited.quote
        return self.current.words if self.current else ""

    @property
    def is_approximate(self) -> bool:
        return self.current is not None and not self.cited and self.current.is_approximate


NO_HIGHLIGHTS = HighlightRequest()


def highlight_request(arguments: Mapping[str, str]) -> HighlightRequest:
    """What a query string asks for; what cannot be read asks for nothing."""
    return HighlightRequest(
        q=arguments.get("q", "")[:1000],
        hit=number(arguments, "hit", 5) or 1,
        cite=arguments.get("cite", "")[:60],
    )


def frame_highlights(
    database: Database, frame: FrameRow, reading: Reading | None, wanted: HighlightRequest
) -> FrameHighlights:
    """The marks that an address asks for on a frame."""
    hits, hit_spans = _hits(reading, frame, wanted.q, wanted.hit)
    cited, turn = _cited(database, frame, wanted.cite)
    is_lost = bool(wanted.cite) and cited is None
    return FrameHighlights(wanted, hits, tuple(hit_spans), cited, turn, lost=is_lost)


def lines_of(reading: Reading | None) -> list[Line]:
    """The lines of a frame that have a place on it."""
    lines = reading.lines[:MAX_LINES] if reading else ()
    return [line for line in lines if line.text.strip() and line.box.w and line.box.h]


def sources_of(reading: Reading | None) -> list[tuple[Source, int]]:
    """Who told how many words of a frame, most first."""
    if reading is None:
        return []
    return Counter(word.source for line in reading.lines for word in line.words).most_common()


def _hits(
    reading: Reading | None, frame: FrameRow, q: str, chosen: int
) -> tuple[tuple[HitBox, ...], list[tuple[int, int]]]:
    if reading is None or not q.strip():
        return (), []
    words = query.parse(q)
    # A frame that search found by the pieces of a word has no whole one to mark.
    found = (spans(reading.text, words) or spans(reading.text, fuzzy.split_ngrams(words) or words))[:MAX_HITS]
    hits = tuple(
        HitBox(
            n=n,
            words=_surroundings(reading.text, start, end),
            boxes=tuple(readings.boxes_for_span(reading, start, end)),
            is_approximate=any(
                line.start < end and line.end > start and not line.words for line in reading.lines
            ),
            is_current=n == min(chosen, len(found)),
            address=f"/frames/{frame.id}?{urlencode({'q': q, 'hit': n})}",
        )
        for n, (start, end) in enumerate(found, 1)
    )
    return hits, found


def _surroundings(text: str, start: int, end: int) -> str:
    """The words around a hit, on its own line."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    left = line if start - line <= 24 else text.find(" ", start - 24, start) + 1 or start - 24
    right = stop if stop - end <= 32 else max(text.rfind(" ", end, end + 32), end)
    return text[left:right].strip()


def _cited(database: Database, frame: FrameRow, cite: str) -> tuple[EvidenceItem | None, TurnResult | None]:
    """The citation ``chat.turn.number`` with its turn, when it exists and names this very frame."""
    parts = cite.split(".")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
        return None, None
    chat_id, turn_id, n = map(int, parts)
    try:
        turn: TurnResult = stored_turn(database, chat_id, turn_id)
    except UnknownChat:
        return None, None
    item = next((item for item in turn.evidence if (item.n, item.frame_id) == (n, frame.id)), None)
    return item, turn if item else None
