"""A turn in evidence mode: one retrieval, at most one model call, no tools, and the checks (R3.4)."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from assistant.core.cancellation import Cancelled, CancelToken, iterate_until_cancelled, run_with_timeout
from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.core.records import (
    ATTACHMENT_SOURCE,
    Coverage,
    DeltaEvent,
    EvidenceEvent,
    EvidenceItem,
    Stage,
    StatusEvent,
    TurnEvent,
)
from assistant.core.strings import text
from assistant.evidence import citations
from assistant.evidence.off_screen import OffScreen
from assistant.evidence.visible import StreamBuffer
from assistant.retrieval import coverage
from assistant.retrieval.retrieval import Retrieval, retrieve
from assistant.turns import answering, attachments
from assistant.turns.calling import call_model
from assistant.turns.plan import DraftAnswer, TurnPlan, TurnServices
from assistant.turns.questions import needs_sound
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Message, ModelError
from store.chats.conversations import StoredTurn
from store.search.filters import Filters


@dataclass(slots=True)
class PartialTurn:
    """What a turn has in hand so far, to be stored with it even if it fails."""

    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    evidence: tuple[EvidenceItem, ...] = ()
    warnings: list[str] = field(default_factory=list)


def run(
    deps: TurnServices,
    plan: TurnPlan,
    turn: StoredTurn,
    history: Sequence[Message],
    found: PartialTurn,
    stop: CancelToken,
) -> Generator[TurnEvent, None, DraftAnswer]:
    """Retrieval, the model's call, and the checks, with an event before each; `found` grows meanwhile.

    Raises `ModelError`, `StoreError`, and `Stopped` when the turn ended before anything was said.
    """

    def status(stage: Stage, **values: str) -> StatusEvent:
        return StatusEvent(stage, text(stage, plan.language, **values), turn.chat_id, turn.n)

    if plan.start_ms >= plan.now_ms:
        return answering.future(plan)
    yield status("searching")
    # An endpoint of vectors may be slow, too.
    meaning = run_with_timeout(
        partial(_meaning, deps, plan, turn), math.inf, stop, deps.database.close_thread
    )
    retrieval = retrieve(deps.database, _filters(plan), plan.words, deps.clock(), meaning=meaning)
    if plan.without:
        entries = tuple(each for each in retrieval.entries if each.frame.id not in plan.without)
        retrieval = replace(retrieval, entries=entries)
    found.coverage = coverage.of(retrieval, plan.filters, plan.reading)
    if not retrieval.entries:
        return answering.no_captures(plan, retrieval)
    found.evidence = citations.items(retrieval.entries, (), {}, plan.zone)
    yield EvidenceEvent(found.evidence, found.coverage)
    if needs_sound(plan.message):
        opening = f"{text('audio', plan.language)} {text('audio_screen', plan.language)}"
        return answering.quote(deps, plan, retrieval, opening, asked=False)
    yield status("thinking", model=plan.model.name)
    return (yield from _asked(deps, plan, retrieval, turn, history, stop))


def _asked(
    deps: TurnServices,
    plan: TurnPlan,
    retrieval: Retrieval,
    turn: StoredTurn,
    history: Sequence[Message],
    stop: CancelToken,
) -> Generator[TurnEvent, None, DraftAnswer]:
    """The model's answer: its words as a draft while they come, then what the checks make of it."""
    # The model keeps its own time limit; whoever stops the turn does not wait for it.
    asked = partial(ask, deps, plan, retrieval, history, turn.id)
    heard = StreamBuffer()
    try:
        for piece in iterate_until_cancelled(asked, stop, deps.database.close_thread):
            if isinstance(piece, DraftAnswer):
                return piece
            if fresh := heard.add(piece):
                yield DeltaEvent(1, fresh)
    except (ModelError, Cancelled) as ending:
        completion = answering.partial_completion(heard.text, plan)
        if completion is None:
            raise
        draft = answering.checked(deps, plan, retrieval, retrieval.entries, completion, [])
        return answering.with_ending(draft, ending, plan.language)
    raise AssertionError("an answer ends with its draft")


def ask(
    deps: TurnServices, plan: TurnPlan, retrieval: Retrieval, history: Sequence[Message], turn_id: int
) -> Iterator[str | DraftAnswer]:
    """What the plan's model says as it says it, unchecked, and at last the checked answer.

    Raises `ModelError`, and `StoreError` where nothing may be sent.
    """
    if isinstance(plan.model, ExtractiveModel):
        quoted = answering.quote(deps, plan, retrieval, text("extractive", plan.language))
        unread = attachments.unread_warnings(plan.attached, plan.language)
        yield replace(quoted, warnings=(*quoted.warnings, *unread))
        return
    called = yield from call_model(deps, plan, plan.model, retrieval, history, turn_id)
    warnings = []
    if called.left_out:
        total = len(retrieval.entries)
        warnings.append(text("left_out", plan.language, count=called.left_out, total=total))
    if called.shrunk_to:
        warnings.append(text("shrunk", plan.language, tokens=called.shrunk_to))
    if called.completion.finish_reason == "length":
        warnings.append(text("cut_short", plan.language))
    warnings += attachments.truncation_warnings(called.files, plan.language)
    texts = called.files.texts
    beside = OffScreen(True, has_looked=True, quotable=list(texts)) if texts else None
    draft = answering.checked(
        deps, plan, retrieval, called.entries, called.completion, warnings, off_screen=beside
    )
    yield replace(draft, usage=called.usage, sources=(ATTACHMENT_SOURCE,) if texts else ())


def _meaning(deps: TurnServices, plan: TurnPlan, turn: StoredTurn) -> Meaning:
    """What the question means, when it asks for something; made before anything is read."""
    return deps.meaning(plan.searched_for, turn.id) if deps.meaning and plan.words else WORDS_ONLY


def _filters(plan: TurnPlan) -> Filters:
    wanted = plan.filters
    return Filters(
        plan.start_ms,
        plan.end_ms,
        wanted.app_name or None,
        wanted.window_name or None,
        wanted.browser_url or None,
        wanted.focused,
    )
