"""What an attached file says, and that a hostile one is refused in a sentence and takes nothing along."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
import zlib

import pytest
from pypdf import PdfReader, PdfWriter

from ingest.documents.extraction import extract
from ingest.documents.result import MAX_CHARS, CannotRead, Extraction, Unsupported, clean_text
from tests import documents


def of(content: bytes, name: str = "file") -> Extraction:
    return extract(content, name)


@pytest.mark.parametrize(
    ("content", "name", "kind", "text"),
    [
        ("Plan für 计划\r\n\r\nsecond".encode(), "plan.txt", "text", "Plan für 计划\n\nsecond"),
        ("\ufeffwith a mark".encode(), "a.md", "text", "with a mark"),
        ("two bytes each".encode("utf-16"), "a.txt", "text", "two bytes each"),
        (b'{"a": 1}', "a.json", "text", '{"a": 1}'),
        (b"a\x00b"[:1] + b"\x07\x1b[31m red", "a.log", "text", "a[31m red"),
        (documents.pdf("First page", "Second page"), "a.pdf", "pdf", "First page\n\nSecond page"),
        (documents.docx("One & two", "Three"), "a.docx", "docx", "One & two\nThree"),
        (
            b"<html><head><title>Title</title><style>p{}</style></head><body><p>One&nbsp;&amp; two"
            b"<script>alert(1)</script><table><tr><td>a<td>b</table>",
            "a.html",
            "html",
            "Title\n\nOne & two\n\na\tb",
        ),
        (b"<!DOCTYPE html><p>named otherwise", "a.txt", "html", "named otherwise"),
        ("<meta charset='gb18030'><p>计划".encode("gb18030"), "a.htm", "html", "计划"),
    ],
)
def test_the_words_of_every_kind(content: bytes, name: str, kind: str, text: str) -> None:
    found = of(content, name)
    assert (found.kind, found.text, found.is_whole) == (kind, text, True)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_an_image_tells_its_size_and_no_text(kind: str) -> None:
    found = of(documents.image(kind), "lies.txt")
    assert found == Extraction("image", f"image/{kind.lower()}", width_px=40, height_px=30)


def test_a_word_document_is_read_once_where_it_says_things_twice() -> None:
    box = "<w:p><w:r><w:t>in a box</w:t></w:r></w:p>"
    body = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
        "<w:p><w:r><w:delText>deleted</w:delText><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    notes = f'<w:footnotes xmlns:w="{documents.WORD}"><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnotes>'
    found = of(documents.docx(body=body, footnotes=notes))
    assert found.text.split() == ["in", "a", "box", "a", "b", "c", "x", "a", "note"]


def test_a_long_text_is_cut_and_it_is_said_so() -> None:
    for content, name in (
        (b"word " * 500_000, "a.txt"),
        (documents.docx("word " * 500_000), "a.docx"),
        (b"<p>" + b"word " * 500_000, "a.html"),
    ):
        found = of(content, name)
        assert not found.is_whole
        assert MAX_CHARS - 2 <= len(found.text) <= MAX_CHARS


def _encrypted(password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(documents.pdf("Secret"))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_that_opens_without_a_password_is_read() -> None:
    assert of(_encrypted("")).text == "Secret"


def test_pages_of_a_pdf_without_text_are_said_so() -> None:
    """A scanned page among others is a picture, and pictures are not read."""
    found = of(documents.pdf("First page", "Second page", "", "Fourth page"))
    assert found.text.split("\n\n") == [
        "First page",
        "Second page",
        "[Page 3 has no text; pictures are not read.]",
        "Fourth page",
    ]
    assert (found.pages, found.is_whole) == (4, True)


def _zip(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


_LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
_DEEP = "<w:p>" * 300 + "</w:p>" * 300


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n ", "it is empty"),
        (_encrypted("secret"), "encrypted"),
        (documents.pdf(""), "no text"),
        (documents.docx(""), "no text"),
        (documents.docx(opening=_LAUGHS, body="<w:p><w:r><w:t>&b;</w:t></w:r></w:p>"), "DOCTYPE"),
        (documents.docx(body=_DEEP), "nested more than"),
        (documents.docx(body=" " * 60_000_000), "unpacks to more than 50 MB"),
        (documents.docx("cut")[:-60] + b"\0" * 60, "only text, HTML"),
        (documents.docx(body="<w:p>"), "damaged"),
        (documents.image()[:80], "damaged"),
        (documents.image(size=(8_000, 7_000)), "50 million pixels"),
    ],
)
def test_a_hostile_or_broken_file_is_refused_in_words(content: bytes, reason: str) -> None:
    with pytest.raises(CannotRead, match=reason):
        of(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x02\x01\x01" + b"\0" * 60,
        _zip(a=b"1"),
        b"GIF89a\x01\x00\x01\x00",
        "计划表".encode("gb18030"),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1old word",
    ],
)
def test_what_is_no_document_is_unsupported(content: bytes) -> None:
    with pytest.raises(Unsupported):
        of(content)


def test_tidy_text_has_no_control_characters() -> None:
    assert clean_text("a\r\nb\rc\x0cd\x00\x1b\ud800 \n\n\n\n\n\ne\n") == "a\nb\nc\nd\n\n\ne"


# -- the program ------------------------------------------------------------------------------------


def run(content: bytes, name: str = "file") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "ingest.documents", name]
    return subprocess.run(command, input=content, capture_output=True, timeout=60, check=False)


@pytest.mark.end_to_end
def test_the_program_refuses_whatever_a_library_stumbles_over() -> None:
    whole = documents.pdf("First page", "Second page")
    bomb = documents.pdf("x", stream=zlib.compress(b" " * 300_000_000))
    loop = whole.replace(b"/Kids [4 0 R 6 0 R]", b"/Kids [2 0 R 2 0 R]")
    assert loop != whole
    for content in (b"%PDF-1.7\n" + b"\xff" * 4000, whole[:300], bomb, loop):
        done = run(content)
        assert done.returncode == 1, done.stderr
        assert done.stderr.strip().rpartition(b"\n")[2].startswith(b"documents: ")
        assert done.stdout == b""


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not bounded there")
@pytest.mark.end_to_end
def test_the_program_is_held_to_its_memory() -> None:
    code = "from ingest.documents.result import apply_limits; apply_limits(); bytearray(2_000_000_000)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "MemoryError" in done.stderr
