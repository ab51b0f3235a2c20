"""The chat models a person can choose from: from the settings, and those added in the app.

`extractive` is always there; a default model when an endpoint is configured; one for each
``[[chat.models]]`` table; and one for each provider of ``providers.json`` that may be used.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field, replace

from assistant.core import abilities, endpoints
from assistant.core.abilities import Report
from assistant.core.endpoints import Endpoint, opened
from assistant.core.errors import UnknownModel
from engines.cancellation import Cancellation, current
from engines.chat.client import WAITS_S
from engines.chat.completions import OpenAIChatModel
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import NOTHING_KNOWN, Abilities, ChatModel, ModelStopped
from store.core import preferences
from store.core.database import Database
from store.core.errors import StoreError, existing
from store.core.paths import DataDir
from store.core.settings import ChatSettings
from store.core.times import now_ms
from store.egress import providers

log = logging.getLogger(__name__)

AnyModel = ChatModel | ExtractiveModel

PATIENCE_S = 6.0
"""How long a turn waits until it is known what its model can do."""

_PROBE_TIMEOUT_S = 30.0
_LEAVE_S = 1.0
"""How long a search that makes way is waited for: its request is ended, and what it has found is kept."""
PAUSE_S = 60.0
"""After a search that left something unknown, the next one begins no sooner."""


@dataclass(slots=True, eq=False)
class _Entry:
    """One model: the endpoint `as_set`, and with what was found out. No `model` where none may be asked."""

    as_set: Endpoint
    endpoint: Endpoint
    model: OpenAIChatModel | None
    report: Report | None = None
    search: threading.Thread | None = None
    search_again_s: float = 0.0  # a search that has ended is followed by none before
    # Of no turn: a search goes on when the one is over that began it.
    cancellation: Cancellation = field(default_factory=lambda: Context().run(Cancellation))
    searching: Cancellation = field(default_factory=lambda: Context().run(Cancellation))

    @property
    def is_searched(self) -> bool:
        """Whether it is being found out what the model can do."""
        return self.search is not None and self.search.is_alive()

    def start(self, search: Callable[[_Entry], None]) -> None:
        """Have a thread find out what the model can do."""
        with self.cancellation.here():
            self.searching = Cancellation()
        self.search = threading.Thread(target=search, args=(self,), name="abilities", daemon=True)
        self.search.start()

    @property
    def place(self) -> tuple[str, str]:
        """The address and the model: what was found out holds for them."""
        return self.as_set.base_url, self.as_set.model

    def learn(self, found: Abilities, model: str) -> None:
        """Take in what was found out at its place, for whoever asks the model from now on, too. One of which
        only the address was set is called by its model once that is known.
        """
        self.endpoint = known = replace(self.as_set, model=model or self.as_set.model, found=found)
        if known.model and known.name == known.host:
            self.endpoint = known = replace(known, name=known.model)
        if self.model is not None:
            self.model.name = known.name
            self.model.context_tokens = known.context_tokens
            self.model.format_level = 0 if known.supports_json_schema else max(1, self.model.format_level)

    def end(self) -> None:
        """Send nothing more; whoever has an answer under way gets it."""
        if self.model is not None:
            self.model.retire()
        self.cancellation.now()


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
        self.problem = ""
        """Why the providers added in the app cannot be used; '' when they can."""
        self._settings = settings
        self._environ = environ
        self._database = database
        self._data_dir = database.data_dir if database else data_dir
        self._clock = clock
        self._waits_s = waits_s
        self._lock = threading.Lock()
        self._keeping = threading.Lock()  # around the other one; nobody who asks a model waits for it
        self._waiting = 0  # who wait for an answer
        self._background = set[Cancellation]()
        self._chosen = ""
        self._entries: dict[str, _Entry] = {}
        self._extractive = ExtractiveModel()
        self.reload()

    @property
    def send_pictures(self) -> str:
        """To which models pictures of frames go."""
        return self._as_chosen("send_pictures")

    @property
    def second_reading(self) -> str:
        """Which models read each answer again."""
        return self._as_chosen("second_reading")

    def _as_chosen(self, name: str) -> str:
        if self._database is None:
            return str(getattr(self._settings, name))
        return str(preferences.chosen(self._database, self._settings, f"chat.{name}"))

    def reload(self) -> None:
        """Read the providers again. Models that did not change stay the same objects."""
        with self._lock:
            named, chosen, problem = self._named()  # in here: who read earlier must not have the last word
            before = self._entries
            entries = {name: self._entry(endpoint, before.get(name)) for name, endpoint in named.items()}
            # Nothing more goes where it may no longer go, before its name means something else.
            for name, entry in before.items():
                if entries.get(name) is not entry:
                    entry.end()
            self._entries, self._chosen, self.problem = entries, chosen, problem
        places = {entry.place for entry in entries.values()}
        with self._keeping:  # what was found out before is kept by now
            for entry in before.values():
                if self._database and not problem and entry.place not in places:
                    abilities.forget(self._database, entry.as_set)

    def _named(self) -> tuple[dict[str, Endpoint], str, str]:
        """The endpoints as they are set, which of them was chosen, and what is wrong with those added."""
        named = {endpoint.name: endpoint for endpoint in endpoints.configured(self._settings, self._environ)}
        if self._data_dir is None:
            return named, "", ""
        try:
            added = providers.load(self._data_dir)
        except StoreError as error:
            log.error("%s", error)
            return named, "", str(error)
        for provider in added.entries:
            endpoint = endpoints.added(provider, self._environ)
            if endpoint.name in {*named, self._extractive.name}:  # by the settings, later
                endpoint = replace(endpoint, name=f"{endpoint.name} ({provider.id})")
            named[endpoint.name] = endpoint
        return named, added.default, ""

    def _entry(self, endpoint: Endpoint, before: _Entry | None) -> _Entry:
        if before is not None and before.as_set == endpoint:
            return before
        entry = _Entry(endpoint, endpoint, opened(endpoint, self._waits_s) if endpoint.is_ready else None)
        if self._database:
            entry.learn(*abilities.remembered(self._database, endpoint))
        return entry

    @property
    def default(self) -> str:
        """The name of the model that answers when none is chosen; one added in the app has answered."""
        if self._chosen in self.names:
            return self._chosen
        ready = map(self.endpoint, self.names)
        return next(each.name for each in ready if each.has_answered and not each.key_problem)

    @property
    def local_default(self) -> str:
        """The default one if it runs on this machine, else the first that does, at last `extractive`."""
        return next(info.name for info in self.describe() if info.is_local)

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that can be asked, `extractive` last."""
        asked = (entry.endpoint.name for entry in self._entries.values() if entry.model is not None)
        return (*asked, self._extractive.name)

    def get(self, name: str | None = None) -> AnyModel:
        """The model of that name, or the default one. Raises `UnknownModel`."""
        chosen = name or self.default
        entry = self._entry_of(chosen)
        if entry is not None and entry.model is not None:
            return entry.model
        if chosen == self._extractive.name:
            return self._extractive
        raise UnknownModel(chosen, list(self.names))

    def _entry_of(self, name: str) -> _Entry | None:
        """The one of that name, as it was set or as it is called by now."""
        called = (entry for entry in self._entries.values() if entry.endpoint.name == name)
        return self._entries.get(name) or next(called, None)

    def endpoint(self, name: str) -> Endpoint:
        """Where a model is asked, and what it can do as far as that is known; for unknown names as for
        `extractive`, which is asked nowhere and can do nothing.
        """
        entry = self._entry_of(name)
        return entry.endpoint if entry else endpoints.built_in("")

    def of_provider(self, provider_id: int) -> Endpoint:
        """One that was added in the app; also when it may not be asked yet. Raises `NotFound`."""
        added = (each.endpoint for each in self._entries.values() if each.as_set.provider_id == provider_id)
        return existing(next(added, None), "provider", provider_id)

    def describe(self) -> list[Endpoint]:
        """Every model that can be asked, the default one first."""
        return sorted((info for info in self.listed() if info.is_ready), key=lambda info: not info.is_default)

    def listed(self) -> list[Endpoint]:
        """Every model, those included that cannot be asked yet, in the order they were added."""
        default = self.default
        shown = (entry.endpoint.shown(default) for entry in self._entries.values())
        return [*shown, endpoints.built_in(default)]

    # -- who goes first: many a server answers one request at a time --------------------------

    @contextmanager
    def for_a_person(self) -> Iterator[None]:
        """While somebody waits for an answer. What is asked in the background is ended; what made way for the
        answer goes on after it.
        """
        with self._lock:
            self._waiting += 1
            for work in self._background:
                work.now()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                for entry in () if self._waiting else self._entries.values():
                    if entry.searching.is_over and not (entry.is_searched or entry.cancellation.is_over):
                        entry.start(self._find_out)

    @contextmanager
    def in_background(self) -> Iterator[Cancellation]:
        """What nobody waits for: it is over where somebody waits for an answer, or comes to wait for one."""
        work = Cancellation()
        with self._lock:
            self._background.add(work)
            if self._waiting:
                work.now()
        try:
            with work.here():
                yield work
        finally:
            with self._lock:
                self._background.discard(work)

    # -- what a model can do ------------------------------------------------------------------

    def find_out(self, name: str, patience_s: float = PATIENCE_S) -> Endpoint:
        """`endpoint`, after it was found out what the model can do.

        The server is asked once a process for each model as it is set, the model only for what is not
        known from before. All who wait for a model wait for one search, `patience_s` at most; then it makes
        way for what they ask, since a server may answer one request at a time. Who does not wait (0) only
        begins it. What no answer came to stays unknown, and is tried again later.
        """
        entry = self._entry_of(name)
        if entry is None or self._database is None or entry.model is None or entry.as_set.key_problem:
            return self.endpoint(name)
        with self._lock:
            if entry.report and entry.report.is_complete:
                return entry.endpoint
            if not (entry.is_searched or time.monotonic() < entry.search_again_s):
                entry.start(self._find_out)
            search, searching = entry.search, entry.searching
        assert search
        search.join(patience_s)
        asker = current()
        if patience_s and search.is_alive() and not (asker and asker.is_over):  # who is over asks nothing
            searching.now()
            search.join(_LEAVE_S)
        return self.endpoint(name)

    def test(self, name: str) -> Report | None:
        """Try a model, and find out anew what it can do; None for `extractive` and unknown names.

        Raises `StoreError` when a request cannot be noted.
        """
        entry = self._entry_of(name)
        return None if entry is None else self._report(entry, self.timeout_s, forget=True)

    def report(self, name: str) -> Report | None:
        """The last one of this process; None for none."""
        entry = self._entry_of(name)
        return entry.report if entry else None

    def note(self, name: str, shown: Abilities) -> None:
        """Keep what an answer or a refusal has `shown`, also that the model was not held to a schema."""
        entry = self._entry_of(name)
        if entry is None or entry.model is None:
            return
        if entry.model.format_level > 0 and entry.endpoint.supports_json_schema:
            shown = replace(shown, supports_json_schema=False)
        found = shown.over(entry.endpoint.found)
        if found != entry.endpoint.found:
            self._learn(entry, found, entry.endpoint.model)

    def _find_out(self, entry: _Entry) -> None:
        searching = entry.searching
        try:
            with searching.here():
                self._report(entry, min(_PROBE_TIMEOUT_S, self.timeout_s))
        except StoreError as error:
            log.warning("what %s can do was not found out: %s", entry.as_set.name, error)
        finally:
            entry.search_again_s = 0.0 if searching.is_over else time.monotonic() + PAUSE_S
            if self._database:
                self._database.close_thread()

    def _report(self, entry: _Entry, timeout_s: float, *, forget: bool = False) -> Report:
        assert self._database is not None
        report = abilities.find_out(entry.as_set, self._database, self._clock, timeout_s, forget=forget)
        # What a refusal told meanwhile is found out, too.
        found = report.found if forget else report.found.over(entry.endpoint.found)
        self._learn(entry, found, report.model, None if isinstance(report.error, ModelStopped) else report)
        return report

    def _learn(self, entry: _Entry, found: Abilities, model: str, report: Report | None = None) -> None:
        with self._keeping:  # what has gone meanwhile is not remembered any more
            with self._lock:
                known = [each for each in self._entries.values() if each.place == entry.place]
                for each in known:
                    each.report = report or each.report
                    each.learn(found, model)
            if known and found != NOTHING_KNOWN and self._database:
                try:
                    abilities.remember(self._database, known[0].as_set, known[0].endpoint)
                except (StoreError, OSError) as error:  # it is known, until this process ends
                    log.warning("what %s can do could not be kept: %s", entry.as_set.name, error)

    def close(self) -> None:
        """End what is being found out."""
        for entry in self._entries.values():
            entry.cancellation.now()
            if entry.search:
                entry.search.join()
