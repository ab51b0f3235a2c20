"""Deletion against every writer: one thread deletes, one writes, and a schedule says who goes on.

A step is a transaction about to begin, a file about to be written, or a wait for a lock. One thread runs at a
time, so that a schedule tried again gives the same. Afterwards no file of the home holds a deleted word,
verify finds nothing, and the receipt told the truth. What is imported meanwhile is there as a whole or
nowhere, an export that holds a deleted word is named, and an answer went out with one only before it went.

    python -m tests.interleavings [TRIES [SEED [WRITER...]]]  # TRIES schedules of each kind for every writer
"""

from __future__ import annotations

import atexit
import json
import logging
import random
import shutil
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import apsw
import numpy as np
from PIL import Image, ImageDraw

from assistant.context import background, session_closing
from assistant.context.background import ContextRequest
from assistant.context.observation_words import ObservationWords
from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.errors import TurnRefused
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import TurnRequest, TurnResult
from assistant.turns import second_reading
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from engines.cancellation import CancelToken
from ingest.core.home import Home, open_home
from ingest.core.worker_stats import WorkerStats
from ingest.importers import images
from ingest.importers.import_runner import ImportFeed
from ingest.importers.items import CannotImport, Item
from ingest.importers.sources import source_import
from ingest.importers.sources.source_file import Options
from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from ingest.reading.backlog import Backlog
from ingest.reading.embedding import EmbeddingLoop
from ingest.reading.reader import ReaderLoop
from ingest.worker.storing import SpoolConsumer
from store.backup import backup, export
from store.chats import tool_permissions
from store.chats.records import Anchor
from store.core import copies, paths, times
from store.core.database import Database, scalar
from store.core.errors import StoreError
from store.core.paths import DataDir
from store.core.settings import ContextSettings, RetentionSettings, Settings, WebSettings
from store.deletion import deletion, receipts, request, retention, sources
from store.deletion.receipts import Receipt
from store.frames import frames, packing, text_index
from store.frames.frames import FrameRow
from store.privacy.rules import OwnChoices, load_rules, save_choices, validate
from store.sources import imports
from store.sources.calendars import EventRecord
from store.sources.imports import Kind
from store.spool import queue
from store.timeline import segments
from store.verify.verify import verify
from tests.assistant.agents import agent_deps
from tests.factories import NOON_MS, capture, store_frame, webp
from tests.fake_embedder import FakeEmbedder
from tests.ingest.conftest import ScriptedEngine, opener
from tests.sources import message, put_events, put_messages
from tests.store.deletion.test_deletion import places_with
from tests.stub_model import Request, StubModel
from webapp import create_app
from webapp.exports import files

SECRET = "xylophonequark"
LINE = f"the {SECRET} stands here"
SOURCES: dict[Kind, str] = {"messages": "zithermarmot", "calendar": "oboewalrus"}
"""What imported messages and events say."""
WORDS = SECRET, *SOURCES.values()
BROUGHT = "quincebassoon"
"""What those say that are being imported."""
HOUR_MS = 3_600_000
FROM_MS, UNTIL_MS = NOON_MS, NOON_MS + 600_000
LATER_MS = NOON_MS + 3 * HOUR_MS
NEEDLES = [SECRET.encode(), SECRET.encode("utf-16-le")]
PORT = 8420


# -- the schedule -------------------------------------------------------------------------

Choice = Callable[[str, dict[str, int]], str]
"""Who goes on, given who is about to take a step and how many each took; the other where one has ended."""
ACTORS = ("deletion", "writer")


def deletion_before(step: int) -> Choice:
    """The whole deletion before a step of the writer."""
    return lambda _, taken: "writer" if taken["writer"] < step else "deletion"


def writer_before(step: int) -> Choice:
    """The whole writer before a step of the deletion."""
    return lambda _, taken: "deletion" if taken["deletion"] < step else "writer"


def at_random(chance: random.Random) -> Choice:
    """Each goes on for some steps."""
    often = chance.choice((0.1, 0.3, 0.6))
    return lambda actor, _: chance.choice(ACTORS) if chance.random() < often else actor


class Baton:
    """Held by one actor at a time; all threads but the deletion's are the writer's."""

    def __init__(self, choose: Choice) -> None:
        self.steps = dict.fromkeys(ACTORS, 0)
        self._choose = choose
        self._holder = "writer"
        self._running = set(ACTORS)
        self._changed = threading.Condition()
        self._local = threading.local()
        self.deleting: threading.Thread | None = None

    def step(self, *, is_waiting: bool = False) -> None:
        """Wait for one's turn; who waits for the other lets it go on."""
        actor = "deletion" if threading.current_thread() is self.deleting else "writer"
        with self._changed:
            if self._running == set(ACTORS):
                other = ACTORS[actor == "deletion"]
                self._holder = other if is_waiting else self._choose(actor, self.steps)
                self._changed.notify_all()
            self.steps[actor] += 1
            self._changed.wait_for(lambda: self._holder == actor or self._running != set(ACTORS), 60)

    def end(self, actor: str) -> None:
        with self._changed:
            self._running.discard(actor)
            self._changed.notify_all()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Steps of the code under test come here."""
        with ExitStack() as stack:
            for owner, name in (
                (Database, "write"), (Database, "read"), (Database, "checkpoint"), (queue, "write_file"),
                (paths, "write_file"), (paths.time, "sleep"),
            ):  # fmt: skip
                self._wrap(stack, owner, name)
            yield

    def _wrap(self, stack: ExitStack, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def stepping(*given: Any, **named: Any) -> Any:
            if not getattr(self._local, "writes", False):  # nobody else could write then
                self.step(is_waiting=name == "sleep")
            return None if name == "sleep" else real(*given, **named)

        @contextmanager
        def writing(database: Database) -> Iterator[apsw.Connection]:
            self.step()
            with real(database) as connection:
                self._local.writes = True
                try:
                    yield connection
                finally:
                    self._local.writes = False

        setattr(owner, name, writing if name == "write" else stepping)
        stack.callback(setattr, owner, name, real)


# -- a home -------------------------------------------------------------------------------


@cache
def screen(n: int) -> Image.Image:
    """A picture of its own, that packs well with the others."""
    image = Image.new("RGB", (640, 400), (20, 90, 200))
    draw = ImageDraw.Draw(image)
    for line in range(30):
        draw.text(
            (9, 12 * line),
            f"{line * 7919} words that stand on every picture {line * 104729}",
            fill=(line, 0, 0),
        )
    image.paste(
        Image.fromarray(np.random.default_rng(n).integers(0, 256, (8, 8, 3), dtype=np.uint8)), (n, 60)
    )
    return image


@dataclass
class World:
    """A home of a few frames whose words, titles and pictures are to be deleted, and some that stay."""

    home: Home
    stub: StubModel
    deps: TurnServices
    context: ContextServices
    now_ms: int = LATER_MS
    doomed: list[FrameRow] = field(default_factory=list)
    imported: dict[str, bytes] = field(default_factory=dict)  # by capture id: the picture
    brings: Kind | None = None  # the source that something is imported into
    handed_out: list[str] = field(default_factory=list)  # words that went out after they were deleted

    @property
    def exported(self) -> Path:
        home = self.home.data_dir.home
        return home.with_name(f"{home.name}-export.zip")

    @property
    def database(self) -> Database:
        return self.home.database

    def stretches(self) -> list[bytes]:
        """Of each picture that is to go some bytes that no other has."""
        wholes = [*self.imported.values(), *(webp(screen(n)) for n in range(1, 4))]
        for frame_id in self.database.column("select id from frames"):
            frame = frames.get(self.database, frame_id)
            wholes.append(self.home.media.exact(frame))
        return [_stretch(self.home.media.exact(frame), wholes) for frame in self.doomed]

    def clock(self) -> int:
        return self.now_ms

    def show(self, at_ms: int) -> None:
        """One more that is to go, not read yet."""
        self.doomed.append(shown(self.home, at_ms, None))

    def ask(self, message: str, **changes: Any) -> Any:
        given = {"timezone": "UTC", "now_ms": self.now_ms, "start_ms": FROM_MS - HOUR_MS, "end_ms": LATER_MS}
        return answer(self.deps, TurnRequest(message=message, **{**given, **changes}))


def _stretch(own: bytes, wholes: list[bytes]) -> bytes:
    """Bytes that of all these stand in one alone."""
    parts = (own[at : at + 40] for at in range(20, len(own) - 40, 20))
    return next(part for part in parts if sum(part in whole for whole in wholes) == 1)


@cache
def template() -> Path:
    """Four frames that are to go, and four that stay; made once."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    home = open_home(DataDir(folder).create(), Settings())
    for n in range(4):
        shown(home, FROM_MS + n * 60_000, f"{LINE}\nline {n} of many words here")
        shown(home, FROM_MS - 1_000_000 + n * 60_000, f"harbour office number {n} is open", "Code")
    words = [f"bring the {SOURCES['messages']} number {n}" for n in range(3)]
    put_messages(home.database, [message(each, FROM_MS, name="Anna") for each in words])
    events = [f"{SOURCES['calendar']} number {n}" for n in range(3)]
    put_events(home.database, [EventRecord(each, FROM_MS, UNTIL_MS, uid=each) for each in events])
    home.database.checkpoint()
    home.database.close_thread()
    return folder


def shown(home: Home, at_ms: int, text: str | None, secret: str = SECRET) -> FrameRow:
    """A frame on the line of activity, whose app and title are secret, too."""
    frame = store_frame(
        home.database, home.data_dir, at_ms, text, image=screen((at_ms - FROM_MS) // 1000 % 97), batch_id="b",
        app_name=f"App {secret}", window_name=f"{secret}.txt",
    )  # fmt: skip
    with home.database.write() as connection:
        segments.heartbeat(connection, frame)
    return frame


@contextmanager
def world(folder: Path) -> Iterator[World]:
    shutil.copytree(template(), folder)
    with ExitStack() as stack:
        home = open_home(DataDir(folder).create(), Settings())
        stub = stack.enter_context(StubModel(can=("tools",)))
        deps = stack.enter_context(agent_deps(home.database, stub))
        embedder = QueryEmbedder(Settings().embedding, home.database, FakeEmbedder)
        made = World(home, stub, deps, None)  # type: ignore[arg-type]
        pace = ContextPace(build_budget_ms=60_000.0, telemetry_sample=1.0)
        made.context = ContextServices(
            home.database, ContextSettings(), deps.models, embedder.asked, made.clock, pace
        )
        made.deps = replace(deps, context=made.context, clock=made.clock)
        doomed = home.database.column("select id from frames where captured_ms >= ?", (FROM_MS,))
        made.doomed = [frames.get(home.database, each) for each in doomed]
        yield made
        home.database.close_thread()


def echo(request: Request) -> str:
    """A model that says back what it was shown, without citing it."""
    shown = json.dumps(request["messages"], ensure_ascii=False)
    return " ".join(f"You saw {word}." for word in WORDS if word in shown) or "You saw little."


def cite(request: Request) -> dict[str, Any]:
    """A model that quotes what it was shown, of whatever came first."""
    if SECRET not in json.dumps(request["messages"], ensure_ascii=False):
        return {"answer_md": "There was nothing.", "evidence": []}
    return {"answer_md": f"It said {LINE} [[e1]].", "evidence": [{"id": "e1", "quote": LINE}]}


# -- the writers --------------------------------------------------------------------------

Run = Callable[[], object]
WRITERS: dict[str, Callable[[World], Run]] = {}


def writer(prepare: Callable[[World], Run]) -> Callable[[World], Run]:
    """Something that writes, by what it is called: prepared alone, then run against a deletion."""
    WRITERS[prepare.__name__] = prepare
    return prepare


def steps(step: Callable[[], object], most: int = 40) -> Run:
    """Until nothing is left to do."""

    def run() -> None:
        for _ in range(most):
            if not step():
                return

    return run


@writer
def capture_and_store(own: World) -> Run:
    spool = own.home.spool
    consumer = SpoolConsumer(own.home, Backlog(own.database, own.clock), WorkerStats(own.clock), own.clock)

    def put(n: int) -> None:
        record = capture(
            LATER_MS - 5_000 + n, app_name=f"App {SECRET}", window_name=f"{SECRET}.txt", batch_id="b"
        )
        with suppress(FileNotFoundError):  # deleted while it was written
            spool.put(record, webp(screen(n)), None)

    put(1)
    return lambda: (put(2), consumer.store_some(9), put(3), consumer.store_some(9))


@writer
def importing(own: World) -> Run:
    """Pictures of the range: an import is an act of its own, and what is imported later stays."""
    zone, folder = ZoneInfo("UTC"), own.exported.with_suffix("")
    folder.mkdir()
    for n in range(3):
        (folder / f"{FROM_MS + 400_000 + n * 1000}.webp").write_bytes(webp(screen(50 + n)))
    items = list(images.read(images.find(folder, zone), zone))
    own.imported = {item.capture.capture_id: item.image for item in items if isinstance(item, Item)}
    assert len(own.imported) == 3
    consumer = SpoolConsumer(own.home, Backlog(own.database, own.clock), WorkerStats(own.clock), own.clock)
    feed = ImportFeed(own.home, iter(items))
    return lambda: (list(feed.steps), consumer.store_some(9))  # the first ones wait for a while


def bringing(own: World, kind: Kind, name: str, content: str) -> Run:
    """A file of five records is imported, of which one is there already."""
    own.brings, path = kind, own.exported.with_name(name)
    path.write_text(content, encoding="utf-8")
    return lambda: source_import.import_file(own.home, kind, path, Options(ZoneInfo("UTC"), own.now_ms))


@writer
def importing_messages(own: World) -> Run:
    lines = [f"{FROM_MS // 1000 + n},received,+49170,Ben,{BROUGHT} number {n}" for n in range(4)]
    return bringing(
        own, "messages", "brought.csv", "\n".join(["time,direction,address,name,text", *lines, ""])
    )


@writer
def importing_events(own: World) -> Run:
    events = [
        f"BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART:20231114T2{n}0000Z\r\nSUMMARY:{BROUGHT} {n}\r\nEND:VEVENT\r\n"
        for n in range(4)
    ]
    head, tail = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//a//b//EN\r\n", "END:VCALENDAR\r\n"
    return bringing(own, "calendar", "brought.ics", "".join([head, *events, tail]))


@writer
def remembering_names(own: World) -> Run:
    source = imports.listed(own.database, "messages")[0]
    return lambda: imports.accept_names(own.database, source, None, own.now_ms)


@writer
def backing_up(own: World) -> Run:
    return lambda: backup.make(own.database, own.now_ms)


@writer
def exporting(own: World) -> Run:
    def run() -> None:
        rules = load_rules(own.home.data_dir, own.home.settings.privacy)
        export.export(own.database, own.exported, FROM_MS - HOUR_MS, LATER_MS, own.now_ms, rules)

    return run


@writer
def reading(own: World) -> Run:
    for n in range(2):
        own.show(FROM_MS + 300_000 + n * 1000)
    backlog = Backlog(own.database, own.clock)
    engine = ScriptedEngine(LINE)
    return steps(
        ReaderLoop(
            own.home, backlog, WorkerStats(own.clock), opener(engine), own.clock, threading.Event()
        ).step,
        4,
    )


@writer
def memory(own: World) -> Run:
    days = DailySummaryWriter(own.database, own.clock)
    return steps(ObservationLoop(own.database, own.clock, threading.Event(), days).step)


@writer
def refining(own: World) -> Run:
    memory(own)()
    facts = [{"frame_id": own.doomed[0].id, "text": LINE}]
    own.stub.reply(json.dumps({"title": SECRET, "narrative": LINE, "facts": facts}))
    return steps(ObservationWords(own.database, own.deps.models, "local", own.clock).step, 6)


@writer
def embedding(own: World) -> Run:
    loop = EmbeddingLoop(own.database, WorkerStats(own.clock), FakeEmbedder, threading.Event())
    return steps(loop.step, 6)


@writer
def packing_pictures(own: World) -> Run:
    for n in range(4):
        own.show(FROM_MS + 300_000 + n * 1000)
    return lambda: (
        packing.pack_next(own.database, own.home.media, own.clock()),
        deletion.empty_trash(own.database, own.home.media),
    )


@writer
def retaining(own: World) -> Run:
    policy = RetentionSettings(days=1)
    later = LATER_MS + 3 * 24 * HOUR_MS
    return lambda: retention.run(own.database, own.home.media, policy, later)


@writer
def retaining_nothing(own: World) -> Run:
    policy = RetentionSettings(days=1, preview_days=1, text_days=1)
    later = LATER_MS + 3 * 24 * HOUR_MS
    return lambda: retention.run(own.database, own.home.media, policy, later)


@writer
def rebuilding_the_index(own: World) -> Run:
    return steps(lambda: text_index.rebuild_some(own.database, 3))


@writer
def answering(own: World) -> Run:
    own.stub.reply(cite)
    return lambda: own.ask("What did it say?", mode="evidence", model="stub")


@writer
def answering_without_citing(own: World) -> Run:
    own.stub.reply(echo)
    return lambda: own.ask("What did it say?", mode="evidence", model="stub")


@writer
def answering_without_a_model(own: World) -> Run:
    return lambda: own.ask("What stands here?", mode="evidence", model="extractive")


@writer
def answering_with_tools(own: World) -> Run:
    for tool in ("store_entity", "search_ocr"):
        tool_permissions.choose(own.database, tool, "auto", own.now_ms)
    own.stub.call(("search_ocr", {"query": "stands here"}))
    stored = {"kind": "thing", "name": SECRET, "description": LINE}
    own.stub.choose(
        lambda asked: [("store_entity", stored)] if SECRET in json.dumps(asked["messages"]) else []
    )
    own.stub.reply(echo)
    return lambda: own.ask("What stands here?", mode="agent", model="stub", start_ms=None, end_ms=None)


def answering_from(own: World, tool: str, **arguments: Any) -> Run:
    """An answer that says what a tool showed of a source, and remembers it."""
    for name in ("store_entity", tool):
        tool_permissions.choose(own.database, name, "auto", own.now_ms)
    stored = [("store_entity", {"kind": "thing", "name": word, "description": word}) for word in WORDS]
    own.stub.call((tool, arguments))
    own.stub.choose(
        lambda asked: [each for each in stored if each[1]["name"] in json.dumps(asked["messages"])]
    )
    own.stub.reply(echo)
    return lambda: own.ask(
        "What did they write?", mode="agent", model="stub", start_ms=None, end_ms=None,
    )  # fmt: skip


@writer
def answering_from_messages(own: World) -> Run:
    return answering_from(own, "search_messages", query="bring")


@writer
def answering_from_the_calendar(own: World) -> Run:
    start, end = (times.rfc3339(ms, ZoneInfo("UTC")) for ms in (FROM_MS, UNTIL_MS))
    return answering_from(own, "get_calendar_events", start=start, end=end)


@writer
def exporting_an_answer(own: World) -> Run:
    """In each format, of an answer that quotes a frame and one that was told messages."""
    asked = []
    own.stub.reply(cite)
    asked.append(own.ask("What did it say?", mode="evidence", model="stub"))
    own.stub._script.clear()
    asked.append(answering_from_messages(own)())
    settings = Settings(web=WebSettings(port=PORT))
    embedder = QueryEmbedder(settings.embedding, own.database, FakeEmbedder)
    app = create_app(settings, own.database, chat_models=own.deps.models, embedder=embedder, clock=own.clock)
    client, token = app.test_client(), app.extensions["recollect"].token

    def run() -> None:
        for turn, fmt in product(asked, files.FORMATS):
            with deleted_words(own, turn) as gone:
                answer = client.get(
                    f"/api/v1/chats/{turn.chat_id}/turns/{turn.turn_id}/export?fmt={fmt}",
                    headers={"Authorization": f"Bearer {token}"}, base_url=f"http://127.0.0.1:{PORT}",
                )  # fmt: skip
            assert answer.status_code in (200, 404, 409), (answer.status_code, answer.text)
            if answer.status_code == 200:
                own.handed_out += [word for word in gone if word.encode() in answer.data]

    return run


@contextmanager
def deleted_words(own: World, turn: TurnResult) -> Iterator[list[str]]:
    """Words that the turn had lost when the export of it was made, before it was looked at once more."""
    gone: list[str] = []
    real, looked = files._state, []
    sql = "select answer_md from turns where conversation_id = ? and n = ?"

    def noting(*which: int) -> Any:
        looked.append(which)
        if len(looked) == 2:  # on a connection of its own: that is no step
            with closing(apsw.Connection(str(own.home.data_dir.database))) as connection:
                said = scalar(connection, sql, (turn.chat_id, turn.turn_id)) or ""
            gone.extend(word for word in WORDS if word in turn.answer_md and word not in said)
        return real(*which)

    files._state = noting
    try:
        yield gone
    finally:
        files._state = real


@writer
def an_insight(own: World) -> Run:
    own.stub.reply(echo)
    anchor = Anchor("moment", FROM_MS - 60_000, FROM_MS + 120_000)
    return lambda: own.ask("What was I doing?", anchor=anchor, model="stub", start_ms=None, end_ms=None)


@writer
def reading_again(own: World) -> Run:
    own.stub.reply(cite)
    asked = own.ask("What did it say?", mode="evidence", model="stub")
    own.stub._script.clear()
    own.stub.reply('{"1": "does_not_support"}')
    given = own.deps, asked.chat_id, asked.turn_id, "stub", CancelToken()
    return lambda: list(second_reading.run(*given))


def told(own: World) -> int:
    """A closed window whose answer told of what is to be deleted; the id of another one."""
    own.stub.reply(cite)
    session = session_closing.open_window(own.context, None)
    own.ask("What did the notes say?", mode="evidence", model="stub", session_id=session)
    return session


@writer
def closing_a_chat(own: World) -> Run:
    session = told(own)
    return lambda: (
        session_closing.close(own.context, session, "window"),
        session_closing.refine(own.context, session),
    )


@writer
def telling_of_a_chat(own: World) -> Run:
    return telling(own, told(own))


@writer
def telling_of_a_chat_about_messages(own: World) -> Run:
    session = session_closing.open_window(own.context, None)
    answering_from_messages(own)
    own.ask(
        "What did the notes say?", mode="agent", model="stub", start_ms=None, end_ms=None, session_id=session
    )
    return telling(own, session)


def telling(own: World, session: int) -> Run:
    """A question in another chat, which is told of the one in that window."""
    session_closing.close(own.context, session, "window")
    another = session_closing.open_window(own.context, None)
    own.stub._script.clear()
    own.stub.reply(echo)

    def tell() -> None:
        asking = ContextRequest("What did the notes say?", None, another, background.VERSION)
        background.prepare(own.context, asking)
        own.ask(
            "What did the notes say?", mode="auto", model="stub", session_id=another,
            context_version=background.VERSION,
        )  # fmt: skip

    return tell


# -- one try ------------------------------------------------------------------------------


@dataclass
class Tried:
    """What came of one schedule."""

    problems: list[str]
    steps: dict[str, int]


Delete = Callable[[World, int], object]


def of_frames(**asked: Any) -> Delete:
    def delete(own: World, until_ms: int) -> Receipt:
        save_choices(own.home.data_dir, OwnChoices(asked.get("rules", ())))
        goes = request.Request(FROM_MS, until_ms, **asked)
        return deletion.delete(own.database, own.home.media, goes, now_ms=LATER_MS)

    return delete


def of_source(kind: Kind) -> Delete:
    return lambda own, _: sources.delete(own.database, kind)


ASKED: dict[str, Delete] = {
    "range": of_frames(),
    "app": of_frames(app_name=f"app {SECRET}"),
    "rule": of_frames(rules=validate([{"app": f"^app {SECRET[:4]}", "match": "regex"}])),
    "messages": of_source("messages"),
    "calendar": of_source("calendar"),
}
"""What is deleted: everything of the range, what is of one app or what a new rule fits, or a source."""


def tried(name: str, choose: Choice, folder: Path, asked: str = "range") -> Tried:
    """One writer against one deletion, in this order of steps."""
    with world(folder) as own, small_patience():
        run = WRITERS[name](own)
        own.database.close_thread()
        # What it was told before is its own; only what is found afterwards counts.
        baton = Baton(choose)
        found: list[object] = []
        failed: list[BaseException] = []
        pictures = own.stretches()

        def delete() -> None:
            baton.step()
            try:
                until_ms = LATER_MS if name == "capture_and_store" else UNTIL_MS
                found.append(ASKED[asked](own, until_ms))
            except BaseException as error:
                found.append(error)
            finally:
                own.database.close_thread()
                baton.end("deletion")

        def write() -> None:
            baton.step()
            try:
                run()
            except (StoreError, TurnRefused, CannotImport):
                pass  # it was refused, and says so
            except BaseException as error:
                failed.append(error)
            finally:
                own.database.close_thread()
                baton.end("writer")

        baton.deleting = threading.Thread(target=delete)
        writing = threading.Thread(target=write)
        with baton.held():
            for thread in (baton.deleting, writing):
                thread.start()
            for thread in (baton.deleting, writing):
                thread.join(120)
        problems = [f"the writer failed: {error!r}" for error in failed]
        if not found or isinstance(found[0], BaseException):
            return Tried([*problems, f"the deletion failed: {found!r}"], baton.steps)
        problems += (
            judged(own, found[0], pictures) if isinstance(found[0], Receipt) else source_judged(own, asked)
        )
        problems += [f"handed out after it was deleted: {word}" for word in own.handed_out]
        problems += brought(own, asked)
        return Tried(problems, baton.steps)


def source_judged(own: World, kind: str) -> list[str]:
    """What is wrong after a source was deleted, in sentences."""
    own.database.checkpoint()
    word = SOURCES[kind].encode()
    problems = [f"found in {place}" for place in places_with(own.home.data_dir, [word])]
    problems += verify(own.database, own.home.media, own.home.spool).problems
    if own.exported.exists() and str(own.exported) not in copies.elsewhere(own.database):
        problems += [f"found in the export, and not told: {name}" for name in members_with(own, word)]
    return problems


def members_with(own: World, word: bytes) -> list[str]:
    with zipfile.ZipFile(own.exported) as bundle:
        return [name for name in bundle.namelist() if word in bundle.read(name)]


def brought(own: World, asked: str) -> list[str]:
    """What is wrong with what was imported meanwhile, in sentences."""
    if not own.brings:
        return []
    table = imports.TABLES[own.brings]
    known = f"""
        select count(*), min(i.finished_ms) from {table} t join imports i on i.id = t.import_id
        where i.name like 'brought.%'
    """
    [(number, finished_ms)] = own.database.rows(known)
    left = places_with(own.home.data_dir, [BROUGHT.encode()])
    if number == 4 and finished_ms:
        return []
    if asked == own.brings and not number:
        return [f"of an import that was deleted there is {place}" for place in left]
    return [f"of an import {number} of 4 are there, finished {finished_ms}"]


def judged(own: World, receipt: Receipt, pictures: list[bytes]) -> list[str]:
    """What is wrong afterwards, in sentences."""
    left = [] if receipt.verified else ["not verified"]
    for _ in range(2):  # the worker's minute
        receipts.settle(own.database, own.home.media)
    own.database.checkpoint()
    places = places_with(own.home.data_dir, [*NEEDLES, *pictures])
    problems = [f"found in {place}" for place in places]
    kept = own.database.column("select receipt from deletions where receipt -> '$.start_ms' is not null")
    outcomes = {each: frames.outcome(own.database, each) for each in own.imported}
    stored = sum(known is not None and known.outcome == "stored" for known in outcomes.values())
    imported = [f"{stored} {receipts._FRAMES_LEFT}"]  # meanwhile: what stays is told
    if not all(each["verified"] or each["left"] == imported for each in map(json.loads, kept)):
        problems.append(f"a receipt is still not verified: {receipt.left} {left}")
    problems += verify(own.database, own.home.media, own.home.spool).problems
    for capture_id, outcome in outcomes.items():
        part = _stretch(own.imported[capture_id], [*own.imported.values()])
        is_there = bool(places_with(own.home.data_dir, [part]))
        if outcome is None or is_there != (outcome.outcome == "stored"):
            problems.append(f"of an imported picture {outcome} is known, and bytes are there: {is_there}")
    if own.exported.exists() and str(own.exported) not in receipt.elsewhere:
        told = members_with(own, SECRET.encode())
        problems += [f"found in the export, and not on the receipt: {name}" for name in told]
    return problems


@contextmanager
def small_patience() -> Iterator[None]:
    """Nothing waits for the clock."""
    with ExitStack() as stack:
        for owner, name, value in (
            (deletion, "_ROUND_S", 0.0), (request, "FRAMES_AT_ONCE", 2), (imports, "BATCH", 2),
            (source_import, "BATCH", 2), (imports, "_AT_ONCE", 1),
            (Database.checkpoint, "__defaults__", (20,)),
        ):  # fmt: skip
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        yield


def schedules(
    chance: random.Random, name: str, number: int, folder: Path, asked: str
) -> Iterator[tuple[str, Choice]]:
    """So many of each kind: in the middle of the writer, in the middle of the deletion, and turn by turn."""
    taken = tried(name, deletion_before(10**6), folder, asked).steps
    for step in chance.sample(range(taken["writer"] + 1), min(number, taken["writer"] + 1)):
        yield f"deletion before step {step}", deletion_before(step)
    for step in chance.sample(range(taken["deletion"] + 1), min(number, taken["deletion"] + 1)):
        yield f"writer before step {step} of the deletion", writer_before(step)
    for _ in range(number):
        seed = chance.getrandbits(32)
        yield f"random {seed}", at_random(random.Random(seed))


def say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def main(number: int = 7, seed: int = 1, *writers: str) -> int:
    chance, failures, tries, started = random.Random(seed), 0, 0, time.monotonic()
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name, asked in product(writers or WRITERS, ASKED):
            before, wrong = tries, 0
            for told, choose in schedules(chance, name, number, Path(folder) / "probe", asked):
                shutil.rmtree(folder, ignore_errors=True)
                done = tried(name, choose, Path(folder) / "home", asked)
                tries += 1
                if done.problems:
                    wrong += 1
                    if wrong <= 3:
                        say(f"  {name}, {asked}, {told}: {done.problems[:4]}")
            failures += wrong
            say(f"{name}, {asked}: {tries - before} interleavings, {wrong} wrong")
    say(f"{tries} interleavings, {failures} wrong, {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:]))
