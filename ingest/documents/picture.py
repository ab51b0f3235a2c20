"""Images: whether one is what it says, and how large."""

from __future__ import annotations

from pathlib import Path

from ingest.documents.limits import MAX_PIXELS
from ingest.documents.result import CannotRead


def size_px(path: Path, media_type: str) -> tuple[int, int]:
    """(width, height) of an image that was decoded to its end. Raises `CannotRead`."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=[media_type.removeprefix("image/").upper()]) as image:
            if image.width * image.height > MAX_PIXELS:
                raise CannotRead(f"it has more than {MAX_PIXELS // 1_000_000} million pixels")
            image.load()
            return image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise CannotRead("the image is damaged") from error
