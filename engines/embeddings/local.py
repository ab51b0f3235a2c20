"""The embedder ``local``: English by MiniLM, other languages by a multilingual encoder, in one space.

MiniLM is the better one for English and knows nothing else; the other encoder knows 16 languages. Which one
reads a text its small words tell, and where it has none, whether MiniLM's vocabulary has its words. A
matrix that was fitted once (`bench.alignment`) takes the second one's vectors to where MiniLM would
have put a translation, so that a question finds its answer whatever language either is in. Half the mean of
all texts is taken off MiniLM's vectors: what all English lines share keeps them apart from the others (Mu
and Viswanath, "All-but-the-Top", 2018). Without the second package the first works alone.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from stopwordsiso import stopwords

from engines.embeddings import minilm
from engines.embeddings.minilm import MiniLM
from engines.embeddings.multilingual import Alignment, MultilingualEncoder, multilingual_folder
from engines.embeddings.protocol import EmbedderOptions, EmbedderUnavailable, EmbeddingError, Vectors

ENGLISH = minilm.NAME
MULTILINGUAL = f"{ENGLISH} with USE-multilingual-3"
_STORED_AS = f"{MULTILINGUAL}, by language"
"""The name with the vectors: those of `MULTILINGUAL` alone were made when all Latin letters were English."""

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_OTHER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f]")
# Of the languages besides the Latin ones: Russian, Arabic, Thai, Japanese, Chinese, Korean.
_KNOWN = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# The languages of the multilingual encoder in Latin letters, but for English.
_LATIN_LANGUAGES = ("de", "fr", "es", "it", "pt", "nl", "pl", "tr")
_IDLE_S = 600.0  # loading both again takes a second
_LEAST_LETTERS = 1.7
"""Letters of a piece on average: text of any of the languages has about three. Of 1,527 words on foreign
screens none had fewer than 1.75, of eight pairs of words hit at random none more than 1.63.
"""


class LocalEmbedder:
    """One thread of arithmetic. A model is loaded with the first text that needs it."""

    def __init__(self, options: EmbedderOptions | None = None) -> None:
        chosen = options.model if options else ""
        if chosen not in ("", ENGLISH, MULTILINGUAL):
            raise EmbedderUnavailable(
                f"the local embedder has {ENGLISH!r} and {MULTILINGUAL!r}, not {chosen!r} (embedding.model)"
            )
        self._is_multilingual = chosen != ENGLISH
        try:
            if self._is_multilingual:
                multilingual_folder()
        except EmbedderUnavailable:
            if chosen:
                raise
            self._is_multilingual = False
        self.name = _STORED_AS if self._is_multilingual else ENGLISH
        use_one_thread()
        self._english: MiniLM | None = MiniLM()
        self.dimension = self._english.dimension
        self._alignment = Alignment() if self._is_multilingual else None
        self._others: MultilingualEncoder | None = None
        self._using = threading.RLock()
        self._used_s = time.monotonic()
        self._is_closed = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Each text by the model of its language."""
        with self._using:
            english, alignment = self._minilm(), self._alignment
            if alignment is None:
                return english.embed(texts)
            vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
            is_english = np.array([_is_english(text, english) for text in texts], dtype=bool)
            own = english.embed([text for text, is_own in zip(texts, is_english, strict=True) if is_own])
            vectors[is_english] = alignment.centred(own)
            others = [text for text, is_own in zip(texts, is_english, strict=True) if not is_own]
            if others:
                vectors[~is_english] = alignment(self._multilingual().embed(others))
            return vectors

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """All by the multilingual encoder, where it is installed: of one word the language is not known.
        Two threads share them: somebody waits.
        """
        with self._using:
            english = self._minilm()
            if self._alignment is None:
                return english.embed(words)
            embed, half = self._multilingual().embed, len(words) // 2
            with ThreadPoolExecutor(1, "words") as beside:
                second = beside.submit(embed, words[half:])
                return self._alignment.centred_words(np.concatenate([embed(words[:half]), second.result()]))

    def reads(self, text: str) -> bool:
        """Whether its words, or most of its letters, are of a writing that one of the models saw."""
        if _is_latin(text):
            return self._is_closed or not _is_spelt_out(text, self._minilm())
        return self._is_multilingual and 2 * len(_KNOWN.findall(text)) > len(_OTHER.findall(text))

    def _minilm(self) -> MiniLM:
        """To be asked for before each use of either model. Raises `EmbeddingError` once it is closed."""
        with self._using:
            if self._is_closed:
                raise EmbeddingError("the embedder was closed")
            self._used_s = time.monotonic()
            self._english = self._english or MiniLM()
            return self._english

    def _multilingual(self) -> MultilingualEncoder:
        self._others = self._others or MultilingualEncoder()
        return self._others

    def rest(self) -> bool:
        """Let go of the models if none was used for minutes; whether it did."""
        with self._using:
            is_let_go = self._english is not None and time.monotonic() - self._used_s >= _IDLE_S
            if is_let_go:
                self._let_go()
            return is_let_go

    def close(self) -> None:
        with self._using:
            self._is_closed = True
            self._let_go()

    def _let_go(self) -> None:
        self._english = None
        if self._others is not None:
            self._others.close()
        self._others = None


def _is_latin(text: str) -> bool:
    """More Latin words than letters or signs of other writing."""
    return len(_LATIN.findall(text)) > len(_OTHER.findall(text))


def _is_english(text: str, model: MiniLM) -> bool:
    """More small words of English than of any other language; with as many, most words known to `model`."""
    if not _is_latin(text):
        return False
    words = _LATIN.findall(text)
    # "AI" is an abbreviation, "ai" a small word.
    small = [word.casefold() for word in words if len(word) == 1 or not word.isupper()]
    english, *others = (sum(word in of_language for word in small) for of_language in _small_words())
    if english != max(others):
        return english > max(others)
    return 2 * sum(model.pieces(word) == 1 for word in words) >= len(words)


def _is_spelt_out(text: str, model: MiniLM) -> bool:
    """Whether `model` knows its words by little more than their letters: a code, or keys hit at random."""
    words = [word.casefold() for word in _LATIN.findall(text)]
    return sum(map(len, words)) < _LEAST_LETTERS * sum(map(model.pieces, words))


@cache
def _small_words() -> tuple[frozenset[str], ...]:
    """Those of English, then those of the other languages in Latin letters."""
    return tuple(frozenset(stopwords(language)) for language in ("en", *_LATIN_LANGUAGES))


def use_one_thread() -> None:
    """Threads of the linear algebra cost more than they bring at these sizes, and starve the rest."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
