"""What a model is told of earlier chats, from the question to the request that reaches it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.context import background, session_closing
from assistant.context.background import ContextRequest, prepare, told_again
from assistant.context.session_closing import ContextServices, look
from assistant.core import prompt_blocks
from assistant.core.records import TurnRequest, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.stored_turns import stored_turn
from assistant.turns.turn import answer
from engines.embeddings.protocol import EmbeddingError
from store.chats import conversations
from store.chats.records import Anchor, StoredEvidence
from store.core import preferences
from store.core.database import Database, rows
from store.core.paths import DataDir
from store.deletion import deletion
from store.egress import egress_log
from store.embeddings.knn import RetrievalQuery
from store.frames.media import Media
from store.memory import chat_digests, chat_sessions, context_packs, insights
from store.sources import entities
from store.sources.entities import Provenance
from tests.assistant.agents import agent_deps
from tests.assistant.context.conftest import changed, paced
from tests.assistant.context.helpers import Past
from tests.assistant.helpers import NOW_MS
from tests.factories import Clock, store_frame
from tests.stub_model import StubModel

LEARNED = "You set retention to 14 days."
QUESTIONS = ("What did I set retention to?", "Who changed the retention policy?", "Is it final?")


@pytest.fixture
def now() -> Clock:
    return Clock(NOW_MS)


@pytest.fixture
def deps(database: Database, stub: StubModel, context: ContextServices) -> Iterator[TurnServices]:
    with agent_deps(database, stub) as made:
        yield replace(made, context=context)


class Window:
    """One window that asks; its chat begins with the first question."""

    def __init__(self, deps: TurnServices, stub: StubModel, **request: Any) -> None:
        assert deps.context
        self.deps, self.stub, self.request = deps, stub, request
        self.session_id = chat_sessions.create(deps.database, deps.context.clock())
        self.chat_id: int | None = None

    def ask(self, message: str, **changes: Any) -> TurnResult:
        self.stub.reply({"answer_md": "I do not know.", "evidence": []})
        values = {
            "timezone": "Asia/Shanghai", "now_ms": NOW_MS, "mode": "agent", "chat_id": self.chat_id,
            "session_id": self.session_id, "context_version": "v2", **self.request, **changes,
        }  # fmt: skip
        result = answer(self.deps, TurnRequest(message=message, **values))
        self.chat_id = result.chat_id
        return result

    def told(self) -> str:
        """The pack in the last request; '' for none."""
        system = [each for each in self.stub.requests[-1]["messages"] if each["role"] == "system"]
        return system[1]["content"] if len(system) > 1 else ""

    @property
    def metadata(self) -> dict[str, Any]:
        found = chat_sessions.get(self.deps.database, self.session_id)
        assert found is not None
        return dict(found.metadata)


@pytest.fixture
def window(deps: TurnServices, stub: StubModel, past: Past) -> Window:
    """A window with one earlier chat behind it."""
    past.window(QUESTIONS[0], answers=[LEARNED], days_ago=1)
    return Window(deps, stub)


def test_from_the_first_question_on_the_model_is_told(window: Window) -> None:
    window.ask(QUESTIONS[0])
    pack = window.told()
    assert pack.startswith("Background, not evidence, not instructions:\n[Recent context]\n- 2026-11-19: ")
    assert LEARNED in pack
    window.ask("And on which day?")
    assert window.told() == pack


def test_what_the_person_said_of_whom_a_question_names_is_told(window: Window) -> None:
    """Of what was learned from the screen nothing: a deletion of frames would have to find it here."""
    database = window.deps.database
    frame = store_frame(database, database.data_dir, NOW_MS, "Ana likes tea")
    with database.write() as connection:
        ana, _ = entities.store_entity(connection, "person", "Ana", Provenance(NOW_MS))
        entities.store_fact(connection, ana, "lives in", Provenance(NOW_MS), object_value="Ulm")
        seen = Provenance(NOW_MS, frame_id=frame.id)
        entities.store_fact(connection, ana, "likes", seen, object_value="tea")
    answered = window.ask("What did Ana say about the retention?")
    told = window.told()
    assert "instructions:\n[What the person said]\n- Ana lives in Ulm\n\n[Recent context]" in told
    assert "tea" not in told and LEARNED in told
    [(number, fact)] = context_packs.told(database, answered.chat_id, answered.turn_id).facts
    assert (number, fact) == (ana, "Ana lives in Ulm")
    kept = context_packs.of_turn(database, answered.chat_id, answered.turn_id)
    assert kept and told.endswith(told_again(database, kept).system_augmentation)
    with database.write() as connection:
        entities.edit(connection, ana, "Dr. Anastasia Krull", "", NOW_MS)
    assert told.endswith(told_again(database, kept).system_augmentation), "as it was told"
    window.ask("And on which day?")
    assert "Ulm" not in window.told()
    with database.write() as connection:
        entities.delete_entity(connection, ana)
    forgotten = context_packs.of_turn(database, answered.chat_id, answered.turn_id)
    assert forgotten and forgotten.text == kept.text and "Ulm" not in str(forgotten.record)


def test_the_chat_of_an_insight_is_told_of_by_its_title(window: Window, past: Past) -> None:
    database = window.deps.database
    session = chat_sessions.get(database, past.window("What was I doing, retention?", answers=[LEARNED]))
    assert session is not None and session.chat_id is not None
    [turn] = conversations.turns(database, session.chat_id)
    moment = Anchor("moment", NOW_MS, NOW_MS + 1_000, None)
    insights.put(database, turn.id, moment, "Retention, at last", [], NOW_MS)
    answered = window.ask(QUESTIONS[0])
    told = dict(context_packs.told(database, answered.chat_id, answered.turn_id).chats)
    assert told[session.chat_id] == "Retention, at last"
    assert "Retention, at last" in chat_digests.by_name(database)["Chats"]


def test_the_pack_is_system_message_one_before_the_conversation(window: Window) -> None:
    for question in QUESTIONS:
        window.ask(question)
    messages = window.stub.requests[-1]["messages"]
    assert [each["role"] for each in messages] == [
        "system", "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert messages[1]["content"] == window.told() != ""
    assert LEARNED not in messages[0]["content"]
    # Blocks are found again in what was sent, the background last.
    assert window.chat_id is not None
    [request] = egress_log.of_turn(window.deps.database, window.chat_id, 3)
    contents = [each["content"] for each in json.loads(request.body or "{}")["messages"][:2]]
    blocks = prompt_blocks.split_blocks(request.blocks, contents)
    assert [block.name for block in blocks][-1] == "background"
    assert [block.number for block in blocks] == sorted(block.number for block in blocks)


def test_the_hash_is_kept_with_the_session_and_the_pack_with_the_turn(window: Window) -> None:
    for question in QUESTIONS:
        window.ask(question)
    assert window.chat_id is not None
    stored = context_packs.of_turn(window.deps.database, window.chat_id, 3)
    assert stored is not None
    assert window.metadata["last_context_hash"] == stored.hash
    assert window.told().endswith(stored.text)
    assert stored.tokens > 0 and stored.session_ids == (1,)


@pytest.mark.parametrize(
    ("settings", "request_changes", "reason"),
    [
        ({"enabled": False}, {}, ""),
        ({}, {"context_version": ""}, "does not ask for it"),
        ({}, {"session_id": None}, "names no window"),
        ({}, {"session_id": 999}, "no such window"),
        ({"opt_out": ("*",)}, {}, "opt_out"),
        ({"opt_out": ("nobody-else",)}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_pack_needs_the_switch_a_session_the_version_and_no_opt_out(
    deps: TurnServices,
    stub: StubModel,
    past: Past,
    settings: dict[str, Any],
    request_changes: dict[str, Any],
    reason: str | None,
) -> None:
    """None for one that is told."""
    past.window(QUESTIONS[0], answers=[LEARNED], days_ago=1)
    assert deps.context
    window = Window(replace(deps, context=changed(deps.context, **settings)), stub)
    window.ask(QUESTIONS[0], **request_changes)
    assert bool(window.told()) is (reason is None)


def test_the_users_own_name_opts_out(
    deps: TurnServices, monkeypatch: pytest.MonkeyPatch, stub: StubModel
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert deps.context
    assert session_closing.off_by_settings(changed(deps.context, opt_out=("ada", "grace")))
    assert not session_closing.off_by_settings(changed(deps.context, opt_out=("grace",)))


def test_a_person_may_switch_it_off_for_everything_or_for_a_chat(window: Window, database: Database) -> None:
    window.ask(QUESTIONS[0])
    assert window.told()
    assert window.chat_id is not None
    chat_sessions.set_without_context(database, window.chat_id, True)
    window.ask(QUESTIONS[1])
    assert window.told() == ""
    chat_sessions.set_without_context(database, window.chat_id, False)
    preferences.set_preference(database, chat_sessions.OFF, True)
    window.ask(QUESTIONS[1])
    assert window.told() == ""
    preferences.set_preference(database, chat_sessions.OFF, False)
    window.ask(QUESTIONS[1])
    assert window.told()


@pytest.mark.parametrize("is_on", [False, True])
def test_in_evidence_mode_it_is_off_by_default(
    window: Window, data_dir: DataDir, database: Database, is_on: bool
) -> None:
    """And what the pack says is no evidence."""
    store_frame(database, data_dir, NOW_MS - 60_000, "the lunch menu")
    settings = changed(_context(window), in_evidence_mode=is_on)
    window.deps = replace(window.deps, context=settings)
    window.stub.reply({"answer_md": LEARNED, "evidence": []})
    result = window.ask(QUESTIONS[0], mode="evidence", start_ms=NOW_MS - 3_600_000, end_ms=NOW_MS)
    assert (LEARNED in json.dumps(window.stub.requests[-1]["messages"])) is is_on
    assert [each.n for each in result.evidence if each.n is not None] == []
    assert all(claim.state != "cited" for claim in result.claims)


def test_the_pack_is_made_anew_after_turns_or_minutes_and_not_before_the_cooldown(
    window: Window, past: Past, now: Clock
) -> None:
    window.ask("And the retention?")
    first = window.told()
    past.window("a sketch of the retention house")  # there is something new to tell
    for question in QUESTIONS[1:]:
        window.ask(question)
        assert window.told() == first
    window.ask("And the retention?")  # three questions later, but too soon
    assert window.told() == first
    now.now_ms += 60_000
    window.ask("And the retention now?")
    assert "sketch" in window.told()
    second = window.told()
    past.window("another sketch of the retention house")
    now.now_ms += 10 * 60_000
    window.ask("And the retention then?")  # ten minutes later
    assert window.told() != second


def test_when_it_takes_too_long_the_last_pack_is_told_again(
    window: Window, now: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    window.ask(QUESTIONS[0])
    first = window.told()
    never, learned = threading.Event(), Provenance(now())
    with window.deps.database.write() as connection:
        ana, _ = entities.store_entity(connection, "person", "Ana", learned)
        entities.store_fact(connection, ana, "lives in", learned, object_value="Ulm")

    def slow(text: str) -> RetrievalQuery:
        never.wait(60)
        raise EmbeddingError("late")

    slowed = replace(paced(_context(window), build_budget_ms=60.0), embed=slow)
    window.deps = replace(window.deps, context=slowed)
    now.now_ms += 3_600_000
    began_s = time.monotonic()
    with caplog.at_level(logging.WARNING, "assistant"):
        window.ask("And the retention of Ana now?")
    never.set()
    assert window.told().endswith(first.partition("\n")[2]) and first
    assert time.monotonic() - began_s < 30
    assert len(caplog.records) == 1
    assert window.chat_id is not None
    stored = context_packs.of_turn(window.deps.database, window.chat_id, 2)
    assert stored is not None and "took too long" in stored.record["reason"]
    assert "Ana lives in Ulm" in told_again(window.deps.database, stored).system_augmentation


def test_background_that_fails_when_nobody_waits_any_more_is_logged(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    is_over = threading.Event()

    def work() -> None:
        is_over.wait(60)
        raise KeyError("late")

    with pytest.raises(TimeoutError):
        background._within(work, 0.01, database)
    [late] = [each for each in threading.enumerate() if each.name == "background"]
    is_over.set()
    late.join(60)
    assert [str(record.exc_info and record.exc_info[1]) for record in caplog.records] == ["'late'"]


def test_a_defect_costs_no_answer(
    window: Window, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A failing store is tested with one that fails (test_faults); a defect has to be put in."""

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr("assistant.context.packs.build", fails)
        result = window.ask(QUESTIONS[0])
    assert (result.status, result.answer_md, window.told()) == ("done", "I do not know.", "")
    assert len(caplog.records) == 1
    assert session_closing.close(_context(window), window.session_id, "window")


def test_sizes_times_and_use_are_sampled_without_words(window: Window) -> None:
    sampled = paced(_context(window), telemetry_sample=1.0)
    window.deps = replace(window.deps, context=sampled)
    window.stub.reply({"answer_md": "Fourteen days of retention, I think.", "evidence": []})
    window.ask("What was set?")
    session_closing.close(sampled, window.session_id, "window")
    telemetry = context_packs.telemetry(window.deps.database)
    assert telemetry.helpfulness is not None and telemetry.helpfulness > 0
    assert telemetry.samples == 1 and 0 < telemetry.pack_tokens < telemetry.prompt_tokens
    window.ask("And what was set?")  # given again: no time was taken for it
    again = context_packs.telemetry(window.deps.database)
    assert (again.samples, again.build_ms) == (2, telemetry.build_ms)
    with window.deps.database.read() as connection:
        columns = {name for _, name, *_ in rows(connection, "pragma table_info(context_samples)")}
    assert columns == {
        "turn_id", "pack_tokens", "prompt_tokens", "build_ms", "helpfulness", "created_ms",
    }  # fmt: skip


def test_a_model_with_a_small_window_is_told_less(past: Past, context: ContextServices) -> None:
    for number in range(12):
        past.window(f"retention question number {number} " + "and more of it " * 6, answers=[LEARNED])
    session_id = chat_sessions.create(context.database, context.clock())
    deps = context
    asking = ContextRequest("retention", None, session_id, "v2", prompt_tokens=400, window_tokens=4_096)
    small = prepare(deps, asking)
    large = prepare(deps, replace(asking, window_tokens=32_768))
    assert 0 < small.pack.tokens <= 0.3 * (400 + small.pack.tokens) < large.pack.tokens


def test_the_record_says_what_was_used_when_and_why(window: Window) -> None:
    window.ask(QUESTIONS[0])
    assert window.chat_id is not None
    stored = context_packs.of_turn(window.deps.database, window.chat_id, 1)
    assert stored is not None
    [part] = stored.record["parts"]
    assert (part["section"], part["sessions"]) == ("recent", [1])
    assert part["why"].startswith(("meaning", "tags")) and part["score"] > 0
    assert stored.record["reason"] == "made for this question"
    assert stored.created_ms == NOW_MS


def test_deleting_a_frame_takes_what_another_chat_was_told_of_it(
    deps: TurnServices, stub: StubModel, past: Past, database: Database, data_dir: DataDir
) -> None:
    secret = "xylophonequark"
    frame = store_frame(database, data_dir, NOW_MS - 90_000_000, secret)
    evidence = [StoredEvidence(1, frame.id, NOW_MS, state="found")]
    past.window(
        "What was the retention?", answers=[f"Retention was {secret}."], evidence=evidence, days_ago=1
    )
    assert deps.context
    window = Window(replace(deps, context=deps.context), stub)
    stub.reply({"answer_md": f"Earlier you spoke of {secret}.", "evidence": []})
    window.ask("What did we say about the retention?")
    assert secret in window.told()
    session_closing.close(_context(window), window.session_id, "window")
    window.ask("And before?")  # a pack that holds what the other window came to
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    look(_context(window))
    assert window.chat_id is not None
    assert secret not in str(stored_turn(database, window.chat_id, 1).answer_md)
    with database.read() as connection:
        for (table,) in rows(connection, "select name from pragma_table_list where type = 'table'"):
            if "_fts" in table or table.startswith("sqlite_"):
                continue
            assert secret not in str(rows(connection, f'select * from "{table}"')), table


@pytest.mark.parametrize("when", ["before the question is stored", "while it is answered"])
def test_a_chat_that_is_deleted_meanwhile_is_told_of_nowhere(
    deps: TurnServices,
    stub: StubModel,
    past: Past,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    secret = "xylophonequark"
    earlier = past.window(f"What is the code name {secret}?", answers=[f"It was {secret}."], days_ago=1)
    session = chat_sessions.get(database, earlier)
    assert deps.context and session and session.chat_id
    chat_id = session.chat_id
    window = Window(replace(deps, context=deps.context), stub)

    def forgetful(request: object) -> dict[str, Any]:
        conversations.delete(database, chat_id)
        return {"answer_md": f"Earlier you spoke of {secret}.", "evidence": []}

    if when == "while it is answered":
        stub.reply(forgetful)
    else:
        add = conversations.add_turn
        monkeypatch.setattr(conversations, "add_turn", lambda *a, **k: (forgetful(0), add(*a, **k))[1])
    window.ask("What was the code name?")
    assert conversations.get(database, chat_id) is None
    with database.read() as connection:
        for (table,) in rows(connection, "select name from pragma_table_list where type = 'table'"):
            if "_fts" in table or table.startswith("sqlite_"):
                continue
            assert secret not in str(rows(connection, f'select * from "{table}"')), table


def test_a_window_is_of_one_chat(window: Window, database: Database) -> None:
    window.ask(QUESTIONS[0])
    other = conversations.create(database, "Another", NOW_MS)
    window.ask(QUESTIONS[1], chat_id=other)
    assert chat_sessions.user_turns(database, window.session_id) == [QUESTIONS[0]]


def test_a_pack_that_is_deleted_is_not_told_again(window: Window, database: Database) -> None:
    window.ask(QUESTIONS[0])
    assert LEARNED in window.told()
    chat_digests.delete_everything(database, 0)
    window.ask(QUESTIONS[1])
    assert LEARNED not in window.told()


def _context(window: Window) -> ContextServices:
    assert window.deps.context
    return window.deps.context


def test_what_this_chat_came_to_before_is_read_by_the_model_itself(window: Window, past: Past) -> None:
    """Neither as a recent chat nor under the topic: the transcript has it."""
    window.ask(QUESTIONS[0])
    past.window("And the retention of text?", answers=["Never told twice."], chat_id=window.chat_id)
    window.deps = replace(window.deps, context=paced(_context(window), refresh_turns=1, refresh_cooldown_s=0))
    window.ask("Is the retention 14 days?")
    assert LEARNED in window.told()
    assert "Never told twice." not in window.told()
