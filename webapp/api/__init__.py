"""The JSON API, one module per noun; each declares its endpoints by importing itself."""

from __future__ import annotations

from webapp.api import (
    attachments,
    capture,
    chat_memory,
    chats,
    days,
    egress,
    entities,
    frames,
    imports,
    ingest,
    insights,
    memory,
    operation,
    personas,
    privacy,
    providers,
    questions,
    search,
    timeline,
    tool_calls,
    turns,
)
from webapp.api.endpoint import blueprint

__all__ = [
    "attachments",
    "blueprint",
    "capture",
    "chat_memory",
    "chats",
    "days",
    "egress",
    "entities",
    "frames",
    "imports",
    "ingest",
    "insights",
    "memory",
    "operation",
    "personas",
    "privacy",
    "providers",
    "questions",
    "search",
    "timeline",
    "tool_calls",
    "turns",
]
