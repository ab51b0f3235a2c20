"""The same questions with and without background, side by side (issue 7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.context.session_closing import ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.turns.plan import TurnServices
from bench.context_answers import gullible
from bench.evals.answer_check import of_sample
from bench.evals.context_check import Compared, compare, numbers, table
from store.chats import conversations
from store.core.database import Database, open_database
from store.core.settings import ChatModelSettings, ChatSettings, ContextSettings, EmbeddingSettings
from store.memory import chat_digests, chat_sessions
from tests.demo_week import DemoHome
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def demo(demo_copy: DemoHome) -> Iterator[Database]:
    database = open_database(demo_copy.data_dir)
    yield database
    database.close_thread()


def test_both_ways_are_asked_and_nothing_is_left_behind(
    demo: Database, demo_copy: DemoHome, stub: StubModel, tmp_path: Path
) -> None:
    """A model that believes its background cites as well as before: what background says is no evidence."""
    stub.reply(gullible)
    entry = ChatModelSettings("gullible", stub.base_url, "gullible", context_tokens=32_768)
    models = ChatModels(ChatSettings(models=(entry,)), {}, waits_s=())
    week = demo_copy.week
    embedder = QueryEmbedder(EmbeddingSettings(), demo, FakeEmbedder)
    context = ContextServices(demo, ContextSettings(), models, embedder.asked, lambda: week.end_ms)
    deps = TurnServices(demo, models, lambda: week.end_ms)
    cases = [case for case in of_sample(week) if case.kind == "facts"][:3]
    assert cases
    chats = len(conversations.list_chats(demo))
    found: Compared = compare(deps, context, cases, "gullible")
    models.close()
    assert found.without.pack_tokens == (0,) * len(cases)
    assert all(size > 0 for size in found.told.pack_tokens)
    assert sum(found.told.tokens) > sum(found.without.tokens)
    assert found.told.figures.precision == found.without.figures.precision
    assert len(conversations.list_chats(demo)) == chats
    assert chat_sessions.listed(demo, 100) == []
    assert chat_digests.everything(demo) == []
    lines = table(found.without, found.told)
    assert lines[1].startswith("right") and "of them background" in lines[6]
    assert numbers(found.told)["pack_tokens_mean"] > 0
    assert replace(found) == found
