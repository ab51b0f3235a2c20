"""Memory of chats as in `tests/assistant/context`, with the app over it."""

from tests.assistant.context.conftest import context, now, past

__all__ = ["context", "now", "past"]
