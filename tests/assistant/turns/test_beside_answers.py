"""Answers without a model from what is no frame: messages, events, and what the person stated."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from assistant.core.records import TurnFilters, TurnRequest, TurnResult
from assistant.retrieval.packing import BESIDE
from assistant.turns import beside_answers
from assistant.turns.beside_answers import Beside
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from store.chats import conversations, tool_permissions
from store.chats.conversations import DELETED_ANSWER
from store.core.database import Database
from store.deletion import sources as source_deletion
from store.sources import entities, fact_curation
from store.sources.calendars import EventRecord
from store.sources.entities import Provenance
from store.sources.locations import PlaceRecord, PointRecord
from tests.assistant.agents import agent_deps
from tests.assistant.helpers import HOUR_MS, NOW_MS, Afternoon
from tests.sources import message, put_events, put_messages, put_places, put_points
from tests.stub_model import StubModel
from tests.tables import for_each
from webapp.views.answers import Links, whole

DAY_MS = 24 * HOUR_MS


def ask(services: TurnServices, question: str, **changes: object) -> TurnResult:
    request = TurnRequest(question, "Asia/Shanghai", NOW_MS, model="extractive", **changes)  # type: ignore[arg-type]
    return answer(services, request)


@pytest.fixture
def home(database: Database, afternoon: Afternoon, stub: StubModel) -> Iterator[TurnServices]:
    """Friday, 20 November 2026, 18:03: a mail of yesterday, a series, two events, two facts and a frame."""
    frame = afternoon.show(1, "Grinder manual\nclean the burrs monthly", window_name="manual.pdf")
    body = "Hello,\nthe spare burr lies in the blue tin.\nRuth"
    put_messages(database, [message(body, NOW_MS - DAY_MS, name="Ruth Imhof", subject="Your grinder")])
    put_events(database, [
        *(EventRecord("Cupping", at, at + HOUR_MS, location="Roastery", uid="c", recurrence=str(at))
          for at in (NOW_MS - 7 * DAY_MS, NOW_MS + HOUR_MS, NOW_MS + 7 * DAY_MS)),
        EventRecord("Boiler *check*", NOW_MS + DAY_MS, NOW_MS + DAY_MS + HOUR_MS // 2),
        EventRecord("Trade fair", NOW_MS - DAY_MS, NOW_MS - DAY_MS + HOUR_MS, attendees=("Ruth Imhof",)),
    ])  # fmt: skip
    with database.write() as connection:
        learned = Provenance(NOW_MS - DAY_MS)
        ruth, _ = entities.store_entity(connection, "person", "Ruth Imhof", learned)
        entities.store_fact(connection, ruth, "birthday", learned, object_value="3 March 1988")
        taken, _ = entities.store_fact(connection, ruth, "drinks", learned, object_value="decaf")
        fact_curation.retract(connection, taken, "no", NOW_MS)
        shown = Provenance(NOW_MS, frame_id=frame.id)
        entities.store_fact(connection, ruth, "drinks", shown, object_value="mocha")
    with agent_deps(database, stub) as services:
        yield services


@for_each(
    ("question", "told", "sources"),
    [
        ("Where does the spare burr lie?",
         "- Thursday 19 Nov 18:03, message from Ruth Imhof: “the spare burr lies in", "messages"),
        ("When is Ruth's birthday?",
         "- Stated by you on Thursday 19 Nov: “Ruth Imhof · birthday · 3 March 1988”", "remembered"),
        ("When is the boiler check?",
         "- Saturday 21 Nov 18:03–18:33 (30 min), event: “Boiler \\*check\\*”", "calendar"),
        ("Where is the cupping?", "- Friday 20 Nov 19:03–20:03 (1 h), one of 3, the one before on Friday 13 "
         "Nov 18:03, event: “Cupping”; “Roastery”", "calendar"),
        ("What was in my calendar yesterday?", "event: “Trade fair”; “Ruth Imhof”", "calendar"),
        ("Was steht morgen in meinem Kalender?", "“Boiler \\*check\\*”", "calendar"),
        ("明天的日程有什么？", "- 11月21日 18:03–18:33（30分钟），日程：“Boiler \\*check\\*”", "calendar"),
        ("What do I have tomorrow?", "“Boiler \\*check\\*”", "calendar"),
        ("What did Ruth write?", "“Your grinder”; “Hello,”; “the spare burr", "messages"),
        ("How many messages did I get from Ruth?", "1 message", "messages"),
        ("Show me my messages of yesterday", "message from Ruth Imhof: “Your grinder”", "messages"),
        ("What was in my calendar on 3 October 2026?", "Nothing then in your calendar.", ""),
        ("What does Ruth drink: mocha or decaf?", "nor do 1 message, 5 events, 1 thing you stated", None),
        ("How often are the burrs to be cleaned?", "“clean the burrs monthly” [1]", None),
    ],
)  # fmt: skip
def test_other_sources_answer_with_their_own_words_under_what_they_are(
    home: TurnServices, stub: StubModel, question: str, told: str, sources: str | None
) -> None:
    """A model is told the same."""
    result = _asked(home, stub, question, "Nothing is known of it.")
    prompt = stub.requests[-1]["messages"][-1]["content"]
    quoted = re.findall("“([^”]+)", told) if sources else []
    assert all(quote.replace("\\", "") in prompt for quote in quoted)
    assert (BESIDE in prompt) == (sources is not None)
    assert not sources or result.sources == (sources,)
    result = ask(home, question)
    assert told in result.answer_md
    assert sources is None or result.sources == tuple(filter(None, [sources]))
    assert "drinks ·" not in result.answer_md, "taken back, or learned from a frame"


@for_each("question", ["What did I do yesterday?", "总结一下昨天"])
def test_a_summary_by_a_model_is_told_what_was_written_and_planned_then(
    home: TurnServices, stub: StubModel, question: str
) -> None:
    result = _asked(home, stub, question, "Nothing is known of it.")
    prompt = stub.requests[-1]["messages"][-1]["content"]
    assert "the spare burr lies in the blue tin." in prompt and "Trade fair" in prompt
    assert result.sources == ("calendar", "messages")


def _asked(home: TurnServices, stub: StubModel, question: str, said: str) -> TurnResult:
    stub.anew().reply(said)
    return answer(home, TurnRequest(question, "Asia/Shanghai", NOW_MS, model="stub"))


def test_what_is_quoted_is_of_its_source_leads_there_and_is_no_evidence(
    home: TurnServices, stub: StubModel
) -> None:
    result = ask(home, "When is the boiler check?")
    [claim] = result.claims
    assert (claim.state, claim.source, claim.citations) == ("from_source", "calendar", ())
    assert claim.address.startswith("/sources/calendar/rows/")
    assert all(item.n is None for item in result.evidence)
    assert result.answer_md.startswith("Quoted from what is kept here, without a language model.")
    drawn = whole(result, Links({}, measured="/activity"))
    assert f'href="{claim.address}"' in drawn and ">from your calendar</a>" in drawn
    assert "href" not in whole(result, Links({})), "where no page can be opened"
    [again] = _asked(home, stub, "When is the boiler check?", 'It says "Boiler *check*".').claims
    assert (again.state, again.source, again.address) == (claim.state, claim.source, claim.address)
    result = ask(home, "When is Ruth's birthday?")
    [use] = fact_curation.uses(home.database, "fact", int(result.claims[0].address.rpartition("/")[2]))
    assert (use.chat_id, use.turn) == (result.chat_id, result.turn_id)


def test_a_source_is_asked_without_any_frame(database: Database, stub: StubModel) -> None:
    put_messages(database, [message("the gate code is 4471", NOW_MS - DAY_MS, name="Ruth")])
    with agent_deps(database, stub) as services:
        assert "“the gate code is 4471”" in ask(services, "What is the gate code?").answer_md
        assert "No captures" in ask(services, "What is the wine list?").answer_md


def test_where_one_was_is_told_by_ones_own_places_and_goes_with_them(
    database: Database, stub: StubModel
) -> None:
    put_points(database, [PointRecord(NOW_MS - DAY_MS, 48.1, 11.5)])
    put_places(database, [PlaceRecord("The Mill", 48.1, 11.5), PlaceRecord("Far", 50.0, 11.5)])
    with agent_deps(database, stub) as services:
        result = ask(services, "Where was I yesterday?")
        assert "- Reached on Thursday 19 Nov: “The Mill”" in result.answer_md
        assert result.sources == ("location", "places")
        assert result.claims[0].address == "/sources/location?day=2026-11-19"
        assert "The Mill" not in ask(services, "Where was I today?").answer_md
        source_deletion.delete(database, "places")
        assert conversations.turns(database, result.chat_id)[0].answer_md == DELETED_ANSWER


def test_nobody_looks_where_the_person_said_no_or_where_frames_alone_are_asked(
    home: TurnServices, stub: StubModel
) -> None:
    question = "Where does the spare burr lie?"
    for changes in (
        {"filters": TurnFilters(app_name="Writer")},
        {"mode": "evidence", "start_ms": NOW_MS - 2 * DAY_MS, "end_ms": NOW_MS},
    ):
        assert "blue tin" not in ask(home, question, **changes).answer_md, changes
    tool_permissions.choose(home.database, "search_messages", "ask", NOW_MS)
    assert "blue tin" in ask(home, question).answer_md
    _asked(home, stub, question, "In a tin.")
    assert "blue tin" not in str(stub.requests), "nothing leaves without leave"
    tool_permissions.choose(home.database, "search_messages", "off", NOW_MS)
    result = ask(home, question)
    assert "blue tin" not in result.answer_md and "message" not in result.answer_md


def test_an_answer_goes_with_the_source_that_it_quotes(home: TurnServices, stub: StubModel) -> None:
    quoting = ask(home, "Where does the spare burr lie?")
    told = _asked(home, stub, "Where does the spare burr lie?", "In a tin.")
    other = ask(home, "When is the boiler check?")
    source_deletion.delete(home.database, "messages")
    for gone in (quoting, told):
        assert conversations.turns(home.database, gone.chat_id)[0].answer_md == DELETED_ANSWER
    assert conversations.turns(home.database, other.chat_id)[0].answer_md == other.answer_md


def test_an_answer_that_read_a_source_while_it_was_deleted_is_not_kept(
    home: TurnServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = Beside.note

    def deleted_meanwhile(self: Beside) -> None:
        source_deletion.delete(home.database, "messages")
        note(self)

    monkeypatch.setattr(beside_answers.Beside, "note", deleted_meanwhile)
    assert ask(home, "Where does the spare burr lie?").answer_md == DELETED_ANSWER
