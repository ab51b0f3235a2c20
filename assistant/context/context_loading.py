"""What a context pack is made from, out of the store, and what is kept of how it was made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from assistant.context import context_ranking, digests, keywords, topics
from assistant.context.packs import Candidate, Limits, Loaded, Pack
from assistant.context.session_closing import ContextServices
from assistant.context.topics import Topic
from assistant.core.prompt_blocks import BACKGROUND_ROOM
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Line
from store.memory.chat_sessions import ChatSession


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


def loaded(
    deps: ContextServices, session: ChatSession, topic: Topic | None, asking: ContextRequest, now_ms: int
) -> Loaded:
    """What there is to tell: the nearest recent chats, the time before them, and the topic."""
    database, settings = deps.database, deps.settings
    since_ms = now_ms - settings.recent_days * digests.DAY_MS
    meaning = deps.embed(asking.message)
    words = keywords.keyword_candidates(asking.message) + ((topic.tag,) if topic else ())
    candidates = chat_digests.candidates(database, since_ms, meaning["vector_model"], session.id)
    # Tags stand in for vectors that are missing.
    by_meaning = meaning["query_vector"] is not None and candidates.have_vectors
    best = context_ranking.ranked(
        candidates,
        meaning["query_vector"],
        {} if by_meaning else chat_digests.tagged(database, words, since_ms),
        now_ms=now_ms,
        half_life_days=settings.recency_half_life_days,
        top_k=settings.summary_top_k,
    )
    found = chat_summaries.get(database, [each.session_id for each in best])
    recent = tuple(
        Candidate(digests.line_of(found[each.session_id]), each.score, each.why)
        for each in best
        if each.session_id in found
    )
    history = digests.history(database, settings.recent_days, now_ms).lines
    about = topics.digest(database, topic, settings, now_ms) if topic else ()
    # What is told of as a recent chat is not told of again, and this chat the model reads itself.
    told = {session_id for each in recent for session_id in each.line.sessions} | {session.id}
    if session.chat_id is not None:
        told |= chat_sessions.ids_of_chat(database, session.chat_id)
    return Loaded(
        recent,
        _candidates(history, "before the recent days"),
        _candidates([each for each in about if not set(each.sessions) & told], "about the topic"),
        topic.title if topic else "",
    )


def _candidates(lines: Collection[Line], why: str) -> tuple[Candidate, ...]:
    return tuple(Candidate(line, 1.0, why) for line in lines)


def limits(deps: ContextServices, asking: ContextRequest) -> Limits:
    """The caps, and for a small window the share of the prompt (C20)."""
    settings = deps.settings
    bound = None
    if asking.window_tokens <= settings.small_model_tokens:
        share = min(settings.small_model_share, 0.9)
        bound = int(asking.prompt_tokens * share / (1 - share))
    total = min(settings.pack_max_chars, BACKGROUND_ROOM)
    return Limits(
        total, settings.recent_max_chars, settings.history_max_chars, settings.topic_max_chars, bound
    )


def record(pack: Pack, topic: Topic | None) -> dict[str, Any]:
    """Why each part was taken and what was left out, as it is kept with the turn (R1.42)."""
    return {
        "topic": topic.to_json() if topic else None,
        "parts": [
            {
                "section": part.section, "text": part.text, "sessions": list(part.sessions),
                "score": part.score, "why": part.why, "hash": part.hash, "is_cut": part.is_cut,
            }
            for part in pack.parts
        ],
        "left_out": [
            {
                "section": each.section, "text": each.text, "sessions": list(each.sessions),
                "score": each.score, "reason": each.reason,
            }
            for each in pack.left_out
        ],
    }  # fmt: skip
