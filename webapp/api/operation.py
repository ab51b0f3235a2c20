"""Health, numbers, and the description of this API."""

from __future__ import annotations

import json
from typing import Literal

from flask import Response, g
from pydantic import RootModel

from store.chats import attachments
from store.core.times import to_seconds
from store.frames import tags
from store.timeline import totals as store_stats
from webapp.api.endpoint import endpoint
from webapp.api.openapi import openapi_document
from webapp.api.values import Answer
from webapp.core.services import services
from webapp.ops import health as app_health
from webapp.security.access import Permission


class PartAnswer(Answer):
    """One fact with its verdict; `why` and `action` are sentences, empty when nothing is wrong."""

    verdict: Literal["ok", "warn", "bad", "off"]
    value: str
    why: str
    action: str


class PartsAnswer(Answer):
    capture: PartAnswer
    ingest: PartAnswer
    index: PartAnswer
    meaning: PartAnswer
    storage: PartAnswer
    model: PartAnswer
    canary: PartAnswer


class StateAnswer(Answer):
    """All that is told without credentials."""

    status: Literal["healthy", "degraded", "unhealthy"]


class FullHealthAnswer(StateAnswer):
    checked_at: float
    parts: PartsAnswer


class HealthAnswer(RootModel[FullHealthAnswer | StateAnswer]):
    """The parts with credentials, the bare state without."""


@endpoint(
    "GET",
    "/health",
    "Is it recording, reading and finding",
    more_answers={503: HealthAnswer},
    permission=Permission.PUBLIC,
)
def health() -> tuple[HealthAnswer, int]:
    """200 while healthy or degraded, 503 when something does not work. Without a token: the state only."""
    found = app_health.check(services())
    status = 503 if found.status == "unhealthy" else 200
    if not g.signed_in:
        return HealthAnswer(StateAnswer(status=found.status)), status
    parts = {
        part.name: PartAnswer(verdict=part.verdict, value=part.value, why=part.why, action=part.action)
        for part in found.parts
    }
    full = FullHealthAnswer(
        status=found.status, checked_at=to_seconds(found.checked_ms), parts=PartsAnswer(**parts)
    )
    return HealthAnswer(full), status


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
    first_frame: float | None
    last_frame: float | None


@endpoint("GET", "/stats", "Numbers")
def stats() -> StatsAnswer:
    """How much there is."""
    own = services()
    entries, used = own.spool.usage()
    found = store_stats.store_stats(own.database)
    held = tags.pinned_usage(own.database)
    files, files_bytes = attachments.usage(own.database)
    return StatsAnswer(
        frames=found.frames,
        frames_read=found.frames_read,
        frames_to_read=found.frames_to_read,
        frames_failed=found.frames_failed,
        pictures_bytes=found.pictures_bytes,
        frames_pinned=held.pinned,
        frames_cited=held.cited,
        frames_kept=held.frames,
        kept_bytes=held.picture_bytes,
        database_bytes=own.data_dir.database.stat().st_size,
        spool_entries=entries,
        spool_bytes=used,
        chats=found.chats,
        attachments=files,
        attachments_bytes=files_bytes,
        first_frame=None if found.first_ms is None else to_seconds(found.first_ms),
        last_frame=None if found.last_ms is None else to_seconds(found.last_ms),
    )


@endpoint("GET", "/openapi.json", "This description", media_types=("application/json",))
def openapi() -> Response:
    """OpenAPI 3.1, made from the models that validate requests."""
    return Response(json.dumps(openapi_document()), content_type="application/json")
