"""Embeddings of any OpenAI-compatible endpoint.

Screen text goes to the address that was set, and nowhere else; where none is set nothing is sent.
Each request is announced to the notes before it leaves; without notes none does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engines.cancellation import Cancellation
from engines.chat.client import document_of, joined, sent, with_retries
from engines.chat.network import public_url
from engines.chat.protocol import ModelError, ModelMalformed, ModelTimeout, OutgoingRequest
from engines.embeddings.protocol import (
    EmbedderOptions,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRefused,
    Vectors,
    unit,
)

DEFAULT_MODEL = "text-embedding-3-small"
TEXTS_AT_ONCE = 128
_WAITS_S = (0.5,)  # before asking again after a failure that passes
MAX_CHARS = 8_000
"""What is sent of one text: below the 8,191 tokens such models take, in any language."""


class OpenAIEmbedder:
    """The embedder ``openai``. Thread-safe; asks the endpoint once when it is opened."""

    def __init__(self, options: EmbedderOptions) -> None:
        if not options.base_url:
            raise EmbedderUnavailable("no endpoint is set for embeddings (embedding.base_url)")
        if options.notes is None:
            raise EmbedderUnavailable(
                "what would be sent for embeddings cannot be recorded, so nothing is sent"
            )
        self._notes = options.notes
        self._model = options.model or DEFAULT_MODEL
        self._options = options
        self._is_open = True
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
        vectors: list[list[float]] = []
        for at in range(0, len(texts), TEXTS_AT_ONCE):
            vectors += self._asked([text[:MAX_CHARS] or " " for text in texts[at : at + TEXTS_AT_ONCE]])
        if any(len(vector) != self.dimension for vector in vectors):
            raise EmbeddingError("the endpoint changed the length of its vectors")
        return unit(np.array(vectors, dtype=np.float64))

    def reads(self, text: str) -> bool:
        """Whatever the model was trained on; such models know many languages."""
        return True

    def close(self) -> None:
        self._is_open = False

    def _asked(self, texts: list[str]) -> list[list[float]]:
        """One request, noted with its outcome. Raises as `_vectors_of`, and what the notes raise."""
        try:
            vectors, tokens = self._vectors_of(texts)
        except EmbeddingError as error:
            self._notes.finish("texts_refused" if isinstance(error, EmbeddingRefused) else "no_vectors")
            raise
        self._notes.finish("answered", tokens)
        return vectors

    def _vectors_of(self, texts: list[str]) -> tuple[list[list[float]], int | None]:
        """The vectors, and the tokens the endpoint counted.

        Raises `EmbedderUnavailable`, or `EmbeddingRefused` when it may be the texts.
        """

        def announce(sending: OutgoingRequest) -> None:
            self._notes(replace(sending, model=self._model, texts=len(texts)))

        options, cutoff = self._options, Cancellation()
        until_s = time.monotonic() + options.timeout_s

        def request() -> Any:
            document = {"model": self._model, "input": texts, "encoding_format": "float"}
            with sent(
                joined(options.base_url, "embeddings"),
                document,
                api_key=options.api_key,
                timeout_s=max(0.001, until_s - time.monotonic()),
                on_send=announce,
                cancellation=cutoff,
            ) as response:
                return document_of(response)

        with cutoff.at(lambda: until_s):
            try:
                answer = with_retries(
                    request,
                    left_s=lambda: until_s - time.monotonic(),
                    waits_s=_WAITS_S,
                    sleep=cutoff.sleep,
                )
            except ModelError as error:
                late = cutoff.is_late or (isinstance(error, ModelTimeout) and not error.status)
                raise _typed(error, options, is_late=late) from error
        tokens = answer.get("usage") if isinstance(answer, dict) else None
        tokens = tokens.get("prompt_tokens") if isinstance(tokens, dict) else None
        return _vectors(answer, len(texts)), tokens if isinstance(tokens, int) else None


def _vectors(answer: Any, count: int) -> list[list[float]]:
    """The vectors in the order of the texts. Nothing validates the answer, so anything may stand here."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or len(data) != count or not all(isinstance(each, dict) for each in data):
        raise EmbedderUnavailable("the endpoint gave another number of vectors; is the base URL right?")
    numbered = sorted(data, key=lambda item: item.get("index", 0) or 0)
    vectors = [item.get("embedding") for item in numbered]
    if not all(isinstance(vector, list) and vector for vector in vectors):
        raise EmbedderUnavailable("the endpoint's answer holds no vectors")
    return [list(map(float, vector)) for vector in vectors]


def _typed(error: ModelError, options: EmbedderOptions, *, is_late: bool) -> EmbeddingError:
    """By status alone: an endpoint's message may quote the text it was sent."""
    if is_late:
        return EmbedderUnavailable(f"no embeddings within {options.timeout_s:g} s")
    status = error.status
    if isinstance(error, ModelMalformed):
        return EmbedderUnavailable("the endpoint's answer could not be read")
    if not status:
        return EmbedderUnavailable(f"nothing answers at {public_url(options.base_url)}")
    if status in (401, 403):
        return EmbedderUnavailable(f"the endpoint of embeddings refused the key (HTTP {status})")
    if status == 404:
        return EmbedderUnavailable("the endpoint has no such model or no embeddings (HTTP 404)")
    if status == 429:
        return EmbedderUnavailable("the endpoint of embeddings asks for patience (HTTP 429)")
    if status >= 500 or status == 408:
        return EmbedderUnavailable(f"the endpoint of embeddings failed (HTTP {status})")
    return EmbeddingRefused(f"the endpoint refused the texts (HTTP {status})")
