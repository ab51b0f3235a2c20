"""A search as its address says it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from store.search.search import Filters, Order
from webapp.core.ranges import NO_RANGE, Range


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The search as its address says it."""

    q: str = ""
    app: str = ""
    win: str = ""
    url: str = ""
    range: Range = NO_RANGE
    sort: str = ""
    after: str | None = None
    pages: int = 1

    @property
    def filters(self) -> Filters:
        return Filters(
            self.range.start_ms or 0, self.range.end_ms, self.app or None, self.win or None, self.url or None
        )

    @property
    def order(self) -> Order | None:
        return {"new": "newest", "old": "oldest", "best": "relevance"}.get(self.sort)  # type: ignore[return-value]

    def address(self, **changes: object) -> str:
        """This search with something else in it; None or an empty text takes a part away."""
        values: dict[str, object] = {
            "q": self.q,
            "app": self.app,
            "win": self.win,
            "url": self.url,
            **self._range_values(),
            "sort": self.sort,
            **changes,
        }
        kept = [(name, value) for name, value in values.items() if value not in (None, "")]
        return f"/search?{urlencode(kept)}" if kept else "/search"

    def _range_values(self) -> dict[str, object]:
        if self.range.when == "custom":
            return {"from": self.range.start_ms, "to": self.range.end_ms}
        return {"when": self.range.when}

    def without(self, part: Literal["app", "win", "url"]) -> SearchRequest:
        """The same search with one filter less."""
        if part == "app":
            return replace(self, app="")
        return replace(self, win="") if part == "win" else replace(self, url="")

    @property
    def is_filtered(self) -> bool:
        return bool(self.app or self.win or self.url or self.range.is_given)

    @property
    def name(self) -> str:
        """The search in a few words, for a list of saved ones."""
        parts = [self.q.strip(), self.app, self.win, self.url, self.range.label]
        return ", ".join(part for part in parts if part)[:120]
