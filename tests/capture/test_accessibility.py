"""The text of programs: which windows are asked, and what of the answers travels with a frame."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jeepney import HeaderFields, Message

from capture import accessibility
from capture.accessibility import AccessibleText
from capture.core.geometry import Rect
from capture.page_text import PageWindow
from capture.screens.protocol import Monitor, Pixels, Screenshot
from capture.screens.x11 import Grab, X11Screens
from capture.windows.x11 import X11Windows
from store.spool.page_text import Area, PageText
from tests.capture.fakes import draw, screen, window
from tests.end_to_end.programs import eventually, x_display
from tests.tables import for_each

SHOWING, EDITABLE, MULTI_LINE, SINGLE_LINE = 1 << 25, 1 << 7, 1 << 17, 1 << 26
PLACE = Rect(20, 10, 280, 160)
MONITOR = Monitor("DP-1", Rect(0, 0, 320, 192))
LETTER_W, LETTER_H = 6, 12  # of every text
TEXT = "Seven crates of walnuts left the harbour\nbefore the bridge was closed"
NODES: dict[str, dict[str, Any]] = {
    "/root": {"children": ["/frame", "/other"]},
    "/frame": {
        "name": "crates.txt",
        "children": ["/menu", "/view", "/label", "/hidden", "/field", "/secret", "/list"],
    },
    "/other": {"name": "Another window", "children": ["/elsewhere"]},
    "/menu": {"role": 34, "children": ["/file"]},
    "/view": {"state": EDITABLE | MULTI_LINE, "text": TEXT, "at": (30, 20)},
    "/label": {"text": "saved at noon", "at": (30, 120)},
    "/hidden": {"state": -SHOWING, "text": "never seen", "at": (30, 140)},
    "/field": {"state": EDITABLE, "text": "typed here", "at": (120, 120)},
    "/secret": {"role": 40, "text": "hunter2", "at": (200, 120)},
    "/list": {"children": ["/row"] * 5000},
    "/elsewhere": {"text": "of another window", "at": (30, 60)},
    **{path: {"text": "unasked", "at": (30, 80)} for path in ("/file", "/row")},
}  # fmt: skip


class FakeBus:
    """One program with the windows of `NODES`, at 6 by 12 pixels a letter."""

    def __init__(self, **changed: dict[str, Any]) -> None:
        self.nodes = {path: {**node, **changed.get(path[1:], {})} for path, node in NODES.items()}
        self.asked: list[tuple[str, str]] = []
        self.failure: Exception | None = None

    def ask(self, calls: Sequence[Message], until_s: float) -> list[Any]:
        if self.failure:
            raise self.failure
        return [self._answer(call) for call in calls]

    def close(self) -> None:
        return

    def _answer(self, call: Message) -> Any:
        path, member = (call.header.fields[f] for f in (HeaderFields.path, HeaderFields.member))
        member = call.body[1] if member == "Get" else member
        self.asked.append((path, member))
        if member == "GetConnectionUnixProcessID":
            return (1,)
        if path == accessibility._ROOT.path:
            return ([(":1.5", "/root")],)
        node = self.nodes[path]
        left, top = node.get("at", (0, 0))
        lines = node.get("text", "").split("\n")
        start = call.body[0] if call.body else 0
        before = "\n".join(lines)[:start] if isinstance(start, int) else ""
        column, row = len(before.rpartition("\n")[2]), before.count("\n")
        return {
            "GetChildren": lambda: ([(":1.5", child) for child in node.get("children", [])],),
            "Name": lambda: (("s", node["name"]),),
            "GetState": lambda: ([node.get("state", 0) + SHOWING, 0],),
            "GetRole": lambda: (node.get("role", 0),),
            "CharacterCount": lambda: (("i", len(node["text"])),) if "text" in node else None,
            "ChildCount": lambda: (("i", len(node.get("children", []))),),
            "GetExtents": lambda: ((left, top, LETTER_W * max(map(len, lines)), LETTER_H * len(lines)),),
            "GetOffsetAtPoint": lambda: (-1,),
            "GetText": lambda: (node["text"][start : call.body[1]],),
            "GetRangeExtents": lambda: (
                left + LETTER_W * column, top + LETTER_H * row, LETTER_W * (call.body[1] - start), LETTER_H,
            ),
        }[member]()  # fmt: skip


def front(**changes: Any) -> PageWindow:
    shown = window("Editor", "crates.txt", **{"rect": PLACE, **changes})
    area = Area(PLACE.x, PLACE.y, PLACE.width, PLACE.height)
    return PageWindow(shown, area, (area,))


SHOT = Screenshot(screen(), MONITOR, 1_000_000)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessibility, "WAIT_S", 60.0)


def told(bus: FakeBus, after: Pixels | None = None, shown: PageWindow | None = None) -> list[PageText]:
    pixels = SHOT.pixels if after is None else after
    asked = AccessibleText(lambda: lambda area: pixels, lambda: bus)
    collect = asked.ask([shown or front()], SHOT, 1.0)
    try:
        return collect() if collect else []
    finally:
        asked.close()


def texts(pages: list[PageText]) -> list[str]:
    return [word.text for page in pages for word in page.words]


def test_what_a_window_shows_is_told_but_for_what_is_typed_into_fields() -> None:
    bus = FakeBus()
    [page] = told(bus)
    assert page.source == "accessibility" and (page.width, page.height) == (280, 160)
    assert texts([page]) == [*TEXT.split(), "saved", "at", "noon"]
    assert page.words[1][1:] == (10 + 6 * 6, 10, 36, 12)  # from the corner of its window
    silent = {"/file", "/row", "/elsewhere"}  # below a menu, below very many, in another window
    assert not silent & {path for path, _ in bus.asked}
    assert not {("/field", "GetText"), ("/secret", "GetText"), ("/hidden", "GetText")} & set(bus.asked)


@for_each(
    "field", [{"state": EDITABLE}, {"state": SINGLE_LINE}, {"role": 40, "state": MULTI_LINE}, {"role": 79}]
)
def test_a_field_tells_nothing_nor_does_what_stands_in_it(field: dict[str, Any]) -> None:
    shown = {"state": 0, "children": ["/label"], **field}
    frame = {"children": ["/view", "/field"]}
    assert texts(told(FakeBus(frame=frame, field=shown))) == TEXT.split()


def test_what_a_parent_and_its_child_both_tell_is_told_once() -> None:
    """As Chromium does; another child stands as U+FFFC in the text of its parent."""
    text = TEXT.replace("walnuts", "\ufffc")
    nodes = {"view": {"children": ["/label"], "text": text}, "label": {"text": text, "at": (30, 20)}}
    assert texts(told(FakeBus(frame={"children": ["/view"]}, **nodes))) == text.replace("\ufffc", "").split()


def test_a_word_that_changed_while_it_was_told_is_left_out() -> None:
    after = draw(SHOT.pixels, 31, 21)
    assert texts(told(FakeBus(), after)) == [*TEXT.split()[1:], "saved", "at", "noon"]
    assert texts(told(FakeBus(), SHOT.pixels[:-1])) == []


def test_a_word_that_is_cut_by_the_edge_of_its_view_is_left_out() -> None:
    label = {"at": (PLACE.right - 6 * len("saved at n"), 120)}
    assert texts(told(FakeBus(label=label)))[-2:] == ["saved", "at"]


@for_each(
    "shown",
    [
        front(focused=False),
        front(incognito=False),  # a browser: its extension is asked
        front(pid=2),
        front(pid=None),
        replace(front(), window=window("Editor", "other.txt", rect=PLACE)),
    ],
)
def test_only_the_window_in_front_of_no_browser_is_asked(shown: PageWindow) -> None:
    bus = FakeBus()
    assert told(bus, shown=shown) == []
    assert "GetText" not in {member for _, member in bus.asked}


def test_words_that_cannot_be_kept_leave_the_others_alone() -> None:
    view = {"text": f"a\u200bb {'x' * 201} and ten words are told of this text that stay", "at": (-1200, 20)}
    place = Rect(-1300, 0, 1700, 190)
    shown = PageWindow(replace(front().window, rect=place), Area(-1300, 0, 1700, 190), ())
    assert texts(told(FakeBus(view=view), shown=shown))[:2] == ["and", "ten"]


def test_two_windows_of_one_title_are_in_doubt() -> None:
    assert told(FakeBus(other={"name": "crates.txt"})) == []


def test_who_does_not_answer_is_asked_ever_more_seldom() -> None:
    bus = FakeBus()
    bus.failure = TimeoutError()
    asked = AccessibleText(lambda: lambda area: SHOT.pixels, lambda: bus)
    answers = []
    for _ in range(14):
        collect = asked.ask([front()], SHOT, 1.0)
        answers.append(None if collect is None else collect())
    assert [n for n, answer in enumerate(answers) if answer == []] == [0, 2, 6]
    bus.failure = None
    later = asked.ask([front()], SHOT, 1.0)
    assert later and texts(later())
    assert asked.ask([front()], SHOT, 0.05) is None  # little is new: it is sooner read
    asked.close()


@pytest.mark.skipif(
    not all(map(shutil.which, ("Xvfb", "mousepad", "dbus-daemon")))
    or not Path("/usr/libexec/at-spi-bus-launcher").exists(),
    reason="needs Xvfb, dbus, at-spi2-core and mousepad",
)
def test_a_program_of_the_desktop_tells_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quay.txt").write_text(TEXT)
    with ExitStack() as stack:
        display = stack.enter_context(x_display("800x600x24"))
        folder = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": display}
        for name, value in folder.items():
            monkeypatch.setenv(name, value)
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        stack.callback(bus.communicate)
        stack.callback(bus.terminate)
        assert bus.stdout
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.stdout.readline().strip())
        program = subprocess.Popen(
            ["mousepad", str(tmp_path / "quay.txt")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        stack.callback(program.wait)
        stack.callback(program.terminate)
        screens, windows = X11Screens(display), X11Windows(display)
        stack.callback(screens.close)
        stack.callback(windows.close)

        def answer() -> str:
            shot = screens.grab(screens.monitors()[0])
            pages = [_page(w) for w in windows.windows() if w.app_name == "Mousepad"]
            asked = AccessibleText(lambda: Grab(display))
            collect = asked.ask(pages, shot, 1.0)
            found = texts(collect()) if collect else []
            asked.close()
            return " ".join(found)

        eventually(lambda: " ".join(TEXT.split()) in answer(), what="the words of the editor")


def _page(shown: Any) -> PageWindow:
    area = Area(shown.rect.x, shown.rect.y, shown.rect.width, shown.rect.height)
    return PageWindow(replace(shown, focused=True), area, (area,))
