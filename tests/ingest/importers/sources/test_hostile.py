"""Files that mean harm, or were never what they say: refused as a whole, in little time and memory."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.core.home import Home
from ingest.importers.items import CannotImport
from ingest.importers.sources.source_import import import_file
from store.sources import imports
from store.sources.imports import Kind
from tests.ingest.importers.sources.reading import options, read

BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<smses><sms address="1" date="1763640000123" type="1" body="&lol2;"/></smses>"""
OUTSIDE = """<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<gpx><trk><name>&x;</name></trk></gpx>"""


@pytest.mark.parametrize(
    ("kind", "name", "content", "why"),
    [
        ("messages", "s.xml", BILLION_LAUGHS, "document type"),
        ("location", "s.gpx", OUTSIDE, "document type"),
        ("messages", "s.xml", "<smses>" + "<a>" * 100, "nested more than"),
        ("messages", "s.xml", "<smses><sms ", "not well-formed XML"),
        ("messages", "s.xml", "<smses><sms/></wrong>", "not well-formed XML"),
        ("messages", "s.xml", b"<smses><sms body='\xff\xfe'/></smses>", "not well-formed XML"),
        ("messages", "s.xml", "<smses><sms body='\0'/></smses>", "not well-formed XML"),
        ("location", "s.gpx", "<gpx><name>" + "x " * 1_000_000 + "</name></gpx>", "a text of more than"),
        ("location", "r.json", '{"locations": ' + "[" * 100_000, "nested more than 64"),
        ("location", "r.json", '{"locations": [' + '{"a":' * 100, "nested more than 64"),
        ("location", "r.json", '{"locations": [{"a": 1}', "not JSON"),
        ("location", "r.json", '{"locations": [{"a": NaN}]}', "not JSON"),
        ("location", "r.json", b'{"locations": [{"a": "\xff"}]}', "not JSON"),
        ("location", "r.json", '{"locations": [{"a": 1e99999}]}', "not JSON"),
        ("location", "r.json", '{"locations": [{"a": "' + "x" * 20_000_000 + '"}]}', "larger than 16 MB"),
        ("messages", "m.csv", b"time,text,direction\n1763640000,\xff,sent\n", "line 2 is not text in UTF-8"),
        ("messages", "m.csv", "time,text,direction\n1763640000,a\0b,sent\n", "NUL byte"),
        ("messages", "m.csv", "time,text,direction\n1,\"" + "x\n" * 100_000, "no row of a table"),
        ("messages", "m.csv", "time,text,direction\n" + "x" * 2_000_000, "longer than"),
        ("messages", "m.csv", "time,text,direction\n".encode("utf-16"), "UTF-16"),
        ("messages", "m.csv", b"\x1f\x8b\x08\x00", "gzip"),
        ("messages", "m.csv", "", "empty"),
        ("messages", "m.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "none of these formats"),
        ("calendar", "c.ics", b"BEGIN:VCALENDAR\nX-WR-CALNAME:\xff\nEND:VCALENDAR\n", "not text in UTF-8"),
        ("calendar", "c.ics", "BEGIN:VCALENDAR\nX-WR-CALNAME:a\0\nEND:VCALENDAR\n", "NUL byte"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_and_leaves_nothing(
    home: Home, tmp_path: Path, kind: Kind, name: str, content: str | bytes, why: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CannotImport, match=why):
        import_file(home, kind, path, options())
    assert imports.listed(home.database) == []
    assert imports.total(home.database, kind) == 0
    assert not list((home.data_dir.spool / "tmp").iterdir())


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


CHAT = b"20/11/2025, 13:01 - Anna: Lunch?\n"


def test_a_chat_in_a_zip_is_called_by_the_zip(home: Home, tmp_path: Path) -> None:
    files = {"_chat.txt": CHAT, "photo.jpg": b"x", "__MACOSX/_chat.txt": b"x", "../../evil.jpg": b"x"}
    path = zipped(tmp_path / "WhatsApp Chat - Anna.zip", files)
    receipt = import_file(home, "messages", path, options())
    assert (receipt.added, receipt.name, receipt.format) == (1, "WhatsApp Chat - Anna.zip", "whatsapp")


@pytest.mark.parametrize(
    ("files", "method", "why"),
    [
        ({"a.csv": b"time,text,direction\n" + b"1763640000,a,sent\n" * 100_000}, 8, "unpacks to more than"),
        ({"a.txt": CHAT, "b.txt": CHAT}, 8, "2 such files"),
        ({"a.jpg": CHAT}, 8, "holds no"),
        ({"a.txt": CHAT}, zipfile.ZIP_LZMA, "not read here"),
    ],
)
def test_a_zip_that_cannot_be_read_safely_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], method: int, why: str
) -> None:
    monkeypatch.setattr("ingest.importers.sources.source_file.RATIO_FROM_BYTES", 1_000_000)
    content = zipped(tmp_path / "made.zip", files, method).read_bytes()
    with pytest.raises(CannotImport, match=why):
        read(tmp_path, "messages", "a.zip", content)


def test_a_damaged_zip_is_refused(tmp_path: Path) -> None:
    content = zipped(tmp_path / "made.zip", {"a.txt": CHAT * 100}).read_bytes()
    for broken in (content[:60], content[:40] + b"\xff" * 8 + content[48:]):
        with pytest.raises(CannotImport, match="damaged"):
            read(tmp_path, "messages", "a.zip", broken)


def test_a_pipe_is_no_file(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotImport, match="is not a file"):
        import_file(home, "messages", tmp_path / "pipe", options())


def gpx_of(count: int, path: Path) -> Path:
    with path.open("w") as file:
        file.write("<gpx>")
        for n in range(count):
            second = f"2025-{n // 40000 + 1:02d}-{n // 1440 % 28 + 1:02d}T{n // 60 % 24:02d}:{n % 60:02d}:00Z"
            file.write(f'<wpt lat="{n % 90}" lon="1"><time>{second}</time></wpt>')
        file.write("</gpx>")
    return path


def json_of(count: int, path: Path) -> Path:
    with path.open("w") as file:
        file.write('{"locations": [')
        for n in range(count):
            record = {"latitudeE7": n * 100, "longitudeE7": 1, "timestampMs": str(1763640000000 - n)}
            file.write(("," if n else "") + json.dumps(record))
        file.write("]}")
    return path


@pytest.mark.parametrize(("make", "name"), [(gpx_of, "t.gpx"), (json_of, "t.json")])
def test_memory_does_not_grow_with_the_file(
    home: Home, tmp_path: Path, make: Callable[[int, Path], Path], name: str
) -> None:
    """What Python holds at most; `python -m bench imports` has the whole process."""
    peaks = []
    for count in (2_000, 10_000):
        path = make(count, tmp_path / name)
        tracemalloc.start()
        receipt = import_file(home, "location", path, options())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert receipt.added + receipt.unchanged == count
    assert peaks[1] < peaks[0] + 2_000_000
