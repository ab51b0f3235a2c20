"""Known questions asked again: the judge is right about right and wrong answers, and leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assistant.core.models import ChatModels
from assistant.core.records import TurnResult
from assistant.turns.plan import TurnServices
from bench.evals.answer_check import Case, Checked, Expected, Share, check, of_reports, of_sample, total
from store.chats import conversations, feedback
from store.chats.feedback import WHOLE_ANSWER
from store.core.database import Database, open_database, scalar
from store.core.settings import ChatSettings
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.demo_week import DemoHome
from tests.stub_model import StubModel

pytestmark = pytest.mark.end_to_end

Ask = Callable[..., TurnResult]


def case(**changes: Any) -> Case:
    values: dict[str, Any] = {
        "id": "one", "kind": "facts", "message": "How many sensors are in the budget?",
        "start_ms": START_MS, "end_ms": START_MS + HOUR_MS, "timezone": "Asia/Shanghai", "now_ms": NOW_MS,
        **changes,
    }  # fmt: skip
    return Case(**values)


@pytest.fixture
def budget(afternoon: Afternoon) -> int:
    """A frame that says the answer, and two that do not."""
    shown = afternoon.show(5, "The budget has 12 sensors at EUR 1,840")
    afternoon.show(20, "The budget meeting is in room 9")
    afternoon.show(40, "Lunch menu: fish")
    return shown.id


def expects(frame_id: int, text: str = "12 sensors at EUR 1,840") -> dict[str, Any]:
    return {"expected": (Expected(text, frozenset({frame_id})),), "right": frozenset({frame_id})}


@pytest.mark.parametrize(
    ("answer", "quote", "cites", "is_right"),
    [
        ("The budget has 12 sensors at EUR 1,840 [[e1]].", "12 sensors at EUR 1,840", "e1", True),
        ("There are 12 sensors, each EUR 1,840 [[e1]].", "The budget", "e1", True),
        ("The budget is about sensors [[e1]].", "12 sensors at EUR 1,840", "e1", True),
        ("There are 13 sensors at EUR 1,840 [[e1]].", "The budget has", "e1", False),
        ("It has 12 sensors at EUR 1,840 [[e2]].", "room 9", "e2", False),
        ("It has 12 sensors at EUR 1,840.", "", "", False),
    ],
)
def test_a_fact_is_told_when_it_stands_in_the_answer_and_its_frame_is_cited(
    deps: TurnServices, stub: StubModel, budget: int, answer: str, quote: str, cites: str, is_right: bool
) -> None:
    stub.reply(reply(answer, *([(cites, quote)] if cites else [])))
    checked = check(deps, case(**expects(budget)))
    assert (checked.is_right, checked.coverage) == (is_right, Share(int(is_right), 1))
    if cites:
        assert checked.precision == Share(int(cites == "e1"), 1)


def test_nothing_is_left_behind(deps: TurnServices, database: Database, stub: StubModel, budget: int) -> None:
    stub.reply(reply("The budget has 12 sensors at EUR 1,840 [[e1]].", ("e1", "12 sensors at EUR 1,840")))
    check(deps, case(**expects(budget)))
    assert conversations.list_chats(database) == []
    with database.read() as connection:
        for table in ("turns", "evidence", "messages", "memory_documents"):
            assert scalar(connection, f"select count(*) from {table}") == 0


def test_a_gap_is_right_when_the_coverage_says_why(deps: TurnServices, afternoon: Afternoon) -> None:
    afternoon.show(5, "something")
    gap = {"kind": "gap", "message": "What did I do?", "start_ms": START_MS + HOUR_MS, "end_ms": NOW_MS}
    assert check(deps, case(**gap, reason="not_running")).is_right
    wrong = check(deps, case(**gap, reason="locked"))
    assert (wrong.is_right, wrong.why) == (False, "does not say that the time is missing (locked)")


def test_an_answer_to_what_never_was_is_wrong(deps: TurnServices, stub: StubModel, budget: int) -> None:
    """An admission is right, by the model or by the coverage; silence about it is not."""
    nothing = case(kind="not_found", message="Who pays for the budget?")
    stub.reply(reply("I found no payer on these screens."))
    for _ in range(2):
        stub.reply(reply("Somebody pays [[e1]].", ("e1", "The budget has 12 sensors")))
    assert check(deps, nothing).is_right
    checked = check(deps, nothing)
    assert (checked.is_right, checked.precision) == (False, Share(0, 1))
    unseen = check(deps, case(kind="not_found", message="Which flight to Reykjavik?"))
    assert (unseen.is_right, unseen.precision) == (True, Share())


def test_a_turn_that_fails_is_not_right_and_says_why(
    deps: TurnServices, stub: StubModel, budget: int
) -> None:
    stub.fail(401)
    checked = check(deps, case(**expects(budget)))
    assert not checked.is_right
    assert checked.why
    assert check(deps, case(timezone="Mars/Base")).why


def test_figures_add_up_over_a_run() -> None:
    run = [
        Checked("a", "facts", "?", True, "", Share(2, 2), Share(1, 1), Share(1, 1)),
        Checked("b", "facts", "?", False, "no", Share(1, 4), Share(0, 3), Share(0, 1)),
    ]
    figures = total(run)
    assert (figures.right.value, figures.groundedness.value) == (0.5, 0.5)
    assert (figures.precision.value, figures.coverage.value) == (0.25, 0.5)
    assert total([]).right.value is None


# -- what a person reported ---------------------------------------------------------------


def test_a_wrong_source_is_a_case_until_it_is_cited_no_more(
    deps: TurnServices, database: Database, stub: StubModel, ask: Ask, budget: int
) -> None:
    for _ in range(2):
        stub.reply(reply("It has 9 sensors [[e2]].", ("e2", "room 9")))
    stub.reply(reply("It has 12 sensors [[e1]].", ("e1", "12 sensors")))
    asked = ask("How many sensors?", end_ms=START_MS + HOUR_MS)
    wrong = next(item.frame_id for item in asked.evidence if item.n == 1)
    feedback.report(database, asked.chat_id, asked.turn_id, 1, "wrong", "", NOW_MS)
    (found,) = of_reports(database)
    assert (found.message, found.start_ms, found.wrong) == ("How many sensors?", START_MS, {wrong})
    assert check(deps, found).why == "cites a source that was reported as wrong"
    assert check(deps, found).is_right
    assert [chat.id for chat in conversations.list_chats(database)] == [asked.chat_id]


def test_a_right_answer_keeps_its_sources(
    deps: TurnServices, database: Database, stub: StubModel, ask: Ask, budget: int
) -> None:
    good = reply("It has 12 sensors [[e1]], near room 9 [[e2]].", ("e1", "12 sensors"), ("e2", "room 9"))
    stub.reply(good).reply(reply("Fish [[e3]].", ("e3", "fish")))
    asked = ask("How many sensors?", end_ms=START_MS + HOUR_MS)
    feedback.report(database, asked.chat_id, asked.turn_id, WHOLE_ANSWER, "right", "", NOW_MS)
    feedback.report(database, asked.chat_id, asked.turn_id, 2, "wrong", "", NOW_MS)
    (found,) = of_reports(database)
    assert (found.right, len(found.wrong)) == ({budget}, 1)
    checked = check(deps, found)
    assert (checked.why, checked.coverage) == ("no longer cites a source that was right", Share(0, 1))


def test_a_verdict_without_frames_is_no_case(
    database: Database, stub: StubModel, ask: Ask, budget: int
) -> None:
    stub.reply(reply("I found nothing."))
    asked = ask("How many sensors?")
    feedback.report(database, asked.chat_id, asked.turn_id, WHOLE_ANSWER, "wrong", "", NOW_MS)
    assert list(of_reports(database)) == []


# -- the sample week ----------------------------------------------------------------------


@pytest.fixture
def sample(demo_copy: DemoHome) -> Iterator[TurnServices]:
    database = open_database(demo_copy.data_dir)
    yield TurnServices(database, ChatModels(ChatSettings(), {}), lambda: demo_copy.week.end_ms)
    database.close_thread()


def test_the_sample_week_is_answered_from_its_own_frames(sample: TurnServices, demo_copy: DemoHome) -> None:
    cases = {one.id: one for one in of_sample(demo_copy.week)}
    checked = {name: check(sample, one) for name, one in cases.items()}
    assert {"facts", "not_found"} <= {one.kind for one in checked.values()}
    for name in ("2026-11-16/drift_since", "2026-11-16/budget_due", "2026-11-16/max_drift"):
        assert checked[name].is_right, checked[name]
    grounded = total(checked.values()).groundedness.value
    assert grounded is not None
    assert grounded >= 0.9


def test_the_judge_is_not_satisfied_by_another_figure(sample: TurnServices, demo_copy: DemoHome) -> None:
    """The same questions with other answers planted: none of them may pass."""
    for one in of_sample(demo_copy.week):
        changed = tuple(Expected(f"{e.text} 4711", e.frame_ids) for e in one.expected)
        if changed:
            assert not check(sample, Case(**{**fields_of(one), "expected": changed})).is_right


def fields_of(one: Case) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}
