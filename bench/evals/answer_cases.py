"""Questions to be asked again, and what is known about their answers.

Two sets: the sample week's own questions, whose answers were planted, and the turns a person said
something about (`store.chats.feedback`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from assistant.core.records import TurnFilters
from assistant.turns import stored_turns
from store.chats import feedback
from store.chats.feedback import WHOLE_ANSWER, ReportedTurn
from store.core.database import Database
from store.timeline.sample_week import Question, SampleWeek

Kind = Literal["facts", "gap", "not_found", "reported"]

_DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Expected:
    """A text that the answer should give, and the frames that show it."""

    text: str
    frame_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A question as it is asked again, at the asker's time, with what a right answer does.

    ``facts``: it gives the texts of `expected` and cites their frames. ``gap``: it cites nothing, and
    the coverage says `reason`. ``not_found``: it says that no frame holds what was asked for.
    ``reported``: it cites all of `right` and none of `wrong`.
    """

    id: str
    kind: Kind
    message: str
    start_ms: int
    end_ms: int
    timezone: str
    now_ms: int
    filters: TurnFilters = field(default_factory=TurnFilters)
    expected: tuple[Expected, ...] = ()
    reason: str = ""
    right: frozenset[int] = frozenset()
    wrong: frozenset[int] = frozenset()


def of_sample(week: SampleWeek) -> Iterator[Case]:
    """The questions of a sample week, asked the day after it."""
    for question in week.questions:
        expected = tuple(
            Expected(
                text,
                frozenset(
                    frame.frame_id for name in question.scenes for frame in week.scene(name).showing(text)
                ),
            )
            for text in question.expects
        )
        yield _sample_case(question, week, expected)


def _sample_case(question: Question, week: SampleWeek, expected: tuple[Expected, ...]) -> Case:
    return Case(
        question.id, question.kind, question.message, question.start_ms, question.end_ms, week.timezone,
        week.end_ms + _DAY_MS, expected=expected, reason=question.reason,
        right=frozenset(frame_id for one in expected for frame_id in one.frame_ids),
    )  # fmt: skip


def of_reports(database: Database) -> Iterator[Case]:
    """The turns that were reported on and can still be judged: some frame is known right or wrong."""
    for reported in feedback.reported_turns(database):
        right, wrong = _frames(reported)
        if right or wrong:
            turn = stored_turns.result(reported.turn)
            queries = turn.coverage.queries
            yield Case(
                f"chat {turn.chat_id}, answer {turn.turn_id}", "reported", turn.question, turn.start_ms,
                turn.end_ms, turn.timezone, turn.created_ms, queries[0].filters if queries else TurnFilters(),
                right=right, wrong=wrong,
            )  # fmt: skip


def _frames(reported: ReportedTurn) -> tuple[frozenset[int], frozenset[int]]:
    """(right, wrong) frames. An answer that is right as a whole has right sources, but for those that
    were reported.
    """
    verdicts = {report.n: report.verdict for report in reported.reports}
    right: set[int] = set()
    wrong: set[int] = set()
    for item in reported.turn.evidence:
        verdict = verdicts.get(item.n or -1)
        if verdict is None and item.n is not None and verdicts.get(WHOLE_ANSWER) == "right":
            verdict = "right"
        if item.frame_id is not None and verdict is not None:
            (right if verdict == "right" else wrong).add(item.frame_id)
    return frozenset(right - wrong), frozenset(wrong)
