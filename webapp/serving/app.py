"""The pages, as one list: what `create_app` needs to know of them."""

from __future__ import annotations

from flask import Flask, redirect
from werkzeug.wrappers import Response

from store.frames import frames
from webapp.core import filters, templating
from webapp.core.services import services
from webapp.ops.light import recording_indicator
from webapp.pages import (
    daily,
    egress,
    logging_page,
    settings,
    tools_page,
    webapp_activity,
    webapp_insights,
    webapp_memory,
    webapp_memory_sessions,
    webapp_palette,
    webapp_personas,
    webapp_privacy,
    webapp_remembered,
    webapp_search,
    webapp_sources,
    webapp_status,
    webapp_welcome,
)
from webapp.pages import webapp_frames as frame_pages
from webapp.pages.chats import chat_memory, chat_windows, chats, decisions, drafts, webapp_turns
from webapp.pages.chats import routes as chat_routes
from webapp.pages.models import blocks_page, prompts
from webapp.pages.models import routes as models_routes
from webapp.pages.timeline import routes as timeline_routes

BLUEPRINTS = (
    timeline_routes.blueprint,
    webapp_activity.blueprint,
    webapp_search.blueprint,
    frame_pages.blueprint,
    chat_routes.blueprint,
    chat_windows.windows_blueprint,
    decisions.decisions_blueprint,
    chat_memory.blueprint,
    chats.chats_blueprint,
    drafts.drafts_blueprint,
    webapp_turns.blueprint,
    blocks_page.blueprint,
    webapp_memory.blueprint,
    webapp_memory_sessions.blueprint,
    logging_page.logging_blueprint,
    daily.blueprint,
    webapp_remembered.blueprint,
    webapp_insights.blueprint,
    webapp_personas.blueprint,
    webapp_privacy.blueprint,
    settings.blueprint,
    models_routes.blueprint,
    tools_page.blueprint,
    prompts.blueprint,
    egress.blueprint,
    webapp_sources.blueprint,
    webapp_status.blueprint,
    webapp_welcome.blueprint,
    webapp_palette.blueprint,
)


def install_pages(app: Flask) -> None:
    """Register every page with what its templates use."""
    templating.install_htmx(app)
    filters.install_filters(app)
    app.jinja_env.globals["capture_light"] = lambda: recording_indicator(services())
    app.add_url_rule("/", "home", home)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)


def home() -> Response:
    """The timeline, or the first-run page until a first frame is stored."""
    has_frames = frames.nearest(services().database, 0) is not None
    return redirect("/timeline" if has_frames else "/welcome", 302)
