"""The calls of one output: where reading stands, what was found, and the one place that takes a call in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.formats.json_values import Broken, ErrorCode, after_space, coerced, decoded, read_value

MAX_CALLS = 16
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("parameters", "arguments")
_IDS = ("id", "tool_call_id")
_RAW_CHARS = 500


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model wants it; with `error` it cannot be made, and the model is told why."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class CallError:
    """`raw` is the piece of text that could not be used, `name` the tool where it is known."""

    code: ErrorCode
    message: str
    raw: str
    name: str | None = None


class Stop(Exception):
    """Nothing after this place is read."""


class Reader:
    """Reads calls from `at` on. `prose` is what counts as said: all of the text until a call is found."""

    def __init__(self, text: str, known_tools: Mapping[str, Mapping[str, Any]]) -> None:
        self.text = self.prose = text
        self.at = 0
        self.known_tools = known_tools
        self.calls: list[Call] = []
        self.errors: list[CallError] = []
        self.silent: frozenset[str] = frozenset()
        """Names that mean "no call": they are passed over."""
        self._ids: set[str] = set()

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
        start = self.at
        try:
            read()
        except Broken as problem:
            self.error(problem.code, str(problem), self.text[start : start + _RAW_CHARS])
            if problem.resume is None:
                raise Stop from problem
            self.at = problem.resume
            return False
        return True

    def json_calls(self, depth: int = 0) -> None:
        """A call as an object, or an array of them: a broken element does not take its neighbours along.

        Raises `Broken` and `Stop`.
        """
        start = self.at
        if depth or not self.starts("["):
            value = self.value(depth)
            self.add_object(value, self.text[start : self.at])
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

    def error(self, code: ErrorCode, message: str, raw: str, name: str | None = None) -> None:
        self.errors.append(CallError(code, message, raw[:_RAW_CHARS], name))

    def add_object(self, value: object, raw: str) -> None:
        """A call as a JSON object; anything else is malformed. `parameters` count more than `arguments`."""
        name = name_of(value)
        if not name or not isinstance(value, dict):
            self.error("malformed", "A call is an object with the name of a tool.", raw)
            return
        arguments = value["parameters"] if "parameters" in value else value.get("arguments")
        self.add(name, arguments, raw, next((value[key] for key in _IDS if key in value), None))

    def add(self, name: str, arguments: object, raw: str, given_id: object = None) -> None:
        """Take a call in, or note why not. Arguments are an object, or a JSON string of one; none are {}.

        Raises `Stop` when there are too many calls, or too deep ones.
        """
        if name in self.silent:
            return
        if name not in self.known_tools:
            self.error("unknown_tool", f"There is no tool {name[:100]!r} in this turn.", raw, name)
            return
        try:
            usable = _as_object(arguments)
        except Broken as problem:
            if problem.code == "too_deep":
                self.error(problem.code, str(problem), raw)
                raise Stop from problem
            usable = None
        if not isinstance(usable, dict):
            self.error("bad_arguments", "The arguments must be a JSON object.", raw, name)
            return
        if len(self.calls) == MAX_CALLS:
            self.error("too_many_calls", f"Only the first {MAX_CALLS} calls are used.", raw)
            raise Stop
        self.calls.append(Call(self._id(given_id), name, coerced(usable, self.known_tools[name])))

    def _id(self, given: object) -> str:
        """The id that was given, unless another call has it; then one by the call's place."""
        ordinal, number = f"call_{len(self.calls) + 1}", 1
        written = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        chosen = ordinal if written in self._ids else written or ordinal
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
