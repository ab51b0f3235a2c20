"""What of an endpoint works: its address, the key, the model, a JSON schema, streaming.

One small real call answers most of it; it says nothing of anybody's screen. The steps stop at the
first that fails in a way that the others cannot survive.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, Any, Literal
from urllib.parse import urlsplit

from engines.chat.client import detail_of, error_of, short
from engines.chat.completions import OpenAIChatModel
from engines.chat.network import is_local, problem_of, public_url
from engines.chat.protocol import (
    Completion,
    Message,
    ModelError,
    ModelMalformed,
    ModelNoKey,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
    RequestHook,
    Schema,
)
from engines.chat.responses import OpenAIResponsesModel

Verdict = Literal["ok", "failed", "unknown"]
StepName = Literal["address", "key", "model", "answer", "json_schema", "streaming", "responses"]

_QUESTION = 'Answer with this JSON object and nothing else: {"ready": true}'
_SCHEMA: Schema = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_LIST_TIMEOUT_S = 10.0
_PROBE_TIMEOUT_S = 15.0
_ADDRESS_FAILS = (ModelUnreachable, ModelTimeout)
_KEY_FAILS = (ModelNoKey, ModelUnauthorized)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried. `detail` is a sentence for a person, of the endpoint where it failed."""

    name: StepName
    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of an endpoint; `context_tokens` only where the endpoint says it."""

    id: str
    owned_by: str = ""
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The steps in order. `error` is what kept it from answering; `models` are those it lists."""

    steps: tuple[Step, ...]
    models: tuple[ListedModel, ...] = ()
    error: ModelError | None = None
    duration_ms: int | None = None

    @property
    def works(self) -> bool:
        """Whether it answered."""
        return any(step.name == "answer" and step.verdict == "ok" for step in self.steps)


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    is_streamed: bool
    level: int  # of `formats`: 0 is a JSON schema


def check(
    base_url: str,
    model: str,
    api_key: str = "",
    *,
    timeout_s: float = 60.0,
    on_send: RequestHook | None = None,
) -> Report:
    """Try an endpoint. Without a model, as far as that goes. Raises only what `on_send` raises."""
    steps: list[Step] = []
    models: tuple[ListedModel, ...] = ()
    try:
        models = list_models(base_url, api_key, timeout_s=_LIST_TIMEOUT_S)
    except (*_ADDRESS_FAILS, *_KEY_FAILS) as error:
        if isinstance(error, _KEY_FAILS):
            answers = Step("address", "ok", f"{public_url(base_url)} answers")
            return Report((answers, Step("key", "failed", error.detail)), error=error)
        return Report((Step("address", "failed", error.detail),), error=error)
    except ModelError as error:  # not every server lists its models
        steps.append(
            Step("address", "ok", f"{public_url(base_url)} answers; it lists no models ({error.detail})")
        )
    else:
        steps.append(Step("address", "ok", f"{public_url(base_url)} answers and lists {len(models)} models"))
    if not model:
        return Report((*steps, Step("model", "unknown", "no model is chosen yet")), models)
    # Before the call that tells whether it works, so that the ledger ends with that one's outcome.
    other = _responses_step(base_url, model, api_key, min(timeout_s, _PROBE_TIMEOUT_S), on_send)
    started = time.monotonic()
    try:
        answer = _ask(base_url, model, api_key, timeout_s, on_send)
    except ModelError as error:
        failed = _failed_call(error, model, models, api_key)
        return Report((*steps, *failed), models, error)
    duration_ms = round((time.monotonic() - started) * 1000)
    worked = _worked(answer, model, api_key, duration_ms)
    return Report((*steps, *worked, other), models, None, duration_ms)


def _failed_call(error: ModelError, model: str, models: Sequence[ListedModel], api_key: str) -> list[Step]:
    if isinstance(error, _KEY_FAILS):
        return [Step("key", "failed", error.detail)]
    steps = [Step("key", "ok", "accepted" if api_key else "none is set, none was asked for")]
    if models and all(listed.id != model for listed in models):
        return [*steps, Step("model", "failed", f"{model} is not in its list ({error.detail})")]
    return [*steps, Step("answer", "failed", error.detail)]


def _worked(answer: _Answer, model: str, api_key: str, duration_ms: int) -> list[Step]:
    return [
        Step("key", "ok", "accepted" if api_key else "none is set, none was asked for"),
        Step("model", "ok", f"{model} is there"),
        Step("answer", "ok", f"answered in {duration_ms / 1000:.1f} s: {short(answer.text)[:80]}"),
        _schema_step(answer),
        Step("streaming", "ok", "the answer came in pieces")
        if answer.is_streamed
        else Step("streaming", "failed", "the answer came as a whole; chat needs no more"),
    ]


def _responses_step(
    base_url: str, model: str, api_key: str, timeout_s: float, on_send: RequestHook | None
) -> Step:
    """Whether it has the Responses protocol, too; chat needs it nowhere."""
    asked = OpenAIResponsesModel(model, base_url, model, api_key, waits_s=())
    try:
        asked.complete([Message("user", _QUESTION)], timeout_s=timeout_s, on_send=on_send)
    except ModelError as error:
        return Step("responses", "unknown", f"not used; chat needs it not ({error.detail})")
    finally:
        asked.close()
    return Step("responses", "ok", "it is there; switch it on to have conversations kept at the provider")


def _schema_step(answer: _Answer) -> Step:
    if answer.level > 0:
        return Step(
            "json_schema", "failed", "refused; looser ways are used, and answers are checked all the same"
        )
    if _fits(answer.text):
        return Step("json_schema", "ok", "the answer follows the schema")
    return Step("json_schema", "failed", "taken, but the answer does not follow it")


def _fits(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and set(document) == {"ready"} and isinstance(document["ready"], bool)


def _ask(base_url: str, model: str, api_key: str, timeout_s: float, on_send: RequestHook | None) -> _Answer:
    """The small call, as chat makes it. Raises `ModelError`."""
    asked = OpenAIChatModel(model, base_url, model, api_key, waits_s=())
    messages = [Message("user", _QUESTION)]
    try:
        *_, answer = asked.stream(messages, schema=_SCHEMA, timeout_s=timeout_s, on_send=on_send)
    finally:
        asked.close()
    assert isinstance(answer, Completion)
    return _Answer(answer.text, asked.has_streamed, asked.format_level)


# Which models an endpoint has: ``GET {base_url}/models``, and the servers found on this machine.

_MAX_BYTES = 4_000_000
# The list is OpenAI's (``{"data": [{"id", "owned_by"}]}``); how long a context may be says each server in a
# field of its own, vLLM in the first.
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
        _model(entry) for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    )


def find_servers(ports: Sequence[int] = tuple(PORTS), timeout_s: float = 1.0) -> list[FoundServer]:
    """Model servers that answer on this machine's loopback address, in the order of `ports`.

    One short request to each port, without a key; what does not answer like a model server is left
    out. Nothing beyond this machine is asked.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return [server for server in pool.map(lambda port: _probe(port, timeout_s), ports) if server]


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


def _model(entry: Mapping[str, Any]) -> ListedModel:
    owner = entry.get("owned_by")
    windows = (_positive(entry.get(name)) for name in _CONTEXT_FIELDS)
    window = next((size for size in windows if size), None)
    return ListedModel(entry["id"], owner if isinstance(owner, str) else "", window)


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
