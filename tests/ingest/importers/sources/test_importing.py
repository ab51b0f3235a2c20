from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ingest.core.home import Home
from ingest.importers.sources import source_import
from ingest.importers.sources.source_file import Options
from ingest.importers.sources.source_import import import_file, summary_lines
from store.sources import imports, messages
from store.sources.imports import Kind, Upserted
from tests.exports import WRITERS
from tests.ingest.importers.sources.reading import BERLIN, NOW_MS, options, read

ME = Options(BERLIN, NOW_MS, frozenset({"me", "me@example.org"}), "dmy")
UNREADABLE = "its time cannot be read; use 2026-11-21T14:00:00 or epoch seconds"


@pytest.mark.parametrize("key", WRITERS, ids=lambda key: f"{key[0]}-{key[2]}")
def test_every_format_is_taken_in_once_and_again_changes_nothing(
    home: Home, tmp_path: Path, key: tuple[Kind, str, str]
) -> None:
    kind, form, name = key
    WRITERS[key](tmp_path / name, 300)
    first = import_file(home, kind, tmp_path / name, ME)
    assert first.format == form
    assert first.added == imports.total(home.database, kind) >= 300
    again = import_file(home, kind, tmp_path / name, ME)
    assert (again.added, again.updated, again.unchanged) == (0, 0, first.added)
    assert imports.total(home.database, kind) == first.added


def csv_of(*rows: str) -> str:
    return "\n".join(["id,time,direction,address,text", *rows]) + "\n"


def test_what_changed_is_updated_and_what_is_wrong_is_told(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(csv_of("1,1763640000,sent,+491,a", "2,1763640000,sent,+491,b"))
    import_file(home, "messages", path, options())
    path.write_text(csv_of("1,1763640000,sent,+491,a", "2,1763640000,sent,+491,B", "3,soon,sent,+491,c"))
    receipt = import_file(home, "messages", path, options())
    assert receipt.as_json() == {
        "import_id": 2, "kind": "messages", "format": "csv", "name": "m.csv", "added": 0, "updated": 1,
        "skipped": 2, "unchanged": 1, "replaced": 0,
        "reasons": [{"reason": UNREADABLE, "count": 1}],
        "records": [
            {"where": "line 4", "reason": UNREADABLE}
        ],
    }  # fmt: skip
    assert next(summary_lines(receipt)) == "0 added, 1 updated, 1 there already, 1 left out (csv)"
    assert [each.body for each in messages.browse(home.database)] == ["B", "a"]
    assert imports.listed(home.database)[0].counts == Upserted(0, 1, 2)


def test_a_file_that_breaks_at_its_end_leaves_nothing(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    rows = [f"{n},1763640000,sent,+491,text {n}" for n in range(2_500)]
    path.write_bytes(csv_of(*rows).encode() + b"\xff\n")
    with pytest.raises(source_import.CannotImport, match="line 2502"):
        import_file(home, "messages", path, options())
    assert imports.total(home.database, "messages") == 0


def test_an_import_that_was_cut_short_is_completed_by_the_next(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.csv"
    path.write_text(csv_of(*(f"{n},1763640000,sent,+491,text {n}" for n in range(2_500))))
    record_type, put = source_import.UPSERT["messages"]
    calls = []

    def full_disk(*arguments: Any) -> Upserted:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return put(*arguments)

    monkeypatch.setitem(source_import.UPSERT, "messages", (record_type, full_disk))
    with pytest.raises(OSError, match="No space"):
        import_file(home, "messages", path, options())
    assert imports.total(home.database, "messages") == 1_000
    assert [each.finished_ms for each in imports.listed(home.database)] == [None]
    receipt = import_file(home, "messages", path, options())
    assert (receipt.added, receipt.unchanged) == (1_500, 1_000)


def test_a_file_with_nothing_to_take_is_refused_with_its_first_reason(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(csv_of("1,soon,sent,+491,a"))
    with pytest.raises(source_import.CannotImport, match="line 2: its time cannot be read"):
        import_file(home, "messages", path, options())


def test_the_time_of_a_message_is_not_a_future_one(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(csv_of("1,1763640000,sent,+491,a", f"2,{NOW_MS // 1000 + 200_000},sent,+491,b"))
    receipt = import_file(home, "messages", path, options())
    assert receipt.reasons == {"its time lies in the future": 1}


@pytest.mark.parametrize("key", WRITERS, ids=lambda key: f"{key[0]}-{key[2]}")
def test_a_file_cut_or_altered_anywhere_is_read_or_refused_and_never_breaks_anything(
    tmp_path: Path, key: tuple[Kind, str, str]
) -> None:
    kind, _, name = key
    path = tmp_path / name
    WRITERS[key](path, 12)
    whole = path.read_bytes()
    rng = random.Random(7)
    pieces = [b"", b"\xff", b"\0", b'"', b"<", b"99999999", b"\n"]
    for _ in range(80):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(content))
            content[at : at + rng.randint(0, 3)] = rng.choice(pieces)
        end = rng.randint(1, len(content)) if rng.random() < 0.4 else len(content)
        try:
            read(tmp_path, kind, name, bytes(content[:end]), ME)
        except source_import.CannotImport as error:
            assert str(error) and len(str(error)) < 600
