"""What can go wrong in the store, as one small tree.

::

    StoreError
    ├── SettingsError          a setting is unknown, of the wrong type or out of range
    ├── StoreBusy              another process held the write lock longer than we wait
    ├── DeadlineExceeded       a read was stopped because its time was up
    │   └── Abandoned          or because whoever asked has left
    ├── DatabaseDamaged        the file is not a database, or its check failed
    ├── DatabaseTooNew         written by a later version of Recollect
    ├── FrameNotFound          no such frame
    ├── MediaGone              the frame exists, its pixels do not (or are no longer its own)
    ├── SpoolFull              the spool has reached its limit
    └── SpoolEntryInvalid      an entry in the spool cannot be read
"""


class StoreError(Exception):
    """Anything the store refuses or cannot do."""


class SettingsError(StoreError):
    """A setting is unknown, has the wrong type or is out of range."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than `BUSY_TIMEOUT_MS`."""


class DeadlineExceeded(StoreError):
    """A read ran into its deadline and was stopped inside SQLite."""


class Abandoned(DeadlineExceeded):
    """A read was stopped inside SQLite because whoever asked has left."""


class DatabaseDamaged(StoreError):
    """The database file cannot be used; `recollect doctor` says what to do."""


class DatabaseTooNew(StoreError):
    """The database was migrated by a later version of Recollect."""


class FrameNotFound(StoreError):
    """No frame has this id."""

    def __init__(self, frame_id: int) -> None:
        super().__init__(f"no frame {frame_id}")
        self.frame_id = frame_id


class MediaGone(StoreError):
    """The frame's own pixels are not there any more; its text may be.

    `reason` is one of ``deleted``, ``missing`` (no file on disk) and ``altered`` (the file's
    SHA-256 is not the one stored with the frame). Never answered with another frame.
    """

    def __init__(self, frame_id: int, reason: str) -> None:
        super().__init__(f"the picture of frame {frame_id} is gone ({reason})")
        self.frame_id = frame_id
        self.reason = reason


class SpoolFull(StoreError):
    """The spool has reached its limit of bytes or entries; nothing was written."""


class SpoolEntryInvalid(StoreError):
    """A spool entry cannot be used; the message says why."""
