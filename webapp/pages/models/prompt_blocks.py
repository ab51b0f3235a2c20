"""A system prompt: what its editor draws, and block by block as it was sent or would be sent now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flask import request
from werkzeug.wrappers import Response

from assistant.core.endpoints import Endpoint
from assistant.core.prompt_blocks import NAMES, Block, BlockName, split_blocks
from assistant.core.records import Mode, Scope, TurnFilters, TurnRequest
from assistant.core.texts import estimate_tokens
from assistant.tools import registry
from assistant.tools.registry import offered
from assistant.turns import model_session
from assistant.turns.plan import TurnPlan
from assistant.turns.voices import NEUTRAL, resolve_voice
from store.chats import personas
from store.chats import prompts as stored_prompts
from store.chats.prompts import MAX_CHARS, PromptVersion
from store.core.translation import N_
from store.core.translation import gettext as _
from store.egress.egress_log import SentRequest
from store.sources import entities
from webapp.api.tool_calls import gates_of
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, Viewer, services, viewer

LARGE_SHARE = 0.25
"""From this part of a model's window on the editor says how much of it the prompt takes."""


@dataclass(frozen=True, slots=True)
class PromptEditor:
    """What `models/_prompt.html` draws.

    `text` is what stands in the field, saved or not; `base` names the edition it was read from. `problem`
    says why it was not saved, `theirs` is what was saved elsewhere meanwhile. `undo` is the version before a
    change that was made with one press.
    """

    info: Endpoint
    names: tuple[str, ...]
    text: str
    base: str
    current: PromptVersion | None
    versions: int
    problem: str = ""
    theirs: PromptVersion | None = None
    undo: int | None = None
    persona: str = ""
    """Who speaks beside it in new chats; '' for nobody."""
    limit: int = MAX_CHARS

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)

    @property
    def is_large(self) -> bool:
        """Whether it takes much of what the model can read at once."""
        return self.tokens > LARGE_SHARE * self.info.context_tokens


def editor(own: Services, name: str = "", undo: int | None = None) -> PromptEditor | None:
    """The editor for a model, by default the one that answers; None where no model takes a prompt."""
    infos = {info.name: info for info in own.chat_models.listed() if not info.is_extractive}
    info = infos.get(name) or infos.get(own.chat_models.default) or next(iter(infos.values()), None)
    if info is None:
        return None
    versions = stored_prompts.versions(own.database, info.name)
    current = versions[0] if versions else None
    speaker = personas.active(own.database)
    return PromptEditor(
        info=info,
        names=tuple(infos),
        text=current.content if current else "",
        base=current.edition if current else "",
        current=current,
        versions=len(versions),
        undo=undo if undo in {version.version for version in versions[1:]} else None,
        persona=speaker.name if speaker else "",
    )


TITLES: dict[BlockName, str] = {
    "model_prompt": N_("Model prompt"),
    "identity": N_("Identity"),
    "rules": N_("Hard rules"),
    "guidance": N_("Use of tools"),
    "tools": N_("Tool definitions"),
    "time": N_("Time"),
    "budget": N_("Budget"),
    "background": N_("Background"),
}


@dataclass(frozen=True, slots=True)
class BlockView:
    number: int
    title: str
    text: str

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class PromptView:
    """What `prompts/_blocks.html` draws. `tools` is what travels beside the messages as ``tools``, '' for
    nothing.
    """

    blocks: tuple[BlockView, ...]
    absent: tuple[str, ...]
    tools: str = ""

    @property
    def has_two_voices(self) -> bool:
        """Whether the model's prompt and a persona both say how to speak."""
        texts = {block.number: block.text for block in self.blocks}
        return 1 in texts and texts.get(2, NEUTRAL) != NEUTRAL


@templating.get("/settings/models/prompt/preview")
def preview() -> Response:
    """What a model would be told now, without tools and with them: the one that is named, or answers."""
    own, name = services(), request.args.get("model", "")
    shown = editor(own, name)
    if shown is None and not name:
        return templating.render_page("prompts/preview.html", info=None)
    if shown is None or name not in ("", shown.info.name):
        raise Problem(404, "model_not_found", _("There is no such model."))
    info, who = shown.info, viewer()
    views = [(_("In evidence mode"), prompt_preview(own, info, "evidence", who))]
    if info.supports_tools or info.tool_format:
        views.append((_("With tools"), prompt_preview(own, info, "auto", who)))
    return templating.render_page("prompts/preview.html", info=info, views=views)


def prompt_preview(own: Services, info: Endpoint, mode: Mode, who: Viewer) -> PromptView:
    """What the model would be sent now for a question about today."""
    today = who.today
    asked = TurnRequest("", who.zone_name, who.now_ms, mode=mode)
    plan = TurnPlan(
        request=asked, zone=who.zone, message="", language="en", filters=TurnFilters(),
        scope=Scope("", today.start_ms, who.now_ms), model=own.chat_models.get("extractive"),
        voice=resolve_voice(own.database, asked), uses_tools=mode != "evidence",
        model_prompt=stored_prompts.get_prompt(own.database, info.name),
        owner=owner.name if (owner := entities.owner(own.database)) else "",
    )  # fmt: skip
    if not plan.uses_tools:
        return _view(model_session.blocks(plan))
    gates = replace(gates_of(own), has_vision=info.supports_vision, has_attachments=False)
    on = offered(own.database, own.agent.tools, gates)
    able = on if plan.gathers else [tool for tool in on if gates.holds(tool.name)]
    tools = registry.fitting(able, info.context_tokens)
    blocks = model_session.blocks(plan, tools, own.agent.settings, info.tool_format)
    beside = "" if info.tool_format else json.dumps(registry.definitions(tools), ensure_ascii=False)
    return _view(blocks, beside)


def prompt_sent(request: SentRequest) -> PromptView | None:
    """The system prompt of a request; None where its text was erased, or none was noted."""
    if not (request.body and request.blocks):
        return None
    document = json.loads(request.body)
    messages = document.get("messages", ())
    told = [message.get("content") for message in messages if message.get("role") == "system"]
    blocks, tools = split_blocks(request.blocks, list(map(str, told))), document.get("tools")
    return _view(blocks, json.dumps(tools, ensure_ascii=False) if tools else "") if blocks else None


def _view(blocks: Sequence[Block], tools: str = "") -> PromptView:
    drawn = tuple(BlockView(block.number, _(TITLES[block.name]), block.text) for block in blocks)
    present = {block.name for block in blocks} | ({"tools"} if tools else set())
    return PromptView(drawn, tuple(_(TITLES[name]) for name in NAMES if name not in present), tools)
