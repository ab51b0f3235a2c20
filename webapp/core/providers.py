"""Adding, changing, allowing and testing model providers; what the page and the API have in common.

Nothing is sent to another machine before its host was allowed by name: no list of models, no test,
no question. A new address takes the permission and the key away, so that a key never goes to an
address that it was not entered for.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from assistant.core.abilities import LIST_TIMEOUT_S, Report
from assistant.core.endpoints import Endpoint, configured_names
from engines.chat import servers
from engines.chat.network import host_of, problem_of
from engines.chat.servers import ListedModel
from store.chats import prompts
from store.core.translation import gettext as _
from store.egress import providers
from store.egress.providers import HostNotAllowed, Provider, ProviderInvalid
from webapp.core.services import Services


def add(own: Services, provider: Provider) -> Provider:
    """Add a provider; without a name it gets one. Raises `ProviderInvalid`."""
    provider = replace(provider, name=provider.name or _free_name(own, provider), allowed_host="")
    _check_address(provider)
    added = providers.add(own.data_dir, provider, configured_names(own.settings.chat))
    own.chat_models.reload()
    return added


def change(own: Services, provider: Provider, new_key: str | None) -> Provider:
    """Replace a provider; `new_key` None keeps its key. Raises `ProviderInvalid`, `NotFound`."""
    before = providers.load(own.data_dir).get(provider.id)
    _check_address(provider)
    is_same_place = _place(provider.base_url) == _place(before.base_url)
    kept_key = before.api_key if is_same_place else ""
    changed = replace(
        provider,
        api_key=kept_key if new_key is None else new_key,
        allowed_host=before.allowed_host if is_same_place else "",
    )
    providers.change(own.data_dir, changed, configured_names(own.settings.chat))
    own.chat_models.reload()
    if changed.name != before.name:
        prompts.rename(own.database, before.name, changed.name)
    return changed


def allow(own: Services, provider_id: int, host: str) -> Provider:
    """Permit that text is sent to the provider's host, which the person names.

    Raises `ProviderInvalid` when it is another one by now, and `NotFound`.
    """
    provider = providers.load(own.data_dir).get(provider_id)
    if host != host_of(provider.base_url):
        raise ProviderInvalid(
            [("host", _("must be %(host)s, where text would be sent", host=host_of(provider.base_url)))]
        )
    allowed = providers.change(
        own.data_dir, replace(provider, allowed_host=host), configured_names(own.settings.chat)
    )
    own.chat_models.reload()
    return allowed


def remove(own: Services, provider_id: int) -> None:
    """Forget a provider and its key. Raises `NotFound`."""
    providers.remove(own.data_dir, provider_id)
    own.chat_models.reload()


def set_default(own: Services, name: str) -> Report | None:
    """Let this model answer when none is chosen. The report of one that never answered, and does not now: it
    is not used. Raises `UnknownModel`.
    """
    own.chat_models.get(name)
    report = None if own.chat_models.endpoint(name).has_answered else own.chat_models.test(name)
    if report and not report.works:
        return report
    providers.set_default(own.data_dir, name)
    own.chat_models.reload()
    return None


def list_models(own: Services, provider_id: int) -> tuple[ListedModel, ...]:
    """What the provider's endpoint has. Raises `ModelError`, `HostNotAllowed`, `NotFound`."""
    endpoint = _allowed(own, provider_id)
    return servers.list_models(endpoint.base_url, endpoint.api_key, timeout_s=LIST_TIMEOUT_S)


def test_provider(own: Services, provider_id: int) -> Report:
    """Try the provider and find out what its model can do, with small calls that are noted like any other.

    Raises `HostNotAllowed`, `NotFound`, and `StoreError` when it cannot be noted.
    """
    report = own.chat_models.test(_allowed(own, provider_id).name)
    assert report is not None  # it is there: it was just looked up
    return report


def _allowed(own: Services, provider_id: int) -> Endpoint:
    providers.load(own.data_dir)  # its problem is told before anything else
    endpoint = own.chat_models.of_provider(provider_id)
    if not endpoint.is_allowed:
        raise HostNotAllowed(host_of(endpoint.base_url))
    return endpoint


def _check_address(provider: Provider) -> None:
    problem = problem_of(provider.base_url)
    if problem:
        raise ProviderInvalid([("base_url", problem)])


def _place(base_url: str) -> tuple[str, str]:
    """What a key and a permission were given for: the scheme and the host with its port."""
    return urlsplit(base_url).scheme, host_of(base_url)


def _free_name(own: Services, provider: Provider) -> str:
    """The model's name, or the host's, with a number when it is taken."""
    taken = {entry.name.casefold() for entry in providers.load(own.data_dir).entries}
    taken |= {name.casefold() for name in configured_names(own.settings.chat)}
    try:
        stem = (provider.model or host_of(provider.base_url))[:50]
    except ValueError:  # the address is refused in a moment
        return ""
    numbered = (stem if n == 1 else f"{stem} {n}" for n in range(1, providers.MAX_PROVIDERS + 2))
    return next((name for name in numbered if name.casefold() not in taken), stem)
