"""What a server tells of itself: its models, their windows, and what they can do.

The list of models is OpenAI's (``GET {base_url}/models``). What a model can do stands in it with some
servers, and under an address of their own with others:

- Ollama: https://docs.ollama.com/api-reference/show-model-details, and ``/api/ps`` for what is loaded
- llama.cpp: https://github.com/ggml-org/llama.cpp/tree/master/tools/server, ``/props``
- LM Studio: https://lmstudio.ai/docs/developer/rest/list, ``/api/v1/models``, before 0.4 ``/api/v0/models``
- vLLM: ``max_model_len`` in its list
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from engines.chat.client import document_of, joined, sent
from engines.chat.network import problem_of, public_url
from engines.chat.protocol import (
    Abilities,
    ModelError,
    ModelMalformed,
    ModelRefused,
    ModelUnknown,
    RequestHook,
)

PORTS: Mapping[int, str] = {11434: "Ollama", 8080: "llama.cpp server", 8000: "vLLM", 1234: "LM Studio"}
"""Where the usual servers listen unless told otherwise."""

OLLAMA_CONTEXT_TOKENS = 4_096
"""Ollama's window where less than 24 GiB of video memory is found (docs.ollama.com/context-length).

A longer prompt is cut without a word, so a larger window must have been set on the server's side.
"""

_OWNERS = {
    "library": "Ollama",
    "llamacpp": "llama.cpp server",
    "vllm": "vLLM",
    "organization_owner": "LM Studio",
}
"""What those servers write into ``owned_by``."""

# The window as each server names it, vLLM in the first.
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window")
_OLLAMA_WINDOW = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of an endpoint; `context_tokens` only where the endpoint says it."""

    id: str
    owned_by: str = ""
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server on this machine, and what it has."""

    kind: str  # one of `PORTS`, or "Model server" where it does not say
    base_url: str
    models: tuple[ListedModel, ...]


def list_models(base_url: str, api_key: str = "", *, timeout_s: float = 5.0) -> tuple[ListedModel, ...]:
    """The models of an endpoint, in its order. Raises `ModelError`."""
    listed = _field(get_json(joined(base_url, "models"), api_key, timeout_s), "data")
    if not isinstance(listed, list):
        raise ModelMalformed("the answer is no list of models; is the base URL right?")
    return tuple(
        _model(entry) for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    )


def first_model(base_url: str, api_key: str = "", *, timeout_s: float = 5.0) -> str:
    """The model that answers where none was named. Raises `ModelError`."""
    listed = list_models(base_url, api_key, timeout_s=min(timeout_s, 5.0))
    if not listed:
        raise ModelUnknown(f"{public_url(base_url)} lists no models")
    return listed[0].id


def find_servers(ports: Sequence[int] = tuple(PORTS), timeout_s: float = 1.0) -> list[FoundServer]:
    """Model servers that answer on this machine's loopback address, in the order of `ports`.

    One short request to each port, without a key; what does not answer like a model server is left
    out. Nothing beyond this machine is asked.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return [server for server in pool.map(lambda port: _found(port, timeout_s), ports) if server]


def abilities_of(
    base_url: str,
    model: ListedModel,
    api_key: str = "",
    *,
    timeout_s: float = 3.0,
    on_send: RequestHook | None = None,
) -> Abilities:
    """What the server says of a model of its list; what it does not say stays unknown.

    Raises what `on_send` raises.
    """
    listed = Abilities(context_tokens=model.context_tokens)
    tell = _TELLERS.get(_OWNERS.get(model.owned_by, ""))
    if tell is None:
        return listed
    parts = urlsplit(base_url)

    def ask(path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            return get_json(f"{parts.scheme}://{parts.netloc}{path}", api_key, timeout_s, body, on_send)
        except ModelError:  # an older version, or one behind a gateway: it does not tell
            return None

    return tell(ask, model.id).over(listed)


def get_json(
    url: str,
    api_key: str,
    timeout_s: float,
    body: Mapping[str, Any] | None = None,
    on_send: RequestHook | None = None,
) -> Any:
    """What an address answers to a GET, or to a POST of `body`. Raises `ModelError`."""
    problem = problem_of(url)
    if problem:
        raise ModelRefused(f"the address {problem}")
    with sent(url, body, api_key=api_key, timeout_s=timeout_s, on_send=on_send) as response:
        return document_of(response)


def _found(port: int, timeout_s: float) -> FoundServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        models = list_models(base_url, timeout_s=timeout_s)
    except ModelError:
        return None
    kind = next((_OWNERS[model.owned_by] for model in models if model.owned_by in _OWNERS), "Model server")
    known = (
        replace(model, context_tokens=abilities_of(base_url, model, timeout_s=timeout_s).context_tokens)
        for model in models
    )
    return FoundServer(kind, base_url, tuple(known))


def _model(entry: Mapping[str, Any]) -> ListedModel:
    owner = entry.get("owned_by")
    windows = (_positive(entry.get(name)) for name in _CONTEXT_FIELDS)
    window = next((size for size in windows if size), None)
    return ListedModel(entry["id"], owner if isinstance(owner, str) else "", window)


# -- what the servers say in their own ways ---------------------------------------------------
#
# That a model is not made for calls is no "no": it may write them as text, which only asking it tells.

_Ask = Callable[..., Any]
"""``(path, body)`` to the document there; None for none."""


def _ollama(ask: _Ask, model: str) -> Abilities:
    """Capabilities of the model; its window as it is loaded, else as it was set, else Ollama's own."""
    shown = ask("/api/show", {"model": model})
    window = _OLLAMA_WINDOW.search(str(_field(shown, "parameters")))
    loaded = _entry(_field(ask("/api/ps"), "models"), "name", model)
    abilities = Abilities(
        context_tokens=_positive(_field(loaded, "context_length"))
        or (int(window[1]) if window else OLLAMA_CONTEXT_TOKENS)
    )
    names = _field(shown, "capabilities")
    if not isinstance(names, list):
        return abilities
    return replace(abilities, supports_tools="tools" in names or None, supports_vision="vision" in names)


def _llama_cpp(ask: _Ask, model: str) -> Abilities:
    """The window of a slot, whether it was started with eyes, and what the chat template can."""
    props = ask("/props")
    sees = _field(_field(props, "modalities"), "vision")
    calls = _field(_field(props, "chat_template_caps"), "supports_tool_calls")
    return Abilities(
        supports_tools=calls is True or None,
        supports_vision=sees if isinstance(sees, bool) else None,
        context_tokens=_positive(_field(_field(props, "default_generation_settings"), "n_ctx")),
    )


def _lm_studio(ask: _Ask, model: str) -> Abilities:
    """The window that is loaded, never the largest one possible, and what the model was made for."""
    entry = _entry(_field(ask("/api/v1/models"), "models"), "key", model)
    if entry is None:
        return _lm_studio_before_0_4(ask, model)
    sees, calls = (_field(_field(entry, "capabilities"), name) for name in ("vision", "trained_for_tool_use"))
    instances = _field(entry, "loaded_instances")
    loaded = instances[0] if isinstance(instances, list) and instances else None
    return Abilities(
        supports_tools=calls is True or None,
        supports_vision=sees if isinstance(sees, bool) else None,
        context_tokens=_positive(_field(_field(loaded, "config"), "context_length")),
    )


def _lm_studio_before_0_4(ask: _Ask, model: str) -> Abilities:
    entry = _entry(_field(ask("/api/v0/models"), "data"), "id", model)
    kind, names = _field(entry, "type"), _field(entry, "capabilities")
    return Abilities(
        supports_tools=(isinstance(names, list) and "tool_use" in names) or None,
        supports_vision=kind == "vlm" if kind in ("vlm", "llm") else None,
        context_tokens=_positive(_field(entry, "loaded_context_length")),
    )


_TELLERS: Mapping[str, Callable[[_Ask, str], Abilities]] = {
    "Ollama": _ollama, "llama.cpp server": _llama_cpp, "LM Studio": _lm_studio,
}  # fmt: skip


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _entry(entries: Any, key: str, name: str) -> Any:
    return next((e for e in entries if _field(e, key) == name), None) if isinstance(entries, list) else None


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
