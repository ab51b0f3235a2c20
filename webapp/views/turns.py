"""A turn of a chat as it is drawn: the answer with its marks, its evidence, and what was looked at.

The marks are computed, not drawn: a number links to the frame that the server checked, and a
sentence without evidence says so in a word, an icon and a line under it (ux, chapter 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from markupsafe import Markup

from store import frames
from store.database import Database
from store.frames import FrameRow
from store.readings import Box
from webapp import markdown, wording
from webapp.assistant.turn import Claim, EvidenceItem, TurnResult
from webapp.markdown import Span
from webapp.views.band import reason_words
from webapp.views.pictures import Picture, around, picture

MAX_RETRIEVED = 72

# state: (class of the sentence, word behind it); found and measured sentences need no tag.
_CLAIMS = {
    "no_evidence": ("unproven", "no evidence"),
    "not_found": ("unproven", "quote not found"),
    "not_checked": ("unchecked", "not checked"),
    "paraphrase": ("unchecked", "paraphrase"),
}


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """One frame under an answer. `picture` is None once the frame was deleted."""

    item: EvidenceItem
    anchor: str
    address: str
    clock: str
    iso: str
    picture: Picture | None
    boxes: tuple[Box, ...]
    crop: Box | None
    quote: Markup
    copied: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """One question and its answer."""

    turn: TurnResult
    answer: Markup
    cited: tuple[EvidenceCard, ...]
    retrieved: tuple[EvidenceCard, ...]
    totals: tuple[str, ...]
    gaps: str
    opening: str  # what has to be said before the answer, '' when nothing
    range_label: str
    zone_name: str

    @property
    def anchor(self) -> str:
        return f"t{self.turn.turn_id}"

    @property
    def is_running(self) -> bool:
        return self.turn.status == "running"


def turn_view(database: Database, turn: TurnResult, now_ms: int) -> TurnView:
    """The turn, with the pictures that are still there."""
    zone = ZoneInfo(turn.timezone)
    rows = frames.get_many(database, [e.frame_id for e in turn.evidence if e.frame_id is not None])
    cards = [_card(turn, item, rows, zone) for item in turn.evidence]
    cited = sorted((c for c in cards if c.item.n is not None), key=lambda c: c.item.n or 0)
    return TurnView(
        turn=turn,
        answer=markdown.render(turn.answer_md, _addresses(cited), _spans(turn.claims)),
        cited=tuple(cited),
        retrieved=tuple(c for c in cards if c.item.n is None)[:MAX_RETRIEVED],
        totals=tuple(_totals(turn, zone, now_ms)),
        gaps=_gaps(turn, zone),
        opening=_opening(turn, cited),
        range_label=wording.span(turn.start_ms, turn.end_ms, zone, now_ms),
        zone_name=f"{wording.offset(turn.start_ms, zone)} {turn.timezone}",
    )


def _card(turn: TurnResult, item: EvidenceItem, rows: Mapping[int, FrameRow], zone: ZoneInfo) -> EvidenceCard:
    row = rows.get(item.frame_id or -1)
    boxes = tuple(Box(b.x, b.y, b.w, b.h) for b in item.boxes)
    clock = wording.clock(item.captured_ms, zone)
    anchor = f"t{turn.turn_id}e{item.n}" if item.n is not None else ""
    address = f"/chat/{turn.chat_id}#{anchor}"
    if row is not None:
        cite = f"?cite={turn.chat_id}.{turn.turn_id}.{item.n}" if item.n is not None else ""
        address = f"/frames/{row.id}{cite}"
    place = ", ".join(part for part in (item.app_name, item.window_name) if part)
    at = wording.iso(item.captured_ms - item.captured_ms % 1000, zone).replace("T", " ")
    return EvidenceCard(
        item=item,
        anchor=anchor,
        address=address,
        clock=clock,
        iso=wording.iso(item.captured_ms, zone),
        picture=picture(row, clock) if row else None,
        boxes=boxes,
        crop=around(boxes, row.width_px, row.height_px) if row else None,
        quote=_quote(item),
        copied=f"“{item.quote or item.ocr_snippet}” - {place}, {at}, frame {item.frame_id}",
    )


def _quote(item: EvidenceItem) -> Markup:
    """The excerpt with the quoted words marked in it, where they stand in it."""
    if not item.quote:
        return markdown.highlight(item.ocr_snippet, ())
    at = item.ocr_snippet.find(item.quote)
    if item.state != "found":
        return markdown.highlight(item.quote, ())
    if at < 0:
        return markdown.highlight(item.quote, [(0, len(item.quote))])
    return markdown.highlight(item.ocr_snippet, [(at, at + len(item.quote))])


def _addresses(cited: Iterable[EvidenceCard]) -> dict[int, str]:
    return {card.item.n: card.address for card in cited if card.item.n is not None}


def _spans(claims: Iterable[Claim]) -> list[Span]:
    return [Span(c.start, c.end, *_CLAIMS[c.state]) for c in claims if c.state in _CLAIMS]


def _opening(turn: TurnResult, cited: list[EvidenceCard]) -> str:
    """An answer with claims of which none was verified opens with this sentence."""
    if turn.error or not turn.claims or any(claim.state in ("found", "measured") for claim in turn.claims):
        return ""
    return "I could not confirm this on screen." if turn.answer_md else ""


def _totals(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> Iterable[str]:
    cited = [item for item in turn.evidence if item.n is not None]
    if cited:
        yield f"{len(cited)} cited"
        yield f"{sum(item.state == 'found' for item in cited)} found"
    unproven = sum(claim.state in ("no_evidence", "not_found") for claim in turn.claims)
    if unproven:
        yield f"{wording.count(unproven, 'claim')} without evidence"
    covered = turn.coverage
    span = wording.span(turn.start_ms, turn.end_ms, zone, now_ms)
    yield f"searched {span} {wording.offset(turn.start_ms, zone)}"
    sampled = f", {wording.count(covered.frames_sampled)} looked at" if covered.frames_in_range else ""
    yield f"{wording.count(covered.frames_in_range, 'frame')}{sampled}"
    if covered.index_fresh_to_ms is not None:
        yield f"index fresh to {wording.clock(covered.index_fresh_to_ms, zone)}"


def _gaps(turn: TurnResult, zone: ZoneInfo) -> str:
    """The gaps of at least a minute, by reason: ``not recording 12:10–12:55; paused 15:20–15:35``."""
    by_reason: dict[str, list[str]] = {}
    for gap in turn.coverage.gaps:
        if gap.end_ms - gap.start_ms >= 60_000:
            ends = (wording.clock_short(ms, zone) for ms in (gap.start_ms, gap.end_ms))
            by_reason.setdefault(reason_words(gap.reason), []).append("–".join(ends))
    return "; ".join(f"{reason} {_some(stretches)}" for reason, stretches in by_reason.items())


def _some(stretches: list[str], most: int = 4) -> str:
    more = f" and {len(stretches) - most} more" if len(stretches) > most else ""
    return ", ".join(stretches[:most]) + more
