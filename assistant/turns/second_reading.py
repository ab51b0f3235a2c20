"""A second reading of an answer: a model sees each sentence beside its quotes, and nothing else.

What it thinks is told as its opinion. Only doubt is drawn, so a reading can lower the trust in a sentence
and never raise it, whatever a quote may say to a model. It is one request, in the ledger as one of its turn;
what is kept has places of sentences and no words, and goes with the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, get_args

import apsw

from assistant.core.cancellation import Cancelled, CancelToken, run_with_timeout
from assistant.core.egress_log import SentLedger, usage_of
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
from assistant.core.strings import text
from assistant.core.texts import estimate_tokens, language_of, neutralized
from assistant.evidence import replies
from assistant.evidence.citations import without_numbers
from assistant.read_api.calls import is_permitted
from assistant.turns import prompts
from assistant.turns.plan import MAX_ANSWER_TOKENS, TurnServices
from assistant.turns.stored_turns import stored_turn
from engines.chat.extractive import ExtractiveModel
from engines.chat.network import is_local
from engines.chat.protocol import ChatModel, Message, ModelError, ModelMalformed
from store.chats import conversations
from store.core.errors import StoreError
from store.frames import frames
from store.privacy import rules as privacy

OPINIONS = get_args(Opinion)
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "opinion": {"type": "string", "enum": list(OPINIONS)},
                },
                "required": ["n", "opinion"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
_LINE = re.compile(
    rf"^\W*(\d{{1,4}})\W+({'|'.join(OPINIONS).replace('_', '[ _]')})\b", re.IGNORECASE | re.MULTILINE
)


class NothingToCheck(TurnRefused, code="nothing_to_check", field="turn_id"):
    """No sentence of the answer has a source that is still there, or no language model can read it."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked: sentences by their numbers from 1, and from when to when their frames are."""

    claims: tuple[Claim, ...]
    told: str
    shows: tuple[int, int]
    left_out: int


def is_wanted(models: ChatModels, name: str) -> bool:
    """Whether the person lets this model read its answers again by itself."""
    endpoint, setting = models.endpoint(name), models.second_reading
    if endpoint is None or setting not in ("local", "always"):
        return False
    return setting == "always" or is_local(endpoint.base_url)


def run(
    services: TurnServices, chat_id: int, n: int, model_name: str | None, stop: CancelToken
) -> Iterator[TurnEvent]:
    """An answer read by a model that is named, else by the one that gave it; the last event has the turn.

    Raises `UnknownChat`, `UnknownModel` and `NothingToCheck` before the first event.
    """
    turn = stored_turn(services.database, chat_id, n)
    known = turn.model if turn.model in services.models.names else None
    model = services.models.get(model_name or known)
    if isinstance(model, ExtractiveModel):
        raise NothingToCheck("the built-in model only quotes; choose a language model to check this answer")
    if not _sources(services, turn):
        raise NothingToCheck("no sentence of this answer has a source that could be compared with it")
    yield checking(turn, model)
    read_again(services, turn, model, stop)
    yield FinalEvent(stored_turn(services.database, chat_id, n))


def checking(turn: TurnResult, model: ChatModel) -> StatusEvent:
    """Tells that a model reads the answer."""
    sentence = text("checking", language_of(turn.question), model=model.name)
    return StatusEvent("thinking", sentence, turn.chat_id, turn.turn_id)


def read_again(services: TurnServices, turn: TurnResult, model: ChatModel, stop: CancelToken) -> None:
    """Ask the model and keep what it thinks, or why that came to nothing; its earlier doubts stay then."""
    asked = _asked(_sources(services, turn), model.context_tokens)
    if asked is None:
        return
    before = (each for each in turn.second_readings if each.model == model.name)
    reading = next(before, SecondReading(model.name, 0))
    try:
        ask = partial(_ask, services, turn, model, asked)
        said = run_with_timeout(ask, math.inf, stop, services.database.close_thread)
        reading = SecondReading(model.name, 0, _opinions(said, asked.claims), asked.left_out)
    except Cancelled:
        stopped = TurnError("stopped", text("check_stopped", language_of(turn.question)), "")
        reading = replace(reading, error=stopped)
    except (ModelError, StoreError) as error:
        reading = replace(reading, error=turn_error(error, language_of(turn.question)))
    row = conversations.turn(services.database, turn.chat_id, turn.turn_id)
    if row is not None:
        kept = asdict(replace(reading, at_ms=services.clock()))
        conversations.keep_second_reading(services.database, row.id, turn.answer_md, kept)


def _sources(services: TurnServices, turn: TurnResult) -> list[tuple[Claim, list[EvidenceItem]]]:
    """The sentences with their frames: those that are still there and that the rules of today let out."""
    ids = [item.frame_id for item in turn.evidence if item.n is not None and item.frame_id is not None]
    rows = frames.get_many(services.database, ids)
    if services.agent:
        library = services.agent.library
        rules = privacy.load_rules(library.database.data_dir, library.settings.privacy)
        rows = {} if rules.unreadable else {n: row for n, row in rows.items() if is_permitted(rules, row)}
    cited = {item.n: item for item in turn.evidence if item.frame_id in rows}
    found = ((claim, [cited[n] for n in claim.citations if n in cited]) for claim in turn.claims)
    return [(claim, items) for claim, items in found if items]


def _asked(sources: Sequence[tuple[Claim, list[EvidenceItem]]], window_tokens: int) -> _Asked | None:
    """The sentences that the model's window has room for; None where there is none."""
    room = window_tokens - MAX_ANSWER_TOKENS - estimate_tokens(prompts.SECOND_READING)
    told: list[str] = []
    shown: list[int] = []
    for n, (claim, items) in enumerate(sources, 1):
        entry = {"n": n, "sentence": _plain(claim.text), "quotes": [_quote(item) for item in items]}
        line = json.dumps(entry, ensure_ascii=False)
        room -= estimate_tokens(line)
        if room < 0:
            break
        told.append(line)
        shown += [item.captured_ms for item in items]
    claims = tuple(claim for claim, _ in sources[: len(told)])
    if not told:
        return None
    return _Asked(claims, "\n".join(told), (min(shown), max(shown)), len(sources) - len(told))


def _plain(said: str) -> str:
    return neutralized(without_numbers(said))


def _quote(item: EvidenceItem) -> dict[str, str]:
    """A source as the person sees it under the sentence."""
    shown = {
        "words": item.quote if item.state == "found" else item.ocr_snippet,
        "app": item.app_name or "",
        "window": item.window_name or "",
        "time": item.local_time,
    }
    return {name: neutralized(value) for name, value in shown.items() if value}


def _ask(services: TurnServices, turn: TurnResult, model: ChatModel, asked: _Asked) -> str:
    """What the model says. Nothing leaves once the answer has gone. Raises `ModelError`, `StoreError`."""
    messages = [Message("system", prompts.SECOND_READING), Message("user", asked.told)]
    endpoint = services.models.endpoint(model.name)
    row = conversations.turn(services.database, turn.chat_id, turn.turn_id)
    turn_id = row.id if row else 0

    def is_current(connection: apsw.Connection) -> bool:
        return conversations.says(connection, turn_id, turn.answer_md)

    ledger = SentLedger(
        services.database, services.clock, endpoint, turn_id=turn_id, shows=asked.shows, is_current=is_current
    )
    try:
        completion = model.complete(
            messages, schema=SCHEMA, timeout_s=services.models.timeout_s, on_send=ledger
        )
    except ModelError as error:
        ledger.finish(error.code)
        raise
    ledger.finish("answered", usage_of(completion, messages, endpoint))
    return completion.text


def _opinions(said: str, claims: Sequence[Claim]) -> tuple[SentenceOpinion, ...]:
    """What was said of each sentence: as the object that was asked for, or in lines. Of two opinions about
    one sentence the doubt counts. Raises `ModelMalformed` when nothing is said of any.
    """
    given = [
        (row.get("n"), row.get("opinion"))
        for found in replies.objects(said)
        for row in _rows(found.get("sentences"))
    ] or [(int(n), words.lower().replace(" ", "_")) for n, words in _LINE.findall(said)]
    opinions: dict[int, Any] = {}
    for n, opinion in given:
        if isinstance(n, int) and 0 < n <= len(claims) and opinion in OPINIONS:
            opinions[n] = opinion if opinions.get(n) != "does_not_support" else "does_not_support"
    if not opinions:
        raise ModelMalformed("the model said nothing of any sentence")
    return tuple(
        SentenceOpinion(claims[n - 1].start, claims[n - 1].end, opinion)
        for n, opinion in sorted(opinions.items())
    )


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
