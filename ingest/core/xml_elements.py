"""Elements of XML as they come, in flat memory, through expat.

A document type is refused where it begins: entities are declared in it, and no format that is read here has
one. So there is nothing to expand a billion times and nothing to fetch
(https://owasp.org/www-community/vulnerabilities/XML_External_Entity_(XXE)_Processing).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.parsers import expat


class XmlRefused(Exception):
    """It asks for too much; the message is one sentence, without a full stop."""


class XmlDamaged(XmlRefused):
    """It is not well-formed."""


@dataclass(frozen=True, slots=True)
class Start:
    name: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class End:
    """`text` is what stood directly in the element."""

    name: str
    text: str


def elements_in(
    chunks: Iterable[bytes], *, max_depth: int, max_text_chars: int, separator: str | None = None
) -> Iterator[list[Start | End]]:
    """Of each chunk the starts and ends in it, in a list that is used again. Names have no prefix, or with a
    `separator` have the address of their namespace before it. Raises `XmlRefused`.
    """
    reader = _Reader(max_depth, max_text_chars, separator)
    try:
        for chunk in chunks:
            reader.parser.Parse(chunk, False)
            if reader.elements:
                yield reader.elements
                reader.elements.clear()
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise XmlDamaged(f"this is not well-formed XML: {problem} in line {error.lineno}") from error
    yield reader.elements


class _Reader:
    def __init__(self, max_depth: int, max_text_chars: int, separator: str | None) -> None:
        self.elements: list[Start | End] = []
        self._max_depth, self._max_text_chars = max_depth, max_text_chars
        self._has_prefixes = separator is None
        self._texts: list[list[str]] = []
        self._chars = 0
        self.parser = expat.ParserCreate(namespace_separator=separator)
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _doctype(self, *_: object) -> None:
        raise XmlRefused("the XML declares a document type (DOCTYPE); such files are refused")

    def _start(self, name: str, values: dict[str, str]) -> None:
        if len(self._texts) >= self._max_depth:
            raise XmlRefused(f"the XML is nested more than {self._max_depth} levels deep")
        self._texts.append([])
        self._chars = 0
        self.elements.append(Start(self._named(name), values))

    def _text(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > self._max_text_chars:
            raise XmlRefused(f"the XML holds a text of more than {self._max_text_chars:,} characters")
        if self._texts:
            self._texts[-1].append(text)

    def _end(self, name: str) -> None:
        self._chars = 0
        self.elements.append(End(self._named(name), "".join(self._texts.pop())))

    def _named(self, name: str) -> str:
        return name.rpartition(":")[2] if self._has_prefixes else name
