"""Words that mean the same, whatever language they are in."""

from __future__ import annotations

import threading

import pytest

from assistant.core import query_embedder
from assistant.core.query_embedder import QueryEmbedder
from engines.embeddings.protocol import open_embedder
from store.core.database import Database
from store.core.settings import EmbeddingSettings
from tests.fake_embedder import FakeEmbedder

TERMS = ["Rechnung", "reparatur", "wedding", "水管", "Garten", "Dienstag", "catheter", "window", "coffee"]


def test_words_are_known_again_in_another_language(database: Database) -> None:
    asking = QueryEmbedder(EmbeddingSettings(), database, lambda: open_embedder("local"))
    found = asking.same_in_meaning(["invoice", "repair", "婚礼", "Katheter", "hotel"], TERMS)
    assert {word: list(terms) for word, terms in found.items()} == {
        "invoice": ["Rechnung"],
        "repair": ["reparatur"],
        "婚礼": ["wedding"],
        "Katheter": ["catheter"],
        "hotel": [],
    }
    asking.close()


def test_a_text_says_the_words_of_a_question_in_another_language(database: Database) -> None:
    asking = QueryEmbedder(EmbeddingSettings(), database, lambda: open_embedder("local"))
    likeness = asking.asked("father's surgery").likeness
    assert likeness is not None
    own, other, empty = likeness(["妈妈：你爸的膝盖手术定在六月", "Channel: 96K subscribers", "--"])
    assert own > 0.6 > 0.3 > other
    assert empty == 0
    asking.close()


def test_without_an_embedder_no_word_is_known(database: Database) -> None:
    asking = QueryEmbedder(EmbeddingSettings(engine="off"), database)
    assert asking.same_in_meaning(["invoice"], TERMS) == {}
    assert asking.likeness(["invoice"], TERMS) == []


class Idle(FakeEmbedder):
    """Lets go of its model at the second time of asking, and tells of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.let_go = threading.Event()

    def rest(self) -> bool:
        self.asked += 1
        if self.asked % 2 == 0:
            self.let_go.set()
        return self.asked % 2 == 0


def test_models_rest_after_the_last_question_and_again_after_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_embedder, "_REST_AFTER_S", 0.01)
    embedder = Idle()
    asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder)
    for question in ("who paid", "who paid the bill"):
        assert asking.asked(question).vector is not None
        assert embedder.let_go.wait(20)
        embedder.let_go.clear()
    asking.close()
    assert embedder.asked == 4
