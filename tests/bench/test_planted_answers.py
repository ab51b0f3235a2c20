"""Planted answers over the sample week: what is false is flagged, what is true is not (issue 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

import pytest

from bench.planted import Answer, answers, names, variants
from bench.planted.asking import ASKED
from bench.planted.judging import Tally, judge
from bench.planted.screens import ZONE, Screen, fill, measured, values
from ingest.demo import drawing
from ingest.demo.story import story
from store.core.database import Database, open_database
from store.core.paths import DataDir

pytestmark = pytest.mark.end_to_end

BOUND = 0.03
_TUNED = ("english", "chinese", "more", "fresh")
_FREE = ("paraphrased", "kept_back", "sealed2")
_MODEL = ("model_dev",)


@dataclass(frozen=True)
class Week:
    """The scenes in a database, the answers written about them, and what the program made of those."""

    database: Database
    screens: dict[str, Screen]
    written: list[Answer]
    tally: Tally


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    database = open_database(DataDir(tmp_path_factory.mktemp("planted") / "home").create())
    screens = fill(database)
    told = values() | measured(database, screens)
    sets = chain.from_iterable(answers(name, told) for name in _TUNED)
    written = [answer for answer in sets if set(answer.scenes) <= set(screens)]
    yield Week(database, screens, written, judge(database, screens, ZONE, written))
    database.close_thread()


def test_planted_answers_are_judged_within_the_bounds(week: Week) -> None:
    made = islice(
        variants(week.written), 0, None, 5
    )  # five and the four kinds: some of each; the bench has all
    tally = week.tally + judge(week.database, week.screens, ZONE, made)
    told = "\n".join(tally.misses)
    assert tally.answers >= (300 if drawing.find_fonts().chinese else 250)
    assert tally.dropped_ids == tally.planted_ids > 20, told
    assert tally.found_quotes > 100, told
    assert tally.precision == 1, told
    assert tally.recall >= 0.95, told
    assert tally.false_alarms <= BOUND, told
    assert tally.silent_flagged == 0, told


def test_written_answers_alone_are_judged_within_the_bounds(week: Week) -> None:
    """Those made of the right ones are many and easy: they may not hide what the others show."""
    told = "\n".join(week.tally.misses)
    assert week.tally.recall >= 0.95, told
    assert week.tally.false_alarms <= BOUND, told


def test_answers_as_a_model_gives_them_are_judged_within_the_bounds(week: Week) -> None:
    """Over the drawn frames: the quotes that were copied from a reading's slips do not stand there."""
    told = values() | measured(week.database, week.screens)
    found = islice(chain.from_iterable(answers(name, told) for name in _MODEL), 0, None, 2)
    tally = judge(week.database, week.screens, ZONE, [a for a in found if set(a.scenes) <= set(week.screens)])
    misses = "\n".join(tally.misses)
    assert tally.dropped_ids == tally.planted_ids > 5, misses
    assert tally.precision == 1, misses
    assert tally.recall >= 0.95, misses
    assert tally.false_alarms <= BOUND, misses
    assert tally.silent_flagged == 0, misses


def test_every_quote_in_the_set_stands_where_it_says(week: Week) -> None:
    """The verdicts of the set are its authors': here what they say of quotes is held to the screens."""
    told = values() | measured(week.database, week.screens)
    free = chain.from_iterable(answers(name, told) for name in _FREE)
    found = [*week.written, *(answer for answer in free if set(answer.scenes) <= set(week.screens))]
    assert names(found) - {"on_call"} <= set(week.screens)
    for answer in found:
        for quote in answer.quotes:
            shown = " ".join(" ".join(week.screens[quote.scene].lines).split())
            stands = " ".join(quote.words.split()) in shown
            assert stands == quote.stands or answer.kind == "repaired-quote", (answer.kind, quote)


def test_every_other_question_asks_for_facts_of_its_scene() -> None:
    for asked in ASKED:
        assert bool(asked.scene) == bool(asked.facts)
        if asked.scene:
            assert set(asked.facts) <= {fact.id for fact in story().scenes[asked.scene].facts}, asked.message
