"""The built-in answer without any language model: quotes from the screen, in order, with counts.

It writes only what it was given: times and durations come from code, every other word is a quote
that can be found in its frame again. So nothing it says has to be believed. The answer has the same
JSON shape as a model's, and goes through the same checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from engines.chat import Completion

MAX_APPS = 6
MAX_QUOTES_PER_APP = 2
MAX_MATCHES = 8
MAX_QUOTE_CHARS = 120

_LETTERS = re.compile(r"[^\W\d_]")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~&!])")


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame: when by the reader's clock, in which window, and the lines worth quoting."""

    id: str
    clock: str
    app_name: str
    window_name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AppTime:
    """How long an app was in use, counted by code and put in words, and from when to when."""

    app_name: str
    duration: str
    span: str


@dataclass(frozen=True, slots=True)
class Material:
    """All an answer may be made of. `asked` are the question's words in lower case."""

    language: Literal["en", "zh"]
    shown: tuple[Shown, ...]
    times: tuple[AppTime, ...]
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Quote:
    shown: Shown
    text: str
    matches: int


class ExtractiveModel:
    """Answers from `Material` by selection alone: the same material, the same answer."""

    name = "extractive"

    def compose(self, material: Material) -> Completion:
        """JSON text ``{answer_md, evidence: [{id, quote}]}``; ``evidence`` proves every line of it."""
        matches = _matches(material)
        if matches:
            lines = [_match_line(quote, material.language) for quote in matches]
            return _completion(lines, matches)
        lines, quotes = _summary(material)
        if material.asked:
            lines.insert(0, _nothing_found(material) + "\n")
        return _completion(lines, quotes)


def _matches(material: Material) -> list[_Quote]:
    """The lines that name most of what was asked for, in order of time, each wording once."""
    found: dict[str, _Quote] = {}
    for quote in _quotes(material.shown, material.asked):
        if quote.matches:
            found.setdefault(quote.text.casefold(), quote)
    best = max((quote.matches for quote in found.values()), default=0)
    return [quote for quote in found.values() if quote.matches == best][:MAX_MATCHES]


def _summary(material: Material) -> tuple[list[str], list[_Quote]]:
    """A line for each app, the one used longest first."""
    by_app: dict[str, list[Shown]] = {}
    for shown in material.shown:
        by_app.setdefault(shown.app_name, []).append(shown)
    times = {time.app_name: time for time in material.times}
    ranked = {app: rank for rank, app in enumerate(times)}
    apps = sorted(by_app, key=lambda app: (ranked.get(app, len(ranked)), -len(by_app[app])))
    lines, quotes = [], []
    for app in apps[:MAX_APPS]:
        chosen = _best_quotes(by_app[app])
        lines.append(_app_line(app, by_app[app], times.get(app), chosen, material.language))
        quotes += chosen
    return lines, quotes


def _best_quotes(shown: Sequence[Shown]) -> list[_Quote]:
    """The most telling line of the app's frames, and the best one of another window or time."""
    candidates = sorted(_quotes(shown, ()), key=lambda q: -_substance(q.text))
    chosen: list[_Quote] = []
    for quote in candidates:
        taken = {(q.shown.id, q.text.casefold()) for q in chosen} | {q.text.casefold() for q in chosen}
        if quote.shown.id not in {q.shown.id for q in chosen} and quote.text.casefold() not in taken:
            chosen.append(quote)
        if len(chosen) == MAX_QUOTES_PER_APP:
            break
    return sorted(chosen, key=lambda q: shown.index(q.shown))


def _quotes(shown: Iterable[Shown], asked: Sequence[str]) -> Iterable[_Quote]:
    """Every line of every frame; a frame without text is quoted by its window's title or app."""
    for frame in shown:
        lines = frame.lines or tuple(name for name in (frame.window_name or frame.app_name,) if name)
        for line in lines:
            text = _shortened(line, asked)
            yield _Quote(frame, text, sum(word in text.casefold() for word in asked))


def _shortened(line: str, asked: Sequence[str]) -> str:
    """A part of the line that is still found in the frame as it stands: cut, never rewritten."""
    if len(line) <= MAX_QUOTE_CHARS:
        return line.strip()
    folded = line.casefold()
    first = min((at for at in (folded.find(word) for word in asked) if at >= 0), default=0)
    start = max(0, min(first - 20, len(line) - MAX_QUOTE_CHARS))
    return line[start : start + MAX_QUOTE_CHARS].strip()


def _substance(text: str) -> int:
    return len(_LETTERS.findall(text))


def _app_line(
    app: str, shown: Sequence[Shown], time: AppTime | None, quotes: Sequence[_Quote], language: str
) -> str:
    windows = dict.fromkeys(quote.shown.window_name for quote in quotes if quote.shown.window_name)
    names = ", ".join(f"“{plain(name)}”" for name in windows)
    clocks = dict.fromkeys((shown[0].clock, shown[-1].clock))
    counted = f"{time.duration}, {time.span}" if time else "-".join(clocks)
    said = "; ".join(f"“{plain(quote.text)}” [[{quote.shown.id}]]" for quote in quotes)
    unknown = "Unknown app" if language == "en" else "未知应用"
    head = f"- **{plain(app) or unknown}** ({counted})"
    return f"{head}{' ' if names else ''}{names}: {said}"


def _match_line(quote: _Quote, language: str) -> str:
    where = ", ".join(plain(name) for name in (quote.shown.app_name, quote.shown.window_name) if name)
    return f"- {quote.shown.clock} {where}: “{plain(quote.text)}” [[{quote.shown.id}]]"


def _nothing_found(material: Material) -> str:
    words = ", ".join(material.asked)
    if material.language == "zh":
        return f"看过的 {len(material.shown)} 帧画面里没有找到“{words}”。这段时间屏幕上显示的是："
    return f"None of the {len(material.shown)} frames looked at names “{words}”. The screen showed:"


def plain(text: str) -> str:
    """Screen text as Markdown that shows itself: no emphasis, no link, no citation, no HTML."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _completion(lines: Sequence[str], quotes: Sequence[_Quote]) -> Completion:
    evidence = [{"id": quote.shown.id, "quote": quote.text} for quote in quotes]
    text = json.dumps({"answer_md": "\n".join(lines), "evidence": evidence}, ensure_ascii=False)
    return Completion(text, None, ExtractiveModel.name)
