"""No line is in a model's window twice, however many questions came before, on every transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from store.core.database import Database
from store.memory import context_packs
from tests.assistant.context.helpers import Past
from tests.stub_model import StubModel
from tests.webapp.conftest import Clock, agent_settings
from tests.webapp.mouths import Mouth, Running, Socket, Sse, serve

LEARNED = "It is 14 days."
QUESTIONS = ("Is the retention final?", "Who set the retention?", "And the retention of text?", "And now?")


@contextmanager
def running(
    database: Database, stub: StubModel, now: Clock, tmp_path: Any, **entry: Any
) -> Iterator[Running]:
    """With a model that is told from the first question on, and one chat of the past."""
    settings = agent_settings(stub, tmp_path)
    [model] = settings.chat.models
    chat = replace(settings.chat, models=(replace(model, **entry),))
    with serve(database, replace(settings, chat=chat), now) as served:
        Past(served.own.context, now).window("What did I set retention to?", answers=[LEARNED], days_ago=1)
        yield served


def ask_all(served: Running, mouth: Mouth) -> int:
    """Ask everything in one window of one chat; the chat."""
    window = served.api("POST", "/chat/new").json()["session_id"]
    chat_id = None
    for question in QUESTIONS:
        chat_id, _ = mouth.ask(
            question, chat_id=chat_id, mode="agent", session_id=window, context_version="v2"
        )
    assert chat_id is not None
    return chat_id


@pytest.mark.parametrize("made", [Sse, Socket])
def test_a_transcript_carries_no_earlier_pack(
    database: Database, now: Clock, tmp_path: Any, made: Callable[[Running], Mouth]
) -> None:
    with StubModel() as stub, running(database, stub, now, tmp_path) as served:
        stub.reply({"answer_md": "I do not know.", "evidence": []})
        chat_id = ask_all(served, made(served))
        assert [str(request["messages"]).count(LEARNED) for request in stub.requests] == [1] * len(QUESTIONS)
        # The history goes along, and its first questions with it.
        assert QUESTIONS[0] in str(stub.requests[-1]["messages"])
        packs = [context_packs.of_turn(database, chat_id, n) for n in range(1, len(QUESTIONS) + 1)]
        lines = [[part["text"] for part in pack.record["parts"]] for pack in packs if pack]
        assert len(lines) == len(QUESTIONS) and all(each == lines[0] for each in lines)


def test_evidence_mode_is_told_none(database: Database, now: Clock, tmp_path: Any) -> None:
    with StubModel() as stub, running(database, stub, now, tmp_path) as served:
        stub.reply({"answer_md": "I do not know.", "evidence": []})
        window = served.api("POST", "/chat/new").json()["session_id"]
        hour = {"start_time": now() / 1000 - 3600, "end_time": now() / 1000}
        Sse(served).ask(QUESTIONS[0], mode="evidence", session_id=window, context_version="v2", **hour)
        assert LEARNED not in str(stub.requests)
