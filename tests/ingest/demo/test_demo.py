"""The sample week: planned, drawn and read, and never mixed with anything else."""

from __future__ import annotations

import itertools
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from ingest.core.home import Home, open_home
from ingest.demo import drawing, generator, memories
from ingest.demo.days import Options, Visit, plan
from ingest.demo.drawing import Fonts
from ingest.demo.generator import SampleWeekGenerator
from ingest.demo.story import story
from ingest.importers.items import CannotImport
from ingest.worker.storing import store_entry
from store.chats import conversations
from store.core.database import open_database, scalar
from store.core.settings import Settings
from store.frames import frames
from store.frames.media import Media
from store.memory import insights
from store.sources import entities, imports
from store.spool.queue import Spool
from store.timeline import gaps, ledger, sample_week, segments
from store.verify.verify import verify
from tests import demo_week
from tests.demo_week import DemoHome
from tests.ingest.conftest import queue, taken

BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY = date(2026, 11, 20)
WEEK = Options(FRIDAY, BERLIN)


# -- the plan -----------------------------------------------------------------------------


def test_the_same_options_give_the_same_week_and_another_seed_another_one() -> None:
    assert plan(WEEK) == plan(WEEK)
    assert plan(WEEK) != plan(replace(WEEK, seed=2))


def test_a_week_is_five_working_days_and_more_days_are_earlier_weeks() -> None:
    assert [day.date.isoweekday() for day in plan(WEEK)] == [1, 2, 3, 4, 5]
    longer = plan(replace(WEEK, last_day=date(2026, 11, 22), days=7))
    assert [(day.date.day, day.week) for day in longer] == [
        (12, 1), (13, 1), (16, 0), (17, 0), (18, 0), (19, 0), (20, 0),
    ]  # fmt: skip
    (thursday,) = (visit for visit in longer[0].visits if visit.script.id == "zh_report")
    (later,) = (visit for visit in longer[5].visits if visit.script.id == "zh_report")
    assert thursday.script.window != later.script.window


def test_a_day_has_no_holes_and_no_two_pictures_at_one_moment() -> None:
    for day in plan(WEEK):
        edges = [(stretch.start_ms, stretch.end_ms) for stretch in day.stretches]
        assert all(before[1] == after[0] for before, after in itertools.pairwise(edges))
        for visit in day.visits:
            moments = visit.moments
            assert moments[0].captured_ms == visit.start_ms
            assert [m.ended_ms for m in moments] == [*(m.captured_ms for m in moments[1:]), visit.end_ms]
            assert all(m.captured_ms < m.ended_ms for m in moments)


def test_without_chinese_the_week_is_told_in_english() -> None:
    english = plan(replace(WEEK, chinese=False))
    shown = [text for day in english for visit in day.visits for text in texts(visit)]
    assert shown
    assert not any(drawing.is_chinese(text) for text in shown)


def texts(visit: Visit) -> list[str]:
    return [visit.script.window, *(str(row) for row in visit.script.surface.rows)]


def test_looks_add_up_in_every_batch() -> None:
    """As many decisions and frames as looks, of made-up looks as of real ones."""
    for day in plan(WEEK):
        kept = [generator.capture(1, BERLIN, v, m).batch_id for v in day.visits for m in v.moments]
        reports = [report for stretch in day.stretches if (report := generator.report(1, stretch))]
        assert {report.batch_id for report in reports} >= set(kept)
        for report in reports:
            assert report.looks == sum(run.looks for run in report.runs) + kept.count(report.batch_id)
            assert all(report.start_ms <= run.start_ms <= run.end_ms <= report.end_ms for run in report.runs)


# -- pictures -----------------------------------------------------------------------------


def test_every_fact_stands_on_one_line_of_some_picture() -> None:
    found = drawing.find_fonts()
    assert found.chinese is not None, "the tests need a Chinese font"
    shown: set[str] = set()
    for day in plan(WEEK):
        for visit in day.visits:
            lines = generator.picture(found, BERLIN, visit, visit.moments[-1]).lines
            for fact in visit.script.facts:
                if any(fact.text in line for line in lines):
                    shown.add(fact.id)
    told = {fact.id for script in story().scenes.values() for fact in script.facts if script.id != "on_call"}
    assert told == shown


def test_pictures_are_the_same_every_time() -> None:
    visit = plan(WEEK)[0].visits[1]
    drawn = [
        generator.picture(drawing.find_fonts(), BERLIN, visit, visit.moments[-1]).webp() for _ in range(2)
    ]
    assert drawn[0] == drawn[1]


def test_a_machine_without_fonts_still_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(drawing.ImageFont, "truetype", Mock(side_effect=OSError))
        bare = drawing.find_fonts()
    assert bare == Fonts()
    for visit in plan(replace(WEEK, chinese=False))[0].visits:
        assert generator.picture(bare, BERLIN, visit, visit.moments[-1]).lines
    with pytest.raises(ValueError, match="Chinese"):
        bare.of("浮标", 16)


# -- a home of its own --------------------------------------------------------------------


def test_a_home_with_other_frames_is_refused(home: Home) -> None:
    store_entry(home, taken(home, queue(home)), 1)
    with pytest.raises(CannotImport, match="already holds frames of another origin"):
        SampleWeekGenerator(home, drawing.find_fonts(), WEEK)
    assert not sample_week.is_sample(home.data_dir)


def test_a_home_with_waiting_captures_is_refused(home: Home) -> None:
    queue(home)
    with pytest.raises(CannotImport, match="wait in the spool"):
        SampleWeekGenerator(home, drawing.find_fonts(), WEEK)


def test_a_real_capture_is_refused_by_a_sample_week(demo_copy: DemoHome) -> None:
    home = open_home(demo_copy.data_dir, Settings())
    queue(home, captured_ms=demo_copy.week.end_ms + 1)
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "--home", str(home.data_dir.home), "--once"],
        cwd=demo_week.ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert [reason for _, reason in home.spool.failed()] == [
        "a sample week and real captures never share a home folder"
    ]
    assert sample_week.stranger(home.database) is None
    home.database.close_thread()


def test_capture_does_not_record_into_a_sample_week(demo_home: DemoHome) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "capture", "--home", str(demo_home.data_dir.home)],
        cwd=demo_week.ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "holds a sample week" in done.stderr


def test_another_week_does_not_go_into_the_same_home(demo_home: DemoHome) -> None:
    done = demo_week.run(demo_home.data_dir.home, "--seed", "2")
    assert done.returncode == 1
    assert "already holds a sample week, made with seed 1" in done.stderr


def test_making_it_again_adds_nothing(demo_copy: DemoHome) -> None:
    before = stored(demo_copy)
    assert demo_week.make(demo_copy.data_dir.home, "--hours", "3.5").week == demo_copy.week
    assert stored(demo_copy) == before


def stored(demo: DemoHome) -> tuple[int, int]:
    """(frames, looks) in a home."""
    database = open_database(demo.data_dir)
    with database.read() as connection:
        frames_kept = scalar(connection, "select count(*) from frames")
        looks = scalar(connection, "select sum(looks) from look_batches")
    database.close_thread()
    return frames_kept, looks


def test_the_week_has_chats_insights_people_and_sources_once(home: Home) -> None:
    """Without its pictures, so that no sentence has one to cite."""
    week = {day: FRIDAY - timedelta(days=4 - day) for day in range(5)}
    for _ in range(2):
        memories.add(home.database, BERLIN, 1, week)
    chats = conversations.list_chats(home.database)
    told = insights.list_insights(home.database)
    assert {chat.title for chat in chats} > {insight.title for insight in told} and len(told) == 2
    assert all("$" not in insight.summary and insight.persona == "Journal" for insight in told)
    assert {entity.kind for entity in entities.find_entities(home.database)} == {"person", "thing"}
    assert all(facts for facts in [entities.facts_of(home.database, [1])])
    assert {each.kind for each in imports.listed(home.database)} == set(imports.KINDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--until", "2999-01-01"], "a day that is over"), (["--tz", "Mars/Base"], "not an IANA zone"),
     (["--days", "0"], "range")],
)  # fmt: skip
def test_what_cannot_be_made_is_said_in_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = demo_week.run(tmp_path / "home", *arguments)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


# -- what was read ------------------------------------------------------------------------


def test_frames_are_what_the_truth_says(demo_home: DemoHome) -> None:
    database = open_database(demo_home.data_dir)
    for scene in demo_home.week.scenes:
        for true in scene.frames:
            frame = frames.get(database, true.frame_id)
            assert (frame.capture_id, frame.captured_ms) == (true.capture_id, true.captured_ms)
            assert (frame.app_name, frame.window_name, frame.browser_url) == (
                scene.app_name, scene.window_name, scene.browser_url,
            )  # fmt: skip
            assert frame.ended_ms == true.ended_ms
            assert frame.source == sample_week.SOURCE
            assert frame.status == "searchable"
    database.close_thread()


def test_nearly_every_fact_can_be_read(demo_home: DemoHome) -> None:
    """At least 95 % of what was planted stands in the stored text, figures and all."""
    database = open_database(demo_home.data_dir)
    with database.read() as connection:
        readable = [
            squeezed(fact.text)
            in squeezed(scalar(connection, "select text from frame_texts where id = ?", (frame.frame_id,)))
            for scene in demo_home.week.scenes
            for fact in scene.facts
            for frame in scene.showing(fact.text)
        ]
    database.close_thread()
    assert len(readable) > 40
    assert sum(readable) >= 0.95 * len(readable)


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_ledger_index_and_pictures_agree(demo_home: DemoHome) -> None:
    database, data_dir, week = open_database(demo_home.data_dir), demo_home.data_dir, demo_home.week
    report = verify(database, Media(data_dir.media), Spool(data_dir.spool))
    assert report.problems == ()
    assert ledger.reconcile(database, week.start_ms - 600_000, week.end_ms).difference == 0
    assert gaps.gaps(database, week.start_ms, week.end_ms, week.end_ms + 1) == []
    database.close_thread()


def test_time_by_app_is_the_time_that_was_spent(demo_home: DemoHome) -> None:
    database, week = open_database(demo_home.data_dir), demo_home.week
    spent: dict[str, int] = {}
    for scene in week.scenes:
        spent[scene.app_name] = spent.get(scene.app_name, 0) + scene.end_ms - scene.start_ms
    totals = segments.totals(database, week.start_ms, week.end_ms)
    assert {total.name: total.duration_ms for total in totals.by_app} == spent
    database.close_thread()


def test_the_mark_reads_back_as_it_was_written(demo_copy: DemoHome) -> None:
    mark = sample_week.read(demo_copy.data_dir)
    assert mark is not None and mark.is_complete
    changed = replace(mark, made_with={**mark.made_with, "seed": 9})
    sample_week.write(demo_copy.data_dir, changed)
    assert sample_week.read(demo_copy.data_dir) == changed
    week = demo_copy.week
    assert uuid.UUID(week.frames[0].capture_id).version == 5
    start = datetime.fromtimestamp(week.start_ms / 1000, UTC).astimezone(BERLIN)
    assert start - start.replace(hour=8, minute=52, second=0) < timedelta(minutes=16)
