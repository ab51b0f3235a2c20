"""The WSGI application, handed everything it uses, and `recollect web`, which serves it.

The pages and the API declare their routes themselves; what guards them all is in `webapp.security.guards`.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import replace

from flask import Flask, redirect, render_template, request
from jinja2 import StrictUndefined
from werkzeug.wrappers import Response

from assistant.context.session_closing import ContextServices, SessionJanitor
from assistant.core.errors import turn_error
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import Coverage
from assistant.read_api.calls import ReadSources
from assistant.tools.registry import AgentServices, registry
from assistant.turns.live import LiveTurns
from assistant.turns.stored_turns import payload
from store.backup.backup import advice
from store.chats import attachments, conversations, personas, tool_calls
from store.core.allocator import collect_rarely, give_back_freed_memory
from store.core.database import Database, open_database
from store.core.errors import DatabaseUnusable, StoreError
from store.core.paths import DataDir
from store.core.settings import Settings, WebSettings
from store.core.signals import stopped_by_signals
from store.core.times import now_ms
from store.deletion import deletion
from store.frames import apps
from store.frames.media import Media
from store.spool.queue import MAX_IMAGE_BYTES, Spool
from store.timeline import sample_week
from webapp import pages
from webapp.core import errors, languages, templating
from webapp.core.errors import Problem
from webapp.core.parameters import DayConverter, IdConverter, ModelConverter
from webapp.core.services import Services, services
from webapp.core.uploads import Request
from webapp.ops.control import advertise_address, only_one
from webapp.ops.health import recording_indicator
from webapp.ops.notification import ask_on_desktop
from webapp.pages import welcome
from webapp.security import access, guards
from webapp.security.access import PortInUse, check_address, launch_link, listen
from webapp.serving import assets, server
from webapp.serving.server import Server
from webapp.views.evidence import is_retryable

log = logging.getLogger(__name__)

# A multipart body holds the picture and a little more around it.
_MAX_BODY_BYTES = MAX_IMAGE_BYTES + 64 * 1024


def create_app(
    settings: Settings,
    database: Database,
    *,
    chat_models: ChatModels,
    embedder: QueryEmbedder | None = None,
    clock: Callable[[], int] = now_ms,
) -> Flask:
    """The WSGI application of one home folder.

    `settings.web.port` is the port it is really served on: the Host check and the cookie's name
    depend on it.
    """
    personas.ensure_built_in(database, clock())
    from webapp import api
    from webapp.api import event_stream
    from webapp.security import login
    from webapp.serving import sockets

    app = _flask()
    app.extensions["recollect"] = _services(settings, database, chat_models, embedder, clock)
    app.config.update(MAX_CONTENT_LENGTH=_MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=1_000_000, MAX_FORM_PARTS=100)
    app.url_map.merge_slashes = False
    app.url_map.converters |= {"id": IdConverter, "day": DayConverter, "model": ModelConverter}
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.autoescape = True
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    errors.install(app)
    languages.install(app)  # before the guards, whose refusals are pages, too
    guards.install(app)
    server.install(app)
    for module in (login, api):
        app.register_blueprint(module.blueprint)
    templating.install(app)
    app.jinja_env.tests["retryable"] = is_retryable
    app.jinja_env.globals["capture_light"] = lambda: recording_indicator(services())
    app.add_url_rule("/", "home", home)
    app.register_blueprint(pages.blueprint)
    event_stream.install(app)
    sockets.install(app)
    app.request_class = Request  # after the htmx extension, which sets its own
    return app


def _flask() -> Flask:
    app = Flask("webapp", template_folder=str(templating.shipped("templates")), static_folder=None)
    assets.install(app, templating.shipped("static"))
    return app


def _services(
    settings: Settings,
    database: Database,
    chat_models: ChatModels,
    embedder: QueryEmbedder | None,
    clock: Callable[[], int],
) -> Services:
    data_dir = database.data_dir
    limits = settings.spool
    media = Media(data_dir.media, database)
    embedder = embedder or QueryEmbedder(settings.embedding, database, clock=clock)
    library = ReadSources(database, media, settings, embedder, clock)
    return Services(
        settings=settings,
        data_dir=data_dir,
        database=database,
        media=media,
        spool=Spool(data_dir.spool, max_bytes=round(limits.max_gb * 1e9), max_entries=limits.max_entries),
        chat_models=chat_models,
        embedder=embedder,
        agent=AgentServices(library, settings.tools, registry(settings.tools)),
        context=ContextServices(
            database, settings.context, chat_models, embedder.asked, clock, embed_soon=embedder.asked_soon
        ),
        turns=LiveTurns(),
        clock=clock,
        token=access.load_token(data_dir),
    )


def home() -> Response:
    """The setup at the first visit, whatever was recorded by then; later the timeline."""
    own = services()
    is_first = not sample_week.is_sample(own.data_dir) and welcome.is_wanted(own.database)
    return redirect("/welcome" if is_first else "/timeline", 302)


# -- `recollect web`: the pages and the API in one process ---------------------------------------


def serve(data_dir: DataDir, settings: Settings, tell: Callable[[str], object] | None) -> None:
    """Serve one home folder; `tell` gets a launch link once requests are answered.

    Raises `SettingsError` for an address that is not permitted, `PortInUse`, and `StoreBusy`.
    """
    check_address(settings.web)
    give_back_freed_memory()
    collect_rarely()
    with only_one(data_dir, "web"):
        _serve(data_dir, settings, tell)


def _serve(data_dir: DataDir, settings: Settings, tell: Callable[[str], object] | None) -> None:
    with listen(settings.web.host, settings.web.port) as listener:
        port = listener.getsockname()[1]
        settings = replace(settings, web=replace(settings.web, port=port))
        try:
            database = open_database(data_dir)
        except DatabaseUnusable as error:
            return _serve_unusable(data_dir, settings, error, listener)
        interrupted = turn_error(InterruptedError(), "en")
        conversations.fail_interrupted(database, payload(Coverage(0, 0), interrupted))
        tool_calls.expire_all(database, now_ms())
        models = ChatModels(settings.chat, database=database)
        app = create_app(settings, database, chat_models=models)
        app.extensions["recollect"].turns.on_unseen = ask_on_desktop
        server = Server(app, listener, thread_done=database.close_thread)
    compat = _compat(app)
    threading.Thread(target=_sweep, args=(database,), name="sweep", daemon=True).start()
    threading.Thread(target=_compile_templates, args=(app,), name="templates", daemon=True).start()
    janitor = SessionJanitor(app.extensions["recollect"].context, settings.memory.refine)
    janitor.start()
    with (
        stopped_by_signals(server.stop),
        advertise_address(data_dir, settings.web.host, port) as address,
    ):
        if tell:
            tell(f"Open this link once, within five minutes:\n  {launch_link(data_dir, address.url)}")
        log.info("serving %s", address.url)
        server.run()
        log.info("the pages have ended")
    if week := app.extensions.get("sample week"):
        week.stop()
    models.close()
    janitor.stop()
    if compat:
        compat.stop()
    database.close_thread()


def _serve_unusable(
    data_dir: DataDir, settings: Settings, error: DatabaseUnusable, listener: socket.socket
) -> None:
    """Say on every page why there is nothing else, until stopped."""
    log.error("the database cannot be used: %s", error)
    what = str(error)
    app = unusable_app(_flask(), f"{what[:1].upper()}{what[1:]}.", advice(data_dir, error), settings.web)
    server = Server(app, listener, thread_done=lambda: None)
    here = settings.web
    with stopped_by_signals(server.stop), advertise_address(data_dir, here.host, here.port):
        server.run()


def unusable_app(app: Flask, what: str, action: str, web: WebSettings) -> Flask:
    """Let an empty app answer every address with the two sentences, and programs with a problem.

    It tells nothing of what was recorded, so it asks nobody to sign in: that takes the database.
    """
    languages.install(app)

    @app.before_request
    def tell() -> Response | None:
        if not guards.is_own_host(web):
            return Response("This server does not answer to that Host.\n", 403, content_type="text/plain")
        if request.endpoint == "static":
            return None
        if errors.is_api():
            return errors.problem_response(Problem(503, "database_unusable", f"{what} {action}".strip()))
        html = render_template("unusable.html", what=what, action=action)
        return Response(html, 503, content_type="text/html; charset=utf-8")

    app.after_request(guards.protect)
    return app


def _compat(app: Flask) -> Server | None:
    """The screenpipe-shaped port, answered beside the pages; None when it is not wanted or taken."""
    own: Services = app.extensions["recollect"]
    port = own.settings.compat.screenpipe_port
    if not port:
        return None
    from webapp.integrations.screenpipe.app import create_compat_app

    try:
        with listen("127.0.0.1", port) as listener:
            door = Server(create_compat_app(own, port), listener, thread_done=own.database.close_thread)
    except PortInUse as error:
        # Most likely screenpipe itself: no reason to go without the pages.
        log.error("the screenpipe-shaped API is not served: %s", error)
        return None
    threading.Thread(target=door.run, name="compat", daemon=True).start()
    log.info("serving the screenpipe-shaped API on port %d", port)
    return door


def _sweep(database: Database) -> None:
    """Finish deletions that a crash cut short, and give apps their colours.

    Beside the serving: a long spool, or a month of activity, takes seconds.
    """
    try:
        deletion.sweep(database, Media(database.data_dir.media))
        attachments.sweep(database, now_ms())
        with database.write() as connection:
            apps.assign_slots(connection, now_ms())
    except (StoreError, OSError):
        log.exception("what a deletion left could not be swept, or no colours given")
    finally:
        database.close_thread()


def _compile_templates(app: Flask) -> None:
    """Those of the first page first, which would take five times as long to answer."""
    names = app.jinja_env.list_templates(["html"])
    for name in sorted(names, key=lambda name: not name.startswith(("base", "macros", "shell", "welcome"))):
        app.jinja_env.get_template(name)
