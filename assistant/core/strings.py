"""What the assistant says by itself, in the language of the question: English or Chinese.

The sentences that open or close an answer are known here, so that the check of claims does not
take them for statements about the screen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assistant.core.texts import Language
from store.core import times

PROMPTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))
"""What models are told, by name."""

Section = Literal["turn", "scope", "way", "coverage", "marks", "sources", "looked", "reasons", "failures"]


@cache
def sentences(section: Section) -> Mapping[str, Sequence[Any]]:
    """A table of ``sentences.toml``: by name the English and the Chinese."""
    document = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
    table: Mapping[str, Sequence[Any]] = document[section]
    return table


def text(name: str, language: Language, section: Section = "turn", /, **values: object) -> str:
    """The sentence of that name; its singular ``one_NAME``, where there is one, if `count` is 1."""
    known = sentences(section)
    found = known.get(f"one_{name}") if values.get("count") == 1 else None
    sentence: str = (found or known[name])[language == "zh"]
    return sentence.format(**values)


@cache
def own_sentences() -> frozenset[str]:
    """Those that open or close an answer, and say nothing of the screen."""
    names = ("unconfirmed", "extractive", "extractive_beside", "extractive_told", "evidence")
    return frozenset(sentence for name in names for sentence in sentences("turn")[name])


def reason(code: str, language: Language) -> str:
    """Why nothing was recorded; ``failed:why`` keeps its why."""
    known, _, detail = code.partition(":")
    words = sentences("reasons").get(known, (known, known))[language == "zh"]
    return f"{words}{bracketed(detail, language)}" if detail else words


def listed(parts: Iterable[str], language: Language) -> str:
    """``14:30, 14:45``; ``14:30、14:45``"""
    return (", " if language == "en" else "、").join(parts)


MARKS: Mapping[Language, tuple[str, str]] = {"en": (": ", "; "), "zh": ("：", "；")}
"""Behind what leads to a list, and between its parts that have commas of their own."""


def bracketed(words: str, language: Language) -> str:
    """Behind what it explains: `` (45 min)``, ``（45分钟）``."""
    return f" ({words})" if language == "en" else f"（{words}）"


def duration(ms: int, language: Language = "en") -> str:
    """``1 h 20 min``, ``4 min``, ``35 s``; ``1小时20分钟``. Rounds to minutes from one minute up."""
    hour, minute, second = (" h", " min", " s") if language == "en" else ("小时", "分钟", "秒")
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds}{second}"
    hours, minutes = divmod(round(ms / 60_000), 60)
    parts = [f"{hours}{hour}"] if hours else []
    return (" " if language == "en" else "").join([*parts, f"{minutes}{minute}"] if minutes else parts)


def clock(ms: int, zone: tzinfo) -> str:
    """``14:32``"""
    return times.to_local(ms, zone).strftime("%H:%M")


def clocks(start_ms: int, end_ms: int, zone: tzinfo) -> str:
    """``14:30–14:45``, ``18:00–24:00``; ``14:30`` where both lie in one minute."""
    start, end = clock(start_ms, zone), clock(end_ms, zone)
    if start == end and end_ms - start_ms < 60_000:
        return start
    return f"{start}–{'24:00' if end == '00:00' else end}"


def day(ms: int, zone: tzinfo, now_ms: int, language: Language) -> str:
    """``Tuesday 13 Oct``, ``13 Oct 2025`` where it is of another year."""
    on = times.to_local(ms, zone).date()
    if on.year != times.to_local(now_ms, zone).year:
        return date(ms, zone, language)
    return f"{on.month}月{on.day}日" if language == "zh" else f"{on:%A} {on.day} {on:%b}"


def date(ms: int, zone: tzinfo, language: Language = "en") -> str:
    """``13 Oct 2025``, for whoever reads it in whichever year."""
    on = times.to_local(ms, zone).date()
    return f"{on.year}年{on.month}月{on.day}日" if language == "zh" else f"{on.day} {on:%b %Y}"


def span(start_ms: int, end_ms: int, zone: tzinfo, language: Language = "en") -> str:
    """``20 Nov 2026 14:30–14:45``, ``20 Nov 2026 23:50 – 21 Nov 2026 00:10``"""
    first, last = (date(ms, zone, language) for ms in (start_ms, end_ms))
    if first == last:
        return f"{first} {clocks(start_ms, end_ms, zone)}"
    return f"{first} {clock(start_ms, zone)} – {last} {clock(end_ms, zone)}"


def local_time(ms: int, zone: tzinfo) -> str:
    """``2026-11-20T14:32:08+08:00``: RFC 3339 to the second, in the zone of the request."""
    return times.to_local(ms, zone).isoformat(timespec="seconds")
