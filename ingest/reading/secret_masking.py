"""Masks in the text of a frame what looks like a key, a token or a password, where that is wanted.

What a secret looks like is known to a kept library (`bc-detect-secrets`, extra ``secrets``): the tokens of
services by their shape, keys in addresses, and values behind words such as "password". Beside it, any long
run in which letters and figures alternate counts, because new kinds of tokens come faster than patterns for
them. The words of a find are replaced before anything is stored; the picture shows them as before. How much
of both is found, as typed and as read, is in docs/dependencies.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate

from engines.ocr.protocol import OcrLine, OcrUnavailable, line_of

MASK = "••••"
"""Of one length, since the length of a secret is a hint."""
_INSTALL = "mask_secrets is on, but its library is missing: pip install bc-detect-secrets"

_RUN = re.compile(r"[A-Za-z0-9+]{20,}")
"""Within the signs that part words of names and addresses. Below 20 there are words with figures."""
_CHANGE = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_CHANGES = 3
"""Between letters and figures: names have one or two; of 34 at random 3 % have fewer than three."""

Mask = Callable[[Iterable[OcrLine]], list[OcrLine]]


@cache
def open_mask() -> Mask:
    """Raises `OcrUnavailable` without the library: then nothing is read rather than stored unmasked."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
        from detect_secrets.plugins.keyword import CONFIG_DENYLIST_REGEX_TO_GROUP, KeywordDetector
    except ImportError as error:
        raise OcrUnavailable(_INSTALL) from error
    kinds = get_mapping_from_secret_type_to_class().values()
    # Its two for entropy want quotation marks around a secret, which a screen seldom has; see `_RUN`.
    shapes = [kind() for kind in kinds if not issubclass(kind, HighEntropyStringsPlugin | KeywordDetector)]
    keyword = KeywordDetector()

    def by_shape(text: str) -> Iterator[str]:
        for shape in shapes:
            yield from filter(None, shape.analyze_string(text))

    def by_name(text: str) -> Iterator[str]:
        for value in keyword.analyze_string(text, CONFIG_DENYLIST_REGEX_TO_GROUP):
            yield from value.split()[:1]  # what goes on behind a blank is a sentence

    def random(text: str) -> Iterator[str]:
        return (run for run in _RUN.findall(text) if len(_CHANGE.findall(run)) >= _CHANGES)

    def masked(line: OcrLine) -> OcrLine:
        shaped = set(by_shape(line.text))
        if not shaped:  # reading puts blanks into what means nothing; some words behind it may go with it
            shaped.update(by_shape("".join(word.text for word in line.words)))
        found = {*shaped, *by_name(line.text), *random(line.text)}
        return _without(line, found) if found else line

    return lambda lines: list(map(masked, lines))


def _without(line: OcrLine, secrets: Iterable[str]) -> OcrLine:
    """Every word that holds a part of a secret is masked whole: a pattern may know its beginning only."""
    text = "".join(word.text for word in line.words)
    ends = list(accumulate(len(word.text) for word in line.words))
    hidden: set[int] = set()
    for secret in secrets:
        sought = "".join(secret.split())
        for match in re.finditer(re.escape(sought), text):
            hidden.update(_words_between(ends, match.start(), match.end()))
    words = tuple(replace(word, text=MASK) if n in hidden else word for n, word in enumerate(line.words))
    return line_of(words)


def _words_between(ends: Sequence[int], start: int, end: int) -> Iterator[int]:
    begin = 0
    for number, stop in enumerate(ends):
        if begin < end and start < stop:
            yield number
        begin = stop
