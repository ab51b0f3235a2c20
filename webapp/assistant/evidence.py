"""The proof behind each number: the quote, looked for in the text of that very frame (CHAT-1).

Only this deterministic check says `found`. Where the words stand is told in pixels, from the boxes
of the frame's current reading. A quote may also be the frame's app, window or URL, which are
sources of their own (R3.1) and have no box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from store import readings
from store.database import Database
from store.frames import FrameRow
from store.readings import Reading
from store.sample import SampledFrame
from webapp.assistant import quotes
from webapp.assistant.packing import frame_url
from webapp.assistant.records import Box, EvidenceItem, EvidenceState
from webapp.assistant.replies import Quote
from webapp.assistant.retrieval import Entry
from webapp.assistant.sentences import local_time

JOINT = " … "
"""Between the quotes that were found in one frame."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the quotes given for one entry. `quote` holds those that were found, or, when
    none was, the first that was not.
    """

    state: EvidenceState
    quote: str
    boxes: tuple[Box, ...] = ()
    reading_id: int | None = None


def verify(database: Database, cited: Iterable[Entry], given: Sequence[Quote]) -> dict[str, Verdict]:
    """A verdict for every cited entry, by its id."""
    with database.read():
        return {
            entry.id: judge(
                entry.frame,
                readings.current(database, entry.frame.id),
                [text for name, text in given if name == entry.id and text],
            )
            for entry in cited
        }


def judge(frame: SampledFrame | FrameRow, reading: Reading | None, given: Sequence[str]) -> Verdict:
    """Whether a frame says what is quoted from it; `not_checked` when nothing was quoted."""
    if not given:
        return Verdict("not_checked", "")
    found: list[str] = []
    boxes: dict[Box, None] = {}
    for quote in dict.fromkeys(given):
        spans = quotes.find(reading.text, quote) if reading else ()
        if spans or quotes.stands_in((frame.window_name, frame.app_name, frame.browser_url), quote):
            found.append(quote)
        for start, end in spans if reading else ():
            boxes.update((Box(b.x, b.y, b.w, b.h), None) for b in _boxes(reading, start, end))
    if not found:
        return Verdict("not_found", given[0])
    return Verdict("found", JOINT.join(found), tuple(boxes), reading.id if reading else None)


def items(
    entries: Sequence[Entry], order: Sequence[str], verdicts: Mapping[str, Verdict], zone: tzinfo
) -> tuple[EvidenceItem, ...]:
    """Evidence as the answer shows it: what is cited by number, then the rest in order of time."""
    by_id = {entry.id: entry for entry in entries}
    cited = [_item(by_id[name], n, verdicts[name], zone) for n, name in enumerate(order, 1)]
    rest = [_item(entry, None, _RETRIEVED, zone) for entry in entries if entry.id not in set(order)]
    return (*cited, *rest)


_RETRIEVED = Verdict("retrieved", "")


def _item(entry: Entry, n: int | None, verdict: Verdict, zone: tzinfo) -> EvidenceItem:
    frame = entry.frame
    return EvidenceItem(
        n=n,
        frame_id=frame.id,
        captured_ms=frame.captured_ms,
        local_time=local_time(frame.captured_ms, zone),
        app_name=frame.app_name,
        window_name=frame.window_name,
        focused=frame.focused,
        browser_url=frame.browser_url,
        ocr_snippet=entry.excerpt.text,
        quote=verdict.quote,
        boxes=verdict.boxes,
        state=verdict.state,
        frame_url=frame_url(frame.id),
        reading_id=verdict.reading_id,
    )


def _boxes(reading: Reading | None, start: int, end: int) -> list[readings.Box]:
    return readings.boxes_for_span(reading, start, end) if reading else []
