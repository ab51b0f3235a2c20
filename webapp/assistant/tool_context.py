"""What one call of a turn's tool is handed, and what a person is told that it will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.addresses import host_of, is_local
from webapp.assistant.agent_session import ToolContext, search_engine
from webapp.assistant.findings import Findings
from webapp.assistant.outside import Vision, Web
from webapp.assistant.tool import Tool

if TYPE_CHECKING:
    from webapp.assistant.agent import Session


@dataclass(frozen=True, slots=True)
class Told:
    """What a call will do and what a standing approval of it would cover, both in words.

    The span is of what the words already tell of the screen, None for nothing.
    """

    notice: str
    scope: str
    shown_from_ms: int | None
    shown_until_ms: int | None


def context_of(session: Session, findings: Findings) -> ToolContext:
    """What a call is handed that notes in `findings` what it shows."""
    settings, deps, plan = session.agent.settings, session.deps, session.plan
    engine = search_engine(settings)
    endpoint = deps.models.endpoint(plan.model.name)
    can_see = endpoint is not None and endpoint.supports_vision
    return ToolContext(
        library=session.agent.library,
        findings=findings,
        now_ms=deps.clock(),
        zone=plan.zone,
        range_ms=(plan.start_ms, plan.end_ms) if plan.is_bounded else None,
        timeout_s=settings.timeout_s,
        read_file_roots=tuple(Path(root).expanduser() for root in settings.read_file_roots),
        read_file_max_bytes=settings.read_file_max_bytes,
        never_read=(deps.database.data_dir.home,),
        turn_id=session.turn.id,
        chat_id=session.turn.chat_id,
        web=Web(engine, deps.database, deps.clock, session.turn.id) if engine else None,
        vision=Vision(session.model, endpoint, deps.database, deps.clock, session.turn.id)
        if endpoint and can_see
        else None,
    )


def told(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> Told:
    """What a person is told before a call. Raises `ToolFailed` for one that cannot be made."""
    findings = session.findings.of_call()
    context = context_of(session, findings)
    does = tool.notice(context, arguments) or f"Reaches {tool.reaches}."
    endpoint = session.deps.models.endpoint(session.plan.model.name)
    if endpoint is None or is_local(endpoint.base_url):
        goes = "stay on this computer"
    else:
        goes = f"go to {host_of(endpoint.base_url)}"
    notice = f"{does} Its results {goes}."
    scope = f"{tool.scope(context)}; results {goes}"
    return Told(notice, scope, findings.from_ms, findings.until_ms)
