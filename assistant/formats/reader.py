"""The calls of one output: where reading stands, what was found, and the one place that takes a call in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.formats.json_values import Broken, ErrorCode, after_space, coerced, decoded, read_value

MAX_CALLS = 16
_NAMES = ("name", "tool_name")
_IDS = ("id", "tool_call_id")
MAX_ID_CHARS = 64
"""Of a call's id, as providers take it."""
_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model wants it. With an `error`, which the model is told and `code` names for programs,
    it cannot be made.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    error: str = ""
    code: ErrorCode | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a model said, and what it wants called, in order.

    `form` is the text format of the calls, "" for the endpoint's own; with `has_lost` there was markup of
    calls that cannot be made.
    """

    prose: str
    wanted: tuple[Call, ...] = ()
    form: str = ""
    has_lost: bool = False

    @property
    def calls(self) -> list[Call]:
        return [call for call in self.wanted if not call.error]


class Stop(Exception):
    """Nothing after this place is read."""


class Reader:
    """Reads calls from `at` on. `prose` is what counts as said: all of the text until a call is found."""

    def __init__(self, text: str, known_tools: Mapping[str, Mapping[str, Any]]) -> None:
        self.text = self.prose = text
        self.at = 0
        self.known_tools = known_tools
        self.wanted: list[Call] = []
        self.silent: frozenset[str] = frozenset()
        """Names that mean "no call": they are passed over."""
        self._ids: set[str] = set()
        self._made = 0

    # -- the text -----------------------------------------------------------------------------

    def starts(self, token: str) -> bool:
        """Whether `token` comes next, behind any white space."""
        self.at = after_space(self.text, self.at)
        return self.text.startswith(token, self.at)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, behind any white space; reading goes on behind it."""
        self.at = after_space(self.text, self.at)
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def expect(self, token: str) -> None:
        """Pass over `token`. Raises `Broken` where something else stands, or the text ends within it."""
        if self.starts(token):
            self.at += len(token)
            return
        rest = self.text[self.at :]
        if token.startswith(rest) or (rest.startswith("<") and ">" not in rest):
            raise Broken("unterminated", f"{token} is missing.")
        raise Broken("malformed", f"{token} is missing.", self.at)

    def value(self, depth: int = 0) -> Any:
        """The JSON value that begins here. Raises `Broken`."""
        value, self.at = read_value(self.text, self.at, depth)
        return value

    def attempt(self, read: Callable[[], None]) -> bool:
        """Whether `read` came to its end; else the error is noted, and reading goes on where it may.

        Raises `Stop` where it may not.
        """
        try:
            read()
        except Broken as problem:
            self.error(problem.code, str(problem))
            if problem.resume is None:
                raise Stop from problem
            self.at = problem.resume
            return False
        return True

    def json_calls(self, depth: int = 0) -> None:
        """A call as an object, or an array of them: a broken element does not take its neighbours along.

        Raises `Broken` and `Stop`.
        """
        if depth or not self.starts("["):
            self.add_object(self.value(depth))
            return
        self.at += 1
        while not self.starts("]"):
            self.attempt(lambda: self.json_calls(depth=1))
            if self.starts(","):
                self.at += 1
            elif self.at == len(self.text):
                raise Broken("unterminated", "The array is not closed.")
            elif not self.starts("]"):
                raise Broken("malformed", "Elements are parted by commas.")
        self.at += 1

    # -- what was found -----------------------------------------------------------------------

    @property
    def parsed(self) -> Parsed:
        return Parsed(self.prose.strip(), tuple(self.wanted))

    def error(
        self,
        code: ErrorCode,
        message: str,
        name: str = "unknown",
        given_id: object = None,
        arguments: object = None,
    ) -> None:
        """Note a call that cannot be made, with its arguments where they can be read."""
        call_id = self._id(given_id, f"unusable_{len(self.wanted) + 1}")
        given = arguments if isinstance(arguments, dict) else {}
        self.wanted.append(Call(call_id, name[:_NAME_CHARS], given, message, code))

    def add_object(self, value: object) -> None:
        """A call as a JSON object; anything else is malformed. `parameters` count more than `arguments`."""
        name = name_of(value)
        if not name or not isinstance(value, dict):
            self.error("malformed", "A call is an object with the name of a tool.")
            return
        arguments = value["parameters"] if "parameters" in value else value.get("arguments")
        self.add(name, arguments, next((value[key] for key in _IDS if key in value), None))

    def add(self, name: str, arguments: object, given_id: object = None) -> None:
        """Take a call in, or note why not. Arguments are an object, or a JSON string of one; none are {}.

        Raises `Stop` when there are too many calls, or too deep ones.
        """
        if name in self.silent:
            return
        try:
            usable = _as_object(arguments)
        except Broken as problem:
            if problem.code == "too_deep" and name in self.known_tools:
                self.error(problem.code, str(problem), name, given_id)
                raise Stop from problem
            usable = None
        if name not in self.known_tools:
            missing = f"There is no tool {name[:_NAME_CHARS]!r} in this turn."
            self.error("unknown_tool", missing, name, given_id, usable)
            return
        if not isinstance(usable, dict):
            self.error("bad_arguments", "The arguments must be a JSON object.", name, given_id)
            return
        if self._made == MAX_CALLS:
            self.error("too_many_calls", f"Only the first {MAX_CALLS} calls are used.", name, given_id)
            raise Stop
        self._made += 1
        call_id = self._id(given_id, f"call_{self._made}")
        self.wanted.append(Call(call_id, name, coerced(usable, self.known_tools[name])))

    def _id(self, given: object, ordinal: str) -> str:
        """The id that was given, unless it is too long or another call has it; then the ordinal."""
        written = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        is_free = 0 < len(written) <= MAX_ID_CHARS and written not in self._ids
        chosen, number = written if is_free else ordinal, 1
        while chosen in self._ids:
            number += 1
            chosen = f"{ordinal}_{number}"
        self._ids.add(chosen)
        return chosen


def name_of(value: object) -> str | None:
    """The tool that an object names; None when it is no call."""
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAMES if key in value), None)
    return name if isinstance(name, str) and name else None


def _as_object(arguments: object) -> object:
    if arguments is None or arguments == "":
        return {}
    return decoded(arguments) if isinstance(arguments, str) else arguments


def is_call(value: object) -> bool:
    """Whether an object names a tool and gives its arguments."""
    return (
        isinstance(value, dict) and bool(name_of(value)) and ("parameters" in value or "arguments" in value)
    )
