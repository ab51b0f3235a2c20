"""Capture's live state and its orders."""

from __future__ import annotations

import pytest

from store.core import paths
from store.core.paths import DataDir
from store.spool import process_state
from store.spool.process_state import CaptureState, Pause
from tests.meanwhile import Beside, meanwhile

STATE = CaptureState(pid=7, started_ms=1, written_ms=5, looked_ms=4, state="recording", monitors=("DP-1",))


def test_the_state_survives_the_file(data_dir: DataDir) -> None:
    assert process_state.CaptureState.read(data_dir.spool) is None
    STATE.write(data_dir.spool)
    assert process_state.CaptureState.read(data_dir.spool) == STATE


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b'{"unknown": 1}', b"\xff"])
def test_an_unusable_state_is_no_state(data_dir: DataDir, content: bytes) -> None:
    (data_dir.spool / "capture.json").write_bytes(content)
    assert process_state.CaptureState.read(data_dir.spool) is None


def test_a_pause_ends_by_its_time_or_by_order(data_dir: DataDir) -> None:
    process_state.write_pause(data_dir.spool, Pause(since_ms=100, until_ms=200))
    assert process_state.read_pause(data_dir.spool, 150) == Pause(100, 200)
    assert process_state.read_pause(data_dir.spool, 200) is None
    process_state.write_pause(data_dir.spool, Pause(100, process_state.FOREVER_MS))
    process_state.write_pause(data_dir.spool, None)
    assert process_state.read_pause(data_dir.spool, 150) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"since_ms": 1}'])
def test_an_unusable_pause_is_a_pause(data_dir: DataDir, content: bytes) -> None:
    """Somebody asked not to be recorded: fail closed."""
    (data_dir.spool / "pause.json").write_bytes(content)
    assert process_state.read_pause(data_dir.spool, 150) is not None


def test_two_orders_at_once_leave_a_whole_one(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    write, first, second = process_state.write_pause, Pause(100, 200), Pause(100, 300)
    meanwhile(monkeypatch, paths, "write_file", Beside(lambda: write(data_dir.spool, second)))
    write(data_dir.spool, first)
    assert process_state.read_pause(data_dir.spool, 150) == first
    assert not list(data_dir.spool.glob(".*"))
