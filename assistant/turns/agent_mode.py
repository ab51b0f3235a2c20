"""A question asked with tools: generate, call, approve, execute, tell the results, generate again.

At most ``tools.max_iterations`` rounds of calls, then one answer without tools, so that there always is one.
Every call is stored before it runs and runs only as it was approved (`store.chats.tool_calls`). What the
answer may cite is what tools returned in this turn.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assistant.context import background
from assistant.core.cancellation import Cancelled, iterate_until_cancelled
from assistant.core.egress_log import SentLedger, total_of, usage_of
from assistant.core.errors import FrameDeleted
from assistant.core.prompt_blocks import tokens_of
from assistant.core.records import ATTACHMENT_SOURCE, DeltaEvent, FirstCall, ShortenedEvent, TurnEvent
from assistant.core.strings import text
from assistant.core.texts import estimate_tokens
from assistant.evidence.claims import OffScreen
from assistant.evidence.replies import StreamBuffer
from assistant.retrieval import coverage
from assistant.retrieval.packing import pack
from assistant.retrieval.retrieval import Retrieval
from assistant.tools import registry
from assistant.tools.context import Findings, TurnFindings
from assistant.tools.files import read_attachment
from assistant.tools.registry import AgentServices, offered
from assistant.tools.tool import Tool
from assistant.turns import attachments, prompts, tool_execution
from assistant.turns.answering import partial_completion
from assistant.turns.plan import RunningTurn, UncheckedAnswer
from assistant.turns.prompts import RESULTS
from assistant.turns.tool_execution import ModelReply, ToolSession, WantedCall, carry_out
from engines.chat.protocol import Completion, ContextTooLong, Message, ModelError, StreamingModel
from store.chats import tool_calls


def ask(
    turn: RunningTurn, agent: AgentServices, retrieval: Retrieval | None
) -> Generator[TurnEvent, None, UncheckedAnswer]:
    """The turn's events, then all that was said; the turn notes what has to be said of it at once.

    Raises `StoreError`, `FrameDeleted`, and `ModelError` or `Cancelled` when it ended before anything was
    said.
    """
    session = _session(turn, agent, retrieval)
    try:
        completion = yield from _rounds(session)
    except (ModelError, Cancelled) as ending:
        tool_calls.expire(turn.database, turn.now_ms(), turn.stored.id)
        completed = partial_completion(session.heard.text, turn.plan, session.form)
        if completed is None:
            _warn_of_fit(session)
            raise
        return _answer(session, completed, ending)
    return _answer(session, completion)


def _session(turn: RunningTurn, agent: AgentServices, retrieval: Retrieval | None) -> ToolSession:
    plan, services = turn.plan, turn.services
    assert isinstance(plan.model, StreamingModel)  # admitted as one that can use tools
    endpoint = services.models.endpoint(plan.model.name)
    form = endpoint.tool_format if endpoint else ""
    options = registry.of_turn(
        services.database,
        has_vision=endpoint is not None and endpoint.supports_vision,
        has_attachments=bool(plan.attached),
        wants_chats=partial(background.are_chats_told, services.context, plan.chat_id),
    )
    tools = offered(services.database, agent.registry, options)
    settings = agent.settings
    blocks = prompts.tool_blocks(
        plan, tools, settings.max_iterations, form, owner=settings.owner, examples=settings.examples
    )
    can_read = any(tool.name == read_attachment.name for tool in tools)
    window = plan.model.context_tokens
    files = attachments.attachment_text_for(services, plan.attached, window, can_read=can_read)
    pictures = attachments.pictures(services.database, plan.attached)
    packed = pack(retrieval, plan.question, plan.zone, window // 2, plan.words) if retrieval else None
    shown = packed.entries if packed else ()
    question = attachments.with_files(files, packed.text if packed and shown else plan.question)
    merged = endpoint is not None and endpoint.single_system
    messages = prompts.messages(blocks, turn.history, question, pictures.pictures, merged=merged)
    off_screen = OffScreen(bool(turn.history), [plan.message, *files.texts], quotable=list(files.texts))
    findings = TurnFindings(sources={ATTACHMENT_SOURCE} if files.texts or pictures.pictures else set())
    if shown:
        off_screen.has_looked = True
        findings.take(Findings({e.frame.id: e.id for e in shown}, {e.frame.id: e.frame for e in shown}))
    if plan.about:
        off_screen.has_looked = bool(plan.about.frames)
        findings.take(Findings(plan.about.ids, {frame.id: frame for frame in plan.about.frames}))
    model = plan.model
    return ToolSession(
        turn, agent, model, tools, form, blocks, messages, off_screen, findings, pictures=pictures
    )


def _rounds(session: ToolSession) -> Generator[TurnEvent, None, Completion]:
    """Rounds of calls until there is an answer."""
    rounds = session.agent.settings.max_iterations
    for iteration in range(1, rounds + 1):
        first = session.plan.first_call if iteration == 1 else None
        if first:
            completion, reply = _as_requested(session, first)
        else:
            completion, reply = yield from _generate(session, session.tools)
        if not reply.wanted:
            if reply.prose:
                return replace(completion, text=reply.prose)
            break  # neither a call nor an answer
        results = yield from carry_out(session, iteration, reply)
        session.messages += tool_execution.result_messages(
            reply, completion, results, session.form, as_text=session.tells_as_text
        )
    else:
        session.turn.warnings.append(text("capped", session.plan.language, count=rounds))
    session.messages.append(Message("user", prompts.ANSWER_NOW))
    completion, reply = yield from _generate(session, [])
    return replace(completion, text=reply.prose or completion.text)


def _as_requested(session: ToolSession, first: FirstCall) -> tuple[Completion, ModelReply]:
    """A call as if the model had just asked for it; it is decided about like any other."""
    session.parts += 1
    is_offered = any(tool.name == first.tool for tool in session.tools)
    error = "" if is_offered else f"There is no tool {first.tool!r}."
    wanted = WantedCall("again_1", first.tool, first.arguments, error)
    called = tool_execution.call_as_text(wanted, session.form)
    return Completion(called, None, session.plan.model.name), ModelReply("", (wanted,))


def _generate(
    session: ToolSession, tools: Sequence[Tool]
) -> Generator[TurnEvent, None, tuple[Completion, ModelReply]]:
    """One answer of the model, told as it comes. A request that was too long is made smaller, once."""
    plan = session.plan
    session.parts += 1
    yield session.turn.status("thinking", model=plan.model.name)
    _fit(session)
    try:
        completion = yield from _streamed(session, tools)
    except ContextTooLong:
        # Half of what was refused, for all that follows in this turn, too.
        session.room = tokens_of(session.messages) // 2
        fitted = _fit(session)
        if not fitted.is_changed:
            raise
        sentence = text("shortened", plan.language, left_out=fitted.left_out, shortened=fitted.shortened)
        yield ShortenedEvent(fitted.left_out, fitted.shortened, sentence)
        completion = yield from _streamed(session, tools)
    return completion, tool_execution.read(completion, tools or session.tools, session.form)


def _streamed(session: ToolSession, tools: Sequence[Tool]) -> Generator[TurnEvent, None, Completion]:
    """The answer to one request, its words told as they come."""
    turn, services = session.turn, session.turn.services
    turn.stop.check()
    if tool_calls.is_forgotten(turn.database, turn.stored.id):
        raise FrameDeleted
    session.heard = StreamBuffer(session.form)
    ledger = SentLedger(
        turn.database,
        services.clock,
        session.endpoint,
        turn_id=turn.stored.id,
        blocks=session.blocks,
        named=session.pictures.named,
    )
    request = partial(
        session.model.stream,
        list(session.messages),
        tools=[] if session.form else [tool.definition() for tool in tools],
        timeout_s=services.models.timeout_s,
        on_send=ledger,
    )
    completion, outcome = None, "stopped"
    try:
        for piece in iterate_until_cancelled(request, turn.stop, turn.database.close_thread):
            if isinstance(piece, Completion):
                completion = piece
            elif fresh := session.heard.add(piece):
                yield DeltaEvent(session.parts, fresh)
    except ModelError as error:
        outcome = error.code
        raise
    finally:
        if completion is None:
            ledger.finish(outcome)
    if completion is None:
        raise AssertionError("a stream ends with its completion")
    usage = usage_of(completion, session.messages, session.endpoint)
    ledger.finish("answered", usage)
    session.usages.append(usage)
    return completion


def _fit(session: ToolSession) -> Fitted:
    """Keep the messages within the model's window, as far as its results can be left out."""
    fitted = fit(session.messages, session.room)
    session.messages = fitted.messages
    session.left_out += fitted.left_out
    session.shortened += fitted.shortened
    return fitted


def _warn_of_fit(session: ToolSession) -> None:
    """Say in the turn what of its results the model did not get as a whole."""
    for name, count in (("results_left_out", session.left_out), ("results_shortened", session.shortened)):
        if count:
            session.turn.warnings.append(text(name, session.plan.language, count=count))


def _answer(
    session: ToolSession, completion: Completion, ending: ModelError | Cancelled | None = None
) -> UncheckedAnswer:
    """What was said, on the frames that tools returned; the turn notes them as what it looked at."""
    turn, plan, findings = session.turn, session.plan, session.findings
    _warn_of_fit(session)
    if completion.finish_reason == "length":
        turn.warnings.append(text("cut_short", plan.language))
    range_ms = (plan.start_ms, plan.end_ms)
    retrieval = findings.retrieval(turn.database, plan.words, range_ms)
    turn.coverage = replace(coverage.of(retrieval, plan.filters), by_tools=True)
    return UncheckedAnswer(
        completion,
        retrieval,
        retrieval.entries,
        warnings=tuple(turn.warnings),
        measured=findings.facts(plan.now_ms, plan.zone, range_ms if plan.has_range else ()),
        off_screen=session.off_screen,
        usage=total_of(session.usages),
        sources=tuple(sorted(findings.sources)),
        ending=ending,
    )


# -- making room ----------------------------------------------------------------------------
#
# What the model has not read yet is worth most. So the results of earlier rounds are left out first, the
# oldest before the others; then those of the last round keep their beginnings, each as much as fits.

LEFT_OUT = '{"note": "left out: it no longer fits"}'
MIN_CHARS = 400
"""What is left of a result at least that is shortened."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages, and how many of their results were left out or shortened for it."""

    messages: list[Message]
    left_out: int = 0
    shortened: int = 0

    @property
    def is_changed(self) -> bool:
        return bool(self.left_out or self.shortened)


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """The messages within `room` tokens, as far as leaving out results can do that."""
    fitted, left_out, shortened = list(messages), 0, 0
    last = _last_round(fitted)
    for at in [at for at in _results(fitted) if at < last]:
        if tokens_of(fitted) <= room:
            break
        if len(_result(fitted[at])) > len(LEFT_OUT):
            fitted[at] = _with_result(fitted[at], LEFT_OUT)
            left_out += 1
    for at in [at for at in _results(fitted) if at >= last]:
        over = tokens_of(fitted) - room
        if over <= 0:
            break
        text = _result(fitted[at])
        # A token is rarely less than a character; quotation marks of the whole are escaped in its part.
        kept = max(
            MIN_CHARS,
            len(text) * max(0, estimate_tokens(text) - over) // max(1, estimate_tokens(text))
            - len(_beginning("", 0))
            - 20,
        )
        if kept < len(text):
            fitted[at] = _with_result(fitted[at], _beginning(text, kept))
            shortened += 1
    return Fitted(fitted, left_out, shortened)


def _results(messages: Sequence[Message]) -> Iterator[int]:
    for at, message in enumerate(messages):
        if message.role == "tool" or message.content.startswith(RESULTS):
            yield at


def _last_round(messages: Sequence[Message]) -> int:
    """Where the results begin that no answer has followed yet; the end where there are none."""
    answers_at = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return answers_at[-1] if answers_at else len(messages)


def _result(message: Message) -> str:
    return message.content if message.role == "tool" else message.content.removeprefix(RESULTS).lstrip("\n")


def _with_result(message: Message, result: str) -> Message:
    return replace(message, content=result if message.role == "tool" else f"{RESULTS}\n{result}")


def _beginning(text: str, count: int) -> str:
    note = "only its beginning: the rest no longer fits"
    return json.dumps({"note": note, "beginning": text[:count]}, ensure_ascii=False)
