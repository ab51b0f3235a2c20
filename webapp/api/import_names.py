"""Who and what an import names, and remembering them when a person asks for it; never by itself."""

from __future__ import annotations

from pydantic import Field

from store.sources import imports
from store.sources.imports import Import, ImportNotFound
from webapp.api.endpoint import endpoint, invalid
from webapp.api.entities import Limit, Offset
from webapp.api.values import Answer, Request
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

NO_IMPORT = {404: "import_not_found"}
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


@endpoint(
    "GET", "/imports/<id:import_id>/names", "People or places that an import names", query=NamesQuery,
    answer=NamesAnswer, problems=NO_IMPORT,
)  # fmt: skip
def names(import_id: int, query: NamesQuery) -> NamesAnswer:
    """Those in most rows first. Calendars and positions name nobody."""
    found = imports.names(services().database, import_or_404(import_id))
    shown = found[query.offset : query.offset + query.limit]
    return NamesAnswer(
        data=[
            NameAnswer(name=each.name, count=each.count, entity_id=each.entity_id, is_noted=each.is_noted)
            for each in shown
        ],
        total=len(found),
    )


@endpoint(
    "POST", "/imports/<id:import_id>/remember", "Remember whom an import names", body=RememberBody,
    body_required=False, answer=RememberedAnswer, problems={**NO_IMPORT, 422: "invalid_request"},
)  # fmt: skip
def remember(import_id: int, body: RememberBody) -> RememberedAnswer:
    """Names become entities, and nothing else of the file does. Again adds nothing."""
    own = services()
    source = import_or_404(import_id)
    chosen = None if body.names is None else set(body.names)
    try:
        done = imports.accept_names(own.database, source, chosen, own.clock())
    except LookupError as error:
        problem = FieldError("names", f"{str(error.args[0])[:100]!r} is no name of this import")
        raise invalid(422, "invalid_request", [problem]) from error
    return RememberedAnswer(added=done.added, noted=done.noted, known=done.known)


def import_or_404(import_id: int) -> Import:
    """An import, for the API and for its page. Raises `Problem`."""
    try:
        return imports.get(services().database, import_id)
    except ImportNotFound as error:
        raise Problem(404, "import_not_found", f"There is no import {import_id}.") from error
