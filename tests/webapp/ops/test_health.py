"""Health: a table of injected faults gives the expected facts."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from store.backup import backup
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import RetentionSettings
from store.deletion import retention
from store.frames.media import Media
from store.privacy.rules import OwnChoices, Rule, save_choices
from store.sources import hosts
from store.sources.hosts import Host
from store.spool import window_hints
from store.spool.process_state import CaptureState, IngestState
from store.spool.window_hints import ExtensionReport
from tests.factories import NOON_MS, capture, picture, store_frame, webp
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services
from webapp.ops import control, health
from webapp.ops.health import Part, check, recording_indicator


@pytest.fixture
def alive(own: Services, now: Clock) -> Callable[..., None]:
    """Both daemons say that all is well, apart from what a test changes."""

    def write(capture_changes: dict[str, Any] | None = None, **ingest_changes: Any) -> None:
        well = CaptureState(
            pid=1,
            started_ms=now() - 60_000,
            written_ms=now() - 1_000,
            looked_ms=now() - 500,
            state="recording",
        )
        replace(well, **(capture_changes or {})).write(own.data_dir.spool)
        worker = IngestState(pid=2, started_ms=now() - 60_000, written_ms=now() - 1_000, state="running")
        replace(worker, **ingest_changes).write(own.data_dir.spool)

    return write


def part(own: Services, name: str) -> Part:
    return next(each for each in check(own).parts if each.name == name)


def test_all_well_is_healthy_and_every_part_is_told(own: Services, alive: Callable[..., None]) -> None:
    alive()
    found = check(own)
    assert found.status == "healthy"
    assert [each.name for each in found.parts] == [
        "capture", "ingest", "index", "meaning", "storage", "model", "canary"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "value"),
    [
        ({}, "ok", "recording"),
        ({"state": "locked"}, "ok", "locked"),
        ({"state": "excluded"}, "warn", "excluded"),
        ({"state": "failing", "detail": "No display found."}, "bad", "failing"),
        ({"state": "stopped"}, "off", "stopped"),
        ({"written_ms": -20_000}, "bad", "gone"),
        ({"looked_ms": -31_000}, "bad", "silent"),
        ({"looked_ms": None, "started_ms": -40_000}, "bad", "silent"),
        ({"looked_ms": None, "started_ms": -1_000}, "ok", "recording"),
    ],
)
def test_what_capture_says_becomes_a_verdict(
    own: Services,
    alive: Callable[..., None],
    now: Clock,
    change: dict[str, Any],
    verdict: str,
    value: str,
) -> None:
    """A table of faults; times are relative to now."""
    absolute = {name: now() + given if isinstance(given, int) else given for name, given in change.items()}
    alive(absolute)
    found = part(own, "capture")
    assert (found.verdict, found.value) == (verdict, value)
    if verdict == "bad":
        assert found.why and found.action
        assert check(own).status == "unhealthy"


def test_what_leaves_everything_out_is_named_with_how_long(
    own: Services, alive: Callable[..., None], now: Clock
) -> None:
    """Nothing is recorded meanwhile, so that not everything works."""
    change = {
        "state": "excluded",
        "reason": "rule:app",
        "detail": "A window is in view.",
        "since_ms": now() - 180_000,
    }
    alive({**change, "cause": "your rule for app 'galculator'"})
    assert part(own, "capture").why == "A window is in view. For 3 min now: your rule for app 'galculator'."
    assert check(own).status == "degraded"
    light = recording_indicator(own)
    assert light.word == "Left out here"
    assert light.detail.endswith("For 3 min now: your rule for app 'galculator'.")
    alive(change)
    assert part(own, "capture").why == "A window is in view. For 3 min now."


def test_a_rule_about_a_site_says_which_browsers_it_costs(
    own: Services, alive: Callable[..., None], now: Clock
) -> None:
    alive()
    save_choices(own.data_dir, OwnChoices((Rule(url="bank.example"),)))
    assert "every window of any browser is left out" in part(own, "capture").why
    for n, app in enumerate(("Chromium", "Firefox", "Code")):
        store_frame(own.database, own.data_dir, NOON_MS + n, app_name=app)
    found = part(own, "capture")
    assert found.verdict == "warn" and "every window of Chromium, Firefox is left out until" in found.why
    window_hints.save_report(own.data_dir.spool, "one", ExtensionReport("Chromium", now()))
    assert "every window of Firefox is left out until" in part(own, "capture").why
    save_choices(own.data_dir, OwnChoices((Rule(url="bank.example", app="chromium"),)))
    assert (part(own, "capture").verdict, check(own).status) == ("ok", "healthy")
    window_hints.save_report(own.data_dir.spool, "one", ExtensionReport("Chromium", now() - 80_000))
    assert "every window of Chromium is left out until" in part(own, "capture").why


def test_a_pause_is_no_fault(program: Actor, own: Services, alive: Callable[..., None], now: Clock) -> None:
    """200 with `paused`."""
    alive({"looked_ms": now() - 600_000})
    control.pause(own.data_dir, 30, now())
    answer = program.get("/api/v1/health")
    assert (answer.status_code, answer.get_json()["parts"]["capture"]["value"]) == (200, "paused")


@pytest.mark.parametrize(
    "change",
    [{"state": "stopped"}, {"written_ms": 0}, {"problem": "The disk is full."}],
)
def test_a_worker_that_does_not_work_is_503(
    program: Actor, stranger: Actor, alive: Callable[..., None], change: dict[str, Any]
) -> None:
    alive(None, **change)
    answer = program.get("/api/v1/health")
    assert (answer.status_code, answer.get_json()["parts"]["ingest"]["verdict"]) == (503, "bad")
    assert stranger.get("/api/v1/health").get_json() == {"status": "unhealthy"}


@pytest.mark.parametrize(
    ("age_ms", "verdict"), [(1_000, "ok"), (119_000, "ok"), (121_000, "warn"), (901_000, "bad")]
)
def test_an_old_queue_is_told(
    own: Services, alive: Callable[..., None], now: Clock, age_ms: int, verdict: str
) -> None:
    alive()
    own.spool.put(capture(now() - age_ms, capture_id=str(uuid.uuid4())), webp(picture()))
    found = part(own, "ingest")
    assert (found.verdict, found.value) == (verdict, "1 waiting")


def test_what_was_set_aside_is_told_with_the_command_that_retries(
    own: Services, alive: Callable[..., None], now: Clock
) -> None:
    """Whatever loses data shows."""
    alive()
    name = own.spool.put(capture(now()), webp(picture()))
    own.spool.take(name)
    own.spool.fail(name, "broken")
    found = part(own, "ingest")
    assert found.verdict == "warn" and "ingest retry" in found.action
    assert check(own).status == "degraded"


def test_a_missing_engine_degrades_and_says_so(own: Services, alive: Callable[..., None]) -> None:
    alive(None, engine_problem="tesseract is not installed")
    found = part(own, "index")
    assert (found.verdict, found.why) == ("warn", "tesseract is not installed")
    assert check(own).status == "degraded"


def test_a_backlog_of_hours_is_told(
    own: Services, alive: Callable[..., None], database: Database, data_dir: DataDir
) -> None:
    alive(None, reads_per_minute=0.01)
    store_frame(database, data_dir)
    found = part(own, "index")
    assert (found.verdict, found.value) == ("warn", "1 to read")


@pytest.mark.parametrize(
    ("silent_ms", "verdict", "why"),
    [
        (0, "ok", "everything up to 40 h ago is searchable"),
        (60_000, "warn", "everything up to 40 h ago is searchable"),
    ],
)
def test_a_backlog_that_nobody_reads_is_not_well(
    own: Services,
    alive: Callable[..., None],
    database: Database,
    data_dir: DataDir,
    now: Clock,
    silent_ms: int,
    verdict: str,
    why: str,
) -> None:
    alive(None, written_ms=now() - silent_ms)
    read = store_frame(database, data_dir, captured_ms=now() - 40 * 3_600_000, text="old words")
    store_frame(database, data_dir, captured_ms=now() - 1_000)
    found = part(own, "index")
    assert read and (found.verdict, found.why) == (verdict, why)


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(("free", "verdict"), [(500, "ok"), (90, "warn"), (0.5, "bad")])
def test_a_full_disk_is_told(
    own: Services,
    alive: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    free: float,
    verdict: str,
) -> None:
    alive()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, round(free * 10**9)))
    assert part(own, "storage").verdict == verdict


def test_a_full_spool_is_told(own: Services, alive: Callable[..., None], now: Clock) -> None:
    alive()
    own.spool.put(capture(now()), webp(picture()))
    full = replace(own.settings, spool=replace(own.settings.spool, max_entries=1))
    found = part(replace(own, settings=full), "storage")
    assert (found.verdict, found.why) == ("bad", "the spool is full")


def test_a_run_of_retention_that_failed_is_told(
    own: Services, alive: Callable[..., None], data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, 9 * 10**11))
    store_frame(own.database, data_dir, 0, "words")
    backup.make(own.database, own.clock())

    def full(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Media, "write", full)
        with pytest.raises(OSError, match="no space"):
            retention.run(own.database, own.media, RetentionSettings(days=1), own.clock())
    found = part(own, "storage")
    assert (found.verdict, found.why) == ("warn", "retention stopped: no space left")
    retention.run(own.database, own.media, RetentionSettings(days=1), own.clock())
    assert part(own, "storage").verdict == "ok"


def test_a_backup_that_is_old_or_was_never_made_is_told(
    own: Services, alive: Callable[..., None], data_dir: DataDir, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, 9 * 10**11))
    store_frame(own.database, data_dir, now())
    assert part(own, "storage").verdict == "ok"
    now.now_ms += 3 * backup.DAY_MS
    assert part(own, "storage").why == "for 3 days there was no backup"
    backup.make(own.database, now())
    assert part(own, "storage").verdict == "ok"
    now.now_ms += 4 * backup.DAY_MS
    assert part(own, "storage").why == "the newest backup is 4 days old"
    off = replace(own.settings, backup=replace(own.settings.backup, keep=0))
    assert part(replace(own, settings=off), "storage").verdict == "ok"


def test_a_disk_that_will_soon_be_full_is_told(
    own: Services, data_dir: DataDir, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, 9 * 10**11))
    monkeypatch.setattr(health, "growth", lambda _: retention.Growth(9e12, 0.1))
    found = part(own, "storage")
    assert (found.verdict, found.why) == ("warn", "at this pace there is room for 3 days")


# -- the canary -----------------------------------------------------------------------------


def test_without_words_there_is_nothing_to_look_for(
    own: Services, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir)
    store_frame(database, data_dir, 1_000, text="")
    assert part(own, "canary").verdict == "off"


@pytest.mark.parametrize("text", ["hello", "会", "C++", 'the "quoted" NEAR(', "ﬁle", "a-b_c OR"])
def test_the_newest_words_are_found(own: Services, database: Database, data_dir: DataDir, text: str) -> None:
    store_frame(database, data_dir, text=text)
    assert part(own, "canary").verdict == "ok"


def test_an_index_that_lost_the_newest_frame_is_unhealthy(
    own: Services, alive: Callable[..., None], database: Database, data_dir: DataDir
) -> None:
    alive()
    store_frame(database, data_dir, 1_000, text="older words")
    store_frame(database, data_dir, text="newest words")
    backup.make(database, own.clock())
    assert check(own).status == "healthy"
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
    assert part(own, "canary").verdict == "bad"
    assert check(own).status == "unhealthy"


def test_capture_that_was_never_started_degrades(own: Services, alive: Callable[..., None]) -> None:
    alive()
    (own.data_dir.spool / "capture.json").unlink()
    assert (part(own, "capture").verdict, check(own).status) == ("off", "degraded")


@pytest.fixture(autouse=True)
def _no_leftovers(own: Services) -> Iterator[None]:
    yield
    control.resume(own.data_dir)


def test_other_machines_that_record_are_named_and_red_is_for_nobody(
    own: Services, alive: Callable[..., None], now: Clock, browser: Actor
) -> None:
    """A machine that says why it records nothing, or that was not heard of lately, records nothing."""

    def says(key_id: int, name: str, ago_ms: int = 5_000, problem: str = "") -> None:
        said = Host(key_id, name, str(uuid.UUID(int=key_id)), now() - ago_ms, 0, problem=problem)
        with own.database.write() as connection:
            hosts.note(connection, said, "", {})

    for ago_ms, problem in [(31_000, ""), (5_000, "no_display")]:
        says(1, "<b>laptop</b>", ago_ms, problem)
        assert recording_indicator(own).kind == "danger"
        assert part(own, "capture").value == "never ran"
    says(1, "<b>laptop</b>"), says(2, "desk")
    light = recording_indicator(own)
    assert (light.kind, light.word) == ("ok", "REC elsewhere")
    assert light.detail.endswith("Recording into this home folder: <b>laptop</b>, desk.")
    shown = browser.get("/status/now").text
    assert "&lt;b&gt;laptop&lt;/b&gt;, desk." in shown and "Not recording" not in shown
    assert (part(own, "capture").verdict, part(own, "capture").value) == ("ok", "recording")
    alive({"looked_ms": now() - 31_000})
    assert (recording_indicator(own).kind, part(own, "capture").verdict) == ("warn", "bad")
    alive()
    light = recording_indicator(own)
    assert light.word.startswith("REC 0") and light.detail.endswith("laptop</b>, desk.")
