"""A model that never ends: every wait for it is over in time or when the person says so, threads too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from assistant.core.records import FinalEvent, TurnRequest, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import run_turn
from engines.cancellation import CancelToken
from engines.chat.network import host_of
from store.chats import tool_permissions
from store.core.database import Database
from store.egress import egress_log
from tests.assistant.agents import agent_deps, asked, decided, run
from tests.assistant.helpers import START_MS, Afternoon
from tests.stub_model import StubModel

HOUR = {"start_ms": START_MS, "end_ms": START_MS + 3_600_000}
SOON_S = 20.0  # of the sixty that it would take
"""How long a stopped turn may go on."""


@pytest.fixture
def deps(database: Database, stub: StubModel, afternoon: Afternoon) -> Iterator[TurnServices]:
    afternoon.show(5, "sales by month")
    with agent_deps(database, stub, timeout_s=60, sees=True) as deps:
        yield deps


@contextmanager
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    ours = {"draw", "tool", "Thread"}
    left = [each for each in set(threading.enumerate()) - before if each.name.split("-")[0] in ours]
    left = [each for each in left if "process_request" not in each.name]  # the stub's own
    for each in left:
        each.join(SOON_S)  # its connection is gone; it only has to hear of it
    assert [each.name for each in left if each.is_alive()] == []


def stopped(deps: TurnServices, request: TurnRequest, stub: StubModel) -> tuple[TurnResult, float]:
    """A turn that is stopped once the model has been asked for all it has; and how long it took to end."""
    stop, begun = CancelToken(), len(stub._script)
    told_s = []

    def act() -> None:
        until_s = time.monotonic() + 20
        while len(stub.headers) < begun and time.monotonic() < until_s:
            time.sleep(0.01)
        time.sleep(0.2)
        told_s.append(time.monotonic())
        stop.set()

    threading.Thread(target=act, name="person").start()
    last = list(run_turn(deps, request, stop))[-1]
    assert isinstance(last, FinalEvent)
    return last.result, time.monotonic() - told_s[0]


@pytest.mark.parametrize(
    "script",
    [
        lambda stub: stub.drip(),
        lambda stub: stub.reply("Late.", wait_for=stub._is_over),
        lambda stub: stub.drip(said="The answer is"),
    ],
)
@pytest.mark.parametrize("mode", ["agent", "evidence"])
def test_stop_ends_a_model_that_does_not(
    deps: TurnServices, stub: StubModel, mode: str, script: Callable[[StubModel], object]
) -> None:
    script(stub)
    with no_thread_left():
        result, took_s = stopped(deps, asked(**HOUR | {"mode": mode}), stub)
    assert took_s < SOON_S
    assert result.error is None or result.error.code == "stopped"
    assert [row.outcome for row in egress_log.latest(deps.database)] == ["stopped"]


@pytest.mark.parametrize("mode", ["agent", "evidence"])
def test_a_model_that_never_ends_is_left_in_time(
    database: Database, stub: StubModel, afternoon: Afternoon, mode: str
) -> None:
    """The time of the whole answer, though something comes every few milliseconds."""
    afternoon.show(5, "sales by month")
    stub.drip()
    with agent_deps(database, stub, timeout_s=0.5) as deps, no_thread_left():
        result = run(deps, **HOUR | {"mode": mode}).result
    assert result.error and result.error.code == "model_timeout"


def test_a_description_that_never_ends_is_over_in_time(
    deps: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    """With its thread; `tools.timeout_s` bounds the whole of it."""
    frame = afternoon.show(9, "a chart")
    # Where the time is over before the description is asked for, nobody else hears what was meant for it.
    stub.call(("describe_frame", {"frame_id": frame.id}))
    stub.drip(fits=lambda request: "tools" not in request).reply("I could not see it.")
    assert deps.agent
    hurried = replace(deps.agent, settings=replace(deps.agent.settings, timeout_s=0.5))
    with no_thread_left():
        ran, _ = decided(replace(deps, agent=hurried), "once")
    assert (ran.calls[0].state, ran.result.status) == ("timed_out", "done")
    assert [row.outcome for row in egress_log.latest(deps.database) if row.purpose == "describe"] != [""]


def test_stop_ends_a_description(deps: TurnServices, stub: StubModel, afternoon: Afternoon) -> None:
    frame = afternoon.show(9, "a chart")
    tool_permissions.choose(deps.database, "describe_frame", "auto", 1, [host_of(stub.base_url)])
    stub.call(("describe_frame", {"frame_id": frame.id})).drip()
    with no_thread_left():
        result, took_s = stopped(deps, asked(), stub)
    assert took_s < SOON_S
    assert result.error and result.error.code == "stopped"
