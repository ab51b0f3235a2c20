from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.core.home import Home
from ingest.worker.storing import Result, TryLater, store_entry
from store.core.errors import SpoolEntryInvalid
from store.frames import frames, media
from store.frames import tags as frame_tags
from store.ocr import readings
from store.privacy.rules import Rule
from store.spool.queue import DecisionRun, LookReport
from store.timeline import ledger, segments
from store.verify.verify import verify
from tests.factories import NOON_MS, picture, save_rules
from tests.ingest.conftest import queue, taken

DAY_MS = 86_400_000
BATCH = "00000000-0000-4000-8000-000000000001"


def test_a_capture_becomes_a_browsable_frame(home: Home) -> None:
    record = queue(home, picture(5), browser_url="https://example.com/")
    result = store_entry(home, taken(home), NOON_MS + 700)
    frame = frames.by_capture_id(home.database, record.capture_id)
    assert frame is not None and result == Result("stored", frame.id)
    assert (frame.status, frame.stored_ms, frame.app_name) == ("stored", NOON_MS + 700, "Code")
    assert frame.pixels_sha256 == media.pixels_sha256(picture(5))
    assert home.media.image(frame).tobytes() == picture(5).tobytes()
    assert [s.app_name for s in segments.segments(home.database, NOON_MS, NOON_MS + 1000)] == ["Code"]


@pytest.mark.parametrize(
    ("window", "tags"),
    [
        ({"window_name": "main.py - recall - Visual Studio Code"}, ["coding", "recall"]),
        (
            {"app_name": "Chrome", "browser_url": "https://me:pw@www.sqlite.org/fts5.html"},
            ["browsing", "sqlite.org"],
        ),
        ({"app_name": "Something", "window_name": "x"}, []),
        ({"app_name": "Chrome", "browser_url": f"https://{'a' * 70}.example/"}, ["browsing"]),
    ],
)
def test_a_frame_is_tagged_once_as_it_comes_in(home: Home, window: dict[str, str], tags: list[str]) -> None:
    record = queue(home, picture(5), **window)
    entry = taken(home)
    frame_id = store_entry(home, entry, NOON_MS).frame_id
    assert frame_id is not None
    found = frame_tags.listed(home.database, frame_id)
    assert [(each.tag, each.source) for each in found] == [(tag, "rule") for tag in tags]
    with home.database.write() as connection:
        for tag in tags:
            assert frame_tags.remove(connection, frame_id, tag.upper())
    store_entry(home, entry, NOON_MS)
    assert record.capture_id and frame_tags.of_frame(home.database, frame_id) == []


def test_taking_in_twice_equals_once(home: Home) -> None:
    """One row, one file, one index entry."""
    record = queue(home)
    entry = taken(home)
    first = store_entry(home, entry, NOON_MS)
    assert store_entry(home, entry, NOON_MS + 5000) == Result("known", first.frame_id)
    frame = frames.by_capture_id(home.database, record.capture_id)
    assert frame is not None and frame.stored_ms == NOON_MS
    assert home.media.files() == [frame.media_path]
    home.spool.finish(entry.name)
    assert verify(home.database, home.media, home.spool).problems == ()


@pytest.mark.parametrize("source", ["import", "upload", "folder", "video"])
def test_the_same_picture_again_extends_the_frame(home: Home, source: str) -> None:
    for seconds in (0, 1, 2):
        queue(home, picture(1), captured_ms=NOON_MS + seconds * 1000, source=source)
    outcomes = [store_entry(home, taken(home), NOON_MS) for _ in range(3)]
    assert [result.outcome for result in outcomes] == ["stored", "deduplicated", "deduplicated"]
    assert len({result.frame_id for result in outcomes}) == 1
    assert frames.get(home.database, outcomes[0].frame_id or 0).ended_ms == NOON_MS + 2000
    line, moments = (
        of(home.database, NOON_MS - 1, NOON_MS + DAY_MS) for of in (segments.segments, segments.moments)
    )
    spans = [(each.start_ms, each.end_ms) for each in (*line, *moments)]
    assert spans == [(NOON_MS, NOON_MS if source == "import" else NOON_MS + 2000)]
    assert len(moments) == (source == "import")
    assert ledger.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).deduped == 2
    assert len(home.media.files()) == 1


def test_a_still_minute_of_a_clip_keeps_a_real_frame_every_30_seconds(home: Home) -> None:
    for seconds in range(0, 60, 5):
        queue(home, picture(1), captured_ms=NOON_MS + seconds * 1000, source="import")
        store_entry(home, taken(home), NOON_MS)
    kept = readings.pending_frames(home.database, NOON_MS, 99)
    assert [frame.captured_ms - NOON_MS for frame in kept] == [0, 30_000]


def test_the_daemons_frames_are_all_kept(home: Home) -> None:
    """The daemon compared and counted them; dropping one would break its equation."""
    for seconds in (0, 1):
        queue(home, picture(1), captured_ms=NOON_MS + seconds * 1000, batch_id=BATCH)
        assert store_entry(home, taken(home), NOON_MS).outcome == "stored"
    home.spool.put(LookReport(BATCH, NOON_MS, NOON_MS + 2000, looks=2))
    assert store_entry(home, taken(home), NOON_MS).outcome == "report"
    assert ledger.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).difference == 0


def test_a_report_extends_the_frame_that_stayed_on_the_screen(home: Home) -> None:
    record = queue(home, batch_id=BATCH)
    store_entry(home, taken(home), NOON_MS)
    run = DecisionRun("DP-1", "deduped", "same", NOON_MS + 500, NOON_MS + 9_000, 17, record.capture_id)
    home.spool.put(LookReport(BATCH, NOON_MS, NOON_MS + 9_000, looks=18, runs=(run,)))
    entry = taken(home)
    store_entry(home, entry, NOON_MS)
    store_entry(home, entry, NOON_MS)
    frame = frames.by_capture_id(home.database, record.capture_id)
    assert frame is not None and frame.ended_ms == NOON_MS + 9_000
    assert ledger.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).deduped == 17


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ({"app_name": "Bank"}, "rule:app"),
        ({"app_name": "Chromium", "browser_url": "https://mail.example.com/inbox"}, "rule:url"),
        ({"app_name": "KeePassXC", "window_name": "secrets"}, "rule:app"),
        ({"app_name": "Firefox", "window_name": "News — Mozilla Firefox Private Browsing"}, "private_window"),
    ],
)
def test_an_upload_that_a_rule_leaves_out_leaves_nothing(
    home: Home, window: dict[str, Any], reason: str
) -> None:
    """The outcome at the end of the path."""
    save_rules(home.data_dir, [Rule(app="Bank"), Rule(url="mail.example.com")])
    record = queue(home, source="upload", **{"window_name": "a title", **window})
    assert store_entry(home, taken(home), NOON_MS).outcome == "excluded"
    assert frames.by_capture_id(home.database, record.capture_id) is None
    assert home.media.files() == []
    outcome = frames.outcome(home.database, record.capture_id)
    assert outcome is not None and (outcome.outcome, outcome.reason) == ("excluded", reason)
    with home.database.read() as connection:
        ledger = connection.execute("select decision, reason, looks from decisions").fetchall()
    assert ledger == [("excluded", f"ingest_{reason}", 1)]


def test_an_upload_that_names_no_window_is_kept(home: Home) -> None:
    queue(home, source="upload", app_name=None, window_name=None)
    assert store_entry(home, taken(home), NOON_MS).outcome == "stored"


def test_while_rules_cannot_be_read_uploads_wait(home: Home) -> None:
    home.data_dir.privacy_rules.write_text("{broken")
    queue(home, source="upload")
    entry = taken(home)
    with pytest.raises(TryLater, match="privacy rules"):
        store_entry(home, entry, NOON_MS)
    home.data_dir.privacy_rules.unlink()
    assert store_entry(home, entry, NOON_MS).outcome == "stored"


def test_a_picture_that_was_filed_before_a_crash_goes_when_a_rule_now_leaves_it_out(home: Home) -> None:
    record = queue(home, picture(3), source="upload", app_name="Bank")
    entry = taken(home)
    assert entry.image is not None
    home.media.keep(entry.image.read_bytes(), "image/webp", record.captured_ms, record.capture_id)
    save_rules(home.data_dir, [Rule(app="Bank")])
    assert store_entry(home, entry, NOON_MS).outcome == "excluded"
    assert home.media.files() == []


def test_what_was_deleted_while_it_waited_stays_deleted(home: Home) -> None:
    record = queue(home)
    entry = taken(home)
    with home.database.write() as connection:
        frames.record_outcome(connection, record.capture_id, "deleted", NOON_MS)
    assert store_entry(home, entry, NOON_MS) == Result("known", None)
    assert home.media.files() == []


def test_what_is_deleted_while_it_is_being_filed_stays_deleted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = queue(home)
    keep = media.Media.keep

    def keep_and_delete(*arguments: Any) -> frames.Still:
        still = keep(*arguments)
        with home.database.write() as connection:
            frames.record_outcome(connection, record.capture_id, "deleted", NOON_MS)
        return still

    monkeypatch.setattr(media.Media, "keep", keep_and_delete)
    assert store_entry(home, taken(home), NOON_MS).outcome == "known"
    assert frames.by_capture_id(home.database, record.capture_id) is None
    assert home.media.files() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("captured_ms", 0),
        ("captured_ms", 2**43),
        ("captured_ms", 1.5),
        ("captured_ms", "noon"),
        ("captured_ms", True),
        ("monitor", None),
        ("monitor", 7),
        ("app_name", ["Code"]),
        ("window_name", "x" * 8193),
        ("window_name", "a\0b"),
        ("window_name", "\ud800"),
        ("focused", 1),
        ("focused", "yes"),
        ("pid", -1),
        ("utc_offset_min", 1e9),
    ],
)
def test_a_record_that_is_not_what_its_types_say_is_refused(home: Home, field: str, value: Any) -> None:
    """JSON promises nothing."""
    queue(home)
    entry_json = home.spool.folder / "new" / home.spool.waiting()[0] / "entry.json"
    document = json.loads(entry_json.read_bytes())
    entry_json.write_text(json.dumps({**document, field: value}))
    with pytest.raises(
        SpoolEntryInvalid, match="captured_ms|entry.json" if field == "captured_ms" else field
    ):
        store_entry(home, taken(home), NOON_MS)
    assert home.media.files() == []
