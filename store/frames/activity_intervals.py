"""The line of activity: stretches in one window, folded from frames; pure.

A left fold over the frames that may show what the person was working in (`ON_LINE`: all but those
known to be on a monitor without the focus, and pictures that were imported, which are moments and no
recording), in id order, which is time order:

* A frame of the same app, window and URL, at most `MERGE_GAP_MS` after the last look at the
  stretch, extends it; the heartbeat idea of ActivityWatch.
* Another window starts a new stretch and ends the one before: a later look decides, and two
  monitors never count one moment twice. A pause of a few seconds between the two
  (`CONTINUOUS_MS`) belongs to the earlier stretch; a longer one to nobody.
* A long stretch is stored in pieces, begun with the first frame of each five minutes
  (`PIECE_MS`), so that a late change never refolds hours; `segments` joins them again.
* While a frame that is known to have the focus is still on the screen, frames that cannot tell
  are left out: focus decides.

A fold remembers nothing but the open segment and its last frame, and both begin afresh with each
segment: so a line can be folded again from any segment's start, and ends where it agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from store.frames.frames import ID_STEP

MERGE_GAP_MS = 60_000
"""Looks at one window this far apart are one stretch. No total ever holds a longer gap."""

CONTINUOUS_MS = 10_000
"""Looks this close together are continuous. Capture looks twice a second; a busy machine may skip."""

PIECE_MS = 300_000

ON_LINE = "(+focused is null or +focused = 1) and +source <> 'import'"
"""SQL: whether a row of frames is on the line. Read by id, never by the index of focus, which would sort all
frames after a moment.
"""


# Frozen ones take six times as long to make, and a day has thousands.
@dataclass(slots=True, unsafe_hash=True)
class Segment:
    """A stretch in one window. Those of one host never overlap; `end_ms` is exclusive for durations."""

    start_ms: int
    end_ms: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    first_frame_id: int
    last_frame_id: int
    frames: int
    host: str = ""

    @property
    def duration_ms(self) -> int:
        return self.end_ms - self.start_ms


def fold_intervals(frames: Iterable[tuple[Segment, bool]]) -> Iterator[Segment]:
    """The line of some frames of one host, which must come in id order: each as a segment of its own, and
    whether it is known to have the focus.
    """
    current: Segment | None = None
    focused_until_ms = 0  # by the last frame that went into it
    for frame, is_focused in frames:
        if current is not None and not is_focused and frame.start_ms < focused_until_ms:
            continue
        focused_until_ms = frame.end_ms + 1 if is_focused else 0
        if current is None:
            current = frame
            continue
        gap_ms = frame.start_ms - current.end_ms
        goes_on = window(frame) == window(current) and gap_ms <= MERGE_GAP_MS
        if goes_on and frame.start_ms // PIECE_MS == current.start_ms // PIECE_MS:
            current.end_ms = max(current.end_ms, frame.end_ms)
            current.last_frame_id = frame.last_frame_id
            current.frames += 1
        else:
            if goes_on or gap_ms <= CONTINUOUS_MS:
                current.end_ms = frame.start_ms
            yield current
            current = frame
    if current:
        yield current


def joined(segment: Segment, piece: Segment) -> Segment:
    return replace(
        segment,
        end_ms=piece.end_ms,
        last_frame_id=max(segment.last_frame_id, piece.last_frame_id),
        frames=segment.frames + piece.frames,
    )


window: Callable[[Segment], tuple[str | None, str | None, str | None]]
window = attrgetter("app_name", "window_name", "browser_url")  # asked three times of each of 16,000


_DAY_MS = 86_400_000


def overlaps_deletion(start: str, end: str) -> str:
    """SQL: whether something made from ``[start, end)`` (SQL for milliseconds) may show a deleted frame.

    The frames are in ``deletion_scope`` (`store.deletion.places`) and their rows still there. One that was
    on the screen before the range began may count in it, for as long as the line of activity bridges.
    """
    return f"""(
        exists (
            select 1 from deletion_scope d where d.id >= {start} * {ID_STEP} and d.id < {end} * {ID_STEP}
        )
        or exists (
            select 1
            from deletion_scope d
            cross join frames f on f.id = d.id
            where d.id >= ({start} - {_DAY_MS}) * {ID_STEP} and d.id < {start} * {ID_STEP}
                and f.ended_ms >= {start} - {MERGE_GAP_MS}
        )
    )"""
