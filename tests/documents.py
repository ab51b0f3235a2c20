"""Small files of every kind that can be attached, and some that must not be."""

from __future__ import annotations

import io
import zipfile
import zlib
from xml.sax.saxutils import escape

from PIL import Image

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
COMPATIBLE = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def pdf(*pages: str, stream: bytes = b"") -> bytes:
    """A PDF of one line a page, in Helvetica; `stream` is a content stream of every page instead."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for n, text in enumerate(pages):
        drawn = stream or zlib.compress(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("cp1252"))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        head = f"<< /Length {len(drawn)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + drawn + b"\nendstream")
    return _numbered(objects)


def _numbered(objects: list[bytes]) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def docx(*paragraphs: str, body: str = "", opening: str = "", **parts: str) -> bytes:
    """A Word document; `body` is XML behind the paragraphs, `opening` stands before the root element."""
    told = "".join(f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>" for text in paragraphs)
    root = f'<w:document xmlns:w="{WORD}" xmlns:mc="{COMPATIBLE}">'
    document = f"{opening}{root}<w:body>{told}{body}</w:body></w:document>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", document)
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", content)
    return packed.getvalue()


def image(kind: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    """A red rectangle."""
    buffer = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(buffer, kind)
    return buffer.getvalue()
