"""What of a growing output may be shown already: prose, never the beginning of a call.

A marker comes in pieces. Whatever could still become one is held back until it cannot, so what
was shown once always stays the beginning of the prose that `parse` gives in the end.
"""

from __future__ import annotations

import re

from assistant.formats import command_r, functionary, llama31
from assistant.formats.json_values import first_outside_fences

_FUNCTION_BEGUN = re.compile(r"<function=(?:[A-Za-z_][A-Za-z0-9_.-]*)?\Z")
_ACTION_BEGUN = re.compile(r"Action:\s*(?:`{1,2}|```(?:j|js|jso)?)?\Z")
_FENCE_BEGUN = re.compile(r"^ {0,3}(?:`{1,2}|```(?:j|js|jso|json)?[ \t]*)\Z", re.MULTILINE)
_TOKENS = {
    "functionary": ("<function_calls>", "<function="),
    "command-r": ("<|START_ACTION|>", "Action:"),
    "llama31": ("<|python_tag|>", "<function=", "<|eom_id|>", "<|eot_id|>"),
}
_MARKERS = {
    "functionary": functionary.MARKER,
    "command-r": command_r.MARKER,
    "llama31": llama31.MARKER,
}
_WHOLE = {"functionary": "", "command-r": "[", "llama31": "{"}
"""What an output begins with that may be calls as a whole."""


def shown(text: str, form: str) -> str:
    """The part of an unfinished output that is prose for certain, trimmed."""
    if _WHOLE[form] and text.lstrip().startswith(_WHOLE[form]):
        return ""
    marker = first_outside_fences(text, _MARKERS[form])
    text = text[: marker.start()] if marker else text
    text = text[: _begun(text, form)]
    return (llama31.END_TOKENS.sub("", text) if form == "llama31" else text).strip()


def _begun(text: str, form: str) -> int:
    """Where something begins that may become a marker; the length of the text when nothing does."""
    places = [_token_begun(text, token) for token in _TOKENS[form]]
    patterns = [_ACTION_BEGUN, _FENCE_BEGUN] if form == "command-r" else [_FUNCTION_BEGUN]
    places += [found.start() for pattern in patterns if (found := pattern.search(text))]
    if form == "command-r":
        places += [_open_plain_fence(text)]
    return min([*places, len(text)])


def _token_begun(text: str, token: str) -> int:
    """Where the longest end of `text` that begins `token` starts."""
    for length in range(min(len(token) - 1, len(text)), 0, -1):
        if text.endswith(token[:length]):
            return len(text) - length
    return len(text)


def _open_plain_fence(text: str) -> int:
    """A fence of calls counts when nothing follows it, so it waits for what follows."""
    for found in command_r.PLAIN.finditer(text):
        closing = re.compile(r"^ {0,3}```+[ \t]*\n\s*\S", re.MULTILINE)
        if not closing.search(text, found.end()):
            return found.start()
    return len(text)
