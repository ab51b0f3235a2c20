"""How an answered turn about a frame or a moment becomes an insight: its title, and what made it.

A conversation with an anchor that holds no insight yet gets one from its first answered turn. So a telling
that failed and was asked for again needs no path of its own, nor does one that amends another.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Any

from assistant.context.relevance import is_told_of, terms
from assistant.core.egress_log import ask_once
from assistant.core.prompt_blocks import in_order, system_messages
from assistant.core.records import SOURCED, TurnResult
from assistant.core.strings import PROMPTS
from assistant.core.texts import neutralized
from assistant.evidence.citations import without_numbers
from assistant.evidence.particulars import Screen
from assistant.turns import transcript as history
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.plan import RunningTurn
from assistant.turns.transcript import TranscriptMessage, transcript
from engines.cancellation import Cancelled
from engines.chat.completions import in_request
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import ChatModel, Message, ModelError
from store.chats import conversations
from store.core.errors import StoreError
from store.memory import insights

log = logging.getLogger(__name__)

NAME_IT: str = PROMPTS["title"]
MAX_NAMED_CHARS = 6_000
UNTITLED = "Untitled"


def write_insight(turn: RunningTurn, told: TurnResult) -> int | None:
    """Let an answer be the insight of its conversation; returns its id.

    None where the conversation holds one already, or what it rested on was deleted meanwhile.
    """
    about = turn.plan.about
    if about is None or insights.of_chat(turn.database, turn.stored.chat_id) is not None:
        return None
    # Before the title, so that what is deleted meanwhile counts.
    messages = training_messages(turn, about)
    title = _title_of(turn, about, told)
    made = insights.put(turn.database, turn.stored.id, about.anchor, title, messages, turn.now_ms())
    for chat_id in conversations.untold(turn.database, about.anchor) if made else ():
        conversations.delete(turn.database, chat_id)
    return made


# -- the title ------------------------------------------------------------------------------


def _title_of(turn: RunningTurn, about: AnchorFacts, told: TurnResult) -> str:
    """The title of the insight that this one amends; else one by a call of its own, with nothing but the
    identity before the summary.

    Where the model cannot give one, or says in it what neither the anchor nor a sentence with a source has,
    the insight is called by the window or app that was on the screen.
    """
    amended = insights.get_many(turn.database, filter(None, [about.anchored.amends_id]))
    if amended and amended[0].title:
        return amended[0].title
    names = (frame.window_name or frame.app_name for frame in about.frames)
    on_screen = insights.title_of(next(filter(None, names), UNTITLED)) or UNTITLED
    if isinstance(turn.plan.model, ExtractiveModel):
        return on_screen
    try:
        answer = turn.wait_for(partial(_title_by_model, turn, turn.plan.model, told.answer_md))
    except Cancelled:
        return on_screen
    except (ModelError, StoreError) as error:
        log.warning("an insight has no title of the model: %s", type(error).__name__)
        return on_screen
    sourced = (claim.text for claim in told.claims if claim.state in SOURCED)
    title, shown = insights.title_of(answer), "\n".join((*sourced, about.told))
    return title if is_told_of(title, terms(shown)) and Screen([shown]).bears_out(title) else on_screen


def _title_by_model(turn: RunningTurn, model: ChatModel, answer_md: str) -> str:
    services = turn.services
    blocks = in_order(identity=turn.plan.voice.identity)
    summary = neutralized(without_numbers(answer_md))[:MAX_NAMED_CHARS]
    messages = [*system_messages(blocks), Message("user", f"{NAME_IT}{summary}")]
    endpoint = services.models.endpoint(model.name)
    return ask_once(
        (turn.database, services.clock, endpoint),
        model,
        messages,
        str,
        timeout_s=services.models.timeout_s,
        turn_id=turn.stored.id,
        blocks=blocks,
        is_current=turn.is_current,
    )


# -- the messages ---------------------------------------------------------------------------


def training_messages(turn: RunningTurn, about: AnchorFacts) -> list[dict[str, Any]]:
    """Every message that led to the answer, the system's first: as whom the model was asked to speak, byte
    for byte as it was sent. What came before an amending turn is that of the insight it amends.
    """
    database, stored = turn.database, turn.stored
    earlier: list[dict[str, Any]] = []
    later: list[TranscriptMessage] = []
    if bases := history.bases(database, about.anchored, stored.chat_id):
        insight, answered = bases[-1]
        earlier = insights.messages(database, insight.id)[1:]
        turns = {turn.n for turn in answered} - {insight.n}
        later = [message for message in transcript(database, insight.chat_id) if message.turn in turns]
    own = [
        message
        for message in transcript(database, stored.chat_id)
        if message.turn == stored.n and message.role != "system"
    ]
    own[:1] = [replace(message, content=turn.plan.question) for message in own[:1]]
    system = in_request(Message("system", turn.plan.voice.identity))
    return [system, *earlier, *(in_request(message.as_sent) for message in (*later, *own))]
