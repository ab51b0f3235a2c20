"""`check-context`: known questions with and without what earlier chats came to, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import click

from bench.evals.checking import open_cases
from webapp.cli.common import home_option, json_option, open_home, print_json

if TYPE_CHECKING:
    from bench.evals.context_check import Run

_SHARES = ("right", "groundedness", "precision", "coverage")


@click.command("check-context")
@home_option
@json_option
@click.option("--model", help="Name of a configured model; the built-in one is told nothing.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
def check_context(home: Path | None, as_json: bool, model: str | None, limit: int | None) -> int:
    """Does what earlier chats came to make answers larger, slower, or less right?

    Asks the questions of a sample week (`recollect demo`), or those reported on, three times: to have
    something to tell, then without it, then with it as background. No chat is left behind.
    """
    from assistant.context.session_closing import ContextServices
    from assistant.core.query_embedder import QueryEmbedder
    from bench.evals.context_check import compare

    deps, cases = open_cases(home)
    settings = open_home(home).settings
    if deps.models.endpoint(model or deps.models.default) is None:
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
