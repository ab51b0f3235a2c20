from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ingest.importers.images import from_name, taken_ms
from ingest.importers.items import CannotImport, moment_ms, zone_named
from tests.tables import for_each

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(*parts: int, ms: int = 0, fold: int = 0) -> int:
    return round(datetime(*parts, tzinfo=BERLIN, fold=fold).timestamp() * 1000) + ms  # type: ignore[misc, arg-type]


AT = berlin(2026, 11, 20, 14, 30, 5)
UTC_AT = round(datetime(2026, 11, 20, 14, 30, 5, tzinfo=UTC).timestamp() * 1000)


@for_each(
    ("name", "expected"),
    [
        ("2026-11-20_14-30-05", AT),
        ("2026-11-20 14.30.05", AT),
        ("2026-11-20T14:30:05", AT),
        ("20261120T143005", AT),
        ("20261120-143005", AT),
        ("20261120_143005", AT),
        ("20261120143005", AT),
        ("20261120T143005Z", UTC_AT),
        ("20261120T143005+0000", UTC_AT),
        ("2026-11-20T14:30:05+01:00", AT),
        ("2026-11-20T14:30:05-05:00", UTC_AT + 5 * 3_600_000),
        ("2026-11-20_14-30-05.250", AT + 250),
        ("2026-11-20T14:30:05,5", AT + 500),
        ("20261120_143005123", AT + 123),
        ("Screenshot from 2026-11-20 14-30-05", AT),
        ("Screenshot_20261120-143005", AT),
        ("Screenshot 2026-11-20 143005", AT),
        ("Screenshot 2026-11-20 at 14.30.05", AT),
        ("Screenshot 2026-11-20 at 2.30.05 PM", AT),
        ("Screenshot 2026-11-20 at 2.30.05\u202fPM (2)", AT),
        ("Screen Shot 2026-11-20 at 12.00.00 AM", berlin(2026, 11, 20)),
        ("IMG_20261120_143005", AT),
        ("frame-1795185005000", 1_795_185_005_000),
        ("1795185005", 1_795_185_005_000),
        ("1795185005.25", 1_795_185_005_250),
        ("monitor 2 - 1795185005123 - 17", 1_795_185_005_123),
        ("截图 2026-11-20 14-30-05", AT),
        ("2026-10-25_02-30-00", berlin(2026, 10, 25, 2, 30, fold=0)),  # comes twice: the first
        ("2026-02-30_14-30-05", None),
        ("2026-11-20_25-30-05", None),
        ("2026-11-20 at 13.30.05 PM", None),
        ("2026-11-20", None),
        ("1234567890123456789", None),
        ("0000000001", None),
        ("Screenshot (12)", None),
        ("", None),
    ],
)
def test_the_time_in_a_file_name(name: str, expected: int | None) -> None:
    assert from_name(name, BERLIN) == expected


@given(st.text())
def test_any_file_name_is_survived(name: str) -> None:
    from_name(name, BERLIN)


@given(st.datetimes(datetime(2000, 1, 2), datetime(2099, 12, 30), timezones=st.just(UTC)))
def test_what_is_written_is_read_back(at: datetime) -> None:
    at = at.replace(microsecond=0)
    assert from_name(at.strftime("%Y-%m-%d_%H-%M-%S"), UTC) == round(at.timestamp() * 1000)


def with_exif(path: Path, written: str, offset: str | None = None, subsec: str | None = None) -> Path:
    exif = Image.Exif()
    facts = exif.get_ifd(0x8769)
    facts[0x9003] = written
    if offset:
        facts[0x9011] = offset
    if subsec:
        facts[0x9291] = subsec
    Image.new("RGB", (8, 8)).save(path, exif=exif)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return path


def test_the_name_wins_then_exif_then_the_file(tmp_path: Path) -> None:
    exif = "2026:11:20 14:30:05"
    assert taken_ms(with_exif(tmp_path / "a.jpg", exif), BERLIN) == AT
    assert taken_ms(with_exif(tmp_path / "b.jpg", exif, "+00:00"), BERLIN) == UTC_AT
    assert taken_ms(with_exif(tmp_path / "c.jpg", exif, subsec="250"), BERLIN) == AT + 250
    assert taken_ms(with_exif(tmp_path / "1795185005123.jpg", exif), BERLIN) == 1_795_185_005_123
    assert taken_ms(with_exif(tmp_path / "d.jpg", "0000:00:00 00:00:00"), BERLIN) == 1_000_000_000_000
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    os.utime(broken, (1_000_000_000, 1_000_000_000))
    assert taken_ms(broken, BERLIN) == 1_000_000_000_000


@for_each(
    ("text", "expected"),
    [
        ("1795185005.25", 1_795_185_005_250),
        ("2026-11-20T14:30:05", AT),
        ("2026-11-20 14:30:05.250", AT + 250),
        ("2026-11-20T14:30:05Z", UTC_AT),
        ("2026-11-20T14:30:05+01:00", AT),
    ],
)
def test_the_start_of_a_recording(text: str, expected: int) -> None:
    assert moment_ms(text, BERLIN) == expected


@for_each("text", ["", "soon", "nan", "inf", "-5", "0", "1795185005000", "2026-13-01", "0001-01-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(CannotImport, match="is not a time"):
        moment_ms(text, BERLIN)


def test_a_zone_that_does_not_exist_is_refused() -> None:
    assert zone_named("Asia/Shanghai") == ZoneInfo("Asia/Shanghai")
    for name in ("Mars/Olympus", "../../etc/passwd", ""):
        with pytest.raises(CannotImport, match="IANA"):
            zone_named(name)


def test_the_machines_zone_knows_its_daylight_saving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert zone_named(None) == BERLIN
