"""What programs are called (https://specifications.freedesktop.org/desktop-entry-spec/latest/) here."""

from __future__ import annotations

import os
import re
from configparser import ConfigParser, Error
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from store.privacy.defaults import normalize_app_name

MAX_ENTRIES, MAX_BYTES, MAX_NAME_CHARS = 2_000, 512 * 1024, 100
_EVERYWHERE = "/usr/local/share:/usr/share:/var/lib/flatpak/exports/share:/var/lib/snapd/desktop"
_MENU = "(Audio)?(Video)?|Development|Education|Game|Graphics|Network|Office|Science|Settings|System|Utility"
_MADE_FOR = "|COSMIC|DDE|EDE|GNOME|GTK|Java|KDE|LXQt|MATE|Motif|Qt|TDE|Unity|XFCE|ConsoleOnly|Core|X-.*"
"""Categories that tell a place in the menu, and what a program was made for; all others tell its kind."""


def called(app_name: str, language: str) -> set[str]:
    """Its names in English and a language, with what programs of the same categories call their kind."""
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    everywhere = map(Path, (os.environ.get("XDG_DATA_DIRS") or _EVERYWHERE).split(":"))
    folders = [part / "applications" for part in (home, home / "flatpak/exports/share", *everywhere)]
    entries = _entries(tuple((each, each.stat().st_mtime_ns) for each in folders if each.is_dir()))
    entry = entries.get(normalize_app_name(app_name), {})
    kind = [each for each in entry.get("Categories", "").split(";") if not re.fullmatch(_MENU, each)]
    same = [e for e in entries.values() if e is entry or (kind and e["Categories"] == entry["Categories"])]
    of_language = re.compile(rf"(Generic)?Name(?:\[(?:en|{language})(?![a-z])[^\]]*\])?")
    named = [(of_language.fullmatch(key), text[:MAX_NAME_CHARS], e) for e in same for key, text in e.items()]
    kinds = {text for key, text, _ in named if key and key[1]}
    names = {text for key, text, each in named if key and each is entry}
    return names | (kinds or {re.sub("(?<=[a-z])(?=[A-Z])", " ", each) for each in kind})


@lru_cache(maxsize=1)
def _entries(stamps: tuple[tuple[Path, int], ...]) -> dict[str, dict[str, str]]:
    """By what a window goes by; a file hides those of its name in later folders. It may hold anything."""
    found = [path for folder, _ in stamps for path in sorted(folder.glob("*.desktop"))]
    files = {path.stem: path for path in reversed(found[:MAX_ENTRIES])}
    ranks: list[dict[str, dict[str, str]]] = [{}, {}, {}, {}, {}]  # the surest name last
    for stem, path in sorted(files.items()):
        parser = ConfigParser(interpolation=None, strict=False, delimiters="=", default_section="")
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        with suppress(OSError, Error):  # what cannot be read is an entry of nothing
            if path.is_file() and path.stat().st_size <= MAX_BYTES:
                parser.read_string(path.read_text("utf-8", "replace"))
        entry = dict(parser["Desktop Entry"]) if parser.has_section("Desktop Entry") else {}
        if entry.get("Type") == "Application" and entry.get("Hidden") != "true":
            categories = set(entry.get("Categories", "").split(";"))
            entry["Categories"] = ";".join(sorted(k for k in categories if not re.fullmatch(_MADE_FOR, k)))
            program = re.sub(r"\s+[-%]\S*", "", entry.get("Exec", "")).strip('"').rpartition("/")[2]
            sure = program, stem.rpartition(".")[2], stem, entry.get("StartupWMClass", "")
            for rank, name in zip(ranks, (entry.get("Name", ""), *sure), strict=True):
                rank.setdefault(normalize_app_name(name), entry)
    return {name: entry for rank in ranks for name, entry in rank.items() if name}
