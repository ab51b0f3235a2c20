"""The examples in tool descriptions run, and give the right rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from store.core.database import Database
from store.memory import daily_summaries
from store.sources import entities, messages
from store.sources.entities import Provenance
from tests.assistant.examples import EXAMPLES
from tests.assistant.helpers import NOW_MS
from tests.assistant.looking import Turn
from tests.sources import message, put_messages

NOVEMBER_MS = 1_700_000_000_000
EVENING_MS = round(datetime.fromisoformat("2023-11-16T19:00:00+01:00").timestamp() * 1000)
DAY_MS = 86_400_000


@pytest.fixture
def filled(database: Database) -> Database:
    """41 contacts who said nothing of it, and the 42nd; eight entities; days of a week."""
    put_messages(database, [message("hello", 1, str(1000 + n)) for n in range(41)])
    put_messages(
        database,
        [
            message("dinner on Friday?", NOVEMBER_MS + 5, "4242"),
            message("dinner was great", NOVEMBER_MS - DAY_MS // 2, "4242"),
            message("dinner with me", NOVEMBER_MS + 6, "1000"),
            message("dinner next month", NOVEMBER_MS + 40 * DAY_MS, "4242"),
            message("I am at Trader Joe's, need anything?", NOVEMBER_MS - 90 * DAY_MS, "1001"),
            message("Joe is a trader", 5, "1001"),
            message("the meeting moved, work calls", 6, "1002"),
            message("meeting at ten in the big room next to the stairs, then work", 7, "1002"),
            message("see you at the evening show", EVENING_MS + DAY_MS, "1003"),
        ],
    )
    assert messages.contacts(database, "4242")[0].id == 42
    with database.write() as connection:
        for n in range(1, 9):
            entities.store_entity(connection, "person", f"Person {n}", Provenance(NOW_MS))
        for day, text in ((date(2026, 11, 14), "rest"), (date(2026, 11, 18), "the budget meeting went on")):
            start_ms = round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
            daily_summaries.put(connection, day, "UTC", start_ms, start_ms + DAY_MS, text, "rule", NOW_MS)
    return database


EXPECTED: dict[str, list[Any]] = {
    "get_sms_messages": [
        ["dinner was great", "dinner on Friday?", "dinner with me", "see you at the evening show"],
        ["dinner was great", "dinner on Friday?"],
    ],
    "search_messages": [
        ["I am at Trader Joe's, need anything?"],
        ["dinner on Friday?"],
        ["the meeting moved, work calls"],
    ],
    "search_rag": [["the budget meeting went on"], ["the budget meeting went on"]],
    "store_fact": [("works at", 7, None), ("birthday", None, "12 May")],
}


def test_every_example_has_an_expectation() -> None:
    assert {name: sum(name == each for each, _ in EXAMPLES) for name in EXPECTED} == {
        name: len(rows) for name, rows in EXPECTED.items()
    }
    assert {name for name, _ in EXAMPLES} == EXPECTED.keys()


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=[f"{n} {e}" for n, e in EXAMPLES])
def test_the_example_gives_the_right_rows(filled: Database, number: int) -> None:
    name, example = EXAMPLES[number]
    nth = sum(each == name for each, _ in EXAMPLES[:number])
    told = Turn(filled).answer(name, **example)
    expected = EXPECTED[name][nth]
    if name == "store_fact":
        [fact] = entities.facts_of(filled, [3])
        assert (fact.predicate, fact.object_entity_id, fact.object_value) == expected
    elif name == "search_rag":
        assert [day["summary"] for day in told["days"]] == expected
    else:
        assert [row["text"] for row in told["messages"]] == expected


def test_the_three_calls_of_the_requirement_are_the_examples() -> None:
    assert [example for name, example in EXAMPLES if name == "search_messages"] == [
        {"query": "trader joe's"},
        {"query": "dinner", "contact_id": 42, "start_ts": 1700000000, "end_ts": 1700604800},
        {"query": "NEAR(meeting work, 5)"},
    ]
    assert timedelta(seconds=1700604800 - 1700000000) == timedelta(days=7)
