"""A citation in a real browser: its proof by pointer, keyboard and touch, and what is copied of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.end_to_end.pages_site import Site, Visit, visit
from tests.end_to_end.programs import eventually

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def reader(browser: Browser, answered: Site) -> Iterator[Visit]:
    """At the answer, with a clipboard."""
    found = visit(browser, answered, permissions=["clipboard-read", "clipboard-write"])
    found.go(answered.answer)
    yield found
    found.context.close()
    assert found.complaints == []


def box_is_inside(page: Page) -> bool:
    """Whether the boxed words lie within the crop that is shown, and the crop has arrived."""
    return bool(
        page.evaluate(
            """async () => {
              const image = document.querySelector('.preview img')
              await image.decode()
              const [rect] = document.querySelectorAll('.preview rect.inner')
              const a = rect.getBoundingClientRect(), b = image.getBoundingClientRect()
              return image.naturalWidth > 0 && a.left >= b.left && a.right <= b.right
                && a.top >= b.top && a.bottom <= b.bottom
            }"""
        )
    )


def test_a_citation_shows_its_words_under_the_pointer(reader: Visit) -> None:
    """ux, 7.3, and WCAG 1.4.13: hoverable, dismissible, persistent."""
    page = reader.page
    cite, preview = page.locator(".answer .cite").first, page.locator(".preview")
    card = page.locator(".proof").first
    cite.hover()
    expect(preview).to_be_visible()
    assert box_is_inside(page)
    expect(preview.locator(".said")).to_have_text(card.locator(".said").inner_text())
    expect(preview.locator("mark").first).to_be_visible()
    expect(preview).to_contain_text("Quote found")
    edges = preview.bounding_box()
    assert edges is not None
    assert edges["x"] >= 0 and edges["x"] + edges["width"] <= 1440
    assert edges["y"] >= 0 and edges["y"] + edges["height"] <= 900
    preview.hover()
    page.wait_for_timeout(500)
    expect(preview).to_be_visible()
    page.keyboard.press("Escape")
    expect(preview).to_have_count(0)
    cite.hover()
    expect(preview).to_be_visible()
    page.mouse.move(5, 5)
    expect(preview).to_have_count(0)


def test_a_citation_shows_its_words_to_the_keyboard_and_opens_the_frame(reader: Visit) -> None:
    page = reader.page
    cite = page.locator(".answer .cite").nth(1)
    page.locator(".answer .cite").first.focus()
    page.keyboard.press("Tab")
    expect(cite).to_be_focused()
    expect(page.locator(".preview")).to_be_visible()
    expect(cite).to_have_attribute("aria-describedby", "preview")
    place = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    page.wait_for_url("**/frames/*?cite=*.1.2")
    expect(page.locator("#mark rect").first).to_be_visible()
    page.get_by_role("link", name="Back to answer").click()
    page.wait_for_url("**#t1")
    page.go_back()
    page.go_back()
    expect(cite).to_be_visible()
    eventually(lambda: page.evaluate("scrollY") == place, what="the place where one was")


def test_the_first_tap_shows_and_the_second_opens(browser: Browser, answered: Site) -> None:
    found = visit(browser, answered, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    page = found.go(answered.answer)
    cite = page.locator(".answer .cite").first
    cite.tap()
    expect(page.locator(".preview")).to_be_visible()
    assert "/chat/" in page.url
    page.locator(".question").first.tap()
    expect(page.locator(".preview")).to_have_count(0)
    cite.tap()
    expect(page.locator(".preview")).to_be_visible()
    cite.tap()
    page.wait_for_url("**/frames/*?cite=*.1.1")
    found.context.close()
    assert found.complaints == []


def test_what_is_copied_is_what_is_exported(reader: Visit) -> None:
    page = reader.page

    def copied(kind: str = "text/plain") -> str:
        expect(page.locator("[data-toast]")).to_contain_text("Copied")
        return str(
            page.evaluate(
                """async kind => {
                  const [item] = await navigator.clipboard.read()
                  return await (await item.getType(kind)).text()
                }""",
                kind,
            )
        )

    page.get_by_role("button", name="Markdown").click()
    markdown = copied()
    chat = reader.site.answer.split("#")[0].rsplit("/", 1)[1]
    exported = page.request.get(f"{reader.site.origin}/chat/{chat}/turns/1/export?fmt=md")
    assert markdown == exported.text()
    page.reload()
    page.get_by_role("button", name="HTML").click()
    assert "<blockquote>" in copied("text/html")
    page.reload()
    page.locator(".answer .cite").first.focus()
    page.keyboard.press("c")
    text = copied()
    assert "frame " in text and "/frames/" in text and "?cite=" in text
    assert copied("text/html").startswith("<a href=")


def test_a_source_is_marked_wrong_in_place_and_back(reader: Visit) -> None:
    page = reader.page
    numbers = page.locator(".answer .cite")
    before = numbers.count()
    page.get_by_role("button", name="Source 2 is wrong").click()
    expect(page.get_by_text("You marked it wrong")).to_be_visible()
    expect(numbers).to_have_count(before - 1)
    expect(page.get_by_role("button", name="Answer again without it")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(numbers).to_have_count(before)


def test_citations_are_links_without_scripts(browser: Browser, answered: Site) -> None:
    found = visit(browser, answered, java_script_enabled=False)
    page = found.go(answered.answer)
    page.locator(".answer .cite").first.click()
    page.wait_for_url("**/frames/*?cite=*.1.1")
    expect(page.locator("#mark rect.inner").first).to_be_attached()
    line = page.locator("svg.boxes a.line").first.get_attribute("href")
    found.go(str(line))
    expect(page.locator("#mark rect.inner")).to_have_count(1)
    found.go(answered.answer)
    page.get_by_role("link", name="Export…").click()
    expect(page.get_by_role("heading", name="Export an answer")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Bundle").click()
    assert download.value.suggested_filename.endswith(".zip")
    found.context.close()
