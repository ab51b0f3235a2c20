"""Starting at sign-in: what each system is told, asked of its own programs where they are here."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from store.core.paths import DataDir
from webapp.cli import run

_AWKWARD = 'a "b" %h $HOME `x` \\ c'  # each of these signs means something to one of the systems


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of somebody who is not root, with configuration folders of their own."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return DataDir(tmp_path / _AWKWARD).create().home


def _stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Path:
    """A program of the system that notes what it is asked, and does it."""
    file, asked = folder / "bin" / program, folder / "asked"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(asked))}\n')
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(file.parent), prepend=os.pathsep)
    return asked


def _service(home: Path, *words: str) -> int:
    return run(["service", *words, "--home", str(home)])


def test_systemd_starts_it_and_forgets_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = _stand_in(tmp_path, monkeypatch, "systemctl")
    unit = tmp_path / ".config/systemd/user/recollect.service"
    for _ in range(2):  # a second time changes nothing
        assert _service(home, "install") == 0
        assert str(unit) in capsys.readouterr().out
        assert asked.read_text().splitlines()[-1] == "--user restart recollect.service"
    assert _service(home, "status") == 0 and "installed (systemd user unit)" in capsys.readouterr().out
    if shutil.which("systemd-analyze"):
        text = unit.read_text().replace(f'"{sys.executable}"', "/bin/echo", 1)
        unit.write_text(text.replace("graphical-session.target", "basic.target"))
        checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
        assert unit.name not in checked.stderr, checked.stderr
    assert _service(home, "uninstall") == 0 and not unit.exists()
    assert asked.read_text().splitlines()[-1] == "--user disable --now recollect.service"
    assert _service(home, "uninstall") == 0 and "No service" in capsys.readouterr().out


def test_the_service_of_another_home_is_told_and_replaced(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _stand_in(tmp_path, monkeypatch, "systemctl")
    other = DataDir(tmp_path / "other").create().home
    assert _service(home, "install") == 0
    capsys.readouterr()
    assert _service(other, "status") == 0 and "another home folder" in capsys.readouterr().out
    assert _service(other, "install") == 0 and _service(other, "status") == 0
    assert "installed (systemd user unit)" in capsys.readouterr().out


def test_the_menu_of_programs_has_it_and_a_missing_user_manager_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _stand_in(tmp_path, monkeypatch, "systemctl")
    assert _service(home, "install") == 0
    capsys.readouterr()
    monkeypatch.setenv("PATH", "")
    assert _service(home, "install") == 1 and "in most containers" in capsys.readouterr().err
    monkeypatch.undo()
    entry = tmp_path / ".local/share/applications/recollect.desktop"
    command = entry.read_text().split("\nExec=")[1].splitlines()[0].replace("\\\\", "\\").replace("%%", "%")
    told = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True)
    assert told.stdout.splitlines() == [sys.executable, "-m", "webapp", "up", "--home", str(home), "--open"]
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", entry], check=True)


def test_root_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert _service(home, "install") == 1 and "root" in capsys.readouterr().err
    # What there is to see and to remove is not another's.
    assert _service(home, "status") == 0 and "not installed" in capsys.readouterr().out
    assert _service(home, "uninstall") == 0


def test_launchd_and_the_task_scheduler_get_the_same_command(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["-m", "webapp", "up", "--home", str(home)]
    monkeypatch.setattr("sys.platform", "darwin")
    asked = _stand_in(tmp_path, monkeypatch, "launchctl")
    assert _service(home, "install") == 0
    agent = tmp_path / "Library/LaunchAgents/recollect.plist"
    assert plistlib.loads(agent.read_bytes())["ProgramArguments"] == [sys.executable, *command]
    assert asked.read_text() == f"bootstrap gui/1000 {agent}\n"
    (tmp_path / "bin/launchctl").rename(tmp_path / "bin/schtasks")
    monkeypatch.setattr("sys.platform", "win32")
    assert _service(home, "install") == 0
    task = ElementTree.fromstring((home / "service.xml").read_bytes())
    name = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    assert task.findtext(f".//{name}Arguments") == subprocess.list2cmdline(command)
    assert "/Create /TN Recollect /XML" in asked.read_text()
