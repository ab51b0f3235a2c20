"""From what was retrieved to a checked answer: at most one model call, and nothing it says believed.

A `Draft` is all of a turn's result that this work produces. Whoever wrote the text (a model, the
built-in extractive one, or code alone), it passes the same checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo

from assistant.core.cancellation import Cancelled
from assistant.core.records import Claim, TurnFilters
from assistant.core.strings import clock, duration, moment, text
from assistant.core.texts import Language
from assistant.evidence import citations, claims, replies
from assistant.evidence import citations as evidence
from assistant.evidence.claims import OffScreen
from assistant.evidence.replies import said_so_far
from assistant.retrieval import answer_lines, coverage
from assistant.retrieval.measured_facts import MeasuredFacts, facts
from assistant.retrieval.retrieval import Entry, Retrieval, is_narrowed, shortened
from assistant.turns.plan import DraftAnswer, TurnPlan, TurnServices
from engines.chat.extractive import AppTime, Evidence, ExtractiveModel, Line, ShownApp
from engines.chat.protocol import Completion, ModelError

MAX_QUOTE_CHARS = 120


def partial_completion(said: str, plan: TurnPlan, form: str = "") -> Completion | None:
    """As much of an answer as was said before it ended early; None for nothing."""
    text = said if replies.is_whole(said) else said_so_far(said, form)
    if not text.strip():
        return None
    return Completion(text, None, plan.model.name)


def with_ending(draft: DraftAnswer, ending: ModelError | Cancelled, language: Language) -> DraftAnswer:
    """The draft of an answer that was `cut_off`, which says so."""
    failure = ending if isinstance(ending, ModelError) else None
    told = text("broke_off" if failure else "stopped", language)
    return replace(draft, warnings=(*draft.warnings, told), is_cut_off=True, failure=failure)


def quote(
    deps: TurnServices, plan: TurnPlan, retrieval: Retrieval, opening: str, asked: bool = True
) -> DraftAnswer:
    """The answer that needs no model: what the frames say, behind a sentence that says so."""
    material = _material(plan, retrieval, plan.words if asked else ())
    completion = ExtractiveModel().compose(material)
    return checked(deps, plan, retrieval, retrieval.entries, completion, [], opening)


def no_captures(plan: TurnPlan, retrieval: Retrieval) -> DraftAnswer:
    """The honest answer to an empty range (R3.34): not recorded, excluded and deleted differ."""
    start, end = moment(plan.start_ms, plan.zone), moment(plan.end_ms, plan.zone)
    if is_narrowed(retrieval.filters) and retrieval.frames_in_range == 0:
        named = ", ".join(f"{name} = {value}" for name, value in _set_filters(plan.filters))
        sentence = text("no_match", plan.language, start=start, end=end, filters=named)
    else:
        sentence = text("no_captures", plan.language, start=start, end=end)
    covered = coverage.of(retrieval, plan.filters, plan.reading)
    missing = (each.text for each in coverage.missing(covered, plan.zone, plan.language))
    return DraftAnswer(" ".join([sentence, *missing]))


def future(plan: TurnPlan) -> DraftAnswer:
    """The answer to a range that has not begun."""
    return DraftAnswer(text("future", plan.language, start=moment(plan.start_ms, plan.zone)))


def checked(
    deps: TurnServices,
    plan: TurnPlan,
    retrieval: Retrieval,
    entries: Sequence[Entry],
    completion: Completion,
    warnings: list[str],
    opening: str = "",
    measured: MeasuredFacts | None = None,
    off_screen: OffScreen | None = None,
) -> DraftAnswer:
    """The completion with its citations numbered, its quotes verified and its claims judged.

    `measured` are facts from elsewhere than the retrieval, `off_screen` is what is not of the screen.
    """
    reply = replies.read_reply(completion.text)
    by_id = {entry.id: entry for entry in entries}
    mentioned = [name for name, _ in reply.quotes]
    numbered = citations.number(reply.answer_md, by_id, mentioned, text("evidence", plan.language))
    said = {numbered.order[n - 1]: told for n, told in claims.citing(numbered.answer_md).items()}
    verdicts = evidence.verify(deps.database, [by_id[name] for name in numbered.order], reply.quotes, said)
    items = evidence.items(retrieval.entries, numbered.order, verdicts, plan.zone)
    given = measured or facts(retrieval, plan.start_ms, plan.end_ms, plan.now_ms, plan.zone)
    texts = {n: by_id[name].frame.text for n, name in enumerate(numbered.order, 1)}

    def judged(text: str) -> tuple[Claim, ...]:
        found = claims.check(text, items, given, texts)
        return off_screen.judged(found) if off_screen else found

    opening = opening or _opening(judged(numbered.answer_md), plan.language)
    answer_md = f"{opening}\n\n{numbered.answer_md}" if opening else numbered.answer_md
    if numbered.unknown:
        warnings.append(text("unknown_ids", plan.language, count=numbered.unknown))
    nowhere = coverage.not_found(coverage.of(retrieval, plan.filters, plan.reading), plan.language)
    if nowhere:
        warnings.append(nowhere)
    unread = sum(entry.frame.reading_id is None for entry in entries)
    if unread:
        warnings.append(text("unread", plan.language, count=unread))
    return DraftAnswer(
        answer_md,
        items,
        judged(answer_md),
        completion.usage,
        tuple(warnings),
        numbered.unknown,
        given,
        response_id=completion.response_id,
    )


def _opening(found: Sequence[Claim], language: Language) -> str:
    """What an answer without any verified claim begins with."""
    return "" if claims.is_proven(found) else text("unconfirmed", language)


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
    found: dict[str, list[Line]] = {}
    for line in answer_lines.answering(plan.searched_for, screens):
        text = shortened(line.text, plan.words, MAX_QUOTE_CHARS)
        found.setdefault(line.screen_id, []).append(Line(text, line.weight))
    return found


def _lines(entry: Entry) -> Iterator[Line]:
    """What may be quoted of a frame: its excerpt's lines; without text, its window or app."""
    frame = entry.frame
    for line in entry.excerpt.text.split("\n") if entry.excerpt.text else (frame.window_name, frame.app_name):
        if line:
            yield Line(shortened(line, (), MAX_QUOTE_CHARS))


def _clock_span(first_ms: int, last_ms: int, zone: tzinfo) -> str:
    first, last = clock(first_ms, zone), clock(last_ms, zone)
    return first if first == last else f"{first}-{last}"


def _set_filters(filters: TurnFilters) -> list[tuple[str, object]]:
    named = (
        ("app", filters.app_name),
        ("window", filters.window_name),
        ("url", filters.browser_url),
        ("focused", filters.focused),
    )
    return [(name, value) for name, value in named if value is not None and value != ""]
