"""Time in a real browser: the rules of static/js against the vectors that bind the server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, Route

from assistant.language.time_phrases import Calendar, in_field, in_message
from tests.assistant.language.test_mentions import VECTORS as MENTIONS
from tests.assistant.language.test_phrases import DOCUMENT, LOCAL_DAYS, TYPED, WEEKDAYS, in_ms, ms, repeated
from tests.assistant.language.test_phrases import outcome as server_outcome

STATIC = Path(__file__).parents[2] / "static"
ORIGIN = "http://recollect.test"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A blank page beside the modules as they are; its own zone is none of those that are asked."""
    context = browser.new_context(timezone_id="Pacific/Honolulu")

    def serve(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN).lstrip("/")
        if path:
            route.fulfill(path=STATIC / path, content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    context.route(f"{ORIGIN}/**", serve)
    page = context.new_page()
    page.goto(ORIGIN)
    yield page
    context.close()


def asked(case: dict[str, Any]) -> dict[str, Any]:
    """A case as the browser takes it: a text and a calendar."""
    settings = {**DOCUMENT["settings_default"], **case.get("settings", {})}
    hour, minute = map(int, settings["day_start"].split(":"))
    return {
        "text": case["phrase"],
        "inMessage": case.get("in") == "message",
        "calendar": {
            "now": ms(case["now"]),
            "zone": case["tz"],
            "dayStartMin": hour * 60 + minute,
            "weekStart": WEEKDAYS.index(settings["week_start"]),
        },
    }


_READ = """async cases => {
  const { inField, inMessage } = await import('/js/time/phrases.js')
  return cases.map(each => (each.inMessage ? inMessage : inField)(each.text, each.calendar))
}"""


def outcome(found: dict[str, Any] | None) -> dict[str, Any]:
    """What the browser made of a phrase, in the form of the vectors."""
    if found is None:
        return {"error": "unrecognised"}
    if "problem" in found:
        return {"error": found["problem"]}
    told: dict[str, Any] = (
        {"at": found["at"]} if "at" in found else {"start": found["start"], "end": found["end"]}
    )
    if found.get("isClamped"):
        told["clamped"] = True
    if found["also"]:
        told["also"] = [outcome(each) for each in found["also"]]
    if found["adjusted"]:
        told["adjusted"] = found["adjusted"]
    return told


def test_every_phrase_means_in_the_browser_what_the_vectors_say(page: Page) -> None:
    cases = [*DOCUMENT["cases"], *repeated()]
    found = page.evaluate(_READ, [asked(case) for case in cases])
    told = [
        (case["phrase"], case["tz"], case["now"], outcome(each))
        for case, each in zip(cases, found, strict=True)
    ]
    meant = [(case["phrase"], case["tz"], case["now"], in_ms(case["expect"])) for case in cases]
    assert [each for each, other in zip(told, meant, strict=True) if each != other] == []
    assert len(told) >= 203 + 180


def test_typed_clock_ranges_take_the_walls_as_the_vectors_say(page: Page) -> None:
    calendar = {"now": ms("2030-01-01T00:00:00+00:00"), "dayStartMin": 0, "weekStart": 0}
    phrases = [f"{c['start_wall'].replace('T', ' ')[:16]}-{c['end_wall'].split('T')[1][:5]}" for c in TYPED]
    found = page.evaluate(
        _READ,
        [{"text": p, "calendar": {**calendar, "zone": c["tz"]}} for p, c in zip(phrases, TYPED, strict=True)],
    )
    for case, each in zip(TYPED, found, strict=True):
        told, expect = outcome(each), case["expect"]
        if "error" in expect:
            assert told["error"] == expect["error"], case
        else:
            assert (told["start"], told["end"]) == (expect["start_ms"], expect["end_ms"]), case


_MENTIONS = """async ({ mentions, apps }) => {
  const { readMentions } = await import('/js/time/mentions.js')
  return mentions.map(each => readMentions(each.message, apps))
}"""


def test_mentions_mean_in_the_browser_what_the_vectors_say(page: Page) -> None:
    found = page.evaluate(_MENTIONS, MENTIONS)
    for case, each in zip(MENTIONS["mentions"], found, strict=True):
        expect = {"app": case["app"], "hasSelection": case["selection"], "rest": case["rest"]}
        assert each == expect, case
    now = {"now": "2026-11-20T18:03:00+08:00", "tz": "Asia/Shanghai"}
    cases = [{**case, **now} for case in MENTIONS["phrases"]]
    found = page.evaluate(_READ, [asked(case) for case in cases])
    for case, each in zip(cases, found, strict=True):
        assert outcome(each) == in_ms(case["expect"]), case


_WALLS = """async vectors => {
  const { dayOn, wallToMs, fieldWall } = await import('/js/localtime.js')
  const minutes = text => { const [h, m] = text.split(':').map(Number); return h * 60 + m }
  const both = (zone, start, end) => [wallToMs(zone, fieldWall(start)), wallToMs(zone, fieldWall(end), true)]
  return {
    days: vectors.days.map(c => dayOn(c.tz, Date.parse(c.date + 'T00:00:00Z'), minutes(c.day_start))),
    walls: vectors.walls.map(c => both(c.tz, c.wall, c.wall)),
    ranges: vectors.ranges.map(c => both(c.tz, c.start_wall, c.end_wall)),
  }
}"""


def test_days_walls_and_ranges_are_those_of_the_vectors(page: Page) -> None:
    got = page.evaluate(_WALLS, LOCAL_DAYS)
    for kind in ("days", "walls", "ranges"):
        assert len(got[kind]) == len(LOCAL_DAYS[kind])
        for case, (start_ms, end_ms) in zip(LOCAL_DAYS[kind], got[kind], strict=True):
            expect = case["expect"]
            if "error" in expect:
                assert start_ms >= end_ms, case
            else:
                assert [start_ms, end_ms] == [expect["start_ms"], expect["end_ms"]], case


_PIECES = """
today | yesterday | tonight | last night | last | past | this | next | friday | sun | week | month | hours
days | half | 2 | 11 | 14:00 | 3pm | 12am | - | to | since | from | after | before | 2026-11-01 | 11/3
of | at | ,
. | x | may | May | 1.5 | 25:00 | 30:5 | 2pm-4pm | 9-11am | day before yesterday | Nov 3 | 30 Feb 2026
3 May | good morning | next week | 1e3 | bob@today | @ | @today | @yesterday | @last-hour | @最近一小时
下午 | 晚上 | 凌晨 | 中午 | 2点半 | 三点 | 今天 | 昨晚 | 上周 | 上上
周五 | 本周 | 上周末 | 个月 | 到 | 至 | 的
过去 | 两 | 小时 | 一刻 | 月 | 日 | 号 | 大后天 | 11月3日 | ９ | ＴＯＤＡＹ | ß | İ | 🙂
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
# Other digits and other white space, and a number that is infinite.
_PIECES += ["\u0662", "\U0001d7da", "\u00a0", "\ufeff", "\x1c", "\x85", "9" * 400]


def test_browser_and_server_read_any_text_alike(page: Page) -> None:
    rng = random.Random(5)
    zones = ("Asia/Shanghai", "America/New_York", "Pacific/Apia", "Antarctica/Troll", "Australia/Lord_Howe")
    cases = [
        {
            "text": rng.choice((" ", "")).join(rng.choices(_PIECES, k=rng.randint(1, 6))),
            "inMessage": rng.random() < 0.5,
            "calendar": {
                # Around the changes of autumn 2026, or anywhere within forty years.
                "now": rng.choice((1_793_511_000_000, 1_791_000_000_000)) + rng.randint(-4, 4) * 1_234_567
                if rng.random() < 0.5
                else rng.randrange(400_000_000_000, 1_900_000_000_000),
                "zone": rng.choice(zones),
                "dayStartMin": rng.choice((0, 0, 60, 240)),
                "weekStart": rng.choice((0, 0, 5, 6)),
            },
        }
        for _ in range(3_000)
    ]
    found = page.evaluate(_READ, cases)
    differing = [
        (case, theirs, ours)
        for case, each in zip(cases, found, strict=True)
        if (theirs := (outcome(each), each and each["phrase"])) != (ours := _by_server(case))
    ]
    assert differing == []
    assert sum("start" in outcome(each) for each in found) > 300


def _by_server(case: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    given = case["calendar"]
    calendar = Calendar(given["now"], ZoneInfo(given["zone"]), given["dayStartMin"], given["weekStart"])
    found = (in_message if case["inMessage"] else in_field)(case["text"], calendar)
    return server_outcome(found), found and found.phrase
