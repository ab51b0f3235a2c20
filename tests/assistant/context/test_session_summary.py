"""What rules say that a chat came to."""

from __future__ import annotations

from dataclasses import replace

from assistant.context import session_summary
from assistant.context.session_closing import ContextServices
from store.chats.records import StoredEvidence
from store.core.paths import DataDir
from store.memory import chat_summaries
from store.memory.chat_summaries import SessionTurn
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS, store_frame

QUESTION = "What did I set retention to?"
LEARNED = "You set retention to 14 days."
CLAIM = {"text": LEARNED, "citations": [1], "state": "found"}
TURN = SessionTurn(1, 1, "done", "stub", QUESTION, LEARNED, {"claims": [CLAIM]}, (), 0)


def test_each_field_has_its_sentences(past: Past, context: ContextServices, data_dir: DataDir) -> None:
    frame = store_frame(context.database, data_dir, NOON_MS - 1_000, "retention 14 days").id
    evidence = [StoredEvidence(1, frame, NOON_MS, app_name="Code", state="found")]
    because = "Because the disk is small."
    session_id = past.window(QUESTION, "And why?", answers=[LEARNED, because], evidence=evidence)
    fields = chat_summaries.get(context.database, [session_id])[session_id].fields
    assert {name: text for name, text in fields.items() if text} == {
        "request": f"{QUESTION}\nAnd why?",
        "investigated": "Looked at Code.",
        "learned": f"{LEARNED}\n{because}",
    }


def test_that_nothing_was_answered_is_known_of_what_was_asked() -> None:
    fields = session_summary.summary_by_rules([replace(TURN, status="failed", answer_md="")])
    assert (fields["completed"], fields["next_steps"]) == (None, f"Not answered: {QUESTION}")


def test_a_field_has_the_lines_that_say_most(past: Past, context: ContextServices) -> None:
    long = [f"The retention of part {n} " + "is kept for a while " * 9 + "there." for n in range(9)]
    session_id = past.window(*"abcdefghi", answers=long)
    learned = chat_summaries.get(context.database, [session_id])[session_id].learned
    assert learned is not None and len(learned) <= 1_200
    assert len(learned.split("\n")) > 3 and set(learned.split("\n")) <= set(long)


def test_an_insight_is_called_by_its_title_and_its_label_is_no_word_of_the_person() -> None:
    told = replace(TURN, question="What was I doing here? 20 Nov 2026 13:00", insight="A quiet launch")
    fields = session_summary.summary_by_rules([told])
    assert (fields["request"], fields["completed"]) == ("A quiet launch", None)


def test_a_chat_is_called_by_what_it_is_about_and_tells_no_empty_sentence(
    past: Past, context: ContextServices
) -> None:
    begun = "The neighbour sells a tank of 500 litres. Good?"
    session_id = past.window(begun, "Why?", answers=["New ones cost 110.", ""])
    summary = chat_summaries.get(context.database, [session_id])[session_id]
    assert summary.request == f"{begun}\nWhy?"
    assert all(said.text for said in session_summary.sentences(summary))
