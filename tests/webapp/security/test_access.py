"""The token and launch links: who gets a key, for how long, and how often."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from store.core.paths import DataDir
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services
from webapp.security import access
from webapp.security.access import (
    LAUNCH_LIFETIME_MS,
    check_launch_code,
    derive_key,
    load_token,
    make_launch_code,
)


def test_the_token_is_made_once_and_only_its_owner_can_read_it(data_dir: DataDir) -> None:
    token = load_token(data_dir)
    assert len(token) >= 40
    assert load_token(data_dir) == token
    assert stat.S_IMODE(data_dir.token.stat().st_mode) == 0o600


def test_programs_that_start_at_once_make_one_token(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, whole, first = threading.Barrier(2), access._kept_token, threading.local()

    def found_none_together(home: DataDir) -> str:
        token = whole(home)
        if not getattr(first, "is_over", False):
            first.is_over = True
            both.wait(10)
        return token

    monkeypatch.setattr(access, "_kept_token", found_none_together)
    with ThreadPoolExecutor(2) as programs:
        tokens = {each.result() for each in [programs.submit(load_token, data_dir) for _ in range(2)]}
    assert tokens == {data_dir.token.read_text().strip()}


def test_a_token_file_that_others_can_read_is_tightened(data_dir: DataDir) -> None:
    token = load_token(data_dir)
    data_dir.token.chmod(0o644)
    assert load_token(data_dir) == token
    assert stat.S_IMODE(data_dir.token.stat().st_mode) == 0o600


@for_each("planted", [b"", b"a", b"hunter2", b"\xff" * 60])
def test_a_token_that_could_be_guessed_or_is_damaged_is_replaced(data_dir: DataDir, planted: bytes) -> None:
    data_dir.token.write_bytes(planted)
    assert len(load_token(data_dir)) >= 40


def test_keys_differ_by_purpose_and_by_token() -> None:
    keys = {derive_key(token, purpose) for token in ("a", "b") for purpose in ("session", "csrf")}
    assert len(keys) == 4


def test_a_launch_code_is_good_until_it_expires() -> None:
    code = make_launch_code("token", 1_000)
    assert check_launch_code("token", code, 1_000) is not None
    assert check_launch_code("token", code, 1_000 + LAUNCH_LIFETIME_MS - 1) is not None
    assert check_launch_code("token", code, 1_000 + LAUNCH_LIFETIME_MS) is None


@for_each("spoil", [lambda c: c[:-1], lambda c: "9" + c, lambda c: c + "0", lambda c: ""])
def test_a_launch_code_that_was_touched_is_refused(spoil: object) -> None:
    assert callable(spoil)
    assert check_launch_code("token", spoil(make_launch_code("token", 1_000)), 1_000) is None


@for_each("code", ["", ".", "..", "a.b.c", "é", "9" * 500, "1.\x00.f"])
def test_nonsense_is_no_launch_code(code: str) -> None:
    assert check_launch_code("token", code, 0) is None


def test_a_launch_code_of_another_home_is_refused() -> None:
    assert check_launch_code("other", make_launch_code("token", 1_000), 1_000) is None


# -- through the door -----------------------------------------------------------------------


def test_a_launch_link_signs_a_browser_in_once(stranger: Actor, own: Services) -> None:
    """The link works once; the cookie it gives cannot be read by scripts or sent by other sites."""
    link = f"/launch?code={make_launch_code(own.token, own.clock())}"
    assert stranger.ask("HEAD", link).status_code == 204  # a preview of the link uses nothing up
    answer = stranger.get(link)
    assert (answer.status_code, answer.location) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("recollect_8420=")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert stranger.get("/api/v1/stats").status_code == 200
    fresh = Actor(stranger.client.application.test_client(), {})
    assert fresh.get(link).status_code == 401
    assert fresh.get("/api/v1/stats").status_code == 401


def test_an_expired_link_gives_no_session(stranger: Actor, own: Services, now: Clock) -> None:
    link = f"/launch?code={make_launch_code(own.token, own.clock())}"
    now.now_ms += LAUNCH_LIFETIME_MS
    answer = stranger.get(link)
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert "recollect open" in answer.text


def test_a_cookie_signed_with_another_token_is_worth_nothing(browser: Actor, own: Services) -> None:
    from assistant.core.models import ChatModels
    from store.core.database import open_database
    from store.core.settings import Settings
    from webapp import create_app

    assert browser.get("/api/v1/stats").status_code == 200
    os.truncate(own.data_dir.token, 0)  # a new token at the next start ends every session
    database = open_database(own.data_dir)
    app = create_app(Settings(), database, chat_models=ChatModels(own.settings.chat, {}))
    cookie = browser.client.get_cookie("recollect_8420", domain="127.0.0.1")
    assert cookie is not None
    client = app.test_client()
    client.set_cookie(cookie.key, cookie.value, domain="127.0.0.1")
    assert Actor(client, {}).get("/api/v1/stats").status_code == 401
    database.close_thread()
