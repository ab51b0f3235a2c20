from __future__ import annotations

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames, visible_windows
from store.frames.visible_windows import OtherWindow, Windows
from store.memory.own_lines import own_texts
from store.spool.page_text import Area
from store.spool.queue import UNNAMED, window_places_of
from tests.factories import store_frame
from tests.tables import for_each

PAPER: OtherWindow = ("Zathura", "tides.pdf", None)
WINDOWS = Windows(
    ((0, 100, 40, 200, 60), (UNNAMED, 0, 0, 60, 20), (1, 0, 0, 400, 200)),  # topmost first
    (PAPER,),
)


@for_each(
    ("box", "is_front", "beside"),
    [
        (Area(120, 50, 100, 10), True, None),
        (Area(0, 120, 300, 10), False, PAPER),
        (Area(0, 5, 50, 10), False, (None, None, None)),  # nobody named that one
        (Area(500, 50, 100, 10), True, None),  # no window there
        (Area(90, 50, 200, 10), True, None),  # its middle and its end
        (Area(20, 50, 200, 10), False, None),  # read across an edge: not the front's alone
        (Area(0, 50, 120, 10), False, PAPER),
        (Area(150, 95, 100, 12), False, PAPER),
    ],
)
def test_a_place_belongs_to_the_topmost_window_that_holds_it(
    box: Area, is_front: bool, beside: OtherWindow | None
) -> None:
    assert (WINDOWS.is_front(box), WINDOWS.beside(box)) == (is_front, beside)


def test_of_a_frame_of_which_nobody_told_all_is_the_front_s(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, visible=None)
    with database.read() as connection:
        windows = visible_windows.windows_of(connection, frame.id)
    assert windows == visible_windows.UNTOLD and windows.is_front(Area(0, 0, 10, 10))


def test_the_text_of_the_front_window_is_without_that_of_others(
    database: Database, data_dir: DataDir
) -> None:
    places = ((0, 0, 0, 400, 30), (1, 0, 30, 400, 200))
    text = "shopping\nplums\nthe ferry is late"
    frame = store_frame(database, data_dir, text=text, visible=(PAPER,), places=places)
    assert window_places_of([list(place) for place in places]) == places
    with database.read() as connection:
        found = own_texts(connection, [frame.id])[frame.id]
        windows = visible_windows.windows_of(connection, frame.id)
    assert [line.text for line in found.lines] == ["shopping", "plums"]
    assert visible_windows.lies_beside(frame.window_places, [Area(0, 40, 90, 16)])
    assert not visible_windows.lies_beside(frame.window_places, [Area(0, 40, 90, 16), Area(0, 0, 90, 16)])
    assert (windows.front, windows.named) == (Area(0, 0, 400, 30), (PAPER,))
    assert frames.get(database, frame.id).window_places == "[[0,0,0,400,30],[1,0,30,400,200]]"


def test_the_other_windows_are_those_that_show_enough() -> None:
    panel: OtherWindow = ("Panel", None, None)
    places = ((1, 0, 0, 1600, 30), (0, 200, 30, 1400, 870), (3, 0, 30, 800, 870), (2, 300, 100, 400, 400))
    shown = Windows(places, (panel, ("Mail", "Inbox", None), PAPER))
    assert shown.others == [PAPER]
    assert Windows().others == []


@pytest.mark.parametrize("value", ["", {}, [[0, 1, 2, 3]], [[0, 1, 2, 3, "4"]], [[True, 1, 2, 3, 4]], [7]])
def test_places_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="place"):
        window_places_of(value)
