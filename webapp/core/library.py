"""What doors read from, opened for a program that runs beside the pages or without them."""

from __future__ import annotations

from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.frames.media import Media


def library_of(data_dir: DataDir, settings: Settings) -> ReadSources:
    database = open_database(data_dir)
    embedder = QueryEmbedder(settings.embedding, database)
    return ReadSources(database, Media(data_dir.media), settings, embedder, now_ms)
