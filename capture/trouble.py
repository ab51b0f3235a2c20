"""What is wrong right now, since when, and when it is tried again: 1, 2, 4 … 30 seconds."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from capture.core.errors import SourceFailed
from store.core.errors import SpoolFull

LONGEST_WAIT_S = 30.0


@dataclass(slots=True)
class Backoff:
    """One kind of trouble that may come and go. `reason` is "" while there is none."""

    reason: str = ""
    cause: str = ""
    failures: int = 0
    wait_s: float = 0.0
    next_try_s: float = float("-inf")

    def failed(self, reason: str, cause: str, now_s: float) -> None:
        """Once more: wait twice as long as the last time."""
        self.reason, self.cause = reason, cause
        self.wait_s = min(LONGEST_WAIT_S, 2.0 ** min(self.failures, 10))
        self.next_try_s = now_s + self.wait_s
        self.failures += 1

    def over(self) -> None:
        self.reason = self.cause = ""
        self.failures = 0
        self.next_try_s = float("-inf")

    def is_waiting(self, now_s: float) -> bool:
        return bool(self.reason) and now_s < self.next_try_s

    @property
    def detail(self) -> str:
        """A sentence with the cause, what can be done, and the retry."""
        return f"{self.cause.rstrip('.')}. Trying again after {self.wait_s:.0f} s."


def source_cause(error: Exception) -> tuple[str, str]:
    """(reason, cause) of a failed look."""
    if isinstance(error, SourceFailed):
        return error.reason, str(error)
    return "look_failed", f"A look failed unexpectedly ({type(error).__name__}); the log has the details"


def spool_cause(error: BaseException) -> tuple[str, str]:
    """(reason, cause) of a frame that could not be written."""
    if isinstance(error, SpoolFull):
        cause = f"The spool is full ({error}): start ingest so that it catches up, or raise spool.max_gb"
        return "spool_full", cause
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk_full", "The disk is full: free some space"
    if isinstance(error, OSError):
        return "spool_unwritable", f"The spool cannot be written ({error.strerror or error})"
    return "write_failed", f"A frame could not be encoded ({type(error).__name__}); the log has the details"
