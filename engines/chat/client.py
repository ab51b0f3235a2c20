"""Requests to an OpenAI-compatible endpoint: no redirects, no detour, every body announced.

A redirect is never followed: the key and the text were meant for the address that was entered. For
this machine no proxy of the environment is used. Each request has a connection of its own, so that it
can be ended as a whole (`engines.cancellation`); beside a model's answer, opening one takes no time.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from engines.cancellation import Cancellation, current, tracing
from engines.chat.network import is_local, public_url
from engines.chat.protocol import (
    ContextTooLong,
    ModelBrokeOff,
    ModelBusy,
    ModelError,
    ModelFailed,
    ModelGarbled,
    ModelMalformed,
    ModelNoCredit,
    ModelNoKey,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnknown,
    ModelUnreachable,
    OutgoingRequest,
    RequestHook,
)

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from openai import OpenAI
    from openai._types import RequestOptions

MAX_BYTES = 8_000_000
"""Of a response that comes as a whole."""

_NO_KEY = "none"
"""The client insists on a key; where none is set the header of it is left out."""

_MAX_DETAIL_CHARS = 300
_MAX_PIECE_CHARS = 80
# Endpoints share no error codes, so the kind of a refusal is told from their words.
_TOO_LONG_WORDS = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|n_ctx|too many tokens|prompt is too long"
    r"|exceed\w* (the )?(available |model'?s? )?(context|max\w* tokens)",
    re.I,
)
_WINDOW_WORDS = re.compile(r"context[ _-]?(?:length|size|window)\D{0,20}(\d[\d,]{2,})", re.I)
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


@contextmanager
def sent(
    url: str,
    document: Mapping[str, Any] | None = None,
    *,
    api_key: str = "",
    timeout_s: float,
    on_send: RequestHook | None = None,
    cancellation: Cancellation | None = None,
) -> Iterator[Response]:
    """The response to a GET, or to a POST of `document`, while it is read; one that is an error is raised.

    `timeout_s` bounds each wait; `cancellation`, else the current one, may end it all. `on_send` hears
    of a document before it leaves. Raises `ModelError`, and what `on_send` raised.
    """
    # Imported with the first request: it takes 0.8 s and 37 MB.
    import httpx2
    import openai

    body = None if document is None else _encoded(document)
    if on_send and body is not None:
        on_send(OutgoingRequest(public_url(url), body))
    has_begun = False
    try:
        with _client(url, api_key, timeout_s, cancellation or current()) as client:
            response = _opened(client, url, body, api_key)
            with closing(response):
                if response.status_code != 200:
                    raise _of_response(response, api_key)
                has_begun = True
                yield response
    except openai.APIStatusError as error:
        raise _of_response(error.response, api_key) from error
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ModelTimeout(
            "the answer stopped coming" if has_begun else f"no answer within {timeout_s:g} s"
        ) from error
    except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        why = short(str(error.__cause__ or error))
        if has_begun:
            raise ModelBrokeOff(f"the answer broke off ({why})") from error
        raise ModelUnreachable(f"nothing answers at {public_url(url)} ({why})") from error


def _client(url: str, api_key: str, timeout_s: float, cancellation: Cancellation | None) -> OpenAI:
    """A client for one request: it asks once, and `cancellation` can end its connection."""
    from openai import DefaultHttpxClient, OpenAI

    def watch(request: Request) -> None:
        if cancellation is not None:
            request.extensions = {**request.extensions, "trace": tracing(cancellation)}

    http = DefaultHttpxClient(
        trust_env=not is_local(url),
        follow_redirects=False,
        verify=_trusted(),
        event_hooks={"request": [watch]},
    )
    return OpenAI(
        base_url=url, api_key=api_key or _NO_KEY, http_client=http, max_retries=0, timeout=timeout_s
    )


def _opened(client: OpenAI, url: str, body: bytes | None, api_key: str) -> Response:
    """The response, not read yet. The client's own events are not used: what servers send is read with more
    tolerance (`events_of`).
    """
    from openai import Omit, Stream

    headers: dict[str, str | Omit] = {
        "Accept": "text/event-stream, application/json",
        "Content-Type": "application/json",
    }
    if not api_key:
        headers["Authorization"] = Omit()
    options: RequestOptions = {"headers": headers}
    if body is None:
        return client.get(
            url, cast_to=object, options=options, stream=True, stream_cls=Stream[object]
        ).response
    return client.post(
        url, cast_to=object, content=body, options=options, stream=True, stream_cls=Stream[object]
    ).response


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates takes longer than many a request."""
    import httpx2

    return httpx2.create_ssl_context()


def _encoded(document: Mapping[str, Any]) -> bytes:
    """JSON; halves of characters, which some programs leave in texts, become question marks."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def joined(base_url: str, path: str) -> str:
    """An address below the base URL, whose query stays."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}"))


def document_of(response: Response) -> Any:
    """A response that came as a whole. Raises `ModelMalformed`."""
    content = bytearray()
    for piece in response.iter_bytes():
        content += piece
        if len(content) > MAX_BYTES:
            raise ModelMalformed(f"the answer is longer than {MAX_BYTES:,} bytes")
    try:
        return json.loads(bytes(content))
    except (ValueError, RecursionError) as error:
        raise ModelMalformed("the answer is not JSON; is the base URL right?") from error


def events_of(response: Response, api_key: str = "") -> Iterator[Mapping[str, Any]]:
    """The events of a stream, each one line of JSON. Raises `ModelGarbled`, and what an event reports."""
    for line in response.iter_lines():
        field, _, value = line.partition(":")
        if field not in ("data", "error") or value.strip() == "[DONE]":
            continue
        try:
            event = json.loads(value)
        except (ValueError, RecursionError) as error:
            piece = short(without_key(value, api_key))[:_MAX_PIECE_CHARS]
            raise ModelGarbled(f"the server sent a piece that is not JSON: {piece}") from error
        if field == "error" or (isinstance(event, dict) and event.get("error")):
            detail = short(without_key(detail_of(event), api_key))
            too_long = _too_long(detail)
            if too_long.window:  # else not the request, but the answer grew too long
                raise too_long
            raise ModelFailed(f"the server failed in its answer: {detail}")
        if isinstance(event, dict):
            yield event


def _of_response(response: Response, api_key: str) -> ModelError:
    try:
        document = document_of(response)
    except ModelMalformed:
        document = {}
    code = document.get("error", document) if isinstance(document, dict) else None
    code = code.get("code") if isinstance(code, dict) else None
    detail = detail_of(document) if document else response.reason_phrase
    error = error_of(response.status_code, detail, response.headers, str(code or ""), api_key)
    error.status = response.status_code
    return error


def error_of(
    status: int, detail: str, headers: Mapping[str, str], code: str = "", api_key: str = ""
) -> ModelError:
    """The error for a response that is none: its status, the endpoint's words and its error code."""
    sentence = without_key(f"HTTP {status}: {short(detail)}", api_key)
    words = f"{code} {detail}"
    wait_s = _wait_s(headers.get("retry-after", ""))
    if 300 <= status < 400:  # never followed: key and text were meant for another
        host = urlsplit(headers.get("location", "")).hostname or "another one"
        return ModelRefused(f"HTTP {status}: the address leads on to {host}; not followed")
    if code == "context_length_exceeded" or status == 413 or _TOO_LONG_WORDS.search(detail):
        return _too_long(sentence)
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
        return ModelFailed(sentence, retry_after_s=wait_s)
    if status in (400, 404, 422) and _MODEL_WORDS.search(words):
        return ModelUnknown(sentence)
    return ModelRefused(sentence)


def _too_long(sentence: str) -> ContextTooLong:
    """With the window that the endpoint names."""
    window = _WINDOW_WORDS.search(sentence)
    return ContextTooLong(sentence, int(window[1].replace(",", "")) if window else 0)


def detail_of(body: Any) -> str:
    """The endpoint's message: OpenAI's shape, FastAPI's, or the raw body; '' when there is none."""
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return str(body or "")


def without_key(text: str, api_key: str) -> str:
    """What a server says of a request, in which it may repeat the key."""
    return text.replace(api_key, "***") if api_key else text


def short(text: str) -> str:
    """One line of at most 300 characters, all of which can be shown."""
    flat = "".join(filter(str.isprintable, " ".join(text.split())))
    return flat if len(flat) <= _MAX_DETAIL_CHARS else f"{flat[:_MAX_DETAIL_CHARS]}…"


def _wait_s(retry_after: str) -> float | None:
    """Seconds to wait by the header of that name, which holds seconds or a date (RFC 9110, 10.2.3)."""
    try:
        wait_s = float(retry_after)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, wait_s), 86_400.0)


# Until an answer begins nobody has seen a word of it, so the same request may go out again after a failure
# that passes.


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
