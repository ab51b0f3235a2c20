"""First evidence card at 1,000,000 frames: from a question to the frames it rests on.

The span of the server, from an admitted question to the event that carries the evidence and its
coverage; questions are summaries and specific ones, over a day, a week, a month, and without any time, with
a look batch for every half minute as capture reports them. Meaning plays no part: the frames made
here have no vectors. The home is that of ``search_million`` and is asked for by the same variables::

    python -m bench first_card
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from pathlib import Path

from assistant.core.models import ChatModels
from assistant.core.records import EvidenceEvent, TurnRequest
from assistant.turns.plan import TurnServices
from assistant.turns.turn import run_turn
from bench.report import Report, percentile
from bench.search_million import FRAMES
from bench.synthetic import START_MS, STEP_MS, Filled, fill, filled
from store.core.database import Database, open_database, scalar
from store.core.paths import DataDir
from store.core.settings import ChatSettings

ON_REQUEST = True
TIMES = 20
_DAY_MS = 86_400_000
_BATCH_MS = 10_000


def main(report: Report) -> None:
    """Print p50 and p95 of the span to the first evidence, by range and kind of question."""
    kept = os.environ.get("RECOLLECT_BENCH_HOME")
    home = Path(kept or tempfile.mkdtemp()) / "home"
    try:
        database = open_database(DataDir(home))
        made = filled(database)
        if made.frames < FRAMES:
            made = fill(database, FRAMES)
        report_looks(database, made)
        _measure(report, database, made)
        database.close_thread()
    finally:
        if not kept:
            shutil.rmtree(home.parent)


def report_looks(database: Database, made: Filled) -> None:
    """Three batches of looks to every frame, as capture writes them every ten seconds."""
    with database.write() as connection:
        if scalar(connection, "select count(*) from look_batches"):
            return
        connection.executemany(
            "insert into look_batches (id, start_ms, end_ms, looks) values (?, ?, ?, 10)",
            (
                (str(at), at, at + _BATCH_MS)
                for at in range(START_MS, START_MS + made.frames * STEP_MS, _BATCH_MS)
            ),
        )


def _measure(report: Report, database: Database, made: Filled) -> None:
    rng = random.Random(17)
    end_ms = START_MS + made.frames * STEP_MS
    everything: list[float] = []
    for name, days in (("a day", 1), ("a week", 7), ("a month", 30), ("everything", 0)):
        for kind in ("summary", "specific"):
            taken = []
            for _ in range(TIMES):
                last_ms = end_ms - rng.randrange(max(1, made.frames * STEP_MS - days * _DAY_MS))
                start_ms = max(START_MS, last_ms - days * _DAY_MS)
                words = " ".join(rng.sample(made.vocabulary[: rng.choice((20, 500, 5000))], 2))
                message = "What did I do?" if kind == "summary" else f"Where is {words}?"
                asked_ms = (start_ms, last_ms) if days else (None, None)
                taken.append(_first_card_ms(database, message, asked_ms, end_ms))
            everything += taken
            figures = f"{percentile(taken, 0.5):,.0f} / {percentile(taken, 0.95):,.0f} ms"
            report.row(f"{kind} over {name}, p50 / p95", figures)
    figures = f"{percentile(everything, 0.5):,.0f} / {percentile(everything, 0.95):,.0f} ms"
    report.row("all of them, p50 / p95", figures, goal="1,000 / 2,500 ms")


def _first_card_ms(
    database: Database, message: str, asked_ms: tuple[int | None, int | None], now_ms: int
) -> float:
    deps = TurnServices(database, ChatModels(ChatSettings(), {}), lambda: now_ms)
    request = TurnRequest(message, "Asia/Shanghai", now_ms, *asked_ms)
    began = time.perf_counter()
    for event in run_turn(deps, request):
        if isinstance(event, EvidenceEvent):
            return (time.perf_counter() - began) * 1000
    raise AssertionError("no evidence was found")
