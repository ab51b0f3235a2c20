"""What means the same is found with the real local embedder, from the reading to the hit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.embeddings.protocol import Embedder, open_embedder
from ingest.core.home import Home
from ingest.reading import reindex
from store.embeddings.knn import RetrievalQuery
from store.search import search
from store.search.filters import Filters
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each

SCREENS = {
    "login": "File Edit View\nThe new login system goes live on Monday\n12:04",
    "session": "notes\nThis session was about the login page and its forms\nsaved",
    "error": "terminal\nan error in the build stopped the release\n$",
    "issue": "tracker\nissue 42: the list jumps when it is opened\nopen",
    "problem": "mail\nthere is a problem with the parser of dates\nreply",
    "hybrid": "paper\nhybrid search over vectors and keywords\npage 3",
    "lunch": "chat\nshall we have noodles at the station today\n12:01",
    "flight": "travel\nyour flight to Lisbon leaves on Friday morning\ngate 4",
    "budget": "sheet\nquarterly revenue grew in all regions\nsum",
    "garden": "forum\nhow deep should tomato seedlings be planted\nvotes",
    "music": "player\nthe second symphony was recorded in Vienna\n3:41",
}


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    opened = open_embedder("local")
    yield opened
    opened.close()


@pytest.fixture
def names(home: Home) -> dict[int, str]:
    """The name of each screen by the id of its frame, all with their meaning."""
    made = {
        store_frame(home.database, home.data_dir, NOON_MS + n, text).id: name
        for n, (name, text) in enumerate(SCREENS.items())
    }
    reindex.meaning(home, lambda: open_embedder("local"), everything=False)
    return made


@for_each(
    ("asked", "expected"),
    [
        ("authentication setup", {"login", "session"}),
        ("authentication system", {"login", "session"}),
        ("fix bug", {"error", "issue", "problem"}),
        ("AI embeddings", {"hybrid"}),
    ],
)
@for_each("mode", ["semantic", "hybrid"])
def test_probe_finds_what_means_the_same(
    home: Home, names: dict[int, str], embedder: Embedder, asked: str, expected: set[str], mode: search.Mode
) -> None:
    [vector] = embedder.embed([asked])
    page = search.search(
        home.database, asked, Filters(0), mode=mode, meaning=RetrievalQuery(asked, vector, embedder.name)
    )
    found = [names[hit.frame_id] for hit in page.hits]
    assert set(found[: len(expected)]) == expected
    assert all(hit.matched == ("meaning",) for hit in page.hits)
    assert (page.mode, page.fallback_reason) == (mode, None)
