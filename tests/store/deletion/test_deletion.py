"""Deletion: nothing of a deleted frame is left anywhere in the home folder."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn

import apsw
import numpy as np
import pytest
from PIL import Image

from store.backup import backup
from store.chats import conversations
from store.chats.conversations import DELETED_ANSWER
from store.chats.records import StoredEvidence
from store.core import copies, migrations, times
from store.core.database import Database, column, open_database, rows, scalar
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.deletion import chat_hooks, deletion, receipts, request
from store.deletion.request import EVER, Request
from store.frames import frames, pending, text_index
from store.frames.media import Media
from store.privacy.rules import validate
from store.search.filters import Filters
from store.search.search import search
from store.spool import queue, residual_files
from store.spool.queue import LookReport, Spool
from store.timeline import gaps, ledger, segments
from store.timeline.gaps import Gap
from store.verify.verify import verify
from tests.factories import NOON_MS, capture, store_frame, webp
from tests.store.search.plans import plans

SECRET = "xylophonequark"
SECRET_CJK = "獬豸秘密计划"
SECOND = 1_000
END_MS = NOON_MS + SECOND
LATER_MS = NOON_MS + 3_600_000


@pytest.fixture
def spool(data_dir: DataDir) -> Spool:
    return Spool(data_dir.spool)


def noise(seed: int) -> Image.Image:
    """A picture whose bytes are its own from the first to the last."""
    pixels = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def put(database: Database, data_dir: DataDir, at_ms: int, text: str, **changes: Any) -> frames.FrameRow:
    frame = store_frame(database, data_dir, at_ms, text, **{"image": noise(at_ms), **changes})
    with database.write() as connection:
        segments.heartbeat(connection, frame)
    return frames.get(database, frame.id)


def put_secret(
    database: Database, data_dir: DataDir, at_ms: int = NOON_MS, **changes: Any
) -> frames.FrameRow:
    """A frame whose text, app, window, URL and picture are found nowhere else."""
    frame = put(
        database, data_dir, at_ms, f"the word is {SECRET} and {SECRET_CJK}",
        app_name=f"App{SECRET}", window_name=f"window {SECRET}", browser_url=f"https://{SECRET}.example/",
    )  # fmt: skip
    with database.write() as connection:
        connection.execute(
            "insert into frame_urls (frame_id, url) values (?, ?)", (frame.id, f"https://{SECRET}.example/")
        )
    return frame


def answer(database: Database, text: str, evidence: list[StoredEvidence], question: str = "what?") -> int:
    """A chat with one answered question; returns the chat's id."""
    chat_id = conversations.create(database, question, LATER_MS)
    add_answer(database, chat_id, text, evidence, question)
    return chat_id


def add_answer(
    database: Database,
    chat_id: int,
    text: str,
    evidence: list[StoredEvidence],
    question: str = "what?",
    model: str = "m",
) -> None:
    turn = conversations.add_turn(
        database, chat_id, mode="evidence", model=model, question=question,
        start_ms=NOON_MS, end_ms=END_MS, timezone="UTC", now_ms=LATER_MS,
    )  # fmt: skip
    payload = {"claims": [{"text": text}], "usage": None}
    conversations.finish_turn(database, turn.id, text, payload, evidence, LATER_MS)


def shown(frame: frames.FrameRow, n: int | None = 1) -> StoredEvidence:
    return StoredEvidence(
        n, frame.id, frame.captured_ms, frame.app_name, frame.window_name, True, frame.browser_url,
        snippet=f"the word is {SECRET}", quote=SECRET, boxes=((1, 2, 3, 4),), state="found",
    )  # fmt: skip


def answers_of(database: Database, chat_id: int) -> list[str]:
    return [turn.answer_md for turn in conversations.turns(database, chat_id)]


def home_bytes(data_dir: DataDir) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(data_dir.home.rglob("*")):
        yield path, os.fsencode(path.relative_to(data_dir.home))
        if path.is_file():
            yield path, path.read_bytes()


def places_with(data_dir: DataDir, needles: list[bytes]) -> list[str]:
    """Files (and names) of the home folder in which one of these byte strings occurs."""
    return [
        str(path.relative_to(data_dir.home))
        for path, content in home_bytes(data_dir)
        if any(needle in content for needle in needles)
    ]


def needles(*pictures: bytes) -> list[bytes]:
    """The secret words in every way they may be written, and a stretch out of each picture."""
    written = [
        form
        for word in (SECRET, SECRET.upper(), SECRET_CJK)
        for form in (word.encode(), word.encode("utf-16-le"), json.dumps(word)[1:-1].encode())
    ]
    return [*written, *(picture[100:140] for picture in pictures)]


# -- everywhere ---------------------------------------------------------------------------


@pytest.mark.parametrize("merge_worth", [0, 10**9], ids=["word by word", "merging the index"])
def test_planted_word_and_picture_are_nowhere_in_the_home_folder(
    database: Database,
    data_dir: DataDir,
    media: Media,
    spool: Spool,
    monkeypatch: pytest.MonkeyPatch,
    merge_worth: int,
) -> None:
    """Planted everywhere, deleted, then the bytes of the whole folder are searched."""
    monkeypatch.setattr(deletion, "_MERGE_WORTH", merge_worth)
    put_secret(database, data_dir, NOON_MS + 5)
    frame = put_secret(database, data_dir)
    for n in range(50):
        put(database, data_dir, NOON_MS - (n + 2) * SECOND, f"something else {n} in another window")
    chat_id = answer(database, f"You wrote {SECRET} [1].", [shown(frame)])
    waiting = put_into_every_part(spool)
    data_dir.backups.joinpath("before-m006-1.db").write_bytes(data_dir.database.read_bytes())
    secrets = needles(webp(noise(NOON_MS)), *waiting)
    planted = places_with(data_dir, secrets)
    assert len(planted) >= 6, planted

    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)

    assert places_with(data_dir, secrets) == []
    assert (receipt.verified, receipt.left) == (True, ())
    assert receipt.counts.frames == receipt.counts.pictures == receipt.counts.index_rows == 2
    assert (receipt.counts.spool, receipt.counts.copies, receipt.counts.answers) == (3, 1, 1)
    assert answers_of(database, chat_id) == [DELETED_ANSWER]
    assert "something else 7" in str(rows(database.connection(), "select text from readings"))
    assert scalar(database.connection(), "select v from frames_fts_config where k = 'secure-delete'") == 1
    assert verify(database, media, spool).problems == ()


def put_into_every_part(spool: Spool) -> list[bytes]:
    """A secret capture in `new`, one in `taken`, one in `failed`; returns their pictures."""
    pictures = []
    for n, part in enumerate(("new", "taken", "failed")):
        record = capture(NOON_MS + n, app_name=f"App{SECRET}", window_name=SECRET)
        pictures.append(webp(noise(n)))
        name = spool.put(record, pictures[-1])
        if part != "new":
            spool.take(name)
        if part == "failed":
            spool.fail(name, "a reason")
    return pictures


def test_every_table_loses_what_refers_to_a_deleted_frame(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """The tables are found in the schema, so a new one cannot be forgotten."""
    frame = put_secret(database, data_dir)
    answer(database, "answer", [shown(frame)])
    assert {table for table, _, number in references(database, frame.id) if number} == {
        "readings", "frame_urls", "ingest_records", "segments", "evidence",
    }  # fmt: skip
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert [found for found in references(database, frame.id) if found[2]] == []


def references(database: Database, frame_id: int) -> list[tuple[str, str, int]]:
    """(table, column, rows) for every column that may hold a frame's id."""
    with database.read() as connection:
        columns = rows(
            connection,
            """
            select m.name, c.name
            from sqlite_schema m
            join pragma_table_info(m.name) c
            where m.type = 'table' and c.name like '%frame_id'
            union
            select m.name, k."from"
            from sqlite_schema m
            join pragma_foreign_key_list(m.name) k
            where m.type = 'table' and k."table" = 'frames'
            """,
        )
        return [
            (
                table,
                column,
                scalar(connection, f"select count(*) from {table} where {column} = ?", (frame_id,)),
            )
            for table, column in columns
        ]


def test_deleted_frame_cannot_be_found_or_opened(database: Database, data_dir: DataDir, media: Media) -> None:
    frame = put_secret(database, data_dir)
    deletion.delete_frames(database, media, [frame.id])
    with pytest.raises(NotFound):
        frames.get(database, frame.id)
    with database.read() as connection:
        for words in (SECRET, SECRET_CJK):
            found = rows(connection, "select rowid from frames_fts where frames_fts match ?", (f'"{words}"',))
            assert found == []


def test_capture_of_a_deleted_frame_is_not_stored_again(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = put_secret(database, data_dir)
    copy = capture(NOON_MS + 5)
    with database.write() as connection:
        frames.record_outcome(connection, copy.capture_id, "deduplicated", NOON_MS + 5, frame.id)
    deletion.delete_frames(database, media, [frame.id])
    for capture_id in (frame.capture_id, copy.capture_id):
        known = frames.outcome(database, capture_id)
        assert known is not None
        assert (known.outcome, known.frame_id) == ("deleted", None)


def test_capture_waiting_in_the_spool_is_refused(database: Database, media: Media, spool: Spool) -> None:
    record = capture(NOON_MS)
    spool.put(record, webp(noise(1)))
    deletion.delete_range(database, media, NOON_MS, END_MS)
    known = frames.outcome(database, record.capture_id)
    assert known is not None
    assert known.outcome == "deleted"
    assert spool.waiting() == []


def test_reports_of_looks_stay_in_the_spool(database: Database, media: Media, spool: Spool) -> None:
    spool.put(LookReport(str(uuid.uuid4()), NOON_MS, NOON_MS + 5, 3))
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert len(spool.waiting()) == 1


# -- what is deleted ----------------------------------------------------------------------


def test_range_is_half_open(database: Database, data_dir: DataDir, media: Media) -> None:
    ids = [put(database, data_dir, at, "word").id for at in (NOON_MS - 1, NOON_MS, END_MS - 1, END_MS)]
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert list(frames.get_many(database, ids)) == [ids[0], ids[3]]


def test_frame_that_reaches_into_the_range_loses_that_time(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = put(database, data_dir, NOON_MS - 60_000, "word")
    with database.write() as connection:
        frames.extend(connection, frame.capture_id, NOON_MS + 60_000)
        segments.extend(connection, frame.id)
    deletion.delete_range(database, media, NOON_MS, END_MS, now_ms=LATER_MS)
    assert frames.get(database, frame.id).ended_ms == NOON_MS - 1
    [segment] = segments.segments(database, NOON_MS - 60_000, LATER_MS)
    assert segment.end_ms == NOON_MS - 1


def test_only_the_named_app_is_deleted(
    database: Database, data_dir: DataDir, media: Media, spool: Spool
) -> None:
    mail = put(database, data_dir, NOON_MS, "a", app_name="Émail")
    code = put(database, data_dir, NOON_MS + 100, "b", app_name="Code")
    spool.put(capture(NOON_MS + 200, app_name="émail"), webp(noise(1)))
    spool.put(capture(NOON_MS + 300, app_name="Code"), webp(noise(2)))
    assert deletion.delete_range(database, media, NOON_MS, END_MS, "", now_ms=LATER_MS).frames == 0
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS, "éMAIL", now_ms=LATER_MS)
    assert list(frames.get_many(database, [mail.id, code.id])) == [code.id]
    assert (receipt.frames, receipt.counts.spool, len(spool.waiting())) == (1, 1, 1)
    with database.read() as connection:
        assert rows(connection, "select name from apps") == [("Code",)]
        assert "mail" not in str(rows(connection, "select * from deletions")).casefold()
        with pytest.raises(
            apsw.SQLError, match="no such function"
        ):  # it would keep the names it was asked about
            rows(connection, "select fits('Code', '', '')")


def test_rules_take_what_they_would_have_hidden_and_nothing_else(
    database: Database, data_dir: DataDir, media: Media, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by the engine that decides about windows on the screen, and finished after a crash."""
    monkeypatch.setattr(request, "FRAMES_AT_ONCE", 2)
    rules = validate([{"title": "Payroll"}, {"url": "bank.example"}])
    ever = Request(*EVER, rules=rules)
    windows = [
        ("Sheets", "Payroll May", None), ("Sheets", "Enpayroll", None),
        ("Firefox", "Home", "https://my.bank.example/x"), ("Firefox", "Home", "https://notbank.example/"),
        ("Firefox", "Home", None), ("Sheets", "payroll", None),
    ]  # fmt: skip
    ids = [
        put(
            database, data_dir, NOON_MS + n * SECOND, f"{n}", app_name=app, window_name=title, browser_url=url
        ).id
        for n, (app, title, url) in enumerate(windows)
    ]
    for title in ("Payroll June", "Holidays"):
        spool.put(capture(NOON_MS, window_name=title), webp(noise(1)))
    assert (request.recorded(database, rules), receipts.preview(database, ever).counts.spool) == (3, 1)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(deletion, "empty_trash", interrupted)
        deletion.delete(database, media, ever)
    deletion.sweep(database, media)
    assert sorted(frames.get_many(database, ids)) == [ids[1], ids[3], ids[4]]
    assert (request.recorded(database, rules), len(spool.waiting())) == (0, 1)
    assert noted_receipts(database) == [()]
    assert "ayroll" not in str(database.column("select receipt from deletions"))


def test_a_rule_takes_frames_that_show_its_window_behind_another(
    database: Database, data_dir: DataDir, media: Media, spool: Spool
) -> None:
    """Also from the spool; the receipt names the frames whose other windows nobody noted."""
    rules = validate([{"app": "galculator"}])
    ever = Request(*EVER, rules=rules)
    calculator, mail = ("Galculator", "galculator", None), ("Mail", "Inbox", None)
    seen: tuple[Any, ...] = ((calculator, mail), (mail,), (), None, (calculator, mail), None)
    ids = [
        put(database, data_dir, NOON_MS + n * SECOND, f"{n}", visible=visible).id
        for n, visible in enumerate(seen)
    ]
    put(
        database, data_dir, NOON_MS + 60 * SECOND, "front", app_name="galculator"
    )  # of which nobody knows more
    for visible in ((calculator,), (mail,), None):
        spool.put(capture(NOON_MS, visible=visible), webp(noise(1)))
    unknown = request.OnlyFront(2, NOON_MS + 5 * SECOND)

    before = receipts.preview(database, ever)
    assert (request.recorded(database, rules), before.counts.frames, before.counts.spool) == (3, 3, 1)
    assert before.only_front == unknown
    receipt = deletion.delete(database, media, ever)
    assert sorted(frames.get_many(database, ids)) == ids[1:4] + ids[5:]
    assert len(spool.waiting()) == 2
    assert (receipt.verified, receipt.is_whole, receipt.only_front) == (True, False, unknown)
    assert [each.only_front for each in receipts.latest(database, 9)] == [unknown]
    kept = database.column("select windows from visible_windows")
    assert sorted(kept) == ['[["Mail","Inbox",null]]', "[]"]  # no list that names it is left
    assert request.recorded(database, validate([{"title": "Inbox"}])) == 1

    assert deletion.delete(database, media, Request(*EVER)).is_whole
    assert database.column("select windows from visible_windows") == []
    assert receipts.preview(database, ever).only_front == request.OnlyFront()


def test_a_deletion_of_one_app_says_which_frames_may_show_it_behind_another(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    mail = ("mail", "Inbox", None)
    for n, visible in enumerate(((mail,), (("Code", "main.py", None),), None, (mail,))):
        put(database, data_dir, NOON_MS + n * SECOND, f"{n}", visible=visible)
    gone = put(database, data_dir, NOON_MS + 4 * SECOND, "front", app_name="Mail", visible=None)
    put(database, data_dir, NOON_MS + 60 * SECOND, "later", visible=None)
    asked = Request(NOON_MS, NOON_MS + 30 * SECOND, "Mail")
    behind = request.OnlyFront(3, NOON_MS + 3 * SECOND)
    assert receipts.preview(database, asked).only_front == behind
    receipt = deletion.delete(database, media, asked)
    assert (receipt.frames, receipt.verified, receipt.is_whole, receipt.only_front) == (
        1,
        True,
        False,
        behind,
    )
    assert frames.get_many(database, [gone.id]) == {}


def test_what_a_slow_rule_may_fit_stays_and_the_receipt_names_the_rule(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    slow = put(database, data_dir, NOON_MS, "slow", window_name=f"{'a' * 300} b")
    put(database, data_dir, NOON_MS + SECOND, "gone", window_name="aaa")
    ever = Request(*EVER, rules=validate([{"title": "^(a|a)*$", "match": "regex"}]))
    assert (receipts.preview(database, ever).counts.frames, request.recorded(database, ever.rules)) == (
        1,
        None,
    )
    receipt = deletion.delete(database, media, ever)
    assert (receipt.frames, receipt.verified) == (1, False)
    assert database.column("select id from frames") == [slow.id]
    assert ever.rules[0].sentence in receipt.left[-1]
    receipts.settle(database, media)
    [[kept]] = noted_receipts(database)
    assert ever.rules[0].sentence not in kept


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_activity_is_folded_again_from_what_is_left(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    for n in range(6):
        put(database, data_dir, NOON_MS + n * SECOND, "word", app_name="Code" if n != 3 else "Mail")
    deletion.delete_range(database, media, NOON_MS + 3 * SECOND, NOON_MS + 4 * SECOND)
    [segment] = segments.segments(database, NOON_MS, LATER_MS)
    assert (segment.app_name, segment.frames) == ("Code", 5)
    with database.read() as connection:
        assert segments.stored_line(connection) == segments.folded_line(connection)


def test_looks_stay_counted(database: Database, data_dir: DataDir, media: Media, spool: Spool) -> None:
    """The equation holds after a deletion, for frames and for captures still in the spool."""
    batch_id = str(uuid.uuid4())
    put(database, data_dir, NOON_MS, "word", batch_id=batch_id)
    spool.put(capture(NOON_MS + 1, batch_id=batch_id), webp(noise(1)))
    with database.write() as connection:
        ledger.add_report(connection, LookReport(batch_id, NOON_MS, END_MS, 2))
    deletion.delete_range(database, media, NOON_MS, END_MS)
    found = ledger.reconcile(database, NOON_MS, LATER_MS)
    assert (found.looks, found.kept, found.difference) == (2, 2, 0)


def test_empty_range_still_leaves_a_tombstone(database: Database, media: Media) -> None:
    with database.write() as connection:
        ledger.add_report(connection, LookReport("b", NOON_MS, END_MS, 5))
    deletion.delete_range(database, media, NOON_MS, END_MS, now_ms=LATER_MS)
    assert gaps.gaps(database, NOON_MS, END_MS, LATER_MS) == [Gap(NOON_MS, END_MS, "deleted")]


def test_what_was_recorded_before_the_clock_was_set_back_is_told_as_deleted(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """Its time is yet to come."""
    for at_ms in (NOON_MS, NOON_MS + 400):
        put(database, data_dir, at_ms, "word")
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS, now_ms=NOON_MS - 3_600_000)
    assert (receipt.frames, receipt.verified) == (2, True)
    assert Gap(NOON_MS, NOON_MS + 401, "deleted") in gaps.gaps(database, NOON_MS, END_MS, LATER_MS)


def test_a_deletion_that_is_broken_off_after_the_clock_was_set_back_is_finished(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, data_dir, NOON_MS, SECRET)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(deletion.Erasure, "remove", interrupted)
        deletion.delete_range(database, media, NOON_MS, END_MS, now_ms=NOON_MS - 3_600_000)
    deletion.resume(database, media)
    assert database.scalar("select count(*) from frames") == 0
    assert [receipt.frames for receipt in receipts.latest(database, 1)] == [1]


def test_what_never_was_makes_no_receipt_and_is_in_no_file_elsewhere(
    database: Database, data_dir: DataDir, media: Media, tmp_path: Path
) -> None:
    """What was there once may be in such a file, whoever took it."""
    frame = put(database, data_dir, NOON_MS, "word")
    target = tmp_path / "backup.zip"
    backup.archive(database, target, NOON_MS + 1)
    empty = deletion.delete_range(database, media, END_MS, END_MS + SECOND, now_ms=LATER_MS)
    assert (empty.frames, empty.verified, empty.elsewhere) == (0, True, ())
    assert receipts.latest(database, 9) == []
    assert deletion.delete_frames(database, media, [frame.id], now_ms=LATER_MS).elsewhere == (str(target),)
    again = deletion.delete_range(database, media, NOON_MS, NOON_MS + 1, now_ms=LATER_MS)
    assert (again.frames, again.elsewhere) == (0, (str(target),))
    assert [each.frames for each in receipts.latest(database, 9)] == [1]


def test_tombstone_ends_now(database: Database, data_dir: DataDir, media: Media) -> None:
    deletion.delete_range(database, media, NOON_MS, LATER_MS, now_ms=END_MS)
    with database.read() as connection:
        assert rows(connection, "select start_ms, end_ms from deletions") == [(NOON_MS, END_MS)]


def test_single_frame_leaves_a_tombstone_of_its_own_time(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = put(database, data_dir, NOON_MS, "word")
    receipt = deletion.delete_frames(database, media, [frame.id, 5], now_ms=LATER_MS)
    with database.read() as connection:
        [(start_ms, end_ms, kept)] = rows(connection, "select start_ms, end_ms, receipt from deletions")
    assert (start_ms, end_ms) == (NOON_MS, NOON_MS + 1)
    assert json.loads(kept)["counts"]["frames"] == receipt.frames == 1
    assert receipt.bytes_freed == frame.size_bytes


def test_nothing_to_delete_is_no_error(database: Database, media: Media) -> None:
    receipt = deletion.delete_frames(database, media, [])
    assert (receipt.frames, receipt.verified) == (0, True)


def test_preview_counts_what_a_deletion_removes(
    database: Database, data_dir: DataDir, media: Media, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "FRAMES_AT_ONCE", 2)
    for n in range(5):
        put(database, data_dir, NOON_MS + n, f"text {n}", app_name="Code")
    spool.put(capture(NOON_MS + 9), webp(noise(9)))
    before = receipts.preview(database, Request(NOON_MS, END_MS)).counts
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
    told = attrgetter("frames", "bytes", "pictures", "readings", "quotes", "entries", "spool")
    assert told(before) == told(receipt.counts) and before.frames == 5
    assert receipts.preview(database, Request(NOON_MS, END_MS)).counts.frames == 0


# -- conversations ------------------------------------------------------------------------


def test_evidence_of_a_deleted_frame_keeps_its_number_and_its_time(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = put_secret(database, data_dir)
    chat_id = answer(database, f"You wrote {SECRET} [1].", [shown(frame)])
    deletion.delete_range(database, media, NOON_MS, END_MS)
    [turn] = conversations.turns(database, chat_id)
    assert turn.evidence == (StoredEvidence(1, None, NOON_MS, state="deleted"),)
    assert turn.payload == {"claims": [], "usage": None}
    assert [m.content for m in conversations.messages(database, chat_id)] == ["what?", DELETED_ANSWER]


def test_answer_that_does_not_use_a_deleted_frame_stays(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    gone = put(database, data_dir, NOON_MS, "the budget is ninety euros")
    kept = put(database, data_dir, LATER_MS, "the meeting is at three in the blue room")
    chat_id = answer(database, "The meeting is at three [1].", [shown(kept), shown(gone, None)])
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert answers_of(database, chat_id) == ["The meeting is at three [1]."]


@pytest.mark.parametrize(
    "text", ["It says zweiundvierzig.", "那里写着秘密计划的内容。", "You saw the budget is ninety."]
)
def test_answer_that_says_what_only_the_deleted_frame_said_goes(
    database: Database, data_dir: DataDir, media: Media, text: str
) -> None:
    """Also where the frame was retrieved and not cited, and in a later answer of the chat."""
    gone = put(database, data_dir, NOON_MS, "zweiundvierzig 秘密计划 the budget is ninety euros")
    put(database, data_dir, LATER_MS, "the room is blue and 秘 and 密 and budget and ninety")
    chat_id = answer(database, "Nothing of note.", [shown(gone, None)])
    add_answer(database, chat_id, text, [])
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert answers_of(database, chat_id) == ["Nothing of note.", DELETED_ANSWER]


def test_words_of_the_persons_own_question_are_no_reason(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    gone = put(database, data_dir, NOON_MS, "zweiundvierzig")
    chat_id = answer(database, "No zweiundvierzig was seen.", [shown(gone, None)], "where is zweiundvierzig?")
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert answers_of(database, chat_id) == ["No zweiundvierzig was seen."]


@pytest.mark.parametrize(("model", "stays"), [("extractive", True), ("m", False)])
def test_what_code_says_before_quotes_is_no_reason(
    database: Database, data_dir: DataDir, media: Media, model: str, stays: bool
) -> None:
    """Only the first line is the program's, and only where no model wrote it."""
    gone = put(database, data_dir, NOON_MS, "Order no. 7741")
    kept = put(database, data_dir, LATER_MS, "the meeting is at three")
    opening, quoted = "Quoted; no language model is set up.", "- “the meeting is at three” [1]"
    chat_id = answer(database, "Nothing.", [])
    for text in (f"{opening}\n\n{quoted}", f"{opening}\n\n{quoted}\n- “7741” is what the order says"):
        add_answer(database, chat_id, text, [shown(kept), shown(gone, None)], model=model)
    deletion.delete_range(database, media, NOON_MS, END_MS)
    first = f"{opening}\n\n{quoted}" if stays else DELETED_ANSWER
    assert answers_of(database, chat_id) == ["Nothing.", first, DELETED_ANSWER]


def test_phrases_are_words_and_runs_of_three() -> None:
    assert chat_hooks.trigrams("A red fox, 开会了") == {
        "red",
        "fox",
        "a red fox",
        "red fox 开",
        "fox 开 会",
        "开 会 了",
    }
    assert chat_hooks.trigrams("") == set()


# -- crashes ------------------------------------------------------------------------------


class Crash(Exception):
    """The process dies here."""


@pytest.mark.parametrize("step", ["pictures", "index", "spool", "copies", "checkpoint"])
def test_sweep_finishes_what_a_crash_left(
    database: Database,
    data_dir: DataDir,
    media: Media,
    spool: Spool,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    """Wherever it stops after the rows went, the next start leaves nothing behind."""
    for n in range(3):
        put_secret(database, data_dir, NOON_MS + n)
        put(database, data_dir, LATER_MS + n, "another window")
    pictures = put_into_every_part(spool)
    spool.recover()
    data_dir.backups.joinpath("before-m006-1.db").write_bytes(SECRET.encode())

    def die(*_: object) -> None:
        raise Crash

    owner, name = {
        "pictures": (Media, "remove"),
        "index": (text_index, "merge"),
        "spool": (residual_files, "discard"),
        "copies": (copies, "drop"),
        "checkpoint": (Database, "checkpoint"),
    }[step]
    with monkeypatch.context() as patched, pytest.raises(Crash):
        patched.setattr(owner, name, die)
        deletion.delete_range(database, media, NOON_MS, END_MS)
    database.close_thread()

    again = open_database(data_dir)
    deletion.sweep(again, media)
    assert len(media.files()) == 3
    assert places_with(data_dir, needles(webp(noise(NOON_MS)), *pictures)) == []
    assert deletion.sweep(again, media) == 0
    assert verify(again, media, spool).problems == ()
    again.close_thread()


@pytest.mark.parametrize("app_name", [None, f"App{SECRET}"])
def test_a_deletion_that_died_between_its_transactions_is_finished_at_the_next_start(
    database: Database,
    data_dir: DataDir,
    media: Media,
    monkeypatch: pytest.MonkeyPatch,
    app_name: str | None,
) -> None:
    """What was not deleted yet goes, what was recorded since stays, and the receipt counts all that went."""
    monkeypatch.setattr(request, "FRAMES_AT_ONCE", 2)
    for n in range(5):
        put_secret(database, data_dir, NOON_MS + n)
    removed = deletion.empty_trash

    def die(*_: object) -> int:
        if scalar(database.connection(), "select count(*) from frames") < 4:
            raise Crash
        return removed(database, media)

    with monkeypatch.context() as patched, pytest.raises(Crash):
        patched.setattr(deletion, "empty_trash", die)
        deletion.delete_range(database, media, NOON_MS, 2**42, app_name, now_ms=NOON_MS + 10)
    put(database, data_dir, LATER_MS, "another window")
    assert scalar(database.connection(), "select count(*) from frames") == 4
    database.close_thread()

    again = open_database(data_dir)
    deletion.sweep(again, media)
    assert scalar(again.connection(), "select count(*) from frames") == 1
    assert places_with(data_dir, needles(webp(noise(NOON_MS)))) == []
    receipts = column(again.connection(), "select receipt from deletions where receipt like '%verified%'")
    assert [(json.loads(text)["counts"]["frames"], json.loads(text)["verified"]) for text in receipts] == [
        (5, True)
    ]
    deletion.sweep(again, media)
    assert len(column(again.connection(), "select id from deletions where receipt like '%verified%'")) == 1
    again.close_thread()


def test_crash_in_the_middle_of_the_rows_changes_nothing(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = put_secret(database, data_dir)

    def die(*_: object) -> None:
        raise Crash

    monkeypatch.setattr(segments, "rebuild", die)
    with pytest.raises(Crash):
        deletion.delete_range(database, media, NOON_MS, END_MS)
    assert media.exact(frames.get(database, frame.id))
    assert scalar(database.connection(), "select count(*) from media_trash") == 0


def test_picture_of_a_worker_that_died_in_the_middle_goes_too(
    database: Database, data_dir: DataDir, media: Media, spool: Spool
) -> None:
    record = capture(NOON_MS)
    spool.put(record, webp(noise(1)))
    still = media.keep(webp(noise(1)), "image/webp", NOON_MS, record.capture_id)
    half = (media.folder / still.media_path).with_name(f".{record.capture_id}.webp.tmp")
    half.write_bytes(webp(noise(1)))
    deletion.delete_range(database, media, NOON_MS, END_MS)
    assert media.files() == []


def test_capture_that_a_worker_is_storing_meanwhile_is_waited_for(
    database: Database, data_dir: DataDir, media: Media, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has claimed it and finishes while the deletion waits: neither frame nor entry is left."""
    record = capture(NOON_MS)
    name = spool.put(record, webp(noise(1)))
    spool.take(name)

    def work(_: float) -> None:
        store_frame(database, data_dir, NOON_MS, "word", capture_id=str(uuid.uuid4()))
        spool.finish(name)

    monkeypatch.setattr("store.deletion.deletion.time.sleep", work)
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
    assert (receipt.frames, receipt.verified, media.files()) == (1, True, [])


def put_pipe(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "entry.json")


def put_folder(folder: Path) -> None:
    (folder / "entry.json").mkdir(parents=True)


def put_record(content: bytes) -> Callable[[Path], None]:
    def put_folder(folder: Path) -> None:
        folder.mkdir()
        (folder / "entry.json").write_bytes(content)

    return put_folder


_NAME = f"{NOON_MS:015d}-{uuid.UUID(int=7)}"
CRAFTED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a number that is none": ("²-x", Path.mkdir),
    "a time that no row holds": ("9" * 40 + "-x", Path.mkdir),
    "a name that is no text": (os.fsdecode(b"000001-\xff"), Path.mkdir),
    "a file": (_NAME, Path.touch),
    "a link": (_NAME, lambda path: path.symlink_to("/etc")),
    "a pipe for a record": (_NAME, put_pipe),
    "a folder for a record": (_NAME, put_folder),
    "a deep record": (_NAME, put_record(b"[" * 100_000)),
    "no text": (_NAME, put_record(b'{"app_name": "\\ud800", "batch_id": "\\u0000", "monitor": 7}')),
    "a folder that cannot be listed": (_NAME, lambda path: path.mkdir(mode=0)),
    "folders inside": (_NAME, lambda path: (path / "a" / "b").mkdir(parents=True)),
}  # fmt: skip


@pytest.mark.parametrize("part", ["new", "taken", "failed", "tmp"])
def test_whatever_lies_in_the_spool_no_deletion_fails(
    database: Database,
    data_dir: DataDir,
    media: Media,
    spool: Spool,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
) -> None:
    monkeypatch.setattr(deletion, "_ROUND_S", 0.0)
    put_secret(database, data_dir)
    start_ms = NOON_MS
    for name, craft in CRAFTED.values():
        target = spool.folder / part / name
        if not os.path.lexists(target):
            craft(target)
        now_ms = target.lstat().st_mtime_ns // 1_000_000
        receipt = deletion.delete_range(database, media, start_ms, now_ms + 1)
        assert (receipt.verified, receipt.left) == (True, ()), name
        # What nobody knows as an entry may be an upload that is being written.
        assert os.path.lexists(target) == (part == "tmp" and not name.startswith(_NAME)), name
    assert places_with(data_dir, needles()) == []


def test_what_a_writer_or_a_worker_left_behind_goes_too(
    database: Database, data_dir: DataDir, media: Media, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two steps, a `put` and a `finish` leave a whole picture in ``tmp``."""
    monkeypatch.setattr(deletion, "_ROUND_S", 0.0)
    for n, left in enumerate((f"{_NAME}.17.0a1b2c3d", f"{queue.GONE}{_NAME}.0a1b2c3d")):
        folder = spool.folder / "tmp" / left
        folder.mkdir()
        (folder / "image.webp").write_bytes(webp(noise(n)))
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
    assert (receipt.verified, receipt.counts.spool) == (True, 2)
    assert list((spool.folder / "tmp").iterdir()) == []


def test_what_a_reader_kept_in_the_log_goes_when_it_has_ended(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.core.database.BUSY_TIMEOUT_MS", 10)
    put_secret(database, data_dir)
    with closing(apsw.Connection(str(data_dir.database))) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from preferences").fetchall()
        monkeypatch.setattr(Database.checkpoint, "__defaults__", (10,))
        receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
        assert not receipt.verified and receipt.left
        receipts.settle(database, media)
        assert noted_receipts(database) == [receipt.left]
    receipts.settle(database, media)
    assert noted_receipts(database) == [()]
    assert places_with(data_dir, needles()) == []


def test_words_of_many_frames_go_from_a_large_index_later(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the merge; one that is cut off is told as such, and done the next time."""
    monkeypatch.setattr(deletion, "_ERASED_AT_ONCE", 1)
    monkeypatch.setattr(deletion, "_MERGE_WORTH", 0)
    kept = put(database, data_dir, NOON_MS - SECOND, "something else")
    for n in range(3):
        put_secret(database, data_dir, NOON_MS + n)
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
    assert not receipt.verified
    assert [search(database, word, Filters(0, LATER_MS)).total for word in (SECRET, "else")] == [0, 1]
    receipts.settle(database, media, lambda: True)
    assert noted_receipts(database) == [receipt.left]
    receipts.settle(database, media)
    assert noted_receipts(database) == [()]
    assert places_with(data_dir, needles()) == []
    assert frames.get(database, kept.id)


def test_a_pack_in_the_making_is_told_until_it_is_done(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_WAIT_S", 0.0)
    put_secret(database, data_dir)
    with pending.only_writer(database):
        receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
        assert receipt.is_being_finished
        with monkeypatch.context() as patch:  # nothing is written, or truncated, where nothing changed
            patch.setattr(Database, "write", refused)
            patch.setattr(Database, "checkpoint", refused)
            receipts.settle(database, media)
        assert noted_receipts(database) == [receipt.left]
    receipts.settle(database, media)
    assert noted_receipts(database) == [()]


def refused(*_: object) -> NoReturn:
    raise AssertionError("that was not needed")


def test_what_comes_late_of_an_app_is_counted_until_it_is_gone(
    database: Database, data_dir: DataDir, media: Media, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture that capture wrote after the last look becomes a frame: then the receipt tells of that."""
    names: list[str] = []
    store_frame(database, data_dir, NOON_MS + 1, "word", app_name="Mail")

    def late(*_: object) -> bool:
        names.append(spool.put(capture(NOON_MS, app_name="Mail"), webp(noise(1))))
        return True

    with monkeypatch.context() as patch:
        patch.setattr(pending, "discard", late)
        receipt = deletion.delete_range(database, media, NOON_MS, END_MS, "mail")
    assert (receipt.left, receipt.is_being_finished) == (("1 captures are still in the spool.",), False)
    spool.take(names[0])
    store_frame(database, data_dir, NOON_MS, "word", app_name="Mail")
    spool.finish(names[0])
    receipts.settle(database, media)
    assert noted_receipts(database) == [("1 frames are still stored.",)]
    assert deletion.delete_range(database, media, NOON_MS, END_MS, "mail").verified
    receipts.settle(database, media)
    assert set(noted_receipts(database)) == {()}
    assert "mail" not in str(database.column("select receipt from deletions"))


def test_what_a_receipt_knows_an_app_by_goes_when_nothing_of_it_is_on_its_way(
    database: Database, media: Media, spool: Spool
) -> None:
    now_ms = times.now_ms()
    for before_ms in (-3_600_000, 61_000):
        deletion.delete_range(database, media, NOON_MS, END_MS, "Mail", now_ms=now_ms - before_ms)
    late = spool.put(capture(now_ms - 61_500, app_name="Mail"), webp(noise(1)))
    digests = "select receipt ->> '$.app' is not null from deletions order by id"
    receipts.settle(database, media)
    assert database.column(digests) == [1, 1]
    spool.take(late)
    spool.finish(late)
    receipts.settle(database, media)
    assert database.column(digests) == [1, 0]


def test_an_old_receipt_comes_true_when_nothing_is_left_of_its_time(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """It does not say whose frames it was about."""
    deletion.delete_range(database, media, NOON_MS, END_MS, "mail")
    left = json.dumps(["1 frames are still stored."])
    database.change(
        "update deletions set receipt = json_set(receipt, '$.verified', 0, '$.left', json(?))", (left,)
    )
    store_frame(database, data_dir, NOON_MS, "word", app_name="Files")
    receipts.settle(database, media)
    assert noted_receipts(database) == [("1 frames are still stored.",)]
    database.change("delete from frames")
    receipts.settle(database, media)
    assert noted_receipts(database) == [()]


def noted_receipts(database: Database) -> list[tuple[str, ...]]:
    """What the receipts that are kept say was left."""
    kept = database.column("select receipt from deletions where json_extract(receipt, '$.part_of') is null")
    return [tuple(json.loads(receipt)["left"]) for receipt in kept]


def test_sweep_keeps_copies_younger_than_the_last_deletion(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """Which is younger no clock decides."""
    older, younger = (data_dir.backups / f"before-m99{n}-1.db" for n in (8, 9))
    database.copy_to(older, lambda: False)
    with database.write() as connection:  # and the process dies
        copies.outdate(connection)
    database.copy_to(younger, lambda: False)
    assert deletion.sweep(database, media) == 1
    assert copies.copies(data_dir) == [younger]


def test_receipt_says_what_is_left(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_secret(database, data_dir)
    monkeypatch.setattr(Media, "remove", lambda *_: 0)
    receipt = deletion.delete_range(database, media, NOON_MS, END_MS)
    assert receipt.verified is False
    assert receipt.left == ("1 pictures are still on the disk.",)


# -- large --------------------------------------------------------------------------------


def test_no_statement_of_a_deletion_reads_a_large_table(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """Everything goes by rowid, also without statistics about the tables."""
    frame = put_secret(database, data_dir)
    answer(database, "answer", [shown(frame)])
    found = plans(database, lambda: deletion.delete_range(database, media, NOON_MS, END_MS))
    scans = {plan.split()[1] for plan in found if plan.startswith("SCAN")}
    large = {
        "frames",
        "f",
        "readings",
        "r",
        "frame_urls",
        "u",
        "ingest_records",
        "evidence",
        "e",
        "decisions",
        "segments",
        "frames_fts_docsize",
    }
    assert scans.isdisjoint(large)
    assert not any("MULTI-INDEX OR" in plan or "frames_by_focus" in plan for plan in found)


def test_frames_go_in_several_transactions(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "FRAMES_AT_ONCE", 2)
    ids = [put(database, data_dir, NOON_MS + n, f"word{n}").id for n in range(5)]
    receipt = deletion.delete_frames(database, media, ids)
    assert (receipt.frames, receipt.verified) == (5, True)


def test_what_stays_is_looked_at_outside_of_those_transactions(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "FRAMES_AT_ONCE", 1)
    for n, app in enumerate(("Code", "Code", "Notes", "Notes", "Notes")):
        put(database, data_dir, NOON_MS + n * 1000, f"word{n}", app_name=app)
    asked, other = [], open_database(data_dir)

    def fits(app: str, *_: str) -> bool:
        if app == "Code":
            with other.write_at_once():
                asked.append(app)
        return app == "Notes"

    source = "from frames f where fits(f.app_name, f.window_name, f.browser_url)"
    ever = Request(*EVER)
    erasure = deletion.Erasure(database, media, ever, None, request.DeletionScope(source, {}, fits))
    erasure.begin()
    erasure.remove()
    other.close_thread()
    assert database.column("select app_name from frames") == ["Code"] * 2
    assert len(asked) == 4  # before, and whether more has come since


def test_no_migration_is_newer_than_these_tests() -> None:
    """A later one may add a place where something of a frame lives: look at `purge.PLACES`."""
    assert migrations.names()[-1] == "021_marked_words"
