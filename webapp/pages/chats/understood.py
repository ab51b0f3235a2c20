"""How the composer reads a question while it is written: its time, its app, and what stays unread.

The fragment is asked for by the page as one types, and shows what sending would do: both use `understand`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from flask import request
from werkzeug.wrappers import Response

from assistant.core.errors import TimeRangeRequired
from assistant.core.records import MAX_MESSAGE_CHARS, TurnRequest
from assistant.core.strings import text
from assistant.core.texts import own_language
from assistant.language.time_phrases import Found, Refusal
from assistant.turns.scope import Reader, is_same_span, spans_of
from assistant.turns.scope_text import of_days
from store.core import preferences, times
from store.core.translation import gettext as _
from webapp.core import formatting, parameters, templating
from webapp.core.parameters import NO_RANGE, Range
from webapp.core.services import Viewer, services, viewer


class Reading(NamedTuple):
    """One range that the words may mean; `value` is how the form sends it back."""

    start_ms: int
    end_ms: int
    label: str

    @property
    def value(self) -> str:
        return f"{self.start_ms}-{self.end_ms}"


@dataclass(frozen=True, slots=True)
class Understood:
    """What a question says beside its words. Of `readings`, the likeliest first, `chosen` counts."""

    readings: tuple[Reading, ...] = ()
    chosen: Reading | None = None
    problem: str = ""
    app: str = ""
    is_everything: bool = False
    clock_changed: bool = False
    is_selection: bool = False


@templating.post("/chat/understood")
def fragment() -> Response:
    """The chips under the question, as the form stands now."""
    return templating.render_page("chat/_understood.html", understood=understand(request.form, viewer()))


def chosen_range(form: Mapping[str, str], who: Viewer) -> Range:
    """The range that the form gives: by its fields, by another reading of the question, by @selection."""
    given = parameters.range_of(form, who, "from_ms", "to_ms")
    if given.is_given or given.problem or form.get("when"):
        return given
    understood = understand(form, who)
    is_default = understood.chosen in understood.readings[:1] and not understood.is_selection
    if understood.chosen is None or is_default:
        return NO_RANGE  # whoever answers reads the question in the same way
    return parameters.of_span(understood.chosen.start_ms, understood.chosen.end_ms, who)


def understand(form: Mapping[str, str], who: Viewer) -> Understood:
    """What the fields ``message``, ``when``, ``phrase``, ``selection`` and ``reading`` say together."""
    message = form.get("message", "")[:MAX_MESSAGE_CHARS]
    reader = Reader(
        services().database,
        TurnRequest(
            message,
            who.zone_name,
            who.now_ms,
            chat_id=parameters.number(form, "chat"),
            day_start_min=who.day_start_min,
            week_start=who.week_start,
        ),
        message,
        who.zone,
    )
    app = reader.mentions.app or ""
    if form.get("when"):
        given = parameters.range_of(form, who, "from_ms", "to_ms") if form.get("phrase") else NO_RANGE
        if not given.is_given:
            return Understood(problem=given.problem.removesuffix("."), app=app)
        return _of_readings([given.bounds], form, who, app)
    if reader.mentions.has_selection:
        selected = _span(form.get("selection", ""))
        if selected is None:
            problem = _("“@selection” needs a range: look at one on the timeline, or choose one here")
            return Understood(problem=problem, app=app)
        return replace(_of_readings([selected], form, who, app), is_selection=True)
    if not message.strip():
        return Understood(app=app)
    return _of_scope(reader, form, who, app)


def _of_scope(reader: Reader, form: Mapping[str, str], who: Viewer, app: str) -> Understood:
    """The scope that an answer would have, and its other readings."""
    phrase, problem = reader.phrase, ""
    try:
        scope = reader.settle_scope()
    except TimeRangeRequired:
        scope = None
    if scope and scope.is_everything and scope.phrase and not scope.unread:
        said = text("not_recorded", own_language(), "scope", phrase=scope.phrase)
        if scope.ahead:
            said = of_days(scope.ahead, scope.phrase, who.zone, who.now_ms, own_language())
        return Understood(app=app, is_everything=True, problem=said)
    if isinstance(phrase, Refusal):
        problem = "" if phrase.problem == "ambiguous" else parameters.time_problem(phrase)
        if not phrase.also:
            return Understood(problem=problem, app=app)
    if scope is None or scope.is_everything:
        return Understood(app=app, is_everything=not app)
    spans = spans_of(phrase) if phrase else [(scope.start_ms, scope.end_ms)]
    found = phrase if isinstance(phrase, Found) else None
    return replace(_of_readings(spans, form, who, app, found), problem=problem)


def _of_readings(
    spans: list[tuple[int, int]], form: Mapping[str, str], who: Viewer, app: str, found: Found | None = None
) -> Understood:
    labels = [_label(*span, who, is_so_far=found is not None and found.is_so_far) for span in spans]
    if found and found.further:  # several times that are asked for together
        labels[0] = " + ".join(labels[1 : 2 + len(found.further)])
    if len(set(labels)) < len(labels):  # an hour that comes twice, when clocks go back
        offsets = [preferences.utc_offset(start_ms, who.zone) for start_ms, _ in spans]
        labels = [f"{label} {offset}" for label, offset in zip(labels, offsets, strict=True)]
    readings = tuple(Reading(*span, label) for span, label in zip(spans, labels, strict=True))
    asked_for = _span(form.get("reading", ""))
    same = (r for r in readings if asked_for and is_same_span((r.start_ms, r.end_ms), asked_for))
    changed = found is not None and bool(found.adjusted)
    return Understood(readings, next(same, readings[0]), app=app, clock_changed=changed)


def _span(value: str) -> tuple[int, int] | None:
    """``start-end`` in epoch milliseconds; None for anything else."""
    start, _, end = value.partition("-")
    if not (start.isdecimal() and end.isdecimal() and len(value) <= 31):
        return None
    return (int(start), int(end)) if times.MIN_MS <= int(start) < int(end) <= times.MAX_MS else None


def _label(start_ms: int, end_ms: int, who: Viewer, *, is_so_far: bool) -> str:
    words = formatting.span(start_ms, end_ms, who.zone, who.now_ms)
    duration = formatting.duration(end_ms - start_ms)
    return f"{words} · {_('%(duration)s so far', duration=duration) if is_so_far else duration}"
