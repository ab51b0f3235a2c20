"""People, things and facts that are remembered: looked at, corrected, merged, forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from store.core import times
from store.core.database import Database
from store.core.translation import gettext as _
from store.frames import frames
from store.frames.frames import FrameRow
from store.sources import entities, fact_curation
from store.sources.entities import Entity, EntityKind, Fact, Provenance
from store.sources.fact_curation import CannotMerge
from webapp.api.endpoint import refusing
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.parameters import FORGET, is_confirmed, number
from webapp.core.services import Viewer, services, viewer
from webapp.pages.sources import words_for

LIMIT = 50
MOST_FACTS = 500
KINDS: tuple[EntityKind, ...] = ("person", "place", "event", "thing")
_SHOTS = 6
WEEKS = 12
_LEVELS = 4


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact as pages show it: in how many turns it was recalled, and its frame where that is still there."""

    fact: Fact
    uses: int
    source: FrameRow | None


@templating.get("/memory/entities")
def show_entities() -> Response:
    """Who and what is remembered, last changed first; ``?q=`` and ``?kind=`` narrow it."""
    q, offset = request.args.get("q", "").strip()[:200], number(request.args, "offset", 6) or 0
    kind = next((kind for kind in KINDS if kind == request.args.get("kind")), None)
    listed = entities.find_entities(services().database, q, kind, LIMIT + 1, offset)
    return templating.render_page(
        "entities/entities.html", q=q, kind=kind or "", entities=listed[:LIMIT],
        next_offset=offset + LIMIT if len(listed) > LIMIT else None,
    )  # fmt: skip


@templating.get("/memory/entities/<id:entity_id>")
def show_entity(entity_id: int) -> Response:
    """One, with what is said of it; one that was merged leads to the other."""
    entity = entities.get(services().database, entity_id)
    if entity.id != entity_id:
        return templating.redirect_to(f"/memory/entities/{entity.id}", 302)
    return _entity_page(entity)


@templating.post("/memory/entities")
def add() -> Response:
    """Remember somebody or something by hand, with a fact where one is said, and the ``frame`` of it."""
    own, form, frame_id = services(), request.form, number(request.form, "frame")
    kind = next((kind for kind in KINDS if kind == form.get("kind")), KINDS[0])
    says, value = form.get("predicate", "").strip(), form.get("value", "").strip()
    if frame_id is not None:
        frames.get(own.database, frame_id)
    learned, words = Provenance(own.clock(), frame_id=frame_id), form.get("description", "")
    with refusing(ValueError, "invalid_entity", "name"), own.database.write() as connection:
        entity_id, __ = entities.store_entity(connection, kind, form.get("name", ""), learned, words)
        if says or value:
            entities.store_fact(connection, entity_id, says, learned, object_value=value)
    return templating.redirect_back(f"/memory/entities/{entity_id}")


@templating.post("/memory/entities/<id:entity_id>/describe")
def describe(entity_id: int) -> Response:
    """Keep the person's name for it and description; no chat replaces these."""
    own, entity = services(), entities.get(services().database, entity_id)
    words = request.form.get("description", "").replace("\r\n", "\n")
    name = request.form.get("name", entity.name)
    with refusing(ValueError, "invalid_entity", "name"), own.database.write() as connection:
        entities.edit(connection, entity.id, name, words, own.clock())
    return templating.redirect_to(f"/memory/entities/{entity.id}")


@templating.get("/memory/entities/<id:entity_id>/merge")
def preview_merge(entity_id: int) -> Response:
    """Both side by side; nothing is done yet."""
    database = services().database
    entity, into = (entities.get(database, n) for n in (entity_id, number(request.args, "into") or -1))
    if into.id == entity.id:
        raise Problem(422, "cannot_merge", _("These are one already."))
    sides = [(each, entities.facts_of(database, [each.id], MOST_FACTS)) for each in (entity, into)]
    return templating.render_page("entities/merge.html", entity=entity, into=into, sides=sides)


@templating.post("/memory/entities/<id:entity_id>/merge")
def do_merge(entity_id: int) -> Response:
    """Let this one be recalled as the other."""
    own, into_id = services(), number(request.form, "into") or -1
    with refusing(CannotMerge, "cannot_merge", "into"), own.database.write() as connection:
        fact_curation.merge(connection, entity_id, into_id, own.clock())
    return templating.redirect_to(f"/memory/entities/{into_id}")


@templating.post("/memory/entities/<id:entity_id>/unmerge")
def unmerge(entity_id: int) -> Response:
    """Let one that was merged be recalled by itself again, with its own facts."""
    with services().database.write() as connection:
        fact_curation.unmerge(connection, entity_id)
    return templating.redirect_back(f"/memory/entities/{entity_id}")


@templating.post("/memory/entities/<id:entity_id>/forget")
def forget(entity_id: int) -> Response:
    """Delete it with every fact about it, when the word was typed."""
    own, entity = services(), entities.get(services().database, entity_id)
    if not is_confirmed(FORGET):
        return _entity_page(entity, 422, _("Type %(word)s to forget it for good.", word=_(FORGET)))
    with own.database.write() as connection:
        entities.delete_entity(connection, entity.id)
    own.database.checkpoint()
    return templating.redirect_to("/memory/entities")


@templating.get("/memory/facts")
def show_facts() -> Response:
    """What is said, latest first, what disagrees before it; ``?retracted=1`` what was taken back."""
    database = services().database
    offset, retracted = number(request.args, "offset", 6) or 0, request.args.get("retracted") == "1"
    facts = entities.facts_of(database, None, LIMIT + 1, offset, retracted=retracted)
    groups: list[list[Fact]] = []
    if not retracted and not offset:
        groups = fact_curation.conflicts(entities.facts_of(database, None, MOST_FACTS))
    return templating.render_page(
        "entities/facts.html",
        facts=_fact_rows(database, facts[:LIMIT]),
        conflicts=[_fact_rows(database, group) for group in groups],
        retracted=retracted,
        next_offset=offset + LIMIT if len(facts) > LIMIT else None,
    )


@templating.get("/memory/facts/<id:fact_id>")
def show_fact(fact_id: int) -> Response:
    """One fact: where it was learned, and which answers it went into."""
    fact = entities.fact(services().database, fact_id)
    uses = fact_curation.uses(services().database, "fact", fact.id)
    return templating.render_page("entities/fact.html", fact=fact, uses=uses)


@templating.post("/memory/facts/<id:fact_id>/<any(retract, restore):what>")
def retract(fact_id: int, what: str) -> Response:
    """Recall it no longer, for a ``reason``, or again."""
    own = services()
    with own.database.write() as connection:
        if what == "retract":
            fact_curation.retract(connection, fact_id, request.form.get("reason", ""), own.clock())
        else:
            fact_curation.restore_fact(connection, fact_id)
    return templating.redirect_back(f"/memory/facts/{fact_id}")


@templating.post("/memory/facts/<id:fact_id>/correct")
def correct(fact_id: int) -> Response:
    """Take it back and remember what the person says instead."""
    own, fact = services(), entities.fact(services().database, fact_id)
    value = request.form.get("value", "").strip()
    if not 0 < len(value) <= entities.MAX_TEXT_CHARS:
        most = formatting.count(entities.MAX_TEXT_CHARS, "character")
        problem = _("Say what is true instead, in at most %(characters)s.", characters=most)
        raise Problem(422, "invalid_fact", problem)
    with own.database.write() as connection:
        number, __ = entities.store_fact(
            connection, fact.subject_id, fact.predicate, Provenance(own.clock()), object_value=value
        )
        if number != fact_id:
            fact_curation.retract(connection, fact_id, "corrected", own.clock())
    return templating.redirect_back(f"/memory/facts/{number}")


def _entity_page(entity: Entity, status: int = 200, forget_problem: str = "") -> Response:
    database = services().database
    facts = entities.facts_of(database, [entity.id], MOST_FACTS)
    retracted = entities.facts_of(database, [entity.id], MOST_FACTS, retracted=True)
    same_kind = entities.find_entities(database, "", entity.kind, 200)  # may be merged into it
    return templating.render_page(
        "entities/entity.html",
        status,
        entity=entity,
        facts=_fact_rows(database, facts),
        retracted=_fact_rows(database, retracted),
        conflicts=[_fact_rows(database, group) for group in fact_curation.conflicts(facts)],
        seen=fact_curation.seen(database, entity),
        shots=frames.get_many(database, sorted(entity.frames)[-_SHOTS:]).values(),
        heat=_heat(database, entity, viewer()),
        uses=fact_curation.uses(database, "entity", entity.id),
        others=sorted((e for e in same_kind if e.id != entity.id), key=lambda e: e.name.casefold()),
        confirmation=_(FORGET),
        forget_problem=forget_problem,
        source_words=words_for,
    )


def _fact_rows(database: Database, facts: Sequence[Fact]) -> list[FactRow]:
    counts = fact_curation.use_counts(database, [fact.id for fact in facts])
    ids = {fact.source_frame_id for fact in facts if fact.source_frame_id is not None}
    rows = frames.get_many(database, sorted(ids))
    return [FactRow(fact, counts.get(fact.id, 0), rows.get(fact.source_frame_id or -1)) for fact in facts]


def _heat(database: Database, entity: Entity, viewer: Viewer) -> dict[str, Any]:
    """On how many frames of each of the last days an entity stood, a column a week, Monday on top; `level` is
    0 for none, else 1 to 4 by the share of the fullest day. `seen` are the days with frames, the latest
    first. Days are the viewer's.
    """
    today = viewer.today.date
    first = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))  # a Monday
    since = times.day(first, viewer.zone, viewer.day_start_min)
    moments = fact_curation.moments_since(database, entity, since.start_ms)
    counts = Counter(viewer.day_of(ms).date for ms in moments)
    most = max((n for on, n in counts.items() if first <= on <= today), default=0)
    days = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    cells = [
        dict(on=on, frames=counts[on], level=-(-_LEVELS * counts[on] // most) if most else 0) for on in days
    ]
    return {"cells": cells, "seen": [cell for cell in reversed(cells) if cell["frames"]], "weeks": WEEKS}
