"""Vectors as rows, their queue, and the index of their signs."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from store.core.database import Database, rows, scalar
from store.embeddings import coding, knn, sign_index, vectors
from store.embeddings.knn import RetrievalQuery, SemanticUnavailable
from store.embeddings.sign_index import SignIndex
from tests.meanwhile import Beside
from tests.store.search.plans import plans
from tests.store.search.searching import add_frame
from tests.tables import for_each

RNG = np.random.default_rng(7)
D = 96


def directions(number: int, dimension: int = D) -> np.ndarray:
    found = RNG.normal(size=(number, dimension)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def fill(database: Database, made: np.ndarray, *, step: int = 1, model: str = "m") -> None:
    """One chunk for each thing, their ids in steps."""
    with database.write() as connection:
        for number, vector in enumerate(vectors.quantize(made)):
            vectors.add(connection, "document", number * step, model, [(0, 1, vector)])


def model_of(database: Database) -> vectors.Model:
    [found] = vectors.models(database)
    return found


def near_ids(
    database: Database, query: np.ndarray, *, above_chance: bool = True, **options: object
) -> list[int]:
    asked = RetrievalQuery("", query, "m")
    found = knn.nearest(database, "document", asked, **options)  # type: ignore[arg-type]
    return [near.id for near in found if near.stands_out or not above_chance]


# -- rows and the queue -------------------------------------------------------------------


@given(
    arrays.arrays(
        np.float32, (3, 8), elements=st.floats(-1, 1, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)
    )
)
def test_bytes_keep_the_direction(made: np.ndarray) -> None:
    if (np.abs(made).max(axis=1) == 0).any():
        with pytest.raises(ValueError, match="direction"):
            vectors.quantize(made)
        return
    kept = vectors.quantize(made).astype(np.float64)
    cosines = (kept * made).sum(axis=1) / np.linalg.norm(kept, axis=1) / np.linalg.norm(made, axis=1)
    assert cosines.min() > 0.999


def test_things_wait_newest_first_until_they_have_vectors(database: Database) -> None:
    vectors.activate_model(database, "m", D)
    with database.write() as connection:
        ids = [add_frame(connection, f"text {n}", 1_000 + n) for n in range(3)]
    assert vectors.missing(database, "frame", "m", 2) == [ids[2], ids[1]]
    with database.write() as connection:
        vectors.add(connection, "frame", ids[2], "m", [])
    assert vectors.missing(database, "frame", "m", 9) == [ids[1], ids[0]]
    assert vectors.count_missing(database) == 2
    assert vectors.count_missing(database, at_most=1) == 1


def test_what_waits_is_asked_of_the_active_model_only(database: Database) -> None:
    vectors.activate_model(database, "m", D)
    with pytest.raises(ValueError, match="not the active model"):
        vectors.missing(database, "frame", "other", 1)


def test_vector_of_another_dimension_is_refused(database: Database) -> None:
    fill(database, directions(1))
    with database.write() as connection, pytest.raises(ValueError, match=r"int8\[96\]"):
        vectors.add(connection, "document", 1, "m", [(0, 1, np.ones(3, np.int8))])


def test_change_of_model_queues_what_has_none_of_it(database: Database) -> None:
    fill(database, directions(3))
    assert vectors.activate_model(database, "m", D) == 0
    assert vectors.activate_model(database, "new", 8) == 3
    assert vectors.activate_model(database, "new", 8) == 0
    with database.write() as connection:
        vectors.add(connection, "document", 2, "new", [(0, 1, np.ones(8, np.int8))])
    assert vectors.activate_model(database, "m", D) == 1  # the other two are still there


def test_model_with_another_dimension_loses_its_vectors(database: Database) -> None:
    fill(database, directions(2))
    vectors.activate_model(database, "m", 8)
    with database.read() as connection:
        assert rows(connection, "select * from vectors") == []
    assert model_of(database).dimension == 8


def test_vectors_are_looked_up_by_their_thing(database: Database) -> None:
    fill(database, directions(3))
    steps = plans(database, lambda: vectors.having(database, "document", {1}))
    assert any("vectors_by_thing" in step for step in steps)
    assert not any(step.startswith("SCAN v") for step in steps)


# -- the nearest --------------------------------------------------------------------------


def test_nearest_are_those_of_an_exact_search(database: Database) -> None:
    made = directions(600)
    fill(database, made)
    query = made[17] + 0.4 * directions(1)[0]
    query /= np.linalg.norm(query)
    cosines = vectors.quantize(made).astype(np.float32) @ query
    cosines /= np.linalg.norm(vectors.quantize(made).astype(np.float32), axis=1)
    assert near_ids(database, query) == [17]
    some = near_ids(database, query, above_chance=False)
    assert set(some) == {int(n) for n in np.flatnonzero(cosines >= knn.MIN_COSINE)}


@for_each("number", [60, 600, 3_000])
def test_chance_gives_nothing_near(database: Database, number: int) -> None:
    """One in twenty of the questions that mean nothing there may find something, in a store of any size."""
    fill(database, directions(number))
    assert sum(bool(near_ids(database, query)) for query in directions(40)) <= 4


def test_bits_choose_the_nearest_few(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than can be compared by all their bits: the first choose among them, and lose no neighbour."""
    made = directions(2_000, 384)
    query, *noise = directions(11, 384)
    made[995:1005] = query + np.stack(noise)
    fill(database, made)
    monkeypatch.setattr(knn, "RESCORED", 20)
    assert set(near_ids(database, query, limit=10)) == set(range(995, 1005))


@pytest.mark.parametrize("first", [15, 40])
def test_candidates_out_of_reach_are_not_missed(
    database: Database, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Also where all that would be read first have gone."""
    fill(database, directions(2_000, 128))
    queries = directions(12, 128)
    monkeypatch.setattr(knn, "RESCORED", 120)
    whole = [near_ids(database, query, limit=5, above_chance=False) for query in queries]
    monkeypatch.setattr(knn, "_READ_FIRST", first)
    in_steps = [near_ids(database, query, limit=5, above_chance=False) for query in queries]
    assert list(map(len, whole)) == [5] * 12
    assert sum(len({*a} & {*b}) for a, b in zip(whole, in_steps, strict=True)) >= 59
    for thing in near_ids(database, queries[0], limit=first, above_chance=False):
        with database.write() as connection:
            connection.execute("delete from vectors where thing_id = ?", (thing,))
    assert near_ids(database, queries[0], limit=5, above_chance=False)


def test_range_and_filter_hold(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    [one] = directions(1)
    fill(database, np.stack([one] * 100))
    monkeypatch.setattr(knn, "RESCORED", 4)
    for name, number in (("_BLOCK_ROWS", 16), ("_BLOCK_IDS", 9), ("_READ_ROWS", 16)):
        monkeypatch.setattr(sign_index, name, number)
    assert near_ids(database, one, low=10, high=13) == [12, 11, 10]
    odd = list(range(1, 100, 2))

    def narrow(ids: list[int] | None, at_most: int) -> list[int]:
        return odd if ids is None else [number for number in ids if number % 2]

    assert set(near_ids(database, one, narrow=narrow, limit=3)) <= set(odd)
    assert near_ids(database, one, narrow=lambda ids, at_most: [7] if ids is None else []) == [7]
    assert near_ids(database, one, narrow=lambda ids, at_most: []) == []


def test_thing_counts_with_its_best_chunk(database: Database) -> None:
    one, other = directions(2)
    with database.write() as connection:
        first, second = vectors.quantize(np.stack([one, other]))
        vectors.add(connection, "document", 5, "m", [(0, 4, second), (5, 9, first)])
    [near] = knn.nearest(database, "document", RetrievalQuery("", one, "m"))
    assert (near.id, near.start, near.end) == (5, 5, 9)
    assert near.score > 0.99


@for_each(
    ("kind", "model", "size", "reason"),
    [
        ("frame", "m", D, "no_embeddings"),
        ("document", "x", D, "model_changed"),
        ("document", "m", 3, "model_changed"),
    ],
)
def test_reason_why_nothing_can_be_said(
    database: Database, kind: vectors.Kind, model: str, size: int, reason: str
) -> None:
    fill(database, directions(1))
    with pytest.raises(SemanticUnavailable, match=reason):
        knn.nearest(database, kind, RetrievalQuery("", np.ones(size, np.float32), model))


def test_large_index_is_loaded_beside_the_questions(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = directions(30)
    fill(database, made)
    monkeypatch.setattr(sign_index, "AT_ONCE_ROWS", 10)
    with pytest.raises(SemanticUnavailable, match="index_building"):
        near_ids(database, made[3])
    for thread in threading.enumerate():
        if thread.name == "vectors-document":
            thread.join()
    assert near_ids(database, made[3], limit=1) == [3]


# -- the index in memory ------------------------------------------------------------------


def test_index_follows_what_is_stored_and_deleted(database: Database) -> None:
    made = directions(40)
    fill(database, made[:20])
    assert near_ids(database, made[3], limit=1) == [3]
    with database.write() as connection:
        for number, vector in enumerate(vectors.quantize(made[20:]), 20):
            vectors.add(connection, "document", number, "m", [(0, 1, vector)])
        vectors.delete(connection, "document", [3])
    assert near_ids(database, made[33], limit=1) == [33]
    assert 3 not in near_ids(database, made[3])


def test_what_a_read_of_before_does_not_see_is_not_gone(database: Database) -> None:
    made = directions(30)
    fill(database, made[:5])
    assert near_ids(database, made[3], limit=1) == [3]

    def add(first: int, after: int) -> None:
        with database.write() as connection:
            for number, vector in enumerate(vectors.quantize(made[first:after]), first):
                vectors.add(connection, "document", number, "m", [(0, 1, vector)])

    def other() -> None:
        add(5, 25)
        assert near_ids(database, made[10], limit=1) == [10]
        database.close_thread()

    with database.read() as connection:
        scalar(connection, "select max(id) from vectors")  # from here on nothing else is seen
        Beside(other)()
        assert near_ids(database, made[3], limit=1) == [3]
    add(25, 30)
    assert near_ids(database, made[10], limit=1) == [10]


def test_row_id_never_comes_back(database: Database) -> None:
    """Else the bits of a deleted vector would stand for another's."""
    fill(database, directions(2))
    with database.write() as connection:
        last = scalar(connection, "select max(id) from vectors")
        vectors.delete(connection, "document", [0, 1])
        vectors.add(connection, "document", 9, "m", [(0, 1, np.ones(D, np.int8))])
        assert scalar(connection, "select max(id) from vectors") > last


def test_index_is_bounded_to_the_newest(database: Database) -> None:
    made = directions(100)
    fill(database, made)
    model = model_of(database)
    index = SignIndex("document", model, max_bytes=40 * 38)
    with database.read() as connection:
        index.refresh(connection)
    assert (len(index), index.floor) == (40, 60)
    with database.write() as connection:
        for number in range(100, 110):
            vectors.add(connection, "document", number, "m", [(0, 1, np.ones(D, np.int8))])
    with database.read() as connection:
        index.refresh(connection)
    assert (len(index), index.floor) == (30, 80)


def test_coding_learnt_of_few_is_learnt_anew_once_there_are_many(database: Database) -> None:
    made = directions(60)
    fill(database, made[:1])
    index = SignIndex("document", model_of(database))
    for first, number, learnt_from in ((1, 3, 3), (3, 12, 3), (12, 13, 13), (13, 52, 13), (52, 60, 60)):
        with database.write() as connection:
            for place, vector in enumerate(vectors.quantize(made[first:number]), first):
                vectors.add(connection, "document", place, "m", [(0, 1, vector)])
        with database.read() as connection:
            index.refresh(connection)
        assert index._blocks[0].coding.learnt_from == learnt_from
        candidates, _, compared = index.candidates(made[7], 0, sign_index.EVERY_ID, number)
        assert (sorted(candidates), compared) == (list(range(1, number + 1)), number)


def test_both_bits_tell_the_cosine_within_what_they_leave_out() -> None:
    """Of numbers that scatter as by chance two bits leave an eighth of the spread untold."""
    made = vectors.quantize(directions(4_000, 384))
    learnt = coding.learn(made[:2_000], 2_000)
    units = made[2_000:].astype(np.float32)
    turned = units / np.linalg.norm(units, axis=1, keepdims=True) @ learnt.turn
    higher, lower = learnt.bits(made[2_000:])
    told = coding.nearness(turned[0], higher.T, lower.T)
    true = turned[1:] @ turned[0] / np.linalg.norm(turned[1:], axis=1)
    assert np.abs(told[1:] - true).std() < 0.5 * true.std()
    assert told.argmax() == 0


def test_many_vectors_give_the_coding_an_even_sample(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = directions(500)
    fill(database, made, step=7)
    monkeypatch.setattr(sign_index, "_LEARNT_FROM", 100)
    index = SignIndex("document", model_of(database))
    with database.read() as connection:
        learnt, said = index._learnt(connection), sign_index._EVENLY
        assert learnt.learnt_from == 100
        of = {"kind": "document", "model": index.model.id, "evenly": "[0, 3, 1750, 3493]"}
        found = [row for (row,) in rows(connection, said, of)]
    assert found == [row.tobytes() for row in vectors.quantize(made)[[0, 1, 250, 499]]]
