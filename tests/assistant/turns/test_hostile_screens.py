"""Screen text is data: it leaves no fence, cites nothing, links nowhere."""

from __future__ import annotations

import pytest

from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOSTILE, Afternoon
from tests.stub_model import StubModel


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_screen_text_stays_data(text: str, ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, text, window_name=text.replace("\n", " "), browser_url=f"https://x/{text}")
    stub.reply("ok")
    ask()
    user = stub.requests[0]["messages"][-1]["content"].split("\n")
    assert [line for line in user if line.startswith(("BEGIN", "END"))] == [
        "BEGIN SCREEN DATA",
        "END SCREEN DATA",
    ]
    assert [line for line in user if "[[" in line] == ["[[e1]] 2026-11-20T14:01:00+08:00"]
    assert [line for line in user if line.startswith("Question:")] == ["Question: What did I do?"]
    assert user[-1] == "Question: What did I do?"
    assert text not in stub.requests[0]["messages"][0]["content"]
    known = (
        "[[e1]]",
        "app: ",
        "window: ",
        "url: ",
        "focused: ",
        "frame: ",
        "| ",
        "time by all apps: ",
        "time by app: ",
        "time by window: ",
        "time by site: ",
        "not recorded: ",
    )
    inside = user[user.index("BEGIN SCREEN DATA") + 1 : user.index("END SCREEN DATA")]
    assert all(line.startswith(known) for line in inside)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_model_that_obeys_the_screen_gives_only_a_text_without_links(
    text: str, ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, text)
    stub.reply(f"{text} [go](http://evil.example) ![](//evil.example/x) [[e1]](http://evil.example) [[e2]]")
    result = ask()
    assert "](" not in result.answer_md
    assert {n for claim in result.claims for n in claim.citations} <= {1}
    assert {item.n for item in result.evidence} <= {1, None}
