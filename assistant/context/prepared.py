"""What was prepared for a turn of earlier chats, and what is kept of it once the turn is there."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assistant.context.session_closing import FAULTS, ContextServices
from assistant.context.topics import Topic
from store.chats.conversations import StoredTurn
from store.memory import chat_sessions, context_packs
from store.memory.context_packs import StoredPack

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreparedContext:
    """`system_augmentation` is the pack, '' for none; `reason` says in words why it is as it is."""

    system_augmentation: str = ""
    topic: Topic | None = None
    reason: str = ""
    session_id: int | None = None
    hash: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    sessions: tuple[int, ...] = ()
    tokens: int = 0
    prompt_tokens: int = 0
    build_ms: float = 0.0
    is_new: bool = False
    """Whether the pack was made for this question, and not told before."""
    user_turns: int = 0
    has_failed: bool = False
    """Whether nothing was found out, so that nothing is to be kept of it."""


NO_CONTEXT = PreparedContext()


def note(deps: ContextServices, prepared: PreparedContext, turn: StoredTurn) -> None:
    """Keep what a turn was told, and that its window is in use. The answer does not depend on it."""
    if prepared.session_id is None:
        return
    now_ms = deps.clock()
    try:
        if chat_sessions.verbose_until_ms(deps.database, now_ms) is not None:
            log_verbosely(deps, prepared, turn)
        with deps.database.write() as connection:
            chat_sessions.use(connection, prepared.session_id, now_ms)
            if prepared.has_failed:
                return
            chat_sessions.put_note(connection, prepared.session_id, _changes(prepared, now_ms))
            context_packs.put(
                connection,
                StoredPack(
                    turn_id=turn.id,
                    session_id=prepared.session_id,
                    hash=prepared.hash,
                    text=prepared.system_augmentation,
                    record={**prepared.record, "reason": prepared.reason, "is_new": prepared.is_new},
                    session_ids=prepared.sessions,
                    tokens=prepared.tokens,
                    build_ms=prepared.build_ms,
                    created_ms=now_ms,
                ),
            )
            if random.random() < deps.settings.telemetry_sample:
                context_packs.sample(
                    connection, turn.id, prepared.tokens, prepared.prompt_tokens, prepared.build_ms, now_ms
                )
    except FAULTS as error:
        log.warning("what turn %d was told is not kept: %s", turn.id, type(error).__name__)


def log_verbosely(deps: ContextServices, prepared: PreparedContext, turn: StoredTurn) -> None:
    """What was told, in numbers and with the topic, for as long as the person wants that (R1.41, R1.43)."""
    log.info(
        "turn %d of chat %d, session %d: %d characters of background, topic %s",
        turn.n,
        turn.chat_id,
        prepared.session_id or 0,
        len(prepared.system_augmentation),
        prepared.topic.title if prepared.topic else "none",
    )


def _changes(prepared: PreparedContext, now_ms: int) -> dict[str, Any]:
    topic = prepared.topic
    changes: dict[str, Any] = {"topic": topic.to_json() if topic else None}
    if prepared.is_new and prepared.hash:
        changes |= {
            "last_context_hash": prepared.hash,
            "pack_ms": now_ms,
            "pack_turn": prepared.user_turns,
            "pack_topic": topic.tag if topic else None,
        }
    return changes
