"""The context pack: what earlier chats came to, as a few bullets (R1.9 to R1.20, R1.46 to R1.49).

A pure function of what was loaded. Sections stand in one order and have caps of their own beside the
total. Lines are whole or cut with ``[truncated]``, which counts towards the cap; by its hash, a line that
stands there already is not told again. Packs of earlier questions need no such care: a pack is never part
of the transcript, and for the Responses protocol an instruction, which holds for one answer only. What is
left out is kept with its reason, so that a person can see why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assistant.core.neutral import neutralized
from assistant.core.redaction import redacted
from assistant.core.texts import estimate_tokens
from store.memory.chat_digests import Line

SectionName = Literal["recent", "history", "topic"]
TRUNCATED = "[truncated]"
RECENT_TITLE = "Recent context"
HISTORY_TITLE = "Long-term history"
_MIN_LINE_CHARS = 40


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may be told, with its score and why it has it."""

    line: Line
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a pack is made from; each list in the order in which it is told."""

    recent: tuple[Candidate, ...] = ()
    history: tuple[Candidate, ...] = ()
    topic: tuple[Candidate, ...] = ()
    topic_title: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps in characters, the marker and the titles included; `tokens` None for no bound."""

    total: int
    recent: int
    history: int
    topic: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the pack. `is_cut` when only its beginning is told."""

    section: SectionName
    text: str
    sessions: tuple[int, ...]
    score: float
    why: str
    hash: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class OmittedLine:
    """A line that was not told, and why."""

    section: SectionName
    text: str
    sessions: tuple[int, ...]
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Pack:
    """`text` is '' where there is nothing to tell; `hash` names the text."""

    text: str
    parts: tuple[Part, ...]
    left_out: tuple[OmittedLine, ...]

    @property
    def hash(self) -> str:
        return hash_of(self.text) if self.text else ""

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)

    @property
    def sessions(self) -> tuple[int, ...]:
        """Every session that the text rests on."""
        return tuple(sorted({session for part in self.parts for session in part.sessions}))


def hash_of(text: str) -> str:
    """Names a text; the same for the same text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def build(loaded: Loaded, limits: Limits) -> Pack:
    """The pack within its limits."""
    pack = _built(loaded, limits)
    while limits.tokens is not None and pack.text and pack.tokens > limits.tokens:
        # Each round is smaller, since the text is larger than its share.
        smaller = min(len(pack.text) - 1, len(pack.text) * limits.tokens // pack.tokens)
        pack = _built(loaded, replace(limits, total=smaller))
    return pack


def _built(loaded: Loaded, limits: Limits) -> Pack:
    sections: tuple[tuple[SectionName, str, Sequence[Candidate], int], ...] = (
        ("recent", RECENT_TITLE, loaded.recent, limits.recent),
        ("history", HISTORY_TITLE, loaded.history, limits.history),
        ("topic", f"Topic: {_plain(loaded.topic_title)}", loaded.topic, limits.topic),
    )
    told: set[str] = set()
    texts: list[str] = []
    parts: list[Part] = []
    left_out: list[OmittedLine] = []
    for name, title, candidates, cap in sections:
        room = limits.total - len("\n\n".join(texts)) - (2 if texts else 0)
        full = f"over the cap of {cap} characters" if cap <= room else "over what room was left"
        section = _section(name, title, candidates, min(cap, room), told, full)
        left_out += section.left_out
        if section.parts:
            texts.append(section.text)
            parts += section.parts
    return Pack("\n\n".join(texts), tuple(parts), tuple(left_out))


@dataclass(frozen=True, slots=True)
class _Section:
    text: str
    parts: list[Part]
    left_out: list[OmittedLine]


def _section(
    name: SectionName, title: str, candidates: Sequence[Candidate], cap: int, told: set[str], full: str
) -> _Section:
    """One section of at most `cap` characters; adds the hashes of its lines to `told`. `full` says why one is
    left out that does not fit.
    """
    lines, parts, left_out = [f"[{title}]"], [], []
    size = len(lines[0])
    is_full = False
    for at, each in enumerate(candidates):
        text = _plain(each.line.text)
        key = hash_of(text)
        if key in told or not text:
            left_out.append(_left(name, each, "told already" if text else "it says nothing"))
            continue
        # A line that is not the last one leaves room for the marker.
        reserve = 0 if at == len(candidates) - 1 else len(TRUNCATED) + 1
        room = cap - size - reserve - len("\n- ")
        if is_full or (len(text) > room and not _can_cut(cap - size)):
            is_full = True
            left_out.append(_left(name, each, full))
            continue
        is_cut = len(text) > room
        if is_cut:
            text = text[: cap - size - len("\n- …\n") - len(TRUNCATED)].rstrip() + "…"
            is_full = True
        told.add(key)
        lines.append(f"- {text}")
        size += len(text) + len("\n- ")
        parts.append(Part(name, text, each.line.sessions, each.score, each.why, key, is_cut))
    if is_full and parts:
        lines.append(TRUNCATED)
    return _Section("\n".join(lines), parts, left_out)


def _can_cut(room: int) -> bool:
    """Whether the beginning of a line with the marker under it is worth telling."""
    return room - len("\n- …\n") - len(TRUNCATED) >= _MIN_LINE_CHARS


def _left(section: SectionName, each: Candidate, reason: str) -> OmittedLine:
    return OmittedLine(section, _plain(each.line.text), each.line.sessions, each.score, reason)


def _plain(text: str) -> str:
    """One line without secrets and without what a model's template would read as its own."""
    return " ".join(neutralized(redacted(text)).replace("[", "(").replace("]", ")").split())
