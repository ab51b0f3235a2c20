"""The `recollect` command: exit codes, one line on failure, JSON that parses, the door it opens."""

from __future__ import annotations

import io
import json
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.deletion import deletion
from store.egress import access_keys
from store.sources import hosts
from store.sources.hosts import Host
from store.spool.process_state import ServerPause, read_pause
from store.spool.queue import Spool
from tests.factories import NOON_MS, capture, picture, store_frame, webp
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import make_token
from webapp.cli import COMMANDS, run
from webapp.cli.common import parse_moment
from webapp.security.access import load_token


class Recollect:
    """Runs commands in this process on one home folder."""

    def __init__(self, data_dir: DataDir, capsys: pytest.CaptureFixture[str]) -> None:
        self.data_dir = data_dir
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)."""
        self.capsys.readouterr()
        code = run([*arguments, "--home", str(self.data_dir.home)])
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *arguments: str) -> Any:
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def recollect(data_dir: DataDir, capsys: pytest.CaptureFixture[str]) -> Recollect:
    return Recollect(data_dir, capsys)


def test_the_commands_are_those_of_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", capsys.readouterr().out, re.MULTILINE)
    assert listed == list(COMMANDS)
    assert set(listed) == {
        "up", "capture", "ingest", "web", "import", "ask", "search", "doctor", "token", "open", "pause",
        "resume", "delete", "verify", "reindex", "mcp", "demo", "retention", "backup", "restore",
        "export", "encrypt", "decrypt", "privacy", "service", "verify-export", "reread",
    }  # fmt: skip


@for_each(
    "arguments",
    [
        ("search", "x"), ("ask", "what?"), ("verify",), ("doctor",), ("open",), ("privacy",),
        ("privacy", "test"), ("retention", "run", "--dry-run"), ("backup",), ("export", "x.zip"),
        ("pause", "5"), ("resume",), ("token",), ("token", "list"),
        ("delete", "--from", "1", "--to", "2", "--yes"), ("decrypt", "--yes"), ("mcp",),
        ("ingest", "retry"),
    ],
)  # fmt: skip
def test_of_no_home_a_command_says_so_and_makes_none(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    for home in (tmp_path / "typo", folder):
        assert run([*arguments, "--home", str(home)]) == 1
        out, err = capsys.readouterr()
        assert (out, f"no Recollect home at {home}" in err) == ("", True)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@for_each("command", ["reindex", "reread"])
def test_of_no_home_a_command_of_ingest_says_so(command: str, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "webapp", command, "--home", str(tmp_path / "typo")]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode != 0 and "no Recollect home at" in done.stderr
    assert not list(tmp_path.iterdir())


@for_each("command", list(COMMANDS))
def test_every_command_says_what_it_does(
    command: str, data_dir: DataDir, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those of ingest say it themselves, and touch no home for that."""
    is_passed_on = COMMANDS[command].startswith("webapp.cli.passed_on")
    if is_passed_on:
        home = data_dir.home / "none"
        program = [sys.executable, "-m", "webapp", command, "--help", "--home", str(home)]
        text = subprocess.run(program, capture_output=True, text=True, check=True).stdout
        assert not home.exists()
    else:
        assert run([command, "--help"]) == 0
        text = capfd.readouterr().out
    assert text.startswith(f"Usage: recollect {command}")
    if not is_passed_on and command not in ("retention", "service", "verify-export"):
        assert "--home DIR" in text


def test_help_loads_neither_flask_nor_a_database() -> None:
    """`recollect --help` is for the impatient; a fresh process shows what it imports."""
    code = (
        "import sys; from webapp.cli import run; run(['--help']); "
        "print(*sorted({'flask', 'apsw', 'PIL', 'numpy', 'pydantic', 'openai'} & set(sys.modules)), "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""


@for_each(
    ("arguments", "code", "words"),
    [
        (("nothing",), 2, "No such command 'nothing'"),
        (("search", "--from", "yesterday"), 2, "'yesterday' is not a time"),
        (("search", "--from", "1795176000000"), 2, "is not a time"),
        (("search", "--from", "10", "--to", "10"), 1, "--to must be later than --from"),
        (("search", "--limit", "0"), 2, "--limit"),
        (("search", "--colour"), 2, "No such option"),
        (("delete", "--from", "1"), 2, "Missing option '--to'"),
        (("delete", "--from", "2", "--to", "1"), 1, "--to must be later"),
        (("pause", "soon"), 2, "MINUTES"),
        (("pause", "0"), 2, "MINUTES"),
        (("open",), 1, "recollect up"),
        (("ingest", "retry", "no-such-entry"), 1, "no failed entry 'no-such-entry'"),
        (("web", "--host", "0.0.0.0"), 1, "allow_lan"),
        (("up", "--port", "65536"), 2, "--port"),
        (("ask", "what?", "--from", "1", "--to", "2", "--tz", "Mars/Olympus"), 1, "Mars/Olympus"),
        (("ask", "what?", "--from", "1", "--to", "2", "--model", "none"), 1, "extractive"),
        (("ask", "what did I do on 30 February?"), 1, "no such date"),
        (("restore", "newest", "--yes"), 1, "there is no whole backup"),
    ],
)
def test_a_failure_is_one_line_and_a_code(
    recollect: Recollect, arguments: tuple[str, ...], code: int, words: str
) -> None:
    found, out, err = recollect(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("recollect: ") and err.count("\n") == 1
    assert words in err


def test_an_unknown_setting_is_one_line_with_the_nearest_known(
    recollect: Recollect, data_dir: DataDir
) -> None:
    data_dir.config.write_text("[web]\nprot = 1\n")
    code, _, err = recollect("token")
    assert (code, err.count("\n")) == (1, 1)
    assert "web.prot" in err and "web.port" in err


@pytest.mark.parametrize("command", ["up", "verify", "search"])
def test_a_database_of_a_newer_version_is_one_line(
    recollect: Recollect, database: Database, command: str
) -> None:
    with database.write() as connection:
        connection.execute("insert into migrations (name, applied_ms) values ('002_future', 1)")
    assert recollect(command) == (
        1, "", "recollect: this database was made by a newer Recollect (it has 002_future); update Recollect "
        "to open it\n",
    )  # fmt: skip


def test_a_database_that_cannot_be_used_is_one_line_that_says_what_to_do(
    recollect: Recollect, data_dir: DataDir, database: Database
) -> None:
    store_frame(database, data_dir)
    root = database.scalar("select rootpage from sqlite_schema where name = 'frames'")
    database.checkpoint()
    database.close_thread()
    with data_dir.database.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    code, _, err = recollect("search")
    assert (code, err.count("\n"), "`recollect doctor` says what to do" in err) == (1, 1, True)
    data_dir.database.write_bytes(b"this is not a database at all, not one bit" * 30)
    code, _, err = recollect("search")
    assert (code, err.count("\n"), "no backup here" in err) == (1, 1, True)
    data_dir.database.unlink()
    data_dir.database.mkdir()
    assert recollect("search") == (1, "", "recollect: unable to open database file\n")


def test_a_backup_is_made_listed_and_restored(data_dir: DataDir, database: Database, tmp_path: Path) -> None:
    """In programs of their own: a restore refuses while any other has the database open."""

    def told(*arguments: str) -> Any:
        command = [sys.executable, "-m", "webapp", *arguments, "--json", "--home", str(data_dir.home)]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    store_frame(database, data_dir, text="words that stay")
    made = told("backup")
    assert (made["pictures"], made["files"]) == (1, 1)
    assert told("backup", str(tmp_path / "b.zip"))["path"] == str(tmp_path / "b.zip")
    [listed] = told("restore")["backups"]
    assert listed["path"] == made["path"]
    database.change("delete from readings")
    database.close_thread()
    for source in ("newest", str(tmp_path / "b.zip")):
        done = told("restore", source, "--yes")
        assert (done["made_at"] <= now_ms() / 1000, done["is_outdated"]) == (True, False)
        assert told("search", "stay")["data"]
    assert told("export", str(tmp_path / "e.zip"))["frames"] == 1


# -- times ----------------------------------------------------------------------------------


@for_each(
    ("text", "ms"),
    [
        ("1795176000", 1_795_176_000_000),
        ("1795176000.001", 1_795_176_000_001),
        ("0", 0),
        ("2026-11-20T12:00:00Z", NOON_MS),
        ("2026-11-20T20:00+08:00", NOON_MS),
        ("2026-11-20 12:00:00.250+00:00", NOON_MS + 250),
    ],
)
def test_a_time_with_a_zone_or_as_seconds_means_the_same_everywhere(text: str, ms: int) -> None:
    assert parse_moment(text) == ms


def test_a_time_without_a_zone_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert parse_moment("2026-11-20T20:00") == NOON_MS
        assert parse_moment("2026-11-21") == NOON_MS + 4 * 3_600_000
    finally:
        monkeypatch.undo()
        time.tzset()


@for_each("text", ["", "nan", "inf", "-1", "1e12", "14:00", "tomorrow", "2026-13-01"])
def test_other_words_are_no_times(text: str) -> None:
    with pytest.raises(ValueError):
        parse_moment(text)


# -- what the commands do -------------------------------------------------------------------


def test_a_token_for_one_purpose_is_made_listed_and_revoked(recollect: Recollect) -> None:
    made = recollect.json("token", "add", "my script", "--for", "ingest")["token"]
    code, out, _ = recollect("token", "list")
    assert code == 0 and "my script" in out and "never used" in out and made not in out
    (key,) = recollect.json("token", "list")
    assert (key["scope"], key["name"], key["used_ms"]) == ("ingest", "my script", None)
    assert recollect.json("token", "revoke", str(key["id"])) == {"revoked": key["id"]}
    code, _, err = recollect("token", "revoke", str(key["id"]))
    assert code == 1 and "there is no token or browser with the number 1" in err
    assert recollect.json("token", "list") == []


def test_the_token_is_the_one_of_the_home(recollect: Recollect, data_dir: DataDir) -> None:
    _, out, _ = recollect("token")
    assert out.strip() == load_token(data_dir) == recollect.json("token")["token"]


def test_pausing_survives_and_resuming_ends_it(recollect: Recollect, data_dir: DataDir) -> None:
    assert recollect.json("pause")["until"] is None
    assert read_pause(data_dir.spool, now_ms() + 10**12) is not None
    until = recollect.json("pause", "2.5")["until"]
    pause = read_pause(data_dir.spool, now_ms())
    assert pause is not None and pause.until_ms == round(until * 1000)
    assert recollect.json("resume") == {"state": "resumed"}
    assert read_pause(data_dir.spool, now_ms()) is None


def test_a_pause_of_the_server_is_not_ended_here(recollect: Recollect, data_dir: DataDir) -> None:
    ServerPause(now_ms(), now_ms() + 60_000).write(data_dir.spool)
    code, out, _ = recollect("resume")
    assert code == 0 and "the server that this machine captures for is paused; resume there" in out


def test_a_deletion_names_the_machines_that_have_not_answered(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    make_token(database, "ingest", "laptop")
    (key,) = access_keys.listed(database)
    with database.write() as connection:
        hosts.note(connection, Host(key.id, "laptop", str(uuid.uuid4()), now_ms(), 0), "", {})
    code, out, _ = recollect("delete", "--from", "2026-11-20", "--to", "2026-11-21", "--yes")
    assert code == 0 and "laptop has not answered yet: what waits there goes once it does" in out


def test_capture_says_what_it_takes(recollect: Recollect) -> None:
    _, out, _ = recollect("capture", "--help")
    assert all(f"--{name}" in out for name in ("source", "server", "token-file", "token", "allow-http"))


def test_search_prints_what_the_api_answers(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="the retention policy")
    found = recollect.json("search", "retention", "--from", "2026-11-20", "--app", "code")
    assert [hit["frame_id"] for hit in found["data"]] == [frame.id]
    assert found["data"][0]["highlights"] == [[4, 13]]
    code, out, err = recollect("search", "retention")
    assert code == 0 and str(frame.id) in out and "the retention policy" in out
    assert err == "1 frame\n"
    for none in (("--to", "2026-11-19"), ("--host", "laptop")):
        assert recollect.json("search", "retention", *none)["data"] == []


def test_ask_answers_with_evidence(recollect: Recollect, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="the retention policy was changed")
    span = ("--from", str(NOON_MS / 1000), "--to", str(NOON_MS / 1000 + 60), "--tz", "UTC")
    answer = recollect.json("ask", "What did I do?", *span)
    assert [item["frame_id"] for item in answer["evidence"]] == [frame.id]
    _, out, _ = recollect("ask", "What did I do?", *span)
    assert f"[1] 2026-11-20T12:00:00+00:00  Code · main.py  frame {frame.id}\n" in out
    last = out.splitlines()[-1]
    assert last.startswith("Friday 20 Nov, 12:00–12:01 — searched Friday 20 Nov, 12:00–12:01 · 1 frame read")


def test_ask_uses_tools_and_allows_none_that_nobody_decides_about(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="the retention policy was changed")
    fact = ("store_entity", {"kind": "person", "name": "Ada"})
    with StubModel(can=("tools",)) as stub:
        stub.call(fact, ("search_ocr", {"query": "retention"})).reply("It was changed [[e1]].")
        (data_dir.home / "config.toml").write_text(
            f'[chat]\nbase_url = "{stub.base_url}"\n', encoding="utf-8"
        )
        answer = recollect.json("ask", "What about the retention?", "--tz", "UTC")
        assert '"proposed": true' in stub.prompt() and "store_entity" in stub.prompt()
    assert [item["frame_id"] for item in answer["evidence"]] == [frame.id]
    assert answer["way"]["tools"] == 1 and answer["scope"]["everything"]


def test_ask_says_as_whom_the_model_speaks(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, text="the retention policy was changed")
    with StubModel() as stub:
        stub.reply("It was changed.")
        config = f'[chat]\nbase_url = "{stub.base_url}"\nmodel = "stub"\n'
        (data_dir.home / "config.toml").write_text(config, encoding="utf-8")
        span = ("--from", str(NOON_MS / 1000), "--to", str(NOON_MS / 1000 + 60), "--tz", "UTC")
        assert recollect("ask", "What did I do?", *span, "--system-prompt", "Speak like a pirate.")[0] == 0
    assert stub.prompt().startswith("Speak like a pirate.\n\nRules that nothing else")


def test_delete_shows_what_would_go_and_asks(
    recollect: Recollect, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(database, data_dir, text="words")
    span = ("--from", "2026-11-20", "--to", "2026-11-22")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, out, err = recollect("delete", *span)
    assert (code, out) == (130, "")
    assert "1 frame from" in err
    assert recollect.json("search")["pagination"]["total"] == 1
    receipt = recollect.json("delete", *span, "--yes")
    assert (receipt["counts"]["frames"], receipt["verification"]["ok"]) == (1, True)
    assert recollect.json("search")["pagination"]["total"] == 0


def test_a_deletion_that_is_being_finished_is_no_failure(
    recollect: Recollect, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_ERASED_AT_ONCE", 1)
    monkeypatch.setattr(deletion, "_MERGE_WORTH", 0)
    store_frame(database, data_dir, NOON_MS + 86_400_000, text="words")
    for n in range(3):
        store_frame(database, data_dir, NOON_MS + n, text="words")
    code, out, err = recollect("delete", "--from", "2026-11-20", "--to", "2026-11-21", "--yes")
    assert (code, "deleted 3 frames" in out) == (0, True)
    assert "Recollect finishes this" in err and "something is left" not in err


def test_delete_takes_only_the_named_app(recollect: Recollect, database: Database, data_dir: DataDir) -> None:
    store_frame(database, data_dir, app_name="Code")
    store_frame(database, data_dir, NOON_MS + 1, app_name="Mail")
    recollect("delete", "--from", "2026-11-20", "--to", "2026-11-22", "--app", "Mail", "--yes")
    assert [hit["app_name"] for hit in recollect.json("search")["data"]] == ["Code"]


def test_a_rule_takes_the_past_only_after_a_clear_yes(
    recollect: Recollect, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(database, data_dir, app_name="Code")
    store_frame(database, data_dir, NOON_MS + 1, app_name="Mail")
    for reply, left in (("", 2), ("n\n", 2), ("y\n", 1)):
        monkeypatch.setattr("sys.stdin", io.StringIO(reply))
        code, out, err = recollect("privacy", "add", "--app", "Mail")
        assert (code, "would have hidden 1 frame recorded earlier" in err) == (0, True)
        assert ("they stay" in out) == (left == 2)
        assert recollect.json("search")["pagination"]["total"] == left
    assert recollect.json("privacy")["rules"][0]["app"] == "Mail"
    assert "your rule for app 'Mail'" in recollect("privacy", "test", "--app", "mail")[1]
    assert recollect.json("privacy", "test", "--app", "Code")["action"] == "keep"


def test_a_rule_takes_what_shows_behind_and_says_what_it_cannot_know(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, visible=(("galculator", "galculator", None),))
    store_frame(database, data_dir, NOON_MS + 1, visible=(("Mail", "Inbox", None),))
    said = "may still show it behind another window"
    added = recollect("privacy", "add", "--app", "galculator", "--recorded", "delete")
    assert "deleted 1 frame" in added[1] and said not in added[1]
    store_frame(database, data_dir, NOON_MS + 2, visible=None)
    for choice in ("keep", "delete"):
        out = recollect("privacy", "add", "--app", "galculator", "--recorded", choice)[1]
        assert f"1 frame until 2026-11-20 12:00:00+00:00 {said}" in out
    told = recollect.json("privacy", "add", "--app", "Mail", "--recorded", "keep")
    assert told == {"recorded_frames": 1, "only_front": {"frames": 1, "until": (NOON_MS + 2) / 1000}}
    receipt = recollect.json("privacy", "add", "--app", "Mail", "--recorded", "delete")
    assert (receipt["counts"]["frames"], receipt["only_front"]["frames"]) == (1, 1)


def test_a_rule_is_removed_by_its_number_and_another_refused_with_what_is_wrong(
    recollect: Recollect, data_dir: DataDir
) -> None:
    (data_dir.home / "config.toml").write_text('[[privacy.exclude]]\napp = "Notes"\n', encoding="utf-8")
    for app in ("Mail", "Signal"):
        recollect("privacy", "add", "--app", app, "--recorded", "keep")
    out = recollect("privacy")[1]
    assert "-  drop  your rule for app 'Notes'\n1  drop  your rule for app 'Mail'\n2  drop  your rule" in out
    assert recollect("privacy", "remove", "1")[1] == "no longer left out: your rule for app 'Mail'\n"
    assert "1  drop  your rule for app 'Signal'" in recollect("privacy")[1]
    code, _, err = recollect("privacy", "remove", "2")
    assert code == 1 and "there is no rule 2 of yours" in err
    assert recollect.json("privacy", "remove", "1") == {
        "removed": {"app": "Signal", "match": "auto", "action": "drop"}
    }
    code, _, err = recollect("privacy", "add")
    assert (code, err) == (1, "recollect: rule 1 names neither app nor title nor url\n")


def test_a_pause_has_a_limit_that_is_said(recollect: Recollect) -> None:
    code, _, err = recollect("pause", "999999999")
    assert code == 1 and "a pause is 525,600 minutes (a year) at most" in err
    assert recollect("pause", "525600")[0] == 0
    assert recollect("resume")[0] == 0


def test_an_export_takes_the_place_of_no_file_unasked(
    recollect: Recollect,
    database: Database,
    data_dir: DataDir,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store_frame(database, data_dir)
    target = tmp_path / "e.zip"
    target.write_text("mine")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = recollect("export", str(target))
    assert code and "is there already. Replace it?" in err
    assert target.read_text() == "mine"
    assert recollect("export", str(target), "--yes")[0] == 0
    code, _, err = recollect("export", str(tmp_path / "none" / "e.zip"))
    assert code == 1 and ".part" not in err and "none/e.zip" in err


def test_a_rule_about_a_site_says_that_whole_browsers_are_left_out(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, app_name="Chromium")
    said = "Without the browser extension Recollect cannot see addresses in time, so every window of Chromium"
    assert said in recollect("privacy", "add", "--url", "bank.example", "--recorded", "keep")[1]
    assert said in recollect("privacy")[1]
    out = recollect("privacy", "test", "--app", "Chromium", "--url", "https://a.example/todo.html")[1]
    assert "it would be recorded" in out and said in out
    out = recollect("privacy", "test", "--app", "Chromium", "--url", "https://bank.example/todo.html")[1]
    assert "it would be left out: your rule for url 'bank.example'" in out
    out = recollect("privacy", "test", "--app", "Chromium", "--title", "To do")[1]
    assert "a rule names a site, and this browser window's address is not known" in out
    out = recollect("privacy", "test", "--app", "Code", "--title", "main.py")[1]
    assert out == "it would be recorded\n"
    assert "private browser window" in recollect("privacy", "test", "--app", "Chromium", "--private")[1]


def test_rules_that_cannot_be_read_are_not_written_over(recollect: Recollect, data_dir: DataDir) -> None:
    data_dir.privacy_rules.write_text("{", encoding="utf-8")
    for words in (["privacy"], ["privacy", "add", "--app", "Mail"]):
        code, _, err = recollect(*words)
        assert code == 1 and "the privacy rules cannot be read" in err and "unexpected" not in err
    assert data_dir.privacy_rules.read_text(encoding="utf-8") == "{"


def test_retention_runs_dry_and_for_real(
    recollect: Recollect, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(database, data_dir, NOON_MS - 4000 * 86_400_000, "words")
    assert "everything is kept" in recollect("retention", "run")[1]
    monkeypatch.setenv("RECOLLECT_RETENTION_DAYS", "3000")
    planned = recollect.json("retention", "run", "--dry-run")
    assert (planned["pictures"], planned["dry_run"]) == (1, True)
    assert recollect("retention", "run")[1].startswith("gone: 1 picture, ")
    assert recollect.json("retention", "run", "--dry-run")["pictures"] == 0


def test_verify_fails_when_a_picture_is_missing(
    recollect: Recollect, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="words")
    recollect("delete", "--from", "2026-11-19", "--to", "2026-11-20")
    assert frame.media_path is not None
    (data_dir.media / frame.media_path).unlink()
    code, out, err = recollect("verify")
    assert code == 1 and "X  " in out
    assert err.startswith("recollect: ") and err.count("\n") == 1


def test_what_was_set_aside_is_queued_again(recollect: Recollect, data_dir: DataDir) -> None:
    spool = Spool(data_dir.spool)
    names = [spool.put(capture(NOON_MS + n), webp(picture())) for n in range(2)]
    for name in names:
        spool.take(name)
        spool.fail(name, "broken")
    assert recollect.json("ingest", "retry", names[0])["retried"] == [names[0]]
    assert spool.waiting() == [names[0]]
    assert recollect.json("ingest", "retry")["retried"] == [names[1]]
    assert spool.waiting() == names


# -- the web process ------------------------------------------------------------------------


@pytest.mark.end_to_end
def test_web_serves_until_a_signal_and_open_finds_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    program = [sys.executable, "-m", "webapp"]
    web = subprocess.Popen(
        [*program, "web", "--home", str(home), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert web.stdout is not None and web.stderr is not None
    link = re.search(
        r"http://127\.0\.0\.1:\d+/launch\?code=\S+", web.stdout.readline() + web.stdout.readline()
    )
    assert link
    base = link.group().partition("/launch")[0]
    shown = subprocess.run(
        [*program, "open", "--home", str(home), "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(shown.stdout)["link"].startswith(f"{base}/launch?code=")
    token = (home / "token").read_text().strip()
    request = urllib.request.Request(f"{base}/api/v1/stats", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["frames"] == 0
    _check_modes(home)
    web.send_signal(signal.SIGINT)
    assert web.wait(60) == 0
    assert token not in web.stderr.read() + web.stdout.read()
    web.stdout.close()
    web.stderr.close()
    assert not (home / "web.json").exists()


def _check_modes(home: Path) -> None:
    """Nobody else can read anything."""
    for path in (home, *home.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_port_in_use_is_one_line(recollect: Recollect) -> None:
    from webapp.security.access import listen

    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        for command in ("web", "up"):
            code, _, err = recollect(command, "--port", port)
            assert (code, err.count("\n")) == (1, 1)
            assert port in err
