"""How far a long command has come, on the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import click


class Bar:
    """A progress bar that opens when it is first told of a length. Silent unless on a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: Any = None
        self._opened = ExitStack()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def reach(self, done: int, length: int, note: str = "") -> None:
        if self._bar is None:
            self._bar = self._opened.enter_context(
                click.progressbar(
                    length=length, label=self._label, file=sys.stderr, hidden=not sys.stderr.isatty(),
                    item_show_func=lambda each: each,
                )
            )  # fmt: skip
        self._bar.update(max(0, min(done, length) - self._bar.pos), note)
        if done >= length:
            self._opened.close()
