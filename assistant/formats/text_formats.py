"""The formats in which models write calls into their text, each with its grammar.

Every reader sets the prose, takes the calls in, and raises `Stop` where nothing more can be read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from assistant.formats.json_values import Broken, after_space, decoded, read_value, type_of
from assistant.formats.reader import Reader, Stop, is_call, name_of

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"

# -- markers outside code fences --------------------------------------------------------------


def outside_fences(marker: str) -> re.Pattern[str]:
    """Finds the marker or the beginning of a code fence, whichever comes first."""
    return re.compile(rf"^ {{0,3}}(?P<ticks>`{{3,}})[^`\n]*$|{marker}", re.MULTILINE)


def first_marker(
    text: str, markers: re.Pattern[str], is_marker: Callable[[re.Match[str]], bool] = lambda fence: False
) -> re.Match[str] | None:
    """The first marker that stands in no code fence; a fence counts as one where `is_marker` says so.

    `markers` is of `outside_fences`. An unclosed fence reaches to the end.
    """
    at = 0
    while found := markers.search(text, at):
        if not found["ticks"] or is_marker(found):
            return found
        closing = re.compile(rf"^ {{0,3}}`{{{len(found['ticks'])},}}[ \t]*$", re.MULTILINE)
        line = closing.search(text, found.end())
        if line is None:
            return None
        at = line.end()
    return None


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


# -- Functionary ------------------------------------------------------------------------------
#
# A block of invokes, and the function tags that its models really write:
#
#     output = [ prose ] , ( block | fn , { fn } )
#     block  = "<function_calls>" , { invoke | fcall | json } , "</function_calls>"
#     fn     = "<function=" , NAME , ">" , [ OBJECT ] , "</function>"

FUNCTIONARY = outside_fences(rf"<function_calls>|<function={NAME}>")
_FUNCTION = re.compile(rf"<function=({NAME})>")
_INVOKE = re.compile(rf'<invoke name="({NAME})">')
_PARAMETER = re.compile(rf'<parameter name="({NAME})">')
_CALL = re.compile(rf'<function_call name="({NAME})">')
_NEXT_ITEM = re.compile(r'<invoke name="|<function_call name="|</function_calls>')
_ENDS_TEXT = re.compile(r'</parameter>|</invoke>|</function_calls>|<invoke name="|<parameter name="')
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos);")


def read_functionary(reader: Reader) -> None:
    marker = first_marker(reader.text, FUNCTIONARY)
    if marker is None:
        return
    reader.prose = reader.text[: marker.start()]
    if marker[0] == "<function_calls>":
        reader.at = marker.end()
        _read_block(reader)
    else:
        reader.at = marker.start()
        _read_functions(reader)


def _read_functions(reader: Reader) -> None:
    """Function tags, one after another; anything else ends them."""
    while tag := reader.match(_FUNCTION):
        # What follows a broken tag is looked for; what follows a good one stands right behind it.
        while tag and not reader.attempt(partial(_tagged, reader, tag[1], "</function>")):
            tag = _FUNCTION.search(reader.text, reader.at)
            reader.at = tag.end() if tag else len(reader.text)


def _read_block(reader: Reader) -> None:
    while not reader.starts("</function_calls>"):
        if reader.starts("[") or reader.starts("{"):
            reader.attempt(reader.json_calls)
        elif not reader.attempt(partial(_item, reader)):
            item = _NEXT_ITEM.search(reader.text, reader.at)
            if item is None:
                raise Stop
            reader.at = item.start()


def _item(reader: Reader) -> None:
    start = reader.at
    if tag := reader.match(_INVOKE):
        _invoke(reader, tag[1])
    elif tag := reader.match(_CALL):
        _tagged(reader, tag[1], "</function_call>")
    elif start == len(reader.text):
        raise Broken("unterminated", "The block is not closed.")
    else:
        raise Broken("malformed", "This is no call.", start + 1)


def _tagged(reader: Reader, name: str, end_tag: str) -> None:
    """What stands in a tag: an object, or nothing. The call counts, however its tag is closed."""
    has_object = reader.starts("{")
    if has_object:
        reader.add(name, reader.value())
    reader.expect(end_tag)
    if not has_object:
        reader.add(name, {})


def _invoke(reader: Reader, name: str) -> None:
    """An invoke with its parameters; it counts only when it is closed."""
    text, schema = reader.text, reader.known_tools.get(name, {})
    arguments: dict[str, object] = {}
    while parameter := reader.match(_PARAMETER):
        end = _ENDS_TEXT.search(text, reader.at)
        if end is None:
            raise Broken("unterminated", "A parameter is not closed.")
        if end[0] != "</parameter>":
            raise Broken("malformed", "A parameter is not closed.", reader.at)
        said = text[reader.at : end.start()]
        arguments[parameter[1]] = _parameter(said.strip(), type_of(schema, parameter[1]))
        reader.at = end.end()
    reader.expect("</invoke>")
    reader.add(name, arguments)


def _parameter(written: str, kind: str | None) -> object:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), written)
    if kind == "string":
        return text
    try:
        return decoded(text)
    except Broken:
        return text


# -- Command-R --------------------------------------------------------------------------------
#
# An array of calls after ``Action:`` in a fence, between two tokens, or alone:
#
#     output = ( [ prose ] , [ "Action:" ] , ( fence | tagged ) ) | array
#     fence  = "```json" , array , "```"
#     tagged = "<|START_ACTION|>" , ( array | call ) , "<|END_ACTION|>"

_START, _END = "<|START_ACTION|>", "<|END_ACTION|>"
COMMAND_R = outside_fences(rf"(?:Action:\s*)?{re.escape(_START)}|Action:\s*```json")
PLAIN_FENCE = re.compile(r"^ {0,3}```json[ \t]*$", re.MULTILINE)
_ANSWERS = frozenset({"directly_answer", "directly-answer"})


def read_command_r(reader: Reader) -> None:
    reader.silent = _ANSWERS
    marker, whole = None, reader.text.strip()
    if whole.startswith("[") and _is_bare(whole):
        reader.text, reader.prose = whole, ""
        reader.attempt(reader.json_calls)
    else:
        marker = first_marker(reader.text, COMMAND_R, partial(_is_calls_to_the_end, reader))
        if marker is None:
            return
        reader.prose, reader.at = reader.text[: marker.start()], marker.end()
        reader.attempt(partial(_read_marked, reader, is_tagged=marker[0].endswith(_START)))
    if not reader.wanted:  # "no call": what stands around it is the answer
        around = (reader.prose.strip(), reader.text[reader.at :].strip())
        reader.prose = "\n".join(filter(None, around))


def _is_calls_to_the_end(reader: Reader, fence: re.Match[str]) -> bool:
    """Whether a plain fence of known calls is all that is left; else it is an example in an answer."""
    body, closing, after = reader.text[fence.end() :].rpartition("```")
    if not PLAIN_FENCE.match(fence[0]) or not closing or after.strip():
        return False
    match _values(body):
        case [[_, *_] as calls]:
            return all(name_of(call) in reader.known_tools for call in calls)
    return False


def _is_bare(whole: str) -> bool:
    """Whether the whole output is an array of calls: a list of people with names is none."""
    match _values(whole):
        case [list() as calls]:
            return all(map(is_call, calls))
    return False


def _read_marked(reader: Reader, *, is_tagged: bool) -> None:
    """The calls behind a marker, and its end."""
    if reader.starts("[") or (is_tagged and reader.starts("{")):
        reader.json_calls()
        reader.expect(_END if is_tagged else "```")
    elif reader.at == len(reader.text):
        raise Broken("unterminated", "The calls are missing.")
    else:
        raise Broken("malformed", "An array of calls is expected here.")


# -- Llama 3.1 --------------------------------------------------------------------------------
#
# A tag and objects behind it, a function tag, or a bare call as the whole output. Code behind the tag is
# never run.
#
#     output  = [ prose ] , [ "<|python_tag|>" ] , body , [ "<|eom_id|>" | "<|eot_id|>" ]
#     body    = call , { ( ";" | WS ) , call } | builtin | fn
#     builtin = ("brave_search"|"wolfram_alpha") , ".call(" , "query=" , STRING , ")"

LLAMA31 = outside_fences(rf"<\|python_tag\|>|<function={NAME}>")
END_TOKENS = re.compile(r"(?:\s*<\|(?:eom_id|eot_id)\|>)+\s*$")
_BUILTIN = re.compile(r"(brave_search|wolfram_alpha)\.call\(\s*query\s*=\s*(?=\")")


def read_llama31(reader: Reader) -> None:
    reader.text = reader.prose = END_TOKENS.sub("", reader.text)
    marker = first_marker(reader.text, LLAMA31)
    if marker is None:
        calls = _values(reader.text)  # the whole output, known calls one after another
        if calls and all(is_call(call) and name_of(call) in reader.known_tools for call in calls):
            reader.prose = ""
            _read_row(reader)
        return
    reader.prose, reader.at = reader.text[: marker.start()], marker.start()
    if marker[0] == "<|python_tag|>":
        reader.at = marker.end()
        reader.attempt(partial(_read_body, reader))
    else:
        _read_functions(reader)


def _read_row(reader: Reader) -> None:
    while reader.starts("{"):
        reader.attempt(reader.json_calls)
        if reader.starts(";"):
            reader.at += 1


def _read_body(reader: Reader) -> None:
    """What stands behind the tag."""
    if reader.starts("<function="):
        _read_functions(reader)
    elif reader.starts("{"):
        _read_row(reader)
    elif builtin := reader.match(_BUILTIN):
        reader.add(builtin[1], {"query": reader.value()})
        reader.expect(")")
    else:
        raise Broken("malformed", "Only a call may stand behind the tag; code is never run.")


# -- Hermes, as Qwen and many others write it ---------------------------------------------------
#
# An object in a tag of its own; Mistral's models write an array behind a word.
#
#     output = [ prose ] , ( tagged , { tagged } | "[TOOL_CALLS]" , array )
#     tagged = "<tool_call>" , OBJECT , "</tool_call>"

_TOOL_CALL = re.compile(r"<tool_call>")
HERMES = outside_fences(r"<tool_call>|\[TOOL_CALLS\]")


def read_hermes(reader: Reader) -> None:
    marker = first_marker(reader.text, HERMES)
    if marker is None:
        return
    reader.prose, reader.at = reader.text[: marker.start()], marker.end()
    if marker[0] == "[TOOL_CALLS]":
        reader.attempt(reader.json_calls)
        return
    reader.at = marker.start()
    while reader.match(_TOOL_CALL) and reader.attempt(partial(_tool_call, reader)):
        pass


def _tool_call(reader: Reader) -> None:
    if not reader.starts("{"):
        raise Broken("malformed", "An object is expected in this tag.", reader.at)
    reader.json_calls()
    reader.expect("</tool_call>")


# -- any of them, and those that are read by none -----------------------------------------------

ANY = outside_fences(
    rf"<function_calls>|<function={NAME}>|<tool_call|\[TOOL_CALLS\]|<\|python_tag\|>|<[|｜]tool[\w▁ ]*[|｜]>"
    rf"|(?:Action:\s*)?{re.escape(_START)}|Action:\s*```json"
)
_WHOLE_FENCE = re.compile(r"\A\s*```\w*[ \t]*\n(.*?)\n[ \t]*```\s*\Z", re.DOTALL)


def unfenced(text: str) -> str:
    """What stands in a fence that is all of a text; any other text as it is."""
    fence = _WHOLE_FENCE.match(text)
    return fence[1] if fence else text


def is_nothing_but_calls(text: str) -> bool:
    """Whether a text is made of JSON objects that are calls, of whatever tool."""
    values = _values(text)
    calls = [call for value in values for call in (value if isinstance(value, list) else [value])]
    return bool(calls) and all(map(is_call, calls))
