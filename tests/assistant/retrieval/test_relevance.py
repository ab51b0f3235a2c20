"""Retrieval that fits the question: the best hits, and time covered around them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assistant.core.records import TurnRequest
from assistant.retrieval import retrieval
from assistant.retrieval.excerpts import MAX_OCR_CHARS_PER_FRAME
from assistant.retrieval.retrieval import Retrieval, retrieve
from assistant.retrieval.sampling import MAX_FRAMES
from assistant.turns import answering
from assistant.turns.turn import answer
from store.core.database import Database
from store.embeddings import knn, vectors
from store.embeddings.knn import RetrievalQuery
from store.frames.frames import ID_STEP
from store.ocr import readings
from store.search import search
from store.search.filters import Filters
from tests.assistant.agents import agent_deps
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, insert_bare_frames, reply
from tests.assistant.retrieval.even_selection import even_selection
from tests.factories import text_draft
from tests.stub_model import StubModel

RANGE = Filters(START_MS, START_MS + 3 * HOUR_MS)
STEP_MS = 45_000
LONG_LINE = (
    "many words about nothing much that fill this line of the screen to its very end and beyond it " * 3
)


@pytest.fixture
def busy(database: Database) -> None:
    """240 frames in three hours, one each 45 seconds; a word here and there, a crowd of one at 15:00."""
    ids = [(START_MS + n * STEP_MS) * ID_STEP for n in range(240)]
    insert_bare_frames(database, ids, app_name=lambda _: "Editor", window_name=lambda _: "notes.txt")
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('rebuild')")
    for n, frame_id in enumerate(ids):
        text = f"page {n} of a long document\n{LONG_LINE}"
        if n in (10, 101, 203):
            text = f"retention set to {n} days\n{text}"
        if 80 <= n < 120:
            text = f"budget table row {n}\n{text}"
        if n in (33, 34):
            text = f"invoice 4711\n{LONG_LINE}"
        with database.write() as connection:
            readings.add(connection, frame_id, text_draft(text), (), START_MS)


def found(database: Database, *words: str, **options: object) -> Retrieval:
    return retrieve(database, RANGE, words, NOW_MS, **options)  # type: ignore[arg-type]


def minutes(retrieval: Retrieval) -> list[float]:
    return [(entry.frame.captured_ms - START_MS) / 60_000 for entry in retrieval.entries]


def test_a_summary_is_the_even_spread_of_the_sampler(database: Database, busy: None) -> None:
    retrieval = found(database)
    candidates = [(START_MS + n * STEP_MS, n) for n in range(240)]
    chosen = even_selection(candidates, RANGE.start_ms, RANGE.end_ms or 0)
    assert [round(at * 60_000 / STEP_MS) for at in minutes(retrieval)] == chosen
    assert [(each.text, each.way, each.hits) for each in retrieval.coverage.queries] == [("", "spread", 240)]
    assert retrieval.coverage.relevant == 0


def test_what_is_asked_for_is_always_among_the_frames(database: Database, busy: None) -> None:
    retrieval = found(database, "retention")
    texts = [entry.frame.text for entry in retrieval.entries]
    planted = [f"retention set to {n} days" for n in (10, 101, 203)]
    assert [line for line in planted if any(line in text for text in texts)] == planted
    assert (
        retrieval.coverage.queries[0].text,
        retrieval.coverage.queries[0].hits,
        retrieval.coverage.relevant,
    ) == ("retention", 3, 3)
    # Not one of the three is in the even spread, which a summary gets.
    spread = {entry.frame.id for entry in found(database).entries}
    assert {entry.frame.id for entry in retrieval.entries if "retention" in entry.frame.text}.isdisjoint(
        spread
    )


def test_the_range_stays_covered_around_the_hits(database: Database, busy: None) -> None:
    retrieval = found(database, "budget")
    at = minutes(retrieval)
    assert MAX_FRAMES - 8 < len(at) <= MAX_FRAMES
    assert at == sorted(at)
    assert 36 <= retrieval.coverage.relevant <= 48
    # Every quarter of an hour of the three hours has a frame that was looked at.
    assert {int(minute // 15) for minute in at} == set(range(12))
    assert all(len(entry.excerpt) <= MAX_OCR_CHARS_PER_FRAME for entry in retrieval.entries)


def test_frames_that_show_the_same_take_one_place_before_others(database: Database, busy: None) -> None:
    first = retrieval._without_crowds(search.search(database, "invoice", RANGE).hits, RANGE, places=48)
    assert [len(part) for part in first] == [1, 1]


def test_with_little_found_any_of_the_words_is_looked_for(database: Database, busy: None) -> None:
    retrieval = found(database, "invoice", "retention")
    assert [(each.text, each.hits) for each in retrieval.coverage.queries[:2]] == [
        ("invoice retention", 0),
        ("invoice OR retention", 5),
    ]
    assert retrieval.coverage.relevant == 4  # two of the five show the same
    assert retrieval.coverage.is_found


def test_words_that_are_nowhere_are_not_found_and_the_range_is_still_shown(
    database: Database, busy: None
) -> None:
    retrieval = found(database, "zeppelin")
    assert (retrieval.coverage.is_found, retrieval.coverage.relevant) == (False, 0)
    assert [entry.frame.id for entry in retrieval.entries] == [
        entry.frame.id for entry in found(database).entries
    ]


def test_the_same_question_gets_the_same_frames(database: Database, busy: None) -> None:
    assert found(database, "budget", "row") == found(database, "budget", "row")


def test_few_frames_are_all_kept(database: Database, afternoon: Afternoon) -> None:
    for n in range(5):
        afternoon.show(n, f"text {n}")
    retrieval = found(database, "text", max_frames=5)
    assert (len(retrieval.entries), retrieval.coverage.relevant) == (5, 5)


def test_meaning_finds_what_no_word_does(database: Database, busy: None) -> None:
    wanted = next(e.frame.id for e in found(database, "retention").entries if "to 101 days" in e.frame.text)
    vectors.activate_model(database, "test", 2)
    direction = np.array([[1.0, 0.0]], dtype=np.float32)
    with database.write() as connection:
        vectors.add(connection, "frame", wanted, "test", [(0, 10, vectors.quantize(direction)[0])])
    knn.load_neighbours(database, "frame")
    meaning = RetrievalQuery("", direction[0], "test")
    retrieval = found(database, "expiry", meaning=meaning)
    assert wanted in [entry.frame.id for entry in retrieval.entries]
    assert (
        retrieval.coverage.queries[0].fallback,
        retrieval.coverage.relevant,
        retrieval.coverage.is_found,
    ) == ("", 1, False)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("When did I set the retention today?", "set retention"),
        ("今天的 retention 是什么", "retention"),
        ("What did I do today?", ""),
        ("总结一下我今天 14:00-17:00 做了什么", ""),
        ("Give me an overview of the day", ""),
    ],
)
def test_a_question_is_specific_when_it_names_something(
    message: str, text: str, ask: Ask, busy: None, stub: StubModel
) -> None:
    stub.reply(reply("Something [[e1]].", ("e1", "page 0")))
    queries = ask(message).coverage.queries
    assert queries[0].text == text


def test_a_specific_turn_keeps_every_cap_and_asks_once(
    database: Database, busy: None, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked as evidence: one retrieval, one call, no picture, at most 72 frames of 160 characters of text."""
    stub.reply(reply("Budgets [[e1]].", ("e1", "page 0")))
    retrievals = []
    real = answering.retrieve
    monkeypatch.setattr(answering, "retrieve", lambda *a, **k: retrievals.append(a) or real(*a, **k))
    asked = TurnRequest(
        "Which budget row was it?",
        "Asia/Shanghai",
        NOW_MS,
        start_ms=RANGE.start_ms,
        end_ms=RANGE.end_ms,
        mode="evidence",
    )
    with agent_deps(database, stub) as services:  # its window has room for all of them
        result = answer(services, asked)
    assert len(retrievals) == len(stub.requests) == 1
    assert "tools" not in stub.requests[0]
    contents = [message["content"] for message in stub.requests[0]["messages"]]
    assert all(isinstance(content, str) and "data:image" not in content for content in contents)
    blocks = re.split(r"^\[\[e\d+\]\] ", contents[-1].rpartition("END SCREEN DATA")[0], flags=re.MULTILINE)[
        1:
    ]
    assert 24 < len(blocks) <= MAX_FRAMES
    for block in blocks:
        text = "\n".join(line[2:] for line in block.split("\n") if line.startswith("| "))
        assert 0 < len(text) <= MAX_OCR_CHARS_PER_FRAME
    assert result.coverage.frames_sampled == len(result.evidence) == len(blocks)
