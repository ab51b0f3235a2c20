"""From what was said to a checked answer.

Whoever wrote an answer (a model, the built-in extractive one, or code alone), it passes the same checks.
"""

from __future__ import annotations

from assistant.core.strings import moment, text
from assistant.evidence import citations, marks, replies
from assistant.retrieval import coverage
from assistant.retrieval.measured_facts import facts
from assistant.retrieval.retrieval import Retrieval, is_narrowed
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan, UncheckedAnswer
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Completion, ModelError


def check(turn: RunningTurn, answer: UncheckedAnswer) -> CheckedAnswer:
    """The answer with its citations numbered, its quotes looked for on the frames and its sentences marked.

    Raises `ModelMalformed` where nothing that was said can be read as an answer.
    """
    plan, retrieval, language = turn.plan, answer.retrieval, turn.plan.language
    reply = replies.read_reply(answer.completion.text)
    by_id = {entry.id: entry for entry in answer.entries}
    quoted_ids = [entry_id for entry_id, _ in reply.quotes]
    numbered = citations.number(reply.answer_md, by_id, quoted_ids, text("evidence", language))
    cited = citations.verify(turn.database, [by_id[name] for name in numbered.order], reply.quotes)
    evidence = citations.items(retrieval.entries, numbered.order, cited, plan.zone)
    measured = answer.measured or facts(retrieval, plan.start_ms, plan.end_ms, plan.zone)
    claims = marks.check(
        numbered.answer_md,
        range(1, len(cited) + 1),
        {
            n: marks.screen_of(item, one.texts)
            for n, (item, one) in enumerate(zip(evidence, cited, strict=False), 1)
            if one.texts
        },
        {n: one.quotes for n, one in enumerate(cited, 1)},
        {n: one.misquoted for n, one in enumerate(cited, 1)},
        measured,
        [n for n, name in enumerate(numbered.order, 1) if by_id[name].frame.id in answer.seen],
    )
    if answer.completion.model == ExtractiveModel.name:  # what it says beside its quotes, code has worked out
        claims = tuple(claim for claim in claims if claim.citations)
    if answer.off_screen:
        claims = answer.off_screen.judged(claims)
    is_confirmed = answer.opening or marks.is_confirmed(claims)
    opening = answer.opening if is_confirmed else text("unconfirmed", language)
    answer_md = f"{opening}\n\n{numbered.answer_md}" if opening else numbered.answer_md
    turn.usage = turn.usage or answer.completion.usage
    unread = sum(entry.frame.reading_id is None for entry in answer.entries)
    warnings = (
        *turn.warnings,
        text("unknown_ids", language, count=numbered.unknown) if numbered.unknown else "",
        coverage.not_found(turn.coverage, language),
        text("unread", language, count=unread) if unread else "",
        *answer.closing_warnings,
        text("broke_off" if isinstance(turn.ending, ModelError) else "stopped", language)
        if turn.ending
        else "",
    )
    return CheckedAnswer(
        answer_md,
        evidence,
        marks.moved(claims, len(answer_md) - len(numbered.answer_md)),
        tuple(filter(None, warnings)),
        numbered.unknown,
        measured,
        answer.completion.response_id,
    )


def partial_completion(said: str, plan: TurnPlan, form: str = "") -> Completion | None:
    """As much of an answer as was said before it ended early; None for nothing."""
    answer = said if replies.is_whole(said) else replies.said_so_far(said, form)
    return Completion(answer, None, plan.model.name) if answer.strip() else None


def no_captures(turn: RunningTurn, retrieval: Retrieval) -> CheckedAnswer:
    """The honest answer to an empty range: not recorded, excluded and deleted differ."""
    plan = turn.plan
    if plan.is_to_come:
        return CheckedAnswer(text("future", plan.language))
    start, end = moment(plan.start_ms, plan.zone), moment(plan.end_ms, plan.zone)
    if is_narrowed(retrieval.filters) and retrieval.frames_in_range == 0:
        given = plan.filters.given().items()
        names = [(name.removesuffix("_name").removeprefix("browser_"), value) for name, value in given]
        filters = ", ".join(f"{name} = {value}" for name, value in names)
        sentence = text("no_match", plan.language, start=start, end=end, filters=filters)
    else:
        sentence = text("no_captures", plan.language, start=start, end=end)
    missing = (statement.text for statement in coverage.missing(turn.coverage, plan.zone, plan.language))
    return CheckedAnswer(" ".join([sentence, *missing]))
