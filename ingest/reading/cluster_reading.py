"""Frames that a cluster reads, beside those that are read here, and texts that it embeds.

The queue stays in the database: a frame is claimed, sent, and stored when its text comes back, in the
transaction in which it leaves the queue. What does not come back (a worker that died more than once, a
timeout, another version) goes back to be read here, so nothing is lost, and nothing is stored twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

import numpy as np

from engines.embeddings.protocol import Embedder, EmbeddingError, Vectors
from ingest.core.cluster import Cluster
from ingest.core.home import Home
from ingest.core.step_loop import StepLoop
from ingest.core.worker_stats import WorkerStats
from ingest.reading import remote
from ingest.reading.backlog import Backlog
from ingest.reading.embedding import frames_told
from ingest.reading.reader import ReaderLoop, store_lines, told_before
from ingest.reading.remote import Answer, Order
from store.core.errors import MediaGone, StoreBusy, stack_of
from store.frames import frames, visible_windows
from store.frames.frames import FrameRow
from store.ocr import sent
from store.privacy.rules import RuleSet, load_rules

log = logging.getLogger(__name__)

LONGEST_S = 120.0
"""From sending a picture to having its text."""
_AHEAD = 2  # pictures a thread there: one is read, one waits
_POLL_S = 0.5
_FAILURES = 5  # one after the other: the cluster is not used for a while


class ClusterReading(StepLoop):
    """Sends frames, the oldest first, and stores what comes back. `local` is the reader of this machine: its
    engine says which versions read, and it reads what the cluster cannot.
    """

    work = "reading elsewhere"
    idle_s = _POLL_S

    def __init__(
        self,
        home: Home,
        backlog: Backlog,
        stats: WorkerStats,
        cluster: Cluster,
        local: ReaderLoop,
        clock: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        super().__init__("cluster", home.database, stats, stop)
        self._home = home
        self._backlog = backlog
        self._cluster = cluster
        cluster.on_problem = stats.error
        self._local = local
        self._clock = clock
        self._running: dict[Future[Answer], tuple[FrameRow, float]] = {}
        self._noted: list[int] | None = None
        self._failures = 0

    def step(self) -> bool:
        """Send what there is room for, and store what has come; False when nothing was under way."""
        executor = self._cluster.executor() if self._local.versions else None
        if executor is not None and self._local.versions and not self._local.versions.models:
            self._cluster.lose("the engine here does not tell its models, which have to be the same there")
            executor = None
        self._take_back_deleted()
        if executor is None:
            self._take_back(list(self._running))
            self._note()
            return False
        self._send(executor)
        done, _ = wait(self._running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        for future in done:
            self._store(future)
        late = time.monotonic() - LONGEST_S
        self._take_back([future for future, (_, sent_s) in self._running.items() if sent_s < late])
        self._note()
        return bool(done or self._running)

    def on_surprise(self, sentence: str) -> None:
        """Everything under way is read here."""
        super().on_surprise(sentence)
        self._take_back(list(self._running))
        self._cluster.lose(sentence)

    def close(self) -> None:
        self._take_back(list(self._running))
        self._cluster.close()
        self._note()

    def _send(self, executor: Executor) -> None:
        rules = load_rules(self._home.data_dir, self._home.settings.privacy)

        def may_leave(frame: FrameRow) -> bool:
            return _permits(self._home, rules, frame)

        while len(self._running) < _AHEAD * self._cluster.threads:
            frame = self._backlog.take(elsewhere=may_leave)
            if frame is None:
                return
            try:
                order = self._order(frame)
                if frame.id not in self._note(frame):
                    self._backlog.done(frame)  # it was deleted just now
                    continue
                future = executor.submit(remote.read_picture, order)
            except MediaGone:
                self._backlog.done(frame, only_here=True)  # where it is told
                continue
            except StoreBusy:  # no fault of the cluster
                self._backlog.done(frame)
                raise
            except Exception as error:
                self._backlog.done(frame, only_here=True)
                self._failed(frame, error)
                return
            self._running[future] = frame, time.monotonic()

    def _note(self, *about_to_leave: FrameRow) -> set[int]:
        """Keep what is there, so that a deletion can tell of it; returns what of it was not deleted."""
        ids = sorted(frame.id for frame in (*(frame for frame, _ in self._running.values()), *about_to_leave))
        if ids == self._noted and not about_to_leave:
            return set(ids)
        stored = sent.note(self._home.database, self._cluster.name, ids)
        self._noted = ids
        return stored

    def _take_back_deleted(self) -> None:
        """The cluster forgets what is deleted here meanwhile."""
        if not self._running:
            return
        stored = sent.stored(self._home.database, {frame.id for frame, _ in self._running.values()})
        self._take_back([future for future, (frame, _) in self._running.items() if frame.id not in stored])

    def _order(self, frame: FrameRow) -> Order:
        content, media_type = self._home.media.portable(frame)
        pages, proved = told_before(self._home.database, frame)
        assert self._local.versions is not None
        return Order(self._local.versions, content, media_type, tuple(pages), tuple(proved))

    def _store(self, future: Future[Answer]) -> None:
        frame, _ = self._running.pop(future)
        try:
            answer = future.result()
        except Exception as error:  # whatever happens on another machine, this one goes on
            self._backlog.done(frame, only_here=True)
            return self._failed(frame, error)
        self._failures = 0
        try:
            assert self._local.versions is not None
            store_lines(
                self._home, frame, self._local.versions, answer.lines, answer.duration_ms, self._clock()
            )
            self._stats.count("read")
        finally:
            self._backlog.done(frame)

    def _failed(self, frame: FrameRow, error: Exception) -> None:
        # A foreign message could hold screen text; that of another version is ours.
        told = str(error) if isinstance(error, remote.OtherVersion) else type(error).__name__
        log.warning("frame %d is read here, not elsewhere: %s\n%s", frame.id, told, stack_of(error))
        self._failures += 1
        if self._failures >= _FAILURES or isinstance(error, remote.OtherVersion):
            self._failures = 0
            self._cluster.lose(told)

    def _take_back(self, futures: Sequence[Future[Answer]]) -> None:
        """Read here what these would have brought; should they still bring it, nobody listens."""
        for future in futures:
            frame, _ = self._running.pop(future)
            future.cancel()
            self._backlog.done(frame, only_here=True)


class SpreadEmbedder:
    """An `Embedder` of which many texts are embedded on a cluster: the same vectors, or those made here."""

    _FEWEST = 16  # texts for one thread there

    def __init__(self, here: Embedder, home: Home, cluster: Cluster) -> None:
        self._here, self._home, self._cluster = here, home, cluster
        self._asked = home.settings.embedding.engine, home.settings.embedding.model, here.name
        self.name, self.dimension = here.name, here.dimension
        self.reads, self.close = here.reads, here.close

    def embed(self, texts: Sequence[str]) -> Vectors:
        executor = self._cluster.executor() if len(texts) >= 2 * self._FEWEST else None
        if executor is None or not (threads := self._cluster.threads):
            return self._here.embed(texts)
        frame_ids = frames_told.get() or ()
        try:
            made = self._elsewhere(executor, threads, texts) if self._may_leave(frame_ids) else None
        finally:
            if frame_ids:
                sent.note(self._home.database, self._cluster.name, (), "texts")
        return self._here.embed(texts) if made is None else made

    def _elsewhere(self, executor: Executor, threads: int, texts: Sequence[str]) -> Vectors | None:
        """None where nothing came of it. Raises `EmbeddingError`."""
        size = max(self._FEWEST, -(-len(texts) // threads))
        parts = [list(texts[at : at + size]) for at in range(0, len(texts), size)]
        try:
            futures = [executor.submit(remote.embed, *self._asked, part) for part in parts]
            return np.concatenate([future.result(LONGEST_S) for future in futures])
        except EmbeddingError:
            raise
        except Exception as error:
            where = stack_of(error)
            log.warning("texts are embedded here, not elsewhere: %s\n%s", type(error).__name__, where)
            if isinstance(error, remote.OtherVersion):
                self._cluster.lose(str(error))
            return None

    def _may_leave(self, frame_ids: Collection[int]) -> bool:
        """Whether no rule excludes one of the frames and none is deleted; it is noted then where they are."""
        rules = load_rules(self._home.data_dir, self._home.settings.privacy)
        found = frames.get_many(self._home.database, frame_ids).values()
        if not all(_permits(self._home, rules, each) for each in found):
            return False
        return not frame_ids or len(
            sent.note(self._home.database, self._cluster.name, frame_ids, "texts")
        ) == len(frame_ids)


def _permits(home: Home, rules: RuleSet, frame: FrameRow) -> bool:
    front = frame.app_name, frame.window_name, frame.browser_url
    return visible_windows.permits(home.database, rules, frame.id, front)
