"""The one bounded look into the store that a turn takes.

Everything the answer may rest on is read here, in one snapshot and under one deadline, and then the
connection is let go: nothing is held while the model thinks. What the model may cite are
the entries, by ids that mean nothing outside this turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.core.texts import CJK, estimate_tokens, matches, normalize, position
from assistant.retrieval import frame_selection
from assistant.retrieval.frame_selection import MAX_FRAMES, Searched, select_in
from store.core.database import Database
from store.embeddings import vectors
from store.ocr import readings
from store.search import sample, search
from store.search.filters import Filters
from store.search.sample import SampledFrame
from store.timeline import ledger, segments
from store.timeline.ledger import Gap
from store.timeline.totals import Totals

RETRIEVAL_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the evidence ledger: what the model may cite as ``[[id]]``."""

    id: str
    frame: SampledFrame
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found, and what it was looked for with.

    `totals` is None when filters narrow it: totals count every app. `relevant` entries were found by
    a search, the others are spread over the range. `is_found` is false when the question has words
    and no frame of the range shows one. `unread` and `unembedded` frames of the range cannot be
    found yet: by words, by meaning.
    """

    filters: Filters
    entries: tuple[Entry, ...]
    frames_in_range: int
    gaps: tuple[Gap, ...]
    totals: Totals | None
    index_fresh_to_ms: int | None
    searched: tuple[Searched, ...] = ()
    relevant: int = 0
    is_found: bool = True
    unread: int = 0
    unembedded: int = 0


def retrieve(
    database: Database,
    filters: Filters,
    words: Sequence[str],
    now_ms: int,
    *,
    meaning: Meaning = WORDS_ONLY,
    max_frames: int = MAX_FRAMES,
    deadline_s: float = RETRIEVAL_TIMEOUT_S,
) -> Retrieval:
    """The selected frames with excerpts, and what else is known about the range.

     `words` are what the question is about, none for a summary (`relevance`); `meaning` is the
     question as a vector. ``filters.end_ms`` must be set. Raises `DeadlineExceeded` after `deadline_s`
    .
    """
    start_ms, end_ms = filters.start_ms, filters.end_ms or now_ms
    with database.read(deadline_s=deadline_s) as connection:
        in_range = sample.count(connection, filters)
        chosen = frame_selection.select_frames(
            database, connection, filters, words, in_range, meaning, max_frames
        )
        selected = sample.load(connection, chosen.ids)
        gaps = ledger.gaps(database, start_ms, end_ms, now_ms)
        totals = None if is_narrowed(filters) else segments.totals(database, start_ms, end_ms)
        return Retrieval(
            filters=filters,
            entries=tuple(_entries(selected, words)),
            frames_in_range=in_range,
            gaps=tuple(gaps),
            totals=totals,
            index_fresh_to_ms=readings.index_fresh_to_ms(database),
            searched=chosen.searched,
            relevant=chosen.relevant,
            is_found=chosen.is_found,
            unread=readings.count_unread(connection, start_ms, end_ms),
            unembedded=vectors.count_waiting(connection, start_ms, end_ms),
        )


def is_narrowed(filters: Filters) -> bool:
    """Whether anything but the range decides which frames count."""
    return filters != Filters(filters.start_ms, filters.end_ms)


def search_ocr(
    database: Database, filters: Filters, text: str = "", limit: int = MAX_FRAMES
) -> list[SampledFrame]:
    """Frames whose words match `text`, best first; without `text`, the spread over time."""
    with database.read(deadline_s=RETRIEVAL_TIMEOUT_S) as connection:
        if not text.strip():
            return sample.load(connection, select_in(connection, filters, limit))
        ids = [hit.frame_id for hit in search.search(database, text, filters, limit=limit).hits]
        found = {frame.id: frame for frame in sample.load(connection, ids)}
    return [found[number] for number in ids]


def get_frame(database: Database, frame_id: int) -> SampledFrame | None:
    """One frame with its words, or None when there is none."""
    with database.read() as connection:
        found = sample.load(connection, [frame_id])
    return found[0] if found else None


def _entries(selected: Sequence[SampledFrame], words: Sequence[str]) -> list[Entry]:
    seen: frozenset[str] = frozenset()
    entries = []
    for n, frame in enumerate(selected, 1):
        entries.append(Entry(f"e{n}", frame, excerpt(frame.text, words, seen)))
        seen = line_forms(frame.text)
    return entries


# ---- excerpts
# The few lines of a frame that say most, as spans of its text.
#
# An excerpt is made of whole lines, so a quote never runs across a cut that was not on the screen,
# and every part of it can be found again in the stored text. Lines that name what the question asks
# for come first, then lines that were not on the screen in the frame before: the same menu bar in
# every frame says nothing.

MAX_OCR_CHARS_PER_FRAME = 160
# A page of Chinese has a token per character: 160 of them in 72 frames would leave the 12,000
# tokens that a question may cost. So an excerpt is also bounded in tokens.
MAX_OCR_TOKENS_PER_FRAME = 100

_LETTERS = re.compile(r"[^\W\d_]")
_WIDE = re.compile(rf"(?=[{CJK}])[^\W\d_]")
_BREAK = re.compile(r"[\s,.;:!?，。；：！？、]")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text. ``text[start:end]`` of each span, joined by newlines, is `text`."""

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


def excerpt(
    text: str,
    words: Sequence[str] = (),
    seen: Collection[str] = frozenset(),
    limit: int = MAX_OCR_CHARS_PER_FRAME,
    limit_tokens: int = MAX_OCR_TOKENS_PER_FRAME,
) -> Excerpt:
    """At most `limit` characters and `limit_tokens` tokens of `text`, in its order.

    `words` are what the question is about, `seen` the normal forms of the lines that the frame
    before showed. A line longer than the limit is cut around its first match, between words.
    """
    ranked = sorted(_lines(text), key=lambda line: (-_worth(line.text, words, seen), line.start))
    chosen: list[tuple[int, int]] = []
    room, room_tokens = limit, limit_tokens
    for line in ranked:
        start, end = line.start, line.end
        if not chosen:
            start, end = _cut(text, line, words, limit)
        size, cost = end - start + bool(chosen), estimate_tokens(text[start:end])
        if size <= room and cost <= room_tokens:
            chosen.append((start, end))
            room, room_tokens = room - size, room_tokens - cost
        if room < 8 or room_tokens < 4:
            break
    chosen.sort()
    return Excerpt("\n".join(text[start:end] for start, end in chosen), tuple(chosen))


def shortened(line: str, words: Sequence[str], limit: int) -> str:
    """At most `limit` characters of one line, cut as an excerpt is."""
    return excerpt(line, words, limit=limit).text


def line_forms(text: str) -> frozenset[str]:
    """The normal forms of a text's lines, to know them again in the next frame."""
    return frozenset(normalize(line) for line in text.split("\n"))


def _lines(text: str) -> Iterator[_Line]:
    position = 0
    for raw in text.split("\n"):
        stripped = raw.strip()
        if stripped:
            start = position + raw.index(stripped)
            yield _Line(start, start + len(stripped), stripped)
        position += len(raw) + 1


def _worth(line: str, words: Sequence[str], seen: Collection[str]) -> float:
    """How much a line says: matches first, then news, then running text over scattered signs."""
    # A Chinese sentence of fifteen characters says as much as an English one of sixty letters: counted
    # alike, a page of Chinese beside an English window would not be told of at all.
    letters = len(_LETTERS.findall(line[:120])) + 3 * len(_WIDE.findall(line[:120]))
    substance = min(letters, 60) / 60
    return 100 * matches(words, line) + (0 if normalize(line) in seen else 10) + 5 * substance


def _cut(text: str, line: _Line, words: Sequence[str], limit: int) -> tuple[int, int]:
    """The part of a line that fits, starting a little before its first match."""
    if len(line.text) <= limit and estimate_tokens(line.text) <= MAX_OCR_TOKENS_PER_FRAME:
        return line.start, line.end
    folded = line.text.casefold()
    hits = [at for at in (position(word, folded) for word in words) if 0 <= at < len(line.text)]
    start = line.start + max(0, min(hits, default=0) - limit // 4)
    if start > line.start:
        start = _word_start(text, start, line.end)
    end = min(line.end, start + limit)
    while estimate_tokens(text[start:end]) > MAX_OCR_TOKENS_PER_FRAME:
        end -= max(1, (end - start) // 8)
    if end < line.end:
        end = _word_end(text, start, end)
    return start, end


def _word_start(text: str, start: int, line_end: int) -> int:
    """The next word's beginning when one is near, else `start` itself."""
    found = _BREAK.search(text, start, min(start + 24, line_end - 1))
    return found.end() if found else start


def _word_end(text: str, start: int, end: int) -> int:
    """The end of the last whole word before `end` when one is near, else `end` itself."""
    for at in range(end, max(start + 1, end - 24), -1):
        if _BREAK.match(text, at - 1):
            return at - 1 if at - 1 > start else end
    return end
