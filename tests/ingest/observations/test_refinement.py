"""What ingest sends: noted before it leaves, to the byte or by its measure, and forgotten with its frames."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.importers.import_runner import embedder_of
from ingest.observations import refinement
from ingest.observations.observation_loop import ObservationLoop
from ingest.observations.refinement_models import Refiners
from ingest.reading.embedding import EmbeddingLoop
from store.core.database import Database
from store.core.errors import Outdated, StoreBusy
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, EmbeddingSettings
from store.deletion import deletion
from store.egress import egress_log, providers
from store.egress.egress_log import OutgoingRequest
from store.egress.providers import Provider
from store.embeddings import vectors
from store.frames import frames
from store.frames.media import Media
from store.memory import observations
from store.memory.observations import HOUR_MS, Observation
from store.timeline import segments
from tests.factories import NOON_MS, store_frame
from tests.stub_embeddings import Endpoint
from tests.stub_model import StubModel

SECRET = "xylophonequark"
FACTS = [{"frame_id": NOON_MS * 1024, "text": "stands here"}]
BETTER = json.dumps({"narrative": "It stands there.", "concepts": [], "facts": FACTS})
CLOUD = Provider(0, "cloud", "https://api.example/v1", "big", "sk-1", "api.example")


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        yield running.reply(BETTER)


@pytest.fixture
def embeddings() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def refiners(data_dir: DataDir, stub: StubModel) -> Iterator[Refiners]:
    """One model, added in the app."""
    local = Provider(0, "stub", stub.base_url, "m", input_price=2.0, output_price=8.0, currency="EUR")
    providers.add(data_dir, local)
    found = Refiners(ChatSettings(), "local", data_dir, {})
    yield found
    found.close()


def observed(home: Home, text: str = f"the {SECRET} stands here") -> int:
    """A frame that became an observation; returns its id."""
    frame = store_frame(home.database, home.data_dir, NOON_MS, text)
    with home.database.write() as connection:
        segments.heartbeat(connection, frame)
        frames.extend(connection, frame.capture_id, NOON_MS + 60_000)
        segments.extend(connection, frame.id, NOON_MS + 60_000)
    return frame.id


def worked(home: Home, refiners: Refiners) -> None:
    now = [NOON_MS + 2 * HOUR_MS]
    loop = ObservationLoop(home.database, lambda: now[0], threading.Event(), refiners, 5)
    while loop.step():
        now[0] += 10_000


def only_observation(database: Database) -> Observation:
    [found] = observations.between(database, 0, 2 * NOON_MS)
    return found


# -- better words -----------------------------------------------------------------------------


def test_what_is_asked_for_better_words_is_kept_to_the_byte_and_goes_with_its_frame(
    home: Home, refiners: Refiners, stub: StubModel
) -> None:
    noted: list[str] = []

    def look(_: object) -> str:
        noted.extend(each.outcome for each in egress_log.latest(home.database))
        home.database.close_thread()
        return BETTER

    stub._script.clear()
    stub.reply(look)
    frame_id = observed(home)
    worked(home, refiners)
    assert noted == ["sent"]
    assert only_observation(home.database).narrative.endswith("It stands there.")
    [kept] = egress_log.latest(home.database)
    assert kept.body is not None and SECRET in kept.body
    assert json.loads(kept.body) == stub.requests[0]
    assert kept.size_bytes == len(kept.body.encode()) == int(stub.headers[0]["content-length"])
    assert (kept.purpose, kept.outcome, kept.provider, kept.model) == ("refine", "answered", "stub", "m")
    assert kept.url == f"{stub.base_url}/chat/completions" and kept.is_local
    assert kept.input_tokens and kept.output_tokens
    expected = (kept.input_tokens * 2 + kept.output_tokens * 8) / 1e6
    assert (kept.cost, kept.currency) == (pytest.approx(expected), "EUR")

    receipt = deletion.delete_frames(home.database, Media(home.data_dir.media), [frame_id])
    assert (receipt.verified, receipt.counts.sent) == (True, 1)
    [after] = egress_log.latest(home.database)
    assert (after.body, after.size_bytes) == (None, kept.size_bytes)
    home.database.close_thread()
    for path in home.data_dir.home.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_deletion_elsewhere_leaves_the_text(home: Home, refiners: Refiners) -> None:
    observed(home)
    later = store_frame(home.database, home.data_dir, NOON_MS + 3 * HOUR_MS, "another")
    worked(home, refiners)
    deletion.delete_frames(home.database, Media(home.data_dir.media), [later.id])
    [kept] = egress_log.latest(home.database)
    assert kept.body is not None


def test_an_answer_that_is_none_is_noted_as_such(home: Home, refiners: Refiners, stub: StubModel) -> None:
    stub._script.clear()
    stub.reply("no json")
    observed(home)
    worked(home, refiners)
    assert [each.outcome for each in egress_log.latest(home.database)] == ["model_malformed"]


def test_what_cannot_be_noted_is_not_sent_for_better_words(
    home: Home, refiners: Refiners, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> int:
        raise StoreBusy("another process writes")

    observed(home)
    monkeypatch.setattr(egress_log, "record", busy)
    with pytest.raises(StoreBusy):
        worked(home, refiners)
    assert stub.headers == []


def test_what_is_deleted_while_it_is_read_is_not_sent(
    home: Home, refiners: Refiners, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame_id = observed(home)
    read = refinement.texts_of

    def deleted_then(database: Database, frame_ids: Iterable[int]) -> dict[int, str]:
        texts = read(database, frame_ids)
        deletion.delete_frames(database, Media(home.data_dir.media), [frame_id])
        return texts

    monkeypatch.setattr(refinement, "texts_of", deleted_then)
    with pytest.raises(Outdated):
        worked(home, refiners)
    assert stub.headers == [] and egress_log.latest(home.database) == []


# -- who may be asked -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("added", "refine", "expected"),
    [
        (CLOUD, "any", "cloud"),
        (CLOUD, "local", None),
        (CLOUD, "off", None),
        (replace(CLOUD, allowed_host=""), "any", None),
        (replace(CLOUD, allowed_host="other.example"), "any", None),
        (replace(CLOUD, model=""), "any", None),
        (replace(CLOUD, api_key="env:NOT_SET"), "any", None),
        (replace(CLOUD, base_url="http://localhost:8080/v1", allowed_host=""), "local", "cloud"),
    ],
)
def test_models_added_in_the_app_refine_by_the_same_permissions(
    data_dir: DataDir, added: Provider, refine: str, expected: str | None
) -> None:
    providers.add(data_dir, added)
    found = Refiners(ChatSettings(), refine, data_dir, {})()
    assert (found.endpoint.name if found else None) == expected


def test_the_chosen_default_comes_first_where_it_is_permitted(data_dir: DataDir) -> None:
    here = ChatModelSettings("here", "http://127.0.0.1:1/v1", "m", api_key="env:KEY")
    providers.add(data_dir, CLOUD)
    providers.set_default(data_dir, "cloud")
    chat = ChatSettings(models=(here,))
    names = {}
    for refine in ("any", "local"):
        found = Refiners(chat, refine, data_dir, {"KEY": "sk-2"})()
        assert found is not None
        names[refine] = found.endpoint.name
        assert "sk-" not in repr(found)
    assert names == {"any": "cloud", "local": "here"}


def test_a_change_in_the_app_counts_from_the_next_job_on(
    home: Home, refiners: Refiners, stub: StubModel
) -> None:
    before = refiners()
    assert before is not None and refiners() == before
    renamed = replace(providers.load(home.data_dir).entries[0], name="renamed")
    providers.change(home.data_dir, renamed)
    after = refiners()
    assert after is not None and after.model is not before.model
    providers.remove(home.data_dir, 1)
    assert refiners() is None
    observed(home)
    worked(home, refiners)
    assert stub.headers == []
    home.data_dir.providers.write_text("{")
    assert refiners() is None


# -- meaning ----------------------------------------------------------------------------------


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
    observed(home)
    worked(home, Refiners(ChatSettings(), "off"))
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
