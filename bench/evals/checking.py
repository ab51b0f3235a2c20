"""`check-answers`: known questions, asked again with the code and the model of today."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webapp.cli.common import home_option, json_option, open_database, open_home, print_json

if TYPE_CHECKING:
    from bench.evals.answer_cases import Case
    from bench.evals.answer_check import Checked, Share


@click.command("check-answers")
@home_option
@json_option
@click.option("--model", help="Name of a configured model (extractive: none).")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="What --json printed before: fail where an answer was right and is no more.",
)
@click.option("--answers", "with_answers", is_flag=True, help="Print the answers, too.")
def check_answers(
    home: Path | None,
    as_json: bool,
    model: str | None,
    limit: int | None,
    against: Path | None,
    with_answers: bool,
) -> int:
    """Ask known questions again: are the answers still right, proven and complete?

    In a sample week (`recollect demo`) its own questions are asked; in any home folder those whose
    sources were reported as right or wrong. No chat is left behind.
    """
    from bench.evals.answer_check import check, total

    before = _right_before(against) if against else frozenset()
    deps, cases = open_cases(home)
    checked = []
    with click.progressbar(
        cases[:limit], label="Asking", file=sys.stderr, hidden=as_json or not _on_terminal()
    ) as shown:
        for case in shown:
            checked.append(check(deps, case, model))
    figures = total(checked)
    lost = [one.id for one in checked if one.id in before and not one.is_right]
    if as_json:
        print_json(
            {
                "figures": _numbers(figures),
                "lost": lost,
                "answers": [dataclasses.asdict(one) for one in checked],
            }
        )
    else:
        _print(checked, with_answers)
        for name in ("right", "groundedness", "precision", "coverage"):
            click.echo(f"{name:<14}{_percent(getattr(figures, name))}")
    if lost:
        raise click.ClickException(
            f"{len(lost)} answers were right before and are not now: {', '.join(lost)}"
        )
    return 0


def open_cases(home: Path | None) -> tuple[Any, list[Case]]:
    """(what a turn works with, the cases of this home)."""
    from assistant.core.models import ChatModels
    from assistant.turns.plan import TurnServices
    from bench.evals.answer_cases import of_reports, of_sample
    from store.core.times import now_ms
    from store.timeline import sample_week

    here = open_home(home)
    database = open_database(here.data_dir)
    week = sample_week.read(here.data_dir)
    cases = [*(of_sample(week) if week else ()), *of_reports(database)]
    if not cases:
        raise click.ClickException(
            "there is nothing to check here: report a source as right or wrong in a chat, or use the home "
            "folder of a sample week (`recollect demo`)"
        )
    return TurnServices(database, ChatModels(here.settings.chat), now_ms), cases


def _right_before(path: Path) -> frozenset[str]:
    """The cases that an earlier run found right. Raises `ClickException`."""
    try:
        document = json.loads(path.read_bytes())
        return frozenset(one["id"] for one in document["answers"] if one["is_right"])
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{path.name} is not what --json printed: {error}") from error


def _print(checked: Sequence[Checked], with_answers: bool) -> None:
    for one in checked:
        if with_answers or not one.is_right:
            click.echo(f"{'OK' if one.is_right else 'X':<3}{one.id}  {one.message}")
            if one.why:
                click.echo(f"   {one.why}")
        if with_answers and one.answer_md:
            click.echo("   " + one.answer_md.replace("\n", "\n   "))


def _numbers(figures: Any) -> dict[str, Any]:
    return {
        name: {"count": share.count, "of": share.of, "share": share.value}
        for name, share in ((f.name, getattr(figures, f.name)) for f in dataclasses.fields(figures))
    }


def _percent(share: Share) -> str:
    return "nothing to count" if share.value is None else f"{share.value:6.1%}  {share.count} of {share.of}"


def _on_terminal() -> bool:
    return sys.stderr.isatty()
