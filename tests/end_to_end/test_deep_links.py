"""Seeded links into memory, opened in a real browser: the exact frame, the right words boxed.

Half of them lead to frames that were drawn and read by the real pipeline (the sample week), half to
nights on which clocks change, where the same wall time comes twice or not at all. No two pictures
are alike, so that bytes tell a frame from its neighbour.
"""

from __future__ import annotations

import hashlib
import io
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database, open_database, rows
from store.frames.frames import FrameRow, get_many
from store.frames.media import pixels_sha256
from store.ocr import readings
from store.ocr.readings import Reading
from store.timeline.segments import heartbeat
from tests.demo_week import ZONE, DemoHome
from tests.end_to_end.pages_site import Site, served, visit
from tests.factories import picture, store_frame

LINKS = 96  # sixteen of each kind
SEED = 20_261_120
# (zone, the UTC moment of its clock change): forward and back, in two parts of the world.
CHANGES = (
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
)
WORDS = ["harbour", "ledger", "invoice", "retention", "backlog", "schema", "window", "会议记录", "产品周报"]
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Link:
    """An address, and what has to be seen there. `pixels_sha256` is of the picture as it was captured."""

    address: str
    zone: str
    frame_id: int
    pixels_sha256: str
    local_time: str
    current: tuple[Box, ...]
    others: tuple[Box, ...]


# -- the home and its links --------------------------------------------------------------------


def change_nights(database: Database) -> dict[int, str]:
    """Frames every eight minutes around each change of clocks; gives the zone to look from by id."""
    choice = random.Random(SEED)
    zones = {}
    for zone, change in CHANGES:
        for n in range(-13, 13):
            at = change + timedelta(minutes=8 * n, seconds=choice.randint(0, 59))
            text = "\n".join(" ".join(choice.choices(WORDS, k=5)) for _ in range(6))
            frame = store_frame(
                database, database.data_dir, round(at.timestamp() * 1000), text,
                image=picture(choice.randrange(2**31), (1280, 720)),
                app_name=choice.choice(("Code", "Ledger")), window_name=f"{zone} {n}",
            )  # fmt: skip
            with database.write() as connection:
                heartbeat(connection, frame)
            zones[frame.id] = zone
    return zones


def seeded_links(database: Database) -> list[Link]:
    """`LINKS` links of every kind, half of them to nights on which clocks change."""
    choice = random.Random(SEED)
    zones = change_nights(database)
    with database.read() as connection:
        ids = [
            i for (i,) in rows(connection, "select id from frames where reading_state = 'read' order by id")
        ]
    week = [i for i in ids if i not in zones]
    assert len(week) >= 20
    found: list[Link] = []
    for n in range(LINKS):
        frame_id = choice.choice(week if n % 2 else sorted(zones))
        frame = get_many(database, [frame_id])[frame_id]
        found.append(_link(database, frame, zones.get(frame_id, ZONE), choice, KINDS[n // 2 % len(KINDS)]))
    return found


def _link(database: Database, frame: FrameRow, zone: str, choice: random.Random, kind: str) -> Link:
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    line = choice.choice([line for line in reading.lines if _terms(line.text)])
    term = choice.choice(_terms(line.text))
    boxes = _hits(reading, term)
    hit = choice.randint(1, len(boxes))
    shown: dict[str, Any] = {"q": term, **({"hit": hit} if hit > 1 else {})}
    current, others = boxes[hit - 1], [b for n, each in enumerate(boxes, 1) if n != hit for b in each]
    if kind.endswith("cite"):
        quoted = (line.box.x, line.box.y, line.box.w, line.box.h)
        shown, current, others = {"cite": _cite(database, frame, reading, line.text, quoted)}, [quoted], []
    base = f"/frames/{frame.id}"
    if kind.startswith("timeline"):
        base, shown = "/timeline", {"frame": frame.id, **shown}
        if "filtered" in kind:
            shown = {**shown, "z": choice.choice(("1h", "10min")), "app": frame.app_name}
    local = datetime.fromtimestamp(frame.captured_ms / 1000, UTC).astimezone(ZoneInfo(zone))
    return Link(
        f"{base}?{urlencode(shown)}", zone, frame.id, frame.pixels_sha256,
        local.isoformat(timespec="milliseconds" if frame.captured_ms % 1000 else "seconds"),
        tuple(current), tuple(others),
    )  # fmt: skip


KINDS = (
    "frame hit",
    "frame cite",
    "timeline hit",
    "timeline cite",
    "timeline filtered hit",
    "timeline filtered cite",
)


def _terms(text: str) -> list[str]:
    """What a person might search: whole words of one script, as they stand in the text."""
    return re.findall(r"(?<![\w.])[A-Za-z]{4,}(?![\w.])|(?<!\w)[\u4e00-\u9fff]{2,}(?!\w)", text)


def _hits(reading: Reading, term: str) -> list[list[Box]]:
    """Where a term stands, by plain comparison: each place with its boxes. Chinese has no edges of words."""
    places, is_chinese = [], "\u4e00" <= term[0] <= "\u9fff"
    alone = re.escape(term) if is_chinese else rf"(?<![^\W_]){re.escape(term)}(?![^\W_])"
    for found in re.finditer(alone, reading.text, re.IGNORECASE):
        line = next(line for line in reading.lines if line.start <= found.start() < line.end)
        parts = [word.box for word in line.words if word.start < found.end() and word.end > found.start()]
        left, top = min(b.x for b in parts), min(b.y for b in parts)
        right, bottom = max(b.x + b.w for b in parts), max(b.y + b.h for b in parts)
        places.append([(left, top, right - left, bottom - top)])
    return places


def _cite(database: Database, frame: FrameRow, reading: Reading, quote: str, box: Box) -> str:
    chat = conversations.create(database, "What stood there?", frame.captured_ms)
    turn = conversations.add_turn(
        database, chat, mode="evidence", model="stub", question="What stood there?",
        start_ms=frame.captured_ms, end_ms=frame.captured_ms + 1, timezone="UTC", now_ms=frame.captured_ms,
    )  # fmt: skip
    item = StoredEvidence(
        1, frame.id, frame.captured_ms, frame.app_name, frame.window_name, quote=quote, boxes=(box,),
        state="found", reading_id=reading.id,
    )  # fmt: skip
    conversations.finish_turn(
        database, turn.id, "It stood there [1].", {"claims": []}, [item], frame.captured_ms
    )
    return f"{chat}.1.1"


@pytest.fixture(scope="module")
def linked(
    demo_home: DemoHome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, list[Link]]]:
    home = demo_home.copied(tmp_path_factory.mktemp("links") / "home")
    database = open_database(home.data_dir)
    links = seeded_links(database)
    with served(database) as found:
        yield Site(found.origin, found.app, links[0].frame_id), links


# -- what is seen ------------------------------------------------------------------------------

_SEEN = """async () => {
  const image = document.querySelector('.exact > img, .screen .shot > img')
  if (!image) return null
  await image.decode()
  const own = new URL(image.currentSrc).pathname
  const bytes = await (await fetch(own)).arrayBuffer()
  const digest = [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
  const svg = image.closest('.exact, .screen').querySelector('svg.boxes')
  const place = image.getBoundingClientRect()
  const [width, height] = [+image.getAttribute('width'), +image.getAttribute('height')]
  const scale = Math.min(place.width / width, place.height / height)
  const left = place.left + (place.width - width * scale) / 2
  const top = place.top + (place.height - height * scale) / 2
  const onPicture = rect => {
    const box = rect.getBBox(), m = rect.getScreenCTM()
    return [(box.x * m.a + m.e - left) / scale, (box.y * m.d + m.f - top) / scale,
      box.width * m.a / scale, box.height * m.d / scale]
  }
  const drawn = where => [...svg.querySelectorAll(where + ' rect.inner')].map(onPicture)
  return {
    own, sha256: digest.map(b => b.toString(16).padStart(2, '0')).join(''),
    current: drawn('#mark'), others: drawn('a.faint'),
    times: [...document.querySelectorAll('main time')].map(t => t.getAttribute('datetime')),
  }
}"""

MARGIN = 4  # between a word and the line around it, in pixels of the frame
ROUNDING = 2.0  # the browser lays out in whole device pixels


def digest(site: Site, link: Link) -> str:
    """Of the bytes that are served, whose pixels are the captured ones: in a pack a picture has other bytes,
    and a slow machine packs some while the week is read.
    """
    headers = {"Authorization": f"Bearer {site.own.token}", "Host": urlsplit(site.origin).netloc}
    content = site.app.test_client().get(f"/api/v1/frames/{link.frame_id}", headers=headers).data
    assert pixels_sha256(Image.open(io.BytesIO(content))) == link.pixels_sha256, link.address
    return hashlib.sha256(content).hexdigest()


def seen(page: Page, site: Site, link: Link) -> list[str]:
    """What is wrong with this link; nothing when it opens what it names."""
    found = page.evaluate(_SEEN)
    if found is None:
        return [f"{link.address}: no picture on “{page.title()}”"]
    wrong = []
    if found["own"] != f"/api/v1/frames/{link.frame_id}":
        wrong.append(f"shows {found['own']}")
    if found["sha256"] != digest(site, link):
        wrong.append("other bytes")
    if link.local_time not in found["times"]:
        wrong.append(f"says {found['times'][:2]} for {link.local_time}")
    for name in ("current", "others"):
        expected = sorted(getattr(link, name))
        drawn = sorted((x + MARGIN, y + MARGIN, w - 2 * MARGIN, h - 2 * MARGIN) for x, y, w, h in found[name])
        if len(drawn) != len(expected) or any(
            abs(a - b) > ROUNDING
            for pair in zip(drawn, expected, strict=True)
            for a, b in zip(*pair, strict=True)
        ):
            wrong.append(f"{name}: {drawn} for {expected}")
    return [f"{link.address}: {each}" for each in wrong]


def test_every_link_opens_its_frame_with_its_words_boxed(
    browser: Browser, linked: tuple[Site, list[Link]]
) -> None:
    """ux, chapter 11: all of them, days of clock changes and filtered views included."""
    site, links = linked
    assert len(links) == LINKS
    wrong: list[str] = []
    for zone in sorted({link.zone for link in links}):
        visitor = visit(browser, site, timezone_id=zone)
        for link in (link for link in links if link.zone == zone):
            visitor.page.goto(f"{site.origin}{link.address}", wait_until="domcontentloaded")
            wrong += seen(visitor.page, site, link)
        wrong += visitor.complaints
        visitor.context.close()
    assert wrong == []
