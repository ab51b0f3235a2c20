"""Files of messages, calendars, positions and places, taken in."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import request
from pydantic import Field, StringConstraints, ValidationError

from store.sources.imports import Kind
from webapp.api.endpoint import check_parts, endpoint, of_validation
from webapp.api.values import Answer, Request, Zone
from webapp.core import uploads
from webapp.core.errors import Problem
from webapp.core.uploads import MAX_IMPORT_BYTES

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
        given = {name: value for name, value in request.form.items() if name != "csrf_token"}
        try:
            choices = _Fields.model_validate(given).model_dump()
        except ValidationError as error:
            raise of_validation(error, body=True) from error
        return ImportReceiptAnswer(**uploads.import_file(kind, uploads.uploaded_file(), **choices))

    upload.__name__ = kind
    endpoint(
        "POST",
        f"/imports/{kind}",
        summary,
        {422: "import_refused", 503: "import_too_long"},
        upload=Upload,
    )(upload)


_importer("messages", "Import messages")
_importer("calendar", "Import a calendar")
_importer("location", "Import positions")
_importer("places", "Import places")
