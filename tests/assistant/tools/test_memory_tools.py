"""Tools over what is remembered: days, entities, facts, tags, under the rules of today."""

from __future__ import annotations

from datetime import UTC, date
from typing import Any

import pytest

from assistant.tools.registry import registry
from assistant.tools.tool import ToolFailed
from store.core import times
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ToolsSettings
from store.egress import access_log
from store.frames import tags
from store.memory import daily_summaries
from store.privacy import rules
from store.sources import entities
from store.sources.entities import Provenance
from tests.assistant.helpers import NOW_MS
from tests.assistant.looking import Turn
from tests.factories import save_rules, store_frame
from tests.memories import put_observation
from tests.store.deletion.test_deletion import put
from tests.tables import for_each

DAY_MS = 86_400_000
TODAY_MS = NOW_MS // DAY_MS * DAY_MS


def put_day(database: Database, days_ago: int, text: str) -> None:
    start_ms = TODAY_MS - days_ago * DAY_MS
    with database.write() as connection:
        daily_summaries.put(
            connection, date.fromtimestamp(start_ms / 1000), "UTC", start_ms, start_ms + DAY_MS, text,
            "rule", NOW_MS,
        )  # fmt: skip


def summaries(told: dict[str, Any]) -> list[str]:
    return [day["summary"] for day in told["days"]]


def exclude(data_dir: DataDir, app: str) -> None:
    save_rules(data_dir, [rules.Rule(app=app)])


# -- days ---------------------------------------------------------------------------------


def test_days_are_found_and_the_latest_without_words(database: Database) -> None:
    for n, text in enumerate(("budget meeting", "wrote a report", "nothing much")):
        put_day(database, n, text)
    turn = Turn(database)
    assert summaries(turn.answer("search_rag", query="report")) == ["wrote a report"]
    assert summaries(turn.answer("search_rag", query="", limit=2)) == ["budget meeting", "wrote a report"]
    inside = turn.answer("search_rag", query="", start=(TODAY_MS - DAY_MS) / 1000, end=TODAY_MS / 1000)
    assert summaries(inside) == ["wrote a report"]
    assert turn.answer("search_rag", query="kraken")["note"] == "No summary of a day fits."
    assert "end must be later" in turn.error("search_rag", query="", start=5, end=5)


def test_of_a_long_day_the_lines_that_were_asked_for_are_told(database: Database) -> None:
    lines = [f"{n:02}:00 wrote chapter {n} of the handbook, {'x' * 150}" for n in range(8, 20)]
    put_day(database, 0, "\n".join(["Friday. 9 h at the screen.", *lines, "20:00 booked the ferry"]))
    turn = Turn(database)
    [told] = summaries(turn.answer("search_rag", query="ferry"))
    assert told.startswith("Friday. 9 h at the screen.\n08:00 ") and told.endswith(
        "\n20:00 booked the ferry\n…"
    )
    assert len(told) <= 2_000
    put_day(database, 1, "ferry " + "y" * 3_000)
    assert len(summaries(turn.answer("search_rag", query="ferry"))[1]) <= 2_001


def test_a_summary_is_forgotten_with_its_day_and_stays_within_the_range(database: Database) -> None:
    for n in range(3):
        put_day(database, n, f"day {n}")
    turn = Turn(database, range_ms=(TODAY_MS - DAY_MS, TODAY_MS))
    assert summaries(turn.answer("search_rag", query="day")) == ["day 1"]
    assert (turn.findings.from_ms, turn.findings.until_ms) == (TODAY_MS - DAY_MS, TODAY_MS)


def test_a_day_in_which_a_window_is_left_out_today_stays_back(database: Database, data_dir: DataDir) -> None:
    put(database, data_dir, TODAY_MS + 1000, "secret", app_name="Bank")
    put_day(database, 0, "at the bank")
    put_day(database, 1, "at home")
    turn = Turn(database)
    assert len(summaries(turn.answer("search_rag", query=""))) == 2
    exclude(data_dir, "Bank")
    told = turn.answer("search_rag", query="")
    assert (summaries(told), told["withheld"]) == (["at home"], 1)


# -- entities and facts -------------------------------------------------------------------


def test_store_then_recall_by_frame(database: Database, data_dir: DataDir) -> None:
    """Feature 27."""
    frame = store_frame(database, data_dir, NOW_MS, "Mail from Anna Bauer about the offer")
    turn = Turn(database)
    anna = turn.answer("store_entity", kind="person", name="Anna Bauer", description="a colleague")
    firm = turn.answer("store_entity", kind="thing", name="Contoso", frame_id=frame.id)
    assert (anna["is_new"], firm["is_new"]) == (True, True)
    said = turn.answer(
        "store_fact", subject_id=anna["entity_id"], predicate="works at", object_entity_id=firm["entity_id"]
    )
    assert said["is_new"]
    turn.answer("store_fact", subject_id=anna["entity_id"], predicate="birthday", object_value="12 May")
    told = Turn(database).answer("recall_facts_for_frame", frame_id=frame.id)
    assert {row["name"] for row in told["entities"]} == {"Anna Bauer", "Contoso"}
    facts = {(fact["predicate"], fact["object"]) for row in told["entities"] for fact in row["facts"]}
    assert facts == {("works at", "Contoso"), ("birthday", "12 May")}
    again = turn.answer("store_entity", kind="person", name="ANNA  BAUER")
    assert again == {"entity_id": anna["entity_id"], "is_new": False}


def test_a_person_is_told_what_would_be_remembered(database: Database) -> None:
    turn = Turn(database)
    for kind, name in (("person", "Anna"), ("thing", "Contoso")):
        turn.answer("store_entity", kind=kind, name=name)
    assert turn.notice("store_entity", kind="person", name=" Ben  Ho ", description="a friend") == (
        "Remembers the person “Ben Ho”: a friend."
    )
    with pytest.raises(ToolFailed, match="no frame 7"):
        turn.notice("store_entity", kind="person", name="Ben Ho", frame_id=7)
    about = {"subject_id": 1, "predicate": "works at"}
    assert turn.notice("store_fact", **about, object_entity_id=2) == ("Remembers: Anna works at Contoso.")
    assert turn.notice("store_fact", **about, object_value="home") == "Remembers: Anna works at home."


def test_a_fact_that_cannot_be_is_refused_before_anybody_is_asked(database: Database) -> None:
    turn = Turn(database)
    turn.answer("store_entity", kind="person", name="Anna")
    about = {"subject_id": 1, "predicate": "is"}
    wrong: list[dict[str, Any]] = [{}, {"object_value": "x", "object_entity_id": 1}, {"object_entity_id": 9}]
    for objects in wrong:
        with pytest.raises(ToolFailed, match=r"exactly one|no entity 9"):
            turn.notice("store_fact", **about, **objects)


@for_each(
    ("arguments", "problem"),
    [
        ({"kind": "person"}, "Field required"),
        ({"kind": "person", "name": "  "}, "a name has a word"),
        ({"kind": "robot", "name": "x"}, "person"),
        ({"kind": "person", "name": "x" * 300}, "at most 200"),
        ({"kind": "person", "name": "x", "frame_id": 5}, "there is no frame 5"),
    ],
)
def test_bad_entities_are_refused_with_a_reason(
    database: Database, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in Turn(database).error("store_entity", **arguments)
    assert entities.find_entities(database) == []


def test_both_stores_ask_by_default() -> None:
    tools = registry(ToolsSettings())
    asking = {each.name for each in tools.values() if each.mode == "ask"}
    assert {"store_entity", "store_fact"} <= asking
    assert not asking & {"recall_entities", "recall_facts_for_frame", "search_messages", "search_rag"}


def test_nothing_remembered_is_an_answer(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOW_MS, "text")
    turn = Turn(database)
    assert "Nothing of this" in turn.answer("recall_entities", name="Anna")["note"]
    assert "Nobody and nothing" in turn.answer("recall_facts_for_frame", frame_id=frame.id)["note"]
    for tool in ("recall_facts_for_frame", "get_frame_tags"):
        assert "there is no frame 5" in turn.error(tool, frame_id=5)
        assert "Field required" in turn.error(tool)


def test_what_was_learned_in_a_window_left_out_today_stays_back(
    database: Database, data_dir: DataDir
) -> None:
    bank = store_frame(database, data_dir, NOW_MS, "Anna has 5 euros", app_name="Bank")
    turn = Turn(database)
    anna = turn.answer("store_entity", kind="person", name="Anna")["entity_id"]
    turn.answer("store_entity", kind="thing", name="Account 7", frame_id=bank.id)
    for value, source in (("tea", None), ("5 euros", bank.id)):
        turn.answer(
            "store_fact", subject_id=anna, predicate="has", object_value=value, source_frame_id=source
        )
    exclude(data_dir, "Bank")
    told = turn.answer("recall_entities")
    assert [row["name"] for row in told["entities"]] == ["Anna"]
    assert [fact["object"] for fact in told["entities"][0]["facts"]] == ["tea"]
    assert told["withheld"] == 2
    for tool in ("recall_facts_for_frame", "get_frame_tags"):
        assert "leaves out the window" in turn.error(tool, frame_id=bank.id)
    assert "leaves out" in turn.error("store_entity", kind="person", name="Ben", frame_id=bank.id)


def test_what_is_recalled_is_forgotten_with_the_frames_it_came_from(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOW_MS - DAY_MS, "Anna")
    with database.write() as connection:
        anna, _ = entities.store_entity(connection, "person", "Anna", Provenance(NOW_MS))
        learned = Provenance(NOW_MS, frame_id=frame.id)
        entities.store_fact(connection, anna, "likes", learned, object_value="tea")
    turn = Turn(database)
    turn.answer("recall_entities", name="anna")
    assert (turn.findings.from_ms, turn.findings.until_ms) == (NOW_MS - DAY_MS, NOW_MS - DAY_MS + 1)


def test_a_frame_outside_the_range_is_not_looked_at(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOW_MS, "Anna")
    turn = Turn(database, range_ms=(NOW_MS + 1, NOW_MS + 10))
    for tool in ("recall_facts_for_frame", "get_frame_tags", "get_frame"):
        assert "lies outside" in turn.error(tool, frame_id=frame.id)
    assert [row.outcome for row in access_log.latest(database)] == ["refused"] * 3


def test_memory_outside_the_range_is_neither_given_nor_counted(database: Database) -> None:
    put_observation(database, start_ms=NOW_MS - 1_000_000)
    for range_ms, given in ((None, 1), ((0, NOW_MS), 1), ((NOW_MS - 900_000, NOW_MS), 0)):
        turn = Turn(database, range_ms=range_ms)
        told = turn.answer("get_recent_context")
        assert (len(told["entries"]), told["withheld"]) == (given, 0)
        assert access_log.latest(database)[0].returned == given
    assert "lies outside" in turn.error("get_context_timeline", anchor=times.rfc3339(NOW_MS - 1_000_000, UTC))


def test_what_was_learned_outside_the_range_is_neither_given_nor_counted(
    database: Database, data_dir: DataDir
) -> None:
    """What the person stated holds at any time."""
    frame = store_frame(database, data_dir, NOW_MS - DAY_MS, "Anna")
    with database.write() as connection:
        stated = Provenance(NOW_MS)
        anna, _ = entities.store_entity(connection, "person", "Anna", stated)
        entities.store_entity(connection, "thing", "Anker", Provenance(NOW_MS, frame_id=frame.id))
        entities.store_fact(connection, anna, "likes", stated, object_value="tea")
        learned = Provenance(NOW_MS, frame_id=frame.id)
        entities.store_fact(connection, anna, "works at", learned, object_value="Hafen")
    for range_ms, names, facts in (
        (None, {"Anna", "Anker"}, ["Hafen", "tea"]),
        ((NOW_MS - 2 * DAY_MS, NOW_MS), {"Anna", "Anker"}, ["Hafen", "tea"]),
        ((NOW_MS - 1000, NOW_MS), {"Anna"}, ["tea"]),
    ):
        told = Turn(database, range_ms=range_ms).answer("recall_entities")
        assert {row["name"] for row in told["entities"]} == names
        told_facts = [fact["object"] for row in told["entities"] for fact in row.get("facts", ())]
        assert sorted(told_facts) == facts
        assert not told.get("withheld")


def test_a_frame_tells_of_no_neighbour_outside_the_range(database: Database, data_dir: DataDir) -> None:
    before, frame, after = (put(database, data_dir, NOW_MS + n * 1_000, str(n)) for n in range(3))
    beside = ("previous_frame_id", "next_frame_id")
    for range_ms, ids in (
        (None, [before.id, after.id]),
        ((NOW_MS + 1_000, NOW_MS + 3_000), [None, after.id]),
    ):
        told = Turn(database, range_ms=range_ms).answer("get_frame", frame_id=frame.id)
        assert [told.get(name) for name in beside] == ids
        assert told["activity"]["start"] == times.rfc3339(max(NOW_MS, (range_ms or (0,))[0]), UTC)


def test_tags_of_a_frame(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOW_MS, "text")
    turn = Turn(database)
    assert turn.answer("get_frame_tags", frame_id=frame.id)["note"] == "The frame has no tags."
    with database.write() as connection:
        for tag in ("work", "Anna"):
            tags.add(connection, frame.id, tag, NOW_MS)
    assert turn.answer("get_frame_tags", frame_id=frame.id)["tags"] == ["Anna", "work"]
