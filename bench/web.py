"""The web process: from start to serving, memory, and searches over the wire; 100,000 frames with vectors."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from bench.report import Report, percentile, timed_ms
from bench.synthetic import add_vectors, fill
from bench.wire import served
from engines.embeddings.protocol import EmbedderUnavailable, open_embedder
from store.core.database import open_database
from store.core.paths import DataDir

FRAMES = 100_000
ASKED = 40


def main(report: Report) -> None:
    """Print the time to the first answer, resident memory after use, and wire times."""
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home").create()
        database = open_database(home)
        filled = fill(database, FRAMES)
        try:
            embedder = open_embedder("local")
            add_vectors(database, embedder, filled.vocabulary)
            embedder.close()
        except EmbedderUnavailable as error:
            report.line(f"  nothing by meaning: {error}")
        database.close_thread()
        began = time.perf_counter()
        with served(home) as wire:
            report.row("start to first answer", f"{time.perf_counter() - began:.2f} s", goal="5 s")
            start_s = filled.everything.start_ms / 1000
            searches = {
                "browse, a page": {"start_time": start_s},
                "a common word": {"start_time": start_s, "q": filled.vocabulary[3], "mode": "fts"},
            }
            for name, asked in searches.items():
                path = f"/api/v1/search?{urlencode(asked)}"
                taken = timed_ms(lambda path=path: wire.get(path), ASKED)
                shown = f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms"
                report.row(f"{name}, over the wire, p50 / p95", shown)
            report.row("resident memory, words only", f"{wire.rss_mb():.0f} MB", goal="150 MB")
            wire.get(f"/api/v1/search?{urlencode({'start_time': start_s, 'q': 'a question by meaning'})}")
            wire.get(f"/api/v1/search?{urlencode({'start_time': start_s, 'q': '按意思搜索'})}")
            report.row("resident memory, with meaning", f"{wire.rss_mb():.0f} MB", goal="150 MB")
