"""The ledger's two counts agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capture.ledger import Ledger
from store.spool.queue import DecisionRun

ID = "capture-1"


def test_equal_decisions_make_one_run_per_monitor() -> None:
    ledger = Ledger(0)
    for at_ms in (0, 500, 1000):
        for monitor in ("A", "B"):
            ledger.looked(monitor, at_ms)
            ledger.deduped(monitor, at_ms, "unchanged", ID)
    report = ledger.flush(1200)
    assert report is not None
    assert report.looks == 6
    assert report.runs == (
        DecisionRun("A", "deduped", "unchanged", 0, 1000, 3, ID),
        DecisionRun("B", "deduped", "unchanged", 0, 1000, 3, ID),
    )


def test_what_is_left_out_goes_on_until_the_next_look_and_into_the_next_batch() -> None:
    ledger = Ledger(0)
    ledger.looked("A", 0)
    ledger.skipped("A", 0, "paused", "locked")
    first = ledger.flush(10_000)
    ledger.looked("A", 10_500)
    ledger.kept("A")
    second = ledger.flush(20_000)
    assert first is not None
    assert second is not None
    assert first.runs == (DecisionRun("A", "paused", "locked", 0, 10_000, 1),)
    assert second.runs == (DecisionRun("A", "paused", "locked", 10_000, 10_500, 0),)
    assert (first.looks, second.looks) == (1, 1)


def test_a_deduped_run_ends_at_its_last_look() -> None:
    """Nobody saw the frame after that."""
    ledger = Ledger(0)
    ledger.looked("A", 500)
    ledger.deduped("A", 500, "unchanged", ID)
    ledger.looked("A", 1000)
    ledger.kept("A")
    report = ledger.flush(5000)
    assert report is not None
    assert report.runs == (DecisionRun("A", "deduped", "unchanged", 500, 500, 1, ID),)


def test_a_lost_frame_takes_back_what_extended_it() -> None:
    ledger = Ledger(0)
    ledger.looked("A", 0)
    ledger.kept("A")
    ledger.looked("A", 500)
    ledger.deduped("A", 500, "unchanged", ID)
    ledger.lost("A", ID, 600, "spool_full")
    report = ledger.flush(1000)
    assert report is not None
    assert report.looks == sum(run.looks for run in report.runs) == 2
    assert {(run.decision, run.reason, run.capture_id) for run in report.runs} == {
        ("failed", "spool_full", None)
    }


def test_sleep_is_a_run_without_looks() -> None:
    ledger = Ledger(0)
    ledger.lapsed("A", 1000, 721_000, "paused", "asleep")
    report = ledger.flush(721_000)
    assert report is not None
    assert (report.looks, report.runs) == (0, (DecisionRun("A", "paused", "asleep", 1000, 721_000, 0),))


def test_a_batch_without_looks_is_no_report() -> None:
    assert Ledger(0).flush(10_000) is None


decisions = st.sampled_from(["kept", "deduped", "excluded", "paused", "failed", "flush", "undecided"])


@given(st.lists(st.tuples(st.sampled_from("AB"), decisions), max_size=60))
def test_looks_equal_decisions_and_frames_in_every_batch(steps: list[tuple[str, str]]) -> None:
    ledger, at_ms, kept = Ledger(0), 0, 0
    for monitor, step in [*steps, ("A", "flush")]:
        at_ms += 500
        if step == "flush":
            report = ledger.flush(at_ms)
            if report is None:
                assert kept == 0
            else:
                assert report.looks == sum(run.looks for run in report.runs) + kept
                assert all(run.start_ms <= run.end_ms <= report.end_ms for run in report.runs)
            kept = 0
            continue
        ledger.looked(monitor, at_ms)
        if step == "kept":
            ledger.kept(monitor)
            kept += 1
        elif step == "deduped":
            ledger.deduped(monitor, at_ms, "unchanged", ID)
        elif step == "undecided":
            assert ledger.undecided == (monitor,)
            ledger.skipped(monitor, at_ms, "failed", "look_failed")
        else:
            ledger.skipped(monitor, at_ms, step, "reason")
        assert ledger.undecided == ()
