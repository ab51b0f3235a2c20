"""A stretch that is selected on the timeline, by links alone: begun, ended, acted on, given up."""

from __future__ import annotations

import html as html_text
import re
from collections.abc import Callable

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor
from tests.webapp.pages.test_days import page, words
from webapp.pages.timeline.stage import NO_SELECTION, Selection

MINUTE_MS = 60_000
DAY_START_MS = NOON_MS - 12 * 60 * MINUTE_MS


@pytest.fixture
def shot(database: Database, data_dir: DataDir) -> Callable[[int], FrameRow]:
    def shoot(minute: int) -> FrameRow:
        frame = store_frame(database, data_dir, NOON_MS + minute * MINUTE_MS)
        with database.write() as connection:
            heartbeat(connection, frame)
        return frame

    return shoot


def link(html: str, name: str) -> str:
    found = re.search(rf'<a [^>]*href="([^"]+)"[^>]*>(?:<svg.*?</svg>)?{name}</a>', html)
    assert found is not None, name
    return html_text.unescape(found[1])


def acts_on(html: str) -> tuple[int, int]:
    """What insight and question are about, which are the same, and what @selection will mean."""
    found = {link(html, name).partition("?")[2] for name in ("In another voice…", "Ask about this time")}
    said = re.search(r'data-selection data-start="(\d+)" data-end="(\d+)"', html)
    assert said is not None
    start_ms, end_ms = int(said[1]), int(said[2])
    minutes = (start_ms // MINUTE_MS * MINUTE_MS, -(-end_ms // MINUTE_MS) * MINUTE_MS)
    assert found == {"from={}&to={}".format(*minutes)}
    return start_ms, end_ms


def test_without_a_selection_it_is_the_stretch_that_is_shown(
    browser: Actor, shot: Callable[[int], FrameRow]
) -> None:
    frame = shot(0)
    html = page(browser, f"/timeline?frame={frame.id}&tz=UTC")
    assert acts_on(html) == (DAY_START_MS, DAY_START_MS + 24 * 60 * MINUTE_MS)
    assert "End here" not in html and "Clear" not in words(html)
    closer = page(browser, f"/timeline?frame={frame.id}&z=1h&tz=UTC")
    assert acts_on(closer) == (NOON_MS, NOON_MS + 60 * MINUTE_MS)


def test_it_is_begun_at_one_frame_and_ended_at_another(
    browser: Actor, shot: Callable[[int], FrameRow]
) -> None:
    first, last = shot(0), shot(30)
    begun = page(browser, link(page(browser, f"/timeline?frame={first.id}&tz=UTC&z=1h"), "Begin here"))
    assert (
        "Selected from 12:00:00" in words(begun)
        and "Write an insight" not in begun.partition('id="selection"')[2].partition("</div>")[0]
    )
    step = re.search(r'class="step on" href="([^"]+)"', begun)
    assert step is not None
    there = page(browser, html_text.unescape(step[1]))
    assert f'data-frame="{last.id}"' in there and "Selected from 12:00:00" in words(there)
    whole = page(browser, link(there, "End here"))
    assert acts_on(whole) == (first.captured_ms, last.ended_ms)
    assert "Today 12:00–12:30 selected, 30 min" in words(whole)
    assert re.search(r'class="selected" data-selected y="1" height="54" x="0.0%" width="50.0%"', whole)
    asked = page(browser, link(whole, "Ask about this time"))
    assert 'value="2026-11-20T12:00"' in asked and 'value="2026-11-20T12:30"' in asked
    told = page(browser, link(whole, "In another voice…"))
    assert 'value="2026-11-20T12:00"' in told and 'value="2026-11-20T12:30"' in told
    assert acts_on(page(browser, link(whole, "Clear"))) == (NOON_MS, NOON_MS + 60 * MINUTE_MS)


def test_zoom_filter_and_band_keep_it_and_another_day_does_not(
    browser: Actor, shot: Callable[[int], FrameRow]
) -> None:
    first, _ = shot(0), shot(30)
    chosen = f"from={NOON_MS}&to={NOON_MS + MINUTE_MS}"
    html = html_text.unescape(page(browser, f"/timeline?frame={first.id}&{chosen}&tz=UTC"))
    for part in ('aria-label="Zoom in to 1 h"', 'class="chip"', 'tabindex="-1"'):
        tag = next(tag for tag in re.findall(r"<a [^>]*>", html) if part in tag)
        assert chosen in tag, tag
    assert chosen not in re.findall(r'<a [^>]*aria-label="Previous day"[^>]*>', html)[0]


def test_scrubbing_keeps_it_and_says_where_it_can_end_now(
    browser: Actor, shot: Callable[[int], FrameRow]
) -> None:
    _, last = shot(0), shot(30)
    answer = browser.get(f"/timeline?frame={last.id}&from={NOON_MS}&tz=UTC", headers={"HX-Request": "true"})
    assert 'id="selection"' in answer.text and "End here" in answer.text
    assert answer.headers["HX-Replace-Url"] == f"/timeline?frame={last.id}&from={NOON_MS}"


def test_what_the_lane_selects_is_drawn_by_the_server(
    browser: Actor, shot: Callable[[int], FrameRow]
) -> None:
    frame = shot(0)
    chosen = f"from={NOON_MS}&to={NOON_MS + 90 * MINUTE_MS}"
    answer = browser.get(f"/timeline/selection?frame={frame.id}&{chosen}&tz=UTC")
    assert acts_on(answer.text) == (NOON_MS, NOON_MS + 90 * MINUTE_MS)
    assert "Today 12:00–13:30 selected, 1 h 30 min" in words(answer.text)
    assert answer.headers["HX-Replace-Url"] == f"/timeline?frame={frame.id}&{chosen}"


@for_each("bad", ["from=x", "to=soon", "from=999999999999999"])
def test_an_end_that_is_no_moment_is_refused(browser: Actor, bad: str) -> None:
    page(browser, f"/timeline?{bad}", 400)


@pytest.mark.parametrize("query", ["from=5&to=5", "to=7", "from=9&to=2", "from=&to="])
def test_any_two_moments_are_a_selection_or_the_beginning_of_one(browser: Actor, query: str) -> None:
    page(browser, f"/timeline?{query}")


def test_ends_change_places_when_the_second_comes_first(shot: Callable[[int], FrameRow]) -> None:
    early, late = shot(0), shot(30)
    assert NO_SELECTION.begun_at(late).ended_at(early) == Selection(early.captured_ms, late.captured_ms)
    whole = Selection(early.captured_ms, late.captured_ms)
    assert whole.begun_at(late) == Selection(late.captured_ms)
    assert NO_SELECTION.ended_at(early) == NO_SELECTION.begun_at(early)
    alone = NO_SELECTION.begun_at(early).ended_at(early)
    assert alone.start_ms == early.captured_ms and alone.end_ms >= early.captured_ms + 1_000
