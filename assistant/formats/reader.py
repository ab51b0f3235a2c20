"""The calls of one output: where reading stands, what was found, and the one place that takes a call in.

A JSON value is read from where it begins to where its brackets close, counted outside strings, so that
a closing tag inside a string ends nothing. Broken JSON is never repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

MAX_CALLS = 16
MAX_DEPTH = 32
_TOO_DEEP = f"A value is nested deeper than {MAX_DEPTH} levels."
MAX_ID_CHARS = 64
"""Of a call's id, as providers take it."""
_NAME_CHARS = 100
_UNNAMED: tuple[str, object] = ("unknown", None)
_NO_CALLS = frozenset({"directly_answer", "directly-answer"})
"""Names by which Command-R says that it calls nothing."""

ErrorCode = Literal[
    "too_long", "too_many_calls", "bad_arguments", "unknown_tool", "too_deep", "unterminated", "malformed"
]


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


class Broken(Exception):
    """What cannot be used, of the call `named`. `resume` is where reading may go on; None ends it."""

    def __init__(
        self, code: ErrorCode, message: str, resume: int | None = None, named: tuple[str, object] = _UNNAMED
    ) -> None:
        super().__init__(message)
        self.code = code
        self.resume = resume
        self.named = named


class Reader:
    """Reads calls from `at` on. `prose` is what counts as said: all of the text until a call is found."""

    def __init__(self, text: str, known_tools: Mapping[str, Mapping[str, Any]]) -> None:
        self.text = self.prose = text
        self.at = 0
        self.known_tools = known_tools
        self.wanted: list[Call] = []
        self._ids: set[str] = set()

    def parsed(self, read: Callable[[], None]) -> Parsed:
        """What `read` finds, as far as it comes."""
        try:
            read()
        except Broken as problem:
            self.error(problem)
        return Parsed(self.prose.strip(), tuple(self.wanted))

    # -- the text -----------------------------------------------------------------------------

    def starts(self, token: str) -> bool:
        """Whether `token` comes next, behind any white space."""
        self.at = after_space(self.text, self.at)
        return self.text.startswith(token, self.at)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, behind any white space; reading goes on behind it."""
        self.at = after_space(self.text, self.at)
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
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

        Raises `Broken` where it may not.
        """
        try:
            read()
        except Broken as problem:
            if problem.resume is None:
                raise
            self.error(problem)
            self.at = problem.resume
            return False
        return True

    def json_calls(self, depth: int = 0) -> None:
        """A call as an object, or an array of them: a broken element does not take its neighbours along.

        Raises `Broken`.
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

    def error(self, problem: Broken, arguments: object = None) -> None:
        """Note a call that cannot be made, with its arguments where they can be read."""
        name, given_id = problem.named
        call_id = self._id(given_id, f"unusable_{len(self.wanted) + 1}")
        given = arguments if isinstance(arguments, dict) else {}
        self.wanted.append(Call(call_id, name[:_NAME_CHARS], given, str(problem), problem.code))

    def add_object(self, value: object) -> None:
        """A call as a JSON object; anything else is malformed. `parameters` count more than `arguments`."""
        name = name_of(value)
        if not name or not isinstance(value, dict):
            self.error(Broken("malformed", "A call is an object with the name of a tool."))
            return
        arguments = value["parameters"] if "parameters" in value else value.get("arguments")
        self.add(name, arguments, value.get("id", value.get("tool_call_id")))

    def add(self, name: str, arguments: object, given_id: object = None) -> None:
        """Take a call in, or note why not. Arguments are an object, or a JSON string of one; none are {}.

        Raises `Broken` when there are too many calls, or too deep ones.
        """
        if name in _NO_CALLS:
            return
        is_too_deep, made = False, sum(not call.error for call in self.wanted)
        usable = {} if arguments is None or arguments == "" else arguments
        try:
            usable = decoded(usable) if isinstance(usable, str) else usable
        except Broken as problem:
            is_too_deep = problem.code == "too_deep"
        if name not in self.known_tools:
            missing = f"There is no tool {name[:_NAME_CHARS]!r} in this turn."
            self.error(Broken("unknown_tool", missing, named=(name, given_id)), usable)
        elif is_too_deep:
            raise Broken("too_deep", _TOO_DEEP, named=(name, given_id))
        elif not isinstance(usable, dict):
            wrong = "The arguments must be a JSON object."
            self.error(Broken("bad_arguments", wrong, named=(name, given_id)))
        elif made == MAX_CALLS:
            only = f"Only the first {MAX_CALLS} calls are used."
            raise Broken("too_many_calls", only, named=(name, given_id))
        else:
            schema = self.known_tools[name]
            values = {name: _coerced(value, type_of(schema, name)) for name, value in usable.items()}
            self.wanted.append(Call(self._id(given_id, f"call_{made + 1}"), name, values))

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
    name = value.get("name", value.get("tool_name")) if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def is_call(value: object) -> bool:
    """Whether an object names a tool and gives its arguments."""
    return (
        isinstance(value, dict) and bool(name_of(value)) and ("parameters" in value or "arguments" in value)
    )


# -- JSON in the middle of a text -------------------------------------------------------------

_SPACE = re.compile(r"\s*")
_STRING = r'"(?:[^"\\]|\\.)*"'
_TELLING = re.compile(rf'{_STRING}|["\[\]{{}}]', re.DOTALL)
_SCALAR = re.compile(rf'{_STRING}|(?!")[^,\]}}\s]*', re.DOTALL)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


def after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """(value, where it ends) of the object, array or scalar that begins at `at`.

    `depth` counts the brackets around it. Raises `Broken`.
    """
    end = _end_of_value(text, at, depth)
    try:
        return _DECODER.decode(text[at:end]), end
    except (ValueError, RecursionError) as error:
        raise Broken("malformed", f"This is not JSON: {error}"[:200], end) from error


def decoded(text: str) -> Any:
    """A whole text as one JSON value. Raises `Broken`."""
    value, end = read_value(text, after_space(text, 0))
    if after_space(text, end) != len(text):
        raise Broken("malformed", "There is more than one value.")
    return value


def _end_of_value(text: str, at: int, depth: int) -> int:
    if text[at : at + 1] not in ("{", "["):
        scalar = _SCALAR.match(text, at)
        if scalar is None:
            raise Broken("unterminated", "The output ends inside a string.")
        return scalar.end()
    outer = depth
    for token in _TELLING.finditer(text, at):
        if token[0] == '"':  # a string that never ends
            break
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Broken("too_deep", _TOO_DEEP)
        elif token[0] in "]}":
            depth -= 1
            if depth == outer:
                return token.end()
    raise Broken("unterminated", "The output ends inside a value.")


# -- values brought to the type their schema names --------------------------------------------
#
# Models write numbers as text and whole numbers with a decimal point. What cannot be brought stays
# as it is; the schema check before execution refuses it then.

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip


def type_of(schema: Mapping[str, Any], name: str) -> str | None:
    """The one type a property has; None when it has none or several."""
    kind = schema.get("properties", {}).get(name, {}).get("type")
    return kind if isinstance(kind, str) else None


def _coerced(value: Any, kind: str | None) -> Any:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or kind is None:
        return value
    try:
        if kind == "integer":
            return int(value) if _INTEGER.fullmatch(value) else value
        found = decoded(value.lower() if kind == "boolean" else value)
    except (Broken, ValueError):  # ValueError: more digits than Python converts
        return value
    return found if type(found) in _TYPES.get(kind, ()) else value
