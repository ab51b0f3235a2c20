"""Import a folder of pictures, each at the time its file says. Their bytes are kept as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from ingest.core.validation import check, decode, media_type_of
from ingest.importers.items import CannotImport, Item, Skipped, item
from store.core.errors import SpoolEntryInvalid
from store.core.preferences import utc_offset_min
from store.core.translation import N_
from store.spool.queue import MAX_IMAGE_BYTES

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp"}


_NO_TIME = N_("neither its name nor the picture tells when it was taken")


def find(folder: Path, zone: tzinfo) -> list[tuple[int, Path]]:
    """(captured_ms, path) of every picture in a folder and those below it, in order of time; 0 for unknown.

    Links are not followed. Raises `CannotImport` when there is none.
    """
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    pictures = [(taken_ms(path, zone), path) for path in paths if path.is_file() and not path.is_symlink()]
    if not pictures:
        raise CannotImport(f"there are no pictures ({', '.join(sorted(SUFFIXES))}) in {folder.name!r}")
    return sorted(pictures)


def read(pictures: list[tuple[int, Path]], zone: tzinfo) -> Iterator[Item | Skipped]:
    """One `Item` or `Skipped` for each picture that `find` found."""
    for captured_ms, path in pictures:
        try:
            yield item_of(path, captured_ms, zone) if captured_ms else Skipped(path.name, _NO_TIME)
        except (SpoolEntryInvalid, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            yield Skipped(path.name, reason or str(error))


def item_of(path: Path, captured_ms: int, zone: tzinfo) -> Item:
    """A picture file as it is. Raises `SpoolEntryInvalid` for what is none, and `OSError`."""
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise SpoolEntryInvalid("too_large", f"more than {MAX_IMAGE_BYTES} bytes")
    content = path.read_bytes()
    media_type = media_type_of(content)
    if media_type is None:
        problem = N_("not a PNG, JPEG or WebP picture") if content else N_("the file has 0 bytes")
        raise SpoolEntryInvalid("wrong_type", problem)
    check(content, media_type)
    decode(content, media_type)
    return item(content, media_type, captured_ms, utc_offset_min(captured_ms, zone), "import")


# When was this picture taken? Its name says, or its EXIF data, or the file system.
#
# Names win because people keep them through copies, and a copy changes the file's time. A time
# without a zone is read in the zone handed in; a local time that comes twice means its first.

_EARLIEST_MS = 946_684_800_000  # 2000-01-01
_LATEST_MS = 4_102_444_800_000  # 2100-01-01
_EXIF = 0x8769
_DATE_TIME_ORIGINAL, _OFFSET_TIME_ORIGINAL, _SUBSEC_TIME_ORIGINAL = 0x9003, 0x9011, 0x9291

_EPOCH = re.compile(r"(?<!\d)(\d{13}|\d{10}(?:\.\d{1,3})?)(?!\d)")
_WRITTEN = re.compile(
    r"""(?<!\d)(\d{4}) ([-_.:]?) (\d\d) \2 (\d\d)          # 2026-11-20, 20261120
        (?: [T_\s-]+ | \s+at\s+ )                          # T, a blank, _ or " at "
        (\d\d?) ([-_.:]?) (\d\d) \6 (\d\d)                 # 14-30-05, 143005, 2.30.05
        (?: [.,] (\d{1,6}) | (\d{3}) )?                    # .250, or 250 behind the seconds
        \s? ([AaPp][Mm])?
        (Z | [+-]\d\d:?\d\d)? (?!\d)""",
    re.VERBOSE,
)
# 14 or 17 digits in a row; fewer would be mistaken for an epoch time, and the other way round.
_DIGITS = re.compile(r"(?<!\d)(\d{8})(\d{6}(?:\d{3})?)(?!\d)")


def taken_ms(path: Path, zone: tzinfo) -> int:
    """Epoch milliseconds of a picture file: from its name, its EXIF data, or its modification time; 0 where
    that lies before there were such pictures, as in some archives and for what was uploaded.
    """
    at_ms = _first(
        (from_name(path.stem, zone), _from_exif(path, zone), _epoch(f"{path.stat().st_mtime:.3f}"))
    )
    return at_ms or 0


def from_name(name: str, zone: tzinfo) -> int | None:
    """The time that a file name holds (``2026-11-20_14-30-05``, ``1795176000123``, …), or None.

    >>> from_name("Screenshot 20261120T143005Z", timezone.utc)
    1795185005000
    """
    spaced = _DIGITS.sub(r"\1T\2", name)
    return _first(_written(match, zone) for match in _WRITTEN.finditer(spaced)) or _first(
        _epoch(match.group()) for match in _EPOCH.finditer(name)
    )


def _first(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)


def _epoch(digits: str) -> int | None:
    is_ms = len(digits) == 13 and "." not in digits
    ms = int(digits) if is_ms else round(float(digits) * 1000)
    return ms if _EARLIEST_MS <= ms < _LATEST_MS else None


def _written(match: re.Match[str], zone: tzinfo) -> int | None:
    year, _, month, day, hour_text, _, minute, second, fraction, thousandths, half, offset = match.groups()
    hour = int(hour_text)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    try:
        at = datetime.fromisoformat(f"{year}-{month}-{day}T{hour:02}:{minute}:{second}{offset or ''}")
    except ValueError:  # digits that look like a time and are none
        return None
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    ms = round(at.timestamp() * 1000) + round(float(f"0.{fraction or thousandths or 0}") * 1000)
    return ms if _EARLIEST_MS <= ms < _LATEST_MS else None


def _from_exif(path: Path, zone: tzinfo) -> int | None:
    try:
        with Image.open(path) as image:
            facts = image.getexif().get_ifd(_EXIF)
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None  # what is wrong with the picture is said where it is checked
    written = str(facts.get(_DATE_TIME_ORIGINAL, ""))
    subsec = str(facts.get(_SUBSEC_TIME_ORIGINAL, "")).strip()[:6]
    fraction = f".{subsec}" if subsec.isdecimal() else ""
    return from_name(f"{written}{fraction}{facts.get(_OFFSET_TIME_ORIGINAL, '')}", zone)
