"""An answer taken along: every format, what is in it, and what never is."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from typing import Any

import pytest
from flask import Flask
from PIL import Image

from bench.evals.answer_check import reported_turns
from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr import readings
from store.privacy.rules import Rule
from tests.factories import NOON_MS, picture, save_rules, store_frame
from tests.webapp.conftest import ORIGIN, Actor, csrf_of

HOSTILE = "<script>alert(1)</script> | [x](http://evil.example) **b**"
ANSWER = "You set it to 14 days [1]. The cause was <b>disk</b> pressure. Mail said so [2]."


class Told:
    """A chat with one answer over two frames."""

    def __init__(self, database: Database, data_dir: DataDir, size: tuple[int, int] = (1600, 900)) -> None:
        self.database = database
        texts = ("File Edit\nretention set to 14 days", "Inbox\nLunch on Friday?")
        windows = ("main.py", HOSTILE)
        self.frames = [
            store_frame(
                database, data_dir, NOON_MS + n * 1000, text, image=picture(n, size),
                app_name=app, window_name=window,
            )
            for n, (text, app, window) in enumerate(zip(texts, ("Code", "Mail"), windows, strict=True))
        ]  # fmt: skip
        chat = conversations.create(database, HOSTILE, NOON_MS)
        turn = conversations.add_turn(
            database, chat, mode="evidence", model="stub", question=HOSTILE, start_ms=NOON_MS,
            end_ms=NOON_MS + 3_600_000, timezone="Asia/Shanghai", now_ms=NOON_MS,
        )  # fmt: skip
        quotes = ("retention set to 14 days", "Lunch on Friday?")
        items = []
        for n, (frame, quote) in enumerate(zip(self.frames, quotes, strict=True), 1):
            reading = readings.current_reading(database, frame.id)
            assert reading is not None
            [box] = readings.boxes_for_span(reading, reading.lines[1].start, reading.lines[1].end)
            items.append(
                StoredEvidence(
                    n, frame.id, frame.captured_ms, frame.app_name, frame.window_name, True, None, quote,
                    quote, ((box.x, box.y, box.w, box.h),), "found", reading.id,
                )
            )  # fmt: skip
        claims = [
            {"text": text, "start": ANSWER.index(text), "end": ANSWER.index(text) + len(text), **rest}
            for text, rest in (
                ("You set it to 14 days [1].", {"citations": [1], "state": "cited"}),
                ("The cause was <b>disk</b> pressure.",
                 {"citations": [], "state": "no_source", "missing": ["disk"]}),
                ("Mail said so [2].", {"citations": [2], "state": "cited"}),
            )
        ]  # fmt: skip
        conversations.finish_turn(database, turn.id, ANSWER, {"claims": claims}, items, NOON_MS)
        self.page = f"/chat/{chat}/turns/1"
        self.api = f"/api/v1/chats/{chat}/turns/1/export"
        self.key = (chat, 1)


@pytest.fixture
def told(database: Database, data_dir: DataDir) -> Told:
    return Told(database, data_dir)


def opened(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        assert bundle.testzip() is None
        return {name: bundle.read(name) for name in bundle.namelist()}


def bundle_of(
    actor: Actor, told: Told, query: str = "", *, page: bool = False
) -> tuple[dict[str, bytes], dict[str, Any]]:
    answer = actor.get(f"{told.page}/export?fmt=zip&{query}" if page else f"{told.api}?{query}")
    assert answer.status_code == 200
    files = opened(answer.data)
    return files, json.loads(files["evidence.json"])


def test_the_bundle_holds_what_its_hashes_say(program: Actor, told: Told) -> None:
    """Lesson table, 18."""
    files, evidence = bundle_of(program, told)
    assert set(files) == {
        "README.txt", "answer.md", "answer.html", "evidence.json", "evidence/01.webp", "evidence/02.webp",
        "SHA256SUMS", "SHA256SUMS.jws",
    }  # fmt: skip
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items() if "SUMS" not in name
    }
    for frame, source in zip(told.frames, evidence["evidence"], strict=True):
        assert source["frame_sha256"] == frame.sha256
        assert source["picture"]["sha256"] == sums[source["picture"]["file"]]
        assert (source["frame_id"], source["captured_ms"]) == (frame.id, frame.captured_ms)
        assert source["boxes"]
    assert evidence["range"] == {
        "start_ms": NOON_MS, "end_ms": NOON_MS + 3_600_000, "timezone": "Asia/Shanghai",
    }  # fmt: skip


def test_a_crop_is_the_frames_own_pixels_around_the_quote(program: Actor, told: Told) -> None:
    files, evidence = bundle_of(program, told)
    shows = evidence["evidence"][0]["picture"]["shows"]
    crop = Image.open(io.BytesIO(files["evidence/01.webp"])).convert("RGB")
    area = (shows["x"], shows["y"], shows["x"] + shows["w"], shows["y"] + shows["h"])
    assert crop.tobytes() == picture(0, (1600, 900)).crop(area).tobytes()
    [box] = evidence["evidence"][0]["boxes"]
    assert area[0] <= box["x"] and box["x"] + box["w"] <= area[2]
    assert area[1] <= box["y"] and box["y"] + box["h"] <= area[3]
    assert crop.size < (1600, 900)


def test_pictures_come_along_as_they_are_ticked(program: Actor, browser: Actor, told: Told) -> None:
    files, _ = bundle_of(program, told, "chosen=1&picture=2&size2=full", page=True)
    assert {name for name in files if name.startswith("evidence/")} == {
        "evidence/02.webp",
        "evidence/02.json",
    }
    assert hashlib.sha256(files["evidence/02.webp"]).hexdigest() == told.frames[1].sha256
    assert not [name for name in bundle_of(program, told, "pictures=none")[0] if name.startswith("evidence/")]
    chosen = browser.get(f"{told.page}/export?fmt=zip&chosen=1&picture=1&size1=full&size2=full")
    assert "evidence/01.webp" in (chosen_files := opened(chosen.data))
    assert "evidence/02.webp" not in chosen_files
    assert chosen.headers["Content-Disposition"].startswith('attachment; filename="chat1-t1-2026')
    assert "no-store" in chosen.headers["Cache-Control"]
    for bad in ("pictures=x", "fmt=pdf", "size=3"):
        assert program.get(f"{told.api}?{bad}").status_code == 400
    assert browser.get(f"{told.page}/export?fmt=pdf").status_code == 400


def test_the_html_is_one_file_without_scripts(program: Actor, told: Told) -> None:
    html = program.get(f"{told.api}?fmt=html").text
    assert html.startswith("<!doctype html>")
    assert not re.search(r"<script|\son\w+=|javascript:|<b>", html)
    assert "&lt;script&gt;" in html
    assert html.count("data:image/webp;base64,") == 2
    links = set(re.findall(r'(?:href|src)="(?!data:)([^"]*)"', html))
    assert links == {
        "#e1", "#e2", f"{ORIGIN}/chat/{told.key[0]}#t1",
        *(f"{ORIGIN}/frames/{frame.id}?cite={told.key[0]}.1.{n}" for n, frame in enumerate(told.frames, 1)),
    }  # fmt: skip
    assert '<span class="state warn">no source: disk</span>' in html
    assert html.index("14 days") < html.index('id="e1"') < html.index("The cause") < html.index('id="e2"')


def test_copies_say_what_the_export_says(program: Actor, browser: Actor, told: Told) -> None:
    markdown = program.get(f"{told.api}?fmt=md").text
    assert browser.get(f"{told.page}/copy?as=md").text == markdown
    assert "(no source: disk)" in markdown
    assert "> retention set to 14 days" in markdown
    assert "<script>" not in markdown
    assert "[x](http" not in markdown
    assert r"\<b>disk\</b>" in markdown
    assert f"{ORIGIN}/frames/{told.frames[0].id}?cite=" in markdown and "2026-11-20" in markdown
    html = browser.get(f"{told.page}/copy?as=html")
    assert html.content_type == "text/plain; charset=utf-8"
    assert "<script" not in html.text
    assert "<img" not in html.text
    assert browser.get(f"{told.page}/copy?as=exe").status_code == 400


def test_a_deleted_frame_is_never_in_it(program: Actor, told: Told, data_dir: DataDir) -> None:
    deletion.delete_frames(told.database, Media(data_dir.media), [told.frames[1].id])
    files, evidence = bundle_of(program, told)
    assert "evidence/02.webp" not in files
    source = evidence["evidence"][1]
    assert (source["n"], source["withheld"]) == (2, "Its frame was deleted.")
    assert_nothing_of_mail(files, source)


def test_a_frame_that_a_rule_of_today_leaves_out_is_never_in_it(
    program: Actor, browser: Actor, told: Told, data_dir: DataDir
) -> None:
    save_rules(data_dir, [Rule(app="Mail")])
    files, evidence = bundle_of(program, told, "pictures=full")
    assert "evidence/02.webp" not in files
    source = evidence["evidence"][1]
    assert "privacy rule" in source["withheld"]
    assert_nothing_of_mail(files, source)
    html = browser.get(f"{told.page}/export").text
    assert f"/frames/{told.frames[1].id}" not in html
    assert "Lunch" not in html and "The text of the answer is left out" in html
    data_dir.privacy_rules.write_text("{")
    files, _ = bundle_of(program, told)
    assert not [name for name in files if name.startswith("evidence/")], "unreadable rules keep all back"


@pytest.mark.parametrize("fmt", ["md", "html", "zip", "proof"])
def test_what_goes_while_an_export_is_written_is_not_in_it(
    program: Actor, told: Told, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch, fmt: str
) -> None:
    exact, meanwhile = Media.exact, list[object]()

    def interrupted(self: Media, frame: FrameRow) -> bytes:
        content = exact(self, frame)
        if not meanwhile:
            meanwhile.append(deletion.delete_frames(told.database, self, [told.frames[1].id]))
        elif len(meanwhile) == 1:
            meanwhile.append(save_rules(data_dir, [Rule(app="Code")]))
        return content

    monkeypatch.setattr(Media, "exact", interrupted)
    for _ in range(2):  # a deletion, then a rule
        refused = program.get(f"{told.api}?fmt={fmt}")
        assert (refused.status_code, refused.json["code"]) == (409, "changed_meanwhile")
    assert program.get(f"{told.api}?fmt={fmt}").status_code == 200


def assert_nothing_of_mail(files: dict[str, bytes], source: dict[str, Any]) -> None:
    told = b"".join(content for name, content in files.items() if not name.startswith("evidence/0"))
    assert b"Lunch" not in told and b"Mail said so" not in told
    assert source["quote"] == ""
    blank = ("frame_id", "app_name", "window_name", "browser_url", "frame_sha256", "picture")
    assert [source[name] for name in blank] == [None] * len(blank)


def test_a_picture_that_is_not_the_captured_one_stays_out(
    program: Actor, told: Told, data_dir: DataDir
) -> None:
    """Gone means gone, the text is kept."""
    first, second = (data_dir.media / str(frame.media_path) for frame in told.frames)
    first.write_bytes(second.read_bytes())
    files, evidence = bundle_of(program, told)
    assert "evidence/01.webp" not in files
    assert evidence["evidence"][0]["quote"] == "retention set to 14 days"
    assert "no longer the picture" in evidence["evidence"][0]["picture_gone"]


def test_the_preview_offers_every_picture(browser: Actor, told: Told) -> None:
    html = browser.get(f"{told.page}/export").text
    assert html.count('type="checkbox" name="picture"') == 2
    assert html.count("checked>") == 2
    assert not re.search(r"<script>|\sstyle=", html)
    assert browser.get("/chat/9/turns/1/export").status_code == 404


def test_without_boxed_words_only_the_whole_screen_can_be_asked_for(program: Actor, told: Told) -> None:
    with told.database.write() as connection:
        connection.execute("update evidence set boxes = '[]', state = 'not_found' where n = 1")
    assert "evidence/01.webp" not in bundle_of(program, told)[0]
    files, evidence = bundle_of(program, told, "pictures=full")
    assert hashlib.sha256(files["evidence/01.webp"]).hexdigest() == told.frames[0].sha256
    assert evidence["evidence"][0]["picture"]["shows"] is None


def test_a_turn_without_an_answer_is_not_exported(program: Actor, browser: Actor, told: Told) -> None:
    conversations.add_turn(
        told.database, told.key[0], mode="evidence", model="stub", question="?", start_ms=NOON_MS,
        end_ms=NOON_MS + 1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    assert program.get(told.api.replace("turns/1", "turns/2")).status_code == 409
    assert program.get(told.api.replace("turns/1", "turns/3")).status_code == 404
    assert browser.get(told.page.replace("turns/1", "turns/2") + "/copy").status_code == 409


def test_a_wrong_source_loses_its_mark_and_feeds_the_regression_set(
    app: Flask, browser: Actor, program: Actor, told: Told
) -> None:
    form = {"csrf_token": csrf_of(app, browser), "verdict": "wrong"}
    cite = f"?cite={told.key[0]}.1.2"
    answer = browser.post(f"{told.page}/sources/2", data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/chat/{told.key[0]}#t1e2")
    html = browser.get(f"/chat/{told.key[0]}").text
    assert re.findall(r'class="cite" href="/frames/\d+\?cite=\d+\.1\.(\d)"', html) == ["1"]
    assert "You marked it wrong" in html
    assert f'name="without" value="{told.frames[1].id}"' in html
    browser.post(f"{told.page}/sources/2", data={**form, "note": "  another lunch "})
    [found] = reported_turns(told.database)
    assert [(each.n, each.verdict, each.note) for each in found.reports] == [(2, "wrong", "another lunch")]
    markdown = program.get(f"{told.api}?fmt=md").text
    assert "You marked this source as wrong" in markdown
    assert "Mail said so. (source marked wrong)" in markdown
    fragment = browser.post(
        f"{told.page}/sources/2", data={**form, "verdict": "withdraw"}, headers={"HX-Request": "true"}
    )
    assert cite in fragment.text and "You marked it wrong" not in fragment.text
    assert reported_turns(told.database) == []
    for bad in ("sources/3", "sources/0"):
        assert browser.post(f"{told.page}/{bad}", data=form).status_code == 404
