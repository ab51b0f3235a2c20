"""``GET /time``: what a text says of time, for everybody who shows or sends a range."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.webapp.conftest import Actor

NOW = datetime.fromisoformat("2026-10-15T16:40:00+02:00").timestamp()


def read(program: Actor, text: str) -> dict[str, Any]:
    query = {"text": text, "timezone": "Europe/Berlin", "now": str(NOW)}
    answer = program.ask("GET", "/api/v1/time", query_string=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json or {})


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_question_says_its_range_with_the_words_for_it(program: Actor) -> None:
    answer = read(program, "What did I read yesterday?")
    [found] = answer["found"]
    assert found["text"] == "yesterday"
    assert found["start_time"] == at("2026-10-14T00:00:00+02:00")
    assert found["end_time"] == at("2026-10-15T00:00:00+02:00")
    assert (answer["unread"], answer["problem"], found["so_far"]) == ([], None, False)


def test_no_time_is_no_problem(program: Actor) -> None:
    assert read(program, "Who booked room 12?") == {
        "found": [], "unread": [], "problem": None, "also": [],
    }  # fmt: skip


def test_what_cannot_be_says_why(program: Actor) -> None:
    answer = read(program, "What did I do on 30 February?")
    assert (answer["found"], answer["problem"]) == ([], "no_such_date")


def test_the_zone_is_a_zone(program: Actor) -> None:
    answer = program.ask("GET", "/api/v1/time", query_string={"text": "today", "timezone": "Mars/Olympus"})
    assert (answer.status_code, (answer.json or {})["code"]) == (400, "invalid_timezone")
