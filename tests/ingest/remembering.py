"""What tests of memory share: a clock to set, frames on the line of activity, a model with a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames
from store.frames.frames import FrameRow
from store.timeline import segments
from tests.factories import store_frame

MINUTE = 60_000

Shoot = Callable[..., FrameRow]


def shooting(database: Database, data_dir: DataDir) -> Shoot:
    """Stores a frame on the line of activity, shown for a minute unless `shown_ms` says otherwise."""

    def make(at_ms: int, text: str | None = "words", *, shown_ms: int = MINUTE, **changes: Any) -> FrameRow:
        frame = store_frame(database, data_dir, at_ms, text, **changes)
        with database.write() as connection:
            segments.heartbeat(connection, frame)
            frames.extend(connection, frame.capture_id, at_ms + shown_ms)
            segments.extend(connection, frame.id)
        return frames.get(database, frame.id)

    return make
