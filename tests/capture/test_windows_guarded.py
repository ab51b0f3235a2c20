"""A window source answers in time or counts as failed."""

from __future__ import annotations

import threading

import pytest

from capture.core.errors import SourceFailed
from capture.windows.protocol import NoWindows, UnknownWindows, WindowInfo, WindowsWithTimeout
from store.core.paths import DataDir
from tests.capture.fakes import Bench, FakeWindows, window


class Slow(FakeWindows):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__([window()])
        self.let_go = threading.Event()

    def windows(self) -> list[WindowInfo]:
        self.let_go.wait(60)
        return super().windows()


def test_a_source_that_hangs_stores_no_pixels_and_is_used_again_when_it_answers(data_dir: DataDir) -> None:
    slow = Slow()
    guarded = WindowsWithTimeout(slow, timeout_s=0.05)
    bench = Bench(data_dir)
    bench.windows = guarded  # type: ignore[assignment]
    bench.look(2)
    assert bench.daemon.state.reason == "unknown_window"
    assert guarded.wait(0) is False
    slow.let_go.set()
    late = guarded._late
    assert late is not None
    late.result(60)
    guarded._timeout_s = 60.0  # it answers at once, whatever else this machine has to do
    bench.look(2)
    assert bench.daemon.state.state == "recording"
    done = bench.finish()
    assert done.total("excluded", "unknown_window") == 2
    assert len(done.frames) == 1


def test_an_error_passes_through() -> None:
    guarded = WindowsWithTimeout(FakeWindows(SourceFailed("no")))
    with pytest.raises(SourceFailed, match="no"):
        guarded.windows()
    guarded.close()


def test_none_and_unknown_are_different_answers() -> None:
    assert NoWindows().windows() == []
    with pytest.raises(SourceFailed, match="does not tell"):
        UnknownWindows().windows()
