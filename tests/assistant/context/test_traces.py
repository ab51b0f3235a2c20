"""Where each sentence of a summary is from: known of rules, found by words of a model's and a person's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assistant.context import session_summary
from assistant.context.session_closing import ContextServices
from store.chats.records import StoredEvidence
from store.core.paths import DataDir
from store.memory import chat_summaries
from store.memory.chat_summaries import ChatSummary, SessionTurn, Trace, Traces
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each

QUESTION = "What did I set retention to?"
LEARNED = "You set retention to 14 days."


def summary_of(context: ContextServices, session_id: int) -> ChatSummary:
    return chat_summaries.get(context.database, [session_id])[session_id]


def said(
    summary: ChatSummary, traces: Traces
) -> dict[str, list[tuple[str, tuple[int, ...], tuple[int, ...]]]]:
    """Each traced sentence with its questions and frames, by field."""
    return {
        name: [
            ((summary.fields[name] or "")[each.start : each.end], each.turns, each.frames) for each in found
        ]
        for name, found in traces.items()
    }


def test_rules_know_the_question_and_the_frame_of_each_sentence(
    past: Past, context: ContextServices, data_dir: DataDir
) -> None:
    frame = store_frame(context.database, data_dir, NOON_MS - 1_000, "retention 14 days").id
    evidence = [StoredEvidence(1, frame, NOON_MS, app_name="Code", state="found")]
    answers = [LEARNED, "Because the disk is small."]
    session_id = past.window(QUESTION, "And why?", answers=answers, evidence=evidence)
    summary = summary_of(context, session_id)
    assert summary.traces is not None
    assert said(summary, summary.traces) == {
        "request": [(QUESTION, (1,), ()), ("And why?", (2,), ())],
        "investigated": [("Looked at Code.", (1, 2), ())],
        "learned": [(LEARNED, (1,), (frame,)), (answers[1], (2,), (frame,))],
    }


def test_that_nothing_was_answered_is_known_of_what_was_asked() -> None:
    failed = replace(TURNS[0], status="failed", answer_md="")
    found = session_summary.pieces([failed])
    assert found["completed"] == []
    assert [each.turns for each in found["next_steps"]] == [(1,)]


def test_a_field_has_the_lines_that_say_most(past: Past, context: ContextServices) -> None:
    long = [f"The retention of part {n} " + "is kept for a while " * 9 + "there." for n in range(9)]
    summary = summary_of(context, past.window(*"abcdefghi", answers=long))
    assert summary.learned is not None and summary.traces is not None and len(summary.learned) <= 1_200
    spans = [summary.learned[each.start : each.end] for each in summary.traces["learned"]]
    assert spans == summary.learned.split("\n") and len(spans) > 3


def turn(n: int, question: str, answer: str, *, state: str = "found", **more: Any) -> SessionTurn:
    claims = [{"text": answer, "citations": [1], "state": state}]
    return SessionTurn(
        n, n, "done", "stub", question, answer, {"claims": claims}, (), (), {1: 1000 + n}, 0, **more
    )


TURNS = [
    turn(1, "What did I set retention to?", "You set retention to 14 days."),
    turn(2, "Which invoice came from Wagner?", "Invoice 4711 over 250 euros.", state="no_evidence"),
    turn(3, "我把保留策略设成多少?", "保留策略是十四天。"),
]


def test_an_insight_is_called_by_its_title_and_its_label_is_no_word_of_the_person() -> None:
    told = turn(1, "What was I doing here? 20 Nov 2026 13:00", "It is live.", insight="A quiet launch")
    fields, _ = session_summary.summary_by_rules([told])
    assert (fields["request"], fields["completed"]) == ("A quiet launch", None)


@for_each(
    ("sentence", "turns", "frames"),
    [
        ("Retention was set to 14 days.", (1,), (1001,)),
        ("Wagner's invoice 4711 is over 250 euros.", (2,), ()),  # what is not proven names no frame
        ("保留策略设成十四天。", (3,), (1003,)),
        ("The weather was lovely in Rome.", (), ()),
        ("Retention.", (), ()),  # one word says too little
        ("Retention and all the other unrelated matters discussed elsewhere.", (), ()),
    ],
)
def test_what_a_model_wrote_is_found_by_its_words_or_not_traced(
    sentence: str, turns: tuple[int, ...], frames: tuple[int, ...]
) -> None:
    found = session_summary.trace_by_words({"learned": sentence}, TURNS)
    assert found == {"learned": (Trace(0, len(sentence), turns, frames),)}


def test_each_sentence_of_a_model_is_traced_by_itself() -> None:
    text = "Retention was set to 14 days. Invoice 4711 of Wagner came, too. All is well."
    found = session_summary.trace_by_words({"learned": text, "notes": None}, TURNS)
    assert [(text[each.start : each.end], each.turns) for each in found["learned"]] == [
        ("Retention was set to 14 days.", (1,)),
        ("Invoice 4711 of Wagner came, too.", (2,)),
        ("All is well.", ()),
    ]
    assert "notes" not in found


def test_an_older_summary_and_a_persons_words_are_traced_when_they_are_looked_at(
    past: Past, context: ContextServices
) -> None:
    session_id = past.window(QUESTION, answers=[LEARNED])
    with context.database.write() as connection:
        connection.execute("update chat_summaries set traces = null")  # as those before the migration
    summary = summary_of(context, session_id)
    turns = chat_summaries.summary_input(context.database, session_id)
    assert said(summary, session_summary.of_summary(summary, turns))["learned"] == [(LEARNED, (1,), ())]
    fields = {**summary.fields, "learned": "Ask Anna about it."}
    assert chat_summaries.edit(context.database, session_id, fields, NOON_MS)
    edited = summary_of(context, session_id)
    assert said(edited, session_summary.of_summary(edited, turns))["learned"] == [
        ("Ask Anna about it.", (), ())
    ]


def test_traces_hold_no_words(past: Past, context: ContextServices) -> None:
    session_id = past.window("Where is the zeppelin?", answers=["The zeppelin is in Delft."])
    with context.database.read() as connection:
        [(kept,)] = connection.execute(
            "select traces from chat_summaries where session_id = ?", (session_id,)
        ).fetchall()
    assert "zeppelin" not in kept and "Delft" not in kept
