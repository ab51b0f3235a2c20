"""Looks after context sessions while the web process runs, in a thread of its own.

At the start and once a minute it closes windows that nobody was heard of, whatever became of them, and
makes up for summaries that failed. Then it lets a model put a few summaries into better words.
"""

from __future__ import annotations

import logging
import threading

from assistant.context import session_closing
from assistant.context.session_closing import FAULTS, ContextServices
from store.memory import chat_digests, chat_sessions

log = logging.getLogger(__name__)

LOOK_EVERY_S = 60.0
REFINED_AT_ONCE = 3
SETTLE_MS = 120_000
"""A window that was closed for so long does not come back in a moment: its summary is worth a request."""
_DAY_MS = 86_400_000


class Keeper:
    """`start` begins; `stop` ends within a moment, or when the request that is under way has ended."""

    def __init__(self, deps: ContextServices, every_s: float = LOOK_EVERY_S) -> None:
        self._deps = deps
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="context", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        try:
            while True:
                look(self._deps)
                if self._ended.wait(self._every_s):
                    return
        finally:
            self._deps.database.close_thread()


def look(deps: ContextServices) -> None:
    """One round."""
    try:
        session_closing.close_idle_sessions(deps)
        if deps.settings.enabled and deps.settings.summaries != "off":
            _refine(deps)
    except FAULTS as error:
        log.warning("chats are looked after later: %s", type(error).__name__)
    except Exception:  # the next round may do better
        log.exception("chats could not be looked after")


def _refine(deps: ContextServices) -> None:
    now_ms = deps.clock()
    for session_id in chat_digests.unrefined(
        deps.database, now_ms - SETTLE_MS, now_ms - _DAY_MS, REFINED_AT_ONCE
    ):
        session_closing.refine(deps, session_id)
        chat_sessions.note(deps.database, session_id, {"refined_ms": deps.clock()})
