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
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from engines.chat.network import Cancellation, current, is_local, public_url, tracing
from engines.chat.protocol import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelFailed,
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
)

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


NO_KEY = "not-needed"
"""Sent where no key is set: local servers want none, and the client insists on something."""

_MAX_DETAIL_CHARS = 300
# Endpoints share no error codes, so the kind of a refusal is told from their words.
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

WAITS_S = (0.5, 2.0)
"""How long to wait before the second and the third request; there is no fourth."""

MAX_WAIT_S = 15.0
"""An endpoint that says to come back later than this is not waited for."""

T = TypeVar("T")

_on_send: ContextVar[RequestHook | None] = ContextVar("on_send", default=None)


def connect(base_url: str, api_key: str, retries: int = 0) -> OpenAI:
    """A client that opens its first connection with the first request.

    By itself it asks again `retries` times, when nothing answered or the endpoint was busy.
    """
    # Imported with the first question: the client takes 0.6 s and 40 MB.
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
    base_url: str, api_key: str, timeout_s: float, on_send: RequestHook | None, cancellation: Cancellation
) -> Iterator[None]:
    """For one request: it is announced, `cancellation` can end it, and errors become those of our tree.

    Raises what `on_send` raised.
    """
    import openai

    raise_if_over(cancellation, timeout_s)
    with cancellation.here(), with_request_hook(on_send) as stopped:
        try:
            yield
            raise_if_over(cancellation, timeout_s)  # a socket that is shut down reads like an end
        except (openai.OpenAIError, ValueError) as error:
            raise_if_over(cancellation, timeout_s)
            if stopped and isinstance(error, openai.APIConnectionError):
                raise stopped[0] from None
            raise _typed(error, base_url, api_key, timeout_s) from error


def raise_if_over(cancellation: Cancellation, timeout_s: float) -> None:
    """Raises `ModelTimeout` once the time of a request is up, `ModelStopped` once nobody waits for it."""
    if cancellation.is_late:
        raise ModelTimeout(f"no answer within {timeout_s:g} s")
    if cancellation.is_over:
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
    cancellation = current()
    if cancellation is not None:
        request.extensions = {**request.extensions, "trace": tracing(cancellation)}


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


def _typed(error: Exception, base_url: str, api_key: str, timeout_s: float) -> ModelError:
    """What a failure of the client is in our tree."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, api_key)
    if isinstance(error, openai.APITimeoutError):
        return ModelTimeout(f"no answer within {timeout_s:g} s")
    if isinstance(error, openai.APIConnectionError):
        why = f" ({short(str(error.__cause__))})" if error.__cause__ else ""
        return ModelUnreachable(f"nothing answers at {public_url(base_url)}{why}")
    return ModelMalformed(f"the answer could not be read: {short(str(error))}")


def _of_status(error: APIStatusError, api_key: str) -> ModelError:
    detail = detail_of(error.body) or error.message
    return error_of(error.status_code, detail, error.response.headers, getattr(error, "code", None), api_key)


def error_of(
    status: int, detail: str, headers: Mapping[str, str], code: str | None = None, api_key: str = ""
) -> ModelError:
    """The error for a response that is none: its status, the endpoint's words and its error code."""
    sentence = f"HTTP {status}: {short(detail)}"
    if api_key:
        sentence = sentence.replace(api_key, "***")
    words = f"{code or ''} {detail}"
    wait_s = _wait_s(headers.get("retry-after", ""))
    if 300 <= status < 400:  # never followed: key and text were meant for another
        host = urlsplit(headers.get("location", "")).hostname or "another one"
        return ModelRefused(f"HTTP {status}: the address leads on to {host}; not followed")
    if code == "context_length_exceeded" or status == 413 or _TOO_LONG_WORDS.search(detail):
        return ContextTooLong(sentence)
    if status in (401, 403):
        return ModelUnauthorized(sentence) if api_key else ModelNoKey(sentence)
    if status == 402 or (status == 429 and _CREDIT_WORDS.search(words)):
        return ModelNoCredit(sentence)
    if status == 429:
        return ModelRateLimited(sentence, retry_after_s=wait_s)
    if status in (408, 504):
        return ModelTimeout(sentence)
    if status in (503, 529):
        return ModelBusy(sentence, retry_after_s=wait_s)
    if status >= 500:
        return ModelFailed(f"the server failed: {sentence}", retry_after_s=wait_s)
    if status in (400, 404, 422) and _MODEL_WORDS.search(words):
        return ModelUnknown(sentence)
    return ModelRefused(sentence)


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


def _wait_s(retry_after: str) -> float | None:
    """Seconds to wait by the header of that name, which holds seconds or a date (RFC 9110, 10.2.3)."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


# Until an answer begins nobody has seen a word of it, so the same request may go out again after a failure
# that passes. The client's own retries cannot be stopped in their pauses (docs/dependencies.md).


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
