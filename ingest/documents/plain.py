"""Plain text and web pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ingest.documents.result import CannotRead, Unsupported, clean_text

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_-]{2,30})", re.IGNORECASE)
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt", "figcaption",
        "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol",
        "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul",
    }
)  # fmt: skip
_CELLS = frozenset({"td", "th"})
_UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "math"})


def text_of(content: bytes) -> str:
    """The text of a file that says of no other kind. Raises `Unsupported`."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return clean_text(_decoded(content[len(mark) if encoding == "utf-8" else 0 :], encoding))
    if b"\0" in content[:4096]:
        raise Unsupported("only text, HTML, PDF, Word (docx) and PNG, JPEG or WebP images can be attached")
    return clean_text(_decoded(content, "utf-8"))


def page_text(content: bytes) -> str:
    """What a web page says, without its scripts and styles. Raises `CannotRead`."""
    import nh3

    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "")
    named = _CHARSET.search(content[:4096])
    encoding = encoding or (named[1].decode("ascii") if named else "utf-8")
    try:
        html = content.decode(encoding, "strict")
    except (LookupError, UnicodeDecodeError) as error:
        raise CannotRead(f"its text is not in {encoding}, as it says") from error
    cleaned = nh3.clean(
        html, tags=set(_BLOCKS | _CELLS), attributes={}, clean_content_tags=set(_UNREAD), link_rel=None
    )
    reading = _Reading()
    reading.feed(cleaned)
    reading.close()
    return clean_text(reading.text())


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in content or (error.start < 4 and encoding == "utf-8"):
            raise Unsupported(
                "only text, HTML, PDF, Word (docx) and PNG, JPEG or WebP images can be attached"
            ) from error
        raise Unsupported(f"its text is not in {encoding.upper()}; save it as UTF-8") from error


class _Reading(HTMLParser):
    """Clean HTML as text: blocks on lines of their own, cells apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._kept = 0  # depth of <pre>

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._kept += tag == "pre"
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._kept -= tag == "pre"
        self._pieces.append("\n" if tag in _BLOCKS else "\t" if tag in _CELLS else "")

    def handle_data(self, data: str) -> None:
        self._pieces.append(data if self._kept else re.sub(r"\s+", " ", data))

    def text(self) -> str:
        lines = (line.strip(" ") for line in "".join(self._pieces).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
