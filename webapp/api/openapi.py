"""OpenAPI 3.1, generated from the endpoints and their models: it can only say what the code does."""

from __future__ import annotations

import functools
import re
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from webapp.api.endpoint import ENDPOINTS, PREFIX, Endpoint, all_of
from webapp.api.values import Answer
from webapp.core.errors import PROBLEM_TYPE
from webapp.core.parameters import ModelConverter
from webapp.security.access import Permission

_CONVERTER = re.compile(r"<(?P<kind>[a-z]+):(?P<name>[a-z_]+)>")
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "id": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
    "day": {"type": "string", "format": "date"},
    "uuid": {"type": "string", "format": "uuid"},
    "model": {"type": "string", "pattern": f"^{ModelConverter.regex}$"},
    "string": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
}
_REFERENCE = "#/components/schemas/{model}"
_EVERYWHERE = {
    400: "bad_request, unknown_parameter, duplicate_parameter, invalid_<parameter>, <parameter>_required",
    403: "wrong_host, cross_site, csrf_token_required, token_not_enough",
    429: "too_many_wrong_keys",
    503: "store_busy, deadline_exceeded, database_damaged",
}
_WITH_BODY = {
    400: "invalid_json, unknown_parameter, duplicate_parameter",
    413: "too_large",
    415: "unsupported_media_type",
    422: "unknown_field, invalid_<field>, <field>_required",
}
_OF_FIELDS = {
    "end_time": "invalid_time, invalid_time_range",
    "timezone": "invalid_timezone",
    "cursor": "invalid_cursor",
}
_PART_TYPES = {
    "image": "image/webp, image/png, image/jpeg",
    "metadata": "application/json",
    "entry": "application/json",
    "text": "application/json",
    "file": "application/octet-stream",
}


class FieldProblem(Answer):
    field: str
    message: str


class Problem(BaseModel):
    """RFC 9457 with our members; a problem may carry more (`understood`, `reason`, `chat_id`)."""

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable; what programs compare.")
    request_id: str = Field(description="Names this request in the log.")
    errors: list[FieldProblem] = []


@functools.cache
def openapi_document() -> dict[str, Any]:
    """The whole description; the same for every home folder."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ENDPOINTS:
        path = _CONVERTER.sub(r"{\g<name>}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": "1",
            "description": (
                "What was on the screen, found and proved. Times are epoch seconds (UTC); ranges are "
                "half-open. Errors are RFC 9457 problems with a stable `code`."
            ),
        },
        "servers": [{"url": PREFIX}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": _described()[1],
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "extension": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "recollect_8420"},
            },
        },
    }


def _operation(route: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": route.description,
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": _responses(route),
    }
    if route.body is not None:
        content = {"application/json": {"schema": _reference(route.body)}}
        operation["requestBody"] = {"required": route.body_required, "content": content}
    if route.upload is not None:
        kinds = {name: _PART_TYPES[name] for name in route.upload.model_fields if name in _PART_TYPES}
        encoding = {name: {"contentType": kind} for name, kind in kinds.items()}
        content = {"multipart/form-data": {"schema": _upload_schema(route.upload), "encoding": encoding}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.permission is Permission.PUBLIC:
        operation["security"] = [{}, {"token": []}, {"session": []}]
    if route.permission is Permission.EXTENSION:
        operation["security"] = [{"extension": []}]
    return operation


def _path_parameters(route: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": match["name"], "in": "path", "required": True, "schema": _PATH_SCHEMAS[match["kind"]]}
        for match in _CONVERTER.finditer(route.path)
    ]


def _query_parameters(route: Endpoint) -> list[dict[str, Any]]:
    schema = route.query.model_json_schema(ref_template=_REFERENCE)
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": value.get("description", ""),
            "schema": _without_null({k: v for k, v in value.items() if k not in ("title", "description")}),
        }
        for name, value in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query value is there or it is not; it cannot be null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    default = {"default": schema["default"]} if schema.get("default") is not None else {}
    return {**rest, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}), **default}


def _responses(route: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, answer in route.answers.items():
        if isinstance(answer, tuple):
            content: dict[str, Any] = {media_type: {} for media_type in answer}
        else:
            content = {"application/json": {"schema": _reference(answer)}}
        responses[str(status)] = {"description": route.summary, "content": content}
    if isinstance(route.answers.get(200), tuple) and route.query.model_fields:
        responses["304"] = {"description": "The picture has not changed."}
    for status, codes in _problems(route).items():
        content = {PROBLEM_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}}
        known = responses.setdefault(
            str(status), {"description": f"{HTTPStatus(status).phrase}: {codes}.", "content": {}}
        )
        known["content"] |= content
    return responses


def _problems(route: Endpoint) -> dict[int, str]:
    groups = [_EVERYWHERE]
    if route.permission is not Permission.PUBLIC:
        groups.append({401: "unauthorized"})
    if route.body is not None or route.upload is not None:
        groups.append(_WITH_BODY)
    received = [model for model in (route.query, route.body, route.upload) if model is not None]
    fields = {name for model in received for name in model.model_fields}
    groups += [{400: codes} for name, codes in _OF_FIELDS.items() if name in fields]
    return all_of(*groups, route.problems)


# -- schemas --------------------------------------------------------------------------------


@functools.cache
def _described() -> tuple[dict[Any, Any], dict[str, Any]]:
    """(references by (model, mode), definitions) of every model that is sent or received."""
    models: list[tuple[type[BaseModel], Any]] = []
    for route in ENDPOINTS:
        received = [route.body, *(_model_parts(route.upload) if route.upload else ())]
        models += [(model, "validation") for model in received if model is not None]
        models += [(model, "serialization") for model in route.answers.values() if isinstance(model, type)]
    models.append((Problem, "serialization"))
    references, document = models_json_schema(list(dict.fromkeys(models)), ref_template=_REFERENCE)
    return references, document["$defs"]


def _model_parts(upload: type[BaseModel]) -> list[type[BaseModel]]:
    kinds = (field.annotation for field in upload.model_fields.values())
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    references = _described()[0]
    return dict(references.get((model, "serialization")) or references[(model, "validation")])


def _upload_schema(upload: type[BaseModel]) -> dict[str, Any]:
    schema = upload.model_json_schema(ref_template=_REFERENCE)
    schema.pop("$defs", None)  # they stand with all the others
    return schema | {
        "properties": {name: _without_null(value) for name, value in schema["properties"].items()}
    }
