from __future__ import annotations

import signal
import threading

import pytest

from store.core.signals import stopped_by_signals


def test_a_signal_that_comes_while_the_main_thread_holds_the_lock_of_stop_is_heard() -> None:
    lock, stopped = threading.Lock(), threading.Event()

    def stop() -> None:
        with lock:
            stopped.set()

    before = signal.getsignal(signal.SIGTERM)
    with stopped_by_signals(stop):
        with lock:
            signal.raise_signal(signal.SIGTERM)
            assert not stopped.is_set()
        assert stopped.wait(10)
        stopped.clear()
        signal.raise_signal(signal.SIGINT)  # and each one after it
        assert stopped.wait(10)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminal hangs up on Windows")
def test_an_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals(lambda: None):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
