"""The words of a PDF, page by page, by pypdf.

Pictures are not read: where a page has no words, as a scanned one, the text says so in its place.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ingest.documents.limits import MAX_CHARS, MAX_PAGES
from ingest.documents.result import CannotRead, clean_text

log = logging.getLogger(__name__)


def pdf_text(path: Path) -> tuple[str, int, bool]:
    """(text, number of pages, whether it is all). Raises `CannotRead`, and whatever pypdf does."""
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(path, strict=False)
    if reader.is_encrypted:
        try:
            is_open = reader.decrypt("") != PasswordType.NOT_DECRYPTED
        except (DependencyError, NotImplementedError):
            is_open = False
        if not is_open:
            raise CannotRead("it is encrypted; save it without a password")
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
        raise CannotRead("it holds no text; a scan is only pictures of pages")
    is_whole = chars <= MAX_CHARS and count <= MAX_PAGES and not unread
    return "\n\n".join(texts)[:MAX_CHARS], count, is_whole
