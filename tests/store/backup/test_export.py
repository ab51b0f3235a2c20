"""What is exported is open to other programs, whole, and nothing that may not go out."""

from __future__ import annotations

import errno
import io
import json
import zipfile
from pathlib import Path

import icalendar
import numpy as np
import pytest
from PIL import Image

from store.backup import export as exporting
from store.backup.export import Exported, export
from store.chats import conversations
from store.chats.records import Anchor, AnchoredChat, StoredEvidence
from store.core import copies
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.core.records import insert
from store.deletion import deletion, receipts
from store.frames import frames
from store.frames.media import Media
from store.memory import chat_sessions, insights
from store.privacy.rules import RuleSet, validate
from store.timeline import segments
from tests.factories import NOON_MS, picture, store_frame
from tests.meanwhile import meanwhile
from tests.sources import put_messages
from tests.store.sources.test_sources import message

HOUR_MS = 3_600_000
EVERYTHING = RuleSet(defaults=False)
WITHOUT_SECRET = RuleSet(validate([{"app": "Secret"}]), defaults=False)


@pytest.fixture
def filled(database: Database, data_dir: DataDir) -> Database:
    for n, (app, text) in enumerate(
        [("Code", "# not a heading\n```"), ("Secret", "hidden"), ("Code", "more")]
    ):
        frame = store_frame(
            database, data_dir, NOON_MS + n * 60_000, text, app_name=app, window_name="<b>*window*</b>"
        )
        with database.write() as connection:
            segments.heartbeat(connection, frame)
            segments.extend(connection, frame.id)
    chat = conversations.create(database, "What?", NOON_MS)
    turn = conversations.add_turn(
        database, chat, mode="evidence", model="m", question="What *was* it?", start_ms=NOON_MS,
        end_ms=NOON_MS + 1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    database.change(
        "update turns set answer_md = '**That** <script>', status = 'done' where id = ?", (turn.id,)
    )
    put_messages(database, [message("a", name="Anna")])
    return database


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as bundle:
        assert bundle.testzip() is None
        return {name: bundle.read(name) for name in bundle.namelist()}


def test_everything_that_may_go_out_is_there(filled: Database, tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    done = export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, WITHOUT_SECRET)
    assert done == Exported(frames=2, pictures=2, left_out=1)
    files = read(target)
    assert b"hidden" not in b"".join(files.values()) and b"Secret" not in b"".join(files.values())
    told = json.loads(files["frames.json"])
    assert [each["text"] for each in told] == ["# not a heading\n```", "more"]
    shown = Image.open(io.BytesIO(files[told[0]["picture"]]))
    assert shown.format == "PNG" and np.array_equal(np.asarray(shown), np.asarray(picture(NOON_MS)))
    [day] = [files[name].decode() for name in files if name.startswith("days/")]
    assert "    # not a heading\n    ```" in day and "Code · \\<b\\>\\*window\\*\\</b\\>" in day
    [chat] = [files[name].decode() for name in files if name.startswith("chats/")]
    assert "## What \\*was\\* it?" in chat and "**That** \\<script>" in chat
    assert json.loads(files["chats.json"])[0]["question"] == "What *was* it?"
    assert json.loads(files["messages.json"])[0]["contact"] == "Anna"
    events = icalendar.Calendar.from_ical(files["activity.ics"]).walk("VEVENT")
    assert len(events) == 2 and all("Code" in event["SUMMARY"] for event in events)
    assert icalendar.Calendar.from_ical(files["calendar.ics"]).walk("VEVENT") == []
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_may_tell_of_a_window_that_a_rule_leaves_out_stays_out(filled: Database, tmp_path: Path) -> None:
    secret = filled.scalar("select id from frames where app_name = 'Secret'")
    for n, evidence in enumerate(([], [StoredEvidence(None, secret, NOON_MS)], [])):
        turn = conversations.add_turn(
            filled, 1, mode="auto", model="m", question=f"Question {n}?", start_ms=None, end_ms=None,
            timezone="UTC", now_ms=NOON_MS,
        )  # fmt: skip
        told = "hidden" if n else "in the open"
        conversations.finish_turn(filled, turn.id, f"It was {told}.", {}, evidence, NOON_MS)
    for day, start_ms in (("2026-11-20", NOON_MS), ("2026-11-21", NOON_MS + 90_001)):
        told = "hidden" if start_ms == NOON_MS else "in the open"
        filled.change(
            "insert into daily_summaries (day, zone, start_ms, end_ms, text, source, updated_ms)"
            " values (?, 'UTC', ?, ?, ?, 'rule', 0)",
            (day, start_ms, start_ms + HOUR_MS, told),
        )
    target = tmp_path / "out.zip"
    done = export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, WITHOUT_SECRET)
    assert (done.left_out, done.texts_left_out) == (1, 3)
    files = read(target)
    assert b"hidden" not in b"".join(files.values())
    answers = [each["answer_md"] for each in json.loads(files["chats.json"])]
    assert answers[1:] == ["It was in the open.", exporting.EXCLUDED, exporting.EXCLUDED]
    assert files["chats/1.md"].decode().count(exporting.EXCLUDED) == 2
    assert [each["day"] for each in json.loads(files["summaries.json"])] == ["2026-11-21"]
    assert export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING).texts_left_out == 0
    assert read(target)["chats.json"].count(b"hidden") == 2


def test_a_frame_that_shows_a_hidden_window_behind_another_stays_out(
    filled: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    """So does what was said of it."""
    behind = store_frame(
        filled, data_dir, NOON_MS + HOUR_MS - 1, "words", visible=(("Secret", "Plans", None),)
    )
    turn = conversations.add_turn(
        filled, 1, mode="auto", model="m", question="And then?", start_ms=None, end_ms=None, timezone="UTC",
        now_ms=NOON_MS,
    )  # fmt: skip
    evidence = [StoredEvidence(None, behind.id, NOON_MS)]
    conversations.finish_turn(filled, turn.id, "It was told.", {}, evidence, NOON_MS)
    target = tmp_path / "out.zip"
    done = export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, WITHOUT_SECRET)
    assert done.left_out == 2
    assert not [name for name in read(target) if str(behind.id) in name]
    assert json.loads(read(target)["chats.json"])[-1]["answer_md"] == exporting.EXCLUDED
    assert export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING).left_out == 0


def test_an_answer_about_a_time_with_a_hidden_window_stays_out_though_its_measured_facts_went(
    filled: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    turn = conversations.add_turn(
        filled, conversations.create(filled, "How long?", NOON_MS), mode="auto", model="m",
        question="How long?", start_ms=NOON_MS, end_ms=NOON_MS + HOUR_MS, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    answer = "You were in Secret for 30 s."
    conversations.finish_turn(filled, turn.id, answer, {"measured": {"durations": []}}, [], NOON_MS)
    last = frames.nearest(filled, NOON_MS + 120_000)
    assert last is not None and last.app_name == "Code"
    deletion.delete_frames(filled, Media(data_dir.media), [last.id])
    assert filled.scalar("select payload from turns where id = ?", (turn.id,)) == "{}"
    export(filled, tmp_path / "out.zip", 0, NOON_MS + HOUR_MS, NOON_MS, WITHOUT_SECRET)
    assert b"Secret" not in b"".join(read(tmp_path / "out.zip").values())


def test_an_answer_that_was_told_of_a_hidden_window_by_others_stays_out(
    filled: Database, tmp_path: Path
) -> None:
    def ask(name: str, anchored: AnchoredChat | None = None) -> tuple[int, int]:
        chat = conversations.create(filled, name, NOON_MS, "", anchored)
        turn = conversations.add_turn(
            filled, chat, mode="agent", model="m", question=name, start_ms=None, end_ms=None,
            timezone="UTC", now_ms=NOON_MS,
        )  # fmt: skip
        conversations.finish_turn(filled, turn.id, f"{name} told.", {}, [], NOON_MS)
        return turn.id, chat_sessions.create(filled, NOON_MS, chat)

    def insight(name: str, amends: int | None = None) -> tuple[int, int]:
        moment = Anchor("moment", NOON_MS + 90_001 + len(name), NOON_MS + 100_000)
        turn, _ = ask(name, AnchoredChat(moment, amends))
        number = insights.put(filled, turn, moment, name, [], NOON_MS)
        assert number is not None
        return turn, number

    (looked, first), (packed, second), (searched, _), _ = map(ask, ("looked", "packed", "searched", "open"))
    deep, base = insight("deep")
    insight("amended", base)
    insight("plain")
    day = {"turn_id": 0, "iteration": 1, "call_id": "", "tool": "activity", "arguments": "{}",
           "arguments_sha256": "", "state": "completed", "created_ms": NOON_MS,
           "shown_from_ms": 0, "shown_until_ms": NOON_MS + HOUR_MS}  # fmt: skip
    with filled.write() as connection:
        insert(connection, "tool_calls", **{**day, "turn_id": looked})
        insert(connection, "tool_calls", **{**day, "turn_id": deep})
        insert(
            connection, "context_packs", turn_id=packed, session_id=second, hash="", text="", record="{}",
            tokens=0, build_ms=0, created_ms=NOON_MS,
        )  # fmt: skip
        insert(connection, "context_pack_sources", turn_id=packed, session_id=first)
        insert(connection, "chat_uses", turn_id=searched, session_id=second)
    target = tmp_path / "out.zip"
    export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, WITHOUT_SECRET)
    files = read(target)
    told = {each["question"] for each in json.loads(files["chats.json"]) if "told." in each["answer_md"]}
    assert told == {"open", "plain"}
    assert [each["title"] for each in json.loads(files["insights.json"])] == ["plain"]
    assert b"searched told." not in b"".join(files.values())
    export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    assert len(json.loads(read(target)["insights.json"])) == 3


def test_a_range_is_half_open_and_pictures_may_stay(filled: Database, tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    done = export(filled, target, NOON_MS, NOON_MS + 120_000, NOON_MS, EVERYTHING, with_pictures=False)
    assert done == Exported(frames=2)
    files = read(target)
    assert not any(name.startswith("pictures/") for name in files)
    assert all(each["picture"] is None for each in json.loads(files["frames.json"]))


def test_an_empty_home_is_a_whole_file(database: Database, tmp_path: Path) -> None:
    assert export(database, tmp_path / "out.zip", 0, NOON_MS, NOON_MS, EVERYTHING) == Exported()
    assert json.loads(read(tmp_path / "out.zip")["frames.json"]) == []


def test_it_reads_in_batches(filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_AT_ONCE", 1)
    assert export(filled, tmp_path / "out.zip", 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING).frames == 3


def test_a_full_disk_leaves_what_was_there(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.zip"
    target.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Media, "image", full)
    with pytest.raises(OSError, match="No space"):
        export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.zip"]
    assert target.read_bytes() == b"before"


def test_a_later_deletion_names_the_file(filled: Database, data_dir: DataDir, tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    frame = frames.nearest(filled, NOON_MS)
    assert frame is not None
    receipt = deletion.delete_frames(filled, Media(data_dir.media), [frame.id])
    assert receipt.elsewhere == copies.elsewhere(filled) == (str(target),)


def test_a_deletion_meanwhile_leaves_no_export_and_names_it(
    filled: Database, data_dir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, real = tmp_path / "out.zip", Media.image
    receipts: list[receipts.Receipt] = []

    def image(media: Media, frame: frames.FrameRow) -> Image.Image:
        if not receipts:
            receipts.append(deletion.delete_range(filled, media, NOON_MS, NOON_MS + 1))
        return real(media, frame)

    monkeypatch.setattr(Media, "image", image)
    with pytest.raises(StoreBusy, match="deleted"):
        export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    assert receipts[0].elsewhere == (str(target),)
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_of_two_files_that_are_made_at_once_both_are_named(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    for target in (one, two):
        target.touch()

    def note(path: Path) -> None:
        with copies.noted_elsewhere(database, path, NOON_MS):
            pass

    meanwhile(monkeypatch, Database, "write", lambda: note(two), is_before=True)
    note(one)
    assert copies.elsewhere(database) == (str(one), str(two))


def test_an_export_that_fails_is_told_by_its_own_name_and_on_no_receipt(
    filled: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    """One that was written there before still is."""
    target = tmp_path / "no folder" / "out.zip"
    with pytest.raises(FileNotFoundError) as refused:
        export(filled, target, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    assert refused.value.filename == str(target)
    assert copies.elsewhere(filled) == ()
    good = tmp_path / "good.zip"
    export(filled, good, 0, NOON_MS + HOUR_MS, NOON_MS, EVERYTHING)
    with pytest.raises(ZeroDivisionError), copies.noted_elsewhere(filled, good, NOON_MS):
        raise ZeroDivisionError
    assert deletion.delete_range(filled, Media(data_dir.media), NOON_MS, NOON_MS + 1).elsewhere == (
        str(good),
    )
