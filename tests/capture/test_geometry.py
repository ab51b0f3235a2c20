from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capture.core.geometry import Rect, uncovered

rects = st.builds(Rect, st.integers(-4, 8), st.integers(-4, 8), st.integers(0, 8), st.integers(0, 8))


def points(rect: Rect) -> set[tuple[int, int]]:
    return {(x, y) for x in range(rect.x, rect.right) for y in range(rect.y, rect.bottom)}


@given(rect=rects, covers=st.lists(rects, max_size=4))
def test_uncovered_parts_are_exactly_what_no_cover_hides(rect: Rect, covers: list[Rect]) -> None:
    parts = uncovered(rect, covers)
    seen = points(rect) - set().union(*(points(cover) for cover in covers))
    assert set().union(*(points(part) for part in parts)) == seen
    assert sum(part.area for part in parts) == len(seen)  # none overlaps another


@given(one=rects, other=rects)
def test_the_common_part_is_what_both_cover(one: Rect, other: Rect) -> None:
    assert points(one.common(other)) == points(one) & points(other)
