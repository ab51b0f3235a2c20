"""One app on an empty home folder, and actors that knock at it: a program, a browser, a stranger."""

from __future__ import annotations

import html as html_text
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import FileSystemBytecodeCache
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from assistant.core import query_embedder
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from store.core.database import Database
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings
from tests.factories import NOON_MS, Clock
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel
from webapp import create_app
from webapp.core.services import Services
from webapp.pages import insights as insight_routes
from webapp.pages.chats import routes as chat_routes
from webapp.pages.chats import turns as chat_turns
from webapp.security.access import load_token, make_launch_code
from webapp.security.keys import Keyring

PORT = 8420
ORIGIN = f"http://127.0.0.1:{PORT}"
API = "/api/v1"
_COMPILED = ("_parts", "_trace", "_converters", "arguments", "_build", "_build_unknown")
"""Of a rule of addresses, what it is compiled to."""


@pytest.fixture
def now() -> Clock:
    return Clock(NOON_MS + 3_600_000)


@pytest.fixture(scope="session", autouse=True)
def compiled_once(shared_folder: Path) -> Iterator[None]:
    """What is compiled for an app is the same in each test's: templates, most of the time of drawing a page,
    and its rules, most of the time of making an app.
    """
    compile_anew: Any = Rule.compile
    made: dict[tuple[object, ...], dict[str, Any]] = {}

    def compiled(rule: Any) -> None:
        key = (rule.rule, rule.subdomain, rule.host, rule.merge_slashes, repr(rule.defaults))
        if key not in made:
            compile_anew(rule)
            made[key] = {name: getattr(rule, name) for name in _COMPILED}
        for name, value in made[key].items():
            setattr(rule, name, value.__func__.__get__(rule) if name.startswith("_build") else value)

    templates = shared_folder / "templates"
    templates.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "compile", compiled)
        patch.setitem(Flask.jinja_options, "bytecode_cache", FileSystemBytecodeCache(str(templates)))
        yield


@pytest.fixture
def make_app(database: Database, now: Clock) -> Iterator[Callable[..., Flask]]:
    with ExitStack() as ended:  # what is being found out of a model would write into a home that is gone

        def make(settings: Settings | None = None, **web: Any) -> Flask:
            settings = settings or Settings()
            settings = replace(settings, web=replace(settings.web, port=PORT, **web))
            models = ChatModels(settings.chat, {}, database=database, clock=now, waits_s=())
            ended.callback(models.close)
            app = create_app(
                settings,
                database,
                chat_models=models,
                embedder=QueryEmbedder(settings.embedding, database, FakeEmbedder),
                clock=now,
            )
            app.config["TESTING"] = False  # errors are answered as they are to everybody
            return app

        yield make


@pytest.fixture(autouse=True)
def _every_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an answer takes longer than a page waits for one before it shows it as running, and
    its meaning longer than a search waits for it.
    """
    set_patience(monkeypatch, 60.0)
    monkeypatch.setattr(query_embedder, "MOMENT_S", 60.0)


def set_patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """How long a page waits for an answer before it shows it as running."""
    for module in (chat_routes, chat_turns, insight_routes):
        monkeypatch.setattr(module, "PATIENCE_S", seconds)


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    return make_app()


@pytest.fixture
def own(app: Flask) -> Services:
    services: Services = app.extensions["recollect"]
    return services


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What file tools may read."""
    found = tmp_path / "notes"
    found.mkdir()
    (found / "plan.txt").write_text("the plan <b>for monday</b>", encoding="utf-8")
    return found


@pytest.fixture
def agent_app(make_app: Callable[..., Flask], stub: StubModel, folder: Path) -> Iterator[Flask]:
    """An app whose model can call tools."""
    made = make_app(agent_settings(stub, folder))
    yield made
    made.extensions["recollect"].chat_models.close()


def agent_settings(
    stub: StubModel, folder: Path, form: str = "", *, answer_s: float = 60, **tools: Any
) -> Settings:
    """Settings of a model that calls tools natively, or in a text format."""
    entry = ChatModelSettings(
        "stub", stub.base_url, "stub", supports_tools=not form, tool_format=form, context_tokens=32_768
    )
    return Settings(
        chat=ChatSettings(models=(entry,), timeout_s=answer_s),
        tools=ToolsSettings(read_file_roots=(str(folder),), **tools),
    )


def make_token(database: Database, scope: str, name: str = "a program") -> str:
    """A token for one purpose, as the command and the page make it."""
    keyring = Keyring(database, load_token(database.data_dir), lambda: NOON_MS)
    with database.write() as connection:
        return keyring.make(connection, scope, name)


class Actor:
    """Sends requests with headers of its own; paths of the API may be given without their prefix."""

    def __init__(self, client: FlaskClient, headers: dict[str, str]) -> None:
        self.client = client
        self.headers = headers

    def ask(self, method: str, path: str, **options: Any) -> TestResponse:
        headers = {**self.headers, **options.pop("headers", {})}
        return self.client.open(
            path, method=method, headers=headers, base_url=ORIGIN, buffered=True, **options
        )

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> TestResponse:
        return self.ask("POST", path, **options)


@pytest.fixture
def stranger(app: Flask) -> Actor:
    """Somebody without credentials."""
    return Actor(app.test_client(), {})


@pytest.fixture
def program(app: Flask, own: Services) -> Actor:
    """A script with the token."""
    return Actor(app.test_client(), {"Authorization": f"Bearer {own.token}"})


@pytest.fixture
def browser(app: Flask) -> Actor:
    """A browser that came in by a launch link, as it looks at its own pages."""
    return browser_of(app)


def browser_of(app: Flask) -> Actor:
    """The same for an app that a test made."""
    own, client = app.extensions["recollect"], app.test_client()
    actor = Actor(client, {"Sec-Fetch-Site": "same-origin"})
    code = make_launch_code(own.token, own.clock())
    assert actor.get(f"/launch?code={code}", headers={"Sec-Fetch-Site": "none"}).status_code == 303
    return actor


def csrf_of(app: Flask, actor: Actor) -> str:
    """The CSRF token a page of this browser carries."""
    from webapp.security.login import csrf_token

    cookie = actor.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie is not None
    with app.test_request_context(base_url=ORIGIN, headers={"Cookie": f"{cookie.key}={cookie.value}"}):
        token = csrf_token()
    assert re.fullmatch(r"[0-9a-f]{64}", token)
    return token


def page(actor: Actor, path: str, status: int = 200, **headers: str) -> str:
    """The source of a page that is answered with this status."""
    answer = actor.get(path, headers=headers)
    assert answer.status_code == status, answer.text[:500]
    return str(answer.text)


def words(html: str) -> str:
    """The text of a page, white space collapsed."""
    return html_text.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))
