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
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from capture.core.clock import Clock
from capture.privacy import Rules
from capture.server import NotLetIn, Refused, Server, Unreachable
from store.core.errors import SpoolEntryInvalid, StoreError
from store.core.keys import app_digest
from store.core.paths import DataDir, replace_file
from store.privacy.rules import OwnChoices, WindowFacts, save_server_rules, validate
from store.spool import page_text, residual_files
from store.spool.process_state import read_capture_state
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
_REPORTED_AT_ONCE = 100
_DELETED = "kept", "screen"
"""What was deleted counts as kept, as everywhere (`store.timeline.ledger.record_deleted`)."""


@dataclass(frozen=True, slots=True)
class _Deletion:
    """What is to be removed of the time up to `came_ms` of this machine's own clock, also of what the daemon
    writes until `until_s`.
    """

    id: int
    start_ms: int
    end_ms: int
    app_sha256: str | None
    came_ms: int
    until_s: float

    def takes(self, captured_ms: int, app_name: str | None) -> bool:
        is_of_app = self.app_sha256 in (None, app_name and app_digest(app_name))
        return is_of_app and self.start_ms <= captured_ms < self.end_ms and captured_ms <= self.came_ms


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
        self._deletion_id = 0  # the server knows what was carried out before this program began
        self._removed: dict[int, int] = {}  # by deletion
        self._recent: list[_Deletion] = []
        self._rules_sha256 = ""
        self._talk_due_s = 0.0
        self._failures = 0
        self._problem = ""

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
        return wait_s

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
            return self._spool.fail(name, str(error))
        if entry is None:
            return None
        try:
            capture = entry.record
            if isinstance(capture, Capture) and (stays := self._stays_because(capture)):
                self._report([(capture.monitor, *stays, capture.captured_ms)])
            else:
                self._hand_in(entry)
        except (Refused, SpoolEntryInvalid) as error:
            log.error("entry %s is set aside: %s", name, error)
            return self._spool.fail(name, f"not handed in: {error}")
        except BaseException:
            with suppress(FileNotFoundError):
                self._spool.give_back(name)
            raise
        return self._spool.finish(name)

    def _hand_in(self, entry: Entry) -> None:
        parts = {"entry": read_file(entry.folder / "entry.json", MAX_RECORD_BYTES)}
        if entry.image is not None and isinstance(entry.record, Capture):
            parts["image"] = read_file(entry.image, MAX_IMAGE_BYTES)
        if entry.text is not None:
            parts["text"] = read_file(entry.text, page_text.MAX_BYTES)
        parts["sent_at"] = str(self._clock.now_ms() / 1000).encode()
        answer = self._server.send_parts("/hosts/entries", parts)
        if answer["deletion_id"] > self._deletion_id:
            self._talk_due_s = min(self._talk_due_s, time.monotonic() + _IDLE_S)

    def _stays_because(self, capture: Capture) -> tuple[str, str] | None:
        """(decision, reason) of what was deleted while the daemon wrote it, or what a rule leaves out that
        was made afterwards. Raises `StoreError`.
        """
        for deletion in self._recent:
            if deletion.takes(capture.captured_ms, capture.app_name):
                self._removed[deletion.id] += 1
                return _DELETED
        rules = self._rules.current()
        if rules.unreadable:
            raise StoreError(rules.unreadable)
        window = WindowFacts(capture.app_name, capture.window_name, capture.browser_url)
        decision = rules.decide(window)
        return ("excluded", decision.reason) if decision.rule else None

    def _report(self, runs: list[tuple[str, str, str, int]]) -> None:
        """Looks whose pictures stay here, as (monitor, decision, reason, when), so that all looks are
        counted. The report has a name that another try gives it, too.
        """
        told = tuple(
            DecisionRun(monitor, decision, reason, at, at, 1) for monitor, decision, reason, at in runs
        )
        at = told[0].start_ms
        batch = str(uuid.uuid5(uuid.UUID(self._instance), repr(told)))
        self._spool.put(LookReport(batch, at, at, 0, told))

    # -- what the server wants -------------------------------------------------------------------

    def _talk(self) -> None:
        """Say how this machine is, and do what the server wants until it wants nothing new."""
        over = [each for each in self._recent if each.until_s <= time.monotonic()]
        for deletion in over:
            self._removed[deletion.id] += self._remove(deletion)
        for _ in range(_ROUNDS):
            wishes = self._server.send("/hosts/state", self._state())
            self._follow_rules(wishes)
            for order in wishes["deletions"]:
                self._carry_out(order)
            is_done = wishes["deletion_id"] == self._deletion_id and wishes["rules"] is None
            self._deletion_id = wishes["deletion_id"]
            if is_done:
                break
        self._recent = [each for each in self._recent if each not in over]
        self._removed = {each.id: self._removed[each.id] for each in self._recent}
        self._talk_due_s = time.monotonic() + TALK_EVERY_S

    def _state(self) -> dict[str, Any]:
        state = read_capture_state(self._data_dir.spool)
        removed = [{"deletion_id": key, "removed": number} for key, number in self._removed.items()]
        return {
            "instance": self._instance,
            "sent_at": self._clock.now_ms() / 1000,
            "waiting": len(self._spool.waiting()),
            "problem": state.reason if state else "",
            "rules_sha256": self._rules_sha256,
            "deletion_id": self._deletion_id,
            "carried_out": removed[-1_000:],
        }

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
            (waiting, ("excluded", decision.reason))
            for waiting in self._waiting(0, 2**62)
            if waiting.window and (decision := current.decide(waiting.window)).rule
        )
        self._withdraw(found)
        self._rules_sha256 = wishes["rules_sha256"]

    def _carry_out(self, order: dict[str, Any]) -> None:
        start_ms, end_ms = (round(order[name] * 1000) for name in ("start_time", "end_time"))
        deletion = _Deletion(
            order["id"], start_ms, end_ms, order["app_sha256"],
            self._clock.now_ms(), time.monotonic() + _ON_ITS_WAY_S,
        )  # fmt: skip
        removed = self._remove(deletion)
        log.info("deletion %d of the server took %d captures that waited here", deletion.id, removed)
        self._removed[deletion.id] = removed
        self._recent.append(deletion)

    def _remove(self, deletion: _Deletion) -> int:
        return self._withdraw(
            (each, _DELETED)
            for each in self._waiting(deletion.start_ms, deletion.end_ms)
            # What cannot be read may be of the app.
            if deletion.takes(each.captured_ms, each.window.app_name if each.window else None)
            or (each.window is None and each.captured_ms <= deletion.came_ms)
        )

    def _waiting(self, start_ms: int, end_ms: int) -> list[Waiting]:
        """The captures of a time, but for those that the daemon is just writing."""
        found = residual_files.captures(self._data_dir, start_ms, end_ms)
        return [each for each in found if not each.is_unfinished]

    def _withdraw(self, found: Iterable[tuple[Waiting, tuple[str, str]]]) -> int:
        """Remove captures, their looks told before. Raises `OSError` where one stays: then nobody hears that
        it is gone.
        """
        entries = list(found)
        for at in range(0, len(entries), _REPORTED_AT_ONCE):
            some = entries[at : at + _REPORTED_AT_ONCE]
            runs = [(each.monitor, *stays, each.captured_ms) for each, stays in some if each.batch_id]
            if runs:
                self._report(runs)
            residual_files.discard(self._data_dir, [each for each, _ in some])
            if any(each.folder.exists() for each, _ in some):
                raise OSError("captures that were to be deleted cannot be removed from the spool")
        return len(entries)


def _instance(data_dir: DataDir) -> str:
    """Which machine this is, for good: two that show one token are told apart."""
    path = data_dir.spool / "host-id"
    try:
        return str(uuid.UUID(path.read_text(encoding="ascii").strip()))
    except (FileNotFoundError, ValueError):
        made = str(uuid.uuid4())
        replace_file(path, made.encode())
        return made
