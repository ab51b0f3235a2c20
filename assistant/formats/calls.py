"""What a parser finds, and the one place that takes it in: names, arguments, ids, the limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assistant.formats.json_values import Code, InvalidJson, coerced, decoded

MAX_CALLS = 16
_NAMES = ("name", "tool_name")
_IDS = ("id", "tool_call_id")
_RAW_CHARS = 500

ErrorCode = Literal["too_long", "too_many_calls", "bad_arguments", "unknown_tool"] | Code


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallError:
    """`raw` is the piece of text that could not be used, `name` the tool where it is known."""

    code: ErrorCode
    message: str
    raw: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    prose: str
    calls: tuple[Call, ...] = ()
    errors: tuple[CallError, ...] = ()


class Stop(Exception):
    """Nothing after this place is read."""


class CallCollector:
    """The calls of one output."""

    def __init__(self, known_tools: Mapping[str, Mapping[str, Any]]) -> None:
        self.known_tools = known_tools
        self.found: list[Call] = []
        self.errors: list[CallError] = []
        self.silent: frozenset[str] = frozenset()
        """Names that mean "no call": they are passed over."""
        self._ids: set[str] = set()

    def error(self, code: ErrorCode, message: str, raw: str, name: str | None = None) -> None:
        self.errors.append(CallError(code, message, raw[:_RAW_CHARS], name))

    def broken(self, problem: InvalidJson, raw: str) -> int:
        """Note a value that could not be read; where reading goes on. Raises `Stop` where it cannot."""
        self.error(problem.code, str(problem), raw)
        if problem.resume is None:
            raise Stop
        return problem.resume

    def add_object(self, value: object, raw: str) -> None:
        """A call as a JSON object; anything else is malformed."""
        name = name_of(value)
        if not name or not isinstance(value, dict):
            self.error("malformed", "A call is an object with the name of a tool.", raw)
            return
        call_id = next((value[key] for key in _IDS if key in value), None)
        self.add(name, given_arguments(value), raw, call_id)

    def add(self, name: str, arguments: object, raw: str, given_id: object = None) -> None:
        """Take a call in, or note why not. Raises `Stop` when there are too many."""
        if name in self.silent:
            return
        if name not in self.known_tools:
            self.error("unknown_tool", f"There is no tool {name[:100]!r} in this turn.", raw, name)
            return
        try:
            usable = _as_object(arguments)
        except InvalidJson as problem:
            if problem.code == "too_deep":
                self.broken(problem, raw)
            self.error("bad_arguments", "The arguments must be a JSON object.", raw, name)
            return
        if len(self.found) == MAX_CALLS:
            self.error("too_many_calls", f"Only the first {MAX_CALLS} calls are used.", raw)
            raise Stop
        self.found.append(Call(self._id(given_id), name, coerced(usable, self.known_tools[name])))

    def _id(self, given: object) -> str:
        ordinal = f"call_{len(self.found) + 1}"
        written = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        number, chosen = 1, written or ordinal
        if chosen in self._ids:
            chosen = ordinal
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


def has_arguments(value: Mapping[str, Any]) -> bool:
    return "parameters" in value or "arguments" in value


def given_arguments(value: Mapping[str, Any]) -> object:
    """`parameters` count more than `arguments`; neither is no arguments."""
    return value["parameters"] if "parameters" in value else value.get("arguments")


def _as_object(arguments: object) -> dict[str, Any]:
    """Arguments as an object; a JSON string is decoded once. Raises `InvalidJson`."""
    if arguments is None or arguments == "":
        return {}
    value = decoded(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(value, dict):
        raise InvalidJson("malformed", "not an object")
    return value
