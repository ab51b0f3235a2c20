"""Nearest neighbours among vectors of real lines: candidates by bits beside an exact search.

The lines are documentation, messages of programs in many languages, and code of this machine. Of the
vectors three in ten repeat a line, as a screen does; the others lie between it and one of its nearest, or
differ from it as two near lines differ elsewhere. Questions are lines that are not among them. What is as
near as the exact tenth counts as found. ``RECOLLECT_BENCH_VECTORS`` and ``_LINES`` say how many.
"""

from __future__ import annotations

import gettext
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.report import Report, percentile, rss_mb
from engines.embeddings.protocol import open_embedder
from ingest.reading.chunking import cut
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.embeddings import knn, vectors
from store.embeddings.sign_index import EVERY_ID, index_of

ON_REQUEST = True
VECTORS = int(os.environ.get("RECOLLECT_BENCH_VECTORS", "1000000"))
LINES = int(os.environ.get("RECOLLECT_BENCH_LINES", "5000"))
_FOLDERS = Path(sys.prefix), Path("/usr/share")
_QUESTIONS, _NEAR, _EACH, _AT_ONCE = 200, 10, 14, 50_000
_REPEATED, _BETWEEN = 0.3, 0.65

Floats = npt.NDArray[np.float32]


def main(report: Report) -> None:
    chance = random.Random(19)
    lines = _lines(chance)
    embedder = open_embedder("local")
    units = np.asarray(embedder.embed(lines), np.float32)
    embedder.close()
    asked, base = units[:_QUESTIONS], units[_QUESTIONS:]
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder)).create())
        vectors.activate_model(database, embedder.name, embedder.dimension)
        exact = _fill(database, base, asked)
        report.row("vectors, lines they are made from", f"{VECTORS:,}, {len(base):,}")
        cosines = [float(np.median(exact[:, place])) for place in (0, 9, 99)]
        report.row("cosine of the 1st, 10th, 100th", ", ".join(f"{each:.2f}" for each in cosines))
        _ask(report, database, asked, exact)
        database.close_thread()


def _ask(report: Report, database: Database, asked: Floats, exact: Floats) -> None:
    [model] = vectors.models(database)
    before_mb, began_s = rss_mb(os.getpid()), time.process_time()
    knn.load_neighbours(database, "document")
    report.row("CPU to load", f"{time.process_time() - began_s:.1f} s")
    report.row("memory", f"{rss_mb(os.getpid()) - before_mb:.0f} MB")
    index = index_of(database, "document", model)
    for candidates in (500, 1_000, knn.RESCORED):
        taken, found = list[float](), list[list[float]]()
        for question, best in zip(asked, exact, strict=True):
            began_s = time.thread_time()
            ids, _, _ = index.candidates(question, 0, EVERY_ID, candidates)
            taken.append((time.thread_time() - began_s) * 1000)
            sql = f"select vector from vectors where id in ({','.join(map(str, ids))})"
            packed = np.frombuffer(b"".join(database.column(sql)), np.int8).reshape(len(ids), -1)
            cosines = np.sort(_cosines(question[None], packed)[0])[::-1]
            found.append([float((cosines[:k] >= best[k - 1] - 1e-6).mean()) for k in (10, 100)])
        ten, hundred = np.mean(found, axis=0)
        report.row(
            f"recall@10, @100 of {candidates:,} candidates",
            f"{ten:.3f}, {hundred:.3f}",
            goal="0.98",
            limit=f"CPU {percentile(taken, 0.5):.0f} / {percentile(taken, 0.95):.0f} ms",
        )


def _lines(chance: random.Random) -> list[str]:
    """As many as are wanted, in no order: a few of each file."""
    files = [path for folder in _FOLDERS for path in folder.rglob("*.*") if path.suffix in _READ]
    chance.shuffle(files)
    found: dict[str, None] = {}
    for path in files:
        found |= dict.fromkeys(_cut(chance, path))
        if len(found) >= LINES + _QUESTIONS:
            break
    lines = list(found)
    chance.shuffle(lines)
    return lines


_READ = ".rst", ".md", ".txt", ".py", ".mo"


def _cut(chance: random.Random, path: Path) -> Iterator[str]:
    try:
        if path.suffix == ".mo":
            with path.open("rb") as file:
                of_file = list(map(str, vars(gettext.GNUTranslations(file))["_catalog"].values()))
        else:
            of_file = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, UnicodeDecodeError):  # not ours: some are no text
        return
    first = chance.randrange(max(1, len(of_file) - _EACH))
    text = "\n".join(" ".join(line.split()) for line in of_file[first : first + _EACH])
    yield from (chunk.text for chunk in cut(text) if 12 < len(chunk.text) < 400)


def _fill(database: Database, base: Floats, asked: Floats) -> Floats:
    """Store the vectors; returns the cosines of the hundred nearest to each question among all of them."""
    chance = np.random.default_rng(5)
    near = np.concatenate([_nearest_of(base, start) for start in range(0, len(base), 1_000)])
    often = chance.permutation(1 / (np.arange(len(base)) + 50.0))
    best = np.empty((len(asked), 0), np.float32)
    [model] = vectors.models(database)
    for first in range(0, VECTORS, _AT_ONCE):
        number = min(_AT_ONCE, VECTORS - first)
        packed = vectors.quantize(_made(chance, base, near, often / often.sum(), number))
        rows = ((first + place, model.id, row.tobytes()) for place, row in enumerate(packed))
        with database.write() as connection:
            connection.executemany(
                "insert into vectors (kind, thing_id, model_id, chunk_start, chunk_end, vector)"
                " values ('document', ?, ?, 0, 1, ?)",
                rows,
            )
        together = np.concatenate([best, _cosines(asked, packed)], axis=1)
        best = -np.sort(-together, axis=1)[:, :100]
    return best


def _nearest_of(base: Floats, start: int) -> npt.NDArray[np.intp]:
    cosines = base[start : start + 1_000] @ base.T
    cosines[np.arange(len(cosines)), start + np.arange(len(cosines))] = -1
    return np.argpartition(-cosines, _NEAR, axis=1)[:, :_NEAR]


def _made(
    chance: np.random.Generator, base: Floats, near: npt.NDArray[np.intp], often: Floats, number: int
) -> Floats:
    of = chance.choice(len(base), number, p=often)
    made, kind = base[of].copy(), chance.random(number)
    between = np.flatnonzero((kind >= _REPEATED) & (kind < _BETWEEN))
    other = np.flatnonzero(kind >= _BETWEEN)
    elsewhere = chance.integers(len(base), size=other.size)
    for places, origin, share in ((between, of[between], 0.6), (other, elsewhere, 0.8)):
        target = near[origin, chance.integers(_NEAR, size=places.size)]
        made[places] += (chance.random((places.size, 1)) * share + 0.02) * (base[target] - base[origin])
    return made


def _cosines(asked: Floats, packed: npt.NDArray[np.int8]) -> Floats:
    units = packed.astype(np.float32)
    return asked @ (units / np.linalg.norm(units, axis=1, keepdims=True)).T
