"""What a chat came to goes with the frames it rests on, and with the chat (issue 7, privacy)."""

from __future__ import annotations

from assistant.context import session_summary, topics
from assistant.context.session_closing import ContextServices, close, look
from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database, rows
from store.core.paths import DataDir
from store.deletion import deletion, receipts
from store.deletion.request import Request
from store.frames.media import Media
from store.memory import chat_digests, chat_sessions, chat_summaries
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS, store_frame

SECRET = "xylophonequark"


def everywhere(database: Database) -> str:
    """Every text of the memory of chats."""
    found = []
    for table in ("chat_summaries", "user_chat_summaries", "user_topic_summaries", "context_packs"):
        with database.read() as connection:
            found += [str(row) for row in rows(connection, f"select * from {table}")]
    return "\n".join(found)


def test_deleting_a_frame_forgets_what_a_chat_said_of_it(
    past: Past, context: ContextServices, database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(database, data_dir, NOON_MS - 1_000, SECRET)
    evidence = [StoredEvidence(1, frame.id, NOON_MS, state="found")]
    told = past.window("What was it?", answers=[f"It was {SECRET}."], evidence=evidence)
    other = past.window("And the lunch?", answers=["Pizza."])
    assert SECRET in everywhere(database)
    before = receipts.preview(database, Request(NOON_MS - 2_000, NOON_MS)).counts
    receipt = deletion.delete_frames(database, media, [frame.id])
    assert before.chat_summaries == receipt.counts.chat_summaries == 1
    assert receipt.verified
    assert SECRET not in everywhere(database)
    assert chat_digests.get(database, "recent") is None
    look(context)
    again = chat_summaries.get(database, [told, other])
    assert again[told].learned is None and again[told].request == "What was it?"
    assert again[other].learned == "Pizza."
    assert SECRET not in everywhere(database)


def test_typed_notes_are_found_again_after_a_deletion(
    past: Past, context: ContextServices, database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(database, data_dir, NOON_MS - 1_000, SECRET)
    evidence = [StoredEvidence(1, frame.id, NOON_MS, state="found")]
    told = past.window("What was it?", answers=[f"It was {SECRET}."], evidence=evidence)
    fields = chat_summaries.get(database, [told])[told].fields
    chat_summaries.edit(database, told, {**fields, "notes": "We took the Liebherr crane"}, NOON_MS)
    deletion.delete_frames(database, media, [frame.id])
    look(context)
    terms = database.column("select term from chat_terms where session_id = ?", (told,))
    assert "crane" in terms and not any(SECRET.startswith(term) for term in terms)
    assert chat_digests.candidates(database, "fake").vectors is not None


def test_a_question_about_the_time_of_a_deleted_frame_is_summarised_again(
    past: Past, context: ContextServices, database: Database, data_dir: DataDir, media: Media
) -> None:
    """Its answer may count apps that no cited frame shows."""
    frame = store_frame(database, data_dir, NOON_MS - 1_000, SECRET)
    asked = past.window("What did I do?", range_ms=(NOON_MS - 5_000, NOON_MS))
    other = past.window("What did I do before?", range_ms=(NOON_MS - 9_000_000, NOON_MS - 8_000_000))
    deletion.delete_frames(database, media, [frame.id])
    assert set(chat_summaries.get(database, [asked, other])) == {other}
    look(context)
    assert set(chat_summaries.get(database, [asked, other])) == {asked, other}


def test_deleting_a_chat_forgets_it_in_every_digest(
    past: Past, context: ContextServices, database: Database
) -> None:
    session_id = past.window(f"What was {SECRET}?", answers=[f"It was {SECRET}."])
    past.window("And the lunch?", answers=["Pizza."])
    with database.write() as connection:
        for name in (SECRET, "lunch"):
            chat_digests.put_topic(connection, name, name, (), 0.5, NOON_MS, NOON_MS)
    database.change("update user_topic_summaries set is_dismissed = 1")
    session = chat_sessions.get(database, session_id)
    assert session is not None and session.chat_id is not None
    assert SECRET in everywhere(database)
    conversations.delete(database, session.chat_id)
    assert SECRET not in everywhere(database)
    assert chat_digests.dismissed(database) == {"lunch"}
    assert len(topics.roll_up(database, "recent", NOON_MS).lines) == 1


def test_all_memory_of_chats_can_be_deleted_and_the_chats_stay(
    past: Past, context: ContextServices, database: Database
) -> None:
    past.window("What was it?", answers=[f"It was {SECRET}."])
    counts = chat_digests.delete_everything(database, NOON_MS)
    assert counts["chat_summaries"] == 1
    assert SECRET not in everywhere(database)
    look(context)
    assert everywhere(database) == ""
    assert len(conversations.list_chats(database)) == 1


def test_what_was_forgotten_is_not_written_by_a_summary_under_way_nor_by_an_open_window(
    past: Past, context: ContextServices, database: Database
) -> None:
    under_way = past.window("What was it?", answers=[f"It was {SECRET}."])
    turns = chat_summaries.summary_input(database, under_way)
    fields = session_summary.summary_by_rules(turns)
    still_open = past.window("And then?", answers=[f"Again {SECRET}."], closed=False)
    chat_digests.delete_everything(database, NOON_MS)
    assert not chat_summaries.put(
        database, under_way, fields, tags={SECRET: 1.0}, tokens=1, ended_ms=NOON_MS,
        now_ms=NOON_MS, terms={SECRET: 1}, made_of=turns,
    )  # fmt: skip
    close(context, still_open, "window")
    assert SECRET not in everywhere(database)
    assert chat_summaries.get(database, [under_way, still_open]) == {}
