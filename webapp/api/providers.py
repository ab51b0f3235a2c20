"""Model providers: added, changed, allowed, removed. No answer ever holds a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from assistant.core.errors import UnknownModel, turn_error
from engines.chat.endpoint_check import find_servers
from engines.chat.protocol import ModelError
from store.egress import providers as stored_providers
from store.egress.providers import Provider, ProviderInvalid
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import Answer, Request, Text
from webapp.core import providers
from webapp.core.errors import FieldError, Problem
from webapp.core.providers import HostNotAllowed
from webapp.core.services import services

NOT_FOUND = {404: "provider_not_found"}


class ProviderBody(Request):
    """One model at one address. `api_key` is the key or `env:NAME`; left out of a change it is kept."""

    name: Text = Field("", description="Unique; made from the model or the host when empty.")
    base_url: Text
    model: Text = Field("", description="May stay empty until one is chosen; not used before.")
    api_key: Text | None = None
    context_tokens: Annotated[
        int, Field(ge=stored_providers.MIN_CONTEXT, le=stored_providers.MAX_CONTEXT)
    ] = 8192
    supports_vision: bool = False
    supports_tools: bool = False
    supports_json_schema: bool = True
    tool_format: Literal["", "functionary", "command-r", "llama31"] = ""
    input_price: Annotated[float, Field(ge=0, le=stored_providers.MAX_PRICE)] = Field(
        0, description="Per million tokens; 0 is not set."
    )
    output_price: Annotated[float, Field(ge=0, le=stored_providers.MAX_PRICE)] = 0
    currency: Annotated[str, Field(max_length=5)] = ""
    single_system: bool = Field(False, description="Its template takes one system message only.")
    supports_responses: bool = Field(
        False, description="Ask by the Responses protocol; the endpoint then keeps the conversation."
    )
    supports_tool_role: bool = Field(True, description="Else results of tools are told as a user's text.")


class ProviderAnswer(Answer):
    """A provider without its key. `allowed`: text may be sent there; `ready`: it can be asked."""

    id: int
    name: str
    base_url: str
    model: str
    local: bool
    host: str
    allowed: bool
    ready: bool
    has_key: bool
    key_source: str = Field(description="The variable the key is in; empty when it was entered.")
    key_problem: str
    context_tokens: int
    supports_vision: bool
    supports_tools: bool
    supports_json_schema: bool
    tool_format: str
    input_price: float
    output_price: float
    currency: str
    single_system: bool
    supports_responses: bool
    supports_tool_role: bool
    is_default: bool


class ProvidersAnswer(Answer):
    data: list[ProviderAnswer]
    problem: str = Field(description="Why the file of providers cannot be used; empty when it can.")


@endpoint("GET", "/providers", "Model providers added in the app", answer=ProvidersAnswer)
def all_providers() -> ProvidersAnswer:
    """Those of the settings are in GET /models only."""
    models = services().chat_models
    found = [_answer(info.provider_id) for info in models.listed() if info.provider_id is not None]
    return ProvidersAnswer(data=found, problem=models.problem)


@endpoint(
    "POST",
    "/providers",
    "Add a provider",
    body=ProviderBody,
    answer=ProviderAnswer,
    status=201,
    problems={422: "invalid_provider", 503: "providers_unreadable"},
)
def add(body: ProviderBody) -> tuple[ProviderAnswer, int]:
    """On another machine it is not used before its host is allowed."""
    try:
        added = providers.add(services(), _provider(body, 0))
    except ProviderInvalid as error:
        raise _invalid(error) from error
    return _answer(added.id), 201


@endpoint(
    "PUT",
    "/providers/<id:provider_id>",
    "Change a provider",
    body=ProviderBody,
    answer=ProviderAnswer,
    problems={**NOT_FOUND, 422: "invalid_provider", 503: "providers_unreadable"},
)
def change(provider_id: int, body: ProviderBody) -> ProviderAnswer:
    """A new address takes the key and the permission of the host away."""
    try:
        before = stored_providers.load(services().data_dir).get(provider_id)
        wanted = _provider(body, provider_id)
        providers.change(services(), replace(wanted, name=wanted.name or before.name), body.api_key)
    except ProviderInvalid as error:
        raise _invalid(error) from error
    return _answer(provider_id)


class RemovedProvider(Answer):
    id: int
    deleted: Literal[True] = True


@endpoint(
    "DELETE",
    "/providers/<id:provider_id>",
    "Remove a provider",
    answer=RemovedProvider,
    problems={**NOT_FOUND, 503: "providers_unreadable"},
)
def remove(provider_id: int) -> RemovedProvider:
    """Its key is forgotten; the ledger of what was sent to it stays."""
    providers.remove(services(), provider_id)
    return RemovedProvider(id=provider_id)


class AllowBody(Request):
    host: Text = Field(description="The provider's `host`, as a confirmation.")


@endpoint(
    "POST",
    "/providers/<id:provider_id>/allow",
    "Permit sending text to the provider's host",
    body=AllowBody,
    answer=ProviderAnswer,
    problems={**NOT_FOUND, 422: "invalid_provider", 503: "providers_unreadable"},
)
def allow(provider_id: int, body: AllowBody) -> ProviderAnswer:
    """From then on excerpts of the screen may leave this machine with a question."""
    try:
        providers.allow(services(), provider_id, body.host)
    except ProviderInvalid as error:
        raise _invalid(error) from error
    return _answer(provider_id)


class DefaultBody(Request):
    name: Text = Field(description="A name from GET /models.")


class DefaultAnswer(Answer):
    name: str


@endpoint(
    "PUT",
    "/models/default",
    "Choose the model that answers by default",
    body=DefaultBody,
    answer=DefaultAnswer,
    problems={422: "model_not_found", 503: "providers_unreadable"},
)
def set_default(body: DefaultBody) -> DefaultAnswer:
    """A question may still name another."""
    try:
        providers.set_default(services(), body.name)
    except UnknownModel as error:
        raise invalid(422, error.code, [FieldError("name", str(error))]) from error
    return DefaultAnswer(name=services().chat_models.default)


# -- support ------------------------------------------------------------------------------


def _provider(body: ProviderBody, provider_id: int) -> Provider:
    values = body.model_dump()
    return Provider(id=provider_id, **{**values, "api_key": values["api_key"] or ""})


def _answer(provider_id: int | None) -> ProviderAnswer:
    info = next(each for each in services().chat_models.listed() if each.provider_id == provider_id)
    return ProviderAnswer(
        id=info.provider_id or 0,
        name=info.name,
        base_url=info.base_url,
        model=info.model,
        local=info.is_local,
        host=info.host,
        allowed=info.is_allowed,
        ready=info.is_ready,
        has_key=info.has_key,
        key_source=info.key_source,
        key_problem=info.key_problem,
        context_tokens=info.context_tokens,
        supports_vision=info.supports_vision,
        supports_tools=info.supports_tools,
        supports_json_schema=info.supports_json_schema,
        tool_format=info.tool_format,
        input_price=info.input_price,
        output_price=info.output_price,
        currency=info.currency,
        single_system=info.single_system,
        supports_responses=info.supports_responses,
        supports_tool_role=info.supports_tool_role,
        is_default=info.is_default,
    )


def _invalid(error: ProviderInvalid) -> Problem:
    return invalid(422, "invalid_provider", [FieldError(name, message) for name, message in error.errors])


# ---- provider tests
# Asking a provider's endpoint: its models, whether it works, and servers found on this machine.

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
