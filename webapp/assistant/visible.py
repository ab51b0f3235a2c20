"""What of a growing answer may be shown: the words of its `answer_md`, or prose, never markup of a call.

What was shown once stays the beginning of what is shown later, so that only the rest has to be sent.
Citation marks are left out: they mean something only once they are checked and numbered.
"""

from __future__ import annotations

import json
import re

from webapp.assistant.formats import streaming

_STARTS_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(?:\{|\Z)")
_ANSWER = re.compile(r'"answer_md"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"[ \t]*\[{1,2}\s*e\d{1,4}(?:\s*[,;]\s*e\d{1,4})*\s*\]{1,2}")
_UNFINISHED = re.compile(r"(?:\[{1,2}[^\[\]\n]{0,60}\]?|[ \t`<]+|<[a-z]{0,9})\Z", re.IGNORECASE)
_UNFINISHED_CHARS = 64
_ESCAPE_BEGUN = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<begun>(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\u[0-9a-fA-F]{0,3})?)\Z"
)


def visible(text: str, form: str = "") -> str:
    """The part of an unfinished answer that may be shown. `form` is the format of its calls."""
    said = _THINKING.sub("", text)
    if _STARTS_OBJECT.match(said):
        found = _ANSWER.search(said)
        said = _decoded(found[1]) if found else ""
    elif form:
        said = streaming.shown(said, form)
    return _finished(_MARK.sub("", said))


def _finished(said: str) -> str:
    """Without what may yet become a mark or markup. Only the end is looked at: this runs for each token."""
    end = min(len(said.rstrip(" \t`<")), max(0, len(said) - _UNFINISHED_CHARS))
    return (said[:end] + _UNFINISHED.sub("", said[end:])).strip()


def _decoded(escaped: str) -> str:
    """The text of a JSON string that may end in the middle of ``\\u1234`` or of a surrogate pair."""
    begun = _ESCAPE_BEGUN.search(escaped)
    escaped = escaped[: begun.start("begun")] if begun else escaped
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except json.JSONDecodeError:
        return ""
