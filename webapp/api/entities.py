"""Persistent memory: people, places, events and things, and the facts about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from apsw import Connection
from pydantic import Field

from store.core.errors import existing
from store.frames import frames
from store.sources import entities
from store.sources.entities import Entity, NamedBy, Provenance
from webapp.api.endpoint import endpoint, refusing
from webapp.api.values import (
    MAX_ID,
    Answer,
    DeletedAnswer,
    Listing,
    QueryBool,
    QueryInt,
    Request,
    Text,
    Timestamp,
)
from webapp.core.services import services

ENTITY = "/entities/<id:entity_id>"
FACT = "/facts/<id:fact_id>"
MAX_OFFSET = 10_000

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
Limit = Annotated[QueryInt, Field(ge=1, le=200)]
Offset = Annotated[QueryInt, Field(ge=0, le=MAX_OFFSET)]


class EntitiesQuery(Request):
    q: Text = Field("", description="Words that the name or description has, all of them; blank: everything.")
    kind: Literal["person", "place", "event", "thing"] | None = None
    limit: Limit = 50
    offset: Offset = 0


class FactsQuery(Request):
    entity_id: Annotated[QueryInt, Field(ge=0)] | None = Field(
        None, description="Only facts that name this entity."
    )
    retracted: QueryBool = Field(False, description="Those that were taken back instead.")
    limit: Limit = 50
    offset: Offset = 0


class EntityBody(Request):
    kind: Literal["person", "place", "event", "thing"]
    name: str = Field(min_length=1, max_length=entities.MAX_NAME_CHARS)
    description: str = Field("", max_length=entities.MAX_TEXT_CHARS)


class FactBody(Request):
    """Exactly one of `object_entity_id` and `object_value` is given."""

    subject_id: Id
    predicate: str = Field(min_length=1, max_length=entities.MAX_NAME_CHARS)
    object_entity_id: Id | None = None
    object_value: Annotated[str, Field(max_length=entities.MAX_TEXT_CHARS)] | None = None
    source_frame_id: Id | None = Field(None, description="The frame that shows it; the fact outlives it.")


class AliasAnswer(Answer):
    id: int
    name: str


class EntityAnswer(Answer):
    id: int
    kind: Literal["person", "place", "event", "thing"]
    name: str
    description: str
    frame_ids: list[int] = Field(validation_alias="frames", description="Frames that it was found on.")
    facts: int = Field(description="How many facts name it.")
    aliases: list[AliasAnswer] = Field(description="What was merged into it.")
    imports: list[NamedBy] = Field(description="Imported files that name it.")
    origin: Literal["chat", "person", "import"] = Field(
        description="Who had it remembered; import: a person, of the names in a file."
    )
    created_at: Timestamp
    updated_at: Timestamp


class FactAnswer(Answer):
    id: int
    subject_id: int
    subject: str
    predicate: str
    object_entity_id: int | None
    object_entity: str | None = Field(description="The name of the object where it is an entity.")
    object_value: str | None
    source_frame_id: int | None
    created_at: Timestamp
    origin: Literal["chat", "person", "import"] = Field(description="Who had it remembered.")
    retracted_at: Timestamp | None = Field(description="When it was taken back; it is not recalled since.")
    retract_reason: str


@endpoint("GET", "/entities", "What is remembered")
def all_entities(query: EntitiesQuery) -> Listing[EntityAnswer]:
    """Last changed first."""
    page = entities.find_entities(services().database, query.q, query.kind, query.limit, query.offset)
    return Listing(data=[entity_answer(entity) for entity in page])


@endpoint(
    "POST", "/entities", "Remember a person, place, event or thing", {422: "invalid_entity"}, status=201
)
def add_entity(body: EntityBody) -> EntityAnswer:
    """The same kind and name is the same entity; a description replaces the old one."""
    own = services()
    with refusing(ValueError, "invalid_entity", "name"), own.database.write() as connection:
        number, _ = entities.store_entity(
            connection, body.kind, body.name, Provenance(own.clock()), body.description
        )
    return entity_answer(entities.get(own.database, number))


@endpoint("GET", ENTITY, "One entity")
def one_entity(entity_id: int) -> EntityAnswer:
    """Its facts are at /facts?entity_id=."""
    return entity_answer(entities.get(services().database, entity_id))


@endpoint("DELETE", ENTITY, "Forget an entity and every fact about it")
def forget_entity(entity_id: int) -> DeletedAnswer:
    """What chats said of it stays: delete those chats."""
    return _forget("entity", entities.delete_entity, entity_id)


@endpoint("GET", "/facts", "Facts that are remembered")
def all_facts(query: FactsQuery) -> Listing[FactAnswer]:
    """Latest first."""
    about = None if query.entity_id is None else [query.entity_id]
    facts = entities.facts_of(
        services().database, about, query.limit, query.offset, retracted=query.retracted
    )
    return Listing(data=FactAnswer.list_of(facts))


@endpoint(
    "POST",
    "/facts",
    "Remember a fact",
    {404: "entity_not_found, frame_not_found", 422: "invalid_fact"},
    status=201,
)
def add_fact(body: FactBody) -> FactAnswer:
    """A fact that is known already is given back as it is."""
    own = services()
    if body.source_frame_id is not None:
        frames.get(own.database, body.source_frame_id)
    with refusing(ValueError, "invalid_fact", "object_value"), own.database.write() as connection:
        number, _ = entities.store_fact(
            connection,
            body.subject_id,
            body.predicate,
            Provenance(own.clock(), frame_id=body.source_frame_id),
            object_entity_id=body.object_entity_id,
            object_value=body.object_value,
        )
    return FactAnswer.of(entities.fact(services().database, number))


@endpoint("DELETE", FACT, "Forget a fact")
def forget_fact(fact_id: int) -> DeletedAnswer:
    """The entities that it names stay."""
    return _forget("fact", entities.delete_fact, fact_id)


def _forget(noun: str, delete: Callable[[Connection, int], bool], number: int) -> DeletedAnswer:
    with services().database.write() as connection:
        existing(delete(connection, number), noun, number)
    services().database.checkpoint()
    return DeletedAnswer(id=number)


def entity_answer(entity: Entity) -> EntityAnswer:
    return EntityAnswer.of(
        entity, aliases=[AliasAnswer(id=number, name=name) for number, name in entity.aliases]
    )
