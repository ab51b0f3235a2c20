"""The spool: a queue of folders between capture and ingest, made like a maildir.

An entry is a folder with ``entry.json`` and, for a frame, ``image.webp`` (or ``.png``,
``.jpg``), perhaps with the text of its pages beside it (`store.spool.page_text`). It is written in
``tmp/``, flushed, and renamed into ``new/``: a rename is atomic, so a reader sees a whole entry or none,
whatever instruction the writer died at. A worker claims an entry by renaming it into ``taken/`` and
removes it only after its own transaction committed; what was left in ``taken/`` by a killed worker goes
back to ``new/`` at the next start. Poison goes to ``failed/`` with a ``reason.txt``.

Two kinds of entry travel: a `Capture` (one frame) and a `LookReport` (what the daemon decided
between frames). Names start with the time, so that listing in name order is time order.

The maildir idea: https://cr.yp.to/proto/maildir.html
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import stat
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from PIL import WebPImagePlugin  # noqa: F401 - at the first WebP Pillow would load all its forty formats

from store.core.errors import SpoolEntryInvalid, SpoolFull
from store.core.keys import OVERHEAD_BYTES, box_of
from store.core.paths import DIRECTORY_MODE, SPOOL_PARTS, remove, replace_file, sync_directory, write_file
from store.spool import page_text

log = logging.getLogger(__name__)

IMAGE_NAMES = {"image/webp": "image.webp", "image/png": "image.png", "image/jpeg": "image.jpg"}
WEBP_OF_CAPTURE: dict[str, Any] = {"lossless": True, "quality": 20, "method": 2}
"""How capture writes WebP: half of what PNG takes, 22 ms for 1080p. The same pixels give the same bytes."""
MAX_IMAGE_BYTES = 25 * 1024 * 1024
MAX_RECORD_BYTES = 1024 * 1024
_USAGE_FRESH_S = 5.0
GONE = "done."
"""What a folder in ``tmp/`` is called first that is being removed; the entry's name follows."""
_NAME = re.compile(r"([0-9]{15})-([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(\.looks)?(?![^.])")

# What is checked is what is read, whatever happens to the name: no link is followed, a pipe does not block,
# and the facts come from the open file. Windows has only O_BINARY of these.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)


DESKTOP = "Desktop"
"""`app_name` of a screen on which no window was in view."""
PRIVATE_WINDOW = "Private window"
"""`app_name` where the window in front is painted over: a browser's whose ordinary windows are known as such,
and this one is not.
"""
HIDDEN_WINDOW = "Hidden window"
"""`app_name` where the window in front is painted over for another reason."""
PAINTED_OVER = frozenset((PRIVATE_WINDOW, HIDDEN_WINDOW))
NO_APPS = PAINTED_OVER | {DESKTOP}
"""What `app_name` says where it names no app."""


VisibleWindows = tuple[tuple[str | None, str | None, str | None], ...]
"""(app, title, address) of windows, each once and in alphabetical order."""
WindowPlaces = tuple[tuple[int, int, int, int, int], ...]
"""(number, x, y, width, height) of the windows on a picture in its pixels, topmost first. Number 0 is the one
in front with its menus, n the n-th of `Capture.visible`, `UNNAMED` one that nobody names.
"""
UNNAMED = -1
MAX_PLACES = 100


@dataclass(frozen=True, slots=True)
class Capture:
    """What capture knows about one frame. Unknown is None, never borrowed from elsewhere."""

    capture_id: str  # UUID
    captured_ms: int
    source: str  # screen, folder, video, import, upload
    image_type: str = "image/webp"
    monitor: str = ""
    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None
    pid: int | None = None
    trigger: str | None = None
    utc_offset_min: int | None = None
    sha256: str | None = None  # of the image file, made where it was captured
    batch_id: str | None = None
    host: str = ""  # the machine that handed it in; "" for this one
    host_deletion_id: int | None = None  # deletions up to this one were carried out there
    visible: VisibleWindows | None = None  # on the picture, beside the one in front; None where nobody told
    places: WindowPlaces | None = None  # where each of them is


@dataclass(slots=True)
class DecisionRun:
    """A run of equal decisions on one monitor, which grows while its batch is open; `capture_id` is the frame
    a dedupe extends.
    """

    monitor: str
    decision: str  # deduped, excluded, paused, failed
    reason: str
    start_ms: int
    end_ms: int
    looks: int
    capture_id: str | None = None


@dataclass(frozen=True, slots=True)
class LookReport:
    """One batch of looks. `looks` is counted apart from the decisions, so that they can be compared:
    ``looks == sum(run.looks for run in runs) + frames kept under this batch_id``.
    """

    batch_id: str
    start_ms: int
    end_ms: int
    looks: int
    runs: tuple[DecisionRun, ...] = field(default=())
    host: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A claimed entry. `record` is the Capture or LookReport; `image` the picture's path. Where pages told
    their text, it is in `text`.
    """

    name: str
    folder: Path
    record: Capture | LookReport
    image: Path | None
    text: Path | None = None


class Spool:
    """The queue below one folder. Any number of processes may use it at the same time."""

    def __init__(self, folder: Path, *, max_bytes: int = 2_000_000_000, max_entries: int = 20_000) -> None:
        self.folder = folder
        self._box = box_of(folder.parent)
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self._usage: tuple[float, int, int] | None = None
        self._lock = threading.Lock()
        for name in SPOOL_PARTS:
            (folder / name).mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)

    def put(self, record: Capture | LookReport, image: bytes | None = None, text: bytes | None = None) -> str:
        """Durably add an entry and return its name; `text` is what pages on the picture say of themselves.

        Raises `SpoolFull` when a frame would pass a limit (reports are small and always fit:
        they are how a full spool is told), `OSError` when the disk refuses.
        """
        size = len(image or b"") + len(text or b"")
        if image is not None:
            self._reserve(size)
        name = _name_of(record)
        work = self.folder / "tmp" / f"{name}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
        work.mkdir(mode=DIRECTORY_MODE)
        try:
            if image is not None:
                assert isinstance(record, Capture)
                self._write(work, name, IMAGE_NAMES[record.image_type], image)
            if text is not None:
                self._write(work, name, page_text.FILE_NAME, text)
            kind = "capture" if isinstance(record, Capture) else "looks"
            entry = json.dumps({"kind": kind, **asdict(record)}, ensure_ascii=False).encode()
            self._write(work, name, "entry.json", entry)
            sync_directory(work)
            target = self.folder / "new" / name
            try:
                work.rename(target)
            except OSError:
                if not target.exists():
                    raise
                shutil.rmtree(work)  # the same capture was put twice: one entry is enough
            sync_directory(self.folder / "new")
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        return name

    def _write(self, work: Path, name: str, file_name: str, content: bytes) -> None:
        write_file(work / file_name, self._box.seal(f"spool/{name}/{file_name}", content))

    def _reserve(self, size: int) -> None:
        with self._lock:
            now = time.monotonic()
            if self._usage is None or now - self._usage[0] > _USAGE_FRESH_S:
                entries, used = self.usage()
                self._usage = (now, entries, used)
            stamp, entries, used = self._usage
            if entries + 1 > self.max_entries or used + size > self.max_bytes:
                raise SpoolFull(f"the spool holds {entries} entries, {used} bytes")
            self._usage = (stamp, entries + 1, used + size)

    def recover(self) -> int:
        """At a worker's start: give back what a killed worker had claimed, sweep `tmp`.

        Only one worker process takes from a spool. Returns how many entries came back.
        """
        recovered = 0
        for entry in sorted((self.folder / "taken").iterdir()):
            target = self.folder / "new" / entry.name
            if os.path.lexists(target):
                _clear(entry)
            else:
                entry.rename(target)
                recovered += 1
        self.sweep_tmp(older_than_s=3600)
        return recovered

    def sweep_tmp(self, older_than_s: float) -> None:
        """Remove what nobody finished. A writer may be at work right now, so only old leavings go."""
        for leaving in (self.folder / "tmp").iterdir():
            try:
                if time.time() - leaving.lstat().st_mtime > older_than_s:
                    _clear(leaving)
            except FileNotFoundError:
                continue

    def waiting(self) -> list[str]:
        """Names of the entries in `new`, oldest first."""
        return sorted(entry.name for entry in os.scandir(self.folder / "new"))

    def take(self, name: str) -> Entry | None:
        """Claim one entry, or None when somebody else did.

        Raises `SpoolEntryInvalid` when its record cannot be read; the entry is then in
        ``taken/`` and the caller moves it aside with `fail`.
        """
        taken = self.folder / "taken" / name
        try:
            (self.folder / "new" / name).rename(taken)
        except FileNotFoundError:
            return None
        record = _decode(taken)
        image, text = None, taken / page_text.FILE_NAME
        if isinstance(record, Capture):
            image = taken / IMAGE_NAMES[record.image_type]
            if image.is_symlink() or not image.is_file():
                raise SpoolEntryInvalid("bad_record", "there is no image in the entry")
        return Entry(name, taken, record, image, text if text.is_file() and not text.is_symlink() else None)

    def give_back(self, name: str) -> None:
        """Return a claimed entry to the queue, for a later try."""
        (self.folder / "taken" / name).rename(self.folder / "new" / name)

    def finish(self, name: str) -> None:
        """Remove a claimed entry. Renamed away first, so that no half-removed entry is ever seen."""
        gone = self.folder / "tmp" / f"{GONE}{name}.{uuid.uuid4().hex[:8]}"
        (self.folder / "taken" / name).rename(gone)
        size = sum(file.stat(follow_symlinks=False).st_size for file in os.scandir(gone))
        shutil.rmtree(gone)
        with self._lock:  # room for who feeds and drains the spool in one process: an import
            if self._usage is not None:
                stamp, entries, used = self._usage
                self._usage = (stamp, max(0, entries - 1), max(0, used - size))

    def fail(self, name: str, reason: str) -> None:
        """Set a claimed entry aside in `failed`, with a sentence saying why."""
        taken = self.folder / "taken" / name
        if taken.is_dir() and not taken.is_symlink():
            with suppress(IsADirectoryError):
                replace_file(taken / "reason.txt", f"{reason}\n".encode(), durable=False)
        target = self.folder / "failed" / name
        if os.path.lexists(target):
            remove(target)
        taken.rename(target)

    def failed(self) -> Iterator[tuple[str, str]]:
        """(name, reason) of every entry that was set aside."""
        for entry in sorted((self.folder / "failed").iterdir()):
            reason = entry / "reason.txt"
            yield entry.name, reason.read_text(encoding="utf-8").strip() if reason.is_file() else ""

    def retry(self, name: str) -> None:
        """Put a failed entry back into the queue."""
        entry = self.folder / "failed" / name
        (entry / "reason.txt").unlink(missing_ok=True)
        entry.rename(self.folder / "new" / name)

    def usage(self) -> tuple[int, int]:
        """(entries, bytes) waiting or being worked on; failed ones count too."""
        entries = used = 0
        for part in ("new", "taken", "failed"):
            for entry in os.scandir(self.folder / part):
                entries += 1
                try:
                    used += sum(file.stat().st_size for file in os.scandir(entry.path))
                except (FileNotFoundError, NotADirectoryError):
                    continue
        return entries, used


def _clear(path: Path) -> None:
    """Remove what nobody needs. What resists stays: it must not keep others from their work."""
    try:
        remove(path)
    except OSError as error:
        log.warning("%s in the spool cannot be removed: %s", path.parent.name, error.strerror)


def is_storable(text: str) -> bool:
    """Lone surrogates pass through JSON but are no Unicode text; NUL ends a C string."""
    return "\0" not in text and not any(0xD800 <= ord(c) < 0xE000 for c in text)


def visible_windows_of(value: Any) -> VisibleWindows:
    """What `Capture.visible` was written as. Raises `ValueError`."""
    windows = tuple(tuple(window) for window in value) if isinstance(value, list) else ()
    are_texts = all(
        len(window) == 3 and all(text is None or isinstance(text, str) for text in window)
        for window in windows
    )
    if not isinstance(value, list) or not are_texts:
        raise ValueError("visible must be a list of [app, title, address]")
    return cast(VisibleWindows, windows)


def window_places_of(value: Any) -> WindowPlaces:
    """What `Capture.places` was written as. Raises `ValueError`."""
    if not isinstance(value, list) or len(value) > MAX_PLACES:
        raise ValueError(f"places must be a list of at most {MAX_PLACES}")
    places = tuple(tuple(place) if isinstance(place, list) else () for place in value)
    if not all(len(place) == 5 and all(type(number) is int for number in place) for place in places):
        raise ValueError("a place must be [number, x, y, width, height]")
    return cast(WindowPlaces, places)


def _name_of(record: Capture | LookReport) -> str:
    if isinstance(record, Capture):
        uuid.UUID(record.capture_id)  # the name becomes a path: nothing but a UUID may enter
        return f"{record.captured_ms:015d}-{record.capture_id}"
    uuid.UUID(record.batch_id)
    return f"{record.end_ms:015d}-{record.batch_id}.looks"


def parse_entry_name(name: str) -> tuple[int, str, bool] | None:
    """(milliseconds, id, whether it is a report) of an entry in any folder; None for no entry's name."""
    found = _NAME.match(name.removeprefix(GONE))
    return None if found is None else (int(found[1]), found[2], found[3] is not None)


def read_file(path: Path, most: int) -> bytes:
    """What was written into a file of an entry, at most so many bytes. Raises `SpoolEntryInvalid`."""
    try:
        opened = open(path, "rb", opener=lambda name, _: os.open(name, _OPEN_FLAGS))  # noqa: SIM115
    except OSError as error:  # a folder is opened by name only
        raise SpoolEntryInvalid("not_a_file", f"{path.name} is a link or cannot be opened") from error
    with opened as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise SpoolEntryInvalid("not_a_file", f"{path.name} is not a file")
        if hasattr(os, "getuid") and facts.st_uid != os.getuid():
            raise SpoolEntryInvalid("not_ours", f"{path.name} belongs to another user")
        box = box_of(path.parents[3])  # HOME/spool/FOLDER/ENTRY/FILE
        if box.key is not None:
            most += OVERHEAD_BYTES
        if facts.st_size > most:
            raise SpoolEntryInvalid("too_large", f"{facts.st_size} bytes are more than {most}")
        try:
            return box.open(sealed_name(path), file.read(most + 1))
        except ValueError as error:
            raise SpoolEntryInvalid("altered", str(error)) from error


def sealed_name(path: Path) -> str:
    """The name under which a file of an entry is encrypted, in whichever folder that is."""
    entry = path.parent.name.removeprefix(GONE)
    found = _NAME.match(entry)
    return f"spool/{found[0] if found else entry}/{path.name}"


def read_record(folder: Path) -> dict[str, Any]:
    """What ``entry.json`` says, whatever it is. Raises `SpoolEntryInvalid`."""
    try:
        document = json.loads(read_file(folder / "entry.json", MAX_RECORD_BYTES))
    except (ValueError, RecursionError) as error:
        raise SpoolEntryInvalid("bad_record", f"entry.json cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise SpoolEntryInvalid("bad_record", "entry.json is no object")
    return document


def _decode(folder: Path) -> Capture | LookReport:
    document = read_record(folder)
    try:
        kind = document.pop("kind")
        if kind == "capture":
            if document.get("visible") is not None:
                document["visible"] = visible_windows_of(document["visible"])
            if document.get("places") is not None:
                document["places"] = window_places_of(document["places"])
            capture = Capture(**document)
            uuid.UUID(capture.capture_id)
            if capture.image_type not in IMAGE_NAMES:
                raise ValueError(f"unknown image type {capture.image_type!r}")
            record: Capture | LookReport = capture
        else:
            runs = tuple(DecisionRun(**run) for run in document.pop("runs"))
            record = LookReport(**document, runs=runs)
        if _name_of(record) != folder.name:  # a deletion goes by the name
            raise ValueError("its name says something else")
        return record
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SpoolEntryInvalid("bad_record", f"entry.json cannot be read: {error}") from error
