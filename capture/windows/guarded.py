"""A window source that answers in time or counts as failed (lesson PRI-3)."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

from capture.core.errors import SourceFailed
from capture.windows.protocol import WindowInfo, WindowSource

TIMEOUT_S = 2.0


class WindowsTimedOut(SourceFailed):
    """The window source did not answer in time."""

    reason = "windows_timed_out"


class WindowsWithTimeout:
    """Asks in a thread of its own and waits only so long; a late answer is never used."""

    def __init__(self, source: WindowSource, timeout_s: float = TIMEOUT_S) -> None:
        self._source = source
        self._timeout_s = timeout_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="windows")
        self._late: Future[list[WindowInfo]] | None = None

    @property
    def name(self) -> str:
        return self._source.name

    def windows(self) -> list[WindowInfo]:
        if self._is_late():
            raise WindowsTimedOut("The window source has not answered yet")
        asked = self._thread.submit(self._source.windows)
        try:
            return asked.result(self._timeout_s)
        except FutureTimeout as error:
            self._late = asked
            raise WindowsTimedOut(f"The window source took longer than {self._timeout_s:.0f} s") from error

    def wait(self, timeout_s: float) -> bool:
        return False if self._is_late() else self._source.wait(timeout_s)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if not self._is_late():
            self._source.close()

    def _is_late(self) -> bool:
        if self._late is not None and self._late.done():
            self._late = None
        return self._late is not None


class NoWindows:
    """Nothing is a window here: a folder or a video shows pictures only. Read, and empty."""

    name = "none"

    def windows(self) -> list[WindowInfo]:
        return []

    def wait(self, timeout_s: float) -> bool:
        return False

    def close(self) -> None:
        return


class UnknownWindows:
    """Where the system does not tell. While any privacy rule exists nothing is kept (PRI-3)."""

    def __init__(self, cause: str, action: str) -> None:
        self.name = "unknown"
        self._failure = SourceFailed(cause, action)

    def windows(self) -> list[WindowInfo]:
        raise self._failure

    def wait(self, timeout_s: float) -> bool:
        return False

    def close(self) -> None:
        return
