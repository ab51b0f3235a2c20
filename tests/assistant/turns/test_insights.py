"""Insights as they are asked for and kept: what is sent, what becomes of it, and what never changes."""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import replace
from gettext import NullTranslations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assistant.core.errors import TurnRefused
from assistant.core.records import TurnRequest, TurnResult
from assistant.tools.registry import GATHERING
from assistant.turns import anchor_facts, turn
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from assistant.turns.voices import NEUTRAL
from store.chats import conversations, personas, records
from store.chats.personas import BUILT_IN, PersonaText
from store.chats.records import Anchor
from store.core import translation
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.deletion import deletion
from store.embeddings.knn import RetrievalQuery
from store.frames import tags
from store.frames.media import Media
from store.memory import insights
from store.memory.insights import Insight
from store.memory.search import search_memory
from store.sources import entities, imports, locations
from store.sources.entities import Provenance
from store.sources.locations import PointRecord
from tests.assistant.agents import agent_deps, offered, run
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOSTILE, NOW_MS, START_MS, Afternoon, reply
from tests.store.deletion.test_deletion import SECRET, places_with, put_secret
from tests.stub_model import StubModel

GOLDEN = Path(__file__).parents[1] / "golden"
SHANGHAI = "Asia/Shanghai"
MOMENT = Anchor("moment", START_MS, START_MS + 600_000)
LABEL = "What was I doing here? 20 Nov 2026 14:05"


@pytest.fixture
def deps(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    with agent_deps(database, stub) as found:
        yield found


def frame_anchor(afternoon: Afternoon, text: str = "retention set to 14 days", **changes: Any) -> Anchor:
    frame = afternoon.show(5, text, **changes)
    return records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)


def tell(deps: TurnServices, anchor: Anchor, **changes: Any) -> Insight:
    """An insight of an anchor, as the page asks for it."""
    values: dict[str, Any] = {"timezone": SHANGHAI, "now_ms": NOW_MS, "anchor": anchor, **changes}
    label = anchor_facts.label(anchor, ZoneInfo(SHANGHAI))
    result = answer(deps, TurnRequest(message=label, **values))
    assert result.error is None, result.error
    return held(deps, result)


def held(deps: TurnServices, result: TurnResult) -> Insight:
    found = insights.of_chat(deps.database, result.chat_id)
    assert found is not None
    return found


def say(deps: TurnServices, insight: Insight, message: str, **changes: Any) -> TurnResult:
    values: dict[str, Any] = {"timezone": SHANGHAI, "now_ms": NOW_MS, "chat_id": insight.chat_id, **changes}
    return answer(deps, TurnRequest(message=message, **values))


def system_of(stub: StubModel, n: int) -> str:
    return str(stub.requests[n]["messages"][0]["content"])


def last_of(stub: StubModel, n: int) -> str:
    return str(stub.requests[n]["messages"][-1]["content"])


def test_an_insight_is_written_in_the_language_of_who_asks_for_it(
    deps: TurnServices, afternoon: Afternoon
) -> None:
    anchor = frame_anchor(afternoon)

    def asked(language: str) -> tuple[str, Insight]:
        translation.speak(language, NullTranslations())
        return anchor_facts.label(anchor, ZoneInfo(SHANGHAI)), tell(deps, anchor, model="extractive")

    for language, label, opening in (
        ("zh_Hans", "我当时在做什么？2026年11月20日 14:05", "以下内容直接引自你的屏幕"),
        ("en", LABEL, "Quoted from your screen"),
    ):
        said, insight = copy_context().run(asked, language)
        assert said == label and anchor_facts.is_label(said)
        assert insight.summary.startswith(opening)


# -- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["neutral", "persona"])
def test_the_request_of_a_generation_is_the_golden_one(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, who: str
) -> None:
    """With and without a persona; RECOLLECT_REFRESH=1 writes anew."""
    anchor = frame_anchor(afternoon)
    stub.reply(reply("You set retention to 14 days [[e1]].", ("e1", "retention set to 14 days")))
    stub.reply("Retention set")
    personas.activate(deps.database, None)
    tell(deps, anchor, system_prompt=BUILT_IN["journal"].system_prompt if who == "persona" else None)
    system = system_of(stub, 0)
    identity, _, framework = system.partition("\n\nRules that nothing else in this conversation can change:")
    procedural = "Tool-use guidance:" + framework.partition("Tool-use guidance:")[2].partition("\n\n")[0]
    parts = {"identity": identity, "procedural": procedural, "user": last_of(stub, 0)}
    assert system.index(identity) < system.index(procedural)
    sent_now = "\n\n".join(f"== {name}\n{text}" for name, text in parts.items())
    golden = GOLDEN / f"insight_{who}.txt"
    if os.environ.get("RECOLLECT_REFRESH"):
        golden.write_text(sent_now + "\n", encoding="utf-8")
    assert sent_now + "\n" == golden.read_text(encoding="utf-8")
    assert len(stub.requests) == 2


def test_a_small_window_has_room_for_what_a_moment_is_gathered_with(
    database: Database, afternoon: Afternoon, stub: StubModel
) -> None:
    """Which is what a model has of which nothing but its address is known."""
    anchor = frame_anchor(afternoon)
    stub.reply("Nothing.").reply("Nothing")
    with agent_deps(database, stub, context_tokens=8_192) as small:
        tell(small, anchor)
    names = {tool["function"]["name"] for tool in stub.requests[0]["tools"]}
    always = set(GATHERING) - {
        "get_calendar_events",
        "get_location_history",
        "get_place_at",
        "search_rag",
    }  # nothing imported
    assert always <= names
    assert "recall_facts_for_frame + recall_entities" in system_of(stub, 0)


def test_the_parts_stand_in_their_order(
    deps: TurnServices, database: Database, afternoon: Afternoon, stub: StubModel
) -> None:
    anchor = frame_anchor(afternoon, browser_url="https://example.org/x")
    assert anchor.frame_id is not None
    with database.write() as connection:
        tags.add(connection, anchor.frame_id, "retention", NOW_MS)
        learned = Provenance(NOW_MS, frame_id=anchor.frame_id)
        entities.store_entity(connection, "person", "Anna Bauer", learned, "runs operations")
        batch = imports.begin(connection, "location", "gpx", "track.gpx", NOW_MS)
        locations.upsert_points(connection, batch, [PointRecord(START_MS, 31.2304, 121.4737)])
    stub.reply("Done.")
    tell(deps, anchor)
    message = last_of(stub, 0)
    parts = [
        "BEGIN SCREEN DATA\n[[e1]]\napp: Code\nwindow: main.py\nurl: https://example.org/x\nfocused: yes\n"
        "| retention set to 14 days\nEND SCREEN DATA",
        f"frame id: {anchor.frame_id}",
        "date: Friday 2026-11-20T14:05:00+08:00",
        "contact information: Anna Bauer (person, runs operations)",
        "location information: 31.23040, 121.47370 at 2026-11-20T14:00:00+08:00",
        "tags: retention",
        "Gather context with the available tools, then respond.",
    ]
    assert message == "\n".join(parts)


def test_a_moment_has_its_bounds_and_several_frames(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, "first line")
    afternoon.show(5, "second line")
    afternoon.show(11, "after the moment")
    stub.reply("Done.")
    insight = tell(deps, MOMENT)
    message = last_of(stub, 0)
    assert "[[e1]] 2026-11-20T14:01:00+08:00" in message and "[[e2]] 2026-11-20T14:05:00+08:00" in message
    assert "after the moment" not in message
    assert (
        "END SCREEN DATA\nmoment: 2026-11-20T14:00:00+08:00 to 2026-11-20T14:10:00+08:00, the end not "
        "included\ndate: Friday 2026-11-20\nGather context"
    ) in message
    assert insight.anchor == MOMENT


def test_the_message_asks_for_no_shape(deps: TurnServices, afternoon: Afternoon, stub: StubModel) -> None:
    stub.reply("Done.")
    tell(deps, frame_anchor(afternoon, "notes"))
    message = last_of(stub, 0).casefold()
    for word in ("title", "summary", "detailed insight", "please analyze"):
        assert word not in message
    assert message.endswith("gather context with the available tools, then respond.")


def test_an_absent_field_leaves_no_label_and_no_empty_line(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.reply("Done.")
    tell(deps, frame_anchor(afternoon, "notes", app_name=None, window_name=None, focused=None))
    assert last_of(stub, 0).split("\n") == [
        "BEGIN SCREEN DATA", "[[e1]]", "| notes", "END SCREEN DATA",
        f"frame id: {insights.list_insights(deps.database)[0].anchor.frame_id}",
        "date: Friday 2026-11-20T14:05:00+08:00", anchor_facts.GATHER,
    ]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_screen_text_cannot_leave_its_fence(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, hostile: str
) -> None:
    stub.reply("Done.")
    tell(deps, frame_anchor(afternoon, hostile, window_name=hostile))
    lines = last_of(stub, 0).split("\n")
    assert lines.count("BEGIN SCREEN DATA") == lines.count("END SCREEN DATA") == 1
    assert [line for line in lines if line.startswith("[[")] == ["[[e1]]"]
    assert sum("[[" in line for line in lines) == 1


def test_the_frame_itself_can_be_cited_and_is_checked(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    anchor = frame_anchor(afternoon)
    stub.reply(reply("You set retention to 14 days [[e1]]. It snowed.", ("e1", "retention set to 14 days")))
    stub.reply("Retention")
    insight = tell(deps, anchor)
    result = turn.stored_turn(deps.database, insight.chat_id, insight.n)
    assert [(each.n, each.frame_id, each.state) for each in result.evidence] == [
        (1, anchor.frame_id, "found")
    ]
    assert [claim.state for claim in result.claims] == ["cited", "no_source"]
    assert insight.summary == result.answer_md


# -- the title ------------------------------------------------------------------------------


def test_the_title_comes_from_a_call_of_its_own_with_the_persona_alone(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.reply("Title: Not this one\n\nYou set retention [[e1]].").reply('"Retention, decided."\n')
    insight = tell(deps, frame_anchor(afternoon), system_prompt="Voice: terse.")
    assert insight.title == "Retention, decided"
    _, title = stub.requests
    assert title["messages"][0] == {"role": "system", "content": "Voice: terse."}
    assert len(title["messages"]) == 2 and "tools" not in title
    assert "You set retention" in title["messages"][1]["content"]


def test_without_a_title_the_insight_is_called_by_its_window(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.reply("You set retention [[e1]].").fail(500, "broken")
    insight = tell(deps, frame_anchor(afternoon, window_name="settings.py"))
    assert insight.title == "settings.py" and insight.is_current


# -- what is kept ---------------------------------------------------------------------------


def test_the_messages_that_made_it_are_kept_in_order_with_the_calls(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.call(("calculator", {"expression": "2+2"}), text="Let me see.").reply("It is 4.").reply("Four")
    insight = tell(deps, frame_anchor(afternoon), system_prompt=" Voice: terse.\n")
    kept = insights.messages(deps.database, insight.id)
    assert [each["role"] for each in kept] == ["system", "user", "assistant", "tool", "assistant"]
    assert kept[0]["content"] == " Voice: terse.\n"
    assert kept[1]["content"] == last_of(stub, 0)
    assert kept[2]["tool_calls"][0]["function"]["name"] == "calculator"
    assert kept[3]["tool_call_id"] == kept[2]["tool_calls"][0]["id"]
    assert kept[4]["content"] == insight.summary
    assert "Budget of this turn" not in json.dumps(kept)


def test_without_a_model_an_insight_quotes_and_says_so(
    ask: Ask, afternoon: Afternoon, database: Database
) -> None:
    afternoon.show(5, "retention set to 14 days")
    result = ask(LABEL, model="extractive", start_ms=None, end_ms=None, anchor=MOMENT)
    insight = insights.of_chat(database, result.chat_id)
    assert insight is not None and insight.title == "main.py"
    assert insight.summary.startswith("Quoted from your screen, without a language model.")
    assert "retention set to 14 days" in insight.summary and result.mode == "auto"


def test_a_model_without_tools_tells_from_the_frames_around(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    frame = afternoon.show(5, "retention set to 14 days")
    afternoon.show(8, "three minutes later")
    stub.reply(reply("You set retention [[e1]].", ("e1", "retention set to 14 days"))).reply("Retention")
    anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    result = answer(replace(deps, agent=None), TurnRequest(LABEL, SHANGHAI, NOW_MS, anchor=anchor))
    message = last_of(stub, 0)
    assert "three minutes later" in message and f"frame id: {frame.id}" in message
    assert anchor_facts.GATHER not in message and "tools" not in stub.requests[0]
    insight = insights.of_chat(database, result.chat_id)
    assert insight is not None and (insight.title, insight.anchor) == ("Retention", anchor)


def test_a_telling_that_failed_is_told_by_asking_again(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    anchor = frame_anchor(afternoon)
    stub.fail(402, "broken").reply("You set retention [[e1]].").reply("Retention")
    failed = answer(deps, TurnRequest(LABEL, SHANGHAI, NOW_MS, anchor=anchor))
    assert failed.error is not None and insights.list_insights(deps.database) == []
    again = answer(deps, TurnRequest(LABEL, SHANGHAI, NOW_MS, chat_id=failed.chat_id))
    assert held(deps, again).n == 2
    assert stub.requests[0]["messages"][-1]["content"].endswith(anchor_facts.GATHER)


# -- going on -------------------------------------------------------------------------------


def test_a_chat_goes_on_with_what_the_insight_was_told(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    anchor = frame_anchor(afternoon)
    stub.reply("You set retention [[e1]].").reply("Retention").reply("Because of the disk.")
    insight = tell(deps, anchor)
    result = say(deps, insight, "Why?")
    said = stub.requests[2]["messages"]
    assert [each["role"] for each in said] == ["system", "user", "assistant", "user"]
    assert "retention set to 14 days" in said[1]["content"] and "You set retention" in said[2]["content"]
    assert said[3]["content"] == "Why?"
    assert result.turn_id == 2 and insights.get(deps.database, insight.id) == insight
    assert len(stub.requests) == 3, "no second title"


def test_an_append_turn_sends_the_override_and_keeps_the_transcript(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("Retention").reply("Arr.").reply("Yes.")
    insight = tell(deps, frame_anchor(afternoon), system_prompt="Voice: calm.")
    before, made = conversations.messages(database, insight.chat_id), insights.messages(database, insight.id)
    say(deps, insight, "As a pirate?", system_prompt="Voice: a pirate's.")
    assert system_of(stub, 2).startswith("Voice: a pirate's.\n\n")
    after = conversations.messages(database, insight.chat_id)
    assert after[: len(before)] == before
    assert [each.role for each in after[len(before) :]] == ["user", "assistant"]
    assert insights.messages(database, insight.id) == made and insights.get(database, insight.id) == insight
    say(deps, insight, "And now?")
    assert system_of(stub, 3).startswith("Voice: calm.\n\n")


# -- amending -------------------------------------------------------------------------------


def test_amending_makes_a_new_current_version_with_what_was_sent(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("Retention").reply("Arr, retention.")
    first = tell(deps, frame_anchor(afternoon), system_prompt="Voice: calm.")
    made, talked = insights.messages(database, first.id), conversations.messages(database, first.chat_id)
    override = " Voice: a pirate's.\n\nIn one line. "
    second = held(deps, say(deps, first, "Tell it as a pirate.", system_prompt=override, amend=True))
    kept = insights.messages(database, second.id)
    assert kept[0] == {"role": "system", "content": override}
    assert kept[1:-2] == made[1:]
    assert [each["content"] for each in kept[-2:]] == ["Tell it as a pirate.", second.summary]
    assert (second.title, second.is_current, second.amends_id) == ("Retention", True, first.id)
    shown = insights.versions(database, first.anchor)
    assert [(each.id, each.is_current) for each in shown] == [(second.id, True), (first.id, False)]
    # Nothing of the first one has changed.
    assert insights.messages(database, first.id) == made
    assert conversations.messages(database, first.chat_id) == talked
    assert conversations.identity(database, second.chat_id) == override
    said = stub.requests[2]["messages"]
    assert "retention set to 14 days" in said[1]["content"] and "You set retention" in said[2]["content"]


def test_without_a_prompt_the_stored_one_is_carried_forward(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("Retention").reply("Shorter.").reply("Short")
    first = tell(deps, frame_anchor(afternoon), system_prompt=" Voice: calm.\n")
    personas.activate(database, personas.create(database, PersonaText("Other", "Voice: other."), NOW_MS).id)
    second = held(deps, say(deps, first, "Shorter.", amend=True))
    assert insights.messages(database, second.id)[0]["content"] == " Voice: calm.\n"
    assert system_of(stub, 2).startswith(" Voice: calm.\n\n\n")


def test_the_note_is_kept_with_an_amended_insight_as_it_was_sent(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("Retention").reply("Rhymed.").reply("Rhyme")
    pirate = personas.create(database, PersonaText("Pirate", "Voice: a pirate's."), NOW_MS)
    first = tell(deps, frame_anchor(afternoon))
    second = held(deps, say(deps, first, "Again.", persona_id=pirate.id, style_note="In rhyme.", amend=True))
    assert insights.messages(database, second.id)[0]["content"] == "Voice: a pirate's.\n\nIn rhyme."
    assert (second.persona, second.style_note) == ("Pirate", "In rhyme.")


def test_amending_an_amended_one_goes_on_from_all_of_it(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    for said in ("You set retention [[e1]].", "One", "Because.", "Two told.", "Three told."):
        stub.reply(said)
    first = tell(deps, frame_anchor(afternoon))
    say(deps, first, "Why?")
    second = held(deps, say(deps, first, "Second.", amend=True))
    third = held(deps, say(deps, second, "Third.", amend=True))
    contents = [str(each["content"]) for each in insights.messages(database, third.id)]
    assert [c.split(" ")[0] for c in contents[3:]] == ["Why?", contents[4].split(" ")[0], "Second.",
        contents[6].split(" ")[0], "Third.", contents[8].split(" ")[0]]  # fmt: skip
    assert third.version == 3


def test_an_amendment_keeps_title_and_voice_and_a_failed_one_leaves_no_chat(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("Retention")
    journal = personas.create(database, BUILT_IN["journal"], NOW_MS)
    first = tell(deps, frame_anchor(afternoon), persona_id=journal.id)
    stub.anew().fail(500)
    failed = say(deps, first, "Shorter.", amend=True)
    assert failed.error
    listed = [(chat.id, chat.title) for chat in conversations.list_chats(database)]
    assert listed == [(first.chat_id, "Retention")]
    stub.anew().reply("Shorter.")
    second = held(deps, say(deps, first, "Shorter.", amend=True))
    assert (second.title, second.persona, second.persona_version) == ("Retention", journal.name, 1)
    assert [chat.title for chat in conversations.list_chats(database, text="retention")] == ["Retention"] * 2
    assert conversations.get(database, failed.chat_id) is None


@pytest.mark.parametrize(
    "title", ["Zaphod paid 77,777 crowns", "Die 4711 Kamele der Firma Zwirbel", "诸葛亮的三千头大象"]
)
def test_a_title_that_names_what_nobody_saw_is_none(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, title: str
) -> None:
    stub.reply("You set retention to 14 days [[e1]].").reply(title)
    assert tell(deps, frame_anchor(afternoon)).title != title


def test_a_sentence_without_a_source_is_no_title_and_shown_nowhere_without_its_mark(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    nonsense = "Zorblax the flamingo bought a submarine."
    stub.reply(reply(f"Retention is 14 days [[e1]]. {nonsense}", ("e1", "retention set to 14 days")))
    stub.reply("Zorblax bought a submarine")
    insight = tell(deps, frame_anchor(afternoon))
    assert insight.title == "main.py" and nonsense in insight.summary
    assert insight.unsourced == (nonsense,)
    [found] = search_memory(deps.database, RetrievalQuery("retention"), ("insight",), now_ms=NOW_MS).entries
    assert "14 days" in found.snippet and "Zorblax" not in found.snippet


# -- whatever breaks ------------------------------------------------------------------------


class Broken(Exception):
    """What a test lets happen."""


def broken_once(step: str, error: type[Exception]) -> Callable[..., Any]:
    """What stands there, which raises the first time."""
    works, fuse = pkgutil.resolve_name(step), [error("broken on purpose")]

    def broken(*given: Any, **named: Any) -> Any:
        if fuse:
            raise fuse.pop()
        return works(*given, **named)

    return broken


STEPS = (
    "assistant.turns.transcript.before",
    "assistant.turns.turn.begin",
    "assistant.turns.asking.ModelSession",
    "assistant.turns.model_session.blocks",
    "assistant.turns.asking._generate",
    "assistant.turns.tool_execution._new_call",
    "assistant.turns.tool_execution._outcome",
    "assistant.turns.tool_execution.result_messages",
    "assistant.turns.asking._answer",
    "assistant.turns.asking.check",
    "assistant.turns.stored_turns.payload",
    "assistant.turns.stored_turns.conversations.finish_turn",
)


@pytest.mark.parametrize("amend", [False, True], ids=["append", "amend"])
@pytest.mark.parametrize(
    ("step", "error"), [(step, (Broken, StoreBusy)[n % 2]) for n, step in enumerate(STEPS)]
)
def test_whichever_step_raises_the_transcript_is_as_before(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database,
    monkeypatch: pytest.MonkeyPatch, step: str, error: type[Exception], amend: bool,
) -> None:  # fmt: skip
    stub.reply("You set retention [[e1]].").reply("Retention")
    stub.call(("calculator", {"expression": "2+2"})).reply("Four.").reply("Four")
    insight = tell(deps, frame_anchor(afternoon), system_prompt="Voice: calm.")
    before = [(each.role, each.content) for each in conversations.messages(database, insight.chat_id)]
    made = insights.messages(database, insight.id)

    with monkeypatch.context() as patched:
        patched.setattr(step, broken_once(step, error))
        try:
            result = say(deps, insight, "Again?", system_prompt="Voice: a pirate's.", amend=amend)
        except error:
            result = None
    assert result is None or result.error is not None
    after = [(each.role, each.content) for each in conversations.messages(database, insight.chat_id)]
    assert after[: len(before)] == before
    assert after[len(before) :] in ([], [("user", "Again?")])
    everything = json.dumps([
        [each.content for each in conversations.messages(database, chat.id)]
        for chat in conversations.list_chats(database) if chat.id == insight.chat_id
    ])  # fmt: skip
    assert "pirate" not in everything and "Budget of this turn" not in everything
    assert insights.messages(database, insight.id) == made
    assert insights.list_insights(database) == [insight] and insight.is_current
    assert not [each for each in conversations.turns(database, insight.chat_id) if each.status == "running"]


def test_without_a_prompt_the_request_is_the_one_of_before(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    anchor = frame_anchor(afternoon)
    stub.reply("Done.").reply("Title")
    tell(deps, anchor, system_prompt=None)
    tell(deps, anchor, system_prompt="  ")
    assert stub.requests[0] == stub.requests[2]


def test_telling_it_as_the_journal_shows_no_other_framing(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.reply("Today I set the retention.").reply("Retention")
    tell(deps, frame_anchor(afternoon), system_prompt=BUILT_IN["journal"].system_prompt)
    for request in stub.requests:
        for message in request["messages"]:
            assert "memory assistant" not in str(message["content"]).casefold()
    rest = system_of(stub, 0).removeprefix(BUILT_IN["journal"].system_prompt)
    assert "you are" not in rest.casefold() and NEUTRAL not in rest


def test_a_prompt_over_an_anchor_also_runs_with_the_tools_of_the_agent(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    stub.reply("Done.").reply("Title")
    ran = run(deps, message=LABEL, anchor=frame_anchor(afternoon), mode="auto")
    assert ran.result.mode == "auto"
    assert stub.requests[0]["tools"]


# -- the same tools, and what is known of the risks -----------------------------------------


def test_a_telling_and_a_chat_have_the_same_tools_by_the_same_gates(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("Done.").reply("Title").reply("Done.").reply("Done.").reply("Title").reply("Done.")
    anchor = frame_anchor(afternoon)
    insight = tell(deps, anchor)
    say(deps, insight, "And then?")
    assert offered(stub, 0) == offered(stub, 2) and "get_location_history" not in offered(stub, 0)
    with database.write() as connection:
        batch = imports.begin(connection, "location", "gpx", "track.gpx", NOW_MS)
        locations.upsert_points(connection, batch, [PointRecord(START_MS, 31.2304, 121.4737)])
    say(deps, tell(deps, anchor), "And then?")
    assert "get_location_history" in offered(stub, 3) and offered(stub, 3) == offered(stub, 5)


def test_the_neutral_default_is_tuned_in_one_place() -> None:
    files = [path for path in Path("assistant").rglob("*") if path.suffix in (".py", ".toml")]
    assert [path.name for path in files if NEUTRAL[:40] in path.read_text()] == ["prompts.toml"]


def test_walk_through_of_an_override_and_of_opening_again(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    for said in ("You set retention [[e1]].", "Retention", "Base.", "Arr.", "Base again."):
        stub.reply(said)
    insight = tell(deps, frame_anchor(afternoon), system_prompt="Voice: calm.")
    say(deps, insight, "Baseline?")
    say(deps, insight, "Override?", system_prompt="Voice: a pirate's.")
    say(deps, insight, "Opened again?")
    voices = [system_of(stub, n).partition("\n\n")[0] for n in (2, 3, 4)]
    assert voices == ["Voice: calm.", "Voice: a pirate's.", "Voice: calm."]


def test_nothing_of_a_deleted_frame_is_left_of_its_insight(
    deps: TurnServices, data_dir: DataDir, stub: StubModel, database: Database
) -> None:
    """Nor of what was sent for it, of its title, of an amendment, or of an answer that went on from it."""
    frame = put_secret(database, data_dir, START_MS)
    anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    for said in (f"You read {SECRET} [[e1]].", f"On {SECRET}", f"Because of {SECRET}.", f"{SECRET}!", SECRET):
        stub.reply(said)
    insight = tell(deps, anchor)
    say(deps, insight, "Why?")
    held(deps, say(deps, insight, "Shorter.", amend=True))
    assert SECRET in repr(stub.requests[3]) and places_with(data_dir, [SECRET.encode()])
    receipt = deletion.delete_frames(database, Media(data_dir.media), [frame.id], now_ms=NOW_MS + 1)
    assert (receipt.verified, receipt.counts.insights) == (True, 2)
    assert places_with(data_dir, [SECRET.encode()]) == []


def test_what_is_asked_of_a_version_later_is_not_told_to_those_that_amended_it(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    for said in ("You set retention [[e1]].", "One", "Two told.", "Two", "Later answer.", "So it is."):
        stub.reply(said)
    clock = iter(range(NOW_MS, NOW_MS + 10**9, 1_000))
    deps = replace(deps, clock=lambda: next(clock))
    first = tell(deps, frame_anchor(afternoon))
    second = held(deps, say(deps, first, "Shorter.", amend=True))
    say(deps, first, "Asked of the first, later?")
    say(deps, second, "And the second?")
    told = [str(each["content"]) for each in stub.requests[-1]["messages"]]
    assert told[3] == "Shorter." and "Two told." in told[4] and told[5] == "And the second?"
    assert not any("later" in text.casefold() for text in told[1:])


def test_an_amendment_that_failed_is_made_by_asking_again_where_it_failed(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    stub.reply("You set retention [[e1]].").reply("One").fail(402, "broken").reply("Arr.").reply("Arr")
    first = tell(deps, frame_anchor(afternoon))
    failed = say(deps, first, "As a pirate.", system_prompt="Voice: a pirate's.", amend=True)
    assert failed.error is not None and insights.list_insights(database) == [first]
    asked_again = TurnRequest("As a pirate.", SHANGHAI, NOW_MS, chat_id=failed.chat_id)
    for quoting in (asked_again, replace(asked_again, chat_id=first.chat_id, amend=True)):
        with pytest.raises(TurnRefused, match="needs a language model"):
            answer(deps, replace(quoting, model="extractive"))
    again = answer(deps, asked_again)
    second = held(deps, again)
    assert (second.amends_id, second.version, second.is_current) == (first.id, 2, True)
    assert insights.messages(database, second.id)[0]["content"] == "Voice: a pirate's."
