"""The one model call of a turn: as many frames as the window holds, sent, noted, answered.

A model may have a smaller window than its setting says. When it refuses a request as too long,
the same question goes out with half of it, at most twice, and the answer says so. A refused
request is no answer, so a turn still has one (R3.4).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from assistant.core.egress_log import SentLedger, usage_of
from assistant.core.prompt_blocks import Block, system_messages
from assistant.core.texts import estimate_tokens
from assistant.retrieval.packing import Packed, pack
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.turns import attachments, prompts
from assistant.turns.attachments import NO_ATTACHMENT_TEXT, AttachmentText
from assistant.turns.plan import MAX_ANSWER_TOKENS, TurnPlan, TurnServices
from engines.chat.protocol import (
    ChatModel,
    Completion,
    ContextTooLong,
    Message,
    ModelError,
    StreamingModel,
    Usage,
)

MAX_SHRINKS = 2
"""How often a request that was too long is made smaller."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A completion and what it rests on. `shrunk_to` is the window that fitted, None for the one set."""

    entries: tuple[Entry, ...]
    left_out: int
    completion: Completion
    usage: Usage
    shrunk_to: int | None = None
    files: AttachmentText = NO_ATTACHMENT_TEXT


def call_model(
    deps: TurnServices,
    plan: TurnPlan,
    model: ChatModel,
    retrieval: Retrieval,
    history: Sequence[Message],
    turn_id: int,
) -> Generator[str, None, ModelCall]:
    """Ask the model: what it says as it says it, then the whole.

    Raises `ModelError`; `StoreError` when what is sent cannot be noted.
    """
    endpoint = deps.models.endpoint(model.name)
    blocks = prompts.evidence_blocks(plan)
    ledger = None
    if endpoint:
        ledger = SentLedger(deps.database, deps.clock, endpoint, turn_id=turn_id, blocks=blocks)
    merged = endpoint is not None and endpoint.single_system
    window, shrunk_to = model.context_tokens, None
    for shrinks_left in range(MAX_SHRINKS, -1, -1):
        files = attachments.attachment_text_for(deps, plan.attached, window, can_read=False)
        packed, messages = _fitted(plan, blocks, window, retrieval, history, files, merged)
        try:
            completion = yield from _said(model, messages, deps.models.timeout_s, ledger)
        except ModelError as error:
            if ledger:
                ledger.finish(error.code)
            if not isinstance(error, ContextTooLong) or not shrinks_left:
                raise
            window = shrunk_to = (_size(messages) + _reserve(window)) // 2
            continue
        usage = usage_of(completion, messages, endpoint)
        if ledger:
            ledger.finish("answered", usage)
        return ModelCall(packed.entries, packed.left_out, completion, usage, shrunk_to, files)
    raise AssertionError("the last try returns or raises")


def _said(
    model: ChatModel, messages: Sequence[Message], timeout_s: float, ledger: SentLedger | None
) -> Generator[str, None, Completion]:
    """The answer's pieces, from a model that gives any, and then all of it."""
    if isinstance(model, StreamingModel):
        for piece in model.stream(
            messages, schema=prompts.OUTPUT_SCHEMA, timeout_s=timeout_s, on_send=ledger
        ):
            if isinstance(piece, Completion):
                return piece
            yield piece
        raise AssertionError("a stream ends with its completion")
    return model.complete(messages, schema=prompts.OUTPUT_SCHEMA, timeout_s=timeout_s, on_send=ledger)


def _fitted(
    plan: TurnPlan,
    blocks: Sequence[Block],
    window: int,
    retrieval: Retrieval,
    history: Sequence[Message],
    files: AttachmentText,
    merged: bool,
) -> tuple[Packed, list[Message]]:
    """The messages that fit into a window. Raises `ContextTooLong` where it holds no frame."""
    history = _recent(history, window // 4)
    room = (
        window
        - _size(system_messages(blocks, merged=merged))
        - _size(history)
        - _reserve(window)
        - estimate_tokens(files.text)
    )
    packed = pack(retrieval, plan.question, plan.zone, room, plan.words)
    if not packed.entries:
        raise ContextTooLong(f"the model's context of {window} tokens holds no frame")
    return packed, prompts.messages(
        blocks, history, attachments.with_files(files, packed.text), merged=merged
    )


def _reserve(window: int) -> int:
    return min(MAX_ANSWER_TOKENS, window // 4)


def _size(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message.content) for message in messages)


def _recent(history: Sequence[Message], budget_tokens: int) -> list[Message]:
    """The end of a conversation that fits, in whole exchanges of two messages."""
    kept: list[Message] = []
    for at in range(len(history) - 2, -1, -2):
        exchange = list(history[at : at + 2])
        budget_tokens -= _size(exchange)
        if budget_tokens < 0:
            break
        kept = exchange + kept
    return kept
