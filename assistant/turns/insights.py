"""How an answered turn about a frame or a moment becomes an insight: its title, and what made it.

A conversation with an anchor that holds no insight yet gets one from its first answered turn. So a telling
that failed and was asked for again needs no path of its own, nor does one that amends another.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from assistant.core.cancellation import Cancelled, CancelToken, run_with_timeout
from assistant.core.egress_log import SentLedger, usage_of
from assistant.core.prompt_blocks import in_order, system_messages
from assistant.core.texts import neutralized
from assistant.evidence.citations import without_numbers
from assistant.turns import transcript as history
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.plan import TurnPlan, TurnServices
from assistant.turns.transcript import TranscriptMessage, transcript
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import ChatModel, Message, ModelError
from store.chats.conversations import StoredTurn
from store.core.errors import StoreError
from store.memory import insights

log = logging.getLogger(__name__)

NAME_IT = (
    "Give the text below a title: at most eight words, in the language of the text, on one line, without "
    "quotation marks and without a full stop. Answer with nothing else.\n\n"
)
MAX_NAMED_CHARS = 6_000
UNTITLED = "Untitled"


def write_insight(
    deps: TurnServices, plan: TurnPlan, turn: StoredTurn, answer_md: str, stop: CancelToken
) -> int | None:
    """Let the answer be the insight of its conversation; returns its id.

    None where the conversation holds one already, or what it rested on was deleted meanwhile.
    """
    about = plan.about
    if about is None or insights.of_chat(deps.database, turn.chat_id) is not None:
        return None
    messages = training_messages(
        deps, plan, turn, about
    )  # before the title, so that what is deleted meanwhile counts
    title = title_of(deps, plan, turn, answer_md, stop)
    return insights.put(deps.database, turn.id, about.anchor, title, messages, deps.clock())


# -- the title (R0.21) ----------------------------------------------------------------------


def title_of(deps: TurnServices, plan: TurnPlan, turn: StoredTurn, answer_md: str, stop: CancelToken) -> str:
    """A title by a call of its own, with nothing but the identity before the summary.

    Where the model cannot give one, the insight is called by what was on the screen.
    """
    about = plan.about
    plain = _on_screen(about) if about else UNTITLED
    if isinstance(plan.model, ExtractiveModel):
        return plain
    try:
        ask = partial(_named, deps, plan, plan.model, turn, answer_md)
        named = run_with_timeout(ask, math.inf, stop, deps.database.close_thread)
    except Cancelled:
        return plain
    except (ModelError, StoreError) as error:
        log.warning("an insight has no title of the model: %s", type(error).__name__)
        return plain
    return insights.title_of(_bare(named)) or plain


def _named(deps: TurnServices, plan: TurnPlan, model: ChatModel, turn: StoredTurn, answer_md: str) -> str:
    blocks = in_order(identity=plan.identity)
    summary = neutralized(without_numbers(answer_md))[:MAX_NAMED_CHARS]
    messages = [*system_messages(blocks), Message("user", f"{NAME_IT}{summary}")]
    endpoint = deps.models.endpoint(model.name)
    ledger = None
    if endpoint:
        ledger = SentLedger(deps.database, deps.clock, endpoint, turn_id=turn.id, blocks=blocks)
    try:
        completion = model.complete(messages, timeout_s=deps.models.timeout_s, on_send=ledger)
    except ModelError as error:
        if ledger:
            ledger.finish(error.code)
        raise
    if ledger:
        ledger.finish("answered", usage_of(completion, messages, endpoint))
    return completion.text


def _bare(said: str) -> str:
    """A title where a model wrapped it into JSON all the same."""
    try:
        value = json.loads(said)
    except ValueError:
        return said
    if isinstance(value, dict):
        return next((each for each in value.values() if isinstance(each, str)), "")
    return value if isinstance(value, str) else said


def _on_screen(about: AnchorFacts) -> str:
    """The window or app of the first frame that has one."""
    names = (frame.window_name or frame.app_name for frame in about.frames)
    return insights.title_of(next((name for name in names if name), UNTITLED)) or UNTITLED


# -- the messages ---------------------------------------------------------------------------


def training_messages(
    deps: TurnServices, plan: TurnPlan, turn: StoredTurn, about: AnchorFacts
) -> list[dict[str, Any]]:
    """Every message that led to the answer, the system's first: as whom the model was asked to speak, byte
    for byte as it was sent (C22). What came before an amending turn is that of the insight it amends.
    """
    database = deps.database
    found: list[dict[str, Any]] = [{"role": "system", "content": plan.identity}]
    bases = history.bases(database, about.anchored, turn.chat_id)
    if bases:
        base = bases[-1]
        found += insights.messages(database, base[0].id)[1:]
        later = {each.n for each in history.answered_until(database, base)} - {base[0].n}
        found += _told(each for each in transcript(database, base[0].chat_id) if each.turn in later)
    own = (each for each in transcript(database, turn.chat_id) if each.turn == turn.n)
    return [*found, *_told((each for each in own if each.role != "system"), first=plan.question)]


def _told(messages: Iterable[TranscriptMessage], first: str = "") -> list[dict[str, Any]]:
    """Messages as a model knows them; `first` stands in for what the first one says, where it is given."""
    found: list[dict[str, Any]] = []
    for each in messages:
        one: dict[str, Any] = {"role": each.role, "content": each.content}
        if each.calls:
            one["tool_calls"] = [
                {"id": call.call_id, "type": "function",
                 "function": {"name": call.tool, "arguments": call.arguments}}
                for call in each.calls
            ]  # fmt: skip
        if each.answers:
            one["tool_call_id"] = each.answers.call_id
        found.append(one)
    if first and found:
        found[0] = {**found[0], "content": first}
    return found
