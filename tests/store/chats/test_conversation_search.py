"""Chats found by the words of their titles, questions and answers."""

from __future__ import annotations

import pytest

from store.chats import conversations
from store.chats.conversations import MAX_WORDS, list_chats
from store.core.database import Database
from tests.tables import for_each


def talk(database: Database, at_ms: int, *turns: tuple[str, str]) -> int:
    """A chat of questions and answers; returns its id."""
    chat_id = conversations.create(database, turns[0][0], at_ms)
    for question, answer in turns:
        turn = conversations.add_turn(
            database, chat_id, mode="agent", model="m", question=question, start_ms=None, end_ms=None,
            timezone="UTC", now_ms=at_ms,
        )  # fmt: skip
        conversations.finish_turn(database, turn.id, answer, {}, (), at_ms)
    return chat_id


@pytest.fixture
def chats(database: Database) -> list[int]:
    """Three chats, the newest last."""
    return [
        talk(database, 10, ("How long do we keep frames?", "Fourteen days, as the Policy says [1].")),
        talk(database, 20, ("我的预算是多少？", "预算是 1,840 欧元。"), ("And who approved it?", "Zoë did.")),
        talk(database, 30, ("Which policy?", "The 100 % travel policy_draft.")),
    ]


@for_each(
    ("text", "places"),
    [
        ("policy", [2, 0]),
        ("POLICY fourteen", [0]),
        ("keep policy", [0]),  # one word in the question, one in the answer
        ("预算", [1]),
        ("预算 approved", [1]),  # in two turns
        ("zoË", [1]),
        ("giraffe", []),
        ("policy giraffe", []),
        ("%", [2]),
        ("policy_", [2]),
        ("y'); drop table turns --", []),
        ("", [2, 1, 0]),
        ("   ", [2, 1, 0]),
    ],
)
def test_every_word_has_to_be_there(
    text: str, places: list[int], database: Database, chats: list[int]
) -> None:
    assert [chat.id for chat in list_chats(database, text=text)] == [chats[place] for place in places]


def test_they_come_page_by_page_with_their_turns(database: Database, chats: list[int]) -> None:
    [first] = list_chats(database, 1, text="policy")
    [second] = list_chats(database, 1, (first.updated_ms, first.id), "policy")
    assert [first.id, second.id] == [chats[2], chats[0]]
    assert list_chats(database, 1, (second.updated_ms, second.id), "policy") == []
    assert first == conversations.get(database, first.id)
    assert [chat.turns for chat in list_chats(database, text="approved")] == [2]


def test_what_is_deleted_is_not_found(database: Database, chats: list[int]) -> None:
    with database.write() as connection:
        conversations.redact_answer(connection, conversations.turns(database, chats[0])[0].id)
    assert list_chats(database, text="fourteen") == []
    conversations.delete(database, chats[2])
    assert list_chats(database, text="travel") == []


def test_only_so_many_words_count(database: Database, chats: list[int]) -> None:
    assert len(list_chats(database, text=" ".join(["policy"] * MAX_WORDS + ["giraffe"]))) == 2
