"""Folders and videos played as a screen."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from capture.core.errors import SourceEmpty
from capture.screens.files import FolderScreen, VideoScreen
from store.core.paths import DataDir
from tests.capture.fakes import Bench, FakeClock, screen, spooled
from tests.factories import picture


def save(folder: Path, name: str, seed: int) -> None:
    Image.fromarray(screen(seed=seed)[..., 2::-1]).save(folder / name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "shots"
    path.mkdir()
    return path


def play(data_dir: DataDir, source: FolderScreen | VideoScreen, clock: FakeClock, looks: int) -> Bench:
    bench = Bench(data_dir)
    bench.clock.wall_ms, bench.clock.running_s = clock.wall_ms, clock.running_s
    source._clock = bench.clock
    bench.screens = source  # type: ignore[assignment]
    bench.windows.listed = []
    bench.look(looks)
    return bench


def test_a_folder_shows_every_picture_once_in_name_order(folder: Path, data_dir: DataDir) -> None:
    for seed, name in enumerate(["a.png", "b.webp", "c.png"]):
        save(folder, name, seed)
    (folder / "notes.txt").write_text("no picture")
    (folder / "aa.png").write_bytes(b"broken")
    bench = play(data_dir, FolderScreen(folder, 1.0, FakeClock()), FakeClock(), 10)
    done = bench.finish()
    shown = [
        np.asarray(Image.open(io.BytesIO(done.images[frame.capture_id])).convert("RGB"))
        for frame in done.frames
    ]
    expected = [np.asarray(Image.open(folder / name).convert("RGB")) for name in ("a.png", "b.webp", "c.png")]
    assert len(shown) == 3
    assert all(np.array_equal(one, other) for one, other in zip(shown, expected, strict=True))
    assert {frame.monitor for frame in done.frames} == {"folder"}
    assert done.is_balanced


def test_a_picture_that_arrives_later_is_shown(folder: Path, data_dir: DataDir) -> None:
    save(folder, "1.png", 1)
    bench = play(data_dir, FolderScreen(folder, 1.0, FakeClock()), FakeClock(), 4)
    save(folder, "2.png", 2)
    bench.look(4)
    assert len(bench.finish().frames) == 2


def test_a_folder_without_a_picture_is_said_and_tried_again(folder: Path, data_dir: DataDir) -> None:
    bench = play(data_dir, FolderScreen(folder, 1.0, FakeClock()), FakeClock(), 1)
    assert (bench.daemon.state.state, bench.daemon.state.reason) == ("failing", "source_empty")
    save(folder, "1.png", 1)
    bench.look(4)
    assert bench.daemon.state.state == "recording"


def test_no_folder_and_no_video_are_errors(folder: Path) -> None:
    with pytest.raises(SourceEmpty, match="no folder"):
        FolderScreen(folder / "none", 1.0, FakeClock())
    with pytest.raises(SourceEmpty, match="cannot be played"):
        VideoScreen(folder / "none.mp4", FakeClock())
    (folder / "text.mp4").write_text("not a video")
    with pytest.raises(SourceEmpty, match="cannot be played"):
        VideoScreen(folder / "text.mp4", FakeClock())


def make_video(path: Path, pictures: int, rate: int = 2) -> None:
    """Each picture in its own colour, with a sound track beside."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "bgr0"
        sound = container.add_stream("pcm_s16le", rate=8000)
        for seed in range(pictures):
            frame = av.VideoFrame.from_image(picture(seed))
            container.mux(stream.encode(frame))
        samples = av.AudioFrame.from_ndarray(np.zeros((1, 8000), dtype=np.int16), layout="mono")
        samples.sample_rate = 8000
        container.mux(sound.encode(samples))
        container.mux(stream.encode(None))
        container.mux(sound.encode(None))


def test_a_video_plays_in_its_own_time_and_stays_with_its_end(tmp_path: Path, data_dir: DataDir) -> None:
    make_video(tmp_path / "v.mkv", 4, rate=1)
    bench = play(data_dir, VideoScreen(tmp_path / "v.mkv", FakeClock()), FakeClock(), 20)
    done = bench.finish()
    colours = [
        Image.open(io.BytesIO(done.images[frame.capture_id])).convert("RGB").getpixel((5, 5))
        for frame in done.frames
    ]
    assert colours == [picture(seed).getpixel((5, 5)) for seed in range(4)]
    starts = [frame.captured_ms - done.frames[0].captured_ms for frame in done.frames]
    assert starts == [0, 1000, 2000, 3000]
    assert done.is_balanced
    assert spooled(bench.spool).frames == []
