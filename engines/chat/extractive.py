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

from engines.chat.protocol import Completion

MAX_APPS = 6
MAX_QUOTES_PER_APP = 2
MAX_ANSWERS = 4
_SAME_BEGINNING_CHARS = 24
_SAME_SHARE = 0.8

_WORD = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]|\\d+(?:[.,:]\\d+)*|[^\\W\\d_\u3400-\u9fff]{2,}")
_LETTERS = re.compile(r"[^\W\d_]")
# Quotes stand inside a line, so what means something only at its beginning needs no escape.
_MARKDOWN = re.compile(r"([\\`*\[\]<]|(?<!\w)_|_(?!\w)|~(?=~)|&(?=#?\w+;))")


@dataclass(frozen=True, slots=True)
class Line:
    """Words that stand in a frame as they are here, and how well they answer; 0 for no answer."""

    text: str
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class ShownApp:
    """A frame: when by the reader's clock, in which window, and the lines worth quoting."""

    id: str
    clock: str
    app_name: str
    window_name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class AppTime:
    """How long an app was in use, counted by code and put in words, and from when to when."""

    app_name: str
    duration: str
    span: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All an answer may be made of. `asked` are the question's words, none for "what did I do"."""

    language: Literal["en", "zh"]
    shown: tuple[ShownApp, ...]
    times: tuple[AppTime, ...]
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Quote:
    shown: ShownApp
    text: str
    weight: float

    @property
    def key(self) -> str:
        """Equal for quotes that say the same, or begin so."""
        return "".join(self.text.casefold().split())[:_SAME_BEGINNING_CHARS]


class ExtractiveModel:
    """Answers from `Evidence` by selection alone: the same evidence, the same answer."""

    name = "extractive"

    def compose(self, evidence: Evidence) -> Completion:
        """JSON text ``{answer_md, evidence: [{id, quote}]}``; ``evidence`` proves every line of it."""
        answers = _answers(evidence)
        if answers:
            return _completion([_answer_line(quote) for quote in answers], answers)
        lines, quotes = _summary(evidence)
        if evidence.asked:
            lines.insert(0, _nothing_found(evidence) + "\n")
        return _completion(lines, quotes)


def _answers(evidence: Evidence) -> list[_Quote]:
    """The lines that answer best, in order of time; what says the same is quoted once, at its best."""
    chosen: list[_Quote] = []
    for quote in sorted(_quotes(evidence.shown), key=lambda quote: -quote.weight):
        if quote.weight <= 0 or len(chosen) == MAX_ANSWERS:
            break
        if not any(_says_the_same(quote.text, other.text) for other in chosen):
            chosen.append(quote)
    order = [shown.id for shown in evidence.shown]
    return sorted(chosen, key=lambda quote: order.index(quote.shown.id))


def _says_the_same(text: str, other: str) -> bool:
    """Whether two lines have the same numbers, and one has nearly all words of the other.

    A reading may put a sign before a line or lose one, so the lines need not be equal.
    """
    words, others = set(_words(text)), set(_words(other))
    if _numbers(words) != _numbers(others):
        return False
    return len(words & others) >= _SAME_SHARE * min(len(words), len(others))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _numbers(words: Iterable[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}


def _summary(evidence: Evidence) -> tuple[list[str], list[_Quote]]:
    """A line for each app, the one used longest first."""
    by_app: dict[str, list[ShownApp]] = {}
    for shown in evidence.shown:
        by_app.setdefault(shown.app_name, []).append(shown)
    times = {time.app_name: time for time in evidence.times}
    ranked = {app: rank for rank, app in enumerate(times)}
    apps = sorted(by_app, key=lambda app: (ranked.get(app, len(ranked)), -len(by_app[app])))
    lines, quotes = [], []
    for app in apps[:MAX_APPS]:
        chosen = _best_quotes(by_app[app])
        lines.append(_app_line(app, by_app[app], times.get(app), chosen, evidence.language))
        quotes += chosen
    return lines, quotes


def _best_quotes(shown: Sequence[ShownApp]) -> list[_Quote]:
    """The most telling lines of the app's frames, of different frames and in different words."""
    chosen: list[_Quote] = []
    for quote in sorted(_quotes(shown), key=lambda quote: -len(_LETTERS.findall(quote.text))):
        if all(quote.shown.id != other.shown.id and quote.key != other.key for other in chosen):
            chosen.append(quote)
        if len(chosen) == MAX_QUOTES_PER_APP:
            break
    return sorted(chosen, key=lambda quote: shown.index(quote.shown))


def _quotes(shown: Iterable[ShownApp]) -> Iterable[_Quote]:
    return (_Quote(frame, line.text, line.weight) for frame in shown for line in frame.lines)


def _app_line(
    app: str, shown: Sequence[ShownApp], time: AppTime | None, quotes: Sequence[_Quote], language: str
) -> str:
    windows = dict.fromkeys(quote.shown.window_name for quote in quotes if quote.shown.window_name)
    names = ", ".join(f"“{plain(name)}”" for name in windows)
    clocks = dict.fromkeys((shown[0].clock, shown[-1].clock))
    counted = f"{time.duration}, {time.span}" if time else "-".join(clocks)
    quoted = "; ".join(f"“{plain(quote.text)}” [[{quote.shown.id}]]" for quote in quotes)
    unknown = "Unknown app" if language == "en" else "未知应用"
    head = f"- **{plain(app) or unknown}** ({counted})"
    return f"{head}{' ' if names else ''}{names}: {quoted}"


def _answer_line(quote: _Quote) -> str:
    where = ", ".join(plain(name) for name in (quote.shown.app_name, quote.shown.window_name) if name)
    return f"- {quote.shown.clock} {where}: “{plain(quote.text)}” [[{quote.shown.id}]]"


def _nothing_found(evidence: Evidence) -> str:
    words = ", ".join(evidence.asked)
    if evidence.language == "zh":
        return f"看过的 {len(evidence.shown)} 帧画面里没有找到“{words}”。这段时间屏幕上显示的是："
    return f"None of the {len(evidence.shown)} frames looked at names “{words}”. The screen showed:"


def plain(text: str) -> str:
    """Screen text as Markdown that shows itself: no emphasis, no link, no citation, no HTML."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _completion(lines: Sequence[str], quotes: Sequence[_Quote]) -> Completion:
    quoted = [{"id": quote.shown.id, "quote": quote.text} for quote in quotes]
    text = json.dumps({"answer_md": "\n".join(lines), "evidence": quoted}, ensure_ascii=False)
    return Completion(text, None, ExtractiveModel.name)
