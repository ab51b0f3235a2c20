"""Settings, Tools: switches and modes, what each tool reaches, its documentation, and standing approvals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask

from assistant.tools.registry import GATES
from assistant.tools.tool import RISKS
from store.chats import tool_calls, tool_permissions
from store.chats.tool_calls import ToolEvent
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, csrf_of
from webapp.core.services import Services
from webapp.pages.tools import MODE_WORDS

PAGE = "/settings/tools"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def app(make_app: Callable[..., Flask], stub: StubModel, tmp_path: Path) -> Iterator[Flask]:
    sees = ChatModelSettings("seeing", stub.base_url, "stub", supports_tools=True, supports_vision=True)
    made = make_app(
        Settings(
            chat=ChatSettings(models=(sees,), timeout_s=60),
            tools=ToolsSettings(
                read_file_roots=(str(tmp_path),),
                web_search=True,
                web_search_url="https://searx.example/search",
            ),
        )
    )
    yield made
    made.extensions["recollect"].chat_models.close()


@pytest.fixture
def form(app: Flask, browser: Actor) -> dict[str, str]:
    return {"csrf_token": csrf_of(app, browser)}


def row_of(html: str, name: str) -> str:
    """The line of one tool."""
    found = re.search(rf'<li id="{name}".*?</form>', html, re.DOTALL)
    assert found
    return found[0]


def test_every_tool_has_its_switch_mode_reach_and_documentation(
    browser: Actor, own: Services, tmp_path: Path
) -> None:
    html = browser.get(PAGE).text
    for tool in own.agent.tools.values():
        row = row_of(html, tool.name)
        assert 'role="switch"' in row and " checked" in row
        assert f'<option value="{tool.mode}" selected>{MODE_WORDS[tool.mode]}</option>' in row
        assert f"By default: {MODE_WORDS[tool.mode].lower()}" in row
        told = browser.get(f"{PAGE}/{tool.name}").text
        for name in tool.parameters["properties"]:
            assert f'<th scope="row" class="mono">{name}</th>' in told
    assert "searx.example, which gets the words of the search" in row_of(html, "web_search")
    assert str(tmp_path) in row_of(html, "read_file")
    assert "seeing (this computer)" in row_of(html, "describe_frame")
    assert "Last used: never" in row_of(html, "calculator")
    for _, words in RISKS.values():
        assert (words in html) == any(RISKS[tool.risk][1] == words for tool in own.agent.tools.values())
    assert "Not set up" not in html


def test_the_words_of_the_modes() -> None:
    assert MODE_WORDS == {"auto": "Run automatically", "ask": "Ask every time", "off": "Off"}


def test_defaults_follow_from_the_risk(own: Services) -> None:
    """What only looks runs; what reads files, changes or sends something asks."""
    for tool in own.agent.tools.values():
        assert tool.mode == RISKS[tool.risk][0], tool.name


def test_a_tool_that_is_switched_off_is_gone_in_the_next_turn(
    browser: Actor, form: dict[str, str], stub: StubModel, database: Database
) -> None:

    def offered() -> set[str]:
        before = len(stub.requests)
        browser.post("/chat", data={**form, "message": "Hello?", "model": "seeing"})
        for _ in range(1200):
            if len(stub.requests) > before:
                break
            time.sleep(0.05)
        return {each["function"]["name"] for each in stub.requests[-1]["tools"]}

    stub.reply("Hello.")
    assert "calculator" in offered()
    answer = browser.post(f"{PAGE}/calculator", data={**form, "mode": "auto"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PAGE}#calculator")
    assert {tool: each.mode for tool, each in tool_permissions.chosen(database).items()} == {
        "calculator": "off"
    }
    assert "calculator" not in offered()
    row = row_of(browser.get(PAGE).text, "calculator")
    assert " checked" not in row and '<option value="auto" selected>' in row
    browser.post(f"{PAGE}/calculator", data={**form, "on": "on", "mode": "auto"})
    assert "calculator" in offered()


def test_a_switch_answers_with_its_line(browser: Actor, form: dict[str, str]) -> None:
    answer = browser.post(f"{PAGE}/read_file", data={**form, "on": "on", "mode": "auto"}, headers=HTMX)
    assert answer.text.strip().startswith('<li id="read_file"') and "<html" not in answer.text
    assert '<option value="auto" selected>Run automatically' in answer.text


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("shell", {"on": "on", "mode": "auto"}, 404),
        ("calculator", {"on": "on", "mode": "never"}, 400),
        ("calculator", {"on": "on"}, 400),
    ],
)
def test_what_is_no_choice_changes_nothing(
    browser: Actor, form: dict[str, str], database: Database, name: str, data: dict[str, str], status: int
) -> None:
    assert browser.post(f"{PAGE}/{name}", data={**form, **data}).status_code == status
    assert browser.post(f"{PAGE}/{name}", data=data).status_code == 403  # without the token of the form
    assert tool_permissions.chosen(database) == {}


def test_standing_approvals_are_listed_and_taken_back(
    browser: Actor, form: dict[str, str], database: Database
) -> None:
    scope = "files below /<b>notes</b>; results stay on this computer"
    with database.write() as connection:
        tool_permissions.allow(connection, "read_file", None, scope, NOON_MS)
    html = browser.get(PAGE).text
    assert "in every chat: files below /&lt;b&gt;notes" in html and "used 0 times" in html
    [rule] = tool_permissions.rules(database)
    assert browser.post(f"{PAGE}/rules/{rule.id}/revoke").status_code == 403
    for _ in range(2):  # the second finds nothing to take back, as is wanted
        answer = browser.post(f"{PAGE}/rules/{rule.id}/revoke", data=form)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{PAGE}#rules")
    assert tool_permissions.rules(database) == []
    assert "None. When you choose “Allow in this chat”" in browser.get(PAGE).text


def test_saving_without_a_change_keeps_the_approvals(
    browser: Actor, form: dict[str, str], database: Database
) -> None:
    with database.write() as connection:
        tool_permissions.allow(connection, "read_file", None, "files", NOON_MS)
    browser.post(f"{PAGE}/read_file", data={**form, "on": "on", "mode": "ask"})
    assert len(tool_permissions.rules(database)) == 1
    browser.post(f"{PAGE}/read_file", data={**form, "mode": "ask"})
    assert tool_permissions.rules(database) == []


def test_the_last_runs_and_decisions_are_told(browser: Actor, database: Database) -> None:
    with database.write() as connection:
        tool_calls.record_event(connection, ToolEvent(NOON_MS, "calculator", "completed", 12))
        tool_calls.record_event(connection, ToolEvent(NOON_MS, "read_file", "refused"))
    html = browser.get(PAGE).text
    assert "refused: not as approved, or decided before" in html and "12 ms" in html
    assert "Last used: never" not in row_of(html, "calculator")


def test_without_anything_set_up_it_says_what_is_missing(make_app: Callable[..., Flask]) -> None:
    bare = make_app()
    client = bare.test_client()
    token = bare.extensions["recollect"].token
    headers = {"Authorization": f"Bearer {token}", "Host": "127.0.0.1:8420"}
    html = client.get(PAGE, headers=headers).text
    assert "Tools need a model that can call them" in html
    for flag, words in GATES.values():
        assert (words in html) == (flag != "has_attachments")  # which is of each chat
    for name in ("web_search", "read_file", "list_directory"):
        assert f'<li id="{name}">' in html
    assert "tools.web_search_url" in html


def test_the_card_shows_the_picture_and_later_the_rule(
    browser: Actor, form: dict[str, str], stub: StubModel, database: Database, data_dir: DataDir
) -> None:
    """What would be sent is seen before it is; a run by rule leads to where that is taken back."""
    frame = store_frame(database, data_dir, NOON_MS, "sales by month")
    for _ in range(2):
        stub.call(("describe_frame", {"frame_id": frame.id})).reply("A chart.").reply("It is a chart.")
    address = asked(browser, form)
    html = shown(browser, address, 'value="once"')
    assert f'<img src="/api/v1/frames/{frame.id}?width=320"' in html and frame.sha256 in html
    found = re.search(r'action="(/chat/\d+/turns/\d+/calls/\d+)"', html)
    assert found
    browser.post(found[1], data={**form, "decision": "always"})
    assert "allowed by rule" not in shown(browser, address, 'aria-busy="false"')
    assert "allowed by rule" in shown(browser, asked(browser, form), 'aria-busy="false"')


def asked(browser: Actor, form: dict[str, str]) -> str:
    """The address of a new turn."""
    answer = browser.post("/chat", data={**form, "message": "Which chart?", "model": "seeing"})
    return answer.headers["Location"].replace("#t", "/turns/")


def shown(browser: Actor, address: str, words: str) -> str:
    """A turn's page as soon as it holds some words."""
    for _ in range(1200):
        html = browser.get(address, headers=HTMX).text
        if words in html:
            return html
        time.sleep(0.05)
    raise AssertionError(f"{words} did not come")
