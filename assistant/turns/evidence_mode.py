"""A turn in evidence mode: one retrieval, at most one model call, no tools, and the checks (R3.4)."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from assistant.core.cancellation import Cancelled, CancelToken, iterate_until_cancelled, run_with_timeout
from assistant.core.egress_log import SentLedger, usage_of
from assistant.core.prompt_blocks import Block, system_messages
from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.core.records import (
    ATTACHMENT_SOURCE,
    Coverage,
    DeltaEvent,
    EvidenceEvent,
    EvidenceItem,
    Stage,
    StatusEvent,
    TurnEvent,
)
from assistant.core.strings import text
from assistant.core.texts import estimate_tokens
from assistant.evidence import citations
from assistant.evidence.claims import OffScreen
from assistant.evidence.replies import StreamBuffer
from assistant.retrieval import coverage
from assistant.retrieval.packing import Packed, pack
from assistant.retrieval.retrieval import Entry, Retrieval, retrieve
from assistant.turns import answering, attachments, prompts
from assistant.turns.attachments import NO_ATTACHMENT_TEXT, AttachmentText
from assistant.turns.plan import MAX_ANSWER_TOKENS, DraftAnswer, TurnPlan, TurnServices
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import (
    ChatModel,
    Completion,
    ContextTooLong,
    Message,
    ModelError,
    StreamingModel,
    Usage,
)
from store.chats.conversations import StoredTurn
from store.search.filters import Filters


@dataclass(slots=True)
class PartialTurn:
    """What a turn has in hand so far, to be stored with it even if it fails."""

    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    evidence: tuple[EvidenceItem, ...] = ()
    warnings: list[str] = field(default_factory=list)


def run(
    deps: TurnServices,
    plan: TurnPlan,
    turn: StoredTurn,
    history: Sequence[Message],
    found: PartialTurn,
    stop: CancelToken,
) -> Generator[TurnEvent, None, DraftAnswer]:
    """Retrieval, the model's call, and the checks, with an event before each; `found` grows meanwhile.

    Raises `ModelError`, `StoreError`, and `Stopped` when the turn ended before anything was said.
    """

    def status(stage: Stage, **values: str) -> StatusEvent:
        return StatusEvent(stage, text(stage, plan.language, **values), turn.chat_id, turn.n)

    if plan.start_ms >= plan.now_ms:
        return answering.future(plan)
    yield status("searching")
    # An endpoint of vectors may be slow, too.
    meaning = run_with_timeout(
        partial(_meaning, deps, plan, turn), math.inf, stop, deps.database.close_thread
    )
    retrieval = retrieve(deps.database, _filters(plan), plan.words, deps.clock(), meaning=meaning)
    if plan.without:
        entries = tuple(each for each in retrieval.entries if each.frame.id not in plan.without)
        retrieval = replace(retrieval, entries=entries)
    found.coverage = coverage.of(retrieval, plan.filters, plan.reading)
    if not retrieval.entries:
        return answering.no_captures(plan, retrieval)
    found.evidence = citations.items(retrieval.entries, (), {}, plan.zone)
    yield EvidenceEvent(found.evidence, found.coverage)
    if needs_sound(plan.message):
        opening = f"{text('audio', plan.language)} {text('audio_screen', plan.language)}"
        return answering.quote(deps, plan, retrieval, opening, asked=False)
    yield status("thinking", model=plan.model.name)
    return (yield from _asked(deps, plan, retrieval, turn, history, stop))


def _asked(
    deps: TurnServices,
    plan: TurnPlan,
    retrieval: Retrieval,
    turn: StoredTurn,
    history: Sequence[Message],
    stop: CancelToken,
) -> Generator[TurnEvent, None, DraftAnswer]:
    """The model's answer: its words as a draft while they come, then what the checks make of it."""
    # The model keeps its own time limit; whoever stops the turn does not wait for it.
    asked = partial(ask, deps, plan, retrieval, history, turn.id)
    heard = StreamBuffer()
    try:
        for piece in iterate_until_cancelled(asked, stop, deps.database.close_thread):
            if isinstance(piece, DraftAnswer):
                return piece
            if fresh := heard.add(piece):
                yield DeltaEvent(1, fresh)
    except (ModelError, Cancelled) as ending:
        completion = answering.partial_completion(heard.text, plan)
        if completion is None:
            raise
        draft = answering.checked(deps, plan, retrieval, retrieval.entries, completion, [])
        return answering.with_ending(draft, ending, plan.language)
    raise AssertionError("an answer ends with its draft")


def ask(
    deps: TurnServices, plan: TurnPlan, retrieval: Retrieval, history: Sequence[Message], turn_id: int
) -> Iterator[str | DraftAnswer]:
    """What the plan's model says as it says it, unchecked, and at last the checked answer.

    Raises `ModelError`, and `StoreError` where nothing may be sent.
    """
    if isinstance(plan.model, ExtractiveModel):
        quoted = answering.quote(deps, plan, retrieval, text("extractive", plan.language))
        unread = attachments.unread_warnings(plan.attached, plan.language)
        yield replace(quoted, warnings=(*quoted.warnings, *unread))
        return
    called = yield from call_model(deps, plan, plan.model, retrieval, history, turn_id)
    warnings = []
    if called.left_out:
        total = len(retrieval.entries)
        warnings.append(text("left_out", plan.language, count=called.left_out, total=total))
    if called.shrunk_to:
        warnings.append(text("shrunk", plan.language, tokens=called.shrunk_to))
    if called.completion.finish_reason == "length":
        warnings.append(text("cut_short", plan.language))
    warnings += attachments.truncation_warnings(called.files, plan.language)
    texts = called.files.texts
    beside = OffScreen(True, has_looked=True, quotable=list(texts)) if texts else None
    draft = answering.checked(
        deps, plan, retrieval, called.entries, called.completion, warnings, off_screen=beside
    )
    yield replace(draft, usage=called.usage, sources=(ATTACHMENT_SOURCE,) if texts else ())


def _meaning(deps: TurnServices, plan: TurnPlan, turn: StoredTurn) -> Meaning:
    """What the question means, when it asks for something; made before anything is read."""
    return deps.meaning(plan.searched_for, turn.id) if deps.meaning and plan.words else WORDS_ONLY


def _filters(plan: TurnPlan) -> Filters:
    wanted = plan.filters
    return Filters(
        plan.start_ms,
        plan.end_ms,
        wanted.app_name or None,
        wanted.window_name or None,
        wanted.browser_url or None,
        wanted.focused,
    )


# ---- calling
# The one model call of a turn: as many frames as the window holds, sent, noted, answered.
#
# A model may have a smaller window than its setting says. When it refuses a request as too long,
# the same question goes out with half of it, at most twice, and the answer says so. A refused
# request is no answer, so a turn still has one (R3.4).

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


# ---- questions
# Questions that the screen cannot answer, told from those it can.
#
# What was said or heard needs sound, and there is none (R3.5, R3.46). Words that were written do not:
# "what did Anna say in the chat" is on the screen. So a question counts as one for sound when it asks
# for speech and names no written medium.

_SOUND = re.compile(
    r"\b(?:audio|sound|voice|spoken|heard?|hear|listen(?:ed)?\s+to|podcast|aloud|out\s+loud)\b"
    r"|录音|语音|声音|听到|听见|听了|播客",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"\bwhat\s+(?:was|were|got|has\s+been|had\s+been)\s+(?:\w+\s+)?(?:said|discussed|talked\s+about|mentioned|agreed|decided)"
    r"|\bwhat\s+(?:did|have|has|had|do|does)\s+(?:\w+\s+){1,3}?(?:say|said|discuss(?:ed)?|talk(?:ed)?\s+about|tell|told|mention(?:ed)?|agree[d]?)\b"
    r"|\b(?:summari[sz]e|recap|transcri(?:be|pt)|minutes\s+of)\s+(?:\w+\s+){0,3}?(?:meeting|call|conversation|talk|discussion|standup|interview)\b"
    r"|(?:说|讲|聊|谈|讨论|提到|提)(?:了|过|的|到)?(?:些|是|了)?(?:什么|啥|哪些)|(?:会议|通话|电话|谈话|面试)(?:的)?(?:内容|纪要|总结)"
    r"|总结(?:一下)?(?:[^，。？?]{0,8})(?:会议|通话|电话)",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\b(?:chat|slack|teams\s+(?:chat|message)|discord|telegram|whatsapp|wechat|e?-?mails?|messages?|threads?|comments?|notes?"
    r"|documents?|docs?|articles?|pages?|files?|pull\s+requests?|issues?|tickets?|posts?|tweets?|slides?|subtitles|captions"
    r"|handbooks?|manuals?|guides?|guidelines?|reports?|contracts?|invoices?|spreadsheets?|sheets?|tables?|plans?|polic(?:y|ies)"
    r"|agendas?|wikis?|letters?|forms?|dialogs?|banners?|books?|papers?|spec(?:ification)?s?|roadmaps?|changelogs?|dashboards?"
    r"|notifications?|warnings?|labels?|code|compilers?|consoles?|outputs?|tests?|browser|calendar|terminal|screen|window|website|text|wrote|written|write|readme|error|log)\b"
    r"|聊天|微信|钉钉|飞书|群里|邮件|消息|短信|评论|文档|文章|网页|文件|笔记|帖子|代码|终端|屏幕|窗口|字幕|幻灯片|写"
    r"|手册|说明书|指南|报告|合同|发票|表格|计划书|规定|清单|通知|议程|书",
    re.IGNORECASE,
)


def needs_sound(message: str) -> bool:
    """Whether only a sound recording could answer this."""
    if _WRITTEN.search(message):
        return False
    return bool(_SOUND.search(message) or _SPEECH.search(message))
