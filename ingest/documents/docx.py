"""The words of a Word document: a zip of XML, of which only the parts with text are unpacked.

A document type is refused where it begins, so there is nothing to expand a billion times and nothing to
fetch; what a part unpacks to is counted as it comes. ECMA-376, part 1, chapter 17.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from ingest.documents.limits import MAX_CHARS, MAX_UNPACKED_BYTES
from ingest.documents.result import CannotRead, clean_text

MAIN_PART = "word/document.xml"
_MORE_PARTS = ("word/footnotes.xml", "word/endnotes.xml")
_NAMESPACES = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)
_ALTERNATIVE = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_ENDS = {"p": "\n", "tr": "\n", "tc": "\t"}
_STARTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MAX_DEPTH = 256
_CHUNK_BYTES = 64 * 1024
_DAMAGED = "it is damaged, or no Word document"


def is_docx(path: Path) -> bool:
    """Whether a zip holds the part that every Word document has."""
    try:
        with zipfile.ZipFile(path) as packed:
            packed.getinfo(MAIN_PART)
    except (zipfile.BadZipFile, KeyError, OSError, ValueError):
        return False
    return True


def docx_text(path: Path) -> tuple[str, bool]:
    """(text, whether it is all). Raises `CannotRead`."""
    reading = _Reading()
    try:
        with zipfile.ZipFile(path) as packed:
            names = set(packed.namelist())
            for part in (MAIN_PART, *(name for name in _MORE_PARTS if name in names)):
                if reading.is_full:
                    break
                reading.take(_chunks(packed, part))
    except expat.ExpatError as error:
        raise CannotRead(f"{_DAMAGED}: {expat.ErrorString(error.code)}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise CannotRead(_DAMAGED) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed in a way of its own
        raise CannotRead("it is encrypted, or packed in a way that cannot be read") from error
    return clean_text(reading.text()), not reading.is_full


def _chunks(packed: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    size = 0
    with packed.open(part) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > MAX_UNPACKED_BYTES:
                raise CannotRead(f"it unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB of text")
            yield chunk


class _Reading:
    def __init__(self) -> None:
        self.is_full = False
        self._pieces: list[str] = []
        self._chars = 0
        self._depth = 0
        self._skipped_from = 0  # depth of what is told in another way already
        self._is_text = False

    def take(self, chunks: Iterator[bytes]) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        for chunk in chunks:
            parser.Parse(chunk, False)
            if self.is_full:
                return
        parser.Parse(b"", True)
        self._add("\n")

    def text(self) -> str:
        return "".join(self._pieces)[:MAX_CHARS]

    def _doctype(self, *_: object) -> None:
        raise CannotRead("its XML declares a document type (DOCTYPE); such files are refused")

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CannotRead(f"its XML is nested more than {_MAX_DEPTH} levels deep")
        if name == _ALTERNATIVE and not self._skipped_from:
            self._skipped_from = self._depth
        own = _own(name)
        self._is_text = own == "t"
        self._add(_STARTS.get(own, ""))

    def _end(self, name: str) -> None:
        self._is_text = False
        self._add(_ENDS.get(_own(name), ""))
        if self._depth == self._skipped_from:
            self._skipped_from = 0
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._is_text:
            self._add(text)

    def _add(self, text: str) -> None:
        if text and not self._skipped_from:
            self._pieces.append(text)
            self._chars += len(text)
            self.is_full = self._chars > MAX_CHARS


def _own(name: str) -> str:
    """The name of an element of a text document, "" for one of another vocabulary."""
    namespace, _, local = name.rpartition(" ")
    return local if namespace in _NAMESPACES else ""
