"""A stretch selected on the timeline in a real browser: by drag, by keyboard, by links without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.end_to_end.accessibility import assert_clean
from tests.end_to_end.pages_site import NOW_MS, Site, Visit, visit

DAY_START_MS = NOW_MS - (18 * 60 + 3) * 60_000
HOUR_MS = 3_600_000
MINUTE_MS = 60_000


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[Visit]:
    found = visit(browser, site, color_scheme="light", reduced_motion="reduce")
    yield found
    found.context.close()
    assert found.complaints == []


def selected(page: Page) -> tuple[int, int]:
    """What the address says once the server has drawn the selection, and all that agrees with it."""
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    start, end = (int(re.findall(rf"{name}=(\d+)", page.url)[0]) for name in ("from", "to"))
    expect(page.locator("#selection")).to_have_attribute("data-start", str(start))
    kept = f"{start}-{end}"
    page.wait_for_function("kept => sessionStorage.getItem('selection') === kept", arg=kept)
    minutes = (start // MINUTE_MS * MINUTE_MS, -(-end // MINUTE_MS) * MINUTE_MS)
    for link in page.locator("#selection a", has_text=re.compile("Insight|Ask")).all():
        assert "from={}&to={}".format(*minutes) in (link.get_attribute("href") or "")
    return start, end


def drag(page: Page, first_hour: float, last_hour: float) -> None:
    lane = page.locator(".lane").bounding_box()
    assert lane is not None
    y = lane["y"] + 12
    page.mouse.move(lane["x"] + lane["width"] * first_hour / 24, y)
    page.mouse.down()
    page.mouse.move(lane["x"] + lane["width"] * last_hour / 24, y, steps=5)
    page.mouse.up()


def test_a_drag_selects_and_insight_question_and_mention_are_about_it(visitor: Visit) -> None:
    page = visitor.go("/timeline")
    before = page.locator("#stage").get_attribute("data-frame")
    expect(page.locator(".lane")).to_be_visible()
    drag(page, 15, 9)  # backwards is as good
    start, end = selected(page)
    assert abs(start - DAY_START_MS - 9 * HOUR_MS) <= 2 * MINUTE_MS
    assert abs(end - DAY_START_MS - 15 * HOUR_MS) <= 2 * MINUTE_MS
    assert page.locator("#stage").get_attribute("data-frame") == before  # selecting is not scrubbing
    bar, band = (page.locator(name).bounding_box() for name in (".band .selected", ".band"))
    assert bar and band
    assert abs(bar["x"] - band["x"] - band["width"] * (start - DAY_START_MS) / (24 * HOUR_MS)) <= 2
    assert_clean(page, "selected")
    page.locator("#selection").get_by_role("link", name="Ask about this time").click()
    expect(page.locator("[name=from_local]")).to_have_value(re.compile("2026-11-20T0[89]:"))
    page = visitor.go("/chat")
    page.fill("#message", "summarise @selection")
    expect(page.locator("[data-understood]")).to_contain_text("Today 09:00–15:00")
    expect(page.locator("[data-understood]")).not_to_contain_text("24 h")


def test_both_ends_move_by_keyboard_and_the_rest_of_the_page_takes_them_along(visitor: Visit) -> None:
    page = visitor.go(f"/timeline?from={DAY_START_MS + 9 * HOUR_MS}&to={DAY_START_MS + 10 * HOUR_MS}")
    ends = page.get_by_role("slider", name="of the selection")
    ends.nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(f"to={DAY_START_MS + 10 * HOUR_MS + 2 * MINUTE_MS}"))
    assert selected(page)[0] == DAY_START_MS + 9 * HOUR_MS
    expect(ends.nth(1)).to_be_focused()
    expect(ends.nth(1)).to_have_attribute("aria-valuetext", "10:02")
    page.keyboard.press("Home")  # an end never passes the beginning
    expect(page).to_have_url(re.compile(f"to={DAY_START_MS + 9 * HOUR_MS + MINUTE_MS}"))
    page.get_by_role("link", name="Zoom in to 1 h").click()
    expect(page).to_have_url(re.compile(f"z=1h.*to={DAY_START_MS + 9 * HOUR_MS + MINUTE_MS}"))
    page.locator("#selection").get_by_role("link", name="Clear").click()
    expect(page).not_to_have_url(re.compile("to="))
    expect(page.get_by_role("slider", name="of the selection")).to_have_count(0)
    page.wait_for_function("parseInt(sessionStorage.getItem('selection')) % 3600000 === 0")


def test_single_keys_begin_and_end_it_at_the_frame_on_the_stage(visitor: Visit) -> None:
    page = visitor.go("/timeline")
    page.locator("h1").focus()
    page.keyboard.press("b")
    expect(page.locator("#selection")).to_contain_text("Selected from")
    expect(page.locator(".scrubbing")).to_be_visible()
    begun = int(re.findall(r"from=(\d+)", page.url)[0])
    options = "{key: 'ArrowLeft', bubbles: true, cancelable: true}"
    # In a field it moves the cursor.
    assert page.evaluate(
        f"document.querySelector('#go').dispatchEvent(new KeyboardEvent('keydown', {options}))"
    )
    page.locator("h1").press("ArrowLeft")  # whatever has the focus
    expect(page.locator("#stage")).not_to_have_attribute("data-ms", str(begun))
    expect(page.locator("#selection a", has_text="End here")).to_have_attribute("href", re.compile("to="))
    page.keyboard.press("e")  # an earlier frame: the ends change places
    start, end = selected(page)
    assert start < end == begun


def test_it_is_chosen_by_links_without_scripts(browser: Browser, site: Site) -> None:
    found = visit(browser, site, java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = found.go(f"/timeline?frame={site.frame_id}")
    expect(page.locator(".lane")).to_be_hidden()
    page.get_by_role("link", name="Begin here").click()
    page.locator("a.step.back").click()
    page.get_by_role("link", name="End here").click()
    expect(page.locator("#selection")).to_contain_text("selected")
    address = page.locator("#selection a", has_text="another voice").get_attribute("href") or ""
    page.locator("#selection").get_by_role("link", name="In another voice").click()
    expect(page).to_have_url(f"{site.origin}{address}")
    found.context.close()
