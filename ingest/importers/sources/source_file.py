"""A file to be read once, in bounded pieces, whatever it claims to be.

A reader asks for bytes or lines; how much it may hold at once is watched here, because a file of one
endless line, or a zip of a few kilobytes that holds a terabyte, is refused and not taken into memory.
"""

from __future__ import annotations

import io
import math
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from ingest.importers.items import CannotImport, Skipped

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


CHUNK_BYTES = 256 * 1024
HEAD_BYTES = 64 * 1024
MAX_LINE_BYTES = 1_000_000
MAX_RECORD_BYTES = 16_000_000
"""How much may be read before a reader has something of it."""
MAX_UNPACKED_BYTES = 20_000_000_000
MAX_ZIP_RATIO = 200
"""A zip that unpacks to more than so many times its size is refused. Text is packed to a tenth or so."""
RATIO_FROM_BYTES = 50_000_000
_MAX_MEMBERS = 10_000
_SHOWN_NAMES = 5

Dates = Literal["dmy", "mdy", "ymd"]
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Options:
    """What a file does not say: the zone of times without one, who "I" is, how dates are written.

    `now_ms` bounds what can have happened already. `me` holds names and addresses, in lower case.
    """

    zone: tzinfo
    now_ms: int
    me: frozenset[str] = frozenset()
    dates: Dates | None = None


class Source:
    """An open file. `name` is its own name, of a packed one the name of the zip where that says more.
    `path` is where it lies, for a reader that needs more than its bytes in order; None of a packed one.
    """

    def __init__(
        self, name: str, size: int, opener: Callable[[], IO[bytes]], path: Path | None = None
    ) -> None:
        self.name = name
        self.size = size
        self.path = path
        self._opener = opener
        self._stream = opener()
        self.head = self._stream.read(HEAD_BYTES)
        self.rewind()

    def rewind(self) -> None:
        self._stream.close()
        self._stream = self._opener()
        self.position = self._mark = 0  # bytes read so far, of `size`

    def close(self) -> None:
        self._stream.close()

    def mark(self) -> None:
        """What was read up to here has become something. Raises nothing; `read` does."""
        self._mark = self.position

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """The next bytes, b"" at the end. Raises `CannotImport` when nothing comes of them for too long."""
        if self.position - self._mark > MAX_RECORD_BYTES:
            raise CannotImport(f"one record is larger than {MAX_RECORD_BYTES // 1_000_000} MB")
        content = self._stream.read(size)
        self.position += len(content)
        return content

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.read():
            yield chunk

    def byte_lines(self) -> Iterator[bytes]:
        """Lines with their ends, as bytes. Raises `CannotImport` for one of more than a megabyte."""
        number = 0
        while line := self._stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise CannotImport(f"line {number} is longer than {MAX_LINE_BYTES:,} bytes")
            self.position += len(line)
            yield line

    def lines(self) -> Iterator[str]:
        """Lines with their ends, as text. Raises `CannotImport` for what is no text in UTF-8."""
        for number, line in enumerate(self.byte_lines(), 1):
            yield decoded(line, number)


def decoded(line: bytes, number: int) -> str:
    """A line as text, without the byte order mark of a first line."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise CannotImport(f"line {number} is not text in UTF-8; save the file as UTF-8") from error
    if "\0" in text:
        raise CannotImport(f"line {number} holds a NUL byte; this is no text file")
    return text


@contextmanager
def opened(path: Path, suffixes: frozenset[str], name: str | None = None) -> Iterator[Source]:
    """A file, or the one file with such a suffix in a zip; `name` is its own where it lies under another.

    Raises `CannotImport`.
    """
    name = name or path.name
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise CannotImport(f"{name!r} is not a file")
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise CannotImport(f"{name!r} cannot be read: {error.strerror}") from error
    if not start:
        raise CannotImport(f"{name!r} is empty")
    if start.startswith(b"\x1f\x8b"):
        raise CannotImport(f"{name!r} is packed with gzip; unpack it first")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CannotImport(f"{name!r} is text in UTF-16; save it as UTF-8")
    if start != b"PK\x03\x04":
        with closing(Source(name, facts.st_size, lambda: path.open("rb"), path)) as source:
            yield source
        return
    with _unpacked(path, suffixes, name) as source:
        yield source


@contextmanager
def _unpacked(path: Path, suffixes: frozenset[str], called: str) -> Iterator[Source]:
    try:
        with zipfile.ZipFile(path) as archive:
            member = _only_member(archive, suffixes)
            own_name = PurePosixPath(member.filename).name
            # WhatsApp calls the text of every chat _chat.txt; the zip names whose it is.
            name = PurePath(called).stem + PurePath(own_name).suffix if own_name.startswith("_") else own_name

            def unpack() -> IO[bytes]:
                return io.BufferedReader(_Bounded(archive.open(member), member.compress_size), CHUNK_BYTES)

            with closing(Source(name, member.file_size, unpack)) as source:
                yield source
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise CannotImport(f"{called!r} is a damaged or encrypted zip") from error


def _only_member(archive: zipfile.ZipFile, suffixes: frozenset[str]) -> zipfile.ZipInfo:
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise CannotImport(f"the zip holds more than {_MAX_MEMBERS:,} files")
    fitting = [
        member
        for member in members
        if PurePosixPath(member.filename).suffix.lower() in suffixes
        and not member.filename.startswith("__MACOSX")
    ]
    if not fitting:
        raise CannotImport(f"the zip holds no {', '.join(sorted(suffixes))} file")
    if len(fitting) > 1:
        names = ", ".join(PurePosixPath(member.filename).name for member in fitting[:_SHOWN_NAMES])
        raise CannotImport(f"the zip holds {len(fitting)} such files ({names} …); unpack it and import one")
    if fitting[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CannotImport("the zip is packed in a way that is not read here; unpack it first")
    return fitting[0]


class _Bounded(io.RawIOBase):
    """A packed file that stops where it has become far larger than its zip says anything of."""

    def __init__(self, stream: IO[bytes], packed_bytes: int) -> None:
        super().__init__()
        self._stream = stream
        self._most = min(MAX_UNPACKED_BYTES, max(RATIO_FROM_BYTES, packed_bytes * MAX_ZIP_RATIO))
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        content = self._stream.read(len(room))
        self._unpacked += len(content)
        if self._unpacked > self._most:
            raise CannotImport(f"the zip unpacks to more than {self._most // 1_000_000} MB; it is refused")
        room[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._stream.close()
        super().close()


MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 1_000
CUT = " [truncated]"

EARLIEST_MS = 86_400_000
"""1970-01-02: what is earlier is a time that was never set."""
LATEST_MS = 4_102_444_800_000
"""2100-01-01."""
_MAX_BLOCK_LINES = 20_000
_AHEAD_MS = 86_400_000
"""How far the clock of another device may be ahead."""

_DIGITS = re.compile(r"-?\d{1,20}(\.\d{1,9})?", re.ASCII)
_NUMBER = re.compile(r"\s*-?\d{1,20}(\.\d{1,30})?([eE][-+]?\d{1,3})?\s*", re.ASCII)


class BadRecord(ValueError):
    """One record that cannot be taken; the message says why and quotes nothing private."""


def text_of(value: object, limit: int = MAX_TEXT_CHARS) -> str:
    """A text as it can be stored; one that is far too long is cut, and says so."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRecord("a text is no text")
    if "\0" in value:
        raise BadRecord("it holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRecord("it is not valid Unicode") from error
    return value if len(value) <= limit else value[: limit - len(CUT)] + CUT


def name_of(value: object) -> str:
    """A name on one line."""
    return " ".join(text_of(value, MAX_NAME_CHARS).split())


def sensible_ms(at_ms: float) -> int:
    """A time between 1970 and 2100, or `BadRecord`."""
    if not math.isfinite(at_ms) or not EARLIEST_MS <= at_ms < LATEST_MS:
        raise BadRecord("its time is before 2 January 1970 or after 2099")
    return round(at_ms)


def past_ms(at_ms: float, options: Options) -> int:
    """A time that has come, or `BadRecord`: messages and positions are not of the future."""
    sensible = sensible_ms(at_ms)
    if sensible > options.now_ms + _AHEAD_MS:
        raise BadRecord("its time lies in the future")
    return sensible


def parse_number(value: object, name: str) -> float:
    """A finite number, or `BadRecord`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadRecord(f"{name} is no number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise BadRecord(f"{name} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise BadRecord(f"{name} is no number")
    return number


def optional_number(value: object) -> float | None:
    """A number where there is a sensible one; what is beside the point of a record does not spoil it."""
    try:
        return None if value in (None, "") else parse_number(value, "it")
    except BadRecord:
        return None


def written_ms(text: str, zone: tzinfo) -> float:
    """Epoch milliseconds of ISO 8601 text (in `zone` where it names none), epoch seconds, or milliseconds.

    Ten digits are seconds and thirteen milliseconds, as everywhere between 2001 and 2286.
    """
    text = text.strip()
    if _DIGITS.fullmatch(text):
        whole = len(text.lstrip("-").partition(".")[0])
        if whole not in (9, 10, 13):
            raise BadRecord("its time is neither seconds nor milliseconds")
        return float(text) * (1 if whole == 13 else 1000)
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadRecord("its time cannot be read; use 2026-11-21T14:00:00 or epoch seconds") from error
    return local_ms(at, zone)


def hour_of_day(hour: int, half: str) -> int:
    """Of a clock with twelve hours; `half` begins with A or P, or is "" on one of twenty-four."""
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise BadRecord("its time cannot be read")
    return hour % 12 + (12 if half[0] in "Pp" else 0)


def local_ms(at: datetime, zone: tzinfo) -> float:
    """Epoch milliseconds of a moment, of the first of two where a clock was set back."""
    try:
        return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000
    except (OverflowError, ValueError) as error:
        raise BadRecord("its time is before 2 January 1970 or after 2099") from error


# -- positions ----------------------------------------------------------------------------

_DEGREES = r"\s*(-?\d{1,3}(?:\.\d{1,20})?)\s*°?\s*"
_PAIR = re.compile(rf"(?:geo:)?{_DEGREES},{_DEGREES}", re.ASCII)


def position(latitude: object, longitude: object) -> tuple[float, float]:
    """(latitude, longitude) in degrees, WGS 84, or `BadRecord` off the globe."""
    north, east = parse_number(latitude, "latitude"), parse_number(longitude, "longitude")
    if not (-90 <= north <= 90 and -180 <= east <= 180):
        raise BadRecord("its position is not on the globe")
    return north, east


def position_written(text: object) -> tuple[float, float]:
    """A position as one text: ``48.137154°, 11.576124°`` or ``geo:48.137154,11.576124`` (RFC 5870)."""
    pair = _PAIR.fullmatch(text.strip()) if isinstance(text, str) else None
    if pair is None:
        raise BadRecord("its position cannot be read")
    return position(pair[1], pair[2])


def record_or_skipped(where: str, make: Callable[..., Record], *values: Any) -> Record | Skipped:
    """The record that `make` makes of the values, or why there is none. `where`: as short as ``line 12``."""
    try:
        return make(*values)
    except BadRecord as error:
        return Skipped(where, str(error))


def line_records(
    lines: Iterable[tuple[re.Match[str] | None, str]],
    make: Callable[[re.Match[str], list[str]], Record],
    is_notice: Callable[[str], object] = lambda line: False,
    stray: str = "",
) -> Iterator[Record | Skipped]:
    """Messages of a file in which each begins with a line that matches; notices end the one before. `make`
    has the first line as it was matched, and the lines after it.

    `stray` is why a line that belongs to no message is left out; such lines are passed over without it.
    """
    block: tuple[int, re.Match[str], list[str]] | None = None
    for number, (start, line) in enumerate(lines, 1):
        if start or is_notice(line):
            if block:
                yield record_or_skipped(f"line {block[0]}", make, *block[1:])
            block = (number, start, []) if start else None
            if not start:
                yield Skipped(f"line {number}", "it is a notice, not a message")
        elif block:
            block[2].append(line)
            if len(block[2]) > _MAX_BLOCK_LINES:
                raise CannotImport(f"the message of line {block[0]} has more than {_MAX_BLOCK_LINES:,} lines")
        elif stray and line.strip():
            yield Skipped(f"line {number}", stray)
    if block:
        yield record_or_skipped(f"line {block[0]}", make, *block[1:])


class DuplicateCounter:
    """Tells apart equal messages of one coarse time: 0 for the first, 1 for the next, and so on.

    Messages come in order of time, so only those of the present minute are remembered.
    """

    def __init__(self) -> None:
        self._at_ms = -1
        self._seen: dict[tuple[object, ...], int] = {}

    def of(self, at_ms: int, *content: object) -> int:
        if at_ms != self._at_ms:
            self._at_ms = at_ms
            self._seen.clear()
        count = self._seen.get(content, 0)
        self._seen[content] = count + 1
        return count
