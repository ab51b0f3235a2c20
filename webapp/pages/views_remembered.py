"""The pages of what is remembered: people, places, events and things, and the facts about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.core import times
from store.core.database import Database
from store.frames import frames
from store.sources import entities, fact_curation
from store.sources.entities import Entity, EntityKind, Fact
from store.sources.fact_curation import FactUse, Sighting
from webapp.core import formatting
from webapp.core.viewer import Viewer
from webapp.pages.entities import Heat, first_day, heat
from webapp.views.frames import Picture, picture

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
