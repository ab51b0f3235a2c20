"""Messages and completions in the shapes of the Chat Completions protocol.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engines.chat.chat_errors import short
from engines.chat.protocol import Completion, Message, ModelMalformed, ModelRefused, Usage


def sent_messages(messages: Sequence[Message]) -> Any:
    """Messages as they are sent."""
    return [_sent(message) for message in messages]


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.tool_calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        return {"role": message.role, "content": message.content, "tool_calls": calls}
    if message.pictures:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
        parts += [{"type": "image_url", "image_url": {"url": each.data_url}} for each in message.pictures]
        return {"role": message.role, "content": parts}
    return {"role": message.role, "content": message.content}


def completion_of(answer: Any, asked_model: str) -> Completion:
    """What an answer holds. The client does not validate, so anything may stand in it.

    Raises `ModelMalformed` when there is neither text nor a tool call, `ModelRefused` for a refusal.
    """
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise ModelMalformed("the answer holds no choices; is the base URL right?")
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", None)
    calls = tuple(_calls(getattr(message, "tool_calls", None)))
    if (not isinstance(text, str) or not text.strip()) and not calls:
        refusal = getattr(message, "refusal", None)
        if isinstance(refusal, str) and refusal:
            raise ModelRefused(short(refusal))
        raise ModelMalformed("the answer is empty")
    model = getattr(answer, "model", None)
    finish = getattr(choices[0], "finish_reason", None)
    return Completion(
        text if isinstance(text, str) else "",
        usage_of(getattr(answer, "usage", None)),
        model if isinstance(model, str) else asked_model,
        finish if isinstance(finish, str) else "stop",
        calls,
    )


def usage_of(usage: Any) -> Usage | None:
    """Tokens as the endpoint counted them; None where it did not."""
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    read, written = (count if isinstance(count, int) else None for count in counts)
    return None if read is None and written is None else Usage(read, written)


def _calls(calls: Any) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for call in calls if isinstance(calls, list) else ():
        function = getattr(call, "function", None)
        named = {"name": getattr(function, "name", None), "arguments": getattr(function, "arguments", None)}
        found.append({"id": getattr(call, "id", None), "type": "function", "function": named})
    return found
