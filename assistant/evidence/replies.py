"""What a model wrote, read with tolerance: JSON as asked, JSON in wrapping, or plain text.

Models that cannot be held to a schema put fences or a sentence around the object, stop in the
middle of it, or answer in plain text with the same ``[[e3]]`` marks. Nothing here is believed yet:
ids and quotes are checked afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from assistant.core.texts import ends_thought, without_thinking
from assistant.formats import parsing
from engines.chat.protocol import ModelMalformed

MAX_ANSWER_CHARS = 20_000

Quote = tuple[str, str]  # (entry id, quoted words)
_FENCE = re.compile(r"\A```(?:json|markdown|md|text)?\s*\n(.*?)\n?\s*```\Z", re.DOTALL | re.IGNORECASE)
"""Around all of an answer; one of code is a part of it."""
_UNREADABLE = re.compile(r'"answer_md"\s*:\s*"(.*?)(?:"\s*(?:,\s*"\w+"\s*:|\}\s*\Z|\Z)|\Z)', re.DOTALL)
_BARE_QUOTE = re.compile(r'((?<!\\)(?:\\\\)*)"')
_ESCAPE_BEGUN = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<begun>(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\u[0-9a-fA-F]{0,3})?)\Z"
)
_NO_PROSE = re.compile(r"\s*(?:\{\s*[\"}]|\{\s*\Z|\[\s*(?:\{\s*[\"}]|\]\s*\Z))")
"""JSON that is none of the answers that were asked for."""
_ID = re.compile(r"\s*\[*\s*e?(\d{1,4})\s*\]*\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer's Markdown and the quotes given for it, as the model wrote them."""

    answer_md: str
    quotes: tuple[Quote, ...]


def read_reply(text: str) -> Reply:
    """The reply in a completion's text. Raises `ModelMalformed` when there is no answer in it."""
    said = _FENCE.sub(r"\1", without_thinking(text)).strip()
    reply = _structured(said) or _salvaged(said) or Reply(said, ())
    if not reply.answer_md.strip() or _NO_PROSE.match(reply.answer_md):
        raise ModelMalformed("the model's answer holds no text")
    return Reply(reply.answer_md.strip()[:MAX_ANSWER_CHARS], reply.quotes)


def is_whole(text: str) -> bool:
    """Whether the object that was asked for is there to its end."""
    return _structured(text) is not None


def is_object(text: str) -> bool:
    """Whether a text is that object, and not only has it: nothing in it is a call."""
    return bool(_STARTS_OBJECT.match(text)) and is_whole(text)


def has_answer(text: str) -> bool:
    """Whether a completion's text holds an answer."""
    with suppress(ModelMalformed):
        return bool(read_reply(text))
    return False


def _structured(text: str) -> Reply | None:
    for found in _objects(text):
        answer = found.get("answer_md", found.get("answer"))
        if isinstance(answer, list):
            answer = "\n".join(str(part) for part in answer)
        if isinstance(answer, str):
            return Reply(answer, tuple(_quotes(found.get("evidence"))))
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects that stand in a text, the outermost at each place."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(50):  # a text full of braces is no reason to try them all
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _salvaged(text: str) -> Reply | None:
    """The answer of an object that was not finished, or that quotes words without escaping the quotes."""
    found = _UNREADABLE.search(text)
    said = decoded(_BARE_QUOTE.sub(r"\1\"", found[1])) if found else ""
    return Reply(said, ()) if said else None


def decoded(escaped: str) -> str:
    """The text of a JSON string that may end in the middle of ``\\u1234`` or of a surrogate pair; '' for
    what is none.
    """
    begun = _ESCAPE_BEGUN.search(escaped)
    escaped = escaped[: begun.start("begun")] if begun else escaped
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except json.JSONDecodeError:
        return ""


def _quotes(evidence: Any) -> Iterator[Quote]:
    """Pairs out of ``[{id, quote}]``, or the ``{id: quote}`` and ``[id]`` that some models write."""
    if isinstance(evidence, dict):
        evidence = [{"id": key, "quote": value} for key, value in evidence.items()]
    for item in evidence if isinstance(evidence, list) else ():
        given = item if isinstance(item, dict) else {"id": item}
        number = _ID.fullmatch(str(given.get("id", "")))
        quote = given.get("quote", "")
        if number:
            yield f"e{int(number[1])}", quote.strip() if isinstance(quote, str) else ""


# ---- visible
# What of a growing answer may be shown: the words of its `answer_md`, or prose, never markup of a call.
#
# What was shown once stays the beginning of what is shown later, so that only the rest has to be sent.
# Citation marks are left out: they mean something only once they are checked and numbered.

_STARTS_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(?:\{|\Z)")
_ANSWER = re.compile(r'"answer_md"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)

_MARK = re.compile(r"[ \t]*\[{1,2}\s*e\d{1,4}(?:\s*[,;]\s*e\d{1,4})*\s*\]{1,2}")
_UNFINISHED = re.compile(r"(?:\[{1,2}[^\[\]\n]{0,60}\]?|[ \t`<]+|<[a-z]{0,9})\Z", re.IGNORECASE)
_UNFINISHED_CHARS = 64

_WINDOW_CHARS = 1_000
_CUT = re.compile(r"[^<\[`{\\]{32}(?<![A-Za-z])(?=\w)")
"""Where an answer may be read on alone: before a word that stands far behind whatever is, or may become,
markup, a mark or an escape. No Latin word is cut: ``Action`` is a marker.
"""
_MORE = "\ue000"
"""Stands for what follows a text: a sign of private use that no answer is made of."""
_HEAD = '{"answer_md":"'
_THOUGHT_BEGUN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = "</think"


@dataclass(slots=True)
class StreamBuffer:
    """An answer as it comes. `text` is all of it so far, `shown` what of it may be seen, as part `part`.

    Each piece costs the reading of the answer's end only: of what stands before it, `_settled` characters,
    is seen what was seen once.
    """

    part: int = 1
    text: str = ""
    shown: str = ""
    _settled: int = 0
    _before: str = ""
    _head: str = ""
    _settle_at: int = _WINDOW_CHARS
    _has_thought: bool = False

    def add(self, piece: str) -> str:
        """What may be seen beyond what was shown before; a part of its own where that turns out a thought."""
        end_of_text = self.text[-len(_THOUGHT_END) :] + piece
        self.text += piece
        if _THOUGHT_END in end_of_text.lower():
            self._settled, self._before, self._head, self._has_thought = 0, "", "", True
        elif not self._has_thought and _THOUGHT_BEGUN.match(self.text):
            return ""
        window = self._head + self.text[self._settled :]
        now = self._before + visible_text(window)
        if not now.startswith(self.shown):
            if not ends_thought(self.text):
                return ""
            self.part, self.shown = self.part + 1, ""
        fresh, self.shown = now[len(self.shown) :], now
        if len(self.text) > self._settle_at:
            self._settle(window)
        return fresh

    def _settle(self, window: str) -> None:
        """Take for good what stands before the last place where the rest can be read alone."""
        self._settle_at = len(self.text) + _WINDOW_CHARS
        ends = [found.end() for found in _CUT.finditer(window)]
        if not ends or _THOUGHT_END in window[ends[-1] :].lower():
            return
        first = window[: ends[-1]]
        seen = visible_text(first + _MORE)
        said = without_thinking(first)
        is_object = bool(_STARTS_OBJECT.match(said))
        if seen.endswith(_MORE) and (is_object or parsing.is_prose_behind(said)):
            self._before += seen.removesuffix(_MORE)
            self._settled += len(first) - len(self._head)
            self._head = _HEAD if is_object else ""


def visible_text(text: str) -> str:
    """The part of an unfinished answer that may be shown."""
    return _finished(_MARK.sub("", _said(text)))


def said_so_far(text: str) -> str:
    """The same with its citation marks, for the checks of an answer that broke off."""
    return _finished(_said(text))


def _said(text: str) -> str:
    said = without_thinking(text)
    if _STARTS_OBJECT.match(said):
        found = _ANSWER.search(said)
        return decoded(found[1]) if found else ""
    return parsing.certain_prose(said)


def _finished(said: str) -> str:
    """Without what may yet become a mark or markup. Only the end is looked at: this runs for each token."""
    end = min(len(said.rstrip(" \t`<")), max(0, len(said) - _UNFINISHED_CHARS))
    return (said[:end] + _UNFINISHED.sub("", said[end:])).strip()
