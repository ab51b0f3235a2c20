"""How readers tell of records that were left out, and of times that come twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ingest.importers.items import Skipped
from ingest.importers.sources.values import BadRecord

Record = TypeVar("Record")


def made(where: str, make: Callable[..., Record], *values: Any) -> Record | Skipped:
    """The record that `make` makes of the values, or why there is none. `where`: as short as ``line 12``."""
    try:
        return make(*values)
    except BadRecord as error:
        return Skipped(where, str(error))


class DuplicateCounter:
    """Tells apart equal messages of one coarse time: 0 for the first, 1 for the next, and so on.

    Messages come in order of time, so only those of the present minute are remembered.
    """

    def __init__(self) -> None:
        self._at_ms = -1
        self._seen: dict[tuple[object, ...], int] = {}

    def of(self, at_ms: int, *what: object) -> int:
        if at_ms != self._at_ms:
            self._at_ms = at_ms
            self._seen.clear()
        count = self._seen.get(what, 0)
        self._seen[what] = count + 1
        return count
