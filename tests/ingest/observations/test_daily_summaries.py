"""Summaries of days: told hour by hour, resumed anywhere, proven by frames, forgotten with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import apsw
import pytest

from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from store.core import preferences, times
from store.core.database import Database
from store.core.paths import DataDir
from store.core.preferences import DayClock
from store.deletion import deletion
from store.embeddings.knn import RetrievalQuery
from store.frames.media import Media
from store.memory import daily_hours, daily_summaries, observation_writer, observations
from store.memory.daily_hours import Hour, Point, Quote
from store.memory.daily_summaries import DailySummary
from store.memory.observations import HOUR_MS, MODEL_SAYS, Fact
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, Clock
from tests.ingest.remembering import MINUTE, Shoot

BERLIN, CALCUTTA, AUCKLAND = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("Pacific/Auckland")
FRIDAY = date(2026, 11, 20)
LINE = "The retention policy keeps frames for 14 days"
SECRET = "xylophonequark"


@pytest.fixture(autouse=True)
def utc(database: Database) -> None:
    preferences.choose_day_clock(database, DayClock(ZoneInfo("UTC")))


def work(database: Database, clock: Clock, tick_ms: int = 10_000) -> int:
    """Run a loop, as after a restart, until nothing is due; returns its steps."""
    loop = ObservationLoop(database, clock, threading.Event(), DailySummaryWriter(database, clock))
    steps = 0
    while loop.step():
        steps += 1
        clock.now_ms += tick_ms
    return steps


def day(database: Database, on: date = FRIDAY) -> DailySummary:
    found = daily_summaries.of_day(database, on)
    assert found is not None
    return found


def hours(database: Database, on: date = FRIDAY) -> list[Hour]:
    summary = day(database, on)
    return daily_hours.between(database, summary.start_ms, summary.end_ms, summary.end_ms)


def refine(database: Database, frame_id: int, line: str, now_ms: int) -> None:
    """Put the only observation into a model's words, with a line that stands on a frame."""
    [(one, fingerprint)] = observation_writer.due(database, now_ms, 2)
    with database.write() as connection:
        facts = [Fact(line, frame_id)]
        assert observation_writer.accept(connection, one.id, fingerprint, "Edited a policy.", facts, now_ms)


# -- by rules -----------------------------------------------------------------------------


def test_a_day_is_told_hour_by_hour_with_the_lines_that_prove_it(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    frame = shoot(NOON_MS, f"{LINE}\nretention", window_name="retention.py")
    shoot(NOON_MS + 2 * HOUR_MS, "a few words", app_name="Chrome", window_name="Mail", shown_ms=5 * MINUTE)
    clock.now_ms = NOON_MS + 30 * HOUR_MS
    work(database, clock)
    found = day(database)
    assert (found.zone, found.source, found.end_ms - found.start_ms) == ("UTC", "rule", 24 * HOUR_MS)
    assert found.text.splitlines() == [
        "Friday, 20 November 2026. 6 min at the screen: Chrome 5 min, Code 1 min.",
        f"12:00 retention.py – Code, 1 min. “{LINE}”",
        "14:00 Mail – Chrome, 5 min.",
    ]
    first, second = [hour for hour in hours(database) if hour.points]
    assert first.points == (Point(NOON_MS, "retention.py – Code, 1 min.", (Quote(frame.id, LINE),)),)
    assert [quote.text for quote in second.points[0].quotes] == [""]  # the frame as such
    # Every other hour of the day is an empty placeholder.
    assert [hour.source for hour in hours(database)].count("none") == 22
    assert work(database, clock) == 0


def test_search_finds_a_day_by_its_words(database: Database, shoot: Shoot, clock: Clock) -> None:
    shoot(NOON_MS, f"{LINE}\nretention", window_name="retention.py")
    work(database, clock)
    found, _, _ = daily_summaries.search(database, RetrievalQuery("retention policy"))
    assert [each.day for each in found] == ["2026-11-20"]


def test_a_day_that_still_runs_is_told_up_to_the_last_full_hour(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, window_name="one")
    shoot(NOON_MS + HOUR_MS + MINUTE, window_name="two")
    clock.now_ms = NOON_MS + HOUR_MS + 30 * MINUTE
    work(database, clock)
    assert "one – Code" in day(database).text and "two" not in day(database).text
    clock.now_ms = NOON_MS + 2 * HOUR_MS + 3 * MINUTE
    work(database, clock)
    assert "two – Code" in day(database).text


def test_a_persons_words_win_and_what_they_hid_is_not_told(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, window_name="one")
    shoot(NOON_MS + 5 * MINUTE, window_name="two")
    work(database, clock)
    one, two = observations.between(database, 0, 2 * NOON_MS)
    observation_writer.edit(database, one.id, {"narrative": "Planned the week."}, clock())
    observation_writer.hide(database, two.id, clock())
    work(database, clock)
    assert "12:00 Planned the week." in day(database).text and "two" not in day(database).text


# -- clocks -------------------------------------------------------------------------------


def test_days_follow_the_clock_of_the_person(database: Database, shoot: Shoot, clock: Clock) -> None:
    """Half past eleven at night in Berlin is Friday there, and Saturday where a day begins in Auckland."""
    shoot(NOON_MS + 10 * HOUR_MS, window_name="late")
    clock.now_ms = NOON_MS + 48 * HOUR_MS
    preferences.choose_day_clock(database, DayClock(BERLIN))
    work(database, clock)
    assert database.column("select day from daily_summaries") == ["2026-11-20"]
    assert "23:00 late" in day(database).text
    preferences.choose_day_clock(database, DayClock(AUCKLAND))
    work(database, clock)
    assert database.rows("select day, zone from daily_summaries order by day desc") == [
        ("2026-11-21", "Pacific/Auckland")
    ]
    preferences.choose_day_clock(database, DayClock(BERLIN, day_start_min=4 * 60))
    shoot(NOON_MS + 14 * HOUR_MS, window_name="later")  # three at night
    work(database, clock)
    found = day(database)
    assert "23:00 late" in found.text and "03:00 later" in found.text
    assert found.start_ms == NOON_MS - 9 * HOUR_MS


def test_another_clock_asks_no_model_again(database: Database, shoot: Shoot, clock: Clock) -> None:
    frame = shoot(NOON_MS, f"{LINE}\nretention")
    work(database, clock)
    refine(database, frame.id, LINE, clock())
    preferences.choose_day_clock(database, DayClock(CALCUTTA))
    work(database, clock)
    assert f"17:30 main.py – Code, 1 min. {MODEL_SAYS}Edited a policy." in day(database).text
    assert observation_writer.due(database, clock(), 1) == []


def test_an_hour_of_a_half_hour_zone_is_part_of_two_days(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    preferences.choose_day_clock(database, DayClock(CALCUTTA))
    midnight = NOON_MS + 6 * HOUR_MS + 30 * MINUTE
    shoot(midnight - 20 * MINUTE, window_name="before")
    shoot(midnight + 20 * MINUTE, window_name="after")
    clock.now_ms = NOON_MS + 48 * HOUR_MS
    work(database, clock)
    assert "23:40 before" in day(database).text and "after" not in day(database).text
    saturday = day(database, date(2026, 11, 21))
    assert "00:20 after" in saturday.text and "before" not in saturday.text


@pytest.mark.parametrize(
    ("on", "length"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)], ids=["spring", "autumn"]
)
def test_a_day_on_which_clocks_change_has_as_many_hours_as_it_lasts(
    database: Database, shoot: Shoot, clock: Clock, on: date, length: int
) -> None:
    preferences.choose_day_clock(database, DayClock(BERLIN))
    start_ms = times.day(on, BERLIN).start_ms
    shoot(start_ms, window_name="first")
    shoot(start_ms + (length - 1) * HOUR_MS, window_name="last")
    clock.now_ms = start_ms + 48 * HOUR_MS
    work(database, clock)
    assert len(hours(database, on)) == length
    assert "00:00 first" in day(database, on).text and "23:00 last" in day(database, on).text


# -- cut short ----------------------------------------------------------------------------


def test_killed_at_any_write_it_goes_on_where_it_was(
    database: Database, shoot: Shoot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every transaction is lost once, as by a kill in it; a new loop ends as one that was never killed."""
    lines = {0: LINE, 1: "Anna wants the boxes tomorrow", 3: "Nobody answered about Friday's train"}
    for n, line in lines.items():
        shoot(NOON_MS + n * HOUR_MS, line, window_name=f"w{n}")
    clock.now_ms = NOON_MS + 30 * HOUR_MS
    killed = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        has_died: set[Any] = set()

        def once(connection: apsw.Connection, *arguments: Any) -> Any:
            result = real(connection, *arguments)
            if arguments[0] not in has_died:
                has_died.add(arguments[0])
                raise KeyboardInterrupt
            return result

        return once

    with monkeypatch.context() as patched:
        patched.setattr(daily_hours, "texts_done", dying(daily_hours.texts_done))
        patched.setattr(daily_summaries, "put", dying(daily_summaries.put))
        while True:
            try:
                work(database, clock)
                break
            except KeyboardInterrupt:
                killed += 1
    assert killed >= 2
    text = day(database).text
    with database.write() as connection:
        daily_hours.redo(connection, 0, 2 * NOON_MS)
    work(database, clock)
    assert day(database).text == text and all(line in text for line in lines.values())


# -- by a model ---------------------------------------------------------------------------


def test_what_a_model_says_of_observations_tells_their_hour(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    frame = shoot(NOON_MS, f"{LINE}\nretention")
    work(database, clock)
    refine(database, frame.id, "retention policy keeps frames", clock())
    work(database, clock)
    [hour] = [each for each in hours(database) if each.points]
    assert hour.source == "model" and day(database).source == "model"
    assert [(point.text, point.quotes) for point in hour.points] == [
        (
            f"main.py – Code, 1 min. {MODEL_SAYS}Edited a policy.",
            (Quote(frame.id, LINE), Quote(frame.id, "retention policy keeps frames")),
        )
    ]
    assert f"{MODEL_SAYS}Edited a policy." in day(database).text
    with database.write() as connection:
        daily_hours.redo(connection, 0, 2 * NOON_MS)
    refine(database, frame.id, LINE, clock())
    work(database, clock)
    assert f"{MODEL_SAYS}Edited a policy." in day(database).text and LINE in day(database).text


def test_a_failed_model_leaves_the_words_of_the_rules_and_says_so(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, f"{LINE}\nretention")
    work(database, clock)
    [(one, fingerprint)] = observation_writer.due(database, clock(), 2)
    with database.write() as connection:
        observation_writer.fail(connection, one.id, fingerprint, "model_malformed", clock())
    [hour] = [each for each in hours(database) if each.points]
    assert (hour.source, hour.model_error) == ("rule", "model_malformed")
    assert LINE in day(database).text


# -- forgetting ---------------------------------------------------------------------------


def test_a_deleted_frame_leaves_no_word_and_its_day_is_told_again(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, f"{LINE}\nretention", window_name="kept")
    secret = shoot(NOON_MS + 5 * MINUTE, f"{SECRET} is the word of it here", window_name=f"about {SECRET}")
    work(database, clock)
    assert SECRET in day(database).text
    receipt = deletion.delete_frames(database, Media(data_dir.media), [secret.id])
    assert receipt.verified and receipt.counts.summaries == 1
    assert daily_summaries.of_day(database, FRIDAY) is None
    holding = [p.name for p in data_dir.home.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
    assert holding == []
    work(database, clock)
    assert LINE in day(database).text and SECRET not in day(database).text
    assert verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems == ()


def test_a_day_without_frames_left_is_none(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    frame = shoot(NOON_MS)
    work(database, clock)
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    work(database, clock)
    assert database.column("select day from daily_summaries") == []


def test_a_frame_deleted_while_its_hour_is_told_comes_to_nothing(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = shoot(NOON_MS, f"{SECRET} is the word of it here")
    told, overtaken = daily_hours.between, list[Hour]()

    def read(*arguments: Any) -> list[Hour]:
        found = told(*arguments)
        if any(SECRET in quote.text for hour in found for point in hour.points for quote in point.quotes):
            overtaken.extend(found)
            other = threading.Thread(
                target=lambda: deletion.delete_frames(database, Media(data_dir.media), [frame.id])
            )
            other.start()
            other.join()
        return found

    monkeypatch.setattr(daily_hours, "between", read)
    work(database, clock)
    assert overtaken and database.column("select day from daily_summaries") == []
