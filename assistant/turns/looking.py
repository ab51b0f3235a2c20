"""The first look of a turn: the frames that its question gets to see, before a model has said a word."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from assistant.core.cancellation import run_with_timeout
from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.evidence import citations
from assistant.retrieval import coverage
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.retrieval import Entry, Retrieval, retrieve
from assistant.retrieval.sampling import select_in, spread_in
from assistant.turns import scope
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.plan import RunningTurn, TurnPlan
from store.ocr import readings
from store.search.filters import Filters


def look(turn: RunningTurn) -> Retrieval:
    """The frames that fit the question; the turn notes them, and what was not looked at.

    A conversation about a frame or a moment is shown that by its message. In agent mode, and of a time to
    come, nothing is looked at. Raises `StoreError`, and `Cancelled` when the turn was stopped.
    """
    plan, services = turn.plan, turn.services
    if plan.about and plan.shows_anchor:
        retrieval = _of_anchor(turn, plan.about)
    elif plan.mode == "agent" or plan.is_to_come:
        retrieval = _nothing(turn)
    else:
        # An endpoint of vectors may be slow, too.
        meaning = run_with_timeout(partial(_meaning, turn), math.inf, turn.stop, turn.database.close_thread)
        also = () if plan.request.frame_id is None else (plan.request.frame_id,)
        spread = select_in if plan.mode == "evidence" else spread_in
        retrieval = retrieve(
            turn.database,
            _filters(plan),
            plan.words,
            services.clock(),
            meaning=meaning,
            also=also,
            spread=spread,
        )
    if plan.request.without:
        entries = tuple(entry for entry in retrieval.entries if entry.frame.id not in plan.request.without)
        retrieval = replace(retrieval, entries=entries)
    if services.permits:  # totals tell of every app
        entries = tuple(entry for entry in retrieval.entries if services.permits(entry.frame))
        retrieval = replace(retrieval, entries=entries, totals=None)
    turn.coverage = coverage.of(retrieval, plan.filters)
    turn.evidence = citations.items(retrieval.entries, (), (), plan.zone)
    turn.scope = scope.counted(turn.scope, retrieval.frames_in_range, plan.language)
    return retrieval


def _of_anchor(turn: RunningTurn, about: AnchorFacts) -> Retrieval:
    entries = tuple(
        Entry(about.ids[frame.id], frame, excerpt(frame.text, turn.plan.words)) for frame in about.frames
    )
    count = len(entries)
    return replace(_nothing(turn), entries=entries, frames_in_range=count, relevant=count, is_found=count > 0)


def _nothing(turn: RunningTurn) -> Retrieval:
    fresh_to_ms = readings.index_fresh_to_ms(turn.database)
    return Retrieval(_filters(turn.plan), (), 0, (), None, fresh_to_ms, is_found=False)


def _meaning(turn: RunningTurn) -> Meaning:
    """What the question means, when it asks for something; made before anything is read."""
    meaning, plan = turn.services.meaning, turn.plan
    return meaning(plan.searched_for, turn.stored.id) if meaning and plan.words else WORDS_ONLY


def _filters(plan: TurnPlan) -> Filters:
    return Filters(plan.start_ms, plan.end_ms, **plan.filters.given())
