"""The tables of words are those that Babel has."""

from __future__ import annotations

import json

from assistant.language import cldr, time_tables
from tests.assistant.language import cldr_tables


def test_the_words_of_all_languages_are_those_of_babel() -> None:
    """Where this fails after an update of Babel: ``python -m tests.assistant.language.cldr_tables``."""
    assert json.loads(cldr.TABLES.read_text("utf-8")) == cldr_tables.tables()
    assert json.loads(time_tables.MONTH_NAMES.read_text("utf-8")) == cldr_tables.month_names()
