"""What encryption at rest costs: the same home in the clear and encrypted, call by call in turn.

Processor time. It needs the build of SQLite that encrypts:
``PYTHONPATH=.venv/test-sqlite3mc python -m bench encryption``. On a new connection each page is read from the
file and decrypted; on one that lasts the commonest are in its memory.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from bench.ingest import PICTURES
from bench.report import Report
from bench.synthetic import VOCABULARY, fill
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.encryption import migration
from store.frames.media import Media
from store.search.filters import Filters
from store.search.search import search

FRAMES = 30_000
QUESTIONS = 100
STILLS = 20
ROUNDS = 3
_GOAL = "<= 1.15"

Call = Callable[[], object]


def main(report: Report) -> None:
    if not hasattr(apsw, "mc_version"):
        report.line("  SQLite was built without encryption here; see the head of bench/encryption.py")
        return
    with tempfile.TemporaryDirectory() as folder:
        plain, sealed = DataDir(Path(folder) / "plain").create(), DataDir(Path(folder) / "sealed")
        database = open_database(plain)
        made = fill(database, FRAMES)
        database.close_thread()
        shutil.copytree(plain.home, sealed.home)
        began = time.process_time()
        migration.encrypt(sealed, lambda: "a passphrase for the bench", in_keyring=False)
        size = plain.database.stat().st_size / 1e6
        report.row(f"encrypting a database of {size:.0f} MB", f"{time.process_time() - began:.1f} s")
        homes = open_database(plain), open_database(sealed)
        _search(report, homes, made.vocabulary, made.everything)
        _pictures(report, plain, sealed)
        for each in homes:
            each.close_thread()


def _search(
    report: Report, homes: tuple[Database, Database], vocabulary: list[str], everything: Filters
) -> None:
    rng = random.Random(7)
    kinds: dict[str, list[str]] = {
        "one to three words": [
            " ".join(vocabulary[int(VOCABULARY ** rng.random()) - 1] for _ in range(rng.randint(1, 3)))
            for _ in range(QUESTIONS)
        ],
        "a rare word": [vocabulary[rng.randrange(VOCABULARY // 2, VOCABULARY)] for _ in range(QUESTIONS)],
        "browse": [""] * QUESTIONS,
    }
    for name, texts in kinds.items():
        lasting, afresh = (
            [
                [lambda text=text, home=home, ask=ask: ask(home, text, everything) for text in texts]
                for home in homes
            ]
            for ask in (search, _afresh)
        )
        _compare(report, f"search, {name}", *lasting)
        _compare(report, f"on a new connection, {name}", *afresh)


def _afresh(home: Database, text: str, everything: Filters) -> object:
    home.close_thread()
    return search(home, text, everything)


def _pictures(report: Report, plain: DataDir, sealed: DataDir) -> None:
    shelves = Media(plain.media), Media(sealed.media)
    contents = [path.read_bytes() for path in sorted(PICTURES.glob("*.webp"))[:STILLS]]
    keeping: list[list[Call]] = [[], []]
    reading: list[list[Call]] = [[], []]
    for content in contents:
        name = str(uuid.uuid4())
        for number, media in enumerate(shelves):
            still = media.keep(content, "image/webp", now_ms(), name)
            reading[number].append(lambda media=media, path=still.media_path: _shown(media, path))
            keeping[number].append(
                lambda media=media, content=content, name=name: media.keep(
                    content, "image/webp", now_ms(), name
                )
            )
    _compare(report, "a picture checked and filed", *keeping)
    _compare(report, "a picture read and decoded", *reading)


def _shown(media: Media, path: str) -> object:
    from store.frames.media import decode

    return decode(media.content(path), "image/webp")


def _compare(report: Report, name: str, plain: Sequence[Call], sealed: Sequence[Call]) -> None:
    """Each pair of calls in turn, `ROUNDS` times; of each call the least time."""
    least = [[float("inf")] * len(plain), [float("inf")] * len(plain)]
    for _ in range(ROUNDS):
        for at, pair in enumerate(zip(plain, sealed, strict=True)):
            for number, call in enumerate(pair):
                began = time.thread_time()
                call()
                least[number][at] = min(least[number][at], time.thread_time() - began)
    before, after = (sum(times) / len(times) * 1000 for times in least)
    report.row(
        f"{name}: encrypted / in the clear", f"{after / before:.2f}", goal=_GOAL, limit=f"{before:.2f} ms"
    )
