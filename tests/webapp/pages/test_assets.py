"""What a page brings along: vendored, small, and every piece of it there."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

from tests.tables import for_each

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "static"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
HTMX = "htmx-2.0.11.min.js"
IDIOMORPH = "idiomorph-ext-0.8.0.min.js"


def compressed(*files: Path) -> int:
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


@for_each("name", [HTMX, IDIOMORPH])
def test_what_is_vendored_is_the_file_that_was_chosen(name: str) -> None:
    digest = base64.b64encode(hashlib.sha384((STATIC / "vendor" / name).read_bytes()).digest()).decode()
    assert (STATIC / "vendor" / f"{name}.sha384").read_text().split() == [f"sha384-{digest}", name]


def test_the_weights_stay_under_their_bars() -> None:
    """ux, chapter 11: KB, gzipped."""
    scripts = sorted((STATIC / "js").glob("*.js"))
    assert compressed(*scripts) <= 15_000
    assert compressed(*scripts, STATIC / "vendor" / HTMX) <= 36_000
    # The grammar of time phrases comes when somebody begins to type one.
    assert compressed(*(STATIC / "js" / "time").glob("*.js")) <= 13_500
    # What follows a turn comes when one runs, the editor of prompts with its page.
    assert compressed(*(STATIC / "js" / "chat").glob("*.js"), STATIC / "vendor" / IDIOMORPH) <= 7_000
    # Selecting on the timeline comes with a timeline.
    assert compressed(*(STATIC / "js" / "band").glob("*.js")) <= 2_000
    assert compressed(*(STATIC / "js" / "window").glob("*.js")) <= 1_500
    assert compressed(*(STATIC / "js" / "editing").glob("*.js")) <= 2_000
    assert compressed(*(STATIC / "js" / "files").glob("*.js")) <= 2_000
    assert (STATIC / "sprite.svg").stat().st_size <= 12_000


@for_each("file", [t for t in TEMPLATES if "css/" in t.read_text()], ids=lambda file: file.name)
def test_no_page_loads_more_than_twelve_kilobytes_of_style(file: Path) -> None:
    shared = re.search(r"for name in \[(.*?)\]", (ROOT / "templates" / "base.html").read_text())
    assert shared is not None
    names = {*re.findall(r'"(\w+)"', shared[1]), *re.findall(r"css/(\w+)\.css", file.read_text())}
    assert compressed(*(STATIC / "css" / f"{name}.css" for name in names)) <= 12_000


def test_the_sprite_has_at_most_forty_icons_and_every_one_that_is_used() -> None:
    drawn = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "sprite.svg").read_text()))
    named = set()
    for file in [*TEMPLATES, *(ROOT / "webapp").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        named |= set(re.findall(r'ui\.icon\("([\w-]+)"', text))
    assert len(drawn) <= 40
    assert named <= drawn, named - drawn


@for_each("file", TEMPLATES, ids=lambda file: file.relative_to(ROOT / "templates").as_posix())
def test_a_template_holds_no_inline_code_and_no_other_host(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if file == ROOT / "templates" / "export" / "answer.html":  # a file to take along has its style in it
        text = text.replace("<style>", "")
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|hx-on|javascript:", text)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


def test_a_fragment_extends_nothing() -> None:
    for file in TEMPLATES:
        if file.name.startswith("_"):
            assert "{% extends" not in file.read_text(encoding="utf-8"), file


def test_scripts_import_only_neighbours_and_leave_no_globals() -> None:
    for file in [
        each for folder in (".", "band", "chat", "editing") for each in (STATIC / "js" / folder).glob("*.js")
    ]:
        text = file.read_text(encoding="utf-8")
        for source in re.findall(r"^import .*?from '([^']+)'", text, re.M):
            assert (file.parent / source).is_file(), (file.name, source)
        assert not re.search(r"window\.\w+\s*=[^=]|globalThis|\.innerHTML|insertAdjacentHTML|eval\(", text), (
            file.name
        )
