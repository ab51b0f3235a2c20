"""From the model's marks to numbers: only entries of this turn can be cited (R3.20-R3.22, CHAT-1).

Marks become ``[1]``, ``[2]``, … by first use; marks that name no entry are removed and counted,
and so is whatever else stands in double brackets, such as a frame's number or ``[[e1-e9]]``.
The text is also rid of what only the server may write: numbers in brackets that look like
citations, links and pictures (R3.21, SEC-9).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_MARK = re.compile(
    r"""(?P<space>[ \t]*)
    [\[【]{1,2} \s* (?P<ids> e\d{1,4} (?: \s* [,;，、/]? \s* \[{0,2} \s* e\d{1,4} )* ) \s* [\]】]{1,2}""",
    re.IGNORECASE | re.VERBOSE,
)
_ID = re.compile(r"e(\d{1,4})", re.IGNORECASE)
_STRAY = re.compile(r"(?P<space>[ \t]*)(?<![\\\w])\[\[(?P<name>[^\[\]\n]{1,40})\]\]")
_NUMBER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
_LINK = re.compile(r"!?\[((?:[^\[\]\\]|\\.)*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+[^()]*)?\)")
_TARGET = re.compile(r"(\\.)|\]\((?:[^()\s]|\([^()]*\))*(?:\s+[^()]*)?\)")
_DEFINITION = re.compile(r"^(\s{0,3}(?:[-*+>]\s+)*(?:\[\d+\])+):", re.MULTILINE)
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*\S+.*$", re.MULTILINE)
_AUTOLINK = re.compile(r"<((?:[a-z][a-z0-9+.-]*:|www\.)[^<>\s]*)>", re.IGNORECASE)
_BEFORE_STOP = re.compile(r"[ \t]+(?=[.,;:!?。，；：！？](?:\s|$))")
_REPEATED = re.compile(r"(\[\d+\])(?:\s*\1)+")


@dataclass(frozen=True, slots=True)
class Numbered:
    """Markdown with ``[n]`` marks; ``order[n - 1]`` is the entry behind n."""

    answer_md: str
    order: tuple[str, ...]
    unknown: int


def number(answer_md: str, known: Collection[str], mentioned: Iterable[str], label: str) -> Numbered:
    """The answer with its citations numbered.

    `mentioned` are entries the model gave quotes for. Those without a mark in the text are listed
    at its end behind `label`, so that every number is visible in the text.
    """
    order: dict[str, int] = {}
    unknown: set[str] = set()

    def numbers(ids: Iterable[str]) -> str:
        for name in ids:
            if name in known:
                order.setdefault(name, len(order) + 1)
            else:
                unknown.add(name)
        return "".join(f"[{order[name]}]" for name in dict.fromkeys(ids) if name in order)

    def mark(found: re.Match[str]) -> str:
        marks = numbers([f"e{int(n)}" for n in _ID.findall(found["ids"])])
        return found["space"] + marks if marks else ""

    def stray(found: re.Match[str]) -> str:
        if _MARK.fullmatch(found[0]):
            return found[0]
        unknown.add(found["name"].strip())
        return ""

    # Numbers of the model's own making lose their brackets before ours get theirs.
    text = _NUMBER.sub(r"(\1)", _STRAY.sub(stray, _without_links(answer_md)))
    text = _BEFORE_STOP.sub("", _MARK.sub(mark, text))
    text = _REPEATED.sub(r"\1", text)
    # "[1]: text" at the start of a line would define a link.
    text = _DEFINITION.sub(r"\1 :", text).strip()
    unmarked = numbers([name for name in dict.fromkeys(mentioned) if name not in order])
    if unmarked:
        text = f"{text}\n\n{label} {unmarked}"
    return Numbered(text, tuple(order), len(unknown))


def _without_links(answer_md: str) -> str:
    """Without links and pictures: only the server writes addresses."""
    text = _REFERENCE.sub("", answer_md)
    # An escaped bracket ends no link: a quoted "[x](y)" stays as the screen showed it.
    text = _TARGET.sub(lambda found: found[1] or "]", _LINK.sub(r"\1", text))
    return _AUTOLINK.sub(r"\1", text)


def without_numbers(answer_md: str) -> str:
    """An earlier answer as history: its numbers mean nothing in another turn."""
    return re.sub(r"\s*(?<!\\)\[\d{1,3}\]", "", answer_md)
