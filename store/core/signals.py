"""A signal that asks a program to end calls `stop` in a thread of its own.

A handler runs in the main thread, between two of its steps. Where that thread waits for an event it
may hold the event's lock just then: a handler that sets the event would wait for itself, for ever
(5 of 150 programs that did nothing but wait). So the handler only puts a note into a queue, whose
`put` may interrupt anything (https://docs.python.org/3/library/queue.html#queue.SimpleQueue).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@contextmanager
def stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """While the block runs, every way to ask a program to end calls `stop`. In the main thread only.

    A hangup that is ignored stays ignored: the program was started to outlive its terminal (`nohup`).
    """
    asked: SimpleQueue[bool] = SimpleQueue()

    def listen() -> None:
        while asked.get():
            stop()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    wanted = [name for name in _NAMES if hasattr(signal, name)]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        wanted.remove("SIGHUP")
    before = {name: signal.signal(getattr(signal, name), lambda *_: asked.put(True)) for name in wanted}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
        asked.put(False)
