"""Text from outside, made unable to imitate a tool call.

What stands on a screen, in a message or in a file may look like the markup of a call. Only the
copy in a prompt is changed; what is stored and quoted stays as it is.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"<\|[A-Za-z0-9_ .:/-]{1,64}\|>")
_MARKUP = re.compile(r"<(?=/?function_calls>|/?function=|/?invoke[ >]|/?function_call[ >]|/function>)")


def neutral(text: str) -> str:
    """`text` without control tokens, and with the ``<`` of call markup written as ``&lt;``.

    Taking a token out can bring another together, so it is repeated until nothing changes.
    """
    while (without := _TOKEN.sub("", text)) != text:
        text = without
    return _MARKUP.sub("&lt;", text)
