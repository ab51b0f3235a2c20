"""What ``python -m ingest demo`` does: fill a home folder of its own with a sample week."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import click

from engines.ocr.protocol import OcrError
from engines.registry import UnknownName
from ingest.core.home import Home
from ingest.demo import drawing, memories
from ingest.demo.days import Options
from ingest.demo.drawing import Fonts
from ingest.demo.generator import SampleWeekGenerator
from ingest.importers.import_runner import run_import
from ingest.importers.items import SOME_FAILED, CannotImport, zone_named
from ingest.worker.assembly import engine_of
from store.ocr import readings


def fill(
    home: Home,
    *,
    days: int,
    hours: float | None,
    until: datetime | None,
    tz: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Make the week, and tell of it; ends the command."""
    zone = zone_named(tz)
    zone = zone if isinstance(zone, ZoneInfo) else ZoneInfo("UTC")
    last_day = _last_day(until, zone)
    fonts = drawing.find_fonts()
    notes = list(_shortcomings(home, fonts))
    options = Options(last_day, zone, days, seed, hours, _can_be_chinese(home, fonts))
    generator = SampleWeekGenerator(home, fonts, options)
    _open_and_close(home)
    for note in notes:
        click.echo(note, err=True)
    feed, code = run_import(home, generator.items(), generator.pictures)
    if feed.is_over:
        generator.finish()
        _print_result(home, generator, as_json)
        dates = {day.date.weekday(): day.date for day in generator.days}
        if hours is None and len(dates) >= 5:  # after the pages can be opened: nobody waits for it
            memories.add(home.database, zone, seed, dates)
    summary = feed.summary()
    click.get_current_context().exit(code or (SOME_FAILED if summary["failed"] or summary["queued"] else 0))


def _last_day(until: datetime | None, zone: ZoneInfo) -> date:
    """Yesterday, or the day that was asked for: one that is over. Raises `CannotImport`."""
    today = datetime.now(zone).date()
    if until is None:
        return today - timedelta(days=1)
    if until.date() >= today:
        raise CannotImport("--until must be a day that is over: nothing can have been seen in the future")
    return until.date()


def _shortcomings(home: Home, fonts: Fonts) -> Iterator[str]:
    """What this machine lacks, told before the work begins."""
    if fonts.sans is None or fonts.mono is None:
        yield "Fonts such as DejaVu are missing; a built-in one stands in, without fixed widths."
    if fonts.chinese is None:
        yield "No Chinese font was found: the week is in English only (Debian: fonts-noto-cjk)."
    elif not _can_be_chinese(home, fonts):
        yield "Chinese is not among ocr.languages: the week is in English only."


def _can_be_chinese(home: Home, fonts: Fonts) -> bool:
    return fonts.chinese is not None and "chi_sim" in home.settings.ocr.languages


def _open_and_close(home: Home) -> None:
    """A week that nobody can read is no use. Raises `CannotImport` with what to install."""
    try:
        engine_of(home)().close()
    except (OcrError, UnknownName) as error:
        raise CannotImport(f"the pictures could not be read: {error}") from error


def _print_result(home: Home, generator: SampleWeekGenerator, as_json: bool) -> None:
    week, folder = generator.week, home.data_dir.home
    pending = readings.count_pending(home.database)
    if as_json:
        result = {
            "home": str(folder),
            "frames": generator.pictures,
            "languages": list(week.languages),
            "timezone": week.timezone,
            "start_time": week.start_ms / 1000,
            "end_time": week.end_ms / 1000,
            "pending": pending,
        }
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    first, last = generator.days[0].date, generator.days[-1].date
    click.echo(f"{generator.pictures} frames from {first} to {last} ({week.timezone}) in {folder}")
    click.echo(f"Open it:       recollect up --home {shlex.quote(str(folder))} --open")
    if pending:
        click.echo(f"frames still to be read: {pending}", err=True)
