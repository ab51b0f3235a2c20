"""A frame that kills the worker is not read for ever.

Before a frame is read its id goes into a small file, and out of it afterwards. A file that is
found at start-up therefore names the frame at which the last worker died. One death proves
nothing (somebody may have killed it); after `DEATHS` at the same frame it counts as a failed
reading, and a restart loop ends (HEA-5).
"""

from __future__ import annotations

import json
from pathlib import Path

from store.core.paths import replace_file

DEATHS = 3


class CrashGuard:
    """The file of one reader thread."""

    def __init__(self, folder: Path, number: int = 0) -> None:
        self._path = folder / f"reading-{number}.json"
        self._before = self._left_behind()

    def begin(self, frame_id: int) -> bool:
        """Note that this frame is being read now; False when it has killed the worker too often."""
        died_at, deaths = self._before
        deaths = deaths if died_at == frame_id else 0
        if deaths >= DEATHS:
            self.end()
            return False
        # Written as if this reading dies too: that is what it means when it is found.
        replace_file(self._path, json.dumps([frame_id, deaths + 1]).encode(), durable=False)
        return True

    def end(self) -> None:
        """The frame has an outcome."""
        self._before = (None, 0)
        self._path.unlink(missing_ok=True)

    def _left_behind(self) -> tuple[int | None, int]:
        try:
            frame_id, deaths = json.loads(self._path.read_bytes())
            return int(frame_id), int(deaths)
        except (OSError, ValueError, TypeError):
            return None, 0
