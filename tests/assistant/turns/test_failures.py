"""A turn that fails says why, keeps what it found, and never reads as an empty result."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.core.errors import (
    TimeRangeRequired,
    TurnRefused,
    turn_error,
)
from assistant.core.records import StatusEvent, TextEvent, TurnRequest
from assistant.retrieval import retrieval
from assistant.turns import answering
from assistant.turns.plan import TurnServices
from assistant.turns.stored_turns import stored_turn
from assistant.turns.turn import run_turn
from engines.chat.protocol import ModelError, ModelRefused
from store.chats import conversations
from store.core import database as database_module
from store.core.database import Database, scalar
from store.core.errors import DeadlineExceeded, StoreBusy, StoreError
from store.deletion import deletion
from store.frames.media import Media
from tests.assistant.conftest import Ask
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import Request, StubModel
from tests.tables import for_each


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "model_no_key"),
        (402, "model_no_credit"),
        (429, "model_rate_limited"),
        (404, "model_refused"),
        (500, "model_failed"),
        (503, "model_busy"),
    ],
)
def test_a_failing_model_is_a_typed_error_with_the_evidence_kept(
    status: int, code: str, ask: Ask, afternoon: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    afternoon.show(1, "hello")
    stub.fail(status, "because \x1b[2J\u202eof this")
    result = ask()
    assert result.error is not None
    assert result.error.code == code
    assert f"(HTTP {status}: because [2Jof this)" in result.error.message
    assert result.error.action
    assert (result.status, result.answer_md, len(result.evidence)) == ("failed", "", 1)
    assert stored_turn(deps.database, result.chat_id, result.turn_id) == result


def test_each_error_has_its_own_sentence_in_both_languages() -> None:
    kinds = [*ModelError.__subclasses__(), *ModelRefused.__subclasses__()]
    errors = [*(kind("why") for kind in kinds), DeadlineExceeded(), StoreBusy(), StoreError()]
    for language in ("en", "zh"):
        told = [turn_error(error, language) for error in errors]
        assert len({error.message for error in told}) == len({error.code for error in told}) == len(errors)
        assert all(error.action for error in told)
        assert all("why" in error.message for error in told[: len(kinds)])


def test_an_answer_without_text_is_malformed(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, "hello")
    stub.reply('{"evidence": []}')
    error = ask().error
    assert error is not None
    assert error.code == "model_malformed"


def test_a_retrieval_over_its_deadline_is_an_error_and_not_an_empty_answer(
    ask: Ask, afternoon: Afternoon, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute in range(100):
        afternoon.show(minute, None)
    monkeypatch.setattr(answering, "retrieve", lambda *a, **k: retrieval.retrieve(*a, **k, deadline_s=-1))
    monkeypatch.setattr(database_module, "_STEPS_BETWEEN_CHECKS", 1)
    error = ask().error
    assert error is not None
    assert error.code == "retrieval_timeout"
    assert stub.requests == []


def test_an_abandoned_turn_does_not_look_as_if_it_still_ran(deps: TurnServices, afternoon: Afternoon) -> None:
    afternoon.show(1, "hello")
    events = run_turn(deps, TurnRequest("what?", "UTC", NOW_MS, START_MS, NOW_MS))
    status = next(events)
    assert isinstance(status, StatusEvent)
    assert stored_turn(deps.database, status.chat_id, status.turn_id).status == "running"
    events.close()  # type: ignore[attr-defined]
    abandoned = stored_turn(deps.database, status.chat_id, status.turn_id)
    assert (abandoned.status, abandoned.error and abandoned.error.code) == ("failed", "interrupted")


def test_nothing_is_held_while_the_model_thinks(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    afternoon.show(1, "hello")
    checkpoints = []

    def answer_slowly(_: Request) -> str:
        afternoon.show(2, "written meanwhile")
        # Folding the whole log back succeeds only when no reader holds an older state.
        done = database.connection().execute("pragma wal_checkpoint(truncate)").fetchone()
        checkpoints.append(done)
        database.close_thread()
        return "nothing"

    stub.reply(answer_slowly)
    assert ask().status == "done"
    assert checkpoints == [(0, 0, 0)]


def test_a_frame_deleted_while_the_model_thinks_leaves_nothing_behind(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    frame = afternoon.show(1, "secret words")

    def delete_meanwhile(_: Request) -> dict[str, Any]:
        deletion.delete_frames(database, Media(afternoon.data_dir.media), [frame.id])
        return reply("It says secret words [[e1]].", ("e1", "secret words"))

    stub.reply(delete_meanwhile)
    result = ask()
    assert "secret" not in repr(result)


@for_each("said", ["It says secret words.", "The words under it are secret words [[e2]]."])
def test_an_answer_that_may_say_what_was_deleted_meanwhile_is_not_kept(
    deps: TurnServices, afternoon: Afternoon, stub: StubModel, database: Database, said: str
) -> None:
    """Also where it does not cite the deleted frame: its words are gone, so nobody can compare."""
    frame = afternoon.show(1, "secret words")
    afternoon.show(2, "other words")

    def delete_meanwhile(_: Request) -> dict[str, Any]:
        deletion.delete_frames(database, Media(afternoon.data_dir.media), [frame.id])
        return reply(said, ("e2", "other words"))

    stub.reply(delete_meanwhile)
    answered = list(run_turn(deps, TurnRequest("What?", "Etc/UTC", NOW_MS, START_MS)))
    assert [event.answer_md for event in answered if isinstance(event, TextEvent)] == [
        conversations.DELETED_ANSWER
    ]
    with database.read() as connection:
        kept = "select group_concat(answer_md || payload) from turns"
        assert "secret" not in scalar(connection, kept)


@for_each(
    ("changes", "code"),
    [
        ({"start_ms": None, "mode": "evidence"}, "time_range_required"),
        ({"start_ms": None, "message": "What did I do on 30 February?"}, "time_range_required"),
        ({"timezone": "Mars/Olympus"}, "invalid_timezone"),
        ({"timezone": "../../etc/passwd"}, "invalid_timezone"),
        ({"timezone": ""}, "invalid_timezone"),
        ({"timezone": "Europe"}, "invalid_timezone"),
        ({"end_ms": START_MS}, "invalid_time_range"),
        ({"end_ms": START_MS - 1}, "invalid_time_range"),
        ({"start_ms": -1}, "invalid_time_range"),
        ({"end_ms": 10**18}, "invalid_time_range"),
        ({"chat_id": 4711}, "chat_not_found"),
        ({"model": "gpt-nonsense"}, "model_not_found"),
        ({"message": "   "}, "invalid_message"),
        ({"message": "x" * 8_001}, "invalid_message"),
    ],
)
def test_a_request_that_cannot_be_is_refused_before_anything_is_stored(
    changes: dict[str, Any], code: str, ask: Ask, database: Database
) -> None:
    with pytest.raises(TurnRefused) as refused:
        ask(**changes)
    assert refused.value.code == code
    assert conversations.list_chats(database) == []


def test_a_missing_range_says_what_was_understood(ask: Ask) -> None:
    with pytest.raises(TimeRangeRequired) as caught:
        ask("remind me what I planned for tomorrow", start_ms=None, mode="evidence")
    assert (caught.value.understood, caught.value.problem) == ("tomorrow", "future")


# -- streams that break, and endpoints that want to be left alone -----------------------------

_BEGUN = b'data: {"choices": [{"delta": {"content": "{\\"answer_md\\": \\""}}]}\n\n'


_SPEAKER = b'data: {"choices": [{"delta": {"role": "assistant"}, "finish_reason": null}]}\n\n'
_BROKEN = (b"data: upstream timed out\n\n", _BEGUN + b'data: {"choices": [{"del\n\n', _BEGUN)


@for_each("broken", [*_BROKEN, b"", b": ping\n\n", _SPEAKER, _SPEAKER + b"data: [DONE]\n\n"])
def test_a_stream_that_breaks_before_a_word_is_shown_is_asked_for_as_a_whole(
    ask: Ask, afternoon: Afternoon, stub: StubModel, broken: bytes
) -> None:
    afternoon.show(1, "hello")
    stub.anew().raw(broken, "text/event-stream").reply(reply("It says hello [[e1]].", ("e1", "hello")))
    result = ask()
    assert (result.status, result.answer_md) == ("done", "It says hello [1].")
    assert "stream" not in stub.requests[0]


@for_each("empty", ["{\n}", "{}", '{\n  "question": "What did I do?"\n}'])
def test_an_object_without_an_answer_is_followed_by_a_request_in_no_format(
    ask: Ask, afternoon: Afternoon, stub: StubModel, empty: str
) -> None:
    """Small models that are held to an object fill it with nothing."""
    afternoon.show(1, "hello")
    stub.anew().reply(empty).reply("It says hello [[e1]].")
    assert ask().answer_md == "It says hello [1]."
    assert ["response_format" in request for request in stub.requests] == [True, False]


def test_what_broke_a_stream_is_told_in_the_servers_words(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    """With as much of the answer as came; nothing is asked for again that was shown already."""
    afternoon.show(1, "hello")
    said = b'data: {"choices": [{"delta": {"content": "It says hello there and more."}}]}\n\n'
    stub.raw(said + b"data: proxy: upstream died\n\n", "text/event-stream")
    result = ask()
    assert result.error and "(the server sent a piece that is not JSON: proxy: upstream died)" in str(
        result.error.message
    )
    assert (result.is_cut_off, len(stub.headers)) == (True, 1) and "It says hello" in result.answer_md


@for_each(
    ("wait_s", "when"),
    [("3600", "Try again at 19:03."), ("21601", "Try again at Saturday 21 Nov 00:04."), ("", "Wait a")],
)
def test_when_to_try_again_is_told_where_the_endpoint_says(
    ask: Ask, afternoon: Afternoon, stub: StubModel, wait_s: str, when: str
) -> None:
    afternoon.show(1, "hello")
    stub.anew().fail(429, "rate limit", headers={"retry-after": wait_s} if wait_s else None)
    error = ask().error
    assert error and error.code == "model_rate_limited" and error.action.startswith(when)
