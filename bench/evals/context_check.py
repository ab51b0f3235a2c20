"""The same questions with and without what earlier chats came to: sizes, times, and how many are right.

Each question is asked once in a window that is closed and summarised, so that there is something to tell.
Then each is asked twice, in evidence mode: told nothing, and told of all of that as background (C8). What
was asked for this leaves no chat, summary or digest behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assistant.context import session_closing
from assistant.context.background import VERSION
from assistant.context.session_closing import ContextServices
from assistant.core.errors import TurnRefused
from assistant.core.records import TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench.evals.answer_cases import Case
from bench.evals.answer_check import Checked, Figures, judge, request_of, total
from store.chats import conversations
from store.memory import chat_sessions, context_packs


@dataclass(frozen=True, slots=True)
class Run:
    """One way of asking all questions. `latency_ms` are of each answer, tokens what went to the model."""

    figures: Figures
    checked: tuple[Checked, ...]
    tokens: tuple[int, ...]
    pack_tokens: tuple[int, ...]
    latency_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Both ways."""

    without: Run
    told: Run


def compare(
    deps: TurnServices,
    context: ContextServices,
    cases: Sequence[Case],
    model: str | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Compared:
    """Ask all cases three times; `progress` is called after each answer."""
    settings = replace(
        context.settings, enabled=True, opt_out=(), in_evidence_mode=True, min_user_turns=1,
        build_budget_ms=5_000.0, summaries="off", telemetry_sample=0.0,
    )  # fmt: skip
    context = replace(context, settings=settings)
    told = replace(deps, context=context)
    asked: list[int] = []
    try:
        for case in cases:
            asked += _remember(told, context, case, model)
            progress()
        return Compared(
            _run(replace(deps, context=None), None, cases, model, progress),
            _run(told, context, cases, model, progress),
        )
    finally:
        for chat_id in asked:
            conversations.delete(deps.database, chat_id)


def _remember(deps: TurnServices, context: ContextServices, case: Case, model: str | None) -> list[int]:
    """Ask a case in a window of its own that is closed; the chats that it left."""
    session_id = chat_sessions.create(context.database, context.clock())
    try:
        result = answer(deps, replace(request_of(case, model), session_id=session_id))
    except TurnRefused:
        return []
    session_closing.close(context, session_id, "window")
    return [result.chat_id]


def _run(
    deps: TurnServices,
    context: ContextServices | None,
    cases: Sequence[Case],
    model: str | None,
    progress: Callable[[], None],
) -> Run:
    checked: list[Checked] = []
    tokens: list[int] = []
    packs: list[int] = []
    latency: list[float] = []
    for case in cases:
        request = request_of(case, model)
        if context:
            session_id = chat_sessions.create(context.database, context.clock())
            request = replace(request, session_id=session_id, context_version=VERSION)
        began_s = time.perf_counter()
        try:
            result = answer(deps, request)
        except TurnRefused as error:
            checked.append(Checked(case.id, case.kind, case.message, False, str(error)))
            progress()
            continue
        latency.append((time.perf_counter() - began_s) * 1_000)
        tokens.append((result.usage.input_tokens or 0) if result.usage else 0)
        packs.append(_pack_tokens(deps, result))
        conversations.delete(deps.database, result.chat_id)
        checked.append(_judged(case, result))
        progress()
    return Run(total(checked), tuple(checked), tuple(tokens), tuple(packs), tuple(latency))


def _judged(case: Case, result: TurnResult) -> Checked:
    if result.error:
        return Checked(case.id, case.kind, case.message, False, result.error.message)
    return judge(case, result)


def _pack_tokens(deps: TurnServices, result: TurnResult) -> int:
    stored = context_packs.of_turn(deps.database, result.chat_id, result.turn_id)
    return stored.tokens if stored else 0
