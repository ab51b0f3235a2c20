"""Settings, Models, and what was sent, as a browser without scripts meets them."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from engines.chat import servers
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatSettings, Settings
from store.deletion import deletion
from store.egress import egress_log, providers
from store.egress.providers import Provider
from store.frames.media import Media
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import Actor, browser_of, csrf_of, words
from webapp.pages.models import routes

KEY = "sk-very-secret-1234"
HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}"
MODELS = "/settings/models"


@pytest.fixture
def send(app: Flask, browser: Actor) -> Any:
    """Posts a form with its CSRF token and follows to the page it leads to."""

    def post(path: str, status: int = 303, **form: str) -> TestResponse:
        answer = browser.post(path, data={**form, "csrf_token": csrf_of(app, browser)})
        assert answer.status_code == status, answer.text[:500]
        return browser.get(answer.headers["Location"]) if status == 303 else answer

    return post


def add(data_dir: DataDir, app: Flask, **changes: Any) -> Provider:
    values = {"id": 0, "name": "cloud", "base_url": "https://api.example/v1", "model": "big", **changes}
    added = providers.add(data_dir, Provider(**values))
    app.extensions["recollect"].chat_models.reload()
    return added


def test_a_model_on_this_machine_is_found_added_tested_and_asked(
    browser: Actor, send: Any, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(database, data_dir, NOON_MS, text="hello")
    with StubModel(models=({"id": "qwen3:8b", "owned_by": "library"},)) as stub:
        port = int(stub.base_url.rpartition(":")[2].removesuffix("/v1"))
        monkeypatch.setattr(routes, "find_servers", lambda: servers.find_servers([port]))
        found = browser.get(f"{MODELS}/find").text
        assert "Ollama" in found and "qwen3:8b" in found
        page = send(MODELS, base_url=stub.base_url, model="qwen3:8b", context_tokens="4096").text
        assert 'value="4096"' in page
        tested = words(send(f"{MODELS}/1/test").text)
        assert "It answers." in tested and "its answer follows a schema" in tested
        stub.reply({"answer_md": "It said hello [[e1]].", "evidence": [{"id": "e1", "quote": "hello"}]})
        chat = send(
            "/chat", message="What?", from_ms=str(NOON_MS - 1000), to_ms=str(NOON_MS + 1000), tz="UTC"
        )
    assert "qwen3:8b" in chat.text and "tokens read" in chat.text
    shown = browser.get("/chat/1/turns/1/sent").text
    assert "BEGIN SCREEN DATA" in shown and "| hello" in words(shown) and "This computer" in shown
    assert "BEGIN SCREEN DATA" in browser.get("/settings/sent/6").text


def test_without_a_model_the_list_of_the_endpoint_offers_some(send: Any, data_dir: DataDir) -> None:
    with StubModel(models=({"id": "a"}, {"id": "b", "max_model_len": 9_000})) as stub:
        page = send(MODELS, base_url=stub.base_url).text
        assert "Models it lists (2)" in page
        send(f"{MODELS}/1/choose", model="b")
    (chosen,) = providers.load(data_dir).entries
    assert (chosen.model, chosen.name) == ("b", stub.base_url.split("/")[2])


def test_what_a_model_of_the_settings_can_do_is_found_out_by_a_test(make_app: Any) -> None:
    with StubModel(can=("tools", "json_schema")) as stub:
        app = make_app(Settings(chat=ChatSettings(base_url=stub.base_url, model="stub")))
        browser = browser_of(app)
        assert "What it can do: found out with the first question" in browser.get(MODELS).text
        token = csrf_of(app, browser)
        answer = browser.post(f"{MODELS}/test", data={"name": "stub", "csrf_token": token})
        page = browser.get(answer.headers["Location"]).text
        assert "It answers." in page and "What it can do: calls tools · no pictures" in page
        assert browser.post(f"{MODELS}/test", data={"name": "x", "csrf_token": token}).status_code == 404


def test_a_loud_word_comes_before_anything_leaves(
    app: Flask, browser: Actor, send: Any, data_dir: DataDir
) -> None:
    add(data_dir, app, base_url="http://192.168.7.7:8000/v1")
    page = browser.get(f"{MODELS}/1").text
    assert "Text from your screen would leave this computer" in page and "not encrypted" in page
    assert f"{MODELS}/1/test" not in page
    assert "cloud" not in browser.get("/chat").text
    assert send(f"{MODELS}/1/test", 409).status_code == 409
    send(f"{MODELS}/1/allow", 422, host="api.example")
    assert "would leave" not in send(f"{MODELS}/1/allow", host="192.168.7.7:8000").text
    composer = browser.get("/chat").text
    assert "cloud (192.168.7.7:8000)" in composer and "Excerpts of your screen are sent to" in composer


def test_a_key_is_never_sent_back(app: Flask, browser: Actor, send: Any, data_dir: DataDir) -> None:
    answer = send(MODELS, base_url="https://api.example/v1", model="big", api_key=KEY)
    refused = send(MODELS, 422, base_url="nonsense", name="x", api_key=KEY)
    changed = send(f"{MODELS}/1", 422, name="", base_url="nonsense", api_key=KEY)
    pages = [browser.get(path).text for path in (MODELS, f"{MODELS}/1", "/chat")]
    assert all(KEY not in html for html in (answer.text, refused.text, changed.text, *pages))
    assert "A key is set" in pages[1]
    assert 'value="nonsense"' in refused.text  # all but the key is kept
    send(f"{MODELS}/1", base_url="https://api.example/v1", api_key="", has_flags="1", supports_tools="yes")
    (kept,) = providers.load(data_dir).entries
    assert (kept.api_key, kept.supports_tools, kept.supports_json_schema) == (KEY, True, None)
    send(f"{MODELS}/1", base_url="https://api.example/v1", remove_key="on")
    assert KEY not in data_dir.providers.read_text()


@for_each(
    ("form", "field"),
    [
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"base_url": "http://127.0.0.1/v1", "name": HOSTILE}, "name"),
        ({"base_url": "http://127.0.0.1/v1", "context_tokens": "many"}, "context_tokens"),
        ({"base_url": "http://127.0.0.1/v1", "api_key": "a\nb"}, "api_key"),
    ],
)
def test_bad_input_is_told_beside_its_field_and_nothing_is_saved(
    send: Any, data_dir: DataDir, form: dict[str, str], field: str
) -> None:
    html = send(MODELS, 422, **form).text
    assert f'id="error-{field}"' in html or field == "context_tokens"
    assert "<img src=x" not in html
    assert not data_dir.providers.exists()


def test_prices_take_a_comma_and_refuse_words(app: Flask, send: Any, data_dir: DataDir) -> None:
    add(data_dir, app)
    send(f"{MODELS}/1", input_price="2,5", output_price="10", currency="EUR")
    assert providers.load(data_dir).entries[0].input_price == 2.5
    assert "must be a number" in send(f"{MODELS}/1", 422, input_price="cheap").text
    assert "must be a number" in send(f"{MODELS}/1", 422, input_price="nan").text


def test_default_and_removal(app: Flask, browser: Actor, send: Any, data_dir: DataDir) -> None:
    models = app.extensions["recollect"].chat_models
    with StubModel() as stub:
        add(data_dir, app, name="one", base_url="http://127.0.0.1:9/v1")
        add(data_dir, app, name="two", base_url=stub.base_url)
        assert "Has not answered yet" in browser.get(MODELS).text and models.default == "extractive"
        assert "cannot be reached" in browser.get(f"{MODELS}/1").text
        assert "It does not answer." in send(f"{MODELS}/default", name="one").text
        assert models.default == "extractive"
        send(f"{MODELS}/default", name="two")
    assert models.default == "two"
    send(f"{MODELS}/default", 404, name="three")
    assert "two" not in words(send(f"{MODELS}/2/remove").text)
    assert browser.get(f"{MODELS}/2").status_code == 404


def test_htmx_gets_the_piece_it_asked_for(app: Flask, browser: Actor, data_dir: DataDir) -> None:
    add(data_dir, app, base_url="http://127.0.0.1:9/v1")
    piece = {"HX-Request": "true"}
    tested = browser.post(f"{MODELS}/1/test", headers=piece, data={"csrf_token": csrf_of(app, browser)})
    for answer in (tested, browser.get(f"{MODELS}/1/list", headers=piece)):
        assert answer.status_code == 200
        assert "<html" not in answer.text and "nothing answers" in answer.text


def test_a_file_that_cannot_be_read_is_told_on_the_page(
    app: Flask, browser: Actor, data_dir: DataDir
) -> None:
    data_dir.providers.write_text("{")
    app.extensions["recollect"].chat_models.reload()
    assert "providers.json cannot be read" in browser.get(MODELS).text


# -- what was sent --------------------------------------------------------------------------


def test_what_models_list_and_were_sent_is_only_text(
    app: Flask, browser: Actor, send: Any, database: Database
) -> None:
    with StubModel(models=({"id": HOSTILE},)) as stub:
        listed = send(MODELS, base_url=stub.base_url).text
    egress_log.record(
        database, egress_log.OutgoingRequest("test", NOON_MS, HOSTILE, HOSTILE, "http://x/", True, HOSTILE, 9)
    )
    for html in (listed, browser.get("/settings/sent").text, browser.get("/settings/sent/1").text):
        assert "<img src=x" not in html and "alert(1)" in html


def test_an_erased_text_is_said_to_be_erased(
    browser: Actor, send: Any, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, text="the secret plan")
    with StubModel() as stub:
        send(MODELS, base_url=stub.base_url, model="stub")
        send(f"{MODELS}/1/test")
        stub.reply("nothing")
        send("/chat", message="What?", from_ms=str(NOON_MS - 1000), to_ms=str(NOON_MS + 1000), tz="UTC")
    (sent,) = (each.id for each in egress_log.of_turn(database, 1, 1))
    assert "secret plan" in browser.get(f"/settings/sent/{sent}").text
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    for path in (f"/settings/sent/{sent}", "/chat/1/turns/1/sent"):
        html = browser.get(path).text
        assert "The text was erased" in html and "secret plan" not in html


def test_nothing_sent_is_said(browser: Actor) -> None:
    assert "Nothing was sent to any model" in browser.get("/settings/sent").text
    for path in ("/settings/sent/1", "/chat/1/turns/1/sent"):
        assert browser.get(path).status_code == 404
