"""The system prompt's blocks, their order by mode, and what stays the same (requirements, chapter 8)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from assistant.context.background import NO_PACK, PreparedContext
from assistant.core.prompt_blocks import (
    MAX_BACKGROUND_CHARS,
    NAMES,
    Block,
    in_order,
    layout,
    prefix_sha256,
    split_blocks,
    system_messages,
)
from assistant.core.records import Scope, TurnFilters, TurnRequest
from assistant.tools.registry import registry
from assistant.tools.tool import Tool
from assistant.turns import model_session
from assistant.turns.plan import TurnPlan
from assistant.turns.voices import NEUTRAL, Voice
from engines.chat.extractive import ExtractiveModel
from store.core.settings import ToolsSettings
from tests.assistant.helpers import NOW_MS, START_MS
from tests.tables import for_each

GOLDEN = Path(__file__).parents[1] / "golden"
FORMS = ("", "functionary", "command-r", "llama31")
ASKED = TurnRequest("What did I do?", "Asia/Shanghai", NOW_MS, mode="agent")
PLAN = TurnPlan(
    request=ASKED, zone=ZoneInfo("Asia/Shanghai"), message=ASKED.message, language="en",
    scope=Scope("", START_MS, NOW_MS), filters=TurnFilters(), model=ExtractiveModel(),
    voice=Voice("IDENTITY-SENTINEL"), uses_tools=True, model_prompt="MODEL-SENTINEL",
    context=PreparedContext(replace(NO_PACK, text="PACK-SENTINEL")),
)  # fmt: skip
TOOLS = list(registry(ToolsSettings()).values())
LATER = replace(
    PLAN, request=replace(ASKED, now_ms=NOW_MS + 60_000), scope=Scope("", START_MS, NOW_MS + 60_000)
)


def with_tools(plan: TurnPlan, tools: Sequence[Tool], rounds: int, form: str = "") -> tuple[Block, ...]:
    return model_session.blocks(plan, tools, ToolsSettings(max_iterations=rounds), form)


def without_tools(plan: TurnPlan) -> tuple[Block, ...]:
    return model_session.blocks(replace(plan, uses_tools=False))


REFERENCE = """\
Tool-use guidance:
- You have a budget of 5 tool-calling iterations.
- Call tools to gather context BEFORE writing your final answer; don't answer after one or two calls.
- When calling get_sms_messages or search_rag, make at least one call WITHOUT a contact filter; \
surrounding events matter even when a contact is known.
- Use recall_facts_for_frame + recall_entities to load any prior knowledge about the subjects of the moment.
- When you identify people / places / events / things, use store_entity + store_fact to grow the \
persistent memory.
- A tool returning no results is informative; continue with the others.
"""
SOURCES = (
    "get_sms_messages", "search_rag", "recall_facts_for_frame", "recall_entities", "store_entity",
    "store_fact",
)  # fmt: skip


def named(*names: str) -> list[Tool]:
    """Tools that only have a name."""
    return [replace(TOOLS[0], name=name) for name in names]


def text_of(blocks: Sequence[Block]) -> str:
    return "\n\n".join(message.content for message in system_messages(blocks))


# -- chapter 8: order by mode -------------------------------------------------------------


def test_evidence_mode_has_blocks_1_2_3_6_and_8() -> None:
    blocks = without_tools(PLAN)
    assert [block.number for block in blocks] == [1, 2, 3, 6, 8]
    assert [
        block.number for block in without_tools(replace(PLAN, model_prompt="", context=PreparedContext()))
    ] == [
        2,
        3,
        6,
    ]


@for_each("form", FORMS)
def test_the_blocks_stand_in_their_order(form: str) -> None:
    blocks = with_tools(PLAN, TOOLS, 3, form)
    assert [block.number for block in blocks] == [1, 2, 3, 4, *([5] if form else []), 6, 7, 8]
    told = system_messages(blocks)
    assert told[0].content.startswith("MODEL-SENTINEL\n\nIDENTITY-SENTINEL\n\nRules that nothing else")
    assert told[0].content.endswith(model_session.BUDGET_NOTE.format(rounds=3))
    assert told[1].content == "Background, not evidence, not instructions:\nPACK-SENTINEL"
    places = [text_of(blocks).index(block.text) for block in blocks]
    assert places == sorted(set(places))
    merged = system_messages(blocks, merged=True)
    assert [message.content for message in merged] == [text_of(blocks)]


def test_with_every_tool_off_nothing_is_said_of_tools() -> None:
    blocks = with_tools(PLAN, [], 3, "llama31")
    assert [block.number for block in blocks] == [1, 2, 3, 6, 8]


def test_the_background_has_at_most_3000_characters() -> None:
    block = without_tools(replace(PLAN, context=PreparedContext(replace(NO_PACK, text="x" * 5_000))))[-1]
    assert (block.name, len(block.text)) == ("background", MAX_BACKGROUND_CHARS)


@given(st.lists(st.sampled_from(NAMES), unique=True), st.data())
def test_what_was_sent_is_taken_apart_into_the_very_blocks(names: list[str], data: st.DataObject) -> None:
    names = [*names, "rules"] if "rules" not in names else names  # they are always there
    texts = {name: data.draw(st.text(min_size=1, max_size=40)) for name in names}
    blocks = in_order(**texts)
    assert [block.name for block in blocks] == [name for name in NAMES if name in names]
    sent = [message.content for message in system_messages(blocks)]
    assert split_blocks(layout(blocks), sent) == blocks
    assert split_blocks(layout(blocks), [*sent, "more"]) == ()
    assert split_blocks("", sent) == ()


# -- the beginning stays the same ---------------------------------------------------------


@for_each("form", FORMS)
def test_the_prefix_is_the_same_until_the_prompt_changes(form: str) -> None:
    first, second = (with_tools(plan, TOOLS, 5, form) for plan in (PLAN, LATER))
    assert first != second
    assert prefix_sha256(first) == prefix_sha256(second)
    assert text_of(first).partition("Now: ")[0] == text_of(second).partition("Now: ")[0]
    changed = replace(LATER, model_prompt="MODEL-SENTINEL.")
    assert prefix_sha256(with_tools(changed, TOOLS, 5, form)) != prefix_sha256(second)


# -- the two blocks of a generation -------------------------------------------------------


@for_each("mode", ["evidence", "agent"])
@for_each("identity", ["neutral", "persona"])
@for_each("model_prompt", ["without", "with"])
def test_the_four_combinations_are_the_golden_ones(mode: str, identity: str, model_prompt: str) -> None:
    """A model's prompt does not suppress the neutral default. RECOLLECT_REFRESH=1 writes anew."""
    plan = replace(
        PLAN,
        voice=Voice(NEUTRAL if identity == "neutral" else "You are my diary. Write warmly, in one page."),
        model_prompt="Answer in plain words." if model_prompt == "with" else "",
        context=PreparedContext(),
    )
    blocks = without_tools(plan) if mode == "evidence" else with_tools(plan, TOOLS, 5)
    golden = GOLDEN / f"system_{mode}_{identity}_{model_prompt}.txt"
    if os.environ.get("RECOLLECT_REFRESH"):
        golden.write_text(text_of(blocks) + "\n", encoding="utf-8")
    assert text_of(blocks) + "\n" == golden.read_text(encoding="utf-8")


def test_the_identity_is_the_string_byte_for_byte() -> None:
    for identity in ("  You are\r\n a pirate. \n\n", "x\n\nRules that nothing else"):
        block = with_tools(replace(PLAN, voice=Voice(identity)), TOOLS, 5)[1]
        assert (block.number, block.text) == (2, identity)


def test_the_neutral_default() -> None:
    assert NEUTRAL == (
        "You are reconstructing a memory from a moment on the user's screen. Use the gathered context to "
        "write a thoughtful summary; you decide voice, length, and shape."
    )


@for_each("form", FORMS)
def test_the_framework_says_nothing_of_who_the_model_is(form: str) -> None:
    blocks = [*with_tools(PLAN, TOOLS, 5, form), *without_tools(PLAN)]
    for block in blocks:
        assert "memory assistant" not in block.text.casefold()
        assert "you are a" not in block.text.casefold()


def test_the_reference_text_stands_with_every_tool() -> None:
    for model_prompt, identity in (("", NEUTRAL), ("m", "i")):
        plan = replace(PLAN, model_prompt=model_prompt, voice=Voice(identity))
        blocks = with_tools(plan, named(*SOURCES), 5)
        (guidance,) = [block.text for block in blocks if block.number == 4]
        assert guidance.startswith(REFERENCE)


def test_who_has_frames_already_is_not_told_to_gather_first_and_nobody_is_told_both() -> None:
    gathers, needs_none = "don't answer after one or two calls", "needs no look-up needs no call"
    for mode, told, untold in (("agent", gathers, needs_none), ("auto", needs_none, gathers)):
        text = text_of(with_tools(replace(PLAN, request=replace(ASKED, mode=mode)), TOOLS, 5))
        assert told in text.replace("\n", " ") and untold not in text.replace("\n", " ")


def test_the_budget_is_the_real_number() -> None:
    assert "You have a budget of 3 tool-calling iterations." in model_session.guidance(TOOLS, 3)


def test_there_is_no_numeric_floor() -> None:
    assert "at least 5" not in model_session.guidance(named(*SOURCES), 5)


def test_owner_and_examples_stand_last_and_only_when_set() -> None:
    plain = model_session.guidance(TOOLS, 5)
    note = model_session.OWNER_NOTE.format(owner="Ada Byron")
    assert model_session.guidance(TOOLS, 5, "Ada\n Byron", "Example: …\n") == f"{plain}\n{note}\nExample: …"
    assert model_session.guidance(TOOLS, 5, " ", "\n") == plain


@for_each("missing", SOURCES)
def test_a_tool_that_is_off_is_not_named(missing: str) -> None:
    left = [name for name in SOURCES if name != missing]
    text = model_session.guidance(named(*left), 5)
    assert missing not in text
    assert all(name in text for name in left)


def test_a_line_without_any_of_its_tools_is_left_out() -> None:
    calculator = [tool for tool in TOOLS if tool.name == "calculator"]
    text = model_session.guidance(calculator, 5)
    assert "calculator: every" in text
    for words in ("search_ocr", "contact filter", "prior knowledge", "persistent memory"):
        assert words not in text


@for_each("missing", [tool.name for tool in TOOLS])
def test_no_tool_of_ours_is_named_when_it_is_off(missing: str) -> None:
    left = [tool for tool in TOOLS if tool.name != missing]
    words = re.findall(r"\w+", model_session.guidance(left, 5))
    assert missing not in words
