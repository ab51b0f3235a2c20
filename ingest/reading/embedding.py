"""Step three: what was read gets its meaning, in a thread of its own.

Nothing waits for this: a frame is stored, read and found by its words whatever happens here. What
is to be done is the queue in the database, newest first, and an item leaves it in the transaction
that stores its vectors, so a restart goes on where this one ended. Without an embedder the queue
stands still, and once a minute the embedder is tried again.

The screens of a window have most lines in common. A line is embedded once while it is remembered,
and kept once for each window in ten minutes (`vectors.SAME_MS`): a million
frames hold two or three million vectors instead of sixteen.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from engines.chat.protocol import OutgoingRequest
from engines.embeddings.protocol import Embedder, EmbeddingError, EmbeddingRefused
from ingest.core.step_loop import StepLoop
from ingest.core.worker_stats import WorkerStats
from ingest.reading import chunking
from ingest.reading.chunking import Chunk
from store.core import allocator
from store.core.database import Database
from store.core.translation import N_
from store.egress.egress_log import EgressRecorder, RequestContext
from store.embeddings import vectors
from store.embeddings.vectors import Kind
from store.frames import frames
from store.frames.frames import ID_STEP
from store.memory import retrievers
from store.memory.retrievers import CORPORA
from store.ocr import readings

log = logging.getLogger(__name__)

OPEN_AGAIN_S = 60.0
_AT_ONCE = 8
# 400 bytes each.
_REMEMBERED_LINES = 20_000
_REMEMBERED_PLACES = 50_000

# An import may bring a hundred thousand messages: what was on the screen goes before them.
_ORDER: tuple[Kind, ...] = ("document", "day", "frame", "message")
OpenEmbedder = Callable[[], Embedder]
Int8 = npt.NDArray[np.int8]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Item:
    """Something to embed, as it was when its chunks were cut."""

    kind: Kind
    id: int
    version: str
    chunks: tuple[Chunk, ...]
    place: Hashable | None  # the window and minutes that share lines; None: all chunks are kept


class EmbeddingLoop(StepLoop):
    """Opens its embedder with the first step, so that another model than before is noticed then."""

    work = "embedding"
    idle_s = 1.0

    def __init__(
        self, database: Database, stats: WorkerStats, open_embedder: OpenEmbedder, stop: threading.Event
    ) -> None:
        super().__init__("embedding", database, stats, stop)
        self._open_embedder = open_embedder
        self._embedder: Embedder | None = None
        self._next_open_s = 0.0
        self._lines: _LruCache[Int8] = _LruCache(_REMEMBERED_LINES)
        self._holders: _LruCache[int] = _LruCache(_REMEMBERED_PLACES)

    def step(self) -> bool:
        """Embed some of what waits; False when nothing does, or nothing can be done."""
        embedder = self._ready()
        if embedder is None:
            return False
        kind, waiting = self._next(embedder)
        if not waiting:
            return False
        items = [item for number in waiting if (item := self._item(embedder, kind, number))]
        try:
            try:
                self._make(embedder, items)
            except EmbeddingRefused:
                self._one_by_one(embedder, items)
        except EmbeddingError as error:
            self._lose_embedder(str(error))
            return False
        return True

    def on_surprise(self, sentence: str) -> None:
        """Words are still found, health tells, and the embedder is opened anew."""
        self._lose_embedder(sentence)

    def rest(self) -> None:
        allocator.rest(self._embedder)
        super().rest()

    def _next(self, embedder: Embedder) -> tuple[Kind, list[int]]:
        """Things of one kind that wait, of the first kind of which some do."""
        for kind in _ORDER:
            waiting = vectors.missing(self._database, kind, embedder.name, _AT_ONCE)
            if waiting:
                return kind, waiting
        return "frame", []

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, or nothing can be done for lack of an embedder."""
        is_blocked = self._embedder is None and self._next_open_s > time.monotonic()
        return is_blocked or not vectors.count_missing(self._database, at_most=1)

    def _ready(self) -> Embedder | None:
        if self._embedder is None and time.monotonic() >= self._next_open_s:
            self._next_open_s = time.monotonic() + OPEN_AGAIN_S
            try:
                embedder = self._open_embedder()
            except EmbeddingError as error:
                self._lose_embedder(str(error))
                return None
            queued = vectors.activate_model(self._database, embedder.name, embedder.dimension)
            log.info("embedding with %s, %d things are to be embedded anew", embedder.name, queued)
            self._embedder = embedder
            self._lines.clear()
            self._stats.tell(embedder=embedder.name, embedder_problem="")
        return self._embedder

    def _lose_embedder(self, problem: str) -> None:
        if self._stats.known.embedder_problem != problem:
            log.warning("search by meaning stands still: %s", problem)
        self._stats.tell(embedder="", embedder_problem=problem)
        self.close()
        self._next_open_s = time.monotonic() + OPEN_AGAIN_S

    def close(self) -> None:
        """Let the embedder go; the next step opens it again."""
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = None

    def _item(self, embedder: Embedder, kind: Kind, thing_id: int) -> _Item | None:
        """What to embed of a thing; one without a text is taken off the queue."""
        current = _text(self._database, kind, thing_id)
        if current is None:
            with self._database.write() as connection:
                if _text(self._database, kind, thing_id) is None:
                    vectors.delete(connection, kind, [thing_id])
            return None
        return _Item(
            kind, thing_id, current.version, tuple(chunking.cut(current.text, embedder.reads)), current.place
        )

    def _make(self, embedder: Embedder, items: Sequence[_Item]) -> None:
        """Embed what is new and store it. Raises `EmbeddingError`, and has stored nothing then."""
        unseen = self._unseen(items)
        texts = {_key(chunk.text): chunk.text for chunks in unseen for chunk in chunks}
        with texts_of(items[0].kind, [item.id for item in items]):
            vector_of = self._vectors_of(embedder, texts)
        with self._database.write() as connection:
            for item, chunks in zip(items, unseen, strict=True):
                now = _text(self._database, item.kind, item.id)
                if now is None or now.version != item.version:
                    continue  # deleted, or changed and queued anew, while it was embedded
                rows = [(chunk.start, chunk.end, vector_of[_key(chunk.text)]) for chunk in chunks]
                vectors.add(connection, item.kind, item.id, embedder.name, rows)
        for item, chunks in zip(items, unseen, strict=True):
            for chunk in chunks if item.place is not None else ():
                self._holders.put((item.place, _key(chunk.text)), item.id)
            self._stats.count("embedded")

    def _vectors_of(self, embedder: Embedder, texts: Mapping[bytes, str]) -> dict[bytes, Int8]:
        vector_of = {key: vector for key in texts if (vector := self._lines.get(key)) is not None}
        missing = {key: text for key, text in texts.items() if key not in vector_of}
        if missing:
            embedded = vectors.quantize(embedder.embed(list(missing.values())))
            vector_of |= dict(zip(missing, embedded, strict=True))
        for key, vector in vector_of.items():
            self._lines.put(key, vector)
        return vector_of

    def _unseen(self, items: Sequence[_Item]) -> list[list[Chunk]]:
        """Of each item the chunks that no other frame of its window holds; at least the longest."""
        holders = {(item.place, c.text): self._holders.get((item.place, _key(c.text)))
                   for item in items for c in item.chunks}  # fmt: skip
        alive = vectors.having(self._database, "frame", {h for h in holders.values() if h is not None})
        kept = []
        for item in items:
            unseen = []
            for chunk in item.chunks:
                holder = holders.get((item.place, chunk.text))
                if item.place is None or holder is None or holder == item.id or holder not in alive:
                    unseen.append(chunk)
                    holders[item.place, chunk.text] = item.id
                    alive.add(item.id)
            if item.chunks and not unseen:
                unseen = [max(item.chunks, key=lambda chunk: chunking.words(chunk.text))]
            kept.append(unseen)
        return kept

    def _one_by_one(self, embedder: Embedder, items: Sequence[_Item]) -> None:
        """Find out whose text is refused; that one stays without vectors."""
        for item in items:
            try:
                self._make(embedder, [item])
            except EmbeddingRefused as error:
                log.warning("%s %d cannot be embedded: %s", item.kind, item.id, error)
                with self._database.write() as connection:
                    vectors.delete(connection, item.kind, [item.id])
                self._stats.error(N_(f"{item.kind} {item.id} could not be embedded: {error}"))


class _LruCache(Generic[T]):
    """What was used last, up to a number."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: Hashable, value: T) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()


def _key(text: str) -> bytes:
    """A text that cannot be read back: deleted words stay in no memory."""
    return blake2b(text.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _Text:
    """A thing's text as it is now."""

    text: str
    version: str
    place: Hashable | None = None


def _text(database: Database, kind: Kind, thing_id: int) -> _Text | None:
    if kind != "frame":
        text = retrievers.texts(database, CORPORA[kind], [thing_id]).get(thing_id)
        return None if text is None else _Text(text, text)
    frame = frames.get_many(database, [thing_id]).get(thing_id)
    reading = readings.current_reading(database, thing_id) if frame else None
    if frame is None or reading is None:
        return None
    window = (frame.app_name, frame.window_name, frame.browser_url, frame.focused, frame.monitor)
    return _Text(reading.text, str(reading.id), (frame.captured_ms // vectors.SAME_MS, hash(window)))


# The requests of an embedder that asks an endpoint, noted in the request log.
#
# What was on the screen is not kept a second time: of these requests the log says when, where to,
# how many texts and bytes, and when the screens were taken.


frames_told: ContextVar[tuple[int, ...] | None] = ContextVar("frames_told", default=None)
"""The frames whose texts are embedded just now; none of them for entries of memory."""


@contextmanager
def texts_of(kind: Kind, ids: Iterable[int]) -> Iterator[None]:
    """What is embedded in here are texts of these frames, or of entries of memory."""
    token = frames_told.set(tuple(ids) if kind == "frame" else ())
    try:
        yield
    finally:
        frames_told.reset(token)


class EmbeddingRequestLog:
    """The `engines.embeddings.protocol.RequestLog` of the endpoint in the settings of embeddings."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._about = RequestContext("embed", "embedding")
        self._recorder = EgressRecorder(database, clock, self._about)

    def __call__(self, sending: OutgoingRequest) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        ids = frames_told.get()
        about = self._about
        # Outside of `texts_of` only the length of vectors is asked for, with a word of our own.
        if ids is not None:
            times = [frame_id // ID_STEP for frame_id in ids]
            first_ms, last_ms = (min(times), max(times)) if times else (None, None)
            about = replace(about, first_ms=first_ms, last_ms=last_ms, keeps_text=False)
        self._recorder.about = about
        self._recorder(sending)

    def finish(self, outcome: str, input_tokens: int | None = None) -> None:
        """Note what became of it."""
        self._recorder.finish(outcome, input_tokens)
