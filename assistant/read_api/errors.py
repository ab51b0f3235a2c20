"""Why a door gives nothing, as one exception with a machine word.

``not_found``, ``withheld`` (today's rules leave it out), ``gone`` (the pixels are), ``invalid``
(an argument), ``rules_unreadable``, ``busy`` (try again).
"""

from __future__ import annotations

from typing import Literal

Code = Literal["not_found", "withheld", "gone", "invalid", "rules_unreadable", "busy"]


class ReadRefused(Exception):
    """A refusal that its caller may read: a code and a sentence without content."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
