"""Where the tools that send something send it.

Who lets such a tool run by itself knows where that goes today. When the search endpoint or the model is
another one tomorrow, nobody has agreed to that yet: the tool asks again.
"""

from __future__ import annotations

from assistant.core.models import ChatModels
from assistant.tools.registry import AgentDeps, search_engine
from assistant.tools.tool import Tool
from assistant.turns.tool_context import ToolSession
from engines.chat.addresses import host_of
from store.chats import tool_permissions


def hosts(agent: AgentDeps, models: ChatModels, tool: str) -> frozenset[str]:
    """The hosts that a tool of this installation would send to now; none for one that sends nothing."""
    found = agent.registry.get(tool)
    if found is None or found.risk != "sends":
        return frozenset()
    engine = search_engine(agent.settings)
    if found.name == "web_search":
        return frozenset({engine.host} if engine else ())
    return frozenset(
        info.host or host_of(info.base_url) for info in models.describe() if info.supports_vision
    )


def is_auto_approved(session: ToolSession, tool: Tool) -> bool:
    """Whether a tool whose mode is ``auto`` may run now: one that sends something only to where it did when
    the person chose that mode.
    """
    if tool.risk != "sends":
        return True
    allowed = tool_permissions.hosts(session.deps.database).get(tool.name, frozenset())
    return _host(session, tool) in allowed


def _host(session: ToolSession, tool: Tool) -> str:
    if tool.name == "web_search":
        engine = search_engine(session.agent.settings)
        return engine.host if engine else ""
    endpoint = session.deps.models.endpoint(session.plan.model.name)
    return host_of(endpoint.base_url) if endpoint else ""
