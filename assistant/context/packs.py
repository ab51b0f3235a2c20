"""The context pack: what earlier chats came to, as a few bullets.

Which chats bear on the question is `assistant.context.relevance`; recency halves every half-life. Of these
the sentences that say most are told, as far as each section and the whole have room: a pack that is cut
afterwards would lose its oldest chat, whatever that says. Packs of earlier questions need no care: a pack is
never part of the transcript. What is left out is kept with its reason, so that a person can see why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assistant.context import relevance, session_summary, topics
from assistant.context.relevance import Said
from assistant.context.session_closing import ContextServices
from assistant.context.topics import Topic
from assistant.core.texts import estimate_tokens, neutralized, redacted
from assistant.language.questions import without_settling
from store.core.translation import N_
from store.memory import chat_digests, chat_summaries
from store.memory.chat_sessions import ChatSession
from store.memory.chat_summaries import ChatSummary
from store.memory.context_packs import StoredPack

SectionName = Literal["recent", "history", "topic"]
# Each section has the room of some lines, and together hardly more than a pack may have.
_CAPS: Mapping[SectionName, int] = {"recent": 1_300, "history": 1_300, "topic": 700}
TRUNCATED = "[truncated]"
# Two weeks: what was yesterday comes before what was like it a month ago.
_HALF_LIFE_DAYS = 14.0
# What more chats say has no room beside what the best of them do.
TOP_K = 5
_OVER_CAP = N_("over the cap of its section")
_DAY_MS = 86_400_000
_SUBJECT_CHARS = 60


_Place = tuple[SectionName, int]
"""A section, and the session of a chat in it."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat that bears on a question, how much and by what, and the sections it may be told in."""

    summary: ChatSummary
    score: float
    why: str
    sections: tuple[SectionName, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What is told of one chat, or, with a `reason`, what there was no room for."""

    section: SectionName
    text: str
    sessions: tuple[int, ...]
    score: float
    why: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pack:
    """`text` is '' where there is nothing to tell."""

    text: str
    parts: tuple[Part, ...] = ()
    left_out: tuple[Part, ...] = ()

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


def build(
    services: ContextServices,
    session: ChatSession,
    topic: Topic | None,
    question: str,
    now_ms: int,
    max_chars: int,
    max_tokens: int | None,
) -> StoredPack:
    """The pack of a question, of at most so many characters and tokens; of no turn yet."""
    database, embed = services.database, services.embed_soon or services.embed
    meaning = embed(without_settling(question))
    if topic:
        topics.digest(database, topic.tag, topic.title, topic.score, now_ms)
    candidates = chat_digests.candidates(database, meaning.model, session.id)
    found = relevance.related(database, candidates, question, meaning.vector)
    chats = []
    for summary in chat_summaries.get(database, list(found)).values():
        bears, why = found[summary.session_id]
        age_ms = max(0, now_ms - summary.ended_ms)
        sections: tuple[SectionName, ...] = ("recent", "topic") if topic else ("recent",)
        sections = ("history",) if age_ms > topics.RECENT_MS else sections
        chats.append(Chat(summary, bears * 0.5 ** (age_ms / _DAY_MS / _HALF_LIFE_DAYS), why, sections))
    chats = sorted(chats, key=lambda chat: -chat.score)[:TOP_K]
    said = [each for chat in chats for each in session_summary.sentences(chat.summary)]
    ranked = relevance.ranked(said, question, {chat.summary.session_id: chat.score for chat in chats})
    pack = fill(chats, ranked, topic.title if topic else "", max_chars)
    while max_tokens is not None and pack.tokens > max_tokens:  # each round is smaller
        max_chars = min(len(pack.text) - 1, len(pack.text) * max_tokens // pack.tokens)
        pack = fill(chats, ranked, topic.title if topic else "", max_chars)
    record = {
        "topic": topic.to_json() if topic else None,
        "parts": [_kept(part, "why") for part in pack.parts],
        "left_out": [_kept(part, "reason") for part in pack.left_out],
    }
    name = hashlib.sha256(pack.text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if pack.text else ""
    sessions = tuple(sorted({number for part in pack.parts for number in part.sessions}))
    return StoredPack(0, session.id, name, pack.text, record, sessions, pack.tokens, 0.0, now_ms)


def _kept(part: Part, more: str) -> dict[str, Any]:
    """As it is kept with the turn."""
    return {name: getattr(part, name) for name in ("section", "text", "sessions", "score", more)}


def fill(chats: Sequence[Chat], ranked: Sequence[Said], topic: str, max_chars: int) -> Pack:
    """The sentences that the sections and the whole have room for, the best first; of each chat one line, the
    newest first. The marker of what is left out counts towards the caps.
    """
    topic, newest = safe_line(topic), sorted(chats, key=lambda chat: -chat.summary.ended_ms)
    by_id = {chat.summary.session_id: chat for chat in newest}
    chosen: dict[_Place, list[Said]] = {}
    lines: dict[_Place, str] = {}
    left: dict[int, list[Said]] = {}
    for said in ranked:
        chat = by_id[said.session_id]
        for section in chat.sections:
            place = section, said.session_id
            own = [*chosen.get(place, ()), said]
            trial = {**lines, place: _line(chat, own)}
            if _fit(_sections(trial, by_id, topic), max_chars):
                chosen[place], lines = own, trial
                break
        else:
            left.setdefault(said.session_id, []).append(said)
    text = "\n\n".join(_sections(lines, by_id, topic).values())
    parts = [
        Part(section, lines[section, number], (number,), round(chat.score, 4), chat.why)
        for section in _CAPS
        for number, chat in by_id.items()
        if (section, number) in lines
    ]
    left_out = [
        Part(
            chat.sections[0], _line(chat, left[number]), (number,), round(chat.score, 4), chat.why, _OVER_CAP
        )
        for number, chat in by_id.items()
        if number in left
    ]
    return Pack(f"{text}\n{TRUNCATED}" if text and left else text, tuple(parts), tuple(left_out))


def _sections(lines: Mapping[_Place, str], chats: Iterable[int], topic: str) -> dict[SectionName, str]:
    """The text of each section that has a line of these chats, in their order."""
    titles = "Recent context", "Long-term history", f"Topic: {topic}"
    own = {name: [lines[name, number] for number in chats if (name, number) in lines] for name in _CAPS}
    return {
        name: "\n- ".join([f"[{title}]", *own[name]])
        for name, title in zip(_CAPS, titles, strict=True)
        if own[name]
    }


def _fit(sections: Mapping[SectionName, str], max_chars: int) -> bool:
    room = len(TRUNCATED) + 1
    is_within = all(len(text) + room <= _CAPS[name] for name, text in sections.items())
    return is_within and len("\n\n".join(sections.values())) + room <= max_chars


def _line(chat: Chat, said: Iterable[Said]) -> str:
    """A chat as one line: its day, what it began with, and these sentences of it."""
    told = session_summary.as_line(said, " · ")
    told = session_summary.under_subject(chat.summary, told, _SUBJECT_CHARS)
    return safe_line(f"{session_summary.day_of(chat.summary)}: {told}")


def safe_line(text: str) -> str:
    """One line without secrets and without what a model's template would read as its own."""
    return " ".join(neutralized(redacted(text)).replace("[", "(").replace("]", ")").split())
