"""Settings, Tools: how each tool of the chat runs, what it can reach, and what may run without asking."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.tools.registry import modes
from assistant.turns import tool_execution
from store.chats import tool_permissions
from store.chats.tool_permissions import Mode
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.pages.tools import MODE_WORDS, tool_views, tools_page

blueprint = Blueprint("tools", __name__)

_WHEN_ON: dict[str, Mode] = {"auto": "auto", "ask": "ask"}


@blueprint.get("/settings/tools")
def show() -> Response:
    html = render_template(
        "tools/tools.html", page=tools_page(services()), mode_words=MODE_WORDS, section="settings"
    )
    return make_response(html)


@blueprint.post("/settings/tools/<string:name>")
def change(name: str) -> Response:
    """Switch a tool on or off (``on``), and say when it asks (``mode``); from the next turn on."""
    own = services()
    if own.agent.registry.get(name) is None:
        raise Problem(404, "tool_not_found", f"There is no tool {name[:100]!r}.")
    wanted = _WHEN_ON.get(request.form.get("mode", "")) if request.form.get("on") == "on" else "off"
    if wanted is None:
        raise Problem(400, "invalid_request", "A tool runs automatically (auto) or asks (ask).")
    if wanted != modes(own.database, own.agent.registry)[name]:
        hosts = tool_execution.hosts(own.agent, own.chat_models, name)
        tool_permissions.choose(own.database, name, wanted, own.clock(), hosts)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/settings/tools#{name}")
    view = next(each for each in tool_views(own) if each.name == name)
    return make_response(render_template("tools/tool.html", tool=view, mode_words=MODE_WORDS))


@blueprint.post("/settings/tools/rules/<id:rule_id>/revoke")
def revoke(rule_id: int) -> Response:
    """Take a standing approval back; one that is gone already is as wanted."""
    tool_permissions.revoke(services().database, rule_id)
    return templating.redirect_to("/settings/tools#rules")
