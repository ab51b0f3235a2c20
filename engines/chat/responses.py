"""The Responses protocol behind the same `ChatModel`, for endpoints that have it.

https://platform.openai.com/docs/api-reference/responses. Chat Completions stays what every endpoint must
speak; this is chosen for one that speaks it better. The endpoint keeps what it was asked, so that a
conversation can go on from it: `OpenAIResponsesModel.after`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engines.chat.client import short
from engines.chat.completions import MAX_CHARS, Accumulator, Call, OpenAIChatModel, member, usage_of
from engines.chat.protocol import (
    ChatModel,
    Completion,
    Message,
    ModelBrokeOff,
    ModelFailed,
    ModelMalformed,
    ModelRefused,
    ModelSilent,
    RequestHook,
    Schema,
)

if TYPE_CHECKING:
    from httpx2 import Response

_SEPARATOR = "\n\n"


class OpenAIResponsesModel(OpenAIChatModel):
    """A `ChatModel` behind ``POST {base_url}/responses``."""

    path = "responses"

    def after(self, response_id: str, known: Sequence[Message]) -> ChainedResponse:
        """The same model in a conversation that the endpoint has up to a response of its own.

        `known` are the messages that it has: they are not sent again, unless it has forgotten the response.
        """
        return ChainedResponse(self, response_id, known)

    def _parameters(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, Any]:
        parameters = sent_input(messages)
        if tools:
            # Strict schemas allow no default values, which ours have.
            parameters["tools"] = [{"type": "function", "strict": False, **tool} for tool in tools]
        return parameters

    def _format(self, response_format: Mapping[str, Any]) -> dict[str, Any]:
        if not response_format:
            return {}
        schema = response_format.get("json_schema", {})
        return {"text": {"format": {"type": response_format["type"], **schema}}}

    def _opened(self, call: Call, parameters: Mapping[str, Any], schema: Schema | None) -> Response:
        return self._answered(call, {**parameters, "stream": call.in_pieces}, schema)

    def _accumulator(self) -> Accumulator:
        return _EventAccumulator(self.model)

    def _completion(self, document: Mapping[str, Any]) -> Completion:
        return completion_of(document, self.model)


class ChainedResponse(ChatModel):
    """One that goes on from a response. Once that is unknown it sends everything, for good."""

    def __init__(self, base: OpenAIResponsesModel, response_id: str, known: Sequence[Message]) -> None:
        self.name = base.name
        self.context_tokens = base.context_tokens
        self.base = base
        self.response_id = response_id
        self.known = known

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
        if self.response_id:
            new = [message for message in messages if not any(message is known for known in self.known)]
            parameters = {**self.base._parameters(new, tools), "previous_response_id": self.response_id}
            call = Call(timeout_s, on_send, in_pieces=in_pieces)
            pieces = self.base._streamed(parameters, schema, call)
            try:
                first = next(pieces)
            except ModelRefused as error:
                # It says that it does not know, or does not take, the response to go on from.
                if "previous response" not in error.detail.casefold().replace("_", " "):
                    raise
                self.response_id = ""
            else:
                yield first
                yield from pieces
                return
        yield from self.base.stream(
            messages,
            schema=schema,
            tools=tools,
            timeout_s=timeout_s,
            on_send=on_send,
            in_pieces=in_pieces,
        )


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
        parts += [{"type": "input_image", "image_url": picture.data_url} for picture in message.pictures]
        yield {"role": message.role, "content": parts}
        return
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": message.content}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def completion_of(document: Mapping[str, Any], asked_model: str) -> Completion:
    """What a response holds. Nothing validates it before, so anything may stand in it.

    Raises `ModelMalformed` when there is neither text nor a call, `ModelRefused` for a refusal, and
    `ModelFailed` for one that failed.
    """
    output = document.get("output")
    if not isinstance(output, list):
        raise ModelMalformed("the answer holds no output; is the base URL right?")
    if document.get("status") == "failed":
        raise ModelFailed(f"the server failed in its answer: {_reason(document)}")
    parts = [part for item in output for part in _parts(item)]
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    calls = tuple(
        _call(item) for item in output if isinstance(item, dict) and item.get("type") == "function_call"
    )
    if not text.strip() and not calls:
        refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
        if refusals:
            raise ModelRefused(short(refusals[0]))
        raise ModelSilent("the answer is empty")
    model, response_id = document.get("model"), document.get("id")
    is_cut = document.get("status") == "incomplete"
    return Completion(
        text,
        usage_of(document.get("usage"), ("input_tokens", "output_tokens")),
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


def _reason(document: Mapping[str, Any]) -> str:
    error = document.get("error")
    return short(str(member(error, "message") or error or "no reason is given"))


@dataclass(slots=True)
class _EventAccumulator:
    """A streamed response so far; its last event holds the whole."""

    model: str
    document: Any = None
    text: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, event: Mapping[str, Any]) -> str:
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self.document = event.get("response")
            return ""
        delta = event.get("delta")
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
        if not isinstance(self.document, dict):
            raise ModelBrokeOff("the answer broke off before its end")
        completion = completion_of(self.document, self.model)
        # Some servers leave the text out of the last event.
        return completion if completion.text else replace(completion, text="".join(self.text))
