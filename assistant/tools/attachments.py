"""The tool over files that were attached to the chat: one file, piece by piece."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import Field

from assistant.core.records import ATTACHMENT_SOURCE
from assistant.read_api.calls import ReadSources
from assistant.tools.findings import Findings
from assistant.tools.tool import ToolFailed, tool
from store.chats import attachments
from store.core.errors import AttachmentNotFound

MAX_PIECE_CHARS = 6_000


class AttachmentContext(Protocol):
    """What this tool is handed."""

    @property
    def library(self) -> ReadSources: ...
    @property
    def findings(self) -> Findings: ...
    @property
    def chat_id(self) -> int: ...


AttachmentId = Annotated[int, Field(ge=1, le=2**53, description="The number behind the word file.")]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Characters to pass over.")]
Count = Annotated[int, Field(ge=1, le=MAX_PIECE_CHARS, description="Characters wanted.")]


@tool(mode="auto", reaches="files that you attached to the same chat")
def read_attachment(
    context: AttachmentContext, attachment_id: AttachmentId, offset: Offset = 0, count: Count = 4_000
) -> object:
    """Reads a piece of a file that the person attached; call it when only the name or the beginning of a file
    is told and the question is about more of it. `next_offset` says where to go on; at the end there is
    none. What it says is not of the screen and cannot be cited."""
    database = context.library.database
    try:
        found = attachments.get(database, attachment_id)
    except AttachmentNotFound as error:
        raise ToolFailed(_missing(attachment_id)) from error
    if found.chat_id != context.chat_id:
        raise ToolFailed(_missing(attachment_id))
    if found.is_image:
        raise ToolFailed(f"File {attachment_id} is an image: it goes with its question, and holds no text.")
    text = attachments.text_of(database, attachment_id, offset, count)
    if not text:
        raise ToolFailed(
            f"File {attachment_id} has {found.characters:,} characters; `offset` is beyond them."
        )
    context.findings.sources.add(ATTACHMENT_SOURCE)
    end = offset + len(text)
    return {
        "name": found.name,
        "characters": found.characters,
        "offset": offset,
        "text": text,
        **({"next_offset": end} if end < found.characters else {}),
        **({} if found.is_whole else {"note": "The file is longer than what could be read of it."}),
    }


def _missing(attachment_id: int) -> str:
    return f"There is no file {attachment_id} attached to this chat."
