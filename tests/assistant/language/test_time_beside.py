from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from assistant.language import time_beside
from assistant.language.questions import Form
from assistant.language.time_phrases import Calendar
from tests.tables import for_each

# Friday 19 March 2027, 21:00.
CALENDAR = Calendar(round(datetime(2027, 3, 19, 21, tzinfo=UTC).timestamp() * 1000), ZoneInfo("UTC"))


def _ms(month: int, day: int, hour: int = 0) -> int:
    return round(datetime(2027, month, day, hour, tzinfo=UTC).timestamp() * 1000)


@for_each(
    ("message", "start_ms", "end_ms"),
    [
        ("And the day before?", _ms(3, 9), _ms(3, 10)),
        ("and the next day", _ms(3, 11), _ms(3, 12)),
        ("Und in der Woche davor?", _ms(3, 1), _ms(3, 8)),
        ("et la veille ?", _ms(3, 9), _ms(3, 10)),
        ("en de maand ervoor?", _ms(2, 1), _ms(3, 1)),
        ("前一天呢？", _ms(3, 9), _ms(3, 10)),
        ("翌日は？", _ms(3, 11), _ms(3, 12)),
        ("а на следующий день?", _ms(3, 11), _ms(3, 12)),
        ("and the week after?", _ms(3, 15), _ms(3, 19, 21)),  # so far
    ],
)
def test_a_time_beside_the_afternoon_of_10_march(message: str, start_ms: int, end_ms: int) -> None:
    beside = time_beside.in_question(message)
    assert beside is not None
    assert beside.form is Form.YES_NO
    assert beside.span(_ms(3, 10, 12), _ms(3, 10, 18), CALENDAR) == (start_ms, end_ms)


def test_a_time_that_has_not_begun_is_none() -> None:
    beside = time_beside.in_question("and how long the day after?")
    assert beside is not None and beside.form is Form.DURATION
    assert beside.span(_ms(3, 19), _ms(3, 19, 21), CALENDAR) is None


@for_each(
    "message", ["the day before Christmas", "what did Ann write the day before?", "and last week?", "why?"]
)
def test_what_tells_more_or_another_time_is_none_beside_it(message: str) -> None:
    assert time_beside.in_question(message) is None
