"""The pages, as one list: what `create_app` needs to know of them."""

from __future__ import annotations

from flask import Flask, redirect
from werkzeug.wrappers import Response

from store.frames import frames
from webapp import (
    activity,
    blocks_page,
    chat_memory,
    chat_windows,
    chats,
    daily,
    decisions,
    display,
    drafts,
    filters,
    fragments,
    insights,
    logging_page,
    memory,
    memory_sessions,
    palette,
    personas,
    privacy,
    prompts_page,
    remembered,
    search,
    sent_page,
    sources,
    status,
    tools_page,
    turns,
    welcome,
)
from webapp import chat as chat_routes
from webapp import frames as frame_pages
from webapp import (
    models_page as models_routes,
)
from webapp import timeline as timeline_routes
from webapp.light import recording_indicator
from webapp.services import services

BLUEPRINTS = (
    timeline_routes.blueprint,
    activity.blueprint,
    search.blueprint,
    frame_pages.blueprint,
    chat_routes.blueprint,
    chat_windows.windows_blueprint,
    decisions.decisions_blueprint,
    chat_memory.blueprint,
    chats.chats_blueprint,
    drafts.drafts_blueprint,
    turns.blueprint,
    blocks_page.blueprint,
    memory.blueprint,
    memory_sessions.blueprint,
    logging_page.logging_blueprint,
    daily.blueprint,
    remembered.blueprint,
    insights.blueprint,
    personas.blueprint,
    privacy.blueprint,
    display.blueprint,
    models_routes.blueprint,
    tools_page.blueprint,
    prompts_page.blueprint,
    sent_page.blueprint,
    sources.blueprint,
    status.blueprint,
    welcome.blueprint,
    palette.blueprint,
)


def install_pages(app: Flask) -> None:
    """Register every page with what its templates use."""
    fragments.install_htmx(app)
    filters.install_filters(app)
    app.jinja_env.globals["capture_light"] = lambda: recording_indicator(services())
    app.add_url_rule("/", "home", home)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)


def home() -> Response:
    """The timeline, or the first-run page until a first frame is stored."""
    has_frames = frames.nearest(services().database, 0) is not None
    return redirect("/timeline" if has_frames else "/welcome", 302)
