"""Facts that disagree are found however their predicates were written."""

from __future__ import annotations

import pytest

from store.core.database import Database
from store.sources import entities, fact_curation
from store.sources.entities import Provenance
from tests.factories import NOON_MS


def groups(database: Database, *said: tuple[str, str]) -> list[set[str]]:
    with database.write() as connection:
        anna, _ = entities.store_entity(connection, "person", "Anna", Provenance(NOON_MS))
        for predicate, value in said:
            entities.store_fact(connection, anna, predicate, Provenance(NOON_MS), object_value=value)
    found = fact_curation.conflicts(entities.facts_of(database, [anna]))
    return [{fact.object_value or "" for fact in group} for group in found]


@pytest.mark.parametrize(
    ("one", "other"),
    [("works_at", "Works at"), ("works-at", "works   at"), ("worksAt", "WORKS AT"), ("住在", "住在")],
)
def test_one_relation_in_two_writings_clashes(database: Database, one: str, other: str) -> None:
    assert groups(database, (one, "x"), (other, "y")) == [{"x", "y"}]


@pytest.mark.parametrize(
    ("one", "other"),
    [("works at", "worked at"), ("is manager", "has manager"), ("is", "has"), ("likes", "dislikes")],
)
def test_two_relations_do_not(database: Database, one: str, other: str) -> None:
    assert groups(database, (one, "x"), (other, "y")) == []


def test_the_same_object_in_other_words_is_no_clash(database: Database) -> None:
    assert groups(database, ("works_at", "Contoso Ltd"), ("Works at", "contoso  ltd.")) == []
