"""Files for a question in a browser: chosen, pasted, dropped, taken away, refused, and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests import documents
from tests.end_to_end.talk_site import Talk, TalkSite, talk, talk_site

_FILES = """
([kind, name, text]) => {
  const data = new DataTransfer()
  data.items.add(new File([text], name, { type: 'text/plain' }))
  const place = document.querySelector('#message')
  if (kind === 'paste') {
    place.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
    return
  }
  for (const name of ['dragenter', 'dragover', 'drop']) {
    const event = new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true })
    const isTaken = !document.querySelector('main').dispatchEvent(event)
    if (name !== 'dragenter' && !isTaken) throw new Error(`${name} was not taken`)
  }
}
"""


@pytest.fixture
def site(tmp_path: Any) -> Iterator[TalkSite]:
    with talk_site(tmp_path, sees=True) as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, site: TalkSite) -> Iterator[Talk]:
    found = talk(browser, site)
    yield found
    found.context.close()
    assert found.complaints == []


def chips(page: Page) -> list[str]:
    return page.locator("[data-files] [data-file] label").all_inner_texts()


def asked_with(page: Page, turn: str) -> list[str]:
    """The files that a question on the page was asked with."""
    return [" ".join(text.split()) for text in page.locator(f"{turn} .asked .file").all_inner_texts()]


def attached(page: Page, name: str) -> None:
    expect(page.locator("[data-files-state]")).to_have_text(f"{name} attached.")


def choose(page: Page, *files: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.click(".composer .more > summary")
        page.get_by_role("button", name="Attach").click()
    chooser.value.set_files(list(files))


def test_files_are_chosen_pasted_and_dropped_and_go_with_the_question(
    visitor: Talk, site: TalkSite, tmp_path: Path
) -> None:
    site.stub.reply("A plan.")
    page = visitor.go("/chat")
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(documents.pdf("words of the paper"))
    choose(page, paper)
    attached(page, "paper.pdf")
    page.evaluate(_FILES, ["paste", "pasted.txt", "words that were pasted"])
    attached(page, "pasted.txt")
    page.evaluate(_FILES, ["drop", "dropped <i>.txt", "words that were dropped"])
    attached(page, "dropped <i>.txt")
    assert chips(page) == ["paper.pdf", "pasted.txt", "dropped <i>.txt"]
    found = Axe().run(page, context="#composer")
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("button", name="Remove pasted.txt").click()
    assert chips(page) == ["paper.pdf", "dropped <i>.txt"]
    expect(page.locator("#message")).to_be_focused()
    visitor.ask("What do they say?")
    page.wait_for_url("**/chat/*#t1")
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    assert "| words of the paper" in site.stub.prompt() and "| words that were dropped" in site.stub.prompt()
    assert "pasted" not in site.stub.prompt()
    assert asked_with(page, "#t1") == [
        "Attached: paper.pdf",
        "Attached: dropped <i>.txt",
    ]
    with page.expect_download() as download:
        page.get_by_role("link", name="Attached: paper.pdf").click()
    assert download.value.path().read_bytes() == paper.read_bytes()
    # The next question of the chat, without a reload: its chips are its own.
    assert chips(page) == []
    expect(page.locator("[data-attach]")).not_to_have_attribute("hidden", "")  # the script is here
    page.evaluate(_FILES, ["drop", "second.txt", "second words"])
    attached(page, "second.txt")
    visitor.ask("And this?")
    expect(page.locator("#t2")).to_have_attribute("aria-busy", "false")
    assert chips(page) == []
    assert asked_with(page, "#t2") == ["Attached: second.txt"]


def test_a_refused_file_says_why_and_the_question_waits_for_the_others(
    visitor: Talk, site: TalkSite, tmp_path: Path
) -> None:
    site.stub.reply("Nothing.")
    page = visitor.go("/chat")
    odd, large = tmp_path / "odd.bin", tmp_path / "large.txt"
    odd.write_bytes(b"\x7fELF\0\0\0")
    large.write_bytes(b"x" * 25_000_001)
    choose(page, odd)
    expect(page.locator("[data-files-state]")).to_contain_text(
        "odd.bin cannot be attached: only text, HTML, PDF"
    )
    choose(page, large)
    expect(page.locator("[data-files-state]")).to_have_text("large.txt is larger than 25 MB.")
    assert chips(page) == []
    # Sent while its file is on the way: it goes out with it.
    page.fill("#message", "What does it say?")
    page.evaluate(_FILES, ["paste", "late.txt", "late words"])
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url("**/chat/*#t1")
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    assert "| late words" in site.stub.prompt()
    visitor.complaints[:] = [each for each in visitor.complaints if "415" not in each]


def test_an_image_goes_to_a_model_that_sees_and_a_change_keeps_it(
    visitor: Talk, site: TalkSite, tmp_path: Path
) -> None:
    site.stub.reply("Red.")
    shot = tmp_path / "shot.png"
    shot.write_bytes(documents.image())
    page = visitor.go("/chat")
    choose(page, shot)
    attached(page, "shot.png")
    visitor.ask("What colour is it?")
    page.wait_for_url("**/chat/*#t1")
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    page.get_by_role("link", name="Edit question 1 and ask again").click()
    expect(page.locator("#editing")).to_be_visible()
    assert chips(page) == ["shot.png"]
    visitor.ask("Which colour is it?")
    expect(page.locator("#t2")).to_have_attribute("aria-busy", "false")
    for request in site.stub.requests:
        kinds = [part["type"] for part in request["messages"][-1]["content"]]
        assert kinds == ["text", "image_url"]


def test_without_scripts_the_form_carries_them(browser: Browser, site: TalkSite, tmp_path: Path) -> None:
    site.stub.reply("Words.")
    found = talk(browser, site, java_script_enabled=False)
    notes, odd = tmp_path / "notes.txt", tmp_path / "odd.bin"
    notes.write_text("words of the notes", encoding="utf-8")
    odd.write_bytes(b"\x7fELF\0\0\0")
    page = found.go("/chat")
    page.get_by_label("Files", exact=True).set_input_files([notes, odd])
    found.ask("What do they say?")
    expect(page.locator("#refusal")).to_contain_text("odd.bin cannot be attached")
    box = page.get_by_role("checkbox", name="notes.txt")
    expect(box).to_be_checked()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#t1 .asked .file")).to_have_text("Attached: notes.txt")
    expect(page.locator("#t1")).to_contain_text("Words.")  # the page comes back by itself until it is there
    assert "| words of the notes" in site.stub.prompt()
    found.context.close()


def test_enter_asks_once(visitor: Talk, site: TalkSite) -> None:
    """A page is enhanced when it is there, and when htmx has looked at it: each form once all the same."""
    site.stub.reply("Once.")
    page = visitor.go("/chat")
    with page.expect_event("filechooser"):
        page.click(".composer .more > summary")
        page.get_by_role("button", name="Attach").click()
    page.fill("#message", "How often?")
    page.press("#message", "Enter")
    page.wait_for_url("**/chat/*#t1")
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    page.fill("#message", "And now?")
    page.press("#message", "Enter")
    expect(page.locator("#t2")).to_have_attribute("aria-busy", "false")
    page.wait_for_timeout(500)
    assert [request["messages"][-1]["content"] for request in site.stub.requests] == [
        "How often?",
        "And now?",
    ]
    assert page.locator("#refusal").count() == 0
