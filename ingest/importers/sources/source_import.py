"""One file into the store: read to its end first, then stored in short transactions.

What is wrong with a file is found before the first row is written, so a refused file leaves nothing. What
stops the writing (a full disk, a power cut) leaves whole batches and an import that is not finished; the
same file imported again brings the rest, because every record is known by its natural key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.core.home import Home
from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.formats import SUFFIXES, Format, detect_format
from ingest.importers.sources.source_file import Options, Source, opened
from ingest.importers.sources.staging import Staging
from store.core.database import Upserted
from store.core.times import now_ms
from store.sources import calendars, imports, messages
from store.sources import locations as stored_locations
from store.sources import locations as stored_places
from store.sources.imports import Kind

MAX_NOTES = 100
"""Records left out that are told one by one; all of them are counted by reason."""

_PUT: dict[Kind, tuple[type[Any], Callable[..., Upserted]]] = {
    "messages": (messages.MessageRecord, messages.upsert_messages),
    "calendar": (calendars.EventRecord, calendars.upsert_events),
    "location": (stored_locations.PointRecord, stored_locations.upsert_points),
    "places": (stored_places.PlaceRecord, stored_places.upsert_places),
}

OnRead = Callable[[int, int], None]
"""(bytes read, bytes in all)."""
OnStored = Callable[[int, int], None]
"""(records stored, records in all)."""


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
            "records": [{"where": each.name, "reason": each.reason} for each in self.notes],
        }


def import_file(
    home: Home,
    kind: Kind,
    path: Path,
    options: Options,
    *,
    name: str | None = None,
    format_name: str | None = None,
    on_read: OnRead = lambda done, size: None,
    on_stored: OnStored = lambda done, count: None,
) -> Receipt:
    """Import a file; `name` is what it is called where it was uploaded under another one.

    Raises `CannotImport`, and then nothing was stored.
    """
    record_type, _ = _PUT[kind]
    with (
        opened(path, SUFFIXES[kind], name) as source,
        Staging(home.data_dir.spool / "tmp", record_type) as staging,
    ):
        found = detect_format(kind, source, format_name)
        reasons, notes = _read(source, found, options, staging, on_read)
        if not staging.records:
            raise _nothing(notes)
        return _store(home, kind, found.name, name or path.name, staging, reasons, notes, on_stored)


def _read(
    source: Source, found: Format, options: Options, staging: Staging, on_read: OnRead
) -> tuple[Counter[str], list[Skipped]]:
    reasons: Counter[str] = Counter()
    notes: list[Skipped] = []
    for count, record in enumerate(found.read(source, options)):
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


def _nothing(notes: list[Skipped]) -> CannotImport:
    if not notes:
        return CannotImport("there is nothing in it")
    return CannotImport(f"nothing in it can be imported; {notes[0].name}: {notes[0].reason}")


def _store(
    home: Home,
    kind: Kind,
    form: str,
    name: str,
    staging: Staging,
    reasons: Counter[str],
    notes: list[Skipped],
    on_stored: OnStored,
) -> Receipt:
    _, put = _PUT[kind]
    with home.database.write() as connection:
        import_id = imports.begin(connection, kind, name, form, now_ms())
        imports.count(connection, import_id, Upserted(skipped=reasons.total()))
    done = Upserted()
    stored = 0
    for batch in staging.batches():
        with home.database.write() as connection:
            done = done.plus(put(connection, import_id, batch))
        stored += len(batch)
        on_stored(stored, staging.records)
    with home.database.write() as connection:
        replaced = calendars.replace_series(connection, import_id) if kind == "calendar" else 0
        imports.finish(connection, import_id, now_ms())
    return Receipt(
        import_id, kind, form, name, done.added, done.updated, done.skipped, replaced, reasons, notes
    )


def summary_lines(receipt: Receipt) -> Iterator[str]:
    """The receipt as lines."""
    yield (
        f"{receipt.added:,} added, {receipt.updated:,} updated, {receipt.unchanged:,} there already, "
        f"{receipt.left_out:,} left out ({receipt.format})"
    )
    if receipt.replaced:
        yield f"  {receipt.replaced:,} occurrences gave way to what the file says now"
    for reason, count in receipt.reasons.most_common():
        first = next((each.name for each in receipt.notes if each.reason == reason), "")
        yield f"  left out {count:,}: {reason}" + (f" (first: {first})" if first else "")
