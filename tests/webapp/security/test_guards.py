"""The door: Host, other sites, credentials, CSRF and the headers of every answer."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from flask import Flask
from werkzeug.routing import AnyConverter, BaseConverter

from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import store_frame
from tests.tables import for_each
from tests.webapp.conftest import ORIGIN, PORT, Actor, csrf_of
from webapp.security.guards import is_allowed_host
from webapp.security.keys import MAX_WRONG

NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

# -- Host -----------------------------------------------------------------------------------


@for_each(
    "host",
    ["localhost:8420", "LOCALHOST:8420", "127.0.0.1:8420", "[::1]:8420"],
)
def test_our_names_with_our_port_are_our_host(host: str) -> None:
    assert is_allowed_host(host, NAMES, 8420)


@for_each(
    "host",
    [
        "",
        " ",
        "evil.example",
        "evil.example:8420",
        "127.0.0.1.evil.example:8420",
        "localhost.evil.example:8420",
        "evil.localhost:8420",
        "localhost",
        "localhost:80",
        "localhost:8421",
        "localhost:08420000",
        "localhost:",
        "localhost:8420:8420",
        "localhost:8420,localhost:8420",
        "localhost:8420, evil.example",
        "localhost:8420 ",
        "localhost:8420/",
        "user@localhost:8420",
        "localhost:٨٤٢٠",
        "[::1]",
        "::1:8420",
        "[::1]:8420]",
        "[::ffff:127.0.0.1]:8420",
        "127.1:8420",
        "2130706433:8420",
        "0.0.0.0:8420",
        "localhost.:8420",
        "localhost\x00:8420",
    ],
)
def test_other_hosts_are_not_ours(host: str) -> None:
    assert not is_allowed_host(host, NAMES, 8420)


def test_port_80_may_be_left_out() -> None:
    assert is_allowed_host("localhost", NAMES, 80)


@for_each("path", ["/", "/timeline", "/api/v1/health", "/static/favicon.svg", "/launch"])
def test_a_wrong_host_is_refused_on_every_address(program: Actor, path: str) -> None:
    answer = program.get(path, headers={"Host": "evil.example:8420"})
    assert answer.status_code == 403


def test_a_lan_address_is_checked_like_every_other(make_app: Callable[..., Flask]) -> None:
    """The check stays on when the server listens beyond this machine."""
    app = make_app(host="0.0.0.0", allow_lan=True, tls_acknowledged=True)
    token = app.extensions["recollect"].token
    program = Actor(app.test_client(), {"Authorization": f"Bearer {token}"})
    assert program.get("/api/v1/stats").status_code == 200
    assert program.get("/api/v1/stats", headers={"Host": "evil.example:8420"}).status_code == 403


# -- other sites ----------------------------------------------------------------------------

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


@for_each("method", METHODS)
@for_each(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "nonsense"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": f"{ORIGIN}.evil.example"},
        {"Origin": "moz-extension://3b1e4b0e-1f0c-4b0a-8f2c-1c2f3e4d5a6b"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_site_is_refused_with_every_method(
    browser: Actor, method: str, headers: dict[str, str]
) -> None:
    browser.headers = {}
    for path in ("/api/v1/stats", "/api/v1/frames/1", "/static/favicon.svg", "/api/v1/delete"):
        assert browser.ask(method, path, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": ORIGIN},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},  # our forms, under no-referrer
    ],
)
def test_our_own_pages_are_let_in(browser: Actor, headers: dict[str, str]) -> None:
    browser.headers = {}
    assert browser.get("/api/v1/stats", headers=headers).status_code == 200


def test_nobody_gets_cors_headers(browser: Actor) -> None:
    for headers in ({}, {"Origin": "https://evil.example"}, {"Access-Control-Request-Method": "POST"}):
        for method in ("GET", "OPTIONS"):
            answer = browser.ask(method, "/api/v1/stats", headers=headers)
            assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


NAVIGATION = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_a_link_from_another_site_gets_one_link_and_no_data(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    """ux 2.4: the click is same-site, so the cookie travels."""
    frame = store_frame(database, data_dir, text="topsecret words")
    answer = browser.get(f"/frames/{frame.id}?q=topsecret", headers=NAVIGATION)
    assert answer.status_code == 403
    assert answer.mimetype == "text/html"
    assert f"frame {frame.id}" in answer.text
    assert f'href="/frames/{frame.id}?q=topsecret"' in answer.text
    assert answer.text.count("<a ") == 1
    assert "secret words" not in answer.text and "main.py" not in answer.text


@for_each("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_link_back_never_leads_to_another_host(browser: Actor, path: str) -> None:
    answer = browser.get(path, headers=NAVIGATION)
    assert 'href="//' not in answer.text and 'href="/\\' not in answer.text


@pytest.mark.parametrize(
    "other",
    [
        {"Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Mode": "cors"},
        {"HX-Request": "true"},
        {"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"},
    ],
)
def test_only_a_top_level_navigation_gets_that_page(browser: Actor, other: dict[str, str]) -> None:
    answer = browser.get("/frames/1", headers={**NAVIGATION, **other})
    assert answer.status_code == 403
    assert "<a " not in answer.text or "in Recollect</a>" not in answer.text


def test_the_api_has_no_such_page(browser: Actor) -> None:
    answer = browser.get("/api/v1/stats", headers=NAVIGATION)
    assert (answer.status_code, answer.mimetype) == (403, "application/problem+json")


# -- credentials ----------------------------------------------------------------------------

PUBLIC = {"static", "launch.launch", "api.operation_health"}


def _addresses(app: Flask) -> list[tuple[str, str, str]]:
    """(endpoint, method, an address) of every route."""
    found = []
    adapter = app.url_map.bind("127.0.0.1")
    for rule in app.url_map.iter_rules():
        arguments = {name: _value_of(converter) for name, converter in rule._converters.items()}
        for method in sorted(rule.methods or ()):
            found.append((rule.endpoint, method, adapter.build(rule.endpoint, arguments, method=method)))
    return found


def _value_of(converter: BaseConverter) -> object:
    """Something that the converter takes."""
    if isinstance(converter, AnyConverter):
        return min(converter.items)
    values = {"id": 1, "uuid": "00000000-0000-4000-8000-000000000000", "path": "favicon.svg"}
    return values.get(converter.__class__.__name__.removesuffix("Converter").lower(), "x")


def test_without_credentials_only_static_files_health_and_the_door_answer(
    app: Flask, stranger: Actor
) -> None:
    for endpoint, method, address in _addresses(app):
        if endpoint not in PUBLIC:
            assert stranger.ask(method, address).status_code == 401, (method, address)
    assert stranger.get("/static/favicon.svg").status_code == 200
    assert stranger.get("/api/v1/health").status_code in (200, 503)


def test_a_made_up_token_is_refused_on_every_route(app: Flask, browser: Actor) -> None:
    """Also where a good session comes with it, and where no credentials are asked for."""
    for n, (_, method, address) in enumerate(_addresses(app)):
        answer = browser.ask(method, address, headers={"Authorization": "Bearer made-up"})
        assert answer.status_code == (401 if n < MAX_WRONG else 429), address


@for_each(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "bearer x", "Token x", "Bearer é", "Bearer a b", "\x7f"],
)
def test_other_ways_to_ask_are_refused(stranger: Actor, authorization: str) -> None:
    answer = stranger.get("/api/v1/stats", headers={"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_an_address_that_does_not_exist_is_not_told_to_strangers(stranger: Actor, program: Actor) -> None:
    assert stranger.get("/api/v1/nothing").status_code == 401
    assert program.get("/api/v1/nothing").status_code == 404


def test_health_tells_a_stranger_the_state_and_nothing_else(stranger: Actor, program: Actor) -> None:
    assert set(stranger.get("/api/v1/health").get_json()) == {"status"}
    assert set(program.get("/api/v1/health").get_json()) == {"status", "checked_at", "parts"}


def test_a_page_for_a_stranger_holds_no_data(stranger: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="topsecret")
    for path in ("/", "/timeline", f"/frames/{frame.id}", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert "recollect open" in answer.text
        for told in ("topsecret", str(frame.id), "main.py", 'class="rail"'):
            assert told not in answer.text


# -- CSRF -----------------------------------------------------------------------------------


def _encodings(token: str = "") -> list[dict[str, object]]:
    return [
        {"data": {"csrf_token": token}},
        {"data": {"csrf_token": token, "image": (io.BytesIO(b"x"), "x.png")}},
        {"data": f"csrf_token={token}", "content_type": "text/plain"},
        {"json": {"csrf_token": token}},
        {"data": b""},
    ]


@for_each("encoding", range(5))
@for_each("token", ["", "0" * 64, "é"])
def test_a_change_without_the_csrf_token_is_refused(browser: Actor, encoding: int, token: str) -> None:
    answer = browser.post("/api/v1/capture/pause", **_encodings(token)[encoding])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "csrf_token_required")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_changing_method_needs_it(browser: Actor, method: str) -> None:
    for path in ("/api/v1/frames/1", "/api/v1/privacy/rules", "/nothing"):
        assert browser.ask(method, path).status_code == 403


def test_the_csrf_token_in_a_header_lets_a_change_through(app: Flask, browser: Actor) -> None:
    token = csrf_of(app, browser)
    answer = browser.post("/api/v1/capture/pause", json={}, headers={"X-CSRF-Token": token})
    assert answer.status_code == 200


def test_the_csrf_token_in_a_form_lets_a_change_through(app: Flask, browser: Actor) -> None:
    answer = browser.post("/api/v1/ingest", data={"csrf_token": csrf_of(app, browser), "metadata": "{}"})
    assert answer.status_code in (415, 422)  # past the guard: the upload itself is incomplete


def test_the_csrf_token_of_another_session_is_worth_nothing(app: Flask, browser: Actor) -> None:
    from webapp.security.access import make_launch_code

    other = Actor(app.test_client(), {})
    own = app.extensions["recollect"]
    assert other.get(f"/launch?code={make_launch_code(own.token, own.clock())}").status_code == 303
    token = csrf_of(app, other)
    answer = browser.post("/api/v1/capture/pause", json={}, headers={"X-CSRF-Token": token})
    assert answer.status_code == 403


def test_a_program_with_the_token_needs_none(program: Actor) -> None:
    assert program.post("/api/v1/capture/resume").status_code == 200


# -- headers --------------------------------------------------------------------------------


def test_every_answer_carries_the_protecting_headers(
    program: Actor, stranger: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="words")
    paths = ("/api/v1/health", "/static/favicon.svg", f"/api/v1/frames/{frame.id}", "/nothing", "/launch")
    for actor in (program, stranger):
        for path in paths:
            headers = actor.get(path).headers
            assert headers["Content-Security-Policy"] == (
                "default-src 'none'; manifest-src 'self'; script-src 'self'; style-src 'self'; "
                "img-src 'self' blob:; connect-src 'self'; font-src 'self'; form-action 'self'; "
                "base-uri 'none'; frame-ancestors 'none'"
            )
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_frame_data_stays_out_of_the_browsers_cache(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="words")
    base = f"/api/v1/frames/{frame.id}"
    for path in (base, f"{base}?width=32", f"{base}/text", f"{base}/context", "/api/v1/search?start_time=0"):
        assert program.get(path).headers["Cache-Control"] == "private, no-store"


def test_the_port_is_part_of_the_cookies_name() -> None:
    """Two homes on two ports share a host, and cookies do not look at ports."""
    assert f"recollect_{PORT}" == "recollect_8420"
