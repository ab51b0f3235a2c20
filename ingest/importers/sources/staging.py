"""Records that wait until their file was read to its end, in a file that has no name.

Nothing is stored of a file that turns out to be damaged on its last line, the transactions that store it
can be short, and memory does not grow with the file. The system frees the space when the process ends,
however it ends.
"""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from store.core.database import BATCH


class Staging:
    """Batches of at most `store.core.database.BATCH` records of one type, in the order they came."""

    def __init__(self, folder: Path, record_type: type[Any]) -> None:
        self._type = record_type
        self._values = attrgetter(*(each.name for each in fields(record_type)))
        self._batch: list[tuple[Any, ...]] = []
        self._file = tempfile.TemporaryFile(dir=folder, buffering=1024 * 1024)  # noqa: SIM115
        self.records = 0

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: Any) -> None:
        self._batch.append(self._values(record))
        self.records += 1
        if len(self._batch) >= BATCH:
            self._flush()

    def batches(self) -> Iterator[Sequence[Any]]:
        """Everything that was added, from the start."""
        self._flush()
        self._file.seek(0)
        while True:
            try:
                batch = marshal.load(self._file)
            except EOFError:
                return
            yield [self._type(*values) for values in batch]

    def _flush(self) -> None:
        if self._batch:
            marshal.dump(self._batch, self._file)
            self._batch = []
