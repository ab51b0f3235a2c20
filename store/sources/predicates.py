"""What a predicate says, whoever wrote it: ``works_at``, ``Works at`` and ``worksAt`` are one.

Models and people write the same relation in many ways. Only what is surely the same becomes one: how words
are joined and their case, articles, a leading "is" or "has", and a few names for what everybody has.
"""

from __future__ import annotations

import re

from store.core import tokenizer
from store.core.upserts import clean_text

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ARTICLES = frozenset({"a", "an", "the"})

_SAME = {
    "works for": "works at",
    "employed at": "works at",
    "employed by": "works at",
    "resides in": "lives in",
    "e mail": "email",
    "email address": "email",
    "e mail address": "email",
    "phone number": "phone",
    "telephone": "phone",
    "telephone number": "phone",
    "date of birth": "birthday",
    "birth date": "birthday",
    "born on": "birthday",
}


def predicate_key(predicate: str) -> tuple[str, str]:
    """(the relation, "is", "has" or "" before it). Facts with one relation speak of the same.

    Except where one "is" what the other "has": Anna is manager, Anna has manager. `is` alone is a relation.
    """
    text = _HUMP.sub(" ", clean_text(predicate)).replace("_", " ")
    words = [token.text for token in tokenizer.tokens(text)]
    words = [word for word in words if word not in _ARTICLES] or words
    verb = words[0] if len(words) > 1 and words[0] in ("is", "has") else ""
    relation = " ".join(words[1:] if verb else words)
    return _SAME.get(relation, relation), verb
