"""The Responses protocol behind the same `ChatModel`, for endpoints that have it (C9).

https://platform.openai.com/docs/api-reference/responses. Chat Completions stays what every endpoint must
speak; this is chosen for one that speaks it better. The endpoint keeps what it was asked, so that a
conversation can go on from it: `OpenAIResponsesModel.after`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from engines.chat.client import check, short
from engines.chat.completions import MAX_CHARS, Call, OpenAIChatModel, read_stream
from engines.chat.protocol import (
    Completion,
    Message,
    ModelMalformed,
    ModelRefused,
    ModelUnreachable,
    RequestHook,
    Schema,
    Usage,
)

_SEPARATOR = "\n\n"


class OpenAIResponsesModel(OpenAIChatModel):
    """A `StreamingModel` behind ``POST {base_url}/responses``."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """One completion; `ModelError` says what went wrong."""
        with self._answer_under_way(), Call(timeout_s, on_send).timed() as call:
            answer = self._answered(call, self._sender(), sent_input(messages), schema)
            document = answer.http_response.json()
            return completion_of(document, self.model)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Iterator[str | Completion]:
        """The answer piece by piece, then as a whole; `ModelError` says what went wrong."""
        yield from self._streamed(messages, "", schema, tools, timeout_s, on_send)

    def after(self, response_id: str, known: Sequence[Message]) -> ChainedResponse:
        """The same model in a conversation that the endpoint has up to a response of its own.

        `known` are the messages that it has: they are not sent again, unless it has forgotten the response.
        """
        return ChainedResponse(self, response_id, tuple(known))

    def _streamed(
        self,
        messages: Sequence[Message],
        previous: str,
        schema: Schema | None,
        tools: Sequence[Mapping[str, Any]],
        timeout_s: float,
        on_send: RequestHook | None,
    ) -> Iterator[str | Completion]:
        parameters: dict[str, Any] = {**sent_input(messages), "stream": True}
        if previous:
            parameters["previous_response_id"] = previous
        if tools:
            # Strict schemas allow no default values, which ours have.
            parameters["tools"] = [{"type": "function", "strict": False, **tool} for tool in tools]
        with self._answer_under_way(), Call(timeout_s, on_send).timed() as call:
            answer = self._answered(call, self._sender(), parameters, schema)
            ended = partial(check, call.cutoff, timeout_s)
            yield from read_stream(answer, self.model, ended, self._api_key, Growing, completion_of)

    def _sender(self) -> Callable[[float, Mapping[str, Any]], Any]:
        def send(left_s: float, parameters: Mapping[str, Any]) -> Any:
            given = dict(parameters)
            form = given.pop("response_format", None)
            if form:
                given["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
            return self._connected().responses.with_raw_response.create(timeout=left_s, **given)

        return send


@dataclass(slots=True)
class ChainedResponse:
    """A `StreamingModel` that goes on from a response. Once that is unknown it sends everything, for good."""

    base: OpenAIResponsesModel
    response_id: str
    known: tuple[Message, ...]

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def context_tokens(self) -> int:
        return self.base.context_tokens

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """The whole answer. Raises as `stream` does."""
        for piece in self.stream(messages, schema=schema, timeout_s=timeout_s, on_send=on_send):
            if isinstance(piece, Completion):
                return piece
        raise AssertionError("a stream ends with its completion")

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Iterator[str | Completion]:
        """The answer piece by piece. Raises `ModelError`, and whatever `on_send` raises."""
        if self.response_id:
            rest = [each for each in messages if not any(each is old for old in self.known)]
            told = self.base._streamed(rest, self.response_id, schema, tools, timeout_s, on_send)
            try:
                first = next(told)
            except ModelRefused as error:
                if not _is_forgotten(error):
                    raise
                self.response_id = ""
            else:
                yield first
                yield from told
                return
        yield from self.base._streamed(messages, "", schema, tools, timeout_s, on_send)


def _is_forgotten(error: ModelRefused) -> bool:
    """Whether the endpoint says that it does not know, or does not take, the response to go on from."""
    said = error.detail.casefold()
    return "previous_response" in said or "previous response" in said


# -- what is sent -----------------------------------------------------------------------------------


def sent_input(messages: Sequence[Message]) -> dict[str, Any]:
    """Messages as they are sent: those of the system as instructions, which hold for one answer only."""
    system = [message.content for message in messages if message.role == "system"]
    items = [item for message in messages if message.role != "system" for item in _items(message)]
    return {"input": items, **({"instructions": _SEPARATOR.join(system)} if system else {})}


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call_id, "output": message.content}
        return
    if message.pictures:
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": message.content}]
        parts += [{"type": "input_image", "image_url": each.data_url} for each in message.pictures]
        yield {"role": message.role, "content": parts}
        return
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": message.content}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


# -- what comes back --------------------------------------------------------------------------------


def completion_of(document: Mapping[str, Any], asked_model: str) -> Completion:
    """What a response holds. Nothing validates it before, so anything may stand in it.

    Raises `ModelMalformed` when there is neither text nor a call, `ModelRefused` for a refusal, and
    `ModelUnreachable` for one that failed.
    """
    output = document.get("output")
    if not isinstance(output, list):
        raise ModelMalformed("the answer holds no output; is the base URL right?")
    if document.get("status") == "failed":
        raise ModelUnreachable(f"the server failed in its answer: {_reason(document)}")
    parts = [part for item in output for part in _parts(item)]
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    calls = tuple(
        _call(item) for item in output if isinstance(item, dict) and item.get("type") == "function_call"
    )
    if not text.strip() and not calls:
        refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
        if refusals:
            raise ModelRefused(short(refusals[0]))
        raise ModelMalformed("the answer is empty")
    model, response_id = document.get("model"), document.get("id")
    is_cut = document.get("status") == "incomplete"
    return Completion(
        text,
        _usage(document.get("usage")),
        model if isinstance(model, str) else asked_model,
        "length" if is_cut else "tool_calls" if calls else "stop",
        calls,
        response_id if isinstance(response_id, str) else "",
    )


def _parts(item: Any) -> list[dict[str, Any]]:
    content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _call(item: Mapping[str, Any]) -> Mapping[str, Any]:
    named = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": named}


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    read, written = (usage.get(name) for name in ("input_tokens", "output_tokens"))
    read, written = (count if isinstance(count, int) else None for count in (read, written))
    return None if read is None and written is None else Usage(read, written)


def _reason(document: Mapping[str, Any]) -> str:
    error = document.get("error")
    return short(str(error.get("message") if isinstance(error, dict) else error or "no reason is given"))


@dataclass(slots=True)
class Growing:
    """A streamed response so far; its last event holds the whole."""

    model: str
    document: dict[str, Any] | None = None
    text: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, event: Any) -> str:
        """The text that an event adds."""
        kind = getattr(event, "type", "")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            response = getattr(event, "response", None)
            self.document = response if response is None else response.to_dict(warnings=False)
            return ""
        delta = getattr(event, "delta", None)
        if not isinstance(delta, str):
            return ""
        self.size += len(delta)
        if self.size > MAX_CHARS:
            raise ModelMalformed(f"the answer is longer than {MAX_CHARS:,} characters")
        if kind != "response.output_text.delta":
            return ""
        self.text.append(delta)
        return delta

    def completion(self) -> Completion:
        """The whole. Raises `ModelUnreachable` when it just stops, and as `completion_of`."""
        if not isinstance(self.document, dict):
            raise ModelUnreachable("the answer broke off before its end")
        found = completion_of(self.document, self.model)
        told = "".join(self.text)
        # What was told is what counts: some servers leave the text out of the last event.
        return found if found.text or not told else replace(found, text=told)
