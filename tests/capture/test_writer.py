"""Encoding is exact, and a frame is kept only once it is in the spool."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from capture.frame_recorder import encode, write_frame
from store.core.errors import SpoolFull
from store.core.paths import DataDir
from store.spool.queue import Spool
from tests.capture.fakes import screen, spooled
from tests.factories import capture
from tests.tables import for_each


@for_each("size", [(320, 192), (33, 1), (1, 1), (1366, 3)])
def test_every_colour_survives_and_the_unused_byte_goes(size: tuple[int, int]) -> None:
    pixels = screen(*size)
    pixels[..., 3] = 17
    image = Image.open(io.BytesIO(encode(pixels)))
    assert image.mode == "RGB"
    assert np.array_equal(np.asarray(image), pixels[..., 2::-1])


def test_a_written_frame_carries_its_file_s_hash(data_dir: DataDir) -> None:
    spool = Spool(data_dir.spool)
    write_frame(spool, capture(capture_id="6f0d3c9c-5b0e-4b9e-8f43-0f2a54f0d0aa"), screen())
    found = spooled(spool)
    [frame] = found.frames
    assert frame.sha256 == hashlib.sha256(found.images[frame.capture_id]).hexdigest()


def test_a_frame_that_cannot_be_written_says_why(data_dir: DataDir) -> None:
    with pytest.raises(SpoolFull):
        write_frame(Spool(data_dir.spool, max_bytes=1), capture(), screen())
