"""Any OpenAI-compatible endpoint, in the cloud or on this machine, through the `openai` client.

Only base URL, model and key differ between providers. What differs behind them is how far an endpoint
can be held to a JSON schema: the strictest way is tried first, and a refusal or failure leads to the next
one. The way that worked is remembered, so this happens once.

A stream that breaks off is an error and no answer: nobody can tell what would have followed. A server
that ignores ``stream`` answers as a whole; that is read, too.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from engines.chat.client import (
    WAITS_S,
    connect,
    detail_of,
    error_of,
    raise_if_over,
    short,
    translated_errors,
    with_retries,
)
from engines.chat.network import Cancellation, public_url
from engines.chat.protocol import (
    Completion,
    ContextTooLong,
    Message,
    ModelError,
    ModelFailed,
    ModelMalformed,
    ModelNoKey,
    ModelRefused,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    RequestHook,
    Schema,
    Usage,
)
from engines.chat.servers import first_model

if TYPE_CHECKING:
    from openai import OpenAI

MAX_CHARS = 400_000
"""Text and arguments of one answer; a model that never ends is stopped here."""

_MAX_CALLS = 64
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

_STREAMING: tuple[Mapping[str, Any], ...] = (
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {},
)
"""How an answer in pieces is asked for: with the tokens it took, without, and as a whole after all."""


class Accumulator(Protocol):
    """An answer that is put together from the events of a stream."""

    def add(self, event: Any, /) -> str:
        """The text that an event adds. The client does not validate, so anything may stand in it."""

    def completion(self) -> Completion:
        """The whole. Raises `ModelUnreachable` when it just stops, `ModelMalformed` when it is empty."""


class Call:
    """One question with everything it takes: its time, and what ends it."""

    def __init__(self, timeout_s: float, on_send: RequestHook | None) -> None:
        self.timeout_s = timeout_s
        self.on_send = on_send
        self.cancellation = Cancellation()
        self._until_s = time.monotonic() + timeout_s

    def left_s(self) -> float:
        return self._until_s - time.monotonic()

    def raise_if_over(self) -> None:
        raise_if_over(self.cancellation, self.timeout_s)

    @contextmanager
    def timed(self) -> Iterator[Self]:
        """Ended when its time is up, wherever it is then."""
        with self.cancellation.at(self._until_s):
            yield self


class OpenAIChatModel:
    """A `StreamingModel` behind ``POST {base_url}/chat/completions``.

    `key_problem` says why there is no key although one is needed: nothing is sent then. Without a `model`
    it is the first that the endpoint lists. With `json_schema` false that format is not even tried. `waits_s`
    are the pauses before asking again
    (`engines.chat.client`). No connection is opened before the first question. Thread-safe.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        context_tokens: int = 8192,
        key_problem: str = "",
        json_schema: bool = True,
        waits_s: Sequence[float] = WAITS_S,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.model = model
        self.context_tokens = context_tokens
        self.format_level = 0 if json_schema else 1
        """Index into `formats`: the strictest way not yet refused."""
        self._streaming = 0  # index into `_STREAMING`: the first way not yet refused
        self._api_key = api_key
        self._key_problem = key_problem
        self._waits_s = tuple(waits_s)
        self._client: OpenAI | None = None
        self._is_over = False
        self._under_way = 0  # questions without their answer
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {public_url(self.base_url)!r}, {self.model!r})"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """One completion; `ModelError` says what went wrong."""
        with self._question(timeout_s, on_send) as call:
            answer = self._answered(call, self._parameters(messages), schema)
            *_, completion = self._read(call, answer)
        assert isinstance(completion, Completion)
        return completion

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Iterator[str | Completion]:
        """The answer piece by piece, then as a whole; `ModelError` says what went wrong.

        Only the opening is tried again: once a piece was given, a failure is told.
        """
        yield from self._streamed(self._parameters(messages, tools), schema, timeout_s, on_send)

    def close(self) -> None:
        """Let go of the client; the next question makes a new one."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def retire(self) -> None:
        """Send nothing more; connections are closed when the answers under way are there."""
        with self._lock:
            self._is_over = True
            is_idle = not self._under_way
        if is_idle:
            self.close()

    # -- what another protocol of the same provider does in its own way ----------------------

    def _parameters(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, Any]:
        parameters: dict[str, Any] = {"messages": [_sent(message) for message in messages]}
        if tools:
            parameters["tools"] = [{"type": "function", "function": dict(tool)} for tool in tools]
        return parameters

    def _create(self, client: OpenAI, parameters: Mapping[str, Any]) -> Any:
        """The client's raw response."""
        return client.chat.completions.with_raw_response.create(**parameters)

    def _opened(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Any:
        """The raw response, streamed as far as the endpoint takes that."""
        while True:
            way = self._streaming
            try:
                return self._answered(call, {**parameters, **_STREAMING[way]}, schema)
            except ModelRefused as error:
                if way + 1 == len(_STREAMING) or "stream" not in error.detail.casefold():
                    raise
                self._streaming = max(self._streaming, way + 1)

    def _accumulator(self) -> Accumulator:
        return _ChunkAccumulator(self.model)

    def _completion(self, document: dict[str, Any]) -> Completion:
        from openai.types.chat import ChatCompletion

        return completion_of(ChatCompletion.construct(**document), self.model)

    def _streamed(
        self,
        parameters: Mapping[str, Any],
        schema: Schema | None,
        timeout_s: float,
        on_send: RequestHook | None,
    ) -> Iterator[str | Completion]:
        with self._question(timeout_s, on_send) as call:
            yield from self._read(call, self._opened(call, parameters, schema))

    @contextmanager
    def _question(self, timeout_s: float, on_send: RequestHook | None) -> Iterator[Call]:
        """Raises `ModelNoKey` when there is no key to ask with."""
        if self._key_problem:
            raise ModelNoKey(self._key_problem)
        with self._lock:
            self._under_way += 1
        try:
            with Call(timeout_s, on_send).timed() as call:
                yield call
        finally:
            with self._lock:
                self._under_way -= 1
                is_last = self._is_over and not self._under_way
            if is_last:
                self.close()

    def _answered(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Any:
        """The raw response, held to the schema as strictly as the endpoint can be, and asked for again
        after a failure that passes. Raises `ModelError`, and what `on_send` raised.
        """

        self.model = self.model or first_model(self.base_url, self._api_key, timeout_s=call.left_s())

        def request(response_format: Mapping[str, Any]) -> Any:
            if self._is_over:
                raise ModelUnknown(f"{self.name} was changed or removed meanwhile")
            sent = {"model": self.model, "timeout": max(0.001, call.left_s()), **parameters}
            with translated_errors(
                self.base_url, self._api_key, call.timeout_s, call.on_send, call.cancellation
            ):
                return self._create(self._connected(), {**sent, **response_format})

        waits_s = self._waits_s
        for level, response_format in formats(schema, self.format_level):
            try:
                answer = with_retries(
                    partial(request, response_format),
                    left_s=call.left_s,
                    waits_s=waits_s,
                    sleep=call.cancellation.sleep,
                )
            except (ModelRefused, ModelFailed) as error:
                # Servers say in many ways, or by failing, that they do not take a format.
                if not response_format or isinstance(error, ContextTooLong | ModelUnknown):
                    raise
                waits_s = () if isinstance(error, ModelFailed) else waits_s
            else:
                if schema is not None:  # only what a looser format led to says that the format was at fault
                    self.format_level = max(self.format_level, level)
                return answer
        raise AssertionError("the plain way sends no response format, so it is never skipped")

    def _read(self, call: Call, answer: Any) -> Iterator[str | Completion]:
        """Pieces of text, then the `Completion`. The response is closed when the iterator is.

        Raises `ModelError`: the one of `call` once it was ended, which is then why nothing more came.
        """
        try:
            with _translated_stream_errors(self._api_key):
                for item in self._items(answer):
                    call.raise_if_over()
                    yield (
                        _printable(item)
                        if isinstance(item, str)
                        else replace(item, text=_printable(item.text))
                    )
        except ModelError:
            call.raise_if_over()
            raise
        finally:
            answer.http_response.close()

    def _items(self, answer: Any) -> Iterator[str | Completion]:
        response = answer.http_response
        if "text/event-stream" in response.headers.get("content-type", ""):
            accumulator = self._accumulator()
            yield from filter(None, map(accumulator.add, answer.parse()))
            yield accumulator.completion()
            return
        document = response.json() if response.read() else {}
        if not isinstance(document, dict):
            raise ModelMalformed("the answer is no completion; is the base URL right?")
        completion = self._completion(document)
        if completion.text:
            yield completion.text
        yield completion

    def _connected(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = connect(self.base_url, self._api_key)
            return self._client


def _printable(text: str) -> str:
    """The text without control characters and halves of characters: nothing shows or stores them well."""
    return _UNPRINTABLE.sub("", text)


def formats(schema: Schema | None, first: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """(level, parameters): a JSON schema, any JSON object, nothing; from `first` on."""
    if schema is None:
        yield 2, {}
        return
    named = {"name": "answer", "strict": True, "schema": dict(schema)}
    ways: list[dict[str, Any]] = [
        {"response_format": {"type": "json_schema", "json_schema": named}},
        {"response_format": {"type": "json_object"}},
        {},
    ]
    yield from list(enumerate(ways))[first:]


@contextmanager
def _translated_stream_errors(api_key: str) -> Iterator[None]:
    """Around the reading of an answer that has begun."""
    import httpx2
    import openai

    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ModelTimeout("the answer stopped coming") from error
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        raise ModelUnreachable(f"the answer broke off ({short(str(error.__cause__ or error))})") from error
    except openai.APIStatusError as error:
        raise error_of(error.status_code, error.message, error.response.headers, api_key=api_key) from error
    except openai.APIError as error:  # an error as one of the events
        sentence = short(detail_of(error.body) or error.message)
        if api_key:
            sentence = sentence.replace(api_key, "***")
        raise ModelUnreachable(f"the server failed in its answer: {sentence}") from error
    except (openai.OpenAIError, ValueError) as error:
        raise ModelMalformed(f"the answer could not be read: {short(str(error))}") from error


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.tool_calls:
        calls = [_call(call.id, call.name, call.arguments) for call in message.tool_calls]
        return {"role": message.role, "content": message.content, "tool_calls": calls}
    if message.pictures:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
        parts += [
            {"type": "image_url", "image_url": {"url": picture.data_url}} for picture in message.pictures
        ]
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
    return [
        _call(
            getattr(call, "id", None),
            getattr(getattr(call, "function", None), "name", None),
            getattr(getattr(call, "function", None), "arguments", None),
        )
        for call in (calls if isinstance(calls, list) else ())
    ]


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@dataclass(slots=True)
class _ChunkAccumulator:
    """An answer so far. `calls` by their index, in the order they began."""

    model: str
    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Usage | None = None
    finish: str = ""
    size: int = 0

    def add(self, chunk: Any) -> str:
        self.usage = usage_of(getattr(chunk, "usage", None)) or self.usage
        model = getattr(chunk, "model", None)
        self.model = model if isinstance(model, str) and model else self.model
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            return ""
        finish = getattr(choices[0], "finish_reason", None)
        self.finish = finish if isinstance(finish, str) and finish else self.finish
        delta = getattr(choices[0], "delta", None)
        calls = getattr(delta, "tool_calls", None)
        for call in calls if isinstance(calls, list) else ():
            self._add_call(call)
        piece = getattr(delta, "content", None)
        piece = piece if isinstance(piece, str) else ""
        self.text.append(piece)
        self._grow(len(piece))
        return piece

    def completion(self) -> Completion:
        text = "".join(self.text)
        if not text.strip() and not self.calls:
            raise ModelMalformed("the answer is empty")
        if not self.finish:
            raise ModelUnreachable("the answer broke off before its end")
        return Completion(text, self.usage, self.model, self.finish, tuple(self._calls()))

    def _add_call(self, call: Any) -> None:
        index = getattr(call, "index", None)
        index = index if isinstance(index, int) else len(self.calls)
        if index not in self.calls and len(self.calls) >= _MAX_CALLS:
            return
        kept = self.calls.setdefault(index, {"id": None, "name": "", "arguments": ""})
        call_id = getattr(call, "id", None)
        kept["id"] = call_id if isinstance(call_id, str) and call_id else kept["id"]
        function = getattr(call, "function", None)
        for key in ("name", "arguments"):
            piece = getattr(function, key, None)
            if isinstance(piece, str):
                kept[key] += piece
                self._grow(len(piece))

    def _calls(self) -> Iterator[Mapping[str, Any]]:
        for call in self.calls.values():
            yield _call(call["id"], call["name"], call["arguments"])

    def _grow(self, count: int) -> None:
        self.size += count
        if self.size > MAX_CHARS:
            raise ModelMalformed(f"the answer is longer than {MAX_CHARS:,} characters")
