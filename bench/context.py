"""Memory of chats with 5,000 sessions: a pack, a close without a model, and the heartbeats of 50 windows.

A year of use. Vectors are made up, which costs a pack what real ones do; the questions of the window that
asks are new each time, so nothing is told again. Heartbeats go over real connections to a real server.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from assistant.context import session_closing
from assistant.context.background import VERSION, ContextRequest, prepare
from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.models import ChatModels
from bench.report import Report, percentile, timed_ms
from bench.synthetic import START_MS
from store.chats import conversations
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import ChatSettings, ContextSettings, Settings
from store.embeddings.knn import RetrievalQuery
from store.memory import chat_sessions
from webapp.serving.app import create_app
from webapp.serving.server import Server

SESSIONS = 5_000
WINDOWS = 50
BEATS_S = 30.0
PACKS = 200
CLOSES = 60
_DIMENSION = 384
_STEP_MS = 365 * 86_400_000 // SESSIONS
_NOW_MS = START_MS + SESSIONS * _STEP_MS
_TEXT = """
retention invoice capture sqlite vector timeline privacy policy report meeting budget deploy release ticket
review sketch holiday contract printer backup index query schema kernel browser
"""
_WORDS = _TEXT.split()


class _MadeUp:
    """Vectors of a direction each, the same for the same text."""

    def __init__(self) -> None:
        self.model = "made up"

    def vector(self, text: str) -> np.ndarray:
        found = np.random.default_rng(abs(hash(text)) % (1 << 32)).standard_normal(_DIMENSION)
        return np.asarray(found / np.linalg.norm(found), np.float32)

    def asked(self, text: str) -> RetrievalQuery:
        return RetrievalQuery(text, self.vector(text), self.model)


def main(report: Report) -> None:
    """Print p50 and p95 of packs and closes, and the processor's share of heartbeats."""
    rng, made_up = random.Random(3), _MadeUp()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        models = ChatModels(ChatSettings(), {}, waits_s=())
        clock = _Clock()
        pace = ContextPace(build_budget_ms=60_000.0)
        deps = ContextServices(database, ContextSettings(), models, made_up.asked, clock, pace)
        _fill(database, rng, made_up)
        clock.now_ms = _NOW_MS
        _packs(report, deps, rng, "spread over a year")
        _crowd(database)
        _packs(report, deps, rng, "all within 28 days")
        _closes(report, deps, rng)
        _heartbeats(report, database)
        models.close()
        database.close_thread()


class _Clock:
    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


def _fill(database: Database, rng: random.Random, made_up: _MadeUp) -> None:
    """Closed sessions with what two questions come to, tags and a vector, in one transaction."""
    with database.write() as connection:
        for number in range(1, SESSIONS + 1):
            ended_ms = START_MS + number * _STEP_MS
            words = rng.sample(_WORDS, k=5)
            connection.execute(
                "insert into conversations (id, title, created_ms, updated_ms) values (?, 'a chat', ?, ?)",
                (number, ended_ms, ended_ms),
            )
            connection.execute(
                """
                insert into chat_sessions (id, conversation_id, state, created_ms, seen_ms, closed_ms,
                    closed_by, summary_state)
                values (?, ?, 'closed', ?, ?, ?, 'window', 'made')
                """,
                (number, number, ended_ms, ended_ms, ended_ms),
            )
            connection.execute(
                """
                insert into chat_summaries (session_id, ended_ms, request, learned, completed, tokens,
                    made_by, vector, vector_model, updated_ms)
                values (?, ?, ?, ?, '2 of 2 questions answered.', 90, 'rules', ?, ?, ?)
                """,
                (
                    number, ended_ms, f"What about the {words[0]} {words[1]}? Later: And the {words[2]}?",
                    f"The {words[0]} was changed with the {words[3]}; the {words[4]} stayed on that day.",
                    _quantised(made_up.vector(str(number))).tobytes(), made_up.model, ended_ms,
                ),
            )  # fmt: skip
            connection.executemany(
                "insert into session_tags (session_id, tag, confidence) values (?, ?, ?)",
                [(number, word, 0.3 + 0.7 * rng.random()) for word in words],
            )
    database.checkpoint()


def _quantised(vector: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(vector * (127 / np.abs(vector).max())), np.int8)


def _asked(deps: ContextServices, rng: random.Random, turns: int) -> int:
    database, now_ms = deps.database, deps.clock()
    chat_id = conversations.create(database, "a chat", now_ms)
    session_id = chat_sessions.create(database, now_ms, chat_id)
    for _ in range(turns):
        one, two, three = rng.choices(_WORDS, k=3)
        question = f"What about the {one} {two} and {three}?"
        turn = conversations.add_turn(
            database, chat_id, mode="agent", model="none", question=question,
            start_ms=None, end_ms=None, timezone="Europe/Berlin", now_ms=now_ms, session_id=session_id,
        )  # fmt: skip
        answer = f"The {one} was changed with the {two}; the {three} stayed as it was on that day."
        claim = {"text": answer, "start": 0, "end": len(answer), "citations": [1], "state": "found"}
        conversations.finish_turn(database, turn.id, answer, {"claims": [claim]}, (), now_ms)
    return session_id


def _crowd(database: Database) -> None:
    """The same sessions as if all of them were of the last 28 days: the most that a pack is chosen from."""
    with database.write() as connection:
        connection.execute(
            "update chat_summaries set ended_ms = ? - session_id * ?", (_NOW_MS, 27 * 86_400_000 // SESSIONS)
        )
        connection.execute("delete from user_chat_summaries")
    database.checkpoint()


def _packs(report: Report, deps: ContextServices, rng: random.Random, what: str) -> None:
    session_id = _asked(deps, rng, 4)
    session = chat_sessions.get(deps.database, session_id)
    assert session is not None
    sizes = []

    def pack() -> None:
        message = f"What about the {' '.join(rng.choices(_WORDS, k=4))}?"
        made = prepare(deps, ContextRequest(message, session.chat_id, session_id, VERSION))
        assert made.system_augmentation, made.reason
        sizes.append(len(made.system_augmentation))

    cpu_s = time.process_time()
    taken = timed_ms(pack, PACKS, warmup=5)
    cpu_ms = (time.process_time() - cpu_s) * 1_000 / (PACKS + 5)
    goal = "p95 50 ms with 5,000 sessions"
    report.row(f"a pack, {what}", f"{percentile(taken, 0.5):.1f} ms p50")
    report.row("", f"{percentile(taken, 0.95):.1f} ms p95", goal=goal)
    report.row("", f"{cpu_ms:.1f} ms of CPU each")
    report.row("", f"{max(sizes):,} characters", goal="at most 3,000")


def _closes(report: Report, deps: ContextServices, rng: random.Random) -> None:
    waiting = [_asked(deps, rng, 4) for _ in range(CLOSES)]
    cpu_s = time.process_time()
    taken = [
        timed_ms(partial(session_closing.close, deps, each, "window"), 1, warmup=0)[0] for each in waiting
    ]
    cpu_ms = (time.process_time() - cpu_s) * 1_000 / CLOSES
    report.row("closing a window, without a model", f"{percentile(taken, 0.5):.1f} ms p50")
    report.row("", f"{max(taken):.1f} ms at most", goal="200 ms")
    report.row("", f"{cpu_ms:.1f} ms of CPU each")


def _heartbeats(report: Report, database: Database) -> None:
    """What 50 windows cost that beat every half minute, over real connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        settings = Settings()
        settings = replace(settings, web=replace(settings.web, port=port))
        models = ChatModels(settings.chat, {}, waits_s=())
        app = create_app(settings, database, chat_models=models)
        server = Server(app, listener, thread_done=database.close_thread)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    token = app.extensions["recollect"].token

    def post(path: str, body: dict[str, str]) -> dict[str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/v1/chat/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        found: dict[str, str] = json.loads(answer.read())
        connection.close()
        assert answer.status in (200, 201), found
        return found

    ids = [post("new", {})["session_id"] for _ in range(WINDOWS)]

    def beat() -> None:
        for session_id in ids:
            post("heartbeat", {"session_id": session_id})

    beat()
    before, began, rounds = time.process_time(), time.perf_counter(), 5
    for _ in range(rounds):
        beat()
    used_s = (time.process_time() - before) / rounds
    took_s = (time.perf_counter() - began) / rounds
    server.stop()
    running.join(5)
    models.close()
    report.row(f"{WINDOWS} heartbeats, server and client", f"{used_s * 1000:.0f} ms of CPU")
    report.row("of a processor, one each 30 s", f"{used_s / BEATS_S:.2%}", goal="below 1 %")
    report.row("one after the other", f"{took_s * 1000 / WINDOWS:.1f} ms each")
