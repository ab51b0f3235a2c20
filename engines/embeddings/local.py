"""The embedder ``local``: English by MiniLM, other writings by a multilingual encoder, in one space.

MiniLM is the better one for English and knows nothing else; the other encoder knows 16 languages, but
is asked for those in other than Latin letters only: the others in Latin letters are taken for English. A
matrix that was fitted once (`bench.alignment`) takes the second one's vectors to where MiniLM would
have put a translation, so that a question finds its answer whatever language either is in, and
vectors of English text are MiniLM's own. Without the second package the first works alone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

import numpy as np

from engines.embeddings import minilm
from engines.embeddings.minilm import MiniLM
from engines.embeddings.multilingual import Alignment, MultilingualEncoder, multilingual_folder
from engines.embeddings.protocol import EmbedderOptions, EmbedderUnavailable, EmbeddingError, Vectors

ENGLISH = minilm.NAME
MULTILINGUAL = f"{ENGLISH} with USE-multilingual-3"

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_OTHER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f]")
# Of the languages besides the Latin ones: Russian, Arabic, Thai, Japanese, Chinese, Korean.
_KNOWN = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class LocalEmbedder:
    """One thread of arithmetic; the second model is loaded with the first text that needs it."""

    def __init__(self, options: EmbedderOptions | None = None) -> None:
        chosen = options.model if options else ""
        if chosen not in ("", ENGLISH, MULTILINGUAL):
            raise EmbedderUnavailable(
                f"the local embedder has {ENGLISH!r} and {MULTILINGUAL!r}, not {chosen!r} (embedding.model)"
            )
        self._is_multilingual = chosen == MULTILINGUAL or (not chosen and _is_installed())
        if self._is_multilingual:
            multilingual_folder()
        self.name = MULTILINGUAL if self._is_multilingual else ENGLISH
        use_one_thread()
        self._english: MiniLM | None = MiniLM()
        self.dimension = self._english.dimension
        self._others: tuple[MultilingualEncoder, Alignment] | None = None
        self._using = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Each text by the model of its language."""
        with self._using:
            if self._english is None:
                raise EmbeddingError("the embedder was closed")
            vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
            others = [n for n, text in enumerate(texts) if self._is_multilingual and not _is_english(text)]
            english = sorted(set(range(len(texts))) - set(others))
            vectors[english] = self._english.embed([texts[number] for number in english])
            if others:
                vectors[others] = self._aligned([texts[number] for number in others])
            return vectors

    def reads(self, text: str) -> bool:
        """Whether most of its letters are of a writing that one of the models saw."""
        if _is_english(text):
            return True
        return self._is_multilingual and 2 * len(_KNOWN.findall(text)) > len(_OTHER.findall(text))

    def close(self) -> None:
        self._english = None
        if self._others is not None:
            self._others[0].close()
        self._others = None

    def _aligned(self, texts: Sequence[str]) -> Vectors:
        if self._others is None:
            self._others = MultilingualEncoder(), Alignment()
        encoder, alignment = self._others
        return alignment(encoder.embed(texts))


def _is_english(text: str) -> bool:
    """More Latin words than letters or signs of other writing; of the Latin languages it is taken for one."""
    return len(_LATIN.findall(text)) > len(_OTHER.findall(text))


def _is_installed() -> bool:
    try:
        multilingual_folder()
    except EmbedderUnavailable:
        return False
    return True


def use_one_thread() -> None:
    """Threads of the linear algebra cost more than they bring at these sizes, and starve the rest."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
