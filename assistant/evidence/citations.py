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
from assistant.evidence.replies import Quote
from assistant.language.statements import CITATION
from assistant.retrieval.retrieval import Entry
from store.core.database import Database
from store.frames.frames import FrameRow
from store.frames.visible_windows import UNTOLD, OtherWindow, Windows
from store.ocr import readings
from store.ocr.layout import Form, forms
from store.ocr.readings import Reading, Word
from store.search.sample import SampledFrame

JOINT = " … "  # between the quotes that were found in one frame
_WORD = re.compile(r"\w{2}|\d")


@dataclass(frozen=True, slots=True)
class CheckedFrame:
    """What became of the quotes given for a frame. `quote` holds those that were found, in the frame's own
    words, or, when none was, the first that was not, as it was given. `confidence` (0..1) is that of the
    least sure of its words. `misquoted` are all that were not found, `quoted` those that were. `texts` are
    what was read, as it was read and by rows; none of an unread frame. `beside` is the window that the quotes
    stand in, where that is another than the one in front.
    """

    state: EvidenceState
    quote: str = ""
    boxes: tuple[Box, ...] = ()
    reading_id: int | None = None
    confidence: float | None = None
    misquoted: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    read_ms: int | None = None
    beside: OtherWindow | None = None


def verify(database: Database, cited: Iterable[Entry], given: Sequence[Quote]) -> list[CheckedFrame]:
    """Every cited entry, checked, in order."""
    with database.read():
        return [
            checked(
                entry.frame,
                readings.current_reading(database, entry.frame.id),
                [text for name, text in given if name == entry.id and text],
                entry.frame.windows,
            )
            for entry in cited
        ]


def checked(
    frame: SampledFrame | FrameRow,
    reading: Reading | None,
    given: Sequence[str],
    windows: Windows = UNTOLD,
) -> CheckedFrame:
    """Whether a frame says what is quoted from it; `not_checked` when nothing was quoted."""
    read = forms(reading) if reading else ()
    places = {quote: list(_places(frame, read, quote)) for quote in dict.fromkeys(given)}
    found = [place for of_quote in places.values() for place in of_quote]
    quoted = dict.fromkeys(text for text, _, _ in found)
    boxes = tuple(dict.fromkeys(box for _, boxes, _ in found for box in boxes))
    return CheckedFrame(
        "found" if found else "not_found" if given else "not_checked",
        JOINT.join(quoted) if found else next(iter(given), ""),
        boxes,
        reading.id if found and reading else None,
        _least_sure(word for _, _, words in found for word in words),
        tuple(quote for quote, of_quote in places.items() if not of_quote),
        tuple(quoted),
        tuple(form.text for form in read),
        reading.read_ms if reading else None,
        windows.of_all(boxes),
    )


def _places(
    frame: SampledFrame | FrameRow, read: Iterable[Form], quote: str
) -> Iterator[tuple[str, Sequence[Box], Sequence[Word]]]:
    """The text of the frame that a quote is, with its boxes and words; none when it stands nowhere.

    What is shown as found is what the frame says: a model mends slips of reading, and may mend wrongly.
    """
    for form in read:
        spans = quotes.find(form.text, quote)
        for start, end in spans:
            lines = form.reading.lines
            words = [word for line in lines for word in line.words if word.start < end and word.end > start]
            yield _flat(form.text[start:end]), readings.boxes_for_span(form.reading, start, end), words
        if spans:
            return
    for place in filter(None, (frame.window_name, frame.app_name, frame.browser_url)):
        spans = quotes.find(place, quote)
        if spans:
            yield JOINT.join(_flat(place[start:end]) for start, end in spans), [], []
            return


def _least_sure(words: Iterable[Word]) -> float | None:
    """The confidence of the word that was read least surely; bullets and icons are no words."""
    sure = (word.confidence for word in words if _WORD.search(word.text))
    return min((each for each in sure if each is not None), default=None)


def _flat(text: str) -> str:
    return " ".join(text.split())


def items(
    entries: Sequence[Entry], order: Sequence[str], cited: Sequence[CheckedFrame], zone: tzinfo
) -> tuple[EvidenceItem, ...]:
    """Evidence as the answer shows it: what is cited by number, then the rest in order of time."""
    by_id = {entry.id: entry for entry in entries}
    numbered = [_item(by_id[name], n, cited[n - 1], zone) for n, name in enumerate(order, 1)]
    rest = [_item(entry, None, _RETRIEVED, zone) for entry in entries if entry.id not in set(order)]
    return (*numbered, *rest)


_RETRIEVED = CheckedFrame("retrieved")


def _item(entry: Entry, n: int | None, checked: CheckedFrame, zone: tzinfo) -> EvidenceItem:
    frame = entry.frame
    app_name, window_name, browser_url = checked.beside or (
        frame.app_name, frame.window_name, frame.browser_url,
    )  # fmt: skip
    return EvidenceItem(
        n=n,
        frame_id=frame.id,
        captured_ms=frame.captured_ms,
        local_time=local_time(frame.captured_ms, zone),
        app_name=app_name,
        window_name=window_name,
        focused=False if checked.beside else frame.focused,
        browser_url=browser_url,
        snippet=entry.excerpt,
        quote=checked.quote,
        boxes=checked.boxes,
        state=checked.state,
        reading_id=checked.reading_id,
        confidence=checked.confidence,
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
    text = CITATION.sub("\ue000\\1\ue001", _STRAY.sub(stray, _without_links(_PRIVATE.sub("", answer_md))))
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
    return re.sub(rf"\s*{CITATION.pattern}", "", answer_md)
