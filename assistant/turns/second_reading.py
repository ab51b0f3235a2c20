"""A second reading of an answer: a model sees each sentence beside its quotes, and nothing else.

What it thinks is told as its opinion. Only doubt is drawn, so a reading can lower the trust in a sentence
and never raise it, whatever a quote may say to a model. It is one request, in the ledger as one of its turn;
what is kept has places of sentences and no words, and goes with the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, get_args

from assistant.core.egress_log import ask_once
from assistant.core.errors import TurnRefused, turn_error
from assistant.core.models import ChatModels
from assistant.core.records import (
    Claim,
    EvidenceItem,
    FinalEvent,
    Opinion,
    SecondReading,
    SentenceOpinion,
    StatusEvent,
    TurnError,
    TurnEvent,
    TurnResult,
)
from assistant.core.strings import PROMPTS, text
from assistant.core.texts import answer_language, neutralized, upper_tokens
from assistant.evidence.citations import without_numbers
from assistant.read_api.calls import is_permitted
from assistant.turns.plan import TurnServices, reserve
from assistant.turns.stored_turns import stored_turn
from engines.cancellation import Cancelled, CancelToken, run_with_timeout
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import (
    ChatModel,
    ContextTooLong,
    Message,
    ModelError,
    ModelMalformed,
    object_schema,
)
from store.chats import conversations
from store.chats.records import StoredTurn
from store.core.errors import StoreError
from store.frames import frames
from store.privacy import rules as privacy

Sources = Sequence[tuple[Claim, Sequence[EvidenceItem]]]
"""Sentences with the frames that they cite."""

INSTRUCTION: str = PROMPTS["second_reading"]
_OPINIONS: Sequence[Opinion] = get_args(Opinion)  # the weightiest first
_OPINION = object_schema(n={"type": "integer"}, opinion={"type": "string", "enum": list(_OPINIONS)})
OPINIONS_SCHEMA = object_schema(sentences={"type": "array", "items": _OPINION})
_SAID = re.compile(
    rf"(\d{{1,4}})[^\w{{}}]+(?:opinion[^\w{{}}]+)?({'|'.join(_OPINIONS).replace('_', '[ _]')})\b",
    re.IGNORECASE,
)
"""An opinion in the object that was asked for, or in a line of text: ``2. does not support``. A number and an
opinion of two objects never belong together.
"""

_unable = partial(TurnRefused, "nothing_to_check", "turn_id")


def is_wanted(models: ChatModels, name: str) -> bool:
    """Whether the person lets this model read its answers again by itself."""
    endpoint = models.endpoint(name)
    is_near = endpoint.is_local and not endpoint.is_extractive
    return models.second_reading == "always" or (models.second_reading == "local" and is_near)


def run(
    services: TurnServices, chat_id: int, n: int, model_name: str | None, stop: CancelToken
) -> Iterator[TurnEvent]:
    """An answer read by a model that is named, else by the one that gave it; the last event has the turn.

    Raises `UnknownChat`, `UnknownModel` and `TurnRefused` before the first event.
    """
    turn = stored_turn(services.database, chat_id, n)
    model = services.models.get(model_name or (turn.model if turn.model in services.models.names else None))
    if isinstance(model, ExtractiveModel):
        raise _unable("the built-in model only quotes; choose a language model to check this answer")
    if not _sources(services, turn):
        raise _unable("no sentence of this answer has a source that could be compared with it")
    yield from read_again(services, turn, model, stop)
    yield FinalEvent(stored_turn(services.database, chat_id, n))


def read_again(
    services: TurnServices, turn: TurnResult, model: ChatModel, stop: CancelToken
) -> Iterator[TurnEvent]:
    """Ask the model and keep what it thinks, or why that came to nothing: its earlier doubts stay then."""
    database, language = services.database, answer_language(turn.question)
    row, sources = conversations.turn(database, turn.chat_id, turn.turn_id), _sources(services, turn)
    if row is None or row.answer_md != turn.answer_md or not sources:  # deleted meanwhile
        return
    sentence = text("checking", language, model=model.name)
    yield StatusEvent("thinking", sentence, turn.chat_id, turn.turn_id)
    before = (each for each in turn.second_readings if each.model == model.name)
    reading = next(before, SecondReading(model.name, 0))
    try:
        ask = partial(_reading, services, row, model, sources)
        reading = run_with_timeout(ask, math.inf, stop, database.close_thread)
    except Cancelled:
        reading = replace(reading, error=TurnError("stopped", text("check_stopped", language), ""))
    except (ModelError, StoreError) as error:
        reading = replace(reading, error=turn_error(error, language))
    kept = asdict(replace(reading, at_ms=services.clock()))
    conversations.keep_second_reading(database, row.id, turn.answer_md, kept)


def _sources(services: TurnServices, turn: TurnResult) -> Sources:
    """The sentences with their frames: those that are still there and that the rules of today let out."""
    ids = [item.frame_id for item in turn.evidence if item.n is not None and item.frame_id is not None]
    rows = frames.get_many(services.database, ids)
    if services.agent:
        library = services.agent.library
        rules = privacy.load_rules(library.database.data_dir, library.settings.privacy)
        is_open = partial(is_permitted, library.database, rules)
        rows = {n: row for n, row in rows.items() if not rules.unreadable and is_open(row)}
    cited = {item.n: item for item in turn.evidence if item.frame_id in rows}
    found = ((claim, [cited[n] for n in claim.citations if n in cited]) for claim in turn.claims)
    return [(claim, items) for claim, items in found if items]


def _reading(services: TurnServices, row: StoredTurn, model: ChatModel, sources: Sources) -> SecondReading:
    """What the model thinks of the sentences that its window has room for. Nothing leaves once the answer has
    gone. Raises `ModelError` and `StoreError`.
    """
    lines = list(_fitting(sources, model.context_tokens))
    if not lines:
        raise ContextTooLong("not one sentence with its quotes fits into the window")
    shown = [item.captured_ms for _, items in sources[: len(lines)] for item in items]
    messages = [Message("system", INSTRUCTION), Message("user", "\n".join(lines))]
    endpoint = services.models.endpoint(model.name)
    claims = [claim for claim, _ in sources[: len(lines)]]
    opinions = ask_once(
        (services.database, services.clock, endpoint),
        model,
        messages,
        lambda said: _opinions(said, claims),
        timeout_s=services.models.timeout_s,
        schema=OPINIONS_SCHEMA,
        turn_id=row.id,
        shows=(min(shown), max(shown)),
        is_current=lambda connection: conversations.says(connection, row.id, row.answer_md),
    )
    return SecondReading(model.name, 0, opinions, len(sources) - len(lines))


def _fitting(sources: Sources, window_tokens: int) -> Iterator[str]:
    """The first sentences, each a line of JSON, as many as a window has room for."""
    room = window_tokens - reserve(window_tokens) - upper_tokens(INSTRUCTION)
    for n, (claim, items) in enumerate(sources, 1):
        said = neutralized(without_numbers(claim.text))
        line = json.dumps({"n": n, "sentence": said, "quotes": list(map(_quote, items))}, ensure_ascii=False)
        room -= upper_tokens(line)
        if room < 0:
            return
        yield line


def _quote(item: EvidenceItem) -> dict[str, Any]:
    """A source as the person sees it under the sentence."""
    words = item.quote if item.state == "found" else item.ocr_snippet
    shown = {"words": words, "app": item.app_name, "window": item.window_name, "time": item.local_time}
    return {name: neutralized(value) for name, value in shown.items() if value}


def _opinions(said: str, claims: Sequence[Claim]) -> tuple[SentenceOpinion, ...]:
    """What was said of each sentence; of two opinions about one the doubt counts.

    Raises `ModelMalformed` when nothing is said of any.
    """
    given = {(int(n), words.lower().replace(" ", "_")) for n, words in _SAID.findall(said)}
    found = tuple(
        SentenceOpinion(claim.start, claim.end, opinion)
        for n, claim in enumerate(claims, 1)
        for opinion in [next((each for each in _OPINIONS if (n, each) in given), None)]
        if opinion
    )
    if not found:
        raise ModelMalformed("the model said nothing of any sentence")
    return found
