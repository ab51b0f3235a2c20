"""Whether a sentence and a text deny the same things: "not fine" over "fine, so it is not the network"."""

from __future__ import annotations

from webapp.assistant import own_words, specifics
from webapp.assistant.numerals import in_digits
from webapp.assistant.outcomes import denied_clauses, denied_parts, is_denied
from webapp.assistant.texts import normalize

CLOSE_CHARS = 12
"""So far behind a "not" stands what it denies first of all."""


def agree(said: str, whole: str) -> bool:
    """Whether neither denies what the other says, as far as their "not" tells."""
    said, whole = in_digits(specifics.without_quotations(said)), in_digits(whole).replace("_", " ")
    if is_denied(said) and not is_denied(whole):
        return False
    shared = own_words.content_words(said)
    shared -= own_words.lacking(shared, [whole])
    there, here = denied_parts(whole), denied_clauses(said)
    unlike = shared - own_words.lacking(shared, [there]) - (shared - own_words.lacking(shared, [here]))
    if not all(_is_said_otherwise(word, whole, there) for word in unlike):
        return False
    # What stands right behind a "not" of the sentence, and behind none of the text.
    denied = [denied_parts(whole, len(whole))]
    mine = own_words.content_words(denied_parts(said, CLOSE_CHARS))
    mine -= own_words.lacking(mine, [whole])
    if not own_words.lacking(mine, denied):
        return True
    wide = own_words.content_words(denied_parts(said))
    return bool(wide - own_words.lacking(wide, denied))


def _is_said_otherwise(word: str, whole: str, denied: str) -> bool:
    """Whether a text that denies a word also says it without a "not"."""
    return normalize(whole).count(word) > normalize(denied).count(word)
