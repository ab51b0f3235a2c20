"""Functionary: a block of invokes, and the function tags that its models really write.

::

    output = [ prose ] , ( block | fn , { fn } )
    block  = "<function_calls>" , { invoke | fcall | json } , "</function_calls>"
    fn     = "<function=" , NAME , ">" , [ OBJECT ] , "</function>"
"""

from __future__ import annotations

import re

from assistant.formats.calls import CallCollector, Stop
from assistant.formats.json_values import (
    InvalidJson,
    after_space,
    decoded,
    first_outside_fences,
    read_value,
    type_of,
)

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
FUNCTION = re.compile(rf"<function=({NAME})>")
MARKER = re.compile(rf"<function_calls>|<function={NAME}>")
_INVOKE = re.compile(rf'<invoke name="({NAME})">')
_INVOKE_END = "</invoke>"
_PARAMETER = re.compile(rf'<parameter name="({NAME})">')
_CALL = re.compile(rf'<function_call name="({NAME})">')
_NEXT_ITEM = re.compile(r'<invoke name="|<function_call name="|</function_calls>')
_ENDS_TEXT = re.compile(r'</parameter>|</invoke>|</function_calls>|<invoke name="|<parameter name="')
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def read(text: str, calls: CallCollector) -> str:
    """The prose; the calls go into `calls`."""
    marker = first_outside_fences(text, MARKER)
    if marker is None:
        return text
    try:
        if marker.group() == "<function_calls>":
            _read_block(text, marker.end(), calls)
        else:
            read_functions(text, marker.start(), calls)
    except Stop:
        pass
    return text[: marker.start()]


def read_functions(text: str, at: int, calls: CallCollector) -> None:
    """Function tags, one after another; anything else ends them. Raises `Stop`."""
    tag = FUNCTION.match(text, at)
    while tag:
        at, good = _read_tagged(text, tag, "</function>", calls)
        # What follows a broken tag is looked for; what follows a good one stands right behind it.
        tag = FUNCTION.match(text, after_space(text, at)) if good else FUNCTION.search(text, at)


# -- the block --------------------------------------------------------------------------------


def _read_block(text: str, at: int, calls: CallCollector) -> None:
    while True:
        at = after_space(text, at)
        if text.startswith("</function_calls>", at):
            return
        if at == len(text):
            calls.broken(InvalidJson("unterminated", "The block is not closed."), text[-200:])
        good = True
        if tag := _INVOKE.match(text, at):
            at, good = _read_invoke(text, tag, calls)
        elif tag := _CALL.match(text, at):
            at, good = _read_tagged(text, tag, "</function_call>", calls)
        elif text[at] in "[{":
            at = read_json(text, at, calls)
        else:
            good = False
            calls.error("malformed", "This is no call.", text[at : at + 200])
            at += 1
        if not good:
            at = _next_item(text, at)


def _next_item(text: str, at: int) -> int:
    """Where to go on after something malformed. Raises `Stop` when there is nothing."""
    item = _NEXT_ITEM.search(text, at)
    if item is None:
        raise Stop
    return item.start()


def read_json(text: str, at: int, calls: CallCollector, raw_chars: int = 200) -> int:
    """One call or an array of them; returns where it ends. Raises `Stop`."""
    if text[at] == "[":
        return read_array(text, at, calls)
    try:
        value, end = read_value(text, at)
    except InvalidJson as problem:
        return calls.broken(problem, text[at : at + raw_chars])
    calls.add_object(value, text[at:end])
    return end


def read_array(text: str, at: int, calls: CallCollector) -> int:
    """An array of calls, element by element: a broken one does not take its neighbours along."""
    at = after_space(text, at + 1)
    while not text.startswith("]", at):
        start = at
        try:
            value, at = read_value(text, at, depth=1)
            calls.add_object(value, text[start:at])
        except InvalidJson as problem:
            at = max(calls.broken(problem, text[start : start + 200]), start)
        at = after_space(text, at)
        if text.startswith(",", at):
            at = after_space(text, at + 1)
        elif at == len(text):
            calls.broken(InvalidJson("unterminated", "The array is not closed."), text[start:])
        elif not text.startswith("]", at):
            calls.error("malformed", "Elements are parted by commas.", text[start : at + 50])
            raise Stop
    return at + 1


# -- one call ---------------------------------------------------------------------------------


def _read_tagged(text: str, tag: re.Match[str], end_tag: str, calls: CallCollector) -> tuple[int, bool]:
    """A tag with an object in it: (where it ends, whether it was whole). Raises `Stop`."""
    name, at = tag[1], after_space(text, tag.end())
    arguments: object = {}
    if text.startswith("{", at):
        try:
            arguments, at = read_value(text, at)
        except InvalidJson as problem:
            return calls.broken(problem, text[tag.start() : tag.start() + 200]), False
    elif at < len(text) and not text.startswith(end_tag, at):
        calls.error("malformed", "The arguments must be a JSON object.", text[tag.start() : at + 200])
        return at, False
    elif at == len(text):
        calls.broken(InvalidJson("unterminated", "The call is not closed."), text[tag.start() :])
    calls.add(name, arguments, text[tag.start() : at])
    at = after_space(text, at)
    if text.startswith(end_tag, at):
        return at + len(end_tag), True
    if at == len(text):
        calls.broken(InvalidJson("unterminated", "The call is not closed."), text[tag.start() :])
    calls.error("malformed", f"{end_tag} is missing.", text[tag.start() : at + 50])
    return at, False


def _read_invoke(text: str, tag: re.Match[str], calls: CallCollector) -> tuple[int, bool]:
    """An invoke with its parameters: (where it ends, whether it was whole). Raises `Stop`."""
    name, at = tag[1], after_space(text, tag.end())
    schema = calls.known_tools.get(name, {})
    arguments: dict[str, object] = {}
    while parameter := _PARAMETER.match(text, at):
        end = _ENDS_TEXT.search(text, parameter.end())
        if end is None:
            calls.broken(InvalidJson("unterminated", "A parameter is not closed."), text[tag.start() :])
        elif end.group() != "</parameter>":
            calls.error("malformed", "A parameter is not closed.", text[tag.start() : end.end()])
            return parameter.end(), False
        else:
            arguments[parameter[1]] = _parameter(
                text[parameter.end() : end.start()], type_of(schema, parameter[1])
            )
            at = after_space(text, end.end())
    if text.startswith(_INVOKE_END, at):
        at += len(_INVOKE_END)
        calls.add(name, arguments, text[tag.start() : at])
        return at, True
    if _is_cut(text, at):
        calls.broken(InvalidJson("unterminated", "The invoke is not closed."), text[tag.start() :])
    calls.error("malformed", "An invoke holds parameters only.", text[tag.start() : at + 50])
    return at, False


def _is_cut(text: str, at: int) -> bool:
    """Whether the output ends here, perhaps within a tag."""
    rest = text[at:]
    return not rest or any(tag.startswith(rest) for tag in (_INVOKE_END, '<parameter name="'))


def _parameter(text: str, kind: str | None) -> object:
    text = _ENTITY.sub(lambda entity: _ENTITIES[entity[1]], text.strip())
    if kind == "string":
        return text
    try:
        return decoded(text)
    except InvalidJson:
        return text
