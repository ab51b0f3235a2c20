"""What programs show beside what they are used for, told by their other windows."""

from __future__ import annotations

from assistant.retrieval.furniture import LOOKED_AROUND, Furniture, other_windows
from assistant.retrieval.retrieval import Entry, entries_of
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.search import sample
from tests.assistant.helpers import START_MS
from tests.factories import store_frame

BAR = "Ada Moreno Harbour team Volunteers (3)"


def show(
    database: Database, data_dir: DataDir, minute: int, window: str, *lines: str, app: str = "Chat"
) -> FrameRow:
    at_ms = START_MS + minute * 60_000
    return store_frame(database, data_dir, at_ms, "\n".join(lines), app_name=app, window_name=window)


def entry(database: Database, frame: FrameRow) -> Entry:
    with database.read() as connection:
        (found,) = entries_of(sample.load(connection, [frame.id]))
    return found


def test_the_list_of_chats_is_known_by_the_other_chats(database: Database, data_dir: DataDir) -> None:
    said = "Ada: the harbour team meets on the 20th"
    show(database, data_dir, 0, "Volunteers", "10:02", BAR, "Ben: who has the key?")
    asked = entry(database, show(database, data_dir, 2, "Harbour team", "10:04", BAR, said))
    show(database, data_dir, 4, "Ada Moreno", "10:06", f"= {BAR} v", "Ada: thank you")
    show(database, data_dir, 6, "Harbour team", "10:08", "settings", app="Other")

    around = other_windows(database, [asked])
    assert {each.frame.window_name for each in around} == {"Volunteers", "Ada Moreno"}
    furniture = Furniture([asked], around)
    told = {line: furniture.has(asked, at, line) for at, line in enumerate(asked.frame.text.split("\n"))}
    assert told == {"10:04": True, BAR: True, said: False}
    assert not Furniture([asked]).has(asked, 1, BAR)


def test_a_document_that_is_opened_every_day_is_no_furniture(database: Database, data_dir: DataDir) -> None:
    line = "Opening hours: the harbour office closes at five"
    days = [show(database, data_dir, day * 1440, "hours.odt", line, f"visit {day}") for day in range(4)]
    entries = [entry(database, frame) for frame in days]
    assert not Furniture(entries, other_windows(database, entries)).has(entries[0], 0, line)


def test_icons_and_the_address_of_the_page_are_no_answer(database: Database, data_dir: DataDir) -> None:
    at_ms, text = START_MS, "<> + ::\n← → C harbour.example/berths\n一个 > harbour.example/berths\nBerth 7"
    url = "https://harbour.example/berths"
    page = entry(database, store_frame(database, data_dir, at_ms, text, app_name="Chrome", browser_url=url))
    furniture = Furniture([page])
    *others, berth = (furniture.has(page, at, line) for at, line in enumerate(text.split("\n")))
    assert all(others) and not berth


def test_windows_are_looked_for_next_to_what_is_asked_about(database: Database, data_dir: DataDir) -> None:
    show(database, data_dir, 0, "long ago", "a")
    for minute in range(1, LOOKED_AROUND + 1):
        show(database, data_dir, minute, "between", "b")
    asked = entry(database, show(database, data_dir, LOOKED_AROUND + 2, "asked", "c"))
    assert [each.frame.window_name for each in other_windows(database, [asked])] == ["between"]
