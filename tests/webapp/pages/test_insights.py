"""The pages of insights, without scripts: every form answers with a page or leads to one."""

from __future__ import annotations

import html as html_text
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from store.chats import conversations, personas
from store.chats.personas import BUILT_IN, PersonaText
from store.chats.records import Anchor
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.memory import insights
from store.memory.insights import Insight
from store.timeline.segments import heartbeat
from tests.assistant.helpers import reply
from tests.factories import NOON_MS, store_frame
from tests.store.memory.test_insights import told
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, browser_of, csrf_of
from webapp.pages import insights as views

TOLD = reply("You set retention to 14 days [[e1]].", ("e1", "retention set to 14 days"))


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    made = store_frame(database, data_dir, NOON_MS, "retention set to 14 days")
    with database.write() as connection:
        heartbeat(connection, made)
    return made


@pytest.fixture
def send(app: Flask, browser: Actor) -> Any:
    token = csrf_of(app, browser)

    def post(path: str, **form: Any) -> str:
        """Where a form leads to."""
        answer = browser.post(path, data={"csrf_token": token, "model": "stub", **form})
        assert answer.status_code == 303, answer.text
        return str(answer.location)

    return post


def words(browser: Actor, path: str, status: int = 200) -> str:
    answer = browser.get(path)
    assert answer.status_code == status, answer.text[:300]
    return html_text.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def settled(browser: Actor, database: Database, location: str) -> Insight:
    """The insight that a form led to, by way of its conversation where that takes longer."""
    at = re.fullmatch(r"/insights/(\d+)(\?compare=\d+)?", location)
    if at:
        return insights.get(database, int(at[1]))
    chat = re.fullmatch(r"/chat/(\d+)#t\d+", location)
    assert chat, location
    for _ in range(200):
        if (found := insights.of_chat(database, int(chat[1]))) is not None:
            assert f'href="/insights/{found.id}"' in browser.get(f"/chat/{chat[1]}").text
            return found
        browser.get(f"/chat/{chat[1]}")
    raise AssertionError("it was not told")


def test_a_frame_is_told_from_its_page_and_shown_with_its_evidence(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    assert f'href="/insights/new?frame={frame.id}"' in browser.get(f"/frames/{frame.id}").text
    assert "Write the insight" in words(browser, f"/insights/new?frame={frame.id}")
    stub.reply(TOLD).reply("Retention, decided")
    made = settled(browser, database, send("/insights", frame=str(frame.id)))
    page = words(browser, f"/insights/{made.id}")
    assert "Retention, decided" in page and "You set retention to 14 days" in page
    assert "· Fri 20 Nov 12:00" in page and BUILT_IN["assistant"].name in page
    assert f'href="/insights/{made.id}"' in browser.get(f"/frames/{frame.id}").text
    assert "Retention, decided" in words(browser, "/insights")
    assert 'href="/insights"' in browser.get("/memory/entities").text


def test_a_stretch_of_the_timeline_is_told(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    timeline = browser.get(f"/timeline?frame={frame.id}").text
    links = {html_text.unescape(each) for each in re.findall(r'href="(/insights/new\?from=[^"]+)"', timeline)}
    assert len(links) >= 2, "the view and each row of its activity"
    for link in links:
        assert 'name="from_local"' in browser.get(link).text
    stub.reply(TOLD).reply("A minute")
    stretch = {"from": str(NOON_MS + 7_000), "to": str(NOON_MS + 59_000), "when": "custom"}
    made = settled(browser, database, send("/insights", **stretch))
    assert made.anchor == Anchor("moment", NOON_MS, NOON_MS + 60_000), "whole minutes, as fields can say them"
    page = browser.get(f"/insights/new?from={NOON_MS + 7_000}&to={NOON_MS + 59_000}").text
    assert "There is one already" in page
    fields = dict(re.findall(r'name="(from|to)_local"[^>]* value="([^"]+)"', page))
    start, end = fields["from"], fields["to"]
    again = settled(browser, database, send("/insights", when="custom", from_local=start, to_local=end))
    assert (again.anchor, again.version) == (made.anchor, 2)


def test_without_a_time_the_form_says_what_is_missing(app: Flask, browser: Actor) -> None:
    answer = browser.post("/insights", data={"csrf_token": csrf_of(app, browser)})
    assert answer.status_code == 422 and "Choose the time it should be about." in answer.text


def test_told_again_as_the_journal_compared_and_put_back(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.reply(TOLD).reply("Retention")
    first = settled(browser, database, send("/insights", frame=str(frame.id)))
    journal = next(each for each in personas.list_personas(database) if each.builtin == "journal")
    stub.anew().reply("Dear diary [[e1]].").reply("Diary")
    second = settled(browser, database, send(f"/insights/{first.id}/again", persona=str(journal.id)))
    assert stub.requests[0]["messages"][0]["content"].startswith(BUILT_IN["journal"].system_prompt)
    assert (second.persona, second.is_current) == (BUILT_IN["journal"].name, True)
    page = browser.get(f"/insights/{second.id}?compare={first.id}").text
    assert 'class="removed"' in page and 'class="added"' in page
    assert "Dear diary" in page and "You set retention to 14 days" in page
    assert send(f"/insights/{first.id}/restore") == f"/insights/{first.id}"
    assert [each.id for each in insights.list_insights(database)] == [first.id]
    assert "Earlier version" in words(browser, f"/insights/{second.id}")


def test_the_page_says_what_amending_keeps_and_offers_to_leave_the_note_out(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    pirate = personas.create(database, PersonaText("Pirate", "Voice: a pirate's."), NOON_MS)
    personas.activate(database, pirate.id)
    stub.reply(TOLD).reply("Retention")
    first = settled(browser, database, send("/insights", frame=str(frame.id)))
    page = words(browser, f"/insights/{first.id}")
    assert "stored with the new version" in page and "Amend without the note" in page
    form = {"message": "In one line.", "persona": str(pirate.id), "style_note": "In rhyme."}
    for n, (button, kept) in enumerate(
        [({}, "Voice: a pirate's.\n\nIn rhyme."), ({"without_note": "1"}, "Voice: a pirate's.")], 2
    ):
        stub.anew().reply("Arr [[e1]].").reply("Arr")
        made = settled(browser, database, send(f"/insights/{first.id}/amend", **form, **button))
        assert insights.messages(database, made.id)[0]["content"] == kept
        assert stub.requests[0]["messages"][0]["content"].startswith(f"{kept}\n\n")
        assert made.version == n and made.is_current
    again = settled(
        browser, database, send(f"/insights/{first.id}/amend", message="As before.", persona="kept")
    )
    assert insights.messages(database, again.id)[0]["content"] == "Voice: a pirate's."


def test_what_was_typed_is_still_there_when_an_amendment_is_refused(
    app: Flask, browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.reply(TOLD).reply("Retention")
    first = settled(browser, database, send("/insights", frame=str(frame.id)))
    form = {"csrf_token": csrf_of(app, browser), "message": "x" * 9_000, "style_note": "In rhyme."}
    answer = browser.post(f"/insights/{first.id}/amend", data=form)
    assert answer.status_code == 422 and "x" * 9_000 in answer.text and "In rhyme." in answer.text
    assert len(conversations.list_chats(database)) == 1


def test_without_a_model_an_insight_is_not_amended(
    make_app: Callable[..., Flask], database: Database
) -> None:
    made = told(database)
    app = make_app()
    browser = browser_of(app)
    page = words(browser, f"/insights/{made.id}")
    assert "needs a language model" in page and "What should be different?" not in page
    form = {"csrf_token": csrf_of(app, browser), "message": "The icons were for the poster."}
    answer = browser.post(f"/insights/{made.id}/amend", data=form)
    assert answer.status_code == 422 and "mending an insight needs a language model" in answer.text
    assert len(conversations.list_chats(database)) == 1


def test_insights_are_found_filtered_exported_and_deleted(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.reply(TOLD).reply("Retention")
    made = settled(browser, database, send("/insights", frame=str(frame.id)))
    assert "Retention" in words(browser, "/insights?q=retention")
    assert "No insight matches" in words(browser, "/insights?q=xylophone")
    assert "No insight matches" in words(browser, "/insights?persona=99")
    export = f"/chat/{made.chat_id}/turns/{made.n}/export"
    assert (
        f'href="{export}"' in browser.get(f"/insights/{made.id}").text
        and browser.get(export).status_code == 200
    )
    assert "Delete this insight?" in words(browser, f"/insights/{made.id}/delete")
    assert send(f"/insights/{made.id}/delete") == "/insights"
    assert "No insights yet" in words(browser, "/insights")
    words(browser, f"/insights/{made.id}", 404)


@pytest.mark.parametrize("q", ["", "retention"])
def test_the_list_is_paged_there_and_back_with_its_count(
    browser: Actor, database: Database, monkeypatch: pytest.MonkeyPatch, q: str
) -> None:
    monkeypatch.setattr(views, "LISTED", 2)
    for n in range(5):
        told(database, Anchor("moment", NOON_MS + n * 60_000, NOON_MS + n * 60_000 + 1),
             "You read about retention.", title=f"Retention {n}")  # fmt: skip
    seen: list[str] = []
    address, back = f"/insights?q={q}", ""
    for label in ("1–2 of 5 insights", "3–4 of 5 insights", "5–5 of 5 insights"):
        html = browser.get(address).text
        assert label in html
        seen += re.findall(r">(Retention \d)</a>", html)
        found = re.search(r'rel="next" href="([^"]+)"', html)
        address = html_text.unescape(found[1]) if found else ""
        before = re.search(r'rel="prev" href="([^"]+)"', html)
        back = html_text.unescape(before[1]) if before else ""
    assert sorted(seen) == [f"Retention {n}" for n in range(5)] and address == ""
    assert "3–4 of 5" in browser.get(back).text


def test_search_counts_an_insight_and_leads_to_where_it_is_found(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.reply(TOLD).reply("Retention, decided")
    made = settled(browser, database, send("/insights", frame=str(frame.id)))
    found = browser.get("/search?q=decided").text
    assert 'href="/insights?q=decided">1 insight<' in found and "Retention, decided" in found
    assert f'href="/insights/{made.id}"' in browser.get("/insights?q=decided").text


def test_a_title_of_a_model_s_making_is_only_text(
    browser: Actor, send: Any, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.reply("<script>alert(1)</script> {{ 7*7 }}").reply("<img src=x onerror=alert(1)>")
    made = settled(browser, database, send("/insights", frame=str(frame.id)))
    for path in (
        f"/insights/{made.id}",
        "/insights",
        f"/frames/{frame.id}",
        "/search?q=alert",
    ):
        page = browser.get(path).text
        assert "<script>alert" not in page and "<img src=x" not in page
