"""The connection to an OpenAI-compatible endpoint: no redirects, no detour, every request announced.

A redirect is never followed: the key and the text were meant for the address that was entered. For
this machine no proxy of the environment is used. Each request has a connection of its own, so that it
can be ended as a whole (`engines.chat.network`); beside a model's answer, opening one takes no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engines.chat.addresses import is_local, public_url
from engines.chat.chat_errors import detail_of, error_of, refuses_format, short
from engines.chat.network import Cancellation, current, tracing
from engines.chat.protocol import (
    ModelError,
    ModelMalformed,
    ModelStopped,
    ModelTimeout,
    ModelUnreachable,
    OutgoingRequest,
    RequestHook,
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
