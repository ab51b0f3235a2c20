"""Files for a question: uploaded, looked at, and taken back before it is asked."""

from __future__ import annotations

from flask import Response, request
from pydantic import Field

from store.chats import attachments
from webapp.api.endpoint import endpoint
from webapp.api.turns import AttachmentAnswer, attachment_answer
from webapp.api.values import Answer, Request
from webapp.core import uploads
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.core.uploads import uploaded_file


class AttachmentUpload(Request):
    """multipart/form-data with one file."""

    file: bytes = Field(
        description=f"Text, HTML, PDF, Word (docx) or a PNG, JPEG or WebP image, at most "
        f"{uploads.MAX_ATTACHMENT_BYTES // 1_000_000} MB."
    )


@endpoint(
    "POST",
    "/attachments",
    "Upload a file for a question",
    {
        413: "too_large",
        415: "unsupported_media_type",
        422: "file_required, unknown_field, attachment_refused",
    },
    upload=AttachmentUpload,
    status=201,
)
def upload() -> tuple[AttachmentAnswer, int]:
    """Its `id` goes into `attachments` of the question; unasked it goes after a day.

    It is read by another program, within bounds of size, pages, memory and time. A refused file leaves
    nothing, and `detail` says why it was refused.
    """
    if request.mimetype != "multipart/form-data":
        raise Problem(415, "unsupported_media_type", "The body must be multipart/form-data.")
    for name in (*request.form, *request.files):
        if name not in ("file", "csrf_token") or (name == "file") != (name in request.files):
            raise invalid(422, "unknown_field", (name, "is not a part of this form"))
    if len(request.files.getlist("file")) > 1:
        raise invalid(422, "invalid_file", ("file", "is given more than once"))
    return attachment_answer(uploads.store_attachment(uploaded_file())), 201


@endpoint("GET", "/attachments/<id:attachment_id>", "What is known of a file", {404: "attachment_not_found"})
def attachment(attachment_id: int) -> AttachmentAnswer:
    """Without its text."""
    return attachment_answer(attachments.get(services().database, attachment_id))


FILE_TYPES = ("application/octet-stream", "image/png", "image/jpeg", "image/webp")


@endpoint(
    "GET",
    "/attachments/<id:attachment_id>/file",
    "The file itself",
    {404: "attachment_not_found", 410: "attachment_gone"},
    media_types=FILE_TYPES,
)
def file(attachment_id: int) -> Response:
    """Byte for byte as it was uploaded. Only images come under their own type: a page from outside must not
    run where ours do.
    """
    database = services().database
    found = attachments.get(database, attachment_id)
    content = attachments.content(database, found)
    response = Response(content, content_type=found.media_type if found.is_image else FILE_TYPES[0])
    kind = "inline" if found.is_image else "attachment"
    response.headers.set("Content-Disposition", kind, filename=found.name)
    response.set_etag(found.sha256)
    return response


class RemovedAttachment(Answer):
    id: int
    deleted: bool = True


@endpoint(
    "DELETE",
    "/attachments/<id:attachment_id>",
    "Take a file back",
    {404: "attachment_not_found", 409: "attachment_sent"},
)
def delete(attachment_id: int) -> RemovedAttachment:
    """Before its question is asked; after that it goes with its chat."""
    attachments.remove(services().database, attachment_id)
    return RemovedAttachment(id=attachment_id)
