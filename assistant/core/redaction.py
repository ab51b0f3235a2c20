"""Secrets taken out of a text before anything is made of it (R1.34).

What looks like a secret becomes ``[redacted]``: keys by their prefixes, PEM private keys, JSON web tokens,
values that stand behind a word like ``password``, credentials in addresses, and card numbers whose check
digit is right. In doubt it goes: a summary can do without a word, and nobody misses it there.
"""

from __future__ import annotations

import re

REDACTED = "[redacted]"

# Prefixes are those that the makers document, so that leaked keys can be found.
_PREFIXED = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
        (?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{8,}     # OpenAI, Anthropic, Stripe
      | gh[pousr]_[A-Za-z0-9]{8,} | github_pat_[A-Za-z0-9_]{8,}
      | glpat-[A-Za-z0-9_-]{8,}
      | (?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{8,}
      | AIza[A-Za-z0-9_-]{16,} | ya29\.[A-Za-z0-9_-]{8,}
      | xox[abeprs]-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{8,}
      | hf_[A-Za-z0-9]{8,} | npm_[A-Za-z0-9]{8,} | pypi-[A-Za-z0-9_-]{8,} | dop_v1_[a-f0-9]{8,}
      | SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
      | whsec_[A-Za-z0-9]{8,} | shp(?:at|ss|ca|pa)_[a-fA-F0-9]{8,}
      | AGE-SECRET-KEY-1[A-Z0-9]{8,}
    )
    """,
    re.VERBOSE,
)
# A key that is cut off, as by a screen's edge, has no end line.
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_BEARER = re.compile(r"(?i)\b(?P<kept>(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9+/=._~-]{12,})")
_IN_ADDRESS = re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)(?P<value>[^\s/@:]*:[^\s/@]+)(?=@)", re.IGNORECASE)
_WORD = (
    r"(?:pass(?:word|wd|phrase|code)|passwd|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|client[ _-]?secret|credentials?|密码|口令|令牌|密钥|密鑰|密碼)"
)
_QUOTED_OR_WORD = r"(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|[^\s,;&]+)"
_NAMED = re.compile(
    rf"(?P<kept>[A-Za-z0-9_.-]*{_WORD}[A-Za-z0-9_-]*[\"'`]?\s*(?:=>?|:=|[:：＝])\s*)(?P<value>{_QUOTED_OR_WORD})",
    re.IGNORECASE,
)
# "the password is hunter2": only what no prose would say there.
_SAID = re.compile(
    rf"(?P<kept>{_WORD}\s+(?:is|was)\s+|(?:密码|口令|密碼)\s*是\s*)"
    r"(?P<value>(?=[^\s,;]*[0-9])[^\s,;]{4,}|\"[^\"\n]+\"|'[^'\n]+')",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d.]?\d)")


def redacted(text: str) -> str:
    """The text with `REDACTED` in the place of each secret; a second time it changes nothing."""
    text = _PEM.sub(REDACTED, text)
    text = _JWT.sub(REDACTED, text)
    for pattern in (_IN_ADDRESS, _NAMED, _SAID, _BEARER):
        text = pattern.sub(_value, text)
    text = _PREFIXED.sub(REDACTED, text)
    return _DIGITS.sub(_card, text)


def _value(match: re.Match[str]) -> str:
    return match["kept"] + REDACTED


def _card(match: re.Match[str]) -> str:
    digits = [int(each) for each in match[0] if each.isdigit()]
    return REDACTED if is_luhn(digits) else match[0]


def is_luhn(digits: list[int]) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = (digit if at % 2 == 0 else sum(divmod(digit * 2, 10)) for at, digit in enumerate(digits[::-1]))
    return sum(doubled) % 10 == 0
