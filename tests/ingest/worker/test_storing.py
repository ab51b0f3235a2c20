from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.worker import storing
from ingest.worker.storing import SpoolConsumer
from store.core.database import open_database
from store.deletion.deletion import delete_range
from store.frames import frames
from store.frames.media import Media
from store.privacy.rules import OwnChoices, save_choices, validate
from store.spool.queue import Spool
from store.timeline import gaps
from store.timeline import ledger as decisions
from store.verify.verify import verify
from tests.factories import NOON_MS, capture, picture, webp
from tests.ingest.conftest import queue
from tests.store.deletion.test_deletion import CRAFTED
from tests.tables import for_each

DAY_MS = 86_400_000


class Died(BaseException):
    """The process ends here: nothing may catch this and carry on."""


@pytest.fixture
def stats() -> WorkerStats:
    return WorkerStats(lambda: NOON_MS)


@pytest.fixture
def store(home: Home, stats: WorkerStats) -> SpoolConsumer:
    return restarted(home, stats)


def restarted(home: Home, stats: WorkerStats) -> SpoolConsumer:
    clock: Callable[[], int] = lambda: NOON_MS  # noqa: E731
    fresh = SpoolConsumer(home, Backlog(home.database, clock), stats, clock)
    fresh.recover()
    return fresh


def states(home: Home) -> dict[str, list[str]]:
    parts = ("new", "taken", "failed")
    return {part: sorted(path.name for path in (home.spool.folder / part).iterdir()) for part in parts}


EMPTY: dict[str, list[str]] = {"new": [], "taken": [], "failed": []}


# -- crashes ------------------------------------------------------------------------------

POINTS = [
    (storing, "read_checked"),
    (Media, "keep"),
    (storing.ledger, "clear_failure"),
    (storing.frames, "insert"),
    (storing.segments, "heartbeat"),
    (Spool, "finish"),
    (storing.Backlog, "wake"),
]


def die_at(
    home: Home, stats: WorkerStats, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    """Store until the worker dies before or after this call."""
    real = getattr(owner, name)

    def fatal(*arguments: Any, **options: Any) -> Any:
        if when == "after":
            real(*arguments, **options)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fatal)
        with pytest.raises(Died):
            restarted(home, stats).store_some(10)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("owner", "name"), POINTS, ids=[name for _, name in POINTS])
def test_a_death_at_any_step_loses_and_doubles_nothing(
    home: Home, stats: WorkerStats, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    """One row, one file, one index entry, an empty spool, an even ledger."""
    records = [queue(home, picture(n), captured_ms=NOON_MS + n, source="import") for n in range(3)]
    die_at(home, stats, monkeypatch, owner, name, when)
    assert restarted(home, stats).store_some(10) in (True, False)
    assert states(home) == EMPTY
    assert all(frames.by_capture_id(home.database, record.capture_id) for record in records)
    assert len(home.media.files()) == 3
    report = verify(home.database, home.media, home.spool)
    assert report.problems == () and report.counts["frames"] == report.counts["index rows"] == 3
    ledger = decisions.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS)
    assert (ledger.kept, ledger.difference) == (3, 0)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["record_skipped", "fail"])
def test_a_death_while_poison_is_set_aside_counts_it_once(
    home: Home, stats: WorkerStats, monkeypatch: pytest.MonkeyPatch, name: str, when: str
) -> None:
    record = queue(home, webp(picture(1))[:30])
    owner: Any = storing.ledger if name == "record_skipped" else Spool
    die_at(home, stats, monkeypatch, owner, name, when)
    restarted(home, stats).store_some(10)
    assert [name for name, _ in home.spool.failed()] == [f"{NOON_MS:015d}-{record.capture_id}"]
    assert decisions.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).failed == 1
    assert home.media.files() == []


def test_an_entry_that_keeps_killing_the_worker_is_set_aside(
    home: Home, stats: WorkerStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A picture that crashes a decoder must not stop every other one."""
    poison, good = queue(home, picture(1)), queue(home, picture(2), captured_ms=NOON_MS + 1)
    take_in = storing.store_entry

    def crash(home: Home, entry: Any, *rest: Any) -> Any:
        if poison.capture_id in entry.name:
            raise Died
        return take_in(home, entry, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(storing, "store_entry", crash)
        for _ in range(storing.MAX_TRIES):
            with pytest.raises(Died):
                restarted(home, stats).store_some(10)
        restarted(home, stats).store_some(10)
    ((name, reason),) = home.spool.failed()
    assert poison.capture_id in name and "died 5 times" in reason
    assert frames.by_capture_id(home.database, good.capture_id)
    home.spool.retry(name)
    restarted(home, stats).store_some(10)
    assert frames.by_capture_id(home.database, poison.capture_id)


# -- not now ------------------------------------------------------------------------------


def test_what_was_on_its_way_when_all_of_its_app_was_deleted_stays_out(
    home: Home, store: SpoolConsumer
) -> None:
    """Capture had the pixels, and handed them over after the deletion had looked."""
    receipt = delete_range(
        home.database, home.media, NOON_MS - 1_000, NOON_MS + 60_000, "mail", now_ms=NOON_MS
    )
    assert receipt.verified
    shown = [("Mail", -500), ("Code", -500), ("Mail", -1_500), ("Mail", 500), ("Mail", -90_000)]
    for n, (app, after_ms) in enumerate(shown):
        home.spool.put(
            capture(NOON_MS + after_ms, app_name=app, monitor=f"DP-{n}", batch_id="b"), webp(picture(n))
        )
    store.store_some(10)
    kept = home.database.rows("select app_name, captured_ms - ? from frames", (NOON_MS,))
    assert sorted(kept) == sorted(shown[1:])
    outcomes = home.database.column("select outcome from ingest_records order by outcome")
    assert outcomes == ["deleted", *["stored"] * 4]
    assert len(list(home.data_dir.media.rglob("*.webp"))) == 4
    hours = NOON_MS - 3_600_000, NOON_MS + 3_600_000
    assert "deleted" not in {gap.reason for gap in gaps.gaps(home.database, *hours, hours[1])}


def test_a_rule_holds_for_what_waits_in_the_spool(home: Home, store: SpoolConsumer) -> None:
    """Masked screens stand as they are: they name no window that is left out."""
    home.spool.put(capture(NOON_MS, app_name="Mail", batch_id="b"), webp(picture(1)))
    home.spool.put(capture(NOON_MS + 1, app_name=None, window_name=None, batch_id="b"), webp(picture(2)))
    save_choices(home.data_dir, OwnChoices(validate([{"app": "Mail"}])))
    store.store_some(10)
    assert home.database.column("select app_name from frames") == [None]
    assert home.database.column("select outcome from ingest_records order by outcome") == [
        "excluded",
        "stored",
    ]


@pytest.fixture
def other_writer(home: Home) -> Iterator[apsw.Connection]:
    """Another program's connection; our own waits for it 20 ms only."""
    home.database.connection().set_busy_timeout(20)
    other = apsw.Connection(str(home.data_dir.database))
    yield other
    other.close()


def test_while_the_database_is_locked_captures_wait(
    home: Home, store: SpoolConsumer, stats: WorkerStats, other_writer: apsw.Connection
) -> None:
    """Hold the write lock while 100 frames are captured, then release it."""
    other_writer.execute("begin immediate")
    for n in range(100):
        queue(home, picture(n % 7), captured_ms=NOON_MS + n)
        if n % 20 == 0:
            assert not store.store_some(10)
    assert stats.known.problem and store.wait_s > 0
    assert len(states(home)["new"]) == 100
    other_writer.execute("commit")
    while store.store_some(30):
        assert stats.known.problem == ""
    assert states(home) == EMPTY and store.wait_s == 0
    assert verify(home.database, home.media, home.spool).counts["frames"] == 100


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("picture", errno.ENOSPC, "disk is full"),
        ("database", errno.ENOSPC, "disk is full"),
        ("picture", errno.EROFS, "disk can only be read"),
    ],
)
def test_a_disk_that_takes_nothing_keeps_the_queue_and_says_so(
    home: Home,
    store: SpoolConsumer,
    stats: WorkerStats,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    code: int,
    said: str,
) -> None:
    full = OSError(code, os.strerror(code))

    def refuse(*_: Any, **__: Any) -> None:
        raise full

    queue(home)
    with monkeypatch.context() as patch:
        if where == "picture":
            patch.setattr(Media, "write", refuse)
        else:
            patch.setattr(storing.frames, "insert", refuse)
        for _ in range(8):
            assert not store.store_some(10)
    assert said in stats.known.problem and store.is_stuck
    assert len(states(home)["new"]) == 1 and stats["failed"] == 0
    assert store.store_some(10) and states(home) == EMPTY and stats.known.problem == ""


def test_without_a_database_captures_wait_however_long(
    home: Home, store: SpoolConsumer, stats: WorkerStats
) -> None:
    queue(home)
    aside = home.data_dir.database.rename(home.data_dir.database.with_suffix(".aside"))
    for _ in range(storing.MAX_TRIES + 1):
        assert not store.store_some(10)
    assert len(states(home)["new"]) == 1 and "moved or removed" in stats.known.problem
    aside.rename(home.data_dir.database)
    assert store.store_some(10) and states(home) == EMPTY


def test_an_unexpected_error_is_tried_five_times_and_then_set_aside(
    home: Home, store: SpoolConsumer, stats: WorkerStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = queue(home)
    with monkeypatch.context() as patch:
        patch.setattr(storing.segments, "heartbeat", lambda *_: 1 / 0)
        tries = [store.store_some(10) for _ in range(storing.MAX_TRIES)]
    assert tries == [False] * 4 + [True]
    ((_, reason),) = home.spool.failed()
    assert reason == "gave up after 5 tries: ZeroDivisionError"
    outcome = frames.outcome(home.database, record.capture_id)
    assert outcome is not None and (outcome.outcome, outcome.reason) == ("failed", reason)


# -- never --------------------------------------------------------------------------------


def truncated(entry: Path) -> None:
    image = entry / "image.webp"
    image.write_bytes(image.read_bytes()[:30])


def mislabelled(entry: Path) -> None:
    (entry / "image.webp").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))


def empty(entry: Path) -> None:
    (entry / "image.webp").write_bytes(b"")


def huge(entry: Path) -> None:
    os.truncate(entry / "image.webp", 26 * 1024 * 1024)


def linked_image(entry: Path) -> None:
    image = entry / "image.webp"
    image.rename(entry.parent.parent / "elsewhere.webp")
    image.symlink_to(entry.parent.parent / "elsewhere.webp")


def linked_entry(entry: Path) -> None:
    entry.rename(entry.parent.parent / "elsewhere")
    entry.symlink_to(entry.parent.parent / "elsewhere")


def no_image(entry: Path) -> None:
    (entry / "image.webp").unlink()


def broken_json(entry: Path) -> None:
    (entry / "entry.json").write_bytes(b'{"kind": "capture", "capture_id": ')


def giant_json(entry: Path) -> None:
    os.truncate(entry / "entry.json", 2 * 1024 * 1024)


def unknown_kind(entry: Path) -> None:
    (entry / "entry.json").write_bytes(b"[1, 2, 3]")


MISFITS = [
    truncated, mislabelled, empty, huge, linked_image, linked_entry, no_image, broken_json, giant_json,
    unknown_kind,
]  # fmt: skip


@pytest.mark.parametrize("spoil", MISFITS)
def test_misfits_are_set_aside_and_counted_and_the_worker_goes_on(
    home: Home, store: SpoolConsumer, stats: WorkerStats, spoil: Callable[[Path], None]
) -> None:
    misfit = queue(home, picture(1))
    good = queue(home, picture(2), captured_ms=NOON_MS + 1)
    spoil(home.spool.folder / "new" / home.spool.waiting()[0])
    assert store.store_some(10)
    assert [name for name, _ in home.spool.failed()] == [f"{NOON_MS:015d}-{misfit.capture_id}"]
    assert (stats["failed"], stats["stored"]) == (1, 1)
    outcome = frames.outcome(home.database, misfit.capture_id)
    assert outcome is not None and outcome.outcome == "failed" and outcome.reason
    ledger = decisions.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS)
    assert (ledger.failed, ledger.difference) == (1, 0)
    frame = frames.by_capture_id(home.database, good.capture_id)
    assert frame is not None and home.media.files() == [frame.media_path]


@for_each("craft", [craft for _, craft in CRAFTED.values()])
def test_whatever_lies_in_the_spool_the_worker_starts_and_stores_the_others(
    home: Home, stats: WorkerStats, craft: Callable[[Path], object]
) -> None:
    """Under one name in every folder, with links to a file of the person's where the worker writes."""
    letter = home.data_dir.home / "letter.txt"
    letter.write_text("mine")
    name = f"{NOON_MS:015d}-{uuid.uuid4()}"
    for part in ("new", "taken", "failed", "tmp"):
        path = home.spool.folder / part / name
        craft(path)
        if path.is_dir() and not path.is_symlink():
            for linked in ("deaths", "reason.txt"):
                (path / linked).symlink_to(letter)
        os.utime(path, (0, 0), follow_symlinks=False)
    good = queue(home)
    store = restarted(home, stats)
    while store.store_some(10):
        pass
    assert frames.by_capture_id(home.database, good.capture_id)
    assert states(home) == {**EMPTY, "failed": [name]}
    assert letter.read_text() == "mine"
    delete_range(home.database, home.media, 0, NOON_MS + 1)


def test_a_mended_entry_that_is_retried_counts_as_kept_and_no_longer_as_failed(
    home: Home, store: SpoolConsumer
) -> None:
    record = queue(home, picture(1))
    name = home.spool.waiting()[0]
    image = home.spool.folder / "new" / name / "image.webp"
    whole = image.read_bytes()
    image.write_bytes(whole[:30])
    store.store_some(10)
    home.spool.retry(name)
    store.store_some(10)
    assert decisions.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).failed == 1
    home.spool.retry(name)
    image.write_bytes(whole)
    store.store_some(10)
    frame = frames.by_capture_id(home.database, record.capture_id)
    outcome = frames.outcome(home.database, record.capture_id)
    assert frame is not None and outcome is not None
    assert (outcome.outcome, outcome.frame_id) == ("stored", frame.id)
    assert decisions.reconcile(home.database, NOON_MS, NOON_MS + DAY_MS).failed == 0


def test_entries_are_stored_oldest_first(home: Home, store: SpoolConsumer) -> None:
    for n in (3, 1, 2):
        queue(home, picture(n), captured_ms=NOON_MS + n)
    store.store_some(2)
    assert [name[:15] for name in home.spool.waiting()] == [f"{NOON_MS + 3:015d}"]


def test_a_second_database_connection_sees_a_frame_at_once(home: Home, store: SpoolConsumer) -> None:
    record = queue(home)
    store.store_some(1)
    other = open_database(home.data_dir)
    assert frames.by_capture_id(other, record.capture_id)
    other.close_thread()
