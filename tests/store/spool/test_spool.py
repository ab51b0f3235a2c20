"""The spool: a whole entry or none, whatever instruction the writer died at."""

from __future__ import annotations

import json
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.errors import SpoolEntryInvalid, SpoolFull
from store.core.paths import DataDir
from store.spool import queue as store_spool
from store.spool import residual_files
from store.spool.queue import Capture, DecisionRun, LookReport, Spool
from tests.factories import NOON_MS, capture
from tests.meanwhile import meanwhile

IMAGE = b"not decoded here" * 100


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def report(end_ms: int = NOON_MS, **changes: Any) -> LookReport:
    run = DecisionRun("DP-1", "deduped", "unchanged", NOON_MS, NOON_MS + 5, 3, str(uuid.uuid4()))
    return replace(LookReport(str(uuid.uuid4()), NOON_MS - 10, end_ms, 3, (run,)), **changes)


def take(spool: Spool, name: str) -> store_spool.Entry:
    entry = spool.take(name)
    assert entry is not None
    return entry


# -- there and back -----------------------------------------------------------------------

MAYBE = st.none() | st.text()
CAPTURES = st.builds(
    Capture,
    capture_id=st.uuids().map(str),
    captured_ms=st.integers(0, 2**41),
    source=st.sampled_from(["screen", "folder", "upload"]),
    image_type=st.sampled_from(sorted(store_spool.IMAGE_NAMES)),
    monitor=st.text(),
    app_name=MAYBE,
    window_name=MAYBE,
    browser_url=MAYBE,
    focused=st.none() | st.booleans(),
    pid=st.none() | st.integers(0, 2**31),
    utc_offset_min=st.none() | st.integers(-840, 840),
    batch_id=MAYBE,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=CAPTURES)
def test_capture_survives_the_way(spool: Spool, record: Capture) -> None:
    entry = take(spool, spool.put(record, IMAGE))
    assert entry.record == record
    assert entry.image is not None
    assert entry.image.read_bytes() == IMAGE
    spool.finish(entry.name)
    assert spool.usage() == (0, 0)


def test_report_survives_the_way(spool: Spool) -> None:
    record = report()
    assert take(spool, spool.put(record)).record == record


def test_waiting_is_in_order_of_time(spool: Spool) -> None:
    times = [NOON_MS, 5, NOON_MS - 1, 10**12, 0]
    for at in times:
        spool.put(capture(at), IMAGE)
    spool.put(report(NOON_MS - 2))
    found = [int(name.partition("-")[0]) for name in spool.waiting()]
    assert found == sorted([*times, NOON_MS - 2])


def test_same_capture_put_twice_is_one_entry(spool: Spool) -> None:
    record = capture()
    assert spool.put(record, IMAGE) == spool.put(record, IMAGE)
    assert len(spool.waiting()) == 1
    assert list((spool.folder / "tmp").iterdir()) == []


def test_entry_is_taken_once(spool: Spool) -> None:
    names = [spool.put(capture(NOON_MS + n), IMAGE) for n in range(20)]
    taken: list[str] = []

    def work() -> None:
        taken.extend(name for name in names if spool.take(name) is not None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(names)


def test_failed_entry_says_why_and_can_be_tried_again(spool: Spool) -> None:
    name = spool.put(capture(), IMAGE)
    take(spool, name)
    spool.fail(name, "the picture is damaged")
    assert list(spool.failed()) == [(name, "the picture is damaged")]
    spool.retry(name)
    assert spool.waiting() == [name]
    assert take(spool, name).image is not None


def test_entry_can_be_given_back(spool: Spool) -> None:
    name = spool.put(capture(), IMAGE)
    take(spool, name)
    spool.give_back(name)
    assert spool.waiting() == [name]


def test_files_are_the_owners_alone(spool: Spool) -> None:
    folder = spool.folder / "new" / spool.put(capture(), IMAGE)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


# -- limits -------------------------------------------------------------------------------


def test_full_spool_refuses_a_frame_and_still_takes_a_report(tmp_path: Path) -> None:
    spool = Spool(tmp_path, max_entries=2)
    for n in range(2):
        spool.put(capture(NOON_MS + n), IMAGE)
    with pytest.raises(SpoolFull):
        spool.put(capture(NOON_MS + 3), IMAGE)
    spool.put(report())
    assert len(spool.waiting()) == 3
    assert list((spool.folder / "tmp").iterdir()) == []


def test_limit_counts_bytes_that_were_there_before(tmp_path: Path) -> None:
    Spool(tmp_path).put(capture(), IMAGE)
    spool = Spool(tmp_path, max_bytes=2 * len(IMAGE))
    with pytest.raises(SpoolFull):
        spool.put(capture(NOON_MS + 1), IMAGE)


def test_spool_that_was_emptied_takes_frames_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_spool, "_USAGE_FRESH_S", 0)
    spool = Spool(tmp_path, max_entries=1)
    name = spool.put(capture(), IMAGE)
    take(spool, name)
    spool.finish(name)
    spool.put(capture(NOON_MS + 1), IMAGE)


# -- death --------------------------------------------------------------------------------


class Killed(BaseException):
    """Nothing catches this; the process is gone."""


@pytest.fixture
def death(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`death(n)`: the n-th step that touches the disk from now on is the last one."""
    left = {"steps": 10**9}

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def step(*args: Any, **kwargs: Any) -> Any:
            left["steps"] -= 1
            if left["steps"] < 0:
                raise Killed
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, step)

    for owner, names in ((os, ["open", "fsync", "mkdir", "rename", "unlink", "rmdir"]), (shutil, ["rmtree"])):
        for name in names:
            counted(owner, name)
    yield lambda n: left.update(steps=n)
    left["steps"] = 10**9


def steps_until_done(spool: Spool, death: Any, work: Any) -> Iterator[int]:
    """Runs `work` again and again, dying one step later each time, until it comes to its end."""
    for n in range(200):
        death(n)
        try:
            work()
        except Killed:
            death(10**9)
            yield n
            continue
        death(10**9)
        return
    raise AssertionError("the work never came to its end")


def test_writer_killed_at_any_step_leaves_a_whole_entry_or_none(spool: Spool, death: Any) -> None:
    record = capture()
    deaths = 0
    for _ in steps_until_done(spool, death, lambda: spool.put(record, IMAGE)):
        deaths += 1
        for name in spool.waiting():
            assert take(spool, name).image is not None
            spool.finish(name)
    assert deaths > 5
    [name] = spool.waiting()
    assert take(spool, name).record == record


def test_worker_killed_at_any_step_neither_loses_nor_doubles_an_entry(spool: Spool, death: Any) -> None:
    name = spool.put(capture(), IMAGE)
    done: list[str] = []

    def work() -> None:
        for waiting in spool.waiting():
            take(spool, waiting)
            done.append(waiting)
            spool.finish(waiting)

    deaths = 0
    for _ in steps_until_done(spool, death, work):
        deaths += 1
        spool.recover()
        assert spool.waiting() in ([name], [])
    assert deaths > 1
    assert set(done) == {name}
    assert spool.waiting() == []


def test_entry_claimed_by_a_dead_worker_comes_back(spool: Spool) -> None:
    name = spool.put(capture(), IMAGE)
    take(spool, name)
    assert spool.recover() == 1
    assert spool.waiting() == [name]


def test_leavings_in_tmp_go_when_they_are_old(spool: Spool) -> None:
    for name, age_s in (("old", 7_200), ("new", 0)):
        folder = spool.folder / "tmp" / name
        folder.mkdir()
        at = folder.stat().st_mtime - age_s
        os.utime(folder, (at, at))
    upload = spool.folder / "tmp" / "import-old"
    upload.write_bytes(b"an uploaded file")
    os.utime(upload, (at, at - 7_200))
    spool.recover()
    assert [path.name for path in (spool.folder / "tmp").iterdir()] == ["new"]


# -- entries from elsewhere ---------------------------------------------------------------


@pytest.mark.parametrize("capture_id", ["../../etc", "", "a/b", "0" * 300, "..", "x\0y"])
def test_id_that_is_no_uuid_never_becomes_a_path(spool: Spool, capture_id: str) -> None:
    with pytest.raises(ValueError, match=r"UUID|hexadecimal"):
        spool.put(capture(capture_id=capture_id), IMAGE)
    assert spool.waiting() == []


def damaged(text: str | bytes) -> Any:
    return lambda folder: (folder / "entry.json").write_bytes(
        text.encode() if isinstance(text, str) else text
    )


def with_field(**changes: Any) -> Any:
    def change(folder: Path) -> None:
        document = json.loads((folder / "entry.json").read_bytes())
        (folder / "entry.json").write_text(json.dumps({**document, **changes}), encoding="utf-8")

    return change


def linked_image(folder: Path) -> None:
    (folder / "image.webp").rename(folder / "elsewhere")
    (folder / "image.webp").symlink_to(folder / "elsewhere")


def linked_record(folder: Path) -> None:
    (folder / "entry.json").rename(folder / "elsewhere")
    (folder / "entry.json").symlink_to(folder / "elsewhere")


@pytest.mark.parametrize(
    "harm",
    [
        damaged(b""),
        damaged(b"[]"),
        damaged(b"{}"),
        damaged(b"\xff\xfe"),
        damaged(b'{"kind": "capture"}'),
        damaged(b"9" * 5_000),
        with_field(kind="looks"),
        with_field(capture_id="../../x"),
        with_field(capture_id=7),
        with_field(image_type="image/svg+xml"),
        with_field(unknown=1),
        lambda folder: (folder / "image.webp").unlink(),
        lambda folder: (folder / "entry.json").unlink(),
        linked_image,
        linked_record,
    ],
)
def test_entry_that_cannot_be_used_is_named_and_can_be_set_aside(spool: Spool, harm: Any) -> None:
    name = spool.put(capture(), IMAGE)
    harm(spool.folder / "new" / name)
    with pytest.raises(SpoolEntryInvalid):
        spool.take(name)
    spool.fail(name, "unusable")
    assert [found for found, _ in spool.failed()] == [name]
    assert spool.waiting() == []


def test_entry_that_is_gone_is_nobodys(spool: Spool) -> None:
    assert spool.take("000-none") is None


def test_what_is_given_back_while_captures_are_looked_for_is_found(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [spool.put(capture(captured_ms=NOON_MS + n), IMAGE) for n in range(2)]
    take(spool, names[1])
    meanwhile(monkeypatch, residual_files, "_waiting", lambda: spool.give_back(names[1]))
    found = residual_files.captures(DataDir(tmp_path), NOON_MS, NOON_MS + 2)
    assert [each.folder.name for each in found] == names
