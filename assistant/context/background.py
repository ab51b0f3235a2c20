"""What a turn tells its model of earlier chats, and what its window is about.

Whatever goes wrong here, the question is answered: `prepare` never raises, and gives an empty pack with the
reason instead. What takes too long is not waited for; what was told before is told again.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from assistant.context import packs, topics
from assistant.context.packs import ContextRequest
from assistant.context.session_closing import FAULTS, ContextServices, is_opted_out
from assistant.context.topics import Topic
from store.chats.records import StoredTurn
from store.memory import chat_digests, chat_sessions, context_packs
from store.memory.chat_sessions import ChatSession
from store.memory.context_packs import StoredPack

log = logging.getLogger(__name__)

T = TypeVar("T")
VERSION = "v2"
_LOOK_UP_S = 0.5
_MINUTE_MS = 60_000


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


def prepare(services: ContextServices, asking: ContextRequest) -> PreparedContext:
    """The topic and the pack of a question, within the time that it may take."""
    if why := _switched_off(services, asking):
        return PreparedContext(reason=why)
    began_s = time.perf_counter()
    try:
        budget_s = services.pace.build_budget_ms / 1_000
        return _within(lambda: _prepared(services, asking, began_s), budget_s, services)
    except TimeoutError:
        log.warning("background took too long; what was told before is told again")
        return _prepared_before(services, asking)
    except FAULTS as error:
        log.warning("no background: %s", type(error).__name__)
        reason = f"the store failed ({type(error).__name__})"
    except Exception as error:  # a defect here must not cost an answer
        log.exception("no background")
        reason = f"it failed ({type(error).__name__})"
    return PreparedContext(reason=reason, session_id=asking.session_id, has_failed=True)


def are_chats_told(services: ContextServices | None, chat_id: int | None = None) -> bool:
    """Whether a tool may tell of earlier chats: there are some, and the person switched nothing off."""
    if services is None or not services.settings.enabled or is_opted_out(services):
        return False
    try:
        if chat_sessions.is_off(services.database):
            return False
        if chat_id is not None and chat_sessions.is_without_context(services.database, chat_id):
            return False
        return chat_digests.are_any(services.database)
    except FAULTS as error:  # as with the pack: the question is answered without it
        log.warning("no tool over earlier chats: %s", type(error).__name__)
        return False


def _switched_off(services: ContextServices, asking: ContextRequest) -> str:
    """Why nothing is told, from what is known without the database."""
    if not services.settings.enabled:
        return "switched off in the settings (context.enabled)"
    if is_opted_out(services):
        return "switched off for this user (context.opt_out)"
    if asking.session_id is None:
        return "the question names no window"
    return "" if asking.version == VERSION else "the question does not ask for it (context_version)"


def _prepared(services: ContextServices, asking: ContextRequest, began_s: float) -> PreparedContext:
    database, pace, now_ms = services.database, services.pace, services.clock()
    assert asking.session_id is not None
    session = chat_sessions.get(database, asking.session_id)
    if session is None or session.chat_id not in (None, asking.chat_id):
        return PreparedContext(reason="there is no such window of this chat")
    if chat_sessions.is_off(database):
        return PreparedContext(reason="switched off by you", session_id=session.id)
    if asking.chat_id is not None and chat_sessions.is_without_context(database, asking.chat_id):
        return PreparedContext(reason="switched off for this chat", session_id=session.id)
    messages = [*chat_sessions.user_turns(database, session.id), asking.message]
    topic = topics.decide_topic(
        database, session.id, session.metadata, messages, now_ms, pace.refresh_cooldown_s
    )
    plain = PreparedContext(topic=topic, session_id=session.id, user_turns=len(messages))
    if asking.withheld:
        return replace(plain, reason=asking.withheld)
    if len(messages) < pace.min_user_turns:
        return replace(plain, reason=f"told from question {pace.min_user_turns} of a window on")
    kept = _pack_told_last(services, session, topic, len(messages), now_ms, asking)
    if kept is not None:
        return replace(plain, **kept)
    loaded = packs.loaded(services, session, topic, asking, now_ms)
    pack = packs.build(loaded, packs.limits(services, asking))
    took_ms = (time.perf_counter() - began_s) * 1_000
    return replace(
        plain,
        system_augmentation=pack.text,
        reason="made for this question" if pack.text else "there is nothing to tell yet",
        hash=pack.hash,
        record=packs.record(pack, topic),
        sessions=pack.sessions,
        tokens=pack.tokens,
        prompt_tokens=asking.prompt_tokens,
        build_ms=took_ms,
        is_new=True,
    )


def _pack_told_last(
    services: ContextServices,
    session: ChatSession,
    topic: Topic | None,
    turn: int,
    now_ms: int,
    asking: ContextRequest,
) -> dict[str, Any] | None:
    """The pack that was told last, where it is not due to be made anew; None where it is."""
    pace, kept = services.pace, session.metadata
    if "last_context_hash" not in kept or kept.get("pack_topic") != (topic.tag if topic else None):
        return None
    age_ms, turns = now_ms - kept["pack_ms"], turn - kept["pack_turn"]
    is_due = turns >= pace.refresh_turns or age_ms >= pace.refresh_minutes * _MINUTE_MS
    if is_due and age_ms >= pace.refresh_cooldown_s * 1_000:
        return None
    before = context_packs.by_hash(services.database, session.id, kept["last_context_hash"])
    limit = packs.limits(services, asking)
    if before is None or (limit.tokens is not None and before.tokens > limit.tokens):
        return None
    fields = _fields_of_pack(before, "told before in this window, not due yet")
    return fields | {"prompt_tokens": asking.prompt_tokens}


def _fields_of_pack(before: context_packs.StoredPack, reason: str) -> dict[str, Any]:
    return {
        "system_augmentation": before.text,
        "reason": reason,
        "hash": before.hash,
        "record": before.record,
        "sessions": before.session_ids,
        "tokens": before.tokens,
    }


def _prepared_before(services: ContextServices, asking: ContextRequest) -> PreparedContext:
    """What the window was told last, looked up in a moment or not at all."""

    def look_up() -> PreparedContext:
        assert asking.session_id is not None
        session = chat_sessions.get(services.database, asking.session_id)
        if session is None or session.chat_id not in (None, asking.chat_id):
            return PreparedContext(reason="there is no such window of this chat")
        topic = topics.topic_of_session(session.metadata)
        plain = PreparedContext(topic=topic, session_id=session.id, prompt_tokens=asking.prompt_tokens)
        pack_hash = session.metadata.get("last_context_hash", "")
        before = context_packs.by_hash(services.database, session.id, pack_hash) if pack_hash else None
        if before is None or asking.withheld:
            return replace(plain, reason="it took too long, and nothing was told before")
        why = "told before in this window; making it anew took too long"
        return replace(plain, **_fields_of_pack(before, why))

    try:
        return _within(look_up, _LOOK_UP_S, services)
    except (TimeoutError, *FAULTS):  # said already: the question is answered without it
        return PreparedContext(reason="it took too long", session_id=asking.session_id, has_failed=True)


def _within(work: Callable[[], T], timeout_s: float, services: ContextServices) -> T:
    """What `work` gives in a thread of its own, which is left to itself when the time is up.

    Raises `TimeoutError`, and what it raises.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # handed to the waiting thread, whatever it is
            failure.append(error)
        finally:
            services.database.close_thread()

    thread = threading.Thread(target=run, name="background", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError
    return outcome[0]


# -- what is kept once the turn is there ------------------------------------------------------


def note(services: ContextServices, prepared: PreparedContext, turn: StoredTurn) -> None:
    """Keep what a turn was told, and that its window is in use. The answer does not depend on it."""
    if prepared.session_id is None:
        return
    now_ms = services.clock()
    try:
        if chat_sessions.verbose_until_ms(services.database, now_ms) is not None:
            log_verbosely(services, prepared, turn)
        with services.database.write() as connection:
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
            if random.random() < services.pace.telemetry_sample:
                context_packs.sample(
                    connection, turn.id, prepared.tokens, prepared.prompt_tokens, prepared.build_ms, now_ms
                )
    except FAULTS as error:
        log.warning("what turn %d was told is not kept: %s", turn.id, type(error).__name__)


def log_verbosely(services: ContextServices, prepared: PreparedContext, turn: StoredTurn) -> None:
    """What was told, in numbers and with the topic, for as long as the person wants that."""
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
