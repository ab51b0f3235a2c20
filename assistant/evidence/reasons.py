"""Why something was so: a reason is a claim of its own, and the easiest to make up.

"It failed because the network was down" over a quote that says that it failed shares most of its
words with the quote. So the words behind "because" are counted by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.language import lexical_overlap
from assistant.language.specifics import without_quotations
from assistant.language.telling_words import TELLING

REASON_SHARE = 0.5
"""The part of a reason's words that the frame must show."""

_BECAUSE = re.compile(
    r"\b(?:because(?:\s+of)?|due\s+to|owing\s+to|caused\s+by|as\s+a\s+result\s+of|on\s+the\s+advice\s+of|thanks\s+to"
    r"|in\s+order\s+to|so\s+that)\s+(?P<why>[^,;.!?]+)"
    r"|(?:因为|由于|原因是|是因为)(?P<han>[^，。；]+)",
    re.IGNORECASE,
)


def unproven_reason(said: str, texts: Iterable[str], whole: str) -> str | None:
    """A reason that a sentence gives and neither its quotes nor their frame show; None when all do."""
    for found in _BECAUSE.finditer(without_quotations(said)):
        why = found["why"] or found["han"]
        words = lexical_overlap.content_words(why)
        if lexical_overlap.is_foreign(why, [*texts, whole]):
            continue
        given = [*texts, whole]
        telling = lexical_overlap.share(words - TELLING, given)
        if (
            words
            and lexical_overlap.share(words, given) < REASON_SHARE
            and not (words - TELLING and telling > REASON_SHARE)
        ):
            return why.strip()
    return None
