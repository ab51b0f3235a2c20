"""Requests that would never end: each is over in time, or when it is told, and leaves no thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engines.cancellation import Cancellation
from engines.chat.completions import OpenAIChatModel
from engines.chat.protocol import Message, ModelError, ModelStopped, ModelTimeout
from engines.embeddings.openai_compatible import OpenAIEmbedder
from engines.embeddings.protocol import EmbedderOptions, EmbedderUnavailable
from engines.web_search import SearchFailed
from tests.stub_embeddings import Notes
from tests.stub_search import StubSearch, dripping

ASKED = [Message("user", "What did I do?")]
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "more "}}]}\n\n'
STARTS = {
    "in silence": b"",
    "in its head": HEAD,
    "in a document": HEAD + b"Content-Type: application/json\r\n\r\n",
    "between events": HEAD + b"Content-Type: text/event-stream\r\n\r\n",
    "in words": HEAD + b"Content-Type: text/event-stream\r\n\r\n",
}
GOES_ON = {
    "in silence": b"",
    "in its head": b"X-More: more\r\n" * 10_000,
    "in a document": b" " * 100_000,
    "between events": b": still here\n\n" * 10_000,
    "in words": CHUNK * 1_000,
}
TIME_S = 0.4
RESTING = {"embedder rests", "pack is forgotten"}
"""Timers that let memory go, of what earlier tests opened: they begin anew every minute."""


@pytest.fixture
def endless() -> Iterator[StubSearch]:
    with StubSearch() as server:
        yield server


def endlessly(server: StubSearch, where: str) -> OpenAIChatModel:
    """A model whose answer goes on for ever at this place, a byte at a time."""
    drip = dripping(GOES_ON[where], 0.005, server.is_over)

    def answer(connection: Any) -> None:
        connection.sendall(STARTS[where])
        drip(connection)

    server.answer = answer
    return OpenAIChatModel("work", f"http://{server.host}/v1", "m", waits_s=())


def streamed(model: OpenAIChatModel, timeout_s: float) -> list[Any]:
    return list(model.stream(ASKED, timeout_s=timeout_s))


def whole(model: OpenAIChatModel, timeout_s: float) -> Any:
    return model.complete(ASKED, timeout_s=timeout_s)


@pytest.mark.parametrize("ask", [whole, streamed])
@pytest.mark.parametrize("where", STARTS)
def test_an_answer_without_end_is_over_in_time(
    endless: StubSearch, where: str, ask: Callable[[OpenAIChatModel, float], Any]
) -> None:
    """Every read of it is quick; only the time of the whole is up."""
    model, before = endlessly(endless, where), set(threading.enumerate())
    begun_s = time.monotonic()
    with pytest.raises(ModelTimeout):
        ask(model, TIME_S)
    assert TIME_S <= time.monotonic() - begun_s < TIME_S + 30
    for each in set(threading.enumerate()) - before:
        if each.name in RESTING:
            continue
        each.join(60)
        assert not each.is_alive(), each.name


@pytest.mark.parametrize("ask", [whole, streamed])
@pytest.mark.parametrize("where", STARTS)
def test_an_answer_is_ended_from_another_thread(
    endless: StubSearch, where: str, ask: Callable[[OpenAIChatModel, float], Any]
) -> None:
    model, failures, cutoff = endlessly(endless, where), list[ModelError](), Cancellation()

    def work() -> None:
        with cutoff.here(), pytest.raises(ModelError) as told:
            ask(model, 60)
        failures.append(told.value)

    thread = threading.Thread(target=work)
    thread.start()
    until_s = time.monotonic() + 60
    while not endless.requests and time.monotonic() < until_s:
        time.sleep(0.01)
    cutoff.now()
    thread.join(60)
    assert not thread.is_alive()
    assert [type(each) for each in failures] == [ModelStopped]


def test_what_was_ended_asks_no_more(endless: StubSearch) -> None:
    model, cutoff = endlessly(endless, "in silence"), Cancellation()
    cutoff.now()
    with cutoff.here(), pytest.raises(ModelStopped):
        model.complete(ASKED, timeout_s=60)
    assert endless.requests == []


def test_a_pause_between_two_tries_is_ended(endless: StubSearch) -> None:
    cutoff = Cancellation()
    threading.Timer(0.1, cutoff.now).start()
    begun_s = time.monotonic()
    with cutoff.here():
        Cancellation().sleep(60)
    assert time.monotonic() - begun_s < 30


def test_vectors_are_there_in_time_or_not_at_all(endless: StubSearch) -> None:
    endless.answer = dripping(HEAD + GOES_ON["in its head"], 0.005, endless.is_over)
    options = EmbedderOptions("m", f"http://{endless.host}/v1", "", TIME_S, Notes())
    with pytest.raises(EmbedderUnavailable, match=r"no embeddings within 0\.4 s"):
        OpenAIEmbedder(options)


def test_a_search_is_ended_from_another_thread(endless: StubSearch) -> None:
    endless.answer = dripping(HEAD + GOES_ON["in its head"], 0.005, endless.is_over)
    cutoff = Cancellation()
    threading.Timer(0.2, cutoff.now).start()
    begun_s = time.monotonic()
    with cutoff.here(), pytest.raises(SearchFailed):
        endless.engine().search("x", 3, timeout_s=60)
    assert time.monotonic() - begun_s < 30
