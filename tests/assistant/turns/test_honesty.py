"""What cannot be answered from the screen is said, in its own words for each cause."""

from __future__ import annotations

import uuid

from assistant.core.records import TurnFilters
from store.core.database import Database
from store.spool.queue import DecisionRun, LookReport
from store.timeline import ledger
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel


def test_an_empty_range_is_said_so_and_no_model_is_asked(
    ask: Ask, database: Database, stub: StubModel
) -> None:
    pause = DecisionRun("", "paused", "by the person", START_MS, START_MS + 3 * HOUR_MS, 10)
    report = LookReport(str(uuid.uuid4()), START_MS, START_MS + 3 * HOUR_MS, 10, (pause,))
    with database.write() as connection:
        ledger.add_report(connection, report)
    result = ask()
    assert stub.requests == []
    assert "No captures: Friday 20 Nov, 14:00–17:00." in result.answer_md
    assert "recording was paused" in result.answer_md
    assert result.evidence == result.claims == ()
    assert (result.coverage.frames_in_range, result.usage) == (0, None)


def test_an_empty_range_is_said_in_the_language_of_the_question(ask: Ask) -> None:
    assert "没有任何屏幕画面" in ask("我做了什么").answer_md


def test_filters_that_nothing_passes_are_named(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, "one")
    result = ask(filters=TurnFilters(app_name="Doom"))
    assert "No captures: Friday 20 Nov, 14:00–17:00, in Doom." in result.answer_md
    result = ask(filters=TurnFilters(focused=False))
    assert "14:00–17:00, on monitors without the focus." in result.answer_md
    assert stub.requests == []


def test_a_range_ahead_is_not_answered_with_nothing_found(ask: Ask, stub: StubModel) -> None:
    result = ask("What will I do?", start_ms=NOW_MS + HOUR_MS, end_ms=NOW_MS + 2 * HOUR_MS)
    assert "has not come yet" in result.answer_md
    assert stub.requests == []


def test_frames_without_text_are_said_to_have_none(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, None, window_name="Budget 2027")
    stub.reply(reply("You had a budget open [[e1]].", ("e1", "Budget 2027")))
    result = ask()
    assert result.warnings == ("Frames looked at that have no text yet: 1.",)
    assert (result.evidence[0].state, result.evidence[0].boxes) == ("found", ())
