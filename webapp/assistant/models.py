"""The chat models a person can choose from, built from the settings.

`extractive` is always there; a default model when an endpoint is configured; and one for each
``[[chat.models]]`` table. Keys stay inside: nothing here shows one (SEC-11).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from engines.chat import ChatModel
from store.settings import ChatSettings


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What may be shown of a model. `local`: its endpoint is on this machine, nothing is sent out."""

    name: str
    model: str
    base_url: str
    local: bool
    has_key: bool
    context_tokens: int
    is_default: bool


class ChatModels:
    """`get(None)` is the default model; `describe()` is what GET /models shows."""

    def __init__(self, settings: ChatSettings, environ: Mapping[str, str] = os.environ) -> None:
        self.settings = settings
        self.environ = environ

    def get(self, name: str | None = None) -> ChatModel:
        """Raises `UnknownModel`."""
        raise NotImplementedError

    def describe(self) -> list[ModelInfo]:
        raise NotImplementedError
