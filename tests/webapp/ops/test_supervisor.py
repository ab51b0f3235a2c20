"""`recollect up`: parts are kept up within reason, and none of them outlives it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from store.backup import backup
from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.core.settings import Settings, WebSettings
from webapp.ops import supervisor
from webapp.ops.control import only_one
from webapp.ops.supervisor import LOUD_AFTER, MAX_PAUSE_S, STEADY_S, Part, Supervisor
from webapp.security.access import PortInUse, listen

SLEEP = "import time; time.sleep(600)"
DIE = "import sys; print('cannot go on'); sys.exit(3)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); {SLEEP}"


def eventually(ask: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not ask():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def supervise(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Supervisor, list[str]]]:
    """A supervisor over small programs in place of the real parts, and what it says."""

    def make(**programs: str) -> tuple[Supervisor, list[str]]:
        said: list[str] = []
        own = Supervisor(data_dir, Settings(web=WebSettings(port=0)), tell=lambda text: said.append(text))
        parts = [
            Part(name, (sys.executable, "-c", code), data_dir.logs / f"{name}.log")
            for name, code in programs.items()
        ]
        monkeypatch.setattr(own, "_make_parts", lambda port: parts)
        return own, said

    return make


def run_until(own: Supervisor, is_enough: Callable[[], object]) -> None:
    """Runs the supervisor here (it takes signals) and stops it when something is true."""

    def watch() -> None:
        try:
            eventually(is_enough, "what the test waits for")
        finally:
            own.stop()

    thread = threading.Thread(target=watch)
    thread.start()
    own.run()
    thread.join()


def test_a_part_that_dies_at_once_is_said_to_be_down_and_still_started_again(
    supervise: Callable[..., tuple[Supervisor, list[str]]],
    data_dir: DataDir,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "MAX_PAUSE_S", 0.1)
    own, said = supervise(web=SLEEP, ingest=DIE)
    run_until(own, lambda: sum("IS DOWN" in line for line in said) >= 3)
    assert sum(line.startswith("ingest ended") for line in said) == LOUD_AFTER - 1
    assert (
        "INGEST IS DOWN" in said[-1] and "exit code 3: cannot go on" in said[-1] and "ingest.log" in said[-1]
    )
    assert not own.parts[0].quick_ends  # the others went on
    assert (data_dir.logs / "ingest.log").read_text().count("cannot go on") > LOUD_AFTER


def test_a_part_that_cannot_open_the_database_is_not_started_in_vain(
    supervise: Callable[..., tuple[Supervisor, list[str]]], data_dir: DataDir
) -> None:
    data_dir.database.write_bytes(b"not a database " * 100)
    own, said = supervise(web=SLEEP, ingest=DIE)
    run_until(own, lambda: said)
    assert len(said) == 1 and said[0].startswith("ingest ended and is not started again")
    assert "There is no backup" in said[0]


def test_a_lost_disk_does_not_end_the_other_parts(
    supervise: Callable[..., tuple[Supervisor, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: DataDir) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(supervisor, "open_database", refuse)
    own, said = supervise(web=SLEEP, ingest=DIE)
    run_until(own, lambda: len(said) > 1)
    assert all("is started again" in line for line in said)


def test_backups_are_read_once_and_may_be_unreadable(
    supervise: Callable[..., tuple[Supervisor, list[str]]],
    data_dir: DataDir,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Exception] = []

    def fail(_: DataDir, error: Exception) -> NoReturn:
        asked.append(error)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(backup, "advice", fail)
    data_dir.database.write_bytes(b"not a database " * 100)
    own, said = supervise(web=DIE, ingest=DIE)
    run_until(own, lambda: len(said) > 1)
    assert len(asked) == 1 and all("is not started again" in line for line in said)


def test_what_needs_a_person_is_told_at_once_and_shown_on_the_desktop_where_it_lasts(
    supervise: Callable[..., tuple[Supervisor, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, said = supervise()
    shown: list[str] = []
    monkeypatch.setattr(supervisor, "notify_soon", shown.append)
    for looks, sentence in enumerate(("", "full", "full", "full", "", "full", "other", "other")):
        monkeypatch.setattr(supervisor, "trouble", lambda *_, sentence=sentence: sentence)
        own._look_for_trouble(looks * supervisor._LASTING_S)
        own._look_for_trouble(looks * supervisor._LASTING_S + 1)
    assert shown == ["full", "other"]
    assert said == ["full", "other"]


def test_pauses_double_up_to_a_limit_and_a_steady_run_forgets_them() -> None:
    part = Part("x", (), Path(), started_s=0.0)
    pauses = [part.pause_s(1.0) for _ in range(12)]
    assert pauses == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, MAX_PAUSE_S, MAX_PAUSE_S]
    assert part.pause_s(STEADY_S) == 0


def test_a_stopped_part_is_replaced(
    supervise: Callable[..., tuple[Supervisor, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "STOPPED_S", 0.2)
    monkeypatch.setattr(supervisor, "_LOOK_FOR_STOPPED_S", 0.0)
    own, said = supervise(web=SLEEP, capture="import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    run_until(own, lambda: any("capture ended (signal 9) and is started again" in line for line in said))
    assert any("capture was stopped" in line for line in said)
    assert not any(line.startswith("web") for line in said)


def test_stopping_ends_every_part_also_a_stubborn_one(
    supervise: Callable[..., tuple[Supervisor, list[str]]],
    data_dir: DataDir,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "STOP_S", 0.5)
    own, said = supervise(web=SLEEP, ingest=STUBBORN)
    log = data_dir.logs / "ingest.log"
    run_until(own, lambda: log.exists() and "up" in log.read_text())
    codes = {part.name: part.exit_code() for part in own.parts}
    assert codes == {"web": -signal.SIGTERM, "ingest": -signal.SIGKILL}
    assert any("ingest did not end" in line for line in said)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_stops_it_and_the_old_handlers_come_back(
    supervise: Callable[..., tuple[Supervisor, list[str]]], name: str
) -> None:
    before = signal.getsignal(getattr(signal, name))
    own, _ = supervise(web=SLEEP)

    def send() -> None:
        eventually(lambda: own.parts and own.parts[0].process, "a started part")
        os.kill(os.getpid(), getattr(signal, name))

    thread = threading.Thread(target=send)
    thread.start()
    own.run()
    thread.join()
    assert own.parts[0].exit_code() == -signal.SIGTERM
    assert signal.getsignal(getattr(signal, name)) is before


def test_logs_have_a_cap(
    supervise: Callable[..., tuple[Supervisor, list[str]]],
    data_dir: DataDir,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten thousand lines, and no file above its cap."""
    monkeypatch.setattr(supervisor, "_LOG_BYTES", 5_000)
    own, _ = supervise(
        web=f"for n in range(10_000): print('100% line', n)\nprint('end', flush=True); {SLEEP}"
    )
    log = data_dir.logs / "web.log"
    run_until(own, lambda: log.exists() and "end" in log.read_text())
    files = list(data_dir.logs.glob("web.log*"))
    assert len(files) <= 1 + supervisor._LOG_FILES
    assert max(file.stat().st_size for file in files) <= 5_000
    assert "100% line 9999" in log.read_text()


def test_one_home_has_one_supervisor(
    supervise: Callable[..., tuple[Supervisor, list[str]]], data_dir: DataDir
) -> None:
    own, _ = supervise(web=SLEEP)
    with only_one(data_dir, "up"), pytest.raises(StoreBusy, match="already running"):
        own.run()
    assert own.parts == []


def test_a_port_in_use_is_said_before_anything_starts(data_dir: DataDir) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        own = Supervisor(data_dir, Settings(web=WebSettings(port=port)))
        with pytest.raises(PortInUse, match=str(port)):
            own.run()
    assert own.parts == []


def test_the_parts_are_three_programs_on_one_home(data_dir: DataDir) -> None:
    own = Supervisor(data_dir, Settings())
    parts = own._make_parts(8420)
    assert [part.name for part in parts] == ["web", "ingest", "capture"]
    for part in parts:
        assert part.command[0] == sys.executable
        assert ("--home", str(data_dir.home)) in zip(part.command, part.command[1:], strict=False)
    alone = Supervisor(data_dir, Settings(), with_capture=False)
    assert [part.name for part in alone._make_parts(8420)] == ["web", "ingest"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel does this on Linux only")
def test_no_part_outlives_a_killed_supervisor(data_dir: DataDir, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys, threading, time
            from pathlib import Path
            from store.core.paths import DataDir
            from store.core.settings import Settings, WebSettings
            from webapp.ops.supervisor import Part, Supervisor

            own = Supervisor(DataDir(Path({str(data_dir.home)!r})), Settings(web=WebSettings(port=0)))
            parts = [
                Part(name, (sys.executable, "-c", "import time; time.sleep(600)"), own.data_dir.logs / name)
                for name in ("web", "ingest")
            ]
            own._make_parts = lambda port: parts
            def told():
                while not all(part.process for part in parts):
                    time.sleep(0.02)
                print(*(part.process.pid for part in parts), flush=True)
            threading.Thread(target=told, daemon=True).start()
            own.run()
            """
        )
    )
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2 and all(psutil.pid_exists(pid) for pid in pids)
    process.kill()
    process.wait()
    process.stdout.close()
    eventually(lambda: not any(_runs(pid) for pid in pids), "the parts to end")


def _runs(pid: int) -> bool:
    """Whether a process runs; an ended one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
