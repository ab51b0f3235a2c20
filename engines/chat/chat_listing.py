"""Which models an endpoint has: ``GET {base_url}/models``, and the servers found on this machine.

The list is OpenAI's (``{"data": [{"id", "owned_by"}]}``). Some servers say more, each in its own
field: vLLM ``max_model_len``, others ``context_length`` or ``context_window``.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import urlsplit

from engines.chat.addresses import is_local, problem_of, public_url
from engines.chat.chat_errors import detail_of, error_of, short
from engines.chat.protocol import ModelError, ModelMalformed, ModelRefused, ModelTimeout, ModelUnreachable

_MAX_BYTES = 4_000_000
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window")

PORTS: Mapping[int, str] = {11434: "Ollama", 8080: "llama.cpp server", 8000: "vLLM"}
"""Where the usual servers listen unless told otherwise."""

_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp server", "vllm": "vLLM"}
"""What those servers write into ``owned_by``."""

OLLAMA_CONTEXT_TOKENS = 4_096
"""Ollama's window where less than 24 GiB of video memory is found (docs.ollama.com/context-length).

A longer prompt is cut without a word, so a larger window must have been set on the server's side.
"""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of an endpoint; `context_tokens` only where the endpoint says it."""

    id: str
    owned_by: str = ""
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server on this machine, and what it has."""

    kind: str  # Ollama, llama.cpp server, vLLM, or "Model server" where it does not say
    base_url: str
    models: tuple[ListedModel, ...]


def list_models(base_url: str, api_key: str = "", *, timeout_s: float = 5.0) -> tuple[ListedModel, ...]:
    """The models of an endpoint, in its order. Raises `ModelError`."""
    document = _get_json(f"{base_url.rstrip('/')}/models", api_key, timeout_s)
    listed = document.get("data") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ModelMalformed("the answer is no list of models; is the base URL right?")
    return tuple(
        _model(each) for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)
    )


def find_servers(ports: Sequence[int] = tuple(PORTS), timeout_s: float = 1.0) -> list[FoundServer]:
    """Model servers that answer on this machine's loopback address, in the order of `ports`.

    One short request to each port, without a key; what does not answer like a model server is left
    out. Nothing beyond this machine is asked.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return [found for found in pool.map(lambda port: _probe(port, timeout_s), ports) if found]


def _probe(port: int, timeout_s: float) -> FoundServer | None:
    root = f"http://127.0.0.1:{port}"
    try:
        models = list_models(f"{root}/v1", timeout_s=timeout_s)
    except ModelError:
        return None
    kind = next((_OWNERS[model.owned_by] for model in models if model.owned_by in _OWNERS), "")
    window = None
    if kind == "llama.cpp server":
        window = _llama_window(root, timeout_s)
    elif kind == "Ollama":
        window = OLLAMA_CONTEXT_TOKENS
    known = tuple(ListedModel(m.id, m.owned_by, m.context_tokens or window) for m in models)
    return FoundServer(kind or "Model server", f"{root}/v1", known)


def _llama_window(root: str, timeout_s: float) -> int | None:
    """The context window a llama.cpp server was started with, from its ``/props``."""
    try:
        document = _get_json(f"{root}/props", "", timeout_s)
    except ModelError:
        return None
    settings = document.get("default_generation_settings") if isinstance(document, dict) else None
    return _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _model(each: Mapping[str, Any]) -> ListedModel:
    owner = each.get("owned_by")
    windows = (_positive(each.get(name)) for name in _CONTEXT_FIELDS)
    window = next((size for size in windows if size), None)
    return ListedModel(each["id"], owner if isinstance(owner, str) else "", window)


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key was meant for the address that was entered, and for no other."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def _get_json(url: str, api_key: str, timeout_s: float) -> Any:
    problem = problem_of(url)
    if problem:
        raise ModelRefused(f"the address {problem}")
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if is_local(url):  # what is meant for this machine must not take a detour
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    if api_key:
        request.add_unredirected_header("Authorization", f"Bearer {api_key}")
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as response:
            return _read(response)
    except urllib.error.HTTPError as error:
        with error:
            raise _of_status(error, api_key) from None
    except TimeoutError as error:
        raise ModelTimeout(f"no answer within {timeout_s:g} s") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise ModelTimeout(f"no answer within {timeout_s:g} s") from error
        raise ModelUnreachable(f"nothing answers at {public_url(url)} ({short(str(reason))})") from error


def _read(response: IO[bytes]) -> Any:
    content = response.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ModelMalformed("the list of models is too long")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelMalformed("the answer is not JSON; is the base URL right?") from error


def _of_status(error: urllib.error.HTTPError, api_key: str) -> ModelError:
    content = error.read(_MAX_BYTES)
    try:
        detail = detail_of(json.loads(content))
    except (ValueError, RecursionError):
        detail = error.reason if isinstance(error.reason, str) else ""
    return error_of(
        error.code,
        detail,
        retry_after=error.headers.get("Retry-After", ""),
        api_key=api_key,
        location=urlsplit(error.headers.get("Location", "")).hostname or "",
    )
