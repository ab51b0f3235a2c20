"""The order of the system prompt's blocks with tools (requirements, chapter 8)."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from engines.chat_extractive import ExtractiveModel
from store.settings import ToolsSettings
from tests.assistant.helpers import NOW_MS, START_MS
from webapp.assistant import agent_prompt
from webapp.assistant.agent_session import registry
from webapp.assistant.answering import Plan
from webapp.assistant.records import TimeReading, TurnFilters

PLAN = Plan(
    "What did I do?", "en", (), START_MS, NOW_MS, "Asia/Shanghai", ZoneInfo("Asia/Shanghai"), NOW_MS,
    TurnFilters(), ExtractiveModel(), "IDENTITY-SENTINEL", None, TimeReading(), "", mode="agent",
)  # fmt: skip
TOOLS = registry(ToolsSettings()).list()


@pytest.mark.parametrize("form", ["", "functionary", "command-r", "llama31"])
def test_the_blocks_stand_in_their_order(form: str) -> None:
    prompt = agent_prompt.system_prompt(PLAN, TOOLS, 3, form, model_prompt="MODEL-SENTINEL")
    blocks = [
        "MODEL-SENTINEL",
        "IDENTITY-SENTINEL",
        agent_prompt.HARD_RULES,
        "You may call tools in up to 3 rounds",
        *(["Tools, one JSON object a line:"] if form else []),
        "Now: 2026-11-20T18:03:00+08:00",
        agent_prompt.BUDGET_NOTE.format(rounds=3),
    ]
    places = [prompt.index(block) for block in blocks]
    assert places == sorted(places)
    assert prompt.startswith("MODEL-SENTINEL\n\nIDENTITY-SENTINEL\n\n")
    assert prompt.endswith(agent_prompt.BUDGET_NOTE.format(rounds=3))
    assert ("Tools, one JSON object" in prompt) == bool(form)


def test_everything_before_the_time_is_the_same_from_turn_to_turn() -> None:
    from dataclasses import replace

    later = replace(PLAN, now_ms=NOW_MS + 60_000, end_ms=NOW_MS + 60_000)
    before, after = (agent_prompt.system_prompt(plan, TOOLS, 5) for plan in (PLAN, later))
    assert before.partition("Now: ")[0] == after.partition("Now: ")[0]


def test_only_tools_on_offer_are_spoken_of() -> None:
    calculator = [tool for tool in TOOLS if tool.name == "calculator"]
    prompt = agent_prompt.system_prompt(PLAN, calculator, 5)
    assert "calculator does" in prompt
    assert "search_ocr" not in prompt
