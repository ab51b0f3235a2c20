"""Verdicts on answers: entered, changed, taken back, gone with what they are about."""

from __future__ import annotations

from bench.evals.answer_check import reported_turns
from store.chats import conversations, feedback
from store.chats.feedback import MAX_NOTE_CHARS, WHOLE_ANSWER, Report
from store.chats.records import StoredTurn
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.media import Media
from tests.factories import NOON_MS, store_frame
from tests.store.chats.test_conversations import ask, shown


def answered(database: Database, data_dir: DataDir, asked_ms: int = 10) -> tuple[StoredTurn, int]:
    """A finished turn that cites one frame as [1], and that frame's id."""
    frame = store_frame(database, data_dir, NOON_MS + asked_ms)
    turn = ask(database, conversations.create(database, "title", asked_ms), now_ms=asked_ms)
    conversations.finish_turn(database, turn.id, "Said [1].", {}, [shown(frame.id)], asked_ms + 1)
    return turn, frame.id


def say(database: Database, turn: StoredTurn, n: int, verdict: str = "wrong", note: str = "") -> bool:
    return feedback.report(database, turn.chat_id, turn.n, n, verdict, note, 50)  # type: ignore[arg-type]


def test_a_report_comes_back_with_its_turn_and_its_frame(database: Database, data_dir: DataDir) -> None:
    turn, frame_id = answered(database, data_dir)
    assert say(database, turn, 1, note="  it shows Tuesday ")
    assert say(database, turn, WHOLE_ANSWER, "right")
    (found,) = reported_turns(database)
    assert found.turn == conversations.turn(database, turn.chat_id, 1)
    assert found.reports == (
        Report(0, "right", "", 50, None),
        Report(1, "wrong", "it shows Tuesday", 50, frame_id),
    )
    assert feedback.of_turns(database, [turn.id, 99]) == {turn.id: found.reports}


def test_a_second_verdict_replaces_the_first_and_can_be_taken_back(
    database: Database, data_dir: DataDir
) -> None:
    turn, frame_id = answered(database, data_dir)
    say(database, turn, 1, note="n" * 2 * MAX_NOTE_CHARS)
    say(database, turn, 1, "right", "n" * 2 * MAX_NOTE_CHARS)
    assert feedback.of_turns(database, [turn.id]) == {
        turn.id: (Report(1, "right", "n" * MAX_NOTE_CHARS, 50, frame_id),)
    }
    assert feedback.withdraw(database, turn.chat_id, turn.n, 1)
    assert not feedback.withdraw(database, turn.chat_id, turn.n, 1)
    assert reported_turns(database) == []


def test_only_what_an_answer_cites_can_be_reported(database: Database, data_dir: DataDir) -> None:
    turn, _ = answered(database, data_dir)
    running = ask(database, turn.chat_id)
    assert not say(database, turn, 2)
    assert not say(database, running, WHOLE_ANSWER)
    assert not feedback.report(database, 99, 1, 1, "wrong", "", 50)
    assert reported_turns(database) == []


def test_turns_come_in_the_order_they_were_asked(database: Database, data_dir: DataDir) -> None:
    later, _ = answered(database, data_dir, 30)
    earlier, _ = answered(database, data_dir, 20)
    for turn in (later, earlier):
        say(database, turn, 1)
    assert [found.turn.id for found in reported_turns(database)] == [earlier.id, later.id]


def test_a_deleted_frame_leaves_the_report_without_it(database: Database, data_dir: DataDir) -> None:
    turn, frame_id = answered(database, data_dir)
    say(database, turn, 1)
    deletion.delete_frames(database, Media(data_dir.media), [frame_id])
    (found,) = reported_turns(database)
    assert found.reports == (Report(1, "wrong", "", 50, None),)


def test_a_deleted_chat_takes_its_reports_along(database: Database, data_dir: DataDir) -> None:
    turn, _ = answered(database, data_dir)
    say(database, turn, 1)
    conversations.delete(database, turn.chat_id)
    assert reported_turns(database) == []
