"""One file of any kind that can be attached; its bytes say the kind, its name only tells pages from text."""

from __future__ import annotations

import io
import logging
import re
import zipfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import chain
from pathlib import PurePath
from typing import BinaryIO

from ingest.core.xml_elements import Start, XmlDamaged, XmlRefused, elements_in
from ingest.documents.result import (
    MAX_CHARS,
    MAX_PAGES,
    MAX_PIXELS,
    MAX_UNPACKED_BYTES,
    CannotRead,
    Extraction,
    Kind,
    Unsupported,
    clean_text,
)
from store.core.translation import N_

log = logging.getLogger(__name__)

_HEAD_BYTES = 1024
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))
_ATTACHABLE = N_("only text, HTML, PDF, Word (docx) and PNG, JPEG or WebP images can be attached")
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def extract(content: bytes, name: str) -> Extraction:
    """What is in a file. Raises `CannotRead`, and whatever a library says of a damaged one."""
    head, file = content[:_HEAD_BYTES], io.BytesIO(content)
    if not head.strip():
        raise CannotRead(N_("it is empty"))
    if media_type := _image_type(head):
        width, height = size_px(file, media_type)
        return Extraction("image", media_type, width_px=width, height_px=height)
    if b"%PDF-" in head:
        text, pages, is_whole = pdf_text(file)
        return Extraction("pdf", "application/pdf", text, is_whole, pages)
    if head.startswith(b"PK\x03\x04") and is_docx(file):
        text, is_whole = docx_text(file)
        return _with_text(Extraction("docx", _DOCX_TYPE, text, is_whole))
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if PurePath(name).suffix.lower() in _PAGES or start.startswith((b"<!doctype html", b"<html")):
        return _with_text(_shortened("html", "text/html", page_text(content)))
    if head.startswith((b"PK\x03\x04", b"GIF8", b"\xd0\xcf\x11\xe0")):
        raise Unsupported(_ATTACHABLE)
    return _with_text(_shortened("text", "text/plain", text_of(content)))


def _image_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _IMAGES if head.startswith(magic)), "")


def _shortened(kind: Kind, media_type: str, text: str) -> Extraction:
    return Extraction(kind, media_type, text[:MAX_CHARS], len(text) <= MAX_CHARS)


def _with_text(extraction: Extraction) -> Extraction:
    if not extraction.text.strip():
        raise CannotRead(N_("it holds no text"))
    return extraction


# The words of a Word document: a zip of XML, of which only the parts with text are unpacked.
#
# What a part unpacks to is counted as it comes. ECMA-376, part 1, chapter 17.

MAIN_PART = "word/document.xml"
_MORE_PARTS = ("word/footnotes.xml", "word/endnotes.xml")
_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_ALTERNATIVE = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_ENDS = {"p": "\n", "tr": "\n", "tc": "\t"}
_STARTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MAX_DEPTH = 256
_CHUNK_BYTES = 64 * 1024
_DAMAGED = N_("it is damaged, or no Word document")


def is_docx(file: BinaryIO) -> bool:
    """Whether a zip holds the part that every Word document has."""
    try:
        with zipfile.ZipFile(file) as packed:
            packed.getinfo(MAIN_PART)
    except (zipfile.BadZipFile, KeyError, OSError, ValueError):
        return False
    return True


def docx_text(file: BinaryIO) -> tuple[str, bool]:
    """(text, whether it is all). Raises `CannotRead`."""
    pieces: list[str] = []
    chars = 0
    try:
        with zipfile.ZipFile(file) as packed:
            names = set(packed.namelist())
            for part in (MAIN_PART, *(name for name in _MORE_PARTS if name in names)):
                for piece in _pieces(packed, part):
                    pieces.append(piece)
                    chars += len(piece)
                    if chars > MAX_CHARS:
                        return clean_text("".join(pieces)[:MAX_CHARS]), False
    except XmlDamaged as error:
        raise CannotRead(f"{_DAMAGED}: {error}") from error
    except XmlRefused as error:
        raise CannotRead(str(error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise CannotRead(_DAMAGED) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed in a way of its own
        raise CannotRead(N_("it is encrypted, or packed in a way that cannot be read")) from error
    return clean_text("".join(pieces)), True


def _pieces(packed: zipfile.ZipFile, part: str) -> Iterator[str]:
    """The text of a part, but for what is told in another way already."""
    skipped = 0  # depth within that
    found = elements_in(
        _chunks(packed, part), max_depth=_MAX_DEPTH, max_text_chars=MAX_UNPACKED_BYTES, separator=" "
    )
    for element in chain.from_iterable(found):
        if element.name == _ALTERNATIVE:
            skipped += 1 if isinstance(element, Start) else -1
        namespace, _, own = element.name.rpartition(" ")
        if skipped or namespace not in _NAMESPACES:
            continue
        if isinstance(element, Start):
            yield _STARTS.get(own, "")
        else:
            yield element.text if own == "t" else _ENDS.get(own, "")
    yield "\n"


def _chunks(packed: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    size = 0
    with packed.open(part) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > MAX_UNPACKED_BYTES:
                raise CannotRead(f"it unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB of text")
            yield chunk


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
        raise Unsupported(_ATTACHABLE)
    return clean_text(_decoded(content, "utf-8"))


def page_text(content: bytes) -> str:
    """What a web page says, without its scripts and styles. Raises `CannotRead`."""
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "")
    named = _CHARSET.search(content[:4096])
    encoding = encoding or (named[1].decode("ascii") if named else "utf-8")
    try:
        html = content.decode(encoding, "strict")
    except (LookupError, UnicodeDecodeError) as error:
        raise CannotRead(f"its text is not in {encoding}, as it says") from error
    return markup_text(html)


def markup_text(html: str) -> str:
    """The words of HTML, blocks on lines of their own, without scripts and styles."""
    import nh3

    cleaned = nh3.clean(
        html, tags=set(_BLOCKS | _CELLS), attributes={}, clean_content_tags=set(_UNREAD), link_rel=None
    )
    reader = _PageReader()
    reader.feed(cleaned)
    reader.close()
    return clean_text(reader.text())


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in content or (error.start < 4 and encoding == "utf-8"):
            raise Unsupported(_ATTACHABLE) from error
        raise Unsupported(f"its text is not in {encoding.upper()}; save it as UTF-8") from error


class _PageReader(HTMLParser):
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


# The words of a PDF, page by page, by pypdf.
#
# Pictures are not read: where a page has no words, as a scanned one, the text says so in its place.


def pdf_text(file: BinaryIO) -> tuple[str, int, bool]:
    """(text, number of pages, whether it is all). Raises `CannotRead`, and whatever pypdf does."""
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(file, strict=False)
    if reader.is_encrypted:
        try:
            is_open = reader.decrypt("") != PasswordType.NOT_DECRYPTED
        except (DependencyError, NotImplementedError):
            is_open = False
        if not is_open:
            raise CannotRead(N_("it is encrypted; save it without a password"))
    count, texts, chars, unread, has_text = len(reader.pages), [], 0, 0, False
    for number in range(min(count, MAX_PAGES)):
        try:
            text = clean_text(reader.pages[number].extract_text()).strip()
            has_text = has_text or bool(text)
            text = text or f"[Page {number + 1} has no text; pictures are not read.]"
        except MemoryError:
            raise
        except Exception as error:  # one page that cannot be read spoils no other
            log.warning("page %d cannot be read: %s", number + 1, type(error).__name__)
            unread += 1
            text = f"[Page {number + 1} could not be read.]"
        texts.append(text)
        chars += len(text) + 2
        if chars > MAX_CHARS:
            break
    if not has_text:
        raise CannotRead(N_("it holds no text; a scan is only pictures of pages"))
    is_whole = chars <= MAX_CHARS and count <= MAX_PAGES and not unread
    return "\n\n".join(texts)[:MAX_CHARS], count, is_whole


def size_px(file: BinaryIO, media_type: str) -> tuple[int, int]:
    """(width, height) of an image that was decoded to its end. Raises `CannotRead`."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file, formats=[media_type.removeprefix("image/").upper()]) as image:
            if image.width * image.height > MAX_PIXELS:
                raise CannotRead(f"it has more than {MAX_PIXELS // 1_000_000} million pixels")
            image.load()
            return image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise CannotRead(N_("the image is damaged")) from error
