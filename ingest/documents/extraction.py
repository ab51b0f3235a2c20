"""One file of any kind that can be attached; its bytes say the kind, its name only tells pages from text."""

from __future__ import annotations

from pathlib import Path, PurePath

from ingest.documents import docx, pdf, picture, plain
from ingest.documents.limits import MAX_CHARS
from ingest.documents.result import CannotRead, Extraction, Unsupported

_HEAD_BYTES = 1024
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
)
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def extract(path: Path, name: str) -> Extraction:
    """What is in a file. Raises `CannotRead`, and whatever a library says of a damaged one."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise CannotRead("it is empty")
    if media_type := _image_type(head):
        width, height = picture.size_px(path, media_type)
        return Extraction("image", media_type, width_px=width, height_px=height)
    if b"%PDF-" in head:
        text, pages, is_whole = pdf.pdf_text(path)
        return Extraction("pdf", "application/pdf", text, is_whole, pages)
    if head.startswith(b"PK\x03\x04") and docx.is_docx(path):
        text, is_whole = docx.docx_text(path)
        return _with_text(Extraction("docx", _DOCX_TYPE, text, is_whole))
    content = path.read_bytes()
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if PurePath(name).suffix.lower() in _PAGES or start.startswith((b"<!doctype html", b"<html")):
        return _with_text(_cut("html", "text/html", plain.page_text(content)))
    if head.startswith((b"PK\x03\x04", b"GIF8", b"\xd0\xcf\x11\xe0")):
        raise Unsupported("only text, HTML, PDF, Word (docx) and PNG, JPEG or WebP images can be attached")
    return _with_text(_cut("text", "text/plain", plain.text_of(content)))


def _image_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _IMAGES if head.startswith(magic)), "")


def _cut(kind: str, media_type: str, text: str) -> Extraction:
    assert kind in ("text", "html")
    return Extraction(
        "html" if kind == "html" else "text", media_type, text[:MAX_CHARS], len(text) <= MAX_CHARS
    )


def _with_text(found: Extraction) -> Extraction:
    if not found.text.strip():
        raise CannotRead("it holds no text")
    return found
