"""What a search means, as a vector: the embedder of this process, opened when first needed.

A search never fails for it: `asked` gives a vector, or the word that says why there is none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain

import numpy as np
import numpy.typing as npt

from assistant.core.texts import question_words, terms_of
from engines.cancellation import current
from engines.embeddings.protocol import Embedder, EmbedderOptions, EmbeddingError, WordEmbedder, open_embedder
from store.core import allocator
from store.core.database import Database
from store.core.errors import StoreError
from store.core.settings import EmbeddingSettings
from store.core.times import now_ms
from store.egress.egress_log import EgressRecorder, RequestContext
from store.embeddings.knn import RetrievalQuery

log = logging.getLogger(__name__)

OPEN_AGAIN_S = 60.0
_REMEMBERED = 256
_WARM_AFTER_S = 1.5
_REST_AFTER_S = 60.0
MOMENT_S = 0.5
"""What a search waits for its meaning: ten times as long as that takes where the models are there."""
_ASKING = 4
_REMEMBERED_WORDS = 4_096  # 1 kB each
LOADING = "embedder_loading"
"""The problem of a search that was not kept waiting: asked again a moment later it has its meaning."""
SAME_MEANING = 0.55
"""Cosine of words that mean the same: a word and its translation mostly have 0.6 to 0.9."""


class QueryEmbedder:
    """Safe to share between threads. `problem` is the last sentence of what went wrong, else "".

    What an endpoint is asked is noted in `database` before it leaves (`store.egress.egress_log`).
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        database: Database,
        open: Callable[[], Embedder] | None = None,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._about = RequestContext("search", "embedding")
        self._database = database
        self._noting = EgressRecorder(database, clock, self._about)
        options = EmbedderOptions(
            settings.model, settings.base_url, settings.api_key, settings.timeout_s, self._noting
        )
        self.is_off = settings.engine == "off"
        self.problem = ""
        self._open = open or (lambda: open_embedder(settings.engine, options))
        self._embedder: Embedder | None = None
        self._next_open_s = 0.0
        self._lock = threading.Lock()
        self._asking = threading.BoundedSemaphore(_ASKING)
        self._is_warm = False
        self._knows_words = False  # its model is loaded
        self._resting: threading.Timer | None = None
        # The pages of one search ask the same again; the text itself is not kept.
        self._known: OrderedDict[bytes, tuple[npt.NDArray[np.floating], str]] = OrderedDict()
        self._words: OrderedDict[bytes, npt.NDArray[np.float16]] = OrderedDict()

    def asked(self, text: str, turn_id: int | None = None, *, mode: str = "hybrid") -> RetrievalQuery:
        """A question with its meaning, for any search; what is sent for it goes with its turn."""
        if mode == "fts" or not text.strip():
            return RetrievalQuery(text)
        if self.is_off:
            return RetrievalQuery(text, problem="embeddings_off")
        key = _key(text)
        with self._lock:
            if key not in self._known:
                self._noting.about = replace(self._about, turn_id=turn_id)
                try:
                    embedder = self._ready()
                    if embedder is None:
                        return RetrievalQuery(text, problem="embedder_unavailable")
                    if not embedder.reads(text):
                        return RetrievalQuery(text, problem="language_not_embedded")
                    vector = embedder.embed([text])[0]
                except (EmbeddingError, StoreError) as error:
                    asker = current()
                    if asker is None or not asker.is_over:  # one cut off says nothing of the endpoint
                        self._lost(error)
                    return RetrievalQuery(text, problem="embedder_unavailable")
                self._known[key] = vector, embedder.name
                self.problem = ""
            self._known.move_to_end(key)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            words = question_words(text) if isinstance(self._embedder, WordEmbedder) else ()
            likeness = partial(self.likeness, words) if words else None
            return RetrievalQuery(text, *self._known[key], likeness=likeness)

    def asked_soon(self, text: str, turn_id: int | None = None, *, mode: str = "hybrid") -> RetrievalQuery:
        """The same for whoever words can answer: where meaning takes longer than a moment, because a model is
        loaded or an endpoint is slow, the problem is `LOADING`, and it is there for whoever asks again.
        """
        return self.begin(text, turn_id, mode=mode)()

    def begin(
        self, text: str, turn_id: int | None = None, *, mode: str = "hybrid"
    ) -> Callable[[], RetrievalQuery]:
        """The same, begun now: what is returned waits for it, no longer than a moment from here."""
        if mode != "hybrid" or self.is_off or not text.strip():
            return partial(self.asked, text, turn_id, mode=mode)
        found: list[RetrievalQuery] = []
        is_there = threading.Event()

        def ask() -> None:
            try:
                found.append(self.asked(text, turn_id))
                if self._knows_words:
                    is_there.set()
                if found[0].likeness:  # the model of single words is another one
                    found[0].likeness([text])
            finally:
                is_there.set()
                self._asking.release()
                self._database.close_thread()

        def wait() -> RetrievalQuery:
            in_time = is_begun and is_there.wait(max(0.0, until_s - time.monotonic()))
            return found[0] if in_time and found else RetrievalQuery(text, problem=LOADING)

        until_s = time.monotonic() + MOMENT_S
        if is_begun := self._asking.acquire(blocking=False):
            threading.Thread(target=ask, name="meaning", daemon=True).start()
        return wait

    def warm(self) -> None:
        """Have a thread load the models of this process a moment from now, unless they are there: the first
        question would wait for them, and the page that is drawn now should not.
        """
        if not (self._is_warm or self.is_off):
            self._is_warm = True
            _started(_WARM_AFTER_S, partial(self._word_cosines, ["question"], ["answer"]))

    def same_in_meaning(self, words: Sequence[str], terms: Sequence[str]) -> dict[str, dict[str, float]]:
        """Of each word the `terms` that mean nearly the same, in any language, with their cosines.

        Nothing is sent for it: an endpoint is not asked, and finds none.
        """
        cosines = self._word_cosines(words, terms)
        return {
            word: {terms[at]: float(row[at]) for at in np.flatnonzero(row >= SAME_MEANING).tolist()}
            for word, row in zip(words, cosines, strict=False)
        }

    def likeness(self, words: Sequence[str], texts: Sequence[str]) -> list[float]:
        """How much each text says of the words, in any language: the mean over the words of the cosine that
        each has to the nearest of the text. Empty where that cannot be told.
        """
        of_texts = [terms_of(text) for text in texts]
        terms = list(dict.fromkeys(chain.from_iterable(of_texts)))
        cosines = self._word_cosines(words, terms)
        if not cosines.size:
            return []
        places = {term: at for at, term in enumerate(terms)}
        return [
            float(cosines[:, [places[term] for term in own]].max(axis=1).mean()) if own else 0.0
            for own in of_texts
        ]

    def nearness(self, text: str, others: Sequence[str]) -> list[float]:
        """How near each of the others is to a text in meaning, as a cosine. Empty where that cannot be told.

        Nothing is sent for it: an endpoint is not asked.
        """
        with self._lock:
            is_local = self._local() is not None
        if not is_local:
            return []
        vector, *vectors = (self.asked(each).vector for each in (text, *others))
        if vector is None:
            return []
        return [0.0 if other is None else float(vector @ other) for other in vectors]

    def _local(self) -> WordEmbedder | None:
        """The embedder of this process, inside the lock; None where there is none."""
        try:
            embedder = None if self.is_off else self._ready()
        except (EmbeddingError, StoreError) as error:
            self._lost(error)
            return None
        return embedder if isinstance(embedder, WordEmbedder) else None

    def _word_cosines(self, words: Sequence[str], terms: Sequence[str]) -> npt.NDArray[np.float32]:
        """``float32[len(words), len(terms)]``; empty without an embedder in this process."""
        with self._lock:
            embedder = self._local()
            if embedder and words and terms:
                try:
                    cosines = self._word_vectors(embedder, words) @ self._word_vectors(embedder, terms).T
                    self._knows_words = True
                    return cosines
                except EmbeddingError as error:
                    self._lost(error)
        return np.empty((0, 0), np.float32)

    def _word_vectors(self, embedder: WordEmbedder, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of some words; the screens of the next question have most of them again."""
        keys = [_key(word) for word in words]
        missing = {key: word for key, word in zip(keys, words, strict=True) if key not in self._words}
        if missing:
            made = embedder.embed_words(list(missing.values()))
            self._words.update(zip(missing, made.astype(np.float16), strict=True))
        vectors = np.array([self._words[key] for key in keys], dtype=np.float32)
        while len(self._words) > _REMEMBERED_WORDS:
            self._words.popitem(last=False)
        return vectors

    def close(self) -> None:
        with self._lock:
            self._known.clear()
            self._words.clear()
            if self._embedder is not None:
                self._embedder.close()
            self._embedder = None
            if self._resting is not None:
                self._resting.cancel()

    def _rest(self) -> None:
        """Asked every minute from the first use on, until the models are let go."""
        with self._lock:
            self._resting = None
            if allocator.rest(self._embedder):
                self._is_warm = self._knows_words = False
            elif self._embedder is not None:
                self._resting = _started(_REST_AFTER_S, self._rest)

    def _ready(self) -> Embedder | None:
        """None until it may be opened again. Raises `EmbeddingError` and `StoreError`."""
        if self._embedder is None and time.monotonic() >= self._next_open_s:
            self._embedder = self._open()
            self.problem = ""
        if self._embedder is not None and self._resting is None:
            self._resting = _started(_REST_AFTER_S, self._rest)
        return self._embedder

    def _lost(self, error: EmbeddingError | StoreError) -> None:
        problem = str(error)
        if isinstance(error, StoreError):
            problem = f"what would be sent could not be noted, so nothing was: {error}"
        else:
            self._next_open_s = time.monotonic() + OPEN_AGAIN_S
            if self._embedder is not None:
                self._embedder.close()
            self._embedder, self._knows_words = None, False
        if self.problem != problem:
            log.warning("search by meaning is unavailable: %s", problem)
        self.problem = problem


def _started(after_s: float, action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(after_s, action)
    timer.name, timer.daemon = "embedder rests", True
    timer.start()
    return timer


def _key(text: str) -> bytes:
    """A text that cannot be read back."""
    return blake2b(text.encode(errors="replace"), digest_size=16).digest()
