"""So many calls of each tool in any minute."""

from __future__ import annotations

from assistant.tools.registry import RateLimit


def test_each_tool_has_its_own_minute() -> None:
    now = [100.0]
    limit = RateLimit(2, clock=lambda: now[0])
    assert [limit.take("a"), limit.take("a"), limit.take("b")] == [0, 0, 0]
    now[0] = 130.5
    assert (limit.take("a"), limit.take("b")) == (30, 0)
    now[0] = 159.9
    assert limit.take("a") == 1, "what was refused is not counted"
    now[0] = 160.0
    assert [limit.take("a"), limit.take("a"), limit.take("a")] == [0, 0, 60]
