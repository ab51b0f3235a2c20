"""Model providers: added, changed, allowed, tried, removed. No answer ever holds a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from assistant.core.abilities import StepName, Verdict
from assistant.core.errors import UnknownModel, turn_error
from engines.chat.protocol import ModelError
from engines.chat.servers import find_servers
from store.egress import providers as stored_providers
from store.egress.providers import Provider
from webapp.api.endpoint import endpoint, refusing
from webapp.api.values import Answer, DeletedAnswer, Listing, Request, Text
from webapp.core import providers
from webapp.core.errors import Problem
from webapp.core.services import services

PROVIDER = "/providers/<id:provider_id>"
CHANGE_PROBLEMS = {422: "invalid_provider", 503: "providers_unreadable"}


class ProviderBody(Request):
    """One model at one address. `api_key` is the key or `env:NAME`; left out of a change it is kept.

    What the model can do is found out where null, "" or 0 stands.
    """

    name: Text = Field("", description="Unique; made from the model or the host when empty.")
    base_url: Text
    model: Text = Field("", description="May stay empty until one is chosen; not used before.")
    api_key: Text | None = None
    context_tokens: Annotated[int, Field(ge=0, le=stored_providers.MAX_CONTEXT)] = 0
    supports_vision: bool | None = None
    supports_tools: bool | None = None
    supports_json_schema: bool | None = None
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


class AbilitiesAnswer(Answer):
    """What a model can do; null is not known. `tool_format` is empty where the endpoint has its own calls."""

    supports_tools: bool | None
    tool_format: str | None
    supports_vision: bool | None
    supports_json_schema: bool | None
    context_tokens: int | None


class ModelAnswer(Answer):
    """A model that can be asked. Its key is never shown, only whether there is one."""

    name: str
    model: str
    base_url: str
    local: bool = Field(description="Its endpoint is on this machine, so nothing is sent out.")
    has_key: bool
    context_tokens: int
    is_default: bool
    host: str = Field(description="Whom text is sent to; empty for `extractive`.")
    supports_vision: bool
    supports_tools: bool
    supports_json_schema: bool
    tool_format: str
    chosen: AbilitiesAnswer = Field(description="What was set; it overrules what was found out.")
    found: AbilitiesAnswer = Field(description="What was found out so far.")


class ProviderAnswer(ModelAnswer):
    """A provider without its key. `allowed`: text may be sent there; `ready`: it can be asked."""

    id: int = Field(validation_alias="provider_id")
    allowed: bool
    ready: bool
    key_source: str = Field(description="The variable the key is in; empty when it was entered.")
    key_problem: str
    input_price: float
    output_price: float
    currency: str
    single_system: bool
    supports_responses: bool
    supports_tool_role: bool


class ProvidersAnswer(Answer):
    data: list[ProviderAnswer]
    problem: str = Field(description="Why the file of providers cannot be used; empty when it can.")


@endpoint("GET", "/providers", "Model providers added in the app")
def all_providers() -> ProvidersAnswer:
    """Those of the settings are in GET /models only."""
    models = services().chat_models
    added = [info for info in models.listed() if info.provider_id is not None]
    return ProvidersAnswer(data=ProviderAnswer.list_of(added), problem=models.problem)


@endpoint(
    "POST", "/providers", "Add a provider", {422: "invalid_provider", 503: "providers_unreadable"}, status=201
)
def add(body: ProviderBody) -> ProviderAnswer:
    """On another machine it is not used before its host is allowed."""
    return _answer(providers.add(services(), _provider(body, 0)).id)


@endpoint("PUT", PROVIDER, "Change a provider", CHANGE_PROBLEMS)
def change(provider_id: int, body: ProviderBody) -> ProviderAnswer:
    """A new address takes the key and the permission of the host away."""
    before = stored_providers.load(services().data_dir).get(provider_id)
    changed = _provider(body, provider_id)
    providers.change(services(), replace(changed, name=changed.name or before.name), body.api_key)
    return _answer(provider_id)


@endpoint("DELETE", PROVIDER, "Remove a provider", {503: "providers_unreadable"})
def remove(provider_id: int) -> DeletedAnswer:
    """Its key is forgotten; the ledger of what was sent to it stays."""
    providers.remove(services(), provider_id)
    return DeletedAnswer(id=provider_id)


class AllowBody(Request):
    host: Text = Field(description="The provider's `host`, as a confirmation.")


@endpoint("POST", f"{PROVIDER}/allow", "Permit sending text to the provider's host", CHANGE_PROBLEMS)
def allow(provider_id: int, body: AllowBody) -> ProviderAnswer:
    """From then on excerpts of the screen may leave this machine with a question."""
    providers.allow(services(), provider_id, body.host)
    return _answer(provider_id)


@endpoint("GET", "/models", "Models that can be asked")
def models() -> Listing[ModelAnswer]:
    """`extractive` is built in: it quotes the screen and needs no endpoint."""
    return Listing(data=ModelAnswer.list_of(services().chat_models.describe()))


class DefaultBody(Request):
    name: Text = Field(description="A name from GET /models.")


class DefaultModelAnswer(Answer):
    name: str


@endpoint(
    "PUT",
    "/models/default",
    "Choose the model that answers by default",
    {422: "model_not_found", 503: "providers_unreadable"},
)
def set_default(body: DefaultBody) -> DefaultModelAnswer:
    """A question may still name another."""
    with refusing(UnknownModel, "model_not_found", "name"):
        providers.set_default(services(), body.name)
    return DefaultModelAnswer(name=services().chat_models.default)


def _provider(body: ProviderBody, provider_id: int) -> Provider:
    values = body.model_dump()
    return Provider(id=provider_id, **{**values, "api_key": values["api_key"] or ""})


def _answer(provider_id: int | None) -> ProviderAnswer:
    return ProviderAnswer.of(
        next(info for info in services().chat_models.listed() if info.provider_id == provider_id)
    )


# -- asking an endpoint -----------------------------------------------------------------------

_MODEL_CODES = (
    "model_no_key, model_unauthorized, model_rate_limited, model_no_credit, model_busy, model_timeout, "
    "model_unreachable, model_refused, model_unknown, context_too_long, model_malformed"
)


class ListedModelAnswer(Answer):
    id: str
    owned_by: str
    context_tokens: int | None = Field(description="Null where the endpoint does not say.")


@endpoint(
    "GET",
    f"{PROVIDER}/models",
    "Models that the provider lists",
    {409: "host_not_allowed", 502: _MODEL_CODES, 503: "providers_unreadable"},
)
def listed(provider_id: int) -> Listing[ListedModelAnswer]:
    """Asked from the endpoint now."""
    try:
        models = providers.list_models(services(), provider_id)
    except ModelError as error:
        failure = turn_error(error, "en")
        raise Problem(502, failure.code, f"{failure.message} {failure.action}") from error
    return Listing(data=ListedModelAnswer.list_of(models))


class StepAnswer(Answer):
    name: StepName
    verdict: Verdict
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
    f"{PROVIDER}/test",
    "Try a provider",
    {409: "host_not_allowed", 503: "providers_unreadable"},
)
def test(provider_id: int) -> ReportAnswer:
    """Small calls that say nothing of the screen and find out what the model can do; they may cost what such
    calls cost.
    """
    report = providers.test_provider(services(), provider_id)
    return ReportAnswer.of(
        report,
        code=report.error.code if report.error else None,
        action=turn_error(report.error, "en").action if report.error else "",
    )


class FoundServerAnswer(Answer):
    kind: str
    base_url: str
    models: list[ListedModelAnswer]


@endpoint("POST", "/providers/find", "Look for model servers on this machine")
def find() -> Listing[FoundServerAnswer]:
    """Asks the usual ports of Ollama, llama.cpp, vLLM and LM Studio on loopback, and nothing else."""
    return Listing(data=FoundServerAnswer.list_of(find_servers()))
