"""The proof behind each number: the quote, looked for in the text of that very frame.

Only this deterministic check says `found`. Where the words stand is told in pixels, from the boxes
of the frame's current reading. A quote may also be the frame's app, window or URL, which are
sources of their own and have no box.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from assistant.core.records import Box, EvidenceItem, EvidenceState
from assistant.core.strings import local_time
from assistant.evidence import quotes
from assistant.evidence.quotes import Rows, rows
from assistant.evidence.replies import Quote
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
    the least sure of its words. `misquoted` are all that were not found.
    """

    state: EvidenceState
    quote: str
    boxes: tuple[Box, ...] = ()
    reading_id: int | None = None
    confidence: float | None = None
    misquoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedFrame:
    """A cited frame: what became of its quotes, and its text, as it was read and by rows; none unread."""

    verdict: Verdict
    texts: tuple[str, ...] = ()
    read_ms: int | None = None


def verify(database: Database, cited: Iterable[Entry], given: Sequence[Quote]) -> list[CheckedFrame]:
    """A verdict for every cited entry, in order."""
    with database.read():
        return [
            checked(
                entry.frame,
                readings.current_reading(database, entry.frame.id),
                [text for name, text in given if name == entry.id and text],
            )
            for entry in cited
        ]


def checked(frame: SampledFrame | FrameRow, reading: Reading | None, given: Sequence[str]) -> CheckedFrame:
    """Whether a frame says what is quoted from it; `not_checked` when nothing was quoted."""
    row_text = rows(reading) if reading else None
    texts = (reading.text, row_text.text) if reading and row_text else ()
    found: dict[str, None] = {}
    boxes: dict[Box, None] = {}
    words: list[readings.Word] = []
    misquoted = []
    for quote in dict.fromkeys(given):
        places = list(_places(frame, reading, row_text, quote))
        for text, place, read in places:
            found[text] = None
            boxes.update((Box(b.x, b.y, b.w, b.h), None) for b in place)
            words += read
        if not places:
            misquoted.append(quote)
    if not found:
        verdict = Verdict("not_found", given[0], misquoted=tuple(misquoted)) if given else NOT_QUOTED
    else:
        reading_id = reading.id if reading else None
        verdict = Verdict(
            "found", JOINT.join(found), tuple(boxes), reading_id, _least_sure(words), tuple(misquoted)
        )
    return CheckedFrame(verdict, texts, reading.read_ms if reading else None)


NOT_QUOTED = Verdict("not_checked", "")


def _places(
    frame: SampledFrame | FrameRow, reading: Reading | None, by_rows: Rows | None, quote: str
) -> Iterator[tuple[str, list[readings.Box], list[readings.Word]]]:
    """The text of the frame that a quote is, with its boxes and words; none when it stands nowhere.

    What is shown as found is what the frame says: a model mends slips of reading, and may mend wrongly.
    """
    if reading and by_rows:
        spans = quotes.find(reading.text, quote)
        words = [word for line in reading.lines for word in line.words] if spans else []
        for start, end in spans:
            boxes = readings.boxes_for_span(reading, start, end)
            yield _flat(reading.text[start:end]), boxes, _within(words, start, end)
        if spans:
            return
        spans = quotes.find(by_rows.text, quote)
        for start, end in spans:
            words = _within(by_rows.words, start, end)
            yield _flat(by_rows.text[start:end]), [word.box for word in words], words
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


def _flat(text: str) -> str:
    return " ".join(text.split())


def items(
    entries: Sequence[Entry], order: Sequence[str], verdicts: Sequence[Verdict], zone: tzinfo
) -> tuple[EvidenceItem, ...]:
    """Evidence as the answer shows it: what is cited by number, then the rest in order of time."""
    by_id = {entry.id: entry for entry in entries}
    cited = [_item(by_id[name], n, verdicts[n - 1], zone) for n, name in enumerate(order, 1)]
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


# ---- assistant citations
# From the model's marks to numbers: only entries of this turn can be cited.
#
# Marks become ``[1]``, ``[2]``, … by first use; marks that name no entry are removed and counted,
# and so is whatever else stands in double brackets, such as a frame's number or ``[[e1-e9]]``.
# The text is also rid of what only the server may write: numbers in brackets that look like
# citations, links and pictures.

_MARK = re.compile(
    r"""(?P<space>[ \t]*)
    [\[【]{1,2} \s* (?P<ids> e\d{1,4} (?: \s* [,;，、/]? \s* \[{0,2} \s* e\d{1,4} )* ) \s* [\]】]{1,2}""",
    re.IGNORECASE | re.VERBOSE,
)
_ID = re.compile(r"e(\d{1,4})", re.IGNORECASE)
_STRAY = re.compile(r"(?P<space>[ \t]*)(?<![\\\w])\[\[(?P<name>[^\[\]\n]{1,40})\]\]")
_NUMBER = re.compile(r"(?<![\\A-Za-z0-9_])\[(\d{1,3})\]")
_INDEXED = re.compile("[A-Za-z0-9_]")
_PRIVATE = re.compile("[\ue000\ue001]")
_OWN = re.compile("\ue000(\\d+)\ue001")
_LINK = re.compile(r"!?\[((?:[^\[\]\\]|\\.)*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+[^()]*)?\)")
_TARGET = re.compile(r"(\\.)|\]\((?:[^()\s]|\([^()]*\))*(?:\s+[^()]*)?\)")
_DEFINITION = re.compile(r"^(\s{0,3}(?:[-*+>]\s+)*(?:\[\d+\])+):", re.MULTILINE)
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*\S+.*$", re.MULTILINE)
_AUTOLINK = re.compile(r"<((?:[a-z][a-z0-9+.-]*:|www\.)[^<>\s]*)>", re.IGNORECASE)
_BEFORE_STOP = re.compile(r"[ \t]+(?=[.,;:!?。，；：！？](?:\s|$))")
_REPEATED = re.compile(r"(\[\d+\])(?:\s*\1)+")


@dataclass(frozen=True, slots=True)
class Numbered:
    """Markdown with ``[n]`` marks; ``order[n - 1]`` is the entry behind n."""

    answer_md: str
    order: tuple[str, ...]
    unknown: int


def number(answer_md: str, known: Collection[str], mentioned: Iterable[str], label: str) -> Numbered:
    """The answer with its citations numbered.

    `mentioned` are entries the model gave quotes for. Those without a mark in the text are listed
    at its end behind `label`, so that every number is visible in the text.
    """
    order: dict[str, int] = {}
    unknown: set[str] = set()

    def numbers(ids: Iterable[str]) -> str:
        for name in ids:
            if name in known:
                order.setdefault(name, len(order) + 1)
            else:
                unknown.add(name)
        return "".join(f"[{order[name]}]" for name in dict.fromkeys(ids) if name in order)

    def mark(found: re.Match[str]) -> str:
        marks = numbers([f"e{int(n)}" for n in _ID.findall(found["ids"])])
        # Behind a Latin letter or digit a number in brackets is an index: ``arr[1]``.
        is_glued = not found["space"] and _INDEXED.match(found.string[: found.start()][-1:])
        return (" " if is_glued else found["space"]) + marks if marks else ""

    def own(found: re.Match[str]) -> str:
        return f"({found[1]})" if int(found[1]) <= len(order) else f"[{found[1]}]"

    def stray(found: re.Match[str]) -> str:
        if _MARK.fullmatch(found[0]):
            return found[0]
        unknown.add(found["name"].strip())
        return ""

    # A number of the model's own making loses its brackets where it would be taken for one of ours.
    text = _NUMBER.sub("\ue000\\1\ue001", _STRAY.sub(stray, _without_links(_PRIVATE.sub("", answer_md))))
    text = _OWN.sub(own, _BEFORE_STOP.sub("", _MARK.sub(mark, text)))
    text = _REPEATED.sub(r"\1", text)
    # "[1]: text" at the start of a line would define a link.
    text = _DEFINITION.sub(r"\1 :", text).strip()
    unmarked = numbers([name for name in dict.fromkeys(mentioned) if name not in order])
    if unmarked:
        text = f"{text}\n\n{label} {unmarked}"
    return Numbered(text, tuple(order), len(unknown))


def _without_links(answer_md: str) -> str:
    """Without links and pictures: only the server writes addresses."""
    text = _REFERENCE.sub("", answer_md)
    # An escaped bracket ends no link: a quoted "[x](y)" stays as the screen showed it.
    text = _TARGET.sub(lambda found: found[1] or "]", _LINK.sub(r"\1", text))
    return _AUTOLINK.sub(r"\1", text)


def without_numbers(answer_md: str) -> str:
    """An earlier answer as history: its numbers mean nothing in another turn."""
    return re.sub(r"\s*(?<![\\A-Za-z0-9_])\[\d{1,3}\]", "", answer_md)
