"""From readings of the idle time to stretches that nobody touched anything in."""

from __future__ import annotations

import random
from itertools import pairwise

from capture.windows.idle import Activity, Inactivity

AFTER_S = 180
MINUTE_S = 60


class Desk:
    """Readings twice a second, as capture makes them; `inputs` are the seconds of keys and moves."""

    def __init__(self, *inputs: float, begins_s: float = 0) -> None:
        self.inputs = [-1.0, *inputs]
        self.watch = Inactivity(AFTER_S, round(begins_s * 1000))

    def read(self, at_s: float, away: str = "") -> None:
        last = max(each for each in self.inputs if each <= at_s)
        self.watch.read(Activity(at_s - last, away), round(at_s * 1000))

    def sit(self, start_s: float, end_s: float) -> None:
        for half in range(round(start_s * 2), round(end_s * 2)):
            self.read(half / 2)

    def taken(self) -> list[tuple[float, float]]:
        return [(start / 1000, end / 1000) for start, end in self.watch.take()]


def test_a_stretch_counts_from_the_last_input_to_the_next() -> None:
    desk = Desk(10, 40.25, 400.25)
    desk.sit(0, 420)
    assert desk.taken() == [(40.25, 400.25)]
    assert desk.taken() == []


def test_reading_without_a_key_counts_as_use() -> None:
    desk = Desk(10, 10 + AFTER_S - 1)
    desk.sit(0, 300)
    assert desk.taken() == []


def test_a_stretch_that_goes_on_is_given_in_parts_that_meet() -> None:
    desk = Desk(0)
    parts: list[tuple[float, float]] = []
    for start_s in range(0, 600, 10):
        desk.sit(start_s, start_s + 10)
        parts += desk.taken()
    assert all(before[1] == after[0] for before, after in pairwise(parts))
    assert (parts[0][0], parts[-1][1]) == (0, 599.5)


def test_nothing_is_said_of_the_time_before_capture_began() -> None:
    desk = Desk(begins_s=1000)
    desk.sit(1000, 1020)
    assert desk.taken() == [(1000, 1019.5)]


def test_a_lock_ends_it_and_has_its_own_word() -> None:
    desk = Desk(0)
    desk.sit(0, 600)
    for half in range(1200, 2400):
        desk.read(half / 2, away="locked")
    desk.inputs.append(1200)
    desk.sit(1200, 1210)
    assert desk.taken() == [(0, 600)]


def test_nothing_is_said_of_a_pause_in_which_nobody_asked() -> None:
    desk = Desk(0)
    desk.sit(0, 600)
    for second in range(600, 900):
        desk.watch.left(second * 1000)
    desk.sit(900, 1000)
    assert desk.taken() == [(0, 599.5), (899, 999.5)]


def test_an_unknown_idle_time_is_not_guessed() -> None:
    desk = Desk(0)
    desk.sit(0, 600)
    desk.watch.read(Activity(None), 600_000)
    assert desk.taken() == [(0, 599.5)]
    desk.watch.read(Activity(None), 2_000_000)
    assert desk.taken() == []


def test_input_that_was_not_seen_coming_ends_it_at_the_last_reading() -> None:
    """The display did not answer for ten minutes, and somebody came and went."""
    desk = Desk(0, 800)
    desk.sit(0, 300)
    desk.sit(1200, 1210)
    assert desk.taken() == [(0, 299.5), (800, 1209.5)]


def test_a_clock_that_trembles_is_no_input() -> None:
    draw = random.Random(7)
    watch = Inactivity(AFTER_S, 0)
    for half in range(2400):
        watch.read(Activity(half / 2), 500 * half + draw.randrange(400))
    [(start_ms, end_ms)] = watch.take()
    assert start_ms < 400
    assert end_ms >= 1_199_500


def test_what_is_said_is_what_a_list_of_inputs_says() -> None:
    """The definition, over 500 random days of inputs: stretches of at least `AFTER_S` between two."""
    draw = random.Random(11)
    for _ in range(500):
        inputs, at_s = [0.0], 0.0
        for _ in range(draw.randrange(1, 7)):
            at_s += draw.choice((1, 30, 170, 180.5, 185, 400, 700)) + draw.randrange(4) / 4
            inputs.append(at_s)
        end_s = at_s + draw.choice((3, 200))
        desk = Desk(*inputs)
        found: list[tuple[float, float]] = []
        for start_s in range(0, int(end_s), 10):
            desk.sit(start_s, min(start_s + 10, int(end_s)))
            found += desk.taken()
        last_s = (round(int(end_s) * 2) - 1) / 2
        ends = [min(each, last_s) for each in [*inputs[1:], last_s]]
        expected = [(start, end) for start, end in zip(inputs, ends, strict=True) if end - start >= AFTER_S]
        joined: list[tuple[float, float]] = []
        for start, end in found:
            if joined and joined[-1][1] == start and start not in inputs:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        assert joined == expected
