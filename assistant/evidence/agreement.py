"""Whether a sentence and a text deny the same things: "not fine" over "fine, so it is not the network"."""

from __future__ import annotations

from assistant.core.texts import normalize
from assistant.evidence.outcomes import denied_clauses, denied_parts, is_denied
from assistant.language import lexical_overlap, specifics
from assistant.language.numerals import in_digits

CLOSE_CHARS = 12
"""So far behind a "not" stands what it denies first of all."""


def agree(said: str, whole: str) -> bool:
    """Whether neither denies what the other says, as far as their "not" tells."""
    said, whole = in_digits(specifics.without_quotations(said)), in_digits(whole).replace("_", " ")
    if is_denied(said) and not is_denied(whole):
        return False
    shared = lexical_overlap.content_words(said)
    shared -= lexical_overlap.lacking(shared, [whole])
    there, here = denied_parts(whole), denied_clauses(said)
    unlike = (
        shared - lexical_overlap.lacking(shared, [there]) - (shared - lexical_overlap.lacking(shared, [here]))
    )
    if not all(_is_said_otherwise(word, whole, there) for word in unlike):
        return False
    # What stands right behind a "not" of the sentence, and behind none of the text.
    denied = [denied_parts(whole, len(whole))]
    mine = lexical_overlap.content_words(denied_parts(said, CLOSE_CHARS))
    mine -= lexical_overlap.lacking(mine, [whole])
    if not lexical_overlap.lacking(mine, denied):
        return True
    wide = lexical_overlap.content_words(denied_parts(said))
    return bool(wide - lexical_overlap.lacking(wide, denied))


def _is_said_otherwise(word: str, whole: str, denied: str) -> bool:
    """Whether a text that denies a word also says it without a "not"."""
    return normalize(whole).count(word) > normalize(denied).count(word)
