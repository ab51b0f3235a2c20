"""Meaning as vectors: texts that say the same in other words lie close together.

An embedder turns texts into vectors of one length; the product of two of them is the cosine of
their angle. Which one does it is a name:

- ``local``: two small models inside this process, offline: English, and 15 languages from Arabic to Turkish.
- ``openai``: any OpenAI-compatible ``/embeddings`` endpoint; as many languages as its model.
- ``off``: none; search is by words only.

    embedder = open_embedder("local")
    vectors = embedder.embed(["login system", "authentication setup"])

Vectors of different models cannot be compared, so `Embedder.name` is stored with each of them.
Importing this module loads no model. What goes wrong is an
`EmbeddingError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from engines.chat.protocol import OutgoingRequest
from engines.registry import Registry, UnknownName

Vectors = npt.NDArray[np.float32]


class EmbeddingError(Exception):
    """Texts did not become vectors; the message says why and holds none of them."""


class EmbedderUnavailable(EmbeddingError):
    """There is no embedder just now; the message says what to do."""


class EmbeddingRefused(EmbeddingError):
    """These very texts cannot be embedded (too long, refused by the endpoint); others may be."""


class RequestLog(Protocol):
    """Who keeps account of the requests of an embedder that asks an endpoint."""

    def __call__(self, sending: OutgoingRequest) -> None:
        """Called for every request before anything leaves. What it raises stops the request."""

    def finish(self, outcome: str, input_tokens: int | None = None) -> None:
        """What became of it: ``answered``, or a code; and the tokens that the endpoint counted."""


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What an embedder may need to know; each takes what concerns it.

    `model` empty is the engine's default. `base_url` and `api_key` are those of an endpoint.
    Whatever sends texts away must tell `notes` of each request; without them it sends nothing.
    """

    model: str = ""
    base_url: str = ""
    api_key: str = ""
    timeout_s: float = 30.0
    notes: RequestLog | None = None


class Embedder(Protocol):
    """Makes vectors of one model. Safe to use from several threads, one call at a time.

    It may have ``rest()``, called while nothing is embedded, which lets go of what it can load again and says
    whether it did.
    """

    name: str
    """The model, as it is stored with its vectors; another name means vectors made anew."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """``float32[len(texts), dimension]``, each row of unit length; no rows for no texts.

        The same text gives the same vector, whatever stands beside it. A text beyond the model's
        length is cut. Raises `EmbeddingError`; a failure is never a vector of zeros.
        """

    def reads(self, text: str) -> bool:
        """Whether the model knows this writing, so that its vector means something."""

    def close(self) -> None:
        """Frees the model. Closing twice is allowed, embedding afterwards is not."""


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder inside this process that also knows single words."""

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """``float32[len(words), n]`` of unit length: near is what means the same, in any language.

        Not to be compared with what `Embedder.embed` gives.
        """


EMBEDDERS: Registry[Embedder] = Registry(
    "embedder",
    "recollect.embedders",
    {
        "local": "engines.embeddings.local:LocalEmbedder",
        "openai": "engines.embeddings.openai_compatible:OpenAIEmbedder",
    },
)


def open_embedder(engine: str, options: EmbedderOptions | None = None) -> Embedder:
    """The embedder called `engine`, ready to use.

    Raises `EmbedderUnavailable` with what to install or set, also for ``off`` and for a name that
    nobody registered.
    """
    if engine == "off":
        raise EmbedderUnavailable("search by meaning is switched off (embedding.engine)")
    try:
        opener = EMBEDDERS.opener(engine)
    except UnknownName as error:
        raise EmbedderUnavailable(f"{error}, off") from error
    return opener(options or EmbedderOptions())


def unit(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Rows scaled to length one. Raises `EmbeddingError` for a row that has no direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise EmbeddingError("the model gave a vector without a direction")
    return np.asarray(vectors / lengths, dtype=np.float32)
