"""Lines that answer a question: rare words, what stands around them, and the kind of thing asked for."""

from __future__ import annotations

from assistant.retrieval.answer_lines import AnswerType, Screen, answer_type, answering, fitness, terms
from tests.tables import for_each


def best(question: str, *lines: str, title: str = "main.py") -> list[str]:
    return [line.text for line in answering(question, [Screen("e1", title, "\n".join(lines))])]


@for_each(
    ("question", "kind"),
    [
        ("How long did the build take?", AnswerType.DURATION),
        ("How many minutes were lost?", AnswerType.DURATION),
        ("昨晚丢失了多少分钟数据？", AnswerType.DURATION),
        ("When is the boat free?", AnswerType.MOMENT),
        ("Until what time is it open?", AnswerType.MOMENT),
        ("方案什么时候要给出？", AnswerType.MOMENT),
        ("What did I see when I opened it?", AnswerType.ANYTHING),
        ("How far was it off?", AnswerType.MEASURE),
        ("浮标快了多少？", AnswerType.FIGURE),
        ("How many tests failed?", AnswerType.FIGURE),
        ("What is the grand total of the budget?", AnswerType.FIGURE),
        ("What was said about the budget?", AnswerType.ANYTHING),
        ("Why did it get more expensive?", AnswerType.REASON),
        ("为什么变贵了？", AnswerType.REASON),
        ("Where is the harbour?", AnswerType.ANYTHING),
    ],
)
def test_a_question_tells_what_it_asks_for(question: str, kind: AnswerType) -> None:
    assert answer_type(question) is kind


@for_each(
    ("question", "better", "worse"),
    [
        ("How long did it take?", "done in 6.04 s", "done by 5 people"),
        ("How long did it take?", "done by 5 people", "done"),
        ("When is it due?", "by Thursday", "by 400 people"),
        ("At what time is it due?", "at 17:00", "on Thursday"),
        ("How far is it off?", "429 ms ahead", "ticket HAR-318"),
        ("How far is buoy 7 off?", "buoy 7: 7 ms", "buoy 7 is fine"),
        ("How many readings failed?", "19 readings", "19 people"),
        ("采样多少次？", "采样 120 次", "采样 120 秒"),
        ("How many were rejected?", "38 of them", "since 23:40"),
        ("Why is it late?", "because of the storm", "it is late again"),
    ],
)
def test_a_line_with_the_kind_of_thing_asked_for_fits_better(question: str, better: str, worse: str) -> None:
    kind = answer_type(question)
    assert fitness(kind, better, question) > fitness(kind, worse, question)


def test_a_rare_word_counts_more_than_one_on_every_line() -> None:
    lines = best("Which receiver of the buoy is spare?", "the buoy", "a buoy here", "buoys", "spare: LT-0093")
    assert lines == ["spare: LT-0093"]


def test_words_are_compared_by_their_stems_and_short_ones_as_they_are() -> None:
    assert best("When was it approved?", "Approval: Wednesday 11:20", "menu") == ["Approval: Wednesday 11:20"]
    assert best("How far off?", "an offer of 30 ms", "the offset is 3 ms") == []


def test_what_follows_a_question_on_the_screen_answers_it() -> None:
    lines = best(
        "Why is the mooring gear more expensive?",
        "Why is the mooring gear so dear?",
        "Data engineer",
        "Steel went up by 8 %",
        "Fine.",
        "Mooring gear",
    )
    assert lines == ["Steel went up by 8 %"]


def test_a_question_mark_in_an_address_or_a_listing_asks_nothing() -> None:
    assert best("Where is the report?", "https://e.example/?report=7", "?? report/2.txt") == [
        "https://e.example/?report=7",
        "?? report/2.txt",
    ]


def test_the_line_before_says_what_a_line_is_about() -> None:
    question = "What is the latency after the smaller batch?"
    lines = best(
        question, "Before", "latency 900 ms", "Errors: none", "Traffic: none", "After", "latency 300 ms"
    )
    assert lines[-1] == "latency 300 ms"


def test_a_line_that_only_repeats_the_question_answers_nothing() -> None:
    assert best("What does Kelp Instruments offer?", "Kelp Instruments", "Kelp offers ten sensors") == [
        "Kelp offers ten sensors"
    ]


def test_a_thing_with_a_number_is_not_another_one() -> None:
    assert terms("How far is buoy 7 off?") == ("off", "buoy 7")
    assert best("How far is buoy 7 off?", "buoy 3 is 9 ms ahead", "buoy 7 is 429 ms ahead") == [
        "buoy 7 is 429 ms ahead"
    ]
    assert best("Where is buoy 7?", "buoy 70 lies north", "buoy 3 lies south") == []


def test_compounds_are_known_with_other_joints() -> None:
    assert best("What is MAX_DRIFT_MS set to?", "MAX DRIFT_MS = 500", "drift = 1") == ["MAX DRIFT_MS = 500"]
    assert best("To which version do we roll back?", "Rollback is 2.39.3", "menu") == ["Rollback is 2.39.3"]


def test_chinese_is_answered_in_chinese() -> None:
    lines = best(
        "浮标七号的时钟快了多少？", "本周重点是浮标七号的时钟校准。", "浮标七号的时钟又快了 429 毫秒。"
    )
    assert lines == ["浮标七号的时钟又快了 429 毫秒。"]


def test_nothing_is_answered_where_no_line_names_the_matter() -> None:
    assert best("Where is the giraffe?", "a horse", "", "?", title="giraffe.txt") == []
    assert answering("Where is the giraffe?", []) == ()
