"""What a page brings along: vendored, small, and every piece of it there."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

from tests.tables import for_each
from tests.webapp.conftest import Actor, page
from webapp.serving.assets import assets, bundled

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "static"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
HTMX = "htmx-2.0.11.min.js"
IDIOMORPH = "idiomorph-ext-0.8.0.min.js"


@for_each("name", [HTMX, IDIOMORPH])
def test_what_is_vendored_is_the_file_that_was_chosen(name: str) -> None:
    digest = base64.b64encode(hashlib.sha384((STATIC / "vendor" / name).read_bytes()).digest()).decode()
    assert (STATIC / "vendor" / f"{name}.sha384").read_text().split() == [f"sha384-{digest}", name]


def test_the_weights_stay_under_their_bars() -> None:
    """Bytes, compressed: all that a page brings along, once for good."""
    found = assets(STATIC)
    for name, bar in {"app.css": 14_500, "app.js": 36_000, "sprite.svg": 2_000}.items():
        assert len(found[name].compressed) <= bar, name


def test_what_an_address_leads_to_by_its_fingerprint_is_never_asked_for_again(browser: Actor) -> None:
    html = page(browser, "/search")
    for name in ("app.css", "app.js", "sprite.svg", "favicon.svg"):
        address = assets(STATIC)[name].address
        assert address in html, name
        found = browser.get(address, headers={"Accept-Encoding": "gzip"})
        assert "immutable" in found.headers["Cache-Control"]
        assert gzip.decompress(found.data) == browser.get(address).data == assets(STATIC)[name].content
    older = browser.get("/static/app.css?v=older")
    assert older.headers["Cache-Control"] == "no-cache"
    assert browser.get("/static/app.css", headers={"If-None-Match": older.headers["ETag"]}).status_code == 304
    assert browser.get("/static/vendor/" + HTMX).status_code == 404


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
    assert not re.search(r'<script(?![^>]*\s(?:src=|type="application/json"))', text)


def test_a_fragment_extends_nothing() -> None:
    for file in TEMPLATES:
        if file.name.startswith("_"):
            assert "{% extends" not in file.read_text(encoding="utf-8"), file


def test_scripts_are_put_together_in_the_order_in_which_they_need_one_another(tmp_path: Path) -> None:
    (tmp_path / "app.js").write_text("import * as b from './b.js'\nimport './c.js'\nb.go()\n")
    (tmp_path / "b.js").write_text("import { one } from './c.js'\nexport async function go() { one() }\n")
    (tmp_path / "c.js").write_text("export const one = () => 1\n")
    script = "".join(bundled(tmp_path / "app.js").split("\n"))
    assert script == (
        "(() => {'use strict'const m0 = (() => {const one = () => 1return { one }})()"
        "const m1 = (() => {const { one } = m0async function go() { one() }return { go }})()"
        "const m2 = (() => {const b = m1b.go()return {  }})()})()"
    )


def test_scripts_import_by_lines_that_are_understood_and_leave_no_globals() -> None:
    assert not re.search(r"^\s*(import|export)\b|\bimport\(", bundled(STATIC / "js" / "app.js"), re.M)
    for file in (STATIC / "js").rglob("*.js"):
        text = file.read_text(encoding="utf-8")
        unwanted = r"window\.\w+\s*=[^=]|globalThis|\.innerHTML|insertAdjacentHTML|eval\("
        assert not re.search(unwanted, text), file
