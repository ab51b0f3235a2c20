"""The ledger of what was sent: kept as it left, bounded, and forgotten with what it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from store.chats import conversations
from store.core.database import Database
from store.core.errors import NotFound, Outdated
from store.core.paths import DataDir
from store.deletion import deletion
from store.egress import egress_log
from store.egress.egress_log import EgressRecorder, OutgoingRequest, RequestContext, SentTotal
from store.frames.media import Media
from tests.factories import NOON_MS, store_frame

HOUR_MS = 3_600_000
BODY = '{"messages": "the secret plan"}'
LEAVING = OutgoingRequest(
    "answer", NOON_MS, "work", "big", "https://api.example/v1/chat/completions", False, BODY, len(BODY)
)


def recorder(database: Database, leaving: OutgoingRequest) -> EgressRecorder:
    """What noted this request, before it has an outcome."""
    about = RequestContext(leaving.purpose, leaving.provider, turn_id=leaving.turn_id)
    recorder = EgressRecorder(database, lambda: leaving.at_ms, about)
    recorder(Leaving(leaving.model, leaving.url, leaving.is_local, BODY.encode()))
    return recorder


@dataclass
class Leaving:
    model: str
    url: str
    is_local: bool
    body: bytes
    texts: int = 0


def turn(database: Database, chat_id: int, start_ms: int, end_ms: int) -> int:
    return conversations.add_turn(
        database, chat_id, mode="evidence", model="work", question="what?",
        start_ms=start_ms, end_ms=end_ms, timezone="UTC", now_ms=NOON_MS,
    ).id  # fmt: skip


def asked(database: Database, *ranges: tuple[int, int]) -> int:
    """A chat in which each range was asked about, with one request each; returns its id."""
    chat_id = conversations.create(database, "what?", NOON_MS)
    for start_ms, end_ms in ranges:
        turn_id = turn(database, chat_id, start_ms, end_ms)
        egress_log.record(database, replace(LEAVING, turn_id=turn_id))
    return chat_id


def texts(database: Database, chat_id: int, turns: int) -> list[str | None]:
    return [egress_log.of_turn(database, chat_id, n)[0].body for n in range(1, turns + 1)]


def test_a_request_is_kept_as_it_left_with_what_it_took(database: Database) -> None:
    chat_id = conversations.create(database, "what?", NOON_MS)
    turn_id = turn(database, chat_id, NOON_MS, NOON_MS + HOUR_MS)
    sent = recorder(database, replace(LEAVING, turn_id=turn_id))
    (kept,) = egress_log.of_turn(database, chat_id, 1)
    assert (kept.body, kept.size_bytes, kept.outcome, kept.turn) == (BODY, len(BODY), "sent", 1)
    sent.finish("answered", 100, 20, True, 0.5, "EUR")
    kept_after = egress_log.get(database, kept.id)
    assert kept_after == replace(
        kept, outcome="answered", input_tokens=100, output_tokens=20, is_estimated=True, cost=0.5,
        currency="EUR",
    )  # fmt: skip
    assert kept_after.is_estimated is True and kept_after.is_local is False
    with pytest.raises(NotFound):
        egress_log.get(database, kept.id + 1)


def test_the_newest_come_first_page_by_page(database: Database) -> None:
    ids = [egress_log.record(database, replace(LEAVING, purpose="test")) for _ in range(5)]
    first = egress_log.latest(database, 2)
    assert [each.id for each in first] == ids[:2:-1]
    assert [each.id for each in egress_log.latest(database, 9, first[-1].id)] == ids[2::-1]


def test_only_the_newest_texts_and_rows_are_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_log, "MAX_TEXTS", 2)
    monkeypatch.setattr(egress_log, "MAX_ROWS", 3)
    for _ in range(5):
        egress_log.record(database, LEAVING)
    assert [each.body for each in egress_log.latest(database)] == [BODY, BODY, None]


def test_each_purpose_has_its_own_bounds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million screens made findable do not push out a question."""
    monkeypatch.setattr(egress_log, "MAX_TEXTS", 1)
    monkeypatch.setattr(egress_log, "MAX_ROWS", 2)
    egress_log.record(database, LEAVING)
    for _ in range(4):
        egress_log.record(database, replace(LEAVING, purpose="embed", body=None, texts=3))
        egress_log.record(database, replace(LEAVING, purpose="search"))
    found = [(each.purpose, each.body) for each in egress_log.latest(database)]
    assert found == [
        ("search", BODY), ("embed", None), ("search", None), ("embed", None), ("answer", BODY),
    ]  # fmt: skip
    assert [each.purpose for each in egress_log.latest(database, 1, None, "embed")] == ["embed"]


def test_what_is_not_as_it_was_is_not_noted(database: Database) -> None:
    with pytest.raises(Outdated):
        egress_log.record(database, LEAVING, lambda _: False)
    assert egress_log.latest(database) == []


def test_totals_do_not_add_up_currencies(database: Database) -> None:
    for currency, cost in (("EUR", 0.25), ("EUR", 0.5), ("USD", 1.0)):
        recorder(database, LEAVING).finish("answered", 10, 1, False, cost, currency)
    recorder(database, replace(LEAVING, at_ms=NOON_MS - 1)).finish("model_timeout")
    size = len(BODY)
    assert egress_log.totals_since(database, NOON_MS) == [
        SentTotal("work", "big", LEAVING.url, False, 2, 2 * size, 20, 2, 0.75, "EUR"),
        SentTotal("work", "big", LEAVING.url, False, 1, size, 10, 1, 1.0, "USD"),
    ]


# -- forgetting -----------------------------------------------------------------------------


def test_a_text_goes_with_a_frame_of_its_range(database: Database, data_dir: DataDir, media: Media) -> None:
    frame = store_frame(database, data_dir, NOON_MS + 5, text="the secret plan")
    chat_id = asked(
        database,
        (NOON_MS - HOUR_MS, NOON_MS),
        (NOON_MS, NOON_MS + HOUR_MS),
        (NOON_MS + HOUR_MS, NOON_MS + 2 * HOUR_MS),
    )
    other = asked(database, (NOON_MS + HOUR_MS, NOON_MS + 2 * HOUR_MS))
    receipt = deletion.delete_frames(database, media, [frame.id])
    # The third request repeats the second answer: it goes, too. What went before stays.
    assert texts(database, chat_id, 3) == [BODY, None, None]
    assert texts(database, other, 1) == [BODY]
    assert (receipt.verified, receipt.counts.sent) == (True, 2)
    kept = egress_log.of_turn(database, chat_id, 2)[0]
    assert (kept.size_bytes, kept.url, kept.at_ms) == (len(BODY), LEAVING.url, NOON_MS)
    assert "secret" not in repr(kept)


def test_a_text_goes_with_a_frame_that_reached_into_its_range(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    """Its app is counted in the totals that were sent."""
    early = store_frame(database, data_dir, NOON_MS - HOUR_MS)
    past = store_frame(database, data_dir, NOON_MS - HOUR_MS + 1)
    with database.write() as connection:
        connection.execute("update frames set ended_ms = ? where id = ?", (NOON_MS + 1, early.id))
    chat_id = asked(database, (NOON_MS, NOON_MS + HOUR_MS))
    deletion.delete_frames(database, media, [past.id])
    assert texts(database, chat_id, 1) == [BODY]
    deletion.delete_frames(database, media, [early.id])
    assert texts(database, chat_id, 1) == [None]


def test_nothing_of_a_text_is_left_in_the_home_folder(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(database, data_dir, NOON_MS + 5)
    asked(database, (NOON_MS, NOON_MS + HOUR_MS))
    deletion.delete_frames(database, media, [frame.id])
    database.close_thread()
    for path in data_dir.home.rglob("*"):
        assert not path.is_file() or b"secret plan" not in path.read_bytes(), path


def test_a_chat_takes_its_texts_along_and_the_fact_stays(database: Database, data_dir: DataDir) -> None:
    chat_id = asked(database, (NOON_MS, NOON_MS + HOUR_MS))
    conversations.delete(database, chat_id)
    (kept,) = egress_log.latest(database)
    assert (kept.body, kept.chat_id, kept.turn, kept.size_bytes) == (None, None, None, len(BODY))
    database.close_thread()
    assert b"secret plan" not in data_dir.database.read_bytes()
