"""What is uploaded: files to import, and files that are attached to a question.

The web process parses none of them: a process of ingest reads each, so that a hostile one harms nobody
here. Nothing touches the system's temp folder. A file to import may be large and lies in the home folder
until its request ends (what a crash leaves is swept with the spool); everything else stays in memory.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import IO, Any, cast

from flask import g, request
from htmx_flask.requests import HtmxAwareRequest
from werkzeug.datastructures import FileStorage

from assistant.turns.plan import MAX_FILES
from store.chats import attachments
from store.chats.attachments import MAX_NAME_CHARS, Attachment, Contents
from store.core.errors import NotFound
from store.core.keys import box_of, handing
from store.core.translation import gettext as _
from store.core.translation import translated
from store.sources.imports import Kind
from webapp.core.errors import Problem, invalid
from webapp.core.formatting import sentence
from webapp.core.services import services

log = logging.getLogger(__name__)

MAX_IMPORT_BYTES = 512_000_000
MAX_PICTURES = 1_000
MAX_ATTACHMENT_BYTES = 25_000_000
IMPORT_TIMEOUT_S = 3_600
ATTACHMENT_TIMEOUT_S = 25.0
MAX_JSON_BYTES = 1_000_000
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
IMPORT_PATHS = ("/api/v1/imports/", "/sources/")
_REFUSED, _UNSUPPORTED = 1, 3  # how the programs of ingest end when they refuse a file
_NOT_IN_NAMES = re.compile(r"[^\w .,+()@-]")
_NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_reading = threading.BoundedSemaphore(2)
"""Attached files that are read at the same time; each may take a gigabyte."""


class Request(HtmxAwareRequest):  # type: ignore[misc]  # htmx_flask is untyped
    """A request of our app; how much it may carry depends on where it goes."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self._on_disk: list[Path] = []
        self.is_import = self.method == "POST" and self.path.startswith(IMPORT_PATHS)
        if self.is_import:
            self.max_content_length = MAX_IMPORT_BYTES
            self.max_form_parts = MAX_PICTURES
        elif self.mimetype not in FORM_TYPES:
            self.max_content_length = MAX_JSON_BYTES

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


def uploaded_file() -> FileStorage:
    """The part `file` of the form. Raises `Problem`."""
    file = request.files.get("file")
    if file is None or (not file.filename and not file.stream.read(1)):
        raise invalid(422, "file_required", ("file", "is missing"))
    return file


def import_file(
    kind: Kind, file: FileStorage, timezone: str, format: str = "", me: str = "", dates: str = ""
) -> dict[str, Any]:
    """The receipt of the import; the choices are what the file does not say, "" for what is found out.

    Raises `Problem` with the reason when the file is refused.
    """
    file.stream.flush()
    arguments = [kind, str(Path(str(file.stream.name))), f"--name={name_of(file)}", f"--tz={timezone}"]
    given = {"format": format, "dates": dates}
    arguments += [f"--{option}={_plain(value)}" for option, value in given.items() if value]
    arguments += [f"--me={_plain(name)}" for name in me.split(",") if name.strip()]
    return _import(arguments)


def import_pictures(files: Iterable[FileStorage], timezone: str) -> dict[str, Any]:
    """What became of pictures, each at the time that its name or its own data tell. Raises `Problem`."""
    names = dict[str, str]()
    with tempfile.TemporaryDirectory(dir=services().data_dir.spool / "tmp", prefix="import-") as folder:
        for n, file in enumerate(files):
            # What it is called says when it was taken; what it is, its bytes say.
            stem = _NOT_IN_NAMES.sub("_", name_of(file)).encode()[:200].decode(errors="ignore")
            path = Path(folder, f"{n}", f"{stem}.png")
            path.parent.mkdir()
            file.stream.close()
            Path(str(file.stream.name)).replace(path)
            os.utime(path, (0, 0))  # when it was uploaded is not when it was taken
            names[path.name] = name_of(file)
        receipt = _import(["images", folder, f"--tz={timezone}"])
    left_out = [(names.get(each["name"], ""), each["reason"]) for each in receipt["skipped"]]
    return {**receipt, "skipped": left_out}


def _import(arguments: Sequence[str]) -> dict[str, Any]:
    """What a process of ingest says that it imported."""
    arguments = ["ingest", "--home", str(services().data_dir.home), "import", *arguments, "--json"]
    try:
        environment, key = handing(box_of(services().data_dir.home).key)
        done = _run_program(arguments, IMPORT_TIMEOUT_S, key, environment)
    except subprocess.TimeoutExpired as error:
        detail = _("It took more than an hour and was stopped; import it again to go on.")
        raise Problem(503, "import_too_long", detail) from error
    if done.stdout and done.returncode in (0, _REFUSED):  # which it also is where some were left out
        receipt: dict[str, Any] = json.loads(done.stdout)
        return receipt
    if done.returncode == _REFUSED and (reason := _reason(done, "ingest: ")):
        raise Problem(422, "import_refused", sentence(translated(reason)))
    log.error("an import ended with code %d: %s", done.returncode, done.stderr.decode("utf-8", "replace"))
    detail = _("The import broke off, and the log says why; import again to go on.")
    raise Problem(500, "import_failed", detail)


def _run_program(
    arguments: Sequence[str], timeout_s: float, given: bytes, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        input=given,
        env=environment,
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )


def _reason(done: subprocess.CompletedProcess[bytes], prefix: str) -> str:
    """What a program said last, when it is a refusal of its own; else ""."""
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return last.removeprefix(prefix) if last.startswith(prefix) else ""


def name_of(file: FileStorage) -> str:
    """What the file is called, without a path and without characters that do not show."""
    base = PurePath((file.filename or "").replace("\\", "/")).name
    return _plain(base)[:MAX_NAME_CHARS] or "file"


def _plain(text: str) -> str:
    return " ".join(_NOT_SHOWN.sub("", text).split())


def store_attachment(file: FileStorage) -> Attachment:
    """The file, kept until its question is asked. Raises `Problem` with the reason when it is refused."""
    own, name = services(), name_of(file)
    content = file.stream.read(MAX_ATTACHMENT_BYTES + 1)
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise Problem(
            413,
            "too_large",
            _("%(name)s is larger than %(limit)s MB.", name=name, limit=MAX_ATTACHMENT_BYTES // 1_000_000),
        )
    staged = attachments.stage(own.data_dir, content)
    try:
        return attachments.add(own.database, staged, name, contents(content, name), own.clock())
    finally:
        staged.discard()


def contents(content: bytes, name: str, timeout_s: float = ATTACHMENT_TIMEOUT_S) -> Contents:
    """What another program finds in a file. Raises `Problem`: 415 for a kind it does not read, else 422."""
    try:
        with _reading:
            done = _run_program(["ingest.documents", name], timeout_s, content)
    except subprocess.TimeoutExpired as error:
        raise _refused(
            name, _("reading it takes longer than %(seconds)s seconds", seconds=f"{timeout_s:g}")
        ) from error
    if done.returncode == 0:
        return Contents(**json.loads(done.stdout))
    reason = _reason(done, "documents: ")
    if done.returncode == _UNSUPPORTED and reason:
        raise Problem(
            415,
            "unsupported_media_type",
            _("%(name)s cannot be attached: %(reason)s.", name=name, reason=translated(reason)),
        )
    if done.returncode == _REFUSED and reason:
        raise _refused(name, reason)
    # Ended by the system: too much of its time or memory, or a library that fell over it.
    log.warning("reading an attached file ended with code %d", done.returncode)
    raise _refused(name, _("it cannot be read"))


def _refused(name: str, reason: str) -> Problem:
    sentence = _("%(name)s cannot be attached: %(reason)s.", name=name, reason=translated(reason))
    return Problem(422, "attachment_refused", sentence, errors=(("file", translated(reason)),))


Files = tuple[tuple[Attachment, ...], str]
"""The files of a question's form, those uploaded before and those that come along without scripts; and why
one that came along was not taken, "" when all were."""


def form_attachments() -> Files:
    """The files of this request's form, taken once: a question that is refused for something else still
    has them. One that is gone meanwhile is refused.
    """
    if "form_attachments" not in g:
        g.form_attachments = _take_files()
    return cast(Files, g.form_attachments)


def _take_files() -> Files:
    given = [text for text in request.form.getlist("attachments") if text.isdecimal() and len(text) < 19]
    files, refusals = [], []
    for attachment_id in dict.fromkeys(map(int, given)):
        try:
            files.append(attachments.get(services().database, attachment_id))
        except NotFound:
            refusals.append(_("A file is not there any more; attach it again."))
    for upload in request.files.getlist("files"):
        if not upload.filename:  # a field that was left empty
            continue
        if len(files) >= MAX_FILES:
            refusals.append(_("At most %(number)s files go with one question.", number=MAX_FILES))
            break
        try:
            files.append(store_attachment(upload))
        except Problem as problem:
            refusals.append(problem.detail)
    return tuple(files), " ".join(dict.fromkeys(refusals))
