"""A sample week says on every page that it is one, and opens where something is to be seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from store.core.database import open_database
from store.core.settings import Settings
from tests.demo_week import DemoHome
from tests.fake_embedder import FakeEmbedder
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock
from webapp import create_app
from webapp.ops.health import check

DAYS_LATER_MS = 5 * 24 * 3_600_000


@pytest.fixture
def sample(demo_copy: DemoHome) -> Iterator[Flask]:
    settings, database = Settings(), open_database(demo_copy.data_dir)
    app = create_app(
        settings, database, chat_models=ChatModels(settings.chat, {}),
        embedder=QueryEmbedder(settings.embedding, database, FakeEmbedder),
        clock=Clock(demo_copy.week.end_ms + DAYS_LATER_MS),
    )  # fmt: skip
    yield app
    database.close_thread()


@pytest.fixture
def visitor(sample: Flask) -> Actor:
    token = sample.extensions["recollect"].token
    return Actor(sample.test_client(), {"Authorization": f"Bearer {token}"})


PAGES = (
    "/timeline",
    "/search",
    "/chat",
    "/days",
    "/privacy",
    "/settings/display",
    "/status",
    "/status/light",
)


@for_each("page", PAGES)
def test_every_page_says_that_it_is_a_sample_week(visitor: Actor, demo_copy: DemoHome, page: str) -> None:
    answer = visitor.get(page)
    assert answer.status_code == 200
    last_ms = demo_copy.week.frames[-1].captured_ms
    assert f'href="/timeline?at={last_ms}"' in answer.text
    assert "Sample week</a>" in answer.text


@for_each("page", PAGES)
def test_no_page_of_a_real_home_says_so(program: Actor, page: str) -> None:
    assert "Sample week" not in program.get(page).text


def test_the_timeline_opens_on_the_last_day_of_the_sample(visitor: Actor, demo_copy: DemoHome) -> None:
    assert f"/frames/{demo_copy.week.frames[-1].frame_id}" in visitor.get("/timeline").text
    assert demo_copy.week.scenes[-1].window_name in visitor.get("/timeline").text


def test_not_recording_into_a_sample_week_is_no_fault(sample: Flask) -> None:
    parts = {part.name: part for part in check(sample.extensions["recollect"]).parts}
    assert (parts["capture"].verdict, parts["capture"].value) == ("ok", "sample week")
