"""Elements of an XML file as they come, through expat, in flat memory.

A document type is refused where it begins: entities are declared in it, and none of the formats here has
one. So there is nothing to expand a billion times and nothing to fetch
(https://owasp.org/www-community/vulnerabilities/XML_External_Entity_(XXE)_Processing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import Source

XML_MAX_DEPTH = 32
MAX_TEXT_CHARS = 1_000_000
_LONGEST_RUN = 16_384

_REFERENCES = re.compile(rb"(?:&#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});)+")
_OPEN_END = re.compile(rb"(?:&#\w{1,8};)*(?:&(?:#\w{0,8})?)?\Z")
_REFERENCE = re.compile(rb"&#(?:(\d+)|[xX]([0-9a-fA-F]+));")
# The value of data="…", and a chunk that begins within one.
_ATTACHMENT = re.compile(rb'(\A| data=")[A-Za-z0-9+/=]{4096,}')


@dataclass(frozen=True, slots=True)
class Start:
    name: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class End:
    """`text` is what stood directly in the element."""

    name: str
    text: str


def xml_elements(source: Source) -> Iterator[Start | End]:
    """Starts and ends in the order of the file. Raises `CannotImport` for what is not well-formed."""
    reading = _Reading()
    try:
        for chunk in _mended(_without_attachments(source)):
            reading.feed(chunk)
            if reading.found:
                yield from reading.found
                reading.found.clear()
                source.mark()
        reading.parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise CannotImport(f"this is not well-formed XML: {what} in line {error.lineno}") from error
    yield from reading.found


class _Reading:
    def __init__(self) -> None:
        self.found: list[Start | End] = []
        self._texts: list[list[str]] = []
        self._chars = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def feed(self, chunk: bytes) -> None:
        self.parser.Parse(chunk, False)

    def _doctype(self, *_: object) -> None:
        raise CannotImport("the XML declares a document type (DOCTYPE); such files are refused")

    def _start(self, name: str, values: dict[str, str]) -> None:
        if len(self._texts) >= XML_MAX_DEPTH:
            raise CannotImport(f"the XML is nested more than {XML_MAX_DEPTH} levels deep")
        self._texts.append([])
        self._chars = 0
        self.found.append(Start(name.rpartition(":")[2], values))

    def _text(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > MAX_TEXT_CHARS:
            raise CannotImport(f"the XML holds a text of more than {MAX_TEXT_CHARS:,} characters")
        if self._texts:
            self._texts[-1].append(text)

    def _end(self, name: str) -> None:
        self._chars = 0
        self.found.append(End(name.rpartition(":")[2], "".join(self._texts.pop())))


def _without_attachments(source: Source) -> Iterator[bytes]:
    """The file without most of the pictures in it, which the parser would hold as one value each."""
    for chunk in source.chunks():
        words = _ATTACHMENT.sub(rb"\1", chunk)
        if len(words) < len(chunk):
            source.mark()
        yield words


def _mended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same with references to characters that XML does not allow made right.

    SMS Backup & Restore writes an emoji as two references to halves of it (UTF-16), which is no XML. A
    half alone, or a control character, becomes U+FFFD, as Unicode has it for what cannot be read.
    """
    rest = b""
    for chunk in chunks:
        chunk = rest + chunk
        # References that end the chunk may go on in the next one, and two may be one character.
        tail = _OPEN_END.search(chunk, max(0, len(chunk) - _LONGEST_RUN))
        cut = tail.start() if tail else len(chunk)
        chunk, rest = chunk[:cut], chunk[cut:]
        yield _REFERENCES.sub(_right, chunk) if b"&#" in chunk else chunk
    yield _REFERENCES.sub(_right, rest)


def _right(run: re.Match[bytes]) -> bytes:
    codes = [int(ten) if ten else int(sixteen, 16) for ten, sixteen in _REFERENCE.findall(run.group())]
    if all(_is_allowed(code) for code in codes):
        return run.group()
    halves = b"".join(_utf_16(code) for code in codes)
    text = halves.decode("utf-16-be", "replace")
    return b"".join(b"&#%d;" % (ord(char) if _is_allowed(ord(char)) else 0xFFFD) for char in text)


def _utf_16(code: int) -> bytes:
    if code > 0x10FFFF:
        code = 0xFFFD
    return code.to_bytes(2, "big") if code <= 0xFFFF else chr(code).encode("utf-16-be")


def _is_allowed(code: int) -> bool:
    """Whether XML 1.0 allows the character (https://www.w3.org/TR/xml/#charsets)."""
    return (
        code in (9, 10, 13)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )
