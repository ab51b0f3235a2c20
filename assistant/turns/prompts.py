"""The system prompts of both modes, made anew for each request; one builder for all models.

A person decides the first two blocks: the prompt of the model, and the identity. The hard rules stand
after them, are never stored, and cannot be replaced. `assistant.core.prompt_blocks` has the order, and
``core/prompts.toml`` the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from assistant.core.prompt_blocks import Block, background, in_order
from assistant.core.records import Opinion
from assistant.core.strings import PROMPTS, local_time
from assistant.formats.parsing import tools_as_text
from assistant.retrieval.packing import CLOSE, OPEN
from assistant.tools.registry import definitions
from assistant.tools.tool import Tool
from assistant.turns.plan import TurnPlan
from engines.chat.protocol import object_schema
from store.core import preferences
from store.core.settings import ToolsSettings

EVIDENCE_RULES: str = PROMPTS["evidence_rules"]
TOOL_RULES: str = PROMPTS["tool_rules"]
OWNER_NOTE: str = PROMPTS["owner"]
BUDGET_NOTE: str = PROMPTS["budget"]
ANSWER_NOW: str = PROMPTS["answer_now"]
SECOND_READING: str = PROMPTS["second_reading"]
RESULTS: str = PROMPTS["results"]


_STRING = {"type": "string"}
_QUOTE = object_schema(id=_STRING, quote=_STRING)
OUTPUT_SCHEMA = object_schema(answer_md=_STRING, evidence={"type": "array", "items": _QUOTE})
_OPINION = object_schema(n={"type": "integer"}, opinion={"type": "string", "enum": list(get_args(Opinion))})
OPINIONS_SCHEMA = object_schema(sentences={"type": "array", "items": _OPINION})


def blocks(
    plan: TurnPlan,
    tools: Sequence[Tool] = (),
    settings: ToolsSettings | None = None,
    form: str = "",
    *,
    sees: bool = False,
) -> tuple[Block, ...]:
    """The system prompt of a turn, with tools or without; with none on offer it says nothing of tools.

    `form` is the text format that the model is told its tools in, '' for the endpoint's own. `sees` where
    pictures come with the question.
    """
    settings = settings or ToolsSettings()
    rounds = settings.max_iterations
    return in_order(
        model_prompt=plan.model_prompt,
        identity=plan.voice.identity,
        rules=_rules(plan, sees=sees),
        guidance=guidance(
            tools, rounds, plan.owner or settings.owner, settings.examples, gathers=plan.gathers
        )
        if tools
        else "",
        tools=tools_as_text(definitions(tools), form) if tools and form else "",
        time=time_block(plan),
        budget=BUDGET_NOTE.format(rounds=rounds) if tools else "",
        background=background(plan.context.system_augmentation),
    )


def _rules(plan: TurnPlan, *, sees: bool) -> str:
    if not plan.uses_tools:
        return EVIDENCE_RULES.replace(*PROMPTS["no_pictures"]) if sees else EVIDENCE_RULES
    if plan.mode == "agent" and plan.about is None:
        return TOOL_RULES
    # The frames of the first look, or of what the conversation is about, stand in a message.
    also_screen_data = PROMPTS["tools_and_screen_data"].format(begin=OPEN, end=CLOSE)
    return TOOL_RULES.replace(PROMPTS["only_tools"], also_screen_data)


def time_block(plan: TurnPlan) -> str:
    """Block 6: now, zone and offset; the range in local time where one was asked about."""
    zone = plan.zone
    offset = preferences.utc_offset(plan.now_ms, zone)
    now = f"Now: {local_time(plan.now_ms, zone)}\nTime zone: {plan.request.timezone} ({offset})"
    if not plan.has_range:
        return now
    start, end = local_time(plan.start_ms, zone), local_time(plan.end_ms, zone)
    return f"{now}\nRequested range: {start} to {end}, the end not included"


def guidance(
    tools: Sequence[Tool], rounds: int, owner: str = "", examples: str = "", *, gathers: bool = True
) -> str:
    """Block 4: how to work with the tools that are on. A line about tools that are all off is left out, and
    one for a turn that `gathers` its context, or for one that does not, where this is not one.

    `owner` names whose screen this is, `examples` are worked ones and come last; both '' where none are set.
    """
    names = {tool.name for tool in tools}
    lines = ["Tool-use guidance:"]
    for line in PROMPTS["guidance"]:
        if line.get("gathers", gathers) is not gathers:
            continue
        offered = line.get("joint", ", ").join(name for name in line.get("tools", ()) if name in names)
        if offered or "tools" not in line:
            lines.append(f"- {line['text'].format(tools=offered, rounds=rounds)}")
    if person := " ".join(owner.split()):
        lines.append(OWNER_NOTE.format(owner=person))
    return "\n".join([*lines, *([examples.strip()] if examples.strip() else [])])
