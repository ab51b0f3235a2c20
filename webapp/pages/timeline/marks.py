"""The index that scrubbing needs: which frame stands for which moment."""

from __future__ import annotations

from collections.abc import Sequence

from store.core.database import Database
from store.frames.frames import captured_ms_of
from store.timeline import segments, timeline

Mark = tuple[int, int, str | None]
"""(frame id, captured_ms, app)"""

EVERY_FRAME_MS = 3_600_000
"""Up to this span the index holds each frame; beyond it, one a minute."""

_MOST = 4000


def scrub_marks(database: Database, start_ms: int, end_ms: int, app_names: Sequence[str] = ()) -> list[Mark]:
    """Marks in order of time; with `app_names` only those of these apps.

    The app is that of the activity at the moment, which is what the band shows.
    """
    if end_ms - start_ms <= EVERY_FRAME_MS:
        found = timeline.frames_between(database, start_ms, end_ms, _MOST)
        marks = [(mark.id, mark.captured_ms, mark.app_name) for mark in found]
    else:
        ids = [frame_id for _, frame_id in timeline.minute_index(database, start_ms, end_ms)]
        marks = _named(ids, segments.segments(database, start_ms, end_ms))
    return [mark for mark in marks if not app_names or mark[2] in app_names]


def _named(ids: Sequence[int], segments: Sequence[segments.Segment]) -> list[Mark]:
    """Both are in order of time, so one walk joins them."""
    marks: list[Mark] = []
    at = 0
    for frame_id in ids:
        ms = captured_ms_of(frame_id)
        while at < len(segments) and segments[at].end_ms < ms:
            at += 1
        covered = at < len(segments) and segments[at].start_ms <= ms
        marks.append((frame_id, ms, segments[at].app_name if covered else None))
    return marks
