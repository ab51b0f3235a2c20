"""The context pack: what earlier chats came to, as a few bullets.

A pure function of what was loaded. Sections stand in one order and have caps of their own beside the
total. Lines are whole or cut with ``[truncated]``, which counts towards the cap; by its hash, a line that
stands there already is not told again. Packs of earlier questions need no such care: a pack is never part
of the transcript. What is left out is kept with its reason, so that a person can see why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from assistant.context import relevance, session_summary, topics
from assistant.context.relevance import Said
from assistant.context.session_closing import ContextServices
from assistant.context.topics import Topic
from assistant.core.prompt_blocks import BACKGROUND_ROOM
from assistant.core.texts import estimate_tokens, neutralized, redacted
from store.core.translation import N_
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_sessions import ChatSession
from store.memory.chat_summaries import ChatSummary

SectionName = Literal["recent", "history", "topic"]
_SECTIONS: tuple[SectionName, ...] = ("recent", "history", "topic")
TRUNCATED = "[truncated]"
_MARKER_CHARS = len(TRUNCATED) + 1
_MIN_LINE_CHARS = 40
# Each section has the room of some lines, and together hardly more than a pack may have.
_CAPS = (1_300, 900, 700)
# In a small window background takes at most this share of the prompt: the screen comes first.
_SMALL_WINDOW_TOKENS, _SMALL_WINDOW_SHARE = 8_192, 0.3
# Two weeks: what was yesterday comes before what was like it a month ago.
_HALF_LIFE_DAYS = 14.0
# More recent chats than this do not fit into their section.
TOP_K = 8
_OVER_CAP = N_("over the cap of its section")


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A question as far as its background is concerned. `prompt_tokens` is about what else is sent.

    `withheld` says why the model is told nothing, whatever there is; '' where it may be told.
    """

    message: str
    chat_id: int | None = None
    session_id: int | None = None
    version: str = ""
    withheld: str = ""
    prompt_tokens: int = 0
    window_tokens: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """One line that may be told, its `score` and `why` it has that. `is_cut`: only its beginning is told;
    `reason`: why nothing of it is.
    """

    section: SectionName
    text: str
    sessions: tuple[int, ...]
    score: float
    why: str
    hash: str  # of the whole line
    is_cut: bool = False
    reason: str = ""


class Section(NamedTuple):
    """Lines in the order in which they are told. `cap` is in characters, title and marker included; there was
    no room in it for what is `left`.
    """

    title: str
    parts: Sequence[Part]
    cap: int
    left: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """`text` is '' where there is nothing to tell; `hash` names the text."""

    text: str
    parts: tuple[Part, ...]
    left_out: tuple[Part, ...]

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


def build(sections: Sequence[Section], max_chars: int, max_tokens: int | None = None) -> Pack:
    """The pack of at most so many characters and tokens; None for no bound."""
    pack = Pack("", (), ())
    for section in sections:
        room = max_chars - len(pack.text) - (2 if pack.text else 0)
        made = _section(section, room, {part.hash for part in pack.parts})
        text = "\n\n".join(filter(None, (pack.text, made.text)))
        pack = Pack(text, pack.parts + made.parts, pack.left_out + made.left_out)
    if max_tokens is None or not pack.text or pack.tokens <= max_tokens:
        return pack
    # Each round is smaller, since the text is larger than its share.
    smaller = min(len(pack.text) - 1, len(pack.text) * max_tokens // pack.tokens)
    return build(sections, smaller, max_tokens)


def _section(section: Section, room: int, told: set[str]) -> Pack:
    """One section within its cap and the `room` that is left; text is '' without a line that fits.

    A line whose hash is among those `told` is not told again.
    """
    lines, parts = [f"[{section.title}]"], list[Part]()
    left_out = [replace(part, reason=_OVER_CAP) for part in section.left]
    cap, size, full = min(section.cap, room), len(lines[0]), ""
    for at, part in enumerate(section.parts):
        # A line that is not the last one leaves room for the marker.
        is_last = at == len(section.parts) - 1 and not section.left
        reserve = 0 if is_last else _MARKER_CHARS
        is_cut = len(part.text) > cap - size - reserve - len("\n- ")
        room_for_cut = cap - size - len("\n- …") - _MARKER_CHARS
        if not part.text or part.hash in told:
            left_out.append(replace(part, reason=N_("given already") if part.text else N_("it says nothing")))
            continue
        if full or (is_cut and room_for_cut < _MIN_LINE_CHARS):
            full = full or _which_bound(section.cap, room)
            left_out.append(replace(part, reason=full))
            continue
        told.add(part.hash)
        if is_cut:
            full = _which_bound(section.cap, room)
            part = replace(part, text=part.text[:room_for_cut].rstrip() + "…", is_cut=True)
        lines.append(f"- {part.text}")
        size += len(part.text) + len("\n- ")
        parts.append(part)
    text = "\n".join([*lines, *([TRUNCATED] if full or section.left else [])]) if parts else ""
    return Pack(text, tuple(parts), tuple(left_out))


def _which_bound(cap: int, room: int) -> str:
    return _OVER_CAP if cap <= room else N_("over what room was left")


def safe_line(text: str) -> str:
    """One line without secrets and without what a model's template would read as its own."""
    return " ".join(neutralized(redacted(text)).replace("[", "(").replace("]", ")").split())


# -- what a pack is made from -----------------------------------------------------------------
#
# Which chats bear on the question is `assistant.context.relevance`; recency halves every half-life. Of these
# the sentences that say most are told, chat by chat, until a section or the room of all is full: a pack that
# is cut afterwards loses its oldest chat, whatever that says.

_DAY_MS = 86_400_000
_SUBJECT_CHARS = 60
_JOINT = " · "


def loaded(
    services: ContextServices,
    session: ChatSession,
    topic: Topic | None,
    question: str,
    now_ms: int,
    max_chars: int,
    max_tokens: int | None,
) -> list[Section]:
    """What there is to tell in that room: of recent chats, of those before, and what else of the topic."""
    meaning, database = services.embed(question), services.database
    if topic:
        topics.digest(database, topic.tag, topic.title, topic.score, now_ms)
    candidates = chat_digests.candidates(database, meaning.model, session.id)
    found = relevance.related(database, candidates, question, meaning.vector)
    summaries = chat_summaries.get(database, list(found))
    days = {number: max(0, now_ms - each.ended_ms) / _DAY_MS for number, each in summaries.items()}
    score = {number: found[number][0] * 0.5 ** (days[number] / _HALF_LIFE_DAYS) for number in days}
    best = sorted(score, key=lambda number: -score[number])[:TOP_K]
    said = [each for number in best for each in session_summary.sentences(summaries[number])]
    old = {number for number in best if now_ms - summaries[number].ended_ms > topics.RECENT_MS}
    ranked, whole = relevance.ranked(said, question, score), "".join(each.text for each in said)
    if max_tokens is not None and whole:
        max_chars = min(max_chars, max_tokens * len(whole) // estimate_tokens(whole))
    titles = ("Recent context", "Long-term history", f"Topic: {safe_line(topic.title)}" if topic else "")
    begins = {number: len("\n- " + _part("recent", summaries[number], (), 0.0, "").text) for number in best}
    chosen, left = _chosen(ranked, old, titles, begins, max_chars - _MARKER_CHARS)

    def parts(name: SectionName, told: Sequence[Said]) -> list[Part]:
        of_chats = {each.session_id for each in told}
        newest = sorted(of_chats, key=lambda number: -summaries[number].ended_ms)
        return [_part(name, summaries[n], told, score[n], found[n][1]) for n in newest]

    recent, history, topical = (parts(name, chosen[name]) for name in _SECTIONS)
    return list(map(Section, titles, (recent, history, topical), _CAPS, (parts("recent", left), (), ())))


def _chosen(
    ranked: Sequence[Said], old: Collection[int], titles: Sequence[str], begins: Mapping[int, int], room: int
) -> tuple[dict[SectionName, list[Said]], list[Said]]:
    """The sentences that each section and the `room` of all hold, the best first, and those that none has.

    `begins` is how long a chat's line is before the first of its sentences.
    """
    rooms = {name: cap - _MARKER_CHARS for name, cap in zip(_SECTIONS, _CAPS, strict=True)}
    heads = {name: len(f"[{title}]\n\n") for name, title in zip(_SECTIONS, titles, strict=True) if title}
    chosen: dict[SectionName, list[Said]] = {name: [] for name in _SECTIONS}
    left = []
    for said in ranked:
        for name in _SECTIONS[1:2] if said.session_id in old else _SECTIONS[::2]:
            is_begun = any(each.session_id == said.session_id for each in chosen[name])
            needed = len(said.text) + len(_JOINT) + (0 if is_begun else begins[said.session_id])
            needed += 0 if chosen[name] else heads.get(name, room)
            if needed <= min(rooms[name], room):
                rooms[name] -= needed
                room -= needed
                chosen[name].append(said)
                break
        else:
            left.append(said)
    return chosen, left


def _part(name: SectionName, summary: ChatSummary, chosen: Sequence[Said], score: float, why: str) -> Part:
    """A chat as one line: its day, what it began with, and the sentences of it that were chosen."""
    own = sorted(
        (said for said in chosen if said.session_id == summary.session_id), key=lambda said: said.place
    )
    said = session_summary.under_subject(summary, _JOINT.join(each.text for each in own), _SUBJECT_CHARS)
    text = safe_line(f"{session_summary.day_of(summary)}: {said}")
    return Part(name, text, (summary.session_id,), round(score, 4), why, hash_of(text))


def limits(services: ContextServices, asking: ContextRequest) -> tuple[int, int | None]:
    """How many characters a pack may have, and how many tokens: in a small window a share of the prompt."""
    tokens = None
    if asking.window_tokens <= _SMALL_WINDOW_TOKENS:
        tokens = int(asking.prompt_tokens * _SMALL_WINDOW_SHARE / (1 - _SMALL_WINDOW_SHARE))
    most = chat_sessions.pack_chars(services.database, services.settings.pack_max_chars)
    return min(most, BACKGROUND_ROOM), tokens


def record(pack: Pack, topic: Topic | None) -> dict[str, Any]:
    """Why each part was taken and what was left out, as it is kept with the turn."""
    return {
        "topic": topic.to_json() if topic else None,
        "parts": [_kept(part, "why", "hash", "is_cut") for part in pack.parts],
        "left_out": [_kept(part, "reason") for part in pack.left_out],
    }


def _kept(part: Part, *more: str) -> dict[str, Any]:
    return {name: getattr(part, name) for name in ("section", "text", "sessions", "score", *more)}
