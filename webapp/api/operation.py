"""Health, numbers, and the description of this API."""

from __future__ import annotations

import json
from typing import ClassVar, Literal

from flask import Response, g
from pydantic import Field, RootModel

from store.chats import attachments
from store.frames import tags
from store.timeline import totals
from webapp.api.endpoint import endpoint
from webapp.api.openapi import openapi_document
from webapp.api.values import Answer, Timestamp
from webapp.core.services import services
from webapp.ops import health as app_health
from webapp.security.access import Permission

PartName = Literal["capture", "ingest", "index", "meaning", "storage", "model", "canary"]


class HealthPartAnswer(Answer):
    """One fact with its verdict; `why` and `action` are sentences, empty when nothing is wrong."""

    verdict: Literal["ok", "warn", "bad", "off"]
    value: str
    why: str
    action: str


class StateAnswer(Answer):
    """All that is told without credentials."""

    status: Literal["healthy", "degraded", "unhealthy"]


class FullHealthAnswer(StateAnswer):
    checked_at: Timestamp
    parts: dict[PartName, HealthPartAnswer]


class HealthAnswer(RootModel[FullHealthAnswer | StateAnswer]):
    """The parts with credentials, the bare state without."""


class UnhealthyAnswer(HealthAnswer):
    http_status: ClassVar[int] = 503


@endpoint("GET", "/health", "Is it recording, reading and finding", permission=Permission.PUBLIC)
def health() -> HealthAnswer | UnhealthyAnswer:
    """200 while healthy or degraded, 503 when something does not work. Without a token: the state only."""
    health = app_health.check(services())
    answer = UnhealthyAnswer if health.status == "unhealthy" else HealthAnswer
    if not g.signed_in:
        return answer(StateAnswer.of(health))
    return answer(FullHealthAnswer.of(health, parts={part.name: part for part in health.parts}))


class StatsAnswer(Answer):
    """Sizes are bytes, times epoch seconds. Kept frames are pinned or cited."""

    frames: int
    frames_read: int
    frames_to_read: int
    frames_failed: int
    pictures_bytes: int
    frames_pinned: int
    frames_cited: int
    frames_kept: int
    kept_bytes: int
    database_bytes: int
    spool_entries: int
    spool_bytes: int
    chats: int
    attachments: int
    attachments_bytes: int
    first_frame: Timestamp | None = Field(validation_alias="first_ms")
    last_frame: Timestamp | None = Field(validation_alias="last_ms")


@endpoint("GET", "/stats", "Numbers")
def stats() -> StatsAnswer:
    """How much there is."""
    own = services()
    entries, used = own.spool.usage()
    kept = tags.pinned_usage(own.database)
    files, files_bytes = attachments.usage(own.database)
    return StatsAnswer.of(
        totals.store_stats(own.database),
        frames_pinned=kept.pinned,
        frames_cited=kept.cited,
        frames_kept=kept.frames,
        kept_bytes=kept.picture_bytes,
        database_bytes=own.data_dir.database.stat().st_size,
        spool_entries=entries,
        spool_bytes=used,
        attachments=files,
        attachments_bytes=files_bytes,
    )


@endpoint("GET", "/openapi.json", "This description", media_types=("application/json",))
def openapi() -> Response:
    """OpenAPI 3.1, made from the models that validate requests."""
    return Response(json.dumps(openapi_document()), content_type="application/json")
