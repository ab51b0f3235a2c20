"""Browsers that are signed in and tokens for one purpose: listed, bounded, revoked, and noted when used."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from assistant.core.models import ChatModels
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.settings import Settings, WebSettings
from store.egress import access_keys, access_log
from tests.factories import picture, webp
from tests.tables import for_each
from tests.webapp.api.test_ingest import raw_body, upload
from tests.webapp.conftest import PORT, Actor, Clock, browser_of, csrf_of, make_token
from webapp import create_app
from webapp.core.services import Services
from webapp.security import keys
from webapp.security.keys import IDLE_MS, LIFETIME_MS, MAX_WRONG, WRONG_SPAN_MS, Keyring

STATS = "/api/v1/stats"
OTHER_ID = "0b1f6c1e-8f2a-4c57-9a3e-5d2f1c7e9b11"


def act(app: Flask, actor: Actor, path: str, **form: str) -> str:
    answer = actor.post(path, data={"csrf_token": csrf_of(app, actor), **form})
    assert answer.status_code < 400, answer.text
    return answer.text


# -- browsers -------------------------------------------------------------------------------


def test_a_browser_stays_signed_in_while_it_is_used_but_not_for_ever(browser: Actor, now: Clock) -> None:
    began = now.now_ms
    while now.now_ms + IDLE_MS - 1 <= began + LIFETIME_MS:
        now.now_ms += IDLE_MS - 1
        assert browser.get(STATS).status_code == 200
    now.now_ms = began + LIFETIME_MS + 1
    assert browser.get(STATS).status_code == 401


def test_a_browser_that_is_not_used_for_a_week_is_signed_out(browser: Actor, now: Clock) -> None:
    now.now_ms += IDLE_MS + 1
    assert browser.get(STATS).status_code == 401


def test_a_clock_that_was_wrong_gives_nobody_a_longer_time(browser: Actor, now: Clock) -> None:
    now.now_ms -= LIFETIME_MS + 1
    assert browser.get(STATS).status_code == 401


def test_signing_out_ends_copies_of_the_cookie_too(app: Flask, browser: Actor) -> None:
    cookie = browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie is not None
    act(app, browser, "/sign-out")
    assert browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1") is None
    copy = Actor(app.test_client(), {"Cookie": f"{cookie.key}={cookie.value}"})
    assert copy.get(STATS).status_code == 401


def test_browsers_are_listed_and_signed_out_one_by_one_or_all_others(app: Flask, browser: Actor) -> None:
    second, third = browser_of(app), browser_of(app)
    page = browser.get("/settings/access").text
    assert page.count("signed in <time") == 3 and page.count("This browser") == 1
    act(app, browser, "/privacy/keys/2/revoke")
    assert [each.get(STATS).status_code for each in (browser, second, third)] == [200, 401, 200]
    act(app, browser, "/privacy/keys/others/revoke")
    assert [each.get(STATS).status_code for each in (browser, second, third)] == [200, 401, 401]


def test_signing_in_again_leaves_one_line(app: Flask, own: Services, browser: Actor) -> None:
    from webapp.security.access import make_launch_code

    browser.get(f"/launch?code={make_launch_code(own.token, own.clock())}")
    assert len(access_keys.listed(own.database)) == 1


def test_a_cookie_is_good_on_the_port_it_was_made_for_only(browser: Actor, database: Database) -> None:
    """Cookies do not look at ports, and whoever has one can call it what the other port expects."""
    cookie = browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie is not None
    settings = Settings(web=WebSettings(port=PORT + 1))
    other = create_app(settings, database, chat_models=ChatModels(settings.chat, {}))
    headers = {"Host": f"127.0.0.1:{PORT + 1}", "Cookie": f"recollect_{PORT + 1}={cookie.value}"}
    assert other.test_client().get(STATS, headers=headers).status_code == 401


def test_a_cookie_that_another_server_planted_signs_nobody_out(app: Flask, browser: Actor) -> None:
    """Set for a longer path it comes first."""
    cookie = browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie is not None
    name = f"recollect_{PORT}"
    raw = app.test_client(use_cookies=False)
    planted = {"Cookie": f"{name}=planted; {name}={cookie.value}"}
    assert Actor(raw, planted).get(STATS).status_code == 200
    flood = "; ".join(f"{name}={n}" for n in range(1_000))
    assert Actor(raw, {"Cookie": f"{flood}; {name}={cookie.value}"}).get(STATS).status_code == 401


def test_a_device_is_told_in_plain_words(app: Flask, own: Services, stranger: Actor) -> None:
    from webapp.security.access import make_launch_code

    agent = (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36"
    )
    for each in (agent, "<script>alert(1)</script>", ""):
        link = f"/launch?code={make_launch_code(own.token, own.clock())}"
        fresh = Actor(app.test_client(), {"User-Agent": each})
        assert fresh.get(link).status_code == 303
    names = [key.name for key in access_keys.listed(own.database)]
    assert names == ["A browser", "A browser, 1", "Chrome, X11, Linux x86_64"]


def test_nobody_waits_for_a_note_of_use(
    browser: Actor, database: Database, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may keep the write lock for long, and pages open all the same."""
    made_ms = now.now_ms
    with Database(database.data_dir).write(), monkeypatch.context() as patch:
        patch.setattr(Database, "write", Mock(side_effect=AssertionError("it waits for the lock")))
        now.now_ms += 11 * 60_000
        assert [browser.get(STATS).status_code for _ in range(5)] == [200] * 5
    [key] = access_keys.listed(database)
    assert key.used_ms == made_ms
    now.now_ms += 60_000
    assert browser.get(STATS).status_code == 200
    assert access_keys.listed(database)[0].used_ms == now.now_ms


# -- tokens for one purpose -----------------------------------------------------------------

PICTURE = "/api/v1/ingest"
OUTCOME = "/api/v1/ingest/00000000-0000-4000-8000-000000000000"


@for_each("scope", ["read", "ingest", "mcp"])
def test_a_token_opens_what_it_is_for(app: Flask, database: Database, scope: str) -> None:
    token = make_token(database, scope)
    actor = Actor(app.test_client(), {"Authorization": f"Bearer {token}"})
    opened = {
        "read": {("GET", STATS), ("HEAD", STATS), ("GET", OUTCOME)},
        "ingest": {("POST", PICTURE), ("GET", OUTCOME)},
    }
    for method, path in (
        ("GET", STATS), ("HEAD", STATS), ("POST", PICTURE), ("GET", OUTCOME), ("GET", "/timeline"),
        ("GET", "/privacy"), ("POST", "/api/v1/delete"), ("POST", "/privacy/tokens"),
        ("DELETE", "/api/v1/frames/1"), ("PUT", "/api/v1/privacy/rules"), ("POST", "/sign-out"),
        ("GET", "/ws/chat/1"),
    ):  # fmt: skip
        is_refused = actor.ask(method, path).status_code == 403
        assert is_refused == ((method, path) not in opened.get(scope, set())), (scope, method, path)
    health = actor.get("/api/v1/health").get_json()
    assert ("parts" in health) == (scope == "read")


def test_each_use_of_a_token_leaves_a_row(app: Flask, database: Database) -> None:
    token = make_token(database, "read", "my script")
    actor = Actor(app.test_client(), {"Authorization": f"Bearer {token}"})
    for method, path in (("GET", STATS), ("GET", "/api/v1/frames/7"), ("POST", "/api/v1/delete")):
        actor.ask(method, path)
    rows = access_log.latest(database)[::-1]
    assert [(row.caller, row.door, row.tool, row.outcome) for row in rows] == [
        ("my script", "api", "api.operation_stats", "answered"),
        ("my script", "api", "api.frames_picture", "refused"),
        ("my script", "api", "api.privacy_delete", "refused"),
    ]


@for_each(
    ("error", "code"), [(StoreBusy("busy"), "store_busy"), (OSError(errno.ENOSPC, "full"), "disk_full")]
)
def test_nothing_is_told_to_a_token_without_a_row(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    actor = Actor(app.test_client(), {"Authorization": f"Bearer {make_token(database, 'read')}"})
    with monkeypatch.context() as patch:
        patch.setattr(access_log, "record", Mock(side_effect=error))
        answer = actor.get(STATS)
    assert (answer.status_code, answer.get_json()["code"]) == (503, code)
    assert "frames" not in answer.text and answer.headers["Cache-Control"] == "private, no-store"


def test_what_was_taken_in_is_not_refused_for_want_of_a_row(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever sent it would send it again."""
    actor = Actor(app.test_client(), {"Authorization": f"Bearer {make_token(database, 'ingest')}"})
    monkeypatch.setattr(access_log, "record", Mock(side_effect=StoreBusy("busy")))
    answer = upload(actor)
    assert answer.status_code < 300, answer.text


def test_a_token_is_made_on_the_page_shown_once_and_revoked(
    app: Flask, browser: Actor, own: Services
) -> None:
    page = act(app, browser, "/privacy/tokens", name="<b>my script", scope="read")
    token = _made(page)
    assert "&lt;b&gt;my script" in page and "<b>my" not in page
    actor = Actor(app.test_client(), {"Authorization": f"Bearer {token}"})
    assert actor.get(STATS).status_code == 200
    assert token not in browser.get("/settings/access").text
    assert token.encode() not in own.data_dir.database.read_bytes()
    key = access_keys.listed(own.database)[0]
    act(app, browser, f"/privacy/keys/{key.id}/revoke")
    assert actor.get(STATS).status_code == 401


def _made(page: str) -> str:
    return page.split("shown this once")[1].split("<code>")[1].split("</code>")[0]


def test_a_cookie_is_no_token_and_a_token_no_cookie(app: Flask, browser: Actor, database: Database) -> None:
    cookie = browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie is not None
    raw = app.test_client(use_cookies=False)
    assert Actor(raw, {"Authorization": f"Bearer {cookie.value}"}).get(STATS).status_code == 401
    shown = {"Cookie": f"recollect_{PORT}={make_token(database, 'read')}"}
    assert Actor(raw, shown).get(STATS).status_code == 401


def test_a_number_is_never_used_again(database: Database) -> None:
    """What was revoked stays revoked for who looks at an old page."""
    make_token(database, "read")
    with database.write() as connection:
        access_keys.revoke(connection, 1)
    make_token(database, "read")
    assert [key.id for key in access_keys.listed(database)] == [2]


# -- wrong ones -----------------------------------------------------------------------------


def test_after_many_wrong_tokens_one_is_asked_to_wait_and_a_right_one_is_let_in(
    stranger: Actor, program: Actor, browser: Actor, now: Clock
) -> None:
    def guess(n: int) -> tuple[int, str | None]:
        answer = stranger.get(STATS, headers={"Authorization": f"Bearer guess{n}"})
        return answer.status_code, answer.headers.get("Retry-After")

    assert [guess(n) for n in range(MAX_WRONG)] == [(401, None)] * MAX_WRONG
    now.now_ms += 1_500
    assert guess(0) == (429, "59")
    assert program.get(STATS).status_code == browser.get(STATS).status_code == 200
    assert stranger.get(STATS).status_code == 401  # who shows nothing was not wrong
    now.now_ms += WRONG_SPAN_MS
    assert guess(0) == (401, None)


def test_wrong_launch_codes_count(stranger: Actor) -> None:
    answers = [stranger.get("/launch?code=wrong") for _ in range(MAX_WRONG + 1)]
    assert [answer.status_code for answer in answers] == [401] * MAX_WRONG + [429]
    assert "recollect open" in answers[-1].text


def test_the_table_of_wrong_ones_is_bounded_and_no_clock_locks_anybody_out(database: Database) -> None:
    clock = Clock(1_000_000)
    keyring = Keyring(database, "token", clock)
    for n in range(5_000):
        keyring.note_wrong(f"fe80::{n:x}")
    assert len(keyring._wrong) <= keys._MAX_ADDRESSES
    for _ in range(MAX_WRONG + 1):
        keyring.note_wrong("::1")
    assert keyring.wait_s("::1") == 60
    clock.now_ms = 0  # set back by hand
    assert keyring.wait_s("::1") == 0


def test_no_answer_depends_on_where_a_request_says_it_comes_from(stranger: Actor) -> None:
    for n in range(MAX_WRONG + 1):
        headers = {"Authorization": "Bearer guess", "X-Forwarded-For": f"10.0.0.{n}", "Forwarded": f"for={n}"}
        answer = stranger.get(STATS, headers=headers)
    assert answer.status_code == 429


# -- on its way -----------------------------------------------------------------------------


class _Slow(io.BytesIO):
    """A body; what is to happen while it is on its way happens when it is read."""

    def __init__(self, content: bytes, act: Callable[[], object]) -> None:
        super().__init__(content)
        self._act = act

    def readinto(self, buffer: Any) -> int:
        self._act()
        return super().readinto(buffer)


def test_a_token_that_is_revoked_while_a_picture_is_on_its_way_hands_in_nothing(
    app: Flask, own: Services
) -> None:
    headers = {"Authorization": f"Bearer {make_token(own.database, 'ingest')}"}
    actor = Actor(app.test_client(), headers)
    assert upload(actor).status_code == 202
    answer = _slowly(
        app,
        own,
        actor,
        "/api/v1/ingest",
        "multipart/form-data; boundary=x",
        raw_body(webp(picture(2)), OTHER_ID),
    )
    assert answer.status_code == 401
    assert len(own.spool.waiting()) == 1


def test_a_browser_that_is_signed_out_while_its_request_is_on_its_way_changes_nothing(
    app: Flask, own: Services, browser: Actor
) -> None:
    browser.headers |= {"X-CSRF-Token": csrf_of(app, browser)}
    answer = _slowly(app, own, browser, "/api/v1/capture/pause", "application/json", b'{"minutes": 5}')
    assert answer.status_code == 401
    assert not (own.data_dir.spool / "pause.json").exists()


def _slowly(app: Flask, own: Services, actor: Actor, path: str, media_type: str, body: bytes) -> TestResponse:
    """The answer where all keys are revoked while the body is on its way."""

    def revoke() -> None:
        with own.database.write() as connection:
            for key in access_keys.listed(own.database):
                access_keys.revoke(connection, key.id)

    return actor.post(
        path, input_stream=_Slow(body, revoke), content_length=len(body), content_type=media_type
    )
