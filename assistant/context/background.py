"""What a turn tells its model of earlier chats, and what its window is about.

Whatever goes wrong here, the question is answered: `prepare` never raises, and gives an empty pack with the
reason instead. What takes too long is not waited for; what was told before is told again.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from assistant.context import packs, relevance, topics
from assistant.context.packs import TRUNCATED, safe_line
from assistant.context.session_closing import FAULTS, ContextPace, ContextServices, off_by_settings
from assistant.context.topics import Topic
from assistant.core.prompt_blocks import BACKGROUND_ROOM
from assistant.core.texts import estimate_tokens
from store.chats import conversations
from store.chats.records import StoredTurn
from store.core.database import Database
from store.core.times import MAX_MS
from store.core.translation import N_
from store.memory import chat_digests, chat_sessions, context_packs
from store.memory.chat_sessions import ChatSession
from store.memory.context_packs import StoredPack
from store.sources import entities, fact_curation
from store.sources.entities import Fact

log = logging.getLogger(__name__)

T = TypeVar("T")
VERSION = "v2"
_MINUTE_MS = 60_000


MOST_FACTS = 6
_SAID = "[What the person said]"
_FACT_CHARS = 160
NO_PACK = StoredPack(0, 0, "", "", {}, (), 0, 0.0, 0)
# In a small window background takes at most this share of the prompt: the screen comes first.
_SMALL_WINDOW_TOKENS, _SMALL_WINDOW_SHARE = 8_192, 0.3


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
class PreparedContext:
    """What a question is told, as it would be kept; `reason` says in words why it is as it is."""

    pack: StoredPack = NO_PACK
    topic: Topic | None = None
    reason: str = ""
    session_id: int | None = None
    prompt_tokens: int = 0
    is_new: bool = False
    """Whether the pack was made for this question, and not told before."""
    user_turns: int = 0
    facts: tuple[Fact, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    """What was told of a fact, by its id, where it was told already: it may be named differently by now."""
    has_failed: bool = False
    """Whether nothing was found out, so that nothing but that is to be kept of it."""

    @property
    def system_augmentation(self) -> str:
        """What the model is told; '' for nothing. What the person said of those whom the question names comes
        first, and the last lines of the pack go where there is no room for both.
        """
        facts = "\n- ".join(self.said.get(str(fact.id)) or _line_of(fact) for fact in self.facts)
        text = "\n\n".join(filter(None, (f"{_SAID}\n- {facts}" if facts else "", self.pack.text)))
        if len(text) <= BACKGROUND_ROOM:
            return text
        kept = text[: BACKGROUND_ROOM - len(TRUNCATED) - 1]
        lines, _, _ = kept.rpartition("\n")
        return f"{lines or kept}\n{TRUNCATED}"

    @property
    def tokens(self) -> int:
        """About how many it is."""
        return estimate_tokens(self.system_augmentation)


def _line_of(fact: Fact) -> str:
    predicate = fact.predicate.replace("_", " ")
    return safe_line(f"{fact.subject} {predicate} {fact.object_value}")[:_FACT_CHARS]


NO_CONTEXT = PreparedContext()


def prepare(services: ContextServices, asking: ContextRequest) -> PreparedContext:
    """The topic and the pack of a question, within the time that it may take."""
    failed = PreparedContext(session_id=asking.session_id, has_failed=True)
    if why := off_by_settings(services):
        return PreparedContext(reason=why)
    if asking.session_id is None:
        return PreparedContext(reason=N_("the question names no window"))
    if asking.version != VERSION:
        return PreparedContext(reason=N_("the question does not ask for it (context_version)"))
    fallbacks = [replace(failed, reason=N_("it took too long, and there was no earlier background"))]
    try:
        work = partial(_prepared, services, asking, fallbacks)
        return _within(work, services.pace.build_budget_ms / 1_000, services.database)
    except TimeoutError:
        log.warning("background took too long; what was told before is told again")
        return fallbacks[-1]
    except FAULTS as error:
        log.warning("no background: %s", type(error).__name__)
        return replace(failed, reason=N_("the store failed"))
    except Exception:  # a defect here must not cost an answer
        log.exception("no background")
        return replace(failed, reason=N_("it failed"))


def are_chats_told(services: ContextServices | None, chat_id: int | None = None) -> bool:
    """Whether a tool may tell of earlier chats: there are some, and the person switched nothing off."""
    if services is None or off_by_settings(services):
        return False
    try:
        is_off = _off_by_person(services.database, chat_id)
        return not is_off and bool(chat_digests.ended_between(services.database, 0, MAX_MS, 1))
    except FAULTS as error:  # as with the pack: the question is answered without it
        log.warning("no tool over earlier chats: %s", type(error).__name__)
        return False


def _off_by_person(database: Database, chat_id: int | None) -> str:
    """Why the person lets nothing be told; "" where they do."""
    if chat_sessions.is_off(database):
        return N_("switched off by you")
    is_off = chat_id is not None and chat_sessions.is_without_context(database, chat_id)
    return N_("switched off for this chat") if is_off else ""


def _prepared(
    services: ContextServices, asking: ContextRequest, fallbacks: list[PreparedContext]
) -> PreparedContext:
    """The same without a bound of time; puts what may be told instead into `fallbacks`."""
    began_s = time.perf_counter()
    database, pace, now_ms = services.database, services.pace, services.clock()
    assert asking.session_id is not None
    session = chat_sessions.get(database, asking.session_id)
    if session is None or session.chat_id not in (None, asking.chat_id):
        return PreparedContext(reason=N_("there is no such window of this chat"))
    if why := _off_by_person(database, asking.chat_id):
        return PreparedContext(reason=why, session_id=session.id)
    last = _told_last(database, session)
    # What the person said is found at once, however long the rest takes.
    facts = (
        () if asking.withheld else tuple(entities.stated_facts_about(database, asking.message, MOST_FACTS))
    )
    if facts:
        why = N_("it took too long; only your own words were given")
        fallbacks.append(replace(fallbacks[-1], facts=facts, reason=why))
    if last and not asking.withheld:
        about = topics.topic_of_session(session.metadata)
        why = N_("given earlier in this chat; making it again took too long")
        fallbacks.append(PreparedContext(last, about, why, session.id, asking.prompt_tokens, facts=facts))
    messages = [*chat_sessions.user_turns(database, session.id), asking.message]
    topic = topics.decide_topic(
        database, session.id, session.metadata, messages, now_ms, pace.refresh_cooldown_s
    )
    plain = PreparedContext(topic=topic, session_id=session.id, user_turns=len(messages))
    if asking.withheld:
        return replace(plain, reason=asking.withheld)
    told = replace(plain, prompt_tokens=asking.prompt_tokens, facts=facts)
    max_chars, max_tokens = _limits(services, asking)
    fits = last is not None and (max_tokens is None or last.tokens <= max_tokens)
    if last and fits and not _is_due(pace, session.metadata, topic, len(messages), now_ms):
        return replace(told, pack=last, reason=N_("given earlier in this chat; not renewed yet"))
    pack = packs.build(services, session, topic, _question(messages, topic), now_ms, max_chars, max_tokens)
    pack = replace(pack, build_ms=(time.perf_counter() - began_s) * 1_000)
    reason = N_("made for this question") if pack.text else N_("there is nothing yet")
    return replace(told, pack=pack, reason=reason, is_new=True)


def _limits(services: ContextServices, asking: ContextRequest) -> tuple[int, int | None]:
    """How many characters a pack may have, and how many tokens: in a small window a share of the prompt."""
    tokens = None
    if asking.window_tokens <= _SMALL_WINDOW_TOKENS:
        tokens = int(asking.prompt_tokens * _SMALL_WINDOW_SHARE / (1 - _SMALL_WINDOW_SHARE))
    most = chat_sessions.pack_chars(services.database, services.settings.pack_max_chars)
    return min(most, BACKGROUND_ROOM), tokens


def _question(messages: Sequence[str], topic: Topic | None) -> str:
    """What is asked, with what a question without words of its own goes on from and what the person chose."""
    chosen = topic.title if topic and topic.by == "person" else ""
    said = messages[-1:] if len(relevance.terms(messages[-1])) > 1 else messages[-2:]
    return "\n".join(filter(None, (chosen, *said)))


def _told_last(database: Database, session: ChatSession) -> StoredPack | None:
    """What a window was told last; None for nothing."""
    pack_hash = session.metadata.get("last_context_hash", "")
    pack = context_packs.by_hash(database, session.id, pack_hash) if pack_hash else None
    return replace(pack, build_ms=0.0) if pack else None


def _is_due(pace: ContextPace, kept: Mapping[str, Any], topic: Topic | None, turn: int, now_ms: int) -> bool:
    """Whether the pack that was told last is to be made anew."""
    if kept.get("pack_topic") != (topic.tag if topic else None):
        return True
    age_ms, turns = now_ms - kept["pack_ms"], turn - kept["pack_turn"]
    is_old = turns >= pace.refresh_turns or age_ms >= pace.refresh_minutes * _MINUTE_MS
    return bool(is_old and age_ms >= pace.refresh_cooldown_s * 1_000)


def _within(work: Callable[[], T], timeout_s: float, database: Database) -> T:
    """What `work` gives in a thread of its own, which is left to itself when the time is up.

    Raises `TimeoutError`, and what it raises. No request of it is cut off: the embedder that it asks is
    everyone's, and would count as one that cannot be reached.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # handed to the waiting thread, whatever it is
            outcome.set_exception(error)
        finally:
            database.close_thread()

    threading.Thread(target=run, name="background", daemon=True).start()
    try:
        return outcome.result(timeout_s)
    except TimeoutError:
        outcome.add_done_callback(_log_failure)
        raise


def _log_failure(outcome: Future[T]) -> None:
    if error := outcome.exception():
        log.error("background failed after its time was up", exc_info=error)


def told_again(database: Database, pack: StoredPack) -> PreparedContext:
    """What a turn was told by a pack that is kept, without facts that were forgotten since."""
    facts = tuple(entities.facts(database, pack.record.get("facts", ())))
    return PreparedContext(pack, facts=facts, said=pack.record.get("told", {}))


# -- what is kept once the turn is there ------------------------------------------------------


def note(services: ContextServices, prepared: PreparedContext, turn: StoredTurn) -> PreparedContext:
    """Keep what a turn is told, and that its window is in use; returns what it is told.

    That is nothing where it could not be kept, or a chat that it is of was deleted meanwhile: what nobody
    knows to have been told would outlive it. The answer does not depend on it.
    """
    if prepared.session_id is None:
        return prepared
    now_ms = services.clock()
    try:
        if chat_sessions.verbose_until_ms(services.database, now_ms) is not None:
            topic = prepared.topic.title if prepared.topic else "none"
            size, place = len(prepared.system_augmentation), (turn.n, turn.chat_id, prepared.session_id)
            share = prepared.pack.tokens / max(1, prepared.pack.tokens + prepared.prompt_tokens)
            line = "turn %d of chat %d, session %d: %d characters of background, %.0f %% beside the rules, "
            log.info(f"{line}topic %s", *place, size, 100 * share, topic)
        with services.database.write() as connection:
            chat_sessions.use(connection, prepared.session_id, now_ms)
            if not conversations.is_current(connection, turn.id):
                return prepared
            ids = [fact.id for fact in prepared.facts]
            there = {fact.id for fact in entities.facts(services.database, ids)}
            record = {
                **prepared.pack.record,
                "reason": prepared.reason,
                "is_new": prepared.is_new,
                "facts": ids,
                # What has been forgotten meanwhile could not take its words along.
                "told": {str(fact.id): _line_of(fact) for fact in prepared.facts if fact.id in there},
            }
            pack = replace(
                prepared.pack,
                turn_id=turn.id,
                session_id=prepared.session_id,
                record=record,
                created_ms=now_ms,
            )
            fact_curation.use(connection, turn.id, (), ids)
            if not context_packs.put(connection, pack):
                return replace(prepared, pack=NO_PACK)
            if prepared.has_failed:  # why nothing was told is kept, what the window is about stays
                return prepared
            session = chat_sessions.get(services.database, prepared.session_id)
            changes = _changes(prepared, session.metadata if session else {}, now_ms)
            chat_sessions.note(connection, prepared.session_id, changes)
            if random.random() < services.pace.telemetry_sample:
                context_packs.sample(
                    connection, turn.id, pack.tokens, prepared.prompt_tokens, pack.build_ms, now_ms
                )
    except FAULTS as error:
        log.warning("turn %d is told of no earlier chat: %s", turn.id, type(error).__name__)
        return replace(prepared, pack=NO_PACK, facts=())
    return prepared


def _changes(prepared: PreparedContext, kept: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    """What is noted of a window of which this is `kept`: what the person chose of it meanwhile stays."""
    topic, changes = prepared.topic, dict[str, Any]()
    if not topics.is_chosen(kept) and (topic is None or topic.by == "inferred"):
        changes["topic"] = topic.to_json() if topic else None
    if prepared.is_new and prepared.pack.hash:
        changes |= {
            "last_context_hash": prepared.pack.hash,
            "pack_ms": now_ms,
            "pack_turn": prepared.user_turns,
            "pack_topic": topic.tag if topic else None,
        }
    return changes
