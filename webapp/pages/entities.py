"""The heat strip: on how many frames of each of the last days something stood, a column a week."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.core import times
from store.core.database import Database
from store.frames import frames
from store.sources import entities, fact_curation
from store.sources.entities import Entity, EntityKind, Fact, Provenance
from store.sources.fact_curation import FactUse, Sighting
from webapp.api.entities import entity_or_404, fact_or_404, merge
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.services import Viewer, services, viewer
from webapp.views.frames import Picture, picture

WEEKS = 12
CELL_PX = 14
_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One day. `level` is 0 for no frame, else 1 to 4 by its share of the fullest day."""

    on: date
    frames: int
    level: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Heat:
    """Cells of whole weeks, Monday on top, up to today; `seen` are those with frames, the latest first."""

    cells: list[Cell]
    seen: list[Cell]
    width: int = WEEKS * CELL_PX
    height: int = 7 * CELL_PX

    @property
    def fullest(self) -> Cell:
        return max(self.seen, key=lambda cell: cell.frames)


def first_day(today: date) -> date:
    """The Monday that the strip begins with."""
    return today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))


def heat(moments_ms: Iterable[int], viewer: Viewer) -> Heat:
    """The strip of the frames of these moments, by the viewer's local days."""
    counts = Counter(viewer.day_of(ms).date for ms in moments_ms)
    today = viewer.today.date
    first = first_day(today)
    most = max((n for on, n in counts.items() if first <= on <= today), default=0)
    cells = []
    for n in range((today - first).days + 1):
        on = first + timedelta(days=n)
        level = -(-_LEVELS * counts[on] // most) if most else 0
        cells.append(Cell(on, counts[on], level, n // 7 * CELL_PX, n % 7 * CELL_PX))
    return Heat(cells, [cell for cell in reversed(cells) if cell.frames])


# ---- views remembered
# The pages of what is remembered: people, places, events and things, and the facts about them.

LIMIT = 50
MOST_FACTS = 500
_SHOTS = 6
KINDS: tuple[EntityKind, ...] = ("person", "place", "event", "thing")


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact as pages show it: in how many turns it was recalled, and its frame where that is still there."""

    fact: Fact
    used: int
    source: Picture | None

    @property
    def what(self) -> str:
        """The object in words."""
        return self.fact.object_entity or self.fact.object_value or ""


@dataclass(frozen=True, slots=True)
class EntitiesPage:
    """Everything `remembered/entities.html` draws."""

    q: str
    kind: str
    found: list[Entity]
    offset: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class EntityPage:
    """Everything `remembered/entity.html` draws; `others` may be merged into it."""

    entity: Entity
    said: list[FactRow]
    retracted: list[FactRow]
    clashes: list[list[FactRow]]
    seen: tuple[Sighting, Sighting] | None
    shots: list[Picture]
    heat: Heat
    uses: list[FactUse]
    others: list[Entity]


@dataclass(frozen=True, slots=True)
class FactsPage:
    """Everything `remembered/facts.html` draws: facts, or those that were taken back."""

    said: list[FactRow]
    clashes: list[list[FactRow]]
    retracted: bool
    offset: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class MergePage:
    """Everything `remembered/merge.html` draws: both, and what is said of them, side by side."""

    entity: Entity
    into: Entity
    said: list[FactRow]
    said_into: list[FactRow]


def entities_page(database: Database, q: str, kind: EntityKind | None, offset: int) -> EntitiesPage:
    found = entities.find_entities(database, q, kind, LIMIT + 1, offset)
    return EntitiesPage(q, kind or "", found[:LIMIT], offset, len(found) > LIMIT)


def entity_page(database: Database, entity: Entity, viewer: Viewer) -> EntityPage:
    facts = entities.facts_of(database, [entity.id], MOST_FACTS)
    gone = entities.facts_of(database, [entity.id], MOST_FACTS, retracted=True)
    shown = frames.get_many(database, sorted(entity.frames)[-_SHOTS:])
    others = [each for each in entities.find_entities(database, "", entity.kind, 200) if each.id != entity.id]
    return EntityPage(
        entity=entity,
        said=_said(database, facts, viewer),
        retracted=_said(database, gone, viewer),
        clashes=[_said(database, group, viewer) for group in fact_curation.conflicts(facts)],
        seen=fact_curation.seen(database, entity),
        shots=[picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in shown.values()],
        heat=_heat(database, entity, viewer),
        uses=fact_curation.uses_of_entity(database, entity.id),
        others=sorted(others, key=lambda each: each.name.casefold()),
    )


def _heat(database: Database, entity: Entity, viewer: Viewer) -> Heat:
    since = times.day(first_day(viewer.today.date), viewer.zone, viewer.day_start_min)
    return heat(fact_curation.moments_since(database, entity, since.start_ms), viewer)


def facts_page(database: Database, viewer: Viewer, *, retracted: bool, offset: int) -> FactsPage:
    found = entities.facts_of(database, None, LIMIT + 1, offset, retracted=retracted)
    groups: list[list[Fact]] = []
    if not retracted and not offset:
        groups = fact_curation.conflicts(entities.facts_of(database, None, MOST_FACTS))
    return FactsPage(
        said=_said(database, found[:LIMIT], viewer),
        clashes=[_said(database, group, viewer) for group in groups],
        retracted=retracted,
        offset=offset,
        has_more=len(found) > LIMIT,
    )


def merge_page(database: Database, entity: Entity, into: Entity, viewer: Viewer) -> MergePage:
    def of(one: Entity) -> list[FactRow]:
        return _said(database, entities.facts_of(database, [one.id], MOST_FACTS), viewer)

    return MergePage(entity, into, of(entity), of(into))


def fact_uses(database: Database, fact: Fact) -> list[FactUse]:
    return fact_curation.uses_of_fact(database, fact.id)


def _said(database: Database, facts: Iterable[Fact], viewer: Viewer) -> list[FactRow]:
    listed = list(facts)
    counts = fact_curation.use_counts(database, [fact.id for fact in listed])
    ids = {fact.source_frame_id for fact in listed if fact.source_frame_id is not None}
    rows = frames.get_many(database, sorted(ids))
    shots = {row.id: picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in rows.values()}
    return [FactRow(fact, counts.get(fact.id, 0), shots.get(fact.source_frame_id or -1)) for fact in listed]


# ---- webapp remembered
# People, things and facts that are remembered: looked at, corrected, merged, forgotten.

blueprint = Blueprint("remembered", __name__)

CONFIRMATION = "FORGET"


@blueprint.get("/memory/entities")
def show_entities() -> Response:
    """Who and what is remembered, last changed first; ``?q=`` and ``?kind=`` narrow it."""
    kind = request.args.get("kind", "")
    known = next((each for each in KINDS if each == kind), None)
    page = entities_page(services().database, request.args.get("q", "").strip()[:200], known, _offset())
    return _page("remembered/entities.html", page=page, kinds=KINDS)


@blueprint.get("/memory/entities/<id:entity_id>")
def show_entity(entity_id: int) -> Response:
    """One, with what is said of it; one that was merged leads to the other."""
    found = entity_or_404(entity_id)
    if found.id != entity_id:
        return templating.redirect_to(f"/memory/entities/{found.id}", 302)
    page = entity_page(services().database, found, viewer())
    return _page("remembered/entity.html", page=page, confirmation=CONFIRMATION)


@blueprint.post("/memory/entities/<id:entity_id>/describe")
def describe(entity_id: int) -> Response:
    """Keep the person's description; no chat replaces it."""
    own, found = services(), entity_or_404(entity_id)
    words = request.form.get("description", "").replace("\r\n", "\n")
    with own.database.write() as connection:
        entities.store_entity(connection, found.kind, found.name, Provenance(own.clock()), words)
    return templating.redirect_to(f"/memory/entities/{found.id}")


@blueprint.get("/memory/entities/<id:entity_id>/merge")
def preview_merge(entity_id: int) -> Response:
    """Both side by side; nothing is done yet."""
    into = request.args.get("into", "")
    found = entity_or_404(entity_id)
    other = entity_or_404(int(into) if into.isdecimal() and len(into) < 16 else -1)
    if other.id == found.id:
        raise Problem(422, "cannot_merge", "These are one already.")
    page = merge_page(services().database, found, other, viewer())
    return _page("remembered/merge.html", page=page)


@blueprint.post("/memory/entities/<id:entity_id>/merge")
def do_merge(entity_id: int) -> Response:
    """Let this one be recalled as the other."""
    into = request.form.get("into", "")
    into_id = int(into) if into.isdecimal() and len(into) < 16 else -1
    merge(entity_id, into_id)
    return templating.redirect_to(f"/memory/entities/{into_id}")


@blueprint.post("/memory/entities/<id:entity_id>/unmerge")
def unmerge(entity_id: int) -> Response:
    """Let one that was merged stand by itself again."""
    with services().database.write() as connection:
        fact_curation.unmerge(connection, entity_id)
    return templating.redirect_to(f"/memory/entities/{entity_or_404(entity_id).id}")


@blueprint.post("/memory/entities/<id:entity_id>/forget")
def forget(entity_id: int) -> Response:
    """Delete it with every fact about it, when the word was typed."""
    own, found = services(), entity_or_404(entity_id)
    if request.form.get("confirm", "").strip() != CONFIRMATION:
        page = entity_page(own.database, found, viewer())
        problem = f"Type {CONFIRMATION} to forget it for good."
        return _page(
            "remembered/entity.html", 422, page=page, confirmation=CONFIRMATION, forget_problem=problem
        )
    with own.database.write() as connection:
        entities.delete_entity(connection, found.id)
    own.database.checkpoint()
    return templating.redirect_to("/memory/entities")


@blueprint.get("/memory/facts")
def show_facts() -> Response:
    """What is said, latest first, what disagrees before it; ``?retracted=1`` what was taken back."""
    page = facts_page(
        services().database, viewer(), retracted=request.args.get("retracted") == "1", offset=_offset()
    )
    return _page("remembered/facts.html", page=page)


@blueprint.get("/memory/facts/<id:fact_id>")
def show_fact(fact_id: int) -> Response:
    """One fact: where it was learned, and which answers it went into."""
    found = fact_or_404(fact_id)
    uses = fact_uses(services().database, found)
    return _page("remembered/fact.html", fact=found, uses=uses)


@blueprint.post("/memory/facts/<id:fact_id>/retract")
def retract(fact_id: int) -> Response:
    """Take it back, with a reason if there is one."""
    fact_or_404(fact_id)
    own = services()
    with own.database.write() as connection:
        fact_curation.retract(connection, fact_id, request.form.get("reason", ""), own.clock())
    return templating.redirect_to(_back(f"/memory/facts/{fact_id}"))


@blueprint.post("/memory/facts/<id:fact_id>/restore")
def restore(fact_id: int) -> Response:
    """Let it be recalled again."""
    fact_or_404(fact_id)
    with services().database.write() as connection:
        fact_curation.restore_fact(connection, fact_id)
    return templating.redirect_to(_back(f"/memory/facts/{fact_id}"))


@blueprint.post("/memory/facts/<id:fact_id>/correct")
def correct(fact_id: int) -> Response:
    """Take it back and remember what the person says instead."""
    own, found = services(), fact_or_404(fact_id)
    value = request.form.get("value", "").strip()
    if not 0 < len(value) <= entities.MAX_TEXT_CHARS:
        problem = f"Say what is true instead, in at most {entities.MAX_TEXT_CHARS:,} characters."
        raise Problem(422, "invalid_fact", problem)
    with own.database.write() as connection:
        number, _ = entities.store_fact(
            connection, found.subject_id, found.predicate, Provenance(own.clock()), object_value=value
        )
        fact_curation.restore_fact(connection, number)
        if number != fact_id:
            fact_curation.retract(connection, fact_id, "corrected", own.clock())
    return templating.redirect_to(_back(f"/memory/facts/{number}"))


def _offset() -> int:
    text = request.args.get("offset", "")
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def _back(otherwise: str) -> str:
    address = request.form.get("next", "")
    return address if templating.is_local(address) else otherwise


def _page(template: str, status: int = 200, **context: object) -> Response:
    html = render_template(template, section="memory", **{"forget_problem": "", **context})
    return make_response(html, status)
