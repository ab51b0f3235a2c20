"""Embeddings of any OpenAI-compatible endpoint, through the `openai` client.

Screen text goes to the address that was set, and nowhere else; where none is set nothing is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engines.addresses import is_local, public_url
from engines.chat_client import NO_KEY
from engines.embedding import (
    EmbedderOptions,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRefused,
    Vectors,
    unit,
)

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

DEFAULT_MODEL = "text-embedding-3-small"
TEXTS_AT_ONCE = 128
MAX_CHARS = 8_000
"""What is sent of one text: below the 8,191 tokens such models take, in any language."""


class OpenAIEmbedder:
    """The embedder ``openai``. Thread-safe; asks the endpoint once when it is opened."""

    def __init__(self, options: EmbedderOptions) -> None:
        if not options.base_url:
            raise EmbedderUnavailable("no endpoint is set for embeddings (embedding.base_url)")
        self._model = options.model or DEFAULT_MODEL
        self._options = options
        self._client: OpenAI | None = None
        self._is_open = True
        self._lock = threading.Lock()
        self.name = self._model
        self.dimension = 0
        try:
            self.dimension = len(self._asked(["dimension"])[0])
        except EmbeddingRefused as error:
            raise EmbedderUnavailable(str(error)) from error

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({public_url(self._options.base_url)!r}, {self._model!r})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """In requests of at most `TEXTS_AT_ONCE` texts. An empty text is sent as a space."""
        if not self._is_open:
            raise EmbeddingError("the embedder was closed")
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        found: list[list[float]] = []
        for at in range(0, len(texts), TEXTS_AT_ONCE):
            found += self._asked([text[:MAX_CHARS] or " " for text in texts[at : at + TEXTS_AT_ONCE]])
        if any(len(vector) != self.dimension for vector in found):
            raise EmbeddingError("the endpoint changed the length of its vectors")
        return unit(np.array(found, dtype=np.float64))

    def reads(self, text: str) -> bool:
        """Whatever the model was trained on; such models know many languages."""
        return True

    def close(self) -> None:
        self._is_open = False
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _asked(self, texts: list[str]) -> list[list[float]]:
        """One request. Raises `EmbedderUnavailable`, or `EmbeddingRefused` when it may be the texts."""
        import openai

        try:
            answer = self._connected().embeddings.create(
                model=self._model, input=texts, encoding_format="float", timeout=self._options.timeout_s
            )
        except openai.APIStatusError as error:
            raise _typed(error) from error
        except openai.APITimeoutError as error:
            raise EmbedderUnavailable(f"no embeddings within {self._options.timeout_s:g} s") from error
        except openai.APIConnectionError as error:
            raise EmbedderUnavailable(f"nothing answers at {public_url(self._options.base_url)}") from error
        except (openai.OpenAIError, ValueError) as error:
            raise EmbedderUnavailable("the endpoint's answer could not be read") from error
        return _vectors(answer, len(texts))

    def _connected(self) -> OpenAI:
        # Imported when first needed: the client takes 0.6 s and 40 MB (INS-2).
        from openai import DefaultHttpxClient, OpenAI

        with self._lock:
            if self._client is None:
                # Neither a proxy for what is meant for this machine, nor a redirect: the key and
                # the text were meant for the address that was entered.
                http = DefaultHttpxClient(
                    trust_env=not is_local(self._options.base_url), follow_redirects=False
                )
                self._client = OpenAI(
                    base_url=self._options.base_url,
                    api_key=self._options.api_key or NO_KEY,
                    max_retries=1,
                    http_client=http,
                )
            return self._client


def _vectors(answer: object, count: int) -> list[list[float]]:
    """The vectors in the order of the texts. The client does not validate, so anything may stand here."""
    data = getattr(answer, "data", None)
    if not isinstance(data, list) or len(data) != count:
        raise EmbedderUnavailable("the endpoint gave another number of vectors; is the base URL right?")
    numbered = sorted(data, key=lambda item: getattr(item, "index", 0) or 0)
    found = [getattr(item, "embedding", None) for item in numbered]
    if not all(isinstance(vector, list) and vector for vector in found):
        raise EmbedderUnavailable("the endpoint's answer holds no vectors")
    return [list(map(float, vector)) for vector in found if vector]


def _typed(error: APIStatusError) -> EmbeddingError:
    """By status alone: an endpoint's message may quote the text it was sent."""
    status = error.status_code
    if status in (401, 403):
        return EmbedderUnavailable(f"the endpoint of embeddings refused the key (HTTP {status})")
    if status == 404:
        return EmbedderUnavailable("the endpoint has no such model or no embeddings (HTTP 404)")
    if status == 429:
        return EmbedderUnavailable("the endpoint of embeddings asks for patience (HTTP 429)")
    if status >= 500 or status == 408:
        return EmbedderUnavailable(f"the endpoint of embeddings failed (HTTP {status})")
    return EmbeddingRefused(f"the endpoint refused the texts (HTTP {status})")
