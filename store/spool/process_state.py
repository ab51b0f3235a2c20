"""What capture and ingest are doing right now, and what capture was told: small files in the spool folder.

Capture never opens the database, so its live state and its orders travel as files that are
replaced as a whole. ``capture.json`` is written by the daemon every few seconds and read by
everyone; ``pause.json`` is written by the person's pause and survives a restart.

The worker of ingest replaces ``ingest.json`` every two seconds and on change: so health tells a worker that
is behind from one that is gone, without asking the process.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from store.core.paths import replace_file

log = logging.getLogger(__name__)

ALIVE_MS = 15_000
"""A program writes its state every few seconds; one that has not for so long is gone."""

FOREVER_MS = 2**53
"""`Pause.until_ms` of "until I resume"."""


class State:
    """What a program says of itself, replaced as a whole in its file of the spool folder.

    Mostly not flushed to disk: after a power cut an old state file is simply an old state file.
    """

    __slots__ = ()
    FILE: ClassVar[str]
    IS_DURABLE: ClassVar[bool] = False

    def write(self: Any, spool_folder: Path) -> None:
        content = json.dumps(asdict(self), ensure_ascii=False).encode()
        replace_file(spool_folder / self.FILE, content, durable=self.IS_DURABLE)

    @classmethod
    def read(cls, spool_folder: Path) -> Self | None:
        """The last one that was written, or None when none ever was (or the file is unusable)."""
        try:
            document = json.loads((spool_folder / cls.FILE).read_bytes())
            return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in document.items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.warning("%s is unusable: %s", cls.FILE, error)
            return None

    @classmethod
    def forget(cls, spool_folder: Path) -> None:
        (spool_folder / cls.FILE).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class CaptureState(State):
    """The daemon's own account. Facts with times, not one word for all."""

    FILE = "capture.json"
    pid: int
    started_ms: int
    written_ms: int  # loop alive
    looked_ms: int | None = None  # last look at the screen that succeeded
    kept_ms: int | None = None  # last frame written to the spool
    state: str = "starting"  # recording, paused, excluded, locked, failing, starting, stopped
    reason: str = ""  # machine word: no_display, spool_full, disk_full, unknown_window, ...
    detail: str = ""  # a sentence with the cause, the retry and the action
    cause: str = ""  # which rule leaves something out, else whose window
    since_ms: int | None = None  # when this state, with its reason and cause, began
    source: str = ""
    window_source: str = ""
    monitors: tuple[str, ...] = field(default=())
    connected: tuple[str, ...] = field(default=())  # also monitors that are not looked at
    looks: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Pause(State):
    FILE = "pause.json"
    IS_DURABLE = True
    since_ms: int
    until_ms: int  # `FOREVER_MS` until somebody resumes

    @property
    def ends_ms(self) -> int | None:
        """When it ends by itself; None when it does not."""
        return None if self.until_ms >= FOREVER_MS else self.until_ms


class ServerPause(Pause):
    """The pause of the server that this machine captures for, in times of this machine's clock."""

    __slots__ = ()
    FILE = "server-pause.json"


def write_pause(spool_folder: Path, pause: Pause | None) -> None:
    """Durably order a pause, or (None) end it."""
    if pause is None:
        Pause.forget(spool_folder)
    else:
        pause.write(spool_folder)


def read_pause(spool_folder: Path, now_ms: int) -> Pause | None:
    """The pause in force at `now_ms`, of this machine or else of its server, or None.

    A pause file that cannot be read counts as a pause: somebody asked not to be recorded, and
    privacy fails closed.
    """
    for kind in (Pause, ServerPause):
        try:
            pause = kind(**json.loads((spool_folder / kind.FILE).read_bytes()))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError) as error:
            log.error("%s is unusable, staying paused: %s", kind.FILE, error)
            return Pause(since_ms=now_ms, until_ms=FOREVER_MS)
        if pause.until_ms > now_ms:
            return pause
    return None


@dataclass(frozen=True, slots=True)
class TextDoor(State):
    """Where the browser extension is asked for the text of pages: the daemon's socket on this machine. The
    extension shows `key`, the daemon answers with `word`.
    """

    FILE = "text-door.json"
    port: int
    key: str
    word: str


@dataclass(frozen=True, slots=True)
class SenderState(State):
    """How handing in to a server goes, as the daemon that does it says (`capture.sender`).

    There is none where this machine keeps what it captures.
    """

    FILE = "sender.json"
    server: str
    written_ms: int
    accepted_ms: int | None  # the last entry that the server took
    problem: str  # why nothing can be handed in just now; a sentence
    waiting: int  # entries in the spool
    refused: int  # entries set aside in spool/failed
    skew_ms: int  # the server's clock less ours


@dataclass(frozen=True, slots=True)
class IngestState(State):
    """The worker's own account: facts with times, not one word for all.

    Counts run since `started_ms`. The problems are sentences for a person and empty while all is well; none
    ever holds screen text. What waits, and what came of it, the spool and the database say.
    """

    FILE = "ingest.json"
    pid: int
    started_ms: int
    written_ms: int  # loop alive
    state: str = "starting"  # starting, running, waiting (cannot write just now), stopped
    problem: str = ""  # why nothing can be stored at the moment: disk full, database busy
    reads_per_minute: float = 0.0
    audits: int = 0  # whole readings of frames that had been read by their changes
    audited_words: int = 0  # words of these
    drifted_words: int = 0  # words that one of the two readings had and the other had not
    engine: str = ""
    engine_problem: str = ""
    embedder: str = ""  # the model, once something was embedded
    embedder_problem: str = ""
    last_error: str = ""
    last_error_ms: int | None = None


def is_alive(state: CaptureState | IngestState | None, now_ms: int) -> bool:
    """Whether the program that wrote this runs and said so lately."""
    return state is not None and state.state != "stopped" and now_ms - state.written_ms <= ALIVE_MS
