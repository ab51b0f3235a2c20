"""What can go wrong in the store, as one small tree."""

from __future__ import annotations

import traceback
from typing import TypeVar

T = TypeVar("T")


def stack_of(error: BaseException) -> str:
    """Where an error was raised, for the log: without its message, which may hold screen text."""
    return "".join(traceback.format_tb(error.__traceback__))


class StoreError(Exception):
    """Anything the store refuses or cannot do."""


class SettingsError(StoreError):
    """A setting is unknown, has the wrong type or is out of range."""


class HomeLocked(StoreError):
    """The home is encrypted and its key is not there, or something that encryption needs."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than `BUSY_TIMEOUT_MS`."""


class DeadlineExceeded(StoreError):
    """A read ran into its deadline and was stopped inside SQLite."""


class Abandoned(DeadlineExceeded):
    """A read was stopped inside SQLite because whoever asked has left."""


class DatabaseUnusable(StoreError):
    """The database cannot be opened, now or later: a person has to do something."""


class DatabaseDamaged(DatabaseUnusable):
    """The database file is no sound one; `store.backup.backup.advice` says what to do."""


class DatabaseGone(DatabaseUnusable):
    """The database file is not where it was opened: it was moved or removed meanwhile."""


class DatabaseTooNew(DatabaseUnusable):
    """The database was migrated by a later version of Recollect."""


class NotFound(StoreError):
    """There is no such thing: `noun` is its kind (frame, tool call), `name` which one, mostly an id."""

    def __init__(self, noun: str, name: object) -> None:
        super().__init__(f"there is no {noun} {name}")
        self.noun = noun
        self.name = name


def existing(row: T | None, noun: str, name: object) -> T:
    """What was looked up, or whether it was changed. Raises `NotFound` for None and for False."""
    if row is None or row is False:
        raise NotFound(noun, name)
    return row


class Outdated(StoreError):
    """What something was made of was deleted meanwhile: it is neither kept nor sent."""


class MediaGone(StoreError):
    """The frame's own pixels are not there any more; its text may be.

    `reason` is one of ``deleted``, ``missing`` (no file on disk) and ``altered`` (the file's
    SHA-256 is not the one stored with the frame). Never answered with another frame.
    """

    def __init__(self, frame_id: int, reason: str) -> None:
        super().__init__(f"the picture of frame {frame_id} is gone ({reason})")
        self.frame_id = frame_id
        self.reason = reason


class AttachmentGone(StoreError):
    """The file of an attachment is ``missing``, or ``altered``: its bytes are not those of its name."""

    def __init__(self, sha256: str, reason: str) -> None:
        super().__init__(f"the attached file {sha256[:12]}… is gone ({reason})")
        self.reason = reason


class AttachmentSent(StoreError):
    """The file belongs to a question that was asked, and goes with its chat."""

    def __init__(self, attachment_id: int) -> None:
        super().__init__(f"attachment {attachment_id} belongs to a question")
        self.attachment_id = attachment_id


class SpoolFull(StoreError):
    """The spool has reached its limit of bytes or entries; nothing was written."""


class SpoolEntryInvalid(StoreError):
    """A spool entry, or a picture, cannot be taken in, now or later. `code` is the machine word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
