"""The one door of the browser extension: exact origin, own token, accepts only."""

from __future__ import annotations

from typing import Any

from werkzeug.test import TestResponse

from store.privacy import rules as privacy
from store.spool import window_hints
from store.spool.process_state import TextDoor
from store.spool.window_hints import ExtensionReport, OrdinaryWindow
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services
from webapp.security.access import EXTENSION_ORIGIN, extension_token

COPY = "6f1c2f0e-6e0f-4a53-8a3e-3b8b8f0f9d10"
BODY: dict[str, Any] = {
    "copy_id": COPY,
    "browser": "Chromium",
    "windows": [
        {"title": "News", "url": "https://news.example/"},
        {"title": "Settings", "url": "chrome://settings"},
    ],
}


def say(actor: Actor, own: Services, body: dict[str, Any] = BODY, **headers: str) -> TestResponse:
    sent = {"Origin": EXTENSION_ORIGIN, "Authorization": f"Bearer {extension_token(own.token)}", **headers}
    sent = {name: value for name, value in sent.items() if value}
    return actor.post("/api/v1/browser-windows", json=body, headers=sent)


def test_what_the_extension_says_is_kept_for_capture(stranger: Actor, own: Services, now: Clock) -> None:
    answer = say(stranger, own)
    assert (answer.status_code, answer.get_json()) == (200, {"windows": 2, "text_door": None})
    TextDoor(4711, "key", "word").write(own.data_dir.spool)
    assert say(stranger, own).get_json()["text_door"] == {"port": 4711, "key": "key", "word": "word"}
    windows = (OrdinaryWindow("News", "https://news.example/"), OrdinaryWindow("Settings"))
    assert window_hints.read_reports(own.data_dir.spool) == [ExtensionReport("Chromium", now(), windows)]
    assert not any(name.lower().startswith("access-control") for name, _ in answer.headers)


@for_each(
    "origin",
    ["", "null", "chrome-extension://abcdefghijklmnopabcdefghijklmnop", "https://evil.example", "moz-extension://x",
     EXTENSION_ORIGIN + "/", EXTENSION_ORIGIN.upper(), "http://localhost:8420"],
)  # fmt: skip
def test_no_other_origin_is_heard(stranger: Actor, own: Services, origin: str) -> None:
    assert say(stranger, own, Origin=origin).status_code == 403
    assert window_hints.read_reports(own.data_dir.spool) == []


def test_only_its_own_token_is_taken(stranger: Actor, own: Services) -> None:
    for authorization in ("", "Bearer wrong", "Basic eDp5", f"Bearer {own.token}"):
        assert say(stranger, own, Authorization=authorization).status_code == 401
    assert window_hints.read_reports(own.data_dir.spool) == []


@for_each("path", ["/api/v1/search?start_time=0", "/api/v1/privacy/rules", "/timeline"])
def test_its_token_opens_nothing_else(stranger: Actor, own: Services, path: str) -> None:
    token = {"Authorization": f"Bearer {extension_token(own.token)}"}
    assert stranger.get(path, headers=token).status_code == 401
    assert stranger.get(path, headers={**token, "Origin": EXTENSION_ORIGIN}).status_code == 403


def test_it_answers_no_get_and_no_other_host(stranger: Actor, own: Services) -> None:
    assert stranger.get("/api/v1/browser-windows").status_code in (401, 405)
    assert say(stranger, own, Host="evil.example:8420").status_code == 403


@for_each(
    "change",
    [
        {"copy_id": "../../etc/passwd"},
        {"browser": ""},
        {"browser": "x" * 61},
        {"windows": [{"title": "x" * 1001}]},
        {"windows": [{"title": "x", "incognito": True}]},
        {"windows": [{"title": "x"}] * 201},
        {"more": 1},
    ],
)
def test_what_is_not_understood_is_refused(stranger: Actor, own: Services, change: dict[str, Any]) -> None:
    assert say(stranger, own, {**BODY, **change}).status_code == 422
    assert window_hints.read_reports(own.data_dir.spool) == []


def test_the_privacy_page_shows_who_speaks_and_forgets_who_does_not(
    browser: Actor, stranger: Actor, own: Services, now: Clock
) -> None:
    html = browser.get("/settings/access").get_data(as_text=True)
    assert extension_token(own.token) in html and own.token not in html
    say(stranger, own)
    assert "2 ordinary windows" in browser.get("/settings/access").get_data(as_text=True)
    now.now_ms += 10 * 60_000
    assert "Hidden until its extension speaks" in browser.get("/settings/access").get_data(as_text=True)


def test_browsers_that_do_not_tell_are_blacked_out_unless_wanted(program: Actor, own: Services) -> None:
    window = {"app_name": "Safari", "window_name": "News"}
    found = program.post("/api/v1/privacy/test", json=window).get_json()
    assert (found["action"], found["reason"], found["private"]) == ("mask", "may_be_private", "unknown")
    rules = {"rules": [], "mask_maybe_private": False}
    assert program.ask("PUT", "/api/v1/privacy/rules", json=rules).get_json()["mask_maybe_private"] is False
    assert program.post("/api/v1/privacy/test", json=window).get_json()["action"] == "keep"
    assert privacy.own_choices(own.data_dir).mask_maybe_private is False
