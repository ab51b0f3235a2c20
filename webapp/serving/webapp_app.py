"""The WSGI application: handed everything it uses, nothing global.

One blueprint per noun; what guards them all is in `webapp.security.guards`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from flask import Flask
from jinja2 import StrictUndefined

from assistant.context.session_closing import ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from assistant.tools.registry import AgentDeps, registry
from assistant.turns.live import LiveTurns
from store.chats import personas
from store.core.database import Database
from store.core.settings import Settings
from store.core.times import now_ms
from store.frames.media import Media
from store.spool.queue import MAX_IMAGE_BYTES, Spool
from webapp.core import errors
from webapp.core.parameters import DayConverter, IdConverter, ModelConverter
from webapp.core.services import Services
from webapp.core.uploads import Request
from webapp.security import access, guards
from webapp.serving import leaving

_HERE = Path(__file__).parent
# A multipart body holds the picture and a little more around it.
_MAX_BODY_BYTES = MAX_IMAGE_BYTES + 64 * 1024
_SESSION_LIFETIME = timedelta(days=90)


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
    app = Flask("webapp", template_folder=_folder("templates"), static_folder=_folder("static"))
    app.extensions["recollect"] = _services(settings, database, chat_models, embedder, clock)
    _configure(app, settings)
    errors.install(app)
    guards.install(app)
    leaving.install(app)
    access.public(app.view_functions["static"])
    _register(app)
    app.request_class = Request  # after the htmx extension, which sets its own
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
    media = Media(data_dir.media)
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
        agent=AgentDeps(library, settings.tools, registry(settings.tools)),
        context=ContextServices(database, settings.context, chat_models, embedder.asked, clock),
        turns=LiveTurns(),
        clock=clock,
        token=access.load_token(data_dir),
    )


def _configure(app: Flask, settings: Settings) -> None:
    token = app.extensions["recollect"].token
    app.config.update(
        SECRET_KEY=access.derive_key(token, "session"),
        # Two homes on two ports share one host, and cookies do not look at ports.
        SESSION_COOKIE_NAME=f"recollect_{settings.web.port}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        SESSION_REFRESH_EACH_REQUEST=False,
        PERMANENT_SESSION_LIFETIME=_SESSION_LIFETIME,
        MAX_CONTENT_LENGTH=_MAX_BODY_BYTES,
        MAX_FORM_MEMORY_SIZE=1_000_000,
        MAX_FORM_PARTS=100,
    )
    app.url_map.merge_slashes = False
    app.url_map.converters["id"] = IdConverter
    app.url_map.converters["day"] = DayConverter
    app.url_map.converters["model"] = ModelConverter
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.autoescape = True
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True


def _register(app: Flask) -> None:
    """One blueprint per noun."""
    from webapp import api
    from webapp.api import following
    from webapp.security import launch
    from webapp.serving import app as pages
    from webapp.serving import sockets

    for module in (launch, api):
        app.register_blueprint(module.blueprint)
    pages.install_pages(app)
    following.install(app)
    sockets.install(app)


def _folder(name: str) -> str:
    """`templates` or `static`: beside the package in a checkout, inside it in a wheel."""
    inside = _HERE / f"_{name}"
    return str(inside if inside.is_dir() else _HERE.parent / name)
