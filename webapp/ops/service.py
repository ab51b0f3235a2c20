"""Recollect starts when its user signs in, by the system's own means, and stands among the programs.

A `Service` is what one of these means needs: files, and commands of the system. A user has one: installed
for another home folder, it takes the place of the first.
"""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

import platformdirs

from store.core.errors import StoreError
from store.core.paths import DataDir
from webapp.core.templating import shipped
from webapp.ops.control import web_address

_LONGEST_S = 30.0
_RETRY_S = 30  # between two starts: a full disk or a missing display may last

Command = tuple[str, ...]


class ServiceError(StoreError):
    """The system does not do it; the sentence says why, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Service:
    """Texts of `files` by their paths, the first of which starts it. `forget` may fail where nothing is
    installed, the others may not.
    """

    kind: str
    files: Mapping[Path, str]
    forget: Sequence[Command] = ()
    enable: Sequence[Command] = ()
    start: Sequence[Command] = ()
    encoding: str = "utf-8"

    @property
    def state(self) -> Literal["none", "this", "another"]:
        """Whether there is one: as it would be written for this home folder now, or another."""
        path, text = next(iter(self.files.items()))
        if not path.exists():
            return "none"
        return "this" if path.read_text(self.encoding, "replace") == text else "another"

    def install(self, data_dir: DataDir) -> bool:
        """Write the files and tell the system; whether it has started. It waits for the next sign-in where
        Recollect runs already. Raises `ServiceError` and `OSError`.
        """
        is_running = web_address(data_dir) is not None
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, self.encoding, newline="\n")
        for command in self.enable:
            call(command)
        for command in () if is_running else self.start:
            call(command)
        return bool(self.start) and not is_running

    def uninstall(self) -> list[Path]:
        """Stop it, make the system forget it, and remove its files, which are returned."""
        installed = [path for path in self.files if path.exists()]
        for command in self.forget if installed else ():
            call(command, may_fail=True)
        for path in installed:
            path.unlink()
        return installed


def service_of(home: Path) -> Service:
    """What this system can be told for a home folder. Raises `ServiceError`."""
    if not str(home).isprintable():
        raise ServiceError("the name of the home folder has characters that no such file can hold")
    if sys.platform == "win32":
        return _task(home)
    return _agent(home) if sys.platform == "darwin" else _unit(home)


def refuse_root() -> None:
    """Raise `ServiceError` for root, in whose session nobody's screen is."""
    if sys.platform != "win32" and os.getuid() == 0:
        raise ServiceError("as root it would see nobody's screen; install it as the user whose screen it is")


def has_manager() -> bool:
    """Whether the system starts services for this user; in most containers nothing does."""
    return sys.platform != "linux" or call(("systemctl", "--user", "show-environment"), may_fail=True)


def call(command: Command, *, may_fail: bool = False) -> bool:
    """Whether a command of the system succeeded. Raises `ServiceError` where it did not and has to."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S)
        problem = (done.stderr or done.stdout).strip() if done.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem is not None and not may_fail:
        raise ServiceError(f"`{' '.join(command)}` failed: {problem}")
    return problem is None


# -- what each system is told --------------------------------------------------------------------
# Each works in the home folder, which holds no Python: `-m` looks in the working directory first.


def _up(home: Path) -> list[str]:
    return [sys.executable, "-m", "webapp", "up", "--home", str(home)]


# What it prints holds a link that signs a browser in: not for the journal.
_UNIT = """[Unit]
Description=Recollect remembers your screen
PartOf=graphical-session.target
After=graphical-session.target

[Service]
ExecStart={words}
WorkingDirectory={folder}
Restart=on-failure
RestartSec={retry}
StandardOutput=null

[Install]
WantedBy=graphical-session.target
"""


def _unit(home: Path) -> Service:
    words = []
    for word in _up(home):  # systemd.service(5), "Command lines"
        for one, other in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
            word = word.replace(one, other)
        words.append(f'"{word}"')
    text = _UNIT.format(words=" ".join(words), folder=str(home).replace("%", "%%"), retry=_RETRY_S)
    name, control = "recollect.service", ("systemctl", "--user")
    display = [name for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY") if name in os.environ]
    return Service(
        "systemd user unit",
        {platformdirs.user_config_path() / "systemd" / "user" / name: text} | _desktop_files(home),
        forget=((*control, "disable", "--now", name),),
        enable=((*control, "daemon-reload"), (*control, "enable", name)),
        start=((*control, "import-environment", "PATH", *display), (*control, "restart", name)),
    )


def _desktop_files(home: Path) -> dict[Path, str]:
    """Its entry in the menu of programs, which opens the pages, and its icon."""
    data = platformdirs.user_data_path()
    return {
        data / "applications" / "recollect.desktop": _entry(home),
        data / "icons/hicolor/scalable/apps/recollect.svg": (shipped("static") / "favicon.svg").read_text(),
    }


def _entry(home: Path) -> str:
    words = []
    for word in [*_up(home), "--open"]:  # Desktop Entry Specification, "The Exec key"
        for one in '\\"`$':
            word = word.replace(one, f"\\{one}")
        words.append('"' + word.replace("\\", "\\\\").replace("%", "%%") + '"')
    folder = str(home).replace("\\", "\\\\")
    return f"""[Desktop Entry]
Type=Application
Name=Recollect
Comment=Remember your screen and ask about it
Exec={" ".join(words)}
Path={folder}
Icon=recollect
Categories=Utility;
"""


def _agent(home: Path) -> Service:
    path = Path.home() / "Library" / "LaunchAgents" / "recollect.plist"
    settings = {
        "Label": "recollect",
        "ProgramArguments": _up(home),
        "WorkingDirectory": str(home),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": _RETRY_S,
        "LimitLoadToSessionType": "Aqua",
    }
    domain = f"gui/{os.getuid()}"
    return Service(
        "launchd agent",
        {path: plistlib.dumps(settings).decode()},
        forget=(("launchctl", "bootout", f"{domain}/recollect"),),
        start=(("launchctl", "bootstrap", domain, str(path)),),
    )


_TASK = """<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers><LogonTrigger><UserId>{user}</UserId></LogonTrigger></Triggers>
  <Principals>
    <Principal id="user"><UserId>{user}</UserId><LogonType>InteractiveToken</LogonType></Principal>
  </Principals>
  <Settings>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>
  </Settings>
  <Actions Context="user">
    <Exec>
      <Command>{program}</Command><Arguments>{arguments}</Arguments><WorkingDirectory>{folder}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
"""


def _task(home: Path) -> Service:
    program, *arguments = _up(home)
    windowless = Path(program).with_name("pythonw.exe")
    values = {
        "user": "\\".join(os.environ[name] for name in ("USERDOMAIN", "USERNAME") if name in os.environ),
        "program": str(windowless if windowless.exists() else program),
        "arguments": subprocess.list2cmdline(arguments),
        "folder": str(home),
    }
    path = home / "service.xml"
    return Service(
        "scheduled task",
        {path: _TASK.format_map({name: escape(value) for name, value in values.items()})},
        forget=(("schtasks", "/End", "/TN", "Recollect"), ("schtasks", "/Delete", "/TN", "Recollect", "/F")),
        enable=(("schtasks", "/Create", "/TN", "Recollect", "/XML", str(path), "/F"),),
        start=(("schtasks", "/Run", "/TN", "Recollect"),),
        encoding="utf-16",
    )
