"""`ask` and `search`: the chat and the search on a terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import click

from webapp.cli.common import MOMENT, check_range, explained, home_and_json, local_text, open_home

if TYPE_CHECKING:
    from assistant.core.records import TurnRequest, TurnResult
    from assistant.turns.plan import TurnServices
    from store.search.hits import Hit
    from store.search.search import Mode, Page


@click.command()
@home_and_json
@click.argument("question")
@click.option("--from", "start_ms", type=MOMENT, metavar="TIME", help="Start of the range, included.")
@click.option("--to", "end_ms", type=MOMENT, metavar="TIME", help="End of the range, not included.")
@click.option("--tz", "timezone", help="IANA time zone of the question (default: this machine's).")
@click.option("--model", help="Name of a configured model.")
@click.option("--system-prompt", metavar="TEXT", help="As whom the model speaks.")
@click.option("--pictures", is_flag=True, help="Let the model see pictures of the frames it is about.")
@click.option("--yes-read", is_flag=True, help="Ask me nothing: tools that only look things up may run.")
def ask(
    home: Path | None,
    as_json: bool,
    question: str,
    timezone: str | None,
    yes_read: bool,
    **given: Any,
) -> None:
    """Ask about what was on the screen; without a range about everything."""
    from assistant.core.errors import TurnRefused
    from assistant.core.records import TurnRequest
    from assistant.read_api.calls import ReadSources
    from assistant.turns.plan import opened
    from store.core.preferences import host_zone

    here = open_home(home)
    with explained(here.data_dir):
        library = ReadSources.opened(here.data_dir, here.settings)
    zone = timezone or host_zone().key
    request = TurnRequest(message=question, timezone=zone, now_ms=library.clock(), **given)
    decides = sys.stdin.isatty() and not (as_json or yes_read)
    try:
        with opened(library) as services:
            result = _followed(services, request, is_shown=not as_json, decides=decides)
    except TurnRefused as error:
        raise click.ClickException(str(error)) from error
    _print_turn(result, as_json)
    if result.error:
        raise click.ClickException(f"{result.error.message} {result.error.action}")


def _followed(services: TurnServices, request: TurnRequest, *, is_shown: bool, decides: bool) -> TurnResult:
    """The finished turn. On a terminal its draft is shown as it comes, and goes when the answer is there.

    A call that waits for a person is put to the one at the terminal, and denied where nobody `decides`.
    """
    from assistant.core.records import ApprovalEvent, DeltaEvent, FinalEvent
    from assistant.turns.turn import run_turn
    from store.chats import tool_calls

    draft = ""
    for event in run_turn(services, request):
        if isinstance(event, DeltaEvent) and is_shown and sys.stdout.isatty():
            click.echo(event.text, nl=False)
            draft += event.text
        elif isinstance(event, ApprovalEvent):
            for call in event.calls:
                if decides and click.confirm(f"\n{call.notice or call.tool} Allow it?", err=True):
                    tool_calls.approve(services.database, call.id, "once", services.clock())
                else:
                    tool_calls.deny(services.database, call.id, services.clock())
            draft = ""
        elif isinstance(event, FinalEvent):
            click.echo(_erasing(draft), nl=False)
            return event.result
    raise AssertionError("a turn ends with its final event")


def _erasing(draft: str) -> str:
    """What takes a draft off a terminal that still shows all of it; else what ends it."""
    columns, lines = shutil.get_terminal_size()
    widths = [sum(1 + (east_asian_width(c) in "WF") for c in line) for line in draft.split("\n")]
    rows = sum(max(1, -(-width // columns)) for width in widths)
    if not draft or rows >= lines:
        return "\n\n" if draft else ""
    return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\x1b[J"


def _print_turn(result: TurnResult, as_json: bool) -> None:
    if as_json:
        from webapp.api.turns import turn_answer

        click.echo(turn_answer(result).model_dump_json(indent=2))
        return
    from assistant.core.texts import answer_language
    from assistant.retrieval import coverage

    click.echo(result.answer_md)
    for item in result.evidence:
        if item.n is not None:
            window = " · ".join(part for part in (item.app_name, item.window_name) if part)
            frame = f"frame {item.frame_id}" if item.frame_id else "(deleted)"
            click.echo(f"  [{item.n}] {item.local_time}  {window}  {frame}")
    for warning in result.warnings:
        click.echo(f"  ! {warning}")
    way = coverage.way(result, answer_language(result.question))
    click.echo(" — ".join(part for part in (result.scope.text, way) if part))


@click.command()
@home_and_json
@click.argument("text", default="")
@click.option("--from", "start_ms", type=MOMENT, default=0, metavar="TIME", help="Start, included.")
@click.option("--to", "end_ms", type=MOMENT, metavar="TIME", help="End, not included (default: now).")
@click.option("--app", "app_name", help="Part of the app's name.")
@click.option("--window", "window_name", help="Part of the window's title.")
@click.option("--url", "browser_url", help="Part of the address in the browser.")
@click.option("--host", help="Name of another machine that captures for this one.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "fts", "semantic"]),
    default="hybrid",
    show_default=True,
    help="By words and meaning, words alone, or meaning alone.",
)
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
def search(
    home: Path | None,
    as_json: bool,
    text: str,
    start_ms: int,
    end_ms: int | None,
    mode: Mode,
    limit: int,
    **window: Any,
) -> None:
    """Find frames by their TEXT; without it the newest ones."""
    from assistant.core.query_embedder import QueryEmbedder
    from store.core.times import now_ms
    from store.embeddings import knn
    from store.search import search as frames_search
    from store.search.filters import Filters

    check_range(start_ms, end_ms)
    here = open_home(home)
    database = here.open_database()
    filters = Filters(start_ms, now_ms() if end_ms is None else end_ms, **window)
    meaning = QueryEmbedder(here.settings.embedding, database).asked(text, mode=mode)
    if meaning.vector is not None:
        knn.load_neighbours(database, "frame")
    page = frames_search.search(database, text, filters, mode=mode, limit=limit, fold=True, meaning=meaning)
    if as_json:
        from webapp.api.search import search_answer

        click.echo(search_answer(page, limit, duration_ms=0.0).model_dump_json(indent=2))
    else:
        _print_page(page)
        if mode == "semantic" and page.fallback_reason:
            click.echo(f"by words alone: {page.fallback_reason.replace('_', ' ')}", err=True)
        if page.meaning_since_ms is not None:
            since = local_text(page.meaning_since_ms)
            click.echo(f"frames before {since} were looked for by words only", err=True)


def _print_page(page: Page) -> None:
    from webapp.core.formatting import count

    by_words = True
    for hit in page.hits:
        if by_words and page.mode == "hybrid" and hit.matched == ("meaning",):
            by_words = False
            click.echo("near in meaning:")
        window = " · ".join(part for part in (hit.host, *hit.shown_in[:2]) if part)
        click.echo(f"{local_text(hit.captured_ms)}  {hit.frame_id}  {window}{_run(hit)}")
        if hit.snippet:
            click.echo(f"    {' '.join(hit.snippet.split())}")
    total = count(page.total, "frame")
    near = f", {page.near.total} near in meaning" if page.near.total and page.mode == "hybrid" else ""
    click.echo((total if page.total_is_exact else f"at least {total}") + near, err=True)


def _run(hit: Hit) -> str:
    """How many frames look like this one, and from when to when."""
    first, last = map(local_text, hit.span_ms)
    return f"  ({len(hit.alike) + 1} moments, {first} to {last})" if hit.alike else ""
