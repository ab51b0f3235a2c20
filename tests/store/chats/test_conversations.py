"""Conversations: stored as asked and answered, whatever happens in between."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from peewee import IntegrityError

from store.chats import conversations
from store.chats.conversations import DELETED_ANSWER
from store.chats.records import Chat, StoredEvidence, StoredMessage, StoredTurn
from store.core.database import Database, rows
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.store.search.plans import plans
from tests.tables import for_each


def ask(database: Database, chat_id: int, question: str = "What did I do?", now_ms: int = 10) -> StoredTurn:
    return conversations.add_turn(
        database,
        chat_id,
        mode="evidence",
        model="extractive",
        question=question,
        start_ms=1,
        end_ms=2,
        timezone="Europe/Berlin",
        now_ms=now_ms,
    )


def shown(frame_id: int | None, n: int | None = 1, **changes: Any) -> StoredEvidence:
    values: dict[str, Any] = {
        "captured_ms": NOON_MS,
        "app_name": "Code",
        "window_name": "main.py",
        "focused": True,
        "browser_url": None,
        "snippet": "retention set to 14 days",
        "quote": "14 days",
        "boxes": ((1, 2, 3, 4), (5, 6, 7, 8)),
        "state": "found",
        "reading_id": 3,
        **changes,
    }
    return StoredEvidence(n=n, frame_id=frame_id, **values)


# -- turns --------------------------------------------------------------------------------


def test_finished_turn_reads_back_whole(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    chat_id = conversations.create(database, "title", 5)
    turn = ask(database, chat_id)
    payload = {"claims": [{"text": "14 days"}], "warnings": ["说明"]}
    evidence = (shown(frame.id), shown(frame.id, None, state="retrieved", focused=None, boxes=()))
    conversations.finish_turn(database, turn.id, "You set **14 days** [1].", payload, evidence, 20)
    assert conversations.turn(database, chat_id, 1) == StoredTurn(
        turn.id, chat_id, 1, "evidence", "extractive", "done", "What did I do?", "You set **14 days** [1].",
        1, 2, "Europe/Berlin", payload, 10, evidence,
    )  # fmt: skip
    assert conversations.messages(database, chat_id) == [
        StoredMessage(1, "user", "What did I do?", 10),
        StoredMessage(1, "assistant", "You set **14 days** [1].", 20),
    ]


def test_turn_is_running_until_it_ends(database: Database) -> None:
    chat_id = conversations.create(database, "title", 5)
    assert ask(database, chat_id).status == "running"
    found = conversations.turn(database, chat_id, 1)
    assert found is not None
    assert (found.status, found.answer_md, found.payload, found.evidence) == ("running", "", {}, ())


def test_failed_turn_keeps_its_question_and_says_nothing(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    chat_id = conversations.create(database, "title", 5)
    turn = ask(database, chat_id)
    conversations.finish_turn(database, turn.id, "", {"error": "timeout"}, [shown(frame.id, None)], None)
    found = conversations.turn(database, chat_id, 1)
    assert found is not None
    assert (found.status, found.payload, len(found.evidence)) == ("failed", {"error": "timeout"}, 1)
    assert [message.role for message in conversations.messages(database, chat_id)] == ["user"]


def test_turns_count_from_one_in_each_chat(database: Database) -> None:
    first, second = (conversations.create(database, "title", 5) for _ in range(2))
    assert [ask(database, chat).n for chat in (first, first, second)] == [1, 2, 1]
    assert [turn.n for turn in conversations.turns(database, first)] == [1, 2]


def test_turn_of_a_former_process_is_not_running_any_more(database: Database) -> None:
    chat_id = conversations.create(database, "title", 5)
    ask(database, chat_id)
    assert conversations.fail_interrupted(database, {"error": "interrupted"}) == 1
    found = conversations.turn(database, chat_id, 1)
    assert found is not None
    assert (found.status, found.payload) == ("failed", {"error": "interrupted"})


def test_question_to_a_deleted_chat_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError):
        ask(database, 7)
    with database.read() as connection:
        assert rows(connection, "select * from messages") == []


def test_frame_deleted_while_the_model_was_thinking_is_not_quoted(database: Database) -> None:
    """The answer would bring back what was just deleted."""
    chat_id = conversations.create(database, "title", 5)
    turn = ask(database, chat_id)
    payload = {"claims": [{"text": "14 days"}], "usage": 3}
    conversations.finish_turn(database, turn.id, "You set 14 days [1].", payload, [shown(99)], 20)
    found = conversations.turn(database, chat_id, 1)
    assert found is not None
    assert (found.answer_md, found.payload) == (DELETED_ANSWER, {"claims": [], "usage": 3})
    assert found.evidence == (StoredEvidence(1, None, NOON_MS, state="deleted"),)
    assert conversations.messages(database, chat_id)[-1].content == DELETED_ANSWER


def test_others_write_while_a_turn_is_running(database: Database) -> None:
    """Nothing is held between the question and its answer."""
    chat_id = conversations.create(database, "title", 5)
    turn = ask(database, chat_id)
    done: list[int] = []

    def other() -> None:
        done.append(conversations.create(database, "meanwhile", 6))
        database.close_thread()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(60)
    assert done
    conversations.finish_turn(database, turn.id, "answer", {}, [], 20)


# -- chats --------------------------------------------------------------------------------


def test_chats_come_the_last_used_first_page_by_page(database: Database) -> None:
    ids = [conversations.create(database, f"chat {n}", n // 2) for n in range(6)]
    ask(database, ids[0], now_ms=50)
    seen: list[Chat] = []
    while True:
        before = (seen[-1].updated_ms, seen[-1].id) if seen else None
        page = conversations.list_chats(database, 2, before)
        if not page:
            break
        seen += page
    assert [chat.id for chat in seen] == [ids[0], ids[5], ids[4], ids[3], ids[2], ids[1]]
    assert seen[0] == Chat(ids[0], "chat 0", 0, 50, 1)


def test_list_of_chats_goes_by_its_index(database: Database) -> None:
    found = plans(database, lambda: conversations.list_chats(database, 10, (5, 5)))
    assert not [plan for plan in found if "TEMP B-TREE" in plan]
    assert any("conversations_by_update" in plan for plan in found)
    assert not any(plan.startswith("SCAN") and "turns" in plan for plan in found)


def test_deleted_chat_takes_everything_with_it(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    chat_id = conversations.create(database, "title", 5)
    other = conversations.create(database, "other", 5)
    turn = ask(database, chat_id)
    ask(database, other)
    conversations.finish_turn(database, turn.id, "answer", {}, [shown(frame.id)], 20)
    assert conversations.delete(database, chat_id) is True
    assert conversations.delete(database, chat_id) is False
    assert conversations.get(database, chat_id) is None
    with database.read() as connection:
        left = [
            rows(connection, f"select count(*) from {table}")[0][0]
            for table in ("turns", "messages", "evidence")
        ]
    assert left == [1, 1, 0]


def test_id_of_a_deleted_chat_is_not_used_again(database: Database) -> None:
    chat_id = conversations.create(database, "title", 5)
    conversations.delete(database, chat_id)
    assert conversations.create(database, "next", 6) != chat_id


@for_each(
    ("message", "title"),
    [
        ("What did I do?", "What did I do?"),
        ("\n  first line \nsecond", "first line"),
        ("", ""),
        ("word " * 40, ("word " * 15).strip() + "…"),
        ("总" * 200, "总" * 79 + "…"),
    ],
)
def test_title_is_the_first_line_cut_at_a_word(message: str, title: str) -> None:
    assert conversations.title_of(message) == title
    assert len(title) <= conversations.MAX_TITLE_CHARS
