"""What of an endpoint works: its address, the key, the model, a JSON schema, streaming.

One small real call answers most of it; it says nothing of anybody's screen. The steps stop at the
first that fails in a way that the others cannot survive.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engines.chat.addresses import public_url
from engines.chat.chat_errors import short
from engines.chat.chat_listing import ListedModel, list_models
from engines.chat.client import FormatRefused, connect, translated_errors
from engines.chat.completions import formats
from engines.chat.network import Cancellation
from engines.chat.protocol import (
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
_MAX_ANSWER_CHARS = 4_000
_ADDRESS_FAILS = (ModelUnreachable, ModelTimeout)
_KEY_FAILS = (ModelNoKey, ModelUnauthorized)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried. `detail` is a sentence for a person, of the endpoint where it failed."""

    name: StepName
    verdict: Verdict
    detail: str


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
        return Report((*_unlisted(error, base_url, api_key),), error=error)
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


def _unlisted(error: ModelError, base_url: str, api_key: str) -> list[Step]:
    if isinstance(error, _KEY_FAILS):
        return [Step("address", "ok", f"{public_url(base_url)} answers"), Step("key", "failed", error.detail)]
    return [Step("address", "failed", error.detail)]


def _failed_call(error: ModelError, model: str, models: Sequence[ListedModel], api_key: str) -> list[Step]:
    if isinstance(error, _KEY_FAILS):
        return [Step("key", "failed", error.detail)]
    steps = [Step("key", "ok", "accepted" if api_key else "none is set, none was asked for")]
    if models and all(each.id != model for each in models):
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
    """The small call: streamed, and as a whole where that gives nothing."""
    until, cutoff = time.monotonic() + timeout_s, Cancellation()
    client = connect(base_url, api_key)
    payload: Any = [{"role": "user", "content": _QUESTION}]
    try:
        for level, response_format in formats(_SCHEMA):
            for stream in (True, False):
                left_s = until - time.monotonic()
                if left_s <= 0:
                    raise ModelTimeout(f"no answer within {timeout_s:g} s")
                try:
                    with cutoff.at(until), translated_errors(base_url, api_key, timeout_s, on_send, cutoff):
                        answer = client.chat.completions.create(
                            model=model, messages=payload, stream=stream, timeout=left_s, **response_format
                        )
                        text = _streamed(answer, until) if stream else _whole(answer)
                except FormatRefused as refused:
                    if not response_format:
                        raise refused.error from refused
                    break
                except ModelRefused as error:
                    if stream and "stream" in error.detail.casefold():
                        continue
                    raise
                if text or not stream:
                    return _Answer(text, stream, level)
        raise ModelMalformed("the answer is empty")
    finally:
        client.close()


def _streamed(answer: Any, until: float) -> str:
    """The text of the pieces; '' when what came was no stream."""
    text = ""
    with answer:
        for chunk in answer:
            choices = getattr(chunk, "choices", None) or []
            delta = getattr(choices[0], "delta", None) if choices else None
            text += getattr(delta, "content", None) or ""
            if len(text) > _MAX_ANSWER_CHARS or time.monotonic() > until:
                break
    return text


def _whole(answer: Any) -> str:
    choices = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    text = getattr(message, "content", None)
    if not isinstance(text, str) or not text.strip():
        raise ModelMalformed("the answer is empty")
    return text
