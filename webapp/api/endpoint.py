"""One declaration per route: it validates the request, shapes the answer and documents both.

    @endpoint("GET", "/search", "Find frames")
    def search(query: SearchQuery) -> SearchAnswer: ...

Query, body and answer are what the signature says. `ENDPOINTS` is what the OpenAPI document is made from,
so the document cannot say anything that the code does not do.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast, get_args, get_type_hints

from flask import Blueprint, Response, request
from pydantic import BaseModel, ValidationError
from werkzeug.datastructures import MultiDict

from webapp.api.values import TIME_CODES, RangeQuery, Request
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.security.access import Permission, allow

PREFIX = "/api/v1"
TURN = "/chats/<id:chat_id>/turns/<id:turn_id>"
_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)

_NAMED = re.compile(r"<(?:id|uuid):([a-z]+)_id>")

blueprint = Blueprint("api", __name__, url_prefix=PREFIX)

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Model = TypeVar("_Model", bound=BaseModel)
_Row = TypeVar("_Row")
_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one method of one address takes and gives."""

    name: str
    method: str
    path: str  # with Flask's converters: /frames/<id:frame_id>
    summary: str
    description: str
    query: type[BaseModel]
    body: type[BaseModel] | None
    body_required: bool
    upload: type[BaseModel] | None  # multipart/form-data, read by the view itself
    status: int
    answers: Mapping[int, type[BaseModel] | tuple[str, ...]]  # a model, or media types of bytes
    problems: Mapping[int, str]  # status -> the codes it comes with
    permission: Permission


ENDPOINTS: list[Endpoint] = []


def endpoint(
    method: str,
    path: str,
    summary: str,
    problems: Mapping[int, str] | None = None,
    *,
    status: int = 200,
    media_types: tuple[str, ...] = (),
    upload: type[BaseModel] | None = None,
    body_required: bool = True,
    permission: Permission = Permission.SIGNED_IN,
) -> Callable[[_Function], _Function]:
    """Register a view of the API. That what an address names last is not there needs no word in `problems`.

    The view gets path values by name, `query` and `body` as validated models, and returns a model, which
    may have an `http_status` of its own, or a finished response of one of the `media_types`.
    """

    def register(function: _Function) -> _Function:
        hints = get_type_hints(function)
        named = _NAMED.findall(path)
        missing = {404: f"{named[-1]}_not_found"} if named else {}  # persona_not_found for /personas/<id:…>
        declared = Endpoint(
            name=f"{function.__module__.rsplit('.', 1)[-1]}_{function.__name__}",
            method=method,
            path=path,
            summary=summary,
            description=(function.__doc__ or "").strip(),
            query=hints.get("query", Request),
            body=hints.get("body"),
            body_required=body_required,
            upload=upload,
            status=status,
            answers={status: media_types} if media_types else _answers(hints["return"], status),
            problems=missing | dict(problems or {}),
            permission=permission,
        )
        ENDPOINTS.append(declared)
        blueprint.add_url_rule(
            path, declared.name, allow(_view(function, declared), permission), methods=[method]
        )
        return function

    return register


def all_of(*groups: Mapping[int, str]) -> dict[int, str]:
    """Problems of several groups: the codes that come with each status."""
    merged: dict[int, list[str]] = {}
    for group in groups:
        for status, codes in group.items():
            merged.setdefault(status, []).extend(codes.split(", "))
    return {status: ", ".join(dict.fromkeys(codes)) for status, codes in sorted(merged.items())}


def _answers(annotation: Any, status: int) -> dict[int, type[BaseModel]]:
    """The models of an annotation such as ``TurnAnswer | RunningAnswer``, by the status they come with."""
    models = get_args(annotation) or (annotation,)
    return {getattr(model, "http_status", None) or status: model for model in models}


def _view(function: Callable[..., Any], declared: Endpoint) -> Callable[..., Response]:
    @functools.wraps(function)
    def view(**values: Any) -> Response:
        query = read_query(declared.query, request.args)
        if declared.query is not Request:
            values["query"] = query
        if declared.body is not None:
            values["body"] = read_body(declared.body, required=declared.body_required)
        result = function(**values)
        if isinstance(result, Response):
            return result
        status = getattr(result, "http_status", None) or declared.status
        return Response(result.model_dump_json(), status, content_type="application/json")

    return view


# -- reading requests -----------------------------------------------------------------------


def read_query(model: type[_Model], arguments: MultiDict[str, str]) -> _Model:
    """The query string as a model. Unknown and repeated names are refused (400).

    A blank value is no value where one is required.
    """
    repeated = [name for name, values in arguments.lists() if len(values) > 1]
    if repeated:
        raise invalid(400, "duplicate_parameter", (repeated[0], "is given more than once"))
    given = arguments.to_dict()
    blank = [
        name for name, field in model.model_fields.items() if field.is_required() and not given.get(name)
    ]
    try:
        return model.model_validate({name: value for name, value in given.items() if name not in blank})
    except ValidationError as error:
        raise of_validation(error, body=False) from error


def read_body(model: type[_Model], *, required: bool = True) -> _Model:
    """The JSON body as a model: 415 for another type, 400 for no JSON, 422 for bad fields."""
    if not required and request.mimetype == "" and not request.get_data():
        return model()
    if request.mimetype != "application/json":
        raise Problem(415, "unsupported_media_type", "The body must be application/json.")
    return parse_json(model, request.get_data())


def range_ms(query: RangeQuery) -> tuple[int, int]:
    """``[start, end)`` in milliseconds, the end being now when it was not given."""
    start = query.start_time
    end = services().clock() if query.end_time is None else query.end_time
    if end <= start:
        raise invalid(400, "invalid_time_range", ("start_time", "lies in the future"))
    return start, end


def read_place(cursor: str | None) -> tuple[int, int] | None:
    """The (milliseconds, id) at which a list goes on, as its ``next_cursor`` named it."""
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise invalid(400, "invalid_cursor", ("cursor", "is not a cursor of this list"))
    return int(match[1]), int(match[2])


def cut_page(
    rows: Sequence[_Row], limit: int, place: Callable[[_Row], _Place]
) -> tuple[Sequence[_Row], _Place | None]:
    """The first `limit` of rows that were asked for with one more, and the `place` where the rest begins."""
    shown = rows[:limit]
    return shown, place(shown[-1]) if len(rows) > limit else None


def check_parts(names: Iterable[str], file: str = "") -> None:
    """Refuse what is no multipart form (415) of parts with these names, `file` being one file (422)."""
    if request.mimetype != "multipart/form-data":
        raise Problem(415, "unsupported_media_type", "The body must be multipart/form-data.")
    for name in (*request.form, *request.files):
        is_known = name in names or name == "csrf_token"
        if not is_known or (file and (name == file) != (name in request.files)):
            raise invalid(422, "unknown_field", (name or "", "is not a part of this form"))
    if file and len(request.files.getlist(file)) > 1:
        raise invalid(422, f"invalid_{file}", (file, "is given more than once"))


def read_part(name: str, most_bytes: int) -> bytes | None:
    """A part of a multipart form, as a file or as a field; None where it is missing, 413 beyond the bound."""
    file, content = request.files.get(name), None
    if file is not None:
        content = file.read(most_bytes + 1)
    elif name in request.form:
        content = request.form[name].encode()
    if content is not None and len(content) > most_bytes:
        raise Problem(413, "too_large", f"The part {name} is larger than {most_bytes // 1024} kB.")
    return content


@contextmanager
def refusing(kind: type[Exception], code: str, field: str, status: int = 422) -> Iterator[None]:
    """Within the block an error of this kind says what is wrong with one field."""
    try:
        yield
    except kind as error:
        raise invalid(status, code, (field, str(error))) from error


def parse_json(model: type[_Model], content: bytes) -> _Model:
    """A model from JSON text. NaN, infinity and repeated names are not JSON here."""
    try:
        json.loads(content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        is_plain = isinstance(error, json.JSONDecodeError | UnicodeDecodeError | _Refused)
        reason = str(error) if is_plain else "it is nested too deeply or a number is too long"
        raise Problem(400, "invalid_json", f"The body is not JSON: {reason}") from error
    try:
        return model.model_validate_json(content, strict=True)
    except ValidationError as error:
        raise of_validation(error, body=True) from error


class _Refused(ValueError):
    """Python would read this as JSON, RFC 8259 would not."""


def _no_constant(name: str) -> float:
    raise _Refused(f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise _Refused("a name is given more than once in one object")
    return document


# -- refusing -------------------------------------------------------------------------------


def of_validation(error: ValidationError, *, body: bool) -> Problem:
    """400 for a query string, 422 for a body, as a rule; each thing that is wrong is a field error."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    errors = [(_field_of(detail), _sentence(detail)) for detail in details]
    code = _code(details[0], errors[0][0], body=body)
    status = 422 if body and code not in (*TIME_CODES, "invalid_json") else 400
    return invalid(status, code, *errors)


_FIELD_OF = {
    "invalid_anchor": "frame_id",
    "invalid_time_range": "end_time",
    "invalid_cursor": "cursor",
    "invalid_crop": "crop",
}


def _field_of(detail: Any) -> str:
    if detail["loc"]:
        return ".".join(str(part) for part in detail["loc"])
    # A check of several fields: its code names the one to change.
    return _FIELD_OF.get(detail["type"], "body")


def _code(detail: Any, name: str, *, body: bool) -> str:
    kind = cast(str, detail["type"])
    top = name.split(".", 1)[0]
    if kind in TIME_CODES or kind in _FIELD_OF:
        return kind
    if kind == "missing":
        return f"{top}_required"
    if kind == "extra_forbidden":
        return "unknown_field" if body else "unknown_parameter"
    if kind == "json_invalid":
        return "invalid_json"
    return f"invalid_{top}"


def _sentence(detail: Any) -> str:
    if detail["type"] == "missing":
        return "is required"
    if detail["type"] == "extra_forbidden":
        return "is not known here"
    message: str = detail["msg"]
    return message[:1].lower() + message[1:]
