"""The palette: what is typed leads to places, times, chats and commands, and always to a search."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.frames.frames import FrameRow
from tests.factories import NOON_MS
from tests.webapp.conftest import Actor, csrf_of
from tests.webapp.pages.test_pages import page, shoot, visitor, words  # noqa: F401  # two are fixtures

Shoot = Callable[..., FrameRow]


def rows(visitor: Actor, query: str) -> list[str]:  # noqa: F811
    found = re.findall(
        r"<(?:a|button) role=\"option\".*?</(?:a|button)>", page(visitor, f"/palette?{query}"), re.S
    )
    return [" ".join(words(each).split()) for each in found]


def test_the_first_row_is_what_fits_best_and_the_last_ones_search(
    visitor: Actor,  # noqa: F811
    database: Database,
    shoot: Shoot,  # noqa: F811
) -> None:
    shoot(32, app_name="Clockwork")
    conversations.create(database, "A clock for the harbour", NOON_MS)
    for typed, first in {
        "sto": "Storage Settings",
        "sea": "Search /",
        "harbour clo": "A clock for the harbour Fri 20 Nov",
        "clock": "Clockwork its frames",
        "del": "Delete a time range…",
        "14:30&day=2026-11-20": "Fri 20 Nov at 14:30 nearest frame 20:32",
        "zebra": "Search frames for “zebra”",
    }.items():
        found = rows(visitor, f"q={typed}")
        assert found[0] == first, (typed, found)
        assert found[-1].startswith("Ask “")


def test_every_page_of_settings_and_the_receipts_are_places(visitor: Actor) -> None:  # noqa: F811
    [nav] = re.findall(r'<nav class="settings-nav".*?</nav>', page(visitor, "/settings/display"), re.S)
    pages = re.findall(r'href="([^"]+)".*?>([^<>]+)</a>', nav)
    assert len(pages) > 12
    for address, name in [*pages, ("/privacy#receipts", "Recei")]:
        asked = urlencode({"q": name.split()[0]})
        assert f'href="{address}"' in page(visitor, f"/palette?{asked}"), name


def test_pause_and_theme_are_commands_of_the_palette(app: Flask, visitor: Actor) -> None:  # noqa: F811
    assert "Pause for 15 minutes" in rows(visitor, "q=pause")
    form = {"csrf_token": csrf_of(app, visitor), "next": "/days", "minutes": "15"}
    assert visitor.post("/status/pause", data=form).headers["Location"] == "/days"
    assert rows(visitor, "q=pause")[0] != "Pause for 15 minutes"
    assert rows(visitor, "q=resume")[0] == "Resume recording"
    assert visitor.post("/settings/theme", data={**form, "theme": "dark"}).headers["Location"] == "/days"
    assert 'data-theme="dark"' in page(visitor, "/days")
