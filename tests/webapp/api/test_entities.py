"""GET, POST, DELETE /entities and /facts: shapes and refusals."""

from __future__ import annotations

from typing import Any

from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock

ENTITIES, FACTS = "/api/v1/entities", "/api/v1/facts"


def remember(program: Actor, name: str, kind: str = "person") -> int:
    answer = program.post(ENTITIES, json={"kind": kind, "name": name})
    assert answer.status_code == 201
    return int(answer.get_json()["id"])


def test_what_is_remembered_can_be_read(program: Actor, now: Clock) -> None:
    anna, firm = remember(program, "Anna Bauer"), remember(program, "Contoso", "thing")
    about = {"subject_id": anna, "predicate": "works at", "object_entity_id": firm}
    fact = program.post(FACTS, json=about)
    assert fact.status_code == 201
    assert fact.get_json() == {
        "id": 1, "subject_id": anna, "subject": "Anna Bauer", "predicate": "works at",
        "object_entity_id": firm, "object_entity": "Contoso", "object_value": None,
        "source_frame_id": None, "created_at": now() / 1000, "origin": "person", "retracted_at": None,
        "retract_reason": "",
    }  # fmt: skip
    assert program.get(f"{ENTITIES}/{anna}").get_json() == {
        "id": anna, "kind": "person", "name": "Anna Bauer", "description": "", "frame_ids": [], "facts": 1,
        "created_at": now() / 1000, "updated_at": now() / 1000, "aliases": [], "origin": "person",
        "imports": [],
    }  # fmt: skip
    assert program.get(f"{FACTS}?entity_id={firm}").get_json()["data"] == [fact.get_json()]
    for query, names in {"": {"Anna Bauer", "Contoso"}, "q=bauer": {"Anna Bauer"}, "kind=thing": {"Contoso"},
                         "q=nobody": set(), "limit=1&offset=1": {"Anna Bauer"}}.items():  # fmt: skip
        found = program.get(f"{ENTITIES}?{query}").get_json()["data"]
        assert {each["name"] for each in found} == names, query


def test_forgetting_takes_facts_along(program: Actor) -> None:
    anna, ben = remember(program, "Anna"), remember(program, "Ben")
    for value in ("tea", "rum"):
        program.post(FACTS, json={"subject_id": anna, "predicate": "likes", "object_value": value})
    program.post(FACTS, json={"subject_id": ben, "predicate": "knows", "object_entity_id": anna})
    assert program.ask("DELETE", f"{FACTS}/1").get_json() == {"id": 1, "deleted": True}
    assert len(program.get(FACTS).get_json()["data"]) == 2
    assert program.ask("DELETE", f"{ENTITIES}/{anna}").get_json() == {"id": anna, "deleted": True}
    assert program.get(FACTS).get_json()["data"] == []
    for address in (f"{FACTS}/1", f"{ENTITIES}/{anna}"):
        assert program.ask("DELETE", address).status_code == 404


@for_each(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_fact"),
        ({"object_value": "x", "object_entity_id": 1}, 422, "invalid_fact"),
        ({"object_value": "  "}, 422, "invalid_fact"),
        ({"object_entity_id": 99}, 404, "entity_not_found"),
        ({"object_value": "x", "subject_id": 99}, 404, "entity_not_found"),
        ({"object_value": "x", "source_frame_id": 99}, 404, "frame_not_found"),
        ({"object_value": "x", "predicate": ""}, 422, "invalid_predicate"),
        ({"object_value": 5}, 422, "invalid_object_value"),
        ({"object_value": "x", "colour": "red"}, 422, "unknown_field"),
    ],
)
def test_a_fact_that_cannot_be_is_refused(
    program: Actor, body: dict[str, Any], status: int, code: str
) -> None:
    anna = remember(program, "Anna")
    answer = program.post(FACTS, json={"subject_id": anna, "predicate": "is", **body})
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert program.get(FACTS).get_json()["data"] == []


def test_a_fact_that_was_stated_outlives_the_frame_that_shows_it(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "Anna likes tea")
    anna = remember(program, "Anna")
    about = {"subject_id": anna, "predicate": "likes", "object_value": "tea", "source_frame_id": frame.id}
    assert program.post(FACTS, json=about).status_code == 201
    assert program.ask("DELETE", f"/api/v1/frames/{frame.id}").status_code == 200
    [fact] = program.get(FACTS).get_json()["data"]
    assert (fact["object_value"], fact["source_frame_id"]) == ("tea", None)


def test_names_without_a_word_are_refused(program: Actor) -> None:
    for name in ("", "!?", "x" * 201):
        answer = program.post(ENTITIES, json={"kind": "person", "name": name})
        assert answer.status_code == 422, name
    assert program.get(f"{ENTITIES}/7").get_json()["code"] == "entity_not_found"
