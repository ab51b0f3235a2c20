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
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from engines.chat.addresses import public_url
from engines.chat.chat_messages import completion_of, sent_messages
from engines.chat.chat_stream import read_stream
from engines.chat.client import FormatRefused, check, connect, translated_errors
from engines.chat.network import Cancellation
from engines.chat.protocol import (
    Completion,
    Message,
    ModelNoKey,
    ModelRefused,
    ModelUnknown,
    RequestHook,
    Schema,
)
from engines.chat.retrying import WAITS_S, with_retries

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
    (`engines.chat.retrying`). No connection is opened before the first question. Thread-safe.
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
