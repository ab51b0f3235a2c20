"""What runs in a worker of a cluster: pictures to lines and texts to vectors, without a home.

A worker that has another version of anything that reads refuses, so that texts do not depend on who read
them. Engines belong to the thread that opened them, and stay open in it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, fields
from hashlib import sha256

from engines.embeddings.protocol import Embedder, EmbedderOptions, Vectors, open_embedder
from engines.ocr.protocol import OcrEngine, OcrLine, OcrWord, Versions, open_ocr
from ingest.reading.incremental import IncrementalReader
from ingest.reading.page_text import told_of
from store.core.allocator import give_back_freed_memory
from store.frames.media import decode
from store.spool.page_text import PageText


class OtherVersion(Exception):
    """The worker has other versions than who asks it."""


@dataclass(frozen=True, slots=True)
class Order:
    """A picture to be read, with what programs told of it; by these versions and no others."""

    by: Versions
    content: bytes
    media_type: str
    pages: tuple[PageText, ...] = ()
    proved: tuple[OcrWord, ...] = ()

    def __dask_tokenize__(self) -> tuple[object, ...]:
        """By its content: the same picture travels once and is read once."""
        digest = sha256(self.content).hexdigest()
        return digest, *(repr(getattr(self, f.name)) for f in fields(self) if f.name != "content")


@dataclass(frozen=True, slots=True)
class Answer:
    lines: list[OcrLine]
    duration_ms: int


def read_picture(order: Order) -> Answer:
    """All of a picture, also what moves. Raises `OtherVersion`, `OSError`, and what the engine raises."""
    began = time.monotonic()
    engine, mine, reader = _reader(order.by.engine, order.by.languages)
    if mine != order.by:
        raise OtherVersion(f"asked for {order.by}; the worker has {mine}")
    image = decode(order.content, order.media_type)
    reader.forget_screens()  # the one before may be anybody's; blocks are known by their pixels
    try:
        lines = reader.read("", image, told=told_of(order.pages, order.proved, image, engine))
    except Exception:
        del _own.readers  # foreign code: the next picture gets an engine that starts afresh
        engine.close()
        raise
    return Answer(lines, round((time.monotonic() - began) * 1000))


def embed(engine: str, model: str, name: str, texts: list[str]) -> Vectors:
    """Vectors of `texts` by the embedder of this name. Raises `OtherVersion` and `EmbeddingError`."""
    with _opening:
        if (engine, model) not in _embedders:
            _embedders[engine, model] = open_embedder(engine, EmbedderOptions(model))
    embedder = _embedders[engine, model]
    if embedder.name != name:
        raise OtherVersion(f"asked for {name}; the worker has {embedder.name}")
    return embedder.embed(texts)


_own = threading.local()
_opening = threading.Lock()
_embedders: dict[tuple[str, str], Embedder] = {}


def _reader(engine: str, languages: tuple[str, ...]) -> tuple[OcrEngine, Versions, IncrementalReader]:
    own: dict[object, tuple[OcrEngine, Versions, IncrementalReader]] = _own.__dict__.setdefault("readers", {})
    if (engine, languages) not in own:
        give_back_freed_memory()  # Dask has all of it given back: to get it again took a quarter of the CPU
        opened = open_ocr(engine, languages)
        own[engine, languages] = opened, Versions.of(opened), IncrementalReader(opened)
    return own[engine, languages]
