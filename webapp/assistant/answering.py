"""From what was retrieved to a checked answer: at most one model call, and nothing it says believed.

A `Draft` is all of a turn's result that this work produces. Whoever wrote the text (a model, the
built-in extractive one, or code alone), it passes the same checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from engines.chat import Completion, Message, ModelError, Usage
from engines.chat_extractive import AppTime, ExtractiveModel, Line, Material, Shown
from store.personas import Persona
from webapp.assistant import answer_lines, citations, claims, coverage, evidence, replies
from webapp.assistant import attached as files
from webapp.assistant.about import About
from webapp.assistant.attached import NO_FILES, SOURCE, Attached
from webapp.assistant.calling import call
from webapp.assistant.excerpts import shortened
from webapp.assistant.facts import Facts, facts
from webapp.assistant.models import AnyModel
from webapp.assistant.off_screen import OffScreen
from webapp.assistant.prepared import NOTHING, Prepared
from webapp.assistant.records import (
    Claim,
    Coverage,
    EvidenceItem,
    FirstCall,
    Mode,
    TimeReading,
    TurnDeps,
    TurnFilters,
)
from webapp.assistant.retrieval import Entry, Retrieval, is_narrowed
from webapp.assistant.sentences import clock, duration, moment, say
from webapp.assistant.texts import Language
from webapp.assistant.visible import said_so_far
from webapp.assistant.waiting import Stopped

MAX_QUOTE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Plan:
    """A question that was admitted: everything about it is settled but the answer.

    `words` are what it is about, none for a summary; `searched_for` is the message without its
    mentions and its time.
    """

    message: str
    language: Language
    words: tuple[str, ...]
    start_ms: int
    end_ms: int
    timezone: str
    zone: tzinfo
    now_ms: int
    filters: TurnFilters
    model: AnyModel
    identity: str
    chat_id: int | None
    reading: TimeReading
    searched_for: str
    without: frozenset[int] = frozenset()
    mode: Mode = "evidence"
    model_prompt: str = ""
    pack: str = ""
    """What is told as background beside the question; '' for nothing."""
    context: Prepared = NOTHING
    """How the background came to be, and what the window is about."""
    session_id: int | None = None
    has_range: bool = True
    """Whether a range was given or found; without one it reaches from the beginning to now."""
    is_bounded: bool = True
    """Whether nothing outside the range may be shown: it was given, not only found in the message."""
    first_call: FirstCall | None = None
    persona: Persona | None = None
    """Whose words the identity holds; None for an override, a stored voice and the neutral default."""
    style_note: str = ""
    about: About | None = None
    """The frame or moment that the conversation is about."""
    asked: str = ""
    """What the model is asked in place of the message, '' for the message itself."""

    attached: Attached = NO_FILES
    previous_response_id: str = ""

    @property
    def question(self) -> str:
        """What the model is asked."""
        return self.asked or self.message


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer with its proof, ready to be stored."""

    answer_md: str
    evidence: tuple[EvidenceItem, ...] = ()
    claims: tuple[Claim, ...] = ()
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    dropped: int = 0
    measured: Facts | None = None
    coverage: Coverage | None = None  # where it is known only with the answer
    sources: tuple[str, ...] = ()
    response_id: str = ""  # of the endpoint's own transcript
    is_cut_off: bool = False
    failure: ModelError | None = None  # why the answer broke off, if it did


def ask(
    deps: TurnDeps, plan: Plan, retrieval: Retrieval, history: Sequence[Message], turn_id: int
) -> Iterator[str | Draft]:
    """What the plan's model says as it says it, unchecked, and at last the checked answer.

    Raises `ModelError`, and `StoreError` where nothing may be sent.
    """
    if isinstance(plan.model, ExtractiveModel):
        quoted = quote(deps, plan, retrieval, say("extractive", plan.language))
        unread = files.told_of_unread(plan.attached, plan.language)
        yield replace(quoted, warnings=(*quoted.warnings, *unread))
        return
    called = yield from call(deps, plan, plan.model, retrieval, history, turn_id)
    warnings = []
    if called.left_out:
        total = len(retrieval.entries)
        warnings.append(say("left_out", plan.language, count=called.left_out, total=total))
    if called.shrunk_to:
        warnings.append(say("shrunk", plan.language, tokens=called.shrunk_to))
    if called.completion.finish_reason == "length":
        warnings.append(say("cut_short", plan.language))
    warnings += files.told_of_cuts(called.files, plan.language)
    texts = called.files.texts
    beside = OffScreen(True, has_looked=True, quotable=list(texts)) if texts else None
    draft = checked(deps, plan, retrieval, called.entries, called.completion, warnings, off_screen=beside)
    yield replace(draft, usage=called.usage, sources=(SOURCE,) if texts else ())


def cut_off(said: str, plan: Plan, form: str = "") -> Completion | None:
    """As much of an answer as was said before it ended early; None for nothing."""
    text = said if replies.is_whole(said) else said_so_far(said, form)
    if not text.strip():
        return None
    return Completion(text, None, plan.model.name)


def ended(draft: Draft, ending: ModelError | Stopped, language: Language) -> Draft:
    """The draft of an answer that was `cut_off`, which says so."""
    failure = ending if isinstance(ending, ModelError) else None
    told = say("broke_off" if failure else "stopped", language)
    return replace(draft, warnings=(*draft.warnings, told), is_cut_off=True, failure=failure)


def quote(deps: TurnDeps, plan: Plan, retrieval: Retrieval, opening: str, asked: bool = True) -> Draft:
    """The answer that needs no model: what the frames say, behind a sentence that says so."""
    material = _material(plan, retrieval, plan.words if asked else ())
    completion = ExtractiveModel().compose(material)
    return checked(deps, plan, retrieval, retrieval.entries, completion, [], opening)


def no_captures(plan: Plan, retrieval: Retrieval) -> Draft:
    """The honest answer to an empty range (R3.34): not recorded, excluded and deleted differ."""
    start, end = moment(plan.start_ms, plan.zone), moment(plan.end_ms, plan.zone)
    if is_narrowed(retrieval.filters) and retrieval.frames_in_range == 0:
        named = ", ".join(f"{name} = {value}" for name, value in _set_filters(plan.filters))
        sentence = say("no_match", plan.language, start=start, end=end, filters=named)
    else:
        sentence = say("no_captures", plan.language, start=start, end=end)
    covered = coverage.of(retrieval, plan.filters, plan.reading)
    missing = (each.text for each in coverage.missing(covered, plan.zone, plan.language))
    return Draft(" ".join([sentence, *missing]))


def future(plan: Plan) -> Draft:
    """The answer to a range that has not begun."""
    return Draft(say("future", plan.language, start=moment(plan.start_ms, plan.zone)))


def checked(
    deps: TurnDeps,
    plan: Plan,
    retrieval: Retrieval,
    entries: Sequence[Entry],
    completion: Completion,
    warnings: list[str],
    opening: str = "",
    measured: Facts | None = None,
    off_screen: OffScreen | None = None,
) -> Draft:
    """The completion with its citations numbered, its quotes verified and its claims judged.

    `measured` are facts from elsewhere than the retrieval, `off_screen` is what is not of the screen.
    """
    reply = replies.read_reply(completion.text)
    by_id = {entry.id: entry for entry in entries}
    mentioned = [name for name, _ in reply.quotes]
    numbered = citations.number(reply.answer_md, by_id, mentioned, say("evidence", plan.language))
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
        warnings.append(say("unknown_ids", plan.language, count=numbered.unknown))
    nowhere = coverage.not_found(coverage.of(retrieval, plan.filters, plan.reading), plan.language)
    if nowhere:
        warnings.append(nowhere)
    unread = sum(entry.frame.reading_id is None for entry in entries)
    if unread:
        warnings.append(say("unread", plan.language, count=unread))
    return Draft(
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
    return "" if claims.is_proven(found) else say("unconfirmed", language)


def _material(plan: Plan, retrieval: Retrieval, asked: tuple[str, ...]) -> Material:
    answers = _answers(plan, retrieval) if asked and retrieval.is_found else {}
    shown = tuple(
        Shown(
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
    return Material(plan.language, shown, times, asked)


def _answers(plan: Plan, retrieval: Retrieval) -> dict[str, list[Line]]:
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
