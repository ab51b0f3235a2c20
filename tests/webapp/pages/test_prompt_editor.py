"""The editor of a model's system prompt, as a browser without scripts and as its script meet it."""

from __future__ import annotations

import html as html_text
import re
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from store.chats import personas, prompts
from store.core.database import Database
from store.core.paths import DataDir
from store.egress import providers
from store.egress.providers import Provider
from tests.webapp.conftest import Actor, Clock, csrf_of
from webapp.core.formatting import difference

PAGE = "/settings/models"
PROMPT = f"{PAGE}/prompt"
HOSTILE = "</textarea><script>alert(1)</script>{{ 7*7 }}"
QWEN = "library/qwen3:8b"


@pytest.fixture
def models(data_dir: DataDir, app: Flask) -> None:
    for name, window in ((QWEN, 2_048), ("big", 8_192)):
        added = Provider(0, name, "http://127.0.0.1:9/v1", name, context_tokens=window)
        providers.add(data_dir, added)
    app.extensions["recollect"].chat_models.reload()


@pytest.fixture
def send(app: Flask, browser: Actor, models: None) -> Any:
    """Posts the form of the editor; follows to the page it leads to."""

    def post(tail: str = "", status: int = 303, script: bool = False, **form: str) -> TestResponse:
        headers = {"HX-Request": "true"} if script else {}
        data = {"model": QWEN, **form, "csrf_token": csrf_of(app, browser)}
        answer = browser.post(PROMPT + tail, data=data, headers=headers)
        assert answer.status_code == status, answer.text[:500]
        return browser.get(answer.headers["Location"]) if status == 303 else answer

    return post


def field(page: TestResponse) -> str:
    """What stands in the editor's field, as a browser reads it."""
    found = re.search(r"<textarea id=\"prompt-text\"[^>]*>\n(.*?)</textarea>", page.text, re.S)
    assert found
    return html_text.unescape(found[1])


def base(page: TestResponse) -> str:
    found = re.search(r'name="base" value="([0-9a-f.]*)"', page.text)
    assert found
    return found[1]


def words(page: TestResponse) -> str:
    return html_text.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text)))


# -- without scripts ----------------------------------------------------------------------


def test_a_prompt_is_written_read_and_cleared(send: Any, browser: Actor, database: Database) -> None:
    page = browser.get(f"{PAGE}?model={QWEN}")
    assert field(page) == "" and "Nothing to save yet" in words(page)
    page = send(system_prompt="\nBe brief.\r\n\r\n今天", base=base(page))
    assert field(page) == "\nBe brief.\n\n今天"
    assert prompts.get_prompt(database, QWEN) == "\nBe brief.\n\n今天"
    assert "14 of 8,000 characters, about 5 tokens" in words(page)
    assert "Saved" in words(page)
    page = send("/clear", system_prompt="\nBe brief.\n\n今天", base=base(page))
    assert field(page) == "" and "Cleared" in words(page)
    assert prompts.get_prompt(database, QWEN) == ""
    undone = send("/restore", version="1")
    assert field(undone) == "\nBe brief.\n\n今天"
    assert 'name="version" value="1">Undo' in page.text


def test_each_model_has_its_own_in_the_editor(send: Any, browser: Actor) -> None:
    send(system_prompt="For qwen.", base="")
    send(model="big", system_prompt="For big.", base="")
    assert field(browser.get(f"{PAGE}?model={QWEN}")) == "For qwen."
    assert field(browser.get(f"{PAGE}?model=big")) == "For big."
    page = browser.get(PAGE)  # the one that answers by default
    assert field(page) == "For qwen." and f'<option value="{QWEN}" selected>' in page.text


def test_what_is_too_long_is_kept_in_the_field_and_refused_in_words(send: Any, database: Database) -> None:
    page = send(status=422, system_prompt="x" * 8_001, base="")
    assert field(page) == "x" * 8_001
    assert "Not saved: the text has 8001 characters, 8000 at most are kept" in words(page)
    assert prompts.current(database, QWEN) is None


def test_hostile_text_stays_text(send: Any, browser: Actor) -> None:
    page = send(system_prompt=HOSTILE, base="")
    assert field(page) == HOSTILE
    assert "<script>alert" not in page.text
    send(system_prompt="x", base=base(page))
    history = browser.get(f"{PROMPT}/history?model={QWEN}")
    assert "<script>alert" not in history.text
    assert HOSTILE in words(history)


def test_it_is_said_where_a_persona_speaks_as_well(send: Any, database: Database, browser: Actor) -> None:
    """With the page, and with each save by itself; not while only one of them is there."""
    personas.activate(database, None)
    assert "is active, too" not in send(system_prompt="Plain words.").text
    chosen = personas.list_personas(database)[0]
    personas.activate(database, chosen.id)
    told = f"The voice “{chosen.name}” is active, too. Both are sent, this prompt first;"
    assert told in words(send(system_prompt="Plain words, and short.", keep="mine"))
    assert told in words(send(status=200, script=True, system_prompt="Plainer.", auto="1", keep="mine"))
    assert "is active, too" not in send("/clear").text


def test_a_prompt_that_takes_much_of_the_window_is_remarked_on(send: Any) -> None:
    assert "can read at once" in words(send(system_prompt="word " * 500, base=""))
    assert "can read at once" not in words(send(model="big", system_prompt="word " * 500, base=""))


def test_without_a_model_there_is_no_editor(browser: Actor, app: Flask) -> None:
    page = browser.get(PAGE)
    assert page.status_code == 200 and 'id="prompt"' not in page.text
    answer = browser.post(PROMPT, data={"model": "extractive", "csrf_token": csrf_of(app, browser)})
    assert answer.status_code == 404


def test_a_renamed_model_keeps_its_prompt(send: Any, browser: Actor, app: Flask) -> None:
    send(system_prompt="mine", base="")
    form = {"name": "renamed", "base_url": "http://127.0.0.1:9/v1", "model": "q", "has_flags": "1"}
    browser.post(f"{PAGE}/1", data={**form, "csrf_token": csrf_of(app, browser)})
    assert field(browser.get(f"{PAGE}?model=renamed")) == "mine"


# -- what the script does -----------------------------------------------------------------


def test_it_saves_itself_and_says_so(send: Any, database: Database, now: Clock) -> None:
    first = send(status=200, script=True, system_prompt="Be", base="", auto="1")
    assert "<html" not in first.text and "Saved" in words(first)
    now.now_ms += 1_000
    second = send(status=200, script=True, system_prompt="Be brief", base=base(first), auto="1")
    assert base(second) == f"1.{prompts.sha256_of('Be brief')}"
    assert [each.content for each in prompts.versions(database, QWEN)] == ["Be brief"]
    assert "8 of 8,000 characters" in words(second)


def test_what_is_saved_by_itself_too_late_does_not_undo_a_clearing(send: Any, database: Database) -> None:
    """Leaving the field for the button saves it; that request may be the slower one of the two."""
    prompts.save(database, QWEN, "old", 1, saved_by="person")
    cleared = base(send("/clear", system_prompt="old", base=""))
    send("/clear", system_prompt="precious", base=cleared)
    send(status=409, script=True, system_prompt="precious", base=cleared, auto="1")
    assert prompts.get_prompt(database, QWEN) == ""
    assert [each.content for each in prompts.versions(database, QWEN)] == ["", "precious", "", "old"]


def test_a_change_elsewhere_is_shown_and_not_overwritten(
    send: Any, browser: Actor, database: Database
) -> None:
    first = send(status=200, script=True, system_prompt="mine", base="", auto="1")
    prompts.save(database, QWEN, "theirs", 5, saved_by="program")
    refused = send(status=409, script=True, system_prompt="mine, longer", base=base(first), auto="1")
    assert "a program changed this" in words(refused) and "theirs" in words(refused)
    page = send(status=409, system_prompt="mine, longer", base=base(first))
    assert field(page) == "mine, longer"
    kept = send(system_prompt="mine, longer", base=base(page), keep="mine")
    assert field(kept) == "mine, longer"
    texts = [each.content for each in prompts.versions(database, QWEN)]
    assert texts == ["mine, longer", "theirs", "mine"]


# -- history ------------------------------------------------------------------------------


def test_any_two_versions_are_compared_and_one_restored(
    send: Any, browser: Actor, database: Database
) -> None:
    for text in ("one\ntwo\nthree", "one\n2\nthree", "one\n2\nthree\nfour"):
        prompts.save(database, QWEN, text, 1, saved_by="person")
    page = browser.get(f"{PROMPT}/history?model={QWEN}")
    assert "From version 2 to version 3" in words(page)
    assert "<ins>four</ins>" in page.text and "<del>" not in page.text
    page = browser.get(f"{PROMPT}/history?model={QWEN}&from=1&to=3")
    assert "<del>two</del>" in page.text and "<ins>2</ins>" in page.text
    send("/restore", version="1")
    assert prompts.get_prompt(database, QWEN) == "one\ntwo\nthree"
    send("/restore", 404, version="99")
    for bad in (f"?model={QWEN}&from=x&to=-1", f"?model={QWEN}&from=99999999999999999999"):
        assert browser.get(f"{PROMPT}/history{bad}").status_code == 200
    assert browser.get(f"{PROMPT}/history?model=nobody").status_code == 404


@given(st.text(alphabet="ab\n", max_size=40), st.text(alphabet="ab\n", max_size=40))
def test_a_comparison_leaves_nothing_out(older: str, newer: str) -> None:
    lines = difference(older, newer)
    assert "\n".join(each.text for each in lines if each.kind != "added") == older
    assert "\n".join(each.text for each in lines if each.kind != "removed") == newer
