"""The same questions with and without what earlier chats came to: sizes, times, and how many are right.

Each question is asked once in a window that is closed and summarised, so that there is something to tell.
Then each is asked twice, in evidence mode: told nothing, and told of all of that as background. What
was asked for this leaves no chat, summary or digest behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import click

from assistant.context import session_closing
from assistant.context.background import VERSION
from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.errors import TurnRefused
from assistant.core.records import TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench.evals.answer_check import Case, Checked, Figures, judge, open_cases, request_of, total
from store.chats import conversations
from store.memory import chat_sessions, context_packs
from webapp.cli.common import home_and_json, open_home, print_json


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
    context = replace(
        context,
        settings=replace(context.settings, enabled=True, opt_out=(), in_evidence_mode=True, summaries="off"),
        pace=ContextPace(build_budget_ms=5_000.0, telemetry_sample=0.0),
    )
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


# ---- context checking
# `check-context`: known questions with and without what earlier chats came to, side by side.

_SHARES = ("right", "groundedness", "precision", "coverage")


@click.command("check-context")
@home_and_json
@click.option("--model", help="Name of a configured model; the built-in one is told nothing.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
def check_context(home: Path | None, as_json: bool, model: str | None, limit: int | None) -> int:
    """Does what earlier chats came to make answers larger, slower, or less right?

    Asks the questions of a sample week (`recollect demo`), or those reported on, three times: to have
    something to tell, then without it, then with it as background. No chat is left behind.
    """
    from assistant.context.session_closing import ContextServices
    from assistant.core.query_embedder import QueryEmbedder

    deps, cases = open_cases(home)
    settings = open_home(home).settings
    if deps.models.endpoint(model or deps.models.default).is_extractive:
        raise click.ClickException("the built-in model is told nothing of earlier chats: name another")
    embedder = QueryEmbedder(settings.embedding, deps.database, clock=deps.clock)
    context = ContextServices(deps.database, settings.context, deps.models, embedder.asked, deps.clock)
    cases = cases[:limit]
    with click.progressbar(
        length=3 * len(cases), label="Asking", file=sys.stderr, hidden=as_json or not sys.stderr.isatty()
    ) as shown:
        found = compare(deps, context, cases, model, lambda: shown.update(1))
    embedder.close()
    if as_json:
        print_json({"without": numbers(found.without), "with": numbers(found.told)})
        return 0
    for line in table(found.without, found.told):
        click.echo(line)
    return 0


def table(without: Run, told: Run) -> list[str]:
    """Both runs, line by line."""
    lines = [f"{'':<26}{'without':>14}{'with':>14}"]
    for name in _SHARES:
        before, after = (getattr(run.figures, name) for run in (without, told))
        lines.append(f"{name:<26}{_share(before):>14}{_share(after):>14}")
    rows: tuple[tuple[str, Sequence[float], Sequence[float]], ...] = (
        ("tokens read, mean", without.tokens, told.tokens),
        ("of them background", without.pack_tokens, told.pack_tokens),
    )
    for name, before, after in rows:
        lines.append(f"{name:<26}{_number(before, mean):>14}{_number(after, mean):>14}")
    times = _number(without.latency_ms, median), _number(told.latency_ms, median)
    lines.append(f"{'ms an answer, median':<26}{times[0]:>14}{times[1]:>14}")
    return lines


def numbers(run: Run) -> dict[str, Any]:
    """A run as JSON."""
    shares = {
        name: {"count": share.count, "of": share.of}
        for name, share in ((name, getattr(run.figures, name)) for name in _SHARES)
    }
    return {
        **shares,
        "tokens_mean": mean(run.tokens) if run.tokens else None,
        "pack_tokens_mean": mean(run.pack_tokens) if run.pack_tokens else None,
        "latency_ms_median": median(run.latency_ms) if run.latency_ms else None,
    }


def _share(share: Any) -> str:
    return f"{share.count} of {share.of}"


def _number(values: Sequence[float], how: Any) -> str:
    return f"{how(values):,.0f}" if values else "nothing"
