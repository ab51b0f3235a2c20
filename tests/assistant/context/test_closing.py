"""What is left of a window when it closes: summary, tags, vector, roll-ups."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assistant.context import relevance, session_closing, session_summary, topics
from assistant.context.session_closing import SETTLE_MS, ContextServices, look
from assistant.context.topics import tags
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.strings import own_sentences
from engines.embeddings.protocol import EmbeddingError
from store.chats import conversations
from store.chats.records import StoredEvidence
from store.core import migrations
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, EmbeddingSettings
from store.egress import egress_log
from store.embeddings.knn import RetrievalQuery
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.observations import MODEL_SAYS
from store.memory.search import search_memory
from tests.assistant.context.conftest import changed, paced
from tests.assistant.context.helpers import DAY_MS, Past
from tests.factories import NOON_MS, Clock, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel
from tests.tables import for_each

QUESTION = "What did I set retention to?"
LEARNED = "You set retention to 14 days."
SETTLED = "Then we keep retention at 14 days for the archive."


def summary_of(context: ContextServices, session_id: int) -> chat_summaries.ChatSummary:
    return chat_summaries.get(context.database, [session_id])[session_id]


def test_the_mini_summary_says_what_rules_can_know(
    past: Past, context: ContextServices, data_dir: DataDir
) -> None:
    frame = store_frame(context.database, data_dir, NOON_MS - 1_000, "retention 14 days")
    evidence = [
        StoredEvidence(1, frame.id, NOON_MS, app_name="Code", quote="retention 14 days", state="found")
    ]
    session_id = past.window(
        QUESTION, "And why?", answers=[LEARNED, "Because retention 14 days."], evidence=evidence
    )
    found = summary_of(context, session_id)
    assert found.fields == {
        "request": f"{QUESTION}\nAnd why?",
        "investigated": "Looked at Code.",
        "learned": f"{LEARNED} “retention 14 days”\nBecause retention 14 days.",
        "completed": None,
        "next_steps": None,
        "notes": None,
    }
    assert (found.made_by, found.ended_ms) == ("rules", NOON_MS)


def test_a_quote_that_a_sentence_has_in_parts_is_not_told_twice(
    past: Past, context: ContextServices, data_dir: DataDir
) -> None:
    frame = store_frame(context.database, data_dir, NOON_MS - 1_000, "retention 14 days\nmenu\n30 backups")
    quote = "retention 14 days … 30 backups"
    evidence = [StoredEvidence(1, frame.id, NOON_MS, app_name="Code", quote=quote, state="found")]
    answers = ["14:05: “retention 14 days” [1]; “30 backups” [1]"]
    session_id = past.window(QUESTION, answers=answers, evidence=evidence)
    assert summary_of(context, session_id).learned == "14:05: “retention 14 days”; “30 backups”"


def test_it_says_what_was_asked_told_and_left_open(past: Past, context: ContextServices) -> None:
    session_id = past.window(
        "Who can flush the boiler before Christmas?",
        "Pawel then, on 3 December at 8! thanks",
        answers=["Pawel offers it for 90 euros.", "Noted. Shall I look for his number?"],
        states=["no_source", "no_source"],
    )
    found = summary_of(context, session_id)
    assert found.request == "Who can flush the boiler before Christmas?"
    assert found.completed == "Pawel then, on 3 December at 8!"
    assert found.next_steps == "Shall I look for his number?"
    assert found.learned is None and "Pawel offers it for 90 euros." in (found.notes or "").split("\n")


def test_only_proven_sentences_are_learned(past: Past, context: ContextServices) -> None:
    session_id = past.window(QUESTION, answers=["Aliens did it."], states=["no_evidence"])
    found = summary_of(context, session_id)
    assert found.learned is None
    assert found.notes == "Answered without a source:\nAliens did it."
    [found_by] = search_memory(
        context.database, RetrievalQuery("aliens"), ("chat",), now_ms=context.clock()
    ).entries
    assert found_by.snippet == "Answered without a source: Aliens did it."
    assert [found_by.snippet[start:end] for start, end in found_by.highlights] == ["Aliens"]


def test_what_was_learned_is_plain_text(past: Past, context: ContextServices) -> None:
    session_id = past.window(QUESTION, answers=["You set **retention** to 14 days. [1]"])
    assert summary_of(context, session_id).learned == LEARNED


def test_tags_are_of_the_persons_words_only(past: Past, context: ContextServices) -> None:
    session_id = past.window(QUESTION, "Why retention?", answers=["A zeppelin.", "A zeppelin again."])
    assert dict(summary_of(context, session_id).tags) == {"retention": 1.0, "set": 0.65}


@for_each(
    ("messages", "expected"),
    [
        (["what did I do today"], set()),
        (["ok so go on"], set()),
        (["an ox at it"], set()),  # too short
        (["昨天我看了什么"], set()),
        (["今天的保留策略是什么"], {"保留", "留策", "策略"}),
        (["invoice invoices"], {"invoice"}),
        (["10:30 2026 12345"], set()),
    ],
)
def test_stop_words_and_short_words_are_no_tags(messages: list[str], expected: set[str]) -> None:
    assert set(tags(messages)) == expected


def test_a_summary_has_a_vector_in_the_database(past: Past, context: ContextServices) -> None:
    session_id = past.window("the login system")
    found = chat_digests.candidates(context.database, "fake")
    assert found.ids == (session_id,)
    assert found.vectors is not None and found.vectors.shape == (1, 64) and found.vectors.dtype == np.int8
    assert chat_digests.candidates(context.database, "another").vectors is None


def test_without_an_embedder_a_session_closes_without_a_vector(
    past: Past, context: ContextServices, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    off = QueryEmbedder(EmbeddingSettings(engine="off"), database)
    session_id = Past(replace(context, embed=off.asked), past.clock).window(QUESTION)
    assert summary_of(context, session_id).request == QUESTION
    assert chat_digests.candidates(database, "fake").vectors is None
    assert caplog.records == []


@pytest.mark.parametrize("error", [EmbeddingError("down"), RuntimeError("a defect")])
def test_a_failed_embedding_is_logged_and_closing_succeeds(
    context: ContextServices,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    now: Clock,
    error: Exception,
) -> None:
    class Broken(FakeEmbedder):
        def embed(self, texts: Any) -> Any:
            raise error

    broken = QueryEmbedder(EmbeddingSettings(), database, Broken)
    with caplog.at_level(logging.WARNING, "assistant.context.session_closing"):
        session_id = Past(replace(context, embed=broken.asked), now).window(QUESTION)
    assert summary_of(context, session_id).request == QUESTION
    assert [record.name for record in caplog.records].count("assistant.context.session_closing") == 1


def test_there_are_two_roll_ups(past: Past, context: ContextServices) -> None:
    old = past.window("the invoice of Wagner", days_ago=40)
    older = past.window("the invoice of Meier", days_ago=45)
    fresh = past.window(QUESTION, answers=[LEARNED])
    recent, history = (chat_digests.get(context.database, kind) for kind in ("recent", "history"))
    assert recent is not None and history is not None
    assert [(line.text, line.sessions) for line in recent.lines] == [
        (f"2026-11-20: {QUESTION} — {LEARNED}", (fresh,))
    ]
    assert [line.text for line in history.lines] == [
        "2026-10-05 to 2026-10-11, 2 chats: the invoice of Wagner · the invoice of Meier"
    ]
    assert set(history.lines[0].sessions) == {old, older}


def test_recent_ends_after_28_days_and_the_rest_is_folded(
    past: Past, context: ContextServices, now: Clock
) -> None:
    session_id = past.window(QUESTION)
    now.now_ms += 28 * DAY_MS
    assert [line.sessions for line in topics.roll_up(context.database, "recent", now()).lines] == [
        (session_id,)
    ]
    assert topics.roll_up(context.database, "history", now()).lines == ()
    now.now_ms += 1
    assert topics.roll_up(context.database, "recent", now()).lines == ()
    assert [line.sessions for line in topics.roll_up(context.database, "history", now()).lines] == [
        (session_id,)
    ]


def test_a_window_that_asked_nothing_has_no_summary(past: Past, context: ContextServices) -> None:
    session_id = past.window()
    session = chat_sessions.get(context.database, session_id)
    assert session is not None and session.summary_state == "empty"


def test_a_failed_turn_is_what_is_still_open(
    past: Past, context: ContextServices, database: Database
) -> None:
    session_id = past.window(QUESTION, closed=False)
    session = chat_sessions.get(database, session_id)
    assert session is not None and session.chat_id is not None
    turn = conversations.add_turn(
        database, session.chat_id, mode="agent", model="stub", question="And before?", start_ms=None,
        end_ms=None, timezone="UTC", now_ms=NOON_MS, session_id=session_id,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, "", {}, [], None)
    session_closing.close(context, session_id, "window")
    assert summary_of(context, session_id).next_steps == "Not answered: And before?"


# -- a model ----------------------------------------------------------------------------------------


@pytest.fixture
def with_model(context: ContextServices, stub: StubModel) -> Iterator[ContextServices]:
    entry = ChatModelSettings("stub", stub.base_url, "stub", context_tokens=8192)
    models = ChatModels(ChatSettings(models=(entry,)), {}, waits_s=())
    yield replace(context, models=models)
    models.close()


def words(*sentences: str) -> dict[str, Sequence[str]]:
    return {"sentences": sentences}


def test_what_a_model_says_of_it_stands_marked_below_what_the_rules_say(
    with_model: ContextServices, stub: StubModel, now: Clock, database: Database
) -> None:
    stub.reply(words(LEARNED, "What retention was set to, password: hunter2", "Nobody asked the xylophone."))
    session_id = Past(with_model, now).window(QUESTION, SETTLED, answers=[LEARNED, "Good."])
    by_rules = summary_of(with_model, session_id)
    [by_meaning] = database.column("select vector from chat_summaries")
    look(with_model)
    assert stub.requests == []  # it may come back in a moment
    now.now_ms += SETTLE_MS + 1
    look(with_model)
    found = summary_of(with_model, session_id)
    said = f"{MODEL_SAYS}What retention was set to, password: [redacted]"
    assert found.fields == {
        **by_rules.fields,
        "notes": f"{by_rules.notes}\n{said}" if by_rules.notes else said,
    }
    assert (by_rules.completed, found.made_by, found.tags) == (SETTLED, "rules", by_rules.tags)
    # Nor is the chat found by it, or told by it before what the person said.
    assert database.column("select vector from chat_summaries") == [by_meaning]
    sentences = session_summary.sentences(found)
    assert relevance.ranked(sentences, said, {session_id: 1.0})[-1].text == said
    assert "Person: What did I set retention to?" in stub.requests[0]["messages"][1]["content"]
    [request] = egress_log.of_turn(database, found.chat_id, 2)
    assert (request.purpose, request.outcome) == ("refine", "answered")
    look(with_model)
    assert len(stub.requests) == 1


def test_a_home_of_before_has_the_words_of_its_chats_made_again_once(
    with_model: ContextServices, stub: StubModel, now: Clock, database: Database
) -> None:
    """They had what code says in every answer, so that all chats were alike. What a person wrote stays.

    So does what a model says of a chat in which nothing was asked since.
    """
    [own, *_] = sorted(own_sentences())
    stub.reply(words("What retention was set to."))
    session_id = Past(with_model, now).window(QUESTION, answers=[f"{own} {LEARNED}"])
    now.now_ms += SETTLE_MS + 1
    look(with_model)
    edited = Past(with_model, now).window("the invoice", answers=["Wagner's."])
    chat_summaries.edit(database, edited, {"request": "my own words"}, now())
    session_closing.embed(with_model, edited)
    before = [summary_of(with_model, each) for each in (session_id, edited)]
    made = chat_digests.terms_of(database, [session_id, edited])
    database.change(
        "insert into chat_terms (session_id, term, number) select ?, value, 1 from json_each(?)",
        (session_id, json.dumps(sorted(relevance.terms(own)))),
    )
    assert len(chat_digests.terms_of(database, [session_id, edited])) > len(made)
    assert before[0].notes is not None and MODEL_SAYS in before[0].notes
    database.connection().execute((migrations.FOLDER / "020_words_of_chats.sql").read_text())
    assert chat_sessions.pending(database) == [session_id]
    look(with_model)
    assert sorted(chat_digests.terms_of(database, [session_id, edited])) == sorted(made)
    assert [summary_of(with_model, each) for each in (session_id, edited)] == before
    assert (chat_sessions.pending(database), len(stub.requests)) == ([], 1)


NONSENSE = words(
    "The invoice of Wagner over 250 euros.", "He paid it in Rome on 3 May. Retention is 30 days."
)


@pytest.mark.parametrize(
    "bad", ["no json", "{}", '{"sentences": 3}', '{"sentences": [3]}', json.dumps(NONSENSE)]
)
def test_what_is_no_summary_leaves_the_rules_words(
    with_model: ContextServices, stub: StubModel, now: Clock, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    stub.reply(bad)
    session_id = Past(with_model, now).window(QUESTION)
    assert not session_closing.refine(with_model, session_id)
    assert summary_of(with_model, session_id).made_by == "rules"
    assert len(caplog.records) == 1


def test_a_model_that_times_out_leaves_the_rules_words(
    with_model: ContextServices, stub: StubModel, now: Clock
) -> None:
    import threading

    never = threading.Event()
    stub.reply(words("late"), wait_for=never)
    deps = paced(with_model, summary_timeout_s=1.0)
    session_id = Past(deps, now).window(QUESTION)
    assert not session_closing.refine(deps, session_id)
    never.set()
    assert summary_of(deps, session_id).made_by == "rules"


def test_a_model_elsewhere_is_asked_only_when_that_was_chosen(
    with_model: ContextServices, stub: StubModel, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.core.endpoints.is_local", lambda url: False)
    stub.reply(words(QUESTION))
    session_id = Past(with_model, now).window(QUESTION, answers=[LEARNED])
    assert not session_closing.refine(with_model, session_id)
    assert not session_closing.refine(changed(with_model, summaries="off"), session_id)
    assert stub.requests == []
    # A file says no yes, and the yes to one host is none to another.
    assert not session_closing.refine(changed(with_model, summaries="any"), session_id)
    chat_sessions.set_summarised_by(with_model.database, "any", ["api.example"])
    assert not session_closing.refine(with_model, session_id)
    assert stub.requests == []
    host = with_model.models.endpoint("stub").host
    chat_sessions.set_summarised_by(with_model.database, "any", [host])
    assert session_closing.refine(with_model, session_id)


def test_no_long_message_is_repeated_whoever_wrote_the_summary(
    with_model: ContextServices, stub: StubModel, now: Clock
) -> None:
    long = "Please tell me " + "all about retention of pictures " * 8
    stub.reply(words(long))
    session_id = Past(with_model, now).window(long, answers=[LEARNED])
    assert " ".join(long.split()) not in json.dumps(summary_of(with_model, session_id).fields)
    assert session_closing.refine(with_model, session_id)
    assert " ".join(long.split()) not in json.dumps(summary_of(with_model, session_id).fields)


# -- the person's own words ---------------------------------------------------------------------------


def test_an_edited_summary_stays_and_a_retracted_one_is_told_to_nobody(
    past: Past, context: ContextServices, now: Clock
) -> None:
    session_id = past.window(QUESTION)
    fields = {**summary_of(context, session_id).fields, "learned": "It is 30 days."}
    assert chat_summaries.edit(context.database, session_id, fields, now())
    session_closing.summarise(context, [session_id])
    assert summary_of(context, session_id).learned == "It is 30 days."
    assert "It is 30 days." in topics.roll_up(context.database, "recent", now()).lines[0].text
    assert chat_summaries.retract(context.database, session_id, True, now())
    assert topics.roll_up(context.database, "recent", now()).lines == ()
    assert chat_summaries.retract(context.database, session_id, False, now())
    assert len(topics.roll_up(context.database, "recent", now()).lines) == 1
    assert chat_summaries.drop_edits(context.database, session_id)
    look(context)
    assert summary_of(context, session_id).learned != "It is 30 days."
