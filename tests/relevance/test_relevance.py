"""The relevance set is what it says it is, and search by words reaches its goal where words suffice."""

from __future__ import annotations

from store.core.database import Database
from store.search.search import search
from tests.factories import NOON_MS
from tests.relevance import held_out
from tests.relevance.metrics import ndcg, precision, recall
from tests.relevance.screens import relevance_set
from tests.store.search.searching import ALWAYS, add_frame
from tests.tables import for_each


def test_the_set_is_large_the_same_each_time_and_in_two_languages() -> None:
    found = relevance_set()
    assert len(found.texts) >= 5_000
    assert len(found.questions) >= 200
    assert {question.language for question in found.questions} == {"en", "zh"}
    assert found == relevance_set() != relevance_set(seed=6)


def test_every_question_has_answers_and_graded_ones() -> None:
    for question in relevance_set().questions:
        assert sum(grade == 2 for grade in question.grades.values()) >= 30
        assert set(question.grades.values()) <= {1, 2}


def test_no_two_questions_are_the_same() -> None:
    texts = [question.text for question in relevance_set().questions]
    assert len(texts) == len(set(texts))


@for_each(
    ("ranked", "expected"),
    [
        ([1, 2, 3], (0.3, 1.0, 1.0)),
        ([], (0.0, 0.0, 0.0)),
        ([9, 8, 7], (0.0, 0.0, 0.0)),
        ([3, 1, 2], (0.3, 1.0, 0.8146)),
    ],
)
def test_metrics(ranked: list[int], expected: tuple[float, float, float]) -> None:
    grades = {1: 2, 2: 2, 3: 1}
    found = (precision(ranked, grades), recall(ranked, grades), round(ndcg(ranked, grades), 4))
    assert found == expected


def test_held_out_questions_have_one_line_each_among_all() -> None:
    questions, lines = held_out.questions(), held_out.lines()
    assert (len(questions), len(lines), len(set(lines))) == (60, 600, 600)
    assert len({each.line for each in questions} & set(lines)) == len(questions)
    assert {each.written_in for each in questions} == {"en", "zh", "ja", "de", "fr", "es", "ko", "ru"}
    assert lines == held_out.lines()


def test_words_find_what_holds_the_words(database: Database) -> None:
    """For questions in the words of the screens, over a part of the set."""
    whole = relevance_set()
    asked = [question for question in whole.questions if question.kind == "words"][::7]
    wanted = {number for question in asked for number in question.grades}
    with database.write() as connection:
        made = {
            add_frame(connection, whole.texts[number], NOON_MS + number): number for number in sorted(wanted)
        }
    for question in asked:
        page = search(database, question.text, ALWAYS, mode="fts", limit=10)
        ranked = [made[hit.frame_id] for hit in page.hits]
        assert precision(ranked, question.grades) >= 0.7, question.text
