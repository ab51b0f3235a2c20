"""What an endpoint refused, as an error of our tree with the endpoint's own words; never with the key."""

from __future__ import annotations

import re
from typing import Any

from engines.chat.protocol import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelNoCredit,
    ModelNoKey,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnknown,
    ModelUnreachable,
)

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
