"""Retention: nothing goes without the person's word, and what goes leaves no byte and says so."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from store.chats import conversations
from store.chats.conversations import StoredEvidence
from store.core.database import Database
from store.core.errors import MediaGone, StoreBusy
from store.core.paths import DataDir
from store.core.settings import RetentionSettings
from store.deletion import deletion, retention
from store.deletion.retention import Run
from store.frames import frames, pending, tags
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.search.filters import Filters
from store.search.search import search
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, picture, store_frame, webp
from tests.meanwhile import meanwhile

DAY_MS = 86_400_000
NOW_MS = NOON_MS + 40 * DAY_MS
KEEP_NONE = RetentionSettings(days=30, preview_days=30)


def put(database: Database, data_dir: DataDir, days_old: float, text: str = "harbour") -> FrameRow:
    at_ms = NOW_MS - round(days_old * DAY_MS)
    return store_frame(database, data_dir, at_ms, text, image=picture(at_ms, (640, 400)))


def problems(database: Database, media: Media) -> tuple[str, ...]:
    found = verify(database, media, Spool(database.data_dir.spool)).problems
    return tuple(problem for problem in found if "picture" in problem or "media folder" in problem)


def ask(database: Database, frame: FrameRow) -> int:
    """A question that is being answered; its turn's id."""
    chat_id = conversations.create(database, "what?", NOW_MS)
    return conversations.add_turn(
        database, chat_id, mode="evidence", model="m", question="what?",
        start_ms=NOON_MS, end_ms=NOW_MS, timezone="UTC", now_ms=NOW_MS,
    ).id  # fmt: skip


def cite(database: Database, turn_id: int, frame: FrameRow) -> None:
    shown = StoredEvidence(
        1, frame.id, frame.captured_ms, frame.app_name, frame.window_name, True, None,
        snippet="harbour", quote="harbour", boxes=(), state="found",
    )  # fmt: skip
    conversations.finish_turn(database, turn_id, "harbour [1]", {"claims": []}, [shown], NOW_MS)


def test_nothing_goes_without_the_persons_word(database: Database, data_dir: DataDir, media: Media) -> None:
    for days in (1, 400, 4000):
        put(database, data_dir, days)
    before = media.files()
    done = retention.run(database, media, retention.chosen(database, RetentionSettings()), NOW_MS)
    assert (done, media.files()) == (Run(NOW_MS), before)


def test_the_ladder_by_days(database: Database, data_dir: DataDir, media: Media) -> None:
    policy = RetentionSettings(days=10, preview_days=20, text_days=30)
    fresh, small, text, gone = (put(database, data_dir, days, f"word{days}") for days in (5, 15, 25, 35))
    planned = retention.plan(database, policy, NOW_MS).run
    done = retention.run(database, media, policy, NOW_MS)
    assert (done.pictures, done.frames) == (planned.pictures, planned.frames) == (3, 1)
    found = frames.get_many(database, [fresh.id, small.id, text.id, gone.id])
    assert [(row.media_path is None, row.preview_path is None) for row in found.values()] == [
        (False, True), (True, False), (True, True),
    ]  # fmt: skip
    assert media.image(found[fresh.id]).size == media.image(fresh).size
    assert len(media.preview(found[small.id], 300)) > 0
    with pytest.raises(MediaGone, match="retention"):
        media.exact(found[small.id])
    assert found[text.id].media_gone_ms == NOW_MS
    words = [search(database, f"word{days}", Filters(0, NOW_MS), limit=5).hits for days in (5, 15, 25, 35)]
    assert [len(hits) for hits in words] == [1, 1, 1, 0]
    assert len(media.files()) == 2
    assert problems(database, media) == ()
    later = retention.run(database, media, policy, NOW_MS + 10 * DAY_MS)
    assert (later.pictures, later.previews, later.frames) == (1, 1, 1)
    assert retention.runs(database, 9) == [later, done]


def test_one_small_picture_a_minute_is_left(database: Database, data_dir: DataDir, media: Media) -> None:
    start_ms = (NOW_MS - 20 * DAY_MS) // 60_000 * 60_000
    for second in (0, 1, 59, 60, 119):
        store_frame(database, data_dir, start_ms + second * 1000, "x", image=picture(second, (640, 400)))
    store_frame(database, data_dir, start_ms, "x", image=picture(7, (640, 400)), monitor="DP-2")
    retention.run(database, media, RetentionSettings(days=10), NOW_MS)
    assert database.scalar("select count(*) from frames where preview_path is not null") == 3
    assert len(media.files()) == 3


def test_kept_frames_stay_whole(database: Database, data_dir: DataDir, media: Media) -> None:
    pinned, cited, other, unread = (put(database, data_dir, 50 + n) for n in range(4))
    tags.pin(database, pinned.id, NOW_MS)
    cite(database, ask(database, cited), cited)
    database.change("update frames set reading_state = 'pending' where id = ?", (unread.id,))
    done = retention.run(database, media, replace(KEEP_NONE, max_gb=1e-9), NOW_MS)
    assert done.pictures == 1
    assert {frame.id for frame in (pinned, cited, unread)} == set(
        database.column("select id from frames where media_path is not null")
    )
    retention.run(database, media, RetentionSettings(text_days=1), NOW_MS)
    assert set(database.column("select id from frames")) == {pinned.id, cited.id}
    assert media.exact(frames.get(database, cited.id)) == media.exact(cited)
    assert other.id not in frames.get_many(database, [other.id])


def test_a_limit_takes_the_oldest_pictures_and_no_text(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    ids = [put(database, data_dir, days, f"word{days}").id for days in range(10, 0, -1)]
    half = retention.media_bytes(database) / 2
    policy = RetentionSettings(preview_days=1, max_gb=half / 1e9)
    planned = retention.plan(database, policy, NOW_MS).run
    done = retention.run(database, media, policy, NOW_MS)
    assert (done.pictures, done.bytes_freed) == (planned.pictures, planned.bytes_freed)
    left = database.column("select id from frames where media_path is not null order by id")
    assert left == ids[-len(left) :] and 4 <= len(left) <= 5
    assert retention.media_bytes(database) <= half
    assert database.scalar("select count(*) from readings") == 10


def test_a_limit_takes_small_pictures_last(database: Database, data_dir: DataDir, media: Media) -> None:
    for days in (3, 2, 1):
        put(database, data_dir, days)
    tight = RetentionSettings(max_gb=1e-9)
    first, second = (retention.run(database, media, tight, NOW_MS) for _ in range(2))
    assert (first.pictures, first.previews, second.previews) == (3, 0, 3)
    assert media.files() == []


def test_no_picture_goes_while_a_question_is_answered(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    cited, other = put(database, data_dir, 50), put(database, data_dir, 51)
    turn_id = ask(database, cited)
    with pytest.raises(StoreBusy, match="being written"):
        retention.run(database, media, KEEP_NONE, NOW_MS)
    assert "being written" in retention.runs(database, 1)[0].problem
    assert len(media.files()) == 2 and problems(database, media) == ()
    cite(database, turn_id, cited)
    retention.run(database, media, KEEP_NONE, NOW_MS)
    assert media.files() == [cited.media_path]
    assert [run.problem for run in retention.runs(database, 9)] == [""]
    assert other.media_path not in media.files()


def test_no_frame_goes_once_a_question_came_while_they_go(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, old = RetentionSettings(text_days=30), put(database, data_dir, 50)
    meanwhile(monkeypatch, deletion.Erasure, "remove", lambda: ask(database, old), is_before=True)
    with pytest.raises(StoreBusy, match="being written"):
        retention.run(database, media, policy, NOW_MS)
    assert media.files() == [old.media_path] and problems(database, media) == ()
    assert retention.run(database, media, policy, NOW_MS + 2 * 3_600_000).frames == 1


def test_a_question_that_died_holds_nothing_up(database: Database, data_dir: DataDir, media: Media) -> None:
    ask(database, put(database, data_dir, 50))
    later = retention.run(database, media, KEEP_NONE, NOW_MS + 2 * 3_600_000)
    assert later.pictures == 1


def test_a_range_that_is_deleted_meanwhile_leaves_nothing(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted, pinned, other = (put(database, data_dir, 50 + n) for n in range(3))
    write = pending.write

    def meanwhile(*given: object) -> None:
        write(*given)  # type: ignore[arg-type]
        deletion.delete_frames(database, media, [deleted.id])
        tags.pin(database, pinned.id, NOW_MS)

    monkeypatch.setattr(pending, "write", meanwhile)
    monkeypatch.setattr(deletion, "_WAIT_S", 0.0)  # for the pictures' lock, which is held here
    done = retention.run(database, media, RetentionSettings(days=30), NOW_MS)
    assert done.pictures == 1
    small = frames.get(database, other.id).preview_path
    assert media.files() == sorted([str(pinned.media_path), str(small)])
    assert problems(database, media) == ()


class Killed(BaseException):
    """As a process ends: nothing catches it."""


@pytest.mark.parametrize("step", ["write", "settle", "empty"])
def test_a_kill_between_two_steps_is_made_good_at_the_next_start(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    old = put(database, data_dir, 50)

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(pending, "_discard", lambda *_: None)  # a process that died tidies nothing
        if step == "write":
            patch.setattr(Path, "replace", die)
        elif step == "settle":
            patch.setattr(pending, "settle", die)
        else:
            patch.setattr(retention, "empty_trash", die)
        with pytest.raises(Killed):
            retention.run(database, media, RetentionSettings(days=30), NOW_MS)
    deletion.sweep(database, media)
    row = frames.get(database, old.id)
    files = {"empty": row.preview_path}.get(step, old.media_path)
    assert media.files() == [files]
    assert problems(database, media) == ()
    retention.run(database, media, RetentionSettings(days=30), NOW_MS)
    assert media.files() == [frames.get(database, old.id).preview_path]


def test_a_full_disk_takes_nothing_and_is_told(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(database, data_dir, 50)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Media, "write", full)
        with pytest.raises(OSError, match="No space"):
            retention.run(database, media, RetentionSettings(days=30), NOW_MS)
    assert "No space" in retention.runs(database, 1)[0].problem
    assert media.exact(frames.get(database, old.id)) == webp(picture(old.captured_ms, (640, 400)))
    assert problems(database, media) == ()


def test_two_runs_do_not_meet(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, data_dir, 50)
    monkeypatch.setattr(retention, "_WAIT_S", 0)
    with pending.only_writer(database), pytest.raises(StoreBusy):
        retention.run(database, media, KEEP_NONE, NOW_MS)


def test_a_deletion_takes_the_small_picture_too(database: Database, data_dir: DataDir, media: Media) -> None:
    old = put(database, data_dir, 50)
    retention.run(database, media, RetentionSettings(days=30), NOW_MS)
    receipt = deletion.delete_frames(database, media, [old.id])
    assert (receipt.verified, receipt.counts.pictures, media.files()) == (True, 1, [])


def test_a_choice_stands_above_the_settings(database: Database) -> None:
    settings = RetentionSettings(days=5)
    assert retention.chosen(database, settings) == settings
    retention.choose(database, KEEP_NONE, settings)
    assert retention.chosen(database, settings) == KEEP_NONE
    retention.choose(database, settings, settings)
    assert retention.chosen(database, RetentionSettings()) == RetentionSettings()


def test_how_long_the_room_lasts(database: Database, data_dir: DataDir) -> None:
    """At a steady rate the pace is that rate."""
    assert retention.growth(database, 1e9, NOW_MS) is None
    for days in range(20, 0, -1):
        put(database, data_dir, days)
    pace = retention.growth(database, 1e9, NOW_MS)
    assert pace is not None
    one = database.scalar("select avg(size_bytes) from frames") + data_dir.database.stat().st_size / 20
    assert pace.month_bytes == pytest.approx(30.44 * one, rel=0.1)
    assert pace.months == pytest.approx(1e9 / pace.month_bytes)
    database.change("update frame_totals set frames = 0")  # what `recollect verify` tells of
    assert retention.growth(database, 1e9, NOW_MS) is not None
