"""Search by meaning through the API and on the terminal."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from flask import Flask

from assistant.core import query_embedder
from assistant.core.query_embedder import QueryEmbedder
from engines.embeddings.protocol import EmbedderUnavailable
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import EmbeddingSettings, Settings
from store.embeddings import vectors
from tests.end_to_end.programs import eventually
from tests.factories import NOON_MS, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.tables import for_each
from tests.webapp.conftest import Actor, page
from webapp.cli import run
from webapp.core.services import Services
from webapp.ops.health import check


@pytest.fixture
def frame_id(database: Database, data_dir: DataDir) -> int:
    frame = store_frame(database, data_dir, NOON_MS, "the login system")
    with database.write() as connection:
        [vector] = vectors.quantize(FakeEmbedder().embed(["the login system"]))
        vectors.add(connection, "frame", frame.id, "fake", [(0, 16, vector)])
    return frame.id


def asked(program: Actor, q: str, **changes: object) -> dict[str, object]:
    answer = program.get("/api/v1/search", query_string={"q": q, "start_time": 1, **changes})
    assert answer.status_code == 200
    found: dict[str, object] = answer.get_json()
    return found


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_frame_is_found_by_meaning(program: Actor, frame_id: int, mode: str) -> None:
    found = asked(program, "authentication setup", mode=mode)
    [hit] = found["data"]  # type: ignore[misc]
    assert (hit["frame_id"], hit["matched"]) == (frame_id, ["meaning"])
    assert found["search"]["mode"] == mode  # type: ignore[index]
    assert found["search"]["fallback_reason"] is None  # type: ignore[index]


@for_each(
    ("q", "changes", "reason"),
    [
        ("login", {"mode": "fts"}, None),
        ("", {}, None),
        ("登录", {}, "language_not_embedded"),
        ('"login system"', {}, "exact_query"),
    ],
)
def test_reason_is_told(
    program: Actor, frame_id: int, q: str, changes: dict[str, object], reason: str | None
) -> None:
    assert asked(program, q, **changes)["search"]["fallback_reason"] == reason  # type: ignore[index]


def test_broken_embedder_leaves_words_whole_and_health_says_why(
    program: Actor, own: Services, frame_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable() -> FakeEmbedder:
        raise EmbedderUnavailable("the model is not installed: pip install it")

    monkeypatch.setattr(own.embedder, "_open", unavailable)
    found = asked(program, "login")
    assert [hit["frame_id"] for hit in found["data"]] == [frame_id]  # type: ignore[attr-defined]
    assert found["search"]["fallback_reason"] == "embedder_unavailable"  # type: ignore[index]
    [part] = [part for part in check(own).parts if part.name == "meaning"]
    assert (part.verdict, part.why) == ("warn", "the model is not installed: pip install it")


def test_nobody_waits_for_a_model_that_is_loaded(
    program: Actor, browser: Actor, own: Services, frame_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words answer at once and say that meaning follows, also for those who ask beside; then it is there."""
    is_loaded = threading.Event()

    def load() -> FakeEmbedder:
        assert is_loaded.wait(60)
        return FakeEmbedder()

    monkeypatch.setattr(own.embedder, "_open", load)
    monkeypatch.setattr(query_embedder, "MOMENT_S", 0.01)
    for _ in range(9):
        found = asked(program, "login")
        assert [hit["matched"] for hit in found["data"]] == [["text"]]  # type: ignore[attr-defined]
        assert found["search"]["fallback_reason"] == "embedder_loading"  # type: ignore[index]
    shown = page(browser, "/search?q=authentication")
    assert "near in meaning follows" in shown and 'hx-get="/search?q=authentication"' in shown
    is_loaded.set()
    monkeypatch.setattr(query_embedder, "MOMENT_S", 60.0)
    eventually(
        lambda: asked(program, "login")["search"]["fallback_reason"] is None,  # type: ignore[index]
        what="meaning",
    )
    shown = page(browser, "/search?q=authentication")
    assert "follows" not in shown and "near in meaning" in shown


def test_switched_off_is_told(make_app: Callable[..., Flask], database: Database) -> None:
    app = make_app(replace(Settings(), embedding=EmbeddingSettings(engine="off")))
    own: Services = app.extensions["recollect"]
    assert own.embedder.asked("login").problem == "embeddings_off"
    assert [part.verdict for part in check(own).parts if part.name == "meaning"] == ["off"]


def test_question_is_embedded_once_and_not_kept(database: Database) -> None:
    embedder = FakeEmbedder()
    asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder)
    first, second = asking.asked("secret plan"), asking.asked("secret plan")
    assert (first.vector == second.vector).all()  # type: ignore[union-attr]
    assert len(embedder.calls) == 1
    assert "secret" not in repr(vars(asking)["_known"])
    asking.close()


def test_embedder_is_tried_again_later(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = FakeEmbedder()
    embedder.failure = EmbedderUnavailable("no answer")
    asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder)
    assert asking.asked("login").problem == "embedder_unavailable"
    assert asking.problem == "no answer"
    embedder = FakeEmbedder()
    assert asking.asked("login").problem == "embedder_unavailable"
    monkeypatch.setattr(query_embedder.time, "monotonic", lambda: 1e12)
    assert asking.asked("login").model == "fake"
    assert asking.problem == ""


def test_terminal_searches_by_meaning(
    data_dir: DataDir, frame_id: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(query_embedder, "open_embedder", lambda *_: FakeEmbedder())
    home = ["--home", str(data_dir.home), "--json"]
    assert run(["search", *home, "authentication setup"]) == 0
    assert [hit["frame_id"] for hit in json.loads(capsys.readouterr().out)["data"]] == [frame_id]
    assert run(["search", *home, "authentication setup", "--mode", "fts"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == []
