"""An embedder for quick tests: words and what they mean, hashed into 64 numbers.

Words of one group mean the same, every other word only itself. Deterministic in any
process, and held to the same contract as the real ones (tests/engines/embeddings/test_embedding.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from engines.embeddings.protocol import EmbeddingError, Vectors, unit

DIMENSION = 64
_GROUPS = (
    "authentication login signin",
    "setup system",
    "bug error issue problem",
    "fix",
    "ai embeddings hybrid",
    "search",
    "lunch restaurant pizza meal",
)
_MEANING = {word: group for group in _GROUPS for word in group.split()}


class FakeEmbedder:
    name = "fake"
    dimension = DIMENSION

    def __init__(self, name: str = "fake") -> None:
        self.name = name
        self.calls: list[list[str]] = []
        self.failure: EmbeddingError | None = None
        self._is_open = True

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self._is_open:
            raise EmbeddingError("the embedder was closed")
        if self.failure is not None:
            raise self.failure
        self.calls.append(list(texts))
        return unit(np.stack([_vector(text) for text in texts])) if texts else np.zeros((0, 64), np.float32)

    def reads(self, text: str) -> bool:
        return any(char.isascii() and char.isalpha() for char in text)

    def close(self) -> None:
        self._is_open = False


def _vector(text: str) -> Vectors:
    words = re.findall(r"\w+", text.lower()) or [""]
    return np.asarray(sum(_of_word(_MEANING.get(word, word)) for word in words), np.float32)


def _of_word(word: str) -> Vectors:
    digest = hashlib.shake_256(word.encode()).digest(DIMENSION * 2)
    return np.frombuffer(digest, np.int16).astype(np.float32) / 32768
