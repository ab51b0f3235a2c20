"""From the spool of this machine to the server that it captures for: ``recollect capture --server``.

The daemon writes its spool as ever and knows nothing of a network. A thread beside it hands in one entry
after the other, oldest first, and removes each once the server has it durably. Killed at any instruction, cut
off or not answered, it hands in again what it did not remove, and the server knows that by its id. A server
that is away fills the spool up to its bound, which the daemon says as ever: looks without room are counted.

Before entries, and every few seconds, it says how this machine is and is told the rules and deletions of the
server. Rules are written beside the person's own and hold for both. A deletion takes what waits here; only
then the server hears that it was carried out, and until then takes in nothing of that time from here.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from capture.core.clock import Clock
from capture.privacy import Rules
from capture.server import NotLetIn, Refused, Server, Unreachable
from store.core.errors import SpoolEntryInvalid, StoreError
from store.core.keys import app_digest
from store.core.paths import DataDir, replace_file
from store.privacy.rules import OwnChoices, WindowFacts, save_server_rules, validate
from store.spool import page_text, residual_files
from store.spool.process_state import FOREVER_MS, CaptureState, SenderState, ServerPause, State
from store.spool.queue import (
    MAX_IMAGE_BYTES,
    MAX_RECORD_BYTES,
    Capture,
    DecisionRun,
    Entry,
    LookReport,
    Spool,
    read_file,
)
from store.spool.residual_files import Waiting

log = logging.getLogger(__name__)

TALK_EVERY_S = 5.0
_IDLE_S = 0.5
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_AT_ONCE = 50
_ROUNDS = 1_000
_ON_ITS_WAY_S = 60.0
"""What the daemon saw before a deletion came, it has written by then."""
_SAME_PAUSE_MS = 2_000
_DELETED = "kept", "screen"
"""What was deleted counts as kept, as everywhere (`store.timeline.ledger.record_deleted`)."""


@dataclass(frozen=True, slots=True)
class _Reached(State):
    """The last deletion of the server that is carried out here. It lies with the spool that it tells of, so
    that both are copied and put back together. Where it cannot be read all is told anew.
    """

    FILE = "host-deletion"
    IS_DURABLE = True
    deletion_id: int = 0
    deletion_name: str = ""


@dataclass(slots=True)
class _Deletions:
    """Those that came together at `came_ms`, by this machine's clock, as (start, end, digest of the app or
    None, id). What was on its way then has arrived by `until_s` of the monotonic clock. `removed` counts
    captures by deletion.

    What lies in the spool goes whatever a clock says. Only of what the daemon was about to write when they
    came is the clock asked.
    """

    orders: Sequence[tuple[int, int, str | None, int]]
    came_ms: int
    until_s: float
    removed: Counter[int] = field(default_factory=Counter)

    def takes(self, captured_ms: int, window: WindowFacts | None) -> int | None:
        """Which deletion takes a capture; what cannot be read (None) may be of any app."""
        digest = app_digest(window.app_name) if window and window.app_name else None
        return next(
            (
                number
                for start_ms, end_ms, app, number in self.orders
                if start_ms <= captured_ms < end_ms and (window is None or app in (None, digest))
            ),
            None,
        )

    def takes_late(self, captured_ms: int, window: WindowFacts | None, now_ms: int) -> int | None:
        """The same of what was written after they came. What was seen since then stays; what is ahead of the
        clock was seen before that was set back.
        """
        return None if self.came_ms < captured_ms <= now_ms else self.takes(captured_ms, window)


class Sender(threading.Thread):
    """Runs until `stop` is set. Only one may take from a spool: the caller holds the lock of its worker."""

    def __init__(
        self,
        data_dir: DataDir,
        spool: Spool,
        rules: Rules,
        server: Server,
        clock: Clock,
        stop: threading.Event,
    ) -> None:
        super().__init__(name="sender", daemon=True)
        self._data_dir = data_dir
        self._spool = spool
        self._rules = rules
        self._server = server
        self._clock = clock
        self._stop_event = stop
        self._instance = _instance(data_dir)
        self._reached = _Reached.read(data_dir.spool) or _Reached()
        self._recent: list[_Deletions] = []
        self._rules_sha256 = ""
        self._talk_due_s = 0.0
        self._failures = 0
        self._problem = ""
        earlier = SenderState.read(data_dir.spool)
        self._accepted_ms = earlier.accepted_ms if earlier else None
        self._skew_ms = 0

    def run(self) -> None:
        self._spool.recover()
        while not self._stop_event.is_set():
            self._stop_event.wait(self.step())
        self._server.close()

    def step(self) -> float:
        """Do what is due; returns how many seconds to wait. Nothing gets past it: the daemon goes on."""
        try:
            if time.monotonic() >= self._talk_due_s:
                self._talk()
            has_sent = self._send_some()
        except Unreachable as error:
            return self._wait(str(error), max(error.retry_after_s, self._backoff_s()))
        except (NotLetIn, Refused) as error:
            return self._wait(str(error), _LONGEST_WAIT_S)
        except Exception as error:
            log.exception("the sender stumbled")
            return self._wait(f"{type(error).__name__} while sending", self._backoff_s())
        if self._problem:
            log.info("the server has answered again")
        self._failures, self._problem = 0, ""
        return 0.0 if has_sent else _IDLE_S

    def _backoff_s(self) -> float:
        return min(_LONGEST_WAIT_S, _SHORTEST_WAIT_S * (1 << min(self._failures, 10)))

    def _wait(self, problem: str, wait_s: float) -> float:
        """Spread out, so that many machines do not come back at one moment; and talk first then."""
        self._failures += 1
        self._talk_due_s = 0.0
        wait_s *= random.uniform(1.0, 1.5)
        if problem != self._problem:
            entries, used = self._spool.usage()
            log.warning(
                "%s; %d entries (%.1f MB of at most %.0f) wait here", problem, entries, used / 1e6,
                self._spool.max_bytes / 1e6,
            )  # fmt: skip
            self._problem = problem
        self._tell(problem)
        return wait_s

    def _tell(self, problem: str) -> None:
        """For the doctor of this machine. Entries go on their way also where this cannot be written."""
        state = SenderState(
            self._server.url,
            self._clock.now_ms(),
            self._accepted_ms,
            problem,
            len(self._spool.waiting()),
            sum(1 for _ in (self._spool.folder / "failed").iterdir()),
            self._skew_ms,
        )
        try:
            state.write(self._data_dir.spool)
        except OSError as error:
            log.warning("how handing in goes cannot be written down: %s", error)

    # -- entries ---------------------------------------------------------------------------------

    def _send_some(self) -> bool:
        """Hand in some entries; whether there were any."""
        names = self._spool.waiting()[:_AT_ONCE]
        for name in names:
            if self._stop_event.is_set() or time.monotonic() >= self._talk_due_s:
                break
            self._send(name)
        return bool(names)

    def _send(self, name: str) -> None:
        try:
            entry = self._spool.take(name)
        except SpoolEntryInvalid as error:
            self._spool.fail(name, str(error))
            return
        if entry is None:
            return
        try:
            capture = entry.record
            if isinstance(capture, Capture) and (stays := self._stays_because(capture)):
                self._report(capture.capture_id, capture.monitor, stays, capture.captured_ms)
            else:
                self._hand_in(entry)
            done = partial(self._spool.finish, name)
        except (Refused, SpoolEntryInvalid) as error:
            log.error("entry %s is set aside: %s", name, error)
            done = partial(self._spool.fail, name, f"not handed in: {error}")
        except BaseException:
            with suppress(FileNotFoundError):
                self._spool.give_back(name)
            raise
        with suppress(FileNotFoundError):  # it was deleted here meanwhile
            done()

    def _hand_in(self, entry: Entry) -> None:
        parts = {"entry": read_file(entry.folder / "entry.json", MAX_RECORD_BYTES)}
        if entry.image is not None and isinstance(entry.record, Capture):
            parts["image"] = read_file(entry.image, MAX_IMAGE_BYTES)
        if entry.text is not None:
            parts["text"] = read_file(entry.text, page_text.MAX_BYTES)
        facts = {"sent_at": self._clock.now_ms() / 1000, **asdict(self._reached)}
        parts |= {name: str(fact).encode() for name, fact in facts.items()}
        answer = self._server.send_parts("/hosts/entries", parts)
        self._accepted_ms = self._clock.now_ms()
        if answer["deletion_id"] != self._reached.deletion_id:
            self._talk_due_s = min(self._talk_due_s, time.monotonic() + _IDLE_S)

    def _stays_because(self, capture: Capture) -> tuple[str, str] | None:
        """(decision, reason) of what was deleted while the daemon wrote it, or what a rule leaves out that
        was made afterwards. Raises `StoreError`.
        """
        window = WindowFacts(capture.app_name, capture.window_name, capture.browser_url)
        for deletions in self._recent:
            taken_by = deletions.takes_late(capture.captured_ms, window, self._clock.now_ms())
            if taken_by is not None:
                deletions.removed[taken_by] += 1
                return _DELETED
        rules = self._rules.current()
        if rules.unreadable:
            raise StoreError(rules.unreadable)
        reason = rules.kind_on([window, *(WindowFacts(*each) for each in capture.visible or ())])
        return ("excluded", reason) if reason else None

    def _report(self, capture_id: str, monitor: str, stays: tuple[str, str], at: int) -> None:
        """A look whose picture stays here, so that all looks are counted. The report has a name that another
        try gives it, too.
        """
        batch = str(uuid.uuid5(uuid.UUID(self._instance), capture_id))
        self._spool.put(LookReport(batch, at, at, 0, (DecisionRun(monitor, *stays, at, at, 1),)))

    # -- what the server wants -------------------------------------------------------------------

    def _talk(self) -> None:
        """Say how this machine is, and do what the server wants until it wants nothing new."""
        over = [each for each in self._recent if each.until_s <= time.monotonic()]
        for deletions in over:
            self._remove(deletions, partial(deletions.takes_late, now_ms=self._clock.now_ms()))
        for _ in range(_ROUNDS):
            wishes = self._server.send("/hosts/state", self._state())
            self._skew_ms = round(wishes["server_time"] * 1000) - self._clock.now_ms()
            self._follow_pause(wishes.get("pause"))
            self._follow_rules(wishes)
            self._carry_out(wishes["deletions"])
            reached = _Reached(wishes["deletion_id"], wishes["deletion_name"])
            is_done = reached == self._reached and wishes["rules"] is None
            if reached != self._reached:
                reached.write(self._data_dir.spool)
                self._reached = reached
            if is_done:
                break
        self._recent = [each for each in self._recent if each not in over]
        self._talk_due_s = time.monotonic() + TALK_EVERY_S
        self._tell("")

    def _state(self) -> dict[str, Any]:
        state = CaptureState.read(self._data_dir.spool)
        counted = [each for deletions in self._recent for each in deletions.removed.items()]
        removed = [{"deletion_id": key, "removed": number} for key, number in counted]
        return {
            "instance": self._instance,
            "sent_at": self._clock.now_ms() / 1000,
            "waiting": len(self._spool.waiting()),
            "problem": state.reason if state else "",
            "rules_sha256": self._rules_sha256,
            **asdict(self._reached),
            "carried_out": removed[-1_000:],
        }

    def _follow_pause(self, pause: dict[str, float | None] | None) -> None:
        """Write the server's pause down, from where the daemon reads it. The times are of its clock."""
        folder = self._data_dir.spool
        if pause is None:
            ServerPause.forget(folder)
            return
        since_ms, until_ms = (
            FOREVER_MS if at is None else round(at * 1000) - self._skew_ms
            for at in (pause["since"], pause["until"])
        )
        known = ServerPause.read(folder)
        # Of one pause each answer tells another end, by the time that it took on its way.
        if known is None or abs(known.until_ms - until_ms) > _SAME_PAUSE_MS:
            ServerPause(since_ms, until_ms).write(folder)

    def _follow_rules(self, wishes: dict[str, Any]) -> None:
        """Write the rules down, from where the daemon reads them, and take what they leave out."""
        rules = wishes["rules"]
        if rules is None:
            return
        given = [{key: value for key, value in rule.items() if value is not None} for rule in rules["rules"]]
        choices = OwnChoices(validate(given), rules["defaults"], rules["mask_maybe_private"])
        save_server_rules(self._data_dir, choices)
        current = self._rules.current()
        found = (
            (waiting, ("excluded", reason))
            for waiting in self._waiting(0, 2**62)
            if (reason := current.kind_on(waiting.windows))
        )
        self._withdraw(found)
        self._rules_sha256 = wishes["rules_sha256"]

    def _carry_out(self, orders: list[dict[str, Any]]) -> None:
        if not orders:
            return
        told = [
            (round(each["start_time"] * 1000), round(each["end_time"] * 1000), each["app_sha256"], each["id"])
            for each in orders
        ]
        deletions = _Deletions(told, self._clock.now_ms(), time.monotonic() + _ON_ITS_WAY_S)
        self._remove(deletions, deletions.takes)
        log.info(
            "%d deletions of the server took %d captures that waited here",
            len(orders), deletions.removed.total(),
        )  # fmt: skip
        self._recent.append(deletions)

    def _remove(self, deletions: _Deletions, takes: Callable[[int, WindowFacts | None], int | None]) -> None:
        """In one walk over the spool, whatever the number of the deletions."""
        start_ms, end_ms = (
            min(each[0] for each in deletions.orders),
            max(each[1] for each in deletions.orders),
        )
        waiting = self._waiting(start_ms, end_ms)
        found = [(each, takes(each.captured_ms, each.window)) for each in waiting]
        self._withdraw((each, _DELETED) for each, taken_by in found if taken_by is not None)
        deletions.removed.update(taken_by for _, taken_by in found if taken_by is not None)

    def _waiting(self, start_ms: int, end_ms: int) -> list[Waiting]:
        """The captures of a time, but for those that the daemon is just writing."""
        found = residual_files.captures(self._data_dir, start_ms, end_ms)
        return [each for each in found if not each.is_unfinished]

    def _withdraw(self, found: Iterable[tuple[Waiting, tuple[str, str]]]) -> None:
        """Remove captures, the look of each told before. Raises `OSError` where one stays: then nobody hears
        that it is gone.
        """
        for each, stays in found:
            if each.batch_id:
                self._report(each.capture_id or each.folder.name, each.monitor, stays, each.captured_ms)
            residual_files.discard(self._data_dir, [each])
            if each.folder.exists():
                raise OSError("captures that were to be deleted cannot be removed from the spool")


def _instance(data_dir: DataDir) -> str:
    """Which machine this is, for good: two that show one token are told apart."""
    path = data_dir.spool / "host-id"
    try:
        return str(uuid.UUID(path.read_text(encoding="ascii").strip()))
    except (FileNotFoundError, ValueError):
        made = str(uuid.uuid4())
        replace_file(path, made.encode())
        return made
