"""Asks the program in front for its words over the accessibility bus (AT-SPI), where that is wanted.

It is asked when a frame is kept of which much is new, and only about windows that are no browser's. Passwords
are typed into fields of one line, and keys are shown in them: nothing is told of these, nor of what stands in
them. A word counts only if the pixels in its place are the same after the answer as in the picture. Who does
not answer in time, or tells little, is asked ever more seldom; no look waits for anybody.

https://gitlab.gnome.org/GNOME/at-spi2-core/-/tree/main/xml
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from jeepney import DBusAddress, HeaderFields, Message, MessageType, Properties, message_bus, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from capture.core.geometry import Rect
from capture.page_text import PAINT_MS, Collect, PageWindow
from capture.screens.protocol import Pixels, Screenshot
from store.spool import page_text
from store.spool.page_text import MAX_WORD, Area, PageText, PageWord

log = logging.getLogger(__name__)

WAIT_S = 0.5
_WORTH = 0.1  # of a screen that is new: less is sooner read than asked for
_FEW = 10  # words: not worth the question
_LONGEST_REST = 255  # questions that a program is spared which told little or nothing
_MAX_NODES = 250
_MAX_CHILDREN = 100  # of one node: lists and tables make each row when they are asked for it
_MAX_WORDS = 1500
_MAX_CHARACTERS = 20_000

_PASSWORD_TEXT, _TEXT, _ENTRY = 40, 61, 79  # roles, as atspi-constants.h numbers them
_TOOLS = 33, 34, 41, 63  # menu, menu bar, popup menu, tool bar: many nodes, always the same words
# Bits of the state:
_EDITABLE, _MULTI_LINE, _SHOWING, _SINGLE_LINE = 1 << 7, 1 << 17, 1 << 25, 1 << 26
_ON_SCREEN = 0  # coordinates
_UNSPACED = "\u2e80-\u9fff\uf900-\uffef"
_OBJECT = "\ufffc"  # stands where a child stands
_WORD = re.compile(rf"[{_UNSPACED}]{{1,4}}|[^\s{_OBJECT}{_UNSPACED}]+")
_ONE_LINE = 1.5  # of the usual height: a higher word goes on in the next line

_Reply = tuple[Any, ...] | None


class Node(NamedTuple):
    """An object of a program, as the bus names it."""

    program: str
    path: str

    def call(self, what: str, signature: str | None = None, *arguments: object) -> Message:
        interface, method = what.split(".")
        return new_method_call(self._address(interface), method, signature, arguments)

    def property(self, what: str) -> Message:
        interface, name = what.split(".")
        return Properties(self._address(interface)).get(name)

    def _address(self, interface: str) -> DBusAddress:
        return DBusAddress(self.path, self.program, f"org.a11y.atspi.{interface}")


_ROOT = Node("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")


class Bus:
    """The accessibility bus of this session. Raises `OSError` and others of a connection."""

    def __init__(self) -> None:
        with open_dbus_connection() as session:
            where = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
            reply = session.send_and_get_reply(new_method_call(where, "GetAddress"), timeout=1.0)
        self._connection: DBusConnection = open_dbus_connection(str(reply.body[0]))
        self._connection.sock.settimeout(WAIT_S)

    def ask(self, calls: Sequence[Message], until_s: float) -> list[_Reply]:
        """Answers in the order of the calls, None for a refusal. Raises `TimeoutError`."""
        waiting: dict[object, int] = {}
        for place, call in enumerate(calls):
            serial = next(self._connection.outgoing_serial)
            self._connection.send(call, serial=serial)
            waiting[serial] = place
        replies: list[_Reply] = [None] * len(calls)
        while waiting:
            if time.monotonic() >= until_s:
                raise TimeoutError
            message = self._connection.receive(timeout=until_s - time.monotonic())
            answered = waiting.pop(message.header.fields.get(HeaderFields.reply_serial), None)
            if answered is not None and message.header.message_type is MessageType.method_return:
                replies[answered] = message.body
        return replies

    def close(self) -> None:
        self._connection.close()


class AccessibleText:
    """Asks one question at a time, in a thread of its own."""

    def __init__(self, open_grab: Callable[[], Callable[[Rect], Pixels]], open_bus: Callable[[], Bus] = Bus):
        self._open_grab = open_grab
        self._open_bus = open_bus
        self._bus: Bus | None = None
        self._grab: Callable[[Rect], Pixels] | None = None
        self._rests: dict[int, tuple[int, int]] = {}  # by process: how long, and what is left of it
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="accessible text")
        self._asked: Future[list[PageText]] | None = None

    def ask(self, windows: Sequence[PageWindow], shot: Screenshot, news: float) -> Collect | None:
        """Ask now for what the window in front shows; None when it is not to be asked."""
        front = next((w for w in windows if w.window.focused and w.window.incognito is None), None)
        if front is None or news < _WORTH or (self._asked and not self._asked.done()):
            return None
        pid = front.window.pid
        if pid is None or not front.window.window_name:
            return None
        rest, left = self._rests.get(pid, (0, 0))
        self._rests[pid] = rest, max(0, left - 1)
        if left > 0:
            return None
        self._asked = self._thread.submit(self._text, front, shot)
        return self._asked.result

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._let_go()

    def _let_go(self) -> None:
        if self._bus is not None:
            self._bus.close()
        self._bus = None

    def _text(self, front: PageWindow, shot: Screenshot) -> list[PageText]:
        until_s, words = time.monotonic() + WAIT_S, list[PageWord]()
        try:
            self._bus = self._bus or self._open_bus()
            words = list(words_of(self._bus, front, until_s))
            if len(words) < _FEW:
                return []
            time.sleep(PAINT_MS / 1000)  # what the program knew before it drew it is on the screen by then
            self._grab = self._grab or self._open_grab()
            after, area = self._grab(shot.monitor.area), front.area
            stood = tuple(_standing(words, area, shot.pixels, after))
            page = PageText(area, front.parts, area.w, area.h, stood, "accessibility")
            return page_text.decode(page_text.encode([page]))
        except Exception as error:
            # Of foreign programs, of the bus and of the display: no frame is lost by it.
            log.info("a program tells no text: %s", type(error).__name__)
            self._let_go()
            self._grab = None
            return []
        finally:
            # A program that told little is spared twice as long as the last time.
            pid = front.window.pid or 0
            rest = 0 if len(words) >= _FEW else min(_LONGEST_REST, 2 * self._rests[pid][0] + 1)
            self._rests[pid] = rest, rest


def _standing(words: Iterable[PageWord], area: Area, before: Pixels, after: Pixels) -> Iterator[PageWord]:
    """Words whose place in an area of the picture shows the same in both. Raises `ValueError`."""
    changed = (before[..., :3] != after[..., :3]).any(-1)
    for word in words:
        left, top = max(0, area.x + word.x), max(0, area.y + word.y)
        if not changed[top : area.y + word.y + word.h, left : area.x + word.x + word.w].any():
            yield word


def words_of(bus: Bus, front: PageWindow, until_s: float) -> Iterator[PageWord]:
    """Words in view of the program's window of this title, if there is just one. Raises as `Bus.ask`."""
    frame = _frame(bus, front, until_s)
    nodes = _text_nodes(bus, frame, until_s) if frame else ()
    found = chain.from_iterable(_words_in(bus, node, front.window.rect, until_s) for node in nodes)
    told = set[PageWord]()  # some toolkits tell the same text of a paragraph and of its child
    for word in found:
        if word not in told:
            told.add(word)
            yield word
        if len(told) == _MAX_WORDS:
            return


def _frame(bus: Bus, front: PageWindow, until_s: float) -> Node | None:
    [listed] = bus.ask([_ROOT.call("Accessible.GetChildren")], until_s)
    programs = [Node(*one) for one in listed[0]] if listed else []
    processes = bus.ask([message_bus.GetConnectionUnixProcessID(one.program) for one in programs], until_s)
    own = [one for one, pid in zip(programs, processes, strict=True) if pid == (front.window.pid,)]
    frames = _children(bus, own, until_s)
    names = bus.ask([one.property("Accessible.Name") for one in frames], until_s)
    title = front.window.window_name
    named = [one for one, name in zip(frames, names, strict=True) if name and name[0][1].strip() == title]
    return named[0] if len(named) == 1 else None


def _children(bus: Bus, nodes: Sequence[Node], until_s: float) -> list[Node]:
    replies = bus.ask([node.call("Accessible.GetChildren") for node in nodes], until_s)
    return [Node(*one) for reply in replies if reply for one in reply[0]]


def _text_nodes(bus: Bus, frame: Node, until_s: float) -> Iterator[Node]:
    """What shows text below a frame, level by level; nothing behind what does not show, or has very many
    children.
    """
    level, seen = [frame], 0
    while level and seen < _MAX_NODES:
        level = level[: _MAX_NODES - seen]
        seen += len(level)
        states = bus.ask([node.call("Accessible.GetState") for node in level], until_s)
        shown = [
            (node, state[0][0])
            for node, state in zip(level, states, strict=True)
            if state and state[0] and state[0][0] & _SHOWING
        ]
        questions = [
            (node.call("Accessible.GetRole"), node.property("Text.CharacterCount"),
             node.property("Accessible.ChildCount"))
            for node, _ in shown
        ]  # fmt: skip
        replies = bus.ask(list(chain.from_iterable(questions)), until_s)
        parents = []
        for (node, state), at in zip(shown, range(0, len(replies), 3), strict=True):
            role, characters, children = replies[at : at + 3]
            if not role or _is_field(role[0], state):
                continue
            if characters and characters[0][1] > 0:
                yield node
            if children and 0 < children[0][1] <= _MAX_CHILDREN and role[0] not in _TOOLS:
                parents.append(node)
        level = _children(bus, parents, until_s)


def _is_field(role: int, state: int) -> bool:
    """Whether one line, or a password, is typed or shown there."""
    if role == _PASSWORD_TEXT or state & _SINGLE_LINE:
        return True
    return bool(role in (_TEXT, _ENTRY) or state & _EDITABLE) and not state & _MULTI_LINE


def _words_in(bus: Bus, node: Node, window: Rect, until_s: float) -> Iterator[PageWord]:
    """Whole words of one line that stand wholly inside the node, in pixels from the window's corner."""
    [extents] = bus.ask([node.call("Component.GetExtents", "u", _ON_SCREEN)], until_s)
    if not extents:
        return
    inside = Rect(*extents[0]).common(window)
    if not inside.area:
        return
    corners = ((inside.x + 1, inside.y + 1), (inside.right - 2, inside.bottom - 2))
    points = [node.call("Text.GetOffsetAtPoint", "iiu", x, y, _ON_SCREEN) for x, y in corners]
    first, last = (reply[0] if reply else -1 for reply in bus.ask(points, until_s))
    start = max(0, first - 1)
    end = last + 2 if last >= start else start + _MAX_CHARACTERS
    end = min(end, start + _MAX_CHARACTERS)
    [told] = bus.ask([node.call("Text.GetText", "ii", start, end)], until_s)
    text = str(told[0]) if told else ""
    found = [
        match
        for match in _WORD.finditer(text)
        if match[0].isprintable()
        and len(match[0]) <= MAX_WORD
        and (match.start() or not start)
        and (match.end() < len(text) or len(text) < end - start)
    ][:_MAX_WORDS]
    calls = [
        node.call("Text.GetRangeExtents", "iiu", start + match.start(), start + match.end(), _ON_SCREEN)
        for match in found
    ]
    boxes = [Rect(*reply) if reply else None for reply in bus.ask(calls, until_s)]
    heights = [box.height for box in boxes if box]
    usual = float(np.median(heights)) if heights else 0
    for match, box in zip(found, boxes, strict=True):
        if box and box.area and box.common(inside) == box and box.height <= _ONE_LINE * usual:
            yield PageWord(match[0], box.x - window.x, box.y - window.y, box.width, box.height)
