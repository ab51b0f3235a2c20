"""What a question is about, in words: the chip beside an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial

from assistant.core.records import Scope, TurnFilters
from assistant.core.strings import day, text
from assistant.core.texts import Language
from store.core import times


def told(
    scope: Scope,
    filters: TurnFilters,
    zone: tzinfo,
    now_ms: int,
    language: Language,
    is_of_frame: bool = False,
) -> str:
    """``everything, Monday 12 Oct – Tuesday 13 Oct``; ``Tuesday 13 Oct, 10:00–12:30, in Code``.

    Days go by their dates: it is kept, and read on other days.
    """
    named = partial(day, zone=zone, now_ms=now_ms, language=language)
    edges = [scope.start_ms, *(ms for span in scope.left_out for ms in span), scope.end_ms]
    spans = zip(edges[::2], edges[1::2], strict=True) if scope.start_ms < now_ms else ()
    parts = [_span(*span, scope.is_everything, zone, language, named) for span in spans]
    if scope.is_everything:
        parts.insert(0, text("everything", language, "scope"))
    if scope.ahead:
        parts.append(of_days(scope.ahead, scope.phrase, zone, now_ms, language))
    elif scope.start_ms >= now_ms or (scope.is_everything and scope.phrase and not scope.unread):
        phrase = scope.phrase or named(scope.start_ms)
        name = "not_then" if scope.is_everything and scope.also else "not_recorded"
        parts.append(text(name, language, "scope", phrase=phrase))
    if is_of_frame:
        parts.insert(0, text("frame", language, "scope"))
    where = (filters.app_name, filters.window_name, filters.browser_url, filters.host)
    parts += [text("in", language, "scope", name=name) for name in where if name]
    if filters.focused is not None:
        parts.append(text("focused" if filters.focused else "unfocused", language, "scope"))
    if scope.unread:
        parts.append(text("unread", language, "scope", words=scope.unread))
    if scope.follows:
        parts.append(text("follows", language, "scope", question=scope.follows))
    return text("joint", language, "scope").join(parts)


def of_days(
    ahead: Sequence[tuple[int, int]], phrase: str, zone: tzinfo, now_ms: int, language: Language
) -> str:
    """``what it says of Friday 4 Dec``; ``of “4 December”`` where that may be of another year."""
    start_ms, end_ms = ahead[0]
    first, last = (day(ms, zone, now_ms, language) for ms in (start_ms, end_ms - 1))
    days = f"“{phrase}”" if len(ahead) > 1 else first if first == last else f"{first} – {last}"
    return text("ahead", language, "scope", days=days)


def counted(scope: Scope, frames: int, language: Language) -> Scope:
    """The scope of everything, with how much that is."""
    if not scope.is_everything:
        return scope
    count = text("frames", language, "scope", count=frames)
    return replace(scope, text=f"{scope.text}{text('joint', language, 'scope')}{count}")


def _span(
    start_ms: int,
    end_ms: int,
    is_everything: bool,
    zone: tzinfo,
    language: Language,
    named: Callable[[int], str],
) -> str:
    """Days alone where they are whole, or where everything is meant."""
    start, end = (times.to_local(ms, zone) for ms in (start_ms, end_ms))
    first, last = (named(ms) for ms in (start_ms, end_ms - 1))
    days = first if first == last else f"{first} – {last}"
    is_whole = not (start.hour or start.minute or end.hour or end.minute)
    if is_whole or is_everything:
        return days
    ends_at = "24:00" if first == last and not (end.hour or end.minute) else f"{end:%H:%M}"
    if first == last:
        return f"{first}{text('joint', language, 'scope')}{start:%H:%M}–{ends_at}"
    return f"{first} {start:%H:%M} – {last} {ends_at}"
