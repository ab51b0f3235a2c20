"""What a window is about: found, kept, drifting, corrected, dismissed."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.context import background, topics
from assistant.context.background import ContextRequest
from assistant.context.session_closing import ContextServices
from assistant.context.topics import Topic
from store.chats import conversations
from store.memory import chat_digests, chat_sessions, chat_summaries
from tests.assistant.context.helpers import Past
from tests.factories import Clock
from tests.tables import for_each

RETENTION = [
    "What did I set retention to?",
    "Who changed the retention policy?",
    "Is the retention policy final?",
]
INVOICE = ["Where is the invoice of Wagner?", "How much was the invoice?", "Did I pay that invoice?"]


def decided(
    context: ContextServices, messages: list[str], metadata: dict[str, Any] | None = None, session_id: int = 0
) -> Topic | None:
    return topics.decide_topic(context.database, session_id, metadata or {}, messages, context.clock(), 60.0)


def test_the_best_word_of_the_first_questions_is_the_topic(context: ContextServices) -> None:
    found = decided(context, RETENTION)
    assert found is not None
    assert (found.tag, found.title, found.score) == ("retention", "Retention policy", 0.5)


def test_below_the_threshold_there_is_none(context: ContextServices) -> None:
    scattered = ["the weather", "a train ticket", "some sketch", "an album", "one recipe"]
    assert decided(context, scattered) is None
    assert decided(context, ["what did I do", "and then"]) is None


def test_of_words_that_are_as_sure_none_is_the_topic_but_what_earlier_chats_were_about(
    past: Past, context: ContextServices
) -> None:
    asked = ["What had we settled about the garden pond?"]
    assert decided(context, asked) is None
    past.window("Which pump fits the garden pond?", "Who digs the garden pond?")
    found = decided(context, asked)
    assert found is not None and (found.tag, found.title) == ("garden pond", "Garden pond")


def test_what_earlier_chats_were_about_makes_it_surer(past: Past, context: ContextServices) -> None:
    messages = ["the weather", "a train ticket", "some sketch"]
    before = topics.scores(context.database, messages, None)["sketch"]
    for _ in range(4):
        past.window("my sketch of the house")
    after = topics.scores(context.database, messages, None)["sketch"]
    assert before < topics.THRESHOLD < after


def test_the_topic_drifts_and_waits_for_the_cooldown(context: ContextServices, now: Clock) -> None:
    first = decided(context, RETENTION)
    assert first is not None
    kept = {"topic": first.to_json()}
    assert decided(context, RETENTION + INVOICE, kept) == first  # too soon
    now.now_ms += 60_000
    drifted = decided(context, RETENTION + INVOICE, kept)
    assert drifted is not None and (drifted.tag, drifted.since_ms) == ("invoice", now())
    assert decided(context, [*RETENTION, INVOICE[0]], kept) == first  # one question is no drift


def test_a_digest_is_made_kept_and_made_again(past: Past, context: ContextServices, now: Clock) -> None:
    one = past.window("What did I set retention to?", answers=["It is 14 days."])
    topic = Topic("retention", "Retention", 0.5, "inferred", now())

    def digest(topic: Topic) -> list[int]:
        lines = topics.digest(context.database, topic.tag, topic.title, topic.score, now())
        return [session for line in lines for session in line.sessions]

    assert digest(topic) == [one]  # it was missing
    stored = chat_digests.topic(context.database, "retention")
    assert stored is not None
    assert (stored.title, stored.expires_ms - now()) == ("Retention", 24 * 3_600_000)
    two = past.window("And retention of text?")
    assert digest(topic) == [two, one]  # its chats have changed
    chat_summaries.put_empty(context.database, one)
    assert digest(topic) == [two]
    chat_summaries.put_empty(context.database, two)
    assert [each.topic for each in topics.renewed(context.database, now())] == []  # nothing is left of it


def test_chats_about_one_thing_make_a_topic_of_several_words(past: Past, context: ContextServices) -> None:
    past.window("Who pays for the garden party?", answers=["The parish does."])
    past.window("When is the garden party?", answers=["On Thursday at half six."])
    [topic] = chat_digests.topics(context.database)
    assert topic.title == "Garden party"
    assert [len(line.sessions) for line in topic.lines] == [1, 1]
    assert "On Thursday at half six." in topic.lines[0].text


def test_a_topic_is_what_answers_speak_of_too_and_no_second_name_of_the_same_chats(
    past: Past, context: ContextServices
) -> None:
    past.window("What is wrong with buoy 7?", answers=["Buoy 7 is ahead by 429 ms."])
    past.window("What went wrong with buoy 9?", answers=["The mast of buoy 9 broke."])
    assert [topic.title for topic in chat_digests.topics(context.database)] == ["Buoy"]
    past.window("What is wrong with the printer?", answers=["The printer is out of paper."])
    assert [topic.title for topic in chat_digests.topics(context.database)] == ["Buoy"]
    past.window("Who oils the crane winch?", answers=["Ole oils the crane, and the winch."])
    past.window("Does the winch of the crane hold?", answers=["The winch holds 2 t, the crane 3 t."])
    assert len(chat_digests.topics(context.database)) == 2


def test_the_person_chooses_or_dismisses(past: Past, context: ContextServices, now: Clock) -> None:
    session_id = past.window(*RETENTION, closed=False)
    session = chat_sessions.get(context.database, session_id)
    assert session is not None and session.chat_id is not None
    database, chat_id = context.database, session.chat_id

    def after(way: str, title: str = "") -> Topic | None:
        assert topics.choose(database, chat_id, way, title, now())
        kept = chat_sessions.get(database, session_id)
        assert kept is not None
        return decided(context, RETENTION, dict(kept.metadata), session_id)

    chosen = after("chosen", "How long we keep frames")
    assert chosen is not None and (chosen.title, chosen.by) == ("How long we keep frames", "person")
    now.now_ms += 3_600_000
    assert decided(context, INVOICE, {"topic": chosen.to_json()}) == chosen  # it does not drift
    assert after("none") is None
    found = after("automatic")
    assert found is not None and (found.title, found.by) == ("Retention policy", "inferred")
    assert not topics.choose(database, 999, "none", "", now())


@pytest.mark.parametrize("way", ["chosen", "none"])
def test_what_the_person_chose_while_a_question_was_prepared_stays(
    past: Past, context: ContextServices, now: Clock, way: str
) -> None:
    session_id = past.window("What about the retention?", closed=False)
    session = chat_sessions.get(context.database, session_id)
    assert session is not None and session.chat_id is not None
    asked = ContextRequest("Is the retention final?", session.chat_id, session_id, background.VERSION)
    prepared = background.prepare(context, asked)
    assert prepared.topic is not None and prepared.topic.by == "inferred"
    topics.choose(context.database, session.chat_id, way, "Mine", now())
    turn = conversations.turns(context.database, session.chat_id)[-1]
    background.note(context, prepared, turn)
    metadata = chat_sessions.get(context.database, session_id).metadata  # type: ignore[union-attr]
    topic = topics.topic_of_session(metadata)
    assert topics.is_dismissed(metadata) if way == "none" else topic is not None and topic.title == "Mine"


def test_a_topic_that_was_dismissed_for_good_is_never_found_again(
    context: ContextServices, now: Clock
) -> None:
    with context.database.write() as connection:
        chat_digests.put_topic(connection, "retention", "Retention", (), 0.5, now(), now())
    known = chat_digests.topic(context.database, "retention")
    assert known is not None
    chat_digests.dismiss_topic(context.database, known.id, True)
    found = decided(context, RETENTION)
    assert found is None or found.tag != "retention"


@for_each("messages", [[], [""], ["。"], ["?" * 500], ["\x00\ud800 retention"]])
def test_odd_questions_have_a_topic_or_none(context: ContextServices, messages: list[str]) -> None:
    decided(context, messages)
