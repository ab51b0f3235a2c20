"""What is uploaded: pictures stay in memory, files to import lie in the home folder while they are read.

Neither touches the system's temp folder. A file to import may be large, and another program reads it
(`webapp.core.uploads`); it goes when its request ends, and what a crash leaves is swept with the spool.
"""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any

from flask import g, request
from htmx_flask.requests import HtmxAwareRequest
from werkzeug.datastructures import FileStorage

from assistant.turns.attachments import MAX_FILES
from store.chats import attachments
from store.chats.attachments import MAX_NAME_CHARS, Attachment, Contents
from store.core.errors import AttachmentNotFound
from store.sources.imports import Kind
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

MAX_IMPORT_BYTES = 512_000_000
IMPORT_PATHS = ("/api/v1/imports/", "/sources/")


class Request(HtmxAwareRequest):  # type: ignore[misc]  # htmx_flask is untyped
    """A request of our app; how much it may carry depends on where it goes."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self._on_disk: list[Path] = []
        self.is_import = self.method == "POST" and self.path.startswith(IMPORT_PATHS)
        if self.is_import:
            self.max_content_length = MAX_IMPORT_BYTES

    def _get_file_stream(self, *sizes: Any, **details: Any) -> IO[bytes]:
        if not self.is_import:
            return io.BytesIO()
        folder = services().data_dir.spool / "tmp"
        file = tempfile.NamedTemporaryFile(dir=folder, prefix="import-", delete=False)  # noqa: SIM115
        self._on_disk.append(Path(file.name))
        return file

    def close(self) -> None:
        super().close()
        for path in self._on_disk:
            path.unlink(missing_ok=True)


# ---- importing
# Import an uploaded file: a process of ingest reads it, so that a hostile one harms nobody here.
#
# The web process never parses such a file, and imports nothing of ingest; the receipt comes back as JSON.

log = logging.getLogger(__name__)

IMPORT_TIMEOUT_S = 3_600
_MAX_NAME = 200
_REFUSED = 1
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the file does not say, "" for what is found out."""

    timezone: str
    format: str = ""
    me: str = ""
    dates: str = ""


def uploaded_file() -> FileStorage:
    """The part `file` of the form. Raises `Problem`."""
    found = request.files.get("file")
    if found is None or (not found.filename and not found.stream.read(1)):
        errors = (FieldError("file", "is missing"),)
        raise Problem(422, "file_required", "file: is missing", errors=errors)
    return found


def run(kind: Kind, file: FileStorage, choices: Choices) -> dict[str, Any]:
    """The receipt of the import. Raises `Problem` with the reason when the file is refused."""
    file.stream.flush()
    command = [
        sys.executable, "-m", "ingest", "--home", str(services().data_dir.home),
        "import", kind, str(Path(str(file.stream.name))), "--json", f"--name={_name(file)}",
        f"--tz={choices.timezone}",
    ]  # fmt: skip
    given = {"format": choices.format, "dates": choices.dates}
    command += [f"--{option}={_plain(value)}" for option, value in given.items() if value]
    command += [f"--me={_plain(name)}" for name in choices.me.split(",") if name.strip()]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=IMPORT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Problem(
            503,
            "import_too_long",
            "It took more than an hour and was stopped; import it again to go on.",
        ) from error
    if done.returncode == 0:
        receipt: dict[str, Any] = json.loads(done.stdout)
        return receipt
    last = done.stderr.strip().rpartition("\n")[2]
    if done.returncode == _REFUSED and last.startswith("ingest: "):
        raise Problem(422, "import_refused", _sentence(last.removeprefix("ingest: ")))
    log.error("an import ended with code %d: %s", done.returncode, done.stderr)
    raise Problem(
        500, "import_failed", "The import broke off, and the log says why; importing again goes on."
    )


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _name(file: FileStorage) -> str:
    return _plain(PurePath(file.filename or "upload").name)[:_MAX_NAME] or "upload"


def _plain(text: str) -> str:
    return _CONTROL.sub("", text).strip()


# ---- attaching
# Take in a file that is attached to a question: staged, read by a program of its own, then kept.
#
# The web process parses none of it (`ingest.documents`): what cannot be read in `TIMEOUT_S` is ended, and
# nothing of a refused file stays.

MAX_BYTES = 25_000_000
ATTACHMENT_TIMEOUT_S = 25.0
_ATTACHING_REFUSED, _UNSUPPORTED = 1, 3
_PREFIX = "documents: "
_ATTACHING_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_reading = threading.BoundedSemaphore(2)
"""Files that are read at the same time; each may take a gigabyte."""


def store_attachment(file: FileStorage) -> Attachment:
    """The file, kept until its question is asked. Raises `Problem` with the reason when it is refused."""
    own, name = services(), name_of(file)
    content = file.stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Problem(413, "too_large", f"{name} is larger than {MAX_BYTES // 1_000_000} MB.")
    staged = attachments.stage(own.data_dir, content)
    try:
        return attachments.add(own.database, staged, name, contents(staged.path, name), own.clock())
    finally:
        staged.discard()


def contents(path: Path, name: str, timeout_s: float = ATTACHMENT_TIMEOUT_S) -> Contents:
    """What another program finds in a file. Raises `Problem`: 415 for a kind it does not read, else 422."""
    command = [sys.executable, "-m", "ingest.documents", str(path), name]
    try:
        with _reading:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise _refused(name, f"reading it takes longer than {timeout_s:g} seconds") from error
    if done.returncode == 0:
        return Contents(**json.loads(done.stdout))
    last = done.stderr.strip().rpartition("\n")[2]
    if done.returncode in (_ATTACHING_REFUSED, _UNSUPPORTED) and last.startswith(_PREFIX):
        reason = last.removeprefix(_PREFIX)
        if done.returncode == _UNSUPPORTED:
            raise Problem(415, "unsupported_media_type", f"{name} cannot be attached: {reason}.")
        raise _refused(name, reason)
    # Ended by the system: too much of its time or memory, or a library that fell over it.
    log.warning("reading an attached file ended with code %d", done.returncode)
    raise _refused(name, "it cannot be read")


def name_of(file: FileStorage) -> str:
    """What the file is called, without a path and without characters that do not show."""
    base = PurePath((file.filename or "").replace("\\", "/")).name
    return " ".join(_ATTACHING_CONTROL.sub("", base).split())[:MAX_NAME_CHARS] or "file"


def _refused(name: str, reason: str) -> Problem:
    sentence = f"{name} cannot be attached: {reason}."
    return Problem(422, "attachment_refused", sentence, errors=(FieldError("file", reason),))


# ---- brought
# The files that the form of a question brings: those uploaded before, and those that come along with it.
#
# Without scripts the form itself carries files. They are taken in once a request, so that a question that is
# refused for something else still has them.


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
            files.append(store_attachment(upload))
        except Problem as problem:
            refusals.append(problem.detail)
    return FormAttachments(tuple(files), " ".join(dict.fromkeys(refusals)))
