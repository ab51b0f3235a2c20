"""What this machine hands in to a server: over real HTTP into the real API, with what can come between."""

from __future__ import annotations

import hashlib
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import apsw
import pytest

from assistant.core.models import ChatModels
from capture.core.clock import SystemClock
from capture.privacy import Rules
from capture.sender import Sender
from capture.server import Server, Unreachable
from capture.status import ordered_pause
from ingest.core.home import Home, open_home
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.worker.storing import SpoolConsumer
from store.core import tombstones
from store.core.database import Database
from store.core.errors import SettingsError
from store.core.paths import DataDir
from store.core.settings import PrivacySettings, Settings
from store.core.times import now_ms
from store.deletion import deletion
from store.egress import access_keys
from store.privacy.rules import Rule, RuleSet, WindowFacts
from store.sources import hosts
from store.spool import residual_files
from store.spool.process_state import FOREVER_MS, SenderState, read_pause
from store.spool.queue import Capture, DecisionRun, LookReport, Spool
from store.timeline import ledger
from tests.factories import NOON_MS, picture, save_rules, webp
from tests.webapp.conftest import make_token
from webapp.ops import control
from webapp.security.access import listen
from webapp.serving import server as serving
from webapp.serving.app import create_app

IMAGE = webp(picture(1))
BATCH = str(uuid.UUID(int=7))

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Served:
    """The real application on a port of this machine. `between` sees each request before it is answered, and
    each answer before it leaves.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._listener = listen("127.0.0.1", 0)
        port = self._listener.getsockname()[1]
        settings = replace(home.settings, web=replace(home.settings.web, port=port))
        self._models = ChatModels(settings.chat, {}, database=home.database, waits_s=())
        app = create_app(settings, home.database, chat_models=self._models)
        self._inner: Wsgi = app.wsgi_app
        app.wsgi_app = self._answer  # type: ignore[method-assign, assignment]
        self.url = f"http://127.0.0.1:{port}"
        self.paths: list[str] = []
        self._clients: list[Server] = []
        self.between: Callable[[str], str] = lambda path: ""
        self._server = serving.Server(app, self._listener, thread_done=home.database.close_thread)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"].removeprefix("/api/v1")
        self.paths.append(path)
        fault = self.between(path)
        if fault == "full":
            start_response("503 Service Unavailable", [("Retry-After", "7"), ("Content-Type", "text/plain")])
            return [b"full"]
        answered = b"".join(self._inner(environ, start_response))
        if fault == "answer lost":
            environ["werkzeug.socket"].close()
            raise ConnectionResetError
        return [answered]

    def client(self, token: Callable[[], str]) -> Server:
        self._clients.append(Server(self.url, token))
        return self._clients[-1]

    def store(self) -> None:
        """What the worker does with what was handed in."""
        stats = WorkerStats(now_ms)
        consumer = SpoolConsumer(self.home, Backlog(self.home.database, now_ms), stats, now_ms)
        while consumer.store_some(100):
            pass

    def frames(self) -> list[tuple[str, str]]:
        return self.home.database.rows("select host, capture_id from frames order by id")

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self._server.stop()
        self._thread.join()
        self._listener.close()
        self._models.close()


@pytest.fixture
def served(database: Database) -> Iterator[Served]:
    home = open_home(database.data_dir, Settings())
    running = Served(home)
    yield running
    running.close()
    home.database.close_thread()


class Host:
    """Another machine with a home of its own, whose sender takes one step at a time."""

    def __init__(self, served: Served, folder: Path, name: str = "laptop") -> None:
        self.data_dir = DataDir(folder).create()
        self.spool = Spool(self.data_dir.spool)
        self.served = served
        self.token = make_token(served.home.database, "ingest", name)
        self.sender = self.begin()

    def begin(self) -> Sender:
        """As after a start of the program."""
        self.spool.recover()
        server = self.served.client(lambda: self.token)
        rules = Rules(self.data_dir, PrivacySettings())
        self.sender = Sender(self.data_dir, self.spool, rules, server, SystemClock(), threading.Event())
        return self.sender

    def see(self, at_ms: int = NOON_MS, **facts: Any) -> Capture:
        record = Capture(
            str(uuid.uuid4()), at_ms, "screen", monitor="DP-1", batch_id=BATCH,
            sha256=hashlib.sha256(IMAGE).hexdigest(), **{"app_name": "Code", **facts},
        )  # fmt: skip
        self.spool.put(record, IMAGE)
        return record


@pytest.fixture
def host(served: Served, tmp_path: Path) -> Host:
    return Host(served, tmp_path / "laptop")


def test_everything_is_handed_in_oldest_first_and_then_gone_here(served: Served, host: Host) -> None:
    seen = [host.see(NOON_MS + offset * 1_000) for offset in (2, 0, 1)]
    looks = LookReport(BATCH, NOON_MS, NOON_MS + 3_000, 3)
    host.spool.put(looks)
    assert host.sender.step() == 0.0
    assert host.spool.usage() == (0, 0)
    served.store()
    by_time = sorted(seen, key=lambda each: each.captured_ms)
    assert served.frames() == [("laptop", each.capture_id) for each in by_time]
    assert ledger.reconcile(served.home.database, NOON_MS, NOON_MS + 4_000).difference == 0


def test_an_answer_that_is_lost_after_the_commit_doubles_nothing(served: Served, host: Host) -> None:
    seen = host.see()
    host.sender.step()  # a connection is open
    again = host.see(NOON_MS + 1_000)
    lost = iter([True, True])
    served.between = lambda path: "answer lost" if path == "/hosts/entries" and next(lost, False) else ""
    assert host.sender.step() > 0.0
    assert len(host.spool.waiting()) == 1
    served.store()
    assert host.sender.step() == 0.0
    served.store()
    assert served.frames() == [("laptop", seen.capture_id), ("laptop", again.capture_id)]
    assert host.spool.usage() == (0, 0)


def test_killed_between_claim_and_removal_it_hands_in_again(served: Served, host: Host) -> None:
    seen = host.see()
    host.sender.step()
    host.spool.put(seen, IMAGE)
    assert host.spool.take(host.spool.waiting()[0]) is not None  # claimed, handed in, and killed
    host.begin().step()
    served.store()
    assert (served.frames(), host.spool.usage()) == ([("laptop", seen.capture_id)], (0, 0))


def test_a_full_server_is_left_alone_for_as_long_as_it_says(served: Served, host: Host) -> None:
    host.see()
    served.between = lambda path: "full" if path == "/hosts/entries" else ""
    assert host.sender.step() >= 7.0
    assert len(host.spool.waiting()) == 1
    state = SenderState.read(host.data_dir.spool)
    assert state is not None and ("503" in state.problem, state.accepted_ms, state.waiting) == (True, None, 1)
    served.between = lambda path: ""
    assert host.sender.step() == 0.0


def test_revoked_it_keeps_what_it_has_and_a_new_token_goes_on(served: Served, host: Host) -> None:
    host.sender.step()
    with served.home.database.write() as connection:
        access_keys.revoke(connection, access_keys.listed(served.home.database)[0].id)
    seen = host.see()
    reason = host.spool.folder / "failed" / BATCH / "reason.txt"
    reason.parent.mkdir()
    reason.write_bytes(b"\xff")  # cut off by a full disk, say
    assert host.sender.step() >= 60.0
    assert len(host.spool.waiting()) == 1
    host.token = make_token(served.home.database, "ingest", "laptop")
    assert host.sender.step() == 0.0
    served.store()
    assert served.frames() == [("laptop", seen.capture_id)]


def test_a_pause_of_the_server_reaches_a_machine_whose_clock_is_a_day_off(
    served: Served, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    day_ms = 86_400_000
    monkeypatch.setattr(SystemClock, "now_ms", lambda clock: now_ms() - day_ms)
    server, folder = served.home.data_dir, host.data_dir.spool
    for minutes, lasts_ms in ((2.0, 120_000), (None, FOREVER_MS)):
        ordered = control.pause(server, minutes, now_ms())
        host.sender._talk()
        pause = read_pause(folder, now_ms() - day_ms)
        assert pause is not None
        assert abs(pause.since_ms + day_ms - ordered.since_ms) < 60_000
        assert pause.until_ms == FOREVER_MS or abs(pause.until_ms - pause.since_ms - lasts_ms) < 60_000
        assert (pause.ends_ms is None) == (minutes is None)
    reason = ordered_pause(folder, now_ms())
    assert reason is not None and "resume there" in reason.detail
    control.resume(host.data_dir)  # here nobody ends it
    assert read_pause(folder, now_ms()) is not None
    control.resume(server)
    host.sender._talk()
    assert read_pause(folder, now_ms() - day_ms) is None


def test_who_is_not_let_in_is_told_of_the_token_that_lets_a_machine_in(
    served: Served, host: Host, tmp_path: Path
) -> None:
    """Not of the one that opens everything."""
    other = Host(served, tmp_path / "desk", "desk")
    other.sender.step()
    tokens = {"host_taken": other.token, "token_not_enough": make_token(served.home.database, "read", "list")}
    for code, token in {**tokens, "unauthorized": "revoked"}.items():
        host.token = token
        assert host.sender.step() >= 60.0
        state = SenderState.read(host.data_dir.spool)
        assert state is not None and f"no token for this machine ({code})" in state.problem
        assert "`recollect token add NAME --for ingest`" in state.problem
        assert "`recollect token`" not in state.problem


def test_what_was_deleted_never_comes_back_from_a_spool(served: Served, host: Host) -> None:
    """Whoever moves first: what waits goes, and what was handed in before it was heard of is refused."""
    host.sender.step()
    seen = [host.see(NOON_MS + offset) for offset in (0, 1_000, 60_000)]
    host.spool.put(LookReport(BATCH, NOON_MS, NOON_MS + 60_000, 3))
    host.sender._talk_due_s = float("inf")  # it has not heard of what comes now
    database, media = served.home.database, served.home.media
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + 30_000)
    host.sender._send(host.spool.waiting()[0])
    served.store()
    assert served.frames() == []
    host.sender._talk_due_s = 0.0
    host.sender.step()
    served.store()
    host.sender.step()
    served.store()
    assert served.frames() == [("laptop", seen[2].capture_id)]
    (answer,) = hosts.receipts_of(database, receipt.deletion_id)
    assert (answer.answered_ms is not None, answer.removed) == (True, 1)
    assert ledger.reconcile(database, NOON_MS, NOON_MS + 90_000).difference == 0


def test_bytes_that_arrive_after_the_answer_are_those_of_before(served: Served, host: Host) -> None:
    """A proxy may hold the rest of an upload whose sender is gone."""
    host.sender.step()
    host.see()
    late: dict[str, bytes] = {}

    def lose(path: str, parts: dict[str, bytes]) -> NoReturn:
        late.update(parts)
        raise Unreachable("its connection is gone")

    host.sender._server.send_parts = lose  # type: ignore[method-assign, assignment]
    assert host.sender.step() > 0.0
    delete(served, NOON_MS)
    host.begin().step()
    served.client(lambda: host.token).send_parts("/hosts/entries", late)
    served.store()
    assert served.frames() == []


def test_a_clock_that_fell_back_keeps_nothing_that_was_deleted(
    served: Served, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.sender.step()
    host.see()
    monkeypatch.setattr(SystemClock, "now_ms", lambda clock: NOON_MS - 86_400_000)
    assert talk_after_deletion(served, host) == 1
    assert served.frames() == []


@contextmanager
def put_back(served: Served) -> Iterator[None]:
    """What happens meanwhile, the server's database knows nothing of afterwards."""
    database = served.home.database
    with closing(apsw.Connection(":memory:")) as copy:
        with copy.backup("main", database.connection(), "main") as made:
            made.step()
        yield
        with database.connection().backup("main", copy, "main") as again:
            again.step()


def test_a_server_that_was_put_back_uses_a_number_again(served: Served, host: Host) -> None:
    host.sender.step()
    with put_back(served):
        first = delete(served, NOON_MS - 3_600_000)
        host.sender._talk_due_s = 0.0
        host.sender.step()
    host.see()
    assert talk_after_deletion(served, host) == 1
    assert tombstones.newest_now(served.home.database) == first
    assert served.frames() == []


@pytest.mark.parametrize("talks_first", [True, False])
def test_a_copied_home_and_a_server_that_was_put_back_agree_on_nothing(
    served: Served, host: Host, tmp_path: Path, talks_first: bool
) -> None:
    """The copy reached a number of before, the original the same number of after."""
    host.sender.step()
    with put_back(served):
        first = delete(served, NOON_MS - 3_600_000)
        host.sender._talk_due_s = 0.0
        host.sender.step()
        shutil.copytree(host.data_dir.home, tmp_path / "copy")
    assert talk_after_deletion(served, host) == 0
    assert tombstones.newest_now(served.home.database) == first
    other = Host(served, tmp_path / "copy", "unused")
    other.token = host.token
    other.see()
    if talks_first:
        other.sender.step()
    else:
        other.sender._send(other.spool.waiting()[0])
    assert other.spool.waiting() == [] or all(name.endswith("looks") for name in other.spool.waiting())
    served.store()
    assert served.frames() == []


def test_of_two_that_share_a_home_each_is_told(served: Served, host: Host, tmp_path: Path) -> None:
    host.sender.step()
    shutil.copytree(host.data_dir.home, tmp_path / "copy")
    other = Host(served, tmp_path / "copy", "unused")
    other.token = host.token
    other.sender.step()
    other.see()
    assert talk_after_deletion(served, host) == 0
    assert other.sender._send(other.spool.waiting()[0]) is None
    served.store()
    assert served.frames() == []
    other.see(NOON_MS + 1)
    other.sender._talk_due_s = 0.0
    other.sender.step()
    assert other.spool.waiting() == []
    served.store()
    assert served.frames() == []


def delete(served: Served, start_ms: int) -> int:
    made = deletion.delete_range(served.home.database, served.home.media, start_ms, start_ms + 30_000)
    return made.deletion_id


def talk_after_deletion(served: Served, host: Host) -> int:
    """How many captures the receipt says that the host removed, once all that it had is stored."""
    deletion_id = delete(served, NOON_MS)
    host.sender._talk_due_s = 0.0
    host.sender.step()
    served.store()
    (answer,) = hosts.receipts_of(served.home.database, deletion_id)
    assert answer.answered_ms is not None
    return answer.removed


def test_a_host_keeps_nothing_before_it_knows_the_rules_of_the_server(served: Served, host: Host) -> None:
    def rules() -> RuleSet:
        return Rules(host.data_dir, PrivacySettings(), has_server=True).current()

    assert rules().decide(WindowFacts("Code", "main.py")).action == "drop"
    host.sender.step()
    assert rules().decide(WindowFacts("Code", "main.py")).action == "keep"


def test_many_deletions_are_one_walk_over_the_spool(served: Served, host: Host) -> None:
    """Each capture is read once for the rules and once for all deletions."""
    for offset in range(20):
        delete(served, NOON_MS + 60_000 * offset)
        host.see(NOON_MS + 60_000 * offset)
    read: list[Path] = []
    real = residual_files.read_record
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual_files, "read_record", lambda folder: read.append(folder) or real(folder))
        host.sender._talk_due_s = 0.0
        host.sender._talk()
    assert len(read) <= 40
    assert not [name for name in host.spool.waiting() if not name.endswith("looks")]


def test_a_deletion_of_an_app_takes_that_app_alone(served: Served, host: Host) -> None:
    host.see(app_name="MAIL")
    kept = host.see(NOON_MS + 1_000)
    deletion.delete_range(served.home.database, served.home.media, NOON_MS, NOON_MS + 30_000, "Mail")
    host.sender.step()
    served.store()
    assert served.frames() == [("laptop", kept.capture_id)]


def test_rules_of_the_server_hold_here_and_for_what_waits(served: Served, host: Host) -> None:
    host.see(app_name="Bank")
    save_rules(served.home.data_dir, [Rule(app="Bank")])
    host.sender.step()
    served.store()
    assert served.frames() == []
    assert Rules(host.data_dir, PrivacySettings()).current().permits("Bank", None, None) is False
    (known,) = hosts.listed(served.home.database)
    host.sender._talk_due_s = 0.0
    host.sender.step()
    assert hosts.listed(served.home.database)[0].rules_sha256 != "" != known.name


def test_a_clock_a_day_wrong_keeps_its_times_and_is_told(
    served: Served, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemClock, "now_ms", lambda clock: now_ms() - 86_400_000)
    seen = host.see(now_ms() - 86_400_000)
    host.sender.step()
    served.store()
    (known,) = hosts.listed(served.home.database)
    assert known.is_skewed
    assert abs(known.skew_ms - 86_400_000) < 60_000
    state = SenderState.read(host.data_dir.spool)
    assert state is not None and abs(state.skew_ms - 86_400_000) < 60_000
    assert served.home.database.column("select captured_ms from frames") == [seen.captured_ms]


def test_what_the_server_will_never_take_is_set_aside_with_its_reason(served: Served, host: Host) -> None:
    run = DecisionRun("", "dropped", "", NOON_MS, NOON_MS, 1)
    host.spool.put(LookReport(BATCH, NOON_MS, NOON_MS, 1, (run,)))
    seen = host.see()
    host.sender.step()
    served.store()
    assert served.frames() == [("laptop", seen.capture_id)]
    assert next(reason for _, reason in host.spool.failed()).startswith("not handed in: entry")


def test_without_tls_only_this_machine_is_spoken_to() -> None:
    for url in ("http://recollect.example", "ftp://127.0.0.1", "recollect.example", "https://a@b"):
        with pytest.raises(SettingsError):
            Server(url, str)
    Server("http://recollect.example", str, allow_http=True)
    Server("http://[::1]:8420", str)
    Server("https://recollect.example:8443/base", str)


def test_what_is_deleted_here_while_it_is_handed_in_holds_nothing_up(served: Served, host: Host) -> None:
    host.see()
    host.see(NOON_MS + 1_000)
    taken = host.data_dir.spool / "taken"

    def delete(path: str) -> str:
        for entry in taken.iterdir() if path == "/hosts/entries" else ():
            shutil.rmtree(entry)
        return ""

    served.between = delete
    assert host.sender.step() == 0.0 and host.spool.usage() == (0, 0)
