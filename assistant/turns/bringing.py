"""Which files a question may bring, and to which model (R1.18, R1.19)."""

from __future__ import annotations

from assistant.core.errors import AttachmentRefused, UnknownAttachment
from assistant.core.models import AnyModel
from assistant.core.records import TurnRequest
from assistant.turns.attachments import MAX_FILES, MAX_IMAGE_BYTES, names
from assistant.turns.plan import Attached, TurnServices
from store.chats import attachments
from store.core.errors import AttachmentNotFound


def resolve_attachments(deps: TurnServices, request: TurnRequest) -> Attached:
    """The files of the question and of its chat. Raises `TurnRefused` for those that it cannot bring."""
    if len(set(request.attachments)) > MAX_FILES:
        raise AttachmentRefused(f"at most {MAX_FILES} files go with one question")
    try:
        own = attachments.usable(deps.database, request.attachments, request.chat_id)
    except AttachmentNotFound as error:
        raise UnknownAttachment(error.attachment_id) from error
    chat_id = None if request.amend else request.chat_id
    of_chat = [] if chat_id is None else attachments.of_chat(deps.database, chat_id)
    known = {each.sha256 for each in own}
    earlier = {each.sha256: each for each in of_chat if each.sha256 not in known}
    return Attached(tuple(own), tuple(earlier.values()))


def check_images(
    deps: TurnServices, request: TurnRequest, model: AnyModel, attached: Attached, *, uses_tools: bool
) -> None:
    """Images go to a model that can see, in a turn with tools. Raises `AttachmentRefused`, saying why not."""
    if not attached.images:
        return
    which = names(attached.images)
    endpoint = deps.models.endpoint(model.name)
    if endpoint is None or not endpoint.supports_vision:
        raise AttachmentRefused(f"{model.name} is not set up for images, so it cannot look at {which}")
    if request.mode == "evidence":
        raise AttachmentRefused(f"an answer from recorded frames alone cannot look at {which}")
    if not uses_tools:
        raise AttachmentRefused(f"{model.name} is not set up for tools, so it cannot look at {which}")
    if sum(each.size_bytes for each in attached.images) > MAX_IMAGE_BYTES:
        raise AttachmentRefused(f"the images of one question may have {MAX_IMAGE_BYTES // 1_000_000} MB")
