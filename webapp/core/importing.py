"""Import an uploaded file: a process of ingest reads it, so that a hostile one harms nobody here.

The web process never parses such a file, and imports nothing of ingest; the receipt comes back as JSON.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from flask import request
from werkzeug.datastructures import FileStorage

from store.sources.imports import Kind
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

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
