"""Closing a context session: its summary, tags, vector and the roll-ups.

Closing always succeeds. The state changes first; what is made afterwards may fail at any step and is made up
for: the session stays ``pending``, and the next close, or the next round of `close_idle_sessions`, makes it
again. Rules write the summary at once. A model, where one may be asked, writes it anew in the background.
"""

from __future__ import annotations

import getpass
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from assistant.context import relevance, session_summary, topics
from assistant.context.observation_words import ObservationWords
from assistant.context.session_summary import Fields
from assistant.core.models import ChatModels
from assistant.core.strings import own_sentences
from assistant.core.texts import estimate_tokens, redacted
from engines.cancellation import Cancellation
from engines.chat.protocol import ModelError
from store.core.database import Database
from store.core.errors import StoreError, stack_of
from store.core.settings import ContextSettings
from store.core.translation import N_
from store.embeddings.knn import RetrievalQuery
from store.embeddings.vectors import quantize
from store.memory import chat_digests, chat_sessions, chat_summaries, context_packs
from store.memory.chat_sessions import ClosedBy
from store.memory.chat_summaries import UNSOURCED, Embedded, SessionTurn
from store.memory.observations import MODEL_SAYS

log = logging.getLogger(__name__)

FAULTS = (StoreError, OSError, apsw.Error)
"""What a store that is locked, damaged or on a full disk raises."""
MAX_REPAIRED = 20
"""Sessions that one close makes up for, so that it stays quick."""


@dataclass(frozen=True, slots=True)
class ContextPace:
    """When background is told and made anew, and how long anything may take; not for a person to choose."""

    refresh_turns: int = 3
    """A pack is made anew after so many questions: until then a model reads the same text, which its
    server has in its cache."""
    refresh_minutes: float = 10.0
    """Or after so long."""
    refresh_cooldown_s: float = 60.0
    """But no sooner than after this, nor does the topic change sooner."""
    build_budget_ms: float = 1_000.0
    """What takes longer is not waited for, and what was told before is told again: a person notices less."""
    summary_timeout_s: float = 20.0
    """How long a model may take to put a closed chat into better words; those of the rules are there."""
    heartbeat_s: float = 30.0
    """How often a window says that it is open: many times before it is taken for closed."""
    telemetry_sample: float = 0.1
    """Of how many answers sizes and times are kept, here and nowhere else: enough for a median."""


@dataclass(frozen=True, slots=True)
class ContextServices:
    """What memory of chats works with; `embed` gives a text's meaning, `clock` epoch milliseconds.

    `embed_soon` is for a question, which words answer while a model is loaded; without it `embed` is asked.
    """

    database: Database
    settings: ContextSettings
    models: ChatModels
    embed: Callable[[str], RetrievalQuery]
    clock: Callable[[], int]
    pace: ContextPace = ContextPace()
    embed_soon: Callable[[str], RetrievalQuery] | None = None

    @property
    def stale_ms(self) -> int:
        return round(self.settings.session_stale_minutes * 60_000)


def off_by_settings(services: ContextServices) -> str:
    """Why the settings let nothing be told of earlier chats; "" where they do."""
    if not services.settings.enabled:
        return N_("The settings switch this off (context.enabled).")
    names = services.settings.opt_out
    if names and ("*" in names or _user() in names):
        return N_("The settings switch this off for you (context.opt_out).")
    return ""


def open_window(services: ContextServices, chat_id: int | None, previous: int | None = None) -> int:
    """The session of a window that looks at a chat; None is one that is not begun.

    The window's `previous` session goes on where it is of the same chat and was left a moment ago, as by
    a reload; another one is closed. Whoever asked before the page's script was there has a session that
    no window opened yet: it is this one's. Raises `StoreError`, and `apsw.ConstraintError` without that chat.
    """
    if previous is not None:
        if chat_sessions.resume(services.database, previous, chat_id, services.clock(), services.stale_ms):
            return previous
        close(services, previous, "new")
    return chat_sessions.of_window(services.database, chat_id, services.clock(), services.stale_ms)


def window_for(services: ContextServices, chat_id: int | None, given: int | None) -> int | None:
    """The session that a question of the page belongs to; None where the store fails.

    Without scripts a page names none: then it is the one its chat was last asked in, or a new one.
    """
    try:
        named = chat_sessions.get(services.database, given) if given else None
        if named and named.chat_id in (None, chat_id):
            return named.id
        return chat_sessions.of_question(services.database, chat_id, services.clock(), services.stale_ms)
    except FAULTS as error:
        log.warning("a question is asked in no window: %s", type(error).__name__)
        return None


@contextmanager
def _put_off(what: str) -> Iterator[None]:
    """What fails is logged and made up for later: whatever a defect does, a window closes."""
    try:
        yield
    except (ModelError, *FAULTS) as error:
        log.warning("%s later: %s", what, type(error).__name__)
    except Exception:  # also that of a plug-in
        log.exception("%s later", what)


def close(services: ContextServices, session_id: int, by: ClosedBy) -> bool:
    """Close a session and summarise it; closing twice is closing once. False where it was not open."""
    was_open = False
    with _put_off(f"session {session_id} is closed"):
        was_open = chat_sessions.close(services.database, session_id, by, services.clock())
        waiting = [other for other in chat_sessions.pending(services.database) if other != session_id]
        summarise(services, [session_id][: int(was_open)] + waiting[:MAX_REPAIRED])
    return was_open


def close_idle_sessions(services: ContextServices) -> None:
    """Close what nobody was heard of for long, and make up for summaries that failed."""
    with _put_off("stale sessions are closed"):
        for session_id in chat_sessions.stale(services.database, services.clock() - services.stale_ms):
            chat_sessions.close(services.database, session_id, "stale", services.clock())
        summarise(services, chat_sessions.pending(services.database))


def summarise(services: ContextServices, session_ids: Sequence[int]) -> None:
    """Summarise these sessions by rules, and make the digests of them.

    What a store that fails does to one it would do to all of them: they wait together, with one line.
    """
    database, left = services.database, len(session_ids)
    try:
        for session_id in session_ids:
            _summarise(services, session_id)
            left -= 1
        if session_ids:
            topics.roll_up(database, "recent", services.clock())
            topics.roll_up(database, "history", services.clock())
            topics.gather(database, session_ids, services.clock())
    except FAULTS as error:
        waiting = f"{left} session{'s are' if left > 1 else ' is'} summarised"
        what = waiting if left else "digests of chats are made"
        log.warning("%s later: %s", what, type(error).__name__)


def _summarise(services: ContextServices, session_id: int) -> None:
    """Write a session's summary by rules. Raises what a failing store does."""
    try:
        turns = chat_summaries.summary_input(services.database, session_id)
        if not turns:
            chat_summaries.put_empty(services.database, session_id)
            return
        known = chat_summaries.get(services.database, [session_id]).get(session_id)
        if known and known.is_edited:  # what is left of it after a deletion has lost what finds it
            embed(services, session_id)
        _put(services, session_id, turns, session_summary.made_again(turns, known))
        _score_usefulness(services, turns)
    except FAULTS:
        raise
    except Exception:  # whatever a defect does, the window has closed
        log.exception("session %d could not be summarised", session_id)


def embed(services: ContextServices, session_id: int) -> None:
    """Let a summary that a person wrote be found by its words, and with an embedder by its meaning."""
    summary = chat_summaries.get(services.database, [session_id]).get(session_id)
    if summary:
        vector = _embedded(services, session_id, summary.fields)
        chat_summaries.put_found_by(
            services.database, session_id, relevance.terms(_told(summary.fields)), vector
        )


def refine(services: ContextServices, session_id: int) -> bool:
    """Let the model that answered put a summary into better words; False where the rules' words stay."""
    with _put_off(f"session {session_id} is put into better words"):
        turns = chat_summaries.summary_input(services.database, session_id)
        if not turns:
            return False
        fields = session_summary.summary_by_model(
            services.database,
            services.models,
            turns,
            chat_sessions.summarised_by(services.database, services.settings.summaries),
            services.pace.summary_timeout_s,
            services.clock,
            lambda connection: chat_summaries.are_current(connection, session_id, turns),
        )
        return fields is not None and _put(services, session_id, turns, fields)
    return False


def _put(
    services: ContextServices,
    session_id: int,
    turns: Sequence[SessionTurn],
    fields: Fields,
) -> bool:
    questions, answers = [turn.question for turn in turns], [turn.answer_md for turn in turns]
    for own in sorted(own_sentences(), key=len, reverse=True):  # they would make all chats alike
        answers = [answer.replace(own, "") for answer in answers]
    said = "\n".join(map(redacted, (*questions, *answers)))
    return chat_summaries.put(
        services.database,
        session_id,
        fields,
        tags=topics.tags(questions, "\n".join(answers)),
        tokens=sum(estimate_tokens(turn.question) + estimate_tokens(turn.answer_md) for turn in turns),
        ended_ms=turns[-1].created_ms,
        now_ms=services.clock(),
        embedded=_embedded(services, session_id, fields),
        terms=relevance.terms(said),
        made_of=turns,
    )


def _told(fields: Fields) -> str:
    """What a summary says, without the words around it that every other has, too, and a model's."""
    names = ("request", "completed", "learned", "notes", "next_steps")
    lines = "\n".join(filter(None, (fields[name] for name in names))).split("\n")
    own = (line for line in lines if line != UNSOURCED and not line.startswith(MODEL_SAYS))
    return "\n".join(own)


def _embedded(services: ContextServices, session_id: int, fields: Fields) -> Embedded | None:
    """The vector of a summary; None without an embedder, and where it fails."""
    try:
        meaning = services.embed(_told(fields))
        vector, model = meaning.vector, meaning.model
        if vector is None or model is None:
            if meaning.problem not in (None, "embeddings_off"):
                log.warning("session %d has no vector: %s", session_id, meaning.problem)
            return None
        return Embedded(model, quantize(vector[None, :])[0])
    except Exception as error:  # an embedder may be a plug-in; a session closes without its vector
        log.warning("session %d has no vector: %s\n%s", session_id, type(error).__name__, stack_of(error))
        return None


def _score_usefulness(services: ContextServices, turns: Sequence[SessionTurn]) -> None:
    """How much of their background sampled answers made use of: the share of its words they name."""
    by_id = {turn.turn_id: turn for turn in turns}
    shares = {}
    for turn_id, text in context_packs.unjudged(services.database, by_id).items():
        turn = by_id[turn_id]
        words = relevance.terms(text).keys() - relevance.terms(turn.question).keys()
        used = words & relevance.terms(turn.answer_md).keys()
        shares[turn_id] = round(len(used) / len(words), 3) if words else 0.0
    if shares:
        context_packs.judge(services.database, shares)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return ""


# -- looking after sessions while the web process runs ----------------------------------------
#
# At the start and once a minute it closes windows that nobody was heard of, whatever became of them, and
# makes up for summaries that failed. Then a model may put a few of them, and of the observations, into better
# words.

LOOK_EVERY_S = 60.0
REFINED_AT_ONCE = 3
OBSERVED_AT_ONCE = 10
STOP_S = 2.0
SETTLE_MS = 120_000
"""A window that was closed for so long does not come back in a moment: its summary is worth a request."""
_DAY_MS = 86_400_000


class SessionJanitor(threading.Thread):
    """`start` begins; `stop` ends it within a moment, with the request that is under way."""

    def __init__(self, services: ContextServices, observed_by: str, every_s: float = LOOK_EVERY_S) -> None:
        """`observed_by` says which models may put observations into better words (``memory.refine``)."""
        super().__init__(name="context", daemon=True)
        self._services = services
        own = services.database, services.models, observed_by, services.clock
        self._observations = ObservationWords(*own)
        self._every_s = every_s
        self._ended = threading.Event()
        self._cancellation = Cancellation()

    def stop(self) -> None:
        """Wait a little, until what became of that request is noted."""
        self._ended.set()
        self._cancellation.now()
        self.join(STOP_S)

    def run(self) -> None:
        try:
            with self._cancellation.here():
                self._look()
                while not self._ended.wait(self._every_s):
                    self._look()
        finally:
            self._services.database.close_thread()

    def _look(self) -> None:
        with _put_off("observations are refined"):
            for _ in range(OBSERVED_AT_ONCE):
                look(self._services)  # a chat is not kept open while a model is slow
                if self._ended.is_set() or not self._observations.step():
                    return


def look(services: ContextServices) -> None:
    """One round."""
    with _put_off("chats are looked after"):
        close_idle_sessions(services)
        who = chat_sessions.summarised_by(services.database, services.settings.summaries)
        if not services.settings.enabled or who == "off":
            return
        now_ms = services.clock()
        settled_ms, oldest_ms = now_ms - SETTLE_MS, now_ms - _DAY_MS
        for session_id in chat_digests.unrefined(services.database, settled_ms, oldest_ms, REFINED_AT_ONCE):
            with services.models.in_background() as work:
                if not work.is_over:
                    refine(services, session_id)
                if work.is_over:  # somebody asks, or it was ended: it is made up for later
                    return
            with services.database.write() as connection:
                chat_sessions.note(connection, session_id, {"refined_ms": services.clock()})
