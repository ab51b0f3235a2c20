"""Facts that disagree are found however their predicates were written."""

from __future__ import annotations

import pytest

from store.core.database import Database
from store.sources import entities, fact_curation
from store.sources.entities import Provenance
from tests.factories import NOON_MS
from tests.tables import for_each


def groups(database: Database, *said: tuple[str, str]) -> list[set[str]]:
    with database.write() as connection:
        anna, _ = entities.store_entity(connection, "person", "Anna", Provenance(NOON_MS))
        for predicate, value in said:
            entities.store_fact(connection, anna, predicate, Provenance(NOON_MS), object_value=value)
    found = fact_curation.conflicts(entities.facts_of(database, [anna]))
    return [{fact.object_value or "" for fact in group} for group in found]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("works_at", "Works at"),
        ("works-at", "works   at"),
        ("worksAt", "WORKS AT"),
        ("works for", "is employed by"),
        ("is_located_in", "located in"),
        ("has_email", "E-mail address"),
        ("has the birthday", "date of birth"),
        ("is a", "is an"),
        ("is", "is a"),
        ("住在", "住在"),
    ],
)
def test_one_relation_in_two_writings_clashes(database: Database, one: str, other: str) -> None:
    assert groups(database, (one, "x"), (other, "y")) == [{"x", "y"}]


@pytest.mark.parametrize(
    ("one", "other"),
    [("works at", "worked at"), ("is manager", "has manager"), ("is", "has"), ("likes", "dislikes")],
)
def test_two_relations_do_not(database: Database, one: str, other: str) -> None:
    assert groups(database, (one, "x"), (other, "y")) == []


def test_what_somebody_has_and_is_are_told_apart_only_where_both_are_said(database: Database) -> None:
    said = [("is manager", "Contoso"), ("has manager", "Bob"), ("manager", "Carl")]
    assert groups(database, *said) == [{"Bob", "Carl"}]


def test_the_same_object_in_other_words_is_no_clash(database: Database) -> None:
    assert groups(database, ("works_at", "Contoso Ltd"), ("Works at", "contoso  ltd.")) == []


@for_each("text", ["", "is", "has", "the", "_", "…", "a_", "\0"])
def test_any_text_has_a_key(text: str) -> None:
    relation, verb = fact_curation.predicate_key(text)
    assert verb == "" and isinstance(relation, str)
