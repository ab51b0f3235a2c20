"""One question, one answer: the whole sequence, drained by every way there is to ask.

1. *Admit* the request: the time it is about, the model, the files, as whom to speak; or refuse it.
2. *Begin*: the question is stored before anything is looked up.
3. *Look*: one bounded look into the store, whose frames are shown before a model has said a word.
4. *Ask* the model, which goes on from there as far as it can: with tools, else in one call.
5. *Check* what was said: citations, quotes and claims against the frames. Whoever wrote it, it is believed no
   more than that.
6. *Finish*: the answer is stored in one transaction. Between two steps no connection and no lock is held.

What goes out at the end is read back from the store, so that a reload shows the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from assistant.core.records import (
    ApprovalEvent,
    ErrorEvent,
    EvidenceEvent,
    FinalEvent,
    TextEvent,
    TurnEvent,
    TurnRequest,
    TurnResult,
)
from assistant.core.strings import text
from assistant.turns import insights, second_reading, transcript
from assistant.turns.answering import looks, no_captures
from assistant.turns.asking import ask
from assistant.turns.beside_answers import Beside
from assistant.turns.plain_answers import quotation
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan, TurnServices, admit, settled
from assistant.turns.stored_turns import begin, fail, finish, stored_turn
from engines.cancellation import Cancelled, CancelToken
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import NOTHING_KNOWN, Abilities, ModelError, ModelRefused
from store.chats import tool_calls
from store.chats.conversations import DELETED_ANSWER
from store.core.errors import StoreError
from store.core.translation import translated


def run_turn(
    services: TurnServices, request: TurnRequest, stop: CancelToken | None = None
) -> Iterator[TurnEvent]:
    """The turn's events, the last one a `FinalEvent`. `stop` ends it before that, keeping what was said.

    Raises `TurnRefused` at once, before the first event, when the request cannot become a turn.
    """
    return run_admitted(services, admit(services, request), stop or CancelToken())


def answer(services: TurnServices, request: TurnRequest) -> TurnResult:
    """The finished turn. A failed one has `error` set and is stored, too. Raises `TurnRefused`."""
    for event in unattended(services, run_turn(services, request)):
        if isinstance(event, FinalEvent):
            return event.result
    raise AssertionError("a turn ends with its final event")


def unattended(services: TurnServices, events: Iterable[TurnEvent]) -> Iterator[TurnEvent]:
    """The events of a turn that nobody attends: a call that has to be approved is denied."""
    for event in events:
        if isinstance(event, ApprovalEvent):
            for call in event.calls:
                tool_calls.deny(services.database, call.id, services.clock())
        yield event


def run_admitted(services: TurnServices, plan: TurnPlan, stop: CancelToken) -> Iterator[TurnEvent]:
    """The events of a turn that was admitted. Models have no time for anything else meanwhile."""
    is_plain = isinstance(plan.model, ExtractiveModel)
    with nullcontext() if is_plain else services.models.for_a_person():
        yield from _run(services, plan, stop)


def _run(services: TurnServices, plan: TurnPlan, stop: CancelToken) -> Iterator[TurnEvent]:
    history, question = transcript.before(services, plan)
    plan = replace(plan, asked=question)
    stored, context = begin(services, plan)
    turn = RunningTurn(services, replace(plan, context=context), stored, history, stop)
    try:
        checked = yield from _look_ask_and_check(turn)
        failure = finish(turn, checked)
    except (ModelError, StoreError, Cancelled) as error:
        yield ErrorEvent(fail(turn, error))
    except BaseException as error:
        # The asker went away, or there is a defect: the turn must not look as if it still ran.
        fail(turn, error)
        raise
    else:
        # What is stored, not what was said: a deletion meanwhile may have taken the answer.
        kept = stored_turn(services.database, turn.stored.chat_id, turn.stored.n)
        yield TextEvent(kept.answer_md)
        if failure:
            yield ErrorEvent(failure)
        elif kept.answer_md != DELETED_ANSWER:
            insights.write_insight(turn, kept)
            yield from _read_again(turn)
    yield FinalEvent(stored_turn(services.database, turn.stored.chat_id, turn.stored.n))


def _read_again(turn: RunningTurn) -> Iterator[TurnEvent]:
    """Let the model read its answer again, where the person wants that."""
    model = turn.plan.model
    if not isinstance(model, ExtractiveModel) and second_reading.is_wanted(turn.services.models, model.name):
        result = stored_turn(turn.database, turn.stored.chat_id, turn.stored.n)
        yield from second_reading.read_again(turn.services, result, model, turn.stop)


def _look_ask_and_check(turn: RunningTurn) -> Generator[TurnEvent, None, CheckedAnswer]:
    """The answer with its marks, without tools where the endpoint takes none any more. Raises why there is
    none. That tools were refused is kept; that the server failed with them may pass.
    """
    plan = turn.plan
    try:
        checked = yield from _looked_and_asked(turn)
    except ModelError:
        if turn.refusal is None:
            raise
        turn.plan = replace(plan, uses_tools=False, request=replace(plan.request, mode="auto"))
        turn.warnings = [text("without_tools", plan.language, why=translated(turn.refusal.detail))]
        checked = yield from _looked_and_asked(turn)
    if turn.usage:
        turn.services.models.note(plan.model.name, _shown(turn))
    return checked


def _shown(turn: RunningTurn) -> Abilities:
    """What an answer has shown of its model."""
    if isinstance(turn.refusal, ModelRefused):
        return Abilities(supports_tools=False)
    told = turn.services.models.endpoint(turn.plan.model.name).tool_format
    if turn.called_as and turn.called_as.isdisjoint(("", told)):  # all its calls were written as text
        return Abilities(supports_tools=True, tool_format=min(turn.called_as))
    return NOTHING_KNOWN


def _looked_and_asked(turn: RunningTurn) -> Generator[TurnEvent, None, CheckedAnswer]:
    yield turn.status("searching")
    for retrieval in looks(turn):
        if retrieval.entries:
            yield EvidenceEvent(turn.evidence, turn.coverage, turn.plan.scope)
    if turn.refusal is None:
        turn.plan = turn.wait_for(lambda: settled(turn.services, turn.plan))
    model, beside = turn.plan.model, Beside(turn)
    if isinstance(model, ExtractiveModel):
        yield turn.status("thinking", "comparing")
        turn.stop.check()
        return quotation(turn, retrieval, beside)
    if not (retrieval.entries or turn.plan.asks_without_frames or beside.told):
        return no_captures(turn)
    return (yield from ask(turn, model, retrieval, beside))
