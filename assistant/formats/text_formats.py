"""The formats in which models write calls into their text, each with its grammar; blanks may stand anywhere.

Functionary, with a block, and with the function tags that its models really write::

    output = [ prose ] , ( block | fn , { fn } )
    block  = "<function_calls>" , { invoke | fcall | json } , "</function_calls>"
    fn     = "<function=" , NAME , ">" , [ OBJECT ] , "</function>"

Command-R: an array of calls after ``Action:`` in a fence, between two tokens, or alone::

    output = ( [ prose ] , [ "Action:" ] , ( fence | tagged ) ) | array
    fence  = "```json" , array , "```"
    tagged = "<|START_ACTION|>" , ( array | call ) , "<|END_ACTION|>"

Llama 3.1: a tag and objects behind it, a function tag, or a bare call as the whole output. Code behind the
tag is never run::

    output  = [ prose ] , [ "<|python_tag|>" ] , body , [ "<|eom_id|>" | "<|eot_id|>" ]
    body    = call , { ( ";" | WS ) , call } | builtin | fn
    builtin = ("brave_search"|"wolfram_alpha") , ".call(" , "query=" , STRING , ")"

Hermes, as Qwen and many others write it; Mistral's models write an array behind a word::

    output = [ prose ] , ( tagged , { tagged } | "[TOOL_CALLS]" , array )
    tagged = "<tool_call>" , OBJECT , "</tool_call>"
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from assistant.formats.reader import (
    Broken,
    Reader,
    after_space,
    decoded,
    is_call,
    name_of,
    read_value,
    type_of,
)

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_START, _END = "<|START_ACTION|>", "<|END_ACTION|>"
_BEFORE_CALLS = {
    "functionary": rf"<function_calls>|<function={_NAME}>",
    "command-r": rf"(?:Action:\s*)?{re.escape(_START)}|Action:\s*```json",
    "llama31": rf"<\|python_tag\|>|<function={_NAME}>",
    "hermes": r"<tool_call>|\[TOOL_CALLS\]",
}
_UNREAD = r"<tool_call|<[|｜]tool[\w▁ ]*[|｜]>"
"""Markup of calls that is read by none."""


def _outside_fences(marker: str) -> re.Pattern[str]:
    """Finds the marker or the beginning of a code fence, whichever comes first."""
    return re.compile(rf"^ {{0,3}}(?P<ticks>`{{3,}})[^`\n]*$|{marker}", re.MULTILINE)


_MARKERS = {form: _outside_fences(marker) for form, marker in _BEFORE_CALLS.items()}
_ANY = _outside_fences("|".join([*_BEFORE_CALLS.values(), _UNREAD]))
PLAIN_FENCE = re.compile(r"^ {0,3}```json[ \t]*$", re.MULTILINE)
_WHOLE_FENCE = re.compile(r"\A\s*```\w*[ \t]*\n(.*?)\n[ \t]*```\s*\Z", re.DOTALL)
END_TOKENS = re.compile(r"(?:\s*<\|(?:eom_id|eot_id)\|>)+\s*$")


def first_marker(
    text: str, markers: re.Pattern[str] = _ANY, is_calls: Callable[[re.Match[str]], bool] | None = None
) -> re.Match[str] | None:
    """The first marker that stands in no code fence; a fence counts as one where it `is_calls`.

    An unclosed fence reaches to the end.
    """
    at = 0
    while found := markers.search(text, at):
        if not found["ticks"] or (is_calls and is_calls(found)):
            return found
        closing = re.compile(rf"^ {{0,3}}`{{{len(found['ticks'])},}}[ \t]*$", re.MULTILINE)
        line = closing.search(text, found.end())
        if line is None:
            return None
        at = line.end()
    return None


def read(reader: Reader, form: str) -> None:
    """Set the prose, and take the calls in. Raises `Broken` where nothing more can be read."""
    if form == "llama31":
        reader.text = reader.prose = END_TOKENS.sub("", reader.text)
    if _is_bare(reader, form):
        reader.prose = ""
        _read_row(reader)
        return
    fence = partial(_is_calls_to_the_end, reader) if form == "command-r" else None
    marker = first_marker(reader.text, _MARKERS[form], fence)
    if marker is None:
        return
    reader.prose, reader.at = reader.text[: marker.start()], marker.end()
    if marker[0].startswith(("<function=", "<tool_call>")):
        reader.at = marker.start()
        _read_tags(reader)
    elif marker[0] == "<function_calls>":
        _read_tags(reader, in_block=True)
    elif marker[0] == "<|python_tag|>":
        reader.attempt(partial(_read_body, reader))
    elif marker[0] == "[TOOL_CALLS]":
        reader.attempt(reader.json_calls)
    else:
        reader.attempt(partial(_read_action, reader, _END if marker[0].endswith(_START) else "```"))
        if not reader.wanted:  # "no call": what stands around it is the answer
            around = (reader.prose.strip(), reader.text[reader.at :].strip())
            reader.prose = "\n".join(filter(None, around))


# -- calls that are all of an output ----------------------------------------------------------


def _is_bare(reader: Reader, form: str) -> bool:
    """Whether the whole output is an array of calls, or a row of known ones: a list of people with names is
    none.
    """
    match form, _values(reader.text):
        case "command-r", [list() as calls]:
            return all(map(is_call, calls))
        case "llama31", [_, *_] as calls:
            return all(is_call(call) and name_of(call) in reader.known_tools for call in calls)
    return False


def _is_calls_to_the_end(reader: Reader, fence: re.Match[str]) -> bool:
    """Whether a plain fence of known calls is all that is left; else it is an example in an answer."""
    body, closing, after = reader.text[fence.end() :].rpartition("```")
    if not PLAIN_FENCE.match(fence[0]) or not closing or after.strip():
        return False
    match _values(body):
        case [[_, *_] as calls]:
            return all(name_of(call) in reader.known_tools for call in calls)
    return False


def is_nothing_but_calls(text: str) -> bool:
    """Whether a text is made of JSON objects that are calls, of whatever tool."""
    calls = [call for value in _values(text) for call in (value if isinstance(value, list) else [value])]
    return bool(calls) and all(map(is_call, calls))


def unfenced(text: str) -> str:
    """What stands in a fence that is all of a text; any other text as it is."""
    fence = _WHOLE_FENCE.match(text)
    return fence[1] if fence else text


def _values(text: str) -> list[Any]:
    """The JSON values that a text is made of, with ``;`` or nothing between them; [] for any other text."""
    values, at = [], after_space(text, 0)
    try:
        while at < len(text):
            value, end = read_value(text, at)
            values.append(value)
            at = after_space(text, end)
            at = after_space(text, at + text.startswith(";", at))
    except Broken:
        return []
    return values


# -- what stands behind a marker --------------------------------------------------------------

_BUILTIN = re.compile(r"(brave_search|wolfram_alpha)\.call\(\s*query\s*=\s*(?=\")")


def _read_row(reader: Reader) -> None:
    while reader.starts("{") or reader.starts("["):
        reader.attempt(reader.json_calls)
        if reader.starts(";"):
            reader.at += 1


def _read_body(reader: Reader) -> None:
    """What stands behind Llama's tag."""
    if reader.starts("<function="):
        _read_tags(reader)
    elif reader.starts("{"):
        _read_row(reader)
    elif builtin := reader.match(_BUILTIN):
        reader.add(builtin[1], {"query": reader.value()})
        reader.expect(")")
    else:
        raise Broken("malformed", "Only a call may stand behind the tag; code is never run.")


def _read_action(reader: Reader, closing: str) -> None:
    """Command-R's calls, and what closes them."""
    if reader.starts("[") or (closing == _END and reader.starts("{")):
        reader.json_calls()
        reader.expect(closing)
    elif reader.at == len(reader.text):
        raise Broken("unterminated", "The calls are missing.")
    else:
        raise Broken("malformed", "An array of calls is expected here.")


# -- tags -------------------------------------------------------------------------------------

_BLOCK_END = "</function_calls>"
_TAG = re.compile(
    rf'<(?:function=(?P<function>{_NAME})|function_call name="(?P<function_call>{_NAME})"'
    rf'|invoke name="(?P<invoke>{_NAME})"|(?P<tool_call>tool_call))>'
)
_NEXT = re.compile(f"{_TAG.pattern}|{_BLOCK_END}")
_PARAMETER = re.compile(rf'<parameter name="({_NAME})">')
_ENDS_TEXT = re.compile(rf'</parameter>|</invoke>|{_BLOCK_END}|<invoke name="|<parameter name="')
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos);")


def _read_tags(reader: Reader, *, in_block: bool = False) -> None:
    """Calls in tags, one after another; anything else ends them, but in a block."""
    while not (in_block and reader.starts(_BLOCK_END)):
        if in_block and (reader.starts("[") or reader.starts("{")):
            reader.attempt(reader.json_calls)
            continue
        tag = reader.match(_TAG)
        if not (tag or in_block):
            return
        if not reader.attempt(partial(_read_tag, reader, tag)):
            following = _NEXT.search(reader.text, reader.at)
            if following is None:
                return
            reader.at = following.start()


def _read_tag(reader: Reader, tag: re.Match[str] | None) -> None:
    """The call in a tag, an object or nothing where the tag names the tool. It counts, however its tag is
    closed; an invoke only where it is.
    """
    if tag is None or tag.lastgroup is None:
        if reader.at == len(reader.text):
            raise Broken("unterminated", "The block is not closed.")
        raise Broken("malformed", "This is no call.", reader.at + 1)
    kind, name = tag.lastgroup, tag[tag.lastgroup]
    closing = f"</{kind}>"
    if kind == "invoke":
        arguments = _parameters(reader, name)
        reader.expect(closing)
        reader.add(name, arguments)
    elif reader.starts("{"):
        value = reader.value()
        if kind == "tool_call":
            reader.add_object(value)
        else:
            reader.add(name, value)
        reader.expect(closing)
    elif kind == "tool_call":
        raise Broken("malformed", "An object is expected in this tag.", reader.at)
    else:
        reader.expect(closing)
        reader.add(name, {})


def _parameters(reader: Reader, name: str) -> dict[str, object]:
    schema, arguments = reader.known_tools.get(name, {}), dict[str, object]()
    while parameter := reader.match(_PARAMETER):
        end = _ENDS_TEXT.search(reader.text, reader.at)
        if end is None:
            raise Broken("unterminated", "A parameter is not closed.")
        if end[0] != "</parameter>":
            raise Broken("malformed", "A parameter is not closed.", reader.at)
        written = reader.text[reader.at : end.start()].strip()
        value: object = _ENTITY.sub(lambda entity: html.unescape(entity[0]), written)
        if type_of(schema, parameter[1]) != "string":
            with suppress(Broken):  # what is no JSON stays text
                value = decoded(str(value))
        arguments[parameter[1]] = value
        reader.at = end.end()
    return arguments
