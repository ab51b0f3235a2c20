"""Every state of a turn is accessible and fits, at three widths in two themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.talk_site import TalkSite, talk, talk_site

STATES = {
    "running": ".draft",
    "approval": "[data-waits]",
    "failed call": ".call-error",
    "stopped": ".answer",
}


@pytest.fixture(scope="module")
def states(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TalkSite, dict[str, str]]]:
    """The site, and the address of a chat in each state. One runs for as long as anybody looks."""
    with talk_site(tmp_path_factory.mktemp("states"), answer_s=3_600) as site:
        yield site, {name: _made(browser, site, name) for name in STATES}


def _made(browser: Browser, site: TalkSite, name: str) -> str:
    found = talk(browser, site)
    page = found.go("/chat")
    stub = site.stub
    stub._script.clear()
    files = [("read_file", {"path": str(site.notes / each)}) for each in ("plan.txt", "none.txt")]
    if name == "approval":
        stub.call(*files, text="I look into both files.").reply("never asked")
    elif name == "failed call":
        stub.call(*files, ("calculator", {"expression": "7/0"})).reply("Only one of them is there.")
    else:
        pace_s = 1 if name == "running" else 0.05
        stub.reply("A first line.\n\n" + "and words behind it, one after the other " * 200, pace_s=pace_s)
    found.ask(f"A question that ends as: {name}?")
    page.wait_for_url("**/chat/*#t1")
    if name == "failed call":
        for left in (2, 1):
            expect(page.locator("[data-waits]")).to_have_count(left)
            page.locator("[data-waits]").first.get_by_role("button", name="Allow once").click()
    if name == "stopped":
        expect(page.locator("#t1 .draft")).to_contain_text("words behind it")
        page.locator("#t1").get_by_role("button", name="Stop").click()
    if name in ("stopped", "failed call"):
        expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    expect(page.locator(STATES[name]).first).to_be_attached()
    address = page.url.removeprefix(site.origin)
    found.context.close()
    return address


def test_every_state_is_accessible_and_fits(
    browser: Browser, states: tuple[TalkSite, dict[str, str]]
) -> None:
    site, addresses = states
    found = talk(browser, site, **FOR_AXE)
    for name, address in addresses.items():
        page = found.go(address)
        expect(page.locator(STATES[name]).first).to_be_visible()
        if name == "approval":
            page.get_by_text("Always allow…").first.click()
        assert_clean_at_every_width(page, name)
    page = found.go(f"{addresses['stopped'].partition('#')[0]}?edit=1")
    expect(page.locator("#editing")).to_be_visible()
    assert_clean_at_every_width(page, "editing")
    found.go(addresses["running"])
    found.ask("And what comes after that?")
    expect(page.locator("[data-queued]")).to_be_visible()
    assert_clean_at_every_width(page, "queued")
    page.locator("[data-take-back]").click()
    found.context.close()
    assert found.complaints == []
