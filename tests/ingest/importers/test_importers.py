from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import UTC
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import av
import pytest
from av.video.frame import VideoFrame
from PIL import Image, ImageDraw

from ingest.core.home import Home, only_worker
from ingest.importers import images, video
from ingest.importers.import_runner import ImportFeed
from ingest.importers.items import CannotImport, Item, Skipped
from ingest.worker.worker import Worker
from store.core.paths import DataDir
from store.core.settings import Settings
from store.frames import frames
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, picture
from tests.ingest.conftest import ScriptedEngine, opener
from tests.tables import for_each

SIZE = (96, 64)


def scene(n: int) -> Image.Image:
    image = picture(n, SIZE)
    ImageDraw.Draw(image).text((4, 20), f"scene {n}", fill="white")
    return image


def clip(
    path: Path, scenes: list[int], *, fps: int = 1, times: list[float] | None = None, sound: bool = False
) -> Path:
    """A lossless RGB recording: one frame per scene, at `times` (seconds) or `fps`."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264rgb", rate=fps)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "rgb24"
        stream.options = {"crf": "0", "preset": "ultrafast"}
        stream.codec_context.time_base = Fraction(1, 1000)
        audio = container.add_stream("aac", rate=48_000) if sound else None
        for number, n in enumerate(scenes):
            frame = VideoFrame.from_image(scene(n))
            frame.time_base = Fraction(1, 1000)
            frame.pts = round((times[number] if times else number / fps) * 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if audio is not None:
            silence = av.AudioFrame(format="fltp", layout="mono", samples=1024)
            silence.sample_rate, silence.pts = 48_000, 0
            for plane in silence.planes:
                plane.update(bytes(plane.buffer_size))
            container.mux(audio.encode(silence))
            container.mux(audio.encode(None))
    return path


def imported(home: Home, items: Iterator[Item | Skipped]) -> ImportFeed:
    feeding = ImportFeed(home, items)
    with only_worker(home.data_dir):
        assert Worker(home, opener(ScriptedEngine())).run(once=True, feed=feeding.steps) == 0
    return feeding


def of_images(folder: Path) -> Iterator[Item | Skipped]:
    return images.read(images.find(folder, UTC), UTC)


def of_clip(path: Path, interval_s: float = 1.0) -> Iterator[Item | Skipped]:
    return video.read(path, NOON_MS, interval_s, UTC)


def stored(home: Home) -> list[tuple[int, int, str]]:
    """(seconds since noon, seconds it stayed, pixels) of every frame, all of them read."""
    with home.database.read() as connection:
        rows = connection.execute(
            "select captured_ms, ended_ms, pixels_sha256, reading_state from frames order by id"
        ).fetchall()
    assert {row[3] for row in rows} <= {"read"}
    return [((at - NOON_MS) // 1000, (end - at) // 1000, pixels) for at, end, pixels, _ in rows]


def test_a_lossless_clip_and_its_pictures_give_the_same_frames(home: Home, tmp_path: Path) -> None:
    """Feature 2: right epoch times, the sound ignored."""
    scenes = list(range(10))
    imported(home, of_clip(clip(tmp_path / "clip.mkv", scenes, sound=True)))
    folder = tmp_path / "pictures"
    folder.mkdir()
    for n in scenes:
        scene(n).save(folder / f"{NOON_MS + n * 1000}.png")
    other = open_second_home(tmp_path)
    imported(other, of_images(folder))
    assert stored(home) == stored(other) == [(n, 0, pixels) for n, _, pixels in stored(home)]
    assert len(stored(home)) == 10
    other.database.close_thread()


def open_second_home(tmp_path: Path) -> Home:
    from ingest.core.home import open_home

    return open_home(DataDir(tmp_path / "second"), Settings())


def test_importing_again_adds_nothing(home: Home, tmp_path: Path) -> None:
    path = clip(tmp_path / "clip.mkv", [1, 2, 3])
    assert imported(home, of_clip(path)).summary()["added"] == 3
    before = stored(home)
    again = imported(home, of_clip(path)).summary()
    assert (again["added"], again["already_known"]) == (0, 3)
    assert stored(home) == before
    assert verify(home.database, home.media, home.spool).problems == ()


def test_a_clip_is_sampled_at_its_interval(home: Home, tmp_path: Path) -> None:
    imported(home, of_clip(clip(tmp_path / "clip.mkv", list(range(20)), fps=5), interval_s=2))
    assert [at for at, _, _ in stored(home)] == [0, 2]


def test_a_picture_that_a_clip_holds_counts_for_as_long_as_it_is_shown(home: Home, tmp_path: Path) -> None:
    """Screen recorders write changes only; unchanged time does not vanish."""
    path = clip(tmp_path / "clip.mkv", [1, 2, 3], times=[0, 1, 41])
    imported(home, of_clip(path))
    assert [(at, stayed) for at, stayed, _ in stored(home)] == [(0, 0), (1, 29), (31, 9), (41, 0)]


@for_each(
    ("frame_times", "interval_s", "expected"),
    [
        ([0, 1, 2, 3], 1, [0, 1, 2, 3]),
        ([0, 0.5, 1, 1.5], 1, [0, 1]),
        ([0, 0.9999, 2.0001], 1, [0, 0.9999, 2.0001]),
        ([0, 0.4, 1.7], 1, [0, 1.7]),
        ([0, 3.5], 1, [0, 1, 2, 3.5]),
        ([0, 1, 2], 0.5, [0, 0.5, 1, 1.5, 2]),
        ([0], 1, [0]),
        ([], 1, []),
    ],
)
def test_which_moments_of_a_clip_are_taken(
    frame_times: list[float], interval_s: float, expected: list[float]
) -> None:
    shown = VideoFrame(16, 16)
    ends = [*frame_times[1:], *frame_times[-1:]]
    timed = ((start, end, shown) for start, end in zip(frame_times, ends, strict=True))
    assert [seconds for seconds, _ in video.sampled(timed, interval_s)] == expected


def test_a_clip_that_breaks_off_gives_what_it_has_and_says_so(home: Home, tmp_path: Path) -> None:
    path = clip(tmp_path / "clip.mkv", list(range(12)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + os.urandom(len(whole) // 2))
    summary = imported(home, of_clip(path)).summary()
    assert 0 < summary["added"] < 12


@pytest.mark.parametrize("content", [b"", b"not a video at all", picture(1).tobytes()])
def test_what_is_no_video_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)
    with pytest.raises(CannotImport):
        video.seconds_of(path)


def test_pictures_are_kept_as_their_very_bytes_at_their_own_times(home: Home, tmp_path: Path) -> None:
    zone = ZoneInfo("Asia/Shanghai")
    (tmp_path / "below").mkdir()
    contents = {}
    for name, kind in (
        ("2026-11-20_20-00-00.png", "PNG"),
        ("below/2026-11-20_20-00-01.JPG", "JPEG"),
        ("2026-11-20_20-00-02.webp", "WEBP"),
    ):
        buffer = io.BytesIO()
        scene(len(contents)).save(buffer, kind)
        contents[name] = buffer.getvalue()
        (tmp_path / name).write_bytes(buffer.getvalue())
    imported(home, images.read(images.find(tmp_path, zone), zone))
    with home.database.read() as connection:
        ids = [row[0] for row in connection.execute("select id from frames order by id")]
    found = [frames.get(home.database, frame_id) for frame_id in ids]
    assert [frame.captured_ms - NOON_MS for frame in found] == [0, 1000, 2000]
    assert {frame.utc_offset_min for frame in found} == {480}
    assert {frame.source for frame in found} == {"import"}
    assert [home.media.exact(frame) for frame in found] == list(contents.values())


def test_bad_files_are_skipped_with_a_reason_and_the_others_come_in(home: Home, tmp_path: Path) -> None:
    scene(1).save(tmp_path / f"{NOON_MS}.png")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "notes.txt").write_text("not looked at")
    (tmp_path / "link.png").symlink_to(tmp_path / f"{NOON_MS}.png")
    whole = (tmp_path / f"{NOON_MS}.png").read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(26 * 1024 * 1024)
    summary = imported(home, of_images(tmp_path)).summary()
    reasons = {one["name"]: one["reason"] for one in summary["skipped"]}
    assert {"empty.png", "text.jpg", "huge.png", "half.png"} == set(reasons)
    assert (summary["added"], summary["failed"]) == (1, 0)
    assert len(stored(home)) == 1


def test_a_folder_without_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="no pictures"):
        images.find(tmp_path, UTC)


def pictures(folder: Path, count: int) -> Path:
    folder.mkdir()
    for n in range(count):
        scene(n).save(folder / f"{NOON_MS + n * 1000}.png")
    return folder


def test_an_import_larger_than_the_spool_drains_it_while_it_fills(home: Home, tmp_path: Path) -> None:
    small = Home(
        home.settings, home.data_dir, home.database, Spool(home.data_dir.spool, max_entries=3), home.media
    )
    imported(small, of_images(pictures(tmp_path / "many", 8)))
    assert len(stored(home)) == 8


def test_a_spool_full_of_poison_ends_an_import_with_a_sentence(home: Home, tmp_path: Path) -> None:
    (home.spool.folder / "failed" / "old").mkdir()
    full = Home(
        home.settings, home.data_dir, home.database, Spool(home.data_dir.spool, max_entries=1), home.media
    )
    with pytest.raises(CannotImport, match="set aside"):
        imported(full, of_images(pictures(tmp_path / "many", 2)))


def test_beside_a_running_worker_an_import_waits_for_it(home: Home, tmp_path: Path) -> None:
    """The import writes to the spool only; whoever holds the lock stores."""
    feeding = ImportFeed(home, of_images(pictures(tmp_path / "many", 2)))
    with only_worker(home.data_dir):
        assert not feeding.run_beside_a_worker()  # that worker does nothing: the caller may look again
        assert (len(home.spool.waiting()), feeding.summary()["queued"]) == (2, 2)
        Worker(home, opener(ScriptedEngine())).run(once=True)
        assert feeding.run_beside_a_worker()
    assert feeding.summary()["added"] == 2
