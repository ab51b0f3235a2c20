"""Plain functions that put messages, events, points and places into a home, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from store.core.database import Database
from store.sources import calendars, imports, locations, messages
from store.sources.calendars import EventRecord
from store.sources.imports import Upserted
from store.sources.locations import PlaceRecord, PointRecord
from store.sources.messages import MessageRecord
from tests.factories import NOON_MS


def put_messages(database: Database, records: Iterable[MessageRecord]) -> Upserted:
    with database.write() as connection:
        number = imports.begin(connection, "messages", "sms.xml", "sms-backup", NOON_MS)
        return messages.upsert_messages(connection, number, records)


def put_events(database: Database, records: Iterable[EventRecord]) -> Upserted:
    with database.write() as connection:
        number = imports.begin(connection, "calendar", "home.ics", "ics", NOON_MS)
        return calendars.upsert_events(connection, number, records)


def put_points(database: Database, records: Iterable[PointRecord]) -> Upserted:
    with database.write() as connection:
        number = imports.begin(connection, "location", "track.gpx", "gpx", NOON_MS)
        return locations.upsert_points(connection, number, records)


def put_places(database: Database, records: Iterable[PlaceRecord]) -> Upserted:
    with database.write() as connection:
        number = imports.begin(connection, "places", "places.csv", "csv", NOON_MS)
        return locations.upsert_places(connection, number, records)


def message(
    body: str, sent_ms: int = NOON_MS, address: str = "+49 170 1234567", **more: Any
) -> MessageRecord:
    return MessageRecord("sms", sent_ms, more.pop("is_outgoing", False), body, address, **more)
