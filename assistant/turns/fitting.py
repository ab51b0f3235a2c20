"""Making room in a conversation with tools: older results are left out, the newest ones shortened.

What the model has not read yet is worth most. So the results of earlier rounds go first, the oldest
before the others; then those of the last round keep their beginnings, each as much as fits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.core.texts import estimate_tokens
from assistant.turns.agent_prompt import RESULTS
from engines.chat.protocol import Message

LEFT_OUT = '{"note": "left out: it no longer fits"}'
MIN_CHARS = 400
"""What is left of a result at least that is shortened."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages, and how many of their results were left out or shortened for it."""

    messages: list[Message]
    left_out: int = 0
    shortened: int = 0

    @property
    def is_changed(self) -> bool:
        return bool(self.left_out or self.shortened)


def size(messages: Sequence[Message]) -> int:
    """In tokens, as far as they can be told without the model."""
    return sum(estimate_tokens(message.content) for message in messages)


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """The messages within `room` tokens, as far as leaving out results can do that."""
    found, left_out, shortened = list(messages), 0, 0
    last = _last_round(found)
    for at in [at for at in _results(found) if at < last]:
        if size(found) <= room:
            break
        if not _is_short(found[at]):
            found[at] = _with_result(found[at], LEFT_OUT)
            left_out += 1
    for at in [at for at in _results(found) if at >= last]:
        over = size(found) - room
        if over <= 0:
            break
        text = _result(found[at])
        # A token is rarely less than a character; quotation marks of the whole are escaped in its part.
        kept = max(
            MIN_CHARS,
            len(text) * max(0, estimate_tokens(text) - over) // max(1, estimate_tokens(text))
            - len(_beginning("", 0))
            - 20,
        )
        if kept < len(text):
            found[at] = _with_result(found[at], _beginning(text, kept))
            shortened += 1
    return Fitted(found, left_out, shortened)


def _results(messages: Sequence[Message]) -> Iterator[int]:
    for at, message in enumerate(messages):
        if message.role == "tool" or message.content.startswith(RESULTS):
            yield at


def _last_round(messages: Sequence[Message]) -> int:
    """Where the results begin that no answer has followed yet; the end where there are none."""
    said = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return said[-1] if said else len(messages)


def _is_short(message: Message) -> bool:
    return len(_result(message)) <= len(LEFT_OUT)


def _result(message: Message) -> str:
    return message.content if message.role == "tool" else message.content.removeprefix(RESULTS).lstrip("\n")


def _with_result(message: Message, result: str) -> Message:
    return replace(message, content=result if message.role == "tool" else f"{RESULTS}\n{result}")


def _beginning(text: str, count: int) -> str:
    note = "only its beginning: the rest no longer fits"
    return json.dumps({"note": note, "beginning": text[:count]}, ensure_ascii=False)
