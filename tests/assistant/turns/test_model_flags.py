"""What the entry of a model says of its template: one system message only, no messages of a tool."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from assistant.context.background import NO_PACK, PreparedContext
from assistant.core.prompt_blocks import Block, system_messages
from assistant.turns import turn
from assistant.turns.model_session import RESULTS
from store.chats import prompts as stored_prompts
from store.core.database import Database
from store.sources import entities
from store.sources.entities import Provenance
from tests.assistant.agents import agent_deps, asked, run
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel

POLICY = "the retention policy was changed to ninety days"


def test_a_single_system_message_holds_all_blocks_in_their_order() -> None:
    blocks = [Block("rules", "RULES"), Block("time", "TIME"), Block("background", "PACK")]
    apart = system_messages(blocks)
    merged = system_messages(blocks, merged=True)
    assert [(each.role, each.content) for each in apart] == [
        ("system", "RULES\n\nTIME"), ("system", "PACK"),
    ]  # fmt: skip
    assert [(each.role, each.content) for each in merged] == [("system", "RULES\n\nTIME\n\nPACK")]


@pytest.mark.parametrize("mode", ["agent", "evidence"])
@pytest.mark.parametrize("single", [False, True])
def test_the_background_is_merged_where_the_entry_says_so(
    database: Database,
    stub: StubModel,
    afternoon: Afternoon,
    monkeypatch: pytest.MonkeyPatch,
    single: bool,
    mode: str,
) -> None:
    """The same words reach the model, in one message or in two."""
    afternoon.show(5, POLICY)
    stub.reply(reply("Ninety days [[e1]].", ("e1", POLICY)))
    admit = turn.admit
    packed = PreparedContext(replace(NO_PACK, text="PACK-SENTINEL"))
    monkeypatch.setattr(turn, "admit", lambda *given: replace(admit(*given), context=packed))
    stored_prompts.save(database, "stub", "MODEL-SENTINEL", NOW_MS, saved_by="person")
    with agent_deps(database, stub, flags={"single_system": single}) as deps:
        list(turn.run_turn(deps, asked(mode=mode, start_ms=START_MS, end_ms=NOW_MS)))
    sent = [each["content"] for each in stub.requests[0]["messages"] if each["role"] == "system"]
    assert len(sent) == (1 if single else 2)
    whole = "\n\n".join(sent)
    assert (
        whole.index("MODEL-SENTINEL") < whole.index("Rules that nothing else") < whole.index("PACK-SENTINEL")
    )


def test_a_model_without_messages_of_a_tool_gets_results_as_a_users_text(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """Chapter 8: the calls stay native; what is told back has no role and no field it does not know."""
    afternoon.show(5, POLICY)
    stub.call(("search_ocr", {"query": "policy"}), ("shell", {}), text="Let me look.")
    stub.reply(reply("Ninety days [[e1]].", ("e1", POLICY)))
    with agent_deps(database, stub, flags={"supports_tool_role": False}) as deps:
        ran = run(deps)
    assert (ran.result.answer_md, [call.state for call in ran.calls]) == (
        "Ninety days [1].",
        ["completed", "failed"],
    )
    messages: list[dict[str, Any]] = stub.requests[1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert all(set(message) == {"role", "content"} for message in messages)
    assert messages[2]["content"].startswith("Let me look.\n")
    assert json.loads(messages[2]["content"].splitlines()[1])["name"] == "search_ocr"
    assert messages[3]["content"].startswith(RESULTS) and POLICY in messages[3]["content"]
    assert stub.requests[1]["tools"], "tools are still offered"


def test_the_owner_comes_from_memory_and_examples_from_the_settings(
    database: Database, stub: StubModel
) -> None:
    stub.reply("Hello.")
    with agent_deps(database, stub) as deps:
        run(deps)
    assert "screen of" not in stub.prompt(0)
    with database.write() as connection:
        ada, _ = entities.store_entity(connection, "person", "Ada Byron", Provenance(NOW_MS))
    entities.set_owner(database, ada)
    with agent_deps(database, stub, examples="EXAMPLE-SENTINEL") as deps:
        run(deps)
    told = stub.prompt(1)
    assert (
        told.index("This is the screen of Ada Byron") < told.index("EXAMPLE-SENTINEL") < told.index("Now: ")
    )
