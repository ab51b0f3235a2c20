"""A turn from question to stored answer, with a real database and a real HTTP stub of a model."""

from __future__ import annotations

from tests.assistant.conftest import Ask
from tests.assistant.helpers import Afternoon, reply
from tests.stub_model import StubModel
from webapp.assistant.turn import Box, Claim, TurnDeps, stored_turn


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
