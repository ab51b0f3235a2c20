"""What was looked at and what could not be, in words: the statement that stands with every answer.

Four things that are easily confused have four names: *not found* (looked for, and on no frame),
*not recorded* (there is no frame: paused, locked, asleep, not running, failed), *excluded* (a privacy
rule kept it out) and *deleted* (it was there). *Idle* is a fifth: there are frames, and nobody touched
keyboard or mouse while they stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from assistant.core.records import Coverage, TurnResult
from assistant.core.strings import MARKS, bracketed, clocks, duration, listed, reason, span, text
from assistant.core.texts import Language
from store.core import times
from store.ocr.unread_scripts import script_name
from store.timeline.gaps import Gap

LEAST_TOLD_MS = 1_000
TOLD_STRETCHES = 3

Kind = Literal["looked", "not_found", "not_recorded", "excluded", "deleted", "idle", "not_ready"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence about what was looked at; `kind` is what a program or an icon goes by."""

    kind: Kind
    text: str


def causes(gaps: Sequence[Gap]) -> dict[str, int]:
    """Milliseconds that are nobody's by cause: paused, excluded, failed, …, the longest first."""
    total: dict[str, int] = {}
    for gap in gaps:
        cause = gap.reason.partition(":")[0]
        total[cause] = total.get(cause, 0) + gap.end_ms - gap.start_ms
    return dict(sorted(total.items(), key=lambda cause_ms: (-cause_ms[1], cause_ms[0])))


def statements(coverage: Coverage, zone: tzinfo, language: Language) -> tuple[Statement, ...]:
    """What was looked at, then what could not be, each in its own words."""
    return (*_looked(coverage, language), *missing(coverage, zone, language))


def missing(coverage: Coverage, zone: tzinfo, language: Language) -> tuple[Statement, ...]:
    """Only what could not be looked at."""
    return (*_gaps(coverage.gaps, zone, language), *_not_ready(coverage, language))


def not_found(coverage: Coverage, language: Language) -> str:
    """The sentence for words that no frame shows; '' when they were found, or none were asked for."""
    texts = [query.text for query in coverage.queries if query.text]
    if coverage.is_found or not texts:
        return ""
    return text("not_found", language, "coverage", words=texts[0])


def way(result: TurnResult, language: Language) -> str:
    """``searched everything · 60 frames read · 2 tools · 3.1 s``; '' where it is not known."""
    went, scope = result.way, result.scope
    if went is None:
        return ""
    what = text("everything", language, "scope") if scope.is_everything else scope.text
    parts = [text("searched", language, "way", what=what)] if what else []
    for name, count in (("frames", went.frames_read), ("tools", went.tools)):
        if count:
            parts.append(text(name, language, "way", count=count))
    return " · ".join([*parts, text("seconds", language, "way", seconds=went.duration_ms / 1000)])


def told(language: Language, **counts: int) -> str:
    """``told of 2 earlier chats, 1 fact``, of `chats` and `facts`; '' for nothing."""
    named = [text(name, language, "way", count=n) for name, n in counts.items() if n]
    what = (", " if language == "en" else "、").join(named)
    return text("told", language, "way", what=what) if what else ""


def _looked(coverage: Coverage, language: Language) -> Iterator[Statement]:
    sampled, frames = coverage.frames_sampled, coverage.frames_in_range
    if coverage.by_tools and sampled:
        yield Statement("looked", text("looked_tools", language, "coverage", sampled=sampled))
    elif frames:
        whole = "looked_one" if frames == 1 else "looked_all"
        part = "looked_best" if coverage.relevant else "looked"
        name = whole if sampled == frames else part
        summary = text(name, language, "coverage", sampled=sampled, frames=frames, relevant=coverage.relevant)
        yield Statement("looked", summary)
        if coverage.imported:
            yield Statement("looked", text("imported", language, "coverage", imported=coverage.imported))
    sentence = not_found(coverage, language)
    if sentence:
        yield Statement("not_found", sentence)
        for script in coverage.unread_scripts:
            name = script_name(script, language)
            yield Statement("not_ready", text("unread_script", language, "coverage", script=name))


def _gaps(gaps: Sequence[Gap], zone: tzinfo, language: Language) -> Iterator[Statement]:
    by_kind: dict[Kind, dict[str, list[Gap]]]
    by_kind = {"not_recorded": {}, "excluded": {}, "deleted": {}, "idle": {}}
    for gap in gaps:
        if gap.end_ms - gap.start_ms >= LEAST_TOLD_MS:
            kind: Kind = next((one for one in by_kind if one == gap.reason), "not_recorded")
            why = gap.reason if kind == "not_recorded" else ""
            by_kind[kind].setdefault(why, []).append(gap)
    days = {times.to_local(ms, zone).date() for gap in gaps for ms in (gap.start_ms, gap.end_ms - 1)}
    for kind, by_reason in by_kind.items():
        if by_reason:
            parts = [_reason(*told, zone, language, len(days) < 2) for told in by_reason.items()]
            joined = MARKS[language][1].join(parts)
            yield Statement(kind, text(kind, language, "coverage", stretches=joined))


def _reason(why: str, stretches: Sequence[Gap], zone: tzinfo, language: Language, is_one_day: bool) -> str:
    """``15 min, recording was paused (14:30–14:45)``: the longest stretches, in order of time."""
    total = duration(sum(gap.end_ms - gap.start_ms for gap in stretches), language)
    longest = sorted(stretches, key=lambda gap: gap.start_ms - gap.end_ms)[:TOLD_STRETCHES]
    told = listed(
        (
            clocks(gap.start_ms, gap.end_ms, zone)
            if is_one_day
            else span(gap.start_ms, gap.end_ms, zone, language)
            for gap in sorted(longest, key=lambda gap: gap.start_ms)
        ),
        language,
    )
    if len(stretches) > len(longest):
        told = text("more", language, "coverage", stretches=told, count=len(stretches) - len(longest))
    because = text("joint", language, "scope") + reason(why, language) if why else ""
    return f"{total}{because}{bracketed(told, language)}"


def _not_ready(coverage: Coverage, language: Language) -> Iterator[Statement]:
    for name, count in (("unread", coverage.unread), ("unembedded", coverage.unembedded)):
        if count:
            yield Statement("not_ready", text(name, language, "coverage", count=count))
