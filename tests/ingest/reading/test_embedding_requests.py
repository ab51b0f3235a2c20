"""What ingest sends for meaning: noted before it leaves, by its measure."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.observations.observation_loop import ObservationLoop
from ingest.reading.embedding import EmbeddingLoop
from ingest.worker.assembly import embedder_of
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.settings import EmbeddingSettings
from store.egress import egress_log
from store.egress.egress_log import OutgoingRequest
from store.egress.providers import Provider
from store.embeddings import vectors
from store.memory.observations import HOUR_MS
from store.timeline import segments
from tests.factories import NOON_MS, store_frame
from tests.stub_embeddings import Endpoint

SECRET = "xylophonequark"
FACTS = [{"frame_id": NOON_MS * 1024, "text": "stands here"}]
BETTER = json.dumps({"narrative": "It stands there.", "concepts": [], "facts": FACTS})
CLOUD = Provider(0, "cloud", "https://api.example/v1", "big", "sk-1", "api.example")


@pytest.fixture
def embeddings() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


def embedding(home: Home, embeddings: Endpoint) -> EmbeddingLoop:
    options = embeddings.options
    chosen = EmbeddingSettings("openai", options.model, options.base_url, options.api_key, 5)
    asking = replace(home, settings=replace(home.settings, embedding=chosen))
    return EmbeddingLoop(home.database, WorkerStats(lambda: NOON_MS), embedder_of(asking), threading.Event())


def test_texts_sent_for_meaning_are_counted_and_not_kept_twice(home: Home, embeddings: Endpoint) -> None:
    for n in range(3):
        store_frame(home.database, home.data_dir, NOON_MS + n * 60_000, f"the {SECRET} number {n}")
    loop = embedding(home, embeddings)
    while loop.step():
        pass
    loop.close()
    newest, first = egress_log.latest(home.database)
    # Opening asks for the length of the vectors, with a word of our own.
    assert (first.purpose, first.texts, first.first_ms) == ("embed", 1, None)
    assert first.body is not None and json.loads(first.body) == embeddings.requests[0]
    assert embeddings.requests[0]["input"] == ["dimension"]
    assert (newest.purpose, newest.outcome, newest.body) == ("embed", "answered", None)
    assert newest.texts == len(embeddings.requests[1]["input"]) == 3
    assert newest.size_bytes == len(embeddings.bodies[1])
    assert (newest.first_ms, newest.last_ms) == (NOON_MS, NOON_MS + 120_000)
    assert (newest.provider, newest.model) == ("embedding", "m")
    assert newest.url == f"{embeddings.options.base_url}/embeddings"
    assert len(embeddings.requests) == 2


def test_entries_of_memory_are_sent_without_a_time(home: Home, embeddings: Endpoint) -> None:
    frame = store_frame(home.database, home.data_dir, NOON_MS, f"the {SECRET} stands here")
    with home.database.write() as connection:
        segments.heartbeat(connection, frame)
    memory = ObservationLoop(home.database, lambda: NOON_MS + 2 * HOUR_MS, threading.Event())
    while memory.step():
        pass
    loop = embedding(home, embeddings)
    loop.step()
    loop.close()
    kept = egress_log.latest(home.database)[0]
    assert kept.texts > 0 and (kept.body, kept.first_ms, kept.last_ms) == (None, None, None)


def test_a_refused_text_is_noted_with_each_request(home: Home, embeddings: Endpoint) -> None:
    store_frame(home.database, home.data_dir, NOON_MS, f"the {SECRET}")
    store_frame(home.database, home.data_dir, NOON_MS + 60_000, "something good")
    embeddings.refuses = SECRET
    loop = embedding(home, embeddings)
    while loop.step():
        pass
    loop.close()
    outcomes = [each.outcome for each in egress_log.latest(home.database)]
    assert sorted(outcomes) == ["answered", "answered", "texts_refused", "texts_refused"]
    assert len(embeddings.requests) == len(outcomes)


def test_what_cannot_be_noted_is_not_sent_for_meaning(
    home: Home, embeddings: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(home.database, home.data_dir, NOON_MS, f"the {SECRET}")
    record = egress_log.record

    def busy(database: Database, leaving: OutgoingRequest, *still: object) -> int:
        if leaving.body is None:
            raise StoreBusy("another process writes")
        return record(database, leaving)

    monkeypatch.setattr(egress_log, "record", busy)
    loop = embedding(home, embeddings)
    with pytest.raises(StoreBusy):
        loop.step()
    loop.close()
    assert [request["input"] for request in embeddings.requests] == [["dimension"]]
    assert vectors.count_missing(home.database) == 1
