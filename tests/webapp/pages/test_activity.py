"""The totals of a range and the intervals of one: page and API say the same."""

from __future__ import annotations

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames
from store.timeline import ledger, segments
from store.timeline.totals import intervals
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor, words
from webapp.pages.activity import KINDS

RANGE = f"from={NOON_MS}&to={NOON_MS + 600_000}"
SECONDS = f"start_time={NOON_MS / 1000}&end_time={NOON_MS / 1000 + 600}"


@pytest.fixture
def worked(database: Database, data_dir: DataDir) -> None:
    """Code, a page, and Code again: 60 s, 30 s and 30 s."""
    for at_s, stays_s, changes in (
        (0, 60, {}),
        (
            60,
            30,
            {"app_name": "Chrome", "window_name": "<b>News</b>", "browser_url": "https://news.example/"},
        ),
        (90, 30, {}),
    ):
        at_ms = NOON_MS + at_s * 1000
        row = store_frame(database, data_dir, at_ms, "words", **changes)
        with database.write() as connection:
            frames.extend(connection, row.capture_id, at_ms + stays_s * 1000)
            segments.heartbeat(connection, frames.get(database, row.id))


@pytest.mark.usefixtures("worked")
def test_a_total_opens_to_the_intervals_it_is_the_sum_of(browser: Actor, database: Database) -> None:
    line = segments.segments(database, NOON_MS, NOON_MS + 600_000)
    summary = browser.get(f"/api/v1/activity-summary?{SECONDS}").get_json()
    assert [(total["name"], total["minutes"]) for total in summary["sites"]] == [("news.example", 0.5)]
    for kind in KINDS:
        for total in summary[f"{kind}s"]:
            opened = intervals(line, kind, total["name"], total["app_name"])
            assert sum(each.duration_ms for each in opened) == total["minutes"] * 60_000


@pytest.mark.usefixtures("worked")
def test_the_page_lists_totals_and_opens_one(browser: Actor) -> None:
    page = browser.get(f"/activity?{RANGE}").text
    assert "news.example" in page
    assert "&lt;b&gt;News&lt;/b&gt;" in page
    assert "<b>News" not in page
    opened = browser.get(f"/activity?{RANGE}&kind=app&name=Code").text
    assert "2 intervals · 2 min" in words(opened)
    assert opened.count("/timeline?frame=") == 2


def test_a_time_without_frames_says_so(browser: Actor) -> None:
    assert "Nothing was measured" in browser.get(f"/activity?{RANGE}").text


@for_each("query", ["from=x&to=y", "from=2&to=1", f"{RANGE}&kind=mood"])
def test_an_address_that_cannot_be_understood_is_refused(browser: Actor, query: str) -> None:
    assert browser.get(f"/activity?{query}").status_code == 400


@pytest.mark.usefixtures("worked")
def test_idle_time_is_told_beside_the_totals_and_as_a_gap(browser: Actor, database: Database) -> None:
    with database.write() as connection:
        ledger.add(connection, "deduped", "idle", NOON_MS + 20_000, NOON_MS + 80_000, looks=0)
    page = words(browser.get(f"/activity?{RANGE}").text)
    assert "1 min in use, 1 min idle, of 10 min" in page
    summary = browser.get(f"/api/v1/activity-summary?{SECONDS}").get_json()
    assert sum(total["minutes"] for total in summary["apps"]) == 1.0
    assert [total["minutes"] for total in summary["sites"]] == [10 / 60]
    assert "idle" in [gap["reason"] for gap in summary["gaps"]]
    opened = words(browser.get(f"/activity?{RANGE}&kind=app&name=Code").text)
    assert "2 intervals · 50 s" in opened
