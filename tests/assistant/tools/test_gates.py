"""The gates of tools: read lazily, once a turn, and never remembered for another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import apsw
import pytest

from assistant.tools.registry import GATES, ToolGateOpts, offered, registry
from store.chats import tool_permissions
from store.core import preferences
from store.core.database import Database
from store.core.settings import ToolsSettings
from store.deletion import sources as source_deletion
from store.memory import daily_summaries
from store.sources.calendars import EventRecord
from store.sources.imports import PLACES_ENABLED
from store.sources.locations import PlaceRecord, PointRecord
from tests.assistant.agents import agent_deps, run
from tests.assistant.helpers import NOW_MS
from tests.sources import put_events, put_places, put_points
from tests.stub_model import StubModel
from tests.tables import for_each

DAY_MS = 86_400_000
ALWAYS_ON = {
    "search_messages",
    "get_sms_messages",
    "recall_facts_for_frame",
    "recall_entities",
    "store_entity",
    "store_fact",
    "get_current_datetime",
    "reverse_geocode",
    "get_frame_tags",
}
FLAGS = {flag for flag, _ in GATES.values()}
PROBED = ("calendar_events", "daily_summaries", "location_points")


def gates(database: Database, *closed: str) -> ToolGateOpts:
    """All gates open but these."""
    opts = ToolGateOpts(database, "has_vision" not in closed, "has_attachments" not in closed)
    vars(opts).update({flag: flag not in closed for flag in FLAGS})
    return opts


def names(database: Database, opts: ToolGateOpts) -> set[str]:
    tools = registry(ToolsSettings())
    return {tool.name for tool in offered(database, tools, opts)}


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The SQL that this thread runs in the block."""
    ran: list[str] = []

    def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        ran.append(" ".join(sql.split()))
        return True

    connection = database.connection()
    connection.exec_trace = trace
    try:
        yield ran
    finally:
        connection.exec_trace = None


def put_day(database: Database) -> None:
    with database.write() as connection:
        daily_summaries.put(
            connection, date(2026, 11, 20), "UTC", NOW_MS - DAY_MS, NOW_MS, "A day.", "rule", NOW_MS
        )


def offered_names(stub: StubModel, request: int = -1) -> set[str]:
    return {tool["function"]["name"] for tool in stub.requests[request]["tools"]}


def test_the_gates_are_those_of_the_table(database: Database) -> None:
    assert {tool: flag for tool, (flag, _) in GATES.items()} == {
        "describe_frame": "has_vision",
        "get_place_at": "places_enabled",
        "get_calendar_events": "calendar_present",
        "get_location_history": "location_history_present",
        "search_rag": "daily_summaries_present",
        "read_attachment": "has_attachments",
        "search_chats": "chats_told",
    }
    assert names(database, gates(database, *FLAGS)) >= ALWAYS_ON
    assert not ALWAYS_ON & GATES.keys()


@for_each(("name", "flag"), [(tool, flag) for tool, (flag, _) in GATES.items()])
def test_each_flag_removes_exactly_its_own_tool(database: Database, name: str, flag: str) -> None:
    everything = names(database, gates(database))
    assert name in everything
    assert everything - names(database, gates(database, flag)) == {name}


def test_a_source_is_probed_once_a_turn_and_only_when_asked(database: Database) -> None:
    put_events(database, [EventRecord("Standup", NOW_MS, NOW_MS + 1)])
    tools = registry(ToolsSettings())
    opts = ToolGateOpts(database, has_vision=False)
    with statements(database) as ran:
        assert not [sql for sql in ran if "limit 1" in sql], "nothing is read before it is asked for"
        for _ in range(3):
            found = {tool.name for tool in offered(database, tools, opts)}
    assert ("get_calendar_events" in found, "get_location_history" in found) == (True, False)
    probes = [sql for sql in ran if sql.startswith("select 1 from")]
    assert sorted(probes) == [f"select 1 from {table} limit 1" for table in PROBED]
    assert not [sql for sql in ran if "messages" in sql], "messages are not probed"


def test_a_tool_that_is_off_is_not_probed_for(database: Database) -> None:
    for tool in ("get_calendar_events", "get_location_history", "search_rag", "get_place_at"):
        tool_permissions.choose(database, tool, "off", NOW_MS)
    with statements(database) as ran:
        offered(database, registry(ToolsSettings()), ToolGateOpts(database, has_vision=False))
    assert not [sql for sql in ran if sql.startswith("select 1 from") or "places" in sql]


def test_a_whole_turn_probes_each_source_once(database: Database, stub: StubModel) -> None:
    probes: list[str] = []
    connection_of = database.connection

    def traced() -> apsw.Connection:
        connection = connection_of()

        def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
            if sql.startswith("select 1 from") and " where " not in sql:
                probes.append(sql)
            return True

        connection.exec_trace = trace
        return connection

    database.connection = traced  # type: ignore[method-assign]
    stub.call(("calculator", {"expression": "1+1"}))
    stub.call(("calculator", {"expression": "1+2"}))
    stub.reply("Done.")
    with agent_deps(database, stub) as deps:
        run(deps)
    assert sorted(probes) == [f"select 1 from {table} limit 1" for table in PROBED]


def test_what_is_imported_or_deleted_counts_in_the_next_turn(database: Database, stub: StubModel) -> None:
    with agent_deps(database, stub) as deps:

        def turn() -> set[str]:
            stub.reply("Nothing.")
            run(deps)
            return offered_names(stub)

        assert turn() & GATES.keys() == set()
        put_events(database, [EventRecord("Standup", NOW_MS, NOW_MS + 1)])
        assert turn() & GATES.keys() == {"get_calendar_events"}
        put_points(database, [PointRecord(NOW_MS, 1, 1)])
        put_places(database, [PlaceRecord("Home", 1, 1)])
        put_day(database)
        assert turn() & GATES.keys() == {
            "get_calendar_events", "get_location_history", "get_place_at", "search_rag",
        }  # fmt: skip
        source_deletion.delete(database, "calendar")
        preferences.set_preference(database, PLACES_ENABLED, False)
        assert turn() & GATES.keys() == {"get_location_history", "search_rag"}
        preferences.set_preference(database, PLACES_ENABLED, True)
        source_deletion.delete(database, "places")
        assert "get_place_at" not in turn()


def test_a_call_to_a_tool_that_is_not_there_has_an_error_and_the_turn_goes_on(
    database: Database, stub: StubModel
) -> None:
    stub.call(("get_calendar_events", {"start": 0, "end": 1}), ("make_coffee", {}))
    stub.reply("I could not look into a calendar.")
    with agent_deps(database, stub) as deps:
        ran = run(deps)
    assert [(call.tool, call.state) for call in ran.calls] == [
        ("get_calendar_events", "failed"),
        ("make_coffee", "failed"),
    ]
    assert json.loads(ran.calls[0].arguments) == {"start": 0, "end": 1}  # which the person is shown
    told = [m["content"] for m in stub.requests[1]["messages"] if m["role"] == "tool"]
    assert len(told) == 2
    assert all('"error"' in text for text in told)
    assert "calendar" in ran.result.answer_md


@pytest.mark.parametrize("form", ["", "llama31"])
def test_get_current_time_is_another_name_that_is_not_offered(
    database: Database, stub: StubModel, form: str
) -> None:
    if form:
        stub.reply('<|python_tag|>{"name": "get_current_time", "parameters": {}}')
    else:
        stub.call(("get_current_time", {}))
    stub.reply("It is now.")
    with agent_deps(database, stub, form) as deps:
        ran = run(deps)
    assert [(call.tool, call.state) for call in ran.calls] == [("get_current_datetime", "completed")]
    asked = str(stub.requests[0])
    assert "get_current_datetime" in asked
    assert "get_current_time" not in asked
