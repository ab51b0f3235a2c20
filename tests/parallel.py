"""How `make test` deals the suite out to several processes, one for each core.

A file stays whole, so that its fixtures are made once. What is dear beyond a file, the home of the
browser tests and the sample week, is made once as well: the files that share it make one piece. The
longest pieces come first, so that no process is left with one of them at the end.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

_PAGES = "the browser tests' home"
_WEEK = "the sample week"
_TOGETHER = {
    "tests/end_to_end/test_citations_browser.py": _PAGES,
    "tests/end_to_end/test_pages_browser.py": _PAGES,
    "tests/assistant/test_answer_check.py": _WEEK,
    "tests/end_to_end/test_deep_links.py": _WEEK,
    "tests/ingest/test_demo.py": _WEEK,
    "tests/webapp/test_cli.py": _WEEK,
    "tests/webapp/test_sample_week.py": _WEEK,
}


def piece(nodeid: str) -> str:
    """What a test belongs to: its file, or what several files share."""
    path = nodeid.partition("::")[0]
    return _TOGETHER.get(path, path)


def rank(nodeid: str) -> int:
    """Where its piece stands in the order of pieces; the longest have the lowest."""
    found = piece(nodeid)
    first = (_PAGES, _WEEK)
    if found in first:
        return first.index(found)
    return 2 if found.startswith("tests/end_to_end/") else 3


class Pieces(LoadScopeScheduling):
    """Hands out pieces as a whole and in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return piece(nodeid)
