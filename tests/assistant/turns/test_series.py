"""Questions asked one after the other: whatever breaks, and whenever it is stopped, the series ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assistant.core.records import TurnRequest
from assistant.turns import anchor_facts, live
from assistant.turns.live import LiveTurns, TurnSeries
from assistant.turns.plan import TurnServices
from store.chats.records import Anchor
from store.core.database import Database
from store.memory import insights
from tests.assistant.agents import agent_deps
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon
from tests.stub_model import StubModel

MOMENT = Anchor("moment", START_MS, START_MS + 600_000)


@pytest.fixture
def deps(database: Database, afternoon: Afternoon, stub: StubModel) -> Iterator[TurnServices]:
    afternoon.show(5, "retention set to 14 days")
    with agent_deps(database, stub) as found:
        yield found


@pytest.fixture(autouse=True)
def earlier() -> list[threading.Thread]:
    """Threads that are none of this test's: a turn of another one may wait for an approval for ever."""
    return threading.enumerate()


def started(turns: LiveTurns, deps: TurnServices, count: int) -> TurnSeries:
    asked: list[TurnRequest] = [anchor_facts.request(MOMENT, "Asia/Shanghai", NOW_MS)] * count
    turns.start_series("day", deps, iter(asked), count)
    return turns.series["day"]


def wait_for_end(earlier: list[threading.Thread]) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("turn") and thread not in earlier:
            thread.join()


def test_a_full_disk_ends_no_series_and_is_told(
    deps: TurnServices,
    stub: StubModel,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    earlier: list[threading.Thread],
) -> None:
    stub.reply("You set retention.").reply("Retention").fail(401).fail(401)
    real, fuse = live.run_admitted, [OSError(28, "database or disk is full")]

    def full(*given: Any) -> Any:
        if fuse:
            raise fuse.pop()
        return real(*given)

    monkeypatch.setattr(live, "run_admitted", full)
    series = started(LiveTurns(), deps, 2)
    wait_for_end(earlier)
    assert (series.is_running, series.over, series.failed) == (False, 2, 1)
    assert series.error == "database or disk is full" and insights.count(database) == 1


def test_why_a_model_failed_is_kept(
    deps: TurnServices, stub: StubModel, earlier: list[threading.Thread]
) -> None:
    stub.fail(401)
    series = started(LiveTurns(), deps, 1)
    wait_for_end(earlier)
    assert series.failed == 1 and "key" in series.error


def test_stopped_while_a_question_is_admitted_nothing_is_told(
    deps: TurnServices,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    earlier: list[threading.Thread],
) -> None:
    real, reached, go_on = live.admit, threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        reached.set()
        go_on.wait()
        return real(*given)

    monkeypatch.setattr(live, "admit", slow)
    series = started(LiveTurns(), deps, 2)
    reached.wait()
    series.stop()
    go_on.set()
    wait_for_end(earlier)
    assert (series.is_running, series.failed, insights.count(database)) == (False, 0, 0)
