"""What a tool is: a plain function whose signature and docstring tell a model how to call it.

::

    @tool(reaches="nothing but the numbers it is given")
    def calculator(context: ToolContext, expression: Annotated[str, Field(description="…")]) -> object:
        '''Work out an arithmetic expression. …'''

The first parameter is what the turn hands in; the others become the JSON Schema. Arguments are
checked against it before the function is called. Whatever goes wrong in a tool is a `ToolFailed` with a
sentence that the model and the person can read.
"""

from __future__ import annotations

import inspect
import json
import logging
import typing
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assistant.core.texts import estimate_tokens
from store.chats.tool_permissions import Mode
from store.core.translation import N_, Deferred
from store.core.translation import deferred as _

log = logging.getLogger(__name__)

MAX_OUTPUT_CHARS = 16_000

Risk = Literal["looks", "files", "changes", "sends"]

RISKS: Mapping[Risk, tuple[Mode, str]] = {
    "looks": ("auto", N_("Looks things up on this computer")),
    "files": ("ask", N_("Reads your files")),
    "changes": ("ask", N_("Changes what is remembered")),
    "sends": ("ask", N_("Sends something to another program or machine")),
}
"""What a kind of tool may do: its default mode, and its words."""


class ToolFailed(Exception):
    """A tool cannot answer; the message is a sentence for the model and the person."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`reaches` says in words what it can touch, `risk` what kind of thing it does.

    `tells(context, **arguments)` says in one sentence what a call will do, and raises `ToolFailed` for
    one that cannot be made; `covers(context)` says what a standing approval lets it reach.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    reaches: str
    risk: Risk
    run: Callable[..., object]
    arguments: type[BaseModel] = field(repr=False)
    tells: Callable[..., Deferred] | None = field(default=None, repr=False)
    covers: Callable[[Any], str] | None = field(default=None, repr=False)

    @property
    def mode(self) -> Mode:
        """The approval it needs as long as nobody chose another."""
        return RISKS[self.risk][0]

    def definition(self) -> dict[str, Any]:
        """Name, description and parameters, as a model is told."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    @property
    def purpose(self) -> str:
        """The first sentence of its description: what it does, and when to call it."""
        return self.description.partition(". ")[0]

    @property
    def tokens(self) -> int:
        """About how much of a model's window its definition takes."""
        return estimate_tokens(json.dumps(self.definition(), separators=(",", ":")))

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function gets them. Raises `ToolFailed` where they do not fit the schema."""
        try:
            return dict(self.arguments.model_validate(dict(arguments)))
        except ValidationError as error:
            problems = [
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                for problem in error.errors()[:5]
            ]
            raise ToolFailed(f"The arguments do not fit {self.name}: {'; '.join(problems)}.") from error

    def notice(self, context: object, arguments: Mapping[str, Any]) -> tuple[Deferred, str]:
        """What a call will do and what a standing approval covers, in words.

        Raises `ToolFailed` for a call that cannot be made.
        """
        values = self.values(arguments)
        with self._guarded():
            does = (
                self.tells(context, **values) if self.tells else _("Reaches %(what)s.", what=_(self.reaches))
            )
            return does, self.covers(context) if self.covers else self.reaches

    def answer(self, context: object, arguments: Mapping[str, Any]) -> str:
        """What a call gives, as JSON text. Raises `ToolFailed`."""
        values = self.values(arguments)
        with self._guarded():
            return as_json(self.run(context, **values))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """A tool's bug must not end the turn: it is logged whole, and is a failure like any other."""
        try:
            yield
        except ToolFailed:
            raise
        except Exception as error:
            log.exception("the tool %s failed", self.name)
            raise ToolFailed(f"{self.name} failed; the log of the web process says why.") from error


def tool(
    reaches: str,
    *,
    risk: Risk = "looks",
    tells: Callable[..., Deferred] | None = None,
    covers: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., object]], Tool]:
    """Make a `Tool` of a function; its docstring is the description, and all of its parameters but the first
    are those that a model is told.
    """

    def make(function: Callable[..., object]) -> Tool:
        name, arguments = function.__name__, _model_of(function)
        description = " ".join((inspect.getdoc(function) or "").split())
        if not description:
            raise TypeError(f"{name} needs a docstring")
        parameters = _told(arguments.model_json_schema())
        return Tool(name, description, parameters, reaches, risk, function, arguments, tells, covers)

    return make


def printable_line(text: str) -> str:
    """A model's text within a sentence for a person: on one line, with a mark for what does not print, so
    that nothing in it hides or turns around what is said.
    """
    return "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))


# -- results that are too long ----------------------------------------------------------------
#
# A call may have been approved by a person, so its result is never refused for its length: the end of its
# longest part goes, and `cut` says what is left and how to ask for the rest.

_ROOM_OF_NOTE = 400


def as_json(answer: object, room: int = MAX_OUTPUT_CHARS) -> str:
    """An answer as JSON of at most `room` characters."""
    output = _dumped(answer)
    if len(output) <= room:
        return output
    fields = answer if isinstance(answer, dict) else {"result": answer}
    kept = _shortened(fields, room - _ROOM_OF_NOTE)
    return _dumped(kept | _going_on(fields, kept))


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _shortened(value: Any, room: int) -> Any:
    """A value that takes `room` characters as JSON at most, as far as lists and texts can be cut."""
    excess = len(_dumped(value)) - room
    if excess <= 0:
        return value
    if isinstance(value, str | list):
        fits = bisect_right(range(len(value) + 1), room, key=lambda n: len(_dumped(value[:n]))) - 1
        if isinstance(value, list) and fits < 1:
            return [_shortened(value[0], room - 2)]
        return value[: max(0, fits)]
    if not isinstance(value, dict) or not value:
        return value
    key = max(value, key=lambda name: len(_dumped(value[name])))
    part = _shortened(value[key], max(2, len(_dumped(value[key])) - excess))
    return value if part == value[key] else _shortened({**value, key: part}, room)


def _going_on(whole: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a cut: how much is here, and the arguments that give the rest."""
    parts = {name: len(kept[name]) for name in whole if kept[name] != whole[name]}
    says = [f"{name}: the first {n:,} of {len(whole[name]):,}" for name, n in parts.items()]
    offset = next((name for name in ("offset", "text_start") if name in whole), None)
    counted = next((name for name in ("text", "entries") if name in parts), None)
    if offset and counted:  # a cut of anything else beside it moves no offset
        following = whole[offset] + parts[counted]
        return {"cut": f"{'; '.join(says)}. Go on with {offset}={following}.", "next_offset": following}
    if whole.get("next_cursor"):
        # The page's cursor would pass over what was cut from it.
        how = f"Ask again with limit={max(1, *parts.values())}, and go on from page to page."
        return {"cut": f"{'; '.join(says)}. {how}", "next_cursor": None}
    return {"cut": f"{'; '.join(says)}. Ask for less at a time, where the tool takes a limit or a range."}


def _model_of(function: Callable[..., object]) -> type[BaseModel]:
    """A model of a function's parameters but the first, which is the context."""
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is one.empty else one.default) for one in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as far as a model has to know it: it takes room of the window in every request. Arguments
    are checked against all of it.
    """
    properties = {name: _property(value) for name, value in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


_UNTOLD = {"title", "anyOf", "minLength", "maxLength"}
_LONGEST_ID = 2**32


def _property(value: dict[str, Any]) -> dict[str, Any]:
    """An optional value as its type alone, what may be a number or a text as a text; without bounds and
    defaults that go without saying.
    """
    kinds = [kind for kind in value.get("anyOf", []) if kind != {"type": "null"}]
    one = kinds[-1] if kinds else {}
    told = {key: inner for key, inner in {**one, **value}.items() if key not in _UNTOLD}
    if told.get("default", "") in ("", None, False):
        told.pop("default", None)
    if told.get("minimum") in (0, 1):
        del told["minimum"]
    if told.get("maximum", 0) > _LONGEST_ID:
        del told["maximum"]
    return told
