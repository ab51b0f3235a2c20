"""The context pack: what earlier chats came to, as a few bullets.

A pure function of what was loaded. Sections stand in one order and have caps of their own beside the
total. Lines are whole or cut with ``[truncated]``, which counts towards the cap; by its hash, a line that
stands there already is not told again. Packs of earlier questions need no such care: a pack is never part
of the transcript, and for the Responses protocol an instruction, which holds for one answer only. What is
left out is kept with its reason, so that a person can see why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assistant.context import topics
from assistant.context.session_closing import ContextServices
from assistant.context.session_summary import line_of
from assistant.context.topics import Topic
from assistant.core.prompt_blocks import BACKGROUND_ROOM
from assistant.core.texts import estimate_tokens, neutralized, redacted
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Candidates, Line
from store.memory.chat_sessions import ChatSession

SectionName = Literal["recent", "history", "topic"]
TRUNCATED = "[truncated]"
_MIN_LINE_CHARS = 40
# Each section has the room of some lines, and together hardly more than a pack may have.
_RECENT_CHARS, _HISTORY_CHARS, _TOPIC_CHARS = 1_300, 900, 700
# In a small window background takes at most this share of the prompt: the screen comes first.
_SMALL_WINDOW_TOKENS, _SMALL_WINDOW_SHARE = 8_192, 0.3
# Two weeks: what was yesterday comes before what was like it a month ago.
_HALF_LIFE_DAYS = 14.0
# More recent chats than this do not fit into their section.
TOP_K = 8


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

    @classmethod
    def of(cls, section: SectionName, line: Line, why: str, score: float = 1.0) -> Part:
        text = _safe_line(line.text)
        return cls(section, text, line.sessions, score, why, hash_of(text))


class Section(NamedTuple):
    """Lines in the order in which they are told. `cap` is in characters, title and marker included."""

    title: str
    parts: Sequence[Part]
    cap: int


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
    lines, parts, left_out = [f"[{section.title}]"], list[Part](), list[Part]()
    cap, size, full = min(section.cap, room), len(lines[0]), ""
    for at, part in enumerate(section.parts):
        # A line that is not the last one leaves room for the marker.
        reserve = 0 if at == len(section.parts) - 1 else len(TRUNCATED) + 1
        is_cut = len(part.text) > cap - size - reserve - len("\n- ")
        room_for_cut = cap - size - len("\n- …\n") - len(TRUNCATED)
        if not part.text or part.hash in told:
            left_out.append(replace(part, reason="told already" if part.text else "it says nothing"))
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
    text = "\n".join([*lines, *([TRUNCATED] if full else [])]) if parts else ""
    return Pack(text, tuple(parts), tuple(left_out))


def _which_bound(cap: int, room: int) -> str:
    return f"over the cap of {cap} characters" if cap <= room else "over what room was left"


def _safe_line(text: str) -> str:
    """One line without secrets and without what a model's template would read as its own."""
    return " ".join(neutralized(redacted(text)).replace("[", "(").replace("]", ")").split())


# -- which recent chats are told of -----------------------------------------------------------
#
# Score = similarity × recency. Similarity is the cosine of the summary's vector and the question's; where one
# of the two has no vector, how much the session's tags are named. Recency halves every half-life.

ALWAYS_RECENT = 3
"""Chats that are told of however far from the question they are: what was just talked about goes on."""
MIN_SIMILARITY = 0.1
"""Below this a chat has nothing to do with the question."""
_DAY_MS = 86_400_000


def ranked(
    candidates: Candidates,
    query: npt.NDArray[np.floating] | None,
    tagged: Mapping[int, float],
    now_ms: int,
    top_k: int = TOP_K,
) -> dict[int, tuple[float, str]]:
    """The `top_k` best sessions, best first: the score of each, and what that is made of, in words."""
    if not candidates.ids:
        return {}
    cosine, has_vector = _cosines(candidates, query)
    words = np.array([min(tagged.get(session_id, 0.0), 1.0) for session_id in candidates.ids], np.float64)
    similarity = np.clip(np.where(has_vector, cosine, words), 0.0, 1.0)
    recency = 0.5 ** (np.maximum(now_ms - candidates.ended_ms, 0) / _DAY_MS / _HALF_LIFE_DAYS)
    # A floor, so that of what has nothing to do with the question the most recent comes first.
    score = np.maximum(similarity, 0.01) * recency
    is_near = similarity >= MIN_SIMILARITY
    is_near[:ALWAYS_RECENT] = True  # candidates come newest first
    order = [at for at in np.argsort(-score, kind="stable") if is_near[at]][:top_k]
    by = np.where(has_vector, "meaning", "tags")
    return {
        candidates.ids[at]: (
            round(float(score[at]), 4),
            f"{by[at]} {similarity[at]:.2f} × recency {recency[at]:.2f}",
        )
        for at in order
    }


def _cosines(
    candidates: Candidates, query: npt.NDArray[np.floating] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """(float64[n], which of them there are): a session without a vector, or a question without, has none."""
    if query is None or candidates.vectors is None or candidates.vectors.shape[1] != len(query):
        return np.zeros(len(candidates.ids)), np.zeros(len(candidates.ids), np.bool_)
    table = candidates.vectors.astype(np.float32)
    lengths = np.linalg.norm(table, axis=1)
    has_vector = lengths > 0
    lengths[~has_vector] = 1.0
    return np.asarray((table @ query.astype(np.float32)) / lengths, np.float64), has_vector


# -- what a pack is made from -----------------------------------------------------------------


def loaded(
    services: ContextServices, session: ChatSession, topic: Topic | None, asking: ContextRequest, now_ms: int
) -> list[Section]:
    """What there is to tell: the nearest recent chats, the time before them, and the topic."""
    database, since_ms = services.database, now_ms - topics.RECENT_MS
    meaning = services.embed(asking.message)
    vector = meaning.vector
    candidates = chat_digests.candidates(database, since_ms, meaning.model, session.id)
    tagged: Mapping[int, float] = {}
    if vector is None or not candidates.have_vectors:  # tags stand in for vectors that are missing
        words = topics.keyword_candidates(asking.message) + ((topic.tag,) if topic else ())
        tagged = chat_digests.tagged(database, words, since_ms)
    best = ranked(candidates, vector, tagged, now_ms)
    summaries = chat_summaries.get(database, list(best))
    # What is told of as a recent chat is not told of again, and this chat the model reads itself.
    told = {session.id, *summaries}
    if session.chat_id is not None:
        told |= chat_sessions.ids_of_chat(database, session.chat_id)
    recent = [(line_of(summary), *best[session_id]) for session_id, summary in summaries.items()]
    history = topics.history(database, now_ms).lines
    about = topics.digest(database, topic.tag, topic.title, topic.score, now_ms) if topic else ()
    return sections(
        [Part.of("recent", line, why, score) for line, score, why in recent],
        [Part.of("history", line, "before the recent days") for line in history],
        [Part.of("topic", line, "about the topic") for line in about if not set(line.sessions) & told],
        topic.title if topic else "",
    )


def sections(
    recent: Sequence[Part], history: Sequence[Part], topic: Sequence[Part], topic_title: str
) -> list[Section]:
    """The sections in their order."""
    return [
        Section("Recent context", recent, _RECENT_CHARS),
        Section("Long-term history", history, _HISTORY_CHARS),
        Section(f"Topic: {_safe_line(topic_title)}", topic, _TOPIC_CHARS),
    ]


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
