"""What runs on a home folder and whether it records: one supervisor, one web process, pause and resume.

``up.lock`` and ``web.lock`` are locked by the operating system for as long as a supervisor or a web
process lives, so a crash never leaves them behind. ``web.json`` says on which port the pages are, for
`recollect open`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from store.core.paths import DataDir, only_holder, replace_file
from store.core.translation import gettext as _
from store.spool.process_state import FOREVER_MS, Pause, write_pause

_LOW_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Address:
    """Where a web process listens."""

    pid: int
    host: str
    port: int

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host
        host = "::1" if host == "::" else host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def only_one(data_dir: DataDir, program: Literal["up", "web"]) -> AbstractContextManager[None]:
    """Be the only such process of a home folder while the block runs. Raises `StoreBusy`.

    A second web process would take the questions that the first one is answering for interrupted ones.
    """
    problem = f"Recollect is already running on {data_dir.home}; `recollect open` shows it"
    return only_holder(data_dir.home / f"{program}.lock", 0.0, problem)


def _address_file(data_dir: DataDir) -> Path:
    return data_dir.home / "web.json"


@contextmanager
def advertise_address(data_dir: DataDir, host: str, port: int) -> Iterator[Address]:
    """Say where the pages are, for as long as the block runs."""
    address = Address(os.getpid(), host, port)
    replace_file(_address_file(data_dir), json.dumps(asdict(address)).encode(), durable=False)
    try:
        yield address
    finally:
        if web_address(data_dir) == address:
            _address_file(data_dir).unlink(missing_ok=True)


def web_address(data_dir: DataDir) -> Address | None:
    """Where the web process of this home listens, or None when none runs."""
    try:
        address = Address(**json.loads(_address_file(data_dir).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return address if psutil.pid_exists(address.pid) else None


def forget_dead_address(data_dir: DataDir) -> bool:
    """Remove what a web process that died has left of `advertise_address`; whether there was any."""
    is_left = _address_file(data_dir).exists() and web_address(data_dir) is None
    if is_left:
        _address_file(data_dir).unlink(missing_ok=True)
    return is_left


def free_space(data_dir: DataDir, floor_gb: float) -> tuple[str, Literal["ok", "warn", "bad"], str]:
    """How much of the disk is free, whether that is enough, and why not: capture pauses below `floor_gb`."""
    usage = shutil.disk_usage(data_dir.home)
    free = _("%(number).1f GB free", number=usage.free / 1e9)
    if usage.free < floor_gb * 1e9:
        return free, "bad", _("below %(number)g GB capture pauses", number=floor_gb)
    if usage.free < usage.total * _LOW_SHARE:
        return free, "warn", _("less than a tenth of the disk is left")
    return free, "ok", ""


# -- pause and resume, the same for API, pages and command --------------------------------------

_MINUTE_MS = 60_000
MAX_PAUSE_MIN = 525_600


def pause(data_dir: DataDir, minutes: float | None, now_ms: int) -> Pause:
    """Durably order a pause: for some minutes, or until resumed."""
    until_ms = FOREVER_MS if minutes is None else now_ms + max(1, round(minutes * _MINUTE_MS))
    order = Pause(since_ms=now_ms, until_ms=min(until_ms, FOREVER_MS))
    write_pause(data_dir.spool, order)
    return order


def resume(data_dir: DataDir) -> None:
    write_pause(data_dir.spool, None)
