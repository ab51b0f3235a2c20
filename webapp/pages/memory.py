"""The pages of memory: a day, a search, what lies around a moment, one observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from flask import Blueprint, make_response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from store.core import times
from store.core.database import Database
from store.frames import apps, frames
from store.memory import observation_writer, observations, timeline
from store.memory import search as memory_search
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import SessionSummary, UserPrompt
from store.memory.entries import ENTRY_TYPES, EntryType, MemoryEntry, MemoryFilters, of_observation
from store.memory.observations import Observation
from store.memory.retrievers import RetrievalQuery
from store.memory.timeline import BadAnchor, ContextTimeline, UnknownAnchor
from webapp.api.memory import observation_or_404
from webapp.core import formatting, markdown, parameters, templating
from webapp.core.errors import Problem
from webapp.core.parameters import NO_RANGE, Range, day_named
from webapp.core.services import Viewer, services, viewer
from webapp.views.activity_band import slot_class
from webapp.views.frames import Picture, picture

LIMIT = 30
_SHOTS = 3
_SOURCES = {"rule": "by rule", "model": "by the chat model", "user": "in your words"}
_TYPE_NAMES: dict[EntryType, str] = {
    "observation": "Done",
    "session": "Session",
    "prompt": "Asked",
    "insight": "Insight",
    "chat": "Chat",
}
_FIELD_NAMES = {
    "request": "Asked for",
    "investigated": "Looked at",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Still to do",
    "notes": "Notes",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One entry. `address` leads to the whole of it, `around` to what lies around it."""

    entry: MemoryEntry
    type_name: str
    css_class: str
    address: str
    around: str
    observation: Observation | None
    prompt: UserPrompt | None
    sections: tuple[tuple[str, str], ...]  # of a session: (name, text)
    snippet: Markup
    source: str
    shots: tuple[Picture, ...]
    clocks: dict[int, int]  # frame id -> when it was captured
    is_anchor: bool = False


@dataclass(frozen=True, slots=True)
class DayPage:
    """Everything `memory/memory.html` draws."""

    on: date
    is_today: bool
    cards: list[Card]
    previous_day: date
    next_day: date | None
    nearest_days: tuple[date | None, date | None]


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """The search as its address says it."""

    q: str = ""
    type: str = ""
    concept: str = ""
    file: str = ""
    kind: str = ""
    range: Range = NO_RANGE

    @property
    def filters(self) -> MemoryFilters:
        return MemoryFilters(
            self.range.start_ms, self.range.end_ms, None, self.concept or None, self.file or None,
            self.kind or None,
        )  # fmt: skip

    @property
    def is_filtered(self) -> bool:
        return bool(self.type or self.concept or self.file or self.kind or self.range.is_given)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Everything `memory/search.html` and its results draw."""

    asked: MemoryQuery
    cards: list[Card]
    tally: str
    types: dict[EntryType, str]


@dataclass(frozen=True, slots=True)
class AroundPage:
    """Everything `memory/around.html` draws; `at_ms` is a moment that is no entry, else None."""

    anchor: str
    at_ms: int | None
    before: list[Card]
    after: list[Card]
    depth: int
    unit: str


@dataclass(frozen=True, slots=True)
class ObservationPage:
    """Everything `memory/observation.html` draws."""

    card: Card
    observation: Observation
    day: date
    errors: dict[str, str]


def day_page(database: Database, day: times.Day, viewer: Viewer) -> DayPage:
    found = observations.between(database, day.start_ms, day.end_ms)
    today = viewer.today.date
    nearest: tuple[date | None, date | None] = (None, None)
    if not found:
        earlier, later = observations.nearest_days(database, day.start_ms, day.end_ms)
        nearest = (
            None if earlier is None else viewer.day_of(earlier).date,
            None if later is None else viewer.day_of(later).date,
        )
    return DayPage(
        on=day.date,
        is_today=day.date == today,
        cards=cards(database, [of_observation(one) for one in found], viewer),
        previous_day=day.date - timedelta(days=1),
        next_day=day.date + timedelta(days=1) if day.date < today else None,
        nearest_days=nearest,
    )


def search_page(database: Database, asked: MemoryQuery, asking: RetrievalQuery, viewer: Viewer) -> SearchPage:
    types = [each for each in ENTRY_TYPES if not asked.type or each == asked.type]
    if asked.range.problem:
        return SearchPage(asked, [], asked.range.problem, _TYPE_NAMES)
    found = memory_search.search_memory(
        database, asking, types, asked.filters, now_ms=viewer.now_ms, limit=LIMIT
    )
    return SearchPage(asked, cards(database, found.entries, viewer), _tally(found, asked), _TYPE_NAMES)


_ORDERS = {
    "hybrid": "by words and meaning", "semantic": "by meaning", "fts": "by words", "newest": "newest first",
}  # fmt: skip


def _tally(found: memory_search.MemoryPage, asked: MemoryQuery) -> str:
    order = _ORDERS[found.strategy]
    where = "" if asked.range.is_given else f", the last {memory_search.MEMORY_WINDOW_DAYS} days"
    return f"{formatting.count(len(found.entries), 'entry', 'entries')}, {order}{where}"


def around_page(
    database: Database, found: ContextTimeline, anchor: str, depth: int, unit: str, viewer: Viewer
) -> AroundPage:
    marked = {(e.type, e.id) for e in found.entries if found.is_anchor(e)}
    made = cards(database, found.entries, viewer, marked)
    at_ms = found.anchor.at_ms if found.anchor.type == "time" else None
    return AroundPage(anchor, at_ms, made[: found.before], made[found.before :], depth, unit)


def observation_page(
    database: Database, found: Observation, viewer: Viewer, errors: dict[str, str]
) -> ObservationPage:
    [card] = cards(database, [of_observation(found)], viewer)
    return ObservationPage(card, found, viewer.day_of(found.start_ms).date, errors)


def cards(
    database: Database,
    entries: Iterable[MemoryEntry],
    viewer: Viewer,
    marked: Iterable[tuple[EntryType, int]] = (),
) -> list[Card]:
    """Entries as cards; `marked` are anchors."""
    slots = apps.colour_slots(database)
    anchors = set(marked)
    return [_card(database, entry, slots, viewer, (entry.type, entry.id) in anchors) for entry in entries]


def _card(
    database: Database, entry: MemoryEntry, slots: dict[str, int | None], viewer: Viewer, is_anchor: bool
) -> Card:
    body = entry.body
    observation = body if isinstance(body, Observation) else None
    prompt = body if isinstance(body, UserPrompt) else None
    anchor = {
        "observation": f"{entry.id}",
        "session": f"session:{entry.id}",
        "prompt": f"prompt:{entry.id}",
        "chat": datetime.fromtimestamp(entry.start_ms / 1000, UTC).isoformat(),
        "insight": datetime.fromtimestamp(entry.start_ms / 1000, UTC).isoformat(),
    }
    around = f"/memory/around?{urlencode({'anchor': anchor[entry.type]})}"
    address = around
    if observation:
        address = f"/memory/observations/{entry.id}"
    elif prompt:
        address = f"/chat/{prompt.chat_id}#t{prompt.prompt_number}"
    elif isinstance(body, ChatSummary):
        address = f"/chat/{body.chat_id}"
    elif entry.type == "insight":
        address = f"/insights/{entry.id}"
    shown = _pictures(database, observation, viewer) if observation else {}
    return Card(
        entry=entry,
        type_name=_TYPE_NAMES[entry.type],
        css_class=slot_class(slots.get(observation.app_name or "") if observation else None),
        address=address,
        around=around,
        observation=observation,
        prompt=prompt,
        sections=_sections(body) if isinstance(body, SessionSummary | ChatSummary) else (),
        snippet=markdown.highlight(entry.snippet, entry.highlights) if entry.snippet else Markup(""),
        source=_SOURCES[observation.source] if observation else "",
        shots=tuple(_spread(list(shown.values()), _SHOTS)),
        clocks={number: frames.captured_ms_of(number) for number in shown},
        is_anchor=is_anchor,
    )


def _pictures(database: Database, observation: Observation, viewer: Viewer) -> dict[int, Picture]:
    """The frames that still exist, by id."""
    rows = frames.get_many(database, observation.frame_ids)
    return {row.id: picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in rows.values()}


def _spread(shown: Sequence[Picture], most: int) -> list[Picture]:
    if len(shown) <= most:
        return list(shown)
    return [shown[round(n * (len(shown) - 1) / (most - 1))] for n in range(most)]


def _sections(body: SessionSummary | ChatSummary) -> tuple[tuple[str, str], ...]:
    return tuple((_FIELD_NAMES[name], text) for name, text in body.fields.items() if text)


# ---- webapp memory
# Memory: what was done on a day, found again, and seen in its surroundings; open to correction.

blueprint = Blueprint("memory", __name__)

_MAX_CHARS = 1_000
_MAX_NARRATIVE = 4_000
_MAX_LINES = 50


@blueprint.get("/memory")
def show() -> Response:
    """One day of observations; today unless ``?day=`` says another."""
    who = viewer()
    day = day_named(request.args.get("day"), who) or who.today
    page = day_page(services().database, day, who)
    return make_response(render_template("memory/memory.html", page=page, section="memory"))


@blueprint.get("/memory/search")
def search() -> Response:
    """What fits words or their meaning; for htmx only the results."""
    own, who = services(), viewer()
    asked = MemoryQuery(
        q=request.args.get("q", "")[:_MAX_CHARS],
        type=request.args.get("type", "") if request.args.get("type") in ENTRY_TYPES else "",
        concept=request.args.get("concept", "").strip()[:_MAX_CHARS],
        file=request.args.get("file", "").strip()[:_MAX_CHARS],
        kind=request.args.get("kind", "").strip()[:_MAX_CHARS],
        range=parameters.read(request.args, who),
    )
    page = search_page(own.database, asked, own.embedder.asking(asked.q), who)
    return templating.render("memory/search.html", "memory/_results.html", page=page, section="memory")


@blueprint.get("/memory/around")
def around() -> Response:
    """What lies around an anchor, which is marked."""
    anchor = request.args.get("anchor", "")[:_MAX_CHARS]
    depth = request.args.get("depth", "")
    steps = int(depth) if depth.isdecimal() and len(depth) < 3 else timeline.TIMELINE_DEPTH
    steps = min(steps, timeline.MAX_DEPTH)
    unit: timeline.Unit = "hours" if request.args.get("unit") == "hours" else "records"
    try:
        found = timeline.get_context_timeline(
            services().database, anchor, depth_before=steps, depth_after=steps, unit=unit
        )
    except BadAnchor as error:
        raise Problem(400, "invalid_anchor", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    except UnknownAnchor as error:
        raise Problem(404, "anchor_not_found", f"{str(error).capitalize()}.") from error
    page = around_page(services().database, found, anchor, steps, unit, viewer())
    return make_response(render_template("memory/around.html", page=page, section="memory"))


@blueprint.get("/memory/observations/<id:observation_id>")
def observation(observation_id: int) -> Response:
    """One observation with its frames, and the form to correct it."""
    return _form(observation_id, {}, 200)


@blueprint.post("/memory/observations/<id:observation_id>")
def edit(observation_id: int) -> Response:
    """Keep the person's words; what reads as before goes on following the frames."""
    observation_or_404(observation_id)
    own, form = services(), request.form
    words = {
        "title": " ".join(form.get("title", "").split())[:_MAX_CHARS],
        "narrative": form.get("narrative", "").replace("\r\n", "\n").strip()[:_MAX_NARRATIVE],
        "facts": _lines(form.get("facts", "")),
        "concepts": _lines(form.get("concepts", "").replace(",", "\n")),
        "kind": " ".join(form.get("kind", "").split())[:40],
        "project": " ".join(form.get("project", "").split())[:_MAX_CHARS] or None,
    }
    errors = {name: "Needs at least one word." for name in ("title", "kind") if not words[name]}
    if errors:
        return _form(observation_id, errors, 422)
    observation_writer.edit(own.database, observation_id, words, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@blueprint.post("/memory/observations/<id:observation_id>/revert")
def revert(observation_id: int) -> Response:
    """Let the observation follow its frames again."""
    observation_or_404(observation_id)
    own = services()
    observation_writer.edit(own.database, observation_id, {}, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@blueprint.post("/memory/observations/<id:observation_id>/hide")
def hide(observation_id: int) -> Response:
    """Take it out of memory; its frames stay."""
    own = services()
    found = observation_or_404(observation_id)
    observation_writer.hide(own.database, observation_id, own.clock())
    day = viewer().day_of(found.start_ms)
    return redirect(f"/memory?day={day.date.isoformat()}", 303)


def _form(observation_id: int, errors: dict[str, str], status: int) -> Response:
    found = observation_or_404(observation_id)
    page = observation_page(services().database, found, viewer(), errors)
    return make_response(render_template("memory/observation.html", page=page, section="memory"), status)


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split())[:_MAX_CHARS] for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))[:_MAX_LINES]
