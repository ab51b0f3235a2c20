"""One call of another program: the rules it is read under, what it got, and its audit row.

    with calls.call(library, "mcp", "search_frames") as call:
        ...reading through `call`...

The row is written before the answer leaves: when it cannot be written, the call fails, so that
nothing is read without a record of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.errors import ReadRefused
from store.core.database import Database
from store.core.errors import DeadlineExceeded, FrameNotFound, MediaGone, StoreBusy
from store.core.settings import Settings
from store.egress import access_log
from store.egress.access_log import Access, Outcome
from store.frames.activity_intervals import Segment
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.privacy import rules as privacy
from store.privacy.rules import RuleSet, WindowFacts
from store.search.hits import BadCursor
from store.search.search import Hit


@dataclass(frozen=True, slots=True)
class ReadSources:
    """What doors read from. `clock` gives now in epoch milliseconds."""

    database: Database
    media: Media
    settings: Settings
    embedder: QueryEmbedder
    clock: Callable[[], int]


class ReadCall:
    """What one call may see, and how much of it it got."""

    def __init__(self, library: ReadSources, rules: RuleSet) -> None:
        self.library = library
        self.database = library.database
        self.now_ms = library.clock()
        self.returned = 0
        self.withheld = 0
        self._rules = rules
        self._decided: dict[WindowFacts, bool] = {}

    def shows(self, what: FrameRow | Hit | Segment) -> bool:
        """Whether today's rules let this out; what they keep back is counted."""
        shown = self.lets_out(what)
        self.withheld += not shown
        return shown

    def lets_out(self, what: FrameRow | Hit | Segment) -> bool:
        """Whether today's rules let this out, as part of something else."""
        window = WindowFacts(what.app_name, what.window_name, what.browser_url)
        if window not in self._decided:
            self._decided[window] = is_permitted(self._rules, what)
        return self._decided[window]


def is_permitted(rules: RuleSet, what: FrameRow | Hit | Segment) -> bool:
    """Whether rules let this out.

    A frame whose app nobody knows was kept on purpose (an import, an upload, a screen with its
    unknown windows painted over): not knowing is no rule about it. A known browser whose address
    is unknown, where a rule names a site, stays back.
    """
    window = WindowFacts(what.app_name, what.window_name, what.browser_url)
    decision = rules.decide(window)
    nobody_knows = decision.reason == "unknown_window" and not window.app_name
    return decision.action == "keep" or nobody_knows


@contextmanager
def call(library: ReadSources, door: str, tool: str) -> Iterator[ReadCall]:
    """A call, with its audit row at the end. Refusals of the store are raised as `Refused`."""
    rules = privacy.load_rules(library.database.data_dir, library.settings.privacy)
    made = ReadCall(library, rules)
    outcome: Outcome = "failed"
    try:
        with _refusing():
            if rules.unreadable:
                raise ReadRefused("rules_unreadable", rules.unreadable)
            yield made
        outcome = "answered"
    except ReadRefused:
        outcome = "refused"
        raise
    finally:
        returned = made.returned if outcome == "answered" else 0
        with library.database.write() as connection:
            access_log.record(connection, Access(made.now_ms, door, tool, outcome, returned, made.withheld))


@contextmanager
def _refusing() -> Iterator[None]:
    """Tell what a caller can act on as a `Refused`; anything else is a failure of ours."""
    try:
        yield
    except FrameNotFound as error:
        raise ReadRefused("not_found", f"there is no frame {error.frame_id}") from error
    except MediaGone as error:
        sentence = f"the picture of frame {error.frame_id} is gone ({error.reason}); its text may remain"
        raise ReadRefused("gone", sentence) from error
    except BadCursor as error:
        raise ReadRefused("invalid", f"cursor: {error}") from error
    except StoreBusy as error:
        raise ReadRefused("busy", "the database is busy; try again") from error
    except DeadlineExceeded as error:
        raise ReadRefused("busy", "this took too long and was stopped; ask for less") from error
