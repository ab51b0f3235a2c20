"""The proof behind each number: the quote, looked for in the text of that very frame.

Only this deterministic check says `found`. Where the words stand is told in pixels, from the boxes
of the frame's current reading. A quote may also be the frame's app, window or URL, which are
sources of their own and have no box.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Literal

from assistant.core.records import MIN_CONFIDENCE, Box, EvidenceItem, EvidenceState
from assistant.core.strings import local_time
from assistant.core.texts import normalize
from assistant.evidence import quotes, relations
from assistant.evidence.outcomes import outcomes
from assistant.evidence.quotes import rows
from assistant.evidence.replies import Quote
from assistant.language import lexical_overlap, statements
from assistant.language.figures import figures, is_among, parts_told, relative_days, shown
from assistant.retrieval.packing import frame_url
from assistant.retrieval.retrieval import Entry
from store.core.database import Database
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Line, Reading
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
_NUMBER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
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
        return found["space"] + marks if marks else ""

    def stray(found: re.Match[str]) -> str:
        if _MARK.fullmatch(found[0]):
            return found[0]
        unknown.add(found["name"].strip())
        return ""

    # Numbers of the model's own making lose their brackets before ours get theirs.
    text = _NUMBER.sub(r"(\1)", _STRAY.sub(stray, _without_links(answer_md)))
    text = _BEFORE_STOP.sub("", _MARK.sub(mark, text))
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
    return re.sub(r"\s*(?<!\\)\[\d{1,3}\]", "", answer_md)


# ---- completing
# Lines that a model should have quoted too: where a frame shows what a sentence says beside its quote.
#
# Models quote half of a line, or one line of the two that they speak of. Code looks for each figure,
# name, address, quotation and outcome that the quotes lack, and adds the line that shows it to the
# evidence, where a person sees it boxed like any other quote. The rest of the quoted line will do
# always, a line near it when it shares a word with the sentence, and one farther away only for what
# can hardly be meant otherwise: a long figure, an address, a name.

NEAR_LINES = 4
"""So many line heights above or below a quote are beside it."""

MOST_LINES = 4
"""Lines added for one sentence: who needs more has not quoted what he speaks of."""

SAME_ROW = 0.8
"""Within so many line heights any line will do: it is the rest of the quoted one."""

NEXT_LINE = 2.5
"""So many line heights below a line the next one of its paragraph begins."""

_DAYS = ("date ", "weekday ", "ordinal ")
_MOMENTS = ("clock ", *_DAYS)
_PLAIN_DIGITS = 3
_PLAIN_LETTERS = 4
_FILE = re.compile(r"[\w./-]*\w\.(?!example)[a-z]{1,5}\b")
Reach = Literal["row", "near", "frame"]
_Shows = Callable[[str], bool]


def completing(
    sentence: str, lines: Sequence[Line], quoted: Sequence[Line], told: Iterable[str], titles: Sequence[str]
) -> Iterator[Line]:
    """The lines of a frame that show what a sentence says and neither the quotes (`told`) nor the frame's
    app, window and address (`titles`) do. `quoted` are the lines in which the quotes stand.
    """
    whole = "\n".join([*told, *titles])
    texts = [line.text for line in lines]
    if not all(any(is_among(each, shown(text)) for text in (whole, *texts)) for each in _amounts(sentence)):
        return  # no line makes the sentence whole
    near = sorted(lines, key=lambda line: _distance(line, quoted))
    tied = partial(_is_tied, sentence, lexical_overlap.content_words(sentence))
    counted = relations.counted(sentence)
    added: dict[int, Line] = {}
    for reach, shows in _particulars(sentence, titles):
        if shows(whole) or any(shows(line.text) for line in added.values()):
            continue
        fitting = (line for line in near if shows(line.text))
        line = next((each for each in fitting if _may(each, quoted, tied, counted, reach)), None)
        if line is not None:
            added[line.start] = line
    # Quotes that tell an outcome are not to be set beside another one from elsewhere.
    for outcome in () if outcomes(whole) else outcomes(statements.without_quotations(sentence)):
        line = next((each for each in near if outcome in outcomes(each.text)), None)
        if line is not None and _distance(line, quoted) <= NEAR_LINES:
            added[line.start] = line
    if len(added) <= MOST_LINES:
        yield from added.values()


def _amounts(sentence: str) -> list[str]:
    """The figures of a sentence that only a text can show: a moment may be the frame's own."""
    bare = statements.without_addresses(statements.without_quotations(sentence))
    return [figure for figure in figures(bare) if not figure.startswith(_MOMENTS)]


def _particulars(sentence: str, told: Sequence[str]) -> Iterator[tuple[Reach, _Shows]]:
    """(how far away a line may show it, whether a text does) of each particular of a sentence."""
    for quotation in statements.quotations(sentence):
        yield "frame", partial(_has_quotation, quotation)
    bare = statements.without_quotations(sentence)
    for address in statements.addresses(bare):
        yield "frame", partial(_has_address, address)
    bare = statements.without_addresses(bare)
    for figure in sorted(figures(bare)):
        is_long = sum(map(str.isdigit, figure)) >= _PLAIN_DIGITS
        reach: Reach = (
            "row"
            if figure.startswith(_DAYS)
            else "frame"
            if is_long and not figure.startswith("clock ")
            else "near"
        )
        yield reach, partial(_has_figure, figure)
    for name in statements.names(bare):
        if _FILE.fullmatch(name) and any(_FILE.search(text) for text in told):
            continue  # a title names the file that was open: another one is only in a list beside it
        yield "frame" if len(name) >= _PLAIN_LETTERS else "near", partial(statements.stands_in, name)
    for part in parts_told(bare):
        yield "row", partial(_has_part, part)
    for day in relative_days(bare):
        yield "row", partial(_has_word, day)


def _has_quotation(quotation: str, text: str) -> bool:
    return bool(quotes.find(text, quotation))


def _has_address(address: str, text: str) -> bool:
    return normalize(address) in normalize(text)


def _has_figure(figure: str, text: str) -> bool:
    return is_among(figure, shown(text))


def _has_part(part: str, text: str) -> bool:
    return part in parts_told(text)


def _has_word(word: str, text: str) -> bool:
    return word in text


def _distance(line: Line, quoted: Sequence[Line]) -> float:
    """In line heights, from the nearest quoted line; 0 for the line that one runs on from or into."""
    if any(_runs_on(line, other) or _runs_on(other, line) for other in quoted):
        return 0.0
    middle = line.box.y + line.box.h / 2
    return min(
        (abs(middle - other.box.y - other.box.h / 2) / max(other.box.h, line.box.h, 1) for other in quoted),
        default=float("inf"),
    )


def _runs_on(line: Line, into: Line) -> bool:
    """Whether a sentence goes on in the line below: no stop, and no beginning."""
    gap = into.box.y - line.box.y
    return (
        0 < gap <= NEXT_LINE * max(line.box.h, into.box.h)
        and abs(line.box.x - into.box.x) <= into.box.h
        and line.text.rstrip()[-1:].isalnum()
        and into.text.lstrip()[:1].islower()
    )


def _is_tied(sentence: str, words: set[str], text: str) -> bool:
    """Whether a line shares a word with the sentence, in its own language or in the other."""
    if lexical_overlap.is_foreign(sentence, [text]):
        return bool(lexical_overlap.same_words(sentence, [text])[0])
    return bool(words - lexical_overlap.lacking(words, [text]))


def _may(line: Line, quoted: Sequence[Line], tied: _Shows, counted: relations.Counted, reach: Reach) -> bool:
    distance = _distance(line, quoted)
    if reach == "frame" or distance <= SAME_ROW:
        return True
    if reach == "row":
        return False
    if distance <= NEAR_LINES and tied(line.text):
        return True
    return any(told & counted.get(word, set()) for word, told in relations.counted(line.text).items())
