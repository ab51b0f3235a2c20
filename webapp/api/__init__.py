"""The JSON API, one module per noun."""

from __future__ import annotations

from webapp.api import (  # noqa: F401  # each declares its endpoints as it is imported
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
    time,
    timeline,
    tool_calls,
    turns,
)
from webapp.api.endpoint import blueprint as blueprint
