"""The proof behind each number: the quote, looked for in the text of that very frame (CHAT-1).

Only this deterministic check says `found`. Where the words stand is told in pixels, from the boxes
of the frame's current reading. A quote may also be the frame's app, window or URL, which are
sources of their own (R3.1) and have no box.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from assistant.core.records import MIN_CONFIDENCE, Box, EvidenceItem, EvidenceState
from assistant.core.strings import local_time
from assistant.evidence import quotes
from assistant.evidence.completing import completing
from assistant.evidence.replies import Quote
from assistant.evidence.rows import rows
from assistant.retrieval.packing import frame_url
from assistant.retrieval.retrieval import Entry
from store.core.database import Database
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Reading
from store.search.sample import SampledFrame

JOINT = " … "
"""Between the quotes that were found in one frame."""

_WORD = re.compile(r"\w{2}|\d")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the quotes given for one entry. `quote` holds those that were found, in the frame's
    own words, or, when none was, the first that was not, as it was given. `confidence` (0..1) is that of
    the least sure of its words.
    """

    state: EvidenceState
    quote: str
    boxes: tuple[Box, ...] = ()
    reading_id: int | None = None
    confidence: float | None = None


def verify(
    database: Database, cited: Iterable[Entry], given: Sequence[Quote], said: Mapping[str, Sequence[str]]
) -> dict[str, Verdict]:
    """A verdict for every cited entry, by its id. `said` are the sentences that cite each."""
    with database.read():
        return {
            entry.id: judge(
                entry.frame,
                readings.current_reading(database, entry.frame.id),
                [text for name, text in given if name == entry.id and text],
                said.get(entry.id, ()),
            )
            for entry in cited
        }


def judge(
    frame: SampledFrame | FrameRow,
    reading: Reading | None,
    given: Sequence[str],
    said: Sequence[str] = (),
) -> Verdict:
    """Whether a frame says what is quoted from it; `not_checked` when nothing was quoted.

    What the sentences of `said` lack in the quotes is added from the lines around them (`completing`).
    """
    if not given:
        return Verdict("not_checked", "")
    found: dict[str, None] = {}
    boxes: dict[Box, None] = {}
    words: list[readings.Word] = []
    for quote in dict.fromkeys(given):
        for text, place, read in _places(frame, reading, quote):
            found[text] = None
            boxes.update((Box(b.x, b.y, b.w, b.h), None) for b in place)
            words += read
    if not found:
        return Verdict("not_found", given[0])
    for line in _completing(frame, reading, found, boxes, said):
        found[_flat(line.text)] = None
        boxes[Box(line.box.x, line.box.y, line.box.w, line.box.h)] = None
        words += line.words
    reading_id = reading.id if reading else None
    return Verdict("found", JOINT.join(found), tuple(boxes), reading_id, _least_sure(words))


def _completing(
    frame: SampledFrame | FrameRow,
    reading: Reading | None,
    found: Iterable[str],
    boxes: Collection[Box],
    said: Iterable[str],
) -> list[readings.Line]:
    if reading is None:
        return []
    quoted = [line for line in reading.lines if any(_overlap(line.box, box) for box in boxes)]
    titles = [place for place in (frame.window_name, frame.app_name, frame.browser_url) if place]
    added = {
        line.start: line
        for sentence in said
        for line in completing(sentence, reading.lines, quoted, found, titles)
    }
    return list(added.values())


def _overlap(line: readings.Box, box: Box) -> bool:
    return (
        line.x < box.x + box.w
        and box.x < line.x + line.w
        and line.y < box.y + box.h
        and box.y < line.y + line.h
    )


def _places(
    frame: SampledFrame | FrameRow, reading: Reading | None, quote: str
) -> Iterator[tuple[str, list[readings.Box], list[readings.Word]]]:
    """The text of the frame that a quote is, with its boxes and words; none when it stands nowhere.

    What is shown as found is what the frame says: a model mends slips of reading, and may mend wrongly.
    """
    if reading:
        spans = quotes.find(reading.text, quote, _doubted(reading.lines))
        for start, end in spans:
            words = [word for line in reading.lines for word in line.words]
            boxes = readings.boxes_for_span(reading, start, end)
            yield _flat(reading.text[start:end]), boxes, _within(words, start, end)
        if spans:
            return
        joined = rows(reading)
        spans = quotes.find(joined.text, quote)
        for start, end in spans:
            words = _within(joined.words, start, end)
            yield _flat(joined.text[start:end]), [word.box for word in words], words
        if spans:
            return
    for place in (frame.window_name, frame.app_name, frame.browser_url):
        spans = quotes.find(place, quote) if place else ()
        if place and spans:
            yield JOINT.join(_flat(place[start:end]) for start, end in spans), [], []
            return


def _within(words: Iterable[readings.Word], start: int, end: int) -> list[readings.Word]:
    return [word for word in words if word.start < end and word.end > start]


def _least_sure(words: Iterable[readings.Word]) -> float | None:
    """The confidence of the word that was read least surely; bullets and icons are no words."""
    sure = (word.confidence for word in words if _WORD.search(word.text))
    return min((each for each in sure if each is not None), default=None)


def _doubted(lines: Iterable[readings.Line]) -> list[tuple[int, int]]:
    """The words that the reader was unsure of."""
    return [
        (word.start, word.end)
        for line in lines
        for word in line.words
        if word.confidence is not None and word.confidence < MIN_CONFIDENCE
    ]


def _flat(text: str) -> str:
    return " ".join(text.split())


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
        confidence=verdict.confidence,
    )
