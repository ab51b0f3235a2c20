"""What a model says when it wants tools, in its own format: native, or one of the texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.stub_model import StubModel

FORMS = ("", "functionary", "command-r", "llama31", "hermes")
"""'' is native."""

Wanted = tuple[str, Mapping[str, Any]]

_BROKEN = {
    "functionary": "<function=calculator>{'expression': '2+2'}</function>",
    "command-r": '<|START_ACTION|>[{"tool_name": "calculator", "parameters": {2+2}}]<|END_ACTION|>',
    "llama31": '<|python_tag|>{"name": "calculator", "parameters": {2+2}}',
    "hermes": '<tool_call>{"name": "calculator", "arguments": {2+2}}</tool_call>',
}


@dataclass(frozen=True, slots=True)
class Voice:
    """Scripts the stub model."""

    stub: StubModel
    form: str

    def call(self, *wanted: Wanted, text: str = "") -> None:
        """Ask for tools, behind some words."""
        if not self.form:
            self.stub.call(*wanted, text=text)
        else:
            self.stub.reply(f"{text}\n{written(self.form, wanted)}")

    def garble(self) -> None:
        """Ask for the calculator in a way that cannot be read."""
        if not self.form:
            self.stub.call(("calculator", "{'expression': '2+2'}"))
        else:
            self.stub.reply(_BROKEN[self.form])

    def reply(self, answer: str | Mapping[str, Any], **how: Any) -> None:
        self.stub.reply(answer, **how)


def written(form: str, wanted: tuple[Wanted, ...]) -> str:
    """Calls as a model of this format writes them."""
    if form == "functionary":
        return "".join(f"<function={name}>{json.dumps(given)}</function>" for name, given in wanted)
    if form == "command-r":
        calls = [{"tool_name": name, "parameters": given} for name, given in wanted]
        return f"Action: ```json\n{json.dumps(calls)}\n```"
    if form == "hermes":
        calls = [{"name": name, "arguments": given} for name, given in wanted]
        return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    calls = [{"name": name, "parameters": given} for name, given in wanted]
    return "<|python_tag|>" + "; ".join(json.dumps(call) for call in calls)
