"""Every page in its states, as it comes from the server: cold, without scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from flask import Flask

from engines.ocr import tesseract
from store.backup import backup
from store.chats import conversations
from store.core import preferences
from store.core.database import Database
from store.core.paths import DataDir, file_lock
from store.deletion import retention
from store.frames import frames
from store.frames.frames import FrameRow
from store.privacy import rules
from store.spool.process_state import CaptureState, IngestState, Pause, write_pause
from store.spool.queue import DESKTOP
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.meanwhile import Beside, meanwhile
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock, csrf_of, page, words
from webapp.ops.health import indicator_state

MINUTE = 60_000
PAGES = [
    "/timeline", "/activity", "/search", "/chat", "/days", "/memory/entities", "/memory/facts",
    "/privacy", "/settings/display", "/settings/models", "/settings/tools", "/settings/sent", "/status",
    "/welcome", "/insights", "/insights/new", "/settings/storage", "/settings/memory",
    "/settings/recording", "/settings/about", "/settings/access",
]  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)>{{ 7919*7907 }}\u202e</script><script>alert(2)</script>"


@pytest.fixture
def shoot(database: Database, data_dir: DataDir) -> Callable[..., FrameRow]:
    """Stores a frame, with its place in the activity."""

    def make(minute: int = 0, text: str | None = "retention set to 14 days", **changes: object) -> FrameRow:
        frame = store_frame(database, data_dir, NOON_MS + minute * MINUTE, text, **changes)  # type: ignore[arg-type]
        with database.write() as connection:
            heartbeat(connection, frame)
        return frame

    return make


@pytest.fixture
def visitor(browser: Actor) -> Actor:
    """A signed-in browser in Shanghai."""
    browser.client.set_cookie("tz", "Asia/Shanghai", domain="127.0.0.1")
    return browser


def assert_clean(html: str) -> None:
    """No inline script or style, no handler, nothing from another host."""
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=\"|javascript:", html)
    for script in re.findall(r"<script[^>]*>", html):
        assert 'src="/static/' in script
    for address in re.findall(r'(?:src|href|action|hx-get|hx-post)="([^"]*)"', html):
        assert address.startswith(("/", "#")) or address == "", address


# -- every page -----------------------------------------------------------------------------


@for_each("path", PAGES)
def test_every_page_opens_on_an_empty_home(visitor: Actor, path: str) -> None:
    html = page(visitor, path)
    assert_clean(html)
    assert html.count("<h1") == 1
    assert "Not recording" in html


@pytest.fixture
def two_frames(shoot: Callable[..., FrameRow]) -> None:
    shoot(0), shoot(2, app_name="Chrome", window_name="Docs", browser_url="https://sqlite.org/fts5.html")


@for_each("path", PAGES)
def test_every_page_is_clean_with_frames(visitor: Actor, two_frames: None, path: str) -> None:
    assert_clean(page(visitor, path))


@for_each("path", PAGES)
def test_pages_are_never_stored_and_vary_by_htmx(visitor: Actor, path: str) -> None:
    answer = visitor.get(path)
    assert answer.headers["Cache-Control"] == "no-store"
    assert {"HX-Request", "HX-History-Restore-Request"} <= {
        name.strip() for name in answer.headers["Vary"].split(",")
    }


@pytest.mark.parametrize("path", ["/timeline", "/search", "/status"])
def test_htmx_gets_a_fragment_and_a_history_restore_the_page(
    visitor: Actor, shoot: Callable[..., FrameRow], path: str
) -> None:
    frame = shoot()
    path = f"{path}?frame={frame.id}" if path == "/timeline" else path
    assert "<html" not in page(visitor, path, **{"HX-Request": "true"})
    assert "<html" in page(visitor, path, **{"HX-Request": "true", "HX-History-Restore-Request": "true"})


@for_each("path", PAGES)
def test_links_of_the_rail_lead_somewhere(visitor: Actor, path: str) -> None:
    rail = re.search(r'<nav class="rail".*?</nav>', page(visitor, path), re.S)
    assert rail is not None
    for address in re.findall(r'href="(/[^"#]*)"', rail[0]):
        if not address.startswith("/static"):
            page(visitor, address)


def test_hostile_screen_text_is_only_text_on_every_page(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame = shoot(
        0, f"needle {HOSTILE}", app_name=HOSTILE, window_name=HOSTILE, browser_url=f"javascript:{HOSTILE}"
    )
    for path in [
        *PAGES,
        f"/timeline?frame={frame.id}",
        "/search?q=needle",
        f"/frames/{frame.id}?q=needle",
        "/palette?q=i",
    ]:
        html = page(visitor, path)
        assert "<img src=x" not in html and "<script>" not in html and str(7919 * 7907) not in html
        assert 'href="javascript' not in html and "\u202e" not in html


def test_a_link_from_elsewhere_gets_one_same_site_link(visitor: Actor) -> None:
    html = page(
        visitor, "/frames/81234", 403,
        **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    )  # fmt: skip
    assert re.findall(r'<a [^>]*href="([^"]*)"', html) == ["/frames/81234"]
    assert "Open frame 81234 in Recollect" in html


def test_the_root_goes_to_the_setup_until_it_was_left(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot()
    assert visitor.get("/").headers["Location"] == "/welcome"
    left = visitor.post("/welcome", data={"csrf_token": csrf_of(app, visitor)})
    assert left.headers["Location"] == visitor.get("/").headers["Location"] == "/timeline"


def test_the_setup_tells_by_itself_what_was_mended(visitor: Actor, data_dir: DataDir) -> None:
    asking = 'id="recording" hx-get="/welcome/recording" hx-trigger="every'
    assert asking in page(visitor, "/welcome") and asking in page(visitor, "/welcome/recording")
    write_pause(data_dir.spool, Pause(NOW, 2**53))
    assert asking in page(visitor, "/welcome/recording")


def test_the_setup_offers_what_this_home_can_do(
    visitor: Actor, shoot: Callable[..., FrameRow], data_dir: DataDir
) -> None:
    shoot(-24 * 60)
    html = page(visitor, "/welcome")
    assert "What did I do today?" not in html and "Try the sample week" in html
    shoot()
    data_dir.sample_week.touch()
    html = page(visitor, "/welcome")
    assert "What did I do today?" in html and "Try the sample week" not in html


def test_an_app_that_was_seen_is_left_out_at_one_click(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot(0), shoot(10)
    form = {"csrf_token": csrf_of(app, visitor), "next": "/welcome#excluded", "app": "Code"}
    assert 'aria-label="Leave out Code"' in page(visitor, "/welcome")
    assert visitor.post("/privacy/rules", data=form).headers["Location"] == "/welcome#excluded"
    html = page(visitor, "/welcome")
    assert 'aria-label="Record Code again"' in html and "/privacy/erase?rule=app%20Code#rules" in html
    visitor.post("/privacy/rules/0/remove", data={**form, "words": "app Code"})
    assert 'aria-label="Leave out Code"' in page(visitor, "/welcome/excluded")


def test_a_model_that_was_found_is_used_or_skipped(app: Flask, visitor: Actor) -> None:
    form = {"csrf_token": csrf_of(app, visitor)}
    assert "Looking for a model" in page(visitor, "/welcome")
    assert visitor.post("/welcome/model", data={**form, "model": ""}).status_code == 303
    assert "Looking for a model" not in page(visitor, "/welcome")
    silent = visitor.post("/welcome/model", data={**form, "model": "http://127.0.0.1:9/v1 qwen3"})
    assert "cannot be reached" in page(visitor, silent.headers["Location"])
    assert "qwen3" not in page(visitor, "/welcome")
    with StubModel() as stub:
        visitor.post("/welcome/model", data={**form, "model": f"{stub.base_url} llama"})
    assert "llama · on this computer" in page(visitor, "/welcome")


# -- capture light --------------------------------------------------------------------------

NOW = NOON_MS


def state(**changes: object) -> CaptureState:
    values = {
        "pid": 1,
        "started_ms": NOW,
        "written_ms": NOW - 500,
        "looked_ms": NOW - 2000,
        "state": "recording",
    }
    return CaptureState(**{**values, **changes})  # type: ignore[arg-type]


@for_each(
    ("found", "pause", "waiting", "expected"),
    [
        (None, None, 0, ("danger", "Not recording")),
        (state(), None, 0, ("ok", "REC 2 s ago")),
        (state(looked_ms=NOW - 30_000), None, 0, ("ok", "REC 30 s ago")),
        (state(looked_ms=NOW - 30_001), None, 0, ("danger", "Not recording 30 s")),
        (state(looked_ms=None, state="starting"), None, 0, ("danger", "Not recording")),
        (state(looked_ms=NOW - 240_000, state="failing"), None, 0, ("danger", "Not recording 4 min")),
        (state(), Pause(NOW, NOW + 12 * MINUTE), 0, ("warn", "Paused 12 min left")),
        (state(), Pause(NOW, 2**53), 0, ("warn", "Paused until you resume")),
        (state(), None, 214, ("warn", "Behind 214")),
        (state(state="locked", looked_ms=None), None, 0, ("plain", "Screen locked")),
        (
            state(state="locked", looked_ms=None, written_ms=NOW - 60_000),
            None,
            0,
            ("danger", "Not recording"),
        ),
    ],
)
def test_the_light_says_rec_only_after_a_fresh_look(
    found: CaptureState | None, pause: Pause | None, waiting: int, expected: tuple[str, str]
) -> None:
    light = indicator_state(found, pause, waiting, NOW)
    assert (light.kind, light.word) == expected


def test_pausing_and_resuming_work_by_plain_forms(
    app: Flask, visitor: Actor, data_dir: DataDir, now: Clock
) -> None:
    state(written_ms=now.now_ms, looked_ms=now.now_ms - 1000).write(data_dir.spool)
    form = {"csrf_token": csrf_of(app, visitor), "minutes": "15"}
    assert visitor.post("/status/pause", data=form).status_code == 303
    assert "Paused 15 min left" in page(visitor, "/status/light")
    assert visitor.post("/status/resume", data=form).status_code == 303
    assert "REC 1 s ago" in page(visitor, "/status/light")
    assert visitor.post("/status/pause", data={"minutes": "15"}).status_code == 403


def test_a_redirect_leads_to_a_page_of_ours(app: Flask, visitor: Actor, data_dir: DataDir) -> None:
    for target in ["//evil.example", "https://evil.example", "/\\evil.example", "/privacy/rules"]:
        form = {"csrf_token": csrf_of(app, visitor), "next": target}
        assert visitor.post("/status/resume", data=form).headers["Location"] == "/status"
    write_pause(data_dir.spool, None)


# -- timeline -------------------------------------------------------------------------------


def test_a_deep_link_opens_that_very_frame(visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    frames = [shoot(minute, window_name=f"window {minute}") for minute in range(0, 60, 7)]
    for frame in frames:
        html = page(visitor, f"/timeline?frame={frame.id}")
        assert f'data-frame="{frame.id}"' in html and f"/api/v1/frames/{frame.id}" in html
        at = page(visitor, f"/timeline?at={frame.captured_ms}")
        assert f'data-frame="{frame.id}"' in at and "Nearest" not in at


def test_a_moment_without_a_frame_says_so(visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    shoot(0)
    html = page(visitor, f"/timeline?at={NOON_MS + 28_000}")
    assert "No frame at 20:00:28 . Nearest 20:00:00 (28 s earlier)" in words(html)


def test_a_filter_keeps_hidden_apps_faded_and_steps_over_them(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    """Arrows respect the filter, and the address describes the view."""
    first, _, third = shoot(0), shoot(5, app_name="Chrome"), shoot(10)
    html = page(visitor, f"/timeline?frame={first.id}&app=Code")
    assert f'data-next="{third.id}"' in html
    assert re.search(r'class="run [^"]*faded"', html)
    fragment = visitor.get(f"/timeline?frame={third.id}&app=Code&z=1h", headers={"HX-Request": "true"})
    assert fragment.headers["HX-Replace-Url"] == f"/timeline?frame={third.id}&z=1h&app=Code"
    assert all(f'id="{part}"' in fragment.text for part in ("stage", "details", "selection"))


def test_an_empty_day_names_the_nearest_days(visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    shoot(-48 * 60)
    html = page(visitor, "/timeline?day=2026-11-20")
    assert "Nothing captured on Fri 20 Nov" in words(html) and 'href="/timeline?day=2026-11-18"' in html


def test_a_day_that_did_not_exist_says_so(visitor: Actor) -> None:
    html = page(visitor, "/timeline?day=2011-12-30&tz=Pacific/Apia")
    assert "This date did not exist here" in html


@pytest.mark.parametrize(("on", "ticks"), [("2026-03-08", 24), ("2026-11-01", 26), ("2026-11-20", 25)])
def test_a_day_has_a_tick_for_each_of_its_hours(
    visitor: Actor, shoot: Callable[..., FrameRow], on: str, ticks: int
) -> None:
    from datetime import date, datetime

    start = round(datetime.fromisoformat(f"{date.fromisoformat(on)}T18:00:00+00:00").timestamp() * 1000)
    shoot((start - NOON_MS) // MINUTE)
    html = page(visitor, f"/timeline?day={on}&tz=America/New_York")
    drawn = re.search(r'<svg class="ticks".*?</svg>', html, re.S)
    assert drawn is not None and drawn[0].count("<line") == ticks


@pytest.mark.parametrize(
    ("typed", "location"),
    [
        ("14:32", "/timeline?at=1795156320000"),
        ("2026-11-18", "/timeline?day=2026-11-18"),
        ("yesterday", "/timeline?day=2026-11-19"),
        ("yesterday 14:00-14:30", "/timeline?at=1795068000000&z=1h"),
        ("昨天下午", "/timeline?at=1795060800000"),
        ("yesterday at noon", "/timeline?at=1795060800000"),
    ],
)
def test_a_typed_time_goes_there(visitor: Actor, typed: str, location: str) -> None:
    answer = visitor.get(f"/timeline?day=2026-11-20&go={typed}")
    assert (answer.status_code, answer.headers["Location"]) == (303, location)


@for_each("query", ["frame=x", "at=soon", "z=week", "day=30.2.", "frame=-1"])
def test_a_senseless_address_is_refused_in_words(visitor: Actor, query: str) -> None:
    html = page(visitor, f"/timeline?{query}", 400)
    assert "cannot be understood" in html and "Traceback" not in html


def test_a_phrase_that_is_not_understood_stays_in_its_field(visitor: Actor) -> None:
    html = page(visitor, "/timeline?go=next+banana", 400)
    assert 'value="next banana"' in html and "is not a time I know" in html and 'role="alert"' in html
    assert "has not come yet" in page(visitor, "/timeline?go=tomorrow", 400)


def test_the_index_for_scrubbing_names_each_minute_once(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frames = [shoot(0), shoot(1), shoot(5, app_name="Chrome")]
    address = f"/timeline/marks?from={NOON_MS - MINUTE}&to={NOON_MS + 120 * MINUTE}"
    assert [mark[0] for mark in visitor.get(address).get_json()["marks"]] == [frame.id for frame in frames]
    assert [mark[0] for mark in visitor.get(f"{address}&app=Chrome").get_json()["marks"]] == [frames[2].id]


# -- search ---------------------------------------------------------------------------------


def test_searched_words_are_marked_in_text_and_on_the_picture(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame = shoot()
    html = page(visitor, "/search?q=retention")
    assert "<mark>retention</mark> set to 14 days" in html
    assert re.search(
        rf'id="hit-{frame.id}".*?<svg class="boxes" viewBox="0 0 64 48".*?<rect class="outer"', html, re.S
    )
    assert f'href="/frames/{frame.id}?q=retention"' in html


def test_browsing_shows_the_newest_first_under_its_day(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot(-24 * 60, window_name="earlier window"), shoot(0, window_name="later window")
    _, _, listed = page(visitor, "/search").partition('<ol class="results"')
    text = words(listed)
    assert (
        text.index("Fri 20 Nov 2026")
        < text.index("later window")
        < text.index("Thu 19 Nov 2026")
        < text.index("earlier window")
    )


def test_load_more_reaches_every_frame_once(visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    frames = {shoot(minute, f"page {minute}").id for minute in range(45)}
    address, seen = "/search?sort=old", []
    for _ in range(5):
        html = page(visitor, address, **({"HX-Request": "true"} if seen else {}))
        seen += [int(number) for number in re.findall(r'id="hit-(\d+)"', html)]
        more = re.search(r'<a class="button" href="([^"]+)" [^>]*data-load-more', html)
        if more is None:
            break
        address = more[1].replace("&amp;", "&")
    assert len(seen) == 45 and set(seen) == frames


def test_an_empty_result_says_which_filter_empties_it(visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    shoot()
    html = words(page(visitor, "/search?q=retention&app=Firefox"))
    assert "No frame shows “retention”" in html and "Without the app “Firefox” 1 frame" in html


def test_a_cursor_of_another_search_is_refused_with_a_way_back(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    for minute in range(25):
        shoot(minute, f"page {minute}")
    more = re.search(r'after=([^&"]+)', page(visitor, "/search"))
    assert more is not None
    assert "filters have changed" in page(visitor, f"/search?app=Code&after={more[1]}", 400)
    assert "filters have changed" in page(visitor, "/search?after=rubbish", 400, **{"HX-Request": "true"})


# -- frame ----------------------------------------------------------------------------------


def test_the_frame_page_shows_the_exact_frame_with_its_hits(
    visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame = shoot(0, "retention one\nretention two")
    html = page(visitor, f"/frames/{frame.id}?q=retention&hit=2")
    assert f'<img src="/api/v1/frames/{frame.id}" ' in html
    assert "Hit 2 of 2" in html and html.count("<mark>retention</mark>") == 2
    assert re.search(r'<g class="current[^>]*>\s*<rect class="outer" x="-4" y="16"', html)


@pytest.mark.parametrize(
    ("damage", "reason"), [("unlink", "missing on the disk"), ("swap", "no longer the picture")]
)
def test_a_picture_that_is_gone_leaves_its_text(
    visitor: Actor, shoot: Callable[..., FrameRow], data_dir: DataDir, damage: str, reason: str
) -> None:
    """Never a neighbour's picture."""
    frame, other = shoot(0), shoot(1)
    file = data_dir.media / (frame.media_path or "")
    if damage == "unlink":
        file.unlink()
    else:
        file.write_bytes((data_dir.media / (other.media_path or "")).read_bytes())
    html = page(visitor, f"/frames/{frame.id}", 410)
    assert reason in html and "retention set to 14 days" in html
    assert f'<img src="/api/v1/frames/{other.id}" ' not in html
    assert f'<img src="/api/v1/frames/{frame.id}" ' not in html


def test_retention_shows_what_would_go_and_needs_the_typed_word(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame, own = shoot(0), app.extensions["recollect"]
    limit = {"max_gb": "0.00000001", "csrf_token": csrf_of(app, visitor)}
    before = page(visitor, "/settings/storage")
    assert "Everything is kept" in before and "None yet" in before
    backup.make(own.database, own.clock())
    assert " · 1 kept" in page(visitor, "/settings/storage")
    assert "Deletes 1 picture now" in page(visitor, "/settings/storage?max_gb=0.00000001")
    assert "must be 0 or more" in page(visitor, "/settings/storage?days=never", 422)
    assert visitor.post("/settings/storage", data=limit).status_code == 422
    assert retention.is_off(retention.chosen(own.database, own.settings.retention))
    assert visitor.post("/settings/storage", data={**limit, "confirm": "DELETE"}).status_code == 303
    policy = retention.chosen(own.database, own.settings.retention)
    retention.run(own.database, own.media, policy, own.clock())
    html = page(visitor, f"/frames/{frame.id}", 410)
    assert "removed by retention on" in html and "A small picture is left" in html
    assert "retention set to 14 days" in html
    assert "· 1 picture<" in page(visitor, "/settings/storage")
    address = f"/api/v1/frames/{frame.id}"
    assert (visitor.get(address).status_code, visitor.get(f"{address}?width=320").status_code) == (410, 200)
    assert visitor.get(f"{address}/context").json["frame"]["picture"] == "retention"


@for_each("path", ["/timeline?date=2026-11-20", "/days/2026-11-20", "/activity?from={start}&to={end}"])
def test_a_screen_without_a_window_is_the_desktop_in_the_language_of_the_page(
    visitor: Actor, database: Database, data_dir: DataDir, shoot: Callable[..., FrameRow], path: str
) -> None:
    if frames.nearest(database, NOON_MS) is None:
        for minute in range(3):
            shoot(minute, app_name=DESKTOP, window_name=None)
    address = path.format(start=NOON_MS, end=NOON_MS + 3 * MINUTE)
    shown = words(page(visitor, address, **{"Accept-Language": "zh"}))
    assert "桌面" in shown and DESKTOP not in shown and "未知应用" not in shown


def test_the_language_of_the_browser_is_proposed_where_text_is_not_read_in_it(
    visitor: Actor, data_dir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    IngestState(os.getpid(), NOW, 2**53).write(data_dir.spool)
    monkeypatch.setattr(tesseract, "usual_folders", lambda: iter([tmp_path]))
    (tmp_path / "eng.traineddata").touch()
    german = {"Accept-Language": "en-GB,de;q=0.8"}
    assert "Not in German" not in page(visitor, "/welcome/reading")
    told = words(page(visitor, "/welcome/reading", **german))
    assert "Not in German" in told and "tesseract-ocr-deu" in told
    assert "as here for German" in page(visitor, "/settings/recording", **german)
    (tmp_path / "deu.traineddata").touch()
    told = words(page(visitor, "/welcome/reading", **german))
    assert "Choose it under Languages" in told and "tesseract-ocr-deu" not in told


def test_languages_of_reading_are_chosen_on_the_page(
    app: Flask, visitor: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, address = app.extensions["recollect"], "/settings/recording"
    for code in ("eng", "kor", "deu", "osd", "kor_vert"):
        (tmp_path / f"{code}.traineddata").touch()
    monkeypatch.setattr(tesseract, "usual_folders", lambda: iter([tmp_path / "absent", tmp_path]))

    def shown() -> list[str]:
        return re.findall(r'name="language" value="(\w+(?:" checked)?)', page(visitor, address))

    def choose(*codes: str) -> int:
        form = {"csrf_token": csrf_of(app, visitor), "language": list(codes)}
        return visitor.post(f"{address}/languages", data=form).status_code

    assert shown() == ['eng" checked', 'chi_sim" checked', "deu", "kor"]
    assert words(page(visitor, address)).count("not installed here") == 1
    assert choose("kor", "eng", "../../etc") == 303
    assert preferences.reading_languages(own.database, own.settings.ocr) == ("eng", "kor")
    assert "not installed here" not in page(visitor, address)
    assert shown() == ['eng" checked', 'kor" checked', "deu"]
    assert choose("nothing") == 422
    assert shown() == ['eng" checked', 'kor" checked', "deu"]


@for_each(
    ("path", "status", "said"),
    [
        ("/search?q=a&from=2&to=1", 400, "The range ends before it starts."),
        ("/search?q=a&from=lately", 400, "“lately” is not a time I know."),
        ("/insights?from=2&to=1", 400, "The range ends before it starts."),
        ("/insights/new?from=2&to=1", 400, "The range ends before it starts."),
        ("/chat?from=2&to=1", 400, "The range ends before it starts."),
        ("/activity?from=2&to=1", 400, "The range ends before it starts."),
        ("/privacy/erase?from=2&to=1", 400, "The range ends before it starts."),
        ("/days?day=2026-02-31", 400, "must be a date such as 2026-11-20"),
        ("/timeline?day=2026-02-31", 400, "must be a date such as 2026-11-20"),
        ("/sources/messages?day=tomorrow", 400, "must be a date such as 2026-11-20"),
        ("/personas/999", 404, "There is no voice 999."),
        ("/settings/models/999", 404, "There is no model 999."),
        ("/memory/sessions/999", 404, "There is no chat summary 999."),
        ("/api/v1/personas/999", 404, "There is no persona 999."),
        ("/settings/models/prompt/preview", 200, "No prompt is sent"),
    ],
)
def test_an_address_that_leads_nowhere_says_so_in_a_sentence(
    visitor: Actor, path: str, status: int, said: str
) -> None:
    assert said in words(page(visitor, path, status))


def test_an_unknown_frame_is_a_page(visitor: Actor) -> None:
    assert "No such frame" in page(visitor, "/frames/5", 404)
    assert "Nothing here" in page(visitor, "/frames/007", 404)


def test_deleting_a_frame_asks_first_and_gives_a_receipt(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame = shoot()
    assert "cannot be undone" in page(visitor, f"/frames/{frame.id}/delete")
    assert visitor.get(f"/frames/{frame.id}").status_code == 200
    receipt = visitor.post(f"/frames/{frame.id}/delete", data={"csrf_token": csrf_of(app, visitor)}).location
    assert "1 frame deleted, about" in (told := words(page(visitor, receipt)))
    assert "Checked: nothing of it is left" in told
    page(visitor, f"/frames/{frame.id}", 404)


# -- chat -----------------------------------------------------------------------------------


def ask(app: Flask, visitor: Actor, path: str = "/chat", **form: str):  # type: ignore[no-untyped-def]
    return visitor.post(path, data={"csrf_token": csrf_of(app, visitor), **form})


def test_a_question_works_without_scripts(app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    frame = shoot()
    answer = ask(
        app,
        visitor,
        message="What did I set retention to?",
        from_ms=str(NOON_MS - MINUTE),
        to_ms=str(NOON_MS + MINUTE),
    )
    assert answer.status_code == 303
    address, _, anchor = answer.headers["Location"].partition("#")
    html = page(visitor, address)
    assert f'id="{anchor}"' in html and "What did I set retention to?" in html
    cite = re.search(r'<a class="cite" href="(/frames/\d+\?cite=[\d.]+)"', html)
    assert cite is not None and cite[1].startswith(f"/frames/{frame.id}?")
    assert html.count('<figure class="quote"') == 1 and "searched" in html
    proof = page(visitor, cite[1])
    assert f'href="{address}#{anchor}"' in proof and "Back to answer" in proof
    assert re.search(r'<g class="current[^>]*>\s*<rect', proof)


def test_a_question_of_a_date_that_is_none_keeps_its_words(app: Flask, visitor: Actor) -> None:
    answer = ask(app, visitor, message="what happened on 30 February")
    assert answer.status_code == 422
    assert ">what happened on 30 February</textarea>" in answer.text
    assert 'name="offered" value="all"' in answer.text


def test_a_wall_time_range_is_read_in_the_zone_of_the_browser(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow], database: Database
) -> None:
    shoot()
    answer = ask(
        app, visitor, message="What was it?", when="custom",
        from_local="2026-11-20T19:30", to_local="2026-11-20T20:30",
    )  # fmt: skip
    assert answer.status_code == 303
    turn = conversations.turns(database, 1)[0]
    assert (turn.start_ms, turn.end_ms, turn.timezone) == (
        NOON_MS - 30 * MINUTE,
        NOON_MS + 30 * MINUTE,
        "Asia/Shanghai",
    )


def test_htmx_gets_the_turn_and_a_new_chat_its_address(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot()
    visitor.headers["HX-Request"] = "true"
    first = ask(app, visitor, message="What was it?", when="today")
    assert (first.status_code, first.headers["HX-Redirect"]) == (204, "/chat/1#t1")
    second = ask(app, visitor, "/chat/1", message="And then?", when="today")
    assert second.status_code == 200 and second.text.lstrip().startswith('<article class="turn" id="t2"')
    refused = ask(app, visitor, "/chat/1", message="And on 30 February?")
    assert refused.headers["HX-Retarget"] == "#composer" and 'id="composer"' in refused.text


def test_a_turn_reads_the_same_as_fragment_and_on_the_page(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot()
    ask(app, visitor, message="What was it?", when="today")
    fragment = page(visitor, "/chat/1/turns/1", **{"HX-Request": "true"})
    # The chip of the topic comes after it, to be put where the page has its own.
    turns = [
        re.search(r'<article class="turn" id="t1".*?</article>', html, re.S)
        for html in (page(visitor, "/chat/1"), fragment)
    ]
    assert turns[0] and turns[1] and turns[0][0].split() == turns[1][0].split()
    assert fragment.lstrip().startswith("<article")


def test_a_deleted_frame_leaves_its_card_without_content(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    frame = shoot()
    ask(app, visitor, message="What did I set retention to?", when="today")
    visitor.post(f"/frames/{frame.id}/delete", data={"csrf_token": csrf_of(app, visitor)})
    html = page(visitor, "/chat/1")
    assert "Image removed" in html and "14 days" not in html


def test_a_chat_that_is_not_there_is_404(app: Flask, visitor: Actor) -> None:
    page(visitor, "/chat/99", 404)
    assert ask(app, visitor, "/chat/99", message="x", when="today").status_code == 404


# -- privacy and display --------------------------------------------------------------------


def test_a_rule_is_added_tested_and_removed(app: Flask, visitor: Actor) -> None:
    token = {"csrf_token": csrf_of(app, visitor)}
    assert visitor.post("/privacy/rules", data={**token, "app": "Signal"}).status_code == 303
    assert "It would be recorded" in page(visitor, "/privacy/test?app=Code&title=main.py")
    assert "Nothing would be recorded" in page(visitor, "/privacy/test?app=Signal&title=Chats")
    html = page(visitor, "/privacy")
    shown = re.search(r'name="words" value="([^"]*Signal[^"]*)"', html)
    assert shown is not None
    assert visitor.post("/privacy/rules/0/remove", data={**token, "words": shown[1]}).status_code == 303
    assert "It would be recorded" in page(visitor, "/privacy/test?app=Signal&title=Chats")


def test_of_rules_that_two_pages_add_at_once_both_hold(
    app: Flask, visitor: Actor, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = {"csrf_token": csrf_of(app, visitor)}

    def is_kept_out() -> bool:
        with file_lock(data_dir.spool / "privacy.lock") as is_free:
            return not is_free

    other = Beside(lambda: visitor.post("/privacy/rules", data={**token, "app": "Signal"}), is_kept_out)
    meanwhile(monkeypatch, rules, "save_choices", other, is_before=True)
    visitor.post("/privacy/rules", data={**token, "app": "Diary"})
    other.join()
    assert {rule.app for rule in rules.own_choices(data_dir).rules} == {"Signal", "Diary"}


def test_a_senseless_rule_is_refused_at_its_field(app: Flask, visitor: Actor) -> None:
    answer = visitor.post("/privacy/rules", data={"csrf_token": csrf_of(app, visitor), "url": "https://"})
    assert (
        answer.status_code == 422
        and 'aria-invalid="true"' in answer.text
        and 'value="https://"' in answer.text
        and 'data-page="/privacy"' in answer.text
    )


def test_erasing_needs_the_typed_word(app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]) -> None:
    frame = shoot()
    assert "deletes 1 frame" in words(page(visitor, "/privacy/erase?when=today"))
    form = {"csrf_token": csrf_of(app, visitor), "when": "today"}
    assert visitor.post("/privacy/erase", data={**form, "confirm": "yes"}).status_code == 422
    page(visitor, f"/frames/{frame.id}")
    receipt = visitor.post("/privacy/erase", data={**form, "confirm": "DELETE"}).headers["Location"]
    assert "1 frame deleted" in words(page(visitor, receipt))
    page(visitor, f"/frames/{frame.id}", 404)
    assert "Delete for good" in words(page(visitor, "/privacy/erase?when=today"))  # no frame, no number
    assert "holds no frame" in words(page(visitor, "/privacy/erase?when=today"))
    again = visitor.post("/privacy/erase", data={**form, "confirm": "DELETE"}).headers["Location"]
    assert "Nothing was left to delete" in words(page(visitor, again))
    # A receipt that is not listed any more may have been of anything.
    assert "Nothing was left to delete" not in words(page(visitor, "/privacy?deleted=1"))
    chinese, frame = {"Accept-Language": "zh-CN"}, shoot()
    assert "输入“删除”以确认" in visitor.get("/privacy/erase?when=today", headers=chinese).text
    visitor.post("/privacy/erase", data={**form, "confirm": "删除"}, headers=chinese)
    page(visitor, f"/frames/{frame.id}", 404)


def test_a_new_rule_offers_to_delete_what_it_would_have_hidden(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    kept, hidden = shoot(1, app_name="Code"), shoot(2, app_name="Signal")
    token = {"csrf_token": csrf_of(app, visitor)}
    answer = visitor.post("/privacy/rules", data={**token, "app": "Signal"})
    assert answer.headers["Location"] == "/privacy/erase?rule=app+Signal#rules"
    asked = words(page(visitor, answer.headers["Location"]))
    assert "The rule Signal fits 1 frame recorded earlier" in asked
    assert visitor.post("/privacy/erase", data={**token, "rule": "app Signal"}).status_code == 422
    page(visitor, f"/frames/{hidden.id}")
    form = {**token, "rule": "app Signal", "confirm": "DELETE"}
    assert "1 frame deleted" in words(page(visitor, visitor.post("/privacy/erase", data=form).location))
    page(visitor, f"/frames/{hidden.id}", 404)
    page(visitor, f"/frames/{kept.id}")
    assert "Nothing that is stored fits" in words(page(visitor, answer.headers["Location"]))
    shoot(3, browser_url="https://bank.example/")
    said = "Without the browser extension Recollect cannot see addresses in time, so every window of"
    assert said not in words(page(visitor, "/privacy")) + page(visitor, "/status/now")
    answer = visitor.post("/privacy/rules", data={**token, "url": "bank.example"})
    asked = words(page(visitor, answer.headers["Location"]))
    assert "whose address is not known stay" in asked and said in asked
    for address in ("/privacy", "/status/now", "/privacy/test?app=Chromium&title=News"):
        assert said in words(page(visitor, address))
    assert said not in words(page(visitor, "/privacy/test?app=Code&title=News"))
    assert visitor.post("/privacy/erase", data={**form, "rule": "app Code"}).status_code == 422


def test_a_rule_s_preview_and_receipt_say_of_which_frames_only_the_front_is_known(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    shoot(1, visible=(("Signal", "Chats", None),))
    unknown = shoot(2, visible=None)
    token = {"csrf_token": csrf_of(app, visitor)}
    answer = visitor.post("/privacy/rules", data={**token, "app": "Signal"})
    said = "may still show it behind another window: only the window in front was compared."
    asked = words(page(visitor, answer.headers["Location"]))
    assert "fits 1 frame recorded earlier" in asked and said in asked
    form = {**token, "rule": "app Signal", "confirm": "DELETE"}
    told = words(page(visitor, visitor.post("/privacy/erase", data=form).location))
    assert "1 frame deleted" in told and "Checked: nothing of it is left" not in told
    assert told.count(said) == 2  # in its place and among the receipts
    page(visitor, f"/frames/{unknown.id}")
    asked = words(page(visitor, answer.headers["Location"]))
    assert "Nothing that is stored fits Signal. 1 frame until" in asked and said in asked


def test_the_built_in_rules_ask_about_the_past_when_they_are_switched_on_again(
    app: Flask, visitor: Actor, shoot: Callable[..., FrameRow]
) -> None:
    token = {"csrf_token": csrf_of(app, visitor)}
    assert (
        visitor.post("/privacy/defaults", data={**token, "defaults": "off"})
        .headers["Location"]
        .endswith("#rules")
    )
    shoot(1, app_name="Code")
    shoot(2, app_name="KeePassXC")
    answer = visitor.post("/privacy/defaults", data={**token, "defaults": "on"})
    asked = words(page(visitor, answer.headers["Location"]))
    assert "password managers and private windows fits 1 frame" in asked


def test_theme_and_zone_are_kept_in_the_browser(app: Flask, visitor: Actor) -> None:
    form = {"csrf_token": csrf_of(app, visitor), "theme": "dark", "zone": "Europe/Berlin", "next": "/search"}
    answer = visitor.post("/settings/display", data=form)
    assert answer.headers["Location"] == "/search"
    html = page(visitor, "/search")
    assert '<html lang="en" data-theme="dark">' in html and "(UTC+01:00)" in html
    assert visitor.post("/settings/display", data={**form, "zone": "../etc"}).status_code == 400


def test_the_zone_stands_beside_times_only_where_clocks_differ(
    visitor: Actor, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_drawn() -> bool:
        chip = re.search(r'<a class="chip zone[^>]*', page(visitor, "/search"))
        return "unscripted" not in (chip or [""])[0]

    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert is_drawn()  # the browser is in Shanghai
    monkeypatch.setenv("TZ", "Asia/Singapore")
    assert not is_drawn()  # another name of the same clock
    store_frame(database, data_dir, utc_offset_min=8 * 60)
    assert not is_drawn()
    store_frame(database, data_dir, NOON_MS + 60_000, utc_offset_min=60)  # recorded on a journey
    assert is_drawn()
    store_frame(database, data_dir, NOON_MS + 120_000)  # imported, of no known zone
    assert not is_drawn()
    preferences.choose_day_clock(database, preferences.DayClock(ZoneInfo("Europe/Berlin")))
    assert is_drawn()


# -- templates ------------------------------------------------------------------------------


def test_no_template_marks_text_as_safe() -> None:
    """The Markdown module is the only maker of Markup."""
    for file in (Path(__file__).parents[3] / "templates").rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "|safe" not in text.replace(" ", "") and "autoescape" not in text, file.name
