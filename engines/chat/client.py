"""The connection to an OpenAI-compatible endpoint: no redirects, no detour, every request announced.

A redirect is never followed: the key and the text were meant for the address that was entered. For
this machine no proxy of the environment is used. Each request has a connection of its own, so that it
can be ended as a whole (`engines.chat.network`); beside a model's answer, opening one takes no time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from engines.chat.network import Cancellation, current, is_local, public_url, tracing
from engines.chat.protocol import (
    Completion,
    ContextTooLong,
    Message,
    ModelBusy,
    ModelError,
    ModelMalformed,
    ModelNoCredit,
    ModelNoKey,
    ModelRateLimited,
    ModelRefused,
    ModelStopped,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnknown,
    ModelUnreachable,
    OutgoingRequest,
    RequestHook,
    Usage,
)

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


NO_KEY = "not-needed"
"""Sent where no key is set: local servers want none, and the client insists on something."""

_on_send: ContextVar[RequestHook | None] = ContextVar("on_send", default=None)


class FormatRefused(Exception):
    """The endpoint does not take this response format; a looser one may be taken.

    `error` is what it is when none was asked for.
    """

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.detail)
        self.error = error


def connect(base_url: str, api_key: str, retries: int = 0) -> OpenAI:
    """A client that opens its first connection with the first request.

    By itself it asks again `retries` times, when nothing answered or the endpoint was busy.
    """
    # Imported with the first question: the client takes 0.6 s and 40 MB (INS-2).
    import httpx2
    from openai import DefaultHttpxClient, OpenAI

    http = DefaultHttpxClient(
        trust_env=not is_local(base_url),
        follow_redirects=False,
        event_hooks={"request": [_watch, _announce]},
        limits=httpx2.Limits(max_keepalive_connections=0),
    )
    return OpenAI(base_url=base_url, api_key=api_key or NO_KEY, max_retries=retries, http_client=http)


@contextmanager
def translated_errors(
    base_url: str, api_key: str, timeout_s: float, on_send: RequestHook | None, cutoff: Cancellation
) -> Iterator[None]:
    """For the length of one request: it is announced, `cutoff` can end it, and what goes wrong is of our
    tree.

    Raises `FormatRefused` for a refusal of the response format, and what `on_send` raised.
    """
    import openai

    check(cutoff, timeout_s)
    with cutoff.here(), with_request_hook(on_send) as stopped:
        try:
            yield
            check(cutoff, timeout_s)  # a socket that is shut down reads like an end
        except (openai.OpenAIError, ValueError) as error:
            check(cutoff, timeout_s)
            if stopped and isinstance(error, openai.APIConnectionError):
                raise stopped[0] from None
            raise _typed(error, base_url, api_key, timeout_s) from error


def check(cutoff: Cancellation, timeout_s: float) -> None:
    """Raises `ModelTimeout` once the time of a request is up, `ModelStopped` once nobody waits for it."""
    if cutoff.is_late:
        raise ModelTimeout(f"no answer within {timeout_s:g} s")
    if cutoff.is_over:
        raise ModelStopped("nobody waits for the answer any more")


@contextmanager
def with_request_hook(on_send: RequestHook | None) -> Iterator[list[BaseException]]:
    """`on_send` hears of every request made in here; what it raised, which stops one, is in the list."""
    stopped: list[BaseException] = []
    token = _on_send.set(_remembering(on_send, stopped) if on_send else None)
    try:
        yield stopped
    finally:
        _on_send.reset(token)


def _watch(request: Any) -> None:
    cutoff = current()
    if cutoff is not None:
        request.extensions = {**request.extensions, "trace": tracing(cutoff)}


def _announce(request: Any) -> None:
    on_send = _on_send.get()
    if on_send is not None:
        on_send(OutgoingRequest(public_url(str(request.url)), request.content))


def _remembering(on_send: RequestHook, stopped: list[BaseException]) -> RequestHook:
    """The client turns every exception below it into one of its own; this one is wanted as it is."""

    def announce(sending: OutgoingRequest) -> None:
        try:
            on_send(sending)
        except BaseException as error:
            stopped.append(error)
            raise

    return announce


def _typed(error: Exception, base_url: str, api_key: str, timeout_s: float) -> Exception:
    """What a failure of the client is in our tree."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, api_key)
    if isinstance(error, openai.APITimeoutError):
        return ModelTimeout(f"no answer within {timeout_s:g} s")
    if isinstance(error, openai.APIConnectionError):
        return ModelUnreachable(_nothing_answers(base_url, error))
    return ModelMalformed(f"the answer could not be read: {short(str(error))}")


def _of_status(error: APIStatusError, api_key: str) -> Exception:
    detail = detail_of(error.body) or error.message
    headers = error.response.headers
    typed = error_of(
        error.status_code,
        detail,
        code=getattr(error, "code", None),
        retry_after=headers.get("retry-after", ""),
        api_key=api_key,
        location=urlsplit(headers.get("location", "")).hostname or "",
    )
    return FormatRefused(typed) if refuses_format(error.status_code, detail) else typed


def _nothing_answers(base_url: str, error: Exception) -> str:
    cause = error.__cause__
    return f"nothing answers at {public_url(base_url)}" + (f" ({short(str(cause))})" if cause else "")


# ---- chat errors
# What an endpoint refused, as an error of our tree with the endpoint's own words; never with the key.

_MAX_DETAIL_CHARS = 300
_FORMAT_WORDS = re.compile(r"response_?format|json_?(schema|object|mode)|structured|grammar|guided", re.I)
_TOO_LONG_WORDS = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|n_ctx|too many tokens|prompt is too long"
    r"|exceed\w* (the )?(available |model'?s? )?(context|max\w* tokens)",
    re.I,
)
_CREDIT_WORDS = re.compile(
    r"insufficient[_ ](quota|credit|balance|funds)|billing|exceeded your current quota", re.I
)
_MODEL_WORDS = re.compile(
    r"model\b.{0,80}\b(not found|not exist|does not exist|not available|unknown|invalid)"
    r"|(unknown|no such|invalid) model|not a valid model|model_not_found",
    re.I,
)


def error_of(
    status: int,
    detail: str,
    *,
    code: str | None = None,
    retry_after: str = "",
    api_key: str = "",
    location: str = "",
) -> ModelError:
    """The error for a response that is none: its status, the endpoint's words and its error code.

    `retry_after` is the header of that name (RFC 9110, 10.2.3; seconds only), `location` the host
    that a redirect names: it is told, never followed, because key and text were meant for another.
    """
    told = f"HTTP {status}: {short(detail)}"
    if api_key:
        told = told.replace(api_key, "***")
    words = f"{code or ''} {detail}"
    wait_s = _seconds(retry_after)
    if 300 <= status < 400:
        return ModelRefused(
            f"HTTP {status}: the address leads on to {location or 'another one'}; not followed"
        )
    if code == "context_length_exceeded" or status == 413 or _TOO_LONG_WORDS.search(detail):
        return ContextTooLong(told)
    if status in (401, 403):
        return ModelUnauthorized(told) if api_key else ModelNoKey(told)
    if status == 402 or (status == 429 and _CREDIT_WORDS.search(words)):
        return ModelNoCredit(told)
    if status == 429:
        return ModelRateLimited(told, retry_after_s=wait_s)
    if status in (408, 504):
        return ModelTimeout(told)
    if status in (503, 529):
        return ModelBusy(told, retry_after_s=wait_s)
    if status >= 500:
        return ModelUnreachable(f"the server failed: {told}", retry_after_s=wait_s)
    if status in (400, 404, 422) and _MODEL_WORDS.search(words):
        return ModelUnknown(told)
    return ModelRefused(told)


def refuses_format(status: int, detail: str) -> bool:
    """Whether a refusal is about the response format, so that a looser one may be taken."""
    return status in (400, 422, 501) and bool(_FORMAT_WORDS.search(detail))


def detail_of(body: Any) -> str:
    """The endpoint's message: OpenAI's shape, FastAPI's, or the raw body; '' when there is none."""
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return str(body or "")


def short(text: str) -> str:
    """One line of at most 300 characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_DETAIL_CHARS else f"{flat[:_MAX_DETAIL_CHARS]}…"


def _seconds(retry_after: str) -> float | None:
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        return None


# ---- chat messages
# Messages and completions in the shapes of the Chat Completions protocol.
#
# https://platform.openai.com/docs/api-reference/chat/create


def sent_messages(messages: Sequence[Message]) -> Any:
    """Messages as they are sent."""
    return [_sent(message) for message in messages]


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.tool_calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        return {"role": message.role, "content": message.content, "tool_calls": calls}
    if message.pictures:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
        parts += [{"type": "image_url", "image_url": {"url": each.data_url}} for each in message.pictures]
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
    found: list[Mapping[str, Any]] = []
    for call in calls if isinstance(calls, list) else ():
        function = getattr(call, "function", None)
        named = {"name": getattr(function, "name", None), "arguments": getattr(function, "arguments", None)}
        found.append({"id": getattr(call, "id", None), "type": "function", "function": named})
    return found


# ---- retrying
# Asking again after a failure that passes: bounded, backing off, and only while nothing was shown.
#
# An answer is asked for as a whole, so until it is here nobody has seen a word of it and the same
# request may go out again. What does not pass by itself (a key, a model's name, a timeout that has
# used the time up) is told at once.

T = TypeVar("T")

WAITS_S = (0.5, 2.0)
"""How long to wait before the second and the third request; there is no fourth."""

MAX_WAIT_S = 15.0
"""An endpoint that says to come back later than this is not waited for."""


def with_retries(
    request: Callable[[], T],
    *,
    left_s: Callable[[], float],
    waits_s: Sequence[float] = WAITS_S,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `request` returns, asked again while it fails for a moment and `left_s` seconds suffice."""
    for wait_s in waits_s:
        try:
            return request()
        except ModelError as error:
            pause_s = max(wait_s, error.retry_after_s or 0.0)
            if not error.is_temporary or pause_s > MAX_WAIT_S or pause_s >= left_s():
                raise
        sleep(pause_s)
    return request()
