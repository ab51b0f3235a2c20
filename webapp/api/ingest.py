"""Pictures from other programs and other machines: into the same spool that capture writes."""

from __future__ import annotations

import io
import os
from typing import Annotated, Literal
from uuid import UUID

from PIL import Image
from pydantic import Field, StringConstraints, field_validator
from pydantic_core import PydanticCustomError

from store.core.errors import existing
from store.frames import frames
from store.frames.frames import IngestOutcome
from store.frames.media import decode
from store.privacy.rules import WindowFacts
from store.spool.queue import MAX_IMAGE_BYTES, Capture, Spool, is_storable
from store.timeline import ledger
from webapp.api.endpoint import check_parts, endpoint, parse_json, read_part
from webapp.api.privacy import rules_in_force
from webapp.api.values import Answer, Request, Seconds, Text
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.core.uploads import MAX_JSON_BYTES
from webapp.security.access import Permission

MAX_PIXELS = 40_000_000
"""An 8K screen has 33 million."""
_FORMATS = {"WEBP": "image/webp", "PNG": "image/png", "JPEG": "image/jpeg"}


class Metadata(Request):
    """What is known about the picture. Unknown is left out, never guessed."""

    capture_id: UUID = Field(
        description="A UUID; the same id twice is one capture.", json_schema_extra={"maxLength": 45}
    )
    captured_at: Seconds
    monitor: Text | None = None
    app_name: Text | None = None
    window_name: Text | None = None
    focused: bool | None = None
    browser_url: Annotated[str, StringConstraints(max_length=8_000)] | None = None
    trigger: Text | None = None

    @field_validator("captured_at")
    @classmethod
    def _captured_at(cls, captured_ms: int) -> int:
        if not 1 <= captured_ms < frames.MAX_CAPTURED_MS:
            raise PydanticCustomError("invalid_time", "must lie after 1970 and before the year 2248")
        return captured_ms

    @field_validator("monitor", "app_name", "window_name", "browser_url", "trigger")
    @classmethod
    def _storable(cls, text: str | None) -> str | None:
        if text is not None and not is_storable(text):
            raise PydanticCustomError("invalid_text", "must be text without NUL and lone surrogates")
        return text


class Upload(Request):
    """multipart/form-data with both parts."""

    image: bytes = Field(description="A WebP, PNG or JPEG of at most 25 MB.")
    metadata: Metadata


class IngestAnswer(Answer):
    capture_id: str
    status: Literal["queued", "duplicate", "excluded"]
    frame_id: int | None = None


@endpoint(
    "POST",
    "/ingest",
    "Hand in a picture",
    {415: "not_an_image", 503: "spool_full, rules_unreadable"},
    upload=Upload,
    status=202,
    permission=Permission.INGEST,
)
def ingest() -> IngestAnswer:
    """Durably queued when this answers 202. Idempotent by `capture_id`.

    The privacy rules hold here too: a picture of a window that a rule leaves out is not kept and
    is answered with `excluded`.
    """
    check_parts(Upload.model_fields)
    metadata = _metadata()
    capture_id = str(metadata.capture_id)
    known = frames.outcome(services().database, capture_id)
    if known or _state_in_spool(services().spool, capture_id):
        frame_id = known.frame_id if known else None
        return IngestAnswer(capture_id=capture_id, status="duplicate", frame_id=frame_id)
    image, media_type = _picture()
    capture = Capture(
        captured_ms=metadata.captured_at,
        source="upload",
        image_type=media_type,
        capture_id=capture_id,
        **metadata.model_dump(exclude={"capture_id", "captured_at", "monitor"}),
        monitor=metadata.monitor or "",
    )
    if _is_excluded(capture):
        return IngestAnswer(capture_id=capture.capture_id, status="excluded")
    services().spool.put(capture, image)
    return IngestAnswer(capture_id=capture.capture_id, status="queued")


def _metadata() -> Metadata:
    content = read_part("metadata", MAX_JSON_BYTES)
    if not content:
        raise invalid(422, "metadata_required", ("metadata", "is missing"))
    try:
        return parse_json(Metadata, content)
    except Problem as problem:
        problem.status = 422
        raise


def _picture() -> tuple[bytes, str]:
    """The `image` part and what it is, decoded once so that nothing unreadable is queued."""
    content = read_part("image", MAX_IMAGE_BYTES)
    if content is None:
        raise invalid(422, "image_required", ("image", "is missing"))
    try:
        with Image.open(io.BytesIO(content), formats=list(_FORMATS)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise _no_picture(f"it has more than {MAX_PIXELS:,} pixels")
            media_type = _FORMATS[image.format or ""]  # whatever the part claims to be
        decode(content, media_type)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise _no_picture("it cannot be decoded") from error
    return content, media_type


def _no_picture(why: str) -> Problem:
    return Problem(415, "not_an_image", f"The image must be a WebP, PNG or JPEG picture; {why}.")


def _is_excluded(capture: Capture) -> bool:
    """Whether a rule leaves this window out; then it is noted, without names, and not kept.

    A window that nobody names is kept here: the machine that captured it has rules of its own.
    """
    decision = rules_in_force().decide(
        WindowFacts(capture.app_name, capture.window_name, capture.browser_url)
    )
    if decision.action == "keep" or decision.reason in ("unknown_window", "unknown_address"):
        return False
    with services().database.write() as connection:
        ledger.record_skipped(connection, capture, "excluded", decision.reason)
    return True


# -- what became of it ----------------------------------------------------------------------

Status = Literal["queued", "stored", "searchable", "deduplicated", "excluded", "failed"]


class OutcomeAnswer(Answer):
    capture_id: str
    status: Status
    frame_id: int | None = Field(
        default=None, description="The frame; for `deduplicated` the frame it equals."
    )
    reason: str | None = Field(default=None, description="Why it failed or was left out.")


@endpoint(
    "GET",
    "/ingest/<uuid:capture_id>",
    "What became of a picture",
    {410: "capture_deleted"},
    permission=Permission.INGEST,
)
def outcome(capture_id: UUID) -> OutcomeAnswer:
    """`queued` until ingest took it, `stored` until it was read, then `searchable`."""
    name = str(capture_id)
    state = _state_in_spool(services().spool, name)  # first: what waited may be stored meanwhile
    known = frames.outcome(services().database, name)
    if known is not None:
        return _settled(known)
    if existing(state, "capture", name) == "failed":
        reason = next((why for entry, why in services().spool.failed() if entry.endswith(name)), None)
        return OutcomeAnswer(capture_id=name, status="failed", reason=reason)
    return OutcomeAnswer(capture_id=name, status="queued")


def _settled(known: IngestOutcome) -> OutcomeAnswer:
    if known.outcome == "deleted":
        raise Problem(410, "capture_deleted", f"Capture {known.capture_id} was deleted.")
    if known.outcome == "stored" and known.frame_id is not None:
        frame = frames.get(services().database, known.frame_id)
        return OutcomeAnswer.of(known, status=frame.status, reason=frame.reading_error)
    return OutcomeAnswer.of(known, status=known.outcome)


def _state_in_spool(spool: Spool, capture_id: str) -> Literal["waiting", "failed"] | None:
    for folder in ("new", "taken", "failed", "new"):  # again: a worker may have given it back meanwhile
        with os.scandir(spool.folder / folder) as entries:
            if any(entry.name.endswith(capture_id) for entry in entries):
                return "failed" if folder == "failed" else "waiting"
    return None
