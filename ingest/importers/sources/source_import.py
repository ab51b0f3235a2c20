"""One file into the store: read to its end first, then stored in short transactions.

What is wrong with a file is found before the first row is written, so a refused file leaves nothing. What
stops the writing (a full disk, a power cut) leaves whole batches and an import that is not finished; the
same file imported again brings the rest, because every record is known by its natural key.
"""

from __future__ import annotations

import marshal
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from ingest.core.home import Home
from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources import activitywatch, ics, locations, mbox, messengers, text_messages
from ingest.importers.sources.record_streams import Aliases, has_columns
from ingest.importers.sources.source_file import Options, Source, opened
from store.core.errors import NotFound
from store.core.times import now_ms
from store.sources import calendars, imports, messages
from store.sources import locations as stored_locations
from store.sources.imports import BATCH, Kind, Upserted

MAX_NOTES = 100
"""Records left out that are told one by one; all of them are counted by reason."""

UPSERT: dict[Kind, tuple[type[Any], Callable[..., Upserted]]] = {
    "messages": (messages.MessageRecord, messages.upsert_messages),
    "calendar": (calendars.EventRecord, calendars.upsert_events),
    "location": (stored_locations.PointRecord, stored_locations.upsert_points),
    "places": (stored_locations.PlaceRecord, stored_locations.upsert_places),
}

OnProgress = Callable[[int, int], None]
"""(bytes read, bytes in all), or (records stored, records in all)."""


@dataclass(slots=True)
class Receipt:
    """What became of a file. `unchanged` were there already and said the same; `replaced` are occurrences of
    its events that it does not tell of any more.
    """

    import_id: int
    kind: Kind
    format: str
    name: str
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    notes: list[Skipped] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        return self.reasons.total()

    def as_json(self) -> dict[str, Any]:
        return {
            "import_id": self.import_id,
            "kind": self.kind,
            "format": self.format,
            "name": self.name,
            "added": self.added,
            "updated": self.updated,
            "skipped": self.unchanged + self.left_out,
            "unchanged": self.unchanged,
            "replaced": self.replaced,
            "reasons": [{"reason": reason, "count": count} for reason, count in self.reasons.most_common()],
            "records": [{"where": note.name, "reason": note.reason} for note in self.notes],
        }


def import_file(
    home: Home,
    kind: Kind,
    path: Path,
    options: Options,
    *,
    name: str | None = None,
    format_name: str | None = None,
    on_read: OnProgress = lambda done, size: None,
    on_stored: OnProgress = lambda done, count: None,
) -> Receipt:
    """Import a file; `name` is what it is called where it was uploaded under another one.

    Raises `CannotImport`, and then nothing of it is stored.
    """
    record_type, _ = UPSERT[kind]
    with (
        opened(path, SUFFIXES[kind], name) as source,
        Staging(home.data_dir.spool / "tmp", record_type) as staging,
    ):
        file_format = detect_format(kind, source, format_name)
        reasons, notes = _read(source, file_format, options, staging, on_read)
        if not staging.records and notes:
            raise CannotImport(f"nothing in it can be imported; {notes[0].name}: {notes[0].reason}")
        if not staging.records:
            raise CannotImport("there is nothing in it")
        try:
            return _store(home, kind, file_format.name, name or path.name, staging, reasons, notes, on_stored)
        except NotFound as error:
            raise CannotImport("it was deleted while it was being imported") from error


def _read(
    source: Source, file_format: Format, options: Options, staging: Staging, on_read: OnProgress
) -> tuple[Counter[str], list[Skipped]]:
    reasons: Counter[str] = Counter()
    notes: list[Skipped] = []
    for count, record in enumerate(file_format.read(source, options)):
        if isinstance(record, Skipped):
            reasons[record.reason] += 1
            if len(notes) < MAX_NOTES:
                notes.append(record)
        else:
            staging.add(record)
        if count % 500 == 0:
            on_read(source.position, source.size)
    on_read(source.size, source.size)
    return reasons, notes


def _store(
    home: Home, kind: Kind, form: str, name: str, staging: Staging, reasons: Counter[str],
    notes: list[Skipped], on_stored: OnProgress,
) -> Receipt:  # fmt: skip
    _, put = UPSERT[kind]
    with home.database.write() as connection:
        import_id = imports.begin(connection, kind, name, form, now_ms())
        imports.count(connection, import_id, Upserted(skipped=reasons.total()))
    counts = Upserted()
    stored = 0
    for batch in staging.batches():
        with home.database.write() as connection:
            counts = counts.plus(put(connection, import_id, batch))
        stored += len(batch)
        on_stored(stored, staging.records)
    with home.database.write() as connection:
        replaced = calendars.replace_series(connection, import_id) if kind == "calendar" else 0
        imports.finish(connection, import_id, now_ms())
    return Receipt(
        import_id, kind, form, name, counts.added, counts.updated, counts.skipped, replaced, reasons, notes
    )


def summary_lines(receipt: Receipt) -> Iterator[str]:
    """The receipt as lines."""
    yield (
        f"{receipt.added:,} added, {receipt.updated:,} updated, {receipt.unchanged:,} there already, "
        f"{receipt.left_out:,} left out ({receipt.format})"
    )
    if receipt.replaced:
        yield f"  occurrences replaced by what the file says now: {receipt.replaced:,}"
    for reason, count in receipt.reasons.most_common():
        first = next((note.name for note in receipt.notes if note.reason == reason), "")
        yield f"  left out {count:,}: {reason}" + (f" (first: {first})" if first else "")


# Which formats there are, and which one a file is in: by how it begins, not by its name.

Read = Callable[[Source, Options], Iterator[Any | Skipped]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its name on the command line. `begins` says whether a file's beginning looks like it."""

    name: str
    title: str
    read: Read
    begins: Callable[[str], bool]


def _pattern(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.DOTALL)
    return lambda head: compiled.search(head) is not None


def _any_line(*patterns: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether one of the first lines fits."""

    def begins(head: str) -> bool:
        lines = (line.lstrip("\u200e\ufeff") for line in head.splitlines(keepends=True)[:50])
        return any(pattern.match(line) for line in lines for pattern in patterns)

    return begins


def _table(aliases: Aliases, needed: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda head: has_columns(head.partition("\n")[0].rstrip("\r"), aliases, needed)


def _element(*names: str) -> Callable[[str], bool]:
    return _pattern(rf"\A\s*(?=<).*?<(?:\w+:)?(?:{'|'.join(names)})\b")


_FEATURES = r'\A\s*\{(?=.*"(?:FeatureCollection|features)")'

FORMATS: dict[Kind, tuple[Format, ...]] = {
    "messages": (
        Format("sms-backup", "SMS Backup & Restore", text_messages.read_sms_backup,
               _element("smses", "calls")),
        Format("telegram", "Telegram Desktop, JSON", messengers.read_telegram, _pattern(r"\A\s*\{")),
        Format("mbox", "mbox (e-mail)", mbox.read, _pattern(r"\AFrom ")),
        Format("imessage", "iMessage, text of imessage-exporter", text_messages.read_imessage,
               _any_line(text_messages.IMESSAGE_STARTS)),
        Format("whatsapp", "WhatsApp, exported chat", messengers.read_whatsapp,
               _any_line(messengers.WHATSAPP_LINE)),
        Format("csv", "CSV", text_messages.read_csv_messages,
               _table(text_messages.MESSAGE_COLUMNS, text_messages.MESSAGE_NEEDED)),
    ),
    "calendar": (
        Format("ics", "iCalendar (.ics)", ics.read, _pattern(r"(?i)\A\s*BEGIN:VCALENDAR")),
        Format("activitywatch", "ActivityWatch, JSON", activitywatch.read, _pattern(r'\A\s*\{\s*"buckets"')),
        Format("activitywatch-db", "ActivityWatch, database", activitywatch.read_database,
               _pattern(r"\ASQLite format 3\0")),
    ),
    "location": (
        Format("gpx", "GPX", locations.read_gpx, _element("gpx")),
        Format("geojson", "GeoJSON", locations.read_geojson_points, _pattern(_FEATURES)),
        Format("takeout", "Google Takeout or Timeline, JSON", locations.read_takeout,
               _pattern(r"\A\s*[{\[]")),
        Format("csv", "CSV", locations.read_csv_points,
               _table(locations.POINT_COLUMNS, locations.POINT_NEEDED)),
    ),
    "places": (
        Format("geojson", "GeoJSON", locations.read_geojson_places, _pattern(r"\A\s*\{")),
        Format("csv", "CSV", locations.read_csv_places,
               _table(locations.PLACE_COLUMNS, locations.PLACE_NEEDED)),
    ),
}  # fmt: skip

SUFFIXES: dict[Kind, frozenset[str]] = {
    "messages": frozenset({".xml", ".json", ".mbox", ".txt", ".csv"}),
    "calendar": frozenset({".ics", ".json", ".db"}),
    "location": frozenset({".gpx", ".geojson", ".json", ".csv"}),
    "places": frozenset({".geojson", ".json", ".csv"}),
}


def detect_format(kind: Kind, source: Source, name: str | None = None) -> Format:
    """The format of this name, or the one that the file's beginning looks like."""
    formats = FORMATS[kind]
    if name is not None:
        named = next((known for known in formats if known.name == name), None)
        if named is None:
            raise CannotImport(f"{name!r} is none of the formats {', '.join(f.name for f in formats)}")
        return named
    head = source.head.decode("utf-8", "replace").removeprefix("\ufeff")
    fitting = next((known for known in formats if known.begins(head)), None)
    if fitting is None:
        titles = "; ".join(known.title for known in formats)
        raise CannotImport(f"{source.name!r} is in none of these formats: {titles}")
    return fitting


# Records that wait until their file was read to its end, in a file that has no name.
#
# Nothing is stored of a file that turns out to be damaged on its last line, the transactions that store it
# can be short, and memory does not grow with the file. The system frees the space when the process ends,
# however it ends.


class Staging:
    """Batches of at most `store.sources.imports.BATCH` records of one type, in the order they came."""

    def __init__(self, folder: Path, record_type: type[Any]) -> None:
        self._type = record_type
        self._values = attrgetter(*(field.name for field in fields(record_type)))
        self._batch: list[tuple[Any, ...]] = []
        self._file = tempfile.TemporaryFile(dir=folder, buffering=1024 * 1024)  # noqa: SIM115
        self.records = 0

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: Any) -> None:
        self._batch.append(self._values(record))
        self.records += 1
        if len(self._batch) >= BATCH:
            self._flush()

    def batches(self) -> Iterator[Sequence[Any]]:
        """Everything that was added, from the start."""
        self._flush()
        self._file.seek(0)
        while True:
            try:
                batch = marshal.load(self._file)
            except EOFError:
                return
            yield [self._type(*values) for values in batch]

    def _flush(self) -> None:
        if self._batch:
            marshal.dump(self._batch, self._file)
            self._batch = []
