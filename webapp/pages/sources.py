"""Imported sources: what there is of each, looked through a piece at a time, added to, and taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Any

from flask import render_template, request
from werkzeug.wrappers import Response

from store.core import times
from store.core.database import Database
from store.core.errors import NotFound, existing
from store.core.translation import gettext as _
from store.deletion import sources as deletion
from store.embeddings.knn import RetrievalQuery
from store.ocr import readings
from store.sources import calendars, imports, locations, messages
from store.sources.imports import KINDS, AcceptedNames, Import, Kind
from store.timeline import segments
from webapp.core import formatting, templating, uploads
from webapp.core.errors import Problem
from webapp.core.parameters import DELETE, day_named, is_confirmed, number
from webapp.core.services import Viewer, services, viewer
from webapp.core.uploads import MAX_IMPORT_BYTES

PAGE = 50
_POINTS = 200
_NAMES = 200
_EVER_MS = 2**52
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class SourceWords:
    """How a source is called and drawn; `rows` says how many rows of it."""

    title: str
    about: str
    icon: str
    rows: Callable[[int], str]


def words_for(kind: Kind) -> SourceWords:
    """In the language of the page."""
    match kind:
        case "messages":
            about = _("SMS, iMessage, WhatsApp, Telegram, e-mail")
            return SourceWords(_("Messages"), about, "chat", lambda n: formatting.count(n, "message"))
        case "calendar":
            about = _("Events of .ics files, windows of ActivityWatch")
            return SourceWords(_("Calendar"), about, "calendar", lambda n: formatting.count(n, "event"))
        case "location":
            about = _("Positions in time")
            return SourceWords(_("Where you were"), about, "globe", lambda n: formatting.count(n, "position"))
        case "places":
            about = _("Names for positions")
            return SourceWords(_("Your places"), about, "pin", lambda n: formatting.count(n, "place"))


def _named(who: str, number: int) -> str:
    """``3 people``, ``1 place``: names that an import brought."""
    return (
        formatting.count(number, "person", "people") if who == "person" else formatting.count(number, "place")
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """Some rows of a source. `earlier` and `later` are the queries of the pages beside this one, or ""."""

    rows: list[Any] = field(default_factory=list)
    label: str = ""  # which part of the source this is
    on: date | None = None  # the day it begins with
    earlier: str = ""
    later: str = ""
    total: int | None = None  # of the part, where not all of it is shown


@templating.get("/sources")
def show() -> str:
    """The sources, and how much there is of each."""
    database = services().database
    cards = [(kind, words_for(kind), imports.total(database, kind)) for kind in KINDS]
    pictures = len(segments.imported_ms(database))
    return render_template("sources/sources.html", cards=cards, pictures=pictures)


@templating.get("/sources/pictures")
def pictures() -> Response:
    """The days that pictures were imported of; for htmx how many frames are still to be read."""
    if templating.wants_fragment():
        return templating.render_page(
            "sources/_reading.html", unread=readings.count_pending(services().database)
        )
    return _pictures()


@templating.post("/sources/pictures/import")
def import_pictures() -> Response:
    """Import the files of the form; the answer is the page with what became of them."""
    files = [file for file in request.files.getlist("files") if file.filename]
    zone = request.form.get("timezone", "").strip()[:_MAX_CHARS] or viewer().zone_name
    if not files:
        return _pictures(422, problem=_("Choose a file first."))
    try:
        return _pictures(receipt=uploads.import_pictures(files, zone))
    except Problem as problem:
        if problem.status >= 500:
            raise
        return _pictures(problem.status, problem=problem.detail, zone=zone)


def _pictures(status: int = 200, **changes: Any) -> Response:
    database, who = services().database, viewer()
    taken = segments.imported_ms(database)
    days = Counter(who.day_of(at_ms).date for at_ms in taken)
    return templating.render_page(
        "sources/pictures.html",
        status,
        total=len(taken),
        days=list(days.items())[:PAGE],
        more=max(0, len(days) - PAGE),
        unread=readings.count_pending(database),
        max_mb=MAX_IMPORT_BYTES // 1_000_000,
        **{"receipt": None, "problem": "", "zone": who.zone_name, **changes},
    )


@templating.get("/sources/<kind>")
def source(kind: str) -> Response:
    return _page(_known(kind))


@templating.post("/sources/<kind>/import")
def import_upload(kind: str) -> Response:
    """Import the file of the form; the answer is the page with the receipt, or with what is wrong."""
    known = _known(kind)
    given = {name: request.form.get(name, "").strip()[:_MAX_CHARS] for name in ("timezone", "me", "dates")}
    given["timezone"] = given["timezone"] or viewer().zone_name
    try:
        receipt = uploads.import_file(known, uploads.uploaded_file(), **given)
    except Problem as problem:
        if problem.status >= 500:
            raise
        detail = _("Choose a file first.") if problem.code == "file_required" else problem.detail
        return _page(known, problem.status, problem=_on_a_page(detail), given=given)
    return _page(known, receipt=receipt)


@templating.get("/sources/<kind>/rows/<id:row_id>")
def row(kind: str, row_id: int) -> Response:
    """Leads to a message or an event, among those around it."""
    database = services().database
    if _known(kind) == "calendar":
        event = calendars.get(database, row_id)
        on = times.to_local(event.start_ms, viewer().zone).date()
        return templating.redirect_to(f"/sources/calendar?day={on}#e{row_id}", 302)
    with database.read() as connection:
        message = existing(messages.get_many(connection, [row_id]).get(row_id), "message", row_id)
    return templating.redirect_to(f"/sources/messages?before={message.sent_ms}.{row_id + 1}#m{row_id}", 302)


@templating.get("/sources/<kind>/imports/<id:import_id>")
def imported(kind: str, import_id: int) -> Response:
    """One import: what it brought, and the people or places it names, which can be remembered."""
    return _imported(_import(kind, import_id))


@templating.post("/sources/<kind>/imports/<id:import_id>/remember")
def remember(kind: str, import_id: int) -> Response:
    """Remember the names that are ticked, or all of them; the page says what came of it."""
    own, source = services(), _import(kind, import_id)
    chosen = None if request.form.get("all") else set(request.form.getlist("name"))
    try:
        done = imports.accept_names(own.database, source, chosen, own.clock())
    except LookupError as error:
        raise Problem(422, "invalid_request", _("That name is not in this import any more.")) from error
    return _imported(source, done)


@templating.post("/sources/<kind>/delete")
def delete(kind: str) -> Response:
    """Delete a source as a whole, when the word was typed, or what one import brought."""
    known, import_id = _known(kind), number(request.form, "import_id")
    if import_id is None and not is_confirmed(DELETE):
        problem = _("Type %(word)s to delete all of it for good.", word=_(DELETE))
        return _page(known, 422, delete_problem=problem)
    return _page(known, deleted=deletion.delete(services().database, known, import_id))


def _known(kind: str) -> Kind:
    if kind not in KINDS:
        raise Problem(404, "not_found", _("There is no such source."))
    return kind


def _import(kind: str, import_id: int) -> Import:
    source = imports.get(services().database, import_id)
    if source.kind != _known(kind):
        raise NotFound("import", f"{import_id} of {kind}")
    return source


def _imported(source: Import, done: AcceptedNames | None = None) -> Response:
    database = services().database
    names, who = imports.names(database, source), imports.NAMED_KINDS.get(source.kind, "")
    return templating.render_page(
        "sources/imported.html",
        source=source,
        words=words_for(source.kind),
        who=who,
        named=partial(_named, who),
        names=names[:_NAMES],
        total=len(names),
        missing=sum(not name.is_noted for name in names),
        would_go=imports.would_go(database, source),
        done=done,
    )


def _on_a_page(detail: str) -> str:
    """The sentence of the command, which names options, for a form, which has fields."""
    words = {"with --me": "in the field “You”", "with --dates dmy or mdy": "in the field “Dates”"}
    for option, place in words.items():
        detail = detail.replace(option, place)
    return detail


def _page(kind: Kind, status: int = 200, **changes: Any) -> Response:
    """The page, with what a form was refused with or what came of it in `changes`."""
    database, who = services().database, viewer()
    return templating.render_page(
        "sources/source.html",
        status,
        kind=kind,
        words=words_for(kind),
        total=imports.total(database, kind),
        imports=imports.listed(database, kind),
        q=request.args.get("q", "").strip()[:1_000],
        part=listed(database, kind, request.args, who),
        day_of=lambda ms: f"/days/{who.day_of(ms).date.isoformat()}",
        confirmation=_(DELETE),
        max_mb=MAX_IMPORT_BYTES // 1_000_000,
        **{"receipt": None, "problem": "", "given": {}, "deleted": None, "delete_problem": "", **changes},
    )


def listed(database: Database, kind: Kind, arguments: Any, viewer: Viewer) -> Listed:
    """The rows that an address asks for: words in `q`, a day in `day`, a place in the list in `before`."""
    q, day = arguments.get("q", "").strip()[:1_000], day_named(arguments.get("day"), viewer)
    if kind == "messages":
        return _messages(database, q, day, arguments.get("before", ""))
    if kind == "calendar":
        return _events(database, q, day, viewer)
    if kind == "location":
        return _points(database, day, viewer)
    return _places(database, q, number(arguments, "offset", 9) or 0)


def _messages(database: Database, q: str, day: times.Day | None, before: str) -> Listed:
    if q:
        page = messages.search_messages(database, RetrievalQuery(q), mode="fts5", limit=PAGE)
        return Listed(
            [hit.message for hit in page.hits],
            _("The best %(number)s of “%(words)s”", number=PAGE, words=q) if page.hits else "",
        )
    at, __, number = before.partition(".")
    cursor = (int(at), int(number)) if at.isdecimal() and number.isdecimal() and len(before) < 40 else None
    among, part = messages.EVERY_MESSAGE, ""
    if day is not None:
        among, part = messages.Filters(day.start_ms, day.end_ms), f"day={day.date}&"
    rows = messages.browse(database, among, PAGE + 1, before=cursor)
    last = rows[PAGE - 1] if len(rows) > PAGE else None
    earlier = f"{part}before={last.sent_ms}.{last.id}" if last else ""
    label = _("%(day)s, newest first", day=formatting.date_long(day.date)) if day else _("Newest first")
    return Listed(rows[:PAGE], label, day.date if day else None, earlier=earlier)


def _events(database: Database, q: str, day: times.Day | None, viewer: Viewer) -> Listed:
    if q:
        events, total = calendars.events_between(database, 0, _EVER_MS, q, PAGE)
        return Listed(
            events, _("Events with “%(words)s”, earliest first", words=q) if events else "", total=total
        )
    first = (day or viewer.today).date.replace(day=1)
    after = (first + timedelta(days=32)).replace(day=1)
    start_ms, end_ms = (times.day(each, viewer.zone).start_ms for each in (first, after))
    events, total = calendars.events_between(database, start_ms, end_ms, "", _POINTS)
    span = imports.span(database, "calendar")
    earlier = later = ""
    if span and span[0] < start_ms:
        earlier = f"day={(first - timedelta(days=1)).replace(day=1)}"
    if span and span[1] >= end_ms:
        later = f"day={after}"
    label = formatting.month(first)
    return Listed(events, label, first, earlier, later, total)


def _points(database: Database, day: times.Day | None, viewer: Viewer) -> Listed:
    span = imports.span(database, "location")
    if span is None:
        return Listed()
    day = day or viewer.day_of(span[1])
    points, total = locations.points_between(database, day.start_ms, day.end_ms, _POINTS)
    earlier = f"day={day.date - timedelta(days=1)}" if span[0] < day.start_ms else ""
    later = f"day={day.date + timedelta(days=1)}" if span[1] >= day.end_ms else ""
    return Listed(points, "", day.date, earlier, later, total)


def _places(database: Database, q: str, start: int) -> Listed:
    rows = locations.browse(database, q, PAGE + 1, start)
    words = f"q={q}&" if q else ""
    earlier = f"{words}offset={max(0, start - PAGE)}" if start else ""
    later = f"{words}offset={start + PAGE}" if len(rows) > PAGE else ""
    return Listed(rows[:PAGE], _("By name"), earlier=earlier, later=later)
