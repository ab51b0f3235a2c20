"""Settings, Models: which models answer, where each runs, what it is sent, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from flask import request
from werkzeug.wrappers import Response

from assistant.core.abilities import Report
from assistant.core.errors import UnknownModel, turn_error
from assistant.core.texts import own_language
from engines.chat.protocol import ModelError
from engines.chat.servers import PORTS, find_servers
from store.chats import personas
from store.core.errors import SettingsError
from store.core.preferences import choose_setting
from store.core.translation import N_
from store.core.translation import gettext as _
from store.egress import providers
from store.egress.providers import TOOL_FORMATS, HostNotAllowed, Provider, ProviderInvalid
from webapp.core import providers as providing
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import number
from webapp.core.services import services
from webapp.pages.models.prompt_blocks import editor

_TEXTS = ("name", "base_url", "model", "tool_format", "currency")
_NUMBERS = ("context_tokens", "input_price", "output_price")
_FLAGS = ("supports_tool_role", "single_system")
_ABILITIES = ("supports_tools", "supports_vision", "supports_json_schema")
_CHOICES = {"": None, "yes": True, "no": False}
SENT = {
    "send_pictures": {
        "local": N_("To models on this computer; others when you ask"),
        "ask": N_("Only when you ask"),
        "never": N_("Never"),
    },
    "second_reading": {
        "never": N_("Off"),
        "local": N_("By models on this computer"),
        "always": N_("Always"),
    },
}
"""What may be chosen of `ChatSettings`, and what it is called."""


@templating.get("/settings/models")
def show() -> Response:
    return models_page()


@templating.post("/settings/models")
def add() -> Response:
    """Add a provider; its own page is where a model is chosen and tested."""
    form = request.form
    try:
        provider, errors = _read(Provider(0, "", ""), form)
        if errors:
            raise ProviderInvalid(errors)
        added = providing.add(services(), replace(provider, api_key=form.get("api_key", "").strip()))
    except ProviderInvalid as error:
        return models_page(422, form=_shown(form), errors=dict(error.errors))
    return templating.redirect_to(f"/settings/models/{added.id}")


@templating.post("/settings/models/sent")
def choose_sent() -> Response:
    """To which models pictures go, and which read their answers again."""
    own = services()
    for name in set(SENT) & set(request.form):
        try:
            choose_setting(own.database, own.settings.chat, f"chat.{name}", request.form[name])
        except SettingsError:
            known = _(", ").join(map(_, SENT[name].values()))
            problem = _("No such choice; there are: %(choices)s.", choices=known)
            raise Problem(422, "invalid_choice", problem, errors=((name, problem),)) from None
    return templating.redirect_to("/settings/models#sent")


@templating.get("/settings/models/find")
def find() -> Response:
    """Look for model servers on this machine, and nowhere else."""
    servers = find_servers()
    if templating.wants_fragment():
        return templating.render_page("models/_found.html", found=servers)
    return models_page(found=servers)


@templating.post("/settings/models/default")
def choose() -> Response:
    """Let a model answer when none is chosen."""
    name = request.form.get("name", "")
    try:
        report = providing.set_default(services(), name)
    except UnknownModel as error:
        raise Problem(404, error.code, str(error)) from error
    return _tested(name) if report else templating.redirect_to("/settings/models")


@templating.post("/settings/models/test")
def test_named() -> Response:
    """Try a model of the settings, which has no page of its own."""
    name = request.form.get("name", "")
    if services().chat_models.test(name) is None:
        raise Problem(404, "model_not_found", _("There is no such model."))
    return _tested(name)


def _tested(name: str) -> Response:
    return templating.redirect_to(f"/settings/models?tested={quote(name)}#tested")


@templating.get("/settings/models/<id:provider_id>")
def one(provider_id: int) -> Response:
    """A provider. Until its model has answered its endpoint is asked for its list, where that is allowed."""
    provider = _provider(provider_id)
    endpoint = services().chat_models.of_provider(provider_id)
    report = services().chat_models.report(endpoint.name) if "tested" in request.args else None
    if report:
        return _one(provider, **_told(report))
    return _one(provider, **({} if provider.model and endpoint.has_answered else _list(provider_id)))


@templating.post("/settings/models/<id:provider_id>")
def save(provider_id: int) -> Response:
    """Keep the form's values; an empty key field keeps the key."""
    form, before = request.form, _provider(provider_id)
    new_key = "" if form.get("remove_key") == "on" else form.get("api_key", "").strip() or None
    try:
        wanted, errors = _read(before, form)
        if errors:
            raise ProviderInvalid(errors)
        providing.change(services(), replace(wanted, name=wanted.name or before.name), new_key)
    except ProviderInvalid as error:
        return _one(before, 422, form=_shown(form), errors=dict(error.errors))
    return templating.redirect_to(f"/settings/models/{provider_id}?saved=1")


@templating.post("/settings/models/<id:provider_id>/choose")
def choose_model(provider_id: int) -> Response:
    """Take a model from the endpoint's list."""
    provider = _provider(provider_id)
    try:
        providing.change(services(), replace(provider, model=request.form.get("model", "")), None)
    except ProviderInvalid as error:
        return _one(provider, 422, errors=dict(error.errors))
    return templating.redirect_to(f"/settings/models/{provider_id}?saved=1")


@templating.post("/settings/models/<id:provider_id>/allow")
def allow(provider_id: int) -> Response:
    """Permit that text leaves for the host that the page named."""
    provider = _provider(provider_id)
    try:
        providing.allow(services(), provider_id, request.form.get("host", ""))
    except ProviderInvalid as error:
        return _one(provider, 422, errors=dict(error.errors))
    return templating.redirect_to(f"/settings/models/{provider_id}")


@templating.get("/settings/models/<id:provider_id>/list")
def list_models(provider_id: int) -> Response:
    """Ask the endpoint for its models."""
    context = _model_context(_provider(provider_id), **_list(provider_id))
    return templating.render("models/model.html", "models/_listed.html", **context)


@templating.post("/settings/models/<id:provider_id>/test")
def test(provider_id: int) -> Response:
    """A few small calls, and what they showed: at an address of its own, so that Reload makes none again."""
    report = providing.test_provider(services(), provider_id)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/settings/models/{provider_id}?tested=1#test")
    context = _model_context(_provider(provider_id), **_told(report))
    return templating.render_page("models/_report.html", **context)


@templating.post("/settings/models/<id:provider_id>/remove")
def remove(provider_id: int) -> Response:
    """Its key is forgotten; the ledger of what was sent to it stays."""
    providing.remove(services(), provider_id)
    return templating.redirect_to("/settings/models")


def _step_names() -> tuple[tuple[str, str], ...]:
    return (
        ("address", _("Address")), ("key", _("Key")), ("model", _("Model")), ("answer", _("Answer")),
        ("tools", _("Tools")), ("vision", _("Pictures")), ("json_schema", _("JSON schema")),
        ("window", _("Context window")),
    )  # fmt: skip


def _action(report: Report) -> str:
    return turn_error(report.error, own_language()).action if report.error else ""


def _told(report: Report) -> dict[str, object]:
    return {"report": report, "action": _action(report), "listed": report.models}


def _provider(provider_id: int) -> Provider:
    return providers.load(services().data_dir).get(provider_id)


def _list(provider_id: int) -> dict[str, object]:
    """What the endpoint lists, or why it does not, for the page."""
    try:
        return {"listed": providing.list_models(services(), provider_id)}
    except HostNotAllowed:
        return {}
    except ModelError as error:
        failure = turn_error(error, own_language())
        return {"list_problem": f"{failure.message} {failure.action}"}


def _read(before: Provider, form: Mapping[str, str]) -> tuple[Provider, list[tuple[str, str]]]:
    """The provider that a form describes, without its key, and what is no number in it."""
    values: dict[str, object] = {name: form[name].strip() for name in _TEXTS if name in form}
    errors = []
    for name in _NUMBERS:
        text = form.get(name, "").strip().replace(",", ".")
        if not text:
            continue
        try:
            values[name] = int(text) if name == "context_tokens" else float(text)
        except ValueError:
            errors.append((name, _("must be a number")))
    if form.get("has_flags"):
        values.update({name: form.get(name) == "on" for name in _FLAGS})
    values.update({name: _CHOICES.get(form[name]) for name in _ABILITIES if name in form})
    return replace(before, **values), errors  # type: ignore[arg-type]


def _shown(form: Mapping[str, str]) -> dict[str, str]:
    """What was typed, to be shown again: everything but the key."""
    fields = (*_TEXTS, *_NUMBERS, *_FLAGS, *_ABILITIES)
    return {name: form[name][:600] for name in fields if name in form}


def _form(provider: Provider) -> dict[str, str]:
    numbers = {name: f"{getattr(provider, name):g}" for name in ("input_price", "output_price")}
    flags = {name: "on" for name in _FLAGS if getattr(provider, name)}
    texts = {name: getattr(provider, name) for name in _TEXTS}
    named = {value: choice for choice, value in _CHOICES.items()}
    abilities = {name: named[getattr(provider, name)] for name in _ABILITIES}
    return {**texts, **numbers, **flags, **abilities, "context_tokens": str(provider.context_tokens or "")}


def models_page(status: int = 200, /, **changes: object) -> Response:
    """The page as its address says: ``model`` is the one whose prompt is edited."""
    own, models = services(), services().chat_models
    tested = request.args.get("tested", "")
    report = models.report(tested)
    speaking = personas.active(own.database)
    context: dict[str, object] = {
        "voices": personas.list_personas(own.database),
        "speaking": speaking.id if speaking else None,
        "sent": SENT,
        "given": own.settings.chat.given,
        "now": {name: getattr(models, name) for name in SENT},
        "models": models.listed(),
        "problem": models.problem,
        "form": {},
        "errors": {},
        # None where no model takes one
        "prompt": editor(services(), request.args.get("model", ""), undo=number(request.args, "undo", 9)),
        "found": None,  # until servers were looked for
        "tested": tested,
        "report": report,
        "action": _action(report) if report else "",
        "step_names": _step_names(),
        "ports": _(", ").join(f"{name} ({port})" for port, name in PORTS.items()),
        **changes,
    }
    return templating.render_page("models/models.html", status, **context)


def _model_context(provider: Provider, **changes: object) -> dict[str, object]:
    """One provider, its form, and what its endpoint said just now."""
    models = services().chat_models.listed()
    return {
        "info": next(info for info in models if info.provider_id == provider.id),
        "form": _form(provider),
        "errors": {},
        "listed": (),
        "list_problem": "",
        "report": None,
        "action": "",
        "step_names": _step_names(),
        "tool_formats": TOOL_FORMATS,
        "saved": request.args.get("saved") == "1",
        **changes,
    }


def _one(provider: Provider, status: int = 200, /, **changes: object) -> Response:
    return templating.render_page("models/model.html", status, **_model_context(provider, **changes))
