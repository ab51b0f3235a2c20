"""The setup: what is recorded and where it stays, and what still wants a hand. The first page of a new home.

Each row is read afresh from what the programs say of themselves, so the page stands at once; a row that is
not settled asks for itself again.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from engines.chat.servers import FoundServer, find_servers
from store.chats import conversations
from store.core import preferences
from store.core.database import Database
from store.core.translation import gettext as _
from store.core.translation import translated
from store.egress.providers import Provider
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.privacy import rules as privacy
from store.spool.process_state import CaptureState, IngestState, is_alive, read_pause
from store.timeline import sample_week, totals
from webapp.core import formatting, providers, templating
from webapp.core.services import Services, Viewer, services, viewer
from webapp.ops import doctor
from webapp.ops.health import SILENT_MS
from webapp.ops.sample import SampleWeek
from webapp.pages import recording
from webapp.pages.privacy import words_of
from webapp.pages.recording import language_name
from webapp.security.access import is_loopback

_TEN_MINUTES_MS = 600_000
_DAY_MS = 86_400_000
_APPS = 8
_SEEN = "setup.seen"
_NO_MODEL = "setup.no_model"
_OF_VERDICT = {"OK": "ok", "--": "plain", "!": "warn", "X": "danger"}


@dataclass(frozen=True, slots=True)
class Row:
    """`kind` is ok, working, choose, plain (not set, and need not be), warn or danger."""

    key: str
    kind: str
    name: str
    sentence: str
    action: str = ""
    frame: FrameRow | None = None
    chips: tuple[tuple[str, str, int], ...] = ()
    """(app, the words of its rule, the rule's number) of apps that were seen; -1 where it is recorded."""
    servers: tuple[FoundServer, ...] = ()


def is_wanted(database: Database) -> bool:
    """Whether the person has not been through the setup: neither left it for the pages nor asked anything."""
    return not preferences.get_preference(database, _SEEN, False) and not conversations.list_chats(
        database, 1
    )


@templating.get("/welcome")
def show() -> Response:
    """The rows as they are now. ``look`` has model servers looked for, where no script does."""
    own, who = services(), viewer()
    rows = [make(own, who) for make in _ROWS.values()]
    if request.args.get("look"):
        rows = [_found(own) if row.key == "model" else row for row in rows]
    newest, is_sample = frames.nearest(own.database, who.now_ms), sample_week.is_sample(own.data_dir)
    return templating.render_page(
        "welcome/welcome.html",
        rows=rows,
        home=own.data_dir.home,
        pause=read_pause(own.data_dir.spool, who.now_ms),
        has_today=newest is not None and newest.captured_ms >= who.today.start_ms,
        is_sample=is_sample,
        sample=_sample(),
        may_sample=not is_sample and is_loopback(own.settings.web.host) and not own.settings.web.public_url,
    )


@templating.post("/welcome")
def leave() -> Response:
    """Go to the pages; from now on the home address leads there."""
    preferences.set_preference(services().database, _SEEN, True)
    return templating.redirect_to("/timeline")


@templating.get("/welcome/<key>")
def row(key: str) -> Response:
    """One row, for a page that asks again; for the model, after a look for servers on this computer."""
    if key not in _ROWS:
        raise NotFound
    found = _found(services()) if key == "model" else _ROWS[key](services(), viewer())
    return templating.render_page("welcome/_row.html", row=found)


@templating.post("/welcome/model")
def use_model() -> Response:
    """Let a model that was found answer from now on; without one, answer without a model and ask no more."""
    own = services()
    base_url, _, model = request.form.get("model", "").partition(" ")
    preferences.set_preference(own.database, _NO_MODEL, not model)
    if model:
        added = providers.add(own, Provider(0, "", base_url, model))
        if providers.set_default(own, added.name):  # it does not answer: its page says why
            return templating.redirect_to(f"/settings/models/{added.id}")
    return templating.redirect_to("/welcome#model")


@templating.post("/welcome/sample")
def sample() -> Response:
    """Make and show the sample week; or, with ``remove``, delete it."""
    if request.form.get("remove"):
        _sample().remove()
    else:
        _sample().start(viewer().zone_name)
    return templating.redirect_to("/welcome#sample")


@templating.get("/welcome/sample")
def sample_state() -> Response:
    return templating.render_page("welcome/_sample.html", sample=_sample())


def _sample() -> SampleWeek:
    made = current_app.extensions.setdefault("sample week", SampleWeek(services().data_dir.home))
    assert isinstance(made, SampleWeek)
    return made


def _recording(own: Services, viewer: Viewer) -> Row:
    name = _("Recording")
    state, newest = CaptureState.read(own.data_dir.spool), frames.nearest(own.database, viewer.now_ms)
    if read_pause(own.data_dir.spool, viewer.now_ms):
        return Row("recording", "warn", name, _("Paused"), _("Resume when you are ready."), newest)
    if state and state.looked_ms is not None and viewer.now_ms - state.looked_ms <= SILENT_MS:
        monitors = formatting.count(len(state.monitors), "monitor")
        if newest is None:
            return Row("recording", "working", name, f"{monitors} · {_('waiting for the first frame')}")
        told = _("newest frame at %(time)s", time=formatting.clock(newest.captured_ms, viewer.zone))
        return Row("recording", "ok", name, f"{monitors} · {told}", frame=newest)
    check = doctor.check_capture(own.data_dir)  # a display that nobody looks at is not missed
    kind = "working" if check.verdict == "OK" else _OF_VERDICT[check.verdict]
    return Row("recording", kind, name, formatting.sentence(check.sentence), check.action, newest)


def _reading(own: Services, viewer: Viewer) -> Row:
    """What the worker says of its engine: none is opened for this page."""
    name = _("Reading text")
    names = _(", ").join(map(language_name, preferences.reading_languages(own.database, own.settings.ocr)))
    worker = IngestState.read(own.data_dir.spool)
    if own.settings.ocr.engine == "off":
        return Row("reading", "plain", name, _("Switched off"), _("Set ocr.engine to auto."))
    if worker is None or not is_alive(worker, viewer.now_ms):
        return Row("reading", "danger", name, _("Nothing reads just now"), _("Start `recollect up`."))
    if worker.engine_problem:
        problem = formatting.sentence(translated(worker.engine_problem))
        return Row("reading", "danger", name, problem, _("`recollect doctor` says what to install."))
    if unread := recording.unread(own):
        language, command = language_name(unread[0]), recording.install(own, unread[0])
        told = _("Not in %(language)s, which this computer or browser is set to", language=language)
        choose = _("Choose it under Languages.")
        install = _("Run `%(command)s`, then choose it under Languages.", command=command)
        return Row("reading", "warn", name, told, install if command else choose)
    read = totals.store_stats(own.database).frames_read
    if not read:
        return Row("reading", "working", name, f"{names} · {_('waiting for the first frame')}")
    done = _("%(count)s read so far", count=formatting.count(read, "frame"))
    return Row("reading", "ok", name, f"{names} · {done}")


def excluded(own: Services, viewer: Viewer) -> Row:
    """What is left out, and the apps that were seen, each with the rule of the person's own about it."""
    name, rules = _("Never recorded"), privacy.load_rules(own.data_dir, own.settings.privacy)
    if rules.unreadable:
        stop = _("Until they can be read, nothing is recorded.")
        return Row("excluded", "danger", name, formatting.sentence(rules.unreadable), stop)
    own_rules = privacy.own_choices(own.data_dir).rules
    of_app = {rule.app: (words_of(rule), n) for n, rule in enumerate(own_rules) if rule.app}
    seen = dict.fromkeys([*of_app, *apps.used_lately(own.database, viewer.now_ms, _APPS)])
    chips = tuple((app, *of_app.get(app, ("", -1))) for app in seen)
    kind, sentence = "ok", _("Private windows and password managers")
    if not rules.defaults:
        kind, sentence = "warn", _("Private windows and password managers are recorded, as you chose")
    elif not rules.mask_maybe_private:
        kind = "warn"
        sentence = _("Private windows and password managers; unidentified browser windows are recorded")
    return Row("excluded", kind, name, sentence, chips=chips)


def _model(own: Services, viewer: Viewer) -> Row:
    """Which model answers. Nothing is asked for this."""
    endpoint = own.chat_models.endpoint(own.chat_models.default)
    if not endpoint.is_extractive:
        away = _("excerpts of your screen go to %(host)s", host=endpoint.host)
        where = _("on this computer") if endpoint.is_local else away
        return Row("model", "ok", _("Answers"), f"{endpoint.name} · {where}")
    check = doctor.check_model(own.chat_models)
    if check.verdict != "--":
        sentence = formatting.sentence(check.sentence)
        return Row("model", _OF_VERDICT[check.verdict], _("Answers"), sentence, check.action)
    if preferences.get_preference(own.database, _NO_MODEL, False):
        told = _("They are quoted and counted from your frames")
        return Row("model", "plain", _("Answers without a model"), told)
    return Row("model", "working", _("Answers"), _("Looking for a model on this computer"))


def _found(own: Services) -> Row:
    """The same after a look at the ports of model servers, where no model is set."""
    known = _model(own, viewer())
    if known.kind != "working":
        return known
    servers = tuple(server for server in find_servers() if server.models)
    if servers:
        where = _("%(server)s on this computer", server=servers[0].kind)
        return Row("model", "choose", _("Model found"), where, servers=servers)
    without = _("Without a model: quoted and counted from your frames; no model runs on this computer")
    return Row("model", "plain", _("Answers"), without)


def _space(own: Services, viewer: Viewer) -> Row:
    """What is free, and the pictures of the last day, once there is enough of it to tell."""
    check = doctor.check_disk(own.data_dir, own.settings)
    size, oldest = totals.pictures_between(own.database, viewer.now_ms - _DAY_MS, viewer.now_ms)
    pace = _("%(size)s of pictures in the last day", size=formatting.size(size))
    if oldest is None or viewer.now_ms - oldest < _TEN_MINUTES_MS:
        pace = _("too early to tell how much a day takes")
    return Row("space", _OF_VERDICT[check.verdict], _("Space"), f"{check.sentence} · {pace}", check.action)


_ROWS = {
    "recording": _recording, "reading": _reading, "excluded": excluded, "model": _model, "space": _space,
}  # fmt: skip
