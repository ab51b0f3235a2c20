"""Settings: Storage, Display (cookies of one browser), About, and Logging."""

from __future__ import annotations

import math
import platform
import shutil
from collections.abc import Container, Mapping
from dataclasses import fields
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any
from zoneinfo import TZPATH

import apsw
from flask import request
from werkzeug.wrappers import Response

from store.backup import backup
from store.chats import attachments
from store.core.preferences import host_zone, zone_named, zone_names
from store.core.settings import RetentionSettings
from store.core.translation import gettext as _
from store.deletion import retention
from store.frames import tags
from store.memory import chat_sessions, context_packs
from store.spool import process_state
from store.timeline import totals
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.languages import LANGUAGE_COOKIE, LANGUAGES
from webapp.core.parameters import DELETE, is_confirmed
from webapp.core.services import (
    DAY_START_COOKIE,
    KEYS_COOKIE,
    THEME_COOKIE,
    ZONE_COOKIE,
    Services,
    services,
)
from webapp.ops import health

_YEAR_S = 365 * 86_400
_DOCS = Path(__file__).resolve().parents[2] / "docs"


@templating.get("/settings")
def first() -> Response:
    return templating.redirect_to("/settings/recording")


@templating.get("/settings/about")
def show_about() -> Response:
    """Version, license, where data lies and what is installed."""
    from webapp.exports import signing  # with cryptography, 9 MB

    own = services()
    worker = process_state.IngestState.read(own.data_dir.spool)
    versions = {
        "Recollect": version("recollect"),
        _("Reads text"): worker.engine if worker and worker.engine else _("not running"),
        _("Search by meaning"): worker.embedder if worker and worker.embedder else _("not running"),
        "Python": platform.python_version(),
        "SQLite": apsw.sqlite_lib_version(),
        _("Zone data"): _("the system's") if TZPATH else version("tzdata"),
    }
    return templating.render_page(
        "settings/about.html",
        versions=versions,
        license=metadata("recollect")["License-Expression"],
        home=own.data_dir.home,
        docs=_DOCS if _DOCS.is_dir() else None,
        export_key=signing.fingerprint(own.data_dir) if own.data_dir.export_key.exists() else None,
    )


@templating.get("/settings/display")
def show() -> Response:
    """The choices as they are."""
    return templating.render_page(
        "settings/display.html",
        zones=zone_names(),
        chosen_zone=request.cookies.get(ZONE_COOKIE, ""),
        browser_zone=request.cookies.get("tz", ""),
        server_zone=host_zone().key,
        languages=LANGUAGES,
        chosen_language=request.cookies.get(LANGUAGE_COOKIE, ""),
        next_address=_next(request.args.get("next", "")),
        saved=request.args.get("saved") == "1",
    )


@templating.post("/settings/display")
def save() -> Response:
    """Keep the choices in this browser and go back to where they were opened."""
    form = request.form
    zone = form.get("zone", "")
    if zone and zone_named(zone) is None:
        error = "zone", _("is no IANA time zone; for example Europe/Berlin")
        raise Problem(400, "invalid_timezone", _("The time zone is not known."), errors=(error,))
    response = templating.redirect_to(_next(form.get("next", "")) or "/settings/display?saved=1")
    _keep(response, ZONE_COOKIE, zone)
    _keep(response, THEME_COOKIE, form.get("theme"), ("light", "dark"))
    _keep(response, DAY_START_COOKIE, form.get("day_start"), "123456")
    _keep(response, LANGUAGE_COOKIE, form.get("language"), LANGUAGES)
    _keep(response, KEYS_COOKIE, "" if form.get("single_keys") == "on" else "off")
    return response


@templating.post("/settings/theme")
def save_theme() -> Response:
    """Keep the theme alone, and go back to where it was chosen."""
    response = templating.redirect_back("/settings/display")
    _keep(response, THEME_COOKIE, request.form.get("theme"), ("light", "dark"))
    return response


def _keep(response: Response, name: str, value: str | None, known: Container[str] | None = None) -> None:
    """A cookie, or none for nothing and for what is not `known`."""
    if value and (known is None or value in known):
        response.set_cookie(name, value, max_age=_YEAR_S, samesite="Strict", secure=request.is_secure)
    else:
        response.delete_cookie(name, samesite="Strict")


def _next(address: str) -> str:
    return address if templating.is_local(address) and not address.startswith("/settings/display") else ""


@templating.get("/settings/logging")
def show_logging() -> Response:
    """Whether what models are told of earlier chats is logged: for a day at most."""
    own = services()
    return templating.render_page(
        "settings/logging.html",
        until_ms=chat_sessions.verbose_until_ms(own.database, own.clock()),
        telemetry=context_packs.telemetry(own.database),
        sample=own.context.pace.telemetry_sample,
    )


@templating.post("/settings/logging")
def save_logging() -> Response:
    """Switch it on from now on, or off; it holds at once."""
    own = services()
    chat_sessions.set_verbose(own.database, request.form.get("verbose") == "on", own.clock())
    return templating.redirect_to("/settings/logging")


@templating.get("/settings/storage")
def show_storage() -> Response:
    """What is kept for how long, how much that takes and for how long there is room; what a choice would
    take, where one is asked about.
    """
    if not request.args:
        return _storage()
    asked, errors = _policy(request.args)
    return _storage(422 if errors else 200, asked=asked, errors=errors)


@templating.post("/settings/storage")
def save_storage() -> Response:
    """Keep a choice. One that takes something now needs the word typed; the worker then takes it."""
    own = services()
    asked, errors = _policy(request.form)
    takes = not errors and not retention.plan(own.database, asked, own.clock()).run.is_empty
    if takes and not is_confirmed(DELETE):
        errors = {"confirm": _("Type %(word)s to let these go for good.", word=_(DELETE))}
    if errors:
        return _storage(422, asked=asked, errors=errors)
    retention.choose(own.database, asked, own.settings.retention)
    return templating.redirect_to("/settings/storage")


def _policy(values: Mapping[str, str]) -> tuple[RetentionSettings, dict[str, str]]:
    """The policy of a form, where blank is 0, and what is wrong with it by field."""
    given: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name in (each.name for each in fields(RetentionSettings)):
        text = values.get(name, "").strip() or "0"
        try:
            number = float(text) if name == "max_gb" else int(text)
        except ValueError:
            number = -1
        if not (math.isfinite(number) and 0 <= number <= 1_000_000):
            errors[name], number = _("must be 0 or more"), 0
        given[name] = number
    return RetentionSettings(**given), errors


def _storage(
    status: int = 200, asked: RetentionSettings | None = None, errors: Mapping[str, str] | None = None
) -> Response:
    own = services()
    chosen = retention.chosen(own.database, own.settings.retention)
    backups, parts = backup.listed(own.data_dir), _parts(own)
    return templating.render_page(
        "settings/storage.html",
        status,
        chosen=chosen,
        asked=asked,
        errors=errors or {},
        plan=None if asked is None else retention.plan(own.database, asked, own.clock()).run,
        next_run=retention.plan(own.database, chosen, own.clock()).run,
        parts=parts,
        used=sum(part[1] for part in parts),
        disk=shutil.disk_usage(own.data_dir.home),
        growth=health.growth(own),
        backups=backups,
        keep=own.settings.backup.keep,
        floor_gb=own.capture.min_free_gb,
        home=own.data_dir.home,
        runs=retention.runs(own.database, 20),
        kept=tags.pinned_usage(own.database),
        is_off=retention.is_off(chosen),
        confirmation=_(DELETE),
    )


def _parts(own: Services) -> list[tuple[str, int, str, str]]:
    """(name, bytes, how many, colour) of what the home folder holds; backups share its pictures."""

    def bytes_of(files: list[Path]) -> int:
        return sum(file.stat().st_size for file in files if file.exists())

    name = own.data_dir.database.name
    copies = [path / name for path, __ in backup.listed(own.data_dir)]
    files = [own.data_dir.home / f"{name}{end}" for end in ("", "-wal")]
    waiting, waiting_bytes = own.spool.usage()
    attached, attached_bytes = attachments.usage(own.database)
    stats = totals.store_stats(own.database)
    read = _("%(frames)s read", frames=formatting.count(stats.frames_read, "frame"))
    return [
        (_("Pictures"), retention.media_bytes(own.database), formatting.count(stats.frames, "frame"), "c8"),
        (_("Text, index, chats"), bytes_of(files), read, "c5"),
        (_("Backups"), bytes_of(copies), formatting.count(len(copies), "copy", "copies"), "c10"),
        (_("Waiting"), waiting_bytes, formatting.count(waiting, "capture"), "c2"),
        (_("Attached files"), attached_bytes, formatting.count(attached, "file"), "c0"),
    ]
