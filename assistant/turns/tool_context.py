"""What one call of a turn's tool is handed, and what a person is told that it will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.core.cancellation import CancelToken
from assistant.core.prompt_blocks import Block
from assistant.evidence.off_screen import OffScreen
from assistant.evidence.visible import StreamBuffer
from assistant.tools.findings import Findings, TurnFindings
from assistant.tools.network import VisionAccess, WebAccess
from assistant.tools.registry import AgentDeps, ToolContext, search_engine
from assistant.tools.tool import Tool
from assistant.turns.attachments import NO_PICTURES, Pictures
from assistant.turns.plan import MAX_ANSWER_TOKENS, TurnPlan, TurnServices
from engines.chat.addresses import host_of, is_local
from engines.chat.protocol import Message, StreamingModel, Usage
from store.chats.conversations import StoredTurn


@dataclass(slots=True)
class ToolSession:
    """A turn with tools as it goes."""

    deps: TurnServices
    agent: AgentDeps
    plan: TurnPlan
    model: StreamingModel
    turn: StoredTurn
    stop: CancelToken
    tools: list[Tool]
    form: str
    tells_as_text: bool
    """Whether the model knows no messages of a tool, and gets results as the text of a user."""
    blocks: tuple[Block, ...]
    messages: list[Message]
    off_screen: OffScreen
    findings: TurnFindings = field(default_factory=TurnFindings)
    usages: list[Usage] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parts: int = 0
    left_out: int = 0
    shortened: int = 0
    pictures: Pictures = NO_PICTURES
    room: int = field(init=False)
    """Tokens that a request may have; less than the model is set to, once its endpoint refused as much."""
    heard: StreamBuffer = field(default_factory=StreamBuffer)
    """What of the answer that is being written was heard so far."""

    def __post_init__(self) -> None:
        window = self.model.context_tokens
        self.room = window - min(MAX_ANSWER_TOKENS, window // 4)


@dataclass(frozen=True, slots=True)
class CallNotice:
    """What a call will do and what a standing approval of it would cover, both in words.

    The span is of what the words already tell of the screen, None for nothing.
    """

    notice: str
    scope: str
    shown_from_ms: int | None
    shown_until_ms: int | None


def context_of(session: ToolSession, findings: Findings) -> ToolContext:
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
        web=WebAccess(engine, deps.database, deps.clock, session.turn.id) if engine else None,
        vision=VisionAccess(session.model, endpoint, deps.database, deps.clock, session.turn.id)
        if endpoint and can_see
        else None,
    )


def call_notice(session: ToolSession, tool: Tool, arguments: Mapping[str, Any]) -> CallNotice:
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
    return CallNotice(notice, scope, findings.from_ms, findings.until_ms)
