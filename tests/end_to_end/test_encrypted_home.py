"""An encrypted home under the real programs: all of it works with the passphrase, and nothing without."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from store import ENCRYPTING_SQLITE
from store.core.paths import DataDir
from tests.end_to_end.programs import PATIENCE_S, Recollect, eventually
from tests.store.encryption.homes import PASSPHRASE, in_the_clear

BUILD = Path(sys.prefix, "test-sqlite3mc")
pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(not BUILD.is_dir(), reason="`make test` installs the build of SQLite that encrypts"),
]
MESSAGES = "time,direction,address,name,text\n2025-11-20T13:00:00,sent,+491,Anna,zanzibar by the sea\n"


def picture(folder: Path) -> None:
    folder.mkdir()
    image = Image.new("RGB", (1280, 720), "white")
    ImageDraw.Draw(image).text((40, 60), "quarterly zanzibar report", "black", ImageFont.load_default(32))
    image.save(folder / "1.png")


def upload(recollect: Recollect, path: str, name: str, content: str) -> dict[str, object]:
    body = (
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: text/plain\r\n\r\n{content}\r\n--b--\r\n"
    )
    headers = {
        "Authorization": f"Bearer {recollect.token}",
        "Content-Type": "multipart/form-data; boundary=b",
    }
    request = urllib.request.Request(f"{recollect.base}/api/v1{path}", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        found: dict[str, object] = json.loads(response.read())
    return found


def test_with_the_passphrase_everything_works_and_without_it_nothing(
    recollect: Recollect, tmp_path: Path
) -> None:
    build = {"PYTHONPATH": str(BUILD)}
    key = {**build, "RECOLLECT_PASSPHRASE": PASSPHRASE}
    picture(tmp_path / "screens")
    said = recollect.run("encrypt", "--yes", **key)
    assert "is encrypted" in said.stdout
    recollect.up(**key, RECOLLECT_CAPTURE_SOURCE=f"folder:{tmp_path / 'screens'}")
    hits = eventually(lambda: recollect.found("zanzibar"), what="the words of the captured screen")
    assert hits[0]["matched"][0] == "text"
    assert recollect.get_bytes(f"/frames/{hits[0]['frame_id']}")[8:12] == b"WEBP"
    assert upload(recollect, "/attachments", "notes.txt", "zanzibar notes")["kind"] == "text"
    assert upload(recollect, "/imports/messages", "messages.csv", MESSAGES)["added"] == 1
    assert "zanzibar" in recollect.run("search", "zanzibar", **key).stdout
    busy = recollect.run("decrypt", "--yes", check=False, **key)
    assert busy.returncode == 1 and "stop it first" in busy.stderr
    recollect.stop()
    assert in_the_clear(DataDir(recollect.home)) == []

    for command in (("up",), ("web",), ("ingest", "--once"), ("capture",), ("search", "zanzibar")):
        locked = recollect.run(*command, check=False, **build)
        assert locked.returncode != 0 and "is locked" in locked.stderr, command
        assert locked.stdout == "" and len(locked.stderr.splitlines()) == 1, locked.stderr
    if not ENCRYPTING_SQLITE.is_dir():  # after `make encryption` no process is without it
        lacking = recollect.run("search", "zanzibar", check=False, RECOLLECT_PASSPHRASE=PASSPHRASE)
        assert lacking.returncode != 0 and "another build of SQLite" in lacking.stderr

    recollect.run("decrypt", "--yes", **key)
    assert "zanzibar" in recollect.run("search", "zanzibar").stdout
