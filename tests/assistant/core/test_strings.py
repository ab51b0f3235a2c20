"""Durations and ranges as a person writes them, in English and in Chinese."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from assistant.core import strings

ZONE = ZoneInfo("Asia/Shanghai")
MINUTE_MS = 60_000


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp() * 1000)


@pytest.mark.parametrize(
    "minutes, english, chinese",
    [(0.5, "30 s", "30秒"), (5, "5 min", "5分钟"), (60, "1 h", "1小时"), (185, "3 h 5 min", "3小时5分钟")],
)
def test_a_duration_is_written_as_its_language_does(minutes: float, english: str, chinese: str) -> None:
    ms = round(minutes * MINUTE_MS)
    assert (strings.duration(ms), strings.duration(ms, "zh")) == (english, chinese)


@pytest.mark.parametrize(
    "start, end, said",
    [
        ("2026-11-20T14:30:10", "2026-11-20T14:30:50", "14:30"),
        ("2026-11-20T17:01", "2026-11-21T00:00", "17:01–24:00"),
        ("2026-11-20T00:00", "2026-11-21T00:00", "00:00–24:00"),
    ],
)
def test_a_day_ends_at_twenty_four(start: str, end: str, said: str) -> None:
    assert strings.clocks(at(start), at(end), ZONE) == said
