"""The zip of an exported answer: written in one way only, so that reading it finds whatever else is in it.

Nothing is compressed: pictures are already, and so nothing that is read unfolds into more than the file has.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from store.core.paths import FILE_MODE

MAX_BYTES = 1_000_000_000
MAX_FILES = 1_000
_NAME = re.compile(r"(?:(?:evidence|attachments)/)?(?![.])[\w.()+ -]{1,120}")
_Date = tuple[int, int, int, int, int, int]


class NotABundle(Exception):
    """A sentence about what the file is instead."""


def write(files: Mapping[str, bytes], at: _Date) -> bytes:
    """The same files at the same time, local of the answer, give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, at)
            entry.create_system = 3  # on every system
            entry.external_attr = FILE_MODE << 16
            bundle.writestr(entry, content)
    return buffer.getvalue()


def read(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of a bundle, and sentences about those that cannot be read.

    Raises `NotABundle` for what `write` never writes, before anything of it is read, and `OSError`.
    """
    if path.stat().st_size > MAX_BYTES:
        raise NotABundle(f"It is larger than {MAX_BYTES / 1e9:g} GB.")
    whole = path.read_bytes()
    files, problems = {}, []
    try:
        with zipfile.ZipFile(io.BytesIO(whole)) as bundle:
            entries = bundle.infolist()
            _check(entries, len(whole))
            for entry in entries:
                try:
                    files[entry.filename] = bundle.read(entry)
                except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
                    problems.append(f"{entry.filename} cannot be read: {error}.")
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, OverflowError) as error:
        raise NotABundle(f"It is no whole zip file: {error}.") from error
    if not problems and write(files, entries[0].date_time) != whole:
        problems.append("The zip file holds bytes around its files that Recollect does not write.")
    return files, problems


def _check(entries: list[zipfile.ZipInfo], size_bytes: int) -> None:
    if not 0 < len(entries) <= MAX_FILES:
        raise NotABundle(f"It holds {len(entries)} files.")
    (name, times), *_ = Counter(entry.filename for entry in entries).most_common(1)
    if times > 1:
        raise NotABundle(f"{name!r} is in it more than once.")
    for entry in entries:
        if not _NAME.fullmatch(entry.filename) or entry.orig_filename != entry.filename:
            raise NotABundle(f"{entry.orig_filename!r} is no name of a file that Recollect writes.")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise NotABundle(f"{entry.filename} is compressed.")
    if sum(entry.file_size for entry in entries) > size_bytes:
        raise NotABundle("Its files say that they are larger than all of it.")
