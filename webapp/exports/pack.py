"""What of an answer leaves the program, decided once for every format.

A frame that was deleted, or whose window an exclusion rule of today leaves out, takes no part in
it: no picture, no quote, no title, only its number, its time and the reason. An answer that may tell of
such a window is left out as a whole, by the same rule as `store.backup.export`. Pictures are the
frame's own pixels, checked against the SHA-256 of its ingest, or an explicit "gone".
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal
from zoneinfo import ZoneInfo

from assistant.core.records import EvidenceItem, TurnResult
from assistant.read_api.calls import is_permitted
from store.backup import export
from store.chats import attachments
from store.core import times
from store.core.database import Database
from store.core.errors import AttachmentGone, MediaGone
from store.frames import frames
from store.frames.frames import FrameRow
from store.frames.media import SUFFIXES, Media
from store.ocr import readings
from store.ocr.readings import Box, Reading
from store.privacy.rules import RuleSet
from webapp.views.frames import crop_around, unavailable_text

Size = Literal["crop", "full", "none"]
CROP_PX = 900, 506
"""Width of a crop: the quoted words with what stands around them. Where no words are boxed there is
nothing to crop to, and only a person who asks for the whole screen gets it.
"""

_UNSAFE = re.compile(r"[^\w.()+ -]")
EXCLUDED = "Left out: a privacy rule of today covers its window."
DELETED = "Its frame was deleted."


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as it is exported. `area` is the part of the frame it shows, None for all of it."""

    name: str
    media_type: str
    content: bytes
    sha256: str
    area: Box | None
    width_px: int
    height_px: int

    @property
    def shown(self) -> Box:
        return self.area or Box(0, 0, self.width_px, self.height_px)

    @property
    def data_address(self) -> str:
        return f"data:{self.media_type};base64,{base64.b64encode(self.content).decode()}"


@dataclass(frozen=True, slots=True)
class Source:
    """One cited frame. With `withheld` nothing of it is told but its number and its time, and there is no
    `link` to it. `is_wrong` says that the person marked it as wrong.

    `frame_sha256` is of the frame's picture as it was captured; `can_show` says whether its pixels
    could be exported, else `gone` says why not. The `reading` that the quote was found in, all words of the
    screen, comes along with the whole screen only.
    """

    item: EvidenceItem
    frame: FrameRow | None
    at: str
    link: str
    is_wrong: bool
    withheld: str = ""
    gone: str = ""
    image: Image | None = None
    reading: Reading | None = None

    @property
    def n(self) -> int:
        return self.item.n or 0

    @property
    def can_show(self) -> bool:
        return not (self.withheld or self.gone)

    @property
    def crop(self) -> Box | None:
        """The quoted words with what stands around them, where any are boxed."""
        if self.frame is None:
            return None
        return crop_around(self.item.boxes, self.frame.width_px, self.frame.height_px, *CROP_PX)

    @property
    def place(self) -> str:
        item = self.item
        known = ", ".join(part for part in (item.app_name, item.window_name) if part)
        return known or ("" if self.withheld else "Unknown app")

    @property
    def words(self) -> str:
        """What is to be said of it beside its quote, '' for nothing."""
        state = "These words are not on the frame" if self.item.state == "not_found" else ""
        return self.withheld or ". ".join(filter(None, (state, self.gone.removesuffix("."))))

    @property
    def frame_sha256(self) -> str | None:
        return self.frame.sha256 if self.frame else None


@dataclass(frozen=True, slots=True)
class Pack:
    """An answer and what is told of its sources. `withdrawn` were marked as wrong by the person. With
    `is_left_out` the turn says so in the place of its answer.
    """

    turn: TurnResult
    sources: tuple[Source, ...]
    withdrawn: frozenset[int]
    origin: str  # where links lead, such as ``http://127.0.0.1:8420``
    made_ms: int
    files: tuple[tuple[str, bytes], ...] = ()  # attached files that come along, by their name in a bundle
    is_left_out: bool = False

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.turn.timezone)

    @property
    def made(self) -> str:
        return when(self.made_ms, self.zone)

    @property
    def link(self) -> str:
        return f"{self.origin}/chat/{self.turn.chat_id}#t{self.turn.turn_id}"


def when(ms: int, zone: ZoneInfo) -> str:
    """``2026-11-20 14:32:08 +08:00``"""
    stamp = times.rfc3339(ms - ms % 1000, zone)
    return f"{stamp[:10]} {stamp[11:19]} {stamp[19:]}"


def pack(
    database: Database,
    media: Media,
    rules: RuleSet,
    turn: TurnResult,
    *,
    origin: str,
    made_ms: int,
    withdrawn: frozenset[int] = frozenset(),
    size_of: Callable[[int], Size] = lambda n: "none",
    with_files: bool = False,
) -> Pack:
    """The answer with its sources; `size_of` says which picture of source n comes along, `with_files`
    whether the files that were attached do.
    """
    cited = sorted((item for item in turn.evidence if item.n is not None), key=lambda item: item.n or 0)
    rows = frames.get_many(database, [item.frame_id for item in cited if item.frame_id is not None])
    sources = []
    for item in cited:
        link = f"{origin}/frames/{item.frame_id}?cite={turn.chat_id}.{turn.turn_id}.{item.n}"
        at = when(item.captured_ms, ZoneInfo(turn.timezone))
        whole = Source(item, rows.get(item.frame_id or -1), at, link, item.n in withdrawn)
        sources.append(_permitted(database, media, rules, whole, size_of(whole.n)))
    files = tuple(_files(database, turn)) if with_files else ()
    is_left_out = export.may_tell(database, rules, turn.chat_id, turn.turn_id)
    if is_left_out:  # the question, and what was looked at, in figures
        looked = replace(turn.coverage, queries=())
        turn = replace(turn, answer_md=export.EXCLUDED, claims=(), warnings=(), coverage=looked)
    return Pack(turn, tuple(sources), withdrawn, origin, made_ms, files, is_left_out)


def _files(database: Database, turn: TurnResult) -> Iterator[tuple[str, bytes]]:
    """The attached files that are still there. A name from outside becomes one that is safe anywhere."""
    for number, attachment in enumerate(turn.attachments, 1):
        safe = _UNSAFE.sub("_", attachment.name).strip(". ")[-100:] or "file"
        try:
            yield f"attachments/{number:02d}-{safe}", attachments.exact(database.data_dir, attachment.sha256)
        except AttachmentGone:
            continue


def _permitted(database: Database, media: Media, rules: RuleSet, source: Source, size: Size) -> Source:
    """What may be told of a source, with its picture where that is wanted and is still there."""
    item, frame = source.item, source.frame
    if frame is None or item.state == "deleted":
        return _withheld(source, DELETED)
    if not is_permitted(database, rules, frame):
        return _withheld(source, EXCLUDED)
    try:
        exact = media.exact(frame)
        if size == "full":
            reading = readings.by_id(database, item.reading_id) if item.reading_id else None
            reading = reading or readings.current_reading(database, frame.id)
            return replace(source, image=_image(item, frame, None, exact, frame.media_type), reading=reading)
        area = source.crop if size == "crop" else None
        if area is None:
            return source
        return replace(source, image=_image(item, frame, area, media.crop(frame, *area), "image/webp"))
    except MediaGone as error:
        return replace(source, gone=unavailable_text(error.reason))


def _withheld(source: Source, why: str) -> Source:
    blank = replace(
        source.item, frame_id=None, app_name=None, window_name=None, focused=None, browser_url=None,
        snippet="", quote="", boxes=(), reading_id=None,
    )  # fmt: skip
    return replace(source, item=blank, frame=None, link="", withheld=why)


def _image(item: EvidenceItem, frame: FrameRow, area: Box | None, content: bytes, media_type: str) -> Image:
    width, height = (area.w, area.h) if area else (frame.width_px, frame.height_px)
    name = f"evidence/{item.n or 0:02d}{SUFFIXES[media_type]}"
    return Image(name, media_type, content, hashlib.sha256(content).hexdigest(), area, width, height)
