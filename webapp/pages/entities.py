"""The heat strip: on how many frames of each of the last days something stood, a column a week."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from webapp.core.viewer import Viewer

WEEKS = 12
CELL_PX = 14
_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One day. `level` is 0 for no frame, else 1 to 4 by its share of the fullest day."""

    on: date
    frames: int
    level: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Heat:
    """Cells of whole weeks, Monday on top, up to today; `seen` are those with frames, the latest first."""

    cells: list[Cell]
    seen: list[Cell]
    width: int = WEEKS * CELL_PX
    height: int = 7 * CELL_PX

    @property
    def fullest(self) -> Cell:
        return max(self.seen, key=lambda cell: cell.frames)


def first_day(today: date) -> date:
    """The Monday that the strip begins with."""
    return today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))


def heat(moments_ms: Iterable[int], viewer: Viewer) -> Heat:
    """The strip of the frames of these moments, by the viewer's local days."""
    counts = Counter(viewer.day_of(ms).date for ms in moments_ms)
    today = viewer.today.date
    first = first_day(today)
    most = max((n for on, n in counts.items() if first <= on <= today), default=0)
    cells = []
    for n in range((today - first).days + 1):
        on = first + timedelta(days=n)
        level = -(-_LEVELS * counts[on] // most) if most else 0
        cells.append(Cell(on, counts[on], level, n // 7 * CELL_PX, n % 7 * CELL_PX))
    return Heat(cells, [cell for cell in reversed(cells) if cell.frames])
