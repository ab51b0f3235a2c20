"""An answer's quotes in a real browser: what they show, where they lead, and what is copied of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.end_to_end.pages_site import Site, Visit, visit
from tests.end_to_end.programs import eventually


@pytest.fixture
def reader(browser: Browser, answered: Site) -> Iterator[Visit]:
    """At the answer, with a clipboard."""
    found = visit(browser, answered, permissions=["clipboard-read", "clipboard-write"])
    found.go(answered.answer)
    yield found
    found.context.close()
    assert found.complaints == []


def test_a_quote_shows_on_the_picture_where_its_words_begin(reader: Visit) -> None:
    page = reader.page
    assert page.locator(".answer .quote").count() > 1
    assert page.evaluate(
        """async () => {
          const quote = document.querySelector('.quote:has(rect.inner)')
          const image = quote.querySelector('img')
          image.scrollIntoView()
          await image.decode()
          const a = quote.querySelector('rect.inner').getBoundingClientRect()
          const b = image.getBoundingClientRect()
          const whole = image.clientWidth * image.naturalHeight / image.naturalWidth
          return image.naturalWidth > 0 && image.clientHeight >= whole - 1
            && a.left >= b.left && a.left < b.right && a.top >= b.top && a.bottom <= b.bottom
        }"""
    )
    assert page.locator(".quote time").first.get_attribute("datetime")
    assert page.locator(".quote figcaption").first.inner_text().count("Nov") == 1, "a clock has its day"


def test_a_number_opens_its_frame_and_the_way_back_is_where_one_was(reader: Visit) -> None:
    page = reader.page
    number = page.locator(".quote:has(rect.inner) figcaption b").first.text_content()
    cite = page.locator(f'.answer .cite[href$=".1.{number}"]')
    cite.focus()
    place = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/frames/*?cite=*.1.{number}")
    expect(page.locator("#mark rect").first).to_be_visible()
    page.get_by_role("link", name="Back to answer").click()
    page.wait_for_url("**#t1")
    page.go_back()
    page.go_back()
    expect(cite).to_be_visible()
    eventually(lambda: page.evaluate("scrollY") == place, what="the place where one was")


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

    page.get_by_role("button", name="Copy", exact=True).click()
    markdown = copied()
    chat = reader.site.answer.split("#")[0].rsplit("/", 1)[1]
    exported = page.request.get(f"{reader.site.origin}/chat/{chat}/turns/1/export?fmt=md")
    assert markdown == exported.text()
    page.reload()
    page.click(".turn .more > summary")
    page.get_by_role("button", name="Copy as HTML").click()
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
    page.click(".turn .more > summary")
    page.get_by_role("button", name="Source 2 is wrong").click()
    expect(page.get_by_text("You marked it wrong")).to_be_visible()
    expect(numbers).to_have_count(before - 1)
    expect(page.get_by_role("button", name="Answer again without it")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(numbers).to_have_count(before)


def test_citations_are_links_without_scripts(browser: Browser, answered: Site) -> None:
    found = visit(browser, answered, java_script_enabled=False)
    page = found.go(answered.answer)
    source = page.locator("figure.quote:has(rect.inner) a[data-citation]").first
    found.go(str(source.get_attribute("href")))
    expect(page.locator("#mark rect.inner").first).to_be_attached()
    found.go(answered.answer)
    page.get_by_role("link", name="Export…").click()
    expect(page.get_by_role("heading", name="Export an answer")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Bundle").click()
    assert download.value.suggested_filename.endswith(".zip")
    found.context.close()
