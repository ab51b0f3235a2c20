"""A system prompt block by block: as it was sent for a turn, and as a model would be sent it now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from assistant.core.endpoints import Endpoint
from assistant.core.prompt_blocks import NAMES, PREFIX, Block, BlockName, prefix_sha256, split_blocks
from assistant.core.records import Mode, Scope, TurnFilters, TurnRequest
from assistant.core.texts import estimate_tokens
from assistant.tools import registry
from assistant.tools.registry import offered
from assistant.turns import prompts
from assistant.turns.admission import NEUTRAL, resolve_voice
from assistant.turns.plan import TurnPlan
from store.chats import prompts as stored_prompts
from store.core.database import Database
from store.core.translation import N_
from store.core.translation import gettext as _
from store.egress import egress_log
from store.egress.egress_log import SentRequest
from store.sources import entities
from webapp.api.tool_calls import gates_of
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.lookups import turn_or_404
from webapp.core.services import Services, Viewer, services, viewer
from webapp.pages.models.prompt_editor import editor

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
    is_prefix: bool

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class PromptView:
    """What `prompts/_blocks.html` draws.

    `tools` is what travels beside the messages as ``tools``, '' for nothing. `before` is the turn that
    was sent to the same model before, None for none; `changed` are the titles of the blocks of the
    beginning that differ from it, None where that is no longer known.
    """

    blocks: tuple[BlockView, ...]
    absent: tuple[str, ...]
    prefix_sha256: str
    tools: str = ""
    requests: tuple[SentRequest, ...] = ()
    before: int | None = None
    is_same_prefix: bool = False
    changed: tuple[str, ...] | None = None

    @property
    def has_two_voices(self) -> bool:
        """Whether the model's prompt and a persona both say how to speak."""
        texts = {block.number: block.text for block in self.blocks}
        return 1 in texts and texts.get(2, NEUTRAL) != NEUTRAL


@templating.get("/chat/<id:chat_id>/turns/<id:n>/prompt")
def for_turn(chat_id: int, n: int) -> Response:
    """What the model was told beside the question, by the record of what was sent."""
    turn = turn_or_404(chat_id, n)
    prompts = of_turn(services().database, chat_id, n)
    return templating.render_page("prompts/turn.html", turn=turn, prompts=prompts)


@templating.get("/settings/models/prompt/preview")
def preview() -> Response:
    """What a model would be told now, without tools and with them: the one that is named, or answers."""
    own, name = services(), request.args.get("model", "")
    shown = editor(own, name)
    if shown is None and not name:
        return templating.redirect_to("/settings/models")
    if shown is None or name not in ("", shown.info.name):
        raise Problem(404, "model_not_found", _("There is no such model."))
    info, who = shown.info, viewer()
    views = [(_("In evidence mode"), prompt_preview(own, info, "evidence", who))]
    if info.supports_tools or info.tool_format:
        views.append((_("With tools"), prompt_preview(own, info, "auto", who)))
    return templating.render_page("prompts/preview.html", info=info, views=views)


def of_turn(database: Database, chat_id: int, n: int) -> list[PromptView]:
    """The system prompts of a turn's requests, in order; requests with the same one stand together.

    Requests whose text was erased, or that were sent before blocks were noted, have no blocks.
    """
    # A turn may also have searched by meaning, or shown a picture: those tell no model who it is.
    requests = [sent for sent in egress_log.of_turn(database, chat_id, n) if sent.purpose == "answer"]
    before = egress_log.last_prompted(database, chat_id, n, requests[0].provider) if requests else None
    return [_sent(tuple(same), before) for _, same in groupby(requests, _system_of)]


def prompt_preview(own: Services, info: Endpoint, mode: Mode, who: Viewer) -> PromptView:
    """What the model would be sent now for a question about today."""
    today = who.today
    asked = TurnRequest("", who.zone_name, who.now_ms, mode=mode)
    plan = TurnPlan(
        asked, who.zone, "", "en", Scope("", today.start_ms, who.now_ms), TurnFilters(),
        own.chat_models.get("extractive"), resolve_voice(own.database, asked), uses_tools=mode != "evidence",
        model_prompt=stored_prompts.get_prompt(own.database, info.name),
        owner=owner.name if (owner := entities.owner(own.database)) else "",
    )  # fmt: skip
    if not plan.uses_tools:
        return _view(prompts.blocks(plan))
    gates = replace(gates_of(own), has_vision=info.supports_vision, has_attachments=False)
    on = offered(own.database, own.agent.tools, gates)
    able = on if plan.gathers else [tool for tool in on if gates.holds(tool.name)]
    tools = registry.fitting(able, info.context_tokens)
    blocks = prompts.blocks(plan, tools, own.agent.settings, info.tool_format)
    beside = "" if info.tool_format else json.dumps(registry.definitions(tools), ensure_ascii=False)
    return _view(blocks, tools=beside)


def _sent(requests: tuple[SentRequest, ...], before: SentRequest | None) -> PromptView:
    first = requests[0]
    blocks = _blocks_of(first)
    tools = _document(first).get("tools") if blocks else None
    definitions = json.dumps(tools, ensure_ascii=False) if tools else ""
    beside: dict[str, Any] = (
        {}
        if before is None
        else {
            "before": before.turn,
            "is_same_prefix": first.prefix_sha256 == before.prefix_sha256,
            "changed": _changed(_blocks_of(before), blocks),
        }
    )
    return _view(blocks, first.prefix_sha256, definitions, requests=requests, **beside)


def _view(blocks: Sequence[Block], sha256: str = "", tools: str = "", **more: Any) -> PromptView:
    drawn = tuple(
        BlockView(block.number, _(TITLES[block.name]), block.text, block.name in PREFIX) for block in blocks
    )
    present = {block.name for block in blocks} | ({"tools"} if tools else set())
    absent = tuple(_(TITLES[name]) for name in NAMES if name not in present)
    return PromptView(drawn, absent, sha256 or prefix_sha256(blocks), tools, **more)


def _changed(before: Sequence[Block], after: Sequence[Block]) -> tuple[str, ...] | None:
    if not before or not after:
        return None
    old, new = ({block.name: block.text for block in blocks} for blocks in (before, after))
    return tuple(_(TITLES[name]) for name in NAMES if name in PREFIX and old.get(name) != new.get(name))


def _blocks_of(request: SentRequest) -> tuple[Block, ...]:
    return split_blocks(request.blocks, list(_system_of(request)))


def _system_of(request: SentRequest) -> tuple[str, ...]:
    document = _document(request)
    told = [document["instructions"]] if "instructions" in document else []  # the Responses protocol
    messages = document.get("messages", ())
    told += [message.get("content") for message in messages if message.get("role") == "system"]
    return tuple(map(str, told))


def _document(request: SentRequest) -> dict[str, Any]:
    """The body of an answer's request, which is always an object of ours; {} once it was erased."""
    return json.loads(request.body) if request.body and request.blocks else {}
