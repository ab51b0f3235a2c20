"""What programs are called, by a folder of made-up desktop entries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.frames import desktop_entries
from store.frames.desktop_entries import called
from tests.factories import desktop_entry
from tests.tables import for_each

ENTRIES = {
    "org.example.konsole": (
        "Name=Konsole\nName[de]=Konsole\nGenericName=Terminal\nGenericName[de]=Terminal\nGenericName[zh_CN]=终端\n"
        "Categories=Qt;KDE;System;TerminalEmulator;"
    ),
    "plain-term": "Name=PTerm\nExec=pterm\nStartupWMClass=PTerm\nCategories=System;TerminalEmulator;X-Plain;",
    "lonely": "Name=Sketch\nCategories=Graphics;VectorGraphics;",
    "counter": "Name=Counter\nExec=/opt/bin/gnome-counter --new %U\nCategories=Utility;GTK;",
    "pad": (
        "Name=Pad\nGenericName=Text Editor\nGenericName[de]=Texteditor\nGenericName[zh_CN]=文本编辑器\n"
        "GenericName[zu]=Okunye\nCategories=GTK;Utility;TextEditor;"
    ),
    "pad-settings": "Name=Text Editor Settings\nExec=pad --new\nCategories=GTK;Settings;",
    "pictures": "Name=Pictures\nGenericName=Image Viewer\nCategories=Graphics;Viewer;",
    "papers": "Name=Papers\nCategories=Office;Viewer;",
    "script": "Name=Script\nExec=python3 /opt/script.py\nCategories=Utility;",
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for stem, lines in ENTRIES.items():
        desktop_entry(tmp_path, stem, lines)
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path))
    return tmp_path


@for_each(
    "app, language, names",
    [
        ("Konsole", "zh", {"Konsole", "Terminal", "终端"}),
        ("org.example.konsole", "de", {"Konsole", "Terminal"}),
        # Another terminal says what its entry leaves out.
        ("PTerm", "zh", {"PTerm", "Terminal", "终端"}),
        ("pterm", "en", {"PTerm", "Terminal"}),
        ("Pad", "de", {"Pad", "Text Editor", "Texteditor"}),
        # Its categories tell what no entry of its kind says.
        ("Sketch", "de", {"Sketch", "Vector Graphics"}),
        ("Papers", "en", {"Papers", "Viewer"}),
        # What shares only the place in the menu, or what it was made with, is of no kind.
        ("Gnome-counter", "en", {"Counter"}),
        ("python3", "en", set()),
        ("Unheard Of", "en", set()),
        ("", "en", set()),
    ],
)
@pytest.mark.usefixtures("programs")
def test_an_app_is_called_what_the_entries_of_its_kind_say(app: str, language: str, names: set[str]) -> None:
    assert called(app, language) == names


def test_an_entry_hides_that_of_its_name_in_later_folders(
    programs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    desktop_entry(home, "pad", "Name=Pad\nGenericName=Notebook\nCategories=GTK;Utility;TextEditor;")
    desktop_entry(home, "lonely", "Name=Sketch\nHidden=true")
    assert (called("Pad", "en"), called("Sketch", "en")) == ({"Pad", "Notebook"}, set())
    desktop_entry(home / "flatpak/exports/share", "org.example.Tide", "Name=Tide\nGenericName=Tide Table")
    assert called("Tide", "en") == {"Tide", "Tide Table"}


def test_what_a_file_says_is_data(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs / "applications"
    hostile = {
        "no-section": b"Name=No section",
        "nothing": b"",
        "binary": bytes(range(256)) * 9,
        "references": b"[DEFAULT]\nGenericName=D\n[Desktop Entry]\nType=Application\nName=%(home)s ${x}\n",
        "twice": b"[Desktop Entry]\nType=Application\nName=One\nName=Twice\n[Desktop Entry]\nExec=\n",
        "link": b"[Desktop Entry]\nType=Link\nName=Link\n",
        "long": b"[Desktop Entry]\nType=Application\nName=Long\nGenericName=" + b"g" * 9_000,
        "huge": b"[Desktop Entry]\nType=Application\nName=Huge\n#" + b"#" * desktop_entries.MAX_BYTES,
    }
    for stem, content in hostile.items():
        (folder / f"{stem}.desktop").write_bytes(content)
    (folder / "broken.desktop").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.desktop")
    expected = {
        "references": {"%(home)s ${x}"},
        "twice": {"Twice"},
        "long": {"Long", "g" * desktop_entries.MAX_NAME_CHARS},
        "Konsole": {"Konsole", "Terminal"},
    }
    apps = [*hostile, "broken", "pipe", "Konsole"]
    assert {app: names for app in apps if (names := called(app, "en"))} == expected
