"""The timeline of memory: anchors, depths, order, and what is an error."""

from __future__ import annotations

import pytest

from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database, scalar
from store.core.paths import DataDir
from store.memory import observation_writer
from store.memory.timeline import (
    BadAnchor,
    ContextTimeline,
    Unit,
    UnknownAnchor,
    get_context_timeline,
)
from tests.factories import NOON_MS, store_frame
from tests.memories import put_observation, put_session
from tests.store.search.plans import plans
from tests.tables import for_each

MINUTE = 60_000
NOON = "2026-11-20T12:00:00Z"


@pytest.fixture
def mixed(database: Database) -> dict[str, int]:
    """Session, observation, prompt, observation, a minute apart, then two observations hours away."""
    found = {
        "session": put_session(database, NOON_MS - MINUTE, notes="notes of it", project="recall"),
        "first": put_observation(database, start_ms=NOON_MS, title="First", project="recall"),
    }
    chat = conversations.create(database, "q", NOON_MS)
    conversations.add_turn(
        database, chat, mode="evidence", model="m", question="what was\nit?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=NOON_MS + MINUTE,
    )  # fmt: skip
    with database.read() as connection:
        found["prompt"] = scalar(connection, "select max(id) from messages")
    found["second"] = put_observation(database, start_ms=NOON_MS + 2 * MINUTE, title="Second")
    found["early"] = put_observation(database, start_ms=NOON_MS - 3 * 60 * MINUTE, title="Early")
    found["late"] = put_observation(database, start_ms=NOON_MS + 90 * MINUTE, title="Late")
    return found


def names(found: ContextTimeline, mixed: dict[str, int]) -> list[str]:
    kinds = {"session": "session", "prompt": "prompt"}
    by_key = {(kinds.get(name, "observation"), number): name for name, number in mixed.items()}
    return [by_key[entry.type, entry.id] for entry in found.entries]


ALL = ["early", "session", "first", "prompt", "second", "late"]


def test_types_are_mixed_in_order_and_the_anchor_is_marked(database: Database, mixed: dict[str, int]) -> None:
    found = get_context_timeline(database, mixed["first"])
    assert names(found, mixed) == ALL
    assert [found.is_anchor(entry) for entry in found.entries].index(True) == found.before == 2
    times = [entry.start_ms for entry in found.entries]
    assert times == sorted(times)


@pytest.mark.parametrize("name", ALL)
def test_every_entry_is_an_anchor(database: Database, mixed: dict[str, int], name: str) -> None:
    prefix = {"session": "session:", "prompt": "prompt:"}.get(name, "")
    found = get_context_timeline(database, f"{prefix}{mixed[name]}", depth_before=1, depth_after=1)
    at = ALL.index(name)
    assert names(found, mixed) == ALL[max(0, at - 1) : at + 2]


@pytest.mark.parametrize(
    "anchor", [NOON, "2026-11-20T20:00:00+08:00", "2026-11-20 12:00:00", "2026-11-20T12:00:00.000Z"]
)
def test_an_iso_time_stands_between_entries(database: Database, mixed: dict[str, int], anchor: str) -> None:
    found = get_context_timeline(database, anchor, depth_before=1, depth_after=2)
    assert (found.anchor.type, found.anchor.id, found.anchor.at_ms) == ("time", None, NOON_MS)
    assert names(found, mixed) == ["session", "first", "prompt"]
    assert found.before == 1 and not any(map(found.is_anchor, found.entries))


def test_whatever_is_shown_by_an_id_is_an_anchor(
    database: Database, data_dir: DataDir, mixed: dict[str, int]
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "a page")
    for anchor in (frame.id, f"#{frame.id}", f"frame:{frame.id}", f"frame #{frame.id}"):
        found = get_context_timeline(database, anchor, depth_before=1, depth_after=2)
        assert (found.anchor.type, found.anchor.at_ms) == ("time", NOON_MS)
        assert names(found, mixed) == ["session", "first", "prompt"]
    chat = database.scalar("select conversation_id from messages where id = ?", (mixed["prompt"],))
    assert get_context_timeline(database, f"chat:{chat}").anchor.id == mixed["prompt"]
    for anchor in (
        f"observation:{mixed['first']}",
        f"obs_{mixed['first']}_facts",
        f"[Observation {mixed['first']}]",
    ):
        assert get_context_timeline(database, anchor).anchor.id == mixed["first"]
    for name in ("session", "prompt"):
        for form in (f"{name} {mixed[name]}", f"{name.title()} #{mixed[name]}", f"{name}_{mixed[name]}"):
            assert get_context_timeline(database, form).anchor.id == mixed[name]
    for form in (f"summary_{mixed['session']}", f"summary_{mixed['session']}_notes", "session_summary 1"):
        assert get_context_timeline(database, form).anchor.id == mixed["session"]


def test_a_question_is_of_the_project_whose_frame_its_answer_cites(
    database: Database, data_dir: DataDir, mixed: dict[str, int]
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "a page")
    put_observation(database, start_ms=NOON_MS, project="Recall", frame_ids=[frame.id])
    assert "prompt" not in names_of(get_context_timeline(database, NOON, project="recall"))
    cited = StoredEvidence(n=1, frame_id=frame.id, captured_ms=NOON_MS)
    turn = conversations.turns(database, 1)[0]
    conversations.finish_turn(database, turn.id, "It was a page [1].", {}, [cited], NOON_MS)
    assert "prompt" in names_of(get_context_timeline(database, NOON, project="recall"))
    assert "prompt" not in names_of(get_context_timeline(database, NOON, project="other"))


def names_of(found: ContextTimeline) -> list[str]:
    return [entry.type for entry in found.entries]


def test_a_numeric_string_is_the_number(database: Database, mixed: dict[str, int]) -> None:
    by_number = get_context_timeline(database, mixed["first"])
    assert get_context_timeline(database, str(mixed["first"])) == by_number


@for_each("anchor", [10**17, "999", "session:99", "prompt:99", 0, "chat:9", "frame:9", "insight:9", "#9"])
def test_an_unknown_anchor_is_an_error(database: Database, mixed: dict[str, int], anchor: int | str) -> None:
    with pytest.raises(UnknownAnchor):
        get_context_timeline(database, anchor)


@for_each(
    "anchor", ["", "yesterday", "2026-13-45", "session:", "session:x", "day:1", "-5", "1.5", "12:00", "٣"]
)
def test_what_is_no_anchor_is_an_error(database: Database, anchor: str) -> None:
    with pytest.raises(BadAnchor):
        get_context_timeline(database, anchor)


def test_an_assistants_message_and_a_hidden_observation_are_no_anchors(
    database: Database, mixed: dict[str, int]
) -> None:
    with database.write() as connection:
        connection.execute("update messages set role = 'assistant' where id = ?", (mixed["prompt"],))
    observation_writer.hide(database, mixed["second"], NOON_MS)
    for anchor in (f"prompt:{mixed['prompt']}", mixed["second"]):
        with pytest.raises(UnknownAnchor):
            get_context_timeline(database, anchor)
    assert names(get_context_timeline(database, NOON), mixed) == ["early", "session", "first", "late"]


def test_depth_0_is_the_anchor_alone_and_50_is_fifty_records(database: Database) -> None:
    ids = [put_observation(database, start_ms=NOON_MS + n * MINUTE) for n in range(120)]
    alone = get_context_timeline(database, ids[60], depth_before=0, depth_after=0)
    assert [entry.id for entry in alone.entries] == [ids[60]]
    most = get_context_timeline(database, ids[60], depth_before=50, depth_after=50)
    assert [entry.id for entry in most.entries] == ids[10:111]
    usual = get_context_timeline(database, ids[60])
    assert [entry.id for entry in usual.entries] == ids[50:71]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(0, 0, ["first"]), (1, 1, ALL[1:5]), (1, 2, ALL[1:]), (3, 0, ALL[:3]), (2, 2, ALL[1:])],
)
def test_depth_may_count_hours(
    database: Database, mixed: dict[str, int], before: int, after: int, expected: list[str]
) -> None:
    unit: Unit = "hours"
    found = get_context_timeline(database, mixed["first"], depth_before=before, depth_after=after, unit=unit)
    assert names(found, mixed) == expected


def test_entries_of_one_moment_are_neither_lost_nor_doubled(database: Database) -> None:
    ids = [put_observation(database, start_ms=NOON_MS) for _ in range(5)]
    put_session(database, NOON_MS, notes="n")
    for at, number in enumerate(ids):
        found = get_context_timeline(database, number)
        assert [(e.type, e.id) for e in found.entries] == [*(("observation", n) for n in ids), ("session", 1)]
        assert found.before == at


def test_a_project_narrows_what_lies_around(database: Database, mixed: dict[str, int]) -> None:
    found = get_context_timeline(database, mixed["second"], project="RECALL")
    assert names(found, mixed) == ["session", "first", "second"]


def test_entries_carry_type_id_time_title_and_body(database: Database, mixed: dict[str, int]) -> None:
    found = get_context_timeline(database, f"prompt:{mixed['prompt']}", depth_before=2, depth_after=0)
    assert [(e.type, e.start_ms, e.title) for e in found.entries] == [
        ("session", NOON_MS - MINUTE, "notes of it"),
        ("observation", NOON_MS, "First"),
        ("prompt", NOON_MS + MINUTE, "what was"),
    ]
    assert found.entries[2].body.text == "what was\nit?"  # type: ignore[union-attr]


def test_each_side_walks_its_indexes(database: Database, mixed: dict[str, int]) -> None:
    used = plans(database, lambda: get_context_timeline(database, NOON))
    assert not [line for line in used if line.startswith("SCAN") and "observations" in line]
    assert any("observations_by_time" in line for line in used)
    assert any("messages_asked" in line for line in used)
