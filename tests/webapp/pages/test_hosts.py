"""Other machines on the pages: what they showed, how they are, and whether they carried out a deletion."""

from __future__ import annotations

import uuid

from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.egress import access_keys
from store.frames.media import Media
from store.sources import hosts
from store.sources.hosts import Host
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.webapp.conftest import Actor, Clock, make_token, page, words

NAME = "<b>laptop</b>"


def speak(database: Database, at_ms: int, **said: int) -> None:
    (key,) = [key for key in access_keys.listed(database) if key.scope == "ingest"]
    host = Host(key.id, NAME, str(uuid.UUID(int=1)), at_ms, **{"skew_ms": 0, **said})
    with database.write() as connection:
        hosts.note(connection, host, hosts.name_of(connection, host.deletion_id), {})


def test_two_machines_stand_side_by_side(browser: Actor, database: Database, data_dir: DataDir) -> None:
    here = store_frame(database, data_dir, NOON_MS, app_name="Editor", text="the plan")
    there = store_frame(database, data_dir, NOON_MS + 5_000, app_name="Mail", text="the plan", host=NAME)
    with database.write() as connection:
        heartbeat(connection, here)
        heartbeat(connection, there)
        connection.execute("update segments set end_ms = end_ms + 60000")
    browser.client.set_cookie("tz", "UTC", domain="127.0.0.1")
    shown = page(browser, "/timeline?date=2026-11-20")
    spent = words(page(browser, f"/activity?from={NOON_MS}&to={NOON_MS + 120_000}"))
    assert f"Name How long This machine {NAME} Mail 1 min – 1 min" in " ".join(spent.split())
    assert "Editor 5 s 1 min –" in " ".join(
        spent.split()
    )  # counted once, and told of the machine that had it
    assert f"This machine 1 min {NAME} 1 min" in " ".join(words(page(browser, "/days/2026-11-20")).split())
    assert shown.count('class="meta of-host"') == 2
    assert NAME not in shown
    only = page(browser, f"/activity?from={NOON_MS}&to={NOON_MS + 120_000}&host=%3Cb%3Elaptop%3C/b%3E")
    assert "Editor" not in words(only).partition("Apps")[2]
    assert "Mail" in words(only).partition("Apps")[2]
    found = page(browser, "/search?q=plan&host=%3Cb%3Elaptop%3C/b%3E")
    assert f"/frames/{there.id}" in found
    assert f"/frames/{here.id}" not in found


def test_the_list_of_tokens_tells_how_a_machine_is(browser: Actor, database: Database, now: Clock) -> None:
    make_token(database, "ingest", NAME)
    assert "A machine that captures" not in page(browser, "/settings/access")
    speak(database, now(), skew_ms=86_400_000, waiting=12)
    told = words(page(browser, "/settings/access"))
    assert "Waiting there: 12." in told
    assert "behind; its times stay as it told them" in told


def test_a_receipt_names_the_machines(
    browser: Actor, database: Database, data_dir: DataDir, now: Clock
) -> None:
    make_token(database, "ingest", NAME)
    speak(database, now())
    receipt = deletion.delete_range(database, Media(data_dir.media), NOON_MS, NOON_MS + 1_000)
    assert "It has not answered yet." in words(page(browser, "/privacy"))
    speak(database, now(), deletion_id=receipt.deletion_id)
    html = page(browser, "/privacy")
    assert "Deleted there, too" in words(html)
    assert NAME not in html
