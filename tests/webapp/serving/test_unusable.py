"""A database that cannot be used is told on every page, with what to do, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from store.core.settings import WebSettings
from tests.tables import for_each
from webapp.serving.app import _flask, unusable_app

HOST = {"Host": "127.0.0.1:8420"}


@pytest.fixture
def visitor() -> Iterator[FlaskClient]:
    app = unusable_app(_flask(), "It is <damaged>.", "`recollect restore` mends it.", WebSettings())
    with app.test_client() as client:
        yield client


@for_each("path", ["/", "/timeline", "/launch?code=x", "/frames/1"])
def test_every_page_says_why_and_what_to_do(visitor: FlaskClient, path: str) -> None:
    answer = visitor.get(path, headers=HOST)
    assert (answer.status_code, answer.mimetype) == (503, "text/html")
    assert "It is &lt;damaged&gt;." in answer.text
    assert "<code>recollect restore</code> mends it." in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_programs_get_a_problem(visitor: FlaskClient) -> None:
    for answer in (visitor.get("/api/v1/health", headers=HOST), visitor.post("/api/v1/chat", headers=HOST)):
        assert (answer.status_code, answer.get_json()["code"]) == (503, "database_unusable")
    static = visitor.get("/static/favicon.svg", headers=HOST)
    assert static.status_code == 200
    static.close()
    assert visitor.get("/", headers={"Host": "evil.example:8420"}).status_code == 403
