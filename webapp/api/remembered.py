"""Care of what is remembered: take back and give back, merge and undo, where it was used, what disagrees."""

from __future__ import annotations

from pydantic import Field

from store.core.times import to_seconds
from store.sources import entities, fact_curation
from store.sources.entities import EntityNotFound
from store.sources.fact_curation import CannotMerge, FactUse
from webapp.api.endpoint import endpoint, invalid
from webapp.api.entities import (
    NO_ENTITY,
    EntityAnswer,
    FactAnswer,
    Id,
    entity_answer,
    fact_answer,
    no_entity,
)
from webapp.api.values import Answer, Request
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

NO_FACT = {404: "fact_not_found"}
MAX_CLASHING = 2_000
"""Facts that are compared, the latest ones."""


class RetractBody(Request):
    reason: str = Field("", max_length=fact_curation.MAX_REASON_CHARS)


class MergeBody(Request):
    into_id: Id = Field(description="The entity that both are recalled as from now on.")


class UseAnswer(Answer):
    chat_id: int
    turn_id: int
    question: str
    asked_at: float


class UsesAnswer(Answer):
    data: list[UseAnswer]


class ClashesAnswer(Answer):
    data: list[list[FactAnswer]] = Field(
        description="Facts with one subject and predicate and different objects."
    )


@endpoint(
    "POST", "/facts/<id:fact_id>/retract", "Take a fact back", body=RetractBody, body_required=False,
    answer=FactAnswer, problems=NO_FACT,
)  # fmt: skip
def retract_fact(fact_id: int, body: RetractBody) -> FactAnswer:
    """It is not recalled any more and stays with the reason; again changes nothing."""
    own = services()
    with own.database.write() as connection:
        fact_curation.retract(connection, fact_id, body.reason, own.clock())
    return fact_answer(fact_or_404(fact_id))


@endpoint("POST", "/facts/<id:fact_id>/restore", "Give a fact back", answer=FactAnswer, problems=NO_FACT)
def restore_fact(fact_id: int) -> FactAnswer:
    """It is recalled again; one that was not taken back is given as it is."""
    with services().database.write() as connection:
        fact_curation.restore_fact(connection, fact_id)
    return fact_answer(fact_or_404(fact_id))


@endpoint(
    "GET", "/facts/<id:fact_id>/uses", "Answers that a fact went into", answer=UsesAnswer, problems=NO_FACT
)
def uses_of_fact(fact_id: int) -> UsesAnswer:
    """The turns in which a tool gave it to the model, latest first."""
    fact_or_404(fact_id)
    return _uses(fact_curation.uses_of_fact(services().database, fact_id))


@endpoint(
    "GET", "/entities/<id:entity_id>/uses", "Answers that an entity went into", answer=UsesAnswer,
    problems=NO_ENTITY,
)  # fmt: skip
def uses_of_entity(entity_id: int) -> UsesAnswer:
    """The turns in which a tool gave it to the model, latest first."""
    found = entity_or_404(entity_id)
    return _uses(fact_curation.uses_of_entity(services().database, found.id))


@endpoint("GET", "/facts/clashes", "Facts that disagree", answer=ClashesAnswer)
def clashes() -> ClashesAnswer:
    """One subject, one predicate, several objects: perhaps one is wrong, perhaps all are true."""
    found = fact_curation.conflicts(entities.facts_of(services().database, None, MAX_CLASHING))
    return ClashesAnswer(data=[[fact_answer(each) for each in group] for group in found])


@endpoint(
    "POST", "/entities/<id:entity_id>/merge", "Let an entity be another one", body=MergeBody,
    answer=EntityAnswer, problems={**NO_ENTITY, 422: "cannot_merge"},
)  # fmt: skip
def merge_entity(entity_id: int, body: MergeBody) -> EntityAnswer:
    """Gives the one that both are recalled as. Facts keep what they were stored for, so it can be undone."""
    merge(entity_id, body.into_id)
    return entity_answer(entity_or_404(body.into_id))


@endpoint("POST", "/entities/<id:entity_id>/unmerge", "Undo a merge", answer=EntityAnswer, problems=NO_ENTITY)
def unmerge_entity(entity_id: int) -> EntityAnswer:
    """An entity that was merged is recalled by itself again, with its own facts."""
    with services().database.write() as connection:
        fact_curation.unmerge(connection, entity_id)
    return entity_answer(entity_or_404(entity_id))


def merge(entity_id: int, into_id: int) -> None:
    """Merge for the API and for the page. Raises `Problem`."""
    own = services()
    try:
        with own.database.write() as connection:
            fact_curation.merge(connection, entity_id, into_id, own.clock())
    except EntityNotFound as error:
        raise no_entity(error.args[0]) from error
    except CannotMerge as error:
        raise invalid(422, "cannot_merge", [FieldError("into_id", str(error))]) from error


def entity_or_404(entity_id: int) -> entities.Entity:
    """An entity, or the one that it was merged into."""
    try:
        return entities.get(services().database, entity_id)
    except EntityNotFound as error:
        raise no_entity(entity_id) from error


def fact_or_404(fact_id: int) -> entities.Fact:
    """A fact, taken back or not."""
    try:
        return entities.fact(services().database, fact_id)
    except LookupError as error:
        raise Problem(404, "fact_not_found", f"There is no fact {fact_id}.") from error


def _uses(found: list[FactUse]) -> UsesAnswer:
    return UsesAnswer(
        data=[
            UseAnswer(
                chat_id=use.chat_id, turn_id=use.turn, question=use.question, asked_at=to_seconds(use.at_ms)
            )
            for use in found
        ]
    )
