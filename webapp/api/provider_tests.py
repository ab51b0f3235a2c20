"""Asking a provider's endpoint: its models, whether it works, and servers found on this machine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assistant.core.errors import turn_error
from engines.chat.endpoint_check import find_servers
from engines.chat.protocol import ModelError
from webapp.api.endpoint import endpoint
from webapp.api.providers import NOT_FOUND
from webapp.api.values import Answer
from webapp.core import providers
from webapp.core.errors import Problem
from webapp.core.providers import HostNotAllowed
from webapp.core.services import services

_MODEL_CODES = (
    "model_no_key, model_unauthorized, model_rate_limited, model_no_credit, model_busy, model_timeout, "
    "model_unreachable, model_refused, model_unknown, context_too_long, model_malformed"
)


class ListedModelAnswer(Answer):
    id: str
    owned_by: str
    context_tokens: int | None = Field(description="Null where the endpoint does not say.")


class ListedModelsAnswer(Answer):
    data: list[ListedModelAnswer]


@endpoint(
    "GET",
    "/providers/<id:provider_id>/models",
    "Models that the provider lists",
    answer=ListedModelsAnswer,
    problems={**NOT_FOUND, 409: "host_not_allowed", 502: _MODEL_CODES, 503: "providers_unreadable"},
)
def listed(provider_id: int) -> ListedModelsAnswer:
    """Asked from the endpoint now."""
    try:
        found = providers.list_models(services(), provider_id)
    except ModelError as error:
        failure = turn_error(error, "en")
        raise Problem(502, failure.code, f"{failure.message} {failure.action}") from error
    except HostNotAllowed as error:
        raise _not_allowed(error) from error
    return ListedModelsAnswer(data=[ListedModelAnswer.model_validate(model) for model in found])


class StepAnswer(Answer):
    name: Literal["address", "key", "model", "answer", "json_schema", "streaming", "responses"]
    verdict: Literal["ok", "failed", "unknown"]
    detail: str


class ReportAnswer(Answer):
    works: bool
    code: str | None = Field(description="Of the error that kept it from answering.")
    action: str = Field(description="What to do about it; empty when it works.")
    steps: list[StepAnswer]
    models: list[ListedModelAnswer]
    duration_ms: int | None


@endpoint(
    "POST",
    "/providers/<id:provider_id>/test",
    "Try a provider",
    answer=ReportAnswer,
    problems={**NOT_FOUND, 409: "host_not_allowed", 503: "providers_unreadable"},
)
def test(provider_id: int) -> ReportAnswer:
    """One small call that says nothing of the screen; it may cost what such a call costs."""
    try:
        report = providers.test_provider(services(), provider_id)
    except HostNotAllowed as error:
        raise _not_allowed(error) from error
    return ReportAnswer(
        works=report.works,
        code=report.error.code if report.error else None,
        action=turn_error(report.error, "en").action if report.error else "",
        steps=[StepAnswer.model_validate(step) for step in report.steps],
        models=[ListedModelAnswer.model_validate(model) for model in report.models],
        duration_ms=report.duration_ms,
    )


class FoundAnswer(Answer):
    kind: str
    base_url: str
    models: list[ListedModelAnswer]


class FoundServersAnswer(Answer):
    data: list[FoundAnswer]


@endpoint("POST", "/providers/find", "Look for model servers on this machine", answer=FoundServersAnswer)
def find() -> FoundServersAnswer:
    """Asks the usual ports of Ollama, llama.cpp and vLLM on loopback, and nothing else."""
    return FoundServersAnswer(
        data=[
            FoundAnswer(
                kind=found.kind,
                base_url=found.base_url,
                models=[ListedModelAnswer.model_validate(model) for model in found.models],
            )
            for found in find_servers()
        ]
    )


def _not_allowed(error: HostNotAllowed) -> Problem:
    return Problem(409, "host_not_allowed", f"{error}.", extra={"host": error.host})
