"""Drafts: one for each place, gone with their chat."""

from __future__ import annotations

import apsw
import pytest

from store.chats import conversations
from store.core.database import Database, scalar


def test_each_place_has_one_draft(database: Database) -> None:
    chat_id = conversations.create(database, "first", 1)
    conversations.save_draft(database, None, "new", 1)
    conversations.save_draft(database, chat_id, "old", 2)
    conversations.save_draft(database, chat_id, "later", 3)
    assert (conversations.get_draft(database, None), conversations.get_draft(database, chat_id)) == (
        "new",
        "later",
    )
    conversations.save_draft(database, None, "newer", 4)
    conversations.delete_draft(database, chat_id)
    assert (conversations.get_draft(database, None), conversations.get_draft(database, chat_id)) == (
        "newer",
        "",
    )
    conversations.save_draft(database, None, " \n", 5)
    assert conversations.get_draft(database, None) == ""


def test_a_draft_goes_with_its_chat(database: Database) -> None:
    chat_id = conversations.create(database, "first", 1)
    conversations.save_draft(database, chat_id, "secret", 1)
    conversations.delete(database, chat_id)
    with database.read() as connection:
        assert scalar(connection, "select count(*) from drafts") == 0
    with pytest.raises(apsw.ConstraintError):
        conversations.save_draft(database, chat_id, "again", 2)
