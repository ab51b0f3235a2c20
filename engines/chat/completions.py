"""Any OpenAI-compatible endpoint, in the cloud or on this machine.

Only base URL, model and key differ between providers. What differs behind them is how far an endpoint
can be held to a JSON schema: the strictest way is tried first, and a refusal or failure leads to the next
one. The way that worked is remembered, so this happens once.

A stream that breaks off is an error and no answer: nobody can tell what would have followed. A server
that ignores ``stream`` answers as a whole; that is read, too.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from engines.cancellation import Cancellation
from engines.chat.client import (
    WAITS_S,
    document_of,
    events_of,
    joined,
    sent,
    short,
    with_retries,
)
from engines.chat.network import public_url
from engines.chat.protocol import (
    ChatModel,
    Completion,
    ContextTooLong,
    Message,
    ModelBrokeOff,
    ModelError,
    ModelFailed,
    ModelMalformed,
    ModelNoKey,
    ModelRefused,
    ModelSilent,
    ModelStopped,
    ModelTimeout,
    ModelUnknown,
    RequestHook,
    Schema,
    Usage,
)
from engines.chat.servers import first_model

if TYPE_CHECKING:
    from httpx2 import Response

MAX_CHARS = 400_000
"""Text and arguments of one answer; a model that never ends is stopped here."""

LONGEST = 10
_MAX_CALLS = 64
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_STREAMING: tuple[Mapping[str, Any], ...] = (
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {},
)
"""How an answer in pieces is asked for: with the tokens it took, without, and as a whole after all."""


class Call:
    """One question with everything it takes: its time, what ends it, and the response it got.

    A model that still writes has not failed, so its time begins anew with each piece: a slow computer may
    take minutes for an answer. One that repeats itself without end is cut off after `LONGEST` times that.
    """

    def __init__(self, timeout_s: float, on_send: RequestHook | None, *, in_pieces: bool) -> None:
        self.timeout_s = timeout_s
        self.on_send = on_send
        self.in_pieces = in_pieces
        self.cancellation = Cancellation()
        self.until_s = time.monotonic() + timeout_s
        self._last_s = time.monotonic() + LONGEST * timeout_s
        self._has_begun = False
        self.stack = ExitStack()

    def renew(self) -> None:
        """A piece came."""
        self._has_begun = True
        self.until_s = min(time.monotonic() + self.timeout_s, self._last_s)

    def left_s(self) -> float:
        return max(0.001, self.until_s - time.monotonic())

    def raise_if_over(self) -> None:
        """Raises `ModelTimeout` once its time is up, `ModelStopped` once nobody waits for it."""
        if self.cancellation.is_late or time.monotonic() >= self.until_s:
            if not self._has_begun:
                raise ModelTimeout(f"no answer within {self.timeout_s:g} s")
            if self.until_s >= self._last_s:
                raise ModelTimeout(f"the answer had no end within {LONGEST * self.timeout_s:g} s")
            raise ModelTimeout("the answer stopped coming")
        if self.cancellation.is_over:
            raise ModelStopped("nobody waits for the answer any more")


class OpenAIChatModel(ChatModel):
    """A `ChatModel` behind ``POST {base_url}/chat/completions``.

    `key_problem` says why there is no key although one is needed: nothing is sent then. Without a `model`
    it is the first that the endpoint lists. With `json_schema` false that format is not even tried. `waits_s`
    are the pauses before asking again (`engines.chat.client`). Thread-safe.
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
        self._is_over = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {public_url(self.base_url)!r}, {self.model!r})"

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
        """Only the opening is tried again: once a piece was given, a failure is told."""
        if self._key_problem:
            raise ModelNoKey(self._key_problem)
        call = Call(timeout_s, on_send, in_pieces=in_pieces)
        parameters: dict[str, Any] = {"messages": [in_request(message) for message in messages]}
        if tools:
            parameters["tools"] = [{"type": "function", "function": dict(tool)} for tool in tools]
        try:
            with call.cancellation.at(lambda: call.until_s), call.stack:
                for item in self._items(self._opened(call, parameters, schema), call.renew):
                    call.raise_if_over()
                    if isinstance(item, Completion):
                        yield replace(item, text=_printable(item.text))
                    else:
                        yield _printable(item)
        except ModelError:
            # A connection that was shut down from here fails, or reads like an end; what was meant is told.
            call.raise_if_over()
            raise

    def retire(self) -> None:
        """Send nothing more; whoever has an answer under way gets it."""
        self._is_over = True

    def _opened(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Response:
        """The response, streamed as far as the endpoint takes that."""
        while True:
            way = self._streaming if call.in_pieces else len(_STREAMING) - 1
            try:
                return self._answered(call, {**parameters, **_STREAMING[way]}, schema)
            except ModelRefused as error:
                if way + 1 == len(_STREAMING) or "stream" not in error.detail.casefold():
                    raise
                self._streaming = max(self._streaming, way + 1)

    def _answered(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Response:
        """The response, held to the schema as strictly as the endpoint can be, and asked for again
        after a failure that passes. Raises `ModelError`, and what `on_send` raised.
        """
        self.model = self.model or first_model(self.base_url, self._api_key, timeout_s=call.left_s())

        def request(response_format: Mapping[str, Any]) -> Response:
            if self._is_over:
                raise ModelUnknown(f"{self.name} was changed or removed meanwhile")
            call.raise_if_over()
            response = sent(
                joined(self.base_url, "chat/completions"),
                {"model": self.model, **parameters, **response_format},
                api_key=self._api_key,
                timeout_s=call.left_s(),
                on_send=call.on_send,
                cancellation=call.cancellation,
            )
            try:
                return call.stack.enter_context(response)
            except ModelError:
                call.raise_if_over()
                raise

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

    def _items(self, response: Response, renew: Callable[[], None]) -> Iterator[str | Completion]:
        """Pieces of text, then the `Completion`. `renew` is called with each event, thoughts among them."""
        if "text/event-stream" in response.headers.get("content-type", ""):
            answer = _Accumulator(self.model)
            for event in events_of(response, self._api_key):
                renew()
                if piece := answer.add(event):
                    yield piece
            yield answer.completion()
            return
        document = document_of(response)
        if not isinstance(document, dict):
            raise _no_completion()
        whole = _Accumulator(self.model)  # one chunk with a message where others have a delta
        if text := whole.add(document):
            yield text
        whole.finish = whole.finish or "stop"
        yield whole.completion()


def _printable(text: str) -> str:
    """The text without control characters, halves of characters and signs that turn what follows."""
    return _UNPRINTABLE.sub("", text)


def formats(schema: Schema | None, first: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """(level, how it is asked for): a JSON schema, any JSON object, nothing; from `first` on."""
    if schema is None:
        yield 2, {}
        return
    named = {"name": "answer", "strict": True, "schema": dict(schema)}
    ways: tuple[dict[str, Any], ...] = (
        {"response_format": {"type": "json_schema", "json_schema": named}},
        {"response_format": {"type": "json_object"}},
        {},
    )
    yield from list(enumerate(ways))[first:]


def in_request(message: Message) -> dict[str, Any]:
    """A message as it stands in a request."""
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


def _usage_of(usage: Any) -> Usage | None:
    """Tokens read and written as the endpoint counted them; None where it did not."""
    counts = (_member(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    read, written = (count if isinstance(count, int) else None for count in counts)
    return None if read is None and written is None else Usage(read, written)


def _member(value: Any, name: str) -> Any:
    """A member of what should be an object; None for none."""
    return value.get(name) if isinstance(value, dict) else None


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@dataclass(slots=True)
class _Accumulator:
    """An answer so far, put together from the chunks of a stream. `calls` by their index, in the order they
    began.
    """

    model: str
    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Usage | None = None
    finish: str = ""
    refusal: str = ""
    size: int = 0
    is_completion: bool = False

    def add(self, chunk: Mapping[str, Any]) -> str:
        """The text that a chunk adds. Nothing validates it, so anything may stand in it."""
        self.usage = _usage_of(chunk.get("usage")) or self.usage
        self.model = _text(chunk.get("model")) or self.model
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            return ""
        self.is_completion = True
        self.finish = _text(_member(choices[0], "finish_reason")) or self.finish
        delta = _member(choices[0], "delta") or _member(choices[0], "message")
        calls = _member(delta, "tool_calls")
        for call in calls if isinstance(calls, list) else ():
            self._add_call(call)
        self.refusal += _text(_member(delta, "refusal"))
        piece = _text(_member(delta, "content"))
        self.text.append(piece)
        self._grow(len(piece))
        return piece

    def completion(self) -> Completion:
        """The whole. Raises `ModelBrokeOff` when it just stops, `ModelMalformed` when it is empty."""
        text = "".join(self.text)
        is_empty = not text.strip() and not self.calls
        if is_empty and self.refusal:
            raise ModelRefused(short(self.refusal))
        if not self.finish:  # llama-cpp-python refuses a request that it streams by ending without a word
            raise ModelBrokeOff("the answer broke off before its end")
        if is_empty:
            raise ModelSilent("the answer is empty") if self.is_completion else _no_completion()
        calls = tuple(_call(call["id"], call["name"], call["arguments"]) for call in self.calls.values())
        return Completion(text, self.usage, self.model, self.finish, calls)

    def _add_call(self, call: Any) -> None:
        index = _member(call, "index")
        index = index if isinstance(index, int) else len(self.calls)
        if index not in self.calls and len(self.calls) >= _MAX_CALLS:
            return
        kept = self.calls.setdefault(index, {"id": None, "name": "", "arguments": ""})
        kept["id"] = _text(_member(call, "id")) or kept["id"]
        function = _member(call, "function")
        kept["name"] += _text(_member(function, "name"))
        arguments = _member(function, "arguments")
        # Some servers give them as the object that they should only tell as text.
        kept["arguments"] = arguments if isinstance(arguments, dict) else kept["arguments"] + _text(arguments)
        self._grow(len(_text(arguments)))

    def _grow(self, count: int) -> None:
        self.size += count
        if self.size > MAX_CHARS:
            raise ModelMalformed(f"the answer is longer than {MAX_CHARS:,} characters")


def _no_completion() -> ModelMalformed:
    return ModelMalformed("the answer is no completion; is the base URL right?")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
