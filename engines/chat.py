"""Chat models behind one small protocol.

A `ChatModel` turns messages into one completion. It knows nothing of frames, tables or turns; what
goes wrong arrives as one of the errors below, each with a sentence of its own (CHAT-10)::

    ModelError
    ├── ModelUnauthorized    the endpoint refused the key
    ├── ModelRateLimited     too many requests or no credit left; may say when to come back
    ├── ModelTimeout         no answer in time
    ├── ModelUnreachable     nothing answers at the address, or the server failed
    ├── ModelRefused         the endpoint refused the request (unknown model, bad parameter)
    ├── ContextTooLong       the request is longer than the model's context window
    └── ModelMalformed       an answer came that is no completion
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant"]
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; text only."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an endpoint says an answer took, in tokens; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer. `model` is the name the endpoint reports, `finish_reason` its word for the end."""

    text: str
    usage: Usage | None
    model: str
    finish_reason: str = "stop"


@runtime_checkable
class ChatModel(Protocol):
    """A language model that answers once, without streaming and without tools."""

    @property
    def name(self) -> str:
        """The name people choose it by."""
        ...

    @property
    def context_tokens(self) -> int:
        """The size of the context window, question and answer together."""
        ...

    def complete(
        self, messages: Sequence[Message], *, schema: Schema | None = None, timeout_s: float
    ) -> Completion:
        """The model's answer to `messages`.

        `schema` is a JSON schema the answer should follow; a model that cannot be held to one may
        answer otherwise, so the caller parses with tolerance. Raises `ModelError`.
        """
        ...


class ModelError(Exception):
    """A chat model gave no answer. `code` is for programs, `retry_after_s` when the endpoint said it."""

    code: ClassVar[str] = "model_error"

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class ModelUnauthorized(ModelError):
    """The endpoint refused the key, or wants one."""

    code = "model_unauthorized"


class ModelRateLimited(ModelError):
    """Too many requests, or no credit left."""

    code = "model_rate_limited"


class ModelTimeout(ModelError):
    """No answer in time."""

    code = "model_timeout"


class ModelUnreachable(ModelError):
    """Nothing answers at the address, or the server itself failed."""

    code = "model_unreachable"


class ModelRefused(ModelError):
    """The endpoint refused the request: an unknown model, a parameter it does not take."""

    code = "model_refused"


class ContextTooLong(ModelRefused):
    """The request is longer than the model's context window."""

    code = "context_too_long"


class ModelMalformed(ModelError):
    """An answer came that is no completion."""

    code = "model_malformed"
