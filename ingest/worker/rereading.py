"""Reading all pictures anew: with another engine or language, or with more machines (`ocr.executor`).

The queue is that of every frame, in the database: what is captured meanwhile goes first, searches use the
last reading until the new one is stored, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import time

import click

from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.core.progress import Bar
from ingest.worker.assembly import INTERRUPTED, work_to_the_end
from store.ocr import readings

_LOOK_EVERY_S = 1.0


def run(home: Home, *, everything: bool) -> dict[str, float]:
    """Read what waits, after queueing `everything`, here or in the worker that runs already."""
    queued = sum(readings.queue_again(home.database)) if everything else 0
    total, began = readings.count_pending(home.database), time.monotonic()

    def outcome() -> dict[str, float]:
        waiting = readings.count_pending(home.database)
        read = max(0, total - waiting)
        rate = round(read / max(time.monotonic() - began, 0.001), 2)
        return {"queued": queued, "read": read, "waiting": waiting, "a_second": rate}

    with Bar("Reading") as bar:

        def look() -> None:
            now = outcome()
            bar.reach(int(now["read"]), total, f"{now['read']} of {total}, {now['a_second']:g} a second")

        try:
            with only_worker(home.data_dir):
                code = work_to_the_end(home, look, "stopped; `recollect reread` goes on")
                if code == INTERRUPTED:
                    raise click.exceptions.Exit(INTERRUPTED)
                if code:
                    raise click.ClickException("the worker had to start afresh; `recollect reread` goes on")
        except AlreadyRunning:
            while readings.waits_again(home.database):
                look()
                time.sleep(_LOOK_EVERY_S)
    return outcome()


def stop(home: Home) -> int:
    """Leave what has a reading as it is; returns how many frames waited for another."""
    return sum(readings.leave_as_read(home.database))
