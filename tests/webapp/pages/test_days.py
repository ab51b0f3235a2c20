"""Days as pages, over HTTP and on a terminal: what was told, what shows it, told again, taken along."""

from __future__ import annotations

import html as html_text
import json
import re
from datetime import date

import pytest
from flask import Flask

from store.core import preferences
from store.core.database import Database, rows
from store.core.paths import DataDir
from store.memory import daily_hours, daily_summaries, observation_writer
from store.memory.observations import HOUR_MS
from tests import days
from tests.factories import NOON_MS, store_frame
from tests.memories import put_observation
from tests.webapp.conftest import API, Actor, Clock, csrf_of
from webapp.cli import run

LINE = "retention is 14 days"
HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}</li><script>alert(2)</script>"
FRIDAY = "/days/2026-11-20"


def words(html: str) -> str:
    return html_text.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


def page(actor: Actor, path: str, status: int = 200) -> str:
    answer = actor.get(path)
    assert answer.status_code == status, answer.text[:500]
    return str(answer.text)


@pytest.fixture
def frame_id(database: Database, data_dir: DataDir) -> int:
    """A day is told that quotes this frame."""
    frame = store_frame(database, data_dir, NOON_MS, LINE)
    days.put_day(database, [(LINE, frame.id)], title="Changed retention", frame_ids=[frame.id])
    return frame.id


def test_an_empty_home_says_when_days_are_told(browser: Actor) -> None:
    html = page(browser, "/days")
    assert "No day has been told yet" in html and html.count("<h1") == 1
    assert "No summary of" in page(browser, FRIDAY, 404)
    page(browser, "/days/2026-13-45", 404)


def test_a_day_is_listed_and_shows_each_line_on_its_frame(browser: Actor, frame_id: int) -> None:
    assert 'href="/days/2026-11-20"' in page(browser, "/days?tz=UTC")
    html = page(browser, f"{FRIDAY}?tz=UTC")
    assert "Changed retention" in html and f"“{LINE}”" in words(html)
    assert f'href="/frames/{frame_id}?q=%22retention+is+14+days%22"' in html
    assert "00:00 – 12:00 nothing was captured" in words(html)
    # The line is marked on the frame that the link leads to.
    assert "<mark>" in page(browser, f"/frames/{frame_id}?q=%22retention+is+14+days%22")


def test_the_timeline_and_memory_lead_to_their_day(browser: Actor, frame_id: int) -> None:
    for path in ("/timeline?day=2026-11-20&tz=UTC", "/memory?day=2026-11-20&tz=UTC"):
        assert f'href="{FRIDAY}"' in page(browser, path)


def test_older_days_are_a_page_away(browser: Actor, database: Database) -> None:
    for n in range(33):
        put_observation(database, start_ms=NOON_MS - n * 24 * HOUR_MS)
    days.tell(database)
    html = page(browser, "/days?tz=UTC")
    assert html.count('<li class="card">') == 31 and "/days?before=2026-10-21" in html
    assert page(browser, "/days?before=2026-10-21&tz=UTC").count('<li class="card">') == 2


def test_screen_text_is_only_text(browser: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOON_MS, HOSTILE)
    days.put_day(database, [(HOSTILE, frame.id)], title=HOSTILE, frame_ids=[frame.id])
    for path in ("/days", FRIDAY):
        html = page(browser, path)
        assert "<img src=x" not in html and "<script>alert" not in html
    document = page(browser, f"{FRIDAY}/export?fmt=md")
    assert "\\<img" in document and "\n<img" not in document


def test_told_again_on_request(app: Flask, browser: Actor, database: Database, frame_id: int) -> None:
    with database.write() as connection:
        connection.execute("update daily_points set text = 'stale'")
    assert browser.post(f"{FRIDAY}/redo", data={"csrf_token": csrf_of(app, browser)}).status_code == 303
    assert "being told again" in page(browser, FRIDAY)
    days.tell(database)
    assert "Changed retention" in page(browser, FRIDAY) and "stale" not in page(browser, FRIDAY)


def test_the_hour_that_runs_is_not_yet_to_be_told(
    browser: Actor, database: Database, frame_id: int, now: Clock
) -> None:
    with database.write() as connection:
        connection.execute("insert into memory_hours (hour) values (?)", (NOON_MS // HOUR_MS,))
    now.now_ms = NOON_MS + HOUR_MS // 2
    assert "being told again" not in page(browser, FRIDAY)
    now.now_ms = NOON_MS + HOUR_MS
    assert "being told again" in page(browser, FRIDAY)


def test_a_model_that_failed_is_named_and_rules_stand_in(
    browser: Actor, database: Database, frame_id: int
) -> None:
    with database.write() as connection:
        [(number, fingerprint)] = rows(connection, "select id, fingerprint from observations")
        observation_writer.fail(connection, number, fingerprint, "model_unreachable", NOON_MS)
    html = page(browser, FRIDAY)
    assert "could not tell this hour (model_unreachable)" in html and "Changed retention" in html


def test_a_browser_elsewhere_may_have_days_counted_by_its_clock(
    app: Flask, browser: Actor, database: Database, frame_id: int
) -> None:
    browser.client.set_cookie("tz", "Asia/Shanghai", domain="127.0.0.1")
    assert "counted by Asia/Shanghai" in words(page(browser, "/days"))
    form = {"csrf_token": csrf_of(app, browser), "next": "//elsewhere.example"}
    answer = browser.post("/days/clock", data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/days")
    assert preferences.day_clock(database).zone.key == "Asia/Shanghai"
    assert "counted by" not in page(browser, "/days")


def test_the_api_gives_what_the_page_shows(
    program: Actor, browser: Actor, database: Database, frame_id: int
) -> None:
    [listed] = program.get(f"{API}/days").json["data"]
    assert (listed["day"], listed["timezone"], listed["source"]) == ("2026-11-20", "UTC", "rule")
    told = program.get(f"{API}/days/2026-11-20").json
    [hour] = [hour for hour in told["hours"] if hour["points"]]
    [point] = hour["points"]
    assert point["evidence"] == [
        {"frame_id": frame_id, "timestamp": NOON_MS / 1000, "quote": LINE, "frame_url": f"/frames/{frame_id}"}
    ]
    assert len(told["hours"]) == 24 and told["settled"] is True
    assert json.loads(page(browser, f"{FRIDAY}/export?fmt=json")) == told
    assert program.get(f"{API}/days?before=2026-11-20").json["data"] == []
    assert program.get(f"{API}/days/2026-11-19").json["code"] == "day_not_found"
    assert program.get(f"{API}/days?before=2026-13-45").json["code"] == "invalid_before"
    assert program.ask("POST", f"{API}/days/2026-11-20/redo").status_code == 202
    assert program.get(f"{API}/days/2026-11-20").json["settled"] is False


def test_markdown_names_every_frame(browser: Actor, frame_id: int) -> None:
    answer = browser.get(f"{FRIDAY}/export?fmt=md")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="day-2026-11-20.md"'
    assert f"“{LINE}” - [frame {frame_id}](http://127.0.0.1:8420/frames/{frame_id})" in answer.text
    assert browser.get(f"{FRIDAY}/export?fmt=pdf").status_code == 400


def test_a_day_on_a_terminal(
    database: Database, data_dir: DataDir, frame_id: int, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(data_dir.home)]
    assert run(["day", *home]) == 0
    assert "Friday, 20 November 2026" in capsys.readouterr().out
    assert run(["day", *home, "2026-11-20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["day"] == "2026-11-20"
    assert run(["day", *home, "2026-11-19"]) == 1
    assert "no summary of 2026-11-19" in capsys.readouterr().err
    assert run(["day", *home, "2026-11-20", "--again"]) == 0
    assert daily_hours.due(database, 2 * NOON_MS) is not None
    assert daily_summaries.of_day(database, date(2026, 11, 20)) is not None
