"""Embedding beside everything else: nothing waits for it, nothing is done twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import date

import pytest

from engines.embeddings.protocol import (
    Embedder,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRefused,
    Vectors,
)
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading import embedding
from ingest.reading.embedding import EmbeddingLoop
from ingest.worker.worker import Worker
from store.core.database import Database, rows
from store.deletion import deletion
from store.embeddings import vectors
from store.embeddings.knn import RetrievalQuery
from store.frames.media import Media
from store.memory import daily_summaries
from store.ocr import readings
from store.search import search
from store.search.filters import Filters
from store.sources import messages
from store.spool.process_state import IngestState
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, store_frame, text_draft
from tests.fake_embedder import FakeEmbedder
from tests.ingest.conftest import ScriptedEngine, opener, queue
from tests.sources import message, put_messages

MINUTE = 60_000


class Desk:
    """One embedding loop, driven by hand."""

    def __init__(self, home: Home, embedder: Embedder | Callable[[], Embedder] | None = None) -> None:
        self.home = home
        self.embedder = embedder if isinstance(embedder, FakeEmbedder) else FakeEmbedder()
        opened = embedder if callable(embedder) else lambda: self.embedder
        self.stats = WorkerStats(lambda: NOON_MS)
        self.loop = EmbeddingLoop(home.database, self.stats, opened, threading.Event())

    def work(self) -> int:
        steps = 0
        while self.loop.step():
            steps += 1
        return steps

    @property
    def texts(self) -> list[str]:
        return [text for call in self.embedder.calls for text in call]


def put(home: Home, text: str, at_ms: int = NOON_MS, **changes: object) -> int:
    return store_frame(home.database, home.data_dir, at_ms, text, **changes).id  # type: ignore[arg-type]


def chunks_of(database: Database, frame_id: int) -> list[tuple[int, int]]:
    with database.read() as connection:
        found = rows(
            connection,
            "select chunk_start, chunk_end from vectors where kind = 'frame' and thing_id = ? order by id",
            (frame_id,),
        )
    return [(start, end) for start, end in found]


def found_by(home: Home, text: str) -> list[int]:
    [vector] = FakeEmbedder().embed([text])
    page = search.search(
        home.database, text, Filters(0), mode="semantic", meaning=RetrievalQuery(text, vector, "fake")
    )
    return [hit.frame_id for hit in page.hits] if page.mode == "semantic" else []


def test_frame_that_was_read_is_found_by_meaning(home: Home) -> None:
    frame_id = put(home, "the login system\nsomething quite different here")
    desk = Desk(home)
    assert desk.work() == 1
    assert chunks_of(home.database, frame_id) == [(0, 16), (17, 47)]
    assert found_by(home, "authentication setup") == [frame_id]
    assert vectors.count_missing(home.database) == 0
    assert desk.stats["embedded"] == 1


def test_newest_comes_first(home: Home) -> None:
    for n in range(20):
        put(home, f"text of number{n} here", NOON_MS + n * MINUTE)
    desk = Desk(home)
    desk.loop.step()
    assert desk.texts[0] == "text of number19 here"
    assert vectors.count_missing(home.database) == 12


def test_messages_and_days_have_vectors_and_messages_wait_for_the_screen(home: Home) -> None:
    put_messages(home.database, [message("see you at lunch"), message("ok", external_id="2")])
    frame_id = put(home, "the login system")
    with home.database.write() as connection:
        daily_summaries.put(connection, date(2026, 11, 20), "UTC", NOON_MS, NOON_MS + 1, "a day", "rule", 1)
    desk = Desk(home)
    assert desk.work() == 3
    assert [desk.texts[0], desk.texts[1]] == ["a day", "the login system"]
    assert set(desk.texts[2:]) == {"see you at lunch", "ok"}
    assert (vectors.count_missing(home.database), found_by(home, "login")) == (0, [frame_id])
    [vector] = FakeEmbedder().embed(["pizza"])
    page = messages.search_messages(home.database, RetrievalQuery("pizza", vector, "fake"))
    assert [hit.message.body for hit in page.hits] == ["see you at lunch"]
    problems = verify(home.database, Media(home.data_dir.media), Spool(home.data_dir.spool)).problems
    assert [each for each in problems if "vector" in each] == []


def test_restart_embeds_nothing_again(home: Home) -> None:
    for n in range(20):
        put(home, f"text of number{n} here", NOON_MS + n * MINUTE)
    first, second, third = Desk(home), Desk(home), Desk(home)
    first.loop.step()
    second.work()
    assert third.work() == 0
    assert not set(first.texts) & set(second.texts)
    assert len(first.texts) + len(second.texts) == 20


def test_line_on_many_frames_is_embedded_once_and_kept_once_in_ten_minutes(home: Home) -> None:
    same = "this line stays on the screen"
    ids = [put(home, f"{same}\nand this is line number{n}", NOON_MS + n * 60_000) for n in range(12)]
    desk = Desk(home)
    desk.work()
    assert desk.texts.count(same) == 1
    held = [frame_id for frame_id in ids if (0, len(same)) in chunks_of(home.database, frame_id)]
    assert len(held) == 2  # noon begins ten minutes; the last two frames are of the next
    assert all(chunks_of(home.database, frame_id) for frame_id in ids)


@pytest.mark.parametrize(
    "change", [{"window_name": "b"}, {"app_name": "b"}, {"monitor": "b"}, {"focused": False}]
)
def test_line_is_kept_for_each_window(home: Home, change: dict[str, object]) -> None:
    """What a filter can ask for separately is kept separately."""
    ids = [put(home, "the very same line"), put(home, "the very same line", NOON_MS + 1, **change)]
    Desk(home).work()
    assert all(chunks_of(home.database, frame_id) for frame_id in ids)


def test_line_outlives_the_frame_that_held_it(home: Home) -> None:
    texts = ["the login system\nfirst other line here", "the login system\nsecond line of others"]
    ids = [put(home, text, NOON_MS + n) for n, text in enumerate(texts)]
    desk = Desk(home)
    desk.work()
    deletion.delete_frames(home.database, home.media, [ids[1]])
    assert desk.work() == 1
    assert found_by(home, "authentication") == [ids[0]]


def test_everything_embedded_anew_by_the_same_loop_is_as_before(home: Home) -> None:
    ids = [put(home, f"the login system\nline of number{n}", NOON_MS + n) for n in range(4)]
    desk = Desk(home)
    desk.work()
    before = [len(chunks_of(home.database, frame_id)) for frame_id in ids]
    assert vectors.request_more(home.database, everything=True) == 4
    desk.work()
    assert sorted(len(chunks_of(home.database, frame_id)) for frame_id in ids) == sorted(before)
    assert len(desk.texts) == 5  # what was remembered was not asked again


def test_new_reading_is_embedded_in_place_of_the_old(home: Home) -> None:
    frame_id = put(home, "the login system")
    desk = Desk(home)
    desk.work()
    with home.database.write() as connection:
        readings.add(connection, frame_id, text_draft("pizza for lunch"), (), NOON_MS)
    desk.work()
    assert found_by(home, "authentication") == []
    assert found_by(home, "restaurant meal") == [frame_id]


def test_frame_deleted_while_it_is_embedded_leaves_nothing(home: Home) -> None:
    frame_id = put(home, "the login system")

    class Deleting(FakeEmbedder):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            deletion.delete_frames(home.database, home.media, [frame_id])
            return super().embed(texts)

    Desk(home, Deleting()).work()
    with home.database.read() as connection:
        assert rows(connection, "select * from vectors") == []
        assert rows(connection, "select * from embedding_queue") == []
    assert verify(home.database, home.media, Spool(home.data_dir.spool)).problems == ()


def test_another_model_embeds_everything_anew(home: Home) -> None:
    ids = [put(home, f"the login system number{n}", NOON_MS + n * 600_000) for n in range(3)]
    Desk(home).work()
    desk = Desk(home, FakeEmbedder("better"))
    desk.work()
    assert len(desk.texts) == 3
    assert [model.name for model in vectors.models(home.database)] == ["better", "fake"]
    with home.database.read() as connection:
        assert rows(connection, "select distinct model_id from vectors") == [(2,)]
    assert found_by(home, "authentication") == []  # the old model's vectors answer no more
    assert all(chunks_of(home.database, frame_id) for frame_id in ids)


def test_broken_embedder_leaves_words_whole_and_says_why(home: Home) -> None:
    frame_id = put(home, "the login system")

    def unavailable() -> Embedder:
        raise EmbedderUnavailable("the model is not installed: pip install it")

    desk = Desk(home, unavailable)
    assert desk.work() == 0
    assert desk.stats.known.embedder_problem == "the model is not installed: pip install it"
    assert desk.loop.is_idle
    hits = search.search(home.database, "login", Filters(0)).hits
    assert [hit.frame_id for hit in hits] == [frame_id]
    assert vectors.count_missing(home.database) == 1


def test_embedder_that_fails_is_opened_again_later(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    frame_id = put(home, "the login system")
    embedder = FakeEmbedder()
    embedder.failure = EmbeddingError("out of order")
    desk = Desk(home, lambda: embedder)
    assert desk.work() == 0
    assert desk.stats.known.embedder_problem == "out of order"
    monkeypatch.setattr(embedding, "OPEN_AGAIN_S", 0.0)
    desk.loop._next_open_s = 0.0
    embedder = FakeEmbedder()
    assert desk.work() == 1
    assert desk.stats.known.embedder_problem == ""
    assert found_by(home, "authentication") == [frame_id]


def test_refused_text_holds_nobody_else_back(home: Home) -> None:
    class Picky(FakeEmbedder):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            if any("poison" in text for text in texts):
                raise EmbeddingRefused("the endpoint refused the texts (HTTP 400)")
            return super().embed(texts)

    put(home, "some poison in here")
    kept = put(home, "the login system", NOON_MS + 1)
    desk = Desk(home, Picky())
    desk.work()
    assert found_by(home, "authentication") == [kept]
    assert vectors.count_missing(home.database) == 0
    assert "poison" not in desk.stats.state("running").last_error


def test_frame_without_words_is_done_at_once(home: Home) -> None:
    put(home, "42 | --")
    desk = Desk(home)
    desk.work()
    assert desk.texts == []
    assert vectors.count_missing(home.database) == 0


def test_worker_embeds_what_it_reads(home: Home) -> None:
    queue(home)
    worker = Worker(home, opener(ScriptedEngine("the login system")), open_embedder=FakeEmbedder)
    assert worker.run(once=True) == 0
    assert len(found_by(home, "authentication")) == 1
    state = IngestState.read(home.data_dir.spool)
    assert state is not None
    assert (state.embedder, state.embedder_problem) == ("fake", "")


def test_worker_ends_though_nothing_can_be_embedded(home: Home) -> None:
    queue(home)

    def unavailable() -> Embedder:
        raise EmbedderUnavailable("not installed")

    worker = Worker(home, opener(ScriptedEngine("the login system")), open_embedder=unavailable)
    assert worker.run(once=True) == 0
    state = IngestState.read(home.data_dir.spool)
    assert state is not None
    assert state.embedder_problem == "not installed"
    assert readings.count_pending(home.database) == 0


def test_a_surprise_lets_the_embedder_go_and_health_tells(home: Home) -> None:
    class Strange(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            raise RuntimeError("nobody expected this")

    put(home, "a line that is long enough to be embedded")
    desk = Desk(home, Strange())
    desk.loop.start()
    while not desk.stats.known.embedder_problem:
        time.sleep(0.01)
    desk.loop._stopping.set()
    desk.loop.join(60)
    assert desk.stats.known.embedder_problem == "embedding failed: RuntimeError"
