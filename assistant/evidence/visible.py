"""What of a growing answer may be shown: the words of its `answer_md`, or prose, never markup of a call.

What was shown once stays the beginning of what is shown later, so that only the rest has to be sent.
Citation marks are left out: they mean something only once they are checked and numbered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assistant.evidence.replies import decoded
from assistant.formats import streaming

_STARTS_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(?:\{|\Z)")
_ANSWER = re.compile(r'"answer_md"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"[ \t]*\[{1,2}\s*e\d{1,4}(?:\s*[,;]\s*e\d{1,4})*\s*\]{1,2}")
_UNFINISHED = re.compile(r"(?:\[{1,2}[^\[\]\n]{0,60}\]?|[ \t`<]+|<[a-z]{0,9})\Z", re.IGNORECASE)
_UNFINISHED_CHARS = 64


@dataclass(slots=True)
class StreamBuffer:
    """An answer as it comes. `text` is all of it so far, `shown` what of it may be seen."""

    form: str = ""
    text: str = ""
    shown: str = ""

    def add(self, piece: str) -> str:
        """What may be seen beyond what was shown before."""
        self.text += piece
        now = visible_text(self.text, self.form)
        if not now.startswith(self.shown):
            return ""
        fresh, self.shown = now[len(self.shown) :], now
        return fresh


def visible_text(text: str, form: str = "") -> str:
    """The part of an unfinished answer that may be shown. `form` is the format of its calls."""
    return _finished(_MARK.sub("", _said(text, form)))


def said_so_far(text: str, form: str = "") -> str:
    """The same with its citation marks, for the checks of an answer that broke off."""
    return _finished(_said(text, form))


def _said(text: str, form: str) -> str:
    said = _THINKING.sub("", text)
    if _STARTS_OBJECT.match(said):
        found = _ANSWER.search(said)
        return decoded(found[1]) if found else ""
    return streaming.shown(said, form) if form else said


def _finished(said: str) -> str:
    """Without what may yet become a mark or markup. Only the end is looked at: this runs for each token."""
    end = min(len(said.rstrip(" \t`<")), max(0, len(said) - _UNFINISHED_CHARS))
    return (said[:end] + _UNFINISHED.sub("", said[end:])).strip()
