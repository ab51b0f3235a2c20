"""A question about a range: one bounded retrieval, at most one call of the model, and no tools."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assistant.core.cancellation import Cancelled, iterate_until_cancelled, run_with_timeout
from assistant.core.egress_log import SentLedger, usage_of
from assistant.core.prompt_blocks import Block, system_messages, tokens_of
from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.core.records import ATTACHMENT_SOURCE, DeltaEvent, TurnEvent
from assistant.core.strings import text
from assistant.core.texts import estimate_tokens
from assistant.evidence import citations
from assistant.evidence.claims import OffScreen
from assistant.evidence.replies import StreamBuffer
from assistant.retrieval import coverage
from assistant.retrieval.packing import Packed, pack
from assistant.retrieval.retrieval import Retrieval, retrieve
from assistant.turns import attachments, prompts, scope
from assistant.turns.answering import partial_completion, quotation
from assistant.turns.attachments import AttachmentText
from assistant.turns.plan import MAX_ANSWER_TOKENS, RunningTurn, TurnPlan, UncheckedAnswer
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
from store.search.filters import Filters

MAX_SHRINKS = 2
"""How often a request that was too long is made smaller."""


def retrieve_frames(turn: RunningTurn) -> Retrieval:
    """The frames of the range that the question gets to see; the turn notes them, and what was not looked at.

    Raises `StoreError`, and `Cancelled` when the turn was stopped.
    """
    plan, services = turn.plan, turn.services
    # An endpoint of vectors may be slow, too.
    meaning = run_with_timeout(partial(_meaning, turn), math.inf, turn.stop, services.database.close_thread)
    retrieval = retrieve(services.database, _filters(plan), plan.words, services.clock(), meaning=meaning)
    if plan.without:
        entries = tuple(entry for entry in retrieval.entries if entry.frame.id not in plan.without)
        retrieval = replace(retrieval, entries=entries)
    turn.coverage = coverage.of(retrieval, plan.filters)
    turn.scope = scope.counted(turn.scope, retrieval.frames_in_range, plan.language)
    turn.evidence = citations.items(retrieval.entries, (), {}, plan.zone)
    return retrieval


def ask(turn: RunningTurn, retrieval: Retrieval) -> Generator[TurnEvent, None, UncheckedAnswer]:
    """The model's words as they come, then all it said; frames alone where no model can answer.

    Raises `StoreError` where nothing may be sent, `ModelError`, and `Cancelled` when the turn ended before
    anything was said.
    """
    plan = turn.plan
    if needs_sound(plan.message):
        opening = f"{text('audio', plan.language)} {text('audio_screen', plan.language)}"
        return quotation(plan, retrieval, opening, is_asked=False)
    yield turn.status("thinking", model=plan.model.name)
    turn.stop.check()
    if isinstance(plan.model, ExtractiveModel):
        unread = attachments.unread_warnings(plan.attached, plan.language)
        return quotation(plan, retrieval, text("extractive", plan.language), unread)
    # The model keeps its own time limit; whoever stops the turn does not wait for it.
    call = partial(_call, turn, plan.model, retrieval)
    heard = StreamBuffer()
    try:
        for piece in iterate_until_cancelled(call, turn.stop, turn.database.close_thread):
            if isinstance(piece, _Call):
                return _answer(plan, retrieval, piece)
            if fresh := heard.add(piece):
                yield DeltaEvent(1, fresh)
    except (ModelError, Cancelled) as ending:
        completion = partial_completion(heard.text, plan)
        if completion is None:
            raise
        return UncheckedAnswer(completion, retrieval, retrieval.entries, ending=ending)
    raise AssertionError("a call ends with what came of it")


def _answer(plan: TurnPlan, retrieval: Retrieval, call: _Call) -> UncheckedAnswer:
    """What a model said, with a warning for whatever of the question it did not get."""
    warnings = []
    if call.packed.left_out:
        total = len(retrieval.entries)
        warnings.append(text("left_out", plan.language, count=call.packed.left_out, total=total))
    if call.shrunk_to:
        warnings.append(text("shrunk", plan.language, tokens=call.shrunk_to))
    if call.completion.finish_reason == "length":
        warnings.append(text("cut_short", plan.language))
    warnings += attachments.truncation_warnings(call.files, plan.language)
    texts = call.files.texts
    return UncheckedAnswer(
        call.completion,
        retrieval,
        call.packed.entries,
        warnings=tuple(warnings),
        off_screen=OffScreen(True, has_looked=True, quotable=list(texts)) if texts else None,
        usage=call.usage,
        sources=(ATTACHMENT_SOURCE,) if texts else (),
    )


def _meaning(turn: RunningTurn) -> Meaning:
    """What the question means, when it asks for something; made before anything is read."""
    meaning, plan = turn.services.meaning, turn.plan
    return meaning(plan.searched_for, turn.stored.id) if meaning and plan.words else WORDS_ONLY


def _filters(plan: TurnPlan) -> Filters:
    filters = plan.filters
    return Filters(
        plan.start_ms,
        plan.end_ms,
        filters.app_name or None,
        filters.window_name or None,
        filters.browser_url or None,
        filters.focused,
    )


# -- the one model call ---------------------------------------------------------------------
#
# As many frames as the window holds are sent, noted and answered. A model may have a smaller window than its
# setting says. When it refuses a request as too long, the same question goes out with half of it, at most
# twice, and the answer says so. A refused request is no answer, so a turn still has one.


@dataclass(frozen=True, slots=True)
class _Call:
    """A completion and what it rests on. `shrunk_to` is the window that fitted, None for the one set."""

    packed: Packed
    completion: Completion
    usage: Usage
    shrunk_to: int | None
    files: AttachmentText


def _call(turn: RunningTurn, model: ChatModel, retrieval: Retrieval) -> Iterator[str | _Call]:
    """What the model says as it says it, then the whole.

    Raises `ModelError`; `StoreError` when what is sent cannot be noted.
    """
    plan, services = turn.plan, turn.services
    endpoint = services.models.endpoint(model.name)
    blocks = prompts.evidence_blocks(plan)
    ledger = SentLedger(services.database, services.clock, endpoint, turn_id=turn.stored.id, blocks=blocks)
    merged = endpoint is not None and endpoint.single_system
    window, shrunk_to = model.context_tokens, None
    for shrinks_left in range(MAX_SHRINKS, -1, -1):
        files = attachments.attachment_text_for(services, plan.attached, window, can_read=False)
        packed, messages = _fitted(plan, blocks, window, retrieval, turn.history, files, merged)
        try:
            completion = yield from _streamed(model, messages, services.models.timeout_s, ledger)
        except ModelError as error:
            ledger.finish(error.code)
            if not isinstance(error, ContextTooLong) or not shrinks_left:
                raise
            window = shrunk_to = (tokens_of(messages) + _reserve(window)) // 2
            continue
        usage = usage_of(completion, messages, endpoint)
        ledger.finish("answered", usage)
        yield _Call(packed, completion, usage, shrunk_to, files)
        return


def _streamed(
    model: ChatModel, messages: Sequence[Message], timeout_s: float, ledger: SentLedger
) -> Generator[str, None, Completion]:
    """The answer's pieces, from a model that gives any, and then all of it."""
    schema = prompts.OUTPUT_SCHEMA
    if isinstance(model, StreamingModel):
        for piece in model.stream(messages, schema=schema, timeout_s=timeout_s, on_send=ledger):
            if isinstance(piece, Completion):
                return piece
            yield piece
        raise AssertionError("a stream ends with its completion")
    return model.complete(messages, schema=schema, timeout_s=timeout_s, on_send=ledger)


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
        - tokens_of(system_messages(blocks, merged=merged))
        - tokens_of(history)
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


def _recent(history: Sequence[Message], budget_tokens: int) -> list[Message]:
    """The end of a conversation that fits, in whole exchanges of two messages."""
    kept: list[Message] = []
    for at in range(len(history) - 2, -1, -2):
        exchange = list(history[at : at + 2])
        budget_tokens -= tokens_of(exchange)
        if budget_tokens < 0:
            break
        kept = exchange + kept
    return kept


# -- questions that the screen cannot answer --------------------------------------------------
#
# What was said or heard needs sound, and there is none. Words that were written do not:
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
