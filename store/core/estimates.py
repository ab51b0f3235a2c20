"""About how many tokens a text is: one per CJK character and one per four others, for every model
(requirements, chapter 11).
"""

from __future__ import annotations

import re

CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CJK = re.compile(f"[{CJK}]")


def estimate_tokens(text: str) -> int:
    """About how many tokens a model will count."""
    wide = len(_CJK.findall(text))
    return wide + -(-(len(text) - wide) // 4)
