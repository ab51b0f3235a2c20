"""Reading all pictures anew: with another engine or language, or with more machines (`ocr.executor`).

The queue is that of every frame, in the database: what is captured meanwhile goes first, searches use the
last reading until the new one is stored, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.worker.assembly import INTERRUPTED, leave_at_once, stop_on_signals, worker_of
from store.ocr import readings

_LOOK_EVERY_S = 1.0


def run(home: Home, *, everything: bool) -> dict[str, float]:
    """Read what waits, after queueing `everything`, here or in the worker that runs already."""
    queued = sum(readings.queue_again(home.database)) if everything else 0
    total, began = readings.count_pending(home.database), time.monotonic()

    def rate() -> float:
        done = total - readings.count_pending(home.database)
        return round(max(0, done) / max(time.monotonic() - began, 0.001), 2)

    shown: Any = click.progressbar(
        length=total, label="Reading", file=sys.stderr, hidden=not sys.stderr.isatty(),
        show_pos=True, item_show_func=lambda each: each,
    )  # fmt: skip
    with shown as bar:

        def look() -> None:
            done = total - readings.count_pending(home.database)
            bar.update(max(0, done - bar.pos), f"{rate():g} a second")

        try:
            with only_worker(home.data_dir):
                worker = worker_of(home, look)
                stop_on_signals(worker)
                code = worker.run(once=True)
                if worker.was_stopped:
                    click.echo("ingest: stopped; `recollect reread` goes on", err=True)
                    leave_at_once(worker, INTERRUPTED)
                    raise click.exceptions.Exit(INTERRUPTED)
                if code:
                    raise click.ClickException("the worker had to start afresh; `recollect reread` goes on")
        except AlreadyRunning:
            while readings.waits_again(home.database):
                look()
                time.sleep(_LOOK_EVERY_S)
    waiting = readings.count_pending(home.database)
    return {"queued": queued, "read": max(0, total - waiting), "waiting": waiting, "a_second": rate()}


def stop(home: Home) -> int:
    """Leave what has a reading as it is; returns how many frames waited for another."""
    return sum(readings.leave_as_read(home.database))
