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
from store.core.translation import N_
from store.core.translation import gettext as _
from webapp.api.tool_calls import gates_of
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services

MODE_WORDS: Mapping[Mode, str] = {
    "auto": N_("Run automatically"), "ask": N_("Ask every time"), "off": N_("Off")
}  # fmt: skip
EVENT_WORDS = {
    "approved": N_("allowed once"),
    "allowed_in_chat": N_("allowed in one chat"),
    "always_allowed": N_("allowed always"),
    "denied": N_("denied"),
    "expired": N_("no decision in time"),
    "refused": N_("refused: not as approved, or decided before"),
    "completed": N_("ran"),
    "failed": N_("failed"),
    "timed_out": N_("took too long"),
}
MAX_EVENTS = 30
_KINDS = {
    "string": N_("text"), "integer": N_("whole number"), "number": N_("number"), "boolean": N_("yes or no"),
    "array": N_("list"), "object": N_("object"), "null": N_("nothing"),
}  # fmt: skip
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
        """What it does, in the person's language."""
        return _(does(self.tool))

    @property
    def chosen(self) -> Mode:
        """The mode when it is on: that of a tool that is off would be its default."""
        if self.mode != "off":
            return self.mode
        return "ask" if self.tool.mode == "off" else self.tool.mode


def does(tool: Tool) -> str:
    """The beginning of its description; what follows says when a model is to call it."""
    end = re.search(r"[.;](?= |\Z)", tool.description)
    return f"{tool.description[: end.start()]}." if end else tool.description


@templating.get("/settings/tools")
def show() -> Response:
    """The tools by their kind of risk, those that have to be set up first, and what was allowed and run."""
    own = services()
    views = list(tool_views(own))
    groups = [(_(RISKS[risk][1]), [view for view in views if view.tool.risk == risk]) for risk in _ORDER]
    models = own.chat_models
    return templating.render_page(
        "tools/tools.html",
        groups=[(title, members) for title, members in groups if members],
        missing=not_set_up(own.settings.tools),
        rules=tool_permissions.rules(own.database),
        events=tool_calls.latest_events(own.database, MAX_EVENTS),
        event_words=EVENT_WORDS,
        mode_words=MODE_WORDS,
        is_used=any(models.endpoint(name).supports_tools for name in models.names),
        limits=own.settings.tools,
        approval_minutes=APPROVAL_LIFETIME_MS // 60_000,
    )


def _tool(name: str) -> Tool:
    tool = services().agent.tools.get(name)
    if tool is None:
        raise Problem(404, "tool_not_found", _("There is no tool %(name)r.", name=name[:100]))
    return tool


@templating.get("/settings/tools/<string:name>")
def documentation(name: str) -> Response:
    """What a model is told of a tool."""
    return templating.render_page("tools/documented.html", tool=_tool(name), kind_of=_kind)


@templating.post("/settings/tools/<string:name>")
def change(name: str) -> Response:
    """Switch a tool on or off (``on``), and say when it asks (``mode``); from the next turn on."""
    own = services()
    _tool(name)
    mode = _WHEN_ON.get(request.form.get("mode", "")) if request.form.get("on") == "on" else "off"
    if mode is None:
        raise Problem(400, "invalid_request", "A tool runs automatically (auto) or asks (ask).")
    if mode != modes(own.database, own.agent.tools)[name]:
        hosts = tool_execution.hosts(own.agent, own.chat_models, name)
        tool_permissions.choose(own.database, name, mode, own.clock(), hosts)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/settings/tools#{name}")
    view = next(view for view in tool_views(own) if view.tool.name == name)
    return templating.render_page("tools/_tool.html", view=view, mode_words=MODE_WORDS)


@templating.post("/settings/tools/rules/<id:rule_id>/revoke")
def revoke(rule_id: int) -> Response:
    """Take a standing approval back; one that is gone already is as wanted."""
    tool_permissions.revoke(services().database, rule_id)
    return templating.redirect_to("/settings/tools#rules")


def tool_views(own: Services) -> Iterator[ToolView]:
    """Every tool of this installation, in the order a model is told them."""
    by_name = modes(own.database, own.agent.tools)
    used = tool_calls.last_used_tools(own.database)
    bound = tool_permissions.chosen(own.database)
    gates = gates_of(own)
    for tool in own.agent.tools.values():
        mode = by_name[tool.name]
        hosts = tool_execution.hosts(own.agent, own.chat_models, tool.name)
        yield ToolView(
            tool=tool,
            mode=mode,
            reaches=_reaches(tool, own.settings.tools, own.chat_models),
            last_used_ms=used.get(tool.name),
            lacks=_(gates.lacks(tool.name)),
            asks_again=mode == "auto"
            and not hosts <= (bound[tool.name].hosts if tool.name in bound else set()),
        )


def _reaches(tool: Tool, settings: ToolsSettings, models: ChatModels) -> str:
    """Roots, endpoint or model, where the tool has one; else its own words."""
    engine = search_engine(settings)
    if tool.name == "web_search" and engine:
        return _("%(host)s, which gets the words of the search", host=engine.host)
    if tool.risk == "files":
        names = _(", ").join(settings.read_file_roots)
        return _("%(what)s: %(names)s", what=_(tool.reaches), names=names)
    seeing = [info for info in models.describe() if info.supports_vision]
    if tool.name == "describe_frame" and seeing:
        names = _(", ").join(_("%(model)s (%(where)s)", model=info.name, where=info.where) for info in seeing)
        return _("%(what)s: %(names)s", what=_(tool.reaches), names=names)
    return _(tool.reaches)


def _kind(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in words: ``integer, 1 to 100``."""
    if "anyOf" in schema:
        return _(" or ").join(dict.fromkeys(_kind(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return _("one of %(names)s", names=_(", ").join(map(str, schema["enum"])))
    words = _(_KINDS.get(schema.get("type", ""), N_("any value")))
    if schema.get("type") == "array":
        words = _("list of %(kind)s", kind=_kind(schema.get("items", {})))
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 2**31:
        return _("%(kind)s, %(low)s to %(high)s", kind=words, low=low, high=f"{high:,}")
    if low is not None:
        return _("%(kind)s, %(number)s or more", kind=words, number=low)
    if high is not None:
        return _("%(kind)s, at most %(number)s", kind=words, number=f"{high:,}")
    most = schema.get("maxLength")
    return _("%(kind)s, at most %(number)s characters", kind=words, number=f"{most:,}") if most else words
