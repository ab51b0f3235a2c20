"""The crash matrix: every writer, broken at every durable step, and started again.

A child process writes. Each of its durable steps (a file opened, flushed, renamed or removed; a transaction
begun, committed, and done) is counted by patched functions of `os` and by SQLite's commit hook. One step is
chosen by the seed, and something happens there. Then all is started as the programs start, without faults:
what was acknowledged is there exactly once, the spool is empty, verify finds nothing, receipts are true.

    python -m tests.crashes [RUNS [SEED]]  # 1,000 runs or more write the table of docs/crashes.md
"""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import apsw

from ingest.core.home import Home, open_home
from ingest.core.worker_stats import WorkerStats
from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from ingest.reading.backlog import Backlog
from ingest.reading.embedding import EmbeddingLoop
from ingest.reading.reader import ReaderLoop
from ingest.worker.storing import SpoolConsumer
from store.chats import conversations
from store.core import database as store_database
from store.core.database import Database
from store.core.errors import StoreError
from store.core.paths import DataDir
from store.core.settings import RetentionSettings, Settings
from store.deletion import deletion, receipts, request, retention
from store.frames import packing, text_index
from store.spool.queue import LookReport
from store.verify import verify as verifying
from tests.factories import NOON_MS, capture, webp
from tests.fake_embedder import FakeEmbedder
from tests.ingest.conftest import ScriptedEngine, opener
from tests.interleavings import FROM_MS, LATER_MS, LINE, SECRET, UNTIL_MS, screen, shown, template
from tests.store.deletion.test_deletion import places_with

DOCS = Path(__file__).parents[1] / "docs" / "crashes.md"
FAULTS = {
    "killed": "SIGKILL",
    "full": "no space is left, from this step on",
    "read-only": "nothing can be written, from this step on",
    "locked": "another process holds the write lock, from this step on",
    "clock": "the clock jumps by up to a month, either way",
    "suspended": "SIGSTOP, and SIGCONT hours later; the others have started and done their work meanwhile",
    "bad page": "killed, and a page of the database is overwritten",
    "bad entry": "killed, and a file in the spool is cut, overwritten or gone",
}
REFUSED = {"full": errno.ENOSPC, "read-only": errno.EROFS}
DAY_MS = 86_400_000
SUSPENDED_S = 8 * 3_600
"""Longer than any program waits for a sign of life, or for a file that another one is writing."""


# -- the child ----------------------------------------------------------------------------


class Injection:
    """Counts the durable steps of this process, and lets a fault happen at one of them."""

    def __init__(self, home: Path, fault: str, at: int, seed: int, tell: Callable[[str], None]) -> None:
        self.labels: list[str] = []
        self._home, self._fault, self._at, self._tell = str(home), fault, at, tell
        self._chance = random.Random(seed)
        self._jump_ms = 0
        self._lock = threading.RLock()

    def clock(self) -> int:
        return LATER_MS + self._jump_ms

    def step(self, label: str) -> None:
        """Something durable is about to happen (or, for ``done``, has just happened)."""
        with self._lock:
            self.labels.append(label)
            now = len(self.labels)
        if now < self._at or not self._fault:
            return
        if self._fault in REFUSED and label != "done":
            self._refuse(label, REFUSED[self._fault])
        if now == self._at:
            self._happen()

    def _refuse(self, label: str, number: int) -> None:
        if label == "commit":
            raise apsw.FullError("full") if number == errno.ENOSPC else apsw.ReadOnlyError("read-only")
        raise OSError(number, os.strerror(number))

    def _happen(self) -> None:
        if self._fault in ("killed", "bad page", "bad entry"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fault == "locked":
            self._tell("lock")
        if self._fault == "clock":
            self._jump_ms = self._chance.choice((-1, 1)) * self._chance.randrange(30 * DAY_MS)
        if self._fault == "suspended":
            self._jump_ms = SUSPENDED_S * 1000
            for name in ("time", "monotonic"):
                setattr(time, name, partial(_later, getattr(time, name)))
            self._tell("stopping")
            os.kill(os.getpid(), signal.SIGSTOP)

    def install(self) -> None:
        """For good: this process ends with it."""
        for name in ("open", "fsync", "rename", "replace", "unlink", "rmdir", "mkdir"):
            self._wrap(name)
        apsw.connection_hooks.append(lambda connection: connection.set_commit_hook(self._on_commit))
        real, own = Database.write, self

        @contextmanager
        def write(database: Database) -> Iterator[apsw.Connection]:
            own.step("begin")
            with real(database) as connection:
                yield connection
            own.step("done")

        Database.write = write  # type: ignore[method-assign]
        store_database.BUSY_TIMEOUT_MS = 20
        Database.checkpoint.__defaults__ = (20,)  # type: ignore[attr-defined]

    def _on_commit(self) -> bool:
        self.step("commit")
        return False

    def _wrap(self, name: str) -> None:
        real = getattr(os, name)

        def stepping(*given: Any, **named: Any) -> Any:
            is_written = name != "open" or (given[1:] and given[1] & (os.O_WRONLY | os.O_RDWR))
            # Below a folder that is being removed, files are named without their path.
            is_ours = not isinstance(given[0], str | Path) or str(given[0]).startswith(self._home)
            if is_written and (is_ours or "dir_fd" in named):
                self.step(name)
            return real(*given, **named)

        setattr(os, name, stepping)


def _later(clock: Callable[[], float]) -> float:
    return clock() + SUSPENDED_S


def child(name: str, home: Path, fault: str, at: int, seed: int, out: int, back: int) -> NoReturn:
    """Write, and say what was acknowledged; the process ends here."""

    def tell(line: str) -> None:
        os.write(out, f"{line}\n".encode())
        if line == "lock":
            os.read(back, 1)

    code = 0
    try:
        injection = Injection(home, fault, at, seed, tell)
        injection.install()
        opened = open_home(DataDir(home), Settings())
        injection.labels.clear()
        WRITERS[name](opened, injection.clock, tell)
    except (StoreError, OSError, apsw.Error):
        code = 3  # refused
    except BaseException as error:
        tell(f"failed {error!r}")
        code = 4
    with suppress(OSError):
        tell(f"steps {len(injection.labels)}")
    os._exit(code)


# -- writers ------------------------------------------------------------------------------

Clock = Callable[[], int]
Tell = Callable[[str], None]
WRITERS: dict[str, Callable[[Home, Clock, Tell], object]] = {}
PREPARED: dict[str, Callable[[Home], object]] = {}
NOT_OF_THE_WORKER = ("capturing", "deleting", "sweeping", "chatting")


def writer(run: Callable[[Home, Clock, Tell], object]) -> Callable[[Home, Clock, Tell], object]:
    WRITERS[run.__name__] = run
    return run


def repeat(step: Callable[[], object], most: int = 60) -> None:
    for _ in range(most):
        if not step():
            return


def queued(home: Home, tell: Tell) -> None:
    """Four captures and the report that counts them."""
    batch = str(uuid.uuid4())
    for n in range(4):
        record = capture(NOON_MS - 500_000 + n * 1000, batch_id=batch)
        home.spool.put(record, webp(screen(n + 20)))
        tell(f"put {record.capture_id}")
    home.spool.put(LookReport(batch, NOON_MS - 500_000, NOON_MS - 490_000, 4))


@writer
def capturing(home: Home, clock: Clock, tell: Tell) -> object:
    return queued(home, tell)


@writer
def storing(home: Home, clock: Clock, tell: Tell) -> object:
    consumer = SpoolConsumer(home, Backlog(home.database, clock), WorkerStats(clock), clock)
    consumer.recover()
    return repeat(lambda: consumer.store_some(3), 8)


PREPARED["storing"] = lambda home: queued(home, lambda _: None)


@writer
def reading(home: Home, clock: Clock, tell: Tell) -> object:
    backlog = Backlog(home.database, clock)
    engine = opener(ScriptedEngine(LINE))
    loop = ReaderLoop(home, backlog, WorkerStats(clock), engine, clock, threading.Event())
    return repeat(loop.step, 8)


PREPARED["reading"] = lambda home: [shown(home, FROM_MS + 200_000 + n, None) for n in range(3)]


@writer
def remembering(home: Home, clock: Clock, tell: Tell) -> object:
    days = DailySummaryWriter(home.database, clock)
    loop = ObservationLoop(home.database, clock, threading.Event(), days=days)
    return repeat(loop.step)


@writer
def embedding(home: Home, clock: Clock, tell: Tell) -> object:
    return repeat(EmbeddingLoop(home.database, WorkerStats(clock), FakeEmbedder, threading.Event()).step, 8)


@writer
def packing_pictures(home: Home, clock: Clock, tell: Tell) -> object:
    packing.pack_next(home.database, home.media, clock())
    return deletion.empty_trash(home.database, home.media)


@writer
def retaining(home: Home, clock: Clock, tell: Tell) -> object:
    policy = RetentionSettings(days=1)
    return retention.run(home.database, home.media, policy, clock() + 3 * DAY_MS)


@writer
def retaining_nothing(home: Home, clock: Clock, tell: Tell) -> object:
    policy = RetentionSettings(days=1, preview_days=1, text_days=1)
    return retention.run(home.database, home.media, policy, clock() + 3 * DAY_MS)


@writer
def rebuilding_the_index(home: Home, clock: Clock, tell: Tell) -> object:
    return repeat(lambda: text_index.rebuild_some(home.database, 3))


@writer
def deleting(home: Home, clock: Clock, tell: Tell) -> object:
    deletion._ROUND_S, request.FRAMES_AT_ONCE = 0.0, 2
    tell("deleting")
    receipt = deletion.delete_range(home.database, home.media, FROM_MS, UNTIL_MS, now_ms=LATER_MS)
    return tell(f"receipt {receipt.verified}")


def with_waiting(home: Home) -> None:
    """Something of the range waits in the spool, and pictures share a pack."""
    home.spool.put(capture(FROM_MS + 1000, app_name=SECRET, batch_id="b"), webp(screen(40)))
    packing.pack_next(home.database, home.media, LATER_MS)
    deletion.empty_trash(home.database, home.media)


PREPARED["deleting"] = with_waiting


@writer
def sweeping(home: Home, clock: Clock, tell: Tell) -> object:
    """A start after a deletion that was broken off, broken off in turn."""
    deletion._ROUND_S, request.FRAMES_AT_ONCE = 0.0, 2
    return deletion.sweep(home.database, home.media)


def broken_off(home: Home) -> None:
    with_waiting(home)
    deletion._ROUND_S, request.FRAMES_AT_ONCE = 0.0, 2
    erasure = deletion.Erasure(home.database, home.media, request.Request(FROM_MS, UNTIL_MS), LATER_MS)
    with home.database.write() as connection:
        erasure.add_tombstones(connection, [(FROM_MS, UNTIL_MS)])
    erasure._find()
    erasure._remove_some(-1, merge_later=False)


PREPARED["sweeping"] = broken_off


@writer
def chatting(home: Home, clock: Clock, tell: Tell) -> object:
    database = home.database
    for n in range(3):
        chat = conversations.create(database, f"question {n}", clock())
        turn = conversations.add_turn(
            database, chat, mode="evidence", model="m", question="what?", start_ms=FROM_MS, end_ms=UNTIL_MS,
            timezone="UTC", now_ms=clock(),
        )  # fmt: skip
        conversations.finish_turn(database, turn.id, "an answer", {"claims": []}, [], clock())
        tell(f"answered {chat}")
    return conversations.delete(database, chat)


# -- the home before, and the start after -------------------------------------------------


def prepare(name: str, folder: Path) -> None:
    shutil.copytree(template(), folder)
    home = open_home(DataDir(folder).create(), Settings())
    PREPARED.get(name, lambda _: None)(home)
    home.database.checkpoint()
    home.database.close_thread()


def work(home: Home) -> None:
    """What a worker does that starts."""
    clock, tell = (lambda: LATER_MS), (lambda _: None)
    consumer = SpoolConsumer(home, Backlog(home.database, clock), WorkerStats(clock), clock)
    consumer.recover()
    repeat(lambda: consumer.store_some(9), 9)
    backlog, engine = Backlog(home.database, clock), opener(ScriptedEngine("harbour"))
    loop = ReaderLoop(home, backlog, WorkerStats(clock), engine, clock, threading.Event())
    repeat(loop.step)
    remembering(home, clock, tell)
    embedding(home, clock, tell)


def started(folder: Path, entries_may_fail: bool) -> list[str]:
    """What is wrong after all programs have started, and had their time."""
    home = open_home(DataDir(folder), Settings())
    try:
        deletion.sweep(home.database, home.media)
        work(home)
        receipts.settle(home.database, home.media)
        problems = list(verifying.verify(home.database, home.media, home.spool).problems)
        if home.spool.waiting() or any((home.spool.folder / "taken").iterdir()):
            problems.append("the spool is not empty")
        failed = list(home.spool.failed())
        if failed and not entries_may_fail:
            problems.append(f"set aside: {failed}")
        for (receipt,) in home.database.rows("select receipt from deletions"):
            noted = json.loads(receipt)
            if "part_of" not in noted and not noted.get("verified"):
                problems.append(f"a receipt is not true: {receipt[:200]}")
        return problems
    finally:
        home.database.close_thread()


# -- one run ------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What the child said, and how it ended."""

    lines: list[str]
    code: int

    @property
    def steps(self) -> int:
        return int(next((line.split()[1] for line in self.lines if line.startswith("steps ")), 0))


def ran(name: str, home: Path, fault: str = "", at: int = 1 << 30, seed: int = 0) -> Outcome:
    """A child writes in this home. Its process is a fork of this one, which has nothing open."""
    read_end, write_end = os.pipe()
    back_read, back_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        child(name, home, fault, at, seed, write_end, back_read)
    os.close(write_end)
    os.close(back_read)
    lines: list[str] = []
    locker: apsw.Connection | None = None
    with os.fdopen(read_end) as told:
        for line in told:
            lines.append(line.strip())
            if lines[-1] == "lock":
                locker = apsw.Connection(str(DataDir(home).database))
                with suppress(apsw.BusyError):
                    locker.execute("begin immediate")
                os.write(back_write, b"x")
            if lines[-1] == "stopping":
                os.waitpid(pid, os.WUNTRACED)
                lines += _meanwhile(home, name in NOT_OF_THE_WORKER)
                os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
    os.close(back_write)
    if locker is not None:
        locker.close()
    return Outcome(lines, os.waitstatus_to_exitcode(status))


def _meanwhile(folder: Path, with_worker: bool) -> list[str]:
    """The other programs start while a writer is suspended, hours later; what went wrong, for `judged`."""
    pid = os.fork()
    if pid:
        return ["failed meanwhile"] * bool(os.waitpid(pid, 0)[1])
    for path in folder.rglob("*"):  # all that is there is so old then
        with suppress(FileNotFoundError):
            os.utime(path, (time.time() - SUSPENDED_S,) * 2, follow_symlinks=False)
    store_database.BUSY_TIMEOUT_MS, packing._WAIT_S, code = 20, 0.0, 0  # it goes on no sooner
    try:
        home = open_home(DataDir(folder), Settings())
        with suppress(StoreError):  # what is suspended may hold a lock
            deletion.sweep(home.database, home.media)
            receipts.settle(home.database, home.media)
            if with_worker:  # there is one at most
                work(home)
    except Exception as error:
        say(f"  meanwhile: {error!r}")
        code = 1
    os._exit(code)


def damage(folder: Path, fault: str, chance: random.Random) -> bool:
    """Spoil a page or an entry; False where there is nothing to spoil."""
    data_dir = DataDir(folder)
    if fault == "bad page":
        target = chance.choice([data_dir.database, *data_dir.home.glob("recollect.db-wal")])
        pages = target.stat().st_size // 4096
        if not pages:
            return False
        with target.open("r+b") as file:
            file.seek(chance.randrange(pages) * 4096)
            file.write(chance.randbytes(4096))
        return True
    entries = [path for path in data_dir.spool.rglob("*-*/*") if path.is_file()]
    if not entries:
        return False
    target = chance.choice(sorted(entries))
    content = target.read_bytes()
    how = chance.randrange(3)
    if how == 0:
        target.unlink()
    else:
        target.write_bytes(content[: len(content) // 2] if how == 1 else chance.randbytes(len(content)))
    return True


def judged(name: str, fault: str, folder: Path, outcome: Outcome, before: set[str]) -> list[str]:
    """What is wrong, in sentences."""
    problems = [line for line in outcome.lines if line.startswith("failed")]
    if outcome.code not in (0, 3, 4, -signal.SIGKILL):
        problems.append(f"the child ended with {outcome.code}")
    wrong = started(folder, fault == "bad entry")
    if fault == "bad entry":  # what was looked at is in it, and verify tells that it is unknown now
        wrong = [each for each in wrong if "Looks not accounted for" not in each]
    problems += wrong
    ids, outcomes = state_of(folder)
    doubled = [each for each, number in Counter(ids).items() if number > 1]
    if doubled:
        problems.append(f"doubled: {doubled}")
    put = {line.split()[1] for line in outcome.lines if line.startswith("put ")}
    lost = [each for each in put | before if each not in outcomes]
    if lost and fault != "bad entry":
        problems.append(f"lost: {lost}")
    kept = [each for each, what in outcomes.items() if what == "stored"]
    if sorted(kept) != sorted(ids):
        problems.append("what counts as stored is not what is stored")
    is_deleted = any(line.startswith("receipt") for line in outcome.lines) or name == "sweeping"
    if is_deleted:
        problems += [f"found in {place}" for place in places_with(DataDir(folder), [SECRET.encode()])]
    return problems


def state_of(folder: Path) -> tuple[list[str], dict[str, str]]:
    """(capture ids of frames, outcomes by capture id)."""
    with closing(apsw.Connection(str(DataDir(folder).database))) as connection:
        ids = [each for (each,) in connection.execute("select capture_id from frames")]
        return ids, dict(connection.execute("select capture_id, outcome from ingest_records").fetchall())


def survives_bad_page(folder: Path, before: set[str]) -> list[str]:
    """A spoiled page is told, or it held nothing: never is something missing and all said to be well."""
    try:
        problems = started(folder, entries_may_fail=True)
        _, outcomes = state_of(folder)
    except (StoreError, apsw.Error, OSError):
        return []  # told
    missing = [each for each in before if each not in outcomes]
    return [f"missing, and verify is content: {missing}"] if missing and not problems else []


def tried(name: str, fault: str, at: int, seed: int, template: Path, folder: Path) -> list[str]:
    """One run: what is wrong."""
    shutil.copytree(template, folder)
    _, known = state_of(folder)
    before = {
        *known,
        *(path.name.partition("-")[2] for path in folder.glob("spool/new/*") if ".looks" not in path.name),
    }
    outcome = ran(name, folder, fault, at, seed)
    chance = random.Random(seed)
    if fault.startswith("bad") and not damage(folder, fault, chance):
        fault = "killed"
    if fault == "bad page":
        return survives_bad_page(folder, before)
    return judged(name, fault, folder, outcome, before)


def main(runs: int = 50, seed: int = 1) -> int:
    logging.disable(logging.CRITICAL)
    verifying._UNDER_WAY_S = -1.0  # nothing is under way any more
    chance, began = random.Random(seed), time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        most: dict[str, int] = {}
        for name in WRITERS:
            prepare(name, Path(place) / name)
            shutil.copytree(Path(place) / name, Path(place) / "probe")
            most[name] = ran(name, Path(place) / "probe").steps
            shutil.rmtree(Path(place) / "probe")
        pairs = [(name, fault) for name in WRITERS for fault in FAULTS]
        chance.shuffle(pairs)
        chosen = [
            (name, fault, chance.randrange(most[name]) + 1, chance.getrandbits(32))
            for name, fault in (pairs * (runs // len(pairs) + 1))[:runs]
        ]
        for n in range(4):
            if os.fork() == 0:
                one_of_four(chosen[n::4], place)
        wrong = sum(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4))
    say(f"{runs} runs, {wrong} wrong, {time.monotonic() - began:.0f} s")
    if runs >= 1_000 and not wrong:
        DOCS.write_text(table(Counter(each[:2] for each in chosen), most, runs, seed))
    return 1 if wrong else 0


def one_of_four(chosen: list[tuple[str, str, int, int]], place: str) -> NoReturn:
    """Some of the runs, in a process of their own, which ends with the number that went wrong."""
    wrong, folder = 0, Path(place) / f"home-{os.getpid()}"
    for name, fault, at, seed in chosen:
        problems = tried(name, fault, at, seed, Path(place) / name, folder)
        shutil.rmtree(folder, ignore_errors=True)
        if problems:
            wrong += 1
            say(f"  {name}, {fault} at step {at}, seed {seed}: {problems[:3]}")
    os._exit(min(wrong, 100))


def say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


_TOLD = """
Made by `python -m tests.crashes {runs} {seed}`: each number is that many runs of one writer in a process of
its own, with one fault at a durable step that the seed chose. Then everything was started again. In all of
them what was acknowledged was there exactly once, `verify` found nothing and receipts were true. A spoiled
page was told, or had held nothing; a spoiled entry was set aside, and the others were stored.
"""


def table(counts: Counter[tuple[str, str]], most: dict[str, int], runs: int, seed: int) -> str:
    """The page of the docs."""
    lines = [
        "# What was broken, and held",
        "",
        textwrap.fill(_TOLD.format(runs=runs, seed=seed).strip(), 110),
        "",
        "| writer | durable steps | " + " | ".join(FAULTS) + " |",
        "| --- | --- | " + " | ".join("---" for _ in FAULTS) + " |",
    ]
    for name in WRITERS:
        cells = " | ".join(str(counts[name, fault]) for fault in FAULTS)
        lines.append(f"| {name.replace('_', ' ')} | {most[name]} | {cells} |")
    return "\n".join([*lines, "", *(f"- **{name}**: {what}." for name, what in FAULTS.items()), ""])


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
