"""Progress bars of an import: first what goes in, then what is read. Silent unless on a terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import click


class Progress:
    def __init__(self, length: int) -> None:
        self._open_bars = ExitStack()
        self._importing = self._bar(length, "Importing")
        self._reading: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._open_bars.close()

    def advance(self, steps: int) -> None:
        self._importing.update(steps)

    def reach(self, position: int) -> None:
        self.advance(position - self._importing.pos)

    def reading(self, pending: int) -> None:
        """So many frames are still to be read."""
        if self._reading is None:
            if not pending:
                return
            self._importing.update(self._importing.length - self._importing.pos)
            self._open_bars.close()
            self._reading = self._bar(pending, "Reading  ")
        self._reading.update(max(0, self._reading.length - pending - self._reading.pos))

    def _bar(self, length: int, label: str) -> Any:
        bar = click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())
        return self._open_bars.enter_context(bar)
