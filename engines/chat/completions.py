"""Any OpenAI-compatible endpoint, in the cloud or on this machine, through the `openai` client.

Only base URL, model and key differ between providers (R3.37, R3.43). What differs behind them is
how far an endpoint can be held to a JSON schema: the strictest way is tried first, and a refusal
that names the response format leads to the next one. The way that worked is remembered, so this
happens once; a refused request is no answer, so a turn still has one (R3.4).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from engines.chat.client import (
    WAITS_S,
    FormatRefused,
    check,
    completion_of,
    connect,
    detail_of,
    error_of,
    sent_messages,
    short,
    translated_errors,
    usage_of,
    with_retries,
)
from engines.chat.network import Cancellation, public_url
from engines.chat.protocol import (
    Completion,
    Message,
    ModelError,
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

if TYPE_CHECKING:
    from openai import OpenAI


_STREAMING: tuple[Mapping[str, Any], ...] = (
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {},
)
"""How an answer in pieces is asked for: with the tokens it took, without, and as a whole after all."""


class OpenAIChatModel:
    """A `ChatModel` behind ``POST {base_url}/chat/completions``.

    `key_problem` says why there is no key although one is needed: nothing is sent then. With
    `json_schema` false that format is not even tried. `waits_s` are the pauses before asking again
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
        self._api_key = api_key
        self._key_problem = key_problem
        self._waits_s = tuple(waits_s)
        self._client: OpenAI | None = None
        self._is_over = False
        self._answering = 0  # questions under way
        self._format = 0 if json_schema else 1  # index into `formats`: the strictest way not yet refused
        self._streaming = 0  # index into `_STREAMING`, in the same way
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r}, {public_url(self.base_url)!r}, {self.model!r})"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """One completion; `ModelError` says what went wrong."""

        def whole(left_s: float, parameters: Mapping[str, Any]) -> Any:
            return self._connected().chat.completions.create(timeout=left_s, **parameters)

        with self._answer_under_way(), Call(timeout_s, on_send).timed() as call:
            answer = self._answered(call, whole, {"messages": sent_messages(messages)}, schema)
            return completion_of(answer, self.model)

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

        parameters: dict[str, Any] = {"messages": sent_messages(messages)}
        if tools:
            parameters["tools"] = [{"type": "function", "function": dict(tool)} for tool in tools]
        with self._answer_under_way(), Call(timeout_s, on_send).timed() as call:
            answer = self._opened(call, parameters, schema)
            yield from read_stream(answer, self.model, partial(check, call.cutoff, timeout_s), self._api_key)

    def _opened(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Any:
        """The client's raw response, streamed as far as the endpoint takes that."""

        def opened(left_s: float, parameters: Mapping[str, Any]) -> Any:
            return self._connected().chat.completions.with_raw_response.create(timeout=left_s, **parameters)

        while True:
            way = self._streaming
            try:
                return self._answered(call, opened, {**parameters, **_STREAMING[way]}, schema)
            except ModelRefused as error:
                if way + 1 == len(_STREAMING) or "stream" not in error.detail.casefold():
                    raise
                self._streaming = max(self._streaming, way + 1)

    def _answered(
        self,
        call: Call,
        send: Callable[[float, Mapping[str, Any]], Any],
        parameters: Mapping[str, Any],
        schema: Schema | None,
    ) -> Any:
        """What `send` gives, held to the schema as strictly as the endpoint can be, and asked again after
        a failure that passes. Raises `ModelError`, and what `on_send` raised.
        """

        def request(response_format: Mapping[str, Any]) -> Any:
            if self._is_over:
                raise ModelUnknown(f"{self.name} was changed or removed meanwhile")
            with translated_errors(self.base_url, self._api_key, call.timeout_s, call.on_send, call.cutoff):
                return send(max(0.001, call.left_s()), {"model": self.model, **parameters, **response_format})

        for level, response_format in formats(schema, self._format):
            try:
                return with_retries(
                    partial(request, response_format),
                    left_s=call.left_s,
                    waits_s=self._waits_s,
                    sleep=call.cutoff.sleep,
                )
            except FormatRefused as refused:
                if not response_format:
                    raise refused.error from refused
                self._format = max(self._format, level + 1)
        raise AssertionError("the plain way sends no response format, so it is never skipped")

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
            is_idle = not self._answering
        if is_idle:
            self.close()

    @contextmanager
    def _answer_under_way(self) -> Iterator[None]:
        if self._key_problem:
            raise ModelNoKey(self._key_problem)
        with self._lock:
            self._answering += 1
        try:
            yield
        finally:
            with self._lock:
                self._answering -= 1
                is_last = self._is_over and not self._answering
            if is_last:
                self.close()

    def _connected(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = connect(self.base_url, self._api_key)
            return self._client


class Call:
    """One question with everything it takes: its time, and what ends it."""

    def __init__(self, timeout_s: float, on_send: RequestHook | None) -> None:
        self.timeout_s = timeout_s
        self.on_send = on_send
        self.cutoff = Cancellation()
        self._until_s = time.monotonic() + timeout_s

    def left_s(self) -> float:
        return self._until_s - time.monotonic()

    @contextmanager
    def timed(self) -> Iterator[Self]:
        """Ended when its time is up, wherever it is then."""
        with self.cutoff.at(self._until_s):
            yield self


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


# ---- chat stream
# A streamed answer put together: text as it comes, tool calls piece by piece, and how it ended.
#
# https://platform.openai.com/docs/api-reference/chat-streaming. A server that ignores ``stream``
# answers as a whole; that is read, too. A stream that breaks off is an error and no answer: nobody
# can tell what would have followed.

MAX_CHARS = 400_000
"""Text and arguments of one answer; a model that never ends is stopped here."""

_MAX_CALLS = 64


class Growing(Protocol):
    """An answer that is put together from the events of a stream."""

    def add(self, chunk: Any, /) -> str:
        """The text that an event adds."""
        ...

    def completion(self) -> Completion:
        """The whole. Raises `ModelError` when it is none."""
        ...


CompleteAnswer = Callable[[dict[str, Any], str], Completion]


def read_stream(
    answer: Any,
    asked_model: str,
    check: Callable[[], None],
    api_key: str = "",
    growing: Callable[[str], Growing] | None = None,
    whole: CompleteAnswer | None = None,
) -> Iterator[str | Completion]:
    """Pieces of text, then the `Completion`. Raises `ModelError`.

    `answer` is the client's raw response; it is closed when the iterator is. `check` raises a
    `ModelError` once the request was ended, which is then why nothing more came. `growing` and `whole` read
    another protocol than Chat Completions.
    """
    try:
        for each in _read(answer, asked_model, api_key, growing or _Growing, whole or _whole):
            check()
            yield each
    except ModelError:
        check()
        raise


def _read(
    answer: Any, asked_model: str, api_key: str, growing: Callable[[str], Growing], whole: CompleteAnswer
) -> Iterator[str | Completion]:
    import httpx2
    import openai

    response = answer.http_response
    try:
        if "text/event-stream" not in response.headers.get("content-type", ""):
            yield from _as_a_whole(answer, asked_model, whole)
            return
        found = growing(asked_model)
        for chunk in answer.parse():
            piece = found.add(chunk)
            if piece:
                yield piece
        yield found.completion()
    except ModelError:
        raise
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ModelTimeout("the answer stopped coming") from error
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        raise ModelUnreachable(f"the answer broke off ({short(str(error.__cause__ or error))})") from error
    except openai.APIStatusError as error:
        raise error_of(error.status_code, error.message, api_key=api_key) from error
    except openai.APIError as error:  # an error as one of the events
        told = short(detail_of(error.body) or error.message)
        raise ModelUnreachable(f"the server failed in its answer: {_hidden(told, api_key)}") from error
    except (openai.OpenAIError, ValueError) as error:
        raise ModelMalformed(f"the answer could not be read: {short(str(error))}") from error
    finally:
        response.close()


def _as_a_whole(answer: Any, asked_model: str, whole: CompleteAnswer) -> Iterator[str | Completion]:
    document = answer.http_response.json() if answer.http_response.read() else {}
    if not isinstance(document, dict):
        raise ModelMalformed("the answer is no completion; is the base URL right?")
    completion = whole(document, asked_model)
    if completion.text:
        yield completion.text
    yield completion


def _whole(document: dict[str, Any], asked_model: str) -> Completion:
    from openai.types.chat import ChatCompletion

    return completion_of(ChatCompletion.construct(**document), asked_model)


def _hidden(text: str, secret: str) -> str:
    return text.replace(secret, "***") if secret else text


@dataclass(slots=True)
class _Growing:
    """An answer so far. `calls` by their index, in the order they began."""

    model: str
    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Usage | None = None
    finish: str = ""
    size: int = 0

    def add(self, chunk: Any) -> str:
        """The text that a chunk adds. The client does not validate, so anything may stand in it."""
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
        """The whole. Raises `ModelUnreachable` when it just stops, `ModelMalformed` when it is empty."""
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
        given = getattr(call, "id", None)
        kept["id"] = given if isinstance(given, str) and given else kept["id"]
        function = getattr(call, "function", None)
        for key in ("name", "arguments"):
            piece = getattr(function, key, None)
            if isinstance(piece, str):
                kept[key] += piece
                self._grow(len(piece))

    def _calls(self) -> Iterator[Mapping[str, Any]]:
        for call in self.calls.values():
            function = {"name": call["name"], "arguments": call["arguments"]}
            yield {"id": call["id"], "type": "function", "function": function}

    def _grow(self, count: int) -> None:
        self.size += count
        if self.size > MAX_CHARS:
            raise ModelMalformed(f"the answer is longer than {MAX_CHARS:,} characters")
