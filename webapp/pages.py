"""The pages, as one list: what `create_app` needs to know of them."""

from __future__ import annotations

from flask import Flask, redirect
from werkzeug.wrappers import Response

from store import frames
from webapp import (
    activity,
    blocks_page,
    chat,
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
    models_page,
    palette,
    personas,
    privacy,
    prompts_page,
    remembered,
    search,
    sent_page,
    sources,
    status,
    timeline,
    tools_page,
    turns,
    welcome,
)
from webapp import frames as frame_pages
from webapp.light import capture_light
from webapp.services import services

BLUEPRINTS = (
    timeline.blueprint,
    activity.blueprint,
    search.blueprint,
    frame_pages.blueprint,
    chat.blueprint,
    chat_windows.blueprint,
    decisions.blueprint,
    chat_memory.blueprint,
    chats.blueprint,
    drafts.blueprint,
    turns.blueprint,
    blocks_page.blueprint,
    memory.blueprint,
    memory_sessions.blueprint,
    logging_page.blueprint,
    daily.blueprint,
    remembered.blueprint,
    insights.blueprint,
    personas.blueprint,
    privacy.blueprint,
    display.blueprint,
    models_page.blueprint,
    tools_page.blueprint,
    prompts_page.blueprint,
    sent_page.blueprint,
    sources.blueprint,
    status.blueprint,
    welcome.blueprint,
    palette.blueprint,
)


def install(app: Flask) -> None:
    """Register every page with what its templates use."""
    fragments.install(app)
    filters.install(app)
    app.jinja_env.globals["capture_light"] = lambda: capture_light(services())
    app.add_url_rule("/", "home", home)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)


def home() -> Response:
    """The timeline, or the first-run page until a first frame is stored."""
    has_frames = frames.nearest(services().database, 0) is not None
    return redirect("/timeline" if has_frames else "/welcome", 302)
