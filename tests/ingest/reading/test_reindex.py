"""`recollect reindex`: indexes made anew, and stopped and started again."""

from __future__ import annotations

import errno
import sys
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from engines.embeddings.protocol import EmbedderUnavailable, EmbeddingError
from ingest import __main__ as program
from ingest.core.home import Home
from ingest.core.progress import Bar
from ingest.reading import reindex
from store.chats import conversations
from store.embeddings import vectors
from store.embeddings.knn import RetrievalQuery
from store.frames import text_index
from store.memory import search as memory
from store.search import search
from store.search.filters import Filters
from store.verify.verify import verify
from tests.factories import NOON_MS, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.memories import put_observation


def put(home: Home, *texts: str) -> list[int]:
    return [store_frame(home.database, home.data_dir, NOON_MS + n, text).id for n, text in enumerate(texts)]


def test_words_are_found_again_after_their_index_was_lost(home: Home) -> None:
    frame_id, _ = put(home, "the login system", "another text")
    with home.database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
    assert [each for each in verify(home.database, home.media, home.spool).problems if "index" in each]
    assert reindex.text(home) == {"index_rows": 2, "indexed_documents": 0}
    assert not [each for each in verify(home.database, home.media, home.spool).problems if "index" in each]
    assert [hit.frame_id for hit in search.search(home.database, "login", Filters(0)).hits] == [frame_id]


def test_words_of_memory_are_found_again_after_their_index_was_lost(home: Home) -> None:
    put_observation(home.database, title="The login system", narrative="Half an hour.")
    with home.database.write() as connection:
        connection.execute("insert into memory_fts (memory_fts) values ('delete-all')")
    assert [each for each in verify(home.database, home.media, home.spool).problems if "index" in each]
    assert reindex.text(home)["indexed_documents"] == 2
    assert not [each for each in verify(home.database, home.media, home.spool).problems if "index" in each]
    page = memory.search_memory(home.database, RetrievalQuery("login"), now_ms=NOON_MS)
    assert [entry.title for entry in page.entries] == ["The login system"]


def test_a_full_disk_is_one_line(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reindex, "text", Mock(side_effect=OSError(errno.ENOSPC, "the disk is full")))
    monkeypatch.setattr(sys, "argv", ["ingest", "--home", str(home.data_dir.home), "reindex", "--text"])
    assert program.main() == program.SOME_FAILED
    assert capsys.readouterr().err == "ingest: the disk is full\n"


def test_index_of_words_that_was_stopped_goes_on_where_it_was(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = put(home, *(f"shared number{n}" for n in range(20)))
    monkeypatch.setattr(text_index.rebuild_some, "__defaults__", (6,))
    steps = []

    def stop(bar: Bar, done: int, length: int) -> None:
        steps.append(length - done)
        if len(steps) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Bar, "reach", stop)
        reindex.text(home)
    assert steps == [14, 8]
    found = search.search(home.database, "shared", Filters(0), order="oldest").hits
    assert [hit.frame_id for hit in found] == ids
    assert reindex.text(home)["index_rows"] == 8
    assert not [each for each in verify(home.database, home.media, home.spool).problems if "index" in each]
    found = search.search(home.database, "shared", Filters(0), order="oldest").hits
    assert [hit.frame_id for hit in found] == ids


def test_only_what_lacks_vectors_is_embedded(home: Home) -> None:
    put(home, *(f"text of number{n} here" for n in range(20)))
    embedder = FakeEmbedder()
    found = reindex.meaning(home, lambda: embedder, everything=False)
    assert (found["embedded"], found["waiting"]) == (20, 0)
    again = FakeEmbedder()
    assert reindex.meaning(home, lambda: again, everything=False)["embedded"] == 0
    assert again.calls == []
    assert reindex.meaning(home, FakeEmbedder, everything=True)["embedded"] == 20


def test_run_that_was_stopped_goes_on_where_it_was(home: Home) -> None:
    put(home, *(f"text of number{n} here" for n in range(20)))

    class Stopping(FakeEmbedder):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            if self.calls:
                raise KeyboardInterrupt
            return super().embed(texts)

    first = Stopping()
    with pytest.raises(KeyboardInterrupt):
        reindex.meaning(home, lambda: first, everything=False)
    second = FakeEmbedder()
    reindex.meaning(home, lambda: second, everything=False)
    texts = [text for call in (*first.calls, *second.calls) for text in call]
    assert len(texts) == len(set(texts)) == 20
    assert vectors.count_missing(home.database) == 0


def test_missing_embedder_is_said(home: Home) -> None:
    put(home, "the login system")

    def unavailable() -> FakeEmbedder:
        raise EmbedderUnavailable("not installed: pip install it")

    with pytest.raises(EmbeddingError, match="pip install it"):
        reindex.meaning(home, unavailable, everything=False)
    assert vectors.count_missing(home.database) == 1


def test_command_prints_its_counts(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, "the login system")
    chat = conversations.create(home.database, "title", NOON_MS)
    conversations.add_turn(
        home.database, chat, mode="evidence", model="m", question="what did I do?",
        start_ms=0, end_ms=1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    monkeypatch.setattr("ingest.worker.assembly.embedder_of", lambda _: FakeEmbedder)
    result = CliRunner().invoke(program.ingest, ["--home", str(home.data_dir.home), "reindex", "--vectors"])
    assert result.output.splitlines()[:2] == ["Found 1 user prompts", "Created 0 documents"]
    assert "Texts embedded: 2" in result.output
