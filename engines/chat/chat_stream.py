"""A streamed answer put together: text as it comes, tool calls piece by piece, and how it ended.

https://platform.openai.com/docs/api-reference/chat-streaming. A server that ignores ``stream``
answers as a whole; that is read, too. A stream that breaks off is an error and no answer: nobody
can tell what would have followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from engines.chat.chat_errors import detail_of, error_of, short
from engines.chat.chat_messages import completion_of, usage_of
from engines.chat.protocol import (
    Completion,
    ModelError,
    ModelMalformed,
    ModelTimeout,
    ModelUnreachable,
    Usage,
)

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
