"""Reports of looks on their way to the spool; one that cannot be written now is tried again."""

from __future__ import annotations

import logging
from collections import deque

from store.spool.queue import LookReport, Spool

log = logging.getLogger(__name__)

MOST = 1000
"""Reports held back while the disk refuses: about three hours."""


class ReportQueue:
    """Writes reports in order and holds back what cannot be written."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._waiting: deque[LookReport] = deque()

    def put(self, report: LookReport | None) -> None:
        """Write this report, after those that wait."""
        if report is not None:
            if len(self._waiting) == MOST:
                log.error("a report of %d looks is lost", self._waiting.popleft().looks)
            self._waiting.append(report)
        try:
            while self._waiting:
                self._spool.put(self._waiting[0])
                self._waiting.popleft()
        except OSError as error:
            log.warning("%d reports of looks wait for the disk: %s", len(self._waiting), error)
