"""What tokens for one purpose were used for: rows that are kept in memory until they can be written.

No answer waits for its row, and none that is done is taken back for want of one. A thread writes all rows
that came meanwhile together, and ends when there are none; the last ones are written when the process ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque

from store.core.database import Database
from store.egress import access_log
from store.egress.access_log import MAX_ROWS, Access

log = logging.getLogger(__name__)

_WRITTEN_EVERY_S = 1.0
_TRIED_AGAIN_S = 5.0


class Uses:
    """The rows of one app. Beyond as many as the log holds the oldest go, as they go there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows: deque[Access] = deque(maxlen=MAX_ROWS)
        self._has_writer = False
        self._looking, self._writing = threading.Lock(), threading.Lock()

    def note(self, row: Access) -> None:
        """Returns at once."""
        with self._looking:
            self._rows.append(row)
            has_writer, self._has_writer = self._has_writer, True
        if not has_writer:
            threading.Thread(target=self._run, name="token uses", daemon=True).start()

    def write(self) -> bool:
        """Write all rows now; False where that cannot be done, and then they are kept."""
        with self._writing:
            with self._looking:
                rows = list(self._rows)
                self._rows.clear()
            try:
                if rows:
                    with self._database.write() as connection:
                        for row in rows:
                            access_log.record(connection, row)
            except Exception as error:  # whatever it is, the rows are not lost to it
                log.warning("what %d requests with a token did is not written yet: %s", len(rows), error)
                with self._looking:
                    self._rows = deque([*rows, *self._rows], maxlen=MAX_ROWS)
                return False
        return True

    def _run(self) -> None:
        wait_s = _WRITTEN_EVERY_S
        while True:
            time.sleep(wait_s)
            wait_s = _WRITTEN_EVERY_S if self.write() else _TRIED_AGAIN_S
            self._database.close_thread()
            with self._looking:
                if not self._rows:
                    self._has_writer = False
                    return
