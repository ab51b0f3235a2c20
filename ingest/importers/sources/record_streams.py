"""Records of XML, JSON and CSV files as they come, in flat memory."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import ijson

from ingest.core.xml_elements import End, Start, XmlRefused, elements_in
from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import CHUNK_BYTES, Source

XML_MAX_DEPTH = 32
MAX_TEXT_CHARS = 1_000_000
_LONGEST_RUN = 16_384

_REFERENCES = re.compile(rb"(?:&#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});)+")
_OPEN_END = re.compile(rb"(?:&#\w{1,8};)*(?:&(?:#\w{0,8})?)?\Z")
_REFERENCE = re.compile(rb"&#(?:(\d+)|[xX]([0-9a-fA-F]+));")
# The value of data="…", and a chunk that begins within one.
_ATTACHMENT = re.compile(rb'(\A| data=")[A-Za-z0-9+/=]{4096,}')


def xml_elements(source: Source) -> Iterator[Start | End]:
    """Starts and ends in the order of the file, by names without a prefix. Raises `CannotImport`."""
    try:
        chunks = _mended(_without_attachments(source))
        for elements in elements_in(chunks, max_depth=XML_MAX_DEPTH, max_text_chars=MAX_TEXT_CHARS):
            yield from elements
            source.mark()
    except XmlRefused as error:
        raise CannotImport(str(error)) from error


def _without_attachments(source: Source) -> Iterator[bytes]:
    """The file without most of the pictures in it, which the parser would hold as one value each."""
    for chunk in source.chunks():
        words = _ATTACHMENT.sub(rb"\1", chunk)
        if len(words) < len(chunk):
            source.mark()
        yield words


def _mended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same with references to characters that XML does not allow made right.

    SMS Backup & Restore writes an emoji as two references to halves of it (UTF-16), which is no XML. A
    half alone, or a control character, becomes U+FFFD, as Unicode has it for what cannot be read.
    """
    rest = b""
    for chunk in chunks:
        chunk = rest + chunk
        # References that end the chunk may go on in the next one, and two may be one character.
        tail = _OPEN_END.search(chunk, max(0, len(chunk) - _LONGEST_RUN))
        cut = tail.start() if tail else len(chunk)
        chunk, rest = chunk[:cut], chunk[cut:]
        yield _REFERENCES.sub(_right, chunk) if b"&#" in chunk else chunk
    yield _REFERENCES.sub(_right, rest)


def _right(run: re.Match[bytes]) -> bytes:
    codes = [int(ten) if ten else int(sixteen, 16) for ten, sixteen in _REFERENCE.findall(run.group())]
    if all(_is_allowed(code) for code in codes):
        return run.group()
    halves = b"".join(_utf_16(code) for code in codes)
    text = halves.decode("utf-16-be", "replace")
    return b"".join(b"&#%d;" % (ord(char) if _is_allowed(ord(char)) else 0xFFFD) for char in text)


def _utf_16(code: int) -> bytes:
    if code > 0x10FFFF:
        code = 0xFFFD
    return code.to_bytes(2, "big") if code <= 0xFFFF else chr(code).encode("utf-16-be")


def _is_allowed(code: int) -> bool:
    """Whether XML 1.0 allows the character (https://www.w3.org/TR/xml/#charsets)."""
    is_plain = 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
    return code in (9, 10, 13) or is_plain or 0x10000 <= code <= 0x10FFFF


# Records of a JSON file as they come, through ijson (yajl), in flat memory.
#
# A path is a tuple of keys, with "[]" for the elements of an array:
#
#     for path, value in json_records(source, {("locations", "[]")}): ...

JSON_MAX_DEPTH = 64

Path = tuple[str, ...]
_ARRAY = "[]"
EACH = "*"
"""In a path: any key."""
_OPENS, _CLOSES = ("start_map", "start_array"), ("end_map", "end_array")


def json_records(source: Source, paths: Collection[Path]) -> Iterator[tuple[Path, Any]]:
    """(path, value) of everything at one of these paths, in the order of the file; numbers are floats
    or ints. Raises `CannotImport` for what is not JSON, or nested too deeply.
    """
    try:
        yield from _items(source, frozenset(paths))
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise CannotImport(f"this is not JSON: {_reason(error)}") from error


def _items(source: Source, paths: frozenset[Path]) -> Iterator[tuple[Path, Any]]:
    path: list[str] = []  # of the value that comes next, its own key included
    exact = not any(EACH in each for each in paths)
    for event, value in (events := ijson.basic_parse(source, use_float=True, buf_size=CHUNK_BYTES)):
        if event == "map_key":
            path[-1] = value
            continue
        if event in _CLOSES:
            path.pop()
            continue
        source.mark()
        here = tuple(path)
        if here in paths if exact else any(_fits(here, each) for each in paths):
            yield here, _whole(event, value, events, len(path))
            source.mark()
        elif event in _OPENS:
            if len(path) >= JSON_MAX_DEPTH:
                raise _too_deep()
            path.append("" if event == "start_map" else _ARRAY)


def _fits(path: Path, wanted: Path) -> bool:
    return len(path) == len(wanted) and all(
        ours in (EACH, own) for own, ours in zip(path, wanted, strict=True)
    )


def _whole(event: str, value: Any, events: Iterator[tuple[str, Any]], depth: int) -> Any:
    """The value that begins with this event."""
    builder = ijson.ObjectBuilder()
    builder.event(event, value)
    open_now = int(event in _OPENS)
    for event, value in events if open_now else ():
        builder.event(event, value)
        open_now += (event in _OPENS) - (event in _CLOSES)
        if depth + open_now > JSON_MAX_DEPTH:
            raise _too_deep()
        if not open_now:
            break
    return builder.value


def _too_deep() -> CannotImport:
    return CannotImport(f"the JSON is nested more than {JSON_MAX_DEPTH} levels deep")


def _reason(error: Exception) -> str:
    """The parser's sentence, without the piece of the file that it quotes."""
    return str(error).strip().partition("\n")[0][:200]


# Rows of a CSV file, by the names of their columns, whatever a program called them.
#
# Comma, semicolon and tab are told apart by the first line. Quotes as RFC 4180 has them.

Aliases = Mapping[str, Sequence[str]]
_DELIMITERS = ",;\t"
_SHOWN = 12


def csv_rows(source: Source, aliases: Aliases, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, values by our name) of each row that is not blank; "" for a column the file does not have.

    `aliases` gives for each of our names what files call it. Raises `CannotImport` when one of `needed` is
    missing, or the file is no table.
    """
    lines = source.lines()
    first = next(lines, "")
    delimiter = max(_DELIMITERS, key=first.count)
    header = next(csv.reader([first], delimiter=delimiter), [])
    columns = _columns(header, aliases, needed)
    reader = csv.reader(lines, delimiter=delimiter)
    width = len(header)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CannotImport(f"line {reader.line_num + 1} is no row of a table: {error}") from error
        source.mark()
        if any(row):
            row.extend([""] * (width - len(row)))
            values = {name: row[at] if at is not None else "" for name, at in columns.items()}
            yield reader.line_num + 1, values


def has_columns(first_line: str, aliases: Aliases, needed: Sequence[str]) -> bool:
    """Whether this is the first line of such a table."""
    delimiter = max(_DELIMITERS, key=first_line.count)
    try:
        _columns(next(csv.reader([first_line], delimiter=delimiter), []), aliases, needed)
    except (CannotImport, csv.Error):
        return False
    return True


def _columns(header: Sequence[str], aliases: Aliases, needed: Sequence[str]) -> dict[str, int | None]:
    columns = by_our_names(((name, at) for at, name in reversed(list(enumerate(header)))), aliases)
    missing = [name for name in needed if columns[name] is None]
    if missing:
        shown = ", ".join(name[:40] for name in header[:_SHOWN])
        raise CannotImport(f"the table has no column for {' and '.join(missing)}; its columns are: {shown}")
    return columns


def by_our_names(values: Iterable[tuple[str, Any]], aliases: Aliases) -> dict[str, Any]:
    """What files call in many ways, by our names; None where there is nothing, and of two the last."""
    called = {_folded(name): value for name, value in values if value not in (None, "")}
    return {
        name: next((called[alias] for alias in map(_folded, (name, *others)) if alias in called), None)
        for name, others in aliases.items()
    }


def _folded(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
