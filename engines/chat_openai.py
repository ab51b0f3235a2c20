"""Any OpenAI-compatible endpoint, in the cloud or on this machine, through the `openai` client.

Only base URL, model and key differ between providers (R3.37, R3.43). What differs behind them is
how far an endpoint can be held to a JSON schema: the strictest way is tried first, and a refusal
that names the response format leads to the next one. The way that worked is remembered, so this
happens once; a refused request is no answer, so a turn still has one (R3.4).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engines.chat import (
    Completion,
    ContextTooLong,
    Message,
    ModelError,
    ModelMalformed,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
    Schema,
    Usage,
)

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

NO_KEY = "not-needed"
"""Sent where no key is set: local servers want none, and the client insists on something."""

_FORMAT_WORDS = re.compile(r"response_?format|json_?(schema|object|mode)|structured|grammar|guided", re.I)
_TOO_LONG_WORDS = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|n_ctx|too many tokens|prompt is too long"
    r"|exceed\w* (the )?(available |model'?s? )?(context|max\w* tokens)",
    re.I,
)
_MAX_DETAIL_CHARS = 300


class OpenAIChatModel:
    """A `ChatModel` behind ``POST {base_url}/chat/completions``.

    No connection is opened before the first question. Thread-safe.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        context_tokens: int = 8192,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.model = model
        self.context_tokens = context_tokens
        self._api_key = api_key
        self._client: OpenAI | None = None
        self._format = 0  # index into `_formats`: the strictest way not yet refused
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r}, {public_url(self.base_url)!r}, {self.model!r})"

    def complete(
        self, messages: Sequence[Message], *, schema: Schema | None = None, timeout_s: float
    ) -> Completion:
        """One completion; `ModelError` says what went wrong."""
        import openai

        payload: Any = [{"role": m.role, "content": m.content} for m in messages]
        for level, response_format in _formats(schema, self._format):
            try:
                answer = self._connected().chat.completions.create(
                    model=self.model, messages=payload, timeout=timeout_s, **response_format
                )
            except openai.APIStatusError as error:
                if response_format and _refuses_format(error):
                    self._format = max(self._format, level + 1)
                    continue
                raise _typed(error, self._api_key) from error
            except openai.APITimeoutError as error:
                raise ModelTimeout(f"no answer within {timeout_s:g} s") from error
            except openai.APIConnectionError as error:
                raise ModelUnreachable(_connection_detail(self.base_url, error)) from error
            except (openai.OpenAIError, ValueError) as error:
                raise ModelMalformed(f"the answer could not be read: {_short(str(error))}") from error
            return _completion(answer, self.model)
        raise AssertionError("the plain way sends no response format, so it is never skipped")

    def close(self) -> None:
        """Close kept connections; the next question opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> OpenAI:
        # Imported with the first question: the client takes 0.6 s and 40 MB (INS-2).
        from openai import DefaultHttpxClient, OpenAI

        with self._lock:
            if self._client is None:
                # What is meant for this machine must not take a detour over a proxy.
                direct = DefaultHttpxClient(trust_env=False) if is_local(self.base_url) else None
                self._client = OpenAI(
                    base_url=self.base_url,
                    api_key=self._api_key or NO_KEY,
                    max_retries=0,
                    http_client=direct,
                )
            return self._client


def public_url(base_url: str) -> str:
    """The address without a user, a password or a query, any of which may be a secret (SEC-11)."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def is_local(base_url: str) -> bool:
    """Whether an address is on this machine, so that nothing leaves it."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _formats(schema: Schema | None, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
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


def _refuses_format(error: APIStatusError) -> bool:
    return error.status_code in (400, 422, 501) and bool(_FORMAT_WORDS.search(_detail(error)))


def _typed(error: APIStatusError, api_key: str) -> ModelError:
    """The error of our tree for a status, with the endpoint's own words; never with the key (SEC-11)."""
    status, detail = error.status_code, _detail(error)
    if api_key:
        detail = detail.replace(api_key, "***")
    code = getattr(error, "code", None)
    if code == "context_length_exceeded" or status == 413 or _TOO_LONG_WORDS.search(detail):
        return ContextTooLong(detail)
    if status in (401, 403):
        return ModelUnauthorized(detail)
    if status == 429:
        return ModelRateLimited(detail, retry_after_s=_retry_after_s(error))
    if status in (408, 504):
        return ModelTimeout(detail)
    if status >= 500:
        return ModelUnreachable(f"the server failed: {detail}", retry_after_s=_retry_after_s(error))
    return ModelRefused(detail)


def _completion(answer: Any, asked_model: str) -> Completion:
    """The text of an answer. The client does not validate, so anything may stand in it."""
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise ModelMalformed("the answer holds no choices; is the base URL right?")
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", None)
    if not isinstance(text, str) or not text.strip():
        refusal = getattr(message, "refusal", None)
        if isinstance(refusal, str) and refusal:
            raise ModelRefused(_short(refusal))
        raise ModelMalformed("the answer is empty")
    model = getattr(answer, "model", None)
    finish = getattr(choices[0], "finish_reason", None)
    return Completion(
        text, _usage(getattr(answer, "usage", None)), model if isinstance(model, str) else asked_model,
        finish if isinstance(finish, str) else "stop",
    )  # fmt: skip


def _usage(usage: Any) -> Usage | None:
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    known = [count if isinstance(count, int) else None for count in counts]
    return None if known == [None, None] else Usage(*known)


def _detail(error: APIStatusError) -> str:
    """The endpoint's message: OpenAI's shape, FastAPI's, or the raw body."""
    body: Any = error.body
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return f"HTTP {error.status_code}: {_short(str(body or error.message))}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_DETAIL_CHARS else f"{flat[:_MAX_DETAIL_CHARS]}…"


def _connection_detail(base_url: str, error: Exception) -> str:
    cause = error.__cause__
    return f"nothing answers at {public_url(base_url)}" + (f" ({_short(str(cause))})" if cause else "")


def _retry_after_s(error: APIStatusError) -> float | None:
    value = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        return None
