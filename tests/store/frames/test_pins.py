"""Frames that retention must leave alone: which they are, and what they cost."""

from __future__ import annotations

import pytest

from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database, rows
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames import tags
from store.frames.media import Media
from store.frames.tags import PinnedUsage, RetentionReason
from store.ocr import readings
from tests.factories import NOON_MS, store_frame, text_draft

LATER_MS = NOON_MS + 60_000


def cite(
    database: Database, frame_id: int, quote: str = "", reading_id: int | None = None
) -> tuple[int, int]:
    """A finished answer that cites a frame; returns (chat, turn) ids."""
    chat_id = conversations.create(database, "question", NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="evidence", model="stub", question="question", start_ms=NOON_MS,
        end_ms=LATER_MS, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    state = "found" if quote else "not_checked"
    item = StoredEvidence(1, frame_id, NOON_MS, quote=quote, state=state, reading_id=reading_id)
    conversations.finish_turn(database, turn.id, "answer [1]", {"claims": []}, [item], NOON_MS)
    return chat_id, turn.id


def test_pinned_and_cited_frames_are_kept_and_counted_once(database: Database, data_dir: DataDir) -> None:
    """Lesson table, 15: what keeping costs."""
    both, cited, pinned, loose = (store_frame(database, data_dir, NOON_MS + n * 1000) for n in range(4))
    chat_id, _ = cite(database, both.id)
    cite(database, cited.id)
    for frame in (both, pinned):
        tags.pin(database, frame.id, LATER_MS)
    tags.pin(database, pinned.id, LATER_MS + 5)

    with database.read() as connection:
        ids = {frame_id for (frame_id,) in rows(connection, tags.KEPT)}
    assert ids == {both.id, cited.id, pinned.id}
    size = both.size_bytes + cited.size_bytes + pinned.size_bytes
    assert tags.pinned_usage(database) == PinnedUsage(pinned=2, cited=2, frames=3, picture_bytes=size)
    assert tags.retention_reason(database, both.id) == RetentionReason(LATER_MS, 1)
    assert tags.retention_reason(database, pinned.id) == RetentionReason(LATER_MS, 0)
    assert not tags.retention_reason(database, loose.id).is_kept

    assert tags.unpin(database, both.id)
    assert not tags.unpin(database, both.id)
    assert tags.retention_reason(database, both.id).is_kept
    conversations.delete(database, chat_id)
    assert not tags.retention_reason(database, both.id).is_kept


def test_pin_of_an_unknown_frame_is_refused(database: Database) -> None:
    with pytest.raises(NotFound):
        tags.pin(database, 5, NOON_MS)


def test_a_deletion_that_is_asked_for_takes_the_pin(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    tags.pin(database, frame.id, LATER_MS)
    receipt = deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    assert (receipt.counts.pins, receipt.verified) == (1, True)
    assert tags.pinned_usage(database) == PinnedUsage(0, 0, 0, 0)


def test_nothing_is_said_about_a_quote_between_a_new_reading_and_its_check(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="retention set to 14 days")
    other = store_frame(database, data_dir, LATER_MS, text="retention set to 14 days")
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    chat_id, _ = cite(database, frame.id, "14 days", reading.id)
    unquoted, _ = cite(database, frame.id)
    elsewhere, _ = cite(database, other.id, "14 days")
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft("something else"), (), LATER_MS)

    def states(chat: int) -> list[tuple[str, bool]]:
        return [
            (item.state, item.needs_check)
            for turn in conversations.turns(database, chat)
            for item in turn.evidence
        ]

    assert states(chat_id) == [("not_checked", True)]
    assert states(unquoted) == [("not_checked", True)], "a paraphrase leans on the whole text"
    assert states(elsewhere) == [("found", False)]


def test_an_answer_given_while_its_frame_was_read_again_is_checked_again(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="retention set to 14 days")
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft("something else"), (), LATER_MS)
    chat_id, _ = cite(database, frame.id, "14 days", reading.id)
    [turn] = conversations.turns(database, chat_id)
    assert [(item.state, item.needs_check) for item in turn.evidence] == [("not_checked", True)]


def test_a_frame_that_is_read_again_keeps_its_reading_meanwhile(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="retention set to 14 days")
    newest = store_frame(database, data_dir, LATER_MS, text="later words")
    assert readings.read_again(database, frame.id)
    assert not readings.read_again(database, frame.id)
    assert not readings.read_again(database, 5)
    [waiting] = readings.pending_frames(database, LATER_MS, 10)
    assert waiting.id == frame.id
    assert readings.index_fresh_to_ms(database) == newest.captured_ms
    with database.write() as connection:
        readings.mark_reading_failed(connection, frame.id, "no luck", None)
    assert readings.pending_frames(database, LATER_MS, 10) == []
    kept_reading = readings.current_reading(database, frame.id)
    assert kept_reading is not None
    assert kept_reading.text == "retention set to 14 days"
