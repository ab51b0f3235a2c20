"""`privacy` and `delete`: what is never recorded, and what is not to have been."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webapp.cli.common import (
    MOMENT,
    check_range,
    confirm,
    home_and_json,
    local_text,
    open_home,
    print_json,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.core.database import Database
    from store.core.paths import DataDir
    from store.deletion.request import OnlyFront, Request
    from store.privacy.rules import OwnChoices, Rule


@click.command()
@home_and_json
@click.option("--from", "start_ms", type=MOMENT, required=True, metavar="TIME", help="Start, included.")
@click.option("--to", "end_ms", type=MOMENT, required=True, metavar="TIME", help="End, not included.")
@click.option("--app", help="Only frames with this app in front.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
def delete(home: Path | None, as_json: bool, start_ms: int, end_ms: int, app: str | None, yes: bool) -> None:
    """Delete everything that was recorded in a range of time."""
    from store.deletion.request import Request
    from webapp.core.formatting import count

    check_range(start_ms, end_ms)
    if app == "":
        raise click.ClickException("--app names no app; leave it out to delete what all apps showed")
    database = open_home(home).open_database()
    asked = Request(start_ms, end_ms, app)
    if not yes:
        with database.read() as connection:
            frames = count(asked.scope.count(connection), "frame")
        of_app = f" with {app} in front" if app else ""
        span = f"{local_text(start_ms)} to {local_text(end_ms)}"
        confirm(f"{frames}{of_app} from {span}: gone for good. Delete?")
    _delete(database, asked, as_json)


def _delete(database: Database, asked: Request, as_json: bool) -> None:
    """Delete, and say what went. Raises `click.ClickException` when something is left."""
    from store.deletion import deletion
    from store.frames.media import Media
    from store.sources import hosts
    from webapp.core.formatting import count

    receipt = deletion.delete(database, Media(database.data_dir.media), asked)
    if as_json:
        from webapp.api.privacy import receipt_answer

        click.echo(receipt_answer(database, receipt, asked.app_name).model_dump_json(indent=2))
    else:
        click.echo(f"deleted {count(receipt.frames, 'frame')}, {receipt.bytes_freed} bytes freed")
        for path in receipt.elsewhere:
            where = "it is outside the home folder, erase it or end it yourself"
            click.echo(f"{path} may hold it still: {where}")
        for host in hosts.receipts_of(database, receipt.deletion_id):
            if host.answered_ms is None and not host.is_revoked:
                click.echo(f"{host.name} has not answered yet: what waits there goes once it does")
        _say_only_front(receipt.only_front)
    if receipt.is_being_finished:
        click.echo(f"Recollect finishes this while it runs: {' '.join(receipt.left_in_words)}", err=True)
    elif not receipt.verified:
        raise click.ClickException(f"something is left: {' '.join(receipt.left_in_words)}")


def _say_only_front(only_front: OnlyFront) -> None:
    """What nobody can know of the frames that a rule leaves."""
    from webapp.core.formatting import count

    if only_front.until_ms is not None:
        click.echo(
            f"{count(only_front.frames, 'frame')} until {local_text(only_front.until_ms)} may still show it"
            " behind another window: only the window in front was compared"
        )


@click.group(invoke_without_command=True)
@home_and_json
@click.pass_context
def privacy(context: click.Context, home: Path | None, as_json: bool) -> None:
    """List your rules of what is never recorded; or add or remove one, or test a window.

    A rule without a number is of config.toml, or of the server that this machine captures for.
    """
    from store.privacy.rules import as_document, load_rules, own_choices

    if context.invoked_subcommand is not None:
        return
    here = open_home(home)
    loaded = load_rules(here.data_dir, here.settings.privacy)
    if loaded.unreadable:
        raise click.ClickException(f"nothing is recorded: {loaded.unreadable}")
    if as_json:
        documents = [as_document(rule) for rule in loaded.rules]
        return print_json({"rules": documents, "defaults": loaded.defaults})
    own = own_choices(here.data_dir).rules
    numbers = {rule: number for number, rule in enumerate(own, 1)}
    for rule in loaded.rules:
        click.echo(f"{numbers.get(rule, '-')}  {rule.action}  {rule.sentence}")
    builtin = "left out" if loaded.defaults else "recorded"
    click.echo(f"password managers and private windows are {builtin}")
    if left_out := _left_out(here.open_database(), here.data_dir, loaded.rules):
        click.echo(left_out)


@privacy.command()
@home_and_json
@click.option("--app", help="The app, by its name.")
@click.option("--title", help="Whole words of the window's title.")
@click.option("--url", help="The site, such as example.com or example.com/path.")
@click.option("--mask", is_flag=True, help="Black the window out instead of leaving the frame out.")
@click.option(
    "--recorded", type=click.Choice(["ask", "keep", "delete"]), default="ask", show_default=True,
    help="What becomes of frames recorded earlier that the rule would have hidden.",
)  # fmt: skip
def add(
    home: Path | None, as_json: bool, app: str | None, title: str | None, url: str | None, mask: bool,
    recorded: str,
) -> None:  # fmt: skip
    """Add a rule; every part that is given must fit. Capture follows at its next look."""
    from dataclasses import replace

    from store.deletion import request
    from store.privacy.rules import changing, save_choices, validate
    from webapp.core.formatting import count

    parts = {"app": app, "title": title, "url": url, "action": "mask" if mask else "drop"}
    added = validate([{name: value for name, value in parts.items() if value}])
    here = open_home(home, make=True)
    database = here.open_database()
    with changing(here.data_dir):
        own = _own_choices(here.data_dir)
        save_choices(here.data_dir, replace(own, rules=own.rules + added))
    click.echo(f"from now on: {added[0].sentence}", err=as_json)
    if left_out := _left_out(database, here.data_dir, added):
        click.echo(left_out, err=as_json)
    asked = request.Request(*request.EVER, rules=added)
    found = request.recorded(database, added)
    earlier = "frames recorded earlier that it would have hidden could not be counted"
    if found is not None:
        earlier = f"it would have hidden {count(found, 'frame')} recorded earlier"
    is_asked = found != 0 and recorded == "ask"
    if (found != 0 and recorded == "delete") or (is_asked and _is_agreed(f"{earlier}: delete, too?")):
        return _delete(database, asked, as_json)
    with database.read() as connection:
        only_front = asked.only_front(connection)
    if as_json:
        behind = {"frames": only_front.frames, "until": only_front.until_ms and only_front.until_ms / 1000}
        return print_json({"recorded_frames": found, "only_front": behind})
    if found != 0:
        click.echo(f"{earlier}; they stay")
    _say_only_front(only_front)


@privacy.command()
@home_and_json
@click.argument("number", type=click.IntRange(min=1))
def remove(home: Path | None, as_json: bool, number: int) -> None:
    """Remove your rule of this NUMBER, as `recollect privacy` lists it. Capture follows at its next look."""
    from dataclasses import replace

    from store.privacy.rules import as_document, changing, save_choices

    here = open_home(home)
    with changing(here.data_dir):
        own = _own_choices(here.data_dir)
        if number > len(own.rules):
            raise click.ClickException(f"there is no rule {number} of yours; `recollect privacy` lists them")
        removed = own.rules[number - 1]
        save_choices(here.data_dir, replace(own, rules=own.rules[: number - 1] + own.rules[number:]))
    tell(as_json, {"removed": as_document(removed)}, f"no longer left out: {removed.sentence}")


def _own_choices(data_dir: DataDir) -> OwnChoices:
    """The person's rules. What cannot be read is not written over."""
    from store.privacy.rules import RuleInvalid, own_choices

    try:
        return own_choices(data_dir)
    except (RuleInvalid, OSError, ValueError) as error:
        problem = f"nothing is recorded: the privacy rules cannot be read: {error}"
        raise click.ClickException(problem) from error


def _is_agreed(question: str) -> bool:
    """Whether the answer is a clear yes; where nobody answers it is none."""
    try:
        confirm(question)
    except click.Abort:
        return False
    return True


@privacy.command()
@home_and_json
@click.option("--app", help="The app, by its name.")
@click.option("--title", help="The window's title.")
@click.option("--url", help="The address it shows.")
@click.option("--private", is_flag=True, help="It is a private window.")
def test(
    home: Path | None, as_json: bool, app: str | None, title: str | None, url: str | None, private: bool
) -> None:
    """Say what would happen to a window, and by which rule."""
    from store.privacy.rules import WindowFacts, load_rules

    here = open_home(home)
    rules = load_rules(here.data_dir, here.settings.privacy)
    decision = rules.decide_on_screen(WindowFacts.described(app, title, url, True if private else None))
    left_out = _left_out(here.open_database(), here.data_dir, rules.rules, app)
    if as_json:
        document = {"action": decision.action, "reason": decision.reason, "detail": decision.detail}
        return print_json({**document, "left_out": left_out})
    words = {"keep": "recorded", "mask": "blacked out", "drop": "left out"}[decision.action]
    click.echo(": ".join(filter(None, (f"it would be {words}", decision.detail))))
    if left_out:
        click.echo(left_out)


def _left_out(database: Database, data_dir: DataDir, rules: Iterable[Rule], app: str | None = None) -> str:
    from store.core.times import now_ms
    from webapp.ops.site_rules import left_out_words

    return left_out_words(database, data_dir, rules, now_ms(), app)
