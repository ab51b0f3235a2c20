"""A time that is told from the one that was talked of: "and the day before?", 前一天呢.

What is before or after it are the words of `questions.toml`; of a day, a week, a month or a year it is the
one beside that which holds the other time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from assistant.core.texts import ASKED_IN, asked_in, expressions, normalize
from assistant.language import questions
from assistant.language.questions import Form, asked_words
from assistant.language.time_calendar import Calendar, months_back
from assistant.language.time_said import Refused
from store.core import times

_UNITS = ("day", "week", "month", "year")


@dataclass(frozen=True, slots=True)
class TimeBeside:
    """One `unit` before the time that was talked of (`step` -1) or after it (1), as the message says it in
    `phrase`. `form` is that of the rest of the message; `YES_NO` where that asks for none.
    """

    unit: str
    step: int
    phrase: str
    form: Form

    def span(self, start_ms: int, end_ms: int, calendar: Calendar) -> tuple[int, int] | None:
        """Epoch milliseconds, up to now; None for one to come, or before all recording."""
        at_ms = start_ms if self.step < 0 else end_ms - 1
        on = times.day_of(at_ms, calendar.zone, calendar.day_start_min).date
        try:
            first, last = self._days(on, calendar)
        except Refused:
            return None
        found = calendar.day(first).start_ms, min(calendar.day(last).end_ms, calendar.now_ms)
        return found if times.MIN_MS <= found[0] < found[1] else None

    def _days(self, on: date, calendar: Calendar) -> tuple[date, date]:
        if self.unit == "day":
            return (on + timedelta(days=self.step),) * 2
        if self.unit == "week":
            first = calendar.week_of(on) + timedelta(days=7 * self.step)
            return first, first + timedelta(days=6)
        months = 1 if self.unit == "month" else 12
        whole = on.replace(day=1) if self.unit == "month" else on.replace(month=1, day=1)
        first = months_back(whole, -months * self.step)
        return first, months_back(first, -months) - timedelta(days=1)


def in_question(message: str) -> TimeBeside | None:
    """What a message tells so, if it is about nothing else: then only a chat says what it means."""
    text = normalize(message)
    for language in dict.fromkeys((asked_in(message), *ASKED_IN)):  # so few words do not tell which it is
        for pattern, unit, step in _patterns(language):
            if found := pattern.search(text):
                rest = f"{text[: found.start()]} {text[found.end() :]}"
                if not asked_words(rest, language):
                    form = questions.form_of(questions.without_going_on(rest, language), language)
                    return TimeBeside(unit, step, found[0].strip(), form)
    return None


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], str, int], ...]:
    return tuple(_made(language))


def _made(language: str) -> Iterator[tuple[re.Pattern[str], str, int]]:
    own = expressions()[language]
    for unit, word in zip(_UNITS, own["units"].split(), strict=True):
        for name, step in (("earlier", -1), ("later", 1)):
            words = own[name].replace("{}", f"(?:{word})")
            yield questions.whole_words(language, words), unit, step
