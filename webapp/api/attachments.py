"""Files for a question: uploaded, looked at, and taken back before it is asked."""

from __future__ import annotations

from flask import Response
from pydantic import Field

from store.chats import attachments
from webapp.api.endpoint import check_parts, endpoint
from webapp.api.turns import AttachmentAnswer
from webapp.api.values import DeletedAnswer, Request
from webapp.core import uploads
from webapp.core.services import services
from webapp.core.uploads import uploaded_file

ATTACHMENT = "/attachments/<id:attachment_id>"


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
    {422: "attachment_refused"},
    upload=AttachmentUpload,
    status=201,
)
def upload() -> AttachmentAnswer:
    """Its `id` goes into `attachments` of the question; unasked it goes after a day.

    It is read by another program, within bounds of size, pages, memory and time. A refused file leaves
    nothing, and `detail` says why it was refused.
    """
    check_parts(AttachmentUpload.model_fields, file="file")
    return AttachmentAnswer.of(uploads.store_attachment(uploaded_file()))


@endpoint("GET", ATTACHMENT, "What is known of a file")
def attachment(attachment_id: int) -> AttachmentAnswer:
    """Without its text."""
    return AttachmentAnswer.of(attachments.get(services().database, attachment_id))


FILE_TYPES = ("application/octet-stream", "image/png", "image/jpeg", "image/webp")


@endpoint("GET", f"{ATTACHMENT}/file", "The file itself", {410: "attachment_gone"}, media_types=FILE_TYPES)
def file(attachment_id: int) -> Response:
    """Byte for byte as it was uploaded. Only images come under their own type: a page from outside must not
    run where ours do.
    """
    attached = attachments.get(services().database, attachment_id)
    content = attachments.exact(services().database.data_dir, attached.sha256)
    response = Response(content, content_type=attached.media_type if attached.is_image else FILE_TYPES[0])
    kind = "inline" if attached.is_image else "attachment"
    response.headers.set("Content-Disposition", kind, filename=attached.name)
    response.set_etag(attached.sha256)
    return response


@endpoint("DELETE", ATTACHMENT, "Take a file back", {409: "attachment_sent"})
def delete(attachment_id: int) -> DeletedAnswer:
    """Before its question is asked; after that it goes with its chat."""
    attachments.remove(services().database, attachment_id)
    return DeletedAnswer(id=attachment_id)
