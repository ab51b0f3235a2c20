"""Whole numbers in Han signs."""

from __future__ import annotations

import unicodedata

_EXTRA = {"两": 2, "兩": 2}


def numeric(sign: str) -> int | None:
    """What one sign or digit counts; None for any other, and for fractions."""
    value = _EXTRA.get(sign) or unicodedata.numeric(sign, None)
    return None if value is None or value != int(value) else int(value)


def integer(figure: str) -> int:
    """A whole number in digits or Han signs: ``二十`` is 20, ``二〇二七`` 2027, ``十二万`` 120,000,
    ``二百六`` 260.
    """
    if figure[0].isdecimal():
        return int(figure)
    signs = [numeric(sign) or 0 for sign in figure]
    if all(sign < 10 for sign in signs):
        return int("".join(map(str, signs)))
    total, section, last, scale = 0, 0, 0, 1
    for sign in signs:
        if sign < 10:
            last, scale = sign, scale if sign else 1
            continue
        if sign < 10_000:
            section += (last or 1) * sign
        else:
            total, section = total + (section + last or 1) * sign, 0
        last, scale = 0, sign // 10
    return total + section + last * scale
