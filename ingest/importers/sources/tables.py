"""Rows of a CSV file, by the names of their columns, whatever a program called them.

Comma, semicolon and tab are told apart by the first line. Quotes as RFC 4180 has them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import Source

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
            yield (
                reader.line_num + 1,
                {name: row[at] if at is not None else "" for name, at in columns.items()},
            )


def has_columns(first_line: str, aliases: Aliases, needed: Sequence[str]) -> bool:
    """Whether this is the first line of such a table."""
    delimiter = max(_DELIMITERS, key=first_line.count)
    try:
        _columns(next(csv.reader([first_line], delimiter=delimiter), []), aliases, needed)
    except (CannotImport, csv.Error):
        return False
    return True


def _columns(header: Sequence[str], aliases: Aliases, needed: Sequence[str]) -> dict[str, int | None]:
    called = {_folded(name): at for at, name in reversed(list(enumerate(header)))}
    found = {
        name: next((called[alias] for alias in map(_folded, (name, *others)) if alias in called), None)
        for name, others in aliases.items()
    }
    missing = [name for name in needed if found[name] is None]
    if missing:
        shown = ", ".join(name[:40] for name in header[:_SHOWN])
        raise CannotImport(f"the table has no column for {' and '.join(missing)}; its columns are: {shown}")
    return found


def _folded(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
