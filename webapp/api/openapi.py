"""OpenAPI 3.1, generated from the endpoints and their models: it can only say what the code does."""

from __future__ import annotations

import functools
import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from webapp.api.endpoint import ENDPOINTS, PREFIX, Endpoint
from webapp.core.errors import PROBLEM_TYPE, Problem
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
    400: "bad_request, unknown_parameter, duplicate_parameter",
    403: "wrong_host, cross_site, csrf_token_required",
    503: "store_busy, deadline_exceeded, database_damaged",
}
_SIGNED_IN = {401: "unauthorized"}
_WITH_BODY = {
    400: "invalid_json, unknown_parameter, duplicate_parameter",
    413: "too_large",
    415: "unsupported_media_type",
    422: "unknown_field, invalid_<field>, <field>_required",
}


@functools.cache
def openapi_document() -> dict[str, Any]:
    """The whole description; the same for every home folder."""
    paths: dict[str, dict[str, Any]] = {}
    for each in ENDPOINTS:
        paths.setdefault(_path(each), {})[each.method.lower()] = _operation(each)
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
            "schemas": {**_schemas(), "Problem": _problem_schema()},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "extension": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "recollect_8420"},
            },
        },
    }


_PART_TYPES = {
    "image": "image/webp, image/png, image/jpeg",
    "metadata": "application/json",
    "file": "application/octet-stream",
}


def _path(each: Endpoint) -> str:
    return _CONVERTER.sub(r"{\g<name>}", each.path)


def _operation(each: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "description": each.description,
        "parameters": [*_path_parameters(each), *_query_parameters(each)],
        "responses": _responses(each),
    }
    if each.body is not None:
        content = {"application/json": {"schema": _reference(each.body)}}
        operation["requestBody"] = {"required": each.body_required, "content": content}
    if each.upload is not None:
        content = {
            "multipart/form-data": {
                "schema": _upload_schema(each.upload),
                "encoding": {
                    name: {"contentType": kinds}
                    for name, kinds in _PART_TYPES.items()
                    if name in each.upload.model_fields
                },
            }
        }
        operation["requestBody"] = {"required": True, "content": content}
    if each.permission is Permission.PUBLIC:
        operation["security"] = [{}, {"token": []}, {"session": []}]
    if each.permission is Permission.EXTENSION:
        operation["security"] = [{"extension": []}]
    return operation


def _path_parameters(each: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": match["name"], "in": "path", "required": True, "schema": _PATH_SCHEMAS[match["kind"]]}
        for match in _CONVERTER.finditer(each.path)
    ]


def _query_parameters(each: Endpoint) -> list[dict[str, Any]]:
    if each.query is None:
        return []
    schema = each.query.model_json_schema(ref_template=_REFERENCE)
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": value.get("description", ""),
            "schema": _without_null({k: v for k, v in value.items() if k not in ("title", "description")}),
        }
        for name, value in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query value is there or it is not; it cannot be null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    default = {"default": schema["default"]} if schema.get("default") is not None else {}
    return {**rest, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}), **default}


def _responses(each: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, answer in each.answers.items():
        if isinstance(answer, tuple):
            content: dict[str, Any] = {media_type: {} for media_type in answer}
        else:
            content = {"application/json": {"schema": _reference(answer)}}
        responses[str(status)] = {"description": each.summary, "content": content}
    if isinstance(each.answers.get(200), tuple) and each.query is not None:
        responses["304"] = {"description": "The picture has not changed."}
    for status, codes in _problems(each).items():
        content = {PROBLEM_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}}
        known = responses.setdefault(
            str(status), {"description": f"{_title(status)}: {codes}.", "content": {}}
        )
        known["content"] |= content
    return responses


def _problems(each: Endpoint) -> dict[int, str]:
    groups = [_EVERYWHERE]
    if each.permission is not Permission.PUBLIC:
        groups.append(_SIGNED_IN)
    if each.body is not None or each.upload is not None:
        groups.append(_WITH_BODY)
    groups.append(dict(each.problems))
    merged: dict[int, list[str]] = {}
    for group in groups:
        for status, codes in group.items():
            merged.setdefault(status, []).extend(codes.split(", "))
    return {status: ", ".join(dict.fromkeys(codes)) for status, codes in sorted(merged.items())}


def _title(status: int) -> str:
    return Problem(status, "", "").title


# -- schemas --------------------------------------------------------------------------------


@functools.cache
def _described() -> tuple[dict[Any, Any], dict[str, Any]]:
    """(references by (model, mode), definitions) of every model that is sent or received."""
    found: list[tuple[type[BaseModel], Any]] = []
    for each in ENDPOINTS:
        found += [(model, "validation") for model in (each.body, *_parts(each)) if model is not None]
        found += [(model, "serialization") for model in each.answers.values() if isinstance(model, type)]
    references, document = models_json_schema(list(dict.fromkeys(found)), ref_template=_REFERENCE)
    return references, document["$defs"]


def _parts(each: Endpoint) -> list[type[BaseModel]]:
    """The parts of an upload that are models."""
    return _parts_of(each.upload) if each.upload else []


def _parts_of(upload: type[BaseModel]) -> list[type[BaseModel]]:
    kinds = (field.annotation for field in upload.model_fields.values())
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _schemas() -> dict[str, Any]:
    return _described()[1]


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    references = _described()[0]
    found = references.get((model, "serialization")) or references[(model, "validation")]
    return dict(found)


def _upload_schema(upload: type[BaseModel]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, field in upload.model_fields.items():
        if field.annotation is bytes:
            properties[name] = {"type": "string", "format": "binary", "description": field.description}
        elif part := next((kind for kind in _parts_of(upload) if kind is field.annotation), None):
            properties[name] = _reference(part)
        else:
            properties[name] = _without_null(upload.model_json_schema()["properties"][name])
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, field in upload.model_fields.items() if field.is_required()],
        "additionalProperties": False,
    }


def _problem_schema() -> dict[str, Any]:
    """RFC 9457 with our members; a problem may carry more (`understood`, `reason`, `chat_id`)."""
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "type": text,
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "code": {**text, "description": "Stable; what programs compare."},
            "request_id": {**text, "description": "Names this request in the log."},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"field": text, "message": text},
                    "required": ["field", "message"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
    }
