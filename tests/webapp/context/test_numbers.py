"""Every item of R1 has a test that is named after it, and those that stand nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from engines import embedding_openai
from store.settings import EmbeddingSettings
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor
from tests.webapp.context.test_http import app, asked

__all__ = ["app"]

ATTACHMENTS = {18, 19}
"""Excerpts of attached files; there are no attachments yet."""


def test_every_item_has_a_test_named_after_it() -> None:
    names = set()
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            names |= {int(number) for number in re.findall(r"r1_(\d+)(?=_)", name)}
    assert set(range(1, 51)) - names == ATTACHMENTS


def test_r1_44_chat_completions_are_enough(program: Actor, stub: StubModel) -> None:
    """C9: a response's id is accepted, and nothing of it is sent where it is not understood."""
    answer = asked(program, previous_response_id="resp_123")
    assert b"I do not know." in answer.data
    request: dict[str, Any] = stub.requests[-1]
    assert "messages" in request and "resp_123" not in str(request)


def test_r1_45_the_default_of_an_endpoint_and_without_one_the_local_embedder() -> None:
    assert embedding_openai.DEFAULT_MODEL == "text-embedding-3-small"
    assert EmbeddingSettings().engine == "local"
