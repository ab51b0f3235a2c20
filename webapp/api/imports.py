"""Files of messages, calendars, positions and places: taken in, listed, and taken back."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import request
from pydantic import AliasPath, Field, StringConstraints, ValidationError

from store.sources import imports
from store.sources.imports import KINDS, Kind
from webapp.api.endpoint import check_parts, endpoint, of_validation
from webapp.api.entities import Limit, Offset
from webapp.api.values import Answer, Listing, Request, Timestamp, Zone
from webapp.core import uploads
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.core.uploads import MAX_IMPORT_BYTES

IMPORT = "/imports/<id:import_id>"
_Short = Annotated[str, StringConstraints(max_length=200)]


class _Fields(Request):
    format: _Short = Field("", description="Which format it is in; found out when missing.")
    timezone: Zone = Field("UTC", description="IANA zone of times in the file that name none.")
    me: _Short = Field("", description="Your own names or addresses in the file, separated by commas.")
    dates: Literal["", "dmy", "mdy", "ymd"] = Field("", description="How its dates are written.")


class Upload(_Fields):
    """multipart/form-data with the file; the other parts say what the file does not."""

    file: bytes = Field(description=f"At most {MAX_IMPORT_BYTES // 1_000_000} MB, also as a zip.")


class ReasonAnswer(Answer):
    reason: str
    count: int


class SkippedRecordAnswer(Answer):
    where: str = Field(description="A line or a record of the file.")
    reason: str


class ImportReceiptAnswer(Answer):
    """What became of the records of a file."""

    import_id: int
    kind: Kind
    format: str
    name: str
    added: int
    updated: int
    skipped: int = Field(description="Those that are unchanged, and those left out.")
    unchanged: int = Field(description="There already, and the same.")
    replaced: int = Field(description="Occurrences of its events that the file does not tell of any more.")
    reasons: list[ReasonAnswer] = Field(description="Why records were left out, commonest first.")
    records: list[SkippedRecordAnswer] = Field(description="The first hundred of those left out.")


def _importer(kind: Kind, summary: str) -> None:
    def upload() -> ImportReceiptAnswer:
        """The file is read to its end before anything is stored: a refused one leaves nothing.

        Importing the same file again changes nothing, and completes an import that was cut short.
        """
        if (request.content_length or 0) > MAX_IMPORT_BYTES:
            megabytes = MAX_IMPORT_BYTES // 1_000_000
            detail = f"The file is larger than {megabytes} MB; `recollect import {kind} FILE` takes any size."
            raise Problem(413, "too_large", detail)
        check_parts(Upload.model_fields, file="file")
        choices = _choices()
        return ImportReceiptAnswer(**uploads.import_file(kind, uploads.uploaded_file(), **choices))

    upload.__name__ = kind
    endpoint(
        "POST",
        f"/imports/{kind}",
        summary,
        {
            400: "invalid_timezone",
            413: "too_large",
            415: "unsupported_media_type",
            422: "file_required, unknown_field, import_refused",
            503: "import_too_long",
        },
        upload=Upload,
    )(upload)


def _choices() -> dict[str, str]:
    given = {name: value for name, value in request.form.items() if name != "csrf_token"}
    try:
        return _Fields.model_validate(given).model_dump()
    except ValidationError as error:
        raise of_validation(error, body=True) from error


_SUMMARIES: dict[Kind, str] = {
    "messages": "Import messages",
    "calendar": "Import a calendar",
    "location": "Import positions",
    "places": "Import places",
}


class ImportAnswer(Answer):
    id: int
    kind: Kind
    name: str
    format: str
    started_at: Timestamp
    finished_at: Timestamp | None = Field(description="Null while it runs, or when it was cut short.")
    added: int = Field(validation_alias=AliasPath("counts", "added"))
    updated: int = Field(validation_alias=AliasPath("counts", "updated"))
    skipped: int = Field(validation_alias=AliasPath("counts", "skipped"))
    rows: int = Field(description="What is left of what it brought.")


@endpoint("GET", "/imports", "What was imported")
def listed() -> Listing[ImportAnswer]:
    """Every import, newest first."""
    return Listing(data=ImportAnswer.list_of(imports.listed(services().database)))


class DeletedImportAnswer(Answer):
    deleted: int = Field(validation_alias="rows", description="Rows that went.")
    entities: int = Field(description="People or places that went with them: known from these imports alone.")
    kept: int = Field(description="Those that stay, as more is known of them; that they were named is gone.")


def _deleter(kind: Kind, summary: str) -> None:
    def delete() -> DeletedImportAnswer:
        """The whole source, with what chats were shown of it and the backups that may hold it."""
        return DeletedImportAnswer.of(imports.delete(services().database, kind))

    delete.__name__ = f"delete_{kind}"
    endpoint("DELETE", f"/imports/{kind}", summary)(delete)


for _kind in KINDS:
    _importer(_kind, _SUMMARIES[_kind])
    _deleter(_kind, f"Delete every import of {_kind}")


@endpoint("DELETE", IMPORT, "Take an import back")
def delete_one(import_id: int) -> DeletedImportAnswer:
    """What it brought first goes, with what chats were shown of the source."""
    source = imports.get(services().database, import_id)
    return DeletedImportAnswer.of(imports.delete(services().database, source.kind, import_id))


# -- whom an import names; they are remembered when a person asks for it, never by themselves --------

MAX_CHOSEN = 10_000


class NamesQuery(Request):
    limit: Limit = 50
    offset: Offset = 0


class NameAnswer(Answer):
    name: str
    count: int = Field(description="Rows of the import that it stands in.")
    entity_id: int | None = Field(description="Who is remembered by this name.")
    is_noted: bool = Field(description="Whether it is known there that this import names it.")


class NamesAnswer(Answer):
    data: list[NameAnswer]
    total: int


class RememberBody(Request):
    names: list[str] | None = Field(
        None, max_length=MAX_CHOSEN, description="Some of the names, as they are listed; missing: all."
    )


class RememberedAnswer(Answer):
    added: int = Field(description="Entities that are new.")
    noted: int = Field(description="Known by that name before; the import is a further source of them now.")
    known: int = Field(description="Remembered from this import already.")


@endpoint("GET", f"{IMPORT}/names", "People or places that an import names")
def names(import_id: int, query: NamesQuery) -> NamesAnswer:
    """Those in most rows first. Calendars and positions name nobody."""
    named = imports.names(services().database, imports.get(services().database, import_id))
    shown = named[query.offset : query.offset + query.limit]
    return NamesAnswer(data=NameAnswer.list_of(shown), total=len(named))


@endpoint(
    "POST",
    f"{IMPORT}/remember",
    "Remember whom an import names",
    {422: "invalid_request"},
    body_required=False,
)
def remember(import_id: int, body: RememberBody) -> RememberedAnswer:
    """Names become entities, and nothing else of the file does. Again adds nothing."""
    source = imports.get(services().database, import_id)
    chosen = None if body.names is None else set(body.names)
    try:
        done = imports.accept_names(services().database, source, chosen, services().clock())
    except LookupError as error:
        why = f"{str(error.args[0])[:100]!r} is no name of this import"
        raise invalid(422, "invalid_request", ("names", why)) from error
    return RememberedAnswer.of(done)
