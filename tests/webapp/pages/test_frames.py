"""The frame page and the stage of the timeline: what is marked, what is kept, what was read."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from flask import Flask
from PIL import Image

from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database
from store.core.paths import DataDir
from store.embeddings import vectors
from store.frames import tags
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import DraftWord, TextDraft
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame, text_draft
from tests.fake_embedder import FakeEmbedder
from tests.tables import for_each
from tests.webapp.conftest import Actor, csrf_of

TEXT = "File Edit View\nretention set to 14 days\nretention again"
QUOTE_BOX = (0, 20, 240, 16)
DOUBT = "Read with low confidence"
ALTERED = "These words are not on the frame"


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    found = store_frame(database, data_dir, text=TEXT)
    with database.write() as connection:
        heartbeat(connection, found)
    return found


def test_the_page_tells_what_was_read_and_what_the_browser_told(
    browser: Actor, database: Database, frame: FrameRow
) -> None:
    def told(word: DraftWord) -> DraftWord:
        return replace(word, source="browser", checked="ink", confidence=None)

    first, *rest = text_draft(TEXT).lines
    lines = (first, *(replace(line, words=tuple(map(told, line.words))) for line in rest))
    with database.write() as connection:
        readings.add(connection, frame.id, TextDraft(lines, "test", "eng", 1), (), NOON_MS)
    page = browser.get(f"/frames/{frame.id}").text
    assert "7 words reported by the browser" in page and "3 words read from the picture" in page
    assert "retention again<title>reported by the browser</title>" in page and "File Edit View</text>" in page


@pytest.fixture
def cite(database: Database, frame: FrameRow) -> str:
    """An answer that quotes the frame; the address part of its citation."""
    chat_id = conversations.create(database, "What did I set?", NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="evidence", model="stub", question="What did I set?", start_ms=NOON_MS,
        end_ms=NOON_MS + 1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    item = StoredEvidence(
        1, frame.id, NOON_MS, quote="retention set to 14 days", boxes=(QUOTE_BOX,), state="found",
        reading_id=reading.id,
    )  # fmt: skip
    answer = "You set it to 14 days [1]."
    conversations.finish_turn(database, turn.id, answer, {"claims": []}, [item], NOON_MS)
    return f"{chat_id}.{turn.n}.1"


def marked(html: str) -> list[tuple[int, int, int, int]]:
    """The boxes drawn as current, without their margin of 4 pixels."""
    [group] = re.findall(r'<g class="current[^>]*id="mark">(.*?)</g>', html, re.S)
    found = re.findall(r'<rect class="inner" x="(-?\d+)" y="(-?\d+)" width="(\d+)" height="(\d+)"', group)
    return [(int(x) + 4, int(y) + 4, int(w) - 8, int(h) - 8) for x, y, w, h in found]


@for_each("where", ["/frames/{id}?", "/timeline?frame={id}&", "/timeline?frame={id}&app=Code&z=1h&"])
@for_each(
    ("asked", "boxes"),
    [
        ("q=retention", [(0, 20, 90, 16)]),
        ("q=retention&hit=2", [(0, 40, 90, 16)]),
        ("cite={cite}", [QUOTE_BOX]),
        ("cite={cite}&q=again", [QUOTE_BOX]),
        ("q=elephant", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_same_words_are_boxed_on_page_and_stage(
    browser: Actor, frame: FrameRow, cite: str, where: str, asked: str, boxes: list[tuple[int, ...]]
) -> None:
    answer = browser.get(where.format(id=frame.id) + asked.format(cite=cite))
    assert answer.status_code == 200
    assert marked(answer.text) == boxes


def test_every_line_is_text_on_the_picture(browser: Actor, frame: FrameRow) -> None:
    html = browser.get(f"/frames/{frame.id}").text
    assert re.findall(r"<text [^>]*>([^<]+)</text>", html) == TEXT.split("\n")


def test_a_citation_that_is_not_there_is_said(browser: Actor, frame: FrameRow, cite: str) -> None:
    for bad in ("9.9.9", "x", cite + "7", "1.1"):
        for path in (f"/frames/{frame.id}?cite={bad}", f"/timeline?frame={frame.id}&cite={bad}"):
            html = browser.get(path).text
            assert "is not there any more" in html
            assert marked(html) == []


def test_a_citation_stays_with_its_own_frame(
    browser: Actor, frame: FrameRow, cite: str, database: Database, data_dir: DataDir
) -> None:
    later = store_frame(database, data_dir, NOON_MS + 60_000, text=TEXT)
    with database.write() as connection:
        heartbeat(connection, later)
    html = browser.get(f"/timeline?frame={frame.id}&q=again&cite={cite}").text
    links = re.findall(rf'href="(/timeline\?frame={later.id}[^"]*)"', html)
    assert links
    assert all("cite=" not in link and "q=again" in link for link in links)
    assert "is not there any more" in browser.get(f"/timeline?frame={later.id}&cite={cite}").text


def test_pinning_from_the_page(app: Flask, browser: Actor, frame: FrameRow, database: Database) -> None:
    form = {"csrf_token": csrf_of(app, browser), "pinned": "1", "next": f"/frames/{frame.id}?q=retention"}
    answer = browser.post(f"/frames/{frame.id}/pin", data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/frames/{frame.id}?q=retention")
    html = browser.get(f"/frames/{frame.id}").text
    assert "Pinned" in html and "Unpin" in html
    assert "Kept whole, as pinned or cited in answers" in browser.get("/settings/storage").text
    assert "You pinned this frame" in browser.get(f"/frames/{frame.id}/delete").text
    browser.post(f"/frames/{frame.id}/pin", data={**form, "pinned": "0", "next": "//evil.example"})
    assert not tags.retention_reason(database, frame.id).is_kept
    assert browser.post("/frames/5/pin", data=form).status_code == 404
    assert browser.post(f"/frames/{frame.id}/pin", data={"pinned": "1"}).status_code == 403


def test_what_is_kept_is_counted(program: Actor, database: Database, frame: FrameRow, cite: str) -> None:
    tags.pin(database, frame.id, NOON_MS)
    stats = program.get("/api/v1/stats").get_json()
    assert [stats[name] for name in ("frames_pinned", "frames_cited", "frames_kept")] == [1, 1, 1]
    assert stats["kept_bytes"] == frame.size_bytes


def test_a_quote_that_was_hardly_read_says_so_wherever_it_is_shown(
    browser: Actor, program: Actor, frame: FrameRow, cite: str, database: Database
) -> None:
    chat, turn, _ = cite.split(".")
    told = f"/api/v1/chats/{chat}/turns/{turn}"
    assert DOUBT not in browser.get(f"/frames/{frame.id}?cite={cite}").text
    assert DOUBT not in browser.get(f"/chat/{chat}").text
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    unsure = dict.fromkeys(reading.text.split(), 0.4)
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft(reading.text, unsure), (), NOON_MS + 5)
    for address in (f"/frames/{frame.id}?cite={cite}", f"/chat/{chat}"):
        assert DOUBT in browser.get(address).text
    [item] = [each for each in program.get(told).get_json()["evidence"] if each["n"]]
    assert item["state"] == "found" and 0.39 < item["confidence"] < 0.41


def test_reading_again_and_choosing_the_reading_before(
    app: Flask, browser: Actor, program: Actor, frame: FrameRow, cite: str, database: Database
) -> None:
    token = {"csrf_token": csrf_of(app, browser)}
    assert browser.post(f"/frames/{frame.id}/read-again", data=token).status_code == 303
    assert "Waits to be read again" in browser.get(f"/frames/{frame.id}").text
    first = readings.current_reading(database, frame.id)
    assert first is not None
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft("blurred"), (), NOON_MS + 5)
    html = browser.get(f"/frames/{frame.id}?cite={cite}").text
    assert ALTERED in html and "Read 2 times" in html
    assert marked(html) == []
    assert browser.post(f"/frames/{frame.id}/readings/{first.id}", data=token).status_code == 303
    html = browser.get(f"/frames/{frame.id}?cite={cite}").text
    assert ALTERED not in html and DOUBT not in html
    assert marked(html) == [QUOTE_BOX]
    assert browser.post(f"/frames/{frame.id}/readings/999", data=token).status_code == 404
    assert browser.post("/frames/5/read-again", data=token).status_code == 404


def test_the_way_to_the_timeline_keeps_what_is_marked(browser: Actor, frame: FrameRow, cite: str) -> None:
    html = browser.get(f"/frames/{frame.id}?q=retention&hit=2&cite={cite}").text
    [address] = re.findall(r'href="(/timeline\?frame=[^"]*)"', html)
    assert address == f"/timeline?frame={frame.id}&amp;q=retention&amp;hit=2&amp;cite={cite}"
    stage = browser.get(address.replace("&amp;", "&")).text
    assert marked(stage) == [QUOTE_BOX]
    assert f'data-copy="{address}"' in stage


def test_a_frame_is_tagged_on_its_page(
    app: Flask, browser: Actor, database: Database, frame: FrameRow
) -> None:
    with database.write() as connection:
        tags.add_by_rule(connection, frame.id, ["coding"], NOON_MS)
    address, form = f"/frames/{frame.id}", {"csrf_token": csrf_of(app, browser)}
    assert browser.post(f"{address}/tags", data={**form, "tag": "<b>mine</b>"}).status_code == 303
    html = browser.get(address).text
    assert "&lt;b&gt;mine&lt;/b&gt;" in html and "<b>mine" not in html
    assert 'coding <span class="meta">by rule</span>' in html
    assert browser.post(f"{address}/tags", data={**form, "off": "coding"}).status_code == 303
    assert tags.of_frame(database, frame.id) == ["<b>mine</b>"]
    assert browser.post(f"{address}/tags", data={**form, "tag": " "}).status_code == 422


def test_similar_frames_are_of_other_times_and_near_in_meaning(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    made = [
        store_frame(database, data_dir, NOON_MS + hour * 3_600_000, text, app_name=f"App {hour}")
        for hour, text in enumerate(("the login system", "authentication setup", "pizza for lunch"))
    ]
    with database.write() as connection:
        for each, text in zip(made, ("the login system", "authentication setup", "pizza"), strict=True):
            [vector] = vectors.quantize(FakeEmbedder().embed([text]))
            vectors.add(connection, "frame", each.id, "fake", [(0, len(text), vector)])
    html = browser.get(f"/frames/{made[0].id}/similar").text
    shown = re.findall(r'<li><a href="/frames/(\d+)"', html)
    assert str(made[1].id) in shown and str(made[0].id) not in shown


def test_a_sheet_has_each_piece_in_its_place_and_crosses_out_what_is_gone(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    red, blue, gone = (
        store_frame(database, data_dir, NOON_MS + n, image=Image.new("RGB", (400, 300), colour))
        for n, colour in enumerate(("red", "blue", "white"))
    )
    (data_dir.media / str(gone.media_path)).unlink()
    pieces = f"of={blue.id},0,0,99,99&of={gone.id}&of=999&of={blue.id},399,0,99,99&of={red.id}"
    answer = browser.get(f"/frames/sheet?size=200x100&{pieces}")
    sheet = Image.open(io.BytesIO(answer.data)).convert("RGBA")
    assert sheet.size == (200, 500)
    beside, middle = ([sheet.getpixel((x, 100 * n + 50)) for n in range(5)] for x in (150, 100))
    assert [max(zip(pixel, "rgb", strict=False))[1] if pixel[3] else "" for pixel in beside] == [
        "b", "", "", "", "r"
    ]  # fmt: skip
    assert all(pixel[3] for pixel in middle)


@pytest.mark.parametrize(
    "query",
    [
        "size=200x100",
        "size=9x9&of=1",
        "of=1",
        "size=200x100&of=a",
        "size=200x100&of=1,2,3",
        f"size=200x100{41 * '&of=1'}",
    ],
)
def test_what_is_no_sheet_is_refused(browser: Actor, query: str) -> None:
    assert browser.get(f"/frames/sheet?{query}").status_code == 400


@pytest.mark.parametrize("path", ["/search", "/search?q=retention"])
def test_small_pictures_come_as_one(browser: Actor, frame: FrameRow, path: str) -> None:
    page = browser.get(path).text
    assert (page.count("/frames/sheet?"), page.count(f'"#sheet-{frame.id}"')) == (1, 1)
    assert "/api/v1/frames/" not in page
