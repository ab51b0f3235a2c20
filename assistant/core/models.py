"""The chat models a person can choose from: from the settings, and those added in the app.

`extractive` is always there; a default model when an endpoint is configured; one for each
``[[chat.models]]`` table; and one for each provider of ``providers.json`` that may be used.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import replace

from assistant.core import abilities, endpoints
from assistant.core.abilities import Report
from assistant.core.endpoints import Endpoint, opened
from assistant.core.errors import UnknownModel
from engines.chat.client import WAITS_S
from engines.chat.completions import OpenAIChatModel
from engines.chat.extractive import ExtractiveModel
from engines.chat.network import Cancellation
from engines.chat.protocol import ChatModel
from store.core.database import Database
from store.core.errors import NotFound, StoreError
from store.core.paths import DataDir
from store.core.settings import ChatSettings
from store.core.times import now_ms
from store.egress import providers

log = logging.getLogger(__name__)

AnyModel = ChatModel | ExtractiveModel

PATIENCE_S = 6.0
"""How long a turn waits until it is known what its model can do."""

_PROBE_TIMEOUT_S = 30.0
PAUSE_S = 60.0
"""After a search that left something unknown, the next one begins no sooner; each later one waits longer."""


_Place = tuple[str, str]


def _place(endpoint: Endpoint) -> _Place:
    """The address and the model: what was found out holds for them."""
    return endpoint.base_url, endpoint.model


class ChatModels:
    """The models by name. Without a chosen default the first one that can be used; else `extractive`.

    `data_dir` is where providers added in the app are, and `database` where it is kept what models can do
    and what they were sent; None for none, and nothing is asked to find out. `reload` follows a change.
    Raises `SettingsError` when two models of the settings share a name or one lacks its address.
    """

    def __init__(
        self,
        settings: ChatSettings,
        environ: Mapping[str, str] = os.environ,
        data_dir: DataDir | None = None,
        *,
        database: Database | None = None,
        clock: Callable[[], int] = now_ms,
        waits_s: Sequence[float] = WAITS_S,
    ) -> None:
        self.timeout_s = settings.timeout_s
        self.send_pictures = settings.send_pictures
        self.second_reading = settings.second_reading
        self.problem = ""
        """Why the providers added in the app cannot be used; '' when they can."""
        self._settings = settings
        self._environ = environ
        self._database = database
        self._data_dir = database.data_dir if database else data_dir
        self._clock = clock
        self._waits_s = waits_s
        self._lock = threading.Lock()
        self._chosen = ""
        self._named: dict[str, Endpoint] = {}  # as they were set
        self._endpoints: dict[str, Endpoint] = {}  # the same with what was found out
        self._reports: dict[_Place, Report] = {}
        self._models: dict[str, OpenAIChatModel] = {}
        self._searches: dict[_Place, _Search] = {}
        self._extractive = ExtractiveModel()
        self.reload()

    def reload(self) -> None:
        """Read the providers again. Models that did not change stay the same objects."""
        named = {endpoint.name: endpoint for endpoint in endpoints.configured(self._settings, self._environ)}
        chosen, problem = "", ""
        if self._data_dir is not None:
            try:
                added = providers.load(self._data_dir)
            except StoreError as error:
                log.error("%s", error)
                problem = str(error)
            else:
                chosen = added.default
                for provider in added.entries:
                    endpoint = endpoints.added(provider, self._environ)
                    if endpoint.name in {*named, self._extractive.name}:  # by the settings, later
                        endpoint = replace(endpoint, name=f"{endpoint.name} ({provider.id})")
                    named[endpoint.name] = endpoint
        listed = {name: self._known(endpoint) for name, endpoint in named.items()}
        with self._lock:
            kept = {name: m for name, m in self._models.items() if self._endpoints[name] == listed.get(name)}
            models = {
                name: kept.get(name) or opened(endpoint, self._waits_s)
                for name, endpoint in listed.items()
                if name in kept or endpoint.is_ready
            }
            gone = [model for name, model in self._models.items() if name not in kept]
            left = {_place(each): each for each in self._named.values()}
            kept_places = set(left) if problem else set(map(_place, named.values()))
            left = {place: left[place] for place in left.keys() - kept_places}
            self._named, self._endpoints, self._models = named, listed, models
            self._chosen, self.problem = chosen, problem
        # Whoever has an answer under way gets it; nothing more goes where it may no longer go.
        for model in gone:
            model.retire()
        for place, endpoint in left.items():
            self._reports.pop(place, None)
            self._searches.pop(place, None)
            if self._database:
                abilities.forget(self._database, endpoint)

    @property
    def default(self) -> str:
        """The name of the model that answers when none is chosen."""
        if self._chosen in self.names:
            return self._chosen
        usable = (name for name in self._models if not self._endpoints[name].key_problem)
        return next(usable, self._extractive.name)

    @property
    def local_default(self) -> str:
        """The default one if it runs on this machine, else the first that does, at last `extractive`."""
        infos = [info for info in self.describe() if info.is_local]
        return infos[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that can be asked, `extractive` last."""
        return (*self._models, self._extractive.name)

    def get(self, name: str | None = None) -> AnyModel:
        """The model of that name, or the default one. Raises `UnknownModel`."""
        chosen = name or self.default
        model = self._models.get(chosen)
        if model is not None:
            return model
        if chosen != self._extractive.name:
            raise UnknownModel(chosen, list(self.names))
        return self._extractive

    def endpoint(self, name: str) -> Endpoint:
        """Where a model is asked, and what it can do as far as that is known; for unknown names as for
        `extractive`, which is asked nowhere and can do nothing.
        """
        return self._endpoints.get(name) or endpoints.built_in("")

    def of_provider(self, provider_id: int) -> Endpoint:
        """One that was added in the app; also when it may not be asked yet. Raises `NotFound`."""
        for endpoint in self._endpoints.values():
            if endpoint.provider_id == provider_id:
                return endpoint
        raise NotFound("provider", provider_id)

    def describe(self) -> list[Endpoint]:
        """Every model that can be asked, the default one first."""
        return sorted((info for info in self.listed() if info.is_ready), key=lambda info: not info.is_default)

    def listed(self) -> list[Endpoint]:
        """Every model, those included that cannot be asked yet, in the order they were added."""
        default = self.default
        shown = (endpoint.shown(default) for endpoint in self._endpoints.values())
        return [*shown, endpoints.built_in(default)]

    # -- what a model can do ------------------------------------------------------------------

    def find_out(self, name: str, patience_s: float = PATIENCE_S) -> Endpoint:
        """`endpoint`, after it was found out what the model can do.

        The server is asked once a process, the model only for what is not known from before. All who
        wait for a model wait for one search, `patience_s` at most: it goes on, and who comes later
        knows more. What no answer came to stays unknown, and is tried again later.
        """
        endpoint = self._named.get(name)
        if endpoint is None or self._database is None or not endpoint.is_ready or endpoint.key_problem:
            return self.endpoint(name)
        place = _place(endpoint)
        with self._lock:
            report, search = self._reports.get(place), self._searches.get(place)
            if report and report.is_complete:
                return self._endpoints[name]
            if search is None or search.is_due():
                pause_s = 4 * search.pause_s if search else PAUSE_S
                search = self._searches[place] = _Search(self._find_out, endpoint, pause_s)
                search.start()
        search.join(patience_s)
        return self.endpoint(name)

    def test(self, name: str) -> Report | None:
        """Try a model, and find out anew what it can do; None for `extractive` and unknown names.

        Raises `StoreError` when a request cannot be noted.
        """
        endpoint = self._named.get(name)
        return None if endpoint is None else self._report(endpoint, self.timeout_s, forget=True)

    def _find_out(self, endpoint: Endpoint) -> None:
        try:
            self._report(endpoint, min(_PROBE_TIMEOUT_S, self.timeout_s))
        except StoreError as error:
            log.warning("what %s can do was not found out: %s", endpoint.name, error)
        finally:
            if self._database:
                self._database.close_thread()

    def _report(self, endpoint: Endpoint, timeout_s: float, *, forget: bool = False) -> Report:
        assert self._database is not None
        report = abilities.find_out(endpoint, self._database, self._clock, timeout_s, forget=forget)
        with self._lock:
            self._reports[_place(endpoint)] = report
            for name, named in self._named.items():
                if _place(named) == _place(endpoint):
                    known = self._endpoints[name] = self._known(named)
                    if name in self._models:
                        self._models[name].context_tokens = known.context_tokens
                        self._models[name].format_level = 0 if known.supports_json_schema else 1
        return report

    def _known(self, endpoint: Endpoint) -> Endpoint:
        """An endpoint with what was found out of it, in this process or before."""
        report = self._reports.get(_place(endpoint))
        if report:
            return replace(endpoint, model=report.model or endpoint.model, found=report.found)
        return abilities.remembered(self._database, endpoint) if self._database else endpoint

    def close(self) -> None:
        """End what is being found out."""
        for search in self._searches.values():
            search.stop()


class _Search(threading.Thread):
    """One search for what a model can do, in a thread of its own."""

    def __init__(self, find_out: Callable[[Endpoint], None], endpoint: Endpoint, pause_s: float) -> None:
        super().__init__(name="abilities", daemon=True)
        self._find_out = find_out
        self._endpoint = endpoint
        self._cancellation = Context().run(Cancellation)  # not a part of the turn that began it
        self.pause_s = pause_s
        self._ended_s = 0.0

    def run(self) -> None:
        with self._cancellation.here():
            self._find_out(self._endpoint)
        self._ended_s = time.monotonic()

    def is_due(self) -> bool:
        """Whether it has ended long enough ago for another one."""
        return bool(self._ended_s) and time.monotonic() - self._ended_s >= self.pause_s

    def stop(self) -> None:
        self._cancellation.now()
        self.join()
