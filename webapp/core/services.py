"""What every request handler is handed: one frozen bundle, nothing global."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app

from assistant.context.session_closing import ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.tools.registry import AgentDeps
from assistant.turns.live import LiveTurns
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.frames.media import Media
from store.spool.queue import Spool


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    data_dir: DataDir
    database: Database
    media: Media
    spool: Spool
    chat_models: ChatModels
    embedder: QueryEmbedder  # what a search means; opened with the first one
    agent: AgentDeps  # the chat's tools, and where decisions about their calls are awaited
    context: ContextServices  # the memory of chats: sessions, summaries, what is told as background
    turns: LiveTurns  # turns of the chat that run by themselves
    clock: Callable[[], int]  # now, in epoch milliseconds
    token: str  # what a bearer must show; every other secret is derived from it


def services() -> Services:
    """The services of the app that answers the current request."""
    return cast(Services, current_app.extensions["recollect"])
