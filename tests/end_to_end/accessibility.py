"""What is wrong with a page as it stands in the browser: by axe in both themes, and by its width."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WIDTHS = {390: 844, 768: 1024, 1440: 900}
PHONE, DESK = min(WIDTHS), max(WIDTHS)
FOR_AXE: dict[str, Any] = {
    "viewport": {"width": PHONE, "height": WIDTHS[PHONE]},
    "color_scheme": "light",
    "reduced_motion": "reduce",
}
"""Of a visit whose pages are checked at every width. Without motion a theme is there at once, never faded in.
"""

# The rules that look at colours: all that the two themes of a page differ in, and most of the work.
_COLOURS = ("color-contrast", "link-in-text-block")
_ALL: dict[str, Any] = {}
_IN_COLOUR = {"runOnly": _COLOURS}
_BUT_COLOURS = {"rules": {rule: {"enabled": False} for rule in _COLOURS}}

# Only what is wrong is handed back, and no stylesheet is fetched again for a rule that is off.
_RUN = """async ([options, isNew]) => {
  const shown = [...document.querySelectorAll('body *')].filter(each => {
    const place = each.getBoundingClientRect()
    return each.checkVisibility({ visibilityProperty: true }) && place.right > 0 && place.left < innerWidth
  })
  const include = isNew ? shown.filter(each => !window.looked.has(each)) : [document]
  window.looked = new WeakSet(shown)
  if (!include.length) return []
  const found = await axe.run({ include }, { resultTypes: ['violations'], preload: false, ...options })
  return found.violations.map(each => [each.id, each.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])
}"""


def violations(
    page: Page, options: dict[str, Any] = _ALL, *, is_new: bool = False
) -> list[tuple[str, list[str]]]:
    """(rule, the first elements that break it) for each broken rule, of the whole page or of what is `is_new`
    on it since it was last looked at.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[Any] = page.evaluate(_RUN, [options, is_new])
    return [(rule, nodes) for rule, nodes in found]


def assert_clean(page: Page, name: object) -> None:
    """axe finds nothing in either theme, and nothing scrolls sideways. The page is in the light theme."""
    assert violations(page) == [], name
    _assert_clean_in_the_dark(page, name)


def assert_clean_at_every_width(page: Page, name: object) -> None:
    """The page as a phone loads it, and as its window grows to that of a desk: it fits all the way.

    axe looks at both ends, which are laid out differently; themes differ in colours, and these in no width.
    """
    assert violations(page) == [], (name, "phone")
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        assert_fits(page, (name, width))
    assert violations(page, _IN_COLOUR, is_new=True) == [], (name, "desk")
    assert violations(page, _BUT_COLOURS) == [], (name, "desk")
    _assert_clean_in_the_dark(page, (name, "desk"))
    page.set_viewport_size(FOR_AXE["viewport"])


def _assert_clean_in_the_dark(page: Page, name: object) -> None:
    page.emulate_media(color_scheme="dark")
    assert violations(page, _IN_COLOUR) == [], (name, "dark")
    page.emulate_media(color_scheme="light")
    assert_fits(page, name)


def assert_fits(page: Page, name: object) -> None:
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, (name, wide)
