"""Where things are in a home folder, and how its files are written and locked.

Folders are made 0700 and files 0600: this is a picture of everything somebody did.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from store.core.errors import SettingsError, StoreBusy

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
WORKER_LOCK = "ingest.lock"
"""In the spool folder; who takes entries from the spool holds it."""
SPOOL_PARTS = ("new", "failed", "taken", "tmp")
_POLL_S = 0.05


class _Below:
    """A path of a home folder, by its name in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, data_dir: DataDir, owner: type[DataDir]) -> Path:
        return data_dir.home / self.name


@dataclass(frozen=True, slots=True)
class DataDir:
    """The paths of one home folder."""

    home: Path
    config = _Below("config.toml")
    token = _Below("token")
    database = _Below("recollect.db")
    encryption = _Below("encryption.json")
    """There while the home is encrypted: its key, wrapped (`store.core.keys`)."""
    privacy_rules = _Below("privacy.json")
    """The person's own rules, as JSON: capture reads them without opening the database."""
    recording = _Below("recording.json")
    """What the person chose of how the screen is recorded (`store.core.recording`), for the same reason."""
    server_rules = _Below("server-rules.json")
    """Rules of the server that this machine captures for, beside the person's own (`capture.sender`)."""
    providers = _Below("providers.json")
    """Model providers added in the app, with their keys, as JSON: not in the database, nor its copies."""
    export_key = _Below("export-key.pem")
    """The private key that signs exported answers, made with the first one. No backup holds it."""
    spool = _Below("spool")
    media = _Below("media")
    attachments = _Below("attachments")
    """Files that were attached to questions (`store.chats.attachments`)."""
    backups = _Below("backups")
    restoring = _Below("restore.json")
    """There while a backup changes places with the home (`store.backup.restore`)."""
    logs = _Below("logs")
    models = _Below("models")
    reserve = _Below("reserve")
    """Space kept aside for deleting on a full disk (`store.deletion.reserve`)."""
    sample_week = _Below("sample-week.json")
    """What is true of a home that `recollect demo` filled (`timeline.sample_week`); marks it, too."""

    def create(self) -> DataDir:
        """Make the folders that are missing, 0700 each, and tighten the home folder itself.

        Raises `SettingsError` for a folder of another user, who could read along or plant a token, for one
        that holds other things and is open to others: a slip, and closing it may break what it is for; and
        for a part of the spool that is a link: nothing is renamed between two disks, so the queue would stop.
        """
        if self._is_of_other_things():
            raise SettingsError(f"{self.home} holds other files; choose a new or an empty folder for a home")
        inner = (self.spool, self.media, self.attachments, self.backups, self.logs, self.models)
        for folder in (self.home, *inner):
            folder.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            if sys.platform != "win32" and folder.stat().st_uid != os.geteuid():
                raise SettingsError(f"{folder} belongs to another user; choose a home folder of your own")
            folder.chmod(DIRECTORY_MODE)
        for name in SPOOL_PARTS:
            if (self.spool / name).is_symlink():
                raise SettingsError(f"{self.spool / name} is a link; put a folder in its place")
        return self

    def existing(self) -> DataDir:
        """This home where there is one. Raises `SettingsError` where not, and makes nothing."""
        if not self._is_home():
            raise SettingsError(f"no Recollect home at {self.home}; `recollect up` makes one")
        return self.create()

    def _is_home(self) -> bool:
        own = (self.database, self.config, self.token, self.spool, self.media)
        return any(path.exists() for path in own)

    def _is_of_other_things(self) -> bool:
        if sys.platform == "win32" or not self.home.is_dir() or not self.home.stat().st_mode & 0o077:
            return False
        return any(self.home.iterdir()) and not self._is_home()


def default_home() -> Path:
    """`RECOLLECT_HOME`, or the platform's user data folder."""
    chosen = os.environ.get("RECOLLECT_HOME")
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_data_path("recollect", appauthor=False)


def restrict_files() -> None:
    """From here on this process makes files that only their owner can read, and none of its memory when it
    crashes: no deletion would come to that, and it holds the key of an encrypted home.
    """
    os.umask(0o077)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a small file as a whole: readers see the old content or the new, never half, whoever else writes.

    With `durable` the new content is on the disk before this returns.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    write_file(temporary, content, os.O_TRUNC, durable=durable)
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def write_file(path: Path, content: bytes, flag: int = os.O_EXCL, *, durable: bool = True) -> None:
    """Write a file that only its owner can read; it must be new unless `flag` says otherwise."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flag, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file, a folder with what is in it, or a link and nothing of what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def sync_directory(folder: Path) -> None:
    """Make renames in this folder survive a power cut (no effect on Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -- locks --------------------------------------------------------------------------------
# A place that one process at a time can hold.
#
# The lock belongs to the open file: the system gives it back when the process ends, however it
# ends, so a crash never leaves it behind.

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """Try to hold the lock file for the length of the block; False at once when another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        yield _lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def only_holder(path: Path, wait_s: float, problem: str) -> Iterator[None]:
    """Hold the lock file for the length of the block. Raises `StoreBusy` when it is taken for longer."""
    deadline = time.monotonic() + wait_s
    with ExitStack() as stack:
        while not stack.enter_context(file_lock(path)):
            stack.pop_all().close()
            if time.monotonic() >= deadline:
                raise StoreBusy(problem)
            time.sleep(_POLL_S)
        yield


def _lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
