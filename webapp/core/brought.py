"""The files that the form of a question brings: those uploaded before, and those that come along with it.

Without scripts the form itself carries files. They are taken in once a request, so that a question that is
refused for something else still has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import g, request

from assistant.turns.attachments import MAX_FILES
from store.chats import attachments
from store.chats.attachments import Attachment
from store.core.errors import AttachmentNotFound
from webapp.core import attaching
from webapp.core.errors import Problem
from webapp.core.services import services


@dataclass(frozen=True, slots=True)
class FormAttachments:
    """`refusal` says why a file that came along was not taken, "" when all were."""

    files: tuple[Attachment, ...]
    refusal: str

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.id for each in self.files)


def form_attachments() -> FormAttachments:
    """The files of this request's form; one that is gone meanwhile is refused."""
    if "brought" not in g:
        g.brought = _taken()
    found: FormAttachments = g.brought
    return found


def _taken() -> FormAttachments:
    given = [each for each in request.form.getlist("attachments") if each.isdecimal() and len(each) < 19]
    files, refusals = [], []
    for number in dict.fromkeys(map(int, given)):
        try:
            files.append(attachments.get(services().database, number))
        except AttachmentNotFound:
            refusals.append("A file is not there any more; attach it again.")
    for upload in request.files.getlist("files"):
        if not upload.filename:  # a field that was left empty
            continue
        if len(files) >= MAX_FILES:
            refusals.append(f"At most {MAX_FILES} files go with one question.")
            break
        try:
            files.append(attaching.store_attachment(upload))
        except Problem as problem:
            refusals.append(problem.detail)
    return FormAttachments(tuple(files), " ".join(dict.fromkeys(refusals)))
