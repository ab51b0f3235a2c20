"""From what was said to a checked answer, and what is said without a model.

Whoever wrote an answer (a model, the built-in extractive one, or code alone), it passes the same checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from assistant.core.records import TurnFilters
from assistant.core.strings import clock, duration, moment, text
from assistant.evidence import citations, marks, replies
from assistant.retrieval import answer_lines, coverage
from assistant.retrieval.excerpts import shortened
from assistant.retrieval.measured_facts import facts
from assistant.retrieval.retrieval import Entry, Retrieval, is_narrowed
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan, UncheckedAnswer
from engines.chat.extractive import AppTime, Evidence, ExtractiveModel, Line, ShownApp
from engines.chat.protocol import Completion, ModelError

MAX_QUOTE_CHARS = 120


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
    evidence = citations.items(retrieval.entries, numbered.order, [one.verdict for one in cited], plan.zone)
    measured = answer.measured or facts(retrieval, plan.start_ms, plan.end_ms, plan.zone)
    claims = marks.check(
        numbered.answer_md,
        range(1, len(cited) + 1),
        {
            n: marks.screen_of(item, one.texts)
            for n, (item, one) in enumerate(zip(evidence, cited, strict=False), 1)
            if one.texts
        },
        {n: one.verdict.misquoted for n, one in enumerate(cited, 1)},
        measured,
    )
    if answer.completion.model == ExtractiveModel.name:  # what it says beside its quotes, code has worked out
        claims = tuple(claim for claim in claims if claim.citations)
    if answer.off_screen:
        claims = answer.off_screen.judged(claims)
    is_confirmed = answer.opening or marks.is_confirmed(claims)
    opening = answer.opening if is_confirmed else text("unconfirmed", language)
    answer_md = f"{opening}\n\n{numbered.answer_md}" if opening else numbered.answer_md
    failure = answer.ending if isinstance(answer.ending, ModelError) else None
    unread = sum(entry.frame.reading_id is None for entry in answer.entries)
    warnings = (
        *answer.warnings,
        text("unknown_ids", language, count=numbered.unknown) if numbered.unknown else "",
        coverage.not_found(turn.coverage, language),
        text("unread", language, count=unread) if unread else "",
        *answer.closing_warnings,
        text("broke_off" if failure else "stopped", language) if answer.ending else "",
    )
    return CheckedAnswer(
        answer_md,
        evidence,
        marks.moved(claims, len(answer_md) - len(numbered.answer_md)),
        answer.usage or answer.completion.usage,
        tuple(filter(None, warnings)),
        numbered.unknown,
        measured,
        answer.sources,
        answer.completion.response_id,
        is_cut_off=answer.ending is not None,
        failure=failure,
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
        filters = ", ".join(f"{name} = {value}" for name, value in _set_filters(plan.filters))
        sentence = text("no_match", plan.language, start=start, end=end, filters=filters)
    else:
        sentence = text("no_captures", plan.language, start=start, end=end)
    missing = (statement.text for statement in coverage.missing(turn.coverage, plan.zone, plan.language))
    return CheckedAnswer(" ".join([sentence, *missing]))


def _set_filters(filters: TurnFilters) -> list[tuple[str, object]]:
    by_name = (
        ("app", filters.app_name),
        ("window", filters.window_name),
        ("url", filters.browser_url),
        ("focused", filters.focused),
    )
    return [(name, value) for name, value in by_name if value is not None and value != ""]


# -- the built-in model, which only quotes ---------------------------------------------------


def quotation(
    plan: TurnPlan,
    retrieval: Retrieval,
    opening: str,
    closing_warnings: Iterator[str] | tuple[str, ...] = (),
    *,
    is_asked: bool = True,
) -> UncheckedAnswer:
    """The answer that needs no model: what the frames say, behind a sentence that says so.

    Without `is_asked` it quotes what was on the screen, whatever the question asks for.
    """
    completion = ExtractiveModel().compose(_material(plan, retrieval, plan.words if is_asked else ()))
    return UncheckedAnswer(
        completion, retrieval, retrieval.entries, opening, closing_warnings=tuple(closing_warnings)
    )


def _material(plan: TurnPlan, retrieval: Retrieval, asked: tuple[str, ...]) -> Evidence:
    answers = _answers(plan, retrieval) if asked and retrieval.is_found else {}
    shown = tuple(
        ShownApp(
            entry.id,
            clock(entry.frame.captured_ms, plan.zone),
            entry.frame.app_name or "",
            entry.frame.window_name or "",
            tuple(answers.get(entry.id, ()) if answers else _lines(entry)),
        )
        for entry in retrieval.entries
    )
    totals = retrieval.totals.by_app if retrieval.totals else ()
    times = tuple(
        AppTime(
            total.name or "",
            duration(total.duration_ms, plan.language),
            _clock_span(total.first_ms, total.last_ms, plan.zone),
        )
        for total in totals
        if total.duration_ms >= 1000
    )
    return Evidence(plan.language, shown, times, asked)


def _answers(plan: TurnPlan, retrieval: Retrieval) -> dict[str, list[Line]]:
    """The lines that answer the question, by entry; none when there are none."""
    screens = [
        answer_lines.Screen(entry.id, frame.window_name or "", frame.text or frame.window_name or "")
        for entry in retrieval.entries
        for frame in (entry.frame,)
    ]
    lines: dict[str, list[Line]] = {}
    for line in answer_lines.answering(plan.searched_for, screens):
        quoted = Line(shortened(line.text, plan.words, MAX_QUOTE_CHARS), line.weight)
        lines.setdefault(line.screen_id, []).append(quoted)
    return lines


def _lines(entry: Entry) -> Iterator[Line]:
    """What may be quoted of a frame: its excerpt's lines; without text, its window or app."""
    frame = entry.frame
    for line in entry.excerpt.text.split("\n") if entry.excerpt.text else (frame.window_name, frame.app_name):
        if line:
            yield Line(shortened(line, (), MAX_QUOTE_CHARS))


def _clock_span(first_ms: int, last_ms: int, zone: tzinfo) -> str:
    first, last = clock(first_ms, zone), clock(last_ms, zone)
    return first if first == last else f"{first}-{last}"
