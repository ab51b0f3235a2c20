"""What R1 says of transports and models."""

from __future__ import annotations

from typing import Any

from engines.embeddings import openai_compatible
from store.core.settings import EmbeddingSettings
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor
from tests.webapp.context.test_http import app, asked

__all__ = ["app"]


def test_chat_completions_are_enough(program: Actor, stub: StubModel) -> None:
    """A response's id is accepted, and nothing of it is sent where it is not understood."""
    answer = asked(program, previous_response_id="resp_123")
    assert b"I do not know." in answer.data
    request: dict[str, Any] = stub.requests[-1]
    assert "messages" in request and "resp_123" not in str(request)


def test_the_default_of_an_endpoint_and_without_one_the_local_embedder() -> None:
    assert openai_compatible.DEFAULT_MODEL == "text-embedding-3-small"
    assert EmbeddingSettings().engine == "local"
