"""What a person wrote outlives the frames it was written beside, and what was learned from them does not."""

from __future__ import annotations

import pytest

from store.chats import conversations, tool_calls
from store.chats.records import StoredEvidence
from store.chats.tool_calls import NewToolCall, NotPending
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion, receipts
from store.deletion.request import EVER, Request
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.memory import chat_sessions, chat_summaries, context_packs, observation_writer, observations
from store.memory.context_packs import StoredPack
from store.sources import entities, proposals
from store.sources.entities import Provenance
from tests.factories import NOON_MS, store_frame
from tests.memories import put_observation

HOUR_MS = 3_600_000
# A veterinary practice, a luthier, a ferry: nothing of the product, each word on one frame alone.
SUBJECTS = tuple(
    (f"{animal}{n}", f"{keeper}{n}")
    for n in range(10)
    for animal, keeper in (
        ("Zwergotter", "Quillfeather"),
        ("Fichtendecke", "Lautenzeller"),
        ("渡轮", "Kaimeister"),
    )
)


def _learn(database: Database, frame: FrameRow, n: int) -> None:
    """What a chat, the worker and a person make of one frame."""
    animal, keeper = SUBJECTS[n]
    at_ms = frame.captured_ms
    chat = conversations.create(database, f"Whose is number {n}?", at_ms)
    asked = conversations.add_turn(
        database, chat, mode="agent", model="m", question=f"Whose is number {n}?", start_ms=at_ms,
        end_ms=at_ms + 1, timezone="UTC", now_ms=at_ms,
    )  # fmt: skip
    session = chat_sessions.create(database, at_ms, chat)
    learned, own = Provenance(at_ms, asked.id, frame.id), Provenance(at_ms)
    with database.write() as connection:
        # In the words of the frame, and in others, which rest on it all the same.
        described = f"keeps {animal}" if n % 2 else "looks after whatever is brought in"
        keeper_id, _ = entities.store_entity(connection, "person", keeper, learned, described)
        seen_id, _ = entities.store_entity(connection, "thing", animal, learned, f"seen with {keeper}")
        entities.store_fact(connection, seen_id, "belongs to", learned, object_entity_id=keeper_id)
        # By hand: a fact on the frame's page, one that a chat had learned before, and a new person.
        entities.store_fact(
            connection, keeper_id, "pays", Provenance(at_ms, frame_id=frame.id), object_value=keeper
        )
        entities.store_fact(connection, keeper_id, "likes", Provenance(at_ms, asked.id), object_value=animal)
        entities.store_fact(connection, keeper_id, "likes", own, object_value=animal)
        mine, _ = entities.store_entity(connection, "person", f"Mine {animal}", own, f"My words on {keeper}")
        entities.store_fact(connection, mine, "knows", learned, object_value=f"{animal} by heart")
        connection.execute(
            "insert into chat_summaries (session_id, ended_ms, learned, notes, made_by, updated_ms, traces)"
            " values (?, ?, ?, null, 'rules', ?, '{\"learned\": []}')",
            (session, at_ms, f"{animal} is {keeper}'s", at_ms),
        )  # fmt: skip
    words = {"learned": f"{animal} is {keeper}'s", "notes": f"I wrote {animal}"}
    chat_summaries.edit(database, session, words, at_ms)
    number = put_observation(
        database,
        start_ms=at_ms,
        title=f"{animal} of {keeper}",
        facts=[(f"{animal} line", frame.id)],
        frame_ids=[frame.id],
    )
    given = {"title": f"My {animal}", "facts": [f"{animal} line", f"typed {keeper}"]}
    observation_writer.edit(database, number, given, at_ms)
    put_observation(database, start_ms=at_ms, title=f"{animal} alone", frame_ids=[frame.id])
    shown = StoredEvidence(
        n=1, captured_ms=at_ms, frame_id=frame.id, snippet=animal, quote=animal, state="found"
    )
    conversations.finish_turn(database, asked.id, f"{animal} is {keeper}'s [1].", {}, [shown], at_ms)
    _learn_by_background(database, session, animal, at_ms)


def _learn_by_background(database: Database, session: int, animal: str, at_ms: int) -> None:
    """What a second chat, which was only told of the first, would remember: one thing is, one waits."""
    chat = conversations.create(database, "Remember it", at_ms)
    window = chat_sessions.create(database, at_ms, chat)
    told = conversations.add_turn(
        database, chat, mode="agent", model="m", question="Remember it", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=at_ms, session_id=window,
    )  # fmt: skip
    with database.write() as connection:
        pack = StoredPack(told.id, window, "h", animal, {"reason": "made"}, (session,), 1, 1.0, at_ms)
        context_packs.put(connection, pack)
    names = (f"Told {animal}", f"Waiting {animal}")
    asked = [
        NewToolCall(1, name, "store_entity", {"kind": "thing", "name": name}, notice=name) for name in names
    ]
    kept, _ = tool_calls.add(database, told.id, asked, at_ms)
    conversations.finish_turn(database, told.id, "Shall I?", {}, [], at_ms)
    proposals.decide(database, chat, told.n, {kept.id}, at_ms, among={kept.id})


def test_deleting_each_of_thirty_frames_takes_what_was_learned_and_nothing_that_was_typed(
    database: Database, data_dir: DataDir
) -> None:
    shot = [
        store_frame(database, data_dir, NOON_MS + n * HOUR_MS, f"{animal} belongs to {keeper} by heart")
        for n, (animal, keeper) in enumerate(SUBJECTS)
    ]
    for n, frame in enumerate(shot):
        _learn(database, frame, n)
    lost = left = 0
    for n, frame in enumerate(shot):
        animal, keeper = SUBJECTS[n]
        found = receipts.preview(database, Request(*EVER, frame_ids=(frame.id,)))
        counts, named = found.counts, found.names
        wanted = {
            ("Answer", f"Whose is number {n}?"), ("Fact", f"{animal} belongs to {keeper}"),
            ("Fact", f"Mine {animal} knows {animal} by heart"), ("What was done", f"{animal} alone"),
            ("Person or thing", animal), ("Person or thing", f"Told {animal}"),
            ("Proposal", f"Waiting {animal}"), ("Description", keeper),
            ("Chat summary", f"Whose is number {n}?"), ("What was done", f"{animal} of {keeper}"),
        }  # fmt: skip
        assert set(named or ()) == wanted
        receipt = deletion.delete_frames(database, Media(data_dir.media), [frame.id])
        assert receipt.verified, receipt.left
        assert receipt.counts == counts
        facts = {f"{fact.subject} {fact.predicate}" for fact in entities.facts_of(database, None, 1_000)}
        names = {
            entity.name: entity.description for entity in entities.find_entities(database, "", None, 1_000)
        }
        [summary] = chat_summaries.get(database, [2 * n + 1]).values()
        done = {each.title: each for each in observations.between(database, 0, 2**52)}
        typed = (
            f"{keeper} pays" in facts, f"{keeper} likes" in facts, keeper in names,
            names.get(f"Mine {animal}") == f"My words on {keeper}", summary.notes == f"I wrote {animal}",
            f"My {animal}" in done and [f.text for f in done[f"My {animal}"].facts] == [f"typed {keeper}"],
        )  # fmt: skip
        learned = (
            f"{animal} belongs to" in facts, f"Mine {animal} knows" in facts, animal in names,
            bool(names.get(keeper)), bool(summary.learned), f"{animal} alone" in done,
            f"Told {animal}" in names,
            bool(database.scalar("select 1 from tool_calls where instr(arguments || notice, ?)", (animal,))),
        )  # fmt: skip
        lost, left = lost + typed.count(False), left + learned.count(True)
    assert (lost, left) == (0, 0)


def test_of_too_many_frames_nothing_is_named(
    database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = tuple(store_frame(database, data_dir, NOON_MS + n * HOUR_MS, "words").id for n in range(2))
    monkeypatch.setattr(receipts, "MOST_NAMED", 1)
    found = receipts.preview(database, Request(*EVER, frame_ids=ids))
    counts, names = found.counts, found.names
    assert (counts.frames, names) == (2, None)
    assert receipts.preview(database, Request(*EVER, frame_ids=ids[:1])).names == []


def test_what_was_proposed_of_a_chat_that_has_gone_is_not_remembered(
    database: Database, data_dir: DataDir
) -> None:
    _learn(database, store_frame(database, data_dir, NOON_MS, "Zwergotter0 belongs to Quillfeather0"), 0)
    conversations.delete(database, 1)
    [waiting] = proposals.of_turn(database, 2, 1)
    with pytest.raises(NotPending):
        proposals.decide(database, 2, 1, {waiting.id}, NOON_MS)
    assert proposals.of_turn(database, 2, 1) == []
    assert entities.find_entities(database, "Waiting") == []
