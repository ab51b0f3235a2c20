"""The JSON API, one module per noun; each declares its endpoints by importing itself."""

from __future__ import annotations

from webapp.api import (
    activity,
    browsers,
    capture,
    chat,
    chat_stream,
    chats,
    deletion,
    export,
    frames,
    ingest,
    kept,
    memory,
    operation,
    privacy,
    provider_tests,
    providers,
    search,
    sent,
    texts,
    timeline,
    tool_calls,
)
from webapp.api.endpoint import blueprint

__all__ = [
    "activity",
    "blueprint",
    "browsers",
    "capture",
    "chat",
    "chat_stream",
    "chats",
    "deletion",
    "export",
    "frames",
    "ingest",
    "kept",
    "memory",
    "operation",
    "privacy",
    "provider_tests",
    "providers",
    "search",
    "sent",
    "texts",
    "timeline",
    "tool_calls",
]
