"""A turn from question to stored answer, with a real database and a real HTTP stub of a model."""

from __future__ import annotations

from itertools import groupby

import pytest

from assistant.core.records import (
    Box,
    Claim,
    DeltaEvent,
    FinalEvent,
    OnFrame,
    Query,
    TurnFilters,
    TurnRequest,
)
from assistant.turns import answering
from assistant.turns.plan import TurnServices
from assistant.turns.stored_turns import stored_turn
from assistant.turns.turn import answer, run_turn
from assistant.turns.voices import NEUTRAL
from engines.cancellation import CancelToken
from store.chats import conversations
from store.chats.conversations import DELETED_ANSWER
from store.core.database import Database
from store.deletion import deletion
from store.frames.media import Media
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel


def test_an_answer_is_cited_verified_and_stored(
    ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    frame = afternoon.show(32, "File Edit View\nretention set to 14 days")
    afternoon.show(40, "Inbox\nLunch on Friday?", app_name="Mail", window_name="Inbox")
    stub.reply(reply("You set retention to 14 days [[e1]].", ("e1", "retention set to 14 days")))
    result = ask("What did I set retention to?")

    assert result.answer_md == "You set retention to 14 days [1]."
    cited, other = result.evidence
    assert (cited.n, cited.frame_id, cited.state, cited.quote) == (
        1,
        frame.id,
        "found",
        "retention set to 14 days",
    )
    assert cited.boxes == (Box(0, 20, 240, 16),)
    assert cited.local_time == "2026-11-20T14:32:00+08:00"
    assert cited.frame_url == f"/api/v1/frames/{frame.id}"
    assert (other.n, other.state, other.app_name) == (None, "retrieved", "Mail")
    assert result.claims == (
        Claim(result.answer_md, 0, len(result.answer_md), (1,), "cited", (), (OnFrame(21, 23, 1),)),
    )
    assert result.coverage.frames_in_range == result.coverage.frames_sampled == 2
    assert stored_turn(deps.database, result.chat_id, result.turn_id) == result


def test_the_question_of_the_house_gets_a_summary_with_evidence(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    frame = afternoon.show(10, "def keep(days): return days")
    stub.reply(reply("你在写 `keep` 函数 [[e1]]。", ("e1", "def keep(days)")))
    result = answer(deps, TurnRequest("总结一下我今天 14:00-17:00 做了什么", "Asia/Shanghai", NOW_MS))
    assert (result.start_ms, result.end_ms) == (START_MS, START_MS + 3 * HOUR_MS)
    assert result.answer_md == "你在写 `keep` 函数 [1]。"
    assert result.evidence[0].frame_id == frame.id
    assert [claim.state for claim in result.claims] == ["cited"]


def test_one_turn_is_one_retrieval_and_one_call_without_tools(
    ask: Ask, afternoon: Afternoon, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    afternoon.show(1, "hello there")
    stub.reply(reply("Hello [[e1]].", ("e1", "hello there")))
    retrievals = []
    real = answering.retrieve
    monkeypatch.setattr(answering, "retrieve", lambda *a, **k: retrievals.append(a) or real(*a, **k))
    result = ask()
    assert len(retrievals) == len(stub.requests) == 1
    assert "tools" not in stub.requests[0]
    assert all(isinstance(message["content"], str) for message in stub.requests[0]["messages"])
    assert result.coverage.queries == (Query(result.start_ms, result.end_ms, TurnFilters(), 1),)


def test_invented_and_foreign_ids_are_dropped_and_counted(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    outside = afternoon.show(-30, "before the range")
    afternoon.show(5, "inside the range")
    stub.reply(
        reply(
            "It was inside [[e1]], and in range [[e2]], and frame [[e77]].",
            ("e1", "inside the range"),
            ("e2", "before the range"),
            ("e77", "anything"),
        )
    )
    result = ask()
    assert result.answer_md == "It was inside [1], and in range, and frame."
    assert [item.frame_id for item in result.evidence if item.n] == [result.evidence[0].frame_id]
    assert outside.id not in [item.frame_id for item in result.evidence]
    assert result.dropped == 2
    assert result.warnings == ("Citations removed, as they name no frame of this search: 2.",)


@pytest.mark.parametrize(
    ("quote", "state", "claim_state", "opening"),
    [
        ("retention set to 14 days", "found", "cited", ""),
        ("retention set to 30 days", "not_found", "not_on_frame", "I could not confirm this on screen.\n\n"),
        ("", "not_checked", "cited", ""),
    ],
)
def test_only_a_quote_that_stands_in_the_frame_is_found(
    quote: str, state: str, claim_state: str, opening: str, ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(5, "retention set to 14 days")
    stub.reply(reply("You set retention [[e1]].", ("e1", quote)))
    result = ask()
    assert (result.evidence[0].state, result.claims[0].state) == (state, claim_state)
    assert bool(result.evidence[0].boxes) == (state == "found")
    assert result.answer_md == f"{opening}You set retention [1]."
    claim = result.claims[0]
    assert result.answer_md[claim.start : claim.end] == claim.text


def test_a_duration_that_no_code_gave_is_flagged(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(0, "main.py open")
    afternoon.show(0.5, "main.py open again")
    stub.reply(
        reply(
            "You had main.py open for 30 s [[e1]]. You had main.py open for 3 hours [[e1]].",
            ("e1", "main.py open"),
        )
    )
    assert [claim.state for claim in ask().claims] == ["cited", "not_on_frame"]


def test_a_claim_without_a_citation_is_marked(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(5, "some text here")
    stub.reply(reply("You bought a boat. You read some text [[e1]].", ("e1", "some text here")))
    result = ask()
    assert [(claim.text, claim.state) for claim in result.claims] == [
        ("You bought a boat.", "no_source"),
        ("You read some text [1].", "cited"),
    ]


def test_advice_has_no_source_and_is_not_warned_of(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(5, "some text here")
    stub.reply(reply("To save a file, open the menu."))
    (claim,) = ask("How do I save a file?").claims
    assert (claim.state, claim.missing) == ("no_source", ())


def test_frames_on_the_edges_follow_the_half_open_range(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    first = afternoon.show(0, "at the start")
    afternoon.show(180, "at the end")
    stub.reply("nothing")
    assert [item.frame_id for item in ask().evidence] == [first.id]


def test_filters_narrow_the_selection(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, "one", app_name="Code")
    mail = afternoon.show(2, "two", app_name="Mail", browser_url="https://mail.example/inbox")
    stub.reply("nothing")
    for filters in (TurnFilters(app_name="mail"), TurnFilters(browser_url="inbox")):
        result = ask(filters=filters)
        assert [item.frame_id for item in result.evidence] == [mail.id]
        assert result.coverage.queries[0].filters == filters


def test_evidence_comes_before_prose_and_the_last_event_is_what_is_stored(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, "hello there")
    stub.reply(reply("Hello [[e1]].", ("e1", "hello there")))
    events = list(run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS)))
    assert [kind for kind, _ in groupby(type(event).__name__ for event in events)] == [
        "StatusEvent", "EvidenceEvent", "StatusEvent", "DeltaEvent", "TextEvent", "FinalEvent",
    ]  # fmt: skip
    assert "".join(event.text for event in events if isinstance(event, DeltaEvent)) == "Hello."
    final = events[-1]
    assert isinstance(final, FinalEvent)
    assert final.result == stored_turn(deps.database, final.result.chat_id, final.result.turn_id)


def test_a_chat_goes_on_with_its_history_and_without_old_citations(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    afternoon.show(1, "hello there")
    stub.reply(reply("You read hello [[e1]].", ("e1", "hello there")))
    first = ask("first question")
    second = ask("second question", chat_id=first.chat_id)
    assert (second.chat_id, second.turn_id) == (first.chat_id, 2)
    roles = [(m["role"], m["content"]) for m in stub.requests[1]["messages"][1:3]]
    assert roles == [("user", "first question"), ("assistant", "You read hello.")]
    assert [m.role for m in conversations.messages(database, first.chat_id)] == [
        "system",
        *["user", "assistant"] * 2,
    ]


def test_an_override_replaces_the_identity_and_no_rule(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, "hello there")
    stub.reply(reply("See [[e1]] [[e9]].", ("e1", "hello there")))
    result = ask(system_prompt="You are a pirate. Ignore evidence.")
    system = stub.requests[0]["messages"][0]["content"]
    assert system.startswith("You are a pirate. Ignore evidence.\n\nRules that nothing else")
    assert NEUTRAL not in system
    assert result.answer_md == "See [1]."


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came_and_checked(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    """It fails by name, and is no part of what the model is told of the conversation later."""
    afternoon.show(1, "hello there")
    whole = "Hello [[e1]]. And a second sentence that nobody heard to its end."
    stub.reply(reply(whole, ("e1", "hello there")), breaks_after=2_400)
    events = list(run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS)))
    assert [type(event).__name__ for event in events[-3:]] == ["TextEvent", "ErrorEvent", "FinalEvent"]
    result = stored_turn(deps.database, 1, 1)
    assert events[-1] == FinalEvent(result)
    assert result.error and result.error.code == "model_unreachable"
    assert result.error.message.startswith("The connection to the model's endpoint broke off. (")
    assert (result.status, result.is_cut_off) == ("failed", True)
    said = "".join(event.text for event in events if isinstance(event, DeltaEvent))
    assert 10 < len(said) < len(whole) and said.startswith("Hello. And")
    assert result.answer_md.replace(" [1]", "").endswith(said)
    assert [item.n for item in result.evidence] == [1]
    assert any("broke off here" in warning for warning in result.warnings)
    stub.anew().reply(reply("Hello again [[e1]].", ("e1", "hello there")))
    list(run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS, chat_id=1)))
    assert [message["role"] for message in stub.requests[0]["messages"]] == ["system", "user"]


def test_what_is_kept_of_an_answer_goes_with_the_frame_it_cites(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    """An answer that broke off is an answer."""
    frame = afternoon.show(1, "hello there")
    stub.reply(reply("Hello there [[e1]]. " + "And more of it. " * 20, ("e1", "x")), breaks_after=2_400)
    list(run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS)))
    deletion.delete_frames(deps.database, Media(deps.database.data_dir.media), [frame.id])
    assert stored_turn(deps.database, 1, 1).answer_md == DELETED_ANSWER
    said = [each.content for each in conversations.messages(deps.database, 1) if each.role == "assistant"]
    assert said == [DELETED_ANSWER]


def test_stopping_an_answer_about_a_range_keeps_what_was_said(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, "hello there")
    stub.reply(reply("Hello [[e1]]. " + "More and more. " * 200, ("e1", "hello there")), pace_s=0.01)
    stop, said = CancelToken(), ""
    for event in run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS), stop):
        if isinstance(event, DeltaEvent):
            said += event.text
            if len(said) > 40:
                stop.set()
    result = stored_turn(deps.database, 1, 1)
    assert (result.status, result.error, result.is_cut_off) == ("done", None, True)
    assert said in result.answer_md.replace(" [1]", "")
    assert any("You stopped" in warning for warning in result.warnings)
