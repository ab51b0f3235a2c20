"""Whether an exported answer is what was exported: on any machine, without a network and without a home.

The file is hostile input. Nothing of it is written anywhere, no picture is decoded before its size is known,
and what is wrong is told by name. What it proves, and what not, is `formats.PROVES` and `PROVES_NOT`.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, Field, ValidationError

from assistant.evidence.citations import JOINT
from assistant.evidence.quotes import rows
from store.frames.media import SUFFIXES, decode, pixels_sha256
from store.ocr.readings import Box, Reading
from webapp.exports import bundle, signing
from webapp.exports.formats import FORMAT, READING, SIGNATURE, SUMS

MAX_PIXELS = 80_000_000
"""What a capture may have (`ingest.core.validation`)."""
MAX_QUOTE, MAX_BOXES = 20_000, 500
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")


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
    n: int
    frame_id: int | None
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    quote: str = Field(max_length=MAX_QUOTE)
    boxes: list[_Box] = Field(max_length=MAX_BOXES)
    state: str
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
class Proof:
    """No problem means that the file is unchanged. `proven` are the numbers of sources whose quote stands in
    the words of their whole picture; of the others `unproven` says why it cannot be told.
    """

    problems: tuple[str, ...]
    signed_by: str = ""
    question: str = ""
    proven: tuple[int, ...] = ()
    unproven: tuple[tuple[int, str], ...] = ()


def verify(path: Path, key: str = "") -> Proof:
    """Check an exported answer, and that it was signed by the `key` of this thumbprint. Raises `OSError`."""
    try:
        files, problems = bundle.read(path)
    except bundle.NotABundle as error:
        return Proof((str(error),))
    problems += _sums(files)
    try:
        signed_by = signing.signer(files.get(SIGNATURE, b""), files.get(SUMS, b""))
    except signing.BadSignature as error:
        signed_by = ""
        problems.append(f"The signature of {SUMS} does not hold ({error}).")
    if key and signed_by and signed_by != key:
        problems.append(f"It is signed by the key {signed_by}, not by {key}.")
    try:
        told = _Evidence.model_validate_json(files.get("evidence.json", b""))
    except ValidationError as error:
        problems.append(f"evidence.json is not what Recollect writes: {error.errors()[0]['msg']}.")
        return Proof(tuple(problems), signed_by)
    if told.format != FORMAT:
        problems.append(f"evidence.json is of another format: {told.format}.")
    if signed_by and told.signed_by != signed_by:
        problems.append(f"evidence.json names the key {told.signed_by}, but {signed_by} signed it.")
    outcomes = [(source.n, *_source(source, files)) for source in told.evidence]
    problems += [f"[{n}] {found}" for n, wrong, _ in outcomes for found in wrong]
    unproven = tuple((n, why) for n, wrong, why in outcomes if why and not wrong)
    proven = tuple(n for n, wrong, why in outcomes if not wrong and not why)
    return Proof(tuple(problems), signed_by, told.question, proven, unproven)


def _sums(files: Mapping[str, bytes]) -> Iterator[str]:
    """Is every file there, none beside them, and each the one whose hash was signed?"""
    stated = {
        found[2]: found[1]
        for line in files.get(SUMS, b"").decode("utf-8", "replace").splitlines()
        if (found := _SUM.fullmatch(line))
    }
    yield from (f"{name} is missing." for name in stated.keys() - files.keys())
    yield from (
        f"{name} was added: {SUMS} does not name it."
        for name in files.keys() - stated.keys() - {SUMS, SIGNATURE}
    )
    for name in stated.keys() & files.keys():
        if hashlib.sha256(files[name]).hexdigest() != stated[name]:
            yield f"{name} was changed: its SHA-256 is not the one in {SUMS}."


def _source(source: _Source, files: Mapping[str, bytes]) -> tuple[list[str], str]:
    """What is wrong with a source, and why its quote cannot be proven, '' when it is."""
    if source.withheld or source.picture_gone or source.picture is None:
        return [], source.withheld or source.picture_gone or "Its picture does not come along."
    if source.picture.shows is not None:
        return [], "Only a part of its picture comes along."
    wrong = [*_picture(source, source.picture, files)]
    if source.reading is None:
        return wrong, "Nothing was read of its picture."
    try:
        reading = READING.validate_json(files.get(source.reading.file, b""))
    except ValidationError as error:
        return [*wrong, f"{source.reading.file} is no reading: {error.errors()[0]['msg']}."], ""
    wrong += _text(source, source.reading, reading)
    if source.state != "found":
        return wrong, "No quote of it counts as found."
    return [*wrong, *_quote(source, reading)], ""


def _picture(source: _Source, picture: _Picture, files: Mapping[str, bytes]) -> Iterator[str]:
    content = files.get(picture.file, b"")
    kinds = [kind.removeprefix("image/").upper() for kind in SUFFIXES if kind == picture.media_type]
    try:
        with Image.open(io.BytesIO(content), formats=kinds) as header:
            if header.width * header.height > MAX_PIXELS:
                yield f"{picture.file} is too large: {header.width}x{header.height}."
                return
        pixels = decode(content, picture.media_type)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        yield f"{picture.file} is no picture that can be read ({type(error).__name__})."
        return
    if pixels_sha256(pixels) != source.frame_pixels_sha256:
        yield f"{picture.file} does not show frame {source.frame_id}: its pixels are others."


def _text(source: _Source, stated: _Reading, reading: Reading) -> Iterator[str]:
    if reading.frame_id != source.frame_id:
        yield f"{stated.file} was read of frame {reading.frame_id}, not of frame {source.frame_id}."
    if hashlib.sha256(reading.text.encode("utf-8", "replace")).hexdigest() != stated.text_sha256:
        yield f"{stated.file} has another text than evidence.json says."
    lines = [reading.text[line.start : line.end] == line.text for line in reading.lines]
    words = [reading.text[w.start : w.end] == w.text for line in reading.lines for w in line.words]
    if not all(lines + words):
        yield f"{stated.file} has words that are not in its text."


def _quote(source: _Source, reading: Reading) -> Iterator[str]:
    """Each part of the quote stands in the words of its boxes, as read or by rows, or in the window's own."""
    boxes = [Box(box.x, box.y, box.w, box.h) for box in source.boxes]
    as_read = [word for line in reading.lines for word in (line.words or (line,))]
    forms = [
        _joined(word.text for word in words if any(_is_in(word.box, box) for box in boxes))
        for words in (as_read, rows(reading).words)
    ]
    forms += [_joined([name]) for name in (source.window_name, source.app_name, source.browser_url) if name]
    for part in source.quote.split(JOINT):
        if not part.strip() or not any(_joined([part]) in form for form in forms):
            yield f"Its quote does not stand there: {part!r}."


def _joined(texts: Iterable[str]) -> str:
    return "".join("".join(texts).split())


def _is_in(word: Box, box: Box) -> bool:
    return (
        box.x <= word.x
        and box.y <= word.y
        and word.x + word.w <= box.x + box.w
        and word.y + word.h <= box.y + box.h
    )
