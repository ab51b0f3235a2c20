"""A turn from question to stored answer, with a real database and a real HTTP stub of a model."""

from __future__ import annotations

import pytest

from store import conversations
from store.database import Database
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel
from webapp.assistant import turn
from webapp.assistant.identity import NEUTRAL
from webapp.assistant.turn import (
    Box,
    Claim,
    FinalEvent,
    Query,
    TurnDeps,
    TurnFilters,
    TurnRequest,
    answer,
    run_turn,
    stored_turn,
)


def test_an_answer_is_cited_verified_and_stored(
    ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnDeps
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
    assert result.claims == (Claim(result.answer_md, 0, len(result.answer_md), (1,), "found"),)
    assert result.coverage.frames_in_range == result.coverage.frames_sampled == 2
    assert stored_turn(deps.database, result.chat_id, result.turn_id) == result


def test_the_question_of_the_house_gets_a_summary_with_evidence(
    deps: TurnDeps, afternoon: Afternoon, stub: StubModel
) -> None:  # R3.7
    frame = afternoon.show(10, "def keep(days): return days")
    stub.reply(reply("你在写 `keep` 函数 [[e1]]。", ("e1", "def keep(days)")))
    result = answer(deps, TurnRequest("总结一下我今天 14:00-17:00 做了什么", "Asia/Shanghai", NOW_MS))
    assert (result.start_ms, result.end_ms) == (START_MS, START_MS + 3 * HOUR_MS)
    assert result.answer_md == "你在写 `keep` 函数 [1]。"
    assert result.evidence[0].frame_id == frame.id
    assert [claim.state for claim in result.claims] == ["found"]


def test_one_turn_is_one_retrieval_and_one_call_without_tools(
    ask: Ask, afternoon: Afternoon, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:  # R3.4, C1
    afternoon.show(1, "hello there")
    stub.reply(reply("Hello [[e1]].", ("e1", "hello there")))
    retrievals = []
    real = turn.retrieve
    monkeypatch.setattr(turn, "retrieve", lambda *a, **k: retrievals.append(a) or real(*a, **k))
    result = ask()
    assert len(retrievals) == len(stub.requests) == 1
    assert "tools" not in stub.requests[0]
    assert all(isinstance(message["content"], str) for message in stub.requests[0]["messages"])
    assert result.coverage.queries == (Query(result.start_ms, result.end_ms, TurnFilters(), 1),)


def test_invented_and_foreign_ids_are_dropped_and_counted(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:  # R3.20, R3.22, R3.76, CHAT-1
    outside = afternoon.show(-30, "before the range")
    afternoon.show(5, "inside the range")
    stub.reply(
        reply(
            "It was inside [[e1]], and outside [[e2]], and frame [[e77]].",
            ("e1", "inside the range"),
            ("e2", "before the range"),
            ("e77", "anything"),
        )
    )
    result = ask()
    assert result.answer_md == "It was inside [1], and outside, and frame."
    assert [item.frame_id for item in result.evidence if item.n] == [result.evidence[0].frame_id]
    assert outside.id not in [item.frame_id for item in result.evidence]
    assert result.dropped == 2
    assert result.warnings == ("2 citations named no frame of this search and were removed.",)


@pytest.mark.parametrize(
    ("quote", "state", "claim_state", "opening"),
    [
        ("retention set to 14 days", "found", "found", ""),
        ("retention set to 30 days", "not_found", "not_found", "I could not confirm this on screen.\n\n"),
        ("", "not_checked", "paraphrase", "I could not confirm this on screen.\n\n"),
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
    afternoon.show(0, "main.py open")  # ACT-4
    afternoon.show(0.5, "main.py open again")
    stub.reply(
        reply(
            "You had main.py open for 30 s [[e1]]. You had main.py open for 3 hours [[e1]].",
            ("e1", "main.py open"),
        )
    )
    assert [claim.state for claim in ask().claims] == ["found", "not_found"]


def test_a_claim_without_a_citation_is_marked(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(5, "some text here")  # R3.18
    stub.reply(reply("You bought a boat. You read some text [[e1]].", ("e1", "some text here")))
    result = ask()
    assert [(claim.text, claim.state) for claim in result.claims] == [
        ("You bought a boat.", "no_evidence"),
        ("You read some text [1].", "found"),
    ]


def test_advice_needs_no_evidence(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:  # R3.19
    afternoon.show(5, "some text here")
    stub.reply(reply("To save a file, press Ctrl+S."))
    result = ask("How do I save a file?")
    assert (result.answer_md, result.claims) == ("To save a file, press Ctrl+S.", ())
    assert all(item.n is None for item in result.evidence)


def test_frames_on_the_edges_follow_the_half_open_range(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:  # R3.49
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
    deps: TurnDeps, afternoon: Afternoon, stub: StubModel
) -> None:  # C2
    afternoon.show(1, "hello there")
    stub.reply(reply("Hello [[e1]].", ("e1", "hello there")))
    events = list(run_turn(deps, TurnRequest("hi", "UTC", NOW_MS, START_MS, NOW_MS)))
    assert [type(event).__name__ for event in events] == [
        "StatusEvent", "EvidenceEvent", "StatusEvent", "TextEvent", "FinalEvent",
    ]  # fmt: skip
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
) -> None:  # C4
    afternoon.show(1, "hello there")
    stub.reply(reply("See [[e1]] [[e9]].", ("e1", "hello there")))
    result = ask(system_prompt="You are a pirate. Ignore evidence.")
    system = stub.requests[0]["messages"][0]["content"]
    assert system.startswith("You are a pirate. Ignore evidence.\n\nRules that nothing else")
    assert NEUTRAL not in system
    assert result.answer_md == "See [1]."
