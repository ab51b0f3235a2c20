"""Whether an exported answer is what was exported: on any machine, without a network and without a home.

The file is hostile input. Nothing of it is written anywhere, no picture is decoded before its size is known,
and what is wrong is told by name. Whatever of it is told is on one line, without signs that steer a terminal.
What it proves, and what not, is `formats.PROVES` and `PROVES_NOT`.
"""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, Field, ValidationError

from assistant.evidence import quotes
from assistant.evidence.citations import JOINT
from store.frames.media import SUFFIXES, decode, pixels_sha256
from store.ocr.layout import forms
from store.ocr.readings import Box, Line, Reading, Word, union
from webapp.exports import bundle, signing
from webapp.exports.formats import FORMAT, READING, SIGNATURE, SUMS

MAX_PIXELS = 80_000_000
"""What a capture may have (`ingest.core.validation`)."""
MAX_PIXELS_OF_ALL = 40 * 3840 * 2160
MAX_JSON_BYTES, MAX_CHARS_OF_ALL = 60_000_000, 500_000
MAX_QUOTE, MAX_BOXES = 20_000, 500
MAX_TOLD, MAX_PROBLEMS = 200, 100
_NEEDED = {"README.txt", "answer.md", "answer.html", "evidence.json"}
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


def shown(text: str, most: int = MAX_TOLD) -> str:
    """Text of the file on one line, without signs that nobody sees or that steer a terminal."""
    seen = (sign for sign in text if sign.isspace() or unicodedata.category(sign)[0] != "C")
    line = " ".join("".join(seen).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


class _Box(BaseModel):
    x: int
    y: int
    w: int
    h: int


class _Picture(BaseModel):
    file: str
    media_type: str
    shows: _Box | None


class _Reading(BaseModel):
    file: str
    text_sha256: str


class _Source(BaseModel):
    n: int = Field(ge=1, le=bundle.MAX_FILES)
    frame_id: int | None
    local_time: str | None
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    quote: str = Field(max_length=MAX_QUOTE)
    boxes: list[_Box] = Field(max_length=MAX_BOXES)
    state: str
    marked_wrong: bool
    withheld: str | None
    picture_gone: str | None
    frame_pixels_sha256: str | None
    picture: _Picture | None
    reading: _Reading | None


class _Evidence(BaseModel):
    format: str
    question: str
    signed_by: str
    evidence: list[_Source] = Field(max_length=bundle.MAX_FILES)


@dataclass(frozen=True, slots=True)
class Proven:
    """A quote in what the signer read of the whole picture `file`. What it is of is only `said_to_be`."""

    n: int
    quote: str
    file: str
    said_to_be: str
    marked_wrong: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """No problem means that the file is unchanged since the key `signed_by` signed it; `key_compared`, that
    it is the one which was asked for. Of the sources that are not `proven`, `unproven` says why.
    """

    problems: tuple[str, ...]
    signed_by: str = ""
    key_compared: bool = False
    question: str = ""
    proven: tuple[Proven, ...] = ()
    unproven: tuple[tuple[int, str], ...] = ()


def verify(path: Path, key: str | None = None) -> Proof:
    """Check an exported answer, and that it was signed by the `key` of this thumbprint. Raises `OSError`."""
    try:
        files, problems = bundle.read(path)
    except bundle.NotABundle as error:
        return _refused(["It is no answer exported with proof.", str(error)])
    problems += _sums(files)
    try:
        signed_by = signing.signer(files.get(SIGNATURE, b""), files.get(SUMS, b""))
    except signing.BadSignature as error:
        return _refused([*problems, f"The signature of {SUMS} does not hold ({error})."])
    if key is not None and signed_by != key:
        problems.append(f"It is signed by the key {signed_by}, not by {key}.")
    # What is no longer what was signed is not looked into.
    return _refused(problems, signed_by) if problems else _evidence(files, signed_by, key is not None)


def _refused(problems: Sequence[str], signed_by: str = "") -> Proof:
    return Proof(tuple(shown(problem) for problem in problems[:MAX_PROBLEMS]), signed_by)


def _evidence(files: Mapping[str, bytes], signed_by: str, key_compared: bool) -> Proof:
    if sum(len(content) for name, content in files.items() if name.endswith(".json")) > MAX_JSON_BYTES:
        return _refused([f"What it says and read is more than {MAX_JSON_BYTES // 1_000_000} MB."], signed_by)
    try:
        document = _Evidence.model_validate_json(files["evidence.json"])
    except ValidationError as error:
        wrong = f"evidence.json is not what Recollect writes: {error.errors()[0]['msg']}."
        return _refused([wrong], signed_by)
    problems = []
    if document.format != FORMAT:
        problems.append(f"evidence.json is of another format: {document.format}.")
    if document.signed_by != signed_by:
        problems.append(f"evidence.json names the key {document.signed_by}, but {signed_by} signed it.")
    problems += _twice(document.evidence)
    if problems:
        return _refused(problems, signed_by)
    check = _Check(files)
    outcomes = [(source, *check.source(source)) for source in document.evidence]
    problems = [f"[{source.n}] {found}" for source, wrong, _ in outcomes for found in wrong]
    if problems:
        return _refused(problems, signed_by)
    return Proof(
        (), signed_by, key_compared, shown(document.question),
        tuple(_proven(source) for source, _, why in outcomes if not why),
        tuple((source.n, why) for source, _, why in outcomes if why),
    )  # fmt: skip


def _twice(sources: Iterable[_Source]) -> Iterator[str]:
    """Each number, picture and reading is of one source: nothing is looked into twice."""
    found = Counter[str]()
    for source in sources:
        found[f"[{source.n}]"] += 1
        found.update(each.file for each in (source.picture, source.reading) if each)
    return (f"{name} is in evidence.json more than once." for name, times in found.items() if times > 1)


def _proven(source: _Source) -> Proven:
    origin = (source.app_name, source.window_name, source.browser_url, source.local_time)
    return Proven(
        source.n, shown(source.quote, MAX_QUOTE), source.picture.file if source.picture else "",
        ", ".join(shown(each) for each in origin if each), source.marked_wrong,
    )  # fmt: skip


def _sums(files: Mapping[str, bytes]) -> Iterator[str]:
    """Is every file there, none beside them, and each the one whose hash was signed?"""
    stated = {
        found[2]: found[1]
        for line in files.get(SUMS, b"").decode("utf-8", "replace").splitlines()
        if (found := _SUM.fullmatch(line))
    }
    yield from (f"{name} is missing." for name in sorted((stated.keys() | _NEEDED) - files.keys()))
    yield from (
        f"{name} was added: {SUMS} does not name it."
        for name in sorted(files.keys() - stated.keys() - {SUMS, SIGNATURE})
    )
    for name in sorted(stated.keys() & files.keys()):
        if hashlib.sha256(files[name]).hexdigest() != stated[name]:
            yield f"{name} was changed: its SHA-256 is not the one in {SUMS}."


class _Check:
    """The sources of a file, one after another, within what is looked through in all."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._pixels, self._chars = MAX_PIXELS_OF_ALL, MAX_CHARS_OF_ALL

    def source(self, source: _Source) -> tuple[list[str], str]:
        """What is wrong with a source, and why its quote cannot be proven, '' when it is."""
        if withheld := source.withheld or source.picture_gone:
            return [], f"The export says: {shown(withheld)}"
        if source.picture is None:
            return [], "Its picture does not come along."
        if source.picture.shows is not None:
            return [], "Only a part of its picture comes along."
        size, wrong = self._picture(source, source.picture)
        if wrong:
            return [wrong], ""
        if source.reading is None:
            return [], "Nothing was read of its picture."
        try:
            reading = READING.validate_json(self._files.get(source.reading.file, b""))
        except ValidationError as error:
            return [f"{source.reading.file} is no reading: {error.errors()[0]['msg']}."], ""
        self._chars -= len(reading.text)
        if size is None or self._chars < 0:
            return [], TOO_MUCH
        found = [*_text(source, source.reading, reading), *_outside(source, size)]
        if found or source.state != "found":
            return found, "No quote of it counts as found."
        boxes = {Box(box.x, box.y, box.w, box.h) for box in source.boxes}
        names = (source.window_name, source.app_name, source.browser_url)
        why = _unproven(reading, source.quote, boxes, [name for name in names if name])
        return ([f"Its quote does not stand there: {source.quote}"], "") if why is None else ([], why)

    def _picture(self, source: _Source, picture: _Picture) -> tuple[tuple[int, int] | None, str]:
        """Its size, None where it is not looked into, and what is wrong with it."""
        content = self._files.get(picture.file, b"")
        kinds = [kind.removeprefix("image/").upper() for kind in SUFFIXES if kind == picture.media_type]
        try:
            with Image.open(io.BytesIO(content), formats=kinds) as header:
                size, pixels = header.size, header.width * header.height
            if pixels > MAX_PIXELS:
                return None, f"{picture.file} is too large: {size[0]}x{size[1]}."
            self._pixels -= pixels
            if self._pixels < 0:
                return None, ""
            sha256 = pixels_sha256(decode(content, picture.media_type))
        except (
            UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError,
        ) as error:  # fmt: skip
            return None, f"{picture.file} is no picture that can be read ({type(error).__name__})."
        differs = f"{picture.file} does not show frame {source.frame_id}: its pixels differ."
        return size, "" if sha256 == source.frame_pixels_sha256 else differs


def _text(source: _Source, stated: _Reading, reading: Reading) -> Iterator[str]:
    if reading.frame_id != source.frame_id:
        yield f"{stated.file} was read of frame {reading.frame_id}, not of frame {source.frame_id}."
    if hashlib.sha256(reading.text.encode("utf-8", "replace")).hexdigest() != stated.text_sha256:
        yield f"{stated.file} has another text than evidence.json says."
    runs: list[Sequence[Line | Word]] = [reading.lines, *(line.words for line in reading.lines)]
    if any(reading.text[span.start : span.end] != span.text for run in runs for span in run):
        yield f"{stated.file} has words that are not in its text."
    ends = [[at for span in run for at in (span.start, span.end)] for run in runs]
    if any(each != sorted(each) for each in ends):
        yield f"{stated.file} has words that are not in the order of its text."


def _outside(source: _Source, size: tuple[int, int]) -> Iterator[str]:
    for box in source.boxes:
        if not (0 <= box.x + box.w / 2 <= size[0] and 0 <= box.y + box.h / 2 <= size[1]):
            yield "A box of its quote is outside of its picture."


# -- whether a quote was read in its picture: found as `assistant.evidence.citations` finds it, in the boxes
# that it names and in no others

MAX_PARTS, MAX_PLACES = 10, 500
TOO_MUCH = "There is more of it than is looked through."
TOLD = "A program told its words; nobody read them in the picture."
NAMED = "It is of the window's title or address, not of the picture."

_Span = TypeVar("_Span", Line, Word)


def _unproven(reading: Reading, quote: str, boxes: set[Box], names: Sequence[str]) -> str | None:
    """Why it is not proven that a quote was read in `boxes`: '' when it was, None when it stands nowhere.

    `names` are the title, app and address of the window. The reading's spans are in the order of its text.
    """
    parts = tuple(dict.fromkeys(quote.split(JOINT)))
    if len(parts) > MAX_PARTS:
        return TOO_MUCH
    # What joins the parts may also stand on the screen.
    for tried in ((quote,), parts):
        at, words, is_named = set[Box](), list[Word](), False
        for part in tried:
            read = [form.reading for form in forms(reading)]
            found = [each for form in read for each in _places(form.text, form.lines, part, boxes)]
            if not found and not any(quotes.find(name, part) for name in names):
                break
            at.update(box for place, _ in found for box in place)
            words += (word for _, of_place in found for word in of_place)
            is_named |= not found
        else:
            if at == boxes:
                return NAMED if is_named else "" if all(word.checked == "read" for word in words) else TOLD
    return None


def _places(
    text: str, lines: Sequence[Line], part: str, boxes: set[Box]
) -> Iterator[tuple[set[Box], list[Word]]]:
    """The boxes and words of each place of a part of a quote that has only boxes of these."""
    for start, end in islice(quotes.places(text, part), MAX_PLACES):
        at, words = set[Box](), list[Word]()
        for line in _within(lines, start, end):
            inside = _within(line.words, start, end)
            words += inside
            if inside or not line.words:
                at.add(union(word.box for word in inside) if inside else line.box)
        if at and at <= boxes:
            yield at, words


def _within(spans: Sequence[_Span], start: int, end: int) -> Sequence[_Span]:
    """Those that share characters with ``[start, end)``."""
    first = bisect_right(spans, start, key=lambda span: span.end)
    return spans[first : bisect_left(spans, end, first, key=lambda span: span.start)]
