"""The two steps of a turn that look at frames.

First those that its question gets to see, before a model has said a word. At last those that the answer
names: whoever wrote it (a model, the built-in extractive one, or code alone), it passes the same checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType

from assistant.core.query_embedder import LOADING
from assistant.core.records import Claim, Coverage
from assistant.core.strings import text
from assistant.core.texts import asked_in
from assistant.evidence import citations, marks, replies
from assistant.evidence.off_screen import OffScreen
from assistant.language import cldr
from assistant.retrieval import coverage
from assistant.retrieval.measured_facts import MeasuredFacts, facts
from assistant.retrieval.retrieval import Entry, Retrieval, entries_of, no_totals, retrieve
from assistant.retrieval.sampling import select_in, spread_in
from assistant.turns import scope_text
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Completion, ModelError
from store.embeddings.knn import WORDS_ONLY, RetrievalQuery
from store.ocr import readings
from store.search.filters import Filters

WEEK = 7
"""Days of a longer time are not searched for one by one."""


def look(turn: RunningTurn) -> Retrieval:
    """The last of `looks`."""
    *_, retrieval = looks(turn)
    return retrieval


def looks(turn: RunningTurn) -> Iterator[Retrieval]:
    """The frames that fit the question; the turn notes them, and what was not looked at. First those that
    have its words, where its meaning takes a while: a model of vectors is loaded, or its endpoint is slow.

    A conversation about a frame or a moment is shown that by its message. In agent mode, and of a time to
    come, nothing is looked at. Raises `StoreError`, and `Cancelled` when the turn was stopped.
    """
    plan, embedder = turn.plan, turn.services.embedder
    if plan.about and plan.shows_anchor:
        yield _noted(turn, plan, _given(turn, tuple(entries_of(plan.about.frames, plan.words))))
        return
    if plan.mode == "agent" or plan.is_to_come:
        yield _noted(turn, plan, _given(turn))
        return
    meaning = WORDS_ONLY
    if embedder and plan.words:
        ask = partial(embedder.asked, plan.searched_for, turn.stored.id)
        # Evidence mode is one look.
        meaning = turn.wait_for(ask) if plan.mode == "evidence" else embedder.asked_soon(*ask.args)
        if meaning.problem == LOADING:
            yield _noted(turn, plan, _found(turn, plan, meaning))
            meaning = turn.wait_for(ask)
    yield _noted(turn, plan, _found(turn, plan, meaning))


def _found(turn: RunningTurn, plan: TurnPlan, meaning: RetrievalQuery) -> Retrieval:
    return retrieve(
        turn.database,
        _filters(plan),
        (*plan.words, *_days_ahead(plan)),
        turn.now_ms(),
        meaning=meaning,
        also=() if plan.request.frame_id is None else (plan.request.frame_id,),
        spread=select_in if plan.mode == "evidence" else spread_in,
    )


def _noted(turn: RunningTurn, plan: TurnPlan, retrieval: Retrieval) -> Retrieval:
    """What of it may be shown; the turn notes that."""
    if plan.request.without:
        retrieval = retrieval.only(lambda frame: frame.id not in plan.request.without)
    if permits := turn.services.permits:  # totals tell of every app
        retrieval = replace(retrieval.only(permits), totals=no_totals)
    turn.coverage = retrieval.coverage
    turn.evidence = citations.items(retrieval.entries, (), (), plan.zone)
    turn.plan = replace(
        plan, scope=scope_text.counted(plan.scope, turn.coverage.frames_in_range, plan.language)
    )
    return retrieval


def _given(turn: RunningTurn, entries: tuple[Entry, ...] = ()) -> Retrieval:
    """Frames that nothing was looked up for."""
    count, fresh_to_ms = len(entries), readings.index_fresh_to_ms(turn.database)
    looked = Coverage(count, count, relevant=count, is_found=count > 0, index_fresh_to_ms=fresh_to_ms)
    return Retrieval(_filters(turn.plan), entries, looked)


def _days_ahead(plan: TurnPlan) -> Iterator[str]:
    """The days to come that a question names, as screens may have them; of a long time none."""
    for first, last in plan.days_ahead[:1]:
        days = (last - first).days + 1
        for n in range(days if days <= WEEK else 0):
            yield from cldr.written(first + timedelta(days=n), asked_in(plan.message))


def _filters(plan: TurnPlan) -> Filters:
    return Filters(plan.start_ms, plan.end_ms, left_out=plan.scope.left_out, **plan.filters.given())


def check(
    turn: RunningTurn,
    said: Completion,
    retrieval: Retrieval,
    entries: Sequence[Entry],
    *,
    opening: str = "",
    measured: MeasuredFacts | None = None,
    off_screen: OffScreen | None = None,
    seen: Collection[int] = (),
    beside: Mapping[str, Entry] = MappingProxyType({}),
) -> CheckedAnswer:
    """The answer with its citations numbered, its quotes looked for on the frames and its sentences marked.

    `entries` are those of the retrieval that the speaker was shown, `seen` the frames whose pictures it was,
    and `off_screen` what it had beside them. `measured` are durations from elsewhere than the retrieval.
    `beside` are rows of other sources by how the answer tells them.
    `opening` stands before the answer in place of a remark that nothing in it is confirmed. Raises
    `ModelMalformed` where nothing that was said can be read as an answer.
    """
    plan, is_plain = turn.plan, said.model == ExtractiveModel.name
    by_id = {entry.id: entry for entry in entries}
    reply = replies.read_reply(said.text)
    quoted_ids = [entry_id for entry_id, _ in reply.quotes]
    numbered = citations.number(reply.answer_md, by_id, quoted_ids, text("evidence", plan.language))
    cited = citations.verify(turn.database, [by_id[name] for name in numbered.order], reply.quotes)
    evidence = citations.items(retrieval.entries, numbered.order, cited, plan.zone)
    measured = measured or facts(retrieval, plan.start_ms, plan.end_ms, plan.zone)
    frames = dict(enumerate(cited, 1))
    claims = marks.check(
        numbered.answer_md,
        frames,
        {n: marks.screen_of(item, frames[n].texts) for n, item in enumerate(evidence[: len(cited)], 1)},
        {n: one.misquoted for n, one in frames.items()},
        measured,
        [n for n, name in enumerate(numbered.order, 1) if by_id[name].frame.id in seen],
        {n: one.quoted for n, one in frames.items()},
    )
    if is_plain:
        altered = {n for n, one in frames.items() if one.misquoted}
        copied = (_copied(claim, altered, beside) for claim in claims)
        claims = tuple(claim for claim in copied if claim.citations or claim.source)
    if off_screen:
        claims = off_screen.judged(claims)
    # Without a model the answer says itself what was not found; a sentence that stands says that it was.
    says_found = is_plain or any(claim.state == "cited" for claim in claims)
    if not opening and not marks.is_confirmed(claims):
        opening = text("unconfirmed", plan.language)
    opening = f"{opening}\n\n" if opening else ""
    turn.usage = turn.usage or said.usage
    return CheckedAnswer(
        f"{opening}{numbered.answer_md}",
        evidence,
        tuple(marks.moved(claims, len(opening))),
        tuple(_warnings(turn, entries, numbered.unknown, says_found=says_found)),
        numbered.unknown,
        measured,
    )


def _copied(claim: Claim, altered: Collection[int], beside: Mapping[str, Entry]) -> Claim:
    """A claim of an answer without a model: it was copied where it stands, and what it says beside that, code
    has worked out. It tells of another source when it is quoted from one; of a frame in `altered` no more
    than was found.
    """
    if claim.citations:
        is_altered = any(n in altered for n in claim.citations)
        return claim if is_altered else replace(claim, state="cited", missing=())
    entry = next((e for said, e in beside.items() if claim.text in said), None)
    if entry is None:
        return claim
    kind = entry.id.split()[0]
    return replace(claim, state="from_source", missing=(), source=kind, address=entry.address)


def _warnings(
    turn: RunningTurn, entries: Sequence[Entry], unknown: int, *, says_found: bool
) -> Iterator[str]:
    """What is said beside an answer; `unknown` is how many ids that it cites name nothing."""
    language = turn.plan.language
    yield from turn.warnings
    if unknown:
        yield text("unknown_ids", language, count=unknown)
    if not says_found and (not_found := coverage.not_found(turn.coverage, language)):
        yield not_found
    if unread := sum(entry.frame.reading_id is None for entry in entries):
        yield text("unread", language, count=unread)
    if turn.ending:
        yield text("broke_off" if isinstance(turn.ending, ModelError) else "stopped", language)


def partial_completion(said: str, plan: TurnPlan) -> Completion | None:
    """As much of an answer as was said before it ended early; None for nothing."""
    answer = said if replies.is_whole(said) else replies.said_so_far(said)
    return Completion(answer, None, plan.model.name) if answer.strip() else None


def no_captures(turn: RunningTurn) -> CheckedAnswer:
    """The honest answer to an empty range: not recorded, excluded and deleted differ."""
    plan = turn.plan
    if plan.is_to_come:
        return CheckedAnswer(text("future", plan.language))
    is_of_frame = plan.request.frame_id is not None
    asked = scope_text.told(plan.scope, plan.filters, plan.zone, plan.now_ms, plan.language, is_of_frame)
    sentence = text("no_captures", plan.language, scope=asked)
    missing = (statement.text for statement in coverage.missing(turn.coverage, plan.zone, plan.language))
    return CheckedAnswer(" ".join([sentence, *missing]))
