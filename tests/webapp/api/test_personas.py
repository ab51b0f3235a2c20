"""Personas over the API, as the contract says them."""

from __future__ import annotations

from typing import Any

from tests.tables import for_each
from tests.webapp.conftest import Actor

BODY = {"name": "Analyst", "system_prompt": "Voice: dry.", "description": "Numbers"}


def listed(program: Actor) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in program.get("/api/v1/personas").get_json()["data"]}


def test_the_built_in_ones_are_there_and_one_is_active(program: Actor) -> None:
    found = listed(program)
    assert [name for name, each in found.items() if each["builtin"]] == ["Assistant", "Journal"]
    assert [name for name, each in found.items() if each["active"]] == ["Assistant"]


def test_a_persona_is_added_read_changed_activated_and_removed(program: Actor) -> None:
    added = program.post("/api/v1/personas", json=BODY)
    assert added.status_code == 201
    own = added.get_json()
    assert BODY.items() <= own.items() and own["builtin"] is False and own["active"] is False
    address = f"/api/v1/personas/{own['id']}"
    changed = program.ask("PUT", address, json={**BODY, "system_prompt": "Voice: drier."}).get_json()
    assert (changed["version"], changed["system_prompt"]) == (2, "Voice: drier.")
    assert program.post(f"{address}/activate").get_json()["active"] is True
    assert listed(program)["Assistant"]["active"] is False
    assert program.ask("DELETE", address).get_json() == {
        "id": own["id"], "deleted": True, "archived": False
    }  # fmt: skip
    assert program.get(address).status_code == 404
    assert listed(program)["Assistant"]["active"] is True


def test_a_built_in_one_is_not_removed(program: Actor) -> None:
    journal = listed(program)["Journal"]
    address = f"/api/v1/personas/{journal['id']}"
    refused = program.ask("DELETE", address)
    assert (refused.status_code, refused.get_json()["code"]) == (409, "builtin_persona")


@for_each(
    ("body", "field"),
    [
        ({"name": "Journal", "system_prompt": "x"}, "name"),
        ({"name": "A", "system_prompt": ""}, "system_prompt"),
        ({"name": "A", "system_prompt": "x", "builtin": True}, "builtin"),
        ({"name": 5, "system_prompt": "x"}, "name"),
        ({"system_prompt": "x"}, "name"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_field(program: Actor, body: dict[str, Any], field: str) -> None:
    answer = program.post("/api/v1/personas", json=body)
    assert answer.status_code == 422
    assert field in {each["field"] for each in answer.get_json()["errors"]}
    assert len(listed(program)) == 2


def test_an_unknown_persona_is_not_found(program: Actor) -> None:
    answer = program.get("/api/v1/personas/999")
    assert (answer.status_code, answer.get_json()["code"]) == (404, "persona_not_found")
