"""What axe finds wrong with a page as it stands in the browser, in both themes."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The rules that look at colours: all that the two themes of a page differ in.
_COLOURS = ("color-contrast", "link-in-text-block")

# Only what is wrong is handed back, and no stylesheet is fetched again for a rule that is off.
_RUN = """async only => {
  const found = await axe.run(document, {
    resultTypes: ['violations'], preload: false, ...(only.length ? { runOnly: only } : {}),
  })
  return found.violations.map(each => [each.id, each.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])
}"""


def violations(page: Page, only: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
    """(rule, the first elements that break it) for each broken rule, of all rules or of `only` those."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[Any] = page.evaluate(_RUN, list(only))
    return [(rule, nodes) for rule, nodes in found]


def assert_clean(page: Page, name: object) -> None:
    """axe finds nothing in either theme, and nothing scrolls sideways.

    The page is in the light theme, and without motion (``reduced_motion``): then a theme is there at
    once, and not faded in.
    """
    assert violations(page) == [], name
    page.emulate_media(color_scheme="dark")
    assert violations(page, _COLOURS) == [], (name, "dark")
    page.emulate_media(color_scheme="light")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, (name, wide)
