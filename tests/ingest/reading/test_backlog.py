from __future__ import annotations

from ingest.core.home import Home
from ingest.reading.backlog import FRESH_IN_A_ROW, FRESH_MS, Backlog
from store.ocr import readings
from tests.factories import NOON_MS, store_frame, text_draft

NOW_MS = NOON_MS + 10 * FRESH_MS


def backlog_of(home: Home) -> Backlog:
    return Backlog(home.database, lambda: NOW_MS)


def drained(backlog: Backlog) -> list[int]:
    """Milliseconds since noon of every frame, in the order in which they are handed out."""
    order = []
    while (frame := backlog.take()) is not None:
        order.append(frame.captured_ms - NOON_MS)
    return order


def test_what_waits_is_handed_out_oldest_first_and_once(home: Home) -> None:
    for ms in (30, 10, 20):
        store_frame(home.database, home.data_dir, NOON_MS + ms)
    backlog = backlog_of(home)
    assert drained(backlog) == [10, 20, 30]
    assert not backlog.is_idle()


def test_a_fresh_frame_goes_before_an_import_but_not_for_ever(home: Home) -> None:
    """What is on the screen now is searchable within seconds."""
    old = [store_frame(home.database, home.data_dir, NOON_MS + n) for n in range(3)]
    fresh = [store_frame(home.database, home.data_dir, NOW_MS - 1000 + n) for n in range(6)]
    backlog = backlog_of(home)
    order = drained(backlog)
    assert sorted(order) == sorted(frame.captured_ms - NOON_MS for frame in old + fresh)
    of_now = [ms for ms in order if ms > 3]
    assert of_now == sorted(of_now, reverse=True)  # the newest first
    assert [ms < 3 for ms in order] == [False] * FRESH_IN_A_ROW + [True, False, False, True, True]


def test_a_frame_that_was_read_postponed_or_deleted_meanwhile_is_passed_over(home: Home) -> None:
    kept, read, postponed, deleted = (
        store_frame(home.database, home.data_dir, NOW_MS - n) for n in (1, 2, 3, 4)
    )
    backlog = backlog_of(home)
    with home.database.write() as connection:
        readings.add(connection, read.id, text_draft("words"), (), NOW_MS)
        readings.mark_reading_failed(connection, postponed.id, "not now", NOW_MS + 1)
        connection.execute("delete from frames where id = ?", (deleted.id,))
    assert backlog.take() == kept
    assert backlog.take() is None


def test_a_claimed_frame_is_nobody_elses_until_it_is_done(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    backlog = backlog_of(home)
    assert backlog.take() == frame
    assert backlog.take() is None and not backlog.is_idle()
    backlog.done(frame)
    assert not backlog.is_idle()  # it was given back unread
    assert backlog.take() == frame
