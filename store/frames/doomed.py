"""Which things made from a span of time may show a frame that is being deleted.

SQL over the temporary table ``doomed`` (`store.deletion.registry`), for use inside `Database.write()` while
the frames' rows are still there.
"""

from __future__ import annotations

from store.frames.activity_intervals import MERGE_GAP_MS
from store.frames.frames import ID_STEP

_DAY_MS = 86_400_000


def shown_in(start: str, end: str) -> str:
    """Whether something made from ``[start, end)``, SQL for milliseconds, may show a doomed frame.

    A frame that was on the screen before a range began may still count in it, for as long as the
    line of activity bridges (`store.frames.activity_intervals`).
    """
    return f"""(
        exists (
            select 1 from doomed d where d.id >= {start} * {ID_STEP} and d.id < {end} * {ID_STEP}
        )
        or exists (
            select 1
            from doomed d
            cross join frames f on f.id = d.id
            where d.id >= ({start} - {_DAY_MS}) * {ID_STEP} and d.id < {start} * {ID_STEP}
                and f.ended_ms >= {start} - {MERGE_GAP_MS}
        )
    )"""
