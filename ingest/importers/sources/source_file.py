"""A file to be read once, in bounded pieces, whatever it claims to be.

A reader asks for bytes or lines; how much it may hold at once is watched here, because a file of one
endless line, or a zip of a few kilobytes that holds a terabyte, is refused and not taken into memory.
"""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Literal

from ingest.importers.items import CannotImport

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
    """An open file. `name` is its own name, of a packed one the name of the zip where that says more."""

    def __init__(self, name: str, size: int, opener: Callable[[], IO[bytes]]) -> None:
        self.name = name
        self.size = size
        self._opener = opener
        self._stream = opener()
        self._position = 0
        self._mark = 0
        self.head = self._stream.read(HEAD_BYTES)
        self.rewind()

    @property
    def position(self) -> int:
        """Bytes read so far, of `size`."""
        return self._position

    def rewind(self) -> None:
        self._stream.close()
        self._stream = self._opener()
        self._position = self._mark = 0

    def close(self) -> None:
        self._stream.close()

    def mark(self) -> None:
        """What was read up to here has become something. Raises nothing; `read` does."""
        self._mark = self._position

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """The next bytes, b"" at the end. Raises `CannotImport` when nothing comes of them for too long."""
        if self._position - self._mark > MAX_RECORD_BYTES:
            raise CannotImport(f"one record is larger than {MAX_RECORD_BYTES // 1_000_000} MB")
        content = self._stream.read(size)
        self._position += len(content)
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
            self._position += len(line)
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
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
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
        source = Source(name, found.st_size, lambda: path.open("rb"))
        try:
            yield source
        finally:
            source.close()
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
            source = Source(
                name,
                member.file_size,
                lambda: io.BufferedReader(_Bounded(archive.open(member), member.compress_size), CHUNK_BYTES),
            )
            try:
                yield source
            finally:
                source.close()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise CannotImport(f"{called!r} is a damaged or encrypted zip") from error


def _only_member(archive: zipfile.ZipFile, suffixes: frozenset[str]) -> zipfile.ZipInfo:
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise CannotImport(f"the zip holds more than {_MAX_MEMBERS:,} files")
    fitting = [
        each
        for each in members
        if PurePosixPath(each.filename).suffix.lower() in suffixes
        and not each.filename.startswith("__MACOSX")
    ]
    if not fitting:
        raise CannotImport(f"the zip holds no {', '.join(sorted(suffixes))} file")
    if len(fitting) > 1:
        names = ", ".join(PurePosixPath(each.filename).name for each in fitting[:_SHOWN_NAMES])
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
