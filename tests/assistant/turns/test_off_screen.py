"""What is not of the screen is not said to be unconfirmed on it, and nothing else gets away with that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.core.records import TurnResult
from assistant.core.strings import text
from assistant.turns.plan import TurnServices
from store.chats import tool_permissions
from store.core.database import Database
from tests.assistant.agents import agent_deps, run
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel

SUM = ("calculator", {"expression": "2340*0.17"})
OPENINGS = {text("unconfirmed", "en"), text("unconfirmed", "zh")}


@pytest.fixture
def deps(database: Database, stub: StubModel, tmp_path: Path) -> Iterator[TurnServices]:
    (tmp_path / "plan.txt").write_text("Release 4 ships on Friday.", encoding="utf-8")
    tool_permissions.choose(database, "read_file", "auto", NOW_MS)
    with agent_deps(database, stub, read_file_roots=(str(tmp_path),)) as made:
        yield made


def opens_unconfirmed(result: TurnResult) -> bool:
    return result.answer_md.startswith(tuple(OPENINGS))


def states(result: TurnResult) -> list[str]:
    return [claim.state for claim in result.claims]


@pytest.mark.parametrize(
    ("question", "calls", "said"),
    [
        ("What is 17 % of 2,340?", [SUM], "17 % of 2,340 is 397.8."),
        ("2340 的 17% 是多少？", [SUM], "2340 的 17% 等于 397.8。"),
        (
            "How do I undo a commit?",
            [],
            "A soft reset moves the branch and leaves your changes in the index.",
        ),
        ("Excel 里怎么冻结首行？", [], "冻结窗格在视图选项卡里。"),
        ("What is in plan.txt?", [("read_file", {"path": "plan.txt"})], "Release 4 ships on Friday."),
    ],
)
def test_nobody_has_to_confirm_on_screen_what_is_not_of_it(
    deps: TurnServices, stub: StubModel, question: str, calls: list[Any], said: str
) -> None:
    if calls:
        stub.call(*calls)
    stub.reply(said)
    result = run(deps, message=question).result
    assert result.answer_md == said
    assert states(result) == ["not_from_screen"]


@pytest.mark.parametrize(
    "said",
    [
        "You spent 3 hours in Excel.",
        "Your invoice from Wagner is 420 EUR.",
        "You have 4 unread mails.",
        "She moved the meeting to Friday.",
        "您的发票金额是 420 元。",
    ],
)
def test_figures_and_names_that_nobody_gave_stay_unconfirmed(
    deps: TurnServices, stub: StubModel, said: str
) -> None:
    stub.call(SUM).reply(said)
    result = run(deps, message="Tell me something.").result
    assert opens_unconfirmed(result)
    assert "not_from_screen" not in states(result)


def test_whoever_has_looked_has_to_prove(deps: TurnServices, stub: StubModel, afternoon: Afternoon) -> None:
    """Also where the look found nothing, and where the sum stands beside it."""
    afternoon.show(5, "an invoice")
    for query in ("invoice", "nothing of the kind"):
        stub.anew().call(("search_ocr", {"query": query}), SUM).reply("17 % of 2,340 is 397.8.")
        result = run(deps, message="What is 17 % of 2,340?").result
        assert opens_unconfirmed(result)
        assert states(result) == ["no_source"]


def test_a_claim_from_an_earlier_answer_does_not_pass_for_general_knowledge(
    deps: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    afternoon.show(5, "invoice from Wagner about 420 EUR")
    stub.call(("search_ocr", {"query": "invoice"}))
    stub.reply(reply("The invoice from Wagner is about 420 EUR [[e1]].", ("e1", "Wagner about 420 EUR")))
    chat_id = run(deps, message="Whose invoice is it?").result.chat_id
    stub.anew().reply("The invoice is from Wagner. It is overdue.")
    repeated = run(deps, chat_id=chat_id, message="Say that again.").result
    assert opens_unconfirmed(repeated)
    assert states(repeated) == ["no_source", "no_source"]
    stub.anew().call(("calculator", {"expression": "420*0.19"})).reply("19 % of 420 EUR is 79.8 EUR.")
    worked_out = run(deps, chat_id=chat_id, message="What is 19 % of 420 EUR?").result
    assert states(worked_out) == ["not_from_screen"]


def test_over_a_range_every_claim_is_of_the_screen(
    deps: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    afternoon.show(5, "an invoice")
    stub.reply(reply("Git keeps every commit."))
    result = run(deps, mode="evidence", start_ms=START_MS, end_ms=START_MS + 3_600_000).result
    assert opens_unconfirmed(result)
    assert states(result) == ["no_source"]
