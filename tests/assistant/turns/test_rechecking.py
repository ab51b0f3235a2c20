"""A frame is read again: the quotes that cite it are looked for in what it says now."""

from __future__ import annotations

import pytest

from assistant.core.errors import UnknownChat
from assistant.core.records import Box, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations
from store.core.database import Database, scalar
from store.deletion import deletion
from store.frames.media import Media
from store.ocr import readings
from store.timeline import segments
from tests.assistant.conftest import Ask
from tests.assistant.helpers import NOW_MS, Afternoon, reply
from tests.factories import text_draft
from tests.meanwhile import meanwhile
from tests.stub_model import StubModel

QUOTE = "retention set to 14 days"
LATER_MS = NOW_MS + 3_600_000


@pytest.fixture
def answered(ask: Ask, afternoon: Afternoon, stub: StubModel) -> TurnResult:
    afternoon.show(32, f"File Edit View\n{QUOTE}")
    stub.reply(reply("You set retention to 14 days [[e1]].", ("e1", QUOTE)))
    result = ask("What did I set retention to?")
    assert (result.evidence[0].state, result.claims[0].state) == ("found", "cited")
    return result


def read_again(database: Database, frame_id: int | None, text: str) -> int:
    assert frame_id is not None
    with database.write() as connection:
        return readings.add(connection, frame_id, text_draft(text), (), LATER_MS)


def again(deps: TurnServices, before: TurnResult) -> TurnResult:
    found = stored_turn(deps.database, before.chat_id, before.turn_id)
    assert found == stored_turn(deps.database, before.chat_id, before.turn_id)
    return found


def test_a_quote_that_moved_is_boxed_where_it_stands_now(answered: TurnResult, deps: TurnServices) -> None:
    reading_id = read_again(deps.database, answered.evidence[0].frame_id, f"File\nEdit\nView\n{QUOTE}")
    now = again(deps, answered)
    [item] = now.evidence
    assert (item.state, item.quote, item.boxes) == ("found", QUOTE, (Box(0, 60, 240, 16),))
    assert (item.reading_id, item.checked_ms) == (reading_id, LATER_MS)
    assert now.claims == answered.claims


def test_a_quote_is_as_sure_as_its_last_reading(answered: TurnResult, deps: TurnServices) -> None:
    assert (answered.evidence[0].confidence, answered.evidence[0].is_doubtful) == (0.9, False)
    frame_id = answered.evidence[0].frame_id
    assert frame_id is not None
    with deps.database.write() as connection:
        readings.add(connection, frame_id, text_draft(QUOTE, {"14": 0.4}), (), LATER_MS)
    [item] = again(deps, answered).evidence
    assert (item.state, item.is_doubtful) == ("found", True)
    assert item.confidence == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("text", ["retention set to 30 days", "", "File Edit View"])
def test_a_quote_that_is_gone_is_not_found_and_so_is_its_claim(
    answered: TurnResult, deps: TurnServices, text: str
) -> None:
    read_again(deps.database, answered.evidence[0].frame_id, text)
    now = again(deps, answered)
    [item] = now.evidence
    assert (item.state, item.quote, item.boxes) == ("not_found", QUOTE, ())
    assert item.reading_id == answered.evidence[0].reading_id, "the reading that was quoted stays named"
    assert [claim.state for claim in now.claims] == ["not_on_frame"]
    assert now.answer_md == answered.answer_md


def test_the_old_reading_made_current_again_proves_it_again(answered: TurnResult, deps: TurnServices) -> None:
    first = answered.evidence[0]
    read_again(deps.database, first.frame_id, "blurred")
    assert again(deps, answered).evidence[0].state == "not_found"
    with deps.database.write() as connection:
        readings.make_current(connection, first.reading_id or 0)
        assert scalar(connection, "select count(*) from frames_fts where frames_fts match 'retention'") == 1
    now = again(deps, answered)
    assert (now.evidence[0].state, now.evidence[0].boxes) == ("found", first.boxes)
    assert [claim.state for claim in now.claims] == ["cited"]


def test_claims_on_other_frames_stay_as_they_were(
    ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    afternoon.show(32, QUOTE)
    afternoon.show(40, "Lunch on Friday?", app_name="Mail", window_name="Inbox")
    stub.reply(
        reply(
            "You set retention to 14 days [[e1]]. Lunch was on Friday [[e2]].",
            ("e1", QUOTE), ("e2", "Lunch on Friday?"),
        )
    )  # fmt: skip
    before = ask()
    read_again(deps.database, before.evidence[0].frame_id, "blurred")
    now = again(deps, before)
    assert [claim.state for claim in now.claims] == ["not_on_frame", "cited"]
    assert now.evidence[1] == before.evidence[1]


def test_a_paraphrase_is_judged_by_what_its_frame_says_now(
    ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    afternoon.show(32, QUOTE)
    stub.reply(reply("The retention was set to 14 days [[e1]]."))
    before = ask()
    assert (before.evidence[0].state, before.claims[0].state) == ("not_checked", "cited")
    read_again(deps.database, before.evidence[0].frame_id, "Lunch on Friday?")
    assert again(deps, before).claims[0].state in ("cited", "not_on_frame")
    read_again(deps.database, before.evidence[0].frame_id, f"File\n{QUOTE}")
    assert again(deps, before).claims[0].state == "cited"


@pytest.fixture
def timed(ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices) -> TurnResult:
    """An answer whose claim leans on a quote and on a duration that code measured."""
    for minute in range(32, 42):
        afternoon.show(minute, QUOTE)
    with deps.database.write() as connection:
        segments.rebuild(connection, 0, 2**42)
    stub.reply(reply("You set retention to 14 days, and used Code for 9 min [[e1]].", ("e1", QUOTE)))
    result = ask("How long did I work on retention?")
    assert [claim.state for claim in result.claims] == ["cited"]
    return result


def test_durations_are_judged_by_what_was_measured_at_the_time(timed: TurnResult, deps: TurnServices) -> None:
    read_again(deps.database, timed.evidence[0].frame_id, "blurred")
    assert again(deps, timed).claims[0].state == "not_on_frame"
    read_again(deps.database, timed.evidence[0].frame_id, f"File\n{QUOTE}")
    assert again(deps, timed).claims[0].state == "cited"


def test_what_was_measured_goes_with_any_frame_of_its_range(
    timed: TurnResult, deps: TurnServices, afternoon: Afternoon
) -> None:
    """A total may name a window that is nowhere else in the conversation."""
    uncited = afternoon.show(170, "no word of this", app_name="Diary", window_name="Divorce")
    before = conversations.turn(deps.database, timed.chat_id, timed.turn_id)
    assert before is not None
    assert before.payload["measured"]["durations"]
    receipt = deletion.delete_frames(deps.database, Media(deps.database.data_dir.media), [uncited.id])
    assert receipt.verified
    assert receipt.counts.measured == 1
    after = conversations.turn(deps.database, timed.chat_id, timed.turn_id)
    assert after is not None
    assert "measured" not in after.payload
    read_again(deps.database, timed.evidence[0].frame_id, "blurred")
    assert again(deps, timed).claims[0].state == "not_on_frame"
    read_again(deps.database, timed.evidence[0].frame_id, f"File\n{QUOTE}")
    assert again(deps, timed).claims[0].state == "not_on_frame"


def test_what_was_measured_is_not_kept_when_something_was_deleted_meanwhile(
    ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    afternoon.show(32, QUOTE)
    uncited = afternoon.show(170, "no word of this", app_name="Diary", window_name="Divorce")
    shelf = Media(deps.database.data_dir.media)

    def answer(request: object) -> str:
        deletion.delete_frames(deps.database, shelf, [uncited.id])
        return reply("You set retention to 14 days [[e1]].", ("e1", QUOTE))

    stub.reply(answer)
    result = ask("What did I set retention to?")
    kept = conversations.turn(deps.database, result.chat_id, result.turn_id)
    assert kept is not None
    assert "measured" not in kept.payload


def test_a_chat_that_is_deleted_before_its_quotes_are_looked_for_is_unknown(
    answered: TurnResult, deps: TurnServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_again(deps.database, answered.evidence[0].frame_id, "File")
    meanwhile(
        monkeypatch, conversations, "turn", lambda: conversations.delete(deps.database, answered.chat_id)
    )
    with pytest.raises(UnknownChat):
        stored_turn(deps.database, answered.chat_id, answered.turn_id)
