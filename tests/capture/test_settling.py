"""Windows that went, moved or came a moment ago."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from Xlib import X, Xatom
from Xlib.ext import shape

from capture.core.geometry import Rect
from capture.windows.settling import SETTLED_S, Settling
from capture.windows.x11 import X11Windows
from tests.capture.arrangements import leaks
from tests.capture.fakes import window
from tests.capture.test_x11 import Display, display, pytestmark, until, windows

__all__ = ["display", "pytestmark", "windows"]

HERE, THERE = Rect(0, 0, 100, 100), Rect(300, 0, 50, 50)
NOTES, UNKNOWN = window("Notes", rect=HERE), None


class Moments:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def go(self, settling: Settling, seconds: float) -> None:
        """Let the time pass, in which windows are read twice a second."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(self.now_s + 0.5, end_s)
            settling.is_settled(0)


def test_what_is_gone_counts_for_a_moment() -> None:
    moments = Moments()
    settling = Settling(moments)
    settling.note(1, None, NOTES, is_shown=True, is_moving=True)
    [passed] = settling.passed(lambda number: None)
    assert (passed.app_name, passed.rect, passed.passed, passed.opaque) == ("Notes", HERE, True, False)
    assert passed.places == (HERE,)
    moments.go(settling, SETTLED_S + 0.1)
    assert settling.passed(lambda number: None) == [] and settling.is_settled(1)


def test_a_moment_in_which_nobody_ran_is_none() -> None:
    """A machine that was too busy to let windows be read did not let others paint either."""
    moments = Moments()
    settling = Settling(moments)
    settling.note(1, None, NOTES, is_shown=True, is_moving=True)
    moments.now_s = 60.0
    assert settling.passed(lambda number: None) != [] and not settling.is_settled(1)
    moments.go(settling, SETTLED_S)
    assert settling.passed(lambda number: None) == [] and settling.is_settled(1)


def test_what_moves_is_everywhere_it_was_and_hides_nothing() -> None:
    settling = Settling(Moments())
    settling.note(1, THERE, NOTES, is_shown=False, is_moving=True)
    moved = window("Notes", "renamed", rect=THERE)
    passed = settling.passed({1: moved}.get)
    assert {(w.rect, w.window_name, w.places) for w in passed} == {
        (Rect(0, 0, 350, 100), "renamed", (HERE, THERE)),
        (Rect(0, 0, 350, 100), NOTES.window_name, (HERE, THERE)),
    }
    assert not settling.is_settled(1)
    settling.note(2, None, NOTES, is_shown=False, is_moving=False)
    assert settling.is_settled(2)


def test_what_grew_may_have_moved_what_it_showed_within_itself() -> None:
    """The server keeps what a window showed at the side that its program says."""
    settling = Settling(Moments())
    grown = window("Notes", rect=HERE.enclosing(THERE))
    settling.note(1, grown.rect, NOTES, is_shown=False, is_moving=True)
    assert [w.places for w in settling.passed({1: grown}.get)] == [(HERE, grown.rect)]


def test_a_window_that_is_pulled_is_nowhere_forgotten() -> None:
    settling = Settling(Moments())
    path = [Rect(x, 0, 100, 100) for x in range(0, 1000, 5)]
    for place in path:
        settling.note(1, place, NOTES, is_shown=False, is_moving=True)
    [passed] = settling.passed({1: window("Notes", rect=path[-1])}.get)
    assert len(passed.places) < 50
    assert all(any(place.common(there) == there for place in passed.places) for there in path)


def test_a_window_that_is_called_otherwise_counts_as_both_for_a_moment() -> None:
    moments = Moments()
    settling = Settling(moments)
    settling.note_former(1, NOTES)
    renamed = {1: window("Notes", "renamed", rect=HERE)}.get
    assert [(w.window_name, w.rect) for w in settling.passed(renamed)] == [(NOTES.window_name, HERE)]
    assert settling.passed({1: NOTES}.get) == [] and settling.is_settled(1)
    moments.go(settling, SETTLED_S + 0.1)
    assert settling.passed(renamed) == []


def test_nobody_knows_what_came_and_went() -> None:
    settling = Settling(Moments())
    settling.note(1, HERE, UNKNOWN, is_shown=False, is_moving=True)  # made, placed, shown and gone
    settling.note(1, THERE, UNKNOWN, is_shown=False, is_moving=True)
    assert settling.passed(lambda number: None) == []
    for _ in range(2):
        settling.note(1, None, UNKNOWN, is_shown=True, is_moving=True)
    [passed] = settling.passed(lambda number: None)
    assert (passed.app_name, passed.rect) == (None, THERE)


def test_what_shines_through_hides_nothing(display: Display, windows: X11Windows) -> None:
    """Opacity, shapes and compositors, also when they come after the window was mapped."""
    opaque = lambda: {w.window_name: w.opaque for w in windows.windows()}  # noqa: E731
    connection = windows._display  # the same window ids, and no second connection to close
    root = connection.screen().root
    made = root.create_window(0, 0, 200, 100, 0, 24, X.InputOutput, X.CopyFromParent, background_pixel=0)
    made.set_wm_name("glass")
    made.map()
    until(lambda: opaque() == {"glass": True})
    fade = connection.get_atom("_NET_WM_WINDOW_OPACITY")
    made.change_property(fade, Xatom.CARDINAL, 32, [0x7FFFFFFF])
    until(lambda: opaque() == {"glass": False})
    made.delete_property(fade)
    until(lambda: opaque() == {"glass": True})
    made.shape_rectangles(0, 0, 0, 0, 0, [(0, 0, 50, 50)])
    until(lambda: opaque() == {"glass": False})


def test_a_frame_stays_whose_it_was_until_the_window_manager_takes_it_away(
    display: Display, windows: X11Windows
) -> None:
    manager = display.run("openbox", "--sm-disable")
    connection = windows._display
    root = connection.screen().root
    made = root.create_window(0, 0, 200, 100, 0, 24, X.InputOutput, X.CopyFromParent, background_pixel=0)
    made.set_wm_class("vault", "Vault")
    names = lambda: {w.app_name for w in windows.windows() if w.rect.area > 1 and not w.passed}  # noqa: E731
    # Mapped again and again: a window manager that just starts may miss it.
    until(lambda: made.map() or (made.query_tree().parent != root and names() == {"Vault"}))
    frame = made.query_tree().parent
    manager.send_signal(signal.SIGSTOP)
    os.waitpid(manager.pid, os.WUNTRACED)
    made.destroy()
    frame.shape_rectangles(shape.SO.Set, shape.SK.Bounding, 0, 0, 0, [(0, 0, 50, 50)])  # it is read anew
    connection.sync()
    assert names() == {"Vault"}
    manager.send_signal(signal.SIGCONT)
    until(lambda: frame.id not in {child.id for child in root.query_tree().children})


def test_a_frame_whose_client_went_before_anybody_looked_is_nobody_s(
    display: Display, windows: X11Windows
) -> None:
    connection = windows._display
    root = connection.screen().root
    manager, frame = (root.create_window(0, 0, 200, 100, 0, X.CopyFromParent) for _ in range(2))
    root.change_property(connection.get_atom("_NET_SUPPORTING_WM_CHECK"), Xatom.WINDOW, 32, [manager.id])
    frame.map()
    until(lambda: [w.app_name for w in windows.windows()] == [None])
    frame.set_wm_class("panel", "Panel")
    until(lambda: [w.app_name for w in windows.windows() if not w.passed] == ["Panel"])


@pytest.mark.end_to_end
@pytest.mark.skipif(sys.platform != "linux", reason="needs X11")
def test_nothing_left_out_is_recorded_while_windows_change() -> None:
    """``python -m tests.capture.arrangements 300`` tries more."""
    leaking, kept = leaks(16, looks=5)
    assert leaking == []
    assert kept > 0
