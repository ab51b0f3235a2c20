"""Take in a file that is attached to a question: staged, read by a program of its own, then kept.

The web process parses none of it (`ingest.documents`): what cannot be read in `TIMEOUT_S` is ended, and
nothing of a refused file stays.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
from pathlib import Path, PurePath

from werkzeug.datastructures import FileStorage

from store.chats import attachments
from store.chats.attachments import MAX_NAME_CHARS, Attachment, Contents
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

log = logging.getLogger(__name__)

MAX_BYTES = 25_000_000
ATTACHMENT_TIMEOUT_S = 25.0
_REFUSED, _UNSUPPORTED = 1, 3
_PREFIX = "documents: "
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
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
    if done.returncode in (_REFUSED, _UNSUPPORTED) and last.startswith(_PREFIX):
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
    return " ".join(_CONTROL.sub("", base).split())[:MAX_NAME_CHARS] or "file"


def _refused(name: str, reason: str) -> Problem:
    sentence = f"{name} cannot be attached: {reason}."
    return Problem(422, "attachment_refused", sentence, errors=(FieldError("file", reason),))
