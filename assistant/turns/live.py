"""Turns that run by themselves: whoever asked may leave, and others may follow.

A turn runs in a thread of its own and keeps its events in order. A follower asks for those after the
last one it has, so nothing is lost or told twice, however often its connection drops. Finished turns
are kept for a while for those who were late; after that the store has them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from assistant.context.background import NO_CONTEXT, PreparedContext
from assistant.core.errors import TurnRefused, UnknownChat, turn_error
from assistant.core.records import (
    ApprovalEvent,
    ErrorEvent,
    FinalEvent,
    StatusEvent,
    TurnError,
    TurnEvent,
    TurnRequest,
)
from assistant.core.texts import own_language
from assistant.turns import second_reading
from assistant.turns.plan import TurnServices, admit
from assistant.turns.stored_turns import stored_turn
from assistant.turns.turn import run_admitted, unattended
from engines.cancellation import CancelToken
from store.core import translation

log = logging.getLogger(__name__)

_FOLLOWED_S = 3.0
MAX_RUNNING = 32
MAX_KEPT = 64
"""Turns whose events are kept; those that run are always among them."""


class TooManyTurns(Exception):
    """No more turns can run at the moment."""


class LiveTurn:
    """One turn and its events so far. An event's number is its place, from 1."""

    def __init__(self, stop: CancelToken, context: PreparedContext) -> None:
        self.chat_id = 0
        self.n = 0
        self.stop = stop
        self.context = context
        self._events: list[TurnEvent] = []
        self.is_over = False
        self._changed = threading.Condition()
        self._asked_s = time.monotonic()

    @property
    def is_followed(self) -> bool:
        """Whether somebody asked for events lately: a page that cannot be seen does not."""
        return time.monotonic() - self._asked_s < _FOLLOWED_S

    def after(self, seq: int, timeout_s: float = 0) -> list[tuple[int, TurnEvent]]:
        """Events with their numbers beyond `seq`; waits up to `timeout_s` for the first."""
        self._asked_s = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: len(self._events) > seq or self.is_over, timeout_s)
            return list(enumerate(self._events[seq:], seq + 1))

    def follow(self) -> Iterator[tuple[int, TurnEvent]]:
        """All events with their numbers until the turn is over."""
        seq = 0
        while not self.is_over or seq < len(self._events):
            for numbered in self.after(seq, 1.0):
                yield numbered
                seq = numbered[0]

    def settle(self, timeout_s: float) -> None:
        """Wait until the turn is over or a person has to decide, at most `timeout_s`."""
        with self._changed:
            self._changed.wait_for(
                lambda: self.is_over or any(isinstance(event, ApprovalEvent) for event in self._events),
                timeout_s,
            )

    def add(self, event: TurnEvent) -> None:
        with self._changed:
            self._events.append(event)
            self.is_over = self.is_over or isinstance(event, FinalEvent)
            self._changed.notify_all()

    def close(self) -> None:
        """No event comes any more."""
        with self._changed:
            self.is_over = True
            self._changed.notify_all()


@dataclass
class TurnSeries:
    """Questions that are asked one after the other, at most `count`, until it `is_stopped`. Each is drawn
    when its turn has come. `over` of them are; `failed` of these have no answer, and `error` says why the
    last of these has none.
    """

    requests: Iterator[TurnRequest]
    count: int
    over: int = 0
    failed: int = 0
    error: str = ""
    is_over: bool = False
    is_stopped: bool = False
    now: LiveTurn | None = None

    @property
    def is_running(self) -> bool:
        return not self.is_stopped and not self.is_over

    def stop(self) -> None:
        """Ask no further question, and end the one that is being answered."""
        self.is_stopped = True
        if self.now:
            self.now.stop.set()

    def note(self, error: str) -> None:
        """One more is over; `error` says why it has no answer, "" where it has. One that was stopped is no
        failure.
        """
        self.over += 1
        if error and not self.is_stopped:
            self.failed += 1
            self.error = error


class LiveTurns:
    """The turns of this process, by chat and number. Safe to share between threads."""

    def __init__(self) -> None:
        self.series: dict[str, TurnSeries] = {}
        """The latest series of each name."""
        self.on_unseen: Callable[[], object] = lambda: None
        """Called when a turn waits for a person and nobody follows it."""
        self._turns: OrderedDict[tuple[int, int], LiveTurn] = OrderedDict()
        self._lock = threading.Lock()
        self._checking = threading.Lock()  # two presses ask a model once

    def get(self, chat_id: int, n: int) -> LiveTurn | None:
        with self._lock:
            return self._turns.get((chat_id, n))

    def so_far(self, chat_id: int, n: int) -> list[TurnEvent] | None:
        """All events of a turn up to now; None when no more come here."""
        live = self.get(chat_id, n)
        events = live.after(0) if live else []
        return None if live is None or live.is_over else [event for _, event in events]

    def start(self, services: TurnServices, request: TurnRequest) -> LiveTurn:
        """Begin a turn. Raises `TurnRefused` when it cannot become one, and `TooManyTurns`."""
        self._refuse_too_many()
        plan = admit(services, request)
        turn = LiveTurn(CancelToken(), plan.context)
        return self._begun(turn, run_admitted(services, plan, turn.stop), services)

    def check(self, services: TurnServices, chat_id: int, n: int, model: str | None) -> LiveTurn:
        """Let a model read an answer again; one that still runs or is being read goes on as it is.

        Raises `TurnRefused`, and `TooManyTurns`.
        """
        with self._checking:
            running = self.get(chat_id, n)
            if running and not running.is_over:
                return running
            self._refuse_too_many()
            turn = LiveTurn(CancelToken(), NO_CONTEXT)
            turn.chat_id, turn.n = chat_id, n
            return self._begun(turn, second_reading.run(services, chat_id, n, model, turn.stop), services)

    def start_series(
        self, name: str, services: TurnServices, requests: Iterator[TurnRequest], count: int
    ) -> None:
        """Ask these one after the other; where a series of that name runs, it goes on instead.

        Nobody is asked meanwhile: a call that has to be approved is denied.
        """
        with self._lock:
            if name in self.series and self.series[name].is_running:
                return
            self.series[name] = series = TurnSeries(requests, count)
        _start("turns", self._ask_all, series, services)

    def _ask_all(self, series: TurnSeries, services: TurnServices) -> None:
        while series.is_running:
            try:
                request = next(series.requests, None)
                if request is None:
                    break
                series.now = turn = self.start(services, request)
                if series.is_stopped:  # while it was admitted
                    turn.stop.set()
                error: TurnError | None = turn_error(UnknownChat(turn.chat_id), "en")
                for event in unattended(services, (event for _, event in turn.follow())):
                    if isinstance(event, FinalEvent):
                        error = event.result.error
                series.note(f"{error.message} {error.action}" if error else "")
            except Exception as failure:  # whatever it is, the others may go better
                log.exception("a question of a series was not asked")
                series.note(_sentence(failure))
        series.is_over = True
        services.database.close_thread()

    def _refuse_too_many(self) -> None:
        with self._lock:
            if sum(not turn.is_over for turn in self._turns.values()) >= MAX_RUNNING:
                raise TooManyTurns

    def _begun(self, turn: LiveTurn, events: Iterator[TurnEvent], services: TurnServices) -> LiveTurn:
        """A turn whose first event has come; the others come in a thread of its own."""
        first = next(events)
        if isinstance(first, StatusEvent):  # not where an answer was deleted before it was read again
            turn.chat_id, turn.n = first.chat_id, first.turn_id
        turn.add(first)
        with self._lock:
            self._turns[turn.chat_id, turn.n] = turn
            over = [key for key, live in self._turns.items() if live.is_over]
            for key in over[: max(0, len(self._turns) - MAX_KEPT)]:
                del self._turns[key]
        name = f"turn-{turn.chat_id}-{turn.n}"
        _start(name, _drain, turn, events, services, self.on_unseen)
        return turn


def _start(name: str, target: Callable[..., None], *arguments: object) -> None:
    """Run in a thread of its own, in the language of the person who asked."""
    spoken = translation.spoken()

    def run() -> None:
        translation.speak(*spoken)
        target(*arguments)

    threading.Thread(target=run, name=name, daemon=True).start()


def _sentence(error: Exception) -> str:
    """What the person reads of an error: the words of a refusal, and of the system where it gave any."""
    if isinstance(error, TurnRefused):
        return str(error)
    system = error.strerror if isinstance(error, OSError) else ""
    return system or turn_error(error, own_language()).message


def _drain(
    turn: LiveTurn, events: Iterator[TurnEvent], services: TurnServices, on_unseen: Callable[[], object]
) -> None:
    try:
        for event in events:
            turn.add(event)
            if isinstance(event, ApprovalEvent) and not turn.is_followed:
                on_unseen()
    except UnknownChat:
        log.info("chat %s was deleted while turn %s was answered", turn.chat_id, turn.n)
    except Exception:  # the turn is stored as interrupted; whoever follows it must learn that
        log.exception("turn %s of chat %s failed", turn.n, turn.chat_id)
        with suppress(UnknownChat):  # deleted meanwhile
            result = stored_turn(services.database, turn.chat_id, turn.n)
            if result.error:
                turn.add(ErrorEvent(result.error))
            turn.add(FinalEvent(result))
    finally:
        turn.close()
        services.database.close_thread()
