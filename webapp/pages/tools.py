"""Settings, Tools: how each tool of the chat runs, what it can reach, and what may run without asking."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from assistant.core.models import ChatModels
from assistant.tools.registry import APPROVAL_LIFETIME_MS, modes, not_set_up
from assistant.tools.tool import RISKS, Risk, Tool
from assistant.tools.web import search_engine
from assistant.turns import tool_execution
from store.chats import tool_calls, tool_permissions
from store.chats.tool_permissions import Mode
from store.core.settings import ToolsSettings
from webapp.api.tool_calls import gates_of
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services

MODE_WORDS: Mapping[Mode, str] = {"auto": "Run automatically", "ask": "Ask every time", "off": "Off"}
EVENT_WORDS = {
    "approved": "allowed once",
    "allowed_in_chat": "allowed in one chat",
    "always_allowed": "allowed always",
    "denied": "denied",
    "expired": "nobody decided in time",
    "refused": "refused: not as approved, or decided before",
    "completed": "ran",
    "failed": "failed",
    "timed_out": "took too long",
}
MAX_EVENTS = 30
_WHEN_ON: dict[str, Mode] = {"auto": "auto", "ask": "ask"}
_ORDER: tuple[Risk, ...] = ("sends", "files", "changes", "looks")


@dataclass(frozen=True, slots=True)
class ToolView:
    """One tool. `reaches` is what it can touch as things are now; `lacks` why nobody is offered it. One that
    runs by itself `asks_again` where it would send to another host than when that was chosen.
    """

    tool: Tool
    mode: Mode
    reaches: str
    last_used_ms: int | None
    lacks: str
    asks_again: bool

    @property
    def summary(self) -> str:
        """The first sentence of its description."""
        text = self.tool.description
        end = re.search(r"[.;](?= |\Z)", text)
        return f"{text[: end.start()]}." if end else text

    @property
    def chosen(self) -> Mode:
        """The mode when it is on: that of a tool that is off would be its default."""
        if self.mode != "off":
            return self.mode
        return "ask" if self.tool.mode == "off" else self.tool.mode


@templating.get("/settings/tools")
def show() -> Response:
    """The tools by their kind of risk, those that have to be set up first, and what was allowed and run."""
    own = services()
    views = list(tool_views(own))
    groups = [(RISKS[risk][1], [view for view in views if view.tool.risk == risk]) for risk in _ORDER]
    models = own.chat_models
    return templating.render_page(
        "tools/tools.html",
        groups=[(title, members) for title, members in groups if members],
        missing=not_set_up(own.settings.tools),
        rules=tool_permissions.rules(own.database),
        events=tool_calls.latest_events(own.database, MAX_EVENTS),
        event_words=EVENT_WORDS,
        mode_words=MODE_WORDS,
        kind_of=_kind,
        is_used=any(models.endpoint(name).supports_tools for name in models.names),
        limits=own.settings.tools,
        approval_minutes=APPROVAL_LIFETIME_MS // 60_000,
    )


@templating.post("/settings/tools/<string:name>")
def change(name: str) -> Response:
    """Switch a tool on or off (``on``), and say when it asks (``mode``); from the next turn on."""
    own = services()
    if own.agent.tools.get(name) is None:
        raise Problem(404, "tool_not_found", f"There is no tool {name[:100]!r}.")
    mode = _WHEN_ON.get(request.form.get("mode", "")) if request.form.get("on") == "on" else "off"
    if mode is None:
        raise Problem(400, "invalid_request", "A tool runs automatically (auto) or asks (ask).")
    if mode != modes(own.database, own.agent.tools)[name]:
        hosts = tool_execution.hosts(own.agent, own.chat_models, name)
        tool_permissions.choose(own.database, name, mode, own.clock(), hosts)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/settings/tools#{name}")
    view = next(view for view in tool_views(own) if view.tool.name == name)
    return templating.render_page("tools/tool.html", view=view, mode_words=MODE_WORDS, kind_of=_kind)


@templating.post("/settings/tools/rules/<id:rule_id>/revoke")
def revoke(rule_id: int) -> Response:
    """Take a standing approval back; one that is gone already is as wanted."""
    tool_permissions.revoke(services().database, rule_id)
    return templating.redirect_to("/settings/tools#rules")


def tool_views(own: Services) -> Iterator[ToolView]:
    """Every tool of this installation, in the order a model is told them."""
    by_name = modes(own.database, own.agent.tools)
    used = tool_calls.last_used_tools(own.database)
    bound = tool_permissions.hosts(own.database)
    gates = gates_of(own)
    for tool in own.agent.tools.values():
        mode = by_name[tool.name]
        hosts = tool_execution.hosts(own.agent, own.chat_models, tool.name)
        yield ToolView(
            tool=tool,
            mode=mode,
            reaches=_reaches(tool, own.settings.tools, own.chat_models),
            last_used_ms=used.get(tool.name),
            lacks=gates.lacks(tool.name),
            asks_again=mode == "auto" and not hosts <= bound.get(tool.name, set()),
        )


def _reaches(tool: Tool, settings: ToolsSettings, models: ChatModels) -> str:
    """Roots, endpoint or model, where the tool has one; else its own words."""
    engine = search_engine(settings)
    if tool.name == "web_search" and engine:
        return f"{engine.host}, which gets the words of the search"
    if tool.risk == "files":
        return f"{tool.reaches}: {', '.join(settings.read_file_roots)}"
    if tool.name == "describe_frame" and (seeing := _seeing(models)):
        return f"one picture of your screen, shown to the model that answers: {', '.join(seeing)}"
    return tool.reaches


def _seeing(models: ChatModels) -> list[str]:
    """Models that take pictures, with where they are."""
    return [f"{info.name} ({info.where})" for info in models.describe() if info.supports_vision]


def _kind(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in words: ``integer, 1 to 100``."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    words = str(schema.get("type", "any value"))
    if words == "array":
        words = f"list of {_kind(schema.get('items', {}))}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 2**31:
        return f"{words}, {low} to {high:,}"
    if low is not None:
        return f"{words}, {low} or more"
    if high is not None:
        return f"{words}, at most {high:,}"
    most = schema.get("maxLength")
    return f"{words}, at most {most:,} characters" if most else words
