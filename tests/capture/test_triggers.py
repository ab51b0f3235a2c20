"""When a look becomes a frame."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from capture.frame_recorder import Candidate, Extend, FrameTrigger, Keep
from capture.privacy import Verdict
from capture.screens.protocol import Pixels, Screenshot
from capture.windows.protocol import Identity
from tests.capture.fakes import MONITOR, draw, screen

SHELL = Identity("XTerm", "shell", focused=True, pid=1)


class Judged:
    """A keeper that is asked at chosen seconds and told what was kept."""

    def __init__(self, interval_s: float = 1.0, idle_interval_s: float = 30.0) -> None:
        self.keeper = FrameTrigger(interval_s, idle_interval_s)
        self.kept: list[tuple[float, str]] = []

    def at(
        self,
        due_s: float,
        pixels: Pixels,
        identity: Identity = SHELL,
        *,
        active: bool = True,
        writing: bool = False,
    ) -> str:
        look = Candidate(Screenshot(pixels, MONITOR, round(due_s * 1000)), Verdict(identity=identity), due_s)
        verdict = self.keeper.judge(look, is_active=active, is_writing=writing)
        if isinstance(verdict, Keep):
            self.keeper.kept(verdict, f"capture at {verdict.candidate.due_s}", due_s)
            self.kept.append((verdict.candidate.due_s, verdict.trigger))
            return verdict.trigger
        if isinstance(verdict, Extend):
            return f"{verdict.reason} {verdict.capture_id}"
        assert verdict is None
        return "wait"


def test_at_most_one_changed_frame_per_interval() -> None:
    judged = Judged()
    verdicts = [judged.at(index / 2, screen(seed=index)) for index in range(6)]
    assert verdicts == ["start", "wait", "visual_change", "wait", "visual_change", "wait"]


def test_a_change_that_had_to_wait_is_kept_though_nothing_changed_since() -> None:
    judged = Judged()
    judged.at(0, screen())
    changed = draw(screen(), 100, 100)
    assert judged.at(0.5, changed) == "wait"
    assert judged.at(1.0, changed) == "visual_change"
    assert judged.at(1.5, changed) == "unchanged capture at 1.0"


def test_a_change_that_went_back_is_kept_as_it_was() -> None:
    judged = Judged()
    judged.at(0, screen())
    assert judged.at(0.5, draw(screen(), 100, 100)) == "wait"
    assert judged.at(1.0, screen()) == "visual_change"
    assert judged.kept[-1] == (0.5, "visual_change")  # the picture of 0.5 s
    assert judged.at(1.5, screen()) == "wait"
    assert judged.at(2.0, screen()) == "visual_change"


def test_another_app_or_window_is_kept_at_once() -> None:
    judged = Judged()
    judged.at(0, screen())
    assert judged.at(0.25, screen(), Identity("Code", "main.py", focused=True, pid=2)) == "app_switch"
    assert judged.at(0.5, screen(seed=1), Identity("Code", "b.py", focused=True, pid=2)) == "window_change"


def test_another_title_waits_for_what_it_names() -> None:
    """Browsers tell the title of a page before they paint it."""
    judged, bread = Judged(), replace(SHELL, window_name="Bread", browser_url="https://bakery.example/")
    judged.at(0, screen())
    toolbars = draw(screen(), 100, 20, width=300)
    assert judged.at(0.2, toolbars, bread) == "wait"
    assert judged.at(0.7, toolbars, bread) == "wait"
    assert judged.at(1.2, screen(seed=1), bread) == "window_change"
    assert judged.kept[-1] == (1.2, "window_change")


def test_a_change_before_a_title_changed_is_not_what_it_names() -> None:
    judged, bread = Judged(), replace(SHELL, window_name="Bread")
    judged.at(0, screen())
    assert judged.at(0.5, screen(seed=1)) == "wait"
    assert judged.at(0.7, draw(screen(seed=1), 100, 20), bread) == "wait"
    assert judged.at(1.2, screen(seed=2), bread) == "window_change"


def test_a_title_that_changes_alone_is_kept_in_time() -> None:
    judged, chat = Judged(), replace(SHELL, window_name="(1) Chat")
    judged.at(0, screen())
    verdicts = [judged.at(0.5 + index / 2, screen(), chat) for index in range(5)]
    assert verdicts == ["wait"] * 4 + ["window_change"]
    assert judged.at(3.0, screen()) == "wait"
    assert judged.at(3.5, screen(), chat) == "unchanged capture at 2.5"  # it went back


def test_losing_the_focus_to_another_monitor_is_a_new_frame() -> None:
    """A frame marked focused is never extended over time without focus."""
    judged = Judged()
    judged.at(0, screen())
    assert judged.at(0.5, screen(), replace(SHELL, focused=False)) == "app_switch"


def test_a_title_that_spins_is_held_to_the_interval() -> None:
    judged = Judged()
    judged.at(0, screen())
    verdicts = [
        judged.at(0.5 + index / 4, screen(seed=index + 1), replace(SHELL, window_name=f"{index} %"))
        for index in range(12)
    ]
    assert verdicts[:3] == ["window_change"] * 3
    assert "wait" in verdicts
    assert len(judged.kept) <= 1 + 3 + 3


def test_the_idle_floor_holds_only_while_the_person_is_there() -> None:
    judged = Judged(idle_interval_s=30)
    judged.at(0, screen())
    assert judged.at(29.5, screen()) == "unchanged capture at 0"
    assert judged.at(30, screen(), active=False) == "unchanged capture at 0"
    assert judged.at(30.5, screen()) == "idle_floor"
    assert judged.at(31, screen()) == "unchanged capture at 30.5"


def test_nothing_is_handed_over_while_the_last_frame_is_on_its_way() -> None:
    judged = Judged()
    judged.at(0, screen())
    assert judged.at(1, draw(screen(), 9, 9), writing=True) == "wait"
    assert judged.at(1.5, draw(screen(), 9, 9)) == "visual_change"


def test_another_resolution_is_a_new_frame() -> None:
    judged = Judged()
    judged.at(0, screen())
    assert judged.at(1, screen(200, 100)) == "visual_change"
    assert judged.at(2, screen(200, 100)) == "unchanged capture at 1"


def test_a_clock_extends_and_a_word_beside_it_is_kept() -> None:
    judged = Judged()

    def face(second: float) -> Pixels:
        return draw(screen(), 290, 4, width=20, colour=int(second) * 7919 % 0xFFFFFF)

    verdicts = [judged.at(index / 2, face(index // 2)) for index in range(40)]
    assert verdicts[-1].startswith("restless")
    assert len(judged.kept) <= 8
    assert judged.at(20, draw(face(20), 60, 60)) == "visual_change"


def test_after_a_reset_the_next_look_is_a_new_frame() -> None:
    judged = Judged()
    judged.at(0, screen())
    judged.keeper.reset()
    assert judged.at(0.5, screen()) == "wait"  # a reset does not lift the limit
    assert judged.at(1.0, screen()) == "start"


def film(number: int, page: Pixels) -> Pixels:
    """A page with another picture of a film in its right half."""
    shown = page.copy()
    shown[:, 160:] = screen(seed=number)[:, 160:]
    return shown


def test_of_a_film_a_frame_is_kept_every_ten_seconds_and_of_what_is_beside_it_at_once() -> None:
    page = screen()
    judged = Judged()
    for look in range(60):
        judged.at(look / 2, film(look + 1, page))
    film_only = [second for second, _ in judged.kept if second > 5]
    assert len(film_only) == 2 and all(b - a == 10 for a, b in pairwise(film_only))
    word = draw(page, 40, 40)
    assert judged.at(30, film(61, word)) == "visual_change"
    assert judged.at(30.5, film(62, word)).startswith("restless")
    assert judged.at(31, film(62, word)) == "visual_change"  # it rests


def test_text_that_scrolls_all_the_time_is_no_film() -> None:
    page = np.full((192, 320, 4), 255, np.uint8)
    judged = Judged()
    for look in range(40):
        shown = page.copy()
        for row in range(look % 12, 190, 12):
            shown[row : row + 6, 20:300:7, :3] = look
        judged.at(look / 2, shown)
    assert len(judged.kept) == 20
