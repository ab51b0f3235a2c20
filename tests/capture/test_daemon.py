"""The loop with everything around it faked but the spool."""

from __future__ import annotations

import errno
import io
import itertools
import logging
import threading

import numpy as np
import pytest
from PIL import Image

from capture import daemon
from capture.core.errors import DisplayLost, NoDisplay, SourceFailed
from capture.core.geometry import Rect
from capture.screens.protocol import Pixels
from capture.windows.idle import Activity
from capture.windows.protocol import WindowInfo
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy.rules import Rule
from store.spool.process_state import FOREVER_MS, CaptureState, Pause, write_pause
from store.spool.queue import DESKTOP, Spool
from tests.capture.fakes import (
    MONITOR,
    SECOND,
    Bench,
    FakeWindows,
    all_text,
    draw,
    screen,
    window,
)
from tests.factories import save_rules
from tests.tables import for_each


@pytest.fixture
def bench(data_dir: DataDir) -> Bench:
    return Bench(data_dir)


def new_page(bench: Bench, every: int = 2) -> object:
    """Shows another page at every n-th look."""
    return lambda index: bench.show(screen(seed=index // every))


# -- keeping and extending --------------------------------------------------------------------


def test_a_still_screen_is_one_frame_that_is_extended(bench: Bench) -> None:
    bench.look(8)
    done = bench.finish()
    [frame] = done.frames
    [run] = done.runs
    assert (frame.monitor, frame.app_name, frame.window_name, frame.focused) == (
        "DP-1",
        "XTerm",
        "shell",
        True,
    )
    assert (frame.source, frame.trigger, frame.pid, frame.batch_id) == (
        "screen", "start", 1, done.reports[0].batch_id,
    )  # fmt: skip
    assert (run.decision, run.capture_id, run.looks) == ("deduped", frame.capture_id, 7)
    assert run.end_ms == frame.captured_ms + 3500
    assert done.is_balanced


def test_the_spooled_picture_is_bit_exact(bench: Bench) -> None:
    bench.look()
    done = bench.finish()
    image = Image.open(io.BytesIO(done.images[done.frames[0].capture_id]))
    assert image.format == "WEBP"
    assert np.array_equal(np.asarray(image.convert("RGB")), screen()[..., 2::-1])


def test_ten_active_minutes_on_a_still_page_are_twenty_frames_and_no_gap(bench: Bench) -> None:
    bench.look(1200)
    done = bench.finish()
    assert 20 <= len(done.frames) <= 21
    assert done.total("deduped") == 1200 - len(done.frames)
    assert done.is_balanced


def test_an_absent_person_s_still_screen_is_one_frame(bench: Bench) -> None:
    bench.note_activity.activity = Activity(idle_s=3600)
    bench.look(200)
    assert len(bench.finish().frames) == 1


def test_a_switch_between_two_looks_is_a_new_frame_with_its_own_name(bench: Bench) -> None:
    bench.look(3)
    bench.windows.listed = [window("Code", "main.py")]
    bench.look(1)
    bench.windows.listed = [window("Panel", "", rect=MONITOR.area, kind="dock", focused=False)]
    bench.look(1)
    done = bench.finish()
    assert [(f.app_name, f.trigger) for f in done.frames] == [
        ("XTerm", "start"), ("Code", "app_switch"), (DESKTOP, "app_switch"),
    ]  # fmt: skip


def test_a_picture_of_before_a_switch_does_not_go_by_the_name_of_after_it(bench: Bench) -> None:
    bench.look(3)

    def switching() -> Pixels:
        bench.windows.listed = [window("Code", "main.py")]
        bench.show(screen(seed=7))
        return screen()

    bench.show(switching)
    bench.look(1)
    done = bench.finish()
    assert [(f.app_name, f.trigger) for f in done.frames] == [("XTerm", "start"), ("Code", "app_switch")]
    picture = Image.open(io.BytesIO(done.images[done.frames[1].capture_id]))
    assert (np.asarray(picture) == screen(seed=7)[..., 2::-1]).all()


def test_windows_that_change_at_each_reading_cost_one_picture_more(bench: Bench) -> None:
    titles = itertools.count()

    def moving() -> Pixels:
        bench.windows.listed = [window("Code", str(next(titles)))]
        return screen()

    bench.show(moving)
    bench.look(1)
    assert next(titles) == 2


def test_flush_reports_every_ten_seconds(bench: Bench) -> None:
    bench.look(60)
    assert len([n for n in bench.spool.waiting() if n.endswith(".looks")]) == 2
    done = bench.finish()
    assert sum(report.looks for report in done.reports) == 60
    assert done.is_balanced


def test_memory_of_encoding_is_given_back_once_when_no_more_frames_come(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(daemon, "trim_freed_memory", lambda: trimmed.append(len(trimmed)))
    bench.note_activity.activity = Activity(idle_s=3600)  # so that no frame is kept now and then
    bench.look(60)  # 30 s
    assert len(trimmed) == 1
    bench.show(screen(seed=7))
    bench.look(2)
    assert len(trimmed) == 1
    bench.look(60)
    assert len(trimmed) == 2


# -- monitors -----------------------------------------------------------------------------------


def test_two_monitors_keep_their_own_pictures_and_names(bench: Bench) -> None:
    bench.screens.shown = [MONITOR, SECOND]
    bench.windows.listed = [window(), window("Evince", "paper.pdf", rect=SECOND.area, focused=False)]
    bench.look(3)
    done = bench.finish()
    named = {f.monitor: (f.app_name, f.focused) for f in done.frames}
    assert named == {"DP-1": ("XTerm", True), "HDMI-1": ("Evince", False)}
    assert len(set(done.images.values())) == 2
    assert sum(report.looks for report in done.reports) == 6
    assert done.is_balanced


def test_only_the_chosen_monitor_is_grabbed(data_dir: DataDir) -> None:
    bench = Bench(data_dir, monitors=("HDMI-1",))
    bench.screens.shown = [MONITOR, SECOND]
    bench.look(3)
    assert set(bench.screens.grabbed) == {"HDMI-1"}


def test_a_chosen_monitor_that_is_not_there_is_said(data_dir: DataDir) -> None:
    bench = Bench(data_dir, monitors=("DP-9",))
    bench.look(1)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("failing", "monitor_missing")
    assert "DP-9" in bench.daemon.state.detail
    assert "DP-1" in bench.daemon.state.detail


def test_replugging_a_monitor_makes_no_third_one(bench: Bench) -> None:
    bench.screens.shown = [MONITOR, SECOND]
    bench.look(2)
    bench.screens.shown = [MONITOR]
    bench.look(2)
    moved = type(SECOND)(SECOND.name, SECOND.area, SECOND.scale, handle=77)
    bench.screens.shown = [MONITOR, moved]
    bench.look(2)
    done = bench.finish()
    assert {frame.monitor for frame in done.frames} == {"DP-1", "HDMI-1"}
    assert done.is_balanced


def test_a_monitor_that_cannot_be_grabbed_does_not_cost_the_other(bench: Bench) -> None:
    def refuse() -> None:
        raise DisplayLost("HDMI-1 went away")

    bench.screens.shown = [MONITOR, SECOND]
    bench.screens.pictures["HDMI-1"] = refuse  # type: ignore[assignment]
    bench.look(4)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert [frame.monitor for frame in done.frames] == ["DP-1"]
    assert done.total("failed", "display_lost") == 4
    assert done.is_balanced


# -- privacy ------------------------------------------------------------------------------------

EXCLUDED = {
    "app": (Rule(app="Vault"), window("Vault", "secret words"), "rule:app"),
    "title": (Rule(title="secret words"), window("Code", "secret words - Code"), "rule:title"),
    "url": (
        Rule(url="vault.example"),
        window("Chromium", "secret words", browser_url="https://vault.example/"),
        "rule:url",
    ),
    "password manager": (None, window("KeePassXC", "secret words"), "rule:app"),
    "private window": (
        None,
        window("Firefox", "secret words — Mozilla Firefox Private Browsing"),
        "private_window",
    ),
    "unknown": (None, window(None, "secret words"), "unknown_window"),
}


@for_each("kind", EXCLUDED)
def test_what_is_excluded_leaves_nothing_but_a_reason(data_dir: DataDir, kind: str) -> None:
    """The end of the path is tested, not the predicate."""
    rule, shown, reason = EXCLUDED[kind]
    bench = Bench(data_dir)
    if rule:
        save_rules(data_dir, [rule])
    bench.windows.listed = [shown]
    bench.look(4)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("excluded", reason)
    bench.daemon.close()
    written = all_text(data_dir.spool)
    assert "secret" not in written
    assert "Vault" not in written
    assert "KeePassXC" not in written
    done = bench.finish()
    assert done.frames == []
    assert done.total("excluded", reason) == 4
    assert done.is_balanced


@pytest.mark.parametrize("listed", [SourceFailed("no"), DisplayLost("gone")], ids=["refused", "lost"])
def test_a_window_source_that_raises_stores_no_pixels(
    bench: Bench, listed: SourceFailed, caplog: pytest.LogCaptureFixture
) -> None:
    bench.windows.listed = listed
    with caplog.at_level(logging.WARNING):
        bench.look(4)
    assert len(caplog.records) == 1  # said when it begins, not at every look
    assert listed.cause in bench.daemon.state.detail
    done = bench.finish()
    assert done.frames == []
    assert done.total("excluded", "unknown_window") == 4


def test_a_window_source_that_breaks_stores_no_pixels(bench: Bench) -> None:
    bench.windows.listed = RuntimeError("surprise")
    bench.look(4)
    done = bench.finish()
    assert done.frames == []
    assert done.total("failed", "look_failed") == done.reports[0].looks > 0


def test_without_any_rule_unknown_windows_are_kept_without_a_name(data_dir: DataDir) -> None:
    bench = Bench(data_dir, privacy=PrivacySettings(defaults=False))
    bench.windows.listed = SourceFailed("this compositor does not tell")
    bench.look(3)
    [frame] = bench.finish().frames
    assert (frame.app_name, frame.window_name, frame.focused) == (None, None, None)


def test_a_rule_written_while_running_holds_at_the_next_look(bench: Bench, data_dir: DataDir) -> None:
    bench.look(2)
    save_rules(data_dir, [Rule(app="XTerm")])
    bench.look(4, lambda i: bench.show(screen(seed=i + 50)))
    save_rules(data_dir, [])
    bench.look(2)
    done = bench.finish()
    assert [frame.trigger for frame in done.frames] == ["start", "start"]
    assert done.total("excluded", "rule:app") == 4
    assert done.is_balanced


def test_excluded_time_is_in_no_frame_s_interval(bench: Bench) -> None:
    bench.look(2)
    bench.windows.listed = [window("Bitwarden", "vault")]
    bench.look(20)
    bench.windows.listed = [window()]
    bench.look(2)
    done = bench.finish()
    first, second = done.frames
    deduped = {run.capture_id: run for run in done.runs if run.decision == "deduped"}
    [excluded] = [run for run in done.runs if run.decision == "excluded"][:1]
    assert deduped[first.capture_id].end_ms < excluded.start_ms
    assert second.captured_ms > excluded.end_ms - 1


def test_a_masked_window_is_solid_in_the_spooled_file(bench: Bench, data_dir: DataDir) -> None:
    save_rules(data_dir, [Rule(app="Notes", action="mask")])
    notes = window("Notes", "diary", rect=Rect(64, 64, 96, 64), focused=False)
    bench.windows.listed = [notes, window()]
    bench.look(2)
    done = bench.finish()
    [frame] = done.frames
    pixels = np.asarray(Image.open(io.BytesIO(done.images[frame.capture_id])).convert("RGB"))
    assert len(np.unique(pixels[64:128, 64:160].reshape(-1, 3), axis=0)) == 1
    assert frame.app_name == "XTerm"


def test_changes_below_a_mask_are_no_changes(bench: Bench, data_dir: DataDir) -> None:
    save_rules(data_dir, [Rule(app="Notes", action="mask")])
    bench.windows.listed = [window("Notes", "diary", rect=Rect(64, 64, 96, 64), focused=False), window()]
    bench.look(6, lambda index: bench.show(draw(screen(), 80, 80, colour=index * 999)))
    assert len(bench.finish().frames) == 1


# -- pauses and absence ---------------------------------------------------------------------------


def test_a_pause_is_obeyed_at_once_survives_a_restart_and_ends_by_itself(data_dir: DataDir) -> None:
    first = Bench(data_dir)
    first.look(2)
    write_pause(data_dir.spool, Pause(first.clock.now_ms(), first.clock.now_ms() + 15 * 60_000))
    first.look(2)
    assert first.daemon.state.state == "paused"
    before = first.finish()
    again = Bench(data_dir)
    again.clock.wall_ms = first.clock.wall_ms + 5 * 60_000
    again.look(2)
    assert again.daemon.state.state == "paused"
    assert again.screens.grabbed == []
    again.clock.go(10 * 60)
    again.look(2)
    assert again.daemon.state.state == "recording"
    after = again.finish()
    assert before.total("paused", "paused") == 2
    assert len(after.frames) == 1
    assert before.is_balanced
    assert after.is_balanced


def test_a_pause_without_end_lasts_until_resumed(bench: Bench, data_dir: DataDir) -> None:
    write_pause(data_dir.spool, Pause(bench.clock.now_ms(), FOREVER_MS))
    bench.look(100)
    assert bench.opened == 0
    write_pause(data_dir.spool, None)
    bench.look(1)
    assert bench.daemon.state.state == "recording"


def test_ten_minutes_without_input_are_idle_though_the_screen_is_looked_at(bench: Bench) -> None:
    """The screen stays a frame that is extended; the ledger says when nobody was there."""
    bench.look(20)
    began_ms = bench.clock.now_ms()
    for second in range(600):
        bench.note_activity.activity = Activity(idle_s=second)
        bench.look(2)
    bench.note_activity.activity = Activity(idle_s=0)
    bench.look(20)
    done = bench.finish()
    runs = [run for run in done.runs if run.reason == "idle"]
    assert {(run.decision, run.monitor, run.looks, run.capture_id) for run in runs} == {
        ("deduped", "", 0, None)
    }
    assert all(a.end_ms == b.start_ms for a, b in itertools.pairwise(runs))
    assert abs(runs[0].start_ms - began_ms) <= 500
    assert abs(runs[-1].end_ms - (began_ms + 600_000)) <= 500
    assert sum(report.looks for report in done.reports) == 1240
    assert done.is_balanced


def test_idle_time_does_not_reach_into_a_pause(bench: Bench, data_dir: DataDir) -> None:
    bench.note_activity.activity = Activity(idle_s=300)
    bench.look(20)
    paused_ms = bench.clock.now_ms()
    write_pause(data_dir.spool, Pause(bench.clock.now_ms(), FOREVER_MS))
    bench.look(200)
    write_pause(data_dir.spool, None)
    resumed_ms = bench.clock.now_ms()
    bench.note_activity.activity = Activity(idle_s=500)
    bench.look(20)
    runs = [run for run in bench.finish().runs if run.reason == "idle"]
    assert runs
    assert all(run.end_ms <= paused_ms or run.start_ms >= resumed_ms - 500 for run in runs)


@pytest.mark.parametrize("away", ["locked", "screensaver", "asleep", "switched_user"])
def test_twelve_minutes_away_are_one_pause_with_its_reason(bench: Bench, away: str) -> None:
    bench.look(2)
    bench.note_activity.activity = Activity(idle_s=5, away=away)
    bench.look(12 * 60 * 2)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("locked", away)
    bench.note_activity.activity = Activity(idle_s=0)
    bench.look(2)
    done = bench.finish()
    runs = [run for run in done.runs if run.decision == "paused"]
    assert {run.reason for run in runs} == {away}
    assert sum(run.end_ms - run.start_ms for run in runs) == 12 * 60_000
    assert all(a.end_ms == b.start_ms for a, b in itertools.pairwise(runs))
    assert len(done.frames) == 2
    assert done.is_balanced


def test_a_screen_locker_that_no_service_knows_pauses_too(bench: Bench) -> None:
    """Third-party lock screens above all."""
    bench.windows.listed = [window("i3lock", None), window()]
    bench.look(2)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("locked", "locked")
    assert bench.screens.grabbed == []


@pytest.mark.parametrize(
    ("reason", "decision", "slept_s", "running_s"),
    [("asleep", "paused", 28_800, 0), ("stalled", "failed", 0, 28_800), ("clock_set", "failed", 0, 0)],
)
def test_why_nobody_looked_is_seen_by_the_clocks_alone(
    bench: Bench, reason: str, decision: str, slept_s: float, running_s: float
) -> None:
    """Sleep, a program that was stopped, and a clock that was set forward."""
    bench.look(2)
    bench.clock.wall_ms += 28_800_000
    bench.clock.slept_s += slept_s
    bench.clock.running_s += running_s
    bench.look(2)
    done = bench.finish()
    [lapse] = [run for run in done.runs if run.reason == reason]
    assert lapse.decision == decision
    assert lapse.end_ms - lapse.start_ms == pytest.approx(28_800_000, abs=1000)
    assert len(done.frames) == 2  # no interval spans the night
    assert done.is_balanced


def test_a_clock_set_back_mixes_nothing(bench: Bench) -> None:
    bench.look(4)
    bench.clock.wall_ms -= 3_600_000
    bench.look(4)
    done = bench.finish()
    assert len(done.reports) == 2
    assert all(run.start_ms <= run.end_ms for run in done.runs)
    assert done.is_balanced


# -- at rest --------------------------------------------------------------------------------------


def test_a_screen_that_nobody_paints_is_not_grabbed_but_counted(bench: Bench) -> None:
    bench.look()
    bench.has_changed = False
    bench.look(20)  # ten seconds
    assert len(bench.screens.grabbed) == 3  # of 21: the first, and one in five seconds in case nobody told
    bench.windows.listed = [window("Code", "main.py")]
    bench.look()
    assert len(bench.screens.grabbed) == 4
    done = bench.finish()
    assert [frame.trigger for frame in done.frames] == ["start", "app_switch"]
    assert done.total("deduped", "unchanged") == 20 and done.is_balanced


def test_the_idle_floor_is_kept_at_rest(bench: Bench) -> None:
    bench.look()
    bench.has_changed = False
    bench.look(130)
    assert [frame.trigger for frame in bench.finish().frames] == ["start", "idle_floor", "idle_floor"]


def test_a_display_that_does_not_tell_of_what_is_painted_is_looked_at_each_time(bench: Bench) -> None:
    bench.look()
    bench.has_changed = False
    bench.show(screen(seed=5))
    bench.look(30)
    assert len(bench.screens.grabbed) > 18
    assert len(bench.finish().frames) == 2


# -- trouble --------------------------------------------------------------------------------------


def test_a_grab_that_raises_once_costs_one_look_and_the_loop_goes_on(bench: Bench) -> None:
    """Nine kept, one failed, a running loop."""
    grabs = iter(range(100))

    def picture() -> np.ndarray:
        number = next(grabs)
        if number == 2:
            raise RuntimeError("surprise")
        return np.full_like(screen(), 20 * number)

    bench.screens.pictures["DP-1"] = picture
    while len(bench.screens.grabbed) < 10:
        bench.daemon.tick(bench.clock.monotonic_s())
        bench.daemon.recorder.collect(wait=True)
        bench.clock.go(1.0)
    done = bench.finish()
    assert len(done.frames) == 9
    assert done.total("failed", "look_failed") == 1
    assert done.is_balanced


def test_a_missing_display_is_said_and_tried_again_with_backoff(bench: Bench) -> None:
    bench.screens.failure = NoDisplay("The X display :7 cannot be opened", "Set DISPLAY")
    bench.look(1)
    state = CaptureState.read(bench.spool.folder)
    assert state is not None
    assert (state.state, state.reason) == ("failing", "no_display")
    assert ":7" in state.detail
    assert "Set DISPLAY" in state.detail
    bench.look(199)
    assert bench.opened == 8  # at 0, 1, 3, 7, 15, 31, 61, 91 s
    bench.screens.failure = None
    bench.look(60)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert done.total("failed", "no_display") == 8
    failed = [run for run in done.runs if run.decision == "failed"]
    assert sum(run.end_ms - run.start_ms for run in failed) >= 91_000  # no unexplained gap
    assert len(done.frames) == 1
    assert done.is_balanced


def test_a_display_that_comes_back_resets_the_backoff(bench: Bench) -> None:
    bench.look(2)
    bench.screens.failure = DisplayLost("gone")
    bench.look(4)
    bench.screens.failure = None
    bench.look(4)
    assert bench.daemon.state.state == "recording"
    bench.screens.failure = DisplayLost("gone")
    bench.look(1)
    opened = bench.opened
    bench.look(2)
    assert bench.opened == opened + 1  # and not seconds later


def test_black_frames_while_the_person_types_are_a_fault(bench: Bench) -> None:
    """Red within a minute."""
    bench.show(np.zeros((192, 320, 4), dtype=np.uint8))
    bench.look(60)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("failing", "blank_frames")
    bench.show(screen())
    bench.look(2)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert done.total("failed", "blank_frames") == 20
    assert done.is_balanced


@pytest.mark.parametrize(
    ("activity", "listed"),
    [(Activity(idle_s=900), [window()]), (Activity(idle_s=1), [])],
    ids=["nobody types", "bare desktop"],
)
def test_a_black_screen_for_a_reason_is_no_fault(
    bench: Bench, activity: Activity, listed: list[WindowInfo]
) -> None:
    bench.show(np.zeros((192, 320, 4), dtype=np.uint8))
    bench.note_activity.activity = activity
    bench.windows.listed = listed
    bench.look(150)
    assert bench.daemon.state.state == "recording"


def test_a_full_spool_is_said_slows_down_and_is_left_when_there_is_room(data_dir: DataDir) -> None:
    bench = Bench(data_dir, max_bytes=1)
    bench.look(20)
    state = bench.daemon.state
    assert (state.state, state.reason) == ("failing", "spool_full")
    assert "start ingest" in state.detail
    assert len(bench.screens.grabbed) < 8  # 0, 1, 3, 7 s
    bench.spool.max_bytes = 10**9
    bench.look(20)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert done.total("failed", "spool_full") == len(bench.screens.grabbed) - 1 - done.total("deduped")
    assert len(done.frames) == 1
    assert done.is_balanced


def test_a_disk_that_refuses_loses_no_report(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Spool.put

    def refuse(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Spool, "put", refuse)
    bench.look(30)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("failing", "disk_full")
    monkeypatch.setattr(Spool, "put", put)
    bench.look(30)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert done.total("failed", "disk_full") > 0
    assert len(done.frames) == 1
    assert done.is_balanced


def test_the_disk_floor_pauses_twice_without_flapping(data_dir: DataDir) -> None:
    bench = Bench(data_dir, min_free_gb=10.0)
    states = []
    for free_gb in (20, 9, 10.5, 9.9, 10.5, 12, 20, 9, 12):
        bench.free_bytes = int(free_gb * 1e9)
        bench.look(12)
        states.append(bench.daemon.state.reason)
    full = "disk_full"
    assert states == ["", full, full, full, full, "", "", full, ""]
    done = bench.finish()
    failed = [run for run in done.runs if run.reason == full]
    pauses = 1 + sum(a.end_ms < b.start_ms for a, b in itertools.pairwise(failed))
    assert pauses == 2
    assert not list((bench.spool.folder / "tmp").iterdir())
    assert done.is_balanced


def test_rules_that_cannot_be_read_are_a_state_and_store_nothing(bench: Bench, data_dir: DataDir) -> None:
    data_dir.privacy_rules.write_bytes(b"{")
    bench.look(2)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("excluded", "rules_unreadable")
    assert bench.finish().frames == []


# -- the run --------------------------------------------------------------------------------------


def test_stopping_reports_every_look_and_says_stopped(bench: Bench) -> None:
    stop = threading.Event()
    looks = iter(range(1000))

    def watch() -> list[WindowInfo]:
        if next(looks) == 9:
            stop.set()
        return [window()]

    bench.windows.listed = watch
    bench.daemon.run(stop)
    state = CaptureState.read(bench.spool.folder)
    assert state is not None
    assert state.state == "stopped"
    done = bench.finish()
    assert sum(report.looks for report in done.reports) == state.looks == 5  # windows are read twice a look
    assert state.kept == len(done.frames) == 1
    assert done.is_balanced


def test_a_window_change_wakes_the_loop_between_two_looks(bench: Bench) -> None:
    stop = threading.Event()
    waits: list[float] = []

    class Waking(FakeWindows):
        def wait(self, timeout_s: float) -> bool:
            waits.append(timeout_s)
            bench.daemon.recorder.collect(wait=True)
            if len(waits) == 4:
                stop.set()
            if len(waits) != 2:
                return False
            bench.clock.go(0.05)
            self.listed = [window("Code", "main.py")]
            return True

    bench.windows = Waking([window()])
    bench.daemon.run(stop)
    done = bench.finish()
    start, switch = done.frames
    assert switch.trigger == "app_switch"
    assert switch.captured_ms - start.captured_ms == 700  # 500, then 50 to notice and 150 to settle
    assert done.is_balanced


def test_the_state_keeps_its_facts_apart(bench: Bench) -> None:
    """Alive, looked, kept and held are separate facts with times."""
    bench.look(4)
    last_look = bench.clock.now_ms() - 500
    bench.note_activity.activity = Activity(away="locked")
    bench.look(6)
    state = bench.daemon.state
    assert state.looked_ms == last_look
    assert state.kept_ms == last_look - 1500
    assert state.written_ms == bench.clock.now_ms() - 500
    assert (state.state, state.looks, state.kept) == ("locked", 10, 1)
    assert (state.source, state.window_source, state.monitors) == ("fake", "fake", ("DP-1",))
