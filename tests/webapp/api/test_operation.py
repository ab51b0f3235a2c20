"""Timeline, totals, ledger, control, rules, models, chats, numbers: each answers in its shape."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.spool.process_state import read_pause
from store.spool.queue import DecisionRun, LookReport
from store.timeline import ledger, segments
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services

NOON = NOON_MS / 1000
RANGE = f"start_time={NOON}&end_time={NOON + 600}"
BATCH = "7d9f4f0e-52a8-4a7c-8a47-1d1a9a1a0f11"


def work(database: Database, data_dir: DataDir) -> None:
    """Two minutes in Code and one in Mail, looked at every ten seconds."""
    for n in range(18):
        app = "Code" if n < 12 else "Mail"
        frame = store_frame(database, data_dir, NOON_MS + n * 10_000, app_name=app, window_name=app.lower())
        with database.write() as connection:
            segments.heartbeat(connection, frame)


def test_the_timeline_tells_activity_gaps_and_apps(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    work(database, data_dir)
    found = program.get(f"/api/v1/timeline?{RANGE}&width_px=600").get_json()
    assert found["frames"] == 18
    assert [(run["app_name"], run["start_time"]) for run in found["segments"]] == [
        ("Code", NOON),
        ("Mail", NOON + 120),
    ]
    assert [total["name"] for total in found["apps"]] == ["Code", "Mail"]
    assert found["gaps"][-1]["end"] == NOON + 600
    assert found["gaps"][-1]["reason"] == "not_running"


@for_each("query", ["width_px=0", "width_px=a", "width_px=10001", "limit=1"])
def test_a_band_of_no_width_is_refused(program: Actor, query: str) -> None:
    assert program.get(f"/api/v1/timeline?{RANGE}&{query}").status_code == 400


@pytest.mark.parametrize("path", ["timeline", "activity-summary", "capture/decisions"])
def test_every_range_is_checked_alike(program: Actor, path: str) -> None:
    for query, code in (
        ("", "start_time_required"),
        ("start_time=NaN", "invalid_time"),
        ("start_time=2&end_time=1", "invalid_time_range"),
        ("start_time=1795176000000", "invalid_time"),
        ("start_time=1&x=1", "unknown_parameter"),
    ):
        answer = program.get(f"/api/v1/{path}?{query}")
        assert (answer.status_code, answer.get_json()["code"]) == (400, code)


def test_the_summary_never_exceeds_the_wall(program: Actor, database: Database, data_dir: DataDir) -> None:
    work(database, data_dir)
    found = program.get(f"/api/v1/activity-summary?{RANGE}").get_json()
    assert found["wall_minutes"] == 10
    assert found["covered_minutes"] == pytest.approx(sum(app["minutes"] for app in found["apps"]))
    assert found["covered_minutes"] <= found["wall_minutes"]
    code = found["apps"][0]
    assert (code["name"], code["first_seen"]) == ("Code", NOON)
    assert code["minutes"] == pytest.approx(2, abs=0.2)


def test_the_ledger_reconciles(program: Actor, database: Database, data_dir: DataDir) -> None:
    store_frame(database, data_dir, batch_id=BATCH)
    run = DecisionRun("DP-1", "excluded", "rule:app", NOON_MS, NOON_MS + 2_000, looks=4)
    with database.write() as connection:
        ledger.add_report(connection, LookReport(BATCH, NOON_MS, NOON_MS + 2_500, 5, (run,)))
    found = program.get(f"/api/v1/capture/decisions?{RANGE}").get_json()
    assert found["reconciliation"] == {
        "looks": 5, "kept": 1, "deduped": 0, "excluded": 4, "paused": 0, "failed": 0, "difference": 0,
    }  # fmt: skip
    assert {(each["decision"], each["reason"], each["looks"]) for each in found["decisions"]} == {
        ("excluded", "rule:app", 4),
        ("kept", "screen", 1),
    }


# -- control --------------------------------------------------------------------------------


def test_a_pause_is_on_disk_when_it_is_answered(program: Actor, data_dir: DataDir, now: Clock) -> None:
    answer = program.post("/api/v1/capture/pause", json={"minutes": 15}).get_json()
    assert answer == {
        "state": "paused",
        "since": now.now_ms / 1000,
        "until": now.now_ms / 1000 + 900,
    }
    pause = read_pause(data_dir.spool, now.now_ms)
    assert pause is not None and pause.until_ms == now.now_ms + 900_000
    assert program.post("/api/v1/capture/resume").get_json()["state"] == "resumed"
    assert read_pause(data_dir.spool, now.now_ms) is None


def test_a_pause_without_minutes_lasts(program: Actor, data_dir: DataDir, now: Clock) -> None:
    for options in ({}, {"json": {}}, {"json": {"minutes": None}}):
        answer = program.post("/api/v1/capture/pause", **options).get_json()
        assert answer["until"] is None
        assert read_pause(data_dir.spool, now.now_ms + 10**12) is not None


@for_each("minutes", [0, -1, "5", True, 10**9])
def test_a_pause_of_no_length_is_refused(program: Actor, data_dir: DataDir, minutes: Any) -> None:
    answer = program.post("/api/v1/capture/pause", json={"minutes": minutes})
    assert (answer.status_code, answer.get_json()["code"]) == (422, "invalid_minutes")
    assert read_pause(data_dir.spool, 0) is None


# -- privacy --------------------------------------------------------------------------------


def test_rules_are_replaced_as_a_whole(program: Actor) -> None:
    rules = [{"app": "Bank"}, {"url": "example.com/private", "match": "auto", "action": "mask"}]
    put = program.ask("PUT", "/api/v1/privacy/rules", json={"rules": rules, "defaults": False}).get_json()
    assert put == program.get("/api/v1/privacy/rules").get_json()
    assert [rule["app"] for rule in put["rules"]] == ["Bank", None]
    assert (put["defaults"], put["builtin"]) == (False, [])


def test_what_rules_would_have_hidden_is_counted_and_deleted(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    for n, app in enumerate(("Bank", "Bank", "Code")):
        store_frame(database, data_dir, NOON_MS + n, app_name=app)
    rules = {"rules": [{"app": "bank"}]}
    assert program.ask("PUT", "/api/v1/privacy/rules", json=rules).get_json()["recorded_frames"] == 2
    span = {"start_time": 0, "end_time": NOON_MS / 1000 + 60}
    tried = program.post("/api/v1/delete", json={**span, **rules, "dry_run": True}).get_json()
    done = program.post("/api/v1/delete", json={**span, **rules}).get_json()
    assert (tried["counts"]["frames"], done["counts"]["frames"], done["verification"]["ok"]) == (2, 2, True)
    assert program.get("/api/v1/privacy/rules").get_json()["recorded_frames"] == 0
    other = program.post("/api/v1/delete", json={**span, "rules": [{"app": "bank"}, {"app": "Code"}]})
    assert (other.status_code, [each["field"] for each in other.get_json()["errors"]]) == (422, ["rules.1"])
    assert database.column("select app_name from frames") == ["Code"]
    wrong = program.post("/api/v1/delete", json={**span, "rules": [{"title": "(", "match": "regex"}]})
    assert wrong.get_json()["errors"][0]["field"] == "rules.0.title"


def test_rules_are_saved_though_nobody_can_count_what_they_fit(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, NOON_MS, window_name=f"{'a' * 300} b")
    rule = {"title": "^(a|a)*$", "match": "regex"}  # undecided for hours
    put = program.ask("PUT", "/api/v1/privacy/rules", json={"rules": [rule]})
    assert (put.status_code, put.get_json()["recorded_frames"]) == (200, None)
    assert put.get_json()["rules"][0]["title"] == rule["title"]


@for_each(
    ("rules", "field"),
    [
        ([{}], "rules.0.rule"),
        ([{"app": "A"}, {"title": "(", "match": "regex"}], "rules.1.title"),
        ([{"app": "A", "action": "keep"}], "rules.0.action"),
        ([{"app": "A", "colour": "red"}], "rules.0.colour"),
        ("all", "rules"),
    ],
)
def test_one_bad_rule_changes_none(program: Actor, rules: Any, field: str) -> None:
    program.ask("PUT", "/api/v1/privacy/rules", json={"rules": [{"app": "Kept"}]})
    answer = program.ask("PUT", "/api/v1/privacy/rules", json={"rules": rules})
    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["field"] == field
    kept = program.get("/api/v1/privacy/rules").get_json()["rules"]
    assert [rule["app"] for rule in kept] == ["Kept"]


def test_rules_that_cannot_be_read_are_told(program: Actor, data_dir: DataDir) -> None:
    data_dir.privacy_rules.write_text("{")
    answer = program.get("/api/v1/privacy/rules")
    assert (answer.status_code, answer.get_json()["code"]) == (503, "rules_unreadable")
    window = program.post("/api/v1/privacy/test", json={"app_name": "Code"}).get_json()
    assert (window["action"], window["reason"]) == ("drop", "rules_unreadable")


@pytest.mark.parametrize(
    ("window", "action", "reason"),
    [
        ({"app_name": "Code", "window_name": "main.py"}, "keep", ""),
        ({"app_name": "KeePassXC"}, "drop", "rule:app"),
        (
            {"app_name": "Firefox", "window_name": "x — Mozilla Firefox Private Browsing"},
            "drop",
            "private_window",
        ),
        ({}, "mask", "unknown_window"),
    ],
)
def test_what_a_window_would_get(program: Actor, window: dict[str, str], action: str, reason: str) -> None:
    found = program.post("/api/v1/privacy/test", json=window).get_json()
    assert (found["action"], found["reason"]) == (action, reason)


# -- chats and models -----------------------------------------------------------------------


def test_chats_come_page_by_page(program: Actor, database: Database) -> None:
    ids = [conversations.create(database, f"chat {n}", NOON_MS + n) for n in range(5)]
    found: list[int] = []
    cursor = ""
    while cursor is not None:
        query = f"&cursor={cursor}" if cursor else ""
        page = program.get(f"/api/v1/chats?limit=2{query}").get_json()
        found += [chat["id"] for chat in page["data"]]
        cursor = page["pagination"]["next_cursor"]
    assert found == ids[::-1]
    assert program.get("/api/v1/chats?cursor=x").get_json()["code"] == "invalid_cursor"


def test_a_deleted_chat_is_not_found(program: Actor, database: Database) -> None:
    chat_id = conversations.create(database, "old", NOON_MS)
    assert program.get(f"/api/v1/chats/{chat_id}").get_json()["title"] == "old"
    assert program.ask("DELETE", f"/api/v1/chats/{chat_id}").get_json() == {"id": chat_id, "deleted": True}
    for method in ("GET", "DELETE"):
        answer = program.ask(method, f"/api/v1/chats/{chat_id}")
        assert (answer.status_code, answer.get_json()["code"]) == (404, "chat_not_found")
    assert program.get(f"/api/v1/chats/{chat_id}/turns/1").get_json()["code"] == "turn_not_found"


def test_the_built_in_model_is_always_there(program: Actor) -> None:
    models = program.get("/api/v1/models").get_json()["data"]
    assert [model["name"] for model in models if model["is_default"]] == ["extractive"]


# -- numbers --------------------------------------------------------------------------------


def test_the_numbers_count_what_is_there(
    program: Actor, own: Services, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="words")
    store_frame(database, data_dir, NOON_MS + 1)
    conversations.create(database, "one", NOON_MS)
    stats = program.get("/api/v1/stats").get_json()
    assert (stats["frames"], stats["frames_read"], stats["frames_to_read"], stats["chats"]) == (2, 1, 1, 1)
    assert (stats["first_frame"], stats["last_frame"]) == (NOON, NOON + 0.001)
    assert stats["pictures_bytes"] >= frame.size_bytes
    assert stats["database_bytes"] > 0


# -- errors ---------------------------------------------------------------------------------


def test_an_unexpected_error_is_logged_under_the_id_that_is_answered(
    program: Actor, own: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the secret cause")

    monkeypatch.setattr("webapp.api.chats.conversations.list_chats", broken)
    answer = program.get("/api/v1/chats")
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (500, "application/problem+json")
    assert problem["code"] == "internal_error"
    assert "secret cause" not in answer.text and "Traceback" not in answer.text
    assert problem["request_id"] in caplog.text and "the secret cause" in caplog.text


def test_a_method_that_an_address_does_not_know_is_405_with_the_ones_it_does(program: Actor) -> None:
    answer = program.ask("PATCH", "/api/v1/stats")
    assert (answer.status_code, answer.get_json()["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"]


def test_without_its_database_nothing_is_served_and_the_reason_is_told(
    program: Actor, database: Database
) -> None:
    """Whether this thread had it open or not; and as soon as it is back, all is as it was."""
    file = database.data_dir.database
    assert program.get("/api/v1/chats").status_code == 200
    aside = file.rename(file.with_suffix(".aside"))
    for is_open in (True, False):
        if not is_open:
            database.close_thread()
        answer = program.get("/api/v1/chats")
        assert (answer.status_code, answer.get_json()["code"]) == (503, "database_gone")
        assert program.get("/timeline").status_code == 503
    aside.rename(file)
    assert program.get("/api/v1/chats").status_code == 200


def test_a_busy_database_says_when_to_come_back(program: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    from store.core.errors import DatabaseDamaged, DeadlineExceeded, StoreBusy

    for error, code in (
        (StoreBusy("x"), "store_busy"),
        (DeadlineExceeded("x"), "deadline_exceeded"),
        (DatabaseDamaged("x"), "database_damaged"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
    ):

        def refuse(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("webapp.api.chats.conversations.list_chats", refuse)
        answer = program.get("/api/v1/chats")
        assert (answer.status_code, answer.get_json()["code"]) == (503, code)
        assert "Retry-After" in answer.headers
