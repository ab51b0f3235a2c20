"""The pages in a real browser: accessible, within the content policy, by keyboard, without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Request, Route, expect

from store.deletion.deletion import delete_frames
from store.search.filters import Filters
from store.search.search import search
from store.spool.process_state import CaptureState
from tests.end_to_end.accessibility import violations
from tests.end_to_end.pages_site import NOW_MS, Site, Visit, visit
from tests.end_to_end.programs import eventually
from tests.factories import CASES
from tests.webapp.pages.test_assets import ROOT


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[Visit]:
    found = visit(browser, site)
    yield found
    found.context.close()
    assert found.complaints == []


def test_a_file_is_imported_and_its_source_deleted_without_scripts(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "places.csv").write_text("name,latitude,longitude\nOffice,48.1,11.5\n,1,2\n")
    page = visit(browser, site, java_script_enabled=False).go("/sources/places")
    page.set_input_files("#file", tmp_path / "places.csv")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#receipt")).to_contain_text("1 added, 0 updated, 0 there already")
    expect(page.locator("#receipt")).to_contain_text("it has no name")
    expect(page.locator("#listed")).to_contain_text("Office")
    page.get_by_text("Delete 1 place").click()
    page.get_by_label("Type DELETE to confirm").fill("DELETE")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("Nothing imported yet")).to_be_visible()


def test_how_the_screen_is_recorded_is_chosen(visitor: Visit, site: Site) -> None:
    own, names = site.own, ("DP-1", "HDMI-2")
    state = CaptureState.read(own.data_dir.spool) or CaptureState(1, NOW_MS, NOW_MS)
    replace(state, monitors=names, connected=names).write(own.data_dir.spool)
    page = visitor.go("/settings/recording")
    page.get_by_label("Pace", exact=True).fill("0")
    page.get_by_role("checkbox", name="HDMI-2").press("Space")
    page.keyboard.press("Enter")
    problem = page.get_by_role("alert").filter(has_text="0.1 is filled in")
    expect(problem).to_be_visible()
    expect(page.get_by_label("Pace", exact=True)).to_have_value("0.1")
    expect(page.get_by_role("checkbox", name="HDMI-2")).not_to_be_checked()
    assert violations(page) == []
    eventually(lambda: page.title() and visitor.complaints, what="the browser's complaint of the refusal")
    visitor.complaints.clear()
    page.get_by_label("Pace", exact=True).fill("2")
    page.locator("#recorded").get_by_role("button", name="Save").click()
    page.wait_for_url("**/settings/recording#recorded")
    expect(page.get_by_label("Pace", exact=True)).to_have_value("2")
    assert (own.capture.monitors, own.capture.interval_s) == (("DP-1",), 2.0)
    own.data_dir.recording.unlink()
    state.write(own.data_dir.spool)


def test_chats_are_found_while_their_words_are_typed(visitor: Visit, answered: Site) -> None:
    page = visitor.go("/chats")
    row = page.locator(".chat-list li a").first
    title = row.inner_text()
    field = page.get_by_role("searchbox", name="Search chats")
    field.press_sequentially("zzzz")
    expect(page.get_by_role("status").filter(has_text="0 chats with “zzzz”")).to_be_visible()
    expect(field).to_be_focused()
    field.fill(title.split()[-1].strip("?").upper())
    expect(row).to_have_text(title)
    page.keyboard.press("Tab")
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/chat/\d+$"))


def test_the_sheet_and_the_palette_are_accessible(visitor: Visit) -> None:
    page = visitor.go("/search")
    page.locator("h1").focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("14:3")
    page.keyboard.type("2")
    row = page.locator("#palette-list a", has_text="Fri 20 Nov at 14:32")
    expect(row).to_be_visible()
    assert violations(page) == []
    row.click()
    expect(page).to_have_url(re.compile(r"/timeline\?at=1795156320000$"))


def test_the_palette_goes_by_what_was_typed_last_however_slow_the_answers_are(visitor: Visit) -> None:
    page, held = visitor.go("/days"), list[Route]()
    page.locator("h1").focus()
    page.keyboard.press("Control+k")
    first = page.locator("#palette-list [role=option]").first
    expect(first).to_be_visible()
    page.route(re.compile(r"/palette\?q=imp"), lambda route: held.append(route))
    page.keyboard.type("imp")
    eventually(lambda: page.title() and len(held) == 1, what="a list that is late")
    page.fill("#palette-q", "voic")
    expect(first).to_contain_text("Voices")
    held.pop().fulfill(body='<a role="option" href="/sources">Imports</a>')
    expect(first).to_contain_text("Voices")
    page.fill("#palette-q", "import")
    page.keyboard.press("Enter")  # what is shown are still the voices
    eventually(lambda: page.title() and len(held) == 1, what="the next list that is late")
    assert urlsplit(page.url).path == "/days"
    held.pop().continue_()
    page.wait_for_url("**/sources")


def test_the_rows_of_the_palette_are_walked_and_a_command_is_done(visitor: Visit) -> None:
    page = visitor.go("/status")
    page.locator("h1").focus()
    page.keyboard.press("Control+k")
    page.keyboard.type("theme")
    chosen = page.locator("#palette-list [aria-selected=true]")
    expect(chosen).to_have_text("Theme of the system")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(chosen).to_have_text("Dark theme")
    chosen_id = chosen.get_attribute("id") or ""
    expect(page.locator("#palette-q")).to_have_attribute("aria-activedescendant", chosen_id)
    page.keyboard.press("Enter")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    assert urlsplit(page.url).path == "/status"


def test_rows_that_are_walked_before_they_are_there_are_those_of_what_was_typed(visitor: Visit) -> None:
    page, held = visitor.go("/days"), list[Route]()
    page.locator("h1").focus()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-list [role=option]").first).to_be_visible()
    page.route(re.compile(r"/palette\?q=theme&"), lambda route: held.append(route))
    page.keyboard.type("theme")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    eventually(lambda: page.title() and len(held) == 1, what="a list that is late")
    held.pop().continue_()
    expect(page.locator("#palette-list [aria-selected=true]")).to_have_text("Dark theme")


def test_a_palette_that_is_closed_says_nothing_and_one_that_fails_offers_nothing(
    browser: Browser, site: Site
) -> None:
    visitor = visit(browser, site)  # the browser complains of the list that is not had, sooner or later
    page, held = visitor.go("/days"), list[Route]()
    page.locator("h1").focus()
    page.route("**/palette?*", lambda route: held.append(route))
    page.keyboard.press("Control+k")
    eventually(lambda: page.title() and len(held) == 1, what="a list that is late")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    page.unroute("**/palette?*")
    page.keyboard.press("Control+k")
    page.keyboard.type("light th")
    expect(page.locator("#palette-list [aria-selected=true]")).to_have_text("Light theme")
    assert page.locator("[data-toast]").inner_text() == ""
    page.route("**/palette?*", lambda route: route.abort())
    page.fill("#palette-q", "budget")
    expect(page.locator("[data-toast]")).to_contain_text("cannot be reached")
    expect(page.locator("#palette-list [role=option]")).to_have_count(0)
    visitor.context.close()


@pytest.mark.parametrize("path", ["/timeline", "/chat", "/settings/storage"])
def test_words_typed_after_a_slash_are_searched_for_and_no_keys(visitor: Visit, path: str) -> None:
    page, asked = visitor.go(path), list[str]()
    page.on("request", lambda request: asked.append(request.url) if "/search" in request.url else None)
    page.keyboard.type("/tgbthe command")  # each of the letters is a key of the timeline
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=tgbthe+command*")
    expect(page.locator("#q")).to_have_value("tgbthe command")
    expect(page.locator("#results")).to_contain_text("tgbthe")
    assert len(asked) <= 2, asked  # from the search itself once more, when nothing is typed any more
    page.go_back()
    expect(page.locator("#search-dialog")).to_be_hidden()
    visitor.go(path).keyboard.type("/old")
    page.keyboard.press("Escape")
    page.keyboard.type("/new")
    expect(page.locator("#q, #search-words").last).to_have_value("new")


def test_the_light_opens_status_and_pause_by_keyboard(visitor: Visit) -> None:
    page = visitor.go("/search")
    page.locator("#capture-light-link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#now")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#now")).to_be_hidden()
    expect(page.locator("#capture-light-link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause for 15 minutes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#capture-light-link")).to_contain_text("Paused")
    expect(page).to_have_url(re.compile("/search$"))
    page.locator("#capture-light-link").click()
    page.get_by_role("button", name="Resume recording").click()
    expect(page.locator("#capture-light-link")).to_contain_text("REC")


def test_the_popover_of_the_light_outlives_the_light_it_was_opened_from(visitor: Visit) -> None:
    page, held = visitor.go("/search"), list[Route]()
    address, replaced = page.url, "(old => old.replaceWith(old.cloneNode(true)))(window['capture-light'])"
    page.route("**/status/now?*", lambda route: held.append(route))
    page.locator("#capture-light-link").click()
    eventually(lambda: page.title() and len(held) == 1, what="a popover that is late")
    page.evaluate(replaced)
    held.pop().continue_()
    expect(page.get_by_role("button", name="Pause for 15 minutes")).to_be_focused()
    expect(page.locator("#now")).to_be_in_viewport(ratio=1)
    page.evaluate(replaced)
    page.keyboard.press("Escape")
    expect(page.locator("#capture-light-link")).to_be_focused()
    page.keyboard.press("Enter")
    eventually(lambda: page.title() and len(held) == 1, what="one that is refused")
    held.pop().fulfill(status=500, body="no")
    expect(page.locator("#now")).to_be_empty()  # the page of the light's link
    assert page.url != address
    eventually(lambda: page.title() and visitor.complaints, what="the browser's complaint")
    visitor.complaints.clear()


# -- the timeline ------------------------------------------------------------------------------


def test_the_frame_dominates_and_band_head_and_ticks_share_their_edges(visitor: Visit) -> None:
    page = visitor.go("/timeline")
    boxes = {
        name: page.locator(name).first.bounding_box()
        for name in (".screen", ".band", ".scrub", ".ticks", "main", ".rail")
    }
    screen, band, main, rail = boxes[".screen"], boxes[".band"], boxes["main"], boxes[".rail"]
    assert screen and band and main and rail
    assert screen["width"] >= 0.6 * (main["width"] - rail["width"]) and screen["y"] + screen["height"] <= 900
    for name in (".scrub", ".ticks"):
        box = boxes[name]
        assert box is not None
        assert abs(box["x"] - band["x"]) <= 1 and abs(box["width"] - band["width"]) <= 1


def test_a_day_is_walked_by_keyboard_within_its_filter(visitor: Visit) -> None:
    """Reloading the address gives the same view."""
    page = visitor.go("/timeline?app=Slack")
    seen = [page.locator("#stage").get_attribute("data-frame")]
    page.locator("[data-scrub]").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#stage")).not_to_have_attribute("data-frame", seen[-1] or "")
        expect(page.locator("#details dd").nth(1)).to_have_text("Slack")
        seen.append(page.locator("#stage").get_attribute("data-frame"))
    assert len(set(seen)) == 5
    expect(page).to_have_url(re.compile(f"frame={seen[-1]}.*app=Slack"))
    text = page.locator("[data-scrub]").get_attribute("aria-valuetext") or ""
    assert re.match(r"\d\d:\d\d, Slack, ", text)
    page.reload()
    assert page.locator("#stage").get_attribute("data-frame") == seen[-1]
    page.locator("[data-scrub]").focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/frames/\d+$"))


def test_hovering_shows_a_small_picture_and_a_click_the_frame(visitor: Visit) -> None:
    page = visitor.go("/timeline")
    band = page.locator(".band").bounding_box()
    assert band is not None
    before = page.locator("#stage").get_attribute("data-frame") or ""
    page.evaluate("document.querySelector('#stage img').isTheSame = true")
    x, y = band["x"] + band["width"] * 0.6, band["y"] + 28
    page.mouse.move(x, y)
    expect(page.locator("[data-bubble] img")).to_have_attribute("src", re.compile("^blob:"))
    page.mouse.click(x, y)
    expect(page.locator("#stage")).not_to_have_attribute("data-frame", before)
    assert page.evaluate("document.querySelector('#stage img').isTheSame"), "a blank between two pictures"
    at = int(page.locator("#stage").get_attribute("data-ms") or 0)
    middle = NOW_MS - (18 * 60 + 3) * 60_000 + round(0.6 * 86_400_000)
    assert abs(at - middle) < 10 * 60_000


def test_a_pointer_that_is_quicker_than_the_marks_is_answered_when_they_come(visitor: Visit) -> None:
    held: list[Route] = []
    visitor.page.route("**/timeline/marks?*", lambda route: held.append(route))
    page = visitor.go("/timeline")
    band = page.locator(".band").bounding_box()
    assert band is not None
    before = page.locator("#stage").get_attribute("data-frame") or ""
    page.mouse.click(band["x"] + band["width"] * 0.6, band["y"] + 28)
    page.mouse.move(band["x"] + band["width"] * 0.5, band["y"] + 28)
    expect(page.locator("[data-bubble]")).to_be_hidden()
    assert held, "the marks were not held back"
    for route in held:
        route.continue_()
    expect(page.locator("[data-bubble] img")).to_have_attribute("src", re.compile("^blob:"))
    expect(page.locator("#stage")).not_to_have_attribute("data-frame", before)


# -- search and frame --------------------------------------------------------------------------


def test_search_pushes_an_address_that_back_restores_as_a_page(visitor: Visit) -> None:
    page = visitor.go("/search")
    page.fill("#q", "command")
    expect(page.locator("mark").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/search\?.*q=command"))
    page.go_back()
    expect(page).to_have_url(f"{visitor.site.origin}/search")
    expect(page.locator("#results mark")).to_have_count(0)
    expect(page.locator("nav.rail")).to_have_count(1)
    expect(page.locator("h1")).to_have_text("Search")
    stored = page.evaluate("JSON.stringify(sessionStorage)")
    assert set(json.loads(stored)) <= {
        "htmx-current-path-for-history",
        "selection",
    }  # as the privacy page says


def test_the_arrows_lead_from_the_field_through_the_hits(visitor: Visit) -> None:
    page = visitor.go("/search")
    expect(page.locator("#q")).to_be_focused()
    page.goto(f"{visitor.site.origin}/search?q=command#q")
    page.locator("#q").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator("[data-hit]").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-hit]").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/frames/\d+\?q=command$"))


def test_a_title_is_offered_while_it_is_typed_and_the_search_stays(visitor: Visit) -> None:
    page = visitor.go("/search")
    before = page.locator("#results").inner_text()
    title = page.locator(".result .head .meta").first.inner_text().strip()
    page.locator("input[name=win]").press_sequentially(title[:4].upper(), delay=20)
    offered = "all => all.map(each => each.value)"
    eventually(
        lambda: title in page.eval_on_selector_all("#names-win option", offered), what="the title is offered"
    )
    assert page.locator("#names-url option").count() == 0
    assert page.locator("#results").inner_text() == before
    assert page.url.endswith("/search")
    page.locator("input[name=win]").fill(title)
    page.locator("input[name=win]").press("Enter")
    page.wait_for_url("**/search?*win=*")


def test_three_pages_load_themselves_and_then_only_the_button(visitor: Visit) -> None:
    page = visitor.go("/search")
    results = page.locator("[data-result]")

    def scrolled_to(count: int) -> bool:
        page.mouse.wheel(0, 20_000)  # as far as the page has been laid out by now
        return results.count() >= count

    for shown in (40, 60):
        eventually(lambda shown=shown: scrolled_to(shown), what=f"{shown} results")
    for _ in range(3):
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(300)
    assert results.count() == 60, "the fourth page waits for the button"
    page.locator("[data-load-more]").click()
    expect(results).to_have_count(80)
    # The first new result takes the focus, once htmx has settled.
    page.wait_for_function("document.activeElement.closest('[data-result]') !== null")


def test_boxes_stand_on_the_words_of_the_picture(visitor: Visit) -> None:
    page = visitor.go(f"/frames/{visitor.site.frame_id}?q=command")
    image = page.locator(".exact img").bounding_box()
    svg = page.locator(".exact .boxes").bounding_box()
    assert image is not None and svg is not None
    assert all(abs(image[side] - svg[side]) <= 1 for side in ("x", "y", "width", "height"))  # type: ignore[literal-required]
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.textContent.trim()").startswith("3")


def test_words_are_selected_on_the_picture_and_steps_load_only_what_is_new(visitor: Visit) -> None:
    page = visitor.go(f"/frames/{visitor.site.frame_id}")
    words = page.locator(".texts text", has_text="command").first
    box = words.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 1, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, middle)
    page.mouse.up()
    assert "command" in page.evaluate("getSelection().toString()")
    page.evaluate("window.isTheSame = true")
    page.locator("h1").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: str(visitor.site.frame_id) not in url)
    expect(page.locator(".near [aria-current]")).to_have_count(1)
    assert page.evaluate("window.isTheSame"), "the page was loaded anew"
    assert page.locator(".exact img").get_attribute("src") == urlsplit(page.url).path.replace(
        "/frames", "/api/v1/frames"
    )


def test_a_deleted_frame_is_confirmed_in_a_dialog(visitor: Visit) -> None:
    target = search(visitor.site.own.database, "", Filters(0), order="oldest").hits[0].frame_id
    page = visitor.go(f"/frames/{target}")
    page.click("text=Delete…")
    dialog = page.locator("dialog#delete")
    expect(dialog).to_be_visible()
    assert violations(page) == []
    dialog.get_by_text("Keep it").click()
    expect(dialog).not_to_be_visible()
    page.click("text=Delete…")
    dialog.get_by_role("button", name="Delete").click()
    receipt = page.locator("#erase").get_by_text("1 frame deleted")
    expect(receipt).to_be_visible()
    page.reload()  # asks nobody whether to send the form again
    expect(receipt).to_be_visible()


def test_a_refused_form_is_reloaded_and_gone_back_to_as_its_page(visitor: Visit) -> None:
    page = visitor.go("/privacy")
    page.locator("summary", has_text="Exclude an app").click()
    page.locator("#rules input[name=url]").fill("https://")
    page.locator("#rules").get_by_role("button", name="Exclude", exact=True).click()
    expect(page.locator("[aria-invalid]")).to_have_count(1)
    page.go_back()
    expect(page.locator("h1")).to_have_text("Privacy")
    for step in (page.go_forward, page.reload):
        told = step()
        assert told and told.request.method == "GET" and told.status == 200
    eventually(lambda: page.title() and visitor.complaints, what="the browser's complaint")
    visitor.complaints.clear()


def test_a_step_to_a_frame_that_was_deleted_meanwhile_says_so(visitor: Visit) -> None:
    own = visitor.site.own
    first = search(own.database, "", Filters(0), order="oldest").hits[0].frame_id
    page = visitor.go(f"/frames/{first}")
    after = page.locator("#next")
    delete_frames(own.database, own.media, [int((after.get_attribute("href") or "").split("/")[-1])])
    after.click()
    expect(page.locator("h1")).to_have_text("No such frame")
    eventually(lambda: page.title() and visitor.complaints, what="the browser's complaint")
    visitor.complaints.clear()


# -- chat --------------------------------------------------------------------------------------


def test_a_question_is_answered_in_place_with_clickable_proof(visitor: Visit) -> None:
    page = visitor.go("/chat")
    page.select_option("select[name=when]", "today")
    page.fill("#message", "What did I do today?")
    with page.expect_request(
        lambda request: request.method == "POST" and request.url.endswith("/chat")
    ) as sent:
        page.keyboard.press("Enter")
    form = dict(re.findall(r'name="(\w+)"\r\n\r\n(.*?)\r\n', sent.value.post_data or ""))
    assert (form["when"], form["tz"]) == ("today", "Asia/Shanghai")
    expect(page).to_have_url(re.compile(r"/chat/\d+#t1$"))
    page.fill("#message", "And in Slack?")
    page.select_option("select[name=when]", "today")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#t2 .went")).to_be_visible()
    expect(page.locator("#message")).to_have_value("")
    page.locator("#t1 a.cite").first.click()
    expect(page.locator("h1")).to_contain_text(":")
    assert page.locator(".current rect").count() >= 2
    page.click("text=Back to answer")
    expect(page).to_have_url(re.compile(r"/chat/\d+#t1$"))


def test_a_question_without_a_time_is_about_everything(visitor: Visit) -> None:
    page = visitor.go("/chat")
    page.fill("#message", "what happened")
    expect(page.locator("[data-understood]")).to_have_text("Everything remembered")
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(re.compile(r"/chat/\d+#t1$"))
    expect(page.locator(".scope > summary").first).to_contain_text("everything")


def test_a_menu_closes_when_it_is_left_and_when_its_note_is_sent(visitor: Visit, answered: Site) -> None:
    page = visitor.go(answered.answer)
    menu = page.locator("#composer .more")
    menu.locator("summary").click()
    page.locator("#message").focus()
    expect(menu).not_to_have_attribute("open", "")
    page.fill("#message", "And in Slack?")
    menu.locator("summary").click()
    page.fill("[name=style_note]", "in one line")
    page.keyboard.press("Enter")
    expect(page.locator(".turn .went").nth(1)).to_be_visible()
    expect(menu).not_to_have_attribute("open", "")
    visitor.go("/days/2026-11-20").locator(".more > summary").click()
    page.get_by_text("Export as Markdown").click()
    expect(page.locator("main .more[open]")).to_have_count(0)
    expect(page.locator("main .more > summary")).to_be_focused()


def test_a_page_is_printed_dark_on_light_without_buttons(browser: Browser, site: Site) -> None:
    found = visit(browser, site, color_scheme="dark")
    page = found.go("/days/2026-11-20")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(247, 248, 250)"
    assert page.locator("main :is(button, .button)").filter(visible=True).count() == 0
    expect(page.locator(".episode").first).to_be_visible()
    found.context.close()


# -- without scripts ---------------------------------------------------------------------------


def test_everything_works_without_scripts(browser: Browser, answered: Site) -> None:
    found = visit(browser, answered, java_script_enabled=False)
    page = found.go("/search")
    page.fill("#q", "command")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("[data-hit]").first.click()
    expect(page).to_have_url(re.compile("/frames/"))
    expect(page.locator(".current rect").nth(1)).to_be_attached()
    page.click("text=Open in timeline")
    before = page.locator("#stage").get_attribute("data-frame") or ""
    page.locator(".step.back").press("Enter")  # a pointer may miss it while the picture loads
    expect(page.locator("#stage")).not_to_have_attribute("data-frame", before)
    expect(page.locator("#stage")).to_have_attribute("data-frame", re.compile(r"\d"))
    page.goto(f"{answered.origin}{answered.answer}")
    page.locator("a.cite").first.click()
    expect(page.locator("text=Back to answer")).to_have_count(1)
    page.goto(f"{answered.origin}/settings/display")
    page.check("text=Dark")
    page.click("text=Save")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator("#capture-light-link").click()
    expect(page).to_have_url(re.compile("/status$"))
    page.click("text=15 min")
    expect(page.locator("text=Recording is paused")).to_have_count(1)
    page.click("text=Resume recording")
    expect(page.locator("text=Recording is paused")).to_have_count(0)
    found.context.close()
    assert found.complaints == []


# -- time --------------------------------------------------------------------------------------


def test_the_page_follows_the_zone_of_the_browser(browser: Browser, site: Site) -> None:
    found = visit(browser, site, timezone_id="America/New_York")
    found.context.clear_cookies(name="tz")
    page = found.go("/timeline")
    expect(page.locator(".zone")).to_contain_text("America/New_York")
    found.context.close()


def test_a_page_stays_where_it_is_when_the_browser_has_moved(browser: Browser, site: Site) -> None:
    """Somebody may be writing on it; a browser is also unsure of its zone while it starts a page."""
    found = visit(browser, site, timezone_id="America/New_York")
    found.context.add_cookies([{"name": "tz", "value": "Asia/Shanghai", "url": site.origin}])
    asked: list[str] = []
    found.page.on(
        "request", lambda request: asked.append(request.url) if request.is_navigation_request() else None
    )
    page = found.go("/timeline")
    zone = page.locator(".zone")
    expect(zone).to_contain_text("Asia/Shanghai – this browser is in America/New_York now")
    assert len(asked) == 1
    page = found.go("/timeline")
    expect(zone).to_have_text("America/New_York")
    assert len(asked) == 2
    found.context.close()


def test_the_browser_reads_wall_times_as_the_server_does(visitor: Visit) -> None:
    page = visitor.go("/chat")
    vectors = json.loads((CASES / "local_days.json").read_text(encoding="utf-8"))
    possible = [case for case in vectors["ranges"] if "error" not in case["expect"]]
    module = (ROOT / "static" / "js" / "localtime.js").read_text(encoding="utf-8")
    got = page.evaluate(_WALLS % module.replace("export ", ""), vectors | {"ranges": possible})
    for kind, cases in (("walls", vectors["walls"]), ("ranges", possible)):
        assert got[kind] == [[c["expect"]["start_ms"], c["expect"]["end_ms"]] for c in cases]


_WALLS = """vectors => {
  %s
  const both = (zone, start, end) => [wallToMs(zone, fieldWall(start)), wallToMs(zone, fieldWall(end), true)]
  return {
    walls: vectors.walls.map(c => both(c.tz, c.wall, c.wall)),
    ranges: vectors.ranges.map(c => both(c.tz, c.start_wall, c.end_wall)),
  }
}"""


def test_a_page_is_light_to_load(visitor: Visit) -> None:
    """ux, chapter 11: first load under 340 KB with pictures, nothing from another host."""
    loaded: list[Request] = []
    visitor.page.on("requestfinished", lambda request: loaded.append(request))
    visitor.go("/timeline").wait_for_load_state("networkidle")
    assert {urlsplit(each.url).netloc for each in loaded} == {urlsplit(visitor.site.origin).netloc}
    assert len(loaded) <= 10
    sizes = {each.url: each.sizes()["responseBodySize"] for each in loaded}
    assert any("/api/v1/frames/" in address for address in sizes), "no picture was loaded"
    assert 50_000 < sum(sizes.values()) < 340_000, sizes


def test_the_composer_shows_how_it_reads_a_time_and_sends_what_it_showed(visitor: Visit) -> None:
    page = visitor.go("/chat")
    understood = page.locator("[data-understood]")
    place = page.get_by_role("button", name="Send").bounding_box()
    page.locator("#message").press_sequentially("What did I do last wednesday?")
    expect(understood).to_have_text("Wed 18 Nov · 24 hor Wed 11 Nov · 24 h")
    assert page.get_by_role("button", name="Send").bounding_box() == place  # under a pointer that is pressed
    understood.get_by_text("or Wed 11 Nov").click()
    expect(understood.get_by_text("or Wed 11 Nov")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Send").click()
    # The answer offers the other reading again, and asking over it needs no typing.
    expect(page.locator(".scope > summary").first).to_contain_text("11 Nov")
    expect(page.locator(".also")).to_contain_text("“last wednesday” can also mean")
    page.locator(".also button").click()
    expect(page.locator(".scope > summary").nth(1)).to_contain_text("18 Nov")
    page.fill("#message", "what comes tomorrow in @Chrome")
    expect(understood).to_have_text("Everything rememberedwhat it says of Saturday 21 Novin Chrome")
    page.fill("#message", "summarise the code of today")
    expect(understood).to_contain_text("so far")
    page.select_option("select[name=when]", "custom")
    page.fill("[name=phrase]", "yesterday with friends")
    expect(understood).to_have_text("“with friends” is not a time I know")
    page.fill("[name=phrase]", "yesterday 14:00")
    expect(understood).to_have_text("Yesterday 13:55–14:05 · 10 min")


def test_a_selection_is_what_the_timeline_showed(visitor: Visit) -> None:
    visitor.go("/timeline")
    page = visitor.go("/chat")
    page.fill("#message", "summarise @selection")
    expect(page.locator("[data-understood]")).to_have_text("Today · 24 h")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".scope > summary")).to_contain_text("20 Nov")
    page.locator(".went > summary").click()
    expect(page.locator(".went")).to_contain_text("Looked at 72 of 557 frames, spread over the range.")


def test_a_time_in_words_is_refused_with_its_part_when_it_is_none(browser: Browser, site: Site) -> None:
    found = visit(browser, site, java_script_enabled=False)
    page = found.go("/chat")
    page.fill("#message", "What did I do?")
    page.select_option("select[name=when]", "custom")
    page.fill("[name=phrase]", "yesterday with friends")
    page.get_by_role("button", name="Send").click()
    assert "“with friends” is not a time I know" in page.inner_text("#refusal")
    page.fill("[name=phrase]", "today 9:00-10:00")
    page.get_by_role("button", name="Send").click()
    assert "09:00–10:00" in page.locator(".scope > summary").first.inner_text()
    found.context.close()
    assert all("400" in complaint for complaint in found.complaints)  # the refusal itself
