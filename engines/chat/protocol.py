"""Chat models behind one small protocol.

A `ChatModel` turns messages into one completion. It knows nothing of frames, tables or turns; what
goes wrong arrives as one of the `ModelError`s below, each with a sentence of its own.
"""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

from engines.chat.network import is_local

Role = Literal["system", "user", "assistant", "tool"]
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call as an endpoint is told again what it asked for; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image."""

    content: bytes
    media_type: str

    @property
    def data_url(self) -> str:
        """The image as it stands in a request (RFC 2397)."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.content).decode('ascii')}"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. A ``tool`` message answers the call `call_id`. `pictures` go with a
    user's text, to a model that can see.
    """

    role: Role
    content: str
    tool_calls: tuple[RequestedCall, ...] = ()
    call_id: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took, in tokens, as the endpoint counted them; None where it does not say.

    `is_estimated` when they were counted here instead. `cost` is in `currency`, by prices that the
    person set; None without any. An engine knows no prices and leaves both as they are.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    is_estimated: bool = False
    cost: float | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """One request just before it leaves: where to, without secrets, and the very bytes of its body.

    For vectors also the model, and how many texts the body holds.
    """

    url: str
    body: bytes
    model: str = ""
    texts: int = 0

    @property
    def is_local(self) -> bool:
        """Whether it stays on this machine."""
        return is_local(self.url)


RequestHook = Callable[[OutgoingRequest], None]
"""Called for every request, retries included, before anything leaves. What it raises stops the request."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer. `model` is the name the endpoint reports, `finish_reason` its word for the end."""

    text: str
    usage: Usage | None
    model: str
    finish_reason: str = "stop"
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """As the endpoint sent them, unchecked: ``{"id", "type", "function": {"name", "arguments"}}``."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model at an endpoint can do; None is not known. `tool_format` is the text format that it
    writes calls in, "" where the endpoint has calls of its own.
    """

    supports_tools: bool | None = None
    tool_format: str | None = None
    supports_vision: bool | None = None
    supports_json_schema: bool | None = None
    context_tokens: int | None = None

    def over(self, other: Abilities) -> Abilities:
        """What is known here, and of the rest what is known there. Tools and their format go together."""
        if self.supports_tools is not None:
            other = replace(other, tool_format=None)
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **known)


NOTHING_KNOWN = Abilities()


class ChatModel(ABC):
    """A language model: the name people choose it by, and its window, question and answer together."""

    name: str
    context_tokens: int

    @abstractmethod
    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        timeout_s: float,
        on_send: RequestHook | None = None,
        in_pieces: bool = True,
    ) -> Generator[str | Completion, None, None]:
        """Pieces of the answer's text as they come, and the whole as the last item, within `timeout_s`.

        `tools` are definitions ``{"name", "description", "parameters"}``. `schema` is a JSON schema the
        answer should follow; a model that cannot be held to one may answer otherwise, so the caller
        parses with tolerance. Not `in_pieces`, the answer is asked for as a whole: for a server that
        failed in its stream. Closing the iterator ends the request. Raises `ModelError`, in the
        middle too, and whatever `on_send` raises.
        """

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """The whole answer at once, asked for as a whole where its stream broke. Raises as `stream` does."""
        ask = partial(self.stream, messages, schema=schema, tools=tools, timeout_s=timeout_s, on_send=on_send)
        try:
            *_, completion = ask()
        except (ModelGarbled, ModelBrokeOff):
            *_, completion = ask(in_pieces=False)
        assert isinstance(completion, Completion)
        return completion


class ModelError(Exception):
    """A chat model gave no answer. `code` is for programs, `retry_after_s` when the endpoint said it, and
    `status` that of its response, 0 without one.
    """

    code: ClassVar[str] = "model_error"
    is_temporary: ClassVar[bool] = False
    """Whether the same request may be answered a moment later."""

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.status = 0


class ModelNoKey(ModelError):
    """The endpoint wants a key and none is set."""

    code = "model_no_key"


class ModelUnauthorized(ModelError):
    """The endpoint refused the key."""

    code = "model_unauthorized"


class ModelRateLimited(ModelError):
    """Too many requests."""

    code = "model_rate_limited"
    is_temporary = True


class ModelNoCredit(ModelError):
    """No credit is left with the provider."""

    code = "model_no_credit"


class ModelBusy(ModelError):
    """The server is overloaded, or still loads the model."""

    code = "model_busy"
    is_temporary = True


class ModelTimeout(ModelError):
    """No answer in time."""

    code = "model_timeout"


class ModelStopped(ModelError):
    """The request was ended, because nobody waits for its answer any more."""

    code = "stopped"


class ModelUnreachable(ModelError):
    """Nothing answers at the address, or not to the end."""

    code = "model_unreachable"
    is_temporary = True


class ModelFailed(ModelError):
    """Something answers at the address, and says that it failed."""

    code = "model_failed"
    is_temporary = True


class ModelRefused(ModelError):
    """The endpoint refused the request: a parameter it does not take, or what was asked."""

    code = "model_refused"


class ModelUnknown(ModelRefused):
    """The endpoint does not have the model that was asked for."""

    code = "model_unknown"


class ContextTooLong(ModelRefused):
    """The request is longer than the model's context window of `window` tokens, 0 where nobody says."""

    code = "context_too_long"

    def __init__(self, detail: str, window: int = 0) -> None:
        super().__init__(detail)
        self.window = window


class ModelMalformed(ModelError):
    """An answer came that is no completion."""

    code = "model_malformed"


class ModelSilent(ModelMalformed):
    """A completion came that says nothing and calls nothing."""


class ModelBrokeOff(ModelUnreachable):
    """An answer began, and was not brought to its end."""


class ModelGarbled(ModelMalformed):
    """A piece of a streamed answer cannot be read."""


def object_schema(**properties: Schema) -> Schema:
    """The JSON schema of an object that has all of these properties and no others."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def object_in(answer: str) -> dict[str, Any]:
    """The JSON object in an answer, with or without a fence or words around it. Raises `ModelMalformed`."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        document = json.loads(answer[start : end + 1])
    except (ValueError, RecursionError) as error:
        raise ModelMalformed("the answer is not JSON") from error
    if not isinstance(document, dict):
        raise ModelMalformed("the answer is not a JSON object")
    return document
