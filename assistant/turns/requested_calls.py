"""The calls in a model's answer, native or as text, and how they and their results are told back.

Strict providers want a result for every call they made, those that could not be used included, and the
message with the calls before them (R2.28, R2.29). A model with a text format is told its results as
the text of a user (requirements, chapter 8).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.core.neutral import neutralized
from assistant.formats.calls import MAX_CALLS, CallError
from assistant.formats.native import parse_message
from assistant.formats.parsing import parse
from assistant.tools.tool import Tool
from assistant.turns.agent_prompt import RESULTS
from engines.chat.protocol import Completion, Message, RequestedCall

ALIASES: Mapping[str, str] = {"get_current_time": "get_current_datetime"}
"""Names that a tool is called by as well; they are not offered (requirements, chapter 1)."""

_MAX_ID_CHARS = 64


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call as the model wants it; with `error` it cannot be made, and the model is told why."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer: what it says, and what it wants called."""

    prose: str
    wanted: tuple[WantedCall, ...]


def read(completion: Completion, tools: Sequence[Tool], form: str) -> ModelReply:
    """What a completion says and wants. Raises nothing, whatever it holds."""
    known = {tool.name: tool.parameters for tool in tools}
    known |= {alias: known[name] for alias, name in ALIASES.items() if name in known}
    if form:
        parsed = parse(completion.text, form, known)
        errors = [_unusable(f"unusable_{n}", error) for n, error in enumerate(parsed.errors, 1)]
        calls = [WantedCall(call.id, _own_name(call.name), call.arguments) for call in parsed.calls]
        return ModelReply(parsed.prose, (*calls, *errors))
    return ModelReply(completion.text.strip(), tuple(_native(completion.tool_calls, known)))


def result_messages(
    said: ModelReply, completion: Completion, results: Mapping[str, str], form: str, *, as_text: bool = False
) -> list[Message]:
    """The messages that repeat the calls and give their results, by the id of the call; `as_text` for a
    model that calls natively and knows no messages of a tool.
    """
    if form or as_text:
        called = completion.text if form else "\n".join(_as_text(said))
        lines = [
            json.dumps({"tool_call_id": call.id, "name": call.name}) + "\n" + results[call.id]
            for call in said.wanted
        ]
        return [
            Message("assistant", called),
            Message("user", "\n".join([RESULTS, *lines])),
        ]
    requested = tuple(
        RequestedCall(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
        for call in said.wanted
    )
    return [
        Message("assistant", said.prose, requested),
        *(Message("tool", results[call.id], call_id=call.id) for call in said.wanted),
    ]


def _as_text(said: ModelReply) -> Iterator[str]:
    """What was said and called, for a model that is not told of its calls as such."""
    if said.prose:
        yield said.prose
    for call in said.wanted:
        yield json.dumps({"id": call.id, "name": call.name, "arguments": dict(call.arguments)})


def call_as_text(call: WantedCall, form: str) -> str:
    """A call as a model with this text format writes it; "" for native calls."""
    arguments = dict(call.arguments)
    if form == "functionary":
        return f"<function={call.name}>{json.dumps(arguments, ensure_ascii=False)}</function>"
    if form == "command-r":
        made = [{"tool_name": call.name, "parameters": arguments}]
        return f"Action: ```json\n{json.dumps(made, ensure_ascii=False)}\n```"
    if form == "llama31":
        made_one = {"name": call.name, "parameters": arguments}
        return f"<|python_tag|>{json.dumps(made_one, ensure_ascii=False)}"
    return ""


def result_text(output: str, error: str) -> str:
    """A result as the model gets it: JSON that cannot imitate a call or a citation."""
    if error:
        return json.dumps({"error": _harmless(error)}, ensure_ascii=False)
    return json.dumps(_harmless(json.loads(output)), ensure_ascii=False)


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return neutralized(value).replace("[[", "[ [").replace("]]", "] ]")
    if isinstance(value, dict):
        return {_harmless(key): _harmless(each) for key, each in value.items()}
    return [_harmless(each) for each in value] if isinstance(value, list) else value


def _native(
    calls: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[WantedCall]:
    """Each call by itself, so that each gets its answer, with an id that no other has."""
    taken: set[str] = set()
    for n, call in enumerate(calls[:MAX_CALLS], 1):
        given = call.get("id")
        chosen = given if isinstance(given, str) and 0 < len(given) <= _MAX_ID_CHARS else ""
        if not chosen or chosen in taken:
            chosen = next(name for name in (f"call_{n}", f"call_{n}_again") if name not in taken)
        taken.add(chosen)
        parsed = parse_message({"tool_calls": [call]}, known)
        if parsed.calls:
            yield WantedCall(chosen, _own_name(parsed.calls[0].name), parsed.calls[0].arguments)
        elif parsed.errors:
            yield _unusable(chosen, parsed.errors[0])


def _own_name(called: str) -> str:
    return ALIASES.get(called, called)


def _unusable(call_id: str, error: CallError) -> WantedCall:
    return WantedCall(call_id, (error.name or "unknown")[:100], {}, error.message)
