"""What other machines hand in, and what they are told."""

from __future__ import annotations

import hashlib
import io
import json
import uuid
from dataclasses import asdict, replace
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from store.core.database import Database
from store.deletion import deletion, receipts
from store.egress import access_keys
from store.frames.media import Media
from store.privacy.rules import Rule
from store.sources import hosts
from store.spool.queue import Capture, DecisionRun, LookReport
from tests.factories import NOON_MS, capture, picture, save_rules, webp
from tests.tables import for_each
from tests.webapp.conftest import Actor, make_token
from webapp.core.services import Services

IMAGE = webp(picture(1))


@pytest.fixture
def laptop(app: Flask, database: Database) -> Actor:
    return Actor(app.test_client(), {"Authorization": f"Bearer {make_token(database, 'ingest', 'laptop')}"})


def say(host: Actor, **state: Any) -> TestResponse:
    known = {"instance": str(uuid.UUID(int=1)), "sent_at": NOON_MS / 1000 + 3_600, "waiting": 0}
    return host.post("/api/v1/hosts/state", json={**known, **state})


def reached(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("deletion_id", "deletion_name")}


def seen(at_ms: int = NOON_MS, **facts: Any) -> Capture:
    made = capture(at_ms, batch_id=str(uuid.uuid4()), sha256=hashlib.sha256(IMAGE).hexdigest(), **facts)
    return replace(made, source="screen", image_type="image/webp")


def hand_in(
    host: Actor, record: Capture | LookReport, sent_at: float = NOON_MS / 1000 + 3_600
) -> TestResponse:
    kind = "capture" if isinstance(record, Capture) else "looks"
    parts: dict[str, Any] = {
        "entry": json.dumps({"kind": kind, **asdict(record)}),
        "sent_at": str(sent_at or NOON_MS / 1000 + 3_600),
    }
    if isinstance(record, Capture):
        parts["image"] = (io.BytesIO(IMAGE), "image")
    return host.post("/api/v1/hosts/entries", data=parts, content_type="multipart/form-data")


def test_a_capture_is_of_the_host_whose_token_it_came_with(laptop: Actor, own: Services) -> None:
    assert say(laptop).status_code == 200
    record = seen(monitor="DP-1", host="somebody else", host_deletion_id=99)
    answers = [hand_in(laptop, record) for _ in range(2)]
    assert [(each.status_code, each.get_json()["status"]) for each in answers] == [(202, "queued")] * 2
    (name,) = own.spool.waiting()
    entry = own.spool.take(name)
    assert entry is not None
    assert entry.record == replace(record, host="laptop", monitor="laptop/DP-1", host_deletion_id=0)


def test_reports_are_of_their_host_too(laptop: Actor, own: Services) -> None:
    say(laptop)
    run = DecisionRun("DP-1", "deduped", "same", NOON_MS, NOON_MS + 900, 2)
    hand_in(laptop, LookReport(str(uuid.uuid4()), NOON_MS, NOON_MS + 1_000, 2, (run,)))
    (name,) = own.spool.waiting()
    entry = own.spool.take(name)
    assert entry is not None and isinstance(entry.record, LookReport)
    assert (entry.record.host, entry.record.runs[0].monitor) == ("laptop", "laptop/DP-1")


def test_only_a_token_for_handing_in_speaks_as_a_host(
    app: Flask, program: Actor, browser: Actor, database: Database
) -> None:
    reader = Actor(app.test_client(), {"Authorization": f"Bearer {make_token(database, 'read')}"})
    assert [say(actor).status_code for actor in (program, reader, browser)] == [403] * 3


def test_a_revoked_host_is_let_in_no_more(laptop: Actor, own: Services) -> None:
    say(laptop)
    with own.database.write() as connection:
        (key,) = access_keys.listed(own.database)
        access_keys.revoke(connection, key.id)
    assert (say(laptop).status_code, hand_in(laptop, seen()).status_code) == (401, 401)
    assert own.spool.waiting() == []


def test_a_token_is_for_one_machine(laptop: Actor) -> None:
    assert hand_in(laptop, seen()).get_json()["code"] == "host_unknown"
    assert say(laptop).status_code == 200
    assert say(laptop, instance=str(uuid.UUID(int=2))).get_json()["code"] == "host_taken"


def test_the_clock_of_a_host_is_measured_and_its_times_stay(laptop: Actor, own: Services) -> None:
    now_s = own.clock() / 1000
    say(laptop, sent_at=now_s - 90_000)
    hand_in(laptop, seen(), sent_at=now_s - 89_000)  # less time on the way: nearer to what is true
    (host,) = hosts.listed(own.database)
    assert (host.skew_ms, host.is_skewed) == (89_000_000, True)
    assert own.spool.waiting()[0].startswith(f"{NOON_MS:015d}")


def test_rules_are_told_until_the_host_has_them(laptop: Actor, own: Services) -> None:
    save_rules(own.data_dir, [Rule(app="Bank")])
    told = say(laptop).get_json()
    assert told["rules"]["rules"] == [
        {"app": "Bank", "title": None, "url": None, "match": "auto", "action": "drop"}
    ]
    assert say(laptop, rules_sha256=told["rules_sha256"]).get_json()["rules"] is None
    save_rules(own.data_dir, [Rule(app="Bank"), Rule(app="Mail")])
    assert say(laptop, rules_sha256=told["rules_sha256"]).get_json()["rules"] is not None


def test_a_receipt_names_who_has_answered_and_who_has_not(
    laptop: Actor, app: Flask, program: Actor, own: Services
) -> None:
    tablet = Actor(
        app.test_client(), {"Authorization": f"Bearer {make_token(own.database, 'ingest', 'tablet')}"}
    )
    say(laptop)
    say(tablet, instance=str(uuid.UUID(int=2)))
    asked = {"start_time": NOON_MS / 1000, "end_time": NOON_MS / 1000 + 60}
    receipt = program.post("/api/v1/delete", json=asked).get_json()
    assert [(each["name"], each["answered_at"]) for each in receipt["hosts"]] == [
        ("laptop", None),
        ("tablet", None),
    ]
    told = say(laptop).get_json()
    (order,) = told["deletions"]
    assert (order["start_time"], order["end_time"], order["app_sha256"]) == (*asked.values(), None)
    done = {"deletion_id": order["id"], "removed": 3}
    for _ in range(2):  # its answer was lost once
        say(laptop, **reached(told), carried_out=[done])
    answers = hosts.receipts_of(own.database, order["id"])
    assert [(each.name, each.answered_ms is not None, each.removed) for each in answers] == [
        ("laptop", True, 3),
        ("tablet", False, 0),
    ]
    assert say(laptop, **reached(told)).get_json()["deletions"] == []
    assert len(say(tablet, instance=str(uuid.UUID(int=2))).get_json()["deletions"]) == 1


def test_an_app_that_was_deleted_is_named_by_its_digest_until_every_host_has_answered(
    laptop: Actor, own: Services
) -> None:
    media = Media(own.data_dir.media)  # the laptop has a token and never spoke
    deletion.delete_range(own.database, media, NOON_MS, NOON_MS + 1_000, "Mail", now_ms=NOON_MS + 2_000)
    receipts.settle(own.database, media)
    told = say(laptop).get_json()
    digest = hashlib.sha256(b"mail").hexdigest()
    assert [each["app_sha256"] for each in told["deletions"]] == [digest]
    say(laptop, **reached(told))
    receipts.settle(own.database, media)
    assert digest not in own.database.column("select receipt from deletions")[0]


RUN = DecisionRun("", "deduped", "idle", NOON_MS, NOON_MS, 0)
REPORT = LookReport("00000000-0000-0000-0000-000000000001", NOON_MS, NOON_MS, 1)


@for_each(
    "record",
    [
        seen(0),
        replace(seen(), source="sample"),
        replace(seen(), capture_id="../../etc"),
        replace(seen(), captured_ms="noon"),  # type: ignore[arg-type]
        replace(seen(), sha256="0" * 64),
        replace(REPORT, runs=(replace(RUN, decision="dropped"),)),
        replace(REPORT, runs=(replace(RUN, end_ms=2**42),)),
        replace(REPORT, start_ms=NOON_MS + 1),
        replace(REPORT, batch_id="report"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(
    laptop: Actor, own: Services, record: Capture | LookReport
) -> None:
    say(laptop)
    answer = hand_in(laptop, record)
    assert (answer.status_code, answer.get_json()["code"]) == (422, "invalid_entry")
    assert own.spool.waiting() == []
