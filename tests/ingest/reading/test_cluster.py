"""Frames that a cluster reads: the same texts, none lost and none twice, whatever happens to its workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from engines.embeddings.local import LocalEmbedder
from engines.embeddings.protocol import Vectors
from engines.ocr.protocol import OcrEngine, open_ocr
from ingest.core import cluster
from ingest.core.cluster import Cluster
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading import backlog, cluster_reading, remote
from ingest.reading.backlog import Backlog
from ingest.reading.cluster_reading import ClusterReading, SpreadEmbedder
from ingest.reading.embedding import texts_of
from ingest.reading.reader import ReaderLoop
from ingest.reading.remote import Answer, Order, OtherVersion
from ingest.worker import rereading
from ingest.worker.worker import Worker
from store.core.database import Database
from store.core.errors import SettingsError, StoreBusy
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr import readings
from store.privacy.rules import Rule
from tests.factories import NOON_MS, Clock, save_rules, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.ingest.conftest import ScriptedEngine, ocr_line, opener
from tests.meanwhile import meanwhile

FRAMES = 8


class Here(Cluster):
    """A cluster of one thread of this process, whose answers a test gives."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        super().__init__("dask://127.0.0.1:1")
        self.pool = ThreadPoolExecutor(1)
        self.answer = answer
        self.lost: list[str] = []

    def executor(self) -> Executor | None:
        return None if self.lost else _Answering(self.pool, self.answer)

    @property
    def threads(self) -> int:
        return 1

    def lose(self, problem: str) -> None:
        self.lost.append(problem)

    def close(self) -> None:
        self.pool.shutdown()


class _Answering(Executor):
    def __init__(self, pool: Executor, answer: Callable[..., Any]) -> None:
        self._pool, self._answer = pool, answer

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._pool.submit(self._answer, *args)


class Run:
    """A reader here, one elsewhere, and the frames that wait for both."""

    def __init__(
        self, home: Home, clock: Clock, frames: list[FrameRow], engine: Callable[[], OcrEngine]
    ) -> None:
        self.frames, self.database, self.clock, self.home = frames, home.database, clock, home
        self.stats, self.stop = WorkerStats(clock), threading.Event()
        self.backlog = Backlog(home.database, clock)
        self.local = ReaderLoop(home, self.backlog, self.stats, engine, clock, self.stop)
        self.local._ready_reader()

    def elsewhere(self, cluster: Cluster) -> ClusterReading:
        return ClusterReading(self.home, self.backlog, self.stats, cluster, self.local, self.clock, self.stop)

    def texts(self) -> list[str]:
        found = [readings.of_frame(self.database, frame.id) for frame in self.frames]
        assert all(len(each) <= 1 for each in found), "none is stored twice"
        return [each[0][0].text if each else "" for each in found]


@pytest.fixture
def run(home: Home, database: Database, data_dir: DataDir, clock: Clock) -> Run:
    frames = [store_frame(database, data_dir, NOON_MS + n * 1000) for n in range(FRAMES)]
    return Run(home, clock, frames, opener(ScriptedEngine("read here")))


class Late(Here):
    """One whose answers wait for `going_on`."""

    def __init__(self) -> None:
        self.going_on = threading.Event()
        super().__init__(self._late)

    def _late(self, order: Order) -> Answer:
        self.going_on.wait()
        return Answer([ocr_line("too late")], 5)


def test_what_comes_back_is_stored_once(run: Run) -> None:
    cluster = Here(lambda order: Answer([ocr_line(f"read elsewhere by {order.by.engine}")], 5))
    loop = run.elsewhere(cluster)
    while loop.step():
        pass
    assert run.texts() == ["read elsewhere by scripted"] * FRAMES
    [reading, _] = readings.of_frame(run.database, run.frames[0].id)[0]
    assert reading.engine == "scripted 1"
    assert run.backlog.is_idle()
    loop.close()


def test_what_fails_elsewhere_is_read_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_reading, "_FAILURES", FRAMES + 1)

    def answer(order: Order) -> Answer:
        raise MemoryError

    cluster = Here(answer)
    loop = run.elsewhere(cluster)
    while loop.step():
        pass
    assert run.texts() == [""] * FRAMES
    while run.local.step():
        pass
    assert run.texts() == ["read here"] * FRAMES
    assert not cluster.lost
    loop.close()


def test_a_deletion_takes_back_what_is_under_way_and_names_the_cluster(run: Run, data_dir: DataDir) -> None:
    cluster = Late()
    loop = run.elsewhere(cluster)
    loop.step()
    under_way, rest = run.frames[:2], run.frames[2:]
    receipt = deletion.delete_frames(run.database, Media(data_dir.media), [frame.id for frame in under_way])
    assert receipt.verified and receipt.elsewhere == ("dask://127.0.0.1:1",)
    loop.step()
    assert not {frame.id for frame in under_way} & {frame.id for frame, _ in loop._running.values()}
    cluster.going_on.set()
    while loop.step():
        pass
    receipt = deletion.delete_frames(run.database, Media(data_dir.media), [frame.id for frame in rest])
    assert receipt.verified and not receipt.elsewhere, "it is not there any more"
    loop.close()


def test_what_a_rule_excludes_is_read_here(
    run: Run, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "_LOOKED_AT", 2)
    with run.database.write() as connection:
        hidden = [frame.id for frame in run.frames[:3]]
        connection.executemany(
            "update frames set app_name = 'Bank' where id = ?", [(each,) for each in hidden]
        )
    save_rules(data_dir, [Rule(app="Bank")])
    loop = run.elsewhere(Here(lambda order: Answer([ocr_line("read elsewhere")], 5)))
    for _ in range(2 * FRAMES):
        loop.step()
    assert run.texts() == [""] * 3 + ["read elsewhere"] * (FRAMES - 3)
    while run.local.step():
        pass
    assert run.texts()[:3] == ["read here"] * 3
    loop.close()


def test_a_deletion_names_the_cluster_that_embeds_a_text_and_what_a_rule_excludes_stays(
    run: Run, data_dir: DataDir
) -> None:
    named: list[tuple[str, ...]] = []
    mine = FakeEmbedder()

    def answer(engine: str, model: str, name: str, texts: list[str]) -> Vectors:
        receipt = deletion.delete_frames(run.database, Media(data_dir.media), [run.frames[1].id])
        named.append(receipt.elsewhere)
        return FakeEmbedder().embed(texts)

    cluster = Here(answer)
    spread = SpreadEmbedder(mine, run.home, cluster)
    lines = [f"words {n}" for n in range(32)]

    def embed(*told: FrameRow) -> None:
        with texts_of("frame", [frame.id for frame in told]):
            assert np.array_equal(spread.embed(lines), FakeEmbedder().embed(lines))

    embed(run.frames[0], run.frames[1])
    assert named[0] == ("dask://127.0.0.1:1",) and mine.calls == []
    embed(run.frames[0], run.frames[1])  # one is deleted now
    save_rules(data_dir, [Rule(app=run.frames[0].app_name)])
    embed(run.frames[0])
    assert len(mine.calls) == 2
    receipt = deletion.delete_frames(run.database, Media(data_dir.media), [run.frames[0].id])
    assert receipt.elsewhere == ()
    cluster.close()


def test_an_engine_that_cannot_tell_its_models_reads_here(run: Run) -> None:
    assert run.local.versions is not None
    run.local.versions = replace(run.local.versions, models="")
    cluster = Here(lambda order: Answer([ocr_line("read elsewhere")], 5))
    loop = run.elsewhere(cluster)
    assert not loop.step() and "models" in cluster.lost[0]
    loop.close()


def test_another_version_is_not_asked_again(run: Run) -> None:
    def answer(order: Order) -> Answer:
        raise OtherVersion("other models")

    cluster = Here(answer)
    loop = run.elsewhere(cluster)
    while loop.step():
        pass
    assert cluster.lost[0] == "other models"
    while run.local.step():
        pass
    assert run.texts() == ["read here"] * FRAMES
    loop.close()


def test_what_takes_too_long_is_read_here_and_stored_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Late()
    loop = run.elsewhere(cluster)
    monkeypatch.setattr(cluster_reading, "_POLL_S", 0.0)
    monkeypatch.setattr(cluster_reading, "LONGEST_S", -1.0)
    while loop.step():
        pass
    cluster.going_on.set()
    while run.local.step():
        pass
    assert run.texts() == ["read here"] * FRAMES
    loop.close()


def test_a_worker_refuses_what_it_would_read_otherwise(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "open_ocr", lambda engine, languages: ScriptedEngine("no"))
    loop = run.elsewhere(Here(remote.read_picture))
    order = loop._order(run.frames[0])
    assert remote.read_picture(order).lines[0].text == "no"
    with pytest.raises(OtherVersion):
        remote.read_picture(replace(order, by=replace(order.by, models="others")))
    assert order.__dask_tokenize__() == loop._order(run.frames[0]).__dask_tokenize__()
    assert order.__dask_tokenize__() != loop._order(run.frames[1]).__dask_tokenize__()
    del remote._own.readers


def test_the_setting_names_a_scheduler() -> None:
    for wrong in ("dask", "dask://host", "ray://host:1", "tcp://host:8786"):
        with pytest.raises(SettingsError):
            Cluster(wrong)
    assert Cluster("dask://127.0.0.1:1").executor() is None, "nobody is there: work goes on here"


# -- two worker processes of Dask ------------------------------------------------------------------


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to let somebody in."""
    monkeypatch.setattr(cluster, "_OPEN_WITHIN_S", 120)
    monkeypatch.setattr(cluster_reading, "LONGEST_S", 280.0)


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as workers:
        yield workers


def page(number: int) -> Image.Image:
    image = Image.new("RGB", (640, 200), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(20)
    for row, text in enumerate((f"Invoice {1000 + 7 * number}", f"Total {13 * number} EUR", "Paid by card")):
        draw.text((20, 20 + 50 * row), text, "#111", font)
    return image


def texts(database: Database, ids: list[int]) -> list[tuple[str, ...]]:
    found = [readings.current_reading(database, frame_id) for frame_id in ids]
    return [(each.text, repr(each.lines)) if each else () for each in found]


@pytest.mark.end_to_end
@pytest.mark.usefixtures("patient")
def test_two_workers_read_the_same_and_one_may_die(
    dask: Any, home: Home, database: Database, data_dir: DataDir, clock: Clock, tmp_path: Any
) -> None:
    frames = [store_frame(database, data_dir, NOON_MS + n * 1000, image=page(n)) for n in range(24)]
    ids = [frame.id for frame in frames]
    engine = lambda: open_ocr("tesserocr", ["eng"])  # noqa: E731
    assert Worker(home, engine, clock=clock).run(once=True) == 0
    expected = texts(database, ids)
    assert all(expected)

    assert sum(readings.queue_again(database)) == len(ids)
    elsewhere = Cluster(dask.scheduler_address.replace("tcp://", "dask://"))
    run = Run(home, clock, frames, engine)  # its own reader is asked for its versions only: it reads nothing
    loop, stats, killed = run.elsewhere(elsewhere), run.stats, False
    while loop.step():
        if not killed and stats["read"] >= 4:
            os.kill(next(iter(dask.workers.values())).pid, 9)
            killed = True
    assert killed and stats["read"] == len(ids)
    assert texts(database, ids) == expected
    assert all(len(readings.of_frame(database, frame_id)) == 2 for frame_id in ids), (
        "read twice, stored twice"
    )
    loop.close()
    run.local.close()


@pytest.mark.end_to_end
@pytest.mark.usefixtures("patient")
def test_texts_are_embedded_elsewhere_to_the_same_vectors(dask: Any, home: Home) -> None:
    here = LocalEmbedder()
    elsewhere = Cluster(dask.scheduler_address.replace("tcp://", "dask://"))
    spread = SpreadEmbedder(here, home, elsewhere)
    lines = [f"The invoice {n} was paid on {n} March by transfer" for n in range(40)]
    lines += [f"Die Rechnung {n} wurde bezahlt" for n in range(8)]
    expected = here.embed(lines)
    here.close()  # it can embed nothing any more
    assert np.array_equal(spread.embed(lines), expected)
    elsewhere.close()


def test_all_is_queued_again_and_taken_back(home: Home, database: Database, data_dir: DataDir) -> None:
    frames = [store_frame(database, data_dir, NOON_MS + n * 1000, "some text") for n in range(3)]
    new = store_frame(database, data_dir, NOON_MS + 9_000)
    with database.write() as connection:
        connection.execute("update frames set media_path = null where id = ?", (frames[0].id,))
    assert sum(readings.queue_again(database)) == 2
    assert readings.count_pending(database) == 3 and readings.waits_again(database)
    assert rereading.stop(home) == 2
    assert readings.pending_frames(database, NOON_MS * 2, 9) == [new]
    assert not readings.waits_again(database)


def test_a_busy_database_is_no_fault_of_the_cluster(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise StoreBusy("another program writes")

    here = Here(lambda order: Answer([], 1))
    reading = run.elsewhere(here)
    for _ in range(cluster_reading._FAILURES):
        meanwhile(monkeypatch, cluster_reading, "told_before", busy)
        with pytest.raises(StoreBusy):
            reading.step()
    while reading.step():
        pass
    assert not here.lost and run.stats["read"] == FRAMES
